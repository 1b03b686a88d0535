// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/emitter.hpp>
#include <fxpass/hlo/module.hpp>
#include <fxpass/support/pool.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// An HLO module as MLIR text in the StableHLO dialect, operations in MLIR's generic form. Sources: the StableHLO
/// specification; MLIR's language reference. `erf` and `topk`, which StableHLO lacks, are those of the CHLO dialect that
/// comes with it.

namespace fxpass {

namespace detail {

/// Writes one module.
///
/// StableHLO has no tuples: an operation has several results instead, so that each HLO value stands for a list of
/// names. It has regions where HLO calls computations: a computation is written wherever it is called.
template <TextSink Sink>
class StableHloWriter {
 public:
  constexpr StableHloWriter(Sink& sink, const hlo::Module& module) : sink_(sink), module_(module) {
    of_value_.resize(module.instructions.size());
  }

  constexpr void write() {
    put("module @");
    symbol(module_.name);
    put(" attributes {mhlo.num_partitions = ", module_.num_partitions, " : i32, mhlo.num_replicas = ",
        module_.replica_count, " : i32} {\n");
    for (std::uint32_t n = 0; n < module_.computations.size(); ++n)
      if (is_function({n})) function({n});
    put("}\n");
  }

 private:
  /// A name of a value: `%v12`, its result `%v12#1`, or the argument `%v12_1` of a region.
  struct Name {
    enum class Form : std::uint8_t { whole, result, argument };
    std::uint32_t id = 0;
    std::uint32_t index = 0;
    Form form = Form::whole;
  };

  template <class... Parts>
  constexpr void put(const Parts&... parts) {
    append_all(sink_, parts...);
  }
  template <class Items, class WriteOne>
  constexpr void separated(const Items& items, WriteOne write_one) {
    bool first = true;
    for (const auto& item : items) {
      if (!first) put(", ");
      first = false;
      write_one(item);
    }
  }
  constexpr void new_line() {
    for (std::uint32_t i = 0; i < depth_; ++i) put("  ");
  }
  /// MLIR's symbols take what HLO's names are made of, but for a digit in front.
  constexpr void symbol(std::string_view text) {
    if (text.empty() || (text[0] >= '0' && text[0] <= '9')) put('_');
    for (const char c : text) {
      const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                            c == '_' || c == '.' || c == '$' || c == '-';
      put(is_plain ? c : '_');
    }
  }
  constexpr void quoted(std::string_view text) {
    put('"');
    for (const char c : text) {
      const auto code = static_cast<std::uint8_t>(c);
      constexpr std::string_view digits = "0123456789ABCDEF";
      if (c == '"' || c == '\\' || code < 0x20 || code >= 0x7f)
        put('\\', digits[code >> 4U], digits[code & 15U]);
      else
        put(c);
    }
    put('"');
  }

  // Types -------------------------------------------------------------------------------------------------------
  [[nodiscard]] static constexpr auto element_type(DType type) -> std::string_view {
    constexpr std::array<std::string_view, 21> names{
        "i1",     "ui8",        "ui16",       "ui32",      "ui64", "i8",   "i16", "i32", "i64",
        "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E8M0FNU", "f16", "bf16", "f32", "f64",
        "",       "complex<f32>", "complex<f64>"};
    return names[static_cast<std::size_t>(type)];
  }
  constexpr void type(hlo::ShapeId id) {
    if (module_.shapes.kind(id) == hlo::ShapeKind::token) return put("!stablehlo.token");
    put("tensor<");
    for (const std::int64_t d : module_.shapes.dims(id)) put(d, 'x');
    put(element_type(module_.shapes.dtype(id)), '>');
  }
  /// The arrays that a shape is made of, itself if it is one.
  [[nodiscard]] constexpr auto leaves(hlo::ShapeId id) const -> Pool<hlo::ShapeId> {
    Pool<hlo::ShapeId> list;
    append_leaves(id, list);
    return list;
  }
  constexpr void append_leaves(hlo::ShapeId id, Pool<hlo::ShapeId>& list) const {
    if (!module_.shapes.is_tuple(id)) {
      list.push_back(id);
      return;
    }
    for (const hlo::ShapeId element : module_.shapes.elements(id)) append_leaves(element, list);
  }
  constexpr void types(const Pool<hlo::ShapeId>& list) {
    separated(list.view(), [&](hlo::ShapeId id) { type(id); });
  }
  constexpr void function_type(const Pool<hlo::ShapeId>& from, const Pool<hlo::ShapeId>& to) {
    put(" : (");
    types(from);
    put(") -> ");
    // One result is written without brackets.
    if (to.size() != 1) put('(');
    types(to);
    if (to.size() != 1) put(')');
  }

