// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/example_inputs.hpp>
#include <fxpass/read/fx_json.hpp>
#include <fxpass/read/printed_text.hpp>
#include <fxpass/read/printed_value.hpp>
#include <fxpass/read/python_argument.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// @file
/// Reads FX graphs from the Python code that PyTorch prints of them: `print_readable`, `GraphModule.code`,
/// `print(exported_program)`, what TORCH_LOGS writes, programs that reproduce a failure, and all of these
/// reformatted.
///
/// What is not printed is not guessed. Without strides ("f32[4, 3]" rather than "f32[4, 3][3, 1]cpu") nothing
/// that hangs on them is decided; without annotations a graph can be read and printed, and not be lowered.
/// Inputs are taken to begin where their storage does, and to be distinct unless `load_args` says otherwise.

namespace fxpass {

namespace detail {

/// One statement of `forward` that makes a node, or renames one.
struct FxStatement {
  enum class Kind : std::uint8_t {
    value,    ///< `name = expression`
    in_place, ///< `target op= expression`, `target[index] = expression`
    result,   ///< `return expression`
  };
  Kind kind = Kind::value;
  TextPlace place = {};
  std::string name = {};  ///< empty if the code names none
  std::string annotation = {};
  std::string stack_trace = {};
  std::string op = {};           ///< of `op=`; empty for an assignment to a subscript
  PythonExpression target = {};  ///< of `in_place`
  PythonExpression value = {};
};

/// A class with its `forward`, as it stands in the file.
struct FxClass {
  struct Parameter {
    TextPlace place = {};
    std::string name = {};
    std::string annotation = {};
    std::optional<PythonExpression> default_value = {};
  };
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<FxStatement> statements;
  std::vector<FxClass> children;  ///< graphs that this one calls
};

/// Reads classes and functions into statements. It knows Python, and nothing of graphs.
class FxCodeParser {
 public:
  FxCodeParser(std::string_view text, TextPlace start, std::string_view file)
      : lexer_(text, start), parser_(lexer_, file) {}

  /// Needs a lexer at `class`. Names of classes may be no names of Python:
  /// `class <lambda>(torch.nn.Module):`.
  [[nodiscard]] auto read_class(FxClass& result) -> bool {
    const std::uint32_t column = lexer_.next().place.column;
    result.name = lexer_.peek().text;
    if (!skip_to_body()) return false;
    bool has_forward = false;
    while (is_inside(column)) {
      const PythonToken token = lexer_.peek();
      if (token.is("class")) {
        if (!read_class(result.children.emplace_back())) return false;
      } else if (token.is("def") && !has_forward) {
        if (!read_function(result, has_forward)) return false;
      } else {
        skip_statement(token.place.column);
      }
    }
    return has_forward || parser_.fail(text_of("class '", result.name, "' has no method 'forward'"));
  }
  /// Needs a lexer at `def`.
  [[nodiscard]] auto read_forward(FxClass& result) -> bool {
    bool is_forward = false;
    return read_function(result, is_forward) && (is_forward || parser_.fail("'def forward' is expected"));
  }
  [[nodiscard]] auto parser() -> PythonParser& { return parser_; }

