// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/fxpass.hpp>

/// A step of a model: `y = softmax(x @ w)`, which is also written, in place, into a row of buffer `history`.
constexpr auto make_step() -> fxpass::Graph {
  using fxpass::DType;
  fxpass::GraphBuilder b;
  const auto vector = b.tensor(DType::f32, {4});
  const auto history =
      b.placeholder("history", b.tensor(DType::f32, {8, 4}), {.kind = fxpass::InputKind::buffer});
  const auto x = b.placeholder("x", vector);
  const auto w = b.placeholder("w", b.tensor(DType::f32, {4, 4}));
  const auto scores = b.call_function("torch.ops.aten.matmul.default", {x, w}, vector);
  const auto y = b.call_function("torch.ops.aten.softmax.int", {scores, -1}, vector);
  b.call_function("operator.setitem", {history, 2, y});
  b.output({y});
  return std::move(b).finish();
}

/// The same in HLO. In a constant expression an error of the compiler is an error of the program.
constexpr auto lower_step() -> fxpass::LoweredModule {
  return *fxpass::compile(fxpass::Module<>(make_step()), {}, fxpass::neuron::trn2);
}

/// The HLO text of `lower_step()`, a constant of the program (constant.cpp).
extern const std::string_view step_hlo;
