// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/ops/catalog.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/graph/extent.hpp>
#include <fxpass/read/file.hpp>
#include <fxpass/read/finish.hpp>
#include <fxpass/read/json.hpp>
#include <fxpass/read/regions.hpp>
#include <fxpass/read/sympy.hpp>
#include <fxpass/support/span.hpp>

#include <range/v3/algorithm/any_of.hpp>
#include <range/v3/algorithm/find.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

/// @file
/// Reads the JSON of a `torch.export.ExportedProgram`, as it stands in `.pt2` archives. Source of the format:
/// `torch/_export/serde/schema.py`, major version 8. Members are looked for where they may be missing, so that every
/// minor version of it can be read.

namespace fxpass {

namespace detail {

/// What the archive around a program says of the data of one parameter, buffer or constant.
struct Payload {
  std::uint32_t storage = own_storage;  ///< as in `InputSpec`
  std::optional<Json> tensor_meta;      ///< how the tensor lies in a storage that it shares
};
using Payloads = std::unordered_map<std::string_view, Payload>;  ///< by qualified name

/// Decides, argument after argument of one call, whether it is positional.
class ArgumentPlacement {
 public:
  /// `schema` may be empty. Operands of higher-order operators have no names unless they are keyword arguments.
  ArgumentPlacement(ops::Schema schema, bool is_higher_order)
      : schema_(schema),
        parameters_(schema.parameters()),
        next_(parameters_.next()),
        is_higher_order_(is_higher_order) {}

  /// `kind` is the schema's ArgumentKind: 0 not known, 1 positional, 2 keyword. Older files have none.
  [[nodiscard]] auto is_positional(std::string_view name, std::int64_t kind) -> bool {
    if (kind == 2) return false;
    if (name.empty()) return true;
    if (schema_.empty()) return kind == 1 || !is_higher_order_;
    // Binding by name is right wherever the name is known; by position only as long as none was left out.
    if (next_ && next_->name == name && !next_->keyword_only) {
      next_ = parameters_.next();
      return true;
    }
    return kind == 1 && !schema_.find(name);
  }

 private:
  ops::Schema schema_;
  ops::ParameterReader parameters_;
  std::optional<ops::Parameter> next_;
  bool is_higher_order_;
};

/// Reads one `Graph` of the format, nested graphs included. `read` once, then `take`.
class ExportedGraphReader {
 public:
  /// `is_functional`: the file says that no operator in it writes into its arguments.
  ExportedGraphReader(JsonReader& json, const Payloads& payloads, bool is_functional, const CustomOperators* operators)
      : json_(json), payloads_(payloads), is_functional_(is_functional), operators_(operators) {
    declare(builder_, operators);
  }

  /// `signature` is null for a nested graph: those have none.
  [[nodiscard]] auto read(JsonObject graph, const JsonObject* signature) -> bool {
    return declare_values(graph, scope_) && read_inputs(graph, signature) && read_nodes(graph) &&
           read_outputs(graph, signature);
  }
  /// The range constraints of the program, if there are any: expression by expression the least and the greatest number.
  [[nodiscard]] auto read_size_ranges(JsonObject file) -> bool {
    JsonObject ranges;
    if (!json_.optional_member(file, "range_constraints", ranges)) return false;
    if (file.at_key("range_constraints").error() != simdjson::SUCCESS) return true;
    for (const auto& [expression, json] : ranges) {
      JsonObject range;
      std::int64_t min = std::numeric_limits<std::int64_t>::min();
      std::int64_t max = std::numeric_limits<std::int64_t>::max();
      if (!json_.as(json, "a range constraint", range) || !json_.optional_member(range, "min_val", min) ||
          !json_.optional_member(range, "max_val", max))
        return false;
      builder_.add_size_range(infix_from_srepr(expression), min, max);
    }
    return true;
  }
  [[nodiscard]] auto take() && -> Graph { return std::move(builder_).finish(); }

 private:
  /// A name of the graph: what the file says of it, and what it stands for once it is given.
  struct Value {
    std::optional<Json> tensor_meta;
    Argument argument;
    bool is_given = false;
  };
  using Scope = std::unordered_map<std::string_view, Value>;

  /// One result of a call. A list result has members.
  struct Result {
    std::string_view name;
    ValueSpec value;
    bool is_list = false;
    std::vector<Result> members;
  };

  // Names ------------------------------------------------------------------------------------------------------------
  auto declare_values(JsonObject graph, Scope& scope) -> bool {
    JsonObject tensors;
    if (!json_.member(graph, "tensor_values", tensors)) return false;
    scope.reserve(tensors.size());
    for (const auto& [name, meta] : tensors)
      if (!scope.emplace(name, Value{meta, {}, false}).second)
        return json_.malformed("'tensor_values' has two entries for '", name, "'");
    return true;
  }
  auto give(std::string_view name, Argument argument) -> bool {
    Value& value = scope_[name];
    if (value.is_given) return json_.malformed("value '", name, "' is given twice");
    value.argument = argument;
    value.is_given = true;
    return true;
  }
  auto use(std::string_view name, Argument& result) -> bool {
    const auto found = scope_.find(name);
    if (found == scope_.end() || !found->second.is_given)
      return json_.malformed("value '", name, "' is used, but nothing before gives it");
    result = found->second.argument;
    return true;
  }
  auto use_name_of(Json tensor, Argument& result) -> bool {
    std::string_view name;
    return read_name(tensor, name) && use(name, result);
  }
  auto read_name(Json json, std::string_view& name) -> bool {
    JsonObject object;
    return json_.as(json, "a value's name", object) && json_.member(object, "name", name);
  }

