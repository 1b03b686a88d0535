// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/linear_algebra.hpp>
#include <fxpass/lower/memory.hpp>
#include <fxpass/lower/reductions.hpp>
#include <fxpass/lower/sorting.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

/// @file
/// Factors of matrices, and what is computed by them: Cholesky's, LU, QR; inverses, determinants, solutions.
///
/// HLO has Cholesky's factor and solutions of triangular systems. LU and QR are loops over the columns, as LAPACK's
/// unblocked algorithms: pivots, and the signs of reflections, are those of eager. Where eager refuses a matrix for what is
/// in it (one that is singular, or not positive definite), infinities and NaN come out.

namespace fxpass {

namespace detail {

/// The last two dimensions exchanged, complex numbers conjugated.
constexpr auto adjoint_of(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid() || b.rank(x) < 2) return x;
  hlo::Dims order = hlo::iota_dims(b.rank(x));
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return LowerConjugate::conjugate(c, b.transpose(x, order));
}
/// A size of a matrix: `from_end` 2 for rows, 1 for columns.
constexpr auto size_from_end(auto& c, hlo::Value x, std::size_t from_end) -> std::int64_t {
  const hlo::Dims dims = c.builder().dims(x);
  return dims.size() < from_end ? 1 : dims[dims.size() - from_end];
}
/// What stands before the last two sizes.
constexpr auto batch_of(auto& c, hlo::Value x) -> hlo::Dims {
  const hlo::Dims dims = c.builder().dims(x);
  return dims.view().first(dims.size() < 2 ? 0 : dims.size() - 2);
}
/// `batch` with two sizes behind it.
[[nodiscard]] constexpr auto matrices(hlo::Dims batch, std::int64_t rows, std::int64_t columns) -> hlo::Dims {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}
/// All matrices in one list.
constexpr auto flat_batch(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const hlo::Dims batch = batch_of(c, x);
  const std::int64_t count = hlo::Shape{DType::i64, batch}.element_count();
  return b.reshape(x, {count, size_from_end(c, x, 2), size_from_end(c, x, 1)});
}
/// The part of matrices where columns less rows compare so with `diagonal`; zero elsewhere.
constexpr auto triangle_of(auto& c, hlo::Value x, hlo::Direction how, std::int64_t diagonal = 0) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const hlo::Shape shape{DType::i64, b.dims(x)};
  const auto last = static_cast<std::int64_t>(b.rank(x)) - 1;
  const hlo::Value distance = b.subtract(b.iota(shape, last), b.iota(shape, last - 1));
  return b.select(b.compare(distance, c.full_like(distance, diagonal), how), x, c.full_like(x, 0));
}
/// Ones on the diagonal of matrices.
constexpr auto identity_of(auto& c, DType type, const hlo::Dims& dims) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Shape shape{DType::i64, dims};
  const auto last = static_cast<std::int64_t>(dims.size()) - 1;
  return b.convert(b.compare(b.iota(shape, last - 1), b.iota(shape, last), hlo::Direction::eq), type);
}
/// The diagonals of square matrices, or of those cut to squares.
constexpr auto diagonals_of(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  if (!x.valid()) return x;
  const hlo::Value on = triangle_of(c, x, hlo::Direction::eq);
  const std::int64_t rows = size_from_end(c, x, 2), columns = size_from_end(c, x, 1);
  const auto last = static_cast<std::int64_t>(b.rank(x)) - 1;
  return reduce(c, on, {rows < columns ? last : last - 1}, hlo::Opcode::add);
}
/// Whether eager takes the right side of a system as vectors: one for each matrix.
constexpr auto is_vector_side(auto& c, hlo::Value a, hlo::Value side) -> bool {
  auto& b = c.builder();
  if (b.rank(side) == 1) return true;
  hlo::Dims vectors = b.dims(a);
  if (vectors.empty()) return false;
  vectors.erase(vectors.size() - 1);
  return b.rank(a) - 1 == b.rank(side) && b.dims(side) == vectors;
}
/// Both with the batches that they broadcast to.
constexpr void with_one_batch(auto& c, const Call& call, hlo::Value& a, hlo::Value& side) {
  const hlo::Dims batch = c.common_dims(call, batch_of(c, a), batch_of(c, side));
  a = c.broadcast_to(call, a, matrices(batch, size_from_end(c, a, 2), size_from_end(c, a, 1)));
  side = c.broadcast_to(call, side, matrices(batch, size_from_end(c, side, 2), size_from_end(c, side, 1)));
}

/// A loop over the columns of matrices: `step(column, state)` gives the state anew.
template <class Step>
constexpr auto loop_over_columns(auto& c, std::int64_t count, const Pool<hlo::Value>& init, Step step) -> Pool<hlo::Value> {
  auto& b = c.builder();
  Pool<hlo::Value> all;
  all.push_back(b.constant(DType::i64, 0));
  all.append(init.view());
  const hlo::Value first = b.tuple(all.view());
  if (!first.valid()) return {};
  const hlo::ShapeId shape = b.shape_id(first);
  const hlo::ComputationId condition = b.computation("has_columns_left", [&] {
    return b.compare(b.get_tuple_element(b.parameter(shape), 0), b.constant(DType::i64, count), hlo::Direction::lt);
  });
  const hlo::ComputationId body = b.computation("at_column", [&] {
    const hlo::Value now = b.parameter(shape);
    Pool<hlo::Value> state, next;
    for (std::uint32_t i = 0; i < init.size(); ++i) state.push_back(b.get_tuple_element(now, i + 1));
    const hlo::Value column = b.get_tuple_element(now, 0);
    next.push_back(b.add(column, b.constant(DType::i64, 1)));
    next.append(step(column, state).view());
    return b.tuple(next.view());
  });
  const hlo::Value last = b.while_loop(first, condition, body);
  Pool<hlo::Value> results;
  for (std::uint32_t i = 0; i < init.size(); ++i) results.push_back(b.get_tuple_element(last, i + 1));
  return results;
}
/// Sizes of numbers by which pivots are chosen: of complex ones the sum of both parts' sizes, as in LAPACK.
constexpr auto pivot_size(auto& c, hlo::Value x) -> hlo::Value {
  auto& b = c.builder();
  return is_complex(b.dtype(x)) ? b.add(b.abs(b.real(x)), b.abs(b.imag(x))) : b.abs(x);
}

