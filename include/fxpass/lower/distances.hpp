// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/linear_algebra.hpp>
#include <fxpass/lower/losses.hpp>
#include <fxpass/lower/reductions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

/// @file
/// Distances and similarities of vectors, and the losses of them.

namespace fxpass {

namespace detail {

/// The p-norm of differences along the last dimension, which goes away.
constexpr auto distance_along_last(auto& c, hlo::Value difference, double p) -> hlo::Value {
  auto& b = c.builder();
  if (!difference.valid()) return difference;
  hlo::Dims dims = b.dims(difference);
  const hlo::Dims last{static_cast<std::int64_t>(dims.size()) - 1};
  const bool is_empty = dims.back() == 0;
  dims.erase(dims.size() - 1);
  if (is_empty) return c.full({b.dtype(difference), dims}, 0);
  return b.reshape(norm_keeping(c, b.abs(difference), last, p), dims);
}
/// The distance of x and y along the last dimension, which eager moves by eps so that it has a gradient.
constexpr auto pairwise_distance(auto& c, const Call& call, hlo::Value x, hlo::Value y, double p, double eps)
    -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || !y.valid()) return {};
  const auto [first, second] = c.meet(call, Meeting::common, std::array<Operand, 2>{Operand{x, {}}, Operand{y, {}}});
  const hlo::Value difference = b.subtract(c.accurate(first), c.accurate(second));
  return distance_along_last(c, b.add(difference, c.full_like(difference, eps)), p);
}
/// `x` where it is above 0.
constexpr auto above_zero(auto& c, hlo::Value x) -> hlo::Value { return c.builder().maximum(x, c.full_like(x, 0)); }

}  // namespace detail

/// The distance of each row of one matrix to each of another.
struct LowerDistances {
  static constexpr std::array<std::string_view, 2> op{"aten.cdist", "aten._cdist_forward"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "x1")), y = c.accurate(c.tensor(call, "x2"));
    if (!x.valid() || !y.valid()) return {};
    hlo::Dims whole = c.result_shape(call).dims;
    whole.push_back(b.dims(x).back());
    const auto spread = [&](hlo::Value v, std::size_t at) {
      hlo::Dims dims = b.dims(v);
      dims.insert(dims.size() - at, 1);
      return c.broadcast_to(call, b.reshape(v, dims), whole);
    };
    const hlo::Value difference = b.subtract(spread(x, 1), spread(y, 2));
    return c.to_result(call, detail::distance_along_last(c, difference, c.real(call, "p")));
  }
};

/// The distances of all pairs of rows of one matrix, the first of a pair before the second.
struct LowerPairDistances {
  static constexpr std::array<std::string_view, 2> op{"aten.pdist", "aten._pdist_forward"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    if (!x.valid()) return x;
    Pool<std::int64_t> first, second;
    for (std::int64_t i = 0; i < b.dims(x)[0]; ++i)
      for (std::int64_t k = i + 1; k < b.dims(x)[0]; ++k) {
        first.push_back(i);
        second.push_back(k);
      }
    if (first.empty()) return c.full(c.result_shape(call), 0);
    const auto rows = [&](const Pool<std::int64_t>& numbers) {
      const hlo::Value list = b.constant(DType::i64, {static_cast<std::int64_t>(numbers.size())}, numbers.view());
      return detail::gather(c, x, detail::index_of_dim(c, x, 0, list));
    };
    return c.to_result(call, detail::distance_along_last(c, b.subtract(rows(first), rows(second)), c.real(call, "p")));
  }
};

struct LowerPairwiseDistance {
  static constexpr std::string_view op = "aten.pairwise_distance";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value distance = detail::pairwise_distance(c, call, c.tensor(call, "x1"), c.tensor(call, "x2"),
                                                          c.real(call, "p"), c.real(call, "eps"));
    return c.to_result(call, c.builder().reshape(distance, c.result_shape(call).dims));
  }
};

/// The norm of a difference.
struct LowerDistance {
  static constexpr std::string_view op = "aten.dist";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Value difference = c.accurate(b.subtract(x, y));
    const hlo::Value line = b.reshape(difference, {b.shape(difference).element_count()});
    return c.to_result(call, detail::distance_along_last(c, line, c.number(call, "p").real));
  }
};

