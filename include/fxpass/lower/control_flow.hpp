// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/passes/alias_analyser.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// @file
/// Operators that run graphs: `cond` is HLO's conditional, `while_loop` its while; `map` and `scan` are loops that take
/// one slice a round. A computation sees nothing of the one around it, so what it needs it gets in one tuple.

namespace fxpass {

namespace detail {

/// The tensors of a list argument; none, which is noted, if it is no list or holds anything else.
constexpr auto tensors_in(auto& c, const Call& call, const Argument& list) -> std::optional<Pool<hlo::Value>> {
  Pool<hlo::Value> values;
  if (list.is_sequence())
    for (const Argument& member : c.graph().children(list)) {
      const hlo::Value value = c.tensor(call, member, "operands");
      if (!value.valid()) return std::nullopt;
      values.push_back(value);
    }
  else
    c.unsupported(call, "its operands are not in a list");
  if (!list.is_sequence()) return std::nullopt;
  return values;
}

/// The elements of a tuple, from number `begin` on, `count` of them.
constexpr auto elements(auto& b, hlo::Value tuple, std::uint32_t begin, std::uint32_t count) -> Pool<hlo::Value> {
  Pool<hlo::Value> values;
  for (std::uint32_t i = begin; i < begin + count; ++i) values.push_back(b.get_tuple_element(tuple, i));
  return values;
}
/// A tensor of one element as a scalar PRED.
constexpr auto decision(auto& c, hlo::Value x) -> hlo::Value {
  return x.valid() ? c.builder().reshape(c.truth(x), hlo::Dims{}) : x;
}

/// The arguments of a call in the form (graph, operands, ...), all of them positional.
[[nodiscard]] constexpr auto has_form(const Graph& graph, NodeId id, std::size_t graphs, std::size_t count) -> bool {
  const auto arguments = graph.arguments(id);
  bool matches = arguments.size() == count;
  for (std::size_t i = 0; matches && i < count; ++i)
    matches = !arguments[i].is_keyword() && (i < graphs) == arguments[i].is(ArgumentKind::subgraph);
  return matches;
}
constexpr auto unknown_form(auto& c, const Call& call) -> Pool<hlo::Value> {
  c.unsupported(call, "its arguments are not those that PyTorch gives it");
  return {};
}

/// A loop over the slices of `xs` along their first dimension: each round runs the graph on the values carried from round
/// to round, the slices, and `constants`; its first results are carried on, the others are the slices of the results.
constexpr auto loop_over_slices(auto& c, const Call& call, std::uint32_t number, const Pool<hlo::Value>& carried,
                                const Pool<hlo::Value>& xs, const Pool<hlo::Value>& constants) -> Pool<hlo::Value> {
  auto& b = c.builder();
  const auto metas = c.graph().values(call.id());
  if (xs.empty() || metas.size() < carried.size()) return unknown_form(c, call);
  for (const hlo::Value x : xs)
    if (b.rank(x) == 0 || b.dims(x)[0] != b.dims(xs[0])[0]) return unknown_form(c, call);
  const std::int64_t rounds = b.dims(xs[0])[0];

  Pool<hlo::Value> state;  // the round, what is carried, the results so far, the slices' sources, the constants
  state.push_back(b.constant(DType::i64, 0));
  state.append(carried.view());
  const std::uint32_t results = static_cast<std::uint32_t>(metas.size()) - carried.size();
  for (const TensorMeta& meta : metas.subspan(carried.size())) {
    if (!meta.known) {
      c.fail(call, DiagnosticCode::missing_metadata, "the shape of a result is not known");
      return {};
    }
    state.push_back(c.full(c.shape_of(meta), 0));
  }
  if (rounds == 0) {
    Pool<hlo::Value> unchanged;
    unchanged.append(state.view().subspan(1));
    return unchanged;
  }
  state.append(xs.view());
  state.append(constants.view());
  const hlo::Value init = b.tuple(state.view());
  if (!init.valid()) return {};
  const hlo::ShapeId shape = b.shape_id(init);
  const std::uint32_t size = state.size();

  const hlo::ComputationId condition = b.computation("has_slices_left", [&] {
    const hlo::Value round = b.get_tuple_element(b.parameter(shape), 0);
    return b.compare(round, b.constant(DType::i64, rounds), hlo::Direction::lt);
  });
  const hlo::ComputationId body = b.computation("at_slice", [&]() -> hlo::Value {
    const Pool<hlo::Value> now = elements(b, b.parameter(shape), 0, size);
    const auto starts_at = [&](hlo::Value x) {
      Pool<hlo::Value> starts;
      for (std::size_t d = 0; d < b.rank(x); ++d) starts.push_back(d == 0 ? now[0] : b.constant(DType::i64, 0));
      return starts;
    };
    Pool<hlo::Value> inputs;
    inputs.append(now.view().subspan(1, carried.size()));
    for (const hlo::Value x : now.view().subspan(1 + carried.size() + results, xs.size())) {
      hlo::Dims slice = b.dims(x);
      slice[0] = 1;
      hlo::Dims kept;
      for (std::size_t d = 1; d < slice.size(); ++d) kept.push_back(slice[d]);
      inputs.push_back(b.reshape(b.dynamic_slice(x, starts_at(x).view(), slice), kept));
    }
    inputs.append(now.view().subspan(size - constants.size()));
    const Pool<hlo::Value> given = c.run_graph(call, number, inputs.view());
    if (given.size() != carried.size() + results) return {};

    Pool<hlo::Value> next;
    next.append(now.view());
    next[0] = b.add(now[0], b.constant(DType::i64, 1));
    for (std::uint32_t i = 0; i < carried.size(); ++i) next[1 + i] = given[i];
    for (std::uint32_t i = carried.size(); i < given.size(); ++i) {
      const hlo::Value whole = now[1 + i];
      hlo::Dims slice = b.dims(whole);
      slice[0] = 1;
      next[1 + i] = b.dynamic_update_slice(whole, b.reshape(given[i], slice), starts_at(whole).view());
    }
    return b.tuple(next.view());
  });
  return elements(b, b.while_loop(init, condition, body), 1, static_cast<std::uint32_t>(metas.size()));
}

}  // namespace detail

/// `cond(predicate, graph, graph, operands)`: the branch that the predicate picks, on the operands.
struct LowerCond {
  static constexpr std::string_view op = "higher_order.cond";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    if (!detail::cond_operands(c.graph(), call.id())) return detail::unknown_form(c, call);
    const auto arguments = c.graph().arguments(call.id());
    const auto operands = detail::tensors_in(c, call, arguments[3]);
    const hlo::Value which = detail::decision(c, c.tensor(call, arguments[0], "pred"));
    if (!operands || !which.valid()) return {};
    const hlo::Value given = b.tuple(operands->view());
    const auto branch = [&](const Argument& graph, std::string_view name) {
      return b.computation(name, [&] {
        const hlo::Value inputs = b.parameter(b.shape_id(given));
        return b.tuple(c.run_graph(call, graph.subgraph(), detail::elements(b, inputs, 0, operands->size()).view()).view());
      });
    };
    const std::array branches{branch(arguments[1], "if_true"), branch(arguments[2], "if_false")};
    const std::array<hlo::Value, 2> both{given, given};
    return detail::elements(b, b.conditional(which, both, branches), 0,
                            static_cast<std::uint32_t>(c.graph().values(call.id()).size()));
  }
};

