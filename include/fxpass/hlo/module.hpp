// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/opcode.hpp>
#include <fxpass/hlo/shape.hpp>
#include <fxpass/support/pool.hpp>
#include <fxpass/support/text.hpp>

#include <cstdint>
#include <span>
#include <string_view>

/// @file
/// `hlo::Module`: an HLO program as a value. `hlo/builder.hpp` makes one, `hlo/verify.hpp` checks it, `emit/`
/// writes it.

namespace fxpass::hlo {

/// An instruction of a module: its index in `Module::instructions`.
struct Value {
  std::uint32_t id = 0xffffffffu;

  /// False for the result of a call that failed.
  [[nodiscard]] constexpr auto valid() const -> bool { return id != 0xffffffffu; }
  friend constexpr auto operator==(Value, Value) -> bool = default;
};

struct ComputationId {
  std::uint32_t index = 0xffffffffu;

  [[nodiscard]] constexpr auto valid() const -> bool { return index != 0xffffffffu; }
  friend constexpr auto operator==(ComputationId, ComputationId) -> bool = default;
};

/// One attribute of an instruction; `value` is a range of `Module::chars` or `Module::numbers`, see
/// `holds_text`.
struct Attribute {
  AttributeKey key = AttributeKey::literal;
  Range value;

  friend constexpr auto operator==(const Attribute&, const Attribute&) -> bool = default;
};

/// Where an instruction comes from. All ranges are of `Module::chars`.
struct Metadata {
  Range op_type;  ///< the operator of the source program, such as `aten.add.Tensor`
  Range op_name;  ///< the node
  Range source_file;
  std::uint32_t source_line = 0;  ///< 0: not known

  friend constexpr auto operator==(const Metadata&, const Metadata&) -> bool = default;
};

struct Instruction {
  Opcode opcode = Opcode::tuple;
  ShapeId shape;
  Range name;        ///< of `chars`; the written name is this, a point, and the instruction's number
  Range operands;    ///< of `Module::operands`
  Range called;      ///< of `Module::called`; while: body, condition; select-and-scatter: select, scatter
  Range attributes;  ///< of `Module::attributes`, in ascending order of their keys
  std::uint32_t metadata = 0;  ///< of `Module::metadata`

  friend constexpr auto operator==(const Instruction&, const Instruction&) -> bool = default;
};

struct Computation {
  Range name;  ///< of `chars`; the written name is this, but for the entry followed by a point and its number
  Range instructions;  ///< of `Module::instructions`: operands before their users
  Range parameters;    ///< of `Module::parameters`, by parameter number
  Value root;

  friend constexpr auto operator==(const Computation&, const Computation&) -> bool = default;
};

/// An output that may, or must, lie in the buffer of a parameter.
struct Alias {
  enum class Kind : std::uint8_t { may = 1, must = 2 };

  std::uint32_t output = 0;  ///< element of the entry's result; 0 if that is no tuple
  std::uint32_t parameter = 0;
  Kind kind = Kind::may;

  friend constexpr auto operator==(const Alias&, const Alias&) -> bool = default;
};

/// An HLO program: flat tables of plain records that name each other by index.
///
/// Invariants (`hlo/verify.hpp` checks them): the instructions of a computation lie together, operands before
/// users; computations lie callees first, the entry last; every instruction has the shape that `infer_shape`
/// finds. Regular; copying is a handful of `memcpy`s. `==` compares the tables, so two modules are equal that
/// were built by the same calls.
struct Module {
  Text name;
  ShapeTable shapes;
  Pool<Computation> computations;
  Pool<Instruction> instructions;
  Pool<Value> operands;
  Pool<Value> parameters;
  Pool<ComputationId> called;
  Pool<Attribute> attributes;
  Pool<Metadata> metadata;
  Pool<std::int64_t> numbers;
  Pool<char> chars;
  Pool<Alias> aliases;
  std::uint32_t replica_count = 1;  ///< compile options, written in the header of HLO text only
  std::uint32_t num_partitions = 1;

  [[nodiscard]] constexpr auto entry() const -> const Computation& { return computations.back(); }
  [[nodiscard]] constexpr auto is_entry(const Computation& c) const -> bool {
    return &c == &computations.back();
  }

  [[nodiscard]] constexpr auto operator[](Value v) const -> const Instruction& { return instructions[v.id]; }
  [[nodiscard]] constexpr auto operator[](ComputationId id) const -> const Computation& {
    return computations[id.index];
  }

