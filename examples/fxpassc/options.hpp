// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// What the command line asks for.

namespace fxpassc {

/// The forms that a program can be written in.
enum class Form : std::uint8_t { hlo_text, hlo_proto, stablehlo, fx_text, fx_python, fx_json };

[[nodiscard]] constexpr auto is_hlo(Form form) -> bool {
  return form == Form::hlo_text || form == Form::hlo_proto || form == Form::stablehlo;
}

/// `NAME=0,1;2,3`. Whether it is a partition of the world is another question.
struct ProcessGroupOption {
  std::string name;
  std::vector<std::vector<std::int64_t>> groups;
};

/// `fxpassc compile`. Empty paths: the option was not given.
struct CompileOptions {
  std::string input;
  std::string output;
  std::string signature;
  std::string example_inputs;
  Form form = Form::hlo_text;

  std::optional<std::string> target_device;
  bool enable_fx_passes = true;
  std::int64_t world_size = 0;  ///< 0: as many ranks as the process groups have
  std::vector<ProcessGroupOption> process_groups;
  std::string nki_kernels;

  bool time_passes = false;
  std::string dump_passes;
  bool verify_each = false;
};

enum class Command : std::uint8_t { none, compile, passes, ops };

/// The statuses that the program ends with.
inline constexpr int done = 0;
inline constexpr int at_fault = 1;     ///< the program or a file is wrong
inline constexpr int wrong_usage = 2;  ///< the command line is, or asks for what is not supported yet

struct CommandLine {
  Command command = Command::none;
  int status = done;  ///< with `none`: what the program ends with
  CompileOptions compile;
};

/// Reads the command line. Help and complaints are printed here.
[[nodiscard]] auto parse_command_line(int argc, const char* const* argv) -> CommandLine;

/// Complains that something is not supported yet; returns the status to end with.
auto not_supported_yet(std::string_view what) -> int;

}  // namespace fxpassc
