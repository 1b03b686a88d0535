// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/extent.hpp>
#include <fxpass/ops/custom_operators.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/read/file.hpp>
#include <fxpass/read/finish.hpp>
#include <fxpass/read/json.hpp>
#include <fxpass/read/regions.hpp>
#include <fxpass/support/span.hpp>

#include <range/v3/algorithm/find.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// @file
/// Reads FX JSON, the form in which `examples/python/fx_to_json.py` writes any `torch.fx.GraphModule`. The format is
/// described in `docs/fx-json.md`; the names ARG, VALUE, INPUT and SPEC below are that page's.

namespace fxpass {

namespace detail {

/// The operators that the file declares, as `GraphBuilder::declare_operator` takes them.
struct DeclaredOperator {
  std::string_view target;
  Text schema;
};

/// What the readers of one file's graphs share.
struct FxJsonContext {
  JsonReader json;
  std::vector<DeclaredOperator> operators;
  const CustomOperators* custom_operators = nullptr;  ///< which the file need not declare
  /// How much JSON may still be read by inlining subgraphs, in bytes. Graphs that call each other twice over double
  /// with each level of nesting: without a limit, a small file would take for ever.
  std::uint64_t inlining_budget = std::uint64_t{1} << 26U;
};

/// Reads one GRAPH, nested ones included. `read` once, then `take`.
class FxGraphReader {
 public:
  explicit FxGraphReader(FxJsonContext& context) : context_(context), json_(context.json) {
    declare(builder_, context.custom_operators);
    for (const DeclaredOperator& o : context.operators) builder_.declare_operator(o.target, o.schema);
  }

  [[nodiscard]] auto read(JsonObject graph) -> bool {
    JsonArray nodes;
    if (!open(graph, scope_, nodes)) return false;
    for (const Json node : nodes) {
      if (has_output_) return json_.malformed("a node follows the output node");
      if (!read_node(node, graph)) return false;
    }
    json_.leave_node();
    return has_output_ || json_.malformed("the graph has no output node");
  }
  [[nodiscard]] auto take() && -> Graph { return std::move(builder_).finish(); }

 private:
  struct Subgraph {
    JsonObject graph;
    std::optional<Argument> argument;    ///< once it is part of the graph under construction
    std::optional<std::uint64_t> bytes;  ///< size of the JSON, once it is known
  };
  /// The names of one GRAPH. An inlined graph has a scope of its own and no graph of its own.
  struct Scope {
    std::unordered_map<std::string_view, Argument> values;
    std::unordered_map<std::string_view, Subgraph> subgraphs;
  };
  /// Members of a NODE.
  struct NodeJson {
    NodeKind kind = NodeKind::call_function;
    std::string_view name;
    std::string_view target;
    std::string_view stack_trace;
    JsonObject object;
    JsonArray args;
    JsonObject kwargs;
  };

  auto open(JsonObject graph, Scope& scope, JsonArray& nodes) -> bool {
    if (!json_.member(graph, "nodes", nodes) || !read_size_ranges(graph)) return false;
    scope.values.reserve(nodes.size());
    JsonObject subgraphs;
    Json member;
    if (graph.at_key("subgraphs").get(member) != simdjson::SUCCESS) return true;
    if (!json_.as(member, "member 'subgraphs'", subgraphs)) return false;
    for (const auto& [name, json] : subgraphs)
      if (!json_.as(json, "a subgraph", scope.subgraphs[name].graph)) return false;
    return true;
  }

  /// `{"2*s0": [4, 64]}`, null where there is no bound.
  auto read_size_ranges(JsonObject graph) -> bool {
    Json member;
    JsonObject ranges;
    if (graph.at_key("sizes").get(member) != simdjson::SUCCESS) return true;
    if (!json_.as(member, "member 'sizes'", ranges)) return false;
    for (const auto& [expression, json] : ranges) {
      JsonArray bounds;
      if (!json_.as(json, "the range of a size", bounds)) return false;
      if (bounds.size() != 2) return json_.malformed("the range of a size has ", bounds.size(), " members, not 2");
      std::int64_t min = std::numeric_limits<std::int64_t>::min();
      std::int64_t max = std::numeric_limits<std::int64_t>::max();
      const Json least = bounds.at(0).value_unsafe();
      const Json greatest = bounds.at(1).value_unsafe();
      if ((!least.is_null() && !json_.as(least, "the least size", min)) ||
          (!greatest.is_null() && !json_.as(greatest, "the greatest size", max)))
        return false;
      builder_.add_size_range(expression, min, max);
    }
    return true;
  }

