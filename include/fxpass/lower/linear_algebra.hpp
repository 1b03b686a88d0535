// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// Products of matrices. Halves are multiplied as they are, summed in float32, and rounded once, as in eager.

namespace fxpass {

namespace detail {

/// The product of `a` and `b` with `dims`, in the type that eager sums in. Needs operands of one type.
constexpr auto dot(auto& c, hlo::Value a, hlo::Value b, const hlo::DotDims& dims) -> hlo::Value {
  return c.builder().dot_general(a, b, dims, ops::accumulate_type(c.builder().dtype(a)));
}

/// The last dimension of `a` with the next-to-last of `b`, or with its only one; the dimensions before are
/// batches, which broadcast.
constexpr auto matmul(auto& c, const Call& call, hlo::Value a, hlo::Value b) -> hlo::Value {
  auto& m = c.builder();
  if (!a.valid() || !b.valid()) return {};
  const std::size_t rank_a = m.rank(a), rank_b = m.rank(b);
  if (rank_a == 0 || rank_b == 0)
    return c.fail(call, DiagnosticCode::eager_would_raise, "needs vectors or matrices");
  const auto last_of_a = static_cast<std::int64_t>(rank_a - 1);
  // A vector or a single matrix on the right: no batches to pair.
  if (rank_b <= 2) return dot(c, a, b, {{last_of_a}, {0}, {}, {}});
  if (rank_a == 1) {
    // The vector meets each matrix: exchange the sides, so that the batches stay in front.
    return dot(c, b, a, {{static_cast<std::int64_t>(rank_b - 2)}, {0}, {}, {}});
  }
  const hlo::Dims dims_a = m.dims(a), dims_b = m.dims(b);
  const hlo::Dims batch_a = dims_a.view().first(rank_a - 2), batch_b = dims_b.view().first(rank_b - 2);
  hlo::Dims full_a = c.common_dims(call, batch_a, batch_b), full_b = full_a;
  const std::size_t batches = full_a.size();
  for (const std::size_t d : {std::size_t{2}, std::size_t{1}}) {
    full_a.push_back(dims_a[rank_a - d]);
    full_b.push_back(dims_b[rank_b - d]);
  }
  const hlo::Dims batch = hlo::iota_dims(batches);
  return dot(c, c.broadcast_to(call, a, full_a), c.broadcast_to(call, b, full_b),
             {{static_cast<std::int64_t>(batches + 1)}, {static_cast<std::int64_t>(batches)}, batch, batch});
}

/// beta * addend + alpha * product; an addend times zero is not read, so that NaN in it does not matter.
constexpr auto add_product(auto& c, const Call& call, hlo::Value addend, hlo::Value product) -> hlo::Value {
  auto& b = c.builder();
  if (!addend.valid() || !product.valid()) return {};
  const Number alpha = c.number(call, "alpha"), beta = c.number(call, "beta");
  if (!alpha.is(1)) product = b.multiply(product, c.full_like(product, alpha));
  if (beta.is(0)) return product;
  addend = b.convert(addend, b.dtype(product));
  if (!beta.is(1)) addend = b.multiply(addend, c.full_like(addend, beta));
  return b.add(c.broadcast_to(call, addend, b.dims(product)), product);
}

/// Two tensors in the type that they promote to.
constexpr auto two_of_one_type(auto& c, const Call& call, std::string_view first, std::string_view second)
    -> std::array<hlo::Value, 2> {
  const std::array<Operand, 2> given{c.operand(call, first), c.operand(call, second)};
  const DType type = c.common_dtype(call, given);
  return {c.builder().convert(given[0].value, type), c.builder().convert(given[1].value, type)};
}

}  // namespace detail

struct LowerMatmul {
  static constexpr std::string_view op = "aten.matmul";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, detail::matmul(c, call, c.tensor(call, "self"), c.tensor(call, "other")));
  }
};

template <TextConstant Name, TextConstant Right>
struct LowerProduct {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    return c.to_result(call, detail::matmul(c, call, c.tensor(call, "self"), c.tensor(call, Right.view())));
  }
};

