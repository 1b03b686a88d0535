// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/argument.hpp>
#include <fxpass/ops/mutations.hpp>
#include <fxpass/ops/views.hpp>

#include <cstdint>
#include <limits>
#include <optional>

/// @file
/// `Node` and what stands beside it in the graph: operators, tensor metadata, input and output specs. All are plain
/// records; `graph.hpp` says how they hang together.

namespace fxpass {

/// The six kinds of a `torch.fx.Node`.
enum class NodeKind : std::uint8_t { placeholder, get_attr, call_function, call_method, call_module, output };

/// The name FX has for it.
[[nodiscard]] constexpr auto to_string(NodeKind kind) -> std::string_view {
  constexpr std::string_view names[] = {"placeholder", "get_attr",    "call_function",
                                        "call_method", "call_module", "output"};
  return names[static_cast<std::size_t>(kind)];
}

/// What a node's value is.
enum class ValueKind : std::uint8_t {
  none,  ///< nothing, or not known
  tensor,
  tuple,    ///< several values, read by getitem; its tensors have metadata, other members are given as none
  sym_int,  ///< a Python integer
  scalar,   ///< a Python float or bool
};

/// A name in two parts, `add_3` as ("add", 3): counted names share their base.
struct Name {
  TextId base;                ///< the part that is counted
  std::uint32_t ordinal = 0;  ///< 0: the base alone; k: base_(k-1)
  friend constexpr auto operator==(Name, Name) -> bool = default;
};

/// An operator as this graph uses it; one record for each spelling and overload, shared by its nodes.
struct OpId {
  std::uint32_t index = 0;  ///< row in the graph's table of operators
  friend constexpr auto operator==(OpId, OpId) -> bool = default;
};

/// One call, placeholder, attribute or the output. 56 bytes.
struct Node {
  NodeKind kind = NodeKind::call_function;  ///< which of the six
  ValueKind value_kind = ValueKind::none;  ///< what it gives
  OpId op;            ///< for calls; record 0 is "no operator"
  TextId target;      ///< as FX has it: operator, method, attribute or module path, placeholder target
  Name name;          ///< unique in the graph
  Range arguments;    ///< positional ones first, then keyword ones
  Range values;       ///< tensor metadata: one for a tensor, one a member for a tuple
  TextId stack_trace;  ///< Python's traceback of the line of the model it stems from
  std::uint32_t replica_groups = 0;  ///< 1 + index of a partition of the graph; 0: none
};

/// What is known of an operator, worked out once for all nodes that call it.
struct Operator {
  NodeKind kind = NodeKind::call_function;  ///< function or method
  TextId spelling;                       ///< the nodes' target
  ops::CatalogRow row = ops::no_row;     ///< the overload; no_row: not one of the catalog
  TextId schema;                         ///< schema of a custom operator, in PyTorch's notation
  TextId parameters;                     ///< parameters in Python's order where that is not the schema's
  ops::ViewRule view = ops::ViewRule::none;  ///< how its result shares storage with an argument
  bool writes = false;                   ///< the schema, or the name, says that an argument is written
  ops::WriteRule write_rule = ops::WriteRule::unknown;  ///< how, if it writes
  bool has_statistics = false;           ///< a normalisation, which writes running statistics if its arguments say so
  bool takes_device = true;              ///< a parameter is called `device`, or nobody knows the parameters
  bool names_group = false;              ///< it communicates within a process group
  bool has_implied_dtype = false;        ///< `x.float()`
  DType implied_dtype = DType::f32;  ///< what that spelling implies
};

/// Shape, strides, offset (in elements), dtype, device and layout of one tensor.
struct TensorMeta {
  DType dtype = DType::f32;         ///< of its elements
  Layout layout = Layout::strided;  ///< strided, or a sparse format
  bool known = false;               ///< false stands for a member of a tuple that is no tensor
  bool requires_grad = false;       ///< as the exporter saw it; no pass looks at it
  std::uint32_t rank = 0;           ///< how many dimensions
  std::uint32_t dims = 0;           ///< in the graph's pool of SymInts: `rank` sizes, then `rank` strides
  DeviceId device;                  ///< where it was when the program was captured
  SymInt storage_offset;            ///< in elements
};

/// What an input is, by the words of the export signature.
enum class InputKind : std::uint8_t {
  user_input, parameter, buffer, tensor_constant, constant_input, custom_obj, token,
};

/// The name the export signature has for it.
[[nodiscard]] constexpr auto to_string(InputKind kind) -> std::string_view {
  constexpr std::string_view names[] = {"user_input",     "parameter",  "buffer", "tensor_constant",
                                        "constant_input", "custom_obj", "token"};
  return names[static_cast<std::size_t>(kind)];
}

/// Stands for "shares its storage with no input".
inline constexpr std::uint32_t own_storage = 0xffffffffU;

/// One input of the graph, in the order of the placeholders.
struct InputSpec {
  InputKind kind = InputKind::user_input;  ///< what it is
  bool persistent = true;                  ///< of a buffer
  NodeId node = {};                        ///< the placeholder
  TextId target = {};                      ///< qualified name of a parameter, buffer or constant
  Argument constant = {};                  ///< value of a constant input
  std::uint32_t storage = own_storage;     ///< inputs with the same number share a storage
};

/// Between which numbers a symbolic size is, both included: a row of an export's range constraints.
struct SizeRange {
  TextId expression;                                              ///< "s77", or "2*s77"
  std::int64_t min = 0;                                           ///< the least
  std::int64_t max = std::numeric_limits<std::int64_t>::max();    ///< the greatest; if it is that, there is none
};

/// What an output is, by the words of the export signature.
enum class OutputKind : std::uint8_t {
  user_output, loss_output, buffer_mutation, parameter_mutation, user_input_mutation, gradient_to_parameter,
  gradient_to_user_input, token,
};

/// The name the export signature has for it.
[[nodiscard]] constexpr auto to_string(OutputKind kind) -> std::string_view {
  constexpr std::string_view names[] = {"user_output",         "loss_output",           "buffer_mutation",
                                        "parameter_mutation",  "user_input_mutation",   "gradient_to_parameter",
                                        "gradient_to_user_input", "token"};
  return names[static_cast<std::size_t>(kind)];
}
/// Whether the output is the new value of an input.
[[nodiscard]] constexpr auto is_mutation(OutputKind kind) -> bool {
  return kind == OutputKind::buffer_mutation || kind == OutputKind::parameter_mutation ||
         kind == OutputKind::user_input_mutation;
}
/// Whether the program itself returns it, as against what tracing added.
[[nodiscard]] constexpr auto is_returned(OutputKind kind) -> bool {
  return kind == OutputKind::user_output || kind == OutputKind::loss_output;
}

/// Stands for "no input".
inline constexpr std::uint32_t no_input = 0xffffffffU;

/// One output, in the order of the output node's arguments: the program's own first.
struct OutputSpec {
  OutputKind kind = OutputKind::user_output;  ///< what it is
  std::uint32_t input = no_input;             ///< for mutations and gradients: the input concerned
  TextId target = {};                         ///< for mutations: the input's qualified name
};

/// All ranks of the world in groups of equal size, in the order that decides who owns which shard.
struct Partition {
  Range ranks;                   ///< in the graph's pool of ranks, group by group
  std::uint32_t group_size = 0;  ///< ranks in each group
};

}  // namespace fxpass