  // Metadata ---------------------------------------------------------------------------------------------------------
  auto read_sym_int(Json json, std::string_view what, SymInt& result) -> bool {
    std::string_view variant;
    Json content;
    if (!json_.only_member(json, what, variant, content)) return false;
    if (variant == "as_int") {
      std::int64_t number = 0;
      if (!json_.integer(content, what, number)) return false;
      result = number;
      return true;
    }
    JsonObject expression;
    std::string_view text;
    if (variant != "as_expr") return json_.malformed(what, " is of unknown kind '", variant, "'");
    if (!json_.as(content, what, expression) || !json_.member(expression, "expr_str", text)) return false;
    const auto [known, is_new] = expressions_.try_emplace(text);
    if (is_new) known->second = builder_.add_expression(infix_from_srepr(text));
    result = known->second;
    return true;
  }
  auto read_sym_ints(JsonObject meta, std::string_view key, std::string_view what, Pool<SymInt>& result) -> bool {
    JsonArray items;
    if (!json_.member(meta, key, items)) return false;
    result.clear();
    for (const Json item : items) {
      SymInt value;
      if (!read_sym_int(item, what, value)) return false;
      if (!value.is_symbolic() && value.value() < 0) return json_.malformed(what, " is ", value.value());
      result.push_back(value);
    }
    return true;
  }
  auto read_device(Json json, std::string& device) -> bool {
    JsonObject object;
    std::string_view type;
    std::optional<std::int64_t> index;
    Json index_json;
    if (!json_.as(json, "a device", object) || !json_.member(object, "type", type)) return false;
    device = type;
    if (object.at_key("index").get(index_json) != simdjson::SUCCESS || index_json.is_null()) return true;
    if (!json_.as(index_json, "a device's index", index.emplace())) return false;
    device.append(1, ':').append(std::to_string(*index));
    return true;
  }
  auto read_dtype(Json json, DType& dtype) -> bool {
    std::int64_t number = 0;
    if (!json_.as(json, "a dtype", number)) return false;
    const auto known = dtype_from_schema(number);
    if (!known)
      return json_.fail(DiagnosticCode::unknown_dtype, "dtype ", number, " of the export schema is not known");
    dtype = *known;
    return true;
  }
  /// An enumeration of the schema that ours follows number by number.
  template <class Enum>
  auto read_enum(Json json, std::string_view what, Enum last, Enum& result) -> bool {
    std::int64_t number = 0;
    if (!json_.as(json, what, number)) return false;
    if (number < 0 || number > static_cast<std::int64_t>(last))
      return json_.malformed(what, ' ', number, " is not known");
    result = static_cast<Enum>(number);
    return true;
  }
  auto read_tensor(Json json, ValueSpec& result) -> bool {
    JsonObject object;
    Json dtype;
    Json device;
    Json layout;
    Json offset;
    TensorMeta meta;
    if (!json_.as(json, "a tensor's metadata", object) || !json_.member(object, "dtype", dtype) ||
        !read_dtype(dtype, meta.dtype) || !read_sym_ints(object, "sizes", "a size", sizes_) ||
        !read_sym_ints(object, "strides", "a stride", strides_) || !json_.member(object, "device", device) ||
        !read_device(device, device_) || !json_.optional_member(object, "requires_grad", meta.requires_grad))
      return false;
    if (sizes_.size() != strides_.size())
      return json_.malformed("a tensor has ", sizes_.size(), " sizes and ", strides_.size(), " strides");
    if (object.at_key("layout").get(layout) == simdjson::SUCCESS &&
        !read_enum(layout, "layout", Layout::strided, meta.layout))
      return false;
    if (object.at_key("storage_offset").get(offset) == simdjson::SUCCESS &&
        !read_sym_int(offset, "a storage offset", meta.storage_offset))
      return false;
    if (!is_addressable(meta.dtype, sizes_.view(), strides_.view(), meta.storage_offset))
      return json_.malformed("a tensor is too large for any memory");
    meta.device = builder_.device(device_).device();
    result = builder_.tensor(meta, sizes_.view(), strides_.view());
    return true;
  }
  auto tensor_named(std::string_view name, ValueSpec& result) -> bool {
    const auto found = scope_.find(name);
    if (found == scope_.end() || !found->second.tensor_meta)
      return json_.malformed("'tensor_values' has no entry for '", name, "'");
    return read_tensor(*found->second.tensor_meta, result);
  }