 private:
  [[nodiscard]] auto is_inside(std::uint32_t column) const -> bool {
    return lexer_.peek().kind != PythonTokenKind::end && lexer_.peek().place.column > column;
  }
  void skip_line() {
    while (lexer_.peek().kind != PythonTokenKind::line_end && lexer_.peek().kind != PythonTokenKind::end)
      lexer_.next();
    lexer_.next();
  }
  /// A line and all that is indented below it.
  void skip_statement(std::uint32_t column) {
    skip_line();
    while (is_inside(column)) skip_line();
  }
  /// Behind the colon that ends a header.
  auto skip_to_body() -> bool {
    int depth = 0;
    while (lexer_.peek().kind != PythonTokenKind::line_end && lexer_.peek().kind != PythonTokenKind::end) {
      const PythonToken token = lexer_.next();
      if (token.is("(") || token.is("[")) ++depth;
      if (token.is(")") || token.is("]")) --depth;
      if (token.is(":") && depth == 0) {
        if (lexer_.peek().kind == PythonTokenKind::line_end) lexer_.next();
        return true;
      }
    }
    return parser_.fail("':' is expected");
  }
  auto read_function(FxClass& result, bool& is_forward) -> bool {
    const std::uint32_t column = lexer_.next().place.column;
    is_forward = lexer_.peek().is("forward");
    if (!is_forward) {
      skip_statement(column);
      return true;
    }
    lexer_.next();
    if (!parser_.expect("(") || !read_parameters(result) || !skip_to_body()) return false;
    while (is_inside(column))
      if (!read_line(result)) return false;
    if (result.statements.empty() || result.statements.back().kind != FxStatement::Kind::result)
      return parser_.fail("'forward' ends without 'return'");
    return true;
  }
  auto read_parameters(FxClass& result) -> bool {
    while (!lexer_.peek().is(")")) {
      const PythonToken token = lexer_.next();
      if (token.is("*") || token.is("**"))
        return parser_.fail_at(token.place, "a variable number of arguments is not supported",
                               DiagnosticCode::unsupported);
      if (token.kind != PythonTokenKind::name)
        return parser_.fail_at(token.place, "the name of a parameter is expected");
      FxClass::Parameter parameter{.place = token.place, .name = std::string(token.text)};
      if (lexer_.peek().is(":") && !read_annotation(parameter.annotation)) return false;
      if (lexer_.peek().is("=")) {
        lexer_.next();
        if (!parser_.read_expression(parameter.default_value.emplace())) return false;
      }
      if (parameter.name != "self") result.parameters.push_back(std::move(parameter));
      if (lexer_.peek().is(",")) {
        lexer_.next();
      } else if (!lexer_.peek().is(")")) {
        return parser_.fail("',' or ')' is expected");
      }
    }
    lexer_.next();
    return true;
  }
  /// Behind a colon. Annotations that say something of a value are strings; others are the names of types.
  auto read_annotation(std::string& annotation) -> bool {
    lexer_.next();
    PythonExpression e;
    if (!parser_.read_expression(e)) return false;
    if (e.is(PythonKind::string)) annotation = std::move(e.text);
    return true;
  }