/// The product of two vectors, each divided by its length, or by eps.
struct LowerCosineSimilarity {
  static constexpr std::string_view op = "aten.cosine_similarity";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [first, second] = c.operands(call, Meeting::common, "x1", "x2");
    const hlo::Value x = c.accurate(first), y = c.accurate(second);
    if (!x.valid() || !y.valid()) return {};
    const std::size_t dim = c.dim(call, "dim", b.rank(x));
    const hlo::Dims dims = b.rank(x) == 0 ? hlo::Dims{} : hlo::Dims{static_cast<std::int64_t>(dim)};
    const double eps = c.real(call, "eps");
    const auto unit = [&](hlo::Value v) {
      const hlo::Value length = b.sqrt(detail::reduce_keeping(c, b.multiply(v, v), dims, hlo::Opcode::add));
      return b.divide(v, detail::spread_over(c, b.maximum(length, c.full_like(length, eps)), v, dims));
    };
    return c.to_result(call, detail::reduce(c, b.multiply(unit(x), unit(y)), dims, hlo::Opcode::add));
  }
};

namespace detail {

/// `x` with what lies along `dims` scaled to a norm of `most`, where it is above that. As eager does: the norm is taken a little
/// larger than it is, so that the result is below the limit.
constexpr auto scaled_to_norm(auto& c, hlo::Value x, const hlo::Dims& dims, double p, double most) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value norm = norm_keeping(c, b.abs(x), dims, p), limit = c.full_like(norm, most);
  const hlo::Value factor = b.divide(limit, b.add(norm, c.full_like(norm, 1e-7)));
  const hlo::Value scale = b.select(b.compare(norm, limit, hlo::Direction::gt), factor, c.full_like(norm, 1.0));
  return b.multiply(x, spread_over(c, scale, x, dims));
}

}  // namespace detail

/// Slices along a dimension whose norm is above a limit are scaled to it.
struct LowerRenorm {
  static constexpr std::string_view op = "aten.renorm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self"));
    if (!x.valid()) return x;
    hlo::Dims dims = hlo::iota_dims(b.rank(x));
    dims.erase(c.dim(call, "dim", b.rank(x)));
    return c.to_result(call, detail::scaled_to_norm(c, x, dims, c.number(call, "p").real, c.number(call, "maxnorm").real));
  }
};

/// The rows of a table that the indices name are scaled to a largest norm.
struct LowerEmbeddingRenorm {
  static constexpr std::string_view op = "aten.embedding_renorm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.accurate(c.tensor(call, "self")), given = c.tensor(call, "indices");
    if (!x.valid() || !given.valid()) return {};
    const hlo::Dims pairs{b.shape(given).element_count(), b.dims(x)[0]};
    const hlo::Value index = b.broadcast_in_dim(b.reshape(given, {pairs[0]}), pairs, {0});
    const hlo::Value is_row = b.compare(index, b.iota({b.dtype(given), pairs}, 1), hlo::Direction::eq);
    const hlo::Value is_named = detail::reduce(c, is_row, {0}, hlo::Opcode::or_);
    const hlo::Value scaled = detail::scaled_to_norm(c, x, {1}, c.real(call, "norm_type"), c.real(call, "max_norm"));
    return c.to_result(call, b.select(detail::spread_over(c, b.reshape(is_named, {pairs[1], 1}), x, {1}), scaled, x));
  }
};

/// max(0, -y (x1 - x2) + margin)
struct LowerMarginRankingLoss {
  static constexpr std::string_view op = "aten.margin_ranking_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [first, second, target] = c.operands(call, Meeting::common, "input1", "input2", "target");
    const hlo::Value x = c.accurate(first), y = c.accurate(second), sign = c.accurate(target);
    const hlo::Value loss = b.add(b.multiply(b.negate(sign), b.subtract(x, y)), c.full_like(x, c.real(call, "margin")));
    return detail::reduce_loss(c, call, detail::above_zero(c, loss));
  }
};

/// x where y is 1, and max(0, margin - x) where it is -1.
struct LowerHingeEmbeddingLoss {
  static constexpr std::string_view op = "aten.hinge_embedding_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [first, target] = c.operands(call, Meeting::common, "self", "target");
    const hlo::Value x = c.accurate(first), y = c.accurate(target), zero = c.full_like(x, 0);
    const auto is = [&](double value, hlo::Direction how) { return b.compare(y, c.full_like(y, value), how); };
    const hlo::Value margin = detail::above_zero(c, b.subtract(c.full_like(x, c.real(call, "margin")), x));
    return detail::reduce_loss(c, call, b.add(b.select(is(1, hlo::Direction::ne), margin, zero),
                                              b.select(is(-1, hlo::Direction::ne), x, zero)));
  }
};