  // Names -------------------------------------------------------------------------------------------------------
  constexpr void name(const Name& n) {
    put("%v", n.id);
    if (n.form == Name::Form::result) put('#', n.index);
    if (n.form == Name::Form::argument) put('_', n.index);
  }
  [[nodiscard]] constexpr auto names_of(hlo::Value v) const -> Span<const Name> {
    return names_.view(of_value_[v.id]);
  }
  constexpr void set_names(hlo::Value v, Span<const Name> names) {
    Pool<Name> own;  // `names` may lie in `names_`
    own.append(names);
    of_value_[v.id] = names_.append(own.view());
  }
  /// Names for the results of an operation that is called `%v12`.
  constexpr void set_results(hlo::Value v, std::size_t count) {
    Pool<Name> own;
    for (std::uint32_t k = 0; k < count; ++k)
      own.push_back({v.id, k, count == 1 ? Name::Form::whole : Name::Form::result});
    set_names(v, own.view());
  }
  constexpr void set_arguments(hlo::Value v, std::size_t count) {
    Pool<Name> own;
    for (std::uint32_t k = 0; k < count; ++k)
      own.push_back({v.id, k, count == 1 ? Name::Form::whole : Name::Form::argument});
    set_names(v, own.view());
  }
  /// Names and types of all that the operands of `i` from `first` on stand for.
  struct Operands {
    Pool<Name> names;
    Pool<hlo::ShapeId> types;
  };
  [[nodiscard]] constexpr auto operands_of(const hlo::Instruction& i, std::size_t first = 0) const
      -> Operands {
    Operands result;
    for (const hlo::Value v : module_.operands_of(i).subspan(first)) {
      result.names.append(names_of(v));
      append_leaves(module_[v].shape, result.types);
    }
    return result;
  }

  // Functions and regions -----------------------------------------------------------------------------------------
  /// The entry, and what is called as a function and not as part of an operation.
  [[nodiscard]] constexpr auto is_function(hlo::ComputationId id) const -> bool {
    if (module_.is_entry(module_[id])) return true;
    for (const hlo::Instruction& i : module_.instructions) {
      if (i.opcode != hlo::Opcode::call && i.opcode != hlo::Opcode::custom_call) continue;
      for (const hlo::ComputationId called : module_.called_by(i))
        if (called == id) return true;
    }
    return false;
  }
  constexpr void function_name(hlo::ComputationId id) {
    if (module_.is_entry(module_[id])) return put("@main");
    put("@f", id.index);
  }
  constexpr void function(hlo::ComputationId id) {
    const hlo::Computation& c = module_[id];
    const bool is_entry = module_.is_entry(c);
    put("  func.func ", is_entry ? "public " : "private ");
    function_name(id);
    put('(');
    std::uint32_t argument = 0;
    separated(module_.parameters_of(c), [&](hlo::Value v) {
      const Pool<hlo::ShapeId> list = leaves(module_[v].shape);
      set_arguments(v, list.size());
      for (std::uint32_t k = 0; k < list.size(); ++k, ++argument) {
        if (k != 0) put(", ");
        name(names_of(v)[k]);
        put(": ");
        type(list[k]);
        if (is_entry) alias_of(argument);
      }
    });
    const Pool<hlo::ShapeId> results = leaves(module_.result_shape(c));
    put(") -> (");
    types(results);
    put(") {\n");
    depth_ = 2;
    body(c);
    new_line();
    put("\"func.return\"(");
    separated(names_of(c.root), [&](const Name& n) { name(n); });
    put(") : (");
    types(results);
    put(") -> ()\n  }\n");
  }
  /// Which output lies in the argument's buffer.
  constexpr void alias_of(std::uint32_t argument) {
    for (const hlo::Alias& alias : module_.aliases)
      if (alias.parameter == argument) put(" {tf.aliasing_output = ", alias.output, " : i32}");
  }
  /// All instructions but parameters, which have names already.
  constexpr void body(const hlo::Computation& c) {
    for (std::uint32_t n = c.instructions.begin; n < c.instructions.end(); ++n)
      if (module_.instructions[n].opcode != hlo::Opcode::parameter) instruction({n});
  }
  /// `({...})` with a block argument for each of the parameters' arrays; without `has_arguments` the parameters have
  /// names already.
  constexpr void region(hlo::ComputationId id, bool has_arguments = true) {
    const hlo::Computation& c = module_[id];
    put("{\n");
    if (has_arguments) {
      new_line();
      put("^bb0(");
      separated(module_.parameters_of(c), [&](hlo::Value v) {
        const Pool<hlo::ShapeId> list = leaves(module_[v].shape);
        set_arguments(v, list.size());
        for (std::uint32_t k = 0; k < list.size(); ++k) {
          if (k != 0) put(", ");
          name(names_of(v)[k]);
          put(": ");
          type(list[k]);
        }
      });
      put("):\n");
    }
    ++depth_;
    body(c);
    new_line();
    put("\"stablehlo.return\"(");
    separated(names_of(c.root), [&](const Name& n) { name(n); });
    put(") : (");
    types(leaves(module_.result_shape(c)));
    put(") -> ()\n");
    --depth_;
    new_line();
    put('}');
  }