  // Statements ---------------------------------------------------------------------------------------------
  auto read_line(FxClass& result) -> bool {
    note_stack_trace();
    while (true) {
      if (!read_statement(result)) return false;
      if (lexer_.peek().is(";")) {
        lexer_.next();
        if (lexer_.peek().kind != PythonTokenKind::line_end && lexer_.peek().kind != PythonTokenKind::end)
          continue;
      }
      if (lexer_.peek().kind == PythonTokenKind::end) return true;
      if (lexer_.peek().kind != PythonTokenKind::line_end)
        return parser_.fail("the end of the statement is expected");
      lexer_.next();
      return true;
    }
  }
  /// Comments tell where the nodes that follow come from: `# File: PATH:LINE in FUNCTION, code: TEXT`.
  void note_stack_trace() {
    for (const PythonComment& comment : lexer_.take_comments()) {
      if (comment.text.find("No stacktrace found") != std::string_view::npos) stack_trace_.clear();
      const auto file = comment.text.find("File: ");
      if (file == std::string_view::npos) continue;
      std::string_view rest = comment.text.substr(file + 6);
      std::string_view code;
      if (const auto at = rest.find(", code: "); at != std::string_view::npos) {
        code = rest.substr(at + 8);
        rest = rest.substr(0, at);
      }
      std::string_view function = "<module>";
      if (const auto at = rest.rfind(" in "); at != std::string_view::npos) {
        function = rest.substr(at + 4);
        rest = rest.substr(0, at);
      }
      const auto colon = rest.rfind(':');
      if (colon == std::string_view::npos) continue;
      stack_trace_.clear();
      append_all(stack_trace_, "  File \"", rest.substr(0, colon), "\", line ", rest.substr(colon + 1),
                 ", in ", function, "\n    ", code, '\n');
    }
  }
  static auto is_assignment_operator(const PythonToken& token) -> bool {
    return token.kind == PythonTokenKind::symbol && token.text.size() >= 2 && token.text.ends_with('=') &&
           token.text != "==" && token.text != "!=" && token.text != "<=" && token.text != ">=" &&
           token.text != ":=";
  }
  auto read_statement(FxClass& result) -> bool {
    FxStatement s{.place = lexer_.peek().place, .stack_trace = stack_trace_};
    if (lexer_.peek().is("return")) {
      lexer_.next();
      s.kind = FxStatement::Kind::result;
      if (lexer_.peek().kind != PythonTokenKind::line_end && !parser_.read_expressions(s.value)) return false;
      result.statements.push_back(std::move(s));
      return true;
    }
    if (lexer_.peek().is("del") || lexer_.peek().is("pass")) {
      lexer_.next();
      PythonExpression ignored;
      return lexer_.peek().kind == PythonTokenKind::line_end || parser_.read_expressions(ignored);
    }
    PythonExpression first;
    if (!parser_.read_expressions(first)) return false;
    if (lexer_.peek().is(":")) {
      if (!read_annotation(s.annotation)) return false;
      if (!lexer_.peek().is("=")) return annotate_parameter(result, first, s.annotation);
    }
    if (is_assignment_operator(lexer_.peek())) {
      s.kind = FxStatement::Kind::in_place;
      s.op = lexer_.next().text;
      s.op.pop_back();
      s.target = std::move(first);
      if (!parser_.read_expressions(s.value)) return false;
      result.statements.push_back(std::move(s));
      return true;
    }
    if (!lexer_.peek().is("=")) {
      s.value = std::move(first);  // a call for its effect
      result.statements.push_back(std::move(s));
      return true;
    }
    return read_assignment(result, std::move(s), std::move(first));
  }
  /// `target = value`, `a = b = None`
  auto read_assignment(FxClass& result, FxStatement s, PythonExpression target) -> bool {
    std::size_t targets = 0;
    for (; lexer_.peek().is("="); ++targets) {
      lexer_.next();
      s.value = PythonExpression();
      if (!parser_.read_expressions(s.value)) return false;
    }
    if (s.value.is(PythonKind::none)) return true;  // forgets variables
    if (targets > 1)
      return parser_.fail_at(s.place, "several variables get one value", DiagnosticCode::unsupported);
    if (target.is(PythonKind::subscript)) {
      s.kind = FxStatement::Kind::in_place;
      s.target = std::move(target);
    } else if (target.is(PythonKind::name)) {
      s.name = std::move(target.text);
    } else if (target.is(PythonKind::tuple) && is_flattening(s.value)) {
      return true;  // the parameters are what they were
    } else {
      return parser_.fail_at(target.place, "only variables and their elements can be assigned to",
                             DiagnosticCode::unsupported);
    }
    result.statements.push_back(std::move(s));
    return true;
  }
  static auto is_flattening(const PythonExpression& value) -> bool {
    return value.is(PythonKind::call) && dotted_path(value.parts[0]) == "fx_pytree.tree_flatten_spec";
  }
  auto annotate_parameter(FxClass& result, const PythonExpression& name, const std::string& annotation)
      -> bool {
    for (FxClass::Parameter& parameter : result.parameters)
      if (name.is_name(parameter.name)) parameter.annotation = annotation;
    return true;
  }

  PythonLexer lexer_;
  PythonParser parser_;
  std::string stack_trace_;
};

/// What `print(exported_program)` says of inputs and outputs.
class ExportSignature {
 public:
  struct Spec {
    std::string name;
    std::string kind;    ///< "BUFFER"
    std::string target;  ///< empty if it has none
  };
  std::vector<Spec> inputs;
  std::vector<Spec> outputs;
  TextPlace place;

  /// INPUT of the placeholder `name`; its target where the signature has one. Empty if nothing is
  /// known of it.
  [[nodiscard]] auto input_json(std::string_view name, std::string& target) const -> std::string {
    for (const Spec& spec : inputs) {
      if (spec.name != name) continue;
      const std::string_view kind = spec.kind == "PARAMETER"         ? "parameter"
                                    : spec.kind == "BUFFER"          ? "buffer"
                                    : spec.kind == "CONSTANT_TENSOR" ? "tensor_constant"
                                                                     : "user_input";
      if (!spec.target.empty()) target = spec.target;
      return "{\"kind\": " + quoted(kind) + "}";
    }
    return {};
  }
  /// Adds the SPECs of the outputs.
  [[nodiscard]] auto write_outputs(FxGraphJson& graph, PythonParser& parser, TextPlace where) const -> bool {
    for (const Spec& spec : outputs) {
      if (spec.kind == "USER_OUTPUT") {
        graph.outputs.emplace_back(R"({"kind": "user_output"})");
        continue;
      }
      const std::string_view kind = spec.kind == "BUFFER_MUTATION"       ? "buffer_mutation"
                                    : spec.kind == "PARAMETER_MUTATION"  ? "parameter_mutation"
                                    : spec.kind == "USER_INPUT_MUTATION" ? "user_input_mutation"
                                                                         : "";
      if (kind.empty())
        return parser.fail_at(where, text_of("an output of kind ", spec.kind, " is not supported"),
                              DiagnosticCode::unsupported);
      std::size_t input = 0;
      while (input < graph.placeholders.size() && graph.placeholders[input].target != spec.target) ++input;
      if (input == graph.placeholders.size())
        return parser.fail_at(
            where, text_of("an output is the new value of '", spec.target, "', which is no input"));
      std::string json = "{\"kind\": " + quoted(kind);
      append_all(json, ", \"input\": ", input, '}');
      graph.outputs.push_back(std::move(json));
    }
    return true;
  }

