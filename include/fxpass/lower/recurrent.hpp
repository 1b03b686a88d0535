// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/activations.hpp>
#include <fxpass/lower/linear_algebra.hpp>
#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// Recurrent networks: a loop over the steps for each layer and direction. What does not depend on the step before is one
/// product for all steps.

namespace fxpass {

namespace detail {

/// The kinds of cells.
enum class CellKind : std::uint8_t { lstm, gru, tanh, relu };

/// A layer in one direction, and what it is run on.
struct RecurrentLayer {
  CellKind kind = CellKind::lstm;
  hlo::Value inputs;       ///< products of the inputs, and their bias: [steps, batch, gates]
  hlo::Value weight;       ///< of the hidden state: [gates, hidden]
  hlo::Value bias;         ///< of the hidden state; invalid if there is none
  hlo::Value hidden;       ///< at the beginning: [batch, hidden]
  hlo::Value cell;         ///< of an LSTM, at the beginning
  bool is_reverse = false; ///< from the last step to the first
};
/// All hidden states, and the last ones.
struct RecurrentResult {
  hlo::Value outputs;
  hlo::Value hidden;
  hlo::Value cell;
};

/// One step: gates of the inputs and of the hidden state, in the type of accumulation, to the next state.
struct CellState {
  hlo::Value hidden;
  hlo::Value cell;
};
constexpr auto next_state(auto& c, CellKind kind, hlo::Value of_input, hlo::Value of_hidden, const CellState& now)
    -> CellState {
  auto& b = c.builder();
  if (kind == CellKind::tanh) return {b.tanh(b.add(of_input, of_hidden)), now.cell};
  if (kind == CellKind::relu) {
    const hlo::Value sum = b.add(of_input, of_hidden);
    return {b.maximum(sum, c.full_like(sum, 0)), now.cell};
  }
  const std::int64_t size = b.dims(now.hidden)[1];
  const auto part = [&](hlo::Value v, std::int64_t n) { return b.slice_in_dim(v, 1, n * size, (n + 1) * size); };
  if (kind == CellKind::gru) {
    const auto gate = [&](std::int64_t n) { return b.logistic(b.add(part(of_input, n), part(of_hidden, n))); };
    const hlo::Value fresh = b.tanh(b.add(part(of_input, 2), b.multiply(gate(0), part(of_hidden, 2))));
    return {b.add(fresh, b.multiply(gate(1), b.subtract(now.hidden, fresh))), now.cell};
  }
  const hlo::Value gates = b.add(of_input, of_hidden);
  const auto gate = [&](std::int64_t n) { return b.logistic(part(gates, n)); };
  const hlo::Value cell = b.add(b.multiply(gate(1), now.cell), b.multiply(gate(0), b.tanh(part(gates, 2))));
  return {b.multiply(gate(3), b.tanh(cell)), cell};
}

constexpr auto run_layer(auto& c, const RecurrentLayer& layer) -> RecurrentResult {
  auto& b = c.builder();
  if (!layer.inputs.valid() || !layer.weight.valid() || !layer.hidden.valid()) return {};
  const DType type = b.dtype(layer.hidden), wide = ops::accumulate_type(type);
  const hlo::Dims state = b.dims(layer.hidden), gates = b.dims(layer.inputs);
  const std::int64_t steps = gates[0];
  const bool has_cell = layer.kind == CellKind::lstm, has_bias = layer.bias.valid();
  Pool<hlo::Value> init;
  init.push_back(b.constant(DType::i64, 0));
  init.push_back(layer.hidden);
  init.push_back(has_cell ? layer.cell : layer.hidden);
  init.push_back(c.full({type, {steps, state[0], state[1]}}, 0));
  init.push_back(layer.inputs);
  init.push_back(layer.weight);
  init.push_back(has_bias ? layer.bias : layer.weight);
  const hlo::Value first = b.tuple(init.view());
  if (!first.valid()) return {};
  const hlo::ShapeId shape = b.shape_id(first);
  const hlo::ComputationId condition = b.computation("has_steps_left", [&] {
    return b.compare(b.get_tuple_element(b.parameter(shape), 0), b.constant(DType::i64, steps), hlo::Direction::lt);
  });
  const hlo::ComputationId body = b.computation("at_step", [&] {
    const hlo::Value all = b.parameter(shape);
    std::array<hlo::Value, 7> now;
    for (std::size_t i = 0; i < now.size(); ++i) now[i] = b.get_tuple_element(all, static_cast<std::int64_t>(i));
    const hlo::Value step = layer.is_reverse ? b.subtract(b.constant(DType::i64, steps - 1), now[0]) : now[0];
    const hlo::Value zero = b.constant(DType::i64, 0);
    const std::array<hlo::Value, 3> starts{step, zero, zero};
    const hlo::Value of_input = b.reshape(b.dynamic_slice(now[4], starts, {1, gates[1], gates[2]}), {gates[1], gates[2]});
    hlo::Value of_hidden = b.dot_general(now[1], now[5], {{1}, {1}, {}, {}}, wide);
    if (has_bias) of_hidden = b.add(of_hidden, b.broadcast_in_dim(b.convert(now[6], wide), b.dims(of_hidden), {1}));
    const CellState next = next_state(c, layer.kind, of_input, of_hidden,
                                      {b.convert(now[1], wide), b.convert(now[2], wide)});
    const hlo::Value hidden = b.convert(next.hidden, type);
    const hlo::Value line = b.reshape(hidden, {1, state[0], state[1]});
    return b.tuple({b.add(now[0], b.constant(DType::i64, 1)), hidden, has_cell ? b.convert(next.cell, type) : hidden,
                    b.dynamic_update_slice(now[3], line, starts), now[4], now[5], now[6]});
  });
  const hlo::Value last = b.while_loop(first, condition, body);
  return {b.get_tuple_element(last, 3), b.get_tuple_element(last, 1), b.get_tuple_element(last, 2)};
}

}  // namespace detail

/// Layers of LSTM, GRU or plain cells over a sequence, in one direction or both.
template <detail::CellKind Kind, TextConstant Name>
struct LowerRecurrent {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "input");
    const Pool<hlo::Value> params = c.tensors(call, "params");
    hlo::Value hidden, cell;
    if constexpr (Kind == detail::CellKind::lstm) {
      const Pool<hlo::Value> states = c.tensors(call, "hx");
      if (states.size() != 2) return {};
      hidden = states[0];
      cell = states[1];
    } else {
      hidden = c.tensor(call, "hx");
    }
    if (!x.valid() || !hidden.valid()) return {};
    if (c.boolean(call, "train") && c.real(call, "dropout") != 0) return refuse(c, call, "dropout in training");
    if (cell.valid() && b.dims(cell) != b.dims(hidden)) return refuse(c, call, "with projections");
    const bool has_biases = c.boolean(call, "has_biases"), batch_first = c.boolean(call, "batch_first");
    const std::uint32_t directions = c.boolean(call, "bidirectional") ? 2 : 1, each = has_biases ? 4 : 2;
    const auto layers = static_cast<std::uint32_t>(c.integer(call, "num_layers"));
    if (b.rank(x) != 3 || params.size() != layers * directions * each) return refuse(c, call, "with these parameters");
    if (batch_first) x = b.transpose(x, {1, 0, 2});
    const auto state_of = [&](hlo::Value states, std::uint32_t number) {
      const auto n = static_cast<std::int64_t>(number);
      return b.reshape(b.slice_in_dim(states, 0, n, n + 1), {b.dims(states)[1], b.dims(states)[2]});
    };
    Pool<hlo::Value> last_hidden, last_cell;
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      Pool<hlo::Value> outputs;
      for (std::uint32_t direction = 0; direction < directions; ++direction) {
        const std::uint32_t number = layer * directions + direction, at = number * each;
        detail::RecurrentLayer run;
        run.kind = Kind;
        run.inputs = detail::dot(c, x, params[at], {{2}, {1}, {}, {}});
        run.weight = params[at + 1];
        if (has_biases) {
          const hlo::Value bias = b.convert(params[at + 2], b.dtype(run.inputs));
          run.inputs = b.add(run.inputs, b.broadcast_in_dim(bias, b.dims(run.inputs), {2}));
          run.bias = params[at + 3];
        }
        run.hidden = state_of(hidden, number);
        if (cell.valid()) run.cell = state_of(cell, number);
        run.is_reverse = direction == 1;
        const auto result = detail::run_layer(c, run);
        if (!result.outputs.valid()) return {};
        outputs.push_back(result.outputs);
        const hlo::Dims one{1, b.dims(hidden)[1], b.dims(hidden)[2]};
        last_hidden.push_back(b.reshape(result.hidden, one));
        last_cell.push_back(b.reshape(result.cell, one));
      }
      x = b.concatenate(outputs.view(), 2);
    }
    if (batch_first) x = b.transpose(x, {1, 0, 2});
    return c.members(call, {x, b.concatenate(last_hidden.view(), 0), b.concatenate(last_cell.view(), 0)});
  }

 private:
  static constexpr auto refuse(auto& c, const Call& call, std::string_view why) -> Pool<hlo::Value> {
    c.unsupported(call, why);
    return {};
  }
};

/// The lowerings of this file.
using RecurrentLowerings = lowerings<LowerRecurrent<detail::CellKind::lstm, "aten.lstm.input">,
                                     LowerRecurrent<detail::CellKind::gru, "aten.gru.input">,
                                     LowerRecurrent<detail::CellKind::tanh, "aten.rnn_tanh.input">,
                                     LowerRecurrent<detail::CellKind::relu, "aten.rnn_relu.input">>;

}  // namespace fxpass
