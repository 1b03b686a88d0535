// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/emitter.hpp>
#include <fxpass/emit/wire.hpp>
#include <fxpass/hlo/module.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// A serialised `xla.HloModuleProto`, as neuronx-cc and XLA's tools read it.
///
/// Only fields that the older schema knows which neuronx-cc is built with. Instructions and computations are
/// numbered by one counter from 1 on; that XLA refuses numbers above 2^31 - 1. Field numbers:
/// `xla/service/hlo.proto`, `xla/xla_data.proto`.

namespace fxpass {

namespace detail {

/// `PrimitiveType` of an element type.
[[nodiscard]] constexpr auto primitive_type(DType dtype) -> std::int64_t {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::i8: return 2;
    case DType::i16: return 3;
    case DType::i32: return 4;
    case DType::i64: return 5;
    case DType::u8: return 6;
    case DType::u16: return 7;
    case DType::u32: return 8;
    case DType::u64: return 9;
    case DType::f16: return 10;
    case DType::f32: return 11;
    case DType::f64: return 12;
    case DType::c64: return 15;
    case DType::bf16: return 16;
    case DType::c128: return 18;
    case DType::f8e5m2: return 19;
    case DType::f8e4m3fn: return 20;
    case DType::f8e5m2fnuz: return 24;
    case DType::f8e4m3fnuz: return 25;
    case DType::f8e8m0fnu: return 33;
    case DType::c32: return 0;
  }
  return 0;
}
inline constexpr std::int64_t tuple_primitive = 13, token_primitive = 17;

/// The field of `LiteralProto` that holds the elements.
[[nodiscard]] constexpr auto literal_field(DType dtype) -> std::uint32_t {
  switch (dtype) {
    case DType::boolean: return 2;
    case DType::u8: return 3;
    case DType::i32: return 4;
    case DType::i64: return 5;
    case DType::u32: return 6;
    case DType::u64: return 7;
    case DType::f32: return 8;
    case DType::f64: return 9;
    case DType::f16: return 11;
    case DType::c64: return 12;
    case DType::bf16: return 13;
    case DType::i8: return 15;
    case DType::u16: return 16;
    case DType::i16: return 17;
    case DType::c128: return 18;
    case DType::f8e5m2: return 19;
    case DType::f8e4m3fn: return 20;
    case DType::f8e5m2fnuz: return 24;
    case DType::f8e4m3fnuz: return 25;
    case DType::f8e8m0fnu: return 33;
    case DType::c32: return 0;
  }
  return 0;
}

/// Writes the messages of one module. Every function takes the writer of the message whose fields it adds.
class HloProtoWriter {
 public:
  explicit constexpr HloProtoWriter(const hlo::Module& module) : module_(module) {}

  template <class Wire>
  constexpr void module(Wire& wire) const {
    const hlo::ComputationId entry{module_.computations.size() - 1};
    wire.bytes(1, module_.name);
    name(wire, 2, entry);
    for (std::uint32_t n = 0; n < module_.computations.size(); ++n)
      wire.message(3, [&](auto& w) { computation(w, {n}); });
    wire.message(4, [&](auto& w) { program_shape(w, module_.entry()); });
    wire.number(6, computation_number(entry));
    if (!module_.aliases.empty()) {
      wire.message(8, [&](auto& aliases) {
        for (const hlo::Alias& alias : module_.aliases)
          aliases.message(1, [&](auto& w) { alias_entry(w, alias); });
      });
    }
  }

 private:
  using Key = hlo::AttributeKey;

  [[nodiscard]] static constexpr auto number_of(hlo::Value v) -> std::int64_t {
    return std::int64_t{v.id} + 1;
  }
  [[nodiscard]] constexpr auto computation_number(hlo::ComputationId id) const -> std::int64_t {
    return std::int64_t{module_.instructions.size()} + id.index + 1;
  }
  template <class Wire, class Id>
  constexpr void name(Wire& w, std::uint32_t field, Id id) const {
    w.text(field, [&](auto& sink) { hlo::append_name(sink, module_, id); });
  }

  template <class Wire>
  constexpr void alias_entry(Wire& w, const hlo::Alias& alias) const {
    const std::int64_t output = alias.output;
    if (module_.shapes.is_tuple(module_.result_shape(module_.entry()))) w.packed(1, Span(&output, 1));
    w.number(2, alias.parameter);
    w.number(4, static_cast<std::int64_t>(alias.kind));
  }

