// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>
#include <fxpass/hlo/verify.hpp>

#include "../support/hlo_samples.hpp"
#include "twice.hpp"

#include <cstring>
#include <random>
#include <string_view>
#include <utility>

namespace {

using namespace fxpass;
using namespace fxpass::hlo;

template <std::size_t N>
constexpr auto sample_is_sound() -> bool {
  const Expected<hlo::Module> module = samples::make(samples::all[N]);
  return module.has_value() && verify(*module).has_value();
}
/// Sample by sample: together they are more than Clang evaluates in one constant expression.
template <std::size_t... N>
constexpr auto all_are_sound(std::index_sequence<N...>) -> bool {
  return (std::bool_constant<sample_is_sound<N>()>::value && ...);
}
static_assert(all_are_sound(std::make_index_sequence<std::size(samples::all)>()));

TEST_CASE("every sample is a sound module") {
  for (const samples::Sample& sample : samples::all) {
    const Expected<hlo::Module> module = samples::make(sample);
    CHECK(module.has_value());
    if (module) CHECK(verify(*module).has_value());
  }
}

TEST_CASE("the samples use every opcode and every attribute") {
  bool opcodes[opcode_table.size()] = {}, attributes[attribute_table.size()] = {};
  for (const samples::Sample& sample : samples::all) {
    const hlo::Module module = *samples::make(sample);
    for (const Instruction& i : module.instructions) {
      opcodes[static_cast<std::size_t>(i.opcode)] = true;
      for (const Attribute& a : module.attributes_of(i)) attributes[static_cast<std::size_t>(a.key)] = true;
    }
  }
  for (const OpcodeInfo& info : opcode_table)
    CHECK_MESSAGE(opcodes[static_cast<std::size_t>(info.opcode)], info.name);
  for (const AttributeInfo& info : attribute_table)
    CHECK_MESSAGE(attributes[static_cast<std::size_t>(info.key)], info.name);
}

/// add(x, y), reduced; the sum is kept in the buffer of x.
constexpr auto module_to_break() -> hlo::Module {
  Builder b("m");
  const Value x = b.parameter({DType::f32, {2, 3}}, "x"), y = b.parameter({DType::f32, {2, 3}}, "y");
  b.set_metadata("aten.add.Tensor", "add", "model.py", 3);
  const Value sum = b.add(x, y);
  b.set_metadata("aten.sum.default", "sum_1", "model.py", 4);
  const Value reduced =
      b.reduce(sum, b.constant(DType::f32, 0), {1}, b.scalar_computation(Opcode::add, DType::f32));
  b.add_alias({0, 0, Alias::Kind::must});
  b.add_frontend_attribute(sum, "key", "value");
  return *b.finish(b.tuple({sum, reduced}));
}

constexpr auto find(const hlo::Module& m, Opcode opcode) -> Value {
  for (std::uint32_t n = m.entry().instructions.begin; n < m.entry().instructions.end(); ++n)
    if (m.instructions[n].opcode == opcode) return {n};
  return {};
}

/// Whether a module that `damage` has changed is refused with these words.
template <class Damage>
constexpr auto is_found(std::string_view words, Damage damage) -> bool {
  hlo::Module m = module_to_break();
  if (!verify(m)) return false;
  damage(m);
  const Status status = verify(m);
  if (status) return false;
  for (const Diagnostic& d : status.error())
    if (d.code == DiagnosticCode::invalid_hlo && d.message.view().find(words) != std::string_view::npos)
      return true;
  return false;
}

constexpr auto wrong_shapes_are_found() -> bool {
  return is_found("follows from its operands",
                  [](hlo::Module& m) {
                    m.instructions[find(m, Opcode::add).id].shape = m.shapes.array(DType::f32, hlo::Dims{6});
                  }) &&
         is_found("operands differ in shape",
                  [](hlo::Module& m) {
                    m.instructions[m.parameters_of(m.entry())[0].id].shape =
                        m.shapes.array(DType::f32, hlo::Dims{6});
                  }) &&
         is_found("as many bytes",
                  [](hlo::Module& m) {
                    m.instructions[find(m, Opcode::constant).id].shape = m.shapes.array(DType::f64, hlo::Dims{});
                  }) &&
         is_found("wrong number of operands",
                  [](hlo::Module& m) { m.instructions[find(m, Opcode::add).id].operands.count = 1; }) &&
         is_found("needs attribute dimensions",
                  [](hlo::Module& m) { m.instructions[find(m, Opcode::reduce).id].attributes = {}; }) &&
         is_found("takes no attribute dimensions", [](hlo::Module& m) {
           m.instructions[find(m, Opcode::add).id].attributes = m[find(m, Opcode::reduce)].attributes;
         });
}
FXPASS_TEST_TWICE(wrong_shapes_are_found)

constexpr auto wrong_attributes_are_found() -> bool {
  const auto numbers_of = [](hlo::Module& m, Opcode opcode) -> Attribute& {
    return m.attributes[m[find(m, opcode)].attributes.begin];
  };
  return is_found("too many numbers",
                  [&](hlo::Module& m) {
                    numbers_of(m, Opcode::reduce).value = {m.numbers.size(), max_rank + 1};
                    m.numbers.resize(m.numbers.size() + max_rank + 1, 0);
                  }) &&
         is_found("needs one number",
                  [](hlo::Module& m) { m.attributes[m.instructions[0].attributes.begin].value.count = 0; }) &&
         is_found("element type that XLA does not have",
                  [](hlo::Module& m) {
                    m.instructions[m.parameters_of(m.entry())[0].id].shape =
                        m.shapes.array(DType::c32, hlo::Dims{2, 3});
                  }) &&
         is_found("follows from its operands",
                  [&](hlo::Module& m) { m.numbers[numbers_of(m, Opcode::reduce).value.begin] = 0; }) &&
         is_found("runs on no device", [](hlo::Module& m) { m.replica_count = 0; });
}
FXPASS_TEST_TWICE(wrong_attributes_are_found)

constexpr auto damaged_tables_are_found_before_they_are_used() -> bool {
  constexpr std::string_view words = "are damaged";
  return is_found(words, [](hlo::Module& m) { m.operands[m[find(m, Opcode::add)].operands.begin] = {9999}; }) &&
         is_found(words,
                  [](hlo::Module& m) {
                    m.operands[m[find(m, Opcode::add)].operands.begin] = find(m, Opcode::reduce);
                  }) &&
         is_found(words, [](hlo::Module& m) { m.operands[m[find(m, Opcode::add)].operands.begin] = {0}; }) &&
         is_found(words, [](hlo::Module& m) { m.called[0] = {1}; }) &&
         is_found(words, [](hlo::Module& m) { m.computations[1].root = {0}; }) &&
         is_found(words, [](hlo::Module& m) { m.computations[1].instructions.count += 1; }) &&
         is_found(words, [](hlo::Module& m) { m.instructions[0].shape = {77}; }) &&
         is_found(words, [](hlo::Module& m) { m.instructions[0].metadata = 77; }) &&
         is_found(words, [](hlo::Module& m) { m.instructions[0].name = {1, 0xffffffffu}; }) &&
         is_found(words, [](hlo::Module& m) { m.instructions[0].operands = {0xffffffffu, 2}; }) &&
         is_found(words, [](hlo::Module& m) { m.attributes[0].value.begin = 0x7fffffffu; }) &&
         is_found(words, [](hlo::Module& m) { m.instructions[0].opcode = static_cast<Opcode>(200); }) &&
         is_found("belongs to no computation",
                  [](hlo::Module& m) { m.instructions.push_back(m.instructions[0]); }) &&
         is_found("has no computation", [](hlo::Module& m) { m.computations.clear(); });
}
FXPASS_TEST_TWICE(damaged_tables_are_found_before_they_are_used)

constexpr auto wrong_names_and_parameters_are_found() -> bool {
  const auto rename = [](hlo::Module& m, Range& name, std::string_view text) {
    name = m.chars.append(fxpass::Span<const char>(text.data(), text.size()));
  };
  return is_found("invalid name", [&](hlo::Module& m) { rename(m, m.instructions[0].name, "a b"); }) &&
         is_found("invalid name", [&](hlo::Module& m) { rename(m, m.instructions[0].name, "__a"); }) &&
         is_found("invalid name", [&](hlo::Module& m) { rename(m, m.computations[0].name, "1"); }) &&
         is_found("invalid name", [](hlo::Module& m) { m.name = ""; }) &&
         is_found("name of the entry",
                  [&](hlo::Module& m) {
                    rename(m, m.computations[0].name, "main");
                    rename(m, m.computations[1].name, "main.1");
                  }) &&
         is_found("not the parameter", [](hlo::Module& m) { std::swap(m.parameters[2], m.parameters[3]); }) &&
         is_found("does not list its parameters",
                  [](hlo::Module& m) { m.computations[1].parameters.count = 1; }) &&
         is_found("out of order",
                  [](hlo::Module& m) {
                    Instruction& add = m.instructions[find(m, Opcode::add).id];
                    add.attributes = m.attributes.append(m.attributes.view(add.attributes));
                    m.attributes.push_back(m.attributes[m[find(m, Opcode::reduce)].attributes.begin]);
                    ++add.attributes.count;
                  }) &&
         is_found(
             "frontend attribute",
             [](hlo::Module& m) { m.attributes[m[find(m, Opcode::add)].attributes.begin].value.count = 3; }) &&
         is_found("neither 0 nor 1", [&](hlo::Module& m) {
           Instruction& constant = m.instructions[find(m, Opcode::constant).id];
           constant.shape = m.shapes.array(DType::boolean, hlo::Dims{4});
           rename(m, m.attributes[constant.attributes.begin].value, "abcd");
         });
}
FXPASS_TEST_TWICE(wrong_names_and_parameters_are_found)

constexpr auto wrong_aliases_are_found() -> bool {
  return is_found("does not exist", [](hlo::Module& m) { m.aliases[0].output = 2; }) &&
         is_found("does not exist", [](hlo::Module& m) { m.aliases[0].parameter = 2; }) &&
         is_found("does not fit", [](hlo::Module& m) { m.aliases[0].output = 1; }) &&
         is_found("does not fit", [](hlo::Module& m) { m.aliases[0] = {1, 0, Alias::Kind::may}; }) &&
         is_found("aliased twice", [](hlo::Module& m) { m.aliases.push_back({0, 1, Alias::Kind::may}); }) &&
         is_found("aliased twice", [](hlo::Module& m) { m.aliases.push_back({1, 0, Alias::Kind::may}); });
}
FXPASS_TEST_TWICE(wrong_aliases_are_found)

constexpr auto findings_name_instruction_node_and_line() -> bool {
  hlo::Module m = module_to_break();
  const Value add = find(m, Opcode::add);
  m.instructions[add.id].shape = m.shapes.array(DType::f32, hlo::Dims{6});
  const Status status = verify(m);
  const Diagnostic& d = status.error().front();
  return d.node == "add" && d.model.file == "model.py" && d.model.line == 3 &&
         d.message ==
             "HLO instruction add.6: has shape f32[6]{0} where f32[2,3]{1,0} follows from its operands";
}
FXPASS_TEST_TWICE(findings_name_instruction_node_and_line)

/// Changes one bit of one record.
template <class T>
void flip_a_bit(Pool<T>& pool, std::mt19937& random) {
  if (pool.empty()) return;
  T& record = pool[static_cast<std::uint32_t>(random() % pool.size())];
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, &record, sizeof(T));
  bytes[random() % sizeof(T)] ^= static_cast<unsigned char>(1u << random() % 8);
  std::memcpy(static_cast<void*>(&record), bytes, sizeof(T));
}

TEST_CASE("no damage makes verify, or the emitters of what it accepts, look outside the tables") {
  std::mt19937 random(11);
  int refused = 0, accepted = 0;
  for (const samples::Sample& sample : samples::all) {
    const hlo::Module sound = *samples::make(sample);
    for (int n = 0; n < 200; ++n) {
      hlo::Module m = sound;
      switch (random() % 9) {
        case 0: flip_a_bit(m.computations, random); break;
        case 1: flip_a_bit(m.instructions, random); break;
        case 2: flip_a_bit(m.operands, random); break;
        case 3: flip_a_bit(m.parameters, random); break;
        case 4: flip_a_bit(m.called, random); break;
        case 5: flip_a_bit(m.attributes, random); break;
        case 6: flip_a_bit(m.numbers, random); break;
        case 7: flip_a_bit(m.metadata, random); break;
        default: flip_a_bit(m.aliases, random); break;
      }
      if (!verify(m)) {
        ++refused;
        continue;
      }
      ++accepted;  // a longer source line, say, or another limit of a slice
      CHECK(!emit<HloText>(m).empty());
      CHECK(!emit<HloProto>(m).empty());
    }
  }
  CHECK(refused > 0);
  CHECK(accepted > 0);
}

}  // namespace
