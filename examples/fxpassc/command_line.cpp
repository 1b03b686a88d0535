// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line, by CLI11. CLI11 throws: this file alone is compiled with exceptions, and none leaves it.

#include "options.hpp"

#include <fxpass/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace fxpassc {

namespace {

struct FormName {
  const char* name;
  Form form;
};
constexpr FormName form_names[] = {
    {"hlo-text", Form::hlo_text}, {"hlo-proto", Form::hlo_proto}, {"stablehlo", Form::stablehlo},
    {"fx-text", Form::fx_text},   {"fx-python", Form::fx_python}, {"fx-json", Form::fx_json},
};

#define FXPASSC_TEXT_OF(x) #x
#define FXPASSC_TEXT(x) FXPASSC_TEXT_OF(x)
constexpr const char* version = "fxpassc " FXPASSC_TEXT(FXPASS_VERSION_MAJOR) "." FXPASSC_TEXT(
    FXPASS_VERSION_MINOR) "." FXPASSC_TEXT(FXPASS_VERSION_PATCH);

constexpr const char* form_help = "Form of the result: hlo-text, hlo-proto, stablehlo, fx-text, fx-python or "
                                  "fx-json; by default what OUT ends with: .hlo .pb .mlir .fx .py .json";

auto complain(const std::string& what) -> int {
  std::fprintf(stderr, "fxpassc: error: %s\nRun 'fxpassc --help' for the options.\n", what.c_str());
  return wrong_usage;
}

/// Ranks of one group, or values of a symbol: "0,1", none below 0. Empty if malformed.
auto parse_numbers(std::string_view text) -> std::vector<std::int64_t> {
  std::vector<std::int64_t> numbers;
  while (true) {
    const std::string_view number = text.substr(0, text.find(','));
    std::int64_t value = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size() || value < 0) return {};
    numbers.push_back(value);
    if (number.size() == text.size()) return numbers;
    text.remove_prefix(number.size() + 1);
  }
}

constexpr std::int64_t largest_world = std::int64_t{1} << 24;

auto parse_world_size(std::string_view text) -> std::optional<std::int64_t> {
  std::int64_t size = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  if (size < 1 || size > largest_world) return std::nullopt;
  return size;
}

auto parse_process_group(std::string_view text) -> std::optional<ProcessGroupOption> {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  ProcessGroupOption option;
  option.name = text.substr(0, equals);
  std::string_view rest = text.substr(equals + 1);
  while (true) {
    const std::string_view group = rest.substr(0, rest.find(';'));
    option.groups.push_back(parse_numbers(group));
    if (option.groups.back().empty()) return std::nullopt;
    if (group.size() == rest.size()) return option;
    rest.remove_prefix(group.size() + 1);
  }
}

/// `s0=128,256`.
auto parse_symbol(std::string_view text) -> std::optional<SymbolOption> {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  SymbolOption option{std::string(text.substr(0, equals)), parse_numbers(text.substr(equals + 1))};
  if (option.values.empty()) return std::nullopt;
  return option;
}

/// The form that was named, or else the one that OUT's ending says.
auto choose_form(const std::string& named, CompileOptions& options) -> int {
  if (named.empty() && options.makes_several())
    return complain("with several values of a symbol OUT is a folder, whose name says no form: use --emit");
  for (const FormName& f : form_names) {
    if (named.empty() ? !std::string_view(options.output).ends_with(ending_of(f.form)) : named != f.name) continue;
    options.form = f.form;
    return done;
  }
  if (named.empty() && options.output == "-") return complain("the standard output has no form by itself: use --emit");
  if (named.empty()) return complain("the ending of " + options.output + " names no form: use --emit");
  return complain("--emit: " + named + " is no form: hlo-text, hlo-proto, stablehlo, fx-text, fx-python and fx-json are");
}

/// Whether `text` is a device as PyTorch writes it: a type, and perhaps a number, "xla" or "cuda:1".
auto is_device(std::string_view text) -> bool {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_of_name = [&](char c) { return (c >= 'a' && c <= 'z') || c == '_' || is_digit(c); };
  const std::string_view type = text.substr(0, text.find(':'));
  if (type.empty() || is_digit(type.front()) || !std::all_of(type.begin(), type.end(), is_of_name)) return false;
  if (type.size() == text.size()) return true;
  const std::string_view number = text.substr(type.size() + 1);
  return !number.empty() && std::all_of(number.begin(), number.end(), is_digit);
}

/// What CLI11 leaves to do for `compile`.
struct RawCompileOptions {
  std::string form;
  std::optional<std::string> target_device;
  std::optional<std::string> world_size;
  std::vector<std::string> process_groups;
  std::vector<std::string> bind;
  std::vector<std::string> custom_operators;
  bool no_fx_passes = false;
};

/// Whether two paths name one file; "-", and no path, name none.
auto is_same_file(const std::string& a, const std::string& b) -> bool {
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  std::error_code not_there;
  return a == b || std::filesystem::equivalent(a, b, not_there);
}