  // Names ------------------------------------------------------------------------------------------------------------
  auto give(std::string_view name, Argument value) -> bool {
    return scope_.values.emplace(name, value).second || json_.malformed("two nodes are called '", name, "'");
  }
  auto use(Json json, Argument& result) -> bool {
    std::string_view name;
    if (!json_.as(json, "a node's name", name)) return false;
    const auto found = scope_.values.find(name);
    if (found == scope_.values.end())
      return json_.malformed("node '", name, "' is used, but none before has this name");
    result = found->second;
    // The members of an inlined graph's result are read by getitem; a group of arguments belongs to one node alone.
    return !result.is_group() ||
           json_.fail(DiagnosticCode::unsupported, "the several results of '", name, "' are used as one value");
  }
  auto subgraph_named(Json json, Subgraph*& result) -> bool {
    std::string_view name;
    if (!json_.as(json, "a subgraph's name", name)) return false;
    const auto found = scope_.subgraphs.find(name);
    if (found == scope_.subgraphs.end()) return json_.malformed("the graph has no subgraph '", name, "'");
    result = &found->second;
    return true;
  }

  // VALUE ------------------------------------------------------------------------------------------------------------
  auto expression(std::string_view text) -> SymInt {
    const auto [known, is_new] = expressions_.try_emplace(text);
    if (is_new) known->second = builder_.add_expression(text);
    return known->second;
  }
  auto read_sym_int(Json json, std::string_view what, SymInt& result) -> bool {
    std::string_view text;
    if (json.get(text) == simdjson::SUCCESS) {
      result = expression(text);
      return true;
    }
    std::int64_t number = 0;
    if (!json_.integer(json, what, number)) return false;
    result = number;
    return number >= 0 || json_.malformed(what, " is ", number);
  }
  auto read_sym_ints(JsonObject object, std::string_view key, std::string_view what, Pool<SymInt>& result) -> bool {
    JsonArray items;
    if (!json_.member(object, key, items)) return false;
    result.clear();
    for (const Json item : items) {
      SymInt value;
      if (!read_sym_int(item, what, value)) return false;
      result.push_back(value);
    }
    return true;
  }
  auto read_dtype(Json json, DType& result) -> bool {
    std::string_view name;
    if (!json_.as(json, "a dtype", name)) return false;
    const auto known = dtype_from_torch(name);
    if (!known) return json_.fail(DiagnosticCode::unknown_dtype, "dtype '", name, "' is not known");
    result = *known;
    return true;
  }
  auto read_tensor(JsonObject object, ValueSpec& result) -> bool {
    Json dtype;
    Json offset;
    std::string_view device;
    TensorMeta meta;
    if (!json_.member(object, "dtype", dtype) || !read_dtype(dtype, meta.dtype) ||
        !read_sym_ints(object, "shape", "a size", sizes_) || !read_sym_ints(object, "stride", "a stride", strides_) ||
        !json_.member(object, "offset", offset) || !read_sym_int(offset, "an offset", meta.storage_offset) ||
        !json_.member(object, "device", device))
      return false;
    if (sizes_.size() != strides_.size())
      return json_.malformed("a tensor has ", sizes_.size(), " sizes and ", strides_.size(), " strides");
    if (!is_addressable(meta.dtype, sizes_.view(), strides_.view(), meta.storage_offset))
      return json_.malformed("a tensor is too large for any memory");
    meta.device = builder_.device(device).device();
    result = builder_.tensor(meta, sizes_.view(), strides_.view());
    return true;
  }
  auto read_value(Json json, ValueSpec& result) -> bool {
    JsonArray members;
    JsonObject object;
    if (json.get(members) == simdjson::SUCCESS) return read_tuple_value(members, result);
    if (json.get(object) == simdjson::SUCCESS) return read_tagged_value(object, result);
    const auto type = json.type();
    if (type == simdjson::dom::element_type::INT64) result = GraphBuilder::sym_int();
    if (type == simdjson::dom::element_type::DOUBLE || type == simdjson::dom::element_type::BOOL)
      result = GraphBuilder::scalar();
    return true;
  }
  auto read_tuple_value(JsonArray items, ValueSpec& result) -> bool {
    std::vector<ValueSpec> members;
    for (const Json item : items)
      if (!read_value(item, members.emplace_back())) return false;
    result = builder_.tuple(members);
    return true;
  }
  auto read_tagged_value(JsonObject object, ValueSpec& result) -> bool {
    Json member;
    if (object.at_key("dtype").get(member) == simdjson::SUCCESS) return read_tensor(object, result);
    if (object.at_key("symint").get(member) == simdjson::SUCCESS) {
      result = GraphBuilder::sym_int();
    } else if (object.at_key("symfloat").get(member) == simdjson::SUCCESS ||
               object.at_key("symbool").get(member) == simdjson::SUCCESS) {
      result = GraphBuilder::scalar();
    } else {
      return json_.malformed("a value is of unknown kind");
    }
    return true;
  }

