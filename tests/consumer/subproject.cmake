# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What fxpass owes a project that it is a part of: it adds its targets, and nothing else. remember_settings() is called
# before fxpass is added, expect_only_the_library(DIRECTORY) after it.

# The variables of CMake that a project sees, but for those of a call and of find_package().
function(list_settings result)
  get_cmake_property(names VARIABLES)
  list(FILTER names INCLUDE REGEX "^(CMAKE|BUILD)_")
  list(FILTER names EXCLUDE REGEX "^CMAKE_(CURRENT_FUNCTION|FIND_PACKAGE|HAVE_|MATCH_)")
  set(${result} ${names} PARENT_SCOPE)
endfunction()

macro(remember_settings)
  list_settings(settings_before)
  foreach(setting IN LISTS settings_before)
    set("before.${setting}" "${${setting}}")
  endforeach()
endmacro()

function(list_targets directory result)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS subdirectories)
    list_targets(${subdirectory} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

function(expect_equal what actual expected)
  if(NOT actual STREQUAL expected)
    message(SEND_ERROR "${what}: '${actual}', not '${expected}'")
  endif()
endfunction()

function(expect_only_the_library directory)
  list_settings(settings)
  foreach(setting IN LISTS settings settings_before)
    expect_equal(${setting} "${${setting}}" "${before.${setting}}")
  endforeach()

  foreach(option IN ITEMS BUILD_TESTS BUILD_EXAMPLES BUILD_BENCHMARKS INSTALL)
    expect_equal("FXPASS_${option}" "${FXPASS_${option}}" OFF)
  endforeach()

  list_targets(${directory} targets)
  list(SORT targets)
  expect_equal("targets of fxpass" "${targets}" "fxpass;fxpass_read_json;fxpass_read_pt2")
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(options ${target} INTERFACE_COMPILE_OPTIONS)
    get_target_property(definitions ${target} INTERFACE_COMPILE_DEFINITIONS)
    get_target_property(features ${target} INTERFACE_COMPILE_FEATURES)
    expect_equal("type of ${target}" ${type} INTERFACE_LIBRARY)
    expect_equal("compile options of ${target}" "${options}" "options-NOTFOUND")
    expect_equal("definitions of ${target}" "${definitions}" "definitions-NOTFOUND")
    if(target STREQUAL fxpass)
      expect_equal("features of ${target}" "${features}" cxx_std_20)
    endif()
  endforeach()

  get_property(tests DIRECTORY ${directory} PROPERTY TESTS)
  expect_equal("tests of fxpass" "${tests}" "")
  get_property(options DIRECTORY PROPERTY COMPILE_OPTIONS)
  expect_equal("compile options of the project" "${options}" "")
endfunction()
