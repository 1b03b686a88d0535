# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake -D DIRECTORY=dir -D EXTENSION=hpp -D LIST=file -P check_listing.cmake
# Fails when the files *.EXTENSION below DIRECTORY are not those that LIST names, one a line.

file(GLOB_RECURSE present LIST_DIRECTORIES false ${DIRECTORY}/*.${EXTENSION})
file(STRINGS ${LIST} listed)
if(NOT present)
  message(FATAL_ERROR "no *.${EXTENSION} below ${DIRECTORY}")
endif()

set(unlisted ${present})
list(REMOVE_ITEM unlisted ${listed})
set(absent ${listed})
list(REMOVE_ITEM absent ${present})
foreach(file IN LISTS unlisted)
  message(SEND_ERROR "not listed in its CMakeLists.txt: ${file}")
endforeach()
foreach(file IN LISTS absent)
  message(SEND_ERROR "listed, but not there: ${file}")
endforeach()