template <TextConstant Name, TextConstant Left, TextConstant Right>
struct LowerAddProduct {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value product =
        detail::matmul(c, call, c.tensor(call, Left.view()), c.tensor(call, Right.view()));
    return c.to_result(call, detail::add_product(c, call, c.tensor(call, "self"), product));
  }
};

/// x * weight^T + bias.
struct LowerLinear {
  static constexpr std::string_view op = "aten.linear";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input"), weight = c.tensor(call, "weight");
    if (!x.valid() || !weight.valid()) return {};
    hlo::Value y = detail::dot(c, x, weight,
                               {{static_cast<std::int64_t>(b.rank(x)) - 1},
                                {static_cast<std::int64_t>(b.rank(weight)) - 1}, {}, {}});
    if (call.has("bias")) {
      const hlo::Value bias = b.convert(c.tensor(call, "bias"), b.dtype(y));
      y = b.add(y, c.broadcast_to(call, bias, b.dims(y)));
    }
    return c.to_result(call, y);
  }
};

/// beta * self + alpha * (vec1 times vec2), the outer product.
struct LowerAddOuter {
  static constexpr std::string_view op = "aten.addr";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value addend = c.tensor(call, "self"), x = c.tensor(call, "vec1"), y = c.tensor(call, "vec2");
    if (!addend.valid() || !x.valid() || !y.valid()) return {};
    const DType type = ops::accumulate_type(c.result_shape(call).dtype);
    if (type == DType::boolean) return of_bools(c, call, addend, x, y);
    const hlo::Dims dims{b.dims(x)[0], b.dims(y)[0]};
    const hlo::Value product = b.multiply(b.broadcast_in_dim(b.convert(x, type), dims, {0}),
                                          b.broadcast_in_dim(b.convert(y, type), dims, {1}));
    return c.to_result(call, detail::add_product(c, call, addend, product));
  }

 private:
  static constexpr auto of_bools(auto& c, const Call& call, hlo::Value addend, hlo::Value x, hlo::Value y) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Dims dims{b.dims(x)[0], b.dims(y)[0]};
    hlo::Value product = b.and_(b.broadcast_in_dim(x, dims, {0}), b.broadcast_in_dim(y, dims, {1}));
    if (c.number(call, "alpha").is(0)) product = c.full_like(product, 0);
    if (c.number(call, "beta").is(0)) return product;
    return b.or_(c.broadcast_to(call, addend, dims), product);
  }
};

/// beta * self + alpha * the sum of the products of all pairs of matrices.
struct LowerAddBatchedProducts {
  static constexpr std::string_view op = "aten.addbmm";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const hlo::Value x = c.tensor(call, "batch1"), y = c.tensor(call, "batch2");
    if (!x.valid() || !y.valid()) return {};
    // Summed over the batch as over the inner dimension.
    const hlo::Value transposed = c.builder().transpose(x, {1, 0, 2});
    const hlo::Value product = detail::dot(c, transposed, y, {{1, 2}, {0, 1}, {}, {}});
    return c.to_result(call, detail::add_product(c, call, c.tensor(call, "self"), product));
  }
};

/// The inner product with the first vector conjugated; along a dimension, with broadcasting.
struct LowerVectorDot {
  static constexpr std::array<std::string_view, 2> op{"aten.vdot", "aten.linalg_vecdot"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const bool is_vdot = call.schema().base() == "aten.vdot";
    auto [x, y] = c.operands(call, Meeting::common, is_vdot ? "self" : "x", is_vdot ? "other" : "y");
    if (!x.valid() || !y.valid()) return {};
    if (is_complex(b.dtype(x))) x = b.complex(b.real(x), b.negate(b.imag(x)));
    const DType type = ops::accumulate_type(b.dtype(x));
    const std::size_t dim = is_vdot ? 0 : c.dim(call, "dim", b.rank(x));
    return c.to_result(call, b.reduce(b.multiply(b.convert(x, type), b.convert(y, type)), c.scalar(type, 0),
                                      {static_cast<std::int64_t>(dim)}, b.scalar_computation(hlo::Opcode::add, type)));
  }
};

