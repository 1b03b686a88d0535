// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/passes/facts.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// `DeviceRewriterPass`: devices frozen at tracing become the target.

namespace fxpass {

/// Rewrites the device of every call to `target`: the keyword `device`, and the positional device of operators that
/// have one (`x.to("cuda")`). A string stays a string ("xla"), a `torch.device` stays one (xla:0); None and ordinals
/// become the string. `TensorMeta.device` stays what it was: whether `x.to("cuda")` made a copy is decided by where
/// things were traced. Counts `rewrite_count`, devices that were the target already included.
/// No program is refused. O(nodes + arguments of calls that take a device).
struct DeviceRewriterPass {
  static constexpr std::string_view name = "device_rewriter";
  using establishes = facts<OnTargetDevice>;
  using keeps = everything;

  /// What devices become: "xla".
  std::string_view target = "xla";

  struct State {
    Context* context;                ///< where the count goes
    std::int64_t rewrite_count = 0;  ///< devices so far
    std::optional<Argument> device;  ///< the target as a device of the graph, once it has been used
    std::optional<Argument> string;  ///< and as a text
    DeviceId replaced{0xffffffffU};  ///< what it replaced last: most calls name one and the same device
  };

  constexpr auto begin(Graph&, Artifacts<DeviceRewriterPass>&, Context& context) const -> State {
    return {&context, 0, {}, {}, {0xffffffffU}};
  }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool { return op.takes_device; }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    std::uint32_t position = 0;
    bool has_positional = false;  // an operator has one device at most
    for (Argument& a : graph.mutable_arguments(sweep.id())) {
      const bool is_rewritten = a.is_keyword() ? graph.text(a.keyword()) == "device"
                                               : !has_positional && is_device(graph, sweep.op(), a, position);
      ++position;
      if (!is_rewritten) continue;
      has_positional = has_positional || !a.is_keyword();
      ++state.rewrite_count;
      a = rewritten(state, graph, a).with_keyword(a.keyword());
    }
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context&) const -> Status {
    state.context->count("rewrite_count", state.rewrite_count);
    if (!state.device && !state.string) state.context->claim_unchanged();
    return {};
  }

 private:
  /// Whether `a`, the positional argument `position`, is a device. A string is one where the schema has `device` there:
  /// "device" is a parameter of some overloads and a keyword of all factories.
  [[nodiscard]] static constexpr auto is_device(const Graph& graph, const Operator& op, const Argument& a,
                                                std::uint32_t position) -> bool {
    if (!a.is(ArgumentKind::string)) return a.is(ArgumentKind::device);
    const auto found = graph.schema(op).find("device");
    return found && !found->parameter.keyword_only && found->position == position;
  }
  [[nodiscard]] constexpr auto rewritten(State& state, Graph& graph, const Argument& a) const -> Argument {
    if (a.is(ArgumentKind::device)) {
      if (a.device() == state.replaced) return *state.device;
      const std::string_view old = graph.device(a.device());
      if (old.substr(0, old.find(':')) == target) return a;
      if (!state.device) state.device = Argument(graph.add_device(text_of(target, ":0")));
      state.replaced = a.device();
      return *state.device;
    }
    if (a.is(ArgumentKind::string) && graph.text(a.text()) == target) return a;
    if (!state.string) state.string = Argument::string(graph.add_text(target));
    return *state.string;
  }
};

}  // namespace fxpass
