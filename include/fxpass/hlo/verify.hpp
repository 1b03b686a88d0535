// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/module.hpp>
#include <fxpass/hlo/shape_inference.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

/// @file
/// Whether a module is what XLA's readers and XLA's verifier take. Meant to find a wrong lowering before an
/// emitter runs.

namespace fxpass::hlo {

namespace detail {

/// Checks one module; never looks outside its tables, whatever it holds.
class Verifier {
 public:
  explicit constexpr Verifier(const Module& module) : module_(module), shapes_(module.shapes) {}

  [[nodiscard]] constexpr auto run() && -> Status {
    if (!is_name(module_.name)) report("module has an invalid name");
    if (module_.replica_count == 0 || module_.num_partitions == 0) report("module runs on no device");
    if (module_.computations.empty()) {
      report("module has no computation");
      return std::move(found_);
    }
    if (module_.instructions.size() + std::uint64_t{module_.computations.size()} > 0x7fffffffu)
      report("module has more instructions than 31 bits number");
    std::uint32_t next = 0;
    for (std::uint32_t c = 0; c < module_.computations.size(); ++c) {
      if (!has_sound_tables({c}, next)) return std::move(found_);  // nothing behind it can be looked at
      next = module_.computations[c].instructions.end();
    }
    if (next != module_.instructions.size()) report("an instruction belongs to no computation");
    for (std::uint32_t c = 0; c < module_.computations.size(); ++c) check_computation({c});
    check_computation_names();
    if (found_.empty()) check_aliases();
    if (found_.empty()) return {};
    return std::move(found_);
  }

 private:
  constexpr void report(std::string_view what) {
    found_.add(
        Diagnostic::error(DiagnosticCode::invalid_hlo, text_of("HLO module ", module_.name, ": ", what)));
  }
  constexpr void report(ComputationId id, std::string_view what) {
    Text message = "HLO computation ";
    append_name(message, module_, id);
    append_all(message, ": ", what);
    found_.add(Diagnostic::error(DiagnosticCode::invalid_hlo, std::move(message)));
  }
  constexpr void report(Value v, std::string_view what) {
    Text message = "HLO instruction ";
    append_name(message, module_, v);
    append_all(message, ": ", what);
    Diagnostic d = Diagnostic::error(DiagnosticCode::invalid_hlo, std::move(message));
    const Metadata& m = module_.metadata[module_[v].metadata];
    d.node = module_.text(m.op_name);
    d.model.file = module_.text(m.source_file);
    d.model.line = m.source_line;
    found_.add(std::move(d));
  }

  template <class T>
  [[nodiscard]] static constexpr auto lies_in(Range range, const Pool<T>& pool) -> bool {
    return range.begin <= pool.size() && range.count <= pool.size() - range.begin;
  }
  /// What XLA takes as a name without changing it.
  [[nodiscard]] static constexpr auto is_name(std::string_view name) -> bool {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    if (name.empty() || !is_letter(name[0]) || name.starts_with("__")) return false;
    for (const char c : name)
      if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.' && c != '-') return false;
    return true;
  }

  /// Whether every index and range of a computation lies within the tables. Computations fill the
  /// instructions in turn.
  constexpr auto has_sound_tables(ComputationId id, std::uint32_t first) -> bool {
    const Computation& c = module_[id];
    const auto is_inside = [&](Value v) {
      return v.id >= c.instructions.begin && v.id < c.instructions.end();
    };
    bool sound = c.instructions.begin == first && lies_in(c.instructions, module_.instructions) &&
                 lies_in(c.parameters, module_.parameters) && lies_in(c.name, module_.chars) &&
                 is_inside(c.root);
    if (sound)
      for (const Value v : module_.parameters_of(c)) sound = sound && is_inside(v);
    for (std::uint32_t n = first; sound && n < c.instructions.end(); ++n)
      sound = has_sound_tables({n}, c, id);
    if (!sound) report(text_of("tables of computation ", id.index + 1, " are damaged"));
    return sound;
  }
  [[nodiscard]] constexpr auto has_sound_tables(Value v, const Computation& c, ComputationId id) const
      -> bool {
    const Instruction& i = module_[v];
    if (static_cast<std::size_t>(i.opcode) >= opcode_table.size() || !shapes_.contains(i.shape)) return false;
    if (i.metadata >= module_.metadata.size() || !lies_in(i.name, module_.chars)) return false;
    const Metadata& m = module_.metadata[i.metadata];
    if (!lies_in(m.op_name, module_.chars) || !lies_in(m.op_type, module_.chars) ||
        !lies_in(m.source_file, module_.chars))
      return false;
    if (!lies_in(i.operands, module_.operands) || !lies_in(i.called, module_.called) ||
        !lies_in(i.attributes, module_.attributes))
      return false;
    // Operands before users and callees before callers: also what makes every walk over the module end.
    for (const Value operand : module_.operands_of(i))
      if (operand.id < c.instructions.begin || operand.id >= v.id) return false;
    for (const ComputationId callee : module_.called_by(i))
      if (callee.index >= id.index) return false;
    for (const Attribute& a : module_.attributes_of(i)) {
      if (static_cast<std::size_t>(a.key) >= attribute_table.size()) return false;
      if (!(holds_text(a.key) ? lies_in(a.value, module_.chars) : lies_in(a.value, module_.numbers)))
        return false;
    }
    return true;
  }

