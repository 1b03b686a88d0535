// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/opcode.hpp>
#include <fxpass/hlo/shape.hpp>
#include <fxpass/support/pool.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// `hlo::Module`: an HLO program as a value. `hlo/builder.hpp` makes one, `hlo/verify.hpp` checks it, `emit/`
/// writes it.

namespace fxpass::hlo {

/// An instruction of a module: its index in `Module::instructions`.
struct Value {
  std::uint32_t id = 0xffffffffu;  ///< all ones: none

  /// False for the result of a call that failed.
  [[nodiscard]] constexpr auto valid() const -> bool { return id != 0xffffffffu; }
  friend constexpr auto operator==(Value, Value) -> bool = default;
};

/// A computation of a module: its index in `Module::computations`.
struct ComputationId {
  std::uint32_t index = 0xffffffffu;  ///< all ones: none

  /// False for the result of a call that failed.
  [[nodiscard]] constexpr auto valid() const -> bool { return index != 0xffffffffu; }
  friend constexpr auto operator==(ComputationId, ComputationId) -> bool = default;
};

/// One attribute of an instruction; `value` is a range of `Module::chars` or `Module::numbers`, see
/// `holds_text`.
struct Attribute {
  AttributeKey key = AttributeKey::literal;  ///< which one
  Range value;                               ///< where it lies

  friend constexpr auto operator==(const Attribute&, const Attribute&) -> bool = default;
};

/// Where an instruction comes from. All ranges are of `Module::chars`.
struct Metadata {
  Range op_type;                  ///< the operator of the source program, such as `aten.add.Tensor`
  Range op_name;                  ///< the node
  Range source_file;              ///< of the model
  std::uint32_t source_line = 0;  ///< 0: not known

  friend constexpr auto operator==(const Metadata&, const Metadata&) -> bool = default;
};

/// One operation.
struct Instruction {
  Opcode opcode = Opcode::tuple;  ///< what it does
  ShapeId shape;  ///< of its result
  Range name;        ///< of `chars`; the written name is this, a point, and the instruction's number
  Range operands;    ///< of `Module::operands`
  Range called;      ///< of `Module::called`; while: body, condition; select-and-scatter: select, scatter
  Range attributes;  ///< of `Module::attributes`, in ascending order of their keys
  std::uint32_t metadata = 0;  ///< of `Module::metadata`

  friend constexpr auto operator==(const Instruction&, const Instruction&) -> bool = default;
};

/// A function of the module: instructions, of which one is the result.
struct Computation {
  Range name;  ///< of `chars`; the written name is this, but for the entry followed by a point and its number
  Range instructions;  ///< of `Module::instructions`: operands before their users
  Range parameters;    ///< of `Module::parameters`, by parameter number
  Value root;  ///< its result

  friend constexpr auto operator==(const Computation&, const Computation&) -> bool = default;
};

/// An output that may, or must, lie in the buffer of a parameter.
struct Alias {
  /// Whether the backend may choose, or has to be given the parameter's buffer to overwrite.
  enum class Kind : std::uint8_t { may = 1, must = 2 };

  std::uint32_t output = 0;     ///< element of the entry's result; 0 if that is no tuple
  std::uint32_t parameter = 0;  ///< number of the entry's parameter
  Kind kind = Kind::may;        ///< whether it has to

  friend constexpr auto operator==(const Alias&, const Alias&) -> bool = default;
};

/// An HLO program: flat tables of plain records that name each other by index.
///
/// Invariants (`hlo/verify.hpp` checks them): the instructions of a computation lie together, operands before
/// users; computations lie callees first, the entry last; every instruction has the shape that `infer_shape`
/// finds. Regular; copying is a handful of `memcpy`s. `==` compares the tables, so two modules are equal that
/// were built by the same calls.
struct Module {
  Text name;                         ///< as XLA prints it
  ShapeTable shapes;                 ///< of all values
  Pool<Computation> computations;    ///< callees first, the entry last
  Pool<Instruction> instructions;    ///< of all computations
  Pool<Value> operands;              ///< what `Instruction::operands` are ranges of
  Pool<Value> parameters;            ///< what `Computation::parameters` are ranges of
  Pool<ComputationId> called;        ///< what `Instruction::called` are ranges of
  Pool<Attribute> attributes;        ///< what `Instruction::attributes` are ranges of
  Pool<Metadata> metadata;           ///< where instructions come from
  Pool<std::int64_t> numbers;        ///< of attributes
  Pool<char> chars;                  ///< names, and texts of attributes
  Pool<Alias> aliases;               ///< outputs in the buffers of parameters
  std::uint32_t replica_count = 1;   ///< compile options, written in the header of HLO text only
  std::uint32_t num_partitions = 1;  ///< likewise

