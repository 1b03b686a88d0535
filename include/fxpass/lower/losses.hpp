// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/activations.hpp>
#include <fxpass/lower/indexing.hpp>
#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// @file
/// Losses: how far predictions are from what is wanted. As in eager, halves are summed in float32.

namespace fxpass {

namespace detail {

/// What becomes of the losses of all elements. The numbers are ATen's (at::Reduction); Python names them, and
/// has one more.
enum class LossReduction : std::int8_t { none, mean, sum, batch_mean };

constexpr auto reduction_of_name(std::string_view name) -> std::optional<LossReduction> {
  constexpr std::array<std::string_view, 4> names{"none", "mean", "sum", "batchmean"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<LossReduction>(i);
  return std::nullopt;
}

constexpr auto loss_reduction(auto& c, const Call& call) -> LossReduction {
  for (const std::string_view old : {"size_average", "reduce"})
    if (call.has(old)) c.unsupported(call, "with 'size_average' or 'reduce', which 'reduction' has replaced");
  const auto given = call.given("reduction");
  if (!given) return LossReduction::mean;
  if (const auto name = call.string("reduction"))
    if (const auto named = reduction_of_name(*name)) return *named;
  const std::int64_t number = c.integer(call, "reduction");
  if (number >= 0 && number <= 2) return static_cast<LossReduction>(number);
  c.fail(call, DiagnosticCode::eager_would_raise, "there is no such reduction");
  return LossReduction::mean;
}

/// The last step of a loss. `weight` is what a mean divides by instead of the number of losses.
constexpr auto reduce_loss(auto& c, const Call& call, hlo::Value losses, LossReduction reduction, hlo::Value weight)
    -> hlo::Value {
  auto& b = c.builder();
  if (!losses.valid()) return losses;
  if (reduction == LossReduction::none) return c.to_result(call, losses);
  const hlo::Value sum = reduce(c, losses, hlo::iota_dims(b.rank(losses)), hlo::Opcode::add);
  if (reduction == LossReduction::sum) return c.to_result(call, sum);
  const bool by_batch = reduction == LossReduction::batch_mean && b.rank(losses) != 0;
  const std::int64_t number = by_batch ? b.dims(losses)[0] : b.shape(losses).element_count();
  return c.to_result(call, b.divide(sum, weight.valid() ? weight : c.full_like(sum, number)));
}
constexpr auto reduce_loss(auto& c, const Call& call, hlo::Value losses, hlo::Value weight = {}) -> hlo::Value {
  return losses.valid() ? reduce_loss(c, call, losses, loss_reduction(c, call), weight) : losses;
}

/// Prediction and target in one type and shape, halves as float32.
constexpr auto loss_operands(auto& c, const Call& call) -> std::array<hlo::Value, 2> {
  auto [x, y] = c.operands(call, Meeting::arithmetic, "self", "target");
  return {c.accurate(x), c.accurate(y)};
}

// Element-wise losses of a difference.
// -------------------------------------------------------------------------------
struct SquaredError {
  static constexpr auto of(auto& c, const Call&, hlo::Value difference) -> hlo::Value {
    return c.builder().multiply(difference, difference);
  }
};
struct AbsoluteError {
  static constexpr auto of(auto& c, const Call&, hlo::Value difference) -> hlo::Value {
    return c.builder().abs(difference);
  }
};
/// Quadratic near 0 and linear beyond `beta`, with slope 1.
struct SmoothAbsoluteError {
  static constexpr auto of(auto& c, const Call& call, hlo::Value difference) -> hlo::Value {
    auto& b = c.builder();
    const double beta = c.real(call, "beta");
    const hlo::Value a = b.abs(difference);
    if (beta <= 0) return a;
    const hlo::Value near = b.multiply(c.full_like(a, 0.5 / beta), b.multiply(a, a));
    const hlo::Value far = b.subtract(a, c.full_like(a, 0.5 * beta));
    return b.select(b.compare(a, c.full_like(a, beta), hlo::Direction::lt), near, far);
  }
};
/// Quadratic near 0 and linear beyond `delta`, with that slope.
struct HuberError {
  static constexpr auto of(auto& c, const Call& call, hlo::Value difference) -> hlo::Value {
    auto& b = c.builder();
    const double delta = c.real(call, "delta");
    const hlo::Value a = b.abs(difference);
    const hlo::Value near = b.multiply(c.full_like(a, 0.5), b.multiply(a, a));
    const hlo::Value far = b.multiply(c.full_like(a, delta), b.subtract(a, c.full_like(a, 0.5 * delta)));
    return b.select(b.compare(a, c.full_like(a, delta), hlo::Direction::le), near, far);
  }
};

}  // namespace detail

template <TextConstant Name, class Error>
struct LowerDifferenceLoss {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = detail::loss_operands(c, call);
    if (call.has("weight")) return c.unsupported(call, "with weights");
    return detail::reduce_loss(c, call, Error::of(c, call, c.builder().subtract(x, y)));
  }
};

/// -(y log x + (1 - y) log(1 - x)), where eager lets no logarithm go below -100.
struct LowerBinaryCrossEntropy {
  static constexpr std::string_view op = "aten.binary_cross_entropy";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::loss_operands(c, call);
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value one = c.full_like(x, 1.0), lowest = c.full_like(x, -100.0);
    const hlo::Value if_true = b.maximum(b.log(x), lowest);
    const hlo::Value if_false = b.maximum(b.log_plus_one(b.negate(x)), lowest);
    hlo::Value loss = b.subtract(b.multiply(b.subtract(y, one), if_false), b.multiply(y, if_true));
    if (call.has("weight"))
      loss = b.multiply(
          loss, c.broadcast_to(call, b.convert(c.tensor(call, "weight"), b.dtype(loss)), b.dims(loss)));
    return detail::reduce_loss(c, call, loss);
  }
};

