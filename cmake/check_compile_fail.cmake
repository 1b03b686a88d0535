# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D COMPILER=g++ -D FLAGS="-std=c++20|-I..." -D SOURCE=case.cpp [-D SAVE=said.txt] [-D NO_CONTROL=ON]
#   -P check_compile_fail.cmake
#
# A case is one source with a mistake and, under #ifdef FXPASS_CONTROL, the smallest correction of it. It says in lines of
# its own what the mistake is, for docs/errors.md, and what the compiler has to say; of the latter at least one:
#   // mistake: SENTENCE
#   // expect-error-first: REGEX   matches the first line with "error:"
#   // expect-first-four: REGEX    matches the first four lines of the output: pass, fact, reason and mend stand there
#   // expect-error: REGEX         matches anywhere in the output
# The case holds when
#   1. the control compiles without a word, so that the mistake is what makes the difference;
#   2. the wrong form does not compile;
#   3. every REGEX matches;
#   4. there is exactly one "error:", for it is one mistake;
#   5. the output has at most 15 lines;
#   6. nothing above the error speaks of detail::, so that a reader need not know the implementation.
# What the compiler said is left in SAVE, for tools/generate_errors.py. With NO_CONTROL the first point is taken for
# granted: another compiler has seen to it. FLAGS are separated by "|". A CTest property (WILL_FAIL,
# PASS_REGULAR_EXPRESSION) can say none of this: the first is content with any failure, the second with a program
# that compiles.

set(max_lines 15)
string(REPLACE "|" ";" flags "${FLAGS}")
set(ENV{LC_ALL} C)

function(compile status_variable output_variable)
  execute_process(
    COMMAND ${COMPILER} ${flags} -fsyntax-only -fdiagnostics-color=never ${ARGN} ${SOURCE}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(${status_variable} "${status}" PARENT_SCOPE)
  set(${output_variable} "${output}" PARENT_SCOPE)
endfunction()

function(fail why)
  message(NOTICE "---- ${COMPILER} printed ----\n${output}----") # in a message of its own, which CMake does not fold
  message(FATAL_ERROR "${SOURCE}: ${why}")
endfunction()

function(count_lines text variable)
  string(REGEX REPLACE "[^\n]" "" newlines "${text}")
  string(LENGTH "${newlines}" count)
  set(${variable} ${count} PARENT_SCOPE)
endfunction()

file(READ ${SOURCE} source_text)
set(expectations 0)

if(NOT NO_CONTROL)
  compile(status output -DFXPASS_CONTROL)
  if(NOT status STREQUAL "0")
    fail("the control does not compile")
  endif()
  if(NOT output STREQUAL "")
    fail("the control compiles with warnings")
  endif()
endif()

compile(status output)
if(SAVE)
  file(WRITE ${SAVE} "${output}")
endif()
if(status STREQUAL "0")
  fail("the wrong form compiles")
endif()

if(NOT output MATCHES "[^\n]*error:[^\n]*")
  fail("the compiler failed without an error message")
endif()
set(first_error "${CMAKE_MATCH_0}")
string(FIND "${output}" "${first_error}" error_position)
string(SUBSTRING "${output}" 0 ${error_position} above_error)
string(REGEX MATCH "^([^\n]*\n?)([^\n]*\n?)([^\n]*\n?)([^\n]*\n?)" first_four "${output}")

# The text is walked with MATCHES, not as a CMake list: brackets and semicolons in it would tear a list apart.
set(rest "${source_text}")
while(rest MATCHES "// expect-(error-first|first-four|error): ([^\n]*)\n")
  math(EXPR expectations "${expectations} + 1")
  set(where "${CMAKE_MATCH_1}")
  set(regex "${CMAKE_MATCH_2}")
  string(FIND "${rest}" "${CMAKE_MATCH_0}" position)
  string(LENGTH "${CMAKE_MATCH_0}" length)
  math(EXPR position "${position} + ${length}")
  string(SUBSTRING "${rest}" ${position} -1 rest)
  if(where STREQUAL "error-first")
    if(NOT first_error MATCHES "${regex}")
      fail("the first error does not match '${regex}'")
    endif()
  elseif(where STREQUAL "first-four")
    if(NOT first_four MATCHES "${regex}")
      fail("the first four lines do not match '${regex}'")
    endif()
  elseif(NOT output MATCHES "${regex}")
    fail("nothing matches '${regex}'")
  endif()
endwhile()
if(expectations EQUAL 0)
  fail("the case has no // expect-error: line")
endif()
if(NOT source_text MATCHES "\n// mistake: [^\n]+\n")
  fail("the case has no // mistake: line")
endif()

string(REGEX MATCHALL "(^|\n)[^\n]*error:" errors "${output}")
list(LENGTH errors error_count)
if(NOT error_count EQUAL 1)
  fail("${error_count} errors for one mistake")
endif()

count_lines("${output}" lines)
if(lines GREATER max_lines)
  fail("${lines} lines of output, more than ${max_lines}")
endif()

if(above_error MATCHES "detail::")
  fail("the lines above the error speak of detail::")
endif()