/// Each element of a tensor times the whole of another, dimension by dimension.
struct LowerKronecker {
  static constexpr std::string_view op = "aten.kron";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::two_of_one_type(c, call, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    const std::size_t rank = b.rank(x) > b.rank(y) ? b.rank(x) : b.rank(y);
    hlo::Dims pairs, of_x, of_y, merged;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto size = [&](hlo::Value v, hlo::Dims& dims, std::int64_t at) {
        const std::size_t missing = rank - b.rank(v);
        if (d < missing) return std::int64_t{1};
        dims.push_back(at);
        return b.dims(v)[d - missing];
      };
      const auto at = static_cast<std::int64_t>(2 * d);
      const std::int64_t first = size(x, of_x, at), second = size(y, of_y, at + 1);
      pairs.push_back(first);
      pairs.push_back(second);
      merged.push_back(first * second);
    }
    const hlo::Value product = b.multiply(b.broadcast_in_dim(x, pairs, of_x), b.broadcast_in_dim(y, pairs, of_y));
    return c.to_result(call, b.reshape(product, merged));
  }
};

/// Summed over the dimensions named for each side; sizes of 1 meet any size.
struct LowerTensorDot {
  static constexpr std::string_view op = "aten.tensordot";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto [x, y] = detail::two_of_one_type(c, call, "self", "other");
    return contract(c, call, x, y, c.integers(call, "dims_self"), c.integers(call, "dims_other"));
  }
  /// Two tensors of one type, summed over those dimensions of each.
  static constexpr auto contract(auto& c, const Call& call, hlo::Value x, hlo::Value y, const hlo::Dims& of_x,
                                 const hlo::Dims& of_y) -> hlo::Value {
    auto& b = c.builder();
    if (!x.valid() || !y.valid()) return {};
    hlo::DotDims dims;
    if (of_x.size() != of_y.size()) return c.fail(call, DiagnosticCode::eager_would_raise, "the dimensions are not pairs");
    for (std::size_t i = 0; i < of_x.size(); ++i) {
      const std::size_t first = c.wrapped_dim(call, of_x[i], b.rank(x)), second = c.wrapped_dim(call, of_y[i], b.rank(y));
      dims.lhs_contracting.push_back(static_cast<std::int64_t>(first));
      dims.rhs_contracting.push_back(static_cast<std::int64_t>(second));
      // The side that is longer is summed first.
      if (b.dims(x)[first] == 1 && b.dims(y)[second] != 1) y = summed(c, y, second);
      if (b.dims(y)[second] == 1 && b.dims(x)[first] != 1) x = summed(c, x, first);
    }
    return c.to_result(call, detail::dot(c, x, y, dims));
  }

 private:
  static constexpr auto summed(auto& c, hlo::Value x, std::size_t dim) -> hlo::Value {
    auto& b = c.builder();
    hlo::Dims kept = b.dims(x);
    kept[dim] = 1;
    const DType type = b.dtype(x);
    return b.reshape(b.reduce(x, c.scalar(type, 0), {static_cast<std::int64_t>(dim)},
                              b.scalar_computation(hlo::Opcode::add, type)), kept);
  }
};