  // ARG --------------------------------------------------------------------------------------------------------------
  auto read_argument(Json json, Argument& result) -> bool {
    bool truth = false;
    std::int64_t integer = 0;
    double real = 0;
    std::string_view text;
    switch (json.type()) {
      case simdjson::dom::element_type::NULL_VALUE: result = Argument(); return true;
      case simdjson::dom::element_type::ARRAY: return read_group(json, ArgumentKind::list, result);
      case simdjson::dom::element_type::OBJECT: return read_tagged(json, result);
      case simdjson::dom::element_type::BOOL:
        if (!json_.as(json, "an argument", truth)) return false;
        result = truth;
        return true;
      case simdjson::dom::element_type::INT64:
      case simdjson::dom::element_type::UINT64:
        if (!json_.integer(json, "an argument", integer)) return false;
        result = integer;
        return true;
      case simdjson::dom::element_type::DOUBLE:
        if (!json_.as(json, "an argument", real)) return false;
        result = real;
        return true;
      case simdjson::dom::element_type::STRING:
        if (!json_.as(json, "an argument", text)) return false;
        result = builder_.string(text);
        return true;
    }
    return json_.malformed("an argument is of no known type");
  }
  auto read_arguments(JsonArray items, Pool<Argument>& arguments) -> bool {
    for (const Json item : items) {
      Argument argument;
      if (!read_argument(item, argument)) return false;
      arguments.push_back(argument);
    }
    return true;
  }
  auto read_group(Json json, ArgumentKind kind, Argument& result) -> bool {
    JsonArray items;
    Pool<Argument> members;
    if (!json_.as(json, "an argument", items) || !read_arguments(items, members)) return false;
    result = builder_.group(kind, members.view());
    return true;
  }
  auto read_dict(Json json, Argument& result) -> bool {
    JsonArray items;
    Pool<Argument> members;
    if (!json_.as(json, "a dict", items)) return false;
    for (const Json item : items) {
      JsonArray pair;
      if (!json_.as(item, "a dict's member", pair)) return false;
      if (pair.size() != 2) return json_.malformed("a dict's member should be a key and a value");
      if (!read_arguments(pair, members)) return false;
    }
    result = builder_.group(ArgumentKind::dict, members.view());
    return true;
  }
  auto read_complex(Json json, Argument& result) -> bool {
    JsonArray items;
    if (!json_.as(json, "a complex number", items)) return false;
    if (items.size() != 2) return json_.malformed("a complex number should have two parts");
    Pool<Argument> parts;
    for (const Json item : items) {
      double part = 0;
      if (!json_.number(item, "a complex number", part)) return false;
      parts.push_back(part);
    }
    result = builder_.group(ArgumentKind::complex, parts.view());
    return true;
  }
  /// One of the names of an enumeration of PyTorch.
  template <class Enum>
  auto read_enum(Json json, std::string_view what, Enum last, Argument& result) -> bool {
    std::string_view name;
    if (!json_.as(json, what, name)) return false;
    for (int i = 1; i <= static_cast<int>(last); ++i) {
      if (to_string(static_cast<Enum>(i)) != name) continue;
      result = static_cast<Enum>(i);
      return true;
    }
    return json_.malformed(what, " '", name, "' is not known");
  }
  auto read_tagged(Json json, Argument& result) -> bool {
    std::string_view form;
    Json content;
    if (!json_.only_member(json, "an argument", form, content)) return false;
    if (form == "node") return use(content, result);
    if (form == "tuple") return read_group(content, ArgumentKind::tuple, result);
    if (form == "slice") {
      if (!read_group(content, ArgumentKind::slice, result)) return false;
      return result.children().count == 3 || json_.malformed("a slice should have start, stop and step");
    }
    if (form == "dict") return read_dict(content, result);
    if (form == "complex") return read_complex(content, result);
    if (form == "layout") return read_enum(content, "layout", Layout::strided, result);
    if (form == "memory_format") return read_enum(content, "memory format", MemoryFormat::preserve_format, result);
    if (form == "ellipsis") {
      result = Argument::ellipsis();
      return true;
    }
    if (form == "float") {
      double value = 0;
      if (!json_.number(content, "a float", value)) return false;
      result = value;
      return true;
    }
    if (form == "dtype") {
      DType dtype = DType::f32;
      if (!read_dtype(content, dtype)) return false;
      result = dtype;
      return true;
    }
    if (form == "subgraph") {
      Subgraph* subgraph = nullptr;
      return subgraph_named(content, subgraph) && read_subgraph(*subgraph, result);
    }
    std::string_view text;
    if (!json_.as(content, "an argument", text)) return false;
    if (form == "device") {
      result = builder_.device(text);
    } else if (form == "symint") {
      result = expression(text);
    } else if (form == "operator") {
      result = Argument::operation(builder_.text(text));
    } else {
      return json_.malformed("an argument is of unknown kind '", form, "'");
    }
    return true;
  }
  auto read_subgraph(Subgraph& subgraph, Argument& result) -> bool {
    if (!subgraph.argument) {
      FxGraphReader reader(context_);
      if (!reader.read(subgraph.graph)) return false;
      subgraph.argument = builder_.add_subgraph(std::move(reader).take());
    }
    result = *subgraph.argument;
    return true;
  }