auto finish(const RawCompileOptions& raw, CompileOptions& options) -> int {
  for (const std::string& text : raw.bind) {
    std::optional<SymbolOption> symbol = parse_symbol(text);
    if (!symbol) return complain("--bind: " + text + " is not of the form s0=128 or s0=128,256");
    options.symbols.push_back(*std::move(symbol));
  }
  for (const std::string& schema : raw.custom_operators)
    if (const fxpass::Status added = options.custom_operators.add(schema); !added)
      return complain("--custom-op: " + std::string(added.error().front().message.view()));
  if (const int status = choose_form(raw.form, options); status != done) return status;
  if (options.signature == "-")
    return complain("--signature: a file is needed, for the standard output is the program's alone");
  if (options.makes_several() && (options.output == "-" || !options.signature.empty()))
    return complain(options.output == "-"
                        ? "with several values of a symbol there are several modules: OUT is a folder for them, not -"
                        : "--signature: with several values of a symbol the folder has one for each module");
  if (is_same_file(options.signature, options.output))
    return complain("OUT and the signature are one file: " + options.output);
  for (const std::string& written : {options.output, options.signature})
    if (is_same_file(written, options.input)) return complain("the program would be overwritten: " + written);
  if (raw.no_fx_passes && (options.time_passes || options.verify_each || !options.dump_passes.empty()))
    return complain("--time-passes, --verify-each and --dump-passes watch passes, and --no-fx-passes runs none");
  for (const std::string& text : raw.process_groups) {
    std::optional<ProcessGroupOption> group = parse_process_group(text);
    if (!group) return complain("--process-group: " + text + " is not of the form NAME=0,1;2,3");
    options.process_groups.push_back(*std::move(group));
  }
  if (raw.world_size) {
    const std::optional<std::int64_t> world_size = parse_world_size(*raw.world_size);
    if (!world_size)
      return complain("--world-size: a number of ranks from 1 to " + std::to_string(largest_world) +
                      " is needed, not " + *raw.world_size);
    options.world_size = *world_size;
  }
  if (raw.target_device && !is_device(*raw.target_device))
    return complain("--target-device: a device such as xla or cuda:1 is needed, not '" + *raw.target_device + "'");
  options.target_device = raw.target_device;
  options.enable_fx_passes = !raw.no_fx_passes;
  return done;
}

/// A check of CLI11: what is wrong with a value; empty if nothing is.
auto is_path(const std::string& value) -> std::string {
  return value.empty() ? "the name of a file or folder is needed" : "";
}

void add_compile_options(CLI::App& app, RawCompileOptions& raw, CompileOptions& options) {
  app.add_option(
         "INPUT", options.input,
         "The program: a .pt2 archive of torch.export.save, the JSON of an ExportedProgram, FX JSON, or a graph as "
         "PyTorch prints it, as code or as text")
      ->required();
  app.add_option("-o,--output", options.output, "Where the result goes, written whole or not at all; - is the standard output")
      ->required();
  app.add_option("--emit", raw.form, form_help);
  app.add_option("--signature", options.signature,
                 "Where to say how the module is run: its inputs, outputs and what is written back, as JSON")
      ->check(is_path);
  app.add_option("--target-device", raw.target_device,
                 "The device that device arguments become; default xla, and for fx-python what they are");
  app.add_flag("--no-fx-passes", raw.no_fx_passes,
               "Take the graph as it is; to be lowered it needs no pass then");
  app.add_option("--world-size", raw.world_size, "Number of ranks that run the program");
  app.add_option("--process-group", raw.process_groups,
                 "NAME=0,1;2,3: the groups that collectives on NAME form, of all ranks; may be given again")
      ->allow_extra_args(false);
  app.add_option("--nki-kernels", options.nki_kernels,
                 "What the kernel compiler says of the NKI kernels, as JSON")
      ->check(is_path);
  app.add_flag("--time-passes", options.time_passes,
               "Print the time of each pass, and what is updated in place");
  app.add_option("--dump-passes", options.dump_passes, "Folder for the graph before and after each pass")
      ->check(is_path);
  app.add_flag("--verify-each", options.verify_each,
               "Verify the graph and what is known of it after each pass");
  app.add_option("--bind", raw.bind,
                 "s0=128: the number that a symbolic size stands for; may be given again. With several, s0=128,256, OUT "
                 "is a folder with a module and a signature for each choice, and manifest.json")
      ->allow_extra_args(false);
  app.add_option("--custom-op", raw.custom_operators,
                 "'mylib::foo(Tensor(a!) x, Tensor y) -> ()': the schema of an operator of torch.library, which training IR "
                 "and printed graphs do not say; may be given again")
      ->allow_extra_args(false);
  app.add_option("--example-inputs", options.example_inputs,
                 "What the inputs of a printed graph are: blocks 'Input 0:', or a function load_args")
      ->check(is_path);
}

}  // namespace

auto parse_command_line(int argc, const char* const* argv) -> CommandLine {
  CommandLine line;
  RawCompileOptions raw;
  CLI::App app("Compiles PyTorch FX graphs to HLO.", "fxpassc");
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  CLI::App& compile =
      *app.add_subcommand("compile", "Run the passes over a program and write it as HLO, or as FX");
  add_compile_options(compile, raw, line.compile);
  compile.footer("Exit status: 0 done, 1 the program or a file is at fault, 2 usage.");
  const CLI::App& passes =
      *app.add_subcommand("passes", "Print the default pipeline and the contract of each pass");
  const CLI::App& ops = *app.add_subcommand("ops", "Print the operators that can be lowered, one a line");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == 0;
    const bool has_command = !app.get_subcommands().empty();
    if (is_help)
      line.status = app.exit(error);
    else if (has_command || (argc > 1 && argv[1][0] == '-'))
      line.status = complain(error.what());
    else
      line.status = complain((argc > 1 ? "'" + std::string(argv[1]) + "' is no command: " : "a command is needed: ") +
                             "compile, passes and ops are");
    return line;
  }
  if (compile.parsed()) {
    line.status = finish(raw, line.compile);
    if (line.status == done) line.command = Command::compile;
  } else if (passes.parsed()) {
    line.command = Command::passes;
  } else if (ops.parsed()) {
    line.command = Command::ops;
  }
  return line;
}

}  // namespace fxpassc