/// The same of logits: (1 - y) x + w (log(1 + e^-|x|) + max(-x, 0)), w = 1 + (pos_weight - 1) y.
struct LowerBinaryCrossEntropyWithLogits {
  static constexpr std::string_view op = "aten.binary_cross_entropy_with_logits";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::loss_operands(c, call);
    if (!x.valid() || !y.valid()) return {};
    // A copy: Clang reads no structured binding through a lambda in a constant expression.
    const auto other = [&, like = x](std::string_view name) {
      return c.broadcast_to(call, b.convert(c.tensor(call, name), b.dtype(like)), b.dims(like));
    };
    const hlo::Value one = c.full_like(x, 1.0), zero = c.full_like(x, 0.0);
    hlo::Value tail = b.add(b.log_plus_one(b.exponential(b.negate(b.abs(x)))), b.maximum(b.negate(x), zero));
    if (call.has("pos_weight"))
      tail = b.multiply(tail, b.add(one, b.multiply(b.subtract(other("pos_weight"), one), y)));
    hlo::Value loss = b.add(b.multiply(b.subtract(one, y), x), tail);
    if (call.has("weight")) loss = b.multiply(loss, other("weight"));
    return detail::reduce_loss(c, call, loss);
  }
};

/// y (log y - x), and 0 where y is 0; with `log_target`, y is given by its logarithm.
struct LowerKlDiv {
  static constexpr std::string_view op = "aten.kl_div";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::loss_operands(c, call);
    if (!x.valid() || !y.valid()) return {};
    if (c.boolean(call, "log_target"))
      return detail::reduce_loss(c, call, b.multiply(b.exponential(y), b.subtract(y, x)));
    const hlo::Value zero = c.full_like(y, 0.0);
    const hlo::Value entropy =
        b.select(b.compare(y, zero, hlo::Direction::eq), zero, b.multiply(y, b.log(y)));
    return detail::reduce_loss(c, call, b.subtract(entropy, b.multiply(y, x)));
  }
};

