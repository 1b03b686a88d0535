// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/emitter.hpp>
#include <fxpass/hlo/module.hpp>
#include <fxpass/support/decimal.hpp>
#include <fxpass/support/float_format.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// HLO text, as XLA's own parser reads it and XLA's printer writes it in its long form.

namespace fxpass {

namespace detail {

/// Writes one module.
template <TextSink Sink>
class HloTextWriter {
 public:
  constexpr HloTextWriter(Sink& sink, const hlo::Module& module) : sink_(sink), module_(module) {}

  constexpr void write() {
    header();
    for (std::uint32_t n = 0; n < module_.computations.size(); ++n) {
      put("\n");
      computation({n});
    }
  }

 private:
  template <class... Parts>
  constexpr void put(const Parts&... parts) {
    append_all(sink_, parts...);
  }
  /// `write_one(item)` for each item, commas between.
  template <class Items, class WriteOne>
  constexpr void separated(const Items& items, std::string_view separator, WriteOne write_one) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) put(separator);
      first = false;
      write_one(item);
    }
  }
  constexpr void numbers(Span<const std::int64_t> list) {
    put('{');
    separated(list, ",", [&](std::int64_t n) { put(n); });
    put('}');
  }
  constexpr void shape(hlo::ShapeId id) { hlo::append_shape(sink_, module_.shapes, id); }
  constexpr void value_name(hlo::Value v) {
    put('%');
    hlo::append_name(sink_, module_, v);
  }
  constexpr void computation_name(hlo::ComputationId id) {
    put('%');
    hlo::append_name(sink_, module_, id);
  }
  /// In double quotes, with C's escapes.
  constexpr void quoted(std::string_view text) {
    put('"');
    for (const char c : text) {
      const auto code = static_cast<std::uint8_t>(c);
      if (c == '"' || c == '\\') {
        put('\\', c);
      } else if (c == '\n') {
        put("\\n");
      } else if (code < 0x20 || code >= 0x7f) {
        put('\\', static_cast<char>('0' + code / 64), static_cast<char>('0' + code / 8 % 8),
            static_cast<char>('0' + code % 8));
      } else {
        put(c);
      }
    }
    put('"');
  }

  constexpr void header() {
    const hlo::Computation& entry = module_.entry();
    put("HloModule ", module_.name);
    if (!module_.aliases.empty()) {
      put(", input_output_alias={ ");
      const bool is_tuple = module_.shapes.is_tuple(module_.result_shape(entry));
      separated(module_.aliases, ", ", [&](const hlo::Alias& alias) {
        put('{');
        if (is_tuple) put(alias.output);
        put("}: (", alias.parameter, ", {}, ",
            alias.kind == hlo::Alias::Kind::must ? "must-alias" : "may-alias", ')');
      });
      put(" }");
    }
    put(", entry_computation_layout={(");
    separated(module_.parameters_of(entry), ", ", [&](hlo::Value v) { shape(module_[v].shape); });
    put(")->");
    shape(module_.result_shape(entry));
    put('}');
    if (module_.replica_count != 1) put(", replica_count=", module_.replica_count);
    if (module_.num_partitions != 1) put(", num_partitions=", module_.num_partitions);
    put('\n');
  }

  constexpr void computation(hlo::ComputationId id) {
    const hlo::Computation& c = module_[id];
    if (module_.is_entry(c)) put("ENTRY ");
    computation_name(id);
    put(" (");
    separated(module_.parameters_of(c), ", ", [&](hlo::Value v) {
      hlo::append_name(sink_, module_, v);
      put(": ");
      shape(module_[v].shape);
    });
    put(") -> ");
    shape(module_.result_shape(c));
    put(" {\n");
    for (std::uint32_t n = c.instructions.begin; n < c.instructions.end(); ++n) {
      put(c.root.id == n ? "  ROOT " : "  ");
      instruction({n});
      put('\n');
    }
    put("}\n");
  }

  constexpr void instruction(hlo::Value v) {
    const hlo::Instruction& i = module_[v];
    value_name(v);
    put(" = ");
    shape(i.shape);
    put(' ', to_string(i.opcode), '(');
    if (i.opcode == hlo::Opcode::parameter)
      put(module_.number(i, hlo::AttributeKey::parameter_number));
    else if (i.opcode == hlo::Opcode::constant)
      literal(i);
    else
      separated(module_.operands_of(i), ", ", [&](hlo::Value operand) { value_name(operand); });
    put(')');
    called(i);
    bool has_frontend_attributes = false;
    for (const hlo::Attribute& a : module_.attributes_of(i)) {
      if (a.key == hlo::AttributeKey::frontend_attribute) {
        has_frontend_attributes = true;
      } else if (!hlo::attribute_info(a.key).name.empty()) {
        attribute(i, a);
      }
    }
    if (has_frontend_attributes) frontend_attributes(i);
    if (i.metadata != 0) metadata(module_.metadata[i.metadata]);
  }

  constexpr void called(const hlo::Instruction& i) {
    const Span<const hlo::ComputationId> list = module_.called_by(i);
    if (list.empty()) return;
    const auto one = [&](std::string_view name, std::size_t n) {
      put(", ", name, '=');
      computation_name(list[n]);
    };
    const auto all = [&](std::string_view name) {
      put(", ", name, "={");
      separated(list, ", ", [&](hlo::ComputationId id) { computation_name(id); });
      put('}');
    };
    switch (i.opcode) {
      case hlo::Opcode::while_:
        one("condition", 1);
        one("body", 0);
        return;
      case hlo::Opcode::select_and_scatter:
        one("select", 0);
        one("scatter", 1);
        return;
      case hlo::Opcode::conditional:
        if (module_.shapes.dtype(module_.operand_shape(i, 0)) != DType::boolean)
          return all("branch_computations");
        one("true_computation", 0);
        one("false_computation", 1);
        return;
      case hlo::Opcode::custom_call: return all("called_computations");
      default: one("to_apply", 0); return;
    }
  }

  constexpr void attribute(const hlo::Instruction& i, const hlo::Attribute& a) {
    const hlo::AttributeInfo& info = hlo::attribute_info(a.key);
    if (i.opcode == hlo::Opcode::iota) {
      put(", iota_dimension=", module_.numbers[a.value.begin]);
      return;
    }
    put(", ", info.name, '=');
    if (info.kind == hlo::AttributeKind::text) return quoted(module_.text(a.value));
    const Span<const std::int64_t> n = module_.numbers.view(a.value);
    switch (info.kind) {
      case hlo::AttributeKind::number: put(n[0]); return;
      case hlo::AttributeKind::flag: put("true"); return;
      case hlo::AttributeKind::enumeration: put(hlo::enumeration_name(a.key, n[0])); return;
      case hlo::AttributeKind::numbers: numbers(n); return;
      default: special(a.key, n);
    }
  }
  constexpr void special(hlo::AttributeKey key, Span<const std::int64_t> n) {
    switch (key) {
      case hlo::AttributeKey::window: return window(n);
      case hlo::AttributeKey::convolution_dimensions: return convolution_dimensions(n);
      case hlo::AttributeKey::slice:
        put('{');
        for (std::size_t d = 0; d < n.size(); d += hlo::detail::slice_numbers) {
          put(d == 0 ? "[" : ", [", n[d], ':', n[d + 1]);
          if (n[d + 2] != 1) put(':', n[d + 2]);
          put(']');
        }
        put('}');
        return;
      case hlo::AttributeKey::padding:
        for (std::size_t d = 0; d < n.size(); d += hlo::detail::padding_numbers) {
          if (d != 0) put('x');
          put(n[d], '_', n[d + 1]);
          if (n[d + 2] != 0) put('_', n[d + 2]);
        }
        return;
      case hlo::AttributeKey::operand_precision:
        put('{');
        separated(n, ",", [&](std::int64_t p) { put(hlo::enumeration_name(key, p)); });
        put('}');
        return;
      case hlo::AttributeKey::replica_groups:
        put('{');
        for (std::size_t at = 0; at < n.size(); at += 1 + static_cast<std::size_t>(n[at])) {
          if (at != 0) put(',');
          numbers(n.subspan(at + 1, static_cast<std::size_t>(n[at])));
        }
        put('}');
        return;
      case hlo::AttributeKey::source_target_pairs:
        put('{');
        for (std::size_t at = 0; at < n.size(); at += 2) {
          if (at != 0) put(',');
          numbers(n.subspan(at, 2));
        }
        put('}');
        return;
      case hlo::AttributeKey::output_operand_aliasing:
        put('{');
        for (std::size_t at = 0; at < n.size(); at += 2) {
          put(at == 0 ? "{" : ", {");
          if (n[at] >= 0) put(n[at]);
          put("}: (", n[at + 1], ", {})");
        }
        put('}');
        return;
      default: return;
    }
  }

  /// A part of a window is left out where every dimension has the value that is meant without it.
  constexpr void window(Span<const std::int64_t> n) {
    const std::size_t rank = n.size() / hlo::detail::window_numbers;
    const auto part = [&](std::string_view name, bool always, auto differs, auto write_one) {
      bool is_needed = always;
      for (std::size_t d = 0; d < rank; ++d) is_needed = is_needed || differs(hlo::detail::window_dim(n, d));
      if (!is_needed) return;
      put(name);
      for (std::size_t d = 0; d < rank; ++d) {
        if (d != 0) put('x');
        write_one(hlo::detail::window_dim(n, d));
      }
    };
    using W = const hlo::WindowDim&;
    put('{');
    if (rank != 0) {
      part("size=", true, [](W) { return true; }, [&](W w) { put(w.size); });
      part(" stride=", false, [](W w) { return w.stride != 1; }, [&](W w) { put(w.stride); });
      part(
          " pad=", false, [](W w) { return w.padding_low != 0 || w.padding_high != 0; },
          [&](W w) { put(w.padding_low, '_', w.padding_high); });
      part(
          " lhs_dilate=", false, [](W w) { return w.base_dilation != 1; },
          [&](W w) { put(w.base_dilation); });
      part(
          " rhs_dilate=", false, [](W w) { return w.window_dilation != 1; },
          [&](W w) { put(w.window_dilation); });
      part(" rhs_reversal=", false, [](W w) { return w.reversal; }, [&](W w) { put(w.reversal ? 1 : 0); });
    }
    put('}');
  }
  /// `bf01_oi01->bf01`: for each dimension of input, kernel and output what it is.
  constexpr void convolution_dimensions(Span<const std::int64_t> n) {
    const std::size_t rank = n.size() / 3;
    const auto labels = [&](Span<const std::int64_t> part, char first, char second) {
      for (std::size_t d = 0; d < rank; ++d) {
        std::size_t meaning = 0;
        while (part[meaning] != static_cast<std::int64_t>(d)) ++meaning;
        if (meaning < 2)
          put(meaning == 0 ? first : second);
        else
          put(meaning - 2);
      }
    };
    labels(n.subspan(0, rank), 'b', 'f');
    put('_');
    labels(n.subspan(rank, rank), 'i', 'o');
    put("->");
    labels(n.subspan(2 * rank, rank), 'b', 'f');
  }

  constexpr void frontend_attributes(const hlo::Instruction& i) {
    put(", frontend_attributes={");
    bool first = true;
    for (const hlo::Attribute& a : module_.attributes_of(i)) {
      if (a.key != hlo::AttributeKey::frontend_attribute) continue;
      if (!first) put(',');
      first = false;
      const std::string_view text = module_.text(a.value);
      const std::size_t equals = text.find('=');
      put(text.substr(0, equals), '=');
      quoted(text.substr(equals + 1));
    }
    put('}');
  }
  constexpr void metadata(const hlo::Metadata& m) {
    put(", metadata={op_type=");
    quoted(module_.text(m.op_type));
    put(" op_name=");
    quoted(module_.text(m.op_name));
    if (!m.source_file.empty()) {
      put(" source_file=");
      quoted(module_.text(m.source_file));
    }
    if (m.source_line != 0) put(" source_line=", m.source_line);
    put('}');
  }

  // ---- literals

  constexpr void literal(const hlo::Instruction& i) {
    std::string_view bytes = module_.text(i, hlo::AttributeKey::literal);
    literal_part(module_.shapes.dtype(i.shape), module_.shapes.dims(i.shape), bytes);
  }
  /// Writes the elements of the first dimension, and takes theirs from the front of `bytes`.
  constexpr void literal_part(DType dtype, Span<const std::int64_t> dims, std::string_view& bytes) {
    if (dims.empty()) {
      const auto size = static_cast<std::size_t>(byte_size(dtype));
      element(dtype, bytes.substr(0, size));
      bytes.remove_prefix(size);
      return;
    }
    put('{');
    for (std::int64_t n = 0; n < dims[0]; ++n) {
      if (n != 0) put(", ");
      literal_part(dtype, dims.subspan(1), bytes);
    }
    put('}');
  }
  constexpr void element(DType dtype, std::string_view bytes) {
    if (is_complex(dtype)) {
      put('(');
      element(real_part(dtype), bytes.substr(0, bytes.size() / 2));
      put(", ");
      element(real_part(dtype), bytes.substr(bytes.size() / 2));
      put(')');
      return;
    }
    const std::uint64_t bits = hlo::detail::little_endian(bytes);
    if (dtype == DType::boolean) {
      put(bits != 0 ? "true" : "false");
    } else if (is_floating(dtype)) {
      floating(dtype, bits);
    } else if (dtype_info(dtype).is_signed) {
      const auto unused = static_cast<int>(64 - 8 * bytes.size());
      put(static_cast<std::int64_t>(bits << unused) >> unused);
    } else {
      put(bits);
    }
  }
  constexpr void floating(DType dtype, std::uint64_t bits) {
    const double value = float_from_bits(bits, dtype);
    if (value != value) {
      not_a_number(dtype, bits);
    } else if (value == 0 && bits != 0) {
      put("-0.0");  // without a point the parser reads an integer, which has no -0
    } else if (dtype == DType::f64) {
      append_decimal(sink_, value);
    } else {
      append_decimal(sink_, static_cast<float>(value));
    }
  }
  /// The payload is written where it is not the usual one.
  constexpr void not_a_number(DType dtype, std::uint64_t bits) {
    const FloatFormat format = float_format(dtype);
    if (format.specials == FloatFormat::Specials::ieee) {
      const std::uint64_t payload = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
      if ((bits >> (format.width() - 1)) != 0) put('-');
      put("nan");
      if (payload != std::uint64_t{1} << (format.mantissa_bits - 1)) {
        put("(0x");
        bool started = false;
        for (int shift = 60; shift >= 0; shift -= 4) {
          const auto digit = static_cast<std::size_t>((payload >> shift) & 15);
          started = started || digit != 0;
          if (started) put("0123456789abcdef"[digit]);
        }
        put(')');
      }
    } else {
      const bool has_sign = format.specials == FloatFormat::Specials::nan_only;
      put(has_sign && (bits >> (format.width() - 1)) != 0 ? "-nan" : "nan");
    }
  }

  Sink& sink_;
  const hlo::Module& module_;
};

}  // namespace detail

/// HLO text. Layouts are written out; constants are never cut short.
struct HloText {
  static constexpr std::string_view name = "hlo-text";
  static constexpr std::string_view file_ending = ".hlo";

  template <TextSink Sink>
  static constexpr void write(Sink& sink, const hlo::Module& module) {
    detail::HloTextWriter<Sink>(sink, module).write();
  }
};

}  // namespace fxpass
