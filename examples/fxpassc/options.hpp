// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/ops/custom_operators.hpp>

#include <cstddef>
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

/// What the name of a file in that form ends with.
[[nodiscard]] constexpr auto ending_of(Form form) -> const char* {
  constexpr const char* endings[] = {".hlo", ".pb", ".mlir", ".fx", ".py", ".json"};
  return endings[static_cast<std::size_t>(form)];
}
[[nodiscard]] constexpr auto is_hlo(Form form) -> bool {
  return form == Form::hlo_text || form == Form::hlo_proto || form == Form::stablehlo;
}

/// `NAME=0,1;2,3`. Whether it is a partition of the world is another question.
struct ProcessGroupOption {
  std::string name;
  std::vector<std::vector<std::int64_t>> groups;
};

/// `s0=128,256`: a symbol, and the numbers that it stands for in turn.
struct SymbolOption {
  std::string symbol;
  std::vector<std::int64_t> values;
};

/// `fxpassc compile`. Empty paths: the option was not given.
struct CompileOptions {
  std::string input;
  std::string output;
  std::string signature;
  std::string example_inputs;
  fxpass::CustomOperators custom_operators;
  Form form = Form::hlo_text;
  std::vector<SymbolOption> symbols;

  std::optional<std::string> target_device;
  bool enable_fx_passes = true;
  std::int64_t world_size = 0;  ///< 0: as many ranks as the process groups have
  std::vector<ProcessGroupOption> process_groups;
  std::string nki_kernels;

  bool time_passes = false;
  std::string dump_passes;
  bool verify_each = false;

  /// Whether there is a module for each of several sizes, and OUT a folder for them.
  [[nodiscard]] auto makes_several() const -> bool {
    for (const SymbolOption& option : symbols)
      if (option.values.size() > 1) return true;
    return false;
  }
};

enum class Command : std::uint8_t { none, compile, passes, ops };

/// The statuses that the program ends with.
inline constexpr int done = 0;
inline constexpr int at_fault = 1;     ///< the program or a file is wrong
inline constexpr int wrong_usage = 2;  ///< the command line is

struct CommandLine {
  Command command = Command::none;
  int status = done;  ///< with `none`: what the program ends with
  CompileOptions compile;
};

/// Reads the command line. Help and complaints are printed here.
[[nodiscard]] auto parse_command_line(int argc, const char* const* argv) -> CommandLine;

}  // namespace fxpassc
