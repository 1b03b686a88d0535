# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D COMPILER=g++ -D FLAGS=-std=c++20 -D SOURCE=case.cpp -D VERDICT=REGEX -P check_compile_fail_harness.cmake
#
# Tests check_compile_fail.cmake itself. VERDICT "holds" demands that the harness accepts the case; any other VERDICT that
# it rejects the case, and that what it prints matches.

execute_process(
  COMMAND ${CMAKE_COMMAND} -D COMPILER=${COMPILER} -D FLAGS=${FLAGS} -D SOURCE=${SOURCE}
    -P ${CMAKE_CURRENT_LIST_DIR}/check_compile_fail.cmake
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)

# message() folds long lines.
string(REGEX REPLACE "[ \n]+" " " folded "${output}")
if(VERDICT STREQUAL "holds")
  if(NOT status STREQUAL "0")
    message(FATAL_ERROR "the harness rejects a case that holds:\n${output}")
  endif()
elseif(status STREQUAL "0")
  message(FATAL_ERROR "the harness accepts ${SOURCE}, which has to be rejected: ${VERDICT}")
elseif(NOT folded MATCHES "${VERDICT}")
  message(FATAL_ERROR "the harness rejects ${SOURCE} for another reason than '${VERDICT}':\n${output}")
endif()