  // Instructions ---------------------------------------------------------------------------------------------------
  constexpr void instruction(hlo::Value v) {
    const hlo::Instruction& i = module_[v];
    const auto operands = module_.operands_of(i);
    switch (i.opcode) {
      case hlo::Opcode::copy: return set_names(v, names_of(operands[0]));
      case hlo::Opcode::tuple: return set_names(v, operands_of(i).names.view());
      case hlo::Opcode::get_tuple_element: return set_names(v, element_names(i));
      case hlo::Opcode::constant: return constant(v);
      case hlo::Opcode::rng: return random(v);
      case hlo::Opcode::conditional: return conditional(v);
      case hlo::Opcode::all_to_all:
        if (module_.find(i, hlo::AttributeKey::dimensions) == nullptr) return all_to_all_of_several(v);
        break;
      default: break;
    }
    const Operands all = operands_of(i);
    const Pool<hlo::ShapeId> results = leaves(i.shape);
    begin(v, results.size());
    put('"', operation(i.opcode), "\"(");
    separated(all.names.view(), [&](const Name& n) { name(n); });
    put(')');
    if (i.opcode != hlo::Opcode::call && i.opcode != hlo::Opcode::custom_call) regions(i);
    attributes(i);
    function_type(all.types, results);
    end(i);
  }
  constexpr void begin(hlo::Value v, std::size_t result_count) {
    new_line();
    set_results(v, result_count);
    put("%v", v.id);
    if (result_count != 1) put(':', result_count);
    put(" = ");
  }
  /// Where the instruction comes from, and the end of the line.
  constexpr void end(const hlo::Instruction& i) {
    if (i.metadata != 0) {
      const hlo::Metadata& m = module_.metadata[i.metadata];
      put(" loc(");
      quoted(module_.text(m.op_name));
      if (!m.source_file.empty()) {
        put('(');
        quoted(module_.text(m.source_file));
        put(':', m.source_line, ":0)");
      }
      put(')');
    }
    put('\n');
  }
  /// The names of one element of a tuple, whose arrays lie behind those of the elements before it.
  [[nodiscard]] constexpr auto element_names(const hlo::Instruction& i) const -> Span<const Name> {
    const hlo::Value of = module_.operands_of(i)[0];
    const auto index = static_cast<std::size_t>(module_.number(i, hlo::AttributeKey::tuple_index));
    std::size_t before = 0;
    for (std::size_t k = 0; k < index; ++k)
      before += leaves(module_.shapes.elements(module_[of].shape)[k]).size();
    return names_of(of).subspan(before, leaves(i.shape).size());
  }
  [[nodiscard]] static constexpr auto operation(hlo::Opcode opcode) -> std::string_view {
    switch (opcode) {
      case hlo::Opcode::erf: return "chlo.erf";
      case hlo::Opcode::topk: return "chlo.top_k";
      case hlo::Opcode::broadcast: return "stablehlo.broadcast_in_dim";
      case hlo::Opcode::dot: return "stablehlo.dot_general";
      case hlo::Opcode::opt_barrier: return "stablehlo.optimization_barrier";
      case hlo::Opcode::call: return "func.call";
      default: return stablehlo_names[static_cast<std::size_t>(opcode)].view();
    }
  }
  /// "stablehlo.shift_left" of "shift-left", made once.
  struct OperationName {
    std::array<char, 48> chars{};
    std::size_t count = 0;
    [[nodiscard]] constexpr auto view() const -> std::string_view { return {chars.data(), count}; }
  };
  static constexpr std::array<OperationName, hlo::opcode_table.size()> stablehlo_names = [] {
    std::array<OperationName, hlo::opcode_table.size()> names{};
    for (std::size_t k = 0; k < names.size(); ++k)
      for (const std::string_view part : {std::string_view("stablehlo."), hlo::opcode_table[k].name})
        for (const char c : part) names[k].chars[names[k].count++] = c == '-' ? '_' : c;
    return names;
  }();