/// L and U of a list of matrices in one, the pivots (the row that each row was exchanged with, from 1 on), and the first
/// column that has a pivot of 0, from 1 on.
struct LuFactors {
  hlo::Value lu;
  hlo::Value pivots;
  hlo::Value info;
};
constexpr auto lu_factors(auto& c, hlo::Value given, bool pivot) -> LuFactors {
  auto& b = c.builder();
  const hlo::Value a = flat_batch(c, given);
  if (!a.valid()) return {};
  const hlo::Dims batch = batch_of(c, given), whole = b.dims(a);
  const std::int64_t count = whole[0], rows = whole[1], columns = whole[2], steps = rows < columns ? rows : columns;
  Pool<hlo::Value> init;
  init.push_back(a);
  init.push_back(c.full({DType::i32, {count, steps}}, 0));
  init.push_back(c.full({DType::i32, {count}}, 0));
  const auto step = [&](hlo::Value column, const Pool<hlo::Value>& state) {
    const hlo::Value x = state[0];
    const hlo::Shape places{DType::i64, whole};
    const auto everywhere = [&](hlo::Value scalar) { return b.broadcast(scalar, whole); };
    const hlo::Value row = b.iota(places, 1), at = b.iota(places, 2), now = everywhere(column);
    const auto is = [&](hlo::Value v, hlo::Value w, hlo::Direction how) { return b.compare(v, w, how); };
    const auto pick = [&](hlo::Value mask, std::int64_t dim) {  // the one that the mask leaves, for all
      const hlo::Value sum = reduce(c, b.select(mask, x, c.full_like(x, 0)), {dim}, hlo::Opcode::add);
      return b.broadcast_in_dim(sum, whole, {0, dim == 1 ? 2 : 1});
    };
    const hlo::Value this_column = pick(is(at, now, hlo::Direction::eq), 2);
    hlo::Value chosen = now;  // row
    if (pivot) {
      const hlo::Value size = pivot_size(c, this_column);
      const hlo::Value open = b.select(is(row, now, hlo::Direction::ge), size, c.full_like(size, -1.0));
      const auto best = extreme_along(c, open, 1, hlo::Opcode::maximum);
      chosen = b.broadcast_in_dim(b.reshape(best.place, {count, columns}), whole, {0, 2});
    }
    const hlo::Value is_chosen = is(row, chosen, hlo::Direction::eq), is_now = is(row, now, hlo::Direction::eq);
    const hlo::Value top = pick(is_chosen, 1), bottom = pick(is_now, 1);
    const hlo::Value swapped = b.select(is_now, top, b.select(is_chosen, bottom, x));
    const auto pick_of = [&](hlo::Value from, hlo::Value mask, std::int64_t dim) {
      const hlo::Value sum = reduce(c, b.select(mask, from, c.full_like(from, 0)), {dim}, hlo::Opcode::add);
      return b.broadcast_in_dim(sum, whole, {0, dim == 1 ? 2 : 1});
    };
    const hlo::Value head = pick_of(top, is(at, now, hlo::Direction::eq), 2);
    const hlo::Value is_zero = is(head, c.full_like(head, 0), hlo::Direction::eq);
    const hlo::Value swapped_column = pick_of(swapped, is(at, now, hlo::Direction::eq), 2);
    const hlo::Value ratio = b.divide(swapped_column, b.select(is_zero, c.full_like(head, 1), head));
    const hlo::Value is_below = is(row, now, hlo::Direction::gt);
    const hlo::Value rest = b.subtract(swapped, b.multiply(ratio, top));
    const hlo::Value right = b.and_(is_below, is(at, now, hlo::Direction::gt));
    const hlo::Value left = b.and_(is_below, is(at, now, hlo::Direction::eq));
    Pool<hlo::Value> next;
    next.push_back(b.select(right, rest, b.select(left, ratio, swapped)));
    const auto first_of = [&](hlo::Value v) {
      return b.reshape(b.slice(v, {0, 0, 0}, {count, 1, 1}, {1, 1, 1}), {count});
    };
    const hlo::Value number = b.convert(b.add(first_of(chosen), c.full({DType::i64, {count}}, 1)), DType::i32);
    const hlo::Dims list{count, steps};
    const hlo::Value is_place = is(b.iota({DType::i64, list}, 1), b.broadcast(column, list), hlo::Direction::eq);
    next.push_back(b.select(is_place, b.broadcast_in_dim(number, list, {0}), state[1]));
    const hlo::Value none = is(state[2], c.full_like(state[2], 0), hlo::Direction::eq);
    const hlo::Value here = b.broadcast(b.convert(b.add(column, b.constant(DType::i64, 1)), DType::i32), {count});
    next.push_back(b.select(b.and_(none, first_of(is_zero)), here, state[2]));
    return next;
  };
  Pool<hlo::Value> done = init;
  if (steps != 0 && count != 0) done = loop_over_columns(c, steps, init, step);
  if (done.size() != 3 || !done[0].valid()) return {};
  hlo::Dims of_pivots = batch;
  of_pivots.push_back(steps);
  return {b.reshape(done[0], b.dims(given)), b.reshape(done[1], of_pivots), b.reshape(done[2], batch)};
}