  // NODE -------------------------------------------------------------------------------------------------------------
  auto read_members(Json json, NodeJson& node) -> bool {
    struct Kind {
      std::string_view name;
      NodeKind kind;
    };
    static constexpr Kind kinds[] = {
        {"call_function", NodeKind::call_function}, {"call_method", NodeKind::call_method},
        {"placeholder", NodeKind::placeholder},     {"get_attr", NodeKind::get_attr},
        {"call_module", NodeKind::call_module},     {"output", NodeKind::output},
    };
    std::string_view op;
    json_.leave_node();
    if (!json_.as(json, "a node", node.object) || !json_.member(node.object, "name", node.name)) return false;
    json_.enter_node(node.name, {});
    if (!json_.optional_member(node.object, "stack_trace", node.stack_trace)) return false;
    json_.enter_node(node.name, node.stack_trace);
    if (!json_.member(node.object, "op", op) || !json_.member(node.object, "target", node.target) ||
        !json_.member(node.object, "args", node.args) || !json_.member(node.object, "kwargs", node.kwargs))
      return false;
    if (node.name.empty()) return json_.malformed("a node has an empty name");
    if (node.target.empty()) return json_.malformed("a node has an empty target");
    const auto kind = ranges::find(kinds, op, &Kind::name);
    if (kind == std::end(kinds)) return json_.malformed("a node is of unknown kind '", op, "'");
    node.kind = kind->kind;
    return true;
  }
  auto read_value_of(const NodeJson& node, ValueSpec& value) -> bool {
    Json json;
    return node.object.at_key("value").get(json) != simdjson::SUCCESS || read_value(json, value);
  }
  auto read_node(Json json, JsonObject graph) -> bool {
    NodeJson node;
    if (!read_members(json, node)) return false;
    set_stack_trace(node.stack_trace);
    if (node.kind == NodeKind::placeholder) return read_placeholder(node);
    if (node.kind == NodeKind::output) return read_output(node, graph);
    return read_call(node);
  }
  /// Neighbours mostly stem from one line: the comparison spares the builder a look-up of a long text.
  void set_stack_trace(std::string_view trace) {
    if (trace != stack_trace_) builder_.set_stack_trace(trace);
    stack_trace_ = trace;
  }
  auto read_placeholder(const NodeJson& node) -> bool {
    const Graph& graph = builder_.graph();
    if (graph.inputs().size() != graph.node_count()) return json_.malformed("a placeholder follows a call");
    ValueSpec value;
    InputSpec spec;
    Json input_json;
    if (!read_value_of(node, value)) return false;
    if (node.object.at_key("input").get(input_json) == simdjson::SUCCESS) {
      JsonObject input;
      std::string_view kind_name;
      if (!json_.as(input_json, "member 'input'", input) || !json_.member(input, "kind", kind_name)) return false;
      constexpr InputKind kinds[] = {InputKind::user_input, InputKind::parameter, InputKind::buffer,
                                     InputKind::tensor_constant, InputKind::constant_input};
      const auto kind = ranges::find(kinds, kind_name, [](InputKind k) { return to_string(k); });
      if (kind == std::end(kinds)) return json_.malformed("an input is of unknown kind '", kind_name, "'");
      spec.kind = *kind;
      std::string_view target = node.target;
      if (!json_.optional_member(input, "target", target)) return false;
      if (spec.kind != InputKind::user_input && spec.kind != InputKind::constant_input)
        spec.target = builder_.text(target);
      if (!json_.optional_member(input, "persistent", spec.persistent)) return false;
      Json constant;
      if (spec.kind == InputKind::constant_input &&
          (!json_.member(input, "constant", constant) || !read_argument(constant, spec.constant)))
        return false;
      if (!read_storage(input, spec.storage)) return false;
    }
    return give(node.name, builder_.placeholder(node.name, node.target, value, spec));
  }
  auto read_storage(JsonObject input, std::uint32_t& storage) -> bool {
    Json json;
    std::int64_t number = 0;
    if (input.at_key("storage").get(json) != simdjson::SUCCESS) return true;
    if (!json_.as(json, "member 'storage'", number)) return false;
    if (number < 0 || number >= own_storage) return json_.malformed("the storage number ", number, " is out of range");
    storage = static_cast<std::uint32_t>(number);
    return true;
  }

