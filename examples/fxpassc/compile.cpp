// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compile.hpp"
#include "watcher.hpp"

#include <fxpass/emit/file.hpp>
#include <fxpass/emit/fx_json.hpp>
#include <fxpass/emit/fx_python.hpp>
#include <fxpass/emit/fx_text.hpp>
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>
#include <fxpass/emit/stablehlo.hpp>
#include <fxpass/graph/call.hpp>
#include <fxpass/lower/compile.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/passes/bind_symbols.hpp>
#include <fxpass/passes/default_pipeline.hpp>
#include <fxpass/read/nki_kernels.hpp>
#include <fxpass/read/program.hpp>
#include <fxpass/support/json_text.hpp>
#include <fxpass/support/report.hpp>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace fxpassc {

namespace {

using namespace fxpass;

/// Numbers for the symbols of a program: one choice of the values that the options give.
using Choice = std::vector<SymbolBinding>;

/// What is written to files.
struct Result {
  Text program;
  Signature signature;
  Choice choice = {};
};

// Reading ---------------------------------------------------------------------------------------------------

auto read(const CompileOptions& options) -> Expected<Module<>> {
  ReadOptions known{.operators = &options.custom_operators};
  if (options.example_inputs.empty()) return read_program(options.input, known);
  return read_example_inputs(options.example_inputs).and_then([&](const ExampleInputs& examples) {
    known.examples = &examples;
    return read_program(options.input, known);
  });
}

auto read_process_groups(const CompileOptions& options) -> Expected<ProcessGroups> {
  ProcessGroups groups(options.world_size);
  Diagnostics errors;
  for (const ProcessGroupOption& option : options.process_groups)
    if (Status status = groups.add(option.name, option.groups); !status)
      errors.add(std::move(status).error());
  if (!errors.empty()) return errors;
  return groups;
}

auto read_kernels(const CompileOptions& options) -> Expected<KernelRegistry> {
  if (options.nki_kernels.empty()) return KernelRegistry();
  return read_nki_kernels(options.nki_kernels);
}

/// Warns of process groups that no collective names: a misspelt name would pass unnoticed.
void report_unused_groups(const Graph& graph, const ProcessGroups& groups) {
  Diagnostics warnings;
  for (const ProcessGroups::Group& group : groups.groups()) {
    bool is_used = false;
    for (NodeId id; id.index < graph.node_count() && !is_used; ++id.index)
      is_used = graph.op(id).names_group && Call(graph, id).string("group_name") == group.name.view();
    if (!is_used)
      warnings.add(Diagnostic::warning(
          DiagnosticCode::invalid_option,
          text_of("--process-group: no collective of the program names '", group.name, "'")));
  }
  report(stderr, warnings);
}

/// Whether a call of the program, or of a graph inside it, is one of operator `name`.
auto calls(const Graph& graph, std::string_view name) -> bool {
  for (const Operator& op : graph.operators())
    if (graph.schema(op).name() == name) return true;
  for (const Graph& inner : graph.subgraphs())
    if (calls(inner, name)) return true;
  return false;
}

/// Warns of operators that the program does not call: of a misspelt one nothing would be known.
void report_unused_operators(const Graph& graph, const CustomOperators& operators) {
  Diagnostics warnings;
  for (const Text& schema : operators.schemas())
    if (const std::string_view name = ops::Schema(schema.view()).name(); !calls(graph, name))
      warnings.add(Diagnostic::warning(DiagnosticCode::invalid_option,
                                       text_of("--custom-op: the program does not call ", name)));
  report(stderr, warnings);
}

// Passes ----------------------------------------------------------------------------------------------------

/// Runs `pipeline`, watched as the options ask, and prints its warnings.
template <class Pipeline>
auto run(const Pipeline& pipeline, Module<> module, const CompileOptions& options) {
  Context context;
  Watcher watcher(options);
  auto result = Watcher::is_needed(options) ? pipeline.run_passes(std::move(module), context, watcher)
                                            : pipeline.run_passes(std::move(module), context);
  report(stderr, context.warnings());
  report(stderr, watcher.problems());
  return result;
}

// Emitting --------------------------------------------------------------------------------------------------

auto emit_hlo(LoweredModule lowered, Form form) -> Result {
  const auto emit_form = [&]() -> Text {
    switch (form) {
      case Form::hlo_proto: return emit<HloProto>(lowered);
      case Form::stablehlo: return emit<StableHlo>(lowered);
      default: return emit<HloText>(lowered);
    }
  };
  return {emit_form(), std::move(lowered.signature)};
}

auto emit_fx(const Graph& graph, const CompileOptions& options) -> Expected<Result> {
  Result result;
  if (!options.signature.empty() || options.makes_several()) {
    Expected<Signature> signature = signature_of(graph);
    if (!signature) return std::move(signature).error();
    result.signature = *std::move(signature);
  }
  const auto emit_form = [&]() -> Expected<Text> {
    switch (options.form) {
      case Form::fx_json: return emit<FxJson>(graph);
      case Form::fx_python: return emit<FxPython>(graph);
      default: return emit<FxText>(graph);
    }
  };
  Expected<Text> program = emit_form();
  if (!program) return std::move(program).error();
  result.program = *std::move(program);
  return result;
}

auto compile_to_hlo(Module<> module, const PassOptions& passes, const CompileOptions& options)
    -> Expected<Result> {
  const auto to_result = [&](LoweredModule lowered) { return emit_hlo(std::move(lowered), options.form); };
  if (!options.enable_fx_passes)
    return fxpass::compile(std::move(module), {.enable_fx_passes = false}).transform(to_result);
  return run(get_default_pass_manager(passes), std::move(module), options)
      .and_then(lower(xla))
      .transform(to_result);
}

auto compile_to_fx(Module<> module, const PassOptions& passes, const CompileOptions& options)
    -> Expected<Result> {
  const auto to_result = [&](const auto& prepared) { return emit_fx(prepared.graph(), options); };
  if (!options.enable_fx_passes) return to_result(module);
  const auto pipeline = get_default_pass_manager(passes);
  // Python code is for running where the program came from.
  if (options.form == Form::fx_python && !options.target_device)
    return run(pipeline.without<DeviceRewriterPass>(), std::move(module), options).and_then(to_result);
  return run(pipeline, std::move(module), options).and_then(to_result);
}

/// Every choice of one value for each symbol, the last symbol's changing first.
auto choices_of(const std::vector<SymbolOption>& symbols) -> std::vector<Choice> {
  std::vector<Choice> choices(1);
  for (const SymbolOption& option : symbols) {
    std::vector<Choice> longer;
    for (const Choice& choice : choices)
      for (const std::int64_t value : option.values) {
        longer.push_back(choice);
        longer.back().push_back({option.symbol, value});
      }
    choices = std::move(longer);
  }
  return choices;
}

/// "s0=128,s1=16".
auto name_of(const Choice& choice) -> std::string {
  std::string name;
  for (const SymbolBinding& b : choice) {
    if (!name.empty()) name += ',';
    name.append(b.symbol).append(1, '=').append(std::to_string(b.value));
  }
  return name;
}

/// Says of each error for which sizes it is one.
auto of_choice(const Choice& choice, Diagnostics errors) -> Diagnostics {
  for (Diagnostic& d : errors) d.message = text_of("with ", name_of(choice), ": ", d.message);
  return errors;
}

auto compile_for(const Choice& choice, Module<> module, const PassOptions& passes, const CompileOptions& options)
    -> Expected<Result> {
  const auto compile_bound = [&](Module<> bound) {
    return is_hlo(options.form) ? compile_to_hlo(std::move(bound), passes, options)
                                : compile_to_fx(std::move(bound), passes, options);
  };
  if (choice.empty()) return compile_bound(std::move(module));
  const Span<const SymbolBinding> bindings(choice.data(), choice.size());
  auto result = pipeline(BindSymbolsPass{bindings})(std::move(module)).and_then(compile_bound);
  if (result) result->choice = choice;
  return result;
}

auto compile_program(const CompileOptions& options) -> Expected<std::vector<Result>> {
  const Expected<ProcessGroups> groups = read_process_groups(options);
  if (!groups) return groups.error();
  const Expected<KernelRegistry> kernels = read_kernels(options);
  if (!kernels) return kernels.error();
  PassOptions passes{.kernels = &*kernels, .groups = &*groups};
  if (options.target_device) passes.target_device = *options.target_device;
  const Expected<Module<>> module = read(options);
  if (!module) return module.error();
  report_unused_groups(module->graph(), *groups);
  report_unused_operators(module->graph(), options.custom_operators);
  std::vector<Result> results;
  for (const Choice& choice : choices_of(options.symbols)) {
    Expected<Result> result = compile_for(choice, *module, passes, options);
    if (!result) return options.makes_several() ? of_choice(choice, std::move(result.error())) : result.error();
    results.push_back(*std::move(result));
  }
  return results;
}

/// Which inputs are updated in place, a line each.
void print_aliases(const Signature& signature) {
  for (const WriteBack& alias : signature.io_map) {
    const SignatureInput& input = signature.inputs[alias.input];
    const Text line =
        text_of("output ", alias.output, " (", signature.outputs[alias.output].name, ") is the new value of ",
                to_string(input.kind), ' ', input.target.empty() ? input.name : input.target, '\n');
    std::fwrite(line.view().data(), 1, line.size(), stderr);
  }
}

auto write_to_standard_output(const Text& program) -> Status {
  const std::string_view bytes = program.view();
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() && std::fflush(stdout) == 0) return {};
  return Diagnostic::error(DiagnosticCode::file_unwritable, "writing to the standard output failed");
}