/// The row of the matrix that each row of L times U is: the pivots' exchanges, done one after another. [batch, rows]
constexpr auto pivoted_rows(auto& c, hlo::Value pivots, std::int64_t rows) -> hlo::Value {
  auto& b = c.builder();
  if (!pivots.valid()) return pivots;
  const hlo::Dims whole = b.dims(pivots);
  const std::int64_t steps = whole.back();
  hlo::Dims batch = whole;
  batch.erase(batch.size() - 1);
  const std::int64_t count = hlo::Shape{DType::i64, batch}.element_count();
  const hlo::Dims list{count, rows};
  const hlo::Value from = b.reshape(b.convert(pivots, DType::i64), {count, steps});
  Pool<hlo::Value> init;
  init.push_back(b.iota({DType::i64, list}, 1));
  init.push_back(from);
  const auto step = [&](hlo::Value column, const Pool<hlo::Value>& state) {
    const hlo::Value order = state[0], place = b.iota({DType::i64, list}, 1), now = b.broadcast(column, list);
    const hlo::Dims of_pivots{count, steps};
    const auto pick = [&](hlo::Value values, hlo::Value mask) {
      const hlo::Value sum = reduce(c, b.select(mask, values, c.full_like(values, 0)), {1}, hlo::Opcode::add);
      return b.broadcast_in_dim(sum, list, {0});
    };
    const hlo::Value is_this =
        b.compare(b.iota({DType::i64, of_pivots}, 1), b.broadcast(column, of_pivots), hlo::Direction::eq);
    const hlo::Value other = b.subtract(pick(state[1], is_this), c.full({DType::i64, list}, 1));
    const hlo::Value is_now = b.compare(place, now, hlo::Direction::eq), is_other = b.compare(place, other, hlo::Direction::eq);
    Pool<hlo::Value> next;
    next.push_back(b.select(is_now, pick(order, is_other), b.select(is_other, pick(order, is_now), order)));
    next.push_back(state[1]);
    return next;
  };
  Pool<hlo::Value> done = init;
  if (steps != 0 && count != 0) done = loop_over_columns(c, steps, init, step);
  if (done.size() != 2) return {};
  batch.push_back(rows);
  return b.reshape(done[0], batch);
}
/// The matrix P with P L U = A: ones where its column's row is the row's.
constexpr auto permutation_matrix(auto& c, hlo::Value order, DType type) -> hlo::Value {
  auto& b = c.builder();
  if (!order.valid()) return order;
  hlo::Dims whole = b.dims(order);
  const auto rank = static_cast<std::int64_t>(whole.size());
  whole.push_back(whole.back());
  hlo::Dims kept = hlo::iota_dims(whole.size());
  kept.erase(static_cast<std::size_t>(rank) - 1);
  const hlo::Value row = b.iota({DType::i64, whole}, rank - 1);
  return b.convert(b.compare(b.broadcast_in_dim(order, whole, kept), row, hlo::Direction::eq), type);
}

/// op(a)^-1 side, or side op(a)^-1, for triangular `a`.
constexpr auto solve_triangular(auto& c, hlo::Value a, hlo::Value side, bool left, bool lower, bool unit,
                                hlo::TriangularTranspose how = hlo::TriangularTranspose::none) -> hlo::Value {
  auto& b = c.builder();
  if (!a.valid() || !side.valid()) return {};
  if (b.shape(side).element_count() == 0) return side;
  return b.triangular_solve(a, side, left, lower, unit, how);
}
/// The solution of A X = side by the factors of A, whose rows are in the order `order`.
constexpr auto solve_by_lu(auto& c, hlo::Value lu, hlo::Value pivots, hlo::Value side) -> hlo::Value {
  auto& b = c.builder();
  if (!lu.valid() || !pivots.valid() || !side.valid()) return {};
  const hlo::Value permutation = permutation_matrix(c, pivoted_rows(c, pivots, size_from_end(c, lu, 1)), b.dtype(lu));
  const std::size_t rank = b.rank(side);
  hlo::DotDims dims{{static_cast<std::int64_t>(rank) - 2}, {static_cast<std::int64_t>(rank) - 2}, {}, {}};
  dims.lhs_batch = dims.rhs_batch = hlo::iota_dims(rank - 2);
  const hlo::Value sorted = b.dot_general(permutation, side, dims, b.dtype(side), hlo::Precision::highest);
  return solve_triangular(c, lu, solve_triangular(c, lu, sorted, true, true, true), true, false, false);
}
/// The solution of A^H X = side: by U^H, L^H, and the rows put back.
constexpr auto solve_adjoint_by_lu(auto& c, hlo::Value lu, hlo::Value pivots, hlo::Value side) -> hlo::Value {
  auto& b = c.builder();
  if (!lu.valid() || !pivots.valid() || !side.valid()) return {};
  constexpr auto adjoint = hlo::TriangularTranspose::adjoint;
  const hlo::Value half = solve_triangular(c, lu, side, true, false, false, adjoint);
  const hlo::Value sorted = solve_triangular(c, lu, half, true, true, true, adjoint);
  const hlo::Value permutation = permutation_matrix(c, pivoted_rows(c, pivots, size_from_end(c, lu, 1)), b.dtype(lu));
  const std::size_t rank = b.rank(side);
  hlo::DotDims dims{{static_cast<std::int64_t>(rank) - 1}, {static_cast<std::int64_t>(rank) - 2}, {}, {}};
  dims.lhs_batch = dims.rhs_batch = hlo::iota_dims(rank - 2);
  return b.dot_general(permutation, sorted, dims, b.dtype(side), hlo::Precision::highest);
}
/// A^-1 side, and where a pivot of A is 0.
struct Solution {
  hlo::Value value;
  hlo::Value info;
};
constexpr auto solve(auto& c, const Call& call, hlo::Value a, hlo::Value side) -> Solution {
  if (!a.valid() || !side.valid()) return {};
  with_one_batch(c, call, a, side);
  const LuFactors factors = lu_factors(c, a, true);
  return {solve_by_lu(c, factors.lu, factors.pivots, side), factors.info};
}
constexpr auto inverse(auto& c, const Call& call, hlo::Value a) -> Solution {
  if (!a.valid()) return {};
  return solve(c, call, a, identity_of(c, c.builder().dtype(a), c.builder().dims(a)));
}

