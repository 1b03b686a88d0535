// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/hlo/builder.hpp>

#include "twice.hpp"

namespace {

using namespace fxpass;
using namespace fxpass::hlo;

// ---- lists and tables

constexpr auto a_short_list_is_never_out_of_bounds() -> bool {
  ShortList<std::int64_t, 3> list{1, 2};
  list.insert(1, 7);
  const bool full = list == ShortList<std::int64_t, 3>{1, 7, 2} && !list.overflowed();
  list.push_back(9);
  list[8] = 5;
  return full && list.overflowed() && list.size() == 3 && list[2] == 2 && list.back() == 2;
}
FXPASS_TEST_TWICE(a_short_list_is_never_out_of_bounds)

constexpr auto a_short_list_erases() -> bool {
  ShortList<int, 4> list{1, 2, 3};
  list.erase(0);
  list.erase(9);
  return list == ShortList<int, 4>{2, 3} && list.contains(3) && !list.contains(1);
}
FXPASS_TEST_TWICE(a_short_list_erases)

constexpr auto equal_shapes_have_one_id() -> bool {
  ShapeTable table;
  const ShapeId a = table.array(DType::f32, hlo::Dims{2, 3}), b = table.array(DType::i32, hlo::Dims{2, 3});
  const ShapeId c = table.array(DType::f32, hlo::Dims{3, 2}), scalar = table.array(DType::f32, hlo::Dims{});
  const ShapeId pair[2] = {a, b}, swapped[2] = {b, a};
  const ShapeId t = table.tuple(pair), u = table.tuple(swapped), empty = table.tuple({}),
                token = table.token();
  bool same = true;
  for (std::int64_t n = 0; n < 40; ++n) table.array(DType::f32, hlo::Dims{n, n});  // grows the table
  same = table.array(DType::f32, hlo::Dims{2, 3}) == a && table.array(DType::f32, hlo::Dims{}) == scalar &&
         table.tuple(pair) == t && table.tuple({}) == empty && table.token() == token;
  return same && !(a == b) && !(a == c) && !(t == u) && !(empty == token) && table.elements(t)[1] == b &&
         table.shape(a) == Shape{DType::f32, {2, 3}} && table.kind(token) == ShapeKind::token &&
         table.dims(t).empty();
}
FXPASS_TEST_TWICE(equal_shapes_have_one_id)

constexpr auto element_counts_that_do_not_fit_are_none() -> bool {
  return checked_element_count(hlo::Dims{2, 3}) == 6 && checked_element_count(hlo::Dims{}) == 1 &&
         !checked_element_count(hlo::Dims{std::int64_t{1} << 32, std::int64_t{1} << 32}) &&
         checked_element_count(hlo::Dims{0, std::int64_t{1} << 62}) == 0 && !checked_element_count(hlo::Dims{-1});
}
FXPASS_TEST_TWICE(element_counts_that_do_not_fit_are_none)

// ---- what each operation infers

constexpr Shape f32(const hlo::Dims& dims) {
  return {DType::f32, dims};
}

/// Whether `make(builder, x)` for a parameter of shape `x` gives `result`.
template <class Make>
constexpr auto gives(const Shape& x, const Shape& result, Make make) -> bool {
  Builder b("m");
  const Value v = make(b, b.parameter(x));
  return v.valid() && !b.failed() && b.shape(v) == result;
}
/// Whether the call is refused with a diagnostic, and what is built on it stays silent.
template <class Make>
constexpr auto refuses(const Shape& x, Make make) -> bool {
  Builder b("m");
  const Value v = make(b, b.parameter(x));
  const Value user = b.negate(b.add(v, v));
  const Expected<hlo::Module> module = b.finish(user);
  return !v.valid() && !user.valid() && !module && module.error().size() == 1 &&
         module.error().front().code == DiagnosticCode::invalid_hlo;
}

constexpr auto elementwise() -> bool {
  const Shape x = f32({2, 3});
  return gives(x, x, [](Builder& b, Value v) { return b.add(v, v); }) &&
         gives(x, x.with(DType::boolean),
               [](Builder& b, Value v) { return b.compare(v, v, Direction::lt); }) &&
         gives(x, x.with(DType::c64), [](Builder& b, Value v) { return b.complex(v, v); }) &&
         gives(x.with(DType::c128), x.with(DType::f64), [](Builder& b, Value v) { return b.abs(v); }) &&
         gives(x, x.with(DType::boolean), [](Builder& b, Value v) { return b.is_finite(v); }) &&
         gives(x, x.with(DType::i8), [](Builder& b, Value v) { return b.convert(v, DType::i8); }) &&
         gives(x, {DType::u16, {2, 3, 2}},
               [](Builder& b, Value v) { return b.bitcast_convert(v, DType::u16); }) &&
         gives({DType::u8, {5, 8}}, {DType::f64, {5}},
               [](Builder& b, Value v) { return b.bitcast_convert(v, DType::f64); }) &&
         gives(x, x, [](Builder& b, Value v) { return b.clamp(b.lowest(DType::f32), v, v); }) &&
         gives(x, x, [](Builder& b, Value v) { return b.select(b.constant(DType::boolean, true), v, v); }) &&
         refuses(x, [](Builder& b, Value v) { return b.add(v, b.reshape(v, {3, 2})); }) &&
         refuses(x, [](Builder& b, Value v) { return b.add(v, b.convert(v, DType::f16)); }) &&
         refuses(x, [](Builder& b, Value v) { return b.not_(v); }) &&
         refuses(x, [](Builder& b, Value v) { return b.and_(v, v); }) &&
         refuses(x.with(DType::boolean), [](Builder& b, Value v) { return b.subtract(v, v); }) &&
         refuses(x.with(DType::u8), [](Builder& b, Value v) { return b.abs(v); }) &&
         refuses(x.with(DType::i32), [](Builder& b, Value v) { return b.exponential(v); }) &&
         refuses(x.with(DType::c64), [](Builder& b, Value v) { return b.compare(v, v, Direction::lt); }) &&
         refuses(x.with(DType::c64), [](Builder& b, Value v) { return b.convert(v, DType::f32); }) &&
         refuses(x, [](Builder& b, Value v) { return b.bitcast_convert(v, DType::f64); }) &&
         refuses(x, [](Builder& b, Value v) { return b.select(v, v, v); });
}
FXPASS_TEST_TWICE(elementwise)

constexpr auto movement() -> bool {
  const Shape x = f32({2, 3});
  const auto zero = [](Builder& b) { return b.constant(DType::f32, 0); };
  return gives(x, f32({2, 4, 3}),
               [](Builder& b, Value v) { return b.broadcast_in_dim(v, {2, 4, 3}, {0, 2}); }) &&
         gives(x, f32({3, 1, 2}), [](Builder& b, Value v) { return b.reshape(v, {3, 1, 2}); }) &&
         gives(x, f32({3, 2}), [](Builder& b, Value v) { return b.transpose(v, {1, 0}); }) &&
         gives(x, f32({1, 2}), [](Builder& b, Value v) { return b.slice(v, {1, 0}, {2, 3}, {1, 2}); }) &&
         gives(x, f32({0, 3}), [](Builder& b, Value v) { return b.slice_in_dim(v, 0, 2, 2); }) &&
         gives(x, f32({6, 3}), [](Builder& b, Value v) { return b.concatenate({v, v, v}, 0); }) &&
         gives(x, f32({4, 4}),
               [&](Builder& b, Value v) { return b.pad(v, zero(b), {1, 0}, {1, -1}, {0, 1}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.broadcast_in_dim(v, {2, 4}, {0, 1}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.broadcast_in_dim(v, {3, 2}, {1, 0}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.reshape(v, {4}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.transpose(v, {0, 0}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.transpose(v, {1}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.reverse(v, {2}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.slice_in_dim(v, 1, 0, 4); }) &&
         refuses(x, [](Builder& b, Value v) { return b.slice_in_dim(v, 2, 0, 1); }) &&
         refuses(x, [](Builder& b, Value v) { return b.concatenate({v, b.reshape(v, {6})}, 0); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.pad(v, zero(b), {-3, 0}, {0, 0}, {0, 0}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.pad(v, v, {1, 0}, {0, 0}, {0, 0}); }) &&
         refuses(x, [](Builder& b, Value v) { return b.dynamic_slice(v, fxpass::Span(&v, 1), {1, 1}); });
}
FXPASS_TEST_TWICE(movement)

constexpr auto gather_dims() -> GatherDims {
  GatherDims dims;
  dims.offset_dims = {2};
  dims.collapsed_slice_dims = {0};
  dims.start_index_map = {0};
  dims.index_vector_dim = 2;
  return dims;
}
constexpr auto scatter_dims() -> ScatterDims {
  ScatterDims dims;
  dims.update_window_dims = {2};
  dims.inserted_window_dims = {0};
  dims.scatter_dims_to_operand_dims = {0};
  dims.index_vector_dim = 2;
  return dims;
}
constexpr auto indexed_movement() -> bool {
  const Shape table = f32({10, 3});
  const auto indices = [](Builder& b) { return b.parameter({DType::i64, {4, 5}}); };
  const auto updates = [](Builder& b) { return b.parameter(f32({4, 5, 3})); };
  const auto add = [](Builder& b) { return b.scalar_computation(Opcode::add, DType::f32); };
  return gives(table, f32({4, 5, 2}),
               [&](Builder& b, Value v) { return b.gather(v, indices(b), gather_dims(), {1, 2}); }) &&
         gives(table, table,
               [&](Builder& b, Value v) {
                 return b.scatter(v, indices(b), updates(b), scatter_dims(), add(b));
               }) &&
         refuses(table,
                 [&](Builder& b, Value v) { return b.gather(v, indices(b), gather_dims(), {2, 3}); }) &&
         refuses(table,
                 [&](Builder& b, Value v) { return b.gather(v, indices(b), gather_dims(), {1, 4}); }) &&
         refuses(table, [&](Builder& b, Value v) { return b.gather(v, v, gather_dims(), {1, 3}); }) &&
         refuses(table,
                 [&](Builder& b, Value v) { return b.scatter(v, indices(b), v, scatter_dims(), add(b)); }) &&
         refuses(table, [&](Builder& b, Value v) {
           return b.scatter(v, indices(b), updates(b), scatter_dims(),
                            b.scalar_computation(Opcode::add, DType::f16));
         });
}
FXPASS_TEST_TWICE(indexed_movement)

constexpr auto products() -> bool {
  DotDims batched;
  batched.lhs_contracting = {2};
  batched.rhs_contracting = {1};
  batched.lhs_batch = batched.rhs_batch = {0};
  DotDims wrong = batched;
  wrong.rhs_contracting = {2};
  DotDims twice = batched;
  twice.lhs_contracting = {0};
  const auto other = [](Builder& b) { return b.parameter(f32({4, 3, 5})); };
  ConvolutionDims image;
  image.input_spatial = image.kernel_spatial = image.output_spatial = {2, 3};
  const WindowDim window{.size = 3, .stride = 2, .padding_low = 1, .padding_high = 1};
  const auto kernel = [](Builder& b) { return b.parameter(f32({6, 4, 3, 3})); };
  return gives(f32({4, 2, 3}), f32({4, 2, 5}),
               [&](Builder& b, Value v) { return b.dot_general(v, other(b), batched); }) &&
         gives({DType::bf16, {7}}, f32({7, 7}),
               [](Builder& b, Value v) { return b.dot_general(v, v, {}, DType::f32); }) &&
         gives(f32({2, 4, 9, 8}), f32({2, 6, 5, 4}),
               [&](Builder& b, Value v) { return b.convolution(v, kernel(b), {window, window}, image); }) &&
         gives(
             f32({2, 12, 9, 8}), f32({2, 6, 5, 4}),
             [&](Builder& b, Value v) { return b.convolution(v, kernel(b), {window, window}, image, 3); }) &&
         refuses(f32({4, 2, 3}), [&](Builder& b, Value v) { return b.dot_general(v, other(b), wrong); }) &&
         refuses(f32({4, 2, 3}), [&](Builder& b, Value v) { return b.dot_general(v, other(b), twice); }) &&
         refuses(f32({4, 2, 3}),
                 [&](Builder& b, Value v) { return b.dot_general(v, other(b), batched, DType::i32); }) &&
         refuses(f32({2, 5, 9, 8}),
                 [&](Builder& b, Value v) { return b.convolution(v, kernel(b), {window, window}, image); }) &&
         refuses(f32({2, 4, 9, 8}),
                 [&](Builder& b, Value v) { return b.convolution(v, kernel(b), {window}, image); }) &&
         refuses(f32({2, 16, 9, 8}), [&](Builder& b, Value v) {
           return b.convolution(v, kernel(b), {window, window}, image, 4);
         });
}
FXPASS_TEST_TWICE(products)

constexpr auto reductions() -> bool {
  const Shape x = f32({2, 8});
  const auto add = [](Builder& b, DType d = DType::f32) { return b.scalar_computation(Opcode::add, d); };
  const auto zero = [](Builder& b, DType d = DType::f32) { return b.constant(d, 0); };
  const WindowDim pool{.size = 3, .stride = 2, .padding_low = 1}, huge{.size = 9},
      dilated{.size = 3, .window_dilation = 3, .base_dilation = 2};
  return gives(x, f32({2}), [&](Builder& b, Value v) { return b.reduce(v, zero(b), {1}, add(b)); }) &&
         gives(x, f32({}), [&](Builder& b, Value v) { return b.reduce(v, zero(b), {1, 0}, add(b)); }) &&
         gives(x, f32({2, 4}),
               [&](Builder& b, Value v) { return b.reduce_window(v, zero(b), {{}, pool}, add(b)); }) &&
         gives(x, f32({2, 0}),
               [&](Builder& b, Value v) { return b.reduce_window(v, zero(b), {{}, huge}, add(b)); }) &&
         gives(x, f32({2, 9}),
               [&](Builder& b, Value v) { return b.reduce_window(v, zero(b), {{}, dilated}, add(b)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.reduce(v, zero(b), {2}, add(b)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.reduce(v, zero(b, DType::f16), {1}, add(b)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.reduce(v, zero(b), {1}, add(b, DType::f16)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.reduce_window(v, zero(b), {pool}, add(b)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.topk(v, 9, true); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.sort({v}, 2, true, add(b)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.sort({v}, 1, true, add(b)); });
}
FXPASS_TEST_TWICE(reductions)

constexpr auto communication() -> bool {
  const Shape x = f32({4, 6});
  ReplicaGroups pairs, uneven, twice, gap;
  pairs.add({0, 2});
  pairs.add({1, 3});
  uneven.add({0, 1, 2});
  uneven.add({3});
  twice.add({0, 0});
  gap.add({0, 2});
  const std::int64_t same_target[4] = {0, 1, 2, 1};
  const auto add = [](Builder& b) { return b.scalar_computation(Opcode::add, DType::f32); };
  return gives(x, f32({8, 6}), [&](Builder& b, Value v) { return b.all_gather(v, 0, pairs); }) &&
         gives(x, f32({4, 3}), [&](Builder& b, Value v) { return b.reduce_scatter(v, 1, add(b), pairs); }) &&
         gives(x, x, [&](Builder& b, Value v) { return b.all_to_all(v, 0, pairs); }) &&
         gives(x, x, [&](Builder& b, Value v) { return b.all_reduce(v, add(b), uneven); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.all_gather(v, 0, uneven); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.all_reduce(v, add(b), twice); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.all_reduce(v, add(b), gap); }) &&
         refuses(x,
                 [&](Builder& b, Value v) {
                   return b.all_reduce(v, add(b), pairs, {.use_global_device_ids = true});
                 }) &&
         refuses(f32({3, 6}), [&](Builder& b, Value v) { return b.reduce_scatter(v, 0, add(b), pairs); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.all_to_all(fxpass::Span(&v, 1), pairs); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.collective_permute(v, same_target); });
}
FXPASS_TEST_TWICE(communication)

constexpr auto ranks_exist_where_their_number_is_known() -> bool {
  const std::int64_t pair[2] = {0, 4};
  ReplicaGroups four;
  four.add({0, 1, 2, 3});
  const auto on = [](Builder& b, std::uint32_t replicas) { b.set_replica_count(replicas); };
  return gives(f32({4}), f32({4}), [&](Builder& b, Value v) { return b.collective_permute(v, pair); }) &&
         gives(f32({4}), f32({16}),
               [&](Builder& b, Value v) { return on(b, 4), b.all_gather(v, 0, four); }) &&
         gives(f32({4}), f32({8}),
               [&](Builder& b, Value v) { return on(b, 2), b.all_gather(v, 0, ReplicaGroups()); }) &&
         refuses(f32({4}), [&](Builder& b, Value v) { return on(b, 4), b.collective_permute(v, pair); }) &&
         refuses(f32({4}), [&](Builder& b, Value v) { return on(b, 2), b.all_gather(v, 0, four); });
}
FXPASS_TEST_TWICE(ranks_exist_where_their_number_is_known)

constexpr auto control() -> bool {
  const Shape x = f32({4});
  const auto negate = [](Builder& b, const hlo::Dims& dims) {
    return b.computation("neg", [&] { return b.negate(b.parameter(f32(dims))); });
  };
  const auto always = [](Builder& b) {
    return b.computation("always", [&] {
      b.parameter(f32({4}));
      return b.constant(DType::boolean, true);
    });
  };
  const auto choose = [&](Builder& b, Value v, const hlo::Dims& other) {
    const ComputationId branches[2] = {negate(b, {4}), negate(b, other)};
    const Value operands[2] = {v, v};
    return b.conditional(b.constant(DType::boolean, true), operands, branches);
  };
  return gives(x, x, [&](Builder& b, Value v) { return b.while_loop(v, always(b), negate(b, {4})); }) &&
         gives(x, x, [&](Builder& b, Value v) { return choose(b, v, {4}); }) &&
         gives(x, x, [&](Builder& b, Value v) { return b.call(negate(b, {4}), fxpass::Span(&v, 1)); }) &&
         gives(x, x,
               [&](Builder& b, Value v) { return b.get_tuple_element(b.opt_barrier(b.tuple({v, v})), 1); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.while_loop(v, negate(b, {4}), negate(b, {4})); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.while_loop(v, always(b), negate(b, {5})); }) &&
         refuses(x, [&](Builder& b, Value v) { return choose(b, v, {5}); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.call(negate(b, {5}), fxpass::Span(&v, 1)); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.get_tuple_element(b.tuple({v}), 1); }) &&
         refuses(x, [&](Builder& b, Value v) { return b.get_tuple_element(v, 0); });
}
FXPASS_TEST_TWICE(control)

constexpr auto linear_algebra() -> bool {
  return gives(f32({2, 8}), {DType::c64, {2, 5}},
               [](Builder& b, Value v) { return b.fft(v, FftType::rfft, {8}); }) &&
         gives({DType::c128, {2, 5}}, {DType::f64, {2, 8}},
               [](Builder& b, Value v) { return b.fft(v, FftType::irfft, {8}); }) &&
         gives(f32({3, 3}), f32({3, 3}), [](Builder& b, Value v) { return b.cholesky(v, true); }) &&
         refuses(f32({2, 8}), [](Builder& b, Value v) { return b.fft(v, FftType::rfft, {7}); }) &&
         refuses(f32({2, 8}), [](Builder& b, Value v) { return b.fft(v, FftType::fft, {8}); }) &&
         refuses(f32({2, 8}), [](Builder& b, Value v) { return b.cholesky(v, true); }) &&
         refuses(f32({3, 3}), [](Builder& b, Value v) {
           return b.triangular_solve(v, b.parameter(f32({2, 3})), true, true, false);
         });
}
FXPASS_TEST_TWICE(linear_algebra)

constexpr auto shapes_that_xla_cannot_have_are_refused() -> bool {
  const auto error = [](const Shape& shape) {
    Builder b("m");
    const Expected<hlo::Module> module = b.finish(b.parameter(shape));
    return module ? DiagnosticCode::invalid_option : module.error().front().code;
  };
  return error({DType::c32, {2}}) == DiagnosticCode::unsupported &&
         error(f32(hlo::Dims(max_rank + 1, 1))) == DiagnosticCode::unsupported &&
         error(f32({-1})) == DiagnosticCode::invalid_hlo &&
         error(f32({std::int64_t{1} << 31, std::int64_t{1} << 31, 4})) == DiagnosticCode::invalid_hlo;
}
FXPASS_TEST_TWICE(shapes_that_xla_cannot_have_are_refused)

}  // namespace