  auto read_call(const NodeJson& node) -> bool {
    if (node.kind == NodeKind::call_module) {
      const auto subgraph = scope_.subgraphs.find(node.target);
      if (subgraph != scope_.subgraphs.end()) return read_module_call(node, subgraph->second);
    }
    if (node.kind == NodeKind::call_function) {
      if (const auto region = region_of(node.target)) return read_region(node, *region);
      if (const auto member = member_of_results(node)) return give(node.name, *member);
    }
    Pool<Argument> arguments;
    if (!read_arguments(node.args, arguments)) return false;
    if (node.kind == NodeKind::call_function) {
      if (enables_autocast(node.target, arguments.view()))
        return json_.fail(DiagnosticCode::unsupported, autocast_is_enabled);
      if (is_bookkeeping(node.target)) return give(node.name, Argument());
    }
    for (const auto& [keyword, json] : node.kwargs) {
      Argument argument;
      if (keyword.empty()) return json_.malformed("a keyword argument has no name");
      if (!read_argument(json, argument)) return false;
      arguments.push_back(builder_.keyword(keyword, argument));
    }
    ValueSpec value;
    if (!read_value_of(node, value)) return false;
    if (node.kind == NodeKind::call_method && arguments.empty())
      return json_.malformed("a method call has no object: its first argument");
    if (node.kind == NodeKind::get_attr) return give(node.name, builder_.get_attr(node.target, value, node.name));
    return give(node.name, builder_.call(node.kind, node.target, arguments.view(), value, node.name));
  }
  /// `operator.getitem` of what an inlined graph returned needs no node: the member is at hand.
  auto member_of_results(const NodeJson& node) -> std::optional<Argument> {
    std::string_view name;
    std::int64_t index = 0;
    if (node.target != "operator.getitem" || node.args.at(0).at_key("node").get(name) != simdjson::SUCCESS ||
        node.args.at(1).get(index) != simdjson::SUCCESS)
      return std::nullopt;
    const auto found = scope_.values.find(name);
    if (found == scope_.values.end() || !found->second.is_sequence()) return std::nullopt;
    const auto members = builder_.graph().children(found->second);
    const auto count = static_cast<std::int64_t>(members.size());
    if (index < -count || index >= count) return std::nullopt;
    return members[static_cast<std::size_t>(index < 0 ? index + count : index)];
  }