  constexpr void regions(const hlo::Instruction& i) {
    const auto called = module_.called_by(i);
    if (called.empty()) return;
    put(" (");
    if (i.opcode == hlo::Opcode::while_) {
      region(called[1]);
      put(", ");
      region(called[0]);
    } else {
      separated(called, [&](hlo::ComputationId id) { region(id); });
    }
    put(')');
  }

  // Operations with a form of their own ----------------------------------------------------------------------------
  /// The branches see the values around them: their parameters are other names of the operands.
  constexpr void conditional(hlo::Value v) {
    const hlo::Instruction& i = module_[v];
    const auto operands = module_.operands_of(i);
    const bool is_if = module_.shapes.dtype(module_.operand_shape(i, 0)) == DType::boolean;
    const Pool<hlo::ShapeId> results = leaves(i.shape);
    begin(v, results.size());
    put(is_if ? "\"stablehlo.if\"(" : "\"stablehlo.case\"(");
    name(names_of(operands[0])[0]);
    put(") (");
    for (std::uint32_t k = 0; k < module_.called_by(i).size(); ++k) {
      const hlo::ComputationId branch = module_.called_by(i)[k];
      if (k != 0) put(", ");
      set_names(module_.parameters_of(module_[branch])[0], names_of(operands[k + 1]));
      region(branch, false);
    }
    put(')');
    Pool<hlo::ShapeId> selector;
    selector.push_back(module_.operand_shape(i, 0));
    function_type(selector, results);
    end(i);
  }
  /// StableHLO takes the shape as an operand.
  constexpr void random(hlo::Value v) {
    const hlo::Instruction& i = module_[v];
    const auto operands = module_.operands_of(i);
    const auto dims = module_.shapes.dims(i.shape);
    new_line();
    put("%v", v.id, "_shape = \"stablehlo.constant\"() {value = dense<[");
    separated(dims, [&](std::int64_t d) { put(d); });
    put("]> : tensor<", dims.size(), "xi64>} : () -> tensor<", dims.size(), "xi64>\n");
    begin(v, 1);
    put("\"stablehlo.rng\"(");
    name(names_of(operands[0])[0]);
    put(", ");
    name(names_of(operands[1])[0]);
    const bool is_normal = module_.number(i, hlo::AttributeKey::distribution) == 2;
    put(", %v", v.id, "_shape) {rng_distribution = #stablehlo<rng_distribution ",
        is_normal ? "NORMAL" : "UNIFORM", ">} : (");
    type(module_.operand_shape(i, 0));
    put(", ");
    type(module_.operand_shape(i, 1));
    put(", tensor<", dims.size(), "xi64>) -> ");
    type(i.shape);
    end(i);
  }
  /// The operands one above the other, exchanged as one array, and taken apart again.
  constexpr void all_to_all_of_several(hlo::Value v) {
    const hlo::Instruction& i = module_[v];
    const auto operands = module_.operands_of(i);
    const hlo::ShapeId shape = module_.operand_shape(i, 0);
    const std::size_t count = operands.size();
    const auto stacked = [&](std::size_t rows) {
      put("tensor<", rows, 'x');
      for (const std::int64_t d : module_.shapes.dims(shape)) put(d, 'x');
      put(element_type(module_.shapes.dtype(shape)), '>');
    };
    for (std::size_t k = 0; k < count; ++k) {
      new_line();
      put("%v", v.id, "_in_", k, " = \"stablehlo.reshape\"(");
      name(names_of(operands[k])[0]);
      put(") : (");
      type(shape);
      put(") -> ");
      stacked(1);
      put('\n');
    }
    new_line();
    put("%v", v.id, "_in = \"stablehlo.concatenate\"(");
    for (std::size_t k = 0; k < count; ++k) put(k == 0 ? "%v" : ", %v", v.id, "_in_", k);
    put(") {dimension = 0 : i64} : (");
    for (std::size_t k = 0; k < count; ++k) {
      if (k != 0) put(", ");
      stacked(1);
    }
    put(") -> ");
    stacked(count);
    put('\n');
    new_line();
    put("%v", v.id, "_out = \"stablehlo.all_to_all\"(%v", v.id,
        "_in) {split_dimension = 0 : i64, concat_dimension = 0 : i64, "
        "split_count = ",
        count, " : i64");
    communication(i);
    put("} : (");
    stacked(count);
    put(") -> ");
    stacked(count);
    end(i);
    const std::size_t rank = module_.shapes.dims(shape).size();
    for (std::size_t k = 0; k < count; ++k) {
      new_line();
      put("%v", v.id, "_row_", k, " = \"stablehlo.slice\"(%v", v.id, "_out) {start_indices = array<i64: ", k);
      for (std::size_t d = 0; d < rank; ++d) put(", 0");
      put(">, limit_indices = array<i64: ", k + 1);
      for (const std::int64_t d : module_.shapes.dims(shape)) put(", ", d);
      put(">, strides = array<i64: 1");
      for (std::size_t d = 0; d < rank; ++d) put(", 1");
      put(">} : (");
      stacked(count);
      put(") -> ");
      stacked(1);
      put('\n');
      new_line();
      put("%v", v.id, '_', k, " = \"stablehlo.reshape\"(%v", v.id, "_row_", k, ") : (");
      stacked(1);
      put(") -> ");
      type(shape);
      put('\n');
    }
    Pool<Name> own;
    for (std::uint32_t k = 0; k < count; ++k) own.push_back({v.id, k, Name::Form::argument});
    set_names(v, own.view());
  }