namespace detail {

/// Losses of classes: minus the value of the wanted class, times its weight, and 0 for the class that is
/// ignored.
struct ClassLoss {
  hlo::Value losses;
  hlo::Value weights;  ///< of each, 0 for what is ignored
};
/// Needs classes in dimension 1 of `x`, or in its only one; `target` has the other dimensions, of integers.
constexpr auto class_loss(auto& c, const Call& call, hlo::Value x, hlo::Value target) -> ClassLoss {
  auto& b = c.builder();
  if (!x.valid() || !target.valid()) return {};
  const std::size_t dim = b.rank(x) == 1 ? 0 : 1;
  const hlo::Value ignored =
      b.compare(target, c.full_like(target, c.integer(call, "ignore_index")), hlo::Direction::eq);
  const hlo::Value wanted = b.select(ignored, c.full_like(target, 0), target);
  hlo::Dims others;
  for (std::size_t d = 0; d < b.rank(x); ++d)
    if (d != dim) others.push_back(static_cast<std::int64_t>(d));
  // A class is picked by comparing with all of them: one reduction, where a gather would fetch elements one
  // by one.
  const hlo::Value classes = b.iota({b.dtype(target), b.dims(x)}, static_cast<std::int64_t>(dim));
  const hlo::Value is_wanted =
      b.compare(classes, b.broadcast_in_dim(wanted, b.dims(x), others), hlo::Direction::eq);
  const auto pick = [&](hlo::Value from) {
    return reduce(c, b.select(is_wanted, from, c.full_like(from, 0.0)), {static_cast<std::int64_t>(dim)},
                  hlo::Opcode::add);
  };
  hlo::Value weight = c.full({b.dtype(x), b.dims(target)}, 1.0);
  if (call.has("weight"))
    weight = pick(b.broadcast_in_dim(b.convert(c.tensor(call, "weight"), b.dtype(x)), b.dims(x),
                                     {static_cast<std::int64_t>(dim)}));
  weight = b.select(ignored, c.full_like(weight, 0.0), weight);
  const hlo::Value loss = b.negate(b.multiply(pick(x), weight));
  return {b.select(ignored, c.full_like(loss, 0.0), loss), weight};
}
constexpr auto total(auto& c, hlo::Value x) -> hlo::Value {
  return reduce(c, x, hlo::iota_dims(c.builder().rank(x)), hlo::Opcode::add);
}

}  // namespace detail

/// Of log-probabilities.
struct LowerNllLoss {
  static constexpr std::array<std::string_view, 3> op{"aten.nll_loss", "aten.nll_loss_nd", "aten.nll_loss2d"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const auto loss = detail::class_loss(c, call, x, c.tensor(call, "target"));
    if (!loss.losses.valid()) return {};
    return detail::reduce_loss(c, call, loss.losses, detail::total(c, loss.weights));
  }
};

/// The same with the sum of the weights beside it, which the gradient needs.
struct LowerNllLossForward {
  static constexpr std::array<std::string_view, 2> op{"aten.nll_loss_forward", "aten.nll_loss2d_forward"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    const auto loss = detail::class_loss(c, call, x, c.tensor(call, "target"));
    if (!loss.losses.valid()) return {};
    const detail::LossReduction reduction = detail::loss_reduction(c, call);
    if (reduction == detail::LossReduction::none)
      return c.members(call, {loss.losses, c.scalar(b.dtype(x), 0.0)});
    const hlo::Value weight = detail::total(c, loss.weights), sum = detail::total(c, loss.losses);
    return c.members(call, {reduction == detail::LossReduction::mean ? b.divide(sum, weight) : sum, weight});
  }
};

/// Of logits: the losses of their log-softmax over the classes. A target of floats gives the probability of
/// each class.
struct LowerCrossEntropyLoss {
  static constexpr std::string_view op = "aten.cross_entropy_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value logits = c.accurate(c.tensor(call, "self")), target = c.tensor(call, "target");
    if (!logits.valid() || !target.valid()) return {};
    const std::size_t dim = b.rank(logits) == 1 ? 0 : 1;
    const hlo::Dims classes{static_cast<std::int64_t>(dim)};
    const std::int64_t class_count = b.dims(logits)[dim];
    const hlo::Value largest = detail::reduce_keeping(c, logits, classes, hlo::Opcode::maximum);
    const hlo::Value shifted = b.subtract(logits, detail::spread_over(c, largest, logits, classes));
    const hlo::Value sum = detail::reduce_keeping(c, b.exponential(shifted), classes, hlo::Opcode::add);
    const hlo::Value x = b.subtract(shifted, detail::spread_over(c, b.log(sum), logits, classes));
    const double smoothing = c.real(call, "label_smoothing");

    hlo::Value weighted = x;
    if (call.has("weight"))
      weighted = b.multiply(
          x, b.broadcast_in_dim(b.convert(c.tensor(call, "weight"), b.dtype(x)), b.dims(x), classes));
    if (is_floating(b.dtype(target)))
      return of_probabilities(c, call, weighted, target, smoothing, class_count);