/// Sign and logarithm of the size of a determinant, and the determinant itself.
struct Determinant {
  hlo::Value value;
  hlo::Value sign;
  hlo::Value log_size;
};
constexpr auto determinant(auto& c, const LuFactors& factors) -> Determinant {
  auto& b = c.builder();
  if (!factors.lu.valid()) return {};
  const hlo::Value diagonal = diagonals_of(c, factors.lu);
  const auto last = static_cast<std::int64_t>(b.rank(diagonal)) - 1;
  const DType type = b.dtype(diagonal);
  // Each exchange of two rows turns the sign around.
  const hlo::Value place = b.iota(b.shape(factors.pivots), last);
  const hlo::Value moved = b.compare(factors.pivots, b.add(place, c.full_like(place, 1)), hlo::Direction::ne);
  const hlo::Value turns = b.select(moved, c.full({type, b.dims(moved)}, -1), c.full({type, b.dims(moved)}, 1));
  const hlo::Value parity = reduce(c, turns, {last}, hlo::Opcode::multiply);
  const hlo::Value value = b.multiply(reduce(c, diagonal, {last}, hlo::Opcode::multiply), parity);
  if (is_complex(type)) return {value, {}, {}};
  const hlo::Value sign = b.multiply(reduce(c, b.sign(diagonal), {last}, hlo::Opcode::multiply), parity);
  return {value, sign, reduce(c, b.log(b.abs(diagonal)), {last}, hlo::Opcode::add)};
}