  // Arguments --------------------------------------------------------------------------------------------------------
  using ReadArgument = bool (ExportedGraphReader::*)(Json, Argument&);

  auto read_none(Json, Argument& result) -> bool {
    result = Argument();
    return true;
  }
  auto read_integer(Json json, Argument& result) -> bool {
    std::int64_t value = 0;
    if (!json_.integer(json, "an argument", value)) return false;
    result = value;
    return true;
  }
  auto read_float(Json json, Argument& result) -> bool {
    double value = 0;
    if (!json_.number(json, "an argument", value)) return false;
    result = value;
    return true;
  }
  auto read_bool(Json json, Argument& result) -> bool {
    bool value = false;
    if (!json_.as(json, "an argument", value)) return false;
    result = value;
    return true;
  }
  auto read_string(Json json, Argument& result) -> bool {
    std::string_view value;
    if (!json_.as(json, "an argument", value)) return false;
    result = builder_.string(value);
    return true;
  }
  auto read_complex(Json json, Argument& result) -> bool {
    JsonObject object;
    Json real;
    Json imaginary;
    Argument parts[2];
    if (!json_.as(json, "a complex number", object) || !json_.member(object, "real", real) ||
        !json_.member(object, "imag", imaginary) || !read_float(real, parts[0]) || !read_float(imaginary, parts[1]))
      return false;
    result = builder_.group(ArgumentKind::complex, parts);
    return true;
  }
  auto read_dtype_argument(Json json, Argument& result) -> bool {
    DType dtype = DType::f32;
    if (!read_dtype(json, dtype)) return false;
    result = dtype;
    return true;
  }
  auto read_layout(Json json, Argument& result) -> bool {
    Layout layout = Layout::strided;
    if (!read_enum(json, "layout", Layout::strided, layout)) return false;
    result = layout;
    return true;
  }
  auto read_memory_format(Json json, Argument& result) -> bool {
    MemoryFormat format = MemoryFormat::unknown;
    if (!read_enum(json, "memory format", MemoryFormat::preserve_format, format)) return false;
    result = format;
    return true;
  }
  auto read_device_argument(Json json, Argument& result) -> bool {
    if (!read_device(json, device_)) return false;
    result = builder_.device(device_);
    return true;
  }
  auto read_operator(Json json, Argument& result) -> bool {
    std::string_view name;
    if (!json_.as(json, "an operator", name)) return false;
    result = Argument::operation(builder_.text(name));
    return true;
  }
  auto read_graph(Json json, Argument& result) -> bool {
    JsonObject graph;
    if (!graph_in(json, graph)) return false;
    ExportedGraphReader reader(json_, payloads_, is_functional_, operators_);
    if (!reader.read(graph, nullptr)) return false;
    result = builder_.add_subgraph(std::move(reader).take());
    return true;
  }
  /// A number or bool that may be a value of the graph: `{"as_name": ..}`, or one of the literal variants.
  auto read_symbolic(Json json, Argument& result) -> bool {
    std::string_view variant;
    Json content;
    std::string_view name;
    if (!json_.only_member(json, "a symbolic argument", variant, content)) return false;
    if (variant == "as_int") return read_integer(content, result);
    if (variant == "as_float") return read_float(content, result);
    if (variant == "as_bool") return read_bool(content, result);
    if (variant != "as_name") return json_.malformed("a symbolic argument is of unknown kind '", variant, "'");
    return json_.as(content, "a value's name", name) && use(name, result);
  }
  template <ReadArgument ReadItem>
  auto read_list(Json json, Argument& result) -> bool {
    JsonArray items;
    if (!json_.as(json, "an argument", items)) return false;
    Pool<Argument> arguments;
    for (const Json item : items) {
      Argument argument;
      if (!(this->*ReadItem)(item, argument)) return false;
      arguments.push_back(argument);
    }
    result = builder_.list(arguments.view());
    return true;
  }
  auto read_dict(Json json, Argument& result) -> bool {
    JsonObject object;
    if (!json_.as(json, "an argument", object)) return false;
    Pool<Argument> arguments;
    for (const auto& [key, value] : object) {
      arguments.push_back(builder_.string(key));
      Argument argument;
      if (!read_argument(value, argument)) return false;
      arguments.push_back(argument);
    }
    result = builder_.group(ArgumentKind::dict, arguments.view());
    return true;
  }
  auto read_argument(Json json, Argument& result) -> bool {
    using Self = ExportedGraphReader;
    struct Variant {
      std::string_view name;
      ReadArgument read;
    };
    static constexpr Variant variants[] = {
        {"as_tensor", &Self::use_name_of},
        {"as_int", &Self::read_integer},
        {"as_ints", &Self::read_list<&Self::read_integer>},
        {"as_none", &Self::read_none},
        {"as_float", &Self::read_float},
        {"as_bool", &Self::read_bool},
        {"as_tensors", &Self::read_list<&Self::use_name_of>},
        {"as_scalar_type", &Self::read_dtype_argument},
        {"as_device", &Self::read_device_argument},
        {"as_layout", &Self::read_layout},
        {"as_memory_format", &Self::read_memory_format},
        {"as_string", &Self::read_string},
        {"as_sym_int", &Self::read_symbolic},
        {"as_sym_ints", &Self::read_list<&Self::read_symbolic>},
        {"as_sym_float", &Self::read_symbolic},
        {"as_sym_floats", &Self::read_list<&Self::read_symbolic>},
        {"as_sym_bool", &Self::read_symbolic},
        {"as_sym_bools", &Self::read_list<&Self::read_symbolic>},
        {"as_floats", &Self::read_list<&Self::read_float>},
        {"as_bools", &Self::read_list<&Self::read_bool>},
        {"as_strings", &Self::read_list<&Self::read_string>},
        {"as_optional_tensor", &Self::read_argument},
        {"as_optional_tensors", &Self::read_list<&Self::read_argument>},
        {"as_nested_tensors", &Self::read_list<&Self::read_list<&Self::use_name_of>>},
        {"as_int_lists", &Self::read_list<&Self::read_list<&Self::read_integer>>},
        {"as_float_lists", &Self::read_list<&Self::read_list<&Self::read_float>>},
        {"as_graph", &Self::read_graph},
        {"as_custom_obj", &Self::use_name_of},
        {"as_operator", &Self::read_operator},
        {"as_complex", &Self::read_complex},
        {"as_string_to_argument", &Self::read_dict},
    };
    std::string_view name;
    Json content;
    if (!json_.only_member(json, "an argument", name, content)) return false;
    for (const Variant& variant : variants)
      if (variant.name == name) return (this->*variant.read)(content, result);
    return json_.malformed("an argument is of unknown kind '", name, "'");
  }

