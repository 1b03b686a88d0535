# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D COMPILER=g++ -D PREFIX=dir -D VERSION=0.1.0 -D SOURCE=main.cpp -D PROGRAM=file [-D "ARGUMENTS=argument;..."]
#   -P pkg_config.cmake
# Compiles SOURCE with what pkg-config says of the fxpass installed in PREFIX, and runs it.

find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/share/pkgconfig)

# pkg_config(OUTPUT_VARIABLE ARGUMENT...)
function(pkg_config variable)
  execute_process(COMMAND ${PKG_CONFIG} ${ARGN}
    OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

foreach(package IN ITEMS fxpass fxpass-read-json fxpass-read-pt2)
  pkg_config(ignored --validate ${package})
  pkg_config(version --modversion ${package})
  if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "${package} is of version ${version}, not ${VERSION}")
  endif()
endforeach()

# The core asks for no library, and each reader for its own.
pkg_config(core --cflags --libs fxpass)
separate_arguments(core UNIX_COMMAND "${core}")
cmake_path(CONVERT "${core}" TO_CMAKE_PATH_LIST core NORMALIZE)
if(NOT core STREQUAL "-I${PREFIX}/include")
  message(FATAL_ERROR "the core is used with '${core}', not '-I${PREFIX}/include'")
endif()
pkg_config(json --libs fxpass-read-json)
if(NOT json MATCHES "-lsimdjson" OR json MATCHES "-lzip")
  message(FATAL_ERROR "read-json is linked with '${json}'")
endif()

pkg_config(flags --cflags --libs fxpass-read-pt2)
separate_arguments(flags UNIX_COMMAND "${flags}")
execute_process(
  COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-exceptions -fno-rtti
    ${SOURCE} ${flags} -o ${PROGRAM}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} COMMAND_ERROR_IS_FATAL ANY)