 private:
  static auto quoted(std::string_view text) -> std::string {
    std::string json;
    append_json_string(json, text);
    return json;
  }
};

/// `text` from behind `key` to the next `'`; none where there is no `key`.
[[nodiscard]] inline auto quoted_behind(std::string_view text, std::string_view key)
    -> std::optional<std::string> {
  const auto at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  return std::string(text.substr(0, text.find('\'')));
}

/// The signature behind "Graph signature:"; an empty one where there is none. Two forms are known: a line for
/// each input and output (PyTorch 2.8 and later), and the `repr` of the dataclass.
[[nodiscard]] inline auto read_export_signature(std::string_view text, std::string_view file)
    -> Expected<ExportSignature> {
  ExportSignature signature;
  std::vector<ExportSignature::Spec>* list = nullptr;
  bool is_inside = false;
  for (const TextLine& line : lines_of(text)) {
    if (line.text.starts_with("Range constraints:")) break;
    if (line.text.starts_with("Graph signature:")) {
      is_inside = true;
      signature.place = line.place;
      std::string_view rest = line.text;
      for (const std::string_view kind : {"InputSpec(kind=<InputKind.", "OutputSpec(kind=<OutputKind."}) {
        list = kind.starts_with('I') ? &signature.inputs : &signature.outputs;
        for (auto at = rest.find(kind); at != std::string_view::npos; at = rest.find(kind, at + 1)) {
          std::string_view spec = rest.substr(at + kind.size());
          spec = spec.substr(0, spec.find("Spec(kind="));
          list->push_back({quoted_behind(spec, "name='").value_or(""),
                           std::string(spec.substr(0, spec.find(':'))),
                           quoted_behind(spec, "target='").value_or("")});
        }
      }
      continue;
    }
    if (!is_inside || line.text.empty()) continue;
    if (line.text == "# inputs" || line.text == "# outputs") {
      list = line.text == "# inputs" ? &signature.inputs : &signature.outputs;
      continue;
    }
    const auto colon = line.text.find(": ");
    if (list == nullptr || colon == std::string_view::npos)
      return error_in_file(file, line.place, DiagnosticCode::file_malformed,
                           "'NAME: KIND' of an input or an output is expected");
    const std::string_view rest = line.text.substr(colon + 2);
    list->push_back({std::string(line.text.substr(0, colon)), std::string(rest.substr(0, rest.find(' '))),
                     quoted_behind(rest, "target='").value_or("")});
  }
  return signature;
}

/// Makes FX JSON of a class.
class FxCodeTranslator {
 public:
  FxCodeTranslator(PythonParser& parser, const ExportSignature& signature, const ExampleInputs* examples)
      : parser_(parser), signature_(signature), examples_(examples), arguments_(values_, parser) {}

  [[nodiscard]] auto translate(const FxClass& source) -> bool {
    for (const FxClass& child : source.children) {
      FxCodeTranslator inner(parser_, no_signature_, nullptr);
      if (!inner.translate(child)) return false;
      graph_.subgraphs.emplace_back(child.name, inner.graph_.json());
    }
    if (!add_parameters(source)) return false;
    for (const FxStatement& s : source.statements) {
      note_member(s);
      if (!add_lifted_attribute(s)) return false;
    }
    const Span<const FxStatement> statements(source.statements);
    for (std::size_t i = 0; i < statements.size(); ++i) {
      // The statement behind one that works in place names its node: `x += y;  iadd = x`
      const bool is_named = statements[i].kind == FxStatement::Kind::in_place && i + 1 < statements.size() &&
                            names_result_of(statements[i + 1], statements[i]);
      if (!add(statements[i], is_named ? &statements[i + 1] : nullptr)) return false;
      if (is_named) ++i;
    }
    return true;
  }
  [[nodiscard]] auto graph() const -> const FxGraphJson& { return graph_; }

