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
  };

  constexpr auto begin(Graph&, Artifacts<DeviceRewriterPass>&, Context& context) const -> State {
    return {&context, 0, {}, {}};
  }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool { return op.takes_device; }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status {
    Graph& graph = sweep.graph();
    const NodeId id = sweep.id();
    // Positions by the schema: "device" is a parameter of some overloads and a keyword of all factories.
    const auto position = device_position(graph, id);
    const auto count = graph.node(id).arguments.count;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Argument a = graph.arguments(id)[i];
      const bool is_device = a.is_keyword() ? graph.text(a.keyword()) == "device" : position == i;
      if (!is_device) continue;
      ++state.rewrite_count;
      graph.mutable_arguments(id)[i] = rewritten(state, graph, a).with_keyword(a.keyword());
    }
    return {};
  }
  constexpr auto finish(State& state, Graph&, Context&) const -> Status {
    state.context->count("rewrite_count", state.rewrite_count);
    return {};
  }

 private:
  /// Position of a device among the positional arguments; none where the operator has none there.
  [[nodiscard]] static constexpr auto device_position(const Graph& graph, NodeId id) -> std::optional<std::uint32_t> {
    const auto arguments = graph.arguments(id);
    for (std::uint32_t i = 0; i < arguments.size() && !arguments[i].is_keyword(); ++i) {
      if (arguments[i].is(ArgumentKind::device)) return i;
      if (!arguments[i].is(ArgumentKind::string)) continue;
      const auto found = graph.schema(graph.op(id)).find("device");
      if (found && !found->parameter.keyword_only && found->position == i) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] constexpr auto rewritten(State& state, Graph& graph, const Argument& a) const -> Argument {
    if (a.is(ArgumentKind::device)) {
      const std::string_view old = graph.device(a.device());
      if (old.substr(0, old.find(':')) == target) return a;
      if (!state.device) state.device = Argument(graph.add_device(text_of(target, ":0")));
      return *state.device;
    }
    if (a.is(ArgumentKind::string) && graph.text(a.text()) == target) return a;
    if (!state.string) state.string = Argument::string(graph.add_text(target));
    return *state.string;
  }
};

}  // namespace fxpass