/// `while_loop(graph, graph, carried, constants)`: while the first graph says so, the second makes the carried values anew.
struct LowerWhileLoop {
  static constexpr std::string_view op = "higher_order.while_loop";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    if (!detail::has_form(c.graph(), call.id(), 2, 4)) return detail::unknown_form(c, call);
    const auto arguments = c.graph().arguments(call.id());
    const auto carried = detail::tensors_in(c, call, arguments[2]);
    const auto constants = detail::tensors_in(c, call, arguments[3]);
    if (!carried || !constants) return {};
    Pool<hlo::Value> state;
    state.append(carried->view());
    state.append(constants->view());
    const hlo::Value init = b.tuple(state.view());
    const hlo::ComputationId condition = b.computation("goes_on", [&]() -> hlo::Value {
      const hlo::Value now = b.parameter(b.shape_id(init));
      const auto results =
          c.run_graph(call, arguments[0].subgraph(), detail::elements(b, now, 0, state.size()).view());
      if (results.size() != 1) return {};
      return detail::decision(c, results[0]);
    });
    const hlo::ComputationId body = b.computation("round", [&]() -> hlo::Value {
      const Pool<hlo::Value> now = detail::elements(b, b.parameter(b.shape_id(init)), 0, state.size());
      Pool<hlo::Value> next = c.run_graph(call, arguments[1].subgraph(), now.view());
      if (next.size() != carried->size()) return {};
      next.append(now.view().subspan(carried->size()));
      return b.tuple(next.view());
    });
    return detail::elements(b, b.while_loop(init, condition, body), 0, carried->size());
  }
};

/// `map_impl(graph, xs, constants)`: the graph on each slice of `xs` along their first dimension.
struct LowerMap {
  static constexpr std::string_view op = "higher_order.map_impl";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    if (!detail::has_form(c.graph(), call.id(), 1, 3)) return detail::unknown_form(c, call);
    const auto arguments = c.graph().arguments(call.id());
    const auto xs = detail::tensors_in(c, call, arguments[1]);
    const auto constants = detail::tensors_in(c, call, arguments[2]);
    if (!xs || !constants) return {};
    return detail::loop_over_slices(c, call, arguments[0].subgraph(), {}, *xs, *constants);
  }
};

/// `scan(graph, init, xs, constants)`: the same, with values that go from slice to slice.
struct LowerScan {
  static constexpr std::string_view op = "higher_order.scan";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    if (!detail::has_form(c.graph(), call.id(), 1, 4)) return detail::unknown_form(c, call);
    const auto arguments = c.graph().arguments(call.id());
    const auto init = detail::tensors_in(c, call, arguments[1]);
    const auto xs = detail::tensors_in(c, call, arguments[2]);
    const auto constants = detail::tensors_in(c, call, arguments[3]);
    if (!init || !xs || !constants) return {};
    return detail::loop_over_slices(c, call, arguments[0].subgraph(), *init, *xs, *constants);
  }
};

/// `with_effects(token, operator, ...)`: a call whose order among others like it counts, for which a token goes in and comes
/// out. What only prints has nothing to do on a device; other effects nobody can carry out there.
struct LowerWithEffects {
  static constexpr std::string_view op = "higher_order.with_effects";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    Pool<hlo::Value> results;
    const auto token = c.python_argument(call, 0, "token"), effect = c.python_argument(call, 1, "op");
    std::string_view name;
    if (effect && effect->is(ArgumentKind::operation)) name = c.graph().text(effect->text());
    for (const std::string_view printing : {"torch.ops.aten._print.default", "torch.ops.higher_order.print"})
      if (token && name == printing) results.push_back(c.tensor(call, *token, "token"));
    if (results.empty()) c.unsupported(call, text_of("the effects of ", name, " are outside of the program"));
    return results;
  }
};

/// Operators that run graphs.
using ControlFlowLowerings = lowerings<LowerCond, LowerWhileLoop, LowerMap, LowerScan, LowerWithEffects>;

}  // namespace fxpass