/// `torch.functional.tensordot(a, b, dims)`: the last dimensions of one with the first of the other, as many as a number says,
/// or those of two lists.
struct LowerPythonTensorDot {
  static constexpr std::string_view op = "torch.functional.tensordot";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const auto first = c.python_argument(call, 0, "a"), second = c.python_argument(call, 1, "b");
    const auto dims = c.python_argument(call, 2, "dims");
    if (!first || !second) return c.unsupported(call, "without two tensors");
    const std::array<Operand, 2> both{Operand{c.tensor(call, *first, "a"), {}}, Operand{c.tensor(call, *second, "b"), {}}};
    if (!both[0].value.valid() || !both[1].value.valid()) return {};
    hlo::Dims of_first, of_second;
    const auto lists = dims && dims->is_sequence() ? c.graph().children(*dims) : Span<const Argument>();
    if (lists.size() == 2) {
      if (!take(c, lists[0], of_first) || !take(c, lists[1], of_second))
        return c.unsupported(call, "of dimensions that are not known");
    } else if (!dims || dims->is(ArgumentKind::integer)) {
      const auto rank = static_cast<std::int64_t>(c.builder().rank(both[0].value));
      const std::int64_t count = dims ? dims->integer() : 2;
      for (std::int64_t d = 0; d < count; ++d) {
        of_first.push_back(rank - count + d);
        of_second.push_back(d);
      }
    } else {
      return c.unsupported(call, "of dimensions that are not known");
    }
    const DType type = c.common_dtype(call, both);
    return LowerTensorDot::contract(c, call, c.builder().convert(both[0].value, type),
                                    c.builder().convert(both[1].value, type), of_first, of_second);
  }

 private:
  static constexpr auto take(auto& c, const Argument& given, hlo::Dims& dims) -> bool {
    const Argument* const one = &given;
    for (const Argument& d : given.is_sequence() ? c.graph().children(given) : Span<const Argument>(one, 1)) {
      if (!d.is(ArgumentKind::integer)) return false;
      dims.push_back(d.integer());
    }
    return true;
  }
};

/// Matrices one after another; vectors at the ends are a row and a column. The order of the products is that of the
/// list: another would round otherwise, not be less right.
struct LowerMultiDot {
  static constexpr std::array<std::string_view, 2> op{"aten.linalg_multi_dot", "aten.chain_matmul"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    const Pool<hlo::Value> factors = c.tensors(call, call.schema().find("matrices") ? "matrices" : "tensors");
    if (factors.empty()) return {};
    hlo::Value product = factors[0];
    for (std::uint32_t i = 1; i < factors.size(); ++i) product = detail::matmul(c, call, product, factors[i]);
    return c.to_result(call, product);
  }
};

/// The vector product of three elements each.
struct LowerCross {
  static constexpr std::array<std::string_view, 2> op{"aten.cross", "aten.linalg_cross"};
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = c.operands(call, Meeting::common, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    std::size_t dim = 0;
    if (call.has("dim") || call.schema().base() == "aten.linalg_cross")
      dim = c.dim(call, "dim", b.rank(x));
    else
      while (dim + 1 < b.rank(x) && b.dims(x)[dim] != 3) ++dim;  // the first that has three elements
    if (b.rank(x) == 0 || b.dims(x)[dim] != 3) return c.fail(call, DiagnosticCode::eager_would_raise, "needs three elements");
    const auto along = static_cast<std::int64_t>(dim);
    const auto turned = [&](hlo::Value v, std::int64_t by) {
      return b.concatenate({b.slice_in_dim(v, along, by, 3), b.slice_in_dim(v, along, 0, by)}, along);
    };
    return b.subtract(b.multiply(turned(x, 1), turned(y, 2)), b.multiply(turned(x, 2), turned(y, 1)));
  }
};

/// Powers 0, 1, ... of each element, in a last dimension.
struct LowerVandermonde {
  static constexpr std::string_view op = "aten.linalg_vander";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Shape result = c.result_shape(call);
    const hlo::Value x = b.convert(c.tensor(call, "x"), result.dtype);
    if (!x.valid()) return x;
    hlo::Dims column = result.dims;
    column[column.size() - 1] = 1;
    Pool<hlo::Value> powers;
    hlo::Value power = c.full_like(x, 1);
    for (std::int64_t n = 0; n < result.dims.back(); ++n) {
      powers.push_back(b.reshape(power, column));
      power = b.multiply(power, x);
    }
    return powers.empty() ? c.full(result, 0) : b.concatenate(powers.view(), static_cast<std::int64_t>(column.size()) - 1);
  }
};