  // Inlined graphs ---------------------------------------------------------------------------------------------------
  auto read_region(const NodeJson& node, Region region) -> bool {
    Pool<Argument> operands;
    Subgraph* subgraph = nullptr;
    for (const Json json : node.args) {
      Argument argument;
      if (operands.size() == region.graph_at) {
        std::string_view form;
        Json content;
        if (!json_.only_member(json, "an argument", form, content)) return false;
        if (form != "subgraph") return json_.malformed("operand ", region.graph_at, " should be a subgraph");
        if (!subgraph_named(content, subgraph)) return false;
      } else if (!read_argument(json, argument)) {
        return false;
      }
      operands.push_back(argument);
    }
    if (subgraph == nullptr) return json_.malformed("operand ", region.graph_at, " should be a subgraph");
    if (enables_autocast(node.target, operands.view()))
      return json_.fail(DiagnosticCode::unsupported, autocast_is_enabled);
    if (operands.size() < region.operands_at) return json_.malformed("a region has too few operands");
    return read_inlined(node, *subgraph, operands.view().subspan(region.operands_at));
  }
  auto read_module_call(const NodeJson& node, Subgraph& subgraph) -> bool {
    Pool<Argument> operands;
    if (node.kwargs.size() != 0)
      return json_.fail(DiagnosticCode::unsupported, "a subgraph is called with keyword arguments");
    return read_arguments(node.args, operands) && read_inlined(node, subgraph, operands.view());
  }
  /// Bytes of JSON below `json`, roughly.
  static auto bytes_of(Json json) -> std::uint64_t {
    std::uint64_t bytes = 8;
    JsonArray items;
    JsonObject members;
    std::string_view text;
    if (json.get(items) == simdjson::SUCCESS)
      for (const Json item : items) bytes += bytes_of(item);
    if (json.get(members) == simdjson::SUCCESS)
      for (const auto& [key, value] : members) bytes += key.size() + bytes_of(value);
    if (json.get(text) == simdjson::SUCCESS) bytes += text.size();
    return bytes;
  }
  auto pay_for(Subgraph& subgraph) -> bool {
    if (!subgraph.bytes) {
      subgraph.bytes = 1024;  // what reading an empty one costs
      for (const auto& [key, value] : subgraph.graph) *subgraph.bytes += key.size() + bytes_of(value);
    }
    if (*subgraph.bytes > context_.inlining_budget)
      return json_.fail(DiagnosticCode::unsupported, "inlining subgraphs makes the graph too large");
    context_.inlining_budget -= *subgraph.bytes;
    return true;
  }
  /// Reads the nodes of a subgraph into the graph under construction; `node` then stands for what it returns.
  auto read_inlined(const NodeJson& node, Subgraph& subgraph, Span<const Argument> operands) -> bool {
    Scope inner;
    JsonArray nodes;
    if (!pay_for(subgraph) || !open(subgraph.graph, inner, nodes)) return false;
    std::swap(scope_, inner);
    std::size_t bound = 0;
    std::optional<Argument> returned;
    for (const Json json : nodes) {
      NodeJson member;
      if (!read_members(json, member)) return false;
      if (returned) return json_.malformed("a node follows the output node");
      set_stack_trace(member.stack_trace);
      if (member.kind == NodeKind::placeholder) {
        if (!give(member.name, bound < operands.size() ? operands[bound] : Argument())) return false;
        ++bound;
      } else if (member.kind == NodeKind::output) {
        if (!read_returned(member, returned.emplace())) return false;
      } else if (!read_call(member)) {
        return false;
      }
    }
    json_.enter_node(node.name, node.stack_trace);
    if (bound != operands.size())
      return json_.malformed("a subgraph with ", bound, " inputs gets ", operands.size(), " operands");
    if (!returned) return json_.malformed("a subgraph has no output node");
    std::swap(scope_, inner);
    return give(node.name, *returned);
  }