  // Attributes -----------------------------------------------------------------------------------------------------
  /// ` {a = 1, b = 2}` around what `attributes_in` writes.
  constexpr void attributes(const hlo::Instruction& i) {
    is_first_ = true;
    attributes_in(i);
    if (!is_first_) put('}');
  }
  constexpr void attribute(std::string_view key) {
    put(is_first_ ? " {" : ", ", key, " = ");
    is_first_ = false;
  }
  constexpr void number(std::string_view key, std::int64_t value, std::string_view type_name = "i64") {
    attribute(key);
    put(value, " : ", type_name);
  }
  constexpr void flag(std::string_view key, bool value) {
    attribute(key);
    put(value ? "true" : "false");
  }
  template <class Numbers>
  constexpr void array(std::string_view key, const Numbers& numbers) {
    attribute(key);
    array_of(numbers);
  }
  template <class Numbers>
  constexpr void array_of(const Numbers& numbers) {
    put("array<i64");
    bool first = true;
    for (const std::int64_t n : numbers) {
      put(first ? ": " : ", ", n);
      first = false;
    }
    put('>');
  }
  constexpr void array(std::string_view key, const hlo::Instruction& i, hlo::AttributeKey from) {
    array(key, module_.list(i, from));
  }
  /// One number of each dimension, of those that `from` has `stride` of a dimension.
  constexpr void column(std::string_view key, Span<const std::int64_t> from, std::size_t stride,
                        std::size_t at) {
    Pool<std::int64_t> numbers;
    for (std::size_t d = at; d < from.size(); d += stride) numbers.push_back(from[d]);
    array(key, numbers.view());
  }
  constexpr void enumeration(std::string_view key, std::string_view of, std::string_view value) {
    attribute(key);
    put("#stablehlo<", of, ' ', value, '>');
  }
  /// `name = [1, 2]` inside of an attribute.
  constexpr void list_in(std::string_view key, Span<const std::int64_t> numbers, bool& first) {
    if (numbers.empty()) return;
    put(first ? "" : ", ", key, " = [");
    first = false;
    separated(numbers, [&](std::int64_t n) { put(n); });
    put(']');
  }