/// x1 W x2 + bias for each output feature's matrix.
struct LowerBilinear {
  static constexpr std::string_view op = "aten.bilinear";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const hlo::Value x = c.tensor(call, "input1"), y = c.tensor(call, "input2"), weight = c.tensor(call, "weight");
    if (!x.valid() || !y.valid() || !weight.valid()) return {};
    const auto last = static_cast<std::int64_t>(b.rank(x)) - 1;
    const hlo::Value half = detail::dot(c, x, weight, {{last}, {1}, {}, {}});  // [..., out, in2]
    hlo::Dims kept = hlo::iota_dims(b.rank(half));
    kept.erase(kept.size() - 2);
    const DType type = b.dtype(half);
    const hlo::Value product = b.multiply(half, b.broadcast_in_dim(b.convert(y, type), b.dims(half), kept));
    hlo::Value sum = b.reduce(product, c.scalar(type, 0), {last + 1}, b.scalar_computation(hlo::Opcode::add, type));
    if (call.has("bias")) sum = b.add(sum, c.broadcast_to(call, b.convert(c.tensor(call, "bias"), type), b.dims(sum)));
    return c.to_result(call, sum);
  }
};

/// Each element of a vector times each of another.
template <TextConstant Name>
struct LowerOuter {
  static constexpr std::string_view op = Name.view();
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::two_of_one_type(c, call, "self", "vec2");
    if (!x.valid() || !y.valid()) return {};
    const hlo::Dims dims{b.dims(x)[0], b.dims(y)[0]};
    return c.to_result(call, b.multiply(b.broadcast_in_dim(x, dims, {0}), b.broadcast_in_dim(y, dims, {1})));
  }
};

/// The last dimensions multiplied and summed.
struct LowerInner {
  static constexpr std::string_view op = "aten.inner";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto [x, y] = detail::two_of_one_type(c, call, "self", "other");
    if (!x.valid() || !y.valid()) return {};
    if (b.rank(x) == 0 || b.rank(y) == 0)
      return c.to_result(call, b.multiply(c.broadcast_to(call, x, c.result_shape(call).dims),
                                          c.broadcast_to(call, y, c.result_shape(call).dims)));
    return c.to_result(call, detail::dot(c, x, y, {{static_cast<std::int64_t>(b.rank(x)) - 1},
                                                   {static_cast<std::int64_t>(b.rank(y)) - 1}, {}, {}}));
  }
};

/// Products summed over the labels that the result lacks. Operands are taken in one after another, each by
/// one dot.
struct LowerEinsum {
  static constexpr std::string_view op = "aten.einsum";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
    auto& b = c.builder();
    const auto equation = call.string("equation");
    const Pool<hlo::Value> operands = operands_of(c, call);
    if (!equation || operands.empty()) return c.unsupported(call, "whose equation is not known");
    for (const hlo::Value operand : operands)
      if (!operand.valid()) return {};
    std::vector<Labelled> terms;
    Labels result;
    if (!read(c, *equation, operands, terms, result)) return c.unsupported(call, "with this equation");

