# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs an example and compares what it prints with what its source says that it prints:
#
#   cmake -D PROGRAM=<program> -D SOURCE=<file> -P check_example.cmake
#
# The source ends with a line "// It prints:" and the output, each line behind "//   ". The program has to exit with 0.

file(READ ${SOURCE} source)
set(mark "\n// It prints:\n")
string(FIND "${source}" "${mark}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${SOURCE} does not say what it prints")
endif()
string(LENGTH "${mark}" length)
math(EXPR at "${at} + ${length}")
string(SUBSTRING "${source}" ${at} -1 expected)
string(REPLACE "\n//   " "\n" expected "\n${expected}")
string(SUBSTRING "${expected}" 1 -1 expected)

execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} exits with ${status}:\n${printed}${errors}")
endif()
if(NOT printed STREQUAL expected)
  message(FATAL_ERROR "${PROGRAM} prints\n${printed}but its source says\n${expected}")
endif()