  constexpr void attributes_in(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    switch (i.opcode) {
      case hlo::Opcode::iota: return number("iota_dimension", module_.number(i, Key::dimensions));
      case hlo::Opcode::reduce_precision:
        number("exponent_bits", module_.number(i, Key::exponent_bits), "i32");
        return number("mantissa_bits", module_.number(i, Key::mantissa_bits), "i32");
      case hlo::Opcode::compare:
        enumeration(
            "comparison_direction", "comparison_direction",
            hlo::enumeration_name(Key::comparison_direction, module_.number(i, Key::comparison_direction)));
        if (module_.number(i, Key::comparison_type) != 0)
          enumeration("compare_type", "comparison_type", "TOTALORDER");
        return;
      case hlo::Opcode::broadcast: return array("broadcast_dimensions", i, Key::dimensions);
      case hlo::Opcode::transpose: return array("permutation", i, Key::dimensions);
      case hlo::Opcode::reverse:
      case hlo::Opcode::reduce:
      case hlo::Opcode::map: return array("dimensions", i, Key::dimensions);
      case hlo::Opcode::slice:
        column("start_indices", module_.list(i, Key::slice), hlo::detail::slice_numbers, 0);
        column("limit_indices", module_.list(i, Key::slice), hlo::detail::slice_numbers, 1);
        return column("strides", module_.list(i, Key::slice), hlo::detail::slice_numbers, 2);
      case hlo::Opcode::dynamic_slice: return array("slice_sizes", i, Key::dynamic_slice_sizes);
      case hlo::Opcode::concatenate: return number("dimension", module_.number(i, Key::dimensions));
      case hlo::Opcode::pad:
        column("edge_padding_low", module_.list(i, Key::padding), hlo::detail::padding_numbers, 0);
        column("edge_padding_high", module_.list(i, Key::padding), hlo::detail::padding_numbers, 1);
        return column("interior_padding", module_.list(i, Key::padding), hlo::detail::padding_numbers, 2);
      case hlo::Opcode::gather: return gather(i);
      case hlo::Opcode::scatter: return scatter(i);
      case hlo::Opcode::dot: return dot(i);
      case hlo::Opcode::convolution: return convolution(i);
      case hlo::Opcode::reduce_window:
        window(i, "window_dimensions", 0);
        window(i, "window_strides", 1);
        window(i, "window_dilations", 4);
        window(i, "base_dilations", 5);
        return padding(i);
      case hlo::Opcode::select_and_scatter:
        window(i, "window_dimensions", 0);
        window(i, "window_strides", 1);
        return padding(i);
      case hlo::Opcode::sort:
        number("dimension", module_.number(i, Key::dimensions));
        return flag("is_stable", module_.flag(i, Key::is_stable));
      case hlo::Opcode::topk: return number("k", module_.number(i, Key::k));
      case hlo::Opcode::fft:
        enumeration("fft_type", "fft_type",
                    hlo::enumeration_name(Key::fft_type, module_.number(i, Key::fft_type)));
        return array("fft_length", i, Key::fft_length);
      case hlo::Opcode::cholesky: return flag("lower", module_.flag(i, Key::cholesky_lower));
      case hlo::Opcode::triangular_solve:
        flag("left_side", module_.flag(i, Key::left_side));
        flag("lower", module_.flag(i, Key::triangular_lower));
        flag("unit_diagonal", module_.flag(i, Key::unit_diagonal));
        return enumeration("transpose_a", "transpose",
                           hlo::enumeration_name(Key::transpose_a, module_.number(i, Key::transpose_a)));
      case hlo::Opcode::rng_bit_generator: {
        constexpr std::array<std::string_view, 3> names{"DEFAULT", "THREE_FRY", "PHILOX"};
        return enumeration("rng_algorithm", "rng_algorithm",
                           names[static_cast<std::size_t>(module_.number(i, Key::rng_algorithm))]);
      }
      case hlo::Opcode::call:
        attribute("callee");
        return function_name(module_.called_by(i)[0]);
      case hlo::Opcode::custom_call: return custom_call(i);
      case hlo::Opcode::all_reduce:
      case hlo::Opcode::collective_broadcast: return communication(i);
      case hlo::Opcode::all_gather:
        number("all_gather_dim", module_.number(i, Key::dimensions));
        return communication(i);
      case hlo::Opcode::reduce_scatter:
        number("scatter_dimension", module_.number(i, Key::dimensions));
        return communication(i);
      case hlo::Opcode::all_to_all:
        number("split_dimension", module_.number(i, Key::dimensions));
        number("concat_dimension", module_.number(i, Key::dimensions));
        number("split_count", module_.list(i, Key::replica_groups)[0]);
        return communication(i);
      case hlo::Opcode::collective_permute: return communication(i);
      default: return;
    }
  }
  constexpr void gather(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    attribute("dimension_numbers");
    put("#stablehlo.gather<");
    bool first = true;
    list_in("offset_dims", module_.list(i, Key::offset_dims), first);
    list_in("collapsed_slice_dims", module_.list(i, Key::collapsed_slice_dims), first);
    list_in("start_index_map", module_.list(i, Key::start_index_map), first);
    put(first ? "" : ", ", "index_vector_dim = ", module_.number(i, Key::gather_index_vector_dim), '>');
    array("slice_sizes", i, Key::slice_sizes);
    flag("indices_are_sorted", module_.flag(i, Key::indices_are_sorted));
  }
  constexpr void scatter(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    attribute("scatter_dimension_numbers");
    put("#stablehlo.scatter<");
    bool first = true;
    list_in("update_window_dims", module_.list(i, Key::update_window_dims), first);
    list_in("inserted_window_dims", module_.list(i, Key::inserted_window_dims), first);
    list_in("scatter_dims_to_operand_dims", module_.list(i, Key::scatter_dims_to_operand_dims), first);
    put(first ? "" : ", ", "index_vector_dim = ", module_.number(i, Key::scatter_index_vector_dim), '>');
    flag("indices_are_sorted", module_.flag(i, Key::indices_are_sorted));
    flag("unique_indices", module_.flag(i, Key::unique_indices));
  }
  constexpr void dot(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    attribute("dot_dimension_numbers");
    put("#stablehlo.dot<");
    bool first = true;
    list_in("lhs_batching_dimensions", module_.list(i, Key::lhs_batch_dims), first);
    list_in("rhs_batching_dimensions", module_.list(i, Key::rhs_batch_dims), first);
    list_in("lhs_contracting_dimensions", module_.list(i, Key::lhs_contracting_dims), first);
    list_in("rhs_contracting_dimensions", module_.list(i, Key::rhs_contracting_dims), first);
    put('>');
    precision(i);
  }
  constexpr void precision(const hlo::Instruction& i) {
    const auto numbers = module_.list(i, hlo::AttributeKey::operand_precision);
    if (numbers.empty()) return;
    constexpr std::array<std::string_view, 3> names{"DEFAULT", "HIGH", "HIGHEST"};
    attribute("precision_config");
    put('[');
    separated(numbers,
              [&](std::int64_t n) { put("#stablehlo<precision ", names[static_cast<std::size_t>(n)], '>'); });
    put(']');
  }
  constexpr void window(const hlo::Instruction& i, std::string_view key, std::size_t at) {
    column(key, module_.list(i, hlo::AttributeKey::window), hlo::detail::window_numbers, at);
  }
  constexpr void padding(const hlo::Instruction& i) {
    const auto numbers = module_.list(i, hlo::AttributeKey::window);
    const std::size_t rank = numbers.size() / hlo::detail::window_numbers;
    attribute("padding");
    if (rank == 0) return put("dense<> : tensor<0x2xi64>");
    put("dense<[");
    for (std::size_t d = 0; d < rank; ++d) {
      const hlo::WindowDim w = hlo::detail::window_dim(numbers, d);
      put(d == 0 ? "[" : ", [", w.padding_low, ", ", w.padding_high, ']');
    }
    put("]> : tensor<", rank, "x2xi64>");
  }
  constexpr void convolution(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    const auto numbers = module_.list(i, Key::convolution_dimensions);
    const std::size_t rank = numbers.size() / 3;
    const auto labels = [&](Span<const std::int64_t> part, char first, char second) {
      put('[');
      for (std::size_t d = 0; d < rank; ++d) {
        std::size_t meaning = 0;
        while (part[meaning] != static_cast<std::int64_t>(d)) ++meaning;
        if (d != 0) put(", ");
        if (meaning < 2)
          put(meaning == 0 ? first : second);
        else
          put(meaning - 2);
      }
      put(']');
    };
    attribute("dimension_numbers");
    put("#stablehlo.conv<");
    labels(numbers.subspan(0, rank), 'b', 'f');
    put('x');
    labels(numbers.subspan(rank, rank), 'i', 'o');
    put("->");
    labels(numbers.subspan(2 * rank, rank), 'b', 'f');
    put('>');
    window(i, "window_strides", 1);
    padding(i);
    window(i, "rhs_dilation", 4);
    window(i, "lhs_dilation", 5);
    attribute("window_reversal");
    put("array<i1");
    const auto n = module_.list(i, Key::window);
    for (std::size_t d = 0; d < n.size() / hlo::detail::window_numbers; ++d)
      put(d == 0 ? ": " : ", ", hlo::detail::window_dim(n, d).reversal ? "true" : "false");
    put('>');
    number("feature_group_count", module_.number(i, Key::feature_group_count, 1));
    number("batch_group_count", module_.number(i, Key::batch_group_count, 1));
    precision(i);
  }
  constexpr void custom_call(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    attribute("call_target_name");
    quoted(module_.text(i, Key::custom_call_target));
    if (module_.find(i, Key::backend_config) != nullptr) {
      attribute("backend_config");
      quoted(module_.text(i, Key::backend_config));
    }
    flag("has_side_effect", module_.flag(i, Key::custom_call_has_side_effect));
    number("api_version", module_.number(i, Key::api_version), "i32");
    if (const auto aliases = module_.list(i, Key::output_operand_aliasing); !aliases.empty()) {
      attribute("output_operand_aliases");
      put('[');
      for (std::size_t at = 0; at < aliases.size(); at += 2) {
        put(at == 0 ? "" : ", ", "#stablehlo.output_operand_alias<output_tuple_indices = [");
        if (aliases[at] >= 0) put(aliases[at]);
        put("], operand_index = ", aliases[at + 1], ", operand_tuple_indices = []>");
      }
      put(']');
    }
    if (const auto called = module_.called_by(i); !called.empty()) {
      attribute("called_computations");
      put('[');
      separated(called, [&](hlo::ComputationId id) { function_name(id); });
      put(']');
    }
  }
  /// Who talks to whom. The groups of all ranks have one size, or are filled up with -1.
  constexpr void communication(const hlo::Instruction& i) {
    using Key = hlo::AttributeKey;
    if (const auto pairs = module_.list(i, Key::source_target_pairs); !pairs.empty()) {
      attribute("source_target_pairs");
      put("dense<[");
      for (std::size_t at = 0; at < pairs.size(); at += 2)
        put(at == 0 ? "[" : ", [", pairs[at], ", ", pairs[at + 1], ']');
      put("]> : tensor<", pairs.size() / 2, "x2xi64>");
    } else {
      const auto groups = module_.list(i, Key::replica_groups);
      std::size_t count = 0, widest = 0;
      for (std::size_t at = 0; at < groups.size(); at += 1 + static_cast<std::size_t>(groups[at]), ++count)
        if (static_cast<std::size_t>(groups[at]) > widest) widest = static_cast<std::size_t>(groups[at]);
      attribute("replica_groups");
      if (count == 0) {
        put("dense<> : tensor<0x0xi64>");
      } else {
        put("dense<[");
        for (std::size_t at = 0; at < groups.size(); at += 1 + static_cast<std::size_t>(groups[at])) {
          put(at == 0 ? "[" : ", [");
          for (std::size_t k = 0; k < widest; ++k) {
            if (k != 0) put(", ");
            if (k < static_cast<std::size_t>(groups[at]))
              put(groups[at + 1 + k]);
            else
              put("-1");
          }
          put(']');
        }
        put("]> : tensor<", count, 'x', widest, "xi64>");
      }
    }
    if (const std::int64_t channel = module_.number(i, Key::channel_id); channel != 0) {
      attribute("channel_handle");
      put("#stablehlo.channel_handle<handle = ", channel, ", type = 1>");  // from device to device
    }
    if (module_.flag(i, Key::use_global_device_ids)) {
      attribute("use_global_device_ids");
      put("unit");
    }
  }