  // Inputs -----------------------------------------------------------------------------------------------------------
  auto read_inputs(JsonObject graph, const JsonObject* signature) -> bool {
    JsonArray inputs;
    JsonArray specs;
    if (!json_.member(graph, "inputs", inputs)) return false;
    if (signature == nullptr) {
      for (const Json input : inputs)
        if (!read_input(input, {}, {})) return false;
      return true;
    }
    if (!json_.member(*signature, "input_specs", specs)) return false;
    if (inputs.size() != specs.size())
      return json_.malformed("the graph has ", inputs.size(), " inputs, its signature ", specs.size());
    auto spec_json = specs.begin();
    for (const Json input : inputs) {
      InputSpec spec;
      std::string_view name;
      json_.leave_node();
      if (!read_input_spec(*spec_json, spec, name) || !read_input(input, name, spec)) return false;
      ++spec_json;
    }
    return true;
  }
  /// `name`: what the signature calls the input; empty where it does not say.
  auto read_input_spec(Json json, InputSpec& spec, std::string_view& name) -> bool {
    struct Kind {
      InputKind kind;
      std::string_view target_member;  ///< which member names the attribute
    };
    static constexpr Kind kinds[] = {
        {InputKind::user_input, ""},         {InputKind::parameter, "parameter_name"},
        {InputKind::buffer, "buffer_name"},  {InputKind::tensor_constant, "tensor_constant_name"},
        {InputKind::constant_input, ""},     {InputKind::custom_obj, "custom_obj_name"},
        {InputKind::token, ""},
    };
    std::string_view variant;
    Json content;
    JsonObject object;
    if (!json_.only_member(json, "an input of the signature", variant, content) ||
        !json_.as(content, "an input of the signature", object))
      return false;
    const auto kind = ranges::find(kinds, variant, [](const Kind& k) { return to_string(k.kind); });
    if (kind == std::end(kinds)) return json_.malformed("an input of the signature is of unknown kind '", variant, "'");
    spec.kind = kind->kind;
    Json argument;
    if (kind->kind == InputKind::constant_input) return json_.member(object, "name", name);
    if (!json_.member(object, "arg", argument)) return false;
    if (kind->kind == InputKind::user_input) {
      std::string_view type;
      Json value;
      if (!json_.only_member(argument, "an input of the signature", type, value)) return false;
      if (type == "as_tensor" && !read_name(value, name)) return false;
    } else if (!read_name(argument, name)) {
      return false;
    }
    if (kind->target_member.empty()) return true;
    std::string_view target;
    if (!json_.member(object, kind->target_member, target) ||
        !json_.optional_member(object, "persistent", spec.persistent))
      return false;
    spec.target = builder_.text(target);
    input_by_name_.emplace(target, static_cast<std::uint32_t>(builder_.graph().inputs().size()));
    return true;
  }
  auto read_input(Json json, std::string_view name_in_signature, InputSpec spec) -> bool {
    Result input;
    json_.enter_node(name_in(json), {});
    if (!read_result(json, input, spec.kind == InputKind::token)) return false;
    const std::string_view name = input.name.empty() ? name_in_signature : input.name;
    if (!name_in_signature.empty() && name != name_in_signature)
      return json_.malformed("the input is called '", name_in_signature, "' in the signature");
    const auto index = static_cast<std::uint32_t>(builder_.graph().inputs().size());
    if (input.name.empty() && !read_argument(json, spec.constant)) return false;
    if (const auto payload = payloads_.find(builder_.graph().text(spec.target)); payload != payloads_.end()) {
      spec.storage = payload->second.storage;
      // Older exports write an offset of 0 into the graph; the archive knows better.
      if (payload->second.tensor_meta && !read_tensor(*payload->second.tensor_meta, input.value)) return false;
    }
    const Text unnamed = text_of("input_", index);
    const NodeId node = builder_.placeholder(name.empty() ? unnamed.view() : name, input.value, spec);
    if (name.empty()) return true;
    if (spec.kind == InputKind::user_input) input_by_name_.emplace(name, index);
    return give(name, node);
  }

