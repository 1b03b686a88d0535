// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/module.hpp>

#include <cstdint>
#include <utility>

/// @file
/// Puts the instructions of a module under construction into their final order.

namespace fxpass::hlo::detail {

/// How the builder made an instruction.
struct Origin {
  static constexpr std::uint32_t none = 0xffffffffu;

  std::uint32_t computation = none;  ///< index in `Module::computations`, or none: its making failed
  std::uint32_t step = 0;  ///< counts the nodes of the source program; later instructions have no lower one
};

/// Whether an instruction stays though nothing uses it. A parameter is part of the signature; ranks wait for
/// each other in a collective.
[[nodiscard]] constexpr auto has_effect(const Module& module, const Instruction& i) -> bool {
  return i.opcode == Opcode::parameter || opcode_info(i.opcode).category == Category::collective ||
         module.flag(i, AttributeKey::custom_call_has_side_effect);
}

/// Orders one module. What the result holds does not depend on the order in which the instructions of one
/// step were made: C++ leaves open which argument of a call is evaluated first, and compilers differ in it.
class Arranger {
 public:
  /// `origins` has an element for each instruction. Computations lie callees first, the entry last.
  constexpr Arranger(Module& module, const Pool<Origin>& origins) : module_(module), origins_(origins) {}

  /// Groups instructions by computation and leaves out what the entry does not need. O(instructions +
  /// operands).
  constexpr void run() {
    new_instruction_.resize(module_.instructions.size(), Origin::none);
    new_computation_.resize(module_.computations.size(), Origin::none);
    by_computation();
    mark_needed();
    for (std::uint32_t c = 0; c < module_.computations.size(); ++c)
      if (is_called_[c] != 0) order_instructions(c);
    place(module_.computations.size() - 1);
    module_.instructions = std::move(arranged_.instructions);
    module_.operands = std::move(arranged_.operands);
    module_.called = std::move(arranged_.called);
    module_.parameters = std::move(arranged_.parameters);
    module_.computations = std::move(arranged_.computations);
  }

 private:
  /// Fills `order_`: the instructions of computation c lie in `[first_[c], first_[c + 1])`, in the order of
  /// their making.
  constexpr void by_computation() {
    const std::uint32_t computations = module_.computations.size();
    first_.resize(computations + 1, 0);
    for (const Origin& origin : origins_)
      if (origin.computation != Origin::none) ++first_[origin.computation + 1];
    for (std::uint32_t c = 0; c < computations; ++c) first_[c + 1] += first_[c];
    order_.resize(first_[computations], {});
    Pool<std::uint32_t> next = first_;
    for (std::uint32_t n = 0; n < origins_.size(); ++n)
      if (const std::uint32_t c = origins_[n].computation; c != Origin::none) order_[next[c]++] = {n};
  }

  /// Callees lie before callers and operands before users, so one walk backwards finds all that is needed.
  constexpr void mark_needed() {
    is_needed_.resize(module_.instructions.size(), 0);
    is_called_.resize(module_.computations.size(), 0);
    is_called_[module_.computations.size() - 1] = 1;
    for (std::uint32_t c = module_.computations.size(); c-- > 0;) {
      if (is_called_[c] == 0) continue;
      is_needed_[module_.computations[c].root.id] = 1;
      for (std::uint32_t n = first_[c + 1]; n-- > first_[c];) {
        const Instruction& i = module_[order_[n]];
        if (has_effect(module_, i)) is_needed_[order_[n].id] = 1;
        if (is_needed_[order_[n].id] == 0) continue;
        for (const Value v : module_.operands_of(i)) is_needed_[v.id] = 1;
        for (const ComputationId id : module_.called_by(i)) is_called_[id.index] = 1;
      }
    }
  }