    const auto loss = detail::class_loss(c, call, x, target);
    if (smoothing == 0) return detail::reduce_loss(c, call, loss.losses, detail::total(c, loss.weights));
    // A part of the probability is spread over all classes.
    const hlo::Value ignored =
        b.compare(target, c.full_like(target, c.integer(call, "ignore_index")), hlo::Direction::eq);
    const hlo::Value all = b.negate(detail::reduce(c, weighted, classes, hlo::Opcode::add));
    const hlo::Value spread = b.select(ignored, c.full_like(all, 0.0), all);
    const hlo::Value mixed =
        b.add(b.multiply(c.full_like(spread, 1 - smoothing), loss.losses),
              b.multiply(c.full_like(spread, smoothing / static_cast<double>(class_count)), spread));
    return detail::reduce_loss(c, call, mixed, detail::total(c, loss.weights));
  }

 private:
  static constexpr auto of_probabilities(auto& c, const Call& call, hlo::Value x, hlo::Value target,
                                         double smoothing, std::int64_t class_count) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Dims classes{b.rank(x) == 1 ? 0 : 1};
    hlo::Value probability = b.convert(target, b.dtype(x));
    if (smoothing > 0)
      probability = b.add(b.multiply(probability, c.full_like(x, 1 - smoothing)),
                          c.full_like(x, smoothing / static_cast<double>(class_count)));
    const hlo::Value losses =
        b.negate(detail::reduce(c, b.multiply(x, probability), classes, hlo::Opcode::add));
    return detail::reduce_loss(c, call, losses);
  }
};

/// `torch.nn.functional.multilabel_soft_margin_loss(input, target, weight, size_average, reduce, reduction)`, which ATen has
/// not: binary cross entropy of logits, averaged over the classes.
struct LowerMultilabelSoftMarginLoss {
  static constexpr std::string_view op = "torch.nn.functional.multilabel_soft_margin_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto input = c.python_argument(call, 0, "input"), target = c.python_argument(call, 1, "target");
    const auto weight = c.python_argument(call, 2, "weight"), given = c.python_argument(call, 5, "reduction");
    if (!input || !target || c.python_argument(call, 3, "size_average") || c.python_argument(call, 4, "reduce"))
      return c.unsupported(call, "with 'size_average' or 'reduce', which 'reduction' has replaced");
    const auto reduction = given && given->is(ArgumentKind::string)
                               ? detail::reduction_of_name(c.graph().text(given->text()))
                               : std::optional(detail::LossReduction::mean);
    if (!reduction) return c.fail(call, DiagnosticCode::eager_would_raise, "there is no such reduction");
    const std::array<Operand, 2> both{Operand{c.tensor(call, *input, "input"), {}}, Operand{c.tensor(call, *target, "target"), {}}};
    if (!both[0].value.valid() || !both[1].value.valid()) return {};
    const auto [logits, labels] = c.meet(call, Meeting::floating, both);
    const hlo::Value x = c.accurate(logits), y = c.accurate(labels);
    // -(y log sigmoid(x) + (1 - y) log sigmoid(-x)), of which either is a softplus.
    const hlo::Value rest = b.subtract(c.full_like(y, 1), y);
    hlo::Value losses = b.add(b.multiply(y, detail::softplus(c, b.negate(x))), b.multiply(rest, detail::softplus(c, x)));
    if (weight)
      losses = b.multiply(losses, c.broadcast_to(call, c.accurate(c.tensor(call, *weight, "weight")), b.dims(losses)));
    const hlo::Dims classes{static_cast<std::int64_t>(b.rank(losses)) - 1};
    if (b.rank(losses) == 0) return c.fail(call, DiagnosticCode::eager_would_raise, "of a tensor without classes");
    const hlo::Value sum = detail::reduce(c, losses, classes, hlo::Opcode::add);
    const hlo::Value mean = b.divide(sum, c.full_like(sum, b.dims(losses).back()));
    return detail::reduce_loss(c, call, mean, *reduction, {});
  }
};

/// The lowerings of this file.
using LossLowerings = lowerings<LowerMultilabelSoftMarginLoss, LowerDifferenceLoss<"aten.mse_loss", detail::SquaredError>,
                                LowerDifferenceLoss<"aten.l1_loss", detail::AbsoluteError>,
                                LowerDifferenceLoss<"aten.smooth_l1_loss", detail::SmoothAbsoluteError>,
                                LowerDifferenceLoss<"aten.huber_loss", detail::HuberError>,
                                LowerBinaryCrossEntropy, LowerBinaryCrossEntropyWithLogits, LowerKlDiv,
                                LowerNllLoss, LowerNllLossForward, LowerCrossEntropyLoss>;

}  // namespace fxpass