  // Nodes ------------------------------------------------------------------------------------------------------------
  auto read_nodes(JsonObject graph) -> bool {
    JsonArray nodes;
    json_.leave_node();
    if (!json_.member(graph, "nodes", nodes)) return false;
    for (const Json node : nodes)
      if (!read_node(node)) return false;
    json_.leave_node();
    set_stack_trace({});
    return true;
  }
  /// What a node of the file says, before its arguments are looked at.
  struct Call {
    std::string_view target;
    std::string_view name;
    std::string_view stack_trace;
    JsonArray inputs;
    JsonArray outputs;
    bool is_single_result = true;  ///< of a higher-order operator with one output
    [[nodiscard]] auto is_higher_order() const -> bool { return target.starts_with("torch.ops.higher_order."); }
  };
  auto read_node(Json json) -> bool {
    JsonObject node;
    Call call;
    json_.leave_node();
    if (!json_.as(json, "a node", node) || !json_.member(node, "target", call.target)) return false;
    if (call.target.empty()) return json_.malformed("a node has an empty target");
    json_.enter_node(call.target, {});  // until its name is known
    Json metadata;
    if (!json_.optional_member(node, "name", call.name)) return false;
    if (!call.name.empty()) json_.enter_node(call.name, {});
    if (node.at_key("metadata").get(metadata) == simdjson::SUCCESS) {
      JsonObject members;
      if (!json_.as(metadata, "member 'metadata'", members) ||
          !json_.optional_member(members, "stack_trace", call.stack_trace))
        return false;
    }
    if (!json_.member(node, "inputs", call.inputs) || !json_.member(node, "outputs", call.outputs) ||
        !json_.optional_member(node, "is_hop_single_tensor_return", call.is_single_result))
      return false;
    if (call.name.empty()) call.name = first_name(call.outputs);
    json_.enter_node(call.name.empty() ? call.target : call.name, call.stack_trace);
    set_stack_trace(call.stack_trace);
    const auto region = region_of(call.target);
    return region ? read_region(call, *region) : read_call(call);
  }
  /// The name that an input or a result gives to its value; empty where it gives none.
  static auto name_in(Json json) -> std::string_view {
    std::string_view name;
    for (const std::string_view path :
         {"/as_tensor/name", "/as_sym_int/as_name", "/as_sym_bool/as_name", "/as_sym_float/as_name"})
      if (json.at_pointer(path).get(name) == simdjson::SUCCESS) return name;
    return {};
  }
  /// The name of a lone result is its node's; before schema 8.8 that is the only place where a node's name stands.
  static auto first_name(JsonArray outputs) -> std::string_view {
    Json output;
    return outputs.size() == 1 && outputs.at(0).get(output) == simdjson::SUCCESS ? name_in(output) : std::string_view();
  }
  /// Neighbours mostly stem from one line: the comparison spares the builder a look-up of a long text.
  void set_stack_trace(std::string_view trace) {
    if (trace != stack_trace_) builder_.set_stack_trace(trace);
    stack_trace_ = trace;
  }