 private:
  // Inputs -------------------------------------------------------------------------------------------------
  auto add_parameters(const FxClass& source) -> bool {
    if (examples_ != nullptr && examples_->size() != source.parameters.size())
      return parser_.fail_at(source.parameters.empty() ? TextPlace{1, 1} : source.parameters[0].place,
                             text_of("the graph has ", source.parameters.size(), " inputs, and ",
                                     examples_->size(), " example inputs are given"));
    for (std::size_t i = 0; i < source.parameters.size(); ++i) {
      const FxClass::Parameter& parameter = source.parameters[i];
      FxNodeJson node{.op = "placeholder", .name = parameter.name, .target = parameter.name};
      node.value = value_of_annotation(parameter.annotation);
      node.input = signature_.input_json(parameter.name, node.target);
      if (examples_ != nullptr) {
        node.value = (*examples_)[i].value;
        node.input = user_input_json((*examples_)[i].storage);
      }
      if (parameter.default_value && !arguments_.write(*parameter.default_value, node.args)) return false;
      if (!give(parameter.place, parameter.name, tagged("node", parameter.name))) return false;
      graph_.placeholders.push_back(std::move(node));
    }
    return true;
  }
  /// A tensor that is read from the module becomes an input, as it does where other readers meet one.
  auto add_lifted_attribute(const FxStatement& s) -> bool {
    const std::optional<std::string> path =
        s.kind == FxStatement::Kind::value ? module_path(s.value) : std::nullopt;
    if (!path || path->empty() || graph_.has_subgraph(*path)) return true;
    const auto [known, is_new] = lifted_.try_emplace(*path, s.name);
    if (!is_new) return true;
    FxNodeJson node{
        .op = "placeholder", .name = s.name, .target = *path, .value = value_of_annotation(s.annotation)};
    // Whether it is a parameter, a buffer or a constant the code does not say. A buffer may be written.
    node.input = R"({"kind": "buffer"})";
    graph_.placeholders.push_back(std::move(node));
    return true;
  }

  /// A node with several results has no annotation; those who take a member have one: `getitem: "f32[2]" =
  /// split[0]`
  void note_member(const FxStatement& s) {
    if (s.annotation.empty() || !s.value.is(PythonKind::subscript) ||
        !s.value.parts[0].is(PythonKind::name) || !s.value.parts[1].is(PythonKind::integer))
      return;
    constexpr std::int64_t most_members = 1 << 16;
    const std::int64_t index = s.value.parts[1].integer;
    if (index < 0 || index >= most_members) return;
    std::vector<std::string>& members = members_[s.value.parts[0].text];
    if (members.size() <= static_cast<std::size_t>(index))
      members.resize(static_cast<std::size_t>(index) + 1, "null");
    if (std::string value = value_of_annotation(s.annotation); !value.empty())
      members[static_cast<std::size_t>(index)] = std::move(value);
  }
  [[nodiscard]] auto value_of_members(const std::string& name) const -> std::string {
    const auto found = members_.find(name);
    if (found == members_.end()) return {};
    std::string json = "[";
    for (const std::string& member : found->second) append_all(json, json.size() == 1 ? "" : ", ", member);
    return json += ']';
  }

