# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the projects beside this file share: the program, which they build with more warnings than a user would.

add_executable(consumer ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_compile_options(consumer PRIVATE
  -fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
set_target_properties(consumer PROPERTIES
  CXX_EXTENSIONS OFF
  NO_SYSTEM_FROM_IMPORTED ON) # else an installed fxpass were system headers, and its warnings silent