/// R above the diagonal and the reflections that make it below, and their factors, as LAPACK's geqrf has them.
struct Reflections {
  hlo::Value a;
  hlo::Value tau;
};
constexpr auto reflections_of(auto& c, hlo::Value given) -> Reflections {
  auto& b = c.builder();
  const hlo::Value a = flat_batch(c, given);
  if (!a.valid()) return {};
  const hlo::Dims whole = b.dims(a);
  const std::int64_t count = whole[0], steps = whole[1] < whole[2] ? whole[1] : whole[2];
  const DType type = b.dtype(a);
  const hlo::Dims list{count, steps};
  Pool<hlo::Value> init;
  init.push_back(a);
  init.push_back(c.full({type, list}, 0));
  const auto step = [&](hlo::Value column, const Pool<hlo::Value>& state) {
    const hlo::Value x = state[0];
    const hlo::Shape places{DType::i64, whole};
    const hlo::Value row = b.iota(places, 1), at = b.iota(places, 2), now = b.broadcast(column, whole);
    const hlo::Value is_column = b.compare(at, now, hlo::Direction::eq);
    const auto sum_over = [&](hlo::Value v, hlo::Value mask, std::int64_t dim) {
      return reduce(c, b.select(mask, v, c.full_like(v, 0)), {dim}, hlo::Opcode::add);
    };
    const auto spread_rows = [&](hlo::Value v) { return b.broadcast_in_dim(v, whole, {0, 1}); };
    const auto spread_one = [&](hlo::Value v) { return b.broadcast_in_dim(v, whole, {0}); };
    const hlo::Value this_column = spread_rows(sum_over(x, is_column, 2));
    const hlo::Value is_below = b.compare(row, now, hlo::Direction::gt), is_at = b.compare(row, now, hlo::Direction::eq);
    const auto one_of = [&](hlo::Value v) { return b.reshape(b.slice(v, {0, 0, 0}, {count, whole[1], 1}, {1, 1, 1}), {count, whole[1]}); };
    const hlo::Value below = one_of(b.select(is_below, this_column, c.full_like(x, 0)));
    const hlo::Value head = reduce(c, one_of(b.select(is_at, this_column, c.full_like(x, 0))), {1}, hlo::Opcode::add);
    // Scaled by the largest, so that no square overflows.
    const hlo::Value largest = b.maximum(reduce(c, b.abs(below), {1}, hlo::Opcode::maximum), b.abs(head));
    const hlo::Value scale = b.select(b.compare(largest, c.full_like(largest, 0), hlo::Direction::gt), largest, c.full_like(largest, 1));
    const hlo::Value scaled = b.divide(below, b.broadcast_in_dim(scale, b.dims(below), {0}));
    const hlo::Value rest = reduce(c, b.multiply(scaled, scaled), {1}, hlo::Opcode::add);
    const hlo::Value small_head = b.divide(head, scale);
    const hlo::Value size = b.multiply(scale, b.sqrt(b.add(rest, b.multiply(small_head, small_head))));
    const hlo::Value is_done = b.compare(reduce(c, b.abs(below), {1}, hlo::Opcode::maximum), c.full_like(head, 0), hlo::Direction::eq);
    const hlo::Value opposite = b.select(b.compare(head, c.full_like(head, 0), hlo::Direction::ge), b.negate(size), size);
    const hlo::Value beta = b.select(is_done, head, opposite);
    const hlo::Value one = c.full_like(head, 1), zero = c.full_like(head, 0);
    const hlo::Value tau = b.select(is_done, zero, b.divide(b.subtract(beta, head), b.select(is_done, one, beta)));
    const hlo::Value divisor = b.select(is_done, one, b.subtract(head, beta));
    const hlo::Value v = b.select(is_below, b.divide(this_column, spread_one(divisor)),
                                  b.convert(is_at, type));
    // x - tau v (v^T x) right of the column.
    const hlo::Value product = reduce(c, b.multiply(v, x), {1}, hlo::Opcode::add);
    const hlo::Value change =
        b.multiply(spread_one(tau), b.multiply(v, b.broadcast_in_dim(product, whole, {0, 2})));
    const hlo::Value is_right = b.compare(at, now, hlo::Direction::gt);
    hlo::Value next_x = b.select(is_right, b.subtract(x, change), x);
    next_x = b.select(b.and_(is_column, is_at), spread_one(beta), next_x);
    next_x = b.select(b.and_(is_column, is_below), v, next_x);
    const hlo::Value is_place = b.compare(b.iota({DType::i64, list}, 1), b.broadcast(column, list), hlo::Direction::eq);
    Pool<hlo::Value> next;
    next.push_back(next_x);
    next.push_back(b.select(is_place, b.broadcast_in_dim(tau, list, {0}), state[1]));
    return next;
  };
  Pool<hlo::Value> done = init;
  if (steps != 0 && count != 0) done = loop_over_columns(c, steps, init, step);
  if (done.size() != 2) return {};
  hlo::Dims of_tau = batch_of(c, given);
  of_tau.push_back(steps);
  return {b.reshape(done[0], b.dims(given)), b.reshape(done[1], of_tau)};
}
/// The product of the reflections with `side`: H1 H2 ... side, or transposed ... H2 H1 side.
constexpr auto reflect(auto& c, const Reflections& by, hlo::Value side, bool transposed) -> hlo::Value {
  auto& b = c.builder();
  const hlo::Value a = flat_batch(c, by.a), x = flat_batch(c, side);
  if (!a.valid() || !x.valid() || !by.tau.valid()) return {};
  const std::int64_t steps = b.dims(by.tau).back(), count = b.dims(a)[0], rows = b.dims(a)[1];
  const DType type = b.dtype(x);
  const hlo::Dims list{count, steps}, of_a = b.dims(a), of_x = b.dims(x), vectors{count, rows};
  Pool<hlo::Value> init;
  init.push_back(x);
  init.push_back(a);
  init.push_back(b.reshape(by.tau, list));
  const auto step = [&](hlo::Value number, const Pool<hlo::Value>& state) {
    const hlo::Value column = transposed ? number : b.subtract(b.constant(DType::i64, steps - 1), number);
    const hlo::Value is_column =
        b.compare(b.iota({DType::i64, of_a}, 2), b.broadcast(column, of_a), hlo::Direction::eq);
    const hlo::Value values = reduce(c, b.select(is_column, state[1], c.full_like(state[1], 0)), {2}, hlo::Opcode::add);
    const hlo::Value row = b.iota({DType::i64, vectors}, 1), now = b.broadcast(column, vectors);
    const hlo::Value v = b.select(b.compare(row, now, hlo::Direction::gt), values,
                                  b.convert(b.compare(row, now, hlo::Direction::eq), type));
    const hlo::Value is_place = b.compare(b.iota({DType::i64, list}, 1), b.broadcast(column, list), hlo::Direction::eq);
    const hlo::Value tau = reduce(c, b.select(is_place, state[2], c.full_like(state[2], 0)), {1}, hlo::Opcode::add);
    const hlo::Value wide = b.broadcast_in_dim(v, of_x, {0, 1});
    const hlo::Value product = reduce(c, b.multiply(wide, state[0]), {1}, hlo::Opcode::add);
    const hlo::Value change = b.multiply(b.broadcast_in_dim(tau, of_x, {0}),
                                         b.multiply(wide, b.broadcast_in_dim(product, of_x, {0, 2})));
    Pool<hlo::Value> next;
    next.push_back(b.subtract(state[0], change));
    next.push_back(state[1]);
    next.push_back(state[2]);
    return next;
  };
  Pool<hlo::Value> done = init;
  if (steps != 0 && count != 0) done = loop_over_columns(c, steps, init, step);
  return done.empty() ? hlo::Value{} : b.reshape(done[0], b.dims(side));
}

}  // namespace detail

/// L with L L^H = A, or its adjoint. Of A the lower triangle is read, or the upper one.
struct LowerCholesky {
  static constexpr std::array<std::string_view, 2> op{"aten.cholesky", "aten.linalg_cholesky"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return factor(c, call); }

  /// The factor of `self`, the upper one if `upper` says so.
  static constexpr auto factor(auto& c, const Call& call) -> hlo::Value {
    hlo::Value a = c.tensor(call, "self");
    const bool upper = c.boolean(call, "upper");
    if (!a.valid() || c.builder().shape(a).element_count() == 0) return a;
    if (upper) a = detail::adjoint_of(c, a);
    const hlo::Value l = detail::triangle_of(c, c.builder().cholesky(a, true), hlo::Direction::le);
    return upper ? detail::adjoint_of(c, l) : l;
  }
};

/// The same with a number: 0, or the size of the first square in the upper left corner that is not positive definite, which
/// elimination without pivots tells.
struct LowerCholeskyEx {
  static constexpr std::string_view op = "aten.linalg_cholesky_ex";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value given = c.tensor(call, "self"), l = LowerCholesky::factor(c, call);
    if (!l.valid()) return {};
    const hlo::Value a = c.boolean(call, "upper") ? detail::adjoint_of(c, given) : given;
    const hlo::Value below = detail::triangle_of(c, a, hlo::Direction::lt);
    const hlo::Value whole = b.add(detail::triangle_of(c, a, hlo::Direction::le), detail::adjoint_of(c, below));
    hlo::Value pivots = detail::diagonals_of(c, detail::lu_factors(c, whole, false).lu);
    if (is_complex(b.dtype(pivots))) pivots = b.real(pivots);
    const auto last = static_cast<std::int64_t>(b.rank(pivots)) - 1;
    const hlo::Value is_good = b.compare(pivots, c.full_like(pivots, 0), hlo::Direction::gt);
    const hlo::Value place = b.iota({DType::i64, b.dims(pivots)}, last), none = c.full_like(place, b.dims(pivots).back());
    const hlo::Value first = detail::reduce(c, b.select(is_good, none, place), {last}, hlo::Opcode::minimum);
    const hlo::Value all = b.compare(first, c.full_like(first, b.dims(pivots).back()), hlo::Direction::eq);
    const hlo::Value number = b.add(first, c.full_like(first, 1));
    return c.members(call, {l, b.select(all, c.full_like(first, 0), number)});
  }
};