  auto read_call(const Call& call) -> bool {
    Pool<Argument> arguments;
    std::vector<Result> results;
    bool is_tuple = false;
    if (!read_arguments(call, arguments) || !read_results(call, results, is_tuple)) return false;
    std::string target(call.target);
    // The symbolic-scalar operators are stored by their module's C name.
    if (target.starts_with("_operator.")) target.erase(0, 1);
    declare_if_unknown(call);
    if (!is_tuple) {
      const Result result = results.empty() ? Result{} : results[0];
      const std::string_view name = result.name.empty() ? call.name : result.name;
      const NodeId node = builder_.call_function(target, arguments.view(), result.value, name);
      return result.name.empty() || give(result.name, node);
    }
    const NodeId node = builder_.call_function(target, arguments.view(), tuple_of(results), call.name);
    return take_apart(node, results);
  }
  /// An export holds no schemas. Of an operator that is not PyTorch's own, the arguments' names are known from its calls,
  /// and from the kind of the export that it writes nothing; of one in training IR not even that is known.
  void declare_if_unknown(const Call& call) {
    if (!is_functional_ || call.is_higher_order() || !call.target.starts_with("torch.ops.") ||
        !schema_of(call.target).empty() || !declared_.insert(call.target).second)
      return;
    std::string schema(call.target.substr(10));
    schema += '(';
    for (const Json input : call.inputs) {
      std::string_view name;
      if (input.at_pointer("/name").get(name) != simdjson::SUCCESS || name.empty()) return;
      if (schema.back() != '(') schema += ", ";
      schema.append("Any ").append(name);
    }
    builder_.declare_operator(call.target, schema + ") -> Any");
  }
  auto schema_of(std::string_view target) -> ops::Schema {
    const auto [known, is_new] = schemas_.try_emplace(target);
    if (is_new && target.starts_with("torch.ops.")) {
      known->second = ops::schema(ops::find_overload(target.substr(10)));
      if (known->second.empty()) known->second = given_schema(target.substr(10));
    }
    return known->second;
  }
  auto given_schema(std::string_view name) const -> ops::Schema {
    return operators_ == nullptr ? ops::Schema() : operators_->find(name);
  }
  auto read_arguments(const Call& call, Pool<Argument>& arguments) -> bool {
    ArgumentPlacement placement(schema_of(call.target), call.is_higher_order());
    Pool<Argument> keyword_arguments;
    const ops::Schema given = call.target.starts_with("torch.ops.") ? given_schema(call.target.substr(10)) : ops::Schema();
    for (const Json input : call.inputs) {
      JsonObject object;
      std::string_view name;
      std::int64_t kind = 0;
      Json value;
      Argument argument;
      if (!json_.as(input, "an argument", object) || !json_.member(object, "name", name) ||
          !json_.optional_member(object, "kind", kind) || !json_.member(object, "arg", value) ||
          !read_argument(value, argument))
        return false;
      if (!given.empty() && !name.empty() && !given.find(name))
        return json_.fail(DiagnosticCode::invalid_option, "argument '", name,
                          "' is no parameter of the schema that was given: \"", ops::with_colons(given.text()), '"');
      if (placement.is_positional(name, kind)) {
        arguments.push_back(argument);
      } else if (name.empty()) {
        return json_.malformed("a keyword argument has no name");
      } else {
        keyword_arguments.push_back(builder_.keyword(name, argument));
      }
    }
    arguments.append(keyword_arguments.view());
    return true;
  }

  // Results ----------------------------------------------------------------------------------------------------------
  /// `may_be_unknown`: tokens are named like tensors and have no metadata.
  auto read_result(Json json, Result& result, bool may_be_unknown = false) -> bool {
    std::string_view variant;
    Json content;
    if (!json_.only_member(json, "a result", variant, content)) return false;
    if (variant == "as_tensor") {
      if (!read_name(content, result.name)) return false;
      return (may_be_unknown && scope_.find(result.name) == scope_.end()) || tensor_named(result.name, result.value);
    }
    if (variant == "as_custom_obj" || variant == "as_token") return read_name(content, result.name);
    if (variant == "as_sym_int" || variant == "as_sym_bool" || variant == "as_sym_float") {
      std::string_view form;
      Json value;
      if (!json_.only_member(content, "a result", form, value)) return false;
      if (form != "as_name") return true;
      result.value = variant == "as_sym_int" ? GraphBuilder::sym_int() : GraphBuilder::scalar();
      return json_.as(value, "a value's name", result.name);
    }
    if (variant == "as_tensors") {
      JsonArray items;
      if (!json_.as(content, "a result", items)) return false;
      result.is_list = true;
      for (const Json item : items) {
        Result& member = result.members.emplace_back();
        if (!read_name(item, member.name) || !tensor_named(member.name, member.value)) return false;
      }
    }
    return true;  // None and literals have neither name nor metadata
  }
  auto read_results(const Call& call, std::vector<Result>& results, bool& is_tuple) -> bool {
    for (const Json output : call.outputs)
      if (!read_result(output, results.emplace_back())) return false;
    if (results.size() == 1 && results[0].is_list) {
      std::vector<Result> members = std::move(results[0].members);
      results = std::move(members);
      is_tuple = true;
    } else {
      is_tuple = results.size() > 1 || (results.size() == 1 && call.is_higher_order() && !call.is_single_result &&
                                        !results[0].name.empty());
    }
    return true;
  }
  auto tuple_of(const std::vector<Result>& results) -> ValueSpec {
    std::vector<ValueSpec> members;
    members.reserve(results.size());
    for (const Result& result : results) members.push_back(result.value);
    return builder_.tuple(members);
  }
  /// Makes the getitem nodes that the file leaves out.
  auto take_apart(NodeId tuple, const std::vector<Result>& results) -> bool {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& result = results[i];
      const auto is_used = [](const Result& r) { return !r.name.empty() && !is_unused_name(r.name); };
      const bool is_list_used = ranges::any_of(result.members, is_used);
      if (!is_used(result) && !is_list_used) continue;
      const ValueSpec value = is_list_used ? tuple_of(result.members) : result.value;
      const NodeId node = builder_.call_function("operator.getitem", {tuple, i}, value, result.name);
      if (is_list_used ? !take_apart(node, result.members) : !give(result.name, node)) return false;
    }
    return true;
  }
  /// Results that nothing reads are called `<node>_unused_<index>`, or with two indices in a list.
  static auto is_unused_name(std::string_view name) -> bool {
    constexpr std::string_view mark = "_unused_";
    const auto at = name.rfind(mark);
    return at != std::string_view::npos && at + mark.size() < name.size() &&
           name.find_first_not_of("0123456789_", at + mark.size()) == std::string_view::npos;
  }