  // Nodes --------------------------------------------------------------------------------------------------
  /// "" of `self`, "layers.0.weight" of `getattr(self.layers, "0").weight`; none of what is not part of the
  /// module.
  [[nodiscard]] auto module_path(const PythonExpression& e) const -> std::optional<std::string> {
    if (e.is_name("self") && !values_.contains("self")) return std::string();
    const bool is_getattr = e.is(PythonKind::call) && e.parts[0].is_name("getattr") && e.parts.size() == 3 &&
                            e.parts[2].is(PythonKind::string);
    if (!e.is(PythonKind::attribute) && !is_getattr) return std::nullopt;
    std::optional<std::string> path = module_path(e.parts[is_getattr ? 1 : 0]);
    if (!path) return std::nullopt;
    if (!path->empty()) *path += '.';
    return *path += is_getattr ? e.parts[2].text : e.text;
  }
  /// Calls that serve Python or its profiler, and compute nothing.
  [[nodiscard]] static auto is_ignored(const FxStatement& s) -> bool {
    if (!s.value.is(PythonKind::call)) return false;
    const std::string callee = dotted_path(s.value.parts[0]);
    return callee == "self._guards_fn" || callee.find("_RecordFunctionFast") != std::string::npos ||
           callee.starts_with("_rf");
  }
  [[nodiscard]] static auto names_result_of(const FxStatement& naming, const FxStatement& s) -> bool {
    const PythonExpression& target = s.target.is(PythonKind::subscript) ? s.target.parts[0] : s.target;
    return naming.kind == FxStatement::Kind::value && naming.value.is(PythonKind::name) &&
           naming.value.text == target.text;
  }
  auto give(TextPlace place, const std::string& name, std::string argument) -> bool {
    return values_.emplace(name, std::move(argument)).second ||
           parser_.fail_at(place, text_of("'", name, "' is defined twice"));
  }

  auto add(const FxStatement& s, const FxStatement* naming) -> bool {
    switch (s.kind) {
      case FxStatement::Kind::result: return add_output(s);
      case FxStatement::Kind::in_place: return add_in_place(s, naming);
      case FxStatement::Kind::value: break;
    }
    if (is_ignored(s)) return true;
    if (s.value.is(PythonKind::name)) return add_other_name(s);
    if (const auto path = module_path(s.value)) {
      if (graph_.has_subgraph(*path)) return give(s.place, s.name, tagged("subgraph", *path));
      return give(s.place, s.name, tagged("node", lifted_.at(*path)));
    }
    FxNodeJson node{.op = "call_function", .name = s.name, .value = value_of_annotation(s.annotation),
                    .stack_trace = s.stack_trace};
    if (node.value.empty()) node.value = value_of_members(s.name);
    if (!translate_expression(s.value, node)) return false;
    return add_node(s.place, std::move(node));
  }
  auto add_node(TextPlace place, FxNodeJson node) -> bool {
    if (node.name.empty()) node.name = unused_name(node.target);
    if (!give(place, node.name, tagged("node", node.name))) return false;
    graph_.nodes.push_back(std::move(node));
    return true;
  }
  /// A name for a node that the code does not name: nothing uses its result.
  [[nodiscard]] auto unused_name(std::string_view target) const -> std::string {
    const std::string base(target.substr(target.rfind('.') + 1));
    std::string name = base;
    for (int i = 1; values_.contains(name); ++i) name = base + "_" + std::to_string(i);
    return name;
  }
  /// `l_x_ = L_x_`: Dynamo's inputs have a target and another name.
  auto add_other_name(const FxStatement& s) -> bool {
    const auto found = values_.find(s.value.text);
    if (found == values_.end())
      return parser_.fail_at(s.value.place, text_of("'", s.value.text, "' is not defined"));
    for (FxNodeJson& input : graph_.placeholders) {
      if (input.name != s.value.text || input.target != s.value.text) continue;
      input.name = s.name;
      found->second = tagged("node", s.name);
    }
    return give(s.place, s.name, found->second);
  }
  auto add_in_place(const FxStatement& s, const FxStatement* naming) -> bool {
    struct Form {
      std::string_view op;
      std::string_view function;
    };
    constexpr Form forms[] = {{"+", "iadd"},       {"-", "isub"}, {"*", "imul"},     {"/", "itruediv"},
                              {"//", "ifloordiv"}, {"%", "imod"}, {"**", "ipow"},    {"&", "iand"},
                              {"|", "ior"},        {"^", "ixor"}, {"<<", "ilshift"}, {">>", "irshift"},
                              {"@", "imatmul"}};
    FxNodeJson node{.op = "call_function", .stack_trace = s.stack_trace};
    if (naming != nullptr) {
      node.name = naming->name;
      node.value = value_of_annotation(naming->annotation);
    }
    const bool is_setitem = s.op.empty();
    for (const Form& form : forms)
      if (form.op == s.op) append_all(node.target, "operator.", form.function);
    if (is_setitem) node.target = "operator.setitem";
    const PythonExpression& target = is_setitem ? s.target.parts[0] : s.target;
    if (!arguments_.write(target, node.args)) return false;
    node.args += ", ";
    if (is_setitem) {
      if (!arguments_.write(s.target.parts[1], node.args)) return false;
      node.args += ", ";
    }
    return arguments_.write(s.value, node.args) && add_node(s.place, std::move(node));
  }