  // Constants ------------------------------------------------------------------------------------------------------
  constexpr void constant(hlo::Value v) {
    const hlo::Instruction& i = module_[v];
    std::string_view bytes = module_.text(i, hlo::AttributeKey::literal);
    begin(v, 1);
    put("\"stablehlo.constant\"() {value = dense<");
    // An array without elements is written as one.
    if (!bytes.empty()) elements(module_.shapes.dtype(i.shape), module_.shapes.dims(i.shape), bytes);
    put("> : ");
    type(i.shape);
    put("} : () -> ");
    type(i.shape);
    end(i);
  }
  constexpr void elements(DType dtype, Span<const std::int64_t> dims, std::string_view& bytes) {
    if (dims.empty()) {
      const auto size = static_cast<std::size_t>(byte_size(dtype));
      element(dtype, bytes.substr(0, size));
      bytes.remove_prefix(size);
      return;
    }
    put('[');
    for (std::int64_t n = 0; n < dims[0]; ++n) {
      if (n != 0) put(", ");
      elements(dtype, dims.subspan(1), bytes);
    }
    put(']');
  }
  constexpr void element(DType dtype, std::string_view bytes) {
    if (is_complex(dtype)) {
      put('(');
      element(real_part(dtype), bytes.substr(0, bytes.size() / 2));
      put(", ");
      element(real_part(dtype), bytes.substr(bytes.size() / 2));
      return put(')');
    }
    const std::uint64_t bits = hlo::detail::little_endian(bytes);
    if (dtype == DType::boolean) return put(bits != 0 ? "true" : "false");
    if (is_floating(dtype)) return floating(bits, bytes.size());
    if (!dtype_info(dtype).is_signed) return put(bits);
    const auto unused = static_cast<int>(64 - 8 * bytes.size());
    put(static_cast<std::int64_t>(bits << unused) >> unused);
  }
  /// The bits in hexadecimal: what MLIR reads exactly in every format, NaN and infinities included.
  constexpr void floating(std::uint64_t bits, std::size_t byte_count) {
    put("0x");
    for (std::size_t digit = 2 * byte_count; digit-- > 0;)
      put("0123456789ABCDEF"[static_cast<std::size_t>((bits >> (4 * digit)) & 15U)]);
  }

  Sink& sink_;
  const hlo::Module& module_;
  Pool<Name> names_;
  Pool<Range> of_value_;
  std::uint32_t depth_ = 0;
  bool is_first_ = true;
};

}  // namespace detail

/// StableHLO as MLIR text, the same module as `HloText` and `HloProto` write. Aliases of outputs and parameters are
/// attributes `tf.aliasing_output` of the arguments, which XLA reads as may-alias. Needs `topk` of the largest elements.
struct StableHlo {
  static constexpr std::string_view name = "stablehlo";
  static constexpr std::string_view file_ending = ".mlir";

  template <TextSink Sink>
  static constexpr void write(Sink& sink, const hlo::Module& module) {
    detail::StableHloWriter<Sink>(sink, module).write();
  }
};

}  // namespace fxpass