  /// The computation that is run; and whether `c`, one of this module, is that. Needs a finished module.
  [[nodiscard]] constexpr auto entry() const -> const Computation& { return computations.back(); }
  [[nodiscard]] constexpr auto is_entry(const Computation& c) const -> bool {
    return &c == &computations.back();
  }

  /// A record by its id, which has to be valid.
  [[nodiscard]] constexpr auto operator[](Value v) const -> const Instruction& { return instructions[v.id]; }
  [[nodiscard]] constexpr auto operator[](ComputationId id) const -> const Computation& {
    return computations[id.index];
  }

  /// What a range of a record stands for.
  [[nodiscard]] constexpr auto text(Range range) const -> std::string_view {
    return {chars.data() + range.begin, range.count};
  }
  [[nodiscard]] constexpr auto operands_of(const Instruction& i) const -> Span<const Value> {
    return operands.view(i.operands);
  }
  [[nodiscard]] constexpr auto called_by(const Instruction& i) const -> Span<const ComputationId> {
    return called.view(i.called);
  }
  [[nodiscard]] constexpr auto attributes_of(const Instruction& i) const -> Span<const Attribute> {
    return attributes.view(i.attributes);
  }
  [[nodiscard]] constexpr auto parameters_of(const Computation& c) const -> Span<const Value> {
    return parameters.view(c.parameters);
  }

  /// The shape of an instruction's operand, and of a computation's result.
  [[nodiscard]] constexpr auto operand_shape(const Instruction& i, std::uint32_t operand) const -> ShapeId {
    return instructions[operands[i.operands.begin + operand].id].shape;
  }
  [[nodiscard]] constexpr auto result_shape(const Computation& c) const -> ShapeId {
    return (*this)[c.root].shape;
  }

  /// An attribute of an instruction; null if it has none such. O(attributes of the instruction), as all that
  /// follow.
  [[nodiscard]] constexpr auto find(const Instruction& i, AttributeKey key) const -> const Attribute* {
    for (const Attribute& a : attributes_of(i))
      if (a.key == key) return &a;
    return nullptr;
  }
  /// The numbers of an attribute; none if the instruction has no such attribute.
  [[nodiscard]] constexpr auto list(const Instruction& i, AttributeKey key) const
      -> Span<const std::int64_t> {
    const Attribute* a = find(i, key);
    return a == nullptr ? Span<const std::int64_t>() : numbers.view(a->value);
  }
  /// The one number of an attribute, or `otherwise`.
  [[nodiscard]] constexpr auto number(const Instruction& i, AttributeKey key,
                                      std::int64_t otherwise = 0) const -> std::int64_t {
    const Span<const std::int64_t> found = list(i, key);
    return found.empty() ? otherwise : found[0];
  }
  /// Whether a flag is set.
  [[nodiscard]] constexpr auto flag(const Instruction& i, AttributeKey key) const -> bool {
    return number(i, key) != 0;
  }
  /// The characters of an attribute; none if the instruction has no such attribute.
  [[nodiscard]] constexpr auto text(const Instruction& i, AttributeKey key) const -> std::string_view {
    const Attribute* a = find(i, key);
    return a == nullptr ? std::string_view() : text(a->value);
  }

  friend constexpr auto operator==(const Module&, const Module&) -> bool = default;
};

/// Writes the name of an instruction, unique in the module.
template <TextSink Sink>
constexpr void append_name(Sink& sink, const Module& module, Value value) {
  const Instruction& i = module[value];
  append_all(sink, i.name.empty() ? to_string(i.opcode) : module.text(i.name), '.', value.id + 1);
}

/// Writes the name of a computation, unique among the computations of the module.
template <TextSink Sink>
constexpr void append_name(Sink& sink, const Module& module, ComputationId id) {
  append_to(sink, module.text(module[id].name));
  if (id.index + 1 != module.computations.size()) append_all(sink, '.', id.index + 1);
}

/// Writes a shape: `f32[2,3]{1,0}`, `(f32[], s32[4]{0})`, `token[]`.
template <TextSink Sink>
constexpr void append_shape(Sink& sink, const ShapeTable& shapes, ShapeId id) {
  switch (shapes.kind(id)) {
    case ShapeKind::token: append_to(sink, "token[]"); return;
    case ShapeKind::tuple: {
      append_to(sink, '(');
      bool first = true;
      for (const ShapeId element : shapes.elements(id)) {
        if (!first) append_to(sink, ", ");
        first = false;
        append_shape(sink, shapes, element);
      }
      append_to(sink, ')');
      return;
    }
    case ShapeKind::array: {
      append_all(sink, dtype_info(shapes.dtype(id)).xla_name, '[');
      const Span<const std::int64_t> dims = shapes.dims(id);
      for (std::size_t i = 0; i < dims.size(); ++i) {
        if (i != 0) append_to(sink, ',');
        append_to(sink, dims[i]);
      }
      append_to(sink, ']');
      if (dims.empty()) return;
      append_to(sink, '{');
      for (std::size_t i = dims.size(); i-- > 0;) {
        append_to(sink, i);
        if (i != 0) append_to(sink, ',');
      }
      append_to(sink, '}');
    }
  }
}

// The forms in which callers give, and `infer_shape` reads, the attributes with several numbers a dimension.

/// How a window moves along one dimension.
struct WindowDim {
  std::int64_t size = 1;             ///< elements that it covers
  std::int64_t stride = 1;           ///< from one place to the next
  std::int64_t padding_low = 0;      ///< may be negative, as may padding_high: cuts
  std::int64_t padding_high = 0;     ///< behind the last element
  std::int64_t window_dilation = 1;  ///< distance of neighbours in the window
  std::int64_t base_dilation = 1;    ///< distance that neighbours of the array are moved to
  bool reversal = false;             ///< the window is taken from back to front