/// A^-1 B for A = L L^H, and A^-1.
struct LowerCholeskySolve {
  static constexpr std::array<std::string_view, 2> op{"aten.cholesky_solve", "aten.cholesky_inverse"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const bool is_inverse = call.schema().base() == "aten.cholesky_inverse", upper = c.boolean(call, "upper");
    hlo::Value l = c.tensor(call, is_inverse ? "self" : "input2");
    if (!l.valid()) return l;
    hlo::Value side = is_inverse ? detail::identity_of(c, b.dtype(l), b.dims(l)) : c.tensor(call, "self");
    if (!side.valid()) return side;
    detail::with_one_batch(c, call, l, side);
    if (upper) l = detail::adjoint_of(c, l);
    const hlo::Value half = detail::solve_triangular(c, l, side, true, true, false);
    return detail::solve_triangular(c, l, half, true, true, false, hlo::TriangularTranspose::adjoint);
  }
};

/// Solutions of triangular systems.
struct LowerSolveTriangular {
  static constexpr std::string_view op = "aten.linalg_solve_triangular";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    hlo::Value a = c.tensor(call, "self"), side = c.tensor(call, "B");
    if (!a.valid() || !side.valid()) return {};
    detail::with_one_batch(c, call, a, side);
    return detail::solve_triangular(c, a, side, c.boolean(call, "left"), !c.boolean(call, "upper"),
                                    c.boolean(call, "unitriangular"));
  }
};
struct LowerTriangularSolve {
  static constexpr std::string_view op = "aten.triangular_solve";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    hlo::Value a = c.tensor(call, "A"), side = c.tensor(call, "self");
    if (!a.valid() || !side.valid()) return {};
    detail::with_one_batch(c, call, a, side);
    const auto how = c.boolean(call, "transpose") ? hlo::TriangularTranspose::transpose : hlo::TriangularTranspose::none;
    return c.members(call, {detail::solve_triangular(c, a, side, true, !c.boolean(call, "upper"),
                                                     c.boolean(call, "unitriangular"), how),
                            a});
  }
};

/// L and U in one matrix, with pivots, and where a pivot is 0.
struct LowerLuFactor {
  static constexpr std::array<std::string_view, 3> op{"aten.linalg_lu_factor", "aten.linalg_lu_factor_ex",
                                                      "aten._lu_with_info"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value a = c.tensor(call, call.schema().find("A") ? "A" : "self");
    if (!c.boolean(call, "pivot")) {
      c.unsupported(call, "without pivots, which eager has on other devices than a CPU");
      return {};
    }
    const auto factors = detail::lu_factors(c, a, true);
    if (!factors.lu.valid()) return {};
    return c.members(call, {factors.lu, factors.pivots, factors.info});
  }
};

/// `torch.functional.lu(A, pivot, get_infos)`
struct LowerPythonLu {
  static constexpr std::string_view op = "torch.functional.lu";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto a = c.python_argument(call, 0, "A"), pivot = c.python_argument(call, 1, "pivot");
    if (!a || (pivot && !(pivot->is(ArgumentKind::boolean) && pivot->boolean()))) {
      c.unsupported(call, "without pivots, which eager has on other devices than a CPU");
      return {};
    }
    const auto factors = detail::lu_factors(c, c.tensor(call, *a, "A"), true);
    return factors.lu.valid() ? c.members(call, {factors.lu, factors.pivots, factors.info}) : Pool<hlo::Value>();
  }
};

namespace detail {
/// P, L and U.
constexpr auto unpacked(auto& c, const Call& call, hlo::Value lu, hlo::Value pivots) -> Pool<hlo::Value> {
  auto& b = c.builder();
  if (!lu.valid() || !pivots.valid()) return {};
  const std::int64_t rows = size_from_end(c, lu, 2), columns = size_from_end(c, lu, 1);
  const std::int64_t least = rows < columns ? rows : columns;
  const auto last = static_cast<std::int64_t>(b.rank(lu)) - 1;
  const hlo::Value left = b.slice_in_dim(lu, last, 0, least), right = b.slice_in_dim(lu, last - 1, 0, least);
  const hlo::Value l = b.add(triangle_of(c, left, hlo::Direction::lt), identity_of(c, b.dtype(lu), b.dims(left)));
  const hlo::Value p = permutation_matrix(c, pivoted_rows(c, pivots, rows), b.dtype(lu));
  // PyTorch's P is that of P L U = A, whose row of each column is the one that was there.
  return c.members(call, {p, l, triangle_of(c, right, hlo::Direction::ge)});
}
}  // namespace detail

struct LowerLu {
  static constexpr std::string_view op = "aten.linalg_lu";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    if (!c.boolean(call, "pivot")) {
      c.unsupported(call, "without pivots, which eager has on other devices than a CPU");
      return {};
    }
    const auto factors = detail::lu_factors(c, c.tensor(call, "A"), true);
    return detail::unpacked(c, call, factors.lu, factors.pivots);
  }
};
struct LowerLuUnpack {
  static constexpr std::string_view op = "aten.lu_unpack";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    if (!c.boolean(call, "unpack_data") || !c.boolean(call, "unpack_pivots")) {
      c.unsupported(call, "of a part alone");
      return {};
    }
    return detail::unpacked(c, call, c.tensor(call, "LU_data"), c.tensor(call, "LU_pivots"));
  }
};

