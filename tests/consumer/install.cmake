# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D BUILD_DIR=dir -D PREFIX=dir [-D "FOREIGN=dir;..."] [-D "FILES=file;..."] -P install.cmake
# Installs what BUILD_DIR holds into another place and moves it to PREFIX: an installed tree may be moved. With FOREIGN,
# fails when a file names the place where it was installed, or one of these directories; with FILES, when others than
# these are there.

set(first_prefix ${PREFIX}.first)
file(REMOVE_RECURSE ${PREFIX} ${first_prefix})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${first_prefix}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${first_prefix} ${PREFIX})

file(GLOB_RECURSE files RELATIVE ${PREFIX} ${PREFIX}/*)
if(NOT files)
  message(FATAL_ERROR "nothing was installed")
endif()
if(FILES AND NOT files STREQUAL FILES)
  message(FATAL_ERROR "installed were ${files}, not ${FILES}")
endif()
if(FOREIGN)
  foreach(file IN LISTS files)
    file(READ ${PREFIX}/${file} text)
    foreach(directory IN LISTS FOREIGN first_prefix)
      string(FIND "${text}" "${directory}" position)
      if(NOT position EQUAL -1)
        message(SEND_ERROR "${file} names ${directory}")
      endif()
    endforeach()
  endforeach()
endif()