  friend constexpr auto operator==(const WindowDim&, const WindowDim&) -> bool = default;
};
/// A window: what it does in each dimension.
using Window = ShortList<WindowDim, max_rank>;

/// How the dimensions of input, kernel and output are meant. Spatial lists have one length.
struct ConvolutionDims {
  std::int64_t input_batch = 0;            ///< dimension of the input that numbers the samples
  std::int64_t input_feature = 1;          ///< dimension of the input that numbers the channels
  Dims input_spatial;                      ///< the others
  std::int64_t kernel_input_feature = 1;   ///< dimension of the kernel that is summed over
  std::int64_t kernel_output_feature = 0;  ///< dimension of the kernel that numbers the results
  Dims kernel_spatial;                     ///< the others
  std::int64_t output_batch = 0;           ///< dimension of the result that numbers the samples
  std::int64_t output_feature = 1;         ///< dimension of the result that numbers the channels
  Dims output_spatial;                     ///< the others

  friend constexpr auto operator==(const ConvolutionDims&, const ConvolutionDims&) -> bool = default;
};

/// Which dimensions of a product's operands meet. Lists of both sides correspond, and have equal sizes.
struct DotDims {
  Dims lhs_contracting;  ///< of the first operand: summed over
  Dims rhs_contracting;  ///< of the second operand: summed over
  Dims lhs_batch;        ///< of the first operand: kept, one product for each index
  Dims rhs_batch;        ///< of the second operand: kept
};

/// How the dimensions of operand, indices and result of a gather are meant.
struct GatherDims {
  Dims offset_dims;           ///< of the result: those that run through a slice
  Dims collapsed_slice_dims;  ///< of the operand: size 1 in a slice, not in the result
  Dims start_index_map;       ///< of the operand: which dimension the i-th number of an index vector is of
  std::int64_t index_vector_dim = 0;  ///< of the indices: the one along which an index vector lies
};

/// How the dimensions of operand, indices and updates of a scatter are meant.
struct ScatterDims {
  Dims update_window_dims;            ///< of the updates: those that run through a window
  Dims inserted_window_dims;          ///< of the operand: size 1 in a window, not in the updates
  Dims scatter_dims_to_operand_dims;  ///< of the operand: which dimension the i-th number of an index vector
                                      ///< is of
  std::int64_t index_vector_dim = 0;  ///< of the indices: the one along which an index vector lies
};

namespace detail {
/// The bits of one element of a literal. Needs at most eight.
[[nodiscard]] constexpr auto little_endian(std::string_view bytes) -> std::uint64_t {
  std::uint64_t bits = 0;
  for (std::size_t n = bytes.size(); n-- > 0;) bits = (bits << 8) | static_cast<std::uint8_t>(bytes[n]);
  return bits;
}

/// Numbers a dimension in the attributes `window`, `slice`, `padding`.
inline constexpr std::size_t window_numbers = 7, slice_numbers = 3, padding_numbers = 3;

[[nodiscard]] constexpr auto window_dim(Span<const std::int64_t> window, std::size_t dim) -> WindowDim {
  const Span<const std::int64_t> n = window.subspan(dim * window_numbers, window_numbers);
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6] != 0};
}

/// Needs a list of 6 + 3 n numbers.
[[nodiscard]] constexpr auto convolution_dims(Span<const std::int64_t> n) -> ConvolutionDims {
  const std::size_t part = n.size() / 3;
  ConvolutionDims dims;
  dims.input_batch = n[0];
  dims.input_feature = n[1];
  dims.input_spatial = n.subspan(2, part - 2);
  dims.kernel_input_feature = n[part];
  dims.kernel_output_feature = n[part + 1];
  dims.kernel_spatial = n.subspan(part + 2, part - 2);
  dims.output_batch = n[2 * part];
  dims.output_feature = n[2 * part + 1];
  dims.output_spatial = n.subspan(2 * part + 2, part - 2);
  return dims;
}
}  // namespace detail

}  // namespace fxpass::hlo