/// What is in the folder: `{"modules": [{"bindings": {"s0": 128}, "module": "s0=128.hlo", "signature": ...}]}`.
auto manifest_of(const std::vector<Result>& results, Form form) -> Text {
  Text json("{\"modules\": [");
  for (const Result& result : results) {
    const std::string name = name_of(result.choice);
    append_to(json, &result == &results.front() ? "\n{\"bindings\": {" : ",\n{\"bindings\": {");
    for (const SymbolBinding& b : result.choice) {
      if (&b != &result.choice.front()) append_to(json, ", ");
      append_json_string(json, b.symbol);
      append_all(json, ": ", b.value);
    }
    append_to(json, "}, \"module\": ");
    append_json_string(json, name + ending_of(form));
    append_to(json, ", \"signature\": ");
    append_json_string(json, name + ".signature.json");
    append_to(json, '}');
  }
  append_to(json, "\n]}\n");
  return json;
}

/// A module and a signature for each choice, and a manifest, all or none.
auto write_folder(const std::vector<Result>& results, const CompileOptions& options) -> Status {
  const std::filesystem::path folder(options.output);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Diagnostic::error(DiagnosticCode::file_unwritable,
                             text_of(options.output, ": the folder cannot be made: ", error.message()));
  std::vector<std::string> paths;
  std::vector<Text> texts;
  for (const Result& result : results) {
    const std::string name = name_of(result.choice);
    paths.push_back((folder / (name + ending_of(options.form))).string());
    texts.push_back(result.program);
    paths.push_back((folder / (name + ".signature.json")).string());
    write_json(texts.emplace_back(), result.signature);
  }
  paths.push_back((folder / "manifest.json").string());
  texts.push_back(manifest_of(results, options.form));
  std::vector<OutputFile> files;
  files.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], texts[i]});
  return write_files(Span<const OutputFile>(files.data(), files.size()));
}

auto write(const Result& result, const CompileOptions& options) -> Status {
  const bool to_file = options.output != "-";
  Text signature;
  if (!options.signature.empty()) write_json(signature, result.signature);
  if (to_file && options.signature.empty()) return write_file(options.output, result.program);
  if (to_file) return write_files({{options.output, result.program}, {options.signature, signature}});
  if (!options.signature.empty())
    if (Status written = write_file(options.signature, signature); !written) return written;
  return write_to_standard_output(result.program);
}

}  // namespace

auto compile(const CompileOptions& options) -> int {
  const Expected<std::vector<Result>> results = compile_program(options);
  if (!results) return report(stderr, results.error());
  if (options.time_passes) print_aliases(results->front().signature);
  const Status written = options.makes_several() ? write_folder(*results, options) : write(results->front(), options);
  if (!written) return report(stderr, written.error());
  return done;
}

}  // namespace fxpassc