  // The output node --------------------------------------------------------------------------------------------------
  auto read_returned(const NodeJson& node, Argument& returned) -> bool {
    Json structure;
    std::string_view name;
    if (node.args.at(0).get(structure) != simdjson::SUCCESS) return json_.malformed("an output node has no argument");
    if (structure.at_key("node").get(name) == simdjson::SUCCESS) {
      // Alone, the several results of an inlined graph may be handed on.
      if (const auto found = scope_.values.find(name); found != scope_.values.end()) {
        returned = found->second;
        return true;
      }
    }
    return read_argument(structure, returned);
  }
  auto read_output(const NodeJson& node, JsonObject graph) -> bool {
    Argument returned;
    if (!read_returned(node, returned)) return false;
    Pool<Argument> leaves;
    append_leaves(returned, leaves);
    Pool<OutputSpec> specs;
    Json json;
    if (graph.at_key("outputs").get(json) != simdjson::SUCCESS) {
      specs.resize(leaves.size());
    } else if (!read_output_specs(json, specs)) {
      return false;
    }
    if (specs.size() != leaves.size())
      return json_.malformed("the program returns ", leaves.size(), " values, 'outputs' describes ", specs.size());
    set_stack_trace({});
    builder_.output(leaves.view(), specs.view());
    has_output_ = true;
    return true;
  }
  void append_leaves(const Argument& returned, Pool<Argument>& leaves) const {
    if (!returned.is_sequence() && !returned.is(ArgumentKind::dict)) {
      leaves.push_back(returned);
      return;
    }
    const auto members = builder_.graph().children(returned);
    const bool is_dict = returned.is(ArgumentKind::dict);
    for (std::size_t i = is_dict ? 1 : 0; i < members.size(); i += is_dict ? 2 : 1) append_leaves(members[i], leaves);
  }
  auto read_output_specs(Json json, Pool<OutputSpec>& specs) -> bool {
    constexpr OutputKind kinds[] = {OutputKind::user_output, OutputKind::buffer_mutation,
                                    OutputKind::parameter_mutation, OutputKind::user_input_mutation};
    JsonArray list;
    if (!json_.as(json, "member 'outputs'", list)) return false;
    for (const Json item : list) {
      JsonObject object;
      std::string_view kind_name;
      if (!json_.as(item, "an output", object) || !json_.member(object, "kind", kind_name)) return false;
      const auto kind = ranges::find(kinds, kind_name, [](OutputKind k) { return to_string(k); });
      if (kind == std::end(kinds)) return json_.malformed("an output is of unknown kind '", kind_name, "'");
      OutputSpec spec;
      spec.kind = *kind;
      if (is_mutation(*kind)) {
        std::int64_t input = 0;
        const auto inputs = builder_.graph().inputs();
        if (!json_.member(object, "input", input)) return false;
        if (input < 0 || input >= static_cast<std::int64_t>(inputs.size()))
          return json_.malformed("an output is the new value of input ", input, ", but there are ", inputs.size());
        spec.input = static_cast<std::uint32_t>(input);
        const InputSpec& mutated = builder_.graph().inputs()[spec.input];
        spec.target = mutated.target == TextId{} ? builder_.graph().node(mutated.node).target : mutated.target;
      }
      specs.push_back(spec);
    }
    return true;
  }

