// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fxpassc: a small compiler built on fxpass. The command line is read in command_line.cpp, programs are
// compiled in compile.cpp, and tables.cpp prints what the library can do.

#include "compile.hpp"
#include "options.hpp"
#include "tables.hpp"

auto main(int argc, char** argv) -> int {
  const fxpassc::CommandLine line = fxpassc::parse_command_line(argc, argv);
  switch (line.command) {
    case fxpassc::Command::none: return line.status;
    case fxpassc::Command::compile: return fxpassc::compile(line.compile);
    case fxpassc::Command::passes: fxpassc::print_passes(); return fxpassc::done;
    case fxpassc::Command::ops: fxpassc::print_ops(); return fxpassc::done;
  }
}