  constexpr void check_computation(ComputationId id) {
    const Computation& c = module_[id];
    if (!is_name(module_.text(c.name))) report(id, "has an invalid name");
    std::uint32_t parameters = 0;
    for (std::uint32_t n = c.instructions.begin; n < c.instructions.end(); ++n) {
      if (module_.instructions[n].opcode == Opcode::parameter) ++parameters;
      check_instruction({n});
    }
    if (parameters != c.parameters.count) report(id, "does not list its parameters");
    std::int64_t number = 0;
    for (const Value v : module_.parameters_of(c)) {
      const Instruction& i = module_[v];
      if (i.opcode != Opcode::parameter || module_.number(i, AttributeKey::parameter_number, -1) != number)
        report(v, "is not the parameter that its place says");
      ++number;
    }
  }

  constexpr void check_instruction(Value v) {
    const Instruction& i = module_[v];
    if (!i.name.empty() && !is_name(module_.text(i.name))) report(v, "has an invalid name");
    const Span<const Attribute> attributes = module_.attributes_of(i);
    for (std::size_t n = 0; n < attributes.size(); ++n) {
      const bool may_repeat = attributes[n].key == AttributeKey::frontend_attribute;
      if (n > 0 && (attributes[n].key < attributes[n - 1].key ||
                    (attributes[n].key == attributes[n - 1].key && !may_repeat)))
        report(v, "attributes are out of order");
      if (may_repeat && !is_frontend_attribute(module_.text(attributes[n].value)))
        report(v, "frontend attribute is not a name, =, and its text");
    }
    if (i.opcode == Opcode::constant && shapes_.dtype(i.shape) == DType::boolean)
      for (const char c : module_.text(i, AttributeKey::literal))
        if (c != 0 && c != 1) return report(v, "a PRED is neither 0 nor 1");

    const Expected<ShapeId> inferred = infer_shape(shapes_, module_, i);
    if (!inferred) return report(v, inferred.error().front().message);
    if (*inferred == i.shape) return;
    Text message = "has shape ";
    append_shape(message, shapes_, i.shape);
    append_to(message, " where ");
    append_shape(message, shapes_, *inferred);
    append_to(message, " follows from its operands");
    report(v, message);
  }
  [[nodiscard]] static constexpr auto is_frontend_attribute(std::string_view text) -> bool {
    return text.find('=') != std::string_view::npos && is_name(text.substr(0, text.find('=')));
  }

  /// Instructions, and all computations but the entry, end in their number; so only the entry may meet
  /// another's name.
  constexpr void check_computation_names() {
    const std::uint32_t entry = module_.computations.size() - 1;
    Text entry_name, name;
    append_name(entry_name, module_, ComputationId{entry});
    for (std::uint32_t c = 0; c < entry; ++c) {
      name.clear();
      append_name(name, module_, ComputationId{c});
      if (name == entry_name) report(ComputationId{c}, "has the name of the entry");
    }
  }

  constexpr void check_aliases() {
    const Computation& entry = module_.entry();
    const ShapeId result = module_.result_shape(entry);
    const Span<const ShapeId> elements = shapes_.elements(result);
    const Span<const Value> parameters = module_.parameters_of(entry);
    const std::size_t outputs = shapes_.is_tuple(result) ? elements.size() : 1;
    Pool<std::uint8_t> output_seen, parameter_seen;
    output_seen.resize(static_cast<std::uint32_t>(outputs), 0);
    parameter_seen.resize(static_cast<std::uint32_t>(parameters.size()), 0);
    for (const Alias& alias : module_.aliases) {
      if (alias.output >= outputs || alias.parameter >= parameters.size()) {
        report("an alias names an output or a parameter that does not exist");
        continue;
      }
      if (std::exchange(output_seen[alias.output], std::uint8_t{1}) != 0 ||
          std::exchange(parameter_seen[alias.parameter], std::uint8_t{1}) != 0)
        report(text_of("output ", alias.output, " or parameter ", alias.parameter, " is aliased twice"));
      const ShapeId output = shapes_.is_tuple(result) ? elements[alias.output] : result;
      const ShapeId parameter = module_[parameters[alias.parameter]].shape;
      if (!shapes_.is_array(output) || !shapes_.is_array(parameter) ||
          !may_share(alias.kind, output, parameter))
        report(text_of("output ", alias.output, " does not fit the buffer of parameter ", alias.parameter));
    }
  }
  [[nodiscard]] constexpr auto may_share(Alias::Kind kind, ShapeId output, ShapeId parameter) const -> bool {
    if (kind == Alias::Kind::must) return output == parameter;
    const auto bytes = [&](ShapeId id) {
      return shapes_.shape(id).element_count() * byte_size(shapes_.dtype(id));
    };
    return bytes(output) == bytes(parameter);
  }

  const Module& module_;
  ShapeTable shapes_;  ///< a copy: inference may add to it
  Diagnostics found_;
};

}  // namespace detail

/// Checks the invariants of `module`. Reports all that is wrong, each with the instruction and the node it
/// comes from. Error: `invalid_hlo`. O(instructions + attributes).
[[nodiscard]] constexpr auto verify(const Module& module) -> Status {
  return detail::Verifier(module).run();
}

}  // namespace fxpass::hlo