    Labelled product = terms[0];
    for (std::size_t t = 1; t < terms.size(); ++t) {
      Labels needed = result;  // by the result and the operands to come
      for (std::size_t later = t + 1; later < terms.size(); ++later)
        needed.append(terms[later].labels.view());
      product = multiply(c, product, terms[t], needed);
      if (!product.value.valid()) return {};
    }
    product = sum_out(c, product, result);
    hlo::Dims order;
    for (const char label : result) {
      for (std::uint32_t d = 0; d < product.labels.size(); ++d)
        if (product.labels[d] == label) order.push_back(static_cast<std::int64_t>(d));
    }
    return c.to_result(call, b.reshape(b.transpose(product.value, order), c.result_shape(call).dims));
  }

 private:
  /// A list, or, as Python's function takes them, one by one behind the equation.
  static constexpr auto operands_of(auto& c, const Call& call) -> Pool<hlo::Value> {
    const auto arguments = c.graph().arguments(call.id());
    if (arguments.size() < 2 || !arguments[1].is_node()) return c.tensors(call, "tensors");
    Pool<hlo::Value> operands;
    for (const Argument& a : arguments.subspan(1)) operands.push_back(c.tensor(call, a, "operands"));
    return operands;
  }
  /// One character for each dimension; those that `...` stands for are numbers from 1 on, counted from the
  /// right.
  using Labels = Pool<char>;
  struct Labelled {
    hlo::Value value;
    Labels labels;
  };
  [[nodiscard]] static constexpr auto has(const Labels& labels, char label) -> bool {
    for (const char l : labels)
      if (l == label) return true;
    return false;
  }
  [[nodiscard]] static constexpr auto is_letter(char c) -> bool {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  /// The labels of one term, for a tensor of rank `rank`; false if they do not fit.
  static constexpr auto read_labels(std::string_view term, std::size_t rank, Labels& labels) -> bool {
    std::size_t letters = 0;
    for (const char ch : term) letters += is_letter(ch) ? 1 : 0;
    if (letters > rank) return false;
    bool has_ellipsis = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term[i] == ' ') continue;
      if (term.substr(i).starts_with("...")) {
        for (std::size_t d = rank - letters; d > 0; --d) labels.push_back(static_cast<char>(d));
        has_ellipsis = true;
        i += 2;
      } else if (is_letter(term[i])) {
        labels.push_back(term[i]);
      } else {
        return false;
      }
    }
    return has_ellipsis || letters == rank;
  }
  static constexpr auto read(auto& c, std::string_view equation, const Pool<hlo::Value>& operands,
                             std::vector<Labelled>& terms, Labels& result) -> bool {
    const std::size_t arrow = equation.find("->");
    std::string_view left = equation.substr(0, arrow);
    for (const hlo::Value operand : operands) {
      const std::size_t comma = left.find(',');
      Labels labels;
      if (!read_labels(left.substr(0, comma), c.builder().rank(operand), labels)) return false;
      terms.push_back(merge_diagonals(c, {operand, labels}));
      left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
    }
    if (!left.empty()) return false;
    if (arrow == std::string_view::npos) {
      for (const char label : implicit_result(equation, terms)) result.push_back(label);
      return true;
    }
    std::size_t ellipsis = 0;  // dimensions that it stands for
    for (const Labelled& term : terms)
      for (const char label : term.labels) {
        const std::size_t dims = static_cast<unsigned char>(label);
        if (!is_letter(label) && dims > ellipsis) ellipsis = dims;
      }
    const std::string_view right = equation.substr(arrow + 2);
    std::size_t letters = 0;
    for (const char ch : right) letters += is_letter(ch) ? 1 : 0;
    const bool shows_ellipsis = right.find("...") != std::string_view::npos;
    return read_labels(right, letters + (shows_ellipsis ? ellipsis : 0), result);
  }
  /// Without an arrow: what `...` stands for, then the labels that stand once in the equation, in
  /// alphabetical order.
  static constexpr auto implicit_result(std::string_view equation, const std::vector<Labelled>& terms)
      -> Labels {
    Labels result;
    char most = 0;
    for (const Labelled& term : terms)
      for (const char label : term.labels)
        if (!is_letter(label) && label > most) most = label;
    for (char d = most; d > 0; --d) result.push_back(d);
    for (char label = 'A'; label <= 'z'; ++label) {
      std::size_t count = 0;
      for (const char ch : equation) count += ch == label ? 1 : 0;
      if (is_letter(label) && count == 1) result.push_back(label);
    }
    return result;
  }
  /// A label that stands twice in a term names the diagonal of the two dimensions.
  static constexpr auto merge_diagonals(auto& c, Labelled term) -> Labelled {
    auto& b = c.builder();
    for (std::uint32_t i = 0; i < term.labels.size(); ++i)
      for (std::uint32_t k = i + 1; k < term.labels.size(); ++k) {
        if (term.labels[i] != term.labels[k] || !term.value.valid()) continue;
        const hlo::Shape index{DType::i64, b.dims(term.value)};
        const hlo::Value is_diagonal = b.compare(b.iota(index, i), b.iota(index, k), hlo::Direction::eq);
        const hlo::Value kept = b.select(is_diagonal, term.value, c.full_like(term.value, 0));
        term.value = reduce_sum(c, kept, {static_cast<std::int64_t>(k)});
        Labels labels;
        for (std::uint32_t d = 0; d < term.labels.size(); ++d)
          if (d != k) labels.push_back(term.labels[d]);
        term.labels = labels;
        --k;
      }
    return term;
  }
  static constexpr auto reduce_sum(auto& c, hlo::Value x, const hlo::Dims& dims) -> hlo::Value {
    auto& b = c.builder();
    if (dims.empty()) return x;
    const DType type = b.dtype(x), wide = ops::accumulate_type(type);
    const hlo::Value sum =
        b.reduce(b.convert(x, wide), c.scalar(wide, 0), dims, b.scalar_computation(hlo::Opcode::add, wide));
    return b.convert(sum, type);
  }
  /// Sums over the labels that are not in `needed`.
  static constexpr auto sum_out(auto& c, const Labelled& term, const Labels& needed) -> Labelled {
    hlo::Dims dims;
    Labels kept;
    for (std::uint32_t d = 0; d < term.labels.size(); ++d) {
      if (has(needed, term.labels[d]))
        kept.push_back(term.labels[d]);
      else
        dims.push_back(static_cast<std::int64_t>(d));
    }
    return {reduce_sum(c, term.value, dims), kept};
  }
  /// Two terms multiplied, and summed over what they share and nobody needs. Sizes of 1 meet any size.
  static constexpr auto multiply(auto& c, const Labelled& a, const Labelled& d, const Labels& needed)
      -> Labelled {
    auto& b = c.builder();
    Labels needed_of_a = needed, needed_of_d = needed;
    needed_of_a.append(d.labels.view());
    needed_of_d.append(a.labels.view());
    const Labelled left = stretched(c, sum_out(c, a, needed_of_a), d);
    const Labelled right = stretched(c, sum_out(c, d, needed_of_d), left);
    hlo::DotDims dims;
    Labels batch, own;
    for (std::uint32_t i = 0; i < left.labels.size(); ++i)
      for (std::uint32_t k = 0; k < right.labels.size(); ++k) {
        if (left.labels[i] != right.labels[k]) continue;
        const bool is_batch = has(needed, left.labels[i]);
        (is_batch ? dims.lhs_batch : dims.lhs_contracting).push_back(i);
        (is_batch ? dims.rhs_batch : dims.rhs_contracting).push_back(k);
        if (is_batch) batch.push_back(left.labels[i]);
      }
    for (const Labelled* term : {&left, &right})
      for (const char label : term->labels)
        if (!has(term == &left ? right.labels : left.labels, label)) own.push_back(label);
    const DType type = b.dtype(left.value);
    batch.append(own.view());
    return {b.convert(detail::dot(c, left.value, b.convert(right.value, type), dims), type), batch};
  }
  /// `term` with its sizes of 1 stretched to those that `like` has for the same labels.
  static constexpr auto stretched(auto& c, const Labelled& term, const Labelled& like) -> Labelled {
    auto& b = c.builder();
    const hlo::Dims from = b.dims(term.value);
    hlo::Dims to = from, kept, places;
    for (std::uint32_t d = 0; d < term.labels.size(); ++d) {
      for (std::uint32_t k = 0; k < like.labels.size(); ++k)
        if (like.labels[k] == term.labels[d] && from[d] == 1) to[d] = b.dims(like.value)[k];
      if (to[d] == from[d]) {
        kept.push_back(from[d]);
        places.push_back(static_cast<std::int64_t>(d));
      }
    }
    if (to == from) return term;
    return {b.broadcast_in_dim(b.reshape(term.value, kept), to, places), term.labels};
  }
};

/// The lowerings of this file.
using LinearAlgebraLowerings =
    lowerings<LowerMatmul, LowerProduct<"aten.mm", "mat2">, LowerProduct<"aten.bmm", "mat2">,
              LowerProduct<"aten.mv", "vec">, LowerProduct<"aten.dot", "tensor">,
              LowerAddProduct<"aten.addmm", "mat1", "mat2">,
              LowerAddProduct<"aten.baddbmm", "batch1", "batch2">,
              LowerAddProduct<"aten.addmv", "mat", "vec">, LowerLinear, LowerOuter<"aten.outer">,
              LowerOuter<"aten.ger">, LowerInner, LowerEinsum, LowerAddOuter, LowerAddBatchedProducts, LowerVectorDot,
              LowerKronecker, LowerTensorDot, LowerPythonTensorDot, LowerMultiDot, LowerCross, LowerVandermonde, LowerBilinear>;

}  // namespace fxpass