  // Regions ----------------------------------------------------------------------------------------------------------
  /// A region runs as part of the graph around it: its nodes are read into this graph, its inputs are the operands.
  auto read_region(const Call& call, Region region) -> bool {
    Pool<Argument> operands;
    JsonObject graph;
    bool has_graph = false;
    for (const Json input : call.inputs) {
      JsonObject object;
      Json value;
      if (!json_.as(input, "an argument", object) || !json_.member(object, "arg", value)) return false;
      Argument argument;
      if (operands.size() == region.graph_at) {
        std::string_view variant;
        Json content;
        if (!json_.only_member(value, "an argument", variant, content)) return false;
        if (variant != "as_graph") return json_.malformed("operand ", region.graph_at, " should be a graph");
        if (!graph_in(content, graph)) return false;
        has_graph = true;
      } else if (!read_argument(value, argument)) {
        return false;
      }
      operands.push_back(argument);
    }
    if (!has_graph) return json_.malformed("operand ", region.graph_at, " should be a graph");
    if (enables_autocast(call.target, operands.view()))
      return json_.fail(DiagnosticCode::unsupported, autocast_is_enabled);
    Pool<Argument> results;
    if (operands.size() < region.operands_at) return json_.malformed("a region has too few operands");
    if (!read_inlined(graph, operands.view().subspan(region.operands_at), results)) return false;
    json_.enter_node(call.name.empty() ? call.target : call.name, call.stack_trace);
    return give_results_of_region(call, results);
  }
  auto graph_in(Json json, JsonObject& graph) -> bool {
    JsonObject object;
    return json_.as(json, "a graph argument", object) && json_.member(object, "graph", graph);
  }
  auto read_inlined(JsonObject graph, Span<const Argument> operands, Pool<Argument>& results) -> bool {
    Scope inner;
    if (!declare_values(graph, inner)) return false;
    std::swap(scope_, inner);
    JsonArray inputs;
    JsonArray outputs;
    if (!json_.member(graph, "inputs", inputs)) return false;
    if (inputs.size() != operands.size())
      return json_.malformed("a region with ", inputs.size(), " inputs gets ", operands.size(), " operands");
    std::size_t i = 0;
    for (const Json input : inputs) {
      Result named;
      if (!read_result(input, named)) return false;
      if (!named.name.empty() && !give(named.name, operands[i])) return false;
      ++i;
    }
    if (!read_nodes(graph) || !json_.member(graph, "outputs", outputs)) return false;
    for (const Json output : outputs) {
      Argument argument;
      if (!read_argument(output, argument)) return false;
      results.push_back(argument);
    }
    std::swap(scope_, inner);
    return true;
  }
  auto give_results_of_region(const Call& call, const Pool<Argument>& results) -> bool {
    std::vector<Result> outputs;
    bool is_tuple = false;
    if (!read_results(call, outputs, is_tuple)) return false;
    if (outputs.size() != results.size())
      return json_.malformed("a region with ", results.size(), " results gives ", outputs.size());
    for (std::uint32_t i = 0; i < results.size(); ++i)
      if (!outputs[i].name.empty() && !give(outputs[i].name, results[i])) return false;
    return true;
  }

  // Outputs ----------------------------------------------------------------------------------------------------------
  auto read_outputs(JsonObject graph, const JsonObject* signature) -> bool {
    JsonArray outputs;
    if (!json_.member(graph, "outputs", outputs)) return false;
    Pool<Argument> values;
    for (const Json output : outputs) {
      Argument value;
      if (!read_argument(output, value)) return false;
      values.push_back(value);
    }
    Pool<OutputSpec> specs;
    if (signature == nullptr) {
      specs.resize(values.size());
    } else if (!read_output_specs(*signature, specs)) {
      return false;
    }
    if (specs.size() != values.size())
      return json_.malformed("the graph has ", values.size(), " outputs, its signature ", specs.size());
    builder_.output(values.view(), specs.view());
    return true;
  }
  auto read_output_specs(JsonObject signature, Pool<OutputSpec>& specs) -> bool {
    struct Kind {
      OutputKind kind;
      std::string_view target_member;  ///< which member names the input concerned
    };
    static constexpr Kind kinds[] = {
        {OutputKind::user_output, ""},
        {OutputKind::loss_output, ""},
        {OutputKind::buffer_mutation, "buffer_name"},
        {OutputKind::parameter_mutation, "parameter_name"},
        {OutputKind::user_input_mutation, "user_input_name"},
        {OutputKind::gradient_to_parameter, "parameter_name"},
        {OutputKind::gradient_to_user_input, "user_input_name"},
        {OutputKind::token, ""},
    };
    JsonArray list;
    if (!json_.member(signature, "output_specs", list)) return false;
    for (const Json json : list) {
      std::string_view variant;
      Json content;
      JsonObject object;
      if (!json_.only_member(json, "an output of the signature", variant, content) ||
          !json_.as(content, "an output of the signature", object))
        return false;
      const auto kind = ranges::find(kinds, variant, [](const Kind& k) { return to_string(k.kind); });
      if (kind == std::end(kinds))
        return json_.malformed("an output of the signature is of unknown kind '", variant, "'");
      OutputSpec spec;
      spec.kind = kind->kind;
      std::string_view target;
      if (!kind->target_member.empty()) {
        if (!json_.member(object, kind->target_member, target)) return false;
        const auto input = input_by_name_.find(target);
        if (input == input_by_name_.end())
          return json_.malformed("an output is the ", variant, " of '", target, "', which is no input");
        spec.input = input->second;
        spec.target = builder_.text(target);
      }
      specs.push_back(spec);
    }
    return true;
  }

