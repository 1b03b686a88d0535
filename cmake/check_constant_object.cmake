# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks that an object file holds HLO text and no code: what was to happen at compile time has left nothing to run.
#
#   cmake -D OBJECT=<file> -D NM=<program> -P check_constant_object.cmake

file(STRINGS ${OBJECT} module REGEX "^HloModule ")
if(NOT module)
  message(FATAL_ERROR "${OBJECT} holds no HLO text")
endif()

execute_process(COMMAND ${NM} ${OBJECT} OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} ${OBJECT} exits with ${status}")
endif()
# Functions are T and t, inline ones W and u; U is what the object would call.
if(symbols MATCHES " [TtWwuU] [^\n]*")
  message(FATAL_ERROR "${OBJECT} holds code:\n${symbols}")
endif()
if(NOT symbols MATCHES " [Rr] ")
  message(FATAL_ERROR "${OBJECT} holds no constant:\n${symbols}")
endif()