  /// Replaces the part of `order_` that belongs to a computation: parameters, then step by step, within a
  /// step as a walk from the result through the operands meets the instructions.
  constexpr void order_instructions(std::uint32_t c) {
    Pool<Value> walked;
    for (const Value v : module_.parameters_of(module_.computations[c])) walked.push_back(v);
    const std::uint32_t parameters = walked.size();
    for (const Value v : walked) new_instruction_[v.id] = 0;
    walk(module_.computations[c].root, walked);
    for (std::uint32_t n = first_[c]; n < first_[c + 1]; ++n)
      if (is_needed_[order_[n].id] != 0) walk(order_[n], walked);

    // A counting sort by step; operands have no later step than their users.
    std::uint32_t lowest = Origin::none, highest = 0;
    for (const Value v : walked) {
      const std::uint32_t step = origins_[v.id].step;
      lowest = step < lowest ? step : lowest;
      highest = step > highest ? step : highest;
    }
    Pool<std::uint32_t> next;
    next.resize(walked.empty() ? 1 : highest - lowest + 2, 0);
    for (std::uint32_t n = parameters; n < walked.size(); ++n)
      ++next[origins_[walked[n].id].step - lowest + 1];
    next[0] = first_[c] + parameters;
    for (std::uint32_t n = 1; n < next.size(); ++n) next[n] += next[n - 1];
    for (std::uint32_t n = 0; n < parameters; ++n) order_[first_[c] + n] = walked[n];
    for (std::uint32_t n = parameters; n < walked.size(); ++n)
      order_[next[origins_[walked[n].id].step - lowest]++] = walked[n];
    counts_.resize(module_.computations.size(), 0);
    counts_[c] = walked.size();
  }
  /// Appends what `root` needs and `walked` does not hold, operands before users. Without recursion: programs
  /// are deep.
  constexpr void walk(Value root, Pool<Value>& walked) {
    struct Visit {
      Value value;
      std::uint32_t next_operand;
    };
    if (new_instruction_[root.id] != Origin::none) return;
    Pool<Visit> stack;
    stack.push_back({root, 0});
    new_instruction_[root.id] = 0;  // seen; the final number comes later
    while (!stack.empty()) {
      Visit& top = stack.back();
      const Instruction& i = module_[top.value];
      if (top.next_operand == i.operands.count) {
        walked.push_back(top.value);
        stack.resize(stack.size() - 1, {});
        continue;
      }
      const Value operand = module_.operands[i.operands.begin + top.next_operand++];
      if (new_instruction_[operand.id] != Origin::none) continue;
      new_instruction_[operand.id] = 0;
      stack.push_back({operand, 0});
    }
  }

  /// Moves a computation behind those that it calls, in the order of the calls. As deep as computations are
  /// nested.
  constexpr void place(std::uint32_t c) {
    for (std::uint32_t n = first_[c]; n < first_[c] + counts_[c]; ++n)
      for (const ComputationId id : module_.called_by(module_[order_[n]]))
        if (new_computation_[id.index] == Origin::none) place(id.index);

    Computation computation = module_.computations[c];
    computation.instructions = {arranged_.instructions.size(), counts_[c]};
    for (std::uint32_t n = first_[c]; n < first_[c] + counts_[c]; ++n) {
      Instruction i = module_[order_[n]];
      const Range operands = i.operands, called = i.called;
      i.operands.begin = arranged_.operands.size();
      for (const Value v : module_.operands.view(operands))
        arranged_.operands.push_back({new_instruction_[v.id]});
      i.called.begin = arranged_.called.size();
      for (const ComputationId id : module_.called.view(called))
        arranged_.called.push_back({new_computation_[id.index]});
      new_instruction_[order_[n].id] = arranged_.instructions.push_back(i);
    }
    const Range parameters = computation.parameters;
    computation.parameters.begin = arranged_.parameters.size();
    for (const Value v : module_.parameters.view(parameters))
      arranged_.parameters.push_back({new_instruction_[v.id]});
    computation.root = {new_instruction_[computation.root.id]};
    new_computation_[c] = arranged_.computations.push_back(computation);
  }

  Module& module_;
  const Pool<Origin>& origins_;
  Module arranged_;
  Pool<std::uint32_t> first_, counts_, new_instruction_, new_computation_;
  Pool<Value> order_;
  Pool<std::uint8_t> is_needed_, is_called_;
};

}  // namespace fxpass::hlo::detail