  JsonReader& json_;
  const Payloads& payloads_;
  bool is_functional_;
  const CustomOperators* operators_;
  GraphBuilder builder_;
  Scope scope_;
  std::unordered_map<std::string_view, SymInt> expressions_;
  std::unordered_map<std::string_view, ops::Schema> schemas_;
  std::unordered_set<std::string_view> declared_;
  std::unordered_map<std::string_view, std::uint32_t> input_by_name_;  ///< attribute or user input -> its index
  std::string_view stack_trace_;
  // Scratch that spares an allocation for each tensor.
  Pool<SymInt> sizes_;
  Pool<SymInt> strides_;
  std::string device_;
};

[[nodiscard]] inline auto is_exported_program(JsonObject file) -> bool {
  Json member;
  return file.at_key("graph_module").get(member) == simdjson::SUCCESS ||
         file.at_key("schema_version").get(member) == simdjson::SUCCESS;
}

[[nodiscard]] inline auto check_schema_version(JsonReader& json, JsonObject file) -> bool {
  JsonObject version;
  std::int64_t major = 0;
  std::int64_t minor = 0;
  if (!json.member(file, "schema_version", version) || !json.member(version, "major", major) ||
      !json.member(version, "minor", minor))
    return false;
  return major == 8 || json.fail(DiagnosticCode::schema_unsupported, "export schema ", major, '.', minor,
                                 " is not supported: fxpass reads 8.x (PyTorch 2.6 and later)");
}

/// Whether the export is one that has been functionalised, by the verifiers that it passed.
[[nodiscard]] inline auto is_functional(JsonObject file) -> bool {
  JsonArray verifiers;
  if (file.at_key("verifiers").get(verifiers) != simdjson::SUCCESS) return false;
  for (const Json verifier : verifiers) {
    std::string_view name;
    if (verifier.get(name) == simdjson::SUCCESS && (name == "ATEN" || name == "EDGE")) return true;
  }
  return false;
}

/// The program in a parsed file. `payloads`: what the archive around it says of its data.
[[nodiscard]] inline auto read_exported_program(Json root, std::string_view file_name, const Payloads& payloads,
                                                const CustomOperators* operators) -> Expected<Graph> {
  JsonReader json(file_name);
  JsonObject file;
  JsonObject module;
  JsonObject graph;
  JsonObject signature;
  if (!json.as(root, "the file", file)) return json.error();
  ExportedGraphReader reader(json, payloads, is_functional(file), operators);
  const bool is_read = check_schema_version(json, file) && json.member(file, "graph_module", module) && json.member(module, "graph", graph) &&
                       json.member(module, "signature", signature) && reader.read(graph, &signature) &&
                       reader.read_size_ranges(file);
  if (!is_read) return json.error();
  return std::move(reader).take();
}

}  // namespace detail

/// The program whose ExportedProgram JSON is `json`. `file_name` is for diagnostics. Errors:
/// `file_malformed`, with line and column where it is no JSON; `schema_unsupported` for another major version
/// than 8; `unknown_dtype`; `unsupported`; `invalid_graph` for a program that is not sound; `invalid_option` where `operators`,
/// the schemas of custom operators that an export does not hold, are contradicted by a call. O(size).
[[nodiscard]] inline auto parse_exported_program(std::string_view json, std::string_view file_name,
                                                 const CustomOperators* operators = nullptr) -> Expected<Module<>> {
  detail::JsonDocument document;
  if (Status parsed = document.parse(json, file_name); !parsed) return std::move(parsed).error();
  return detail::finish_reading(detail::read_exported_program(document.root(), file_name, {}, operators), file_name,
                                operators);
}

/// The program in a bare ExportedProgram JSON file. Errors: `file_unreadable`, and those of
/// `parse_exported_program`. O(size).
[[nodiscard]] inline auto read_exported_program(std::string_view path, const CustomOperators* operators = nullptr)
    -> Expected<Module<>> {
  return read_file(path).and_then([&](const std::string& text) { return parse_exported_program(text, path, operators); });
}

}  // namespace fxpass