  [[nodiscard]] constexpr auto text(Range range) const -> std::string_view {
    return {chars.data() + range.begin, range.count};
  }
  [[nodiscard]] constexpr auto operands_of(const Instruction& i) const -> std::span<const Value> {
    return operands.view(i.operands);
  }
  [[nodiscard]] constexpr auto called_by(const Instruction& i) const -> std::span<const ComputationId> {
    return called.view(i.called);
  }
  [[nodiscard]] constexpr auto attributes_of(const Instruction& i) const -> std::span<const Attribute> {
    return attributes.view(i.attributes);
  }
  [[nodiscard]] constexpr auto parameters_of(const Computation& c) const -> std::span<const Value> {
    return parameters.view(c.parameters);
  }
  [[nodiscard]] constexpr auto operand_shape(const Instruction& i, std::uint32_t operand) const -> ShapeId {
    return instructions[operands[i.operands.begin + operand].id].shape;
  }
  [[nodiscard]] constexpr auto result_shape(const Computation& c) const -> ShapeId {
    return (*this)[c.root].shape;
  }

  [[nodiscard]] constexpr auto find(const Instruction& i, AttributeKey key) const -> const Attribute* {
    for (const Attribute& a : attributes_of(i))
      if (a.key == key) return &a;
    return nullptr;
  }
  /// The numbers of an attribute; none if the instruction has no such attribute.
  [[nodiscard]] constexpr auto list(const Instruction& i, AttributeKey key) const
      -> std::span<const std::int64_t> {
    const Attribute* a = find(i, key);
    return a == nullptr ? std::span<const std::int64_t>() : numbers.view(a->value);
  }
  /// The one number of an attribute, or `otherwise`.
  [[nodiscard]] constexpr auto number(const Instruction& i, AttributeKey key,
                                      std::int64_t otherwise = 0) const -> std::int64_t {
    const std::span<const std::int64_t> found = list(i, key);
    return found.empty() ? otherwise : found[0];
  }
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
      const std::span<const std::int64_t> dims = shapes.dims(id);
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

struct WindowDim {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t padding_low = 0;  ///< may be negative, as may padding_high: cuts
  std::int64_t padding_high = 0;
  std::int64_t window_dilation = 1;
  std::int64_t base_dilation = 1;
  bool reversal = false;

  friend constexpr auto operator==(const WindowDim&, const WindowDim&) -> bool = default;
};
using Window = ShortList<WindowDim, max_rank>;

/// How the dimensions of input, kernel and output are meant. Spatial lists have one length.
struct ConvolutionDims {
  std::int64_t input_batch = 0;
  std::int64_t input_feature = 1;
  Dims input_spatial;
  std::int64_t kernel_input_feature = 1;
  std::int64_t kernel_output_feature = 0;
  Dims kernel_spatial;
  std::int64_t output_batch = 0;
  std::int64_t output_feature = 1;
  Dims output_spatial;

  friend constexpr auto operator==(const ConvolutionDims&, const ConvolutionDims&) -> bool = default;
};

struct DotDims {
  Dims lhs_contracting;
  Dims rhs_contracting;
  Dims lhs_batch;
  Dims rhs_batch;
};

struct GatherDims {
  Dims offset_dims;           ///< of the result: those that run through a slice
  Dims collapsed_slice_dims;  ///< of the operand: size 1 in a slice, not in the result
  Dims start_index_map;       ///< of the operand: which dimension the i-th number of an index vector is of
  std::int64_t index_vector_dim = 0;
};

struct ScatterDims {
  Dims update_window_dims;            ///< of the updates: those that run through a window
  Dims inserted_window_dims;          ///< of the operand: size 1 in a window, not in the updates
  Dims scatter_dims_to_operand_dims;  ///< of the operand: which dimension the i-th number of an index vector
                                      ///< is of
  std::int64_t index_vector_dim = 0;
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

[[nodiscard]] constexpr auto window_dim(std::span<const std::int64_t> window, std::size_t dim) -> WindowDim {
  const std::span<const std::int64_t> n = window.subspan(dim * window_numbers, window_numbers);
  return {n[0], n[1], n[2], n[3], n[4], n[5], n[6] != 0};
}

/// Needs a list of 6 + 3 n numbers.
[[nodiscard]] constexpr auto convolution_dims(std::span<const std::int64_t> n) -> ConvolutionDims {
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