/// Solutions by such factors.
struct LowerLuSolve {
  static constexpr std::array<std::string_view, 2> op{"aten.lu_solve", "aten.linalg_lu_solve"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const bool is_old = call.schema().base() == "aten.lu_solve";
    hlo::Value lu = c.tensor(call, is_old ? "LU_data" : "LU"), pivots = c.tensor(call, is_old ? "LU_pivots" : "pivots");
    hlo::Value side = c.tensor(call, is_old ? "self" : "B");
    if (!lu.valid() || !pivots.valid() || !side.valid()) return {};
    // X A = B is A^H X^H = B^H, and X A^H = B is A X^H = B^H.
    const bool left = is_old || c.boolean(call, "left");
    const bool adjoint = !is_old && c.boolean(call, "adjoint") != !left;
    if (!left) side = detail::adjoint_of(c, side);
    detail::with_one_batch(c, call, lu, side);
    hlo::Dims of_pivots = detail::batch_of(c, lu);
    of_pivots.push_back(b.dims(pivots).back());
    pivots = c.broadcast_to(call, pivots, of_pivots);
    const hlo::Value x = adjoint ? detail::solve_adjoint_by_lu(c, lu, pivots, side) : detail::solve_by_lu(c, lu, pivots, side);
    return left ? x : detail::adjoint_of(c, x);
  }
};

/// A^-1 B; B may be a vector for each matrix.
struct LowerSolve {
  static constexpr std::array<std::string_view, 3> op{"aten.linalg_solve", "aten.linalg_solve_ex", "aten._linalg_solve_ex"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value a = c.tensor(call, "A");
    hlo::Value side = c.tensor(call, "B");
    if (!a.valid() || !side.valid()) return {};
    const bool left = c.boolean(call, "left"), is_vector = detail::is_vector_side(c, a, side);
    if (is_vector) {
      hlo::Dims columns = b.dims(side);
      columns.insert(left ? columns.size() : columns.size() - 1, 1);
      side = b.reshape(side, columns);
    }
    // X A = B is A^H X^H = B^H.
    const hlo::Value matrix = left ? a : detail::adjoint_of(c, a), right = left ? side : detail::adjoint_of(c, side);
    const auto x = detail::solve(c, call, matrix, right);
    const hlo::Value result = left ? x.value : detail::adjoint_of(c, x.value);
    if (!result.valid()) return {};
    // What the others decompose to has the factors of the transposed matrix beside it, which are for its gradient alone.
    if (call.schema().base() == "aten._linalg_solve_ex") return c.members(call, {result, {}, {}, x.info});
    return c.members(call, {result, x.info});
  }
};
struct LowerInverse {
  static constexpr std::array<std::string_view, 3> op{"aten.linalg_inv", "aten.inverse", "aten.linalg_inv_ex"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value a = c.tensor(call, call.schema().find("A") ? "A" : "self");
    const auto x = detail::inverse(c, call, a);
    if (!x.value.valid()) return {};
    return c.members(call, {x.value, x.info});
  }
};

struct LowerDeterminant {
  static constexpr std::array<std::string_view, 2> op{"aten.linalg_det", "aten.det"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value a = c.tensor(call, call.schema().find("A") ? "A" : "self");
    return detail::determinant(c, detail::lu_factors(c, a, true)).value;
  }
};
/// The same with the factors; `_linalg_det` and `_linalg_slogdet` are what the others decompose to.
struct LowerDeterminantFactors {
  static constexpr std::array<std::string_view, 2> op{"aten._linalg_det", "aten._linalg_slogdet"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto factors = detail::lu_factors(c, c.tensor(call, "A"), true);
    const auto d = detail::determinant(c, factors);
    if (!d.value.valid()) return {};
    if (call.schema().base() == "aten._linalg_det") return c.members(call, {d.value, factors.lu, factors.pivots});
    return c.members(call, {d.sign, d.log_size, factors.lu, factors.pivots});
  }
};
struct LowerLogDeterminant {
  static constexpr std::array<std::string_view, 3> op{"aten.linalg_slogdet", "aten.slogdet", "aten.logdet"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const hlo::Value a = c.tensor(call, call.schema().find("A") ? "A" : "self");
    const auto d = detail::determinant(c, detail::lu_factors(c, a, true));
    if (!d.value.valid()) return {};
    if (!d.sign.valid()) {
      c.unsupported(call, "of complex matrices");
      return {};
    }
    if (call.schema().base() != "aten.logdet") return c.members(call, {d.sign, d.log_size});
    // Of a negative determinant there is no logarithm.
    const hlo::Value is_negative = b.compare(d.sign, c.full_like(d.sign, 0), hlo::Direction::lt);
    const hlo::Value nan = c.full_like(d.sign, std::numeric_limits<double>::quiet_NaN());
    return c.members(call, {b.select(is_negative, nan, d.log_size)});
  }
};