/// 1 - cos where y is 1, and max(0, cos - margin) where it is -1.
struct LowerCosineEmbeddingLoss {
  static constexpr std::string_view op = "aten.cosine_embedding_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [first, second] = c.operands(call, Meeting::common, "input1", "input2");
    const hlo::Value x = c.accurate(first), y = c.accurate(second), target = c.tensor(call, "target");
    if (!x.valid() || !y.valid() || !target.valid() || b.rank(x) == 0) return {};
    const hlo::Dims last{b.rank(target) == 0 ? 0 : 1};
    const auto sum = [&](hlo::Value v) { return detail::reduce(c, v, last, hlo::Opcode::add); };
    const auto square = [&](hlo::Value v) {
      const hlo::Value s = sum(b.multiply(v, v));
      return b.add(s, c.full_like(s, 1e-12));
    };
    const hlo::Value cosine = b.divide(sum(b.multiply(x, y)), b.sqrt(b.multiply(square(x), square(y))));
    const hlo::Value zero = c.full_like(cosine, 0);
    const hlo::Value sign = c.broadcast_to(call, b.convert(target, b.dtype(x)), b.dims(cosine));
    const auto is = [&](double value) { return b.compare(sign, c.full_like(sign, value), hlo::Direction::eq); };
    const hlo::Value near = b.subtract(c.full_like(cosine, 1), cosine);
    const hlo::Value far = detail::above_zero(c, b.subtract(cosine, c.full_like(cosine, c.real(call, "margin"))));
    return detail::reduce_loss(c, call, b.add(b.select(is(1), near, zero), b.select(is(-1), far, zero)));
  }
};

/// max(0, margin + |anchor - positive| - |anchor - negative|)
struct LowerTripletMarginLoss {
  static constexpr std::string_view op = "aten.triplet_margin_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value anchor = c.tensor(call, "anchor"), positive = c.tensor(call, "positive");
    const hlo::Value negative = c.tensor(call, "negative");
    const double p = c.real(call, "p"), eps = c.real(call, "eps");
    const hlo::Value near = detail::pairwise_distance(c, call, anchor, positive, p, eps);
    hlo::Value far = detail::pairwise_distance(c, call, anchor, negative, p, eps);
    if (c.boolean(call, "swap")) far = b.minimum(far, detail::pairwise_distance(c, call, positive, negative, p, eps));
    const hlo::Value loss = b.add(c.full_like(near, c.real(call, "margin")), b.subtract(near, far));
    return detail::reduce_loss(c, call, detail::above_zero(c, loss));
  }
};

/// log(1 + e^(-y x))
struct LowerSoftMarginLoss {
  static constexpr std::string_view op = "aten.soft_margin_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::loss_operands(c, call);
    return detail::reduce_loss(c, call, b.log_plus_one(b.exponential(b.multiply(b.negate(x), y))));
  }
};

/// x - y log(x), of x or of its logarithm; with `full` Stirling's approximation of log(y!) beside it.
struct LowerPoissonLoss {
  static constexpr std::string_view op = "aten.poisson_nll_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [first, second] = c.operands(call, Meeting::arithmetic, "input", "target");
    const hlo::Value x = c.accurate(first), y = c.accurate(second);
    if (!x.valid() || !y.valid()) return {};
    const bool is_log = c.boolean(call, "log_input");
    const hlo::Value logarithm = is_log ? x : b.log(b.add(x, c.full_like(x, c.real(call, "eps"))));
    hlo::Value loss = b.subtract(is_log ? b.exponential(x) : x, b.multiply(y, logarithm));
    if (c.boolean(call, "full")) {
      const hlo::Value term = b.add(b.subtract(b.multiply(y, b.log(y)), y),
                                    b.multiply(c.full_like(y, 0.5), b.log(b.multiply(y, c.full_like(y, 6.28318530717958647693)))));
      const hlo::Value is_small = b.compare(y, c.full_like(y, 1.0), hlo::Direction::le);
      loss = b.add(loss, b.select(is_small, c.full_like(term, 0.0), term));
    }
    return detail::reduce_loss(c, call, loss);
  }
};

