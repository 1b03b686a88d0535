# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How a test is added: each function takes a name, and the name is the path of the source below its directory.

option(FXPASS_TEST_SINGLE_INCLUDE "Compile the unit tests against single_include/ in place of include/" OFF)

# tests/unit/NAME.cpp becomes a program and the CTest test unit.NAME. A program for a file, so that a file that does not
# compile costs its own test alone. LIBRARIES are added to fxpass::fxpass.
function(fxpass_add_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" LIBRARIES)
  string(REPLACE "/" "." dotted ${name})
  set(target unit.${dotted})
  set(libraries fxpass::fxpass ${arg_LIBRARIES})
  if(FXPASS_TEST_SINGLE_INCLUDE)
    set(libraries fxpass_single_include)
  endif()
  add_executable(${target} ${name}.cpp)
  target_link_libraries(${target} PRIVATE ${libraries} fxpass_doctest_main fxpass_dev)
  add_test(NAME ${target} COMMAND ${target} --no-version)
  # doctest is content with a program that holds no test case; a test that tests nothing is a failure here.
  set_tests_properties(${target} PROPERTIES LABELS unit FAIL_REGULAR_EXPRESSION "test cases: +0 ")
  add_dependencies(unit_tests ${target})
  set_property(DIRECTORY APPEND PROPERTY FXPASS_LISTED ${CMAKE_CURRENT_SOURCE_DIR}/${name}.cpp)
endfunction()

# A CTest test that fails when DIRECTORY holds a file *.EXTENSION that is not in FILES (or the other way round): a list of
# files by name is only worth having when it is complete.
function(fxpass_add_listing_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY;EXTENSION" FILES)
  set(list_file ${CMAKE_CURRENT_BINARY_DIR}/${name}.txt)
  list(JOIN arg_FILES "\n" text)
  file(WRITE ${list_file} "${text}\n")
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND}
    -D DIRECTORY=${arg_DIRECTORY} -D EXTENSION=${arg_EXTENSION} -D LIST=${list_file}
    -P ${PROJECT_SOURCE_DIR}/cmake/check_listing.cmake)
endfunction()