  auto translate_expression(const PythonExpression& e, FxNodeJson& node) -> bool {
    switch (e.kind) {
      case PythonKind::call: return translate_call(e, node);
      case PythonKind::subscript: return translate_operator("getitem", e, node);
      case PythonKind::binary:
      case PythonKind::unary: {
        const std::string_view function = function_of_symbol(e.text, e.is(PythonKind::unary));
        if (function.empty()) break;
        return translate_operator(function, e, node);
      }
      case PythonKind::attribute:
        node.target = "builtins.getattr";
        if (!arguments_.write(e.parts[0], node.args)) return false;
        node.args += ", ";
        append_json_string(node.args, e.text);
        return true;
      default: break;
    }
    return parser_.fail_at(e.place, "a call, an operator, an element or an attribute is expected",
                           DiagnosticCode::unsupported);
  }
  /// Which function of Python's `operator` a symbol stands for.
  [[nodiscard]] static auto function_of_symbol(std::string_view symbol, bool is_unary) -> std::string_view {
    struct Form {
      std::string_view symbol;
      std::string_view function;
    };
    constexpr Form unary[] = {{"-", "neg"}, {"+", "pos"}, {"~", "invert"}, {"not", "not_"}};
    constexpr Form binary[] = {{"+", "add"},       {"-", "sub"}, {"*", "mul"},     {"/", "truediv"},
                               {"//", "floordiv"}, {"%", "mod"}, {"**", "pow"},    {"&", "and_"},
                               {"|", "or_"},       {"^", "xor"}, {"<<", "lshift"}, {">>", "rshift"},
                               {"@", "matmul"},    {"==", "eq"}, {"!=", "ne"},     {"<", "lt"},
                               {">", "gt"},        {"<=", "le"}, {">=", "ge"}};
    for (const Form& form : is_unary ? Span<const Form>(unary) : Span<const Form>(binary))
      if (form.symbol == symbol) return form.function;
    return {};
  }
  auto translate_operator(std::string_view function, const PythonExpression& e, FxNodeJson& node) -> bool {
    append_all(node.target, "operator.", function);
    for (std::size_t i = 0; i < e.parts.size(); ++i) {
      if (i != 0) node.args += ", ";
      if (!arguments_.write(e.parts[i], node.args)) return false;
    }
    return true;
  }
  auto translate_call(const PythonExpression& e, FxNodeJson& node) -> bool {
    const PythonExpression& callee = e.parts[0];
    if (const auto path = module_path(callee)) {
      node.op = "call_module";
      node.target = *path;
    } else if (callee.is(PythonKind::attribute) && callee.parts[0].is(PythonKind::name) &&
               values_.contains(callee.parts[0].text)) {
      node.op = "call_method";
      node.target = callee.text;
      if (!arguments_.write(callee.parts[0], node.args)) return false;
    } else {
      node.target = dotted_path(callee);
      if (node.target.empty()) return parser_.fail_at(callee.place, "the name of a function is expected");
      // FX prints Python's own functions by their bare names.
      if (node.target.find('.') == std::string::npos) node.target.insert(0, "builtins.");
      if (node.target.starts_with("_operator.")) node.target.erase(0, 1);
    }
    return arguments_.write_call_arguments(e, 1, node.args, node.kwargs);
  }

  // Outputs ------------------------------------------------------------------------------------------------
  auto add_output(const FxStatement& s) -> bool {
    const PythonExpression* value = &s.value;
    if (value->is(PythonKind::call) && dotted_path(value->parts[0]) == "pytree.tree_unflatten" &&
        value->parts.size() > 1)
      value = &value->parts[1];
    FxNodeJson node{.op = "output", .name = "output", .target = "output"};
    if (!arguments_.write(*value, node.args)) return false;
    // A variable may be called `output`; a name that FX gives to no variable is unique.
    if (values_.contains(node.name)) node.name = unused_name(node.name);
    graph_.nodes.push_back(std::move(node));
    return signature_.write_outputs(graph_, parser_, s.place);
  }

  inline static const ExportSignature no_signature_{};

