// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/activations.hpp>
#include <fxpass/lower/linear_algebra.hpp>

#include <string_view>
#include <utility>

/// @file
/// Scaled dot-product attention, as products and a softmax.

namespace fxpass {

/// softmax(query * key^T * scale + mask) * value. Scores are kept in float32; a row without any key gives zeros.
struct LowerAttention {
  static constexpr std::string_view op = "aten.scaled_dot_product_attention";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value query = c.tensor(call, "query");
    hlo::Value key = c.tensor(call, "key"), value = c.tensor(call, "value");
    if (c.real(call, "dropout_p") != 0) return c.unsupported(call, "dropout in attention");
    if (!query.valid() || !key.valid() || !value.valid()) return {};
    if (c.boolean(call, "enable_gqa")) {
      key = repeated_heads(c, key, b.dims(query));
      value = repeated_heads(c, value, b.dims(query));
    }
    hlo::Dims transposed = hlo::iota_dims(b.rank(key));
    std::swap(transposed[b.rank(key) - 2], transposed[b.rank(key) - 1]);
    hlo::Value scores = detail::matmul(c, call, query, b.transpose(key, transposed));
    scores = b.multiply(scores, c.full_like(scores, scale(c, call, b.dims(query).back())));
    if (call.has("attn_mask")) scores = masked(c, call, scores, c.tensor(call, "attn_mask"));
    if (c.boolean(call, "is_causal")) scores = masked(c, call, scores, causal_mask(c, scores));
    const hlo::Value weights = detail::safe_softmax(c, scores, b.rank(scores) - 1);
    return c.to_result(call, detail::matmul(c, call, b.convert(weights, b.dtype(value)), value));
  }

 private:
  static constexpr auto scale(auto& c, const Call& call, std::int64_t width) -> double {
    return call.has("scale") ? c.real(call, "scale") : 1.0 / square_root(static_cast<double>(width));
  }
  /// By Newton's method, from above: std::sqrt is no constant expression. Needs x >= 1.
  static constexpr auto square_root(double x) -> double {
    double root = x;
    while (true) {
      const double next = (root + x / root) / 2;
      if (!(next < root)) return root;
      root = next;
    }
  }
  /// Each head of `x` as often as the query has heads for it.
  static constexpr auto repeated_heads(auto& c, hlo::Value x, const hlo::Dims& query) -> hlo::Value {
    auto& b = c.builder();
    const std::size_t heads = b.rank(x) - 3;
    hlo::Dims result = b.dims(x), spread = result, places;
    if (result[heads] == 0 || query[query.size() - 3] % result[heads] != 0) return x;
    const std::int64_t repeats = query[query.size() - 3] / result[heads];
    spread.insert(heads + 1, repeats);
    for (std::size_t d = 0; d < b.rank(x); ++d) places.push_back(static_cast<std::int64_t>(d > heads ? d + 1 : d));
    result[heads] *= repeats;
    return b.reshape(b.broadcast_in_dim(x, spread, places), result);
  }
  static constexpr auto masked(auto& c, const Call& call, hlo::Value scores, hlo::Value mask) -> hlo::Value {
    auto& b = c.builder();
    if (!mask.valid()) return mask;
    if (b.dtype(mask) != DType::boolean)
      return b.add(scores, c.broadcast_to(call, b.convert(mask, b.dtype(scores)), b.dims(scores)));
    const hlo::Value hidden = b.broadcast(b.lowest(b.dtype(scores)), b.dims(scores));
    return b.select(c.broadcast_to(call, mask, b.dims(scores)), scores, hidden);
  }
  /// Row i sees columns 0 to i.
  static constexpr auto causal_mask(auto& c, hlo::Value scores) -> hlo::Value {
    auto& b = c.builder();
    const std::size_t rank = b.rank(scores);
    const hlo::Dims sizes{b.dims(scores)[rank - 2], b.dims(scores)[rank - 1]};
    const hlo::Shape matrix{DType::i32, sizes};
    return b.compare(b.iota(matrix, 0), b.iota(matrix, 1), hlo::Direction::ge);
  }
};

/// The lowerings of this file.
using AttentionLowerings = lowerings<LowerAttention>;

}  // namespace fxpass