/// The mean over the other classes of max(0, margin - x[target] + x[class])^p, weighted by the target's class.
struct LowerMultiMarginLoss {
  static constexpr std::string_view op = "aten.multi_margin_loss";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value given = c.accurate(c.tensor(call, "self")), target = c.tensor(call, "target");
    if (!given.valid() || !target.valid()) return {};
    const bool is_batch = b.rank(given) == 2;
    const hlo::Dims of_one{1, b.shape(given).element_count()};
    const hlo::Value x = is_batch ? given : b.reshape(given, of_one);
    const hlo::Dims whole = b.dims(x);
    const hlo::Value wanted = b.broadcast_in_dim(b.reshape(target, {whole[0]}), whole, {0});
    const hlo::Value is_wanted = b.compare(b.iota({b.dtype(target), whole}, 1), wanted, hlo::Direction::eq);
    const hlo::Value zero = c.full_like(x, 0);
    const auto pick = [&](hlo::Value v) {
      const hlo::Value sum = detail::reduce(c, b.select(is_wanted, v, zero), {1}, hlo::Opcode::add);
      return b.broadcast_in_dim(sum, whole, {0});
    };
    const hlo::Value margin = c.full_like(x, c.number(call, "margin").real);
    hlo::Value loss = detail::above_zero(c, b.add(b.subtract(margin, pick(x)), x));
    if (c.number(call, "p").is(2)) loss = b.multiply(loss, loss);
    if (call.has("weight"))
      loss = b.multiply(loss, pick(b.broadcast_in_dim(b.convert(c.tensor(call, "weight"), b.dtype(x)), whole, {1})));
    const hlo::Value sum = detail::reduce(c, b.select(is_wanted, zero, loss), {1}, hlo::Opcode::add);
    const hlo::Value mean = b.divide(sum, c.full_like(sum, whole[1]));
    return detail::reduce_loss(c, call, is_batch ? mean : b.reshape(mean, {}));
  }
};

/// The sum over targets t, which end at the first -1, and classes that are none of them of max(0, 1 - (x[t] - x[class])),
/// divided by the number of classes.
struct LowerMultiLabelMarginLoss {
  static constexpr std::array<std::string_view, 2> op{"aten.multilabel_margin_loss", "aten.multilabel_margin_loss_forward"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value given = c.accurate(c.tensor(call, "self")), target = c.tensor(call, "target");
    if (!given.valid() || !target.valid()) return {};
    const bool is_batch = b.rank(given) == 2;
    const std::int64_t batch = is_batch ? b.dims(given)[0] : 1;
    const std::int64_t classes = batch == 0 ? 0 : b.shape(given).element_count() / batch;
    const hlo::Dims rows{batch, classes}, pairs{batch, classes, classes};
    const hlo::Value x = b.reshape(given, rows), labels = b.reshape(target, rows);
    // A label counts if none up to it is negative.
    const hlo::Value negative =
        b.convert(b.compare(labels, c.full_like(labels, 0), hlo::Direction::lt), DType::i32);
    const hlo::Value ended = detail::accumulate(c, negative, 1, c.scalar(DType::i32, 0),
                                                [&](auto a, auto d) { return b.add(a, d); });
    const hlo::Value counts = b.compare(ended, c.full_like(ended, 0), hlo::Direction::eq);
    const auto by_label = [&](hlo::Value v) { return b.broadcast_in_dim(v, pairs, {0, 1}); };
    const auto by_class = [&](hlo::Value v) { return b.broadcast_in_dim(v, pairs, {0, 2}); };
    const hlo::Value is_label = b.and_(
        b.compare(by_label(labels), b.iota({b.dtype(labels), pairs}, 2), hlo::Direction::eq), by_label(counts));
    const hlo::Value is_target = detail::reduce(c, is_label, {1}, hlo::Opcode::or_);
    const hlo::Value zero = c.full({b.dtype(x), pairs}, 0);
    const hlo::Value wanted = detail::reduce(c, b.select(is_label, by_class(x), zero), {2}, hlo::Opcode::add);
    const hlo::Value margin = detail::above_zero(c, b.add(b.subtract(c.full({b.dtype(x), pairs}, 1), by_label(wanted)), by_class(x)));
    const hlo::Value is_counted = b.and_(by_label(counts), b.not_(by_class(is_target)));
    const hlo::Value sum = detail::reduce(c, b.select(is_counted, margin, zero), {1, 2}, hlo::Opcode::add);
    const hlo::Value mean = b.divide(sum, c.full_like(sum, classes));
    const auto reduction = detail::loss_reduction(c, call);
    hlo::Value loss = is_batch ? mean : b.reshape(mean, {});
    if (reduction != detail::LossReduction::none && is_batch) {
      loss = detail::reduce(c, mean, {0}, hlo::Opcode::add);
      if (reduction == detail::LossReduction::mean) loss = b.divide(loss, c.full_like(loss, batch));
    }
    return c.members(call, {loss, b.convert(is_target, b.dtype(x))});
  }
};

/// The lowerings of this file.
using DistanceLowerings =
    lowerings<LowerDistances, LowerPairDistances, LowerPairwiseDistance, LowerDistance, LowerCosineSimilarity, LowerRenorm, LowerEmbeddingRenorm,
              LowerMarginRankingLoss, LowerHingeEmbeddingLoss, LowerCosineEmbeddingLoss, LowerTripletMarginLoss,
              LowerSoftMarginLoss, LowerPoissonLoss, LowerMultiMarginLoss, LowerMultiLabelMarginLoss>;

}  // namespace fxpass