  template <class Wire>
  constexpr void shape(Wire& w, hlo::ShapeId id) const {
    switch (module_.shapes.kind(id)) {
      case hlo::ShapeKind::token: w.number(2, token_primitive); return;
      case hlo::ShapeKind::tuple:
        w.number(2, tuple_primitive);
        for (const hlo::ShapeId element : module_.shapes.elements(id))
          w.message(4, [&](auto& inner) { shape(inner, element); });
        return;
      case hlo::ShapeKind::array: {
        const Span<const std::int64_t> dims = module_.shapes.dims(id);
        w.number(2, primitive_type(module_.shapes.dtype(id)));
        w.packed(3, dims);
        // Row-major. A scalar has a layout too, an empty one: readers of literals ask for it.
        w.message(5, [&](auto& layout) {
          layout.packed(1, dims.size(), [&](std::uint64_t n) { return dims.size() - 1 - n; });
        });
      }
    }
  }

  template <class Wire>
  constexpr void program_shape(Wire& w, const hlo::Computation& c) const {
    for (const hlo::Value v : module_.parameters_of(c))
      w.message(1, [&](auto& s) { shape(s, module_[v].shape); });
    w.message(2, [&](auto& s) { shape(s, module_.result_shape(c)); });
    for (const hlo::Value v : module_.parameters_of(c)) name(w, 3, v);
  }

  template <class Wire>
  constexpr void computation(Wire& w, hlo::ComputationId id) const {
    const hlo::Computation& c = module_[id];
    name(w, 1, id);
    for (std::uint32_t n = c.instructions.begin; n < c.instructions.end(); ++n)
      w.message(2, [&](auto& i) { instruction(i, {n}); });
    w.message(4, [&](auto& s) { program_shape(s, c); });
    w.number(5, computation_number(id));
    w.number(6, number_of(c.root));
  }

  template <class Wire>
  constexpr void instruction(Wire& w, hlo::Value v) const {
    const hlo::Instruction& i = module_[v];
    name(w, 1, v);
    w.bytes(2, to_string(i.opcode));
    w.message(3, [&](auto& s) { shape(s, i.shape); });
    if (i.metadata != 0) w.message(7, [&](auto& m) { metadata(m, module_.metadata[i.metadata]); });

    // Attributes are kept in the order of their fields; those of one submessage are neighbours.
    constexpr std::uint8_t number_field = 35, operands_field = 36, called_field = 38;
    const Span<const hlo::Attribute> attributes = module_.attributes_of(i);
    const auto field_of = [&](std::size_t n) {
      const hlo::AttributeInfo& info = hlo::attribute_info(attributes[n].key);
      return info.proto_group != 0 ? info.proto_group : info.proto_field;
    };
    std::size_t n = 0;
    const auto attributes_below = [&](std::uint8_t field) {
      while (n < attributes.size() && field_of(n) < field) {
        const std::size_t first = n;
        if (hlo::attribute_info(attributes[n].key).proto_group == 0) {
          attribute(w, i, attributes[n++]);
          continue;
        }
        while (n < attributes.size() && field_of(n) == field_of(first)) ++n;
        w.message(field_of(first), [&](auto& group) {
          for (std::size_t k = first; k < n; ++k) attribute(group, i, attributes[k]);
        });
      }
    };
    attributes_below(number_field);
    w.number(number_field, number_of(v));
    const Span<const hlo::Value> operands = module_.operands_of(i);
    w.packed(operands_field, operands.size(),
             [&](std::uint64_t k) { return static_cast<std::uint64_t>(number_of(operands[k])); });
    const Span<const hlo::ComputationId> called = module_.called_by(i);
    w.packed(called_field, called.size(),
             [&](std::uint64_t k) { return static_cast<std::uint64_t>(computation_number(called[k])); });
    attributes_below(0xff);
    // The options of a decomposition are read even if none is set.
    if (i.opcode == hlo::Opcode::cholesky && module_.find(i, Key::cholesky_lower) == nullptr)
      w.message(hlo::attribute_info(Key::cholesky_lower).proto_group, [](auto&) {});
  }

  template <class Wire>
  constexpr void metadata(Wire& w, const hlo::Metadata& m) const {
    w.bytes(1, module_.text(m.op_type));
    w.bytes(2, module_.text(m.op_name));
    w.bytes(3, module_.text(m.source_file));
    w.number(4, m.source_line);
  }