/// The inverse of a tensor, the first `ind` dimensions being the rows of a matrix; and the solution of a system of such.
struct LowerTensorInverse {
  static constexpr std::string_view op = "aten.linalg_tensorinv";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "self");
    const auto rows = static_cast<std::size_t>(c.integer(call, "ind"));
    if (!x.valid() || rows > b.rank(x)) return {};
    std::int64_t size = 1;
    for (std::size_t d = 0; d < rows; ++d) size *= b.dims(x)[d];
    return b.reshape(detail::inverse(c, call, b.reshape(x, {size, size})).value, c.result_shape(call).dims);
  }
};
struct LowerTensorSolve {
  static constexpr std::string_view op = "aten.linalg_tensorsolve";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value x = c.tensor(call, "self");
    const hlo::Value side = c.tensor(call, "other");
    if (!x.valid() || !side.valid()) return {};
    if (call.has("dims")) {
      // Those dimensions last, in their order.
      const hlo::Dims moved = c.dims(call, "dims", b.rank(x));
      hlo::Dims order;
      for (std::size_t d = 0; d < b.rank(x); ++d)
        if (!moved.contains(static_cast<std::int64_t>(d))) order.push_back(static_cast<std::int64_t>(d));
      for (const std::int64_t d : c.integers(call, "dims"))
        order.push_back(static_cast<std::int64_t>(c.wrapped_dim(call, d, b.rank(x))));
      x = b.transpose(x, order);
    }
    const std::int64_t size = b.shape(side).element_count();
    const hlo::Value y = detail::solve(c, call, b.reshape(x, {size, size}), b.reshape(side, {size, 1})).value;
    return b.reshape(y, c.result_shape(call).dims);
  }
};

/// Whole powers of matrices, by squaring; negative ones are of the inverse.
struct LowerMatrixPower {
  static constexpr std::array<std::string_view, 2> op{"aten.linalg_matrix_power", "aten.matrix_power"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    hlo::Value square = c.tensor(call, "self");
    std::int64_t n = c.integer(call, "n");
    if (!square.valid()) return square;
    if (n == 0) return detail::identity_of(c, b.dtype(square), b.dims(square));
    if (n < 0) square = detail::inverse(c, call, square).value;
    hlo::Value product;
    for (n = n < 0 ? -n : n; n > 0; n /= 2) {
      if (n % 2 == 1) product = product.valid() ? detail::matmul(c, call, product, square) : square;
      if (n > 1) square = detail::matmul(c, call, square, square);
    }
    return c.to_result(call, product);
  }
};

/// Reflections, and the matrices Q and R that they are.
struct LowerReflections {
  static constexpr std::string_view op = "aten.geqrf";
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    const hlo::Value a = c.tensor(call, "self");
    if (a.valid() && is_complex(c.builder().dtype(a))) {
      c.unsupported(call, "of complex matrices");
      return {};
    }
    const auto r = detail::reflections_of(c, a);
    if (!r.a.valid()) return {};
    return c.members(call, {r.a, r.tau});
  }
};
struct LowerQr {
  static constexpr std::array<std::string_view, 2> op{"aten.linalg_qr", "aten.qr"};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const bool is_old = call.schema().base() == "aten.qr";
    const hlo::Value a = c.tensor(call, is_old ? "self" : "A");
    std::string_view mode = "reduced";
    if (is_old)
      mode = c.boolean(call, "some") ? "reduced" : "complete";
    else
      mode = call.string("mode").value_or("reduced");
    if (!a.valid()) return {};
    if (is_complex(b.dtype(a))) {
      c.unsupported(call, "of complex matrices");
      return {};
    }
    const auto reflections = detail::reflections_of(c, a);
    if (!reflections.a.valid()) return {};
    const std::int64_t rows = detail::size_from_end(c, a, 2), columns = detail::size_from_end(c, a, 1);
    const std::int64_t least = rows < columns ? rows : columns, width = mode == "complete" ? rows : least;
    const auto last = static_cast<std::int64_t>(b.rank(a)) - 1;
    hlo::Value r = detail::triangle_of(c, reflections.a, hlo::Direction::ge);
    r = b.slice_in_dim(r, last - 1, 0, mode == "complete" ? rows : least);
    if (mode == "r") return c.members(call, {c.full(c.shape_of(c.graph().values(call.id())[0]), 0), r});
    const hlo::Value eye = detail::identity_of(c, b.dtype(a), detail::matrices(detail::batch_of(c, a), rows, width));
    return c.members(call, {detail::reflect(c, reflections, eye, false), r});
  }
};
/// The columns of the product of reflections.
struct LowerHouseholderProduct {
  static constexpr std::array<std::string_view, 2> op{"aten.linalg_householder_product", "aten.orgqr"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const bool is_old = call.schema().base() == "aten.orgqr";
    const hlo::Value a = c.tensor(call, is_old ? "self" : "input"), tau = c.tensor(call, is_old ? "input2" : "tau");
    if (!a.valid() || !tau.valid()) return {};
    if (is_complex(b.dtype(a))) return c.unsupported(call, "of complex matrices");
    return detail::reflect(c, {a, tau}, detail::identity_of(c, b.dtype(a), b.dims(a)), false);
  }
};
/// The product of reflections with a matrix, from the left or the right.
struct LowerHouseholderMultiply {
  static constexpr std::string_view op = "aten.ormqr";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value a = c.tensor(call, "self"), tau = c.tensor(call, "input2"), x = c.tensor(call, "input3");
    if (!a.valid() || !tau.valid() || !x.valid()) return {};
    if (is_complex(c.builder().dtype(a))) return c.unsupported(call, "of complex matrices");
    const bool left = c.boolean(call, "left"), transposed = c.boolean(call, "transpose");
    if (left) return detail::reflect(c, {a, tau}, x, transposed);
    return detail::adjoint_of(c, detail::reflect(c, {a, tau}, detail::adjoint_of(c, x), !transposed));
  }
};

/// The lowerings of this file.
using MatrixFactorLowerings =
    lowerings<LowerCholesky, LowerCholeskyEx, LowerCholeskySolve, LowerSolveTriangular, LowerTriangularSolve, LowerLuFactor, LowerPythonLu,
              LowerLu, LowerLuUnpack, LowerLuSolve, LowerSolve, LowerInverse, LowerDeterminant, LowerDeterminantFactors,
              LowerLogDeterminant, LowerTensorInverse, LowerTensorSolve, LowerMatrixPower, LowerReflections, LowerQr, LowerHouseholderProduct,
              LowerHouseholderMultiply>;

}  // namespace fxpass