  FxJsonContext& context_;
  JsonReader& json_;
  GraphBuilder builder_;
  Scope scope_;
  std::unordered_map<std::string_view, SymInt> expressions_;
  std::string_view stack_trace_;
  bool has_output_ = false;
  // Scratch that spares an allocation for each tensor.
  Pool<SymInt> sizes_;
  Pool<SymInt> strides_;
};

[[nodiscard]] inline auto is_fx_json(JsonObject file) -> bool {
  std::string_view format;
  return file.at_key("format").get(format) == simdjson::SUCCESS && format == "fxpass.fx";
}

[[nodiscard]] inline auto check_fx_json_version(JsonReader& json, JsonObject file) -> bool {
  std::string_view format;
  std::int64_t version = 0;
  if (!json.member(file, "format", format)) return false;
  if (format != "fxpass.fx") return json.malformed("the format is '", format, "', not 'fxpass.fx'");
  if (!json.member(file, "version", version)) return false;
  return version == 1 || json.fail(DiagnosticCode::schema_unsupported, "version ", version,
                                   " of FX JSON is not supported: fxpass reads 1");
}

/// Errors: what is no schema, and another one than was given with the file.
[[nodiscard]] inline auto read_declared_operators(JsonReader& json, JsonObject file, FxJsonContext& context) -> bool {
  JsonObject object;
  Json member;
  if (file.at_key("operators").get(member) != simdjson::SUCCESS) return true;
  if (!json.as(member, "member 'operators'", object)) return false;
  for (const auto& [target, value] : object) {
    std::string_view schema;
    if (!json.as(value, "an operator's schema", schema)) return false;
    auto parsed = ops::parse_schema(schema);
    if (!parsed)
      return json.malformed("the schema of '", target, "' is not in PyTorch's notation: \"", schema, "\": ",
                            parsed.error().front().message);
    if (context.custom_operators != nullptr) {
      const ops::Schema given = context.custom_operators->find(ops::Schema(parsed->view()).name());
      if (!given.empty() && !ops::say_the_same(ops::Schema(parsed->view()), given))
        return json.fail(DiagnosticCode::invalid_option, "the file says \"", schema, "\", but the schema that was given is \"",
                         ops::with_colons(given.text()), '"');
    }
    context.operators.push_back({target, *std::move(parsed)});
  }
  return true;
}

/// The graph in a parsed FX JSON file.
[[nodiscard]] inline auto read_fx_json(Json root, std::string_view file_name, const CustomOperators* operators)
    -> Expected<Graph> {
  FxJsonContext context{.json = JsonReader(file_name), .operators = {}, .custom_operators = operators};
  JsonReader& json = context.json;
  JsonObject file;
  JsonObject graph;
  if (!json.as(root, "the file", file) || !check_fx_json_version(json, file) ||
      !read_declared_operators(json, file, context) || !json.member(file, "graph", graph))
    return json.error();
  FxGraphReader reader(context);
  if (!reader.read(graph)) return json.error();
  return std::move(reader).take();
}

}  // namespace detail

/// The graph whose FX JSON is `json`. `file_name` is for diagnostics. Errors: `file_malformed`, with line and
/// column where it is no JSON; `schema_unsupported` for another version of the format; `unknown_dtype`;
/// `unsupported`; `invalid_graph` for a program that is not sound; `invalid_option` where `operators` say of a custom operator
/// what the file or a call contradicts. O(size), and what inlining subgraphs adds.
[[nodiscard]] inline auto parse_fx_json(std::string_view json, std::string_view file_name,
                                        const CustomOperators* operators = nullptr) -> Expected<Module<>> {
  detail::JsonDocument document;
  if (Status parsed = document.parse(json, file_name); !parsed) return std::move(parsed).error();
  return detail::finish_reading(detail::read_fx_json(document.root(), file_name, operators), file_name, operators);
}

/// The graph in an FX JSON file. Errors: `file_unreadable`, and those of `parse_fx_json`. O(size), and what
/// inlining subgraphs adds.
[[nodiscard]] inline auto read_fx_json(std::string_view path, const CustomOperators* operators = nullptr)
    -> Expected<Module<>> {
  return read_file(path).and_then([&](const std::string& text) { return parse_fx_json(text, path, operators); });
}

}  // namespace fxpass