  PythonParser& parser_;
  const ExportSignature& signature_;
  const ExampleInputs* examples_;
  FxGraphJson graph_;
  PythonArgumentWriter::Values values_;
  std::unordered_map<std::string, std::string> lifted_;  ///< path of an attribute, name of its input
  std::unordered_map<std::string, std::vector<std::string>>
      members_; ///< VALUEs of a node with several results
  PythonArgumentWriter arguments_;
};

/// Where a graph begins in a text.
struct FxCodeStart {
  TextLine line;
  bool is_class = false;
  std::string_view title;  ///< what a log calls it
};

/// The graphs in a text, those that are parts of others left out.
[[nodiscard]] inline auto find_fx_code(std::string_view text) -> std::vector<FxCodeStart> {
  std::vector<FxCodeStart> starts;
  std::string_view title;
  std::uint32_t outer_column = 0;  // of the graph that the line may belong to; 0: none
  for (TextLine line : lines_of(text)) {
    if (line.text.empty() || (outer_column != 0 && line.place.column > outer_column)) continue;
    const std::uint32_t column = line.place.column;
    if (line.text.starts_with("===== ") && line.text.ends_with(" ====="))
      title = line.text.substr(6, line.text.size() - 12);
    const auto at = line.text.find("class ");
    // A log puts the file in which the class was made before it, on the same line.
    const bool is_class = at != std::string_view::npos && line.text.ends_with("torch.nn.Module):") &&
                          (at == 0 || line.text[at - 1] == ' ');
    if (is_class || line.text.starts_with("def forward(")) {
      if (is_class) {
        line.position += at;
        line.text.remove_prefix(at);
      }
      starts.push_back({line, is_class, title});
      outer_column = column;
    } else if (!line.text.starts_with(')')) {
      outer_column = 0;  // a closing bracket stands below the header that it belongs to
    }
  }
  return starts;
}

/// The FX JSON of the graph in `text`, cleaned of prefixes.
[[nodiscard]] inline auto translate_fx_code(std::string_view text, std::string_view file,
                                            const ExampleInputs* examples) -> Expected<std::string> {
  const std::vector<FxCodeStart> starts = find_fx_code(text);
  if (starts.empty())
    return error_in_file(file, {1, 1}, DiagnosticCode::file_malformed,
                         "there is no class of torch.nn.Module, and no "
                         "'def forward'");
  if (starts.size() > 1) {
    Text message = text_of("there are ", starts.size(), " graphs here; keep one:");
    for (const FxCodeStart& start : starts)
      append_all(message, start.title.empty() ? "" : " ", start.title, " line ", start.line.place.line,
                 &start == &starts.back() ? "" : ",");
    return error_in_file(file, starts[1].line.place, DiagnosticCode::unsupported, std::move(message));
  }
  std::optional<ExampleInputs> own_examples;
  if (examples == nullptr) {
    auto found = find_load_args(text, file);
    if (!found) return std::move(found).error();
    own_examples = *std::move(found);
    if (own_examples) examples = &*own_examples;
  }
  const FxCodeStart& start = starts.front();
  FxCodeParser parser(text.substr(start.line.position), start.line.place, file);
  FxClass source;
  if (start.is_class ? !parser.read_class(source) : !parser.read_forward(source))
    return parser.parser().error();
  const Expected<ExportSignature> signature = read_export_signature(text, file);
  if (!signature) return signature.error();
  FxCodeTranslator translator(parser.parser(), *signature, examples);
  if (!translator.translate(source)) return parser.parser().error();
  return translator.graph().document();
}

}  // namespace detail

/// Whether `text`, the start of a file, may be FX code, perhaps in a log.
[[nodiscard]] inline auto looks_like_fx_code(std::string_view text) -> bool {
  return text.find("torch.nn.Module):") != std::string_view::npos ||
         text.find("def forward(") != std::string_view::npos;
}

/// The graph that `text` prints as Python code. `file_name` is for diagnostics. `examples`, one for each
/// parameter of `forward`, replace what the annotations say of the inputs; `operators` describe custom operators.
/// Errors: code that FX does not write, a text with several graphs, and what FX JSON refuses. O(size).
[[nodiscard]] inline auto parse_fx_code(std::string_view text, std::string_view file_name,
                                        const ExampleInputs* examples = nullptr,
                                        const CustomOperators* operators = nullptr) -> Expected<Module<>> {
  const Expected<std::string> json =
      detail::translate_fx_code(detail::cleaned_text(text), file_name, examples);
  if (!json) return json.error();
  return parse_fx_json(*json, file_name, operators);
}

}  // namespace fxpass