  template <class Wire>
  constexpr void attribute(Wire& w, const hlo::Instruction& i, const hlo::Attribute& a) const {
    const hlo::AttributeInfo& info = hlo::attribute_info(a.key);
    const std::uint32_t field = info.proto_field;
    if (info.kind == hlo::AttributeKind::text) return w.bytes(field, module_.text(a.value));
    if (a.key == Key::frontend_attribute) {
      const std::string_view text = module_.text(a.value);
      const std::size_t equals = text.find('=');
      w.message(field, [&](auto& entry) {
        entry.bytes(1, text.substr(0, equals));
        entry.bytes(2, text.substr(equals + 1));
      });
      return;
    }
    if (a.key == Key::literal)
      return w.message(field, [&](auto& literal_message) { literal(literal_message, i); });

    const Span<const std::int64_t> n = module_.numbers.view(a.value);
    switch (a.key) {
      // These two are strings in the proto.
      case Key::comparison_direction:
      case Key::comparison_type: return w.bytes(field, hlo::enumeration_name(a.key, n[0]));
      case Key::window: return w.message(field, [&](auto& m) { window(m, n); });
      case Key::convolution_dimensions:
        return w.message(field, [&](auto& m) { convolution_dimensions(m, n); });
      case Key::slice:
      case Key::source_target_pairs: {
        const std::size_t each = a.key == Key::slice ? hlo::detail::slice_numbers : 2;
        for (std::size_t at = 0; at < n.size(); at += each)
          w.message(field, [&](auto& m) { fields_from_one(m, n.subspan(at, each)); });
        return;
      }
      case Key::padding:
        return w.message(field, [&](auto& config) {
          for (std::size_t at = 0; at < n.size(); at += hlo::detail::padding_numbers)
            config.message(1,
                           [&](auto& m) { fields_from_one(m, n.subspan(at, hlo::detail::padding_numbers)); });
        });
      case Key::replica_groups:
        for (std::size_t at = 0; at < n.size(); at += 1 + static_cast<std::size_t>(n[at]))
          w.message(field, [&](auto& m) { m.packed(1, n.subspan(at + 1, static_cast<std::size_t>(n[at]))); });
        return;
      case Key::output_operand_aliasing:
        for (std::size_t at = 0; at < n.size(); at += 2) {
          w.message(field, [&](auto& m) {
            if (n[at] >= 0) m.packed(1, n.subspan(at, 1));
            m.number(2, n[at + 1]);
          });
        }
        return;
      default: break;
    }
    if (info.kind == hlo::AttributeKind::numbers || a.key == Key::operand_precision)
      return w.packed(field, n);
    w.number(field, n[0]);
  }

  /// The i-th number in field i, from 1 on.
  template <class Wire>
  static constexpr void fields_from_one(Wire& w, Span<const std::int64_t> n) {
    for (std::size_t field = 0; field < n.size(); ++field)
      w.number(static_cast<std::uint32_t>(field + 1), n[field]);
  }
  /// Window dimensions keep their seven numbers in the order of the fields.
  template <class Wire>
  static constexpr void window(Wire& w, Span<const std::int64_t> n) {
    for (std::size_t at = 0; at < n.size(); at += hlo::detail::window_numbers)
      w.message(1, [&](auto& m) { fields_from_one(m, n.subspan(at, hlo::detail::window_numbers)); });
  }
  template <class Wire>
  static constexpr void convolution_dimensions(Wire& w, Span<const std::int64_t> n) {
    const hlo::ConvolutionDims dims = hlo::detail::convolution_dims(n);
    w.number(3, dims.kernel_input_feature);
    w.number(4, dims.kernel_output_feature);
    w.packed(6, dims.kernel_spatial);
    w.number(7, dims.input_batch);
    w.number(8, dims.input_feature);
    w.number(9, dims.output_batch);
    w.number(10, dims.output_feature);
    w.packed(11, dims.input_spatial);
    w.packed(12, dims.output_spatial);
  }

  /// Integers of 32 and 64 bits are varints, everything else is its bytes: floating-point numbers as a packed
  /// list of fixed width, and what is narrower as a string.
  template <class Wire>
  constexpr void literal(Wire& w, const hlo::Instruction& i) const {
    const DType dtype = module_.shapes.dtype(i.shape);
    const std::string_view bytes = module_.text(i, Key::literal);
    w.message(1, [&](auto& s) { shape(s, i.shape); });
    const auto size = static_cast<std::size_t>(byte_size(dtype));
    const bool is_varint = dtype == DType::boolean || (is_integral(dtype) && size >= 4);
    if (!is_varint) return w.bytes(literal_field(dtype), bytes);
    const auto unused = static_cast<int>(64 - 8 * size);
    w.packed(literal_field(dtype), bytes.size() / size, [&](std::uint64_t n) {
      const std::uint64_t bits = hlo::detail::little_endian(bytes.substr(n * size, size));
      if (!dtype_info(dtype).is_signed) return bits;
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused);
    });
  }

  const hlo::Module& module_;
};

}  // namespace detail

/// A serialised HloModuleProto. Replica and partition counts are no part of it: they are options of the
/// compiler.
struct HloProto {
  static constexpr std::string_view name = "hlo-proto";
  static constexpr std::string_view file_ending = ".pb";

  template <TextSink Sink>
  static constexpr void write(Sink& sink, const hlo::Module& module) {
    detail::WireWriter<Sink> wire(sink);
    detail::HloProtoWriter(module).module(wire);
  }
};

}  // namespace fxpass
