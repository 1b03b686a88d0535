// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/builder.hpp>

#include <array>
#include <string_view>

/// @file
/// Small modules that together use every opcode, every attribute and every element type. The unit tests
/// verify them, the interop tests hand them to XLA.

namespace fxpass::hlo::samples {

/// A module to make, and what XLA on a CPU is expected to do with it.
struct Sample {
  enum class Fate { runs, compiles_elsewhere };

  std::string_view name;
  Value (*body)(Builder&);  ///< adds the entry's instructions; gives its result
  Fate fate = Fate::runs;
  std::uint32_t replicas = 1;
};

inline constexpr Shape f32_2x3{DType::f32, {2, 3}};

template <Opcode... Opcodes>
constexpr auto unary_chain(Builder& b, const Shape& shape) -> Value {
  const Value x = b.parameter(shape, "x");
  const Value results[] = {b.unary(Opcodes, x)...};
  return b.tuple(results);
}
template <Opcode... Opcodes>
constexpr auto binary_chain(Builder& b, const Shape& shape) -> Value {
  const Value x = b.parameter(shape, "x"), y = b.parameter(shape, "y");
  const Value results[] = {b.binary(Opcodes, x, y)...};
  return b.tuple(results);
}

constexpr auto float_unary(Builder& b) -> Value {
  return unary_chain<Opcode::abs, Opcode::negate, Opcode::sign, Opcode::exponential,
                     Opcode::exponential_minus_one, Opcode::log, Opcode::log_plus_one, Opcode::logistic,
                     Opcode::tanh, Opcode::tan, Opcode::sine, Opcode::cosine, Opcode::sqrt, Opcode::rsqrt,
                     Opcode::cbrt, Opcode::erf, Opcode::floor, Opcode::ceil, Opcode::round_nearest_even,
                     Opcode::round_nearest_afz, Opcode::is_finite, Opcode::copy>(b, f32_2x3);
}
constexpr auto integer_unary(Builder& b) -> Value {
  return unary_chain<Opcode::abs, Opcode::negate, Opcode::sign, Opcode::not_, Opcode::popcnt,
                     Opcode::count_leading_zeros>(b, {DType::i32, {4}});
}
constexpr auto complex_numbers(Builder& b) -> Value {
  const Value x = b.parameter(f32_2x3, "re"), y = b.parameter(f32_2x3, "im");
  const Value z = b.complex(x, y);
  return b.tuple({b.real(z), b.imag(z), b.abs(z), b.multiply(z, b.full({DType::c64, {2, 3}}, 2.0)),
                  b.compare(z, z, Direction::ne)});
}
constexpr auto float_binary(Builder& b) -> Value {
  return binary_chain<Opcode::add, Opcode::subtract, Opcode::multiply, Opcode::divide, Opcode::remainder,
                      Opcode::maximum, Opcode::minimum, Opcode::power, Opcode::atan2>(b, f32_2x3);
}
constexpr auto integer_binary(Builder& b) -> Value {
  return binary_chain<Opcode::add, Opcode::subtract, Opcode::multiply, Opcode::divide, Opcode::remainder,
                      Opcode::maximum, Opcode::minimum, Opcode::power, Opcode::and_, Opcode::or_,
                      Opcode::xor_, Opcode::shift_left, Opcode::shift_right_arithmetic,
                      Opcode::shift_right_logical>(b, {DType::i32, {4}});
}
constexpr auto conversions(Builder& b) -> Value {
  const Value x = b.parameter(f32_2x3, "x");
  const Value bytes = b.bitcast_convert(x, DType::u8);
  return b.tuple({b.convert(x, DType::bf16), b.convert(x, DType::i32), b.convert(x, DType::boolean),
                  b.convert(x, DType::f8e4m3fn), bytes, b.bitcast_convert(bytes, DType::i32),
                  b.bitcast_convert(x, DType::u32), b.reduce_precision(x, 8, 7)});
}
constexpr auto comparisons(Builder& b) -> Value {
  const Value x = b.parameter(f32_2x3, "x"), y = b.parameter(f32_2x3, "y");
  const Value less = b.compare(x, y, Direction::lt);
  const Value one = b.constant(DType::f32, 1);
  return b.tuple({less, b.compare(x, y, Direction::eq), b.compare(x, y, Direction::ge),
                  b.compare(x, y, Direction::le), b.compare(x, y, Direction::gt, ComparisonType::total_order),
                  b.select(less, x, y), b.select(b.constant(DType::boolean, true), x, y),
                  b.clamp(b.negate(one), x, one), b.clamp(x, x, y)});
}
constexpr auto movement(Builder& b) -> Value {
  const Value x = b.parameter(f32_2x3, "x");
  const Value row = b.parameter({DType::f32, {3}}, "row");
  const Value i = b.parameter({DType::i32, {}}, "i");
  const Value zero = b.constant(DType::f32, 0);
  const Value starts[2] = {i, i};
  const Value part = b.dynamic_slice(x, starts, {1, 2});
  return b.tuple({b.broadcast_in_dim(row, {2, 3}, {1}), b.reshape(x, {3, 2}), b.transpose(x, {1, 0}),
                  b.reverse(x, {0, 1}), b.slice(x, {0, 0}, {2, 3}, {1, 2}), b.slice_in_dim(x, 1, 1, 1), part,
                  b.dynamic_update_slice(x, b.negate(part), starts), b.concatenate({x, x, x}, 0),
                  b.pad(x, zero, {0, 1}, {2, -1}, {0, 1}), b.iota({DType::i32, {2, 3}}, 1)});
}
constexpr auto gathers(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4, 3}}, "x");
  const Value indices = b.parameter({DType::i32, {5, 1}}, "i");
  const Value updates = b.parameter({DType::f32, {5, 3}}, "u");
  GatherDims gather;
  gather.offset_dims = {1};
  gather.collapsed_slice_dims = {0};
  gather.start_index_map = {0};
  gather.index_vector_dim = 1;
  ScatterDims scatter;
  scatter.update_window_dims = {1};
  scatter.inserted_window_dims = {0};
  scatter.scatter_dims_to_operand_dims = {0};
  scatter.index_vector_dim = 1;
  const Value flat = b.reshape(indices, {5});
  GatherDims implicit = gather;  // the index vector is one number, without a dimension of its own
  return b.tuple({b.gather(x, indices, gather, {1, 3}), b.gather(x, flat, implicit, {1, 2}),
                  b.scatter(x, indices, updates, scatter, b.scalar_computation(Opcode::add, DType::f32)),
                  b.scatter(x, b.iota({DType::i32, {4, 1}}, 0), b.slice_in_dim(updates, 0, 0, 4), scatter,
                            b.scalar_computation(Opcode::copy, DType::f32), true, true)});
}
constexpr auto products(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4, 2, 3}}, "x"), y = b.parameter({DType::f32, {4, 3, 5}}, "y");
  const Value v = b.parameter({DType::bf16, {3}}, "v");
  DotDims batched;
  batched.lhs_contracting = {2};
  batched.rhs_contracting = {1};
  batched.lhs_batch = {0};
  batched.rhs_batch = {0};
  DotDims inner;
  inner.lhs_contracting = {0};
  inner.rhs_contracting = {0};
  return b.tuple({b.dot_general(x, y, batched, {}, Precision::highest), b.dot_general(v, v, {}),
                  b.dot_general(v, v, inner, DType::f32)});
}
constexpr auto convolutions(Builder& b) -> Value {
  const Value image = b.parameter({DType::f32, {1, 4, 8, 8}}, "image");
  const Value kernel = b.parameter({DType::f32, {6, 4, 3, 3}}, "kernel");
  ConvolutionDims dims;
  dims.input_spatial = dims.kernel_spatial = dims.output_spatial = {2, 3};
  const WindowDim strided{.size = 3, .stride = 2, .padding_low = 1, .padding_high = 1};
  ConvolutionDims transposed = dims;
  transposed.kernel_input_feature = 0;
  transposed.kernel_output_feature = 1;
  const Value down = b.convolution(image, kernel, {strided, strided}, dims);
  const WindowDim up{.size = 3, .padding_low = 1, .padding_high = 2, .base_dilation = 2, .reversal = true};
  const WindowDim dilated{.size = 3, .padding_low = 2, .padding_high = 2, .window_dilation = 2};
  const Value depthwise = b.slice(kernel, {0, 0, 0, 0}, {4, 1, 3, 3}, {1, 1, 1, 1});
  const Value backward = b.convolution(b.reshape(image, {4, 1, 8, 8}), b.slice_in_dim(depthwise, 0, 0, 4),
                                       {dilated, dilated}, dims, 1, 4);
  return b.tuple({down, b.convolution(down, kernel, {up, up}, transposed),
                  b.convolution(image, depthwise, {dilated, dilated}, dims, 4, 1, {}, Precision::high),
                  backward});
}
constexpr auto larger_of_pairs(Builder& b) -> ComputationId {
  return b.computation("argmax", [&] {
    const Value v = b.parameter({DType::f32, {}}), i = b.parameter({DType::i32, {}});
    const Value w = b.parameter({DType::f32, {}}), j = b.parameter({DType::i32, {}});
    const Value keep = b.compare(v, w, Direction::ge);
    return b.tuple({b.select(keep, v, w), b.select(keep, i, j)});
  });
}
constexpr auto reductions(Builder& b) -> Value {
  const Value x = b.parameter(f32_2x3, "x");
  const Value zero = b.constant(DType::f32, 0), low = b.lowest(DType::f32);
  const Value values[2] = {x, b.iota({DType::i32, {2, 3}}, 1)}, inits[2] = {low, b.constant(DType::i32, 0)};
  const Value best = b.reduce(values, inits, {1}, larger_of_pairs(b));
  const ComputationId add = b.scalar_computation(Opcode::add, DType::f32);
  const ComputationId any = b.scalar_computation(Opcode::or_, DType::boolean);
  return b.tuple({b.reduce(x, zero, {1}, add), b.reduce(x, zero, {0, 1}, add),
                  b.reduce(b.compare(x, x, Direction::ne), b.constant(DType::boolean, false), {0}, any),
                  b.get_tuple_element(best, 0), b.get_tuple_element(best, 1)});
}
constexpr auto windows(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {1, 2, 8, 8}}, "x");
  const Value zero = b.constant(DType::f32, 0), low = b.lowest(DType::f32);
  const WindowDim two{.size = 2, .stride = 2}, dilated{.size = 2, .padding_low = 1, .window_dilation = 2},
      stretched{.size = 2, .base_dilation = 2};
  const ComputationId add = b.scalar_computation(Opcode::add, DType::f32),
                      max = b.scalar_computation(Opcode::maximum, DType::f32);
  const ComputationId ge = b.computation("ge", [&] {
    const Value a = b.parameter({DType::f32, {}}), c = b.parameter({DType::f32, {}});
    return b.compare(a, c, Direction::ge);
  });
  const Value pooled = b.reduce_window(x, low, {{}, {}, two, two}, max);
  return b.tuple({pooled, b.reduce_window(x, zero, {{}, {}, dilated, stretched}, add),
                  b.select_and_scatter(x, pooled, zero, {{}, {}, two, two}, ge, add)});
}
constexpr auto orders(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {2, 4}}, "x");
  const Value places = b.iota({DType::i32, {2, 4}}, 1);
  const ComputationId less = b.computation("less", [&] {
    const Value a = b.parameter({DType::f32, {}}), c = b.parameter({DType::f32, {}});
    b.parameter({DType::i32, {}});
    b.parameter({DType::i32, {}});
    return b.compare(a, c, Direction::lt);
  });
  const ComputationId less_alone = b.computation("less", [&] {
    const Value a = b.parameter({DType::f32, {}}), c = b.parameter({DType::f32, {}});
    return b.compare(a, c, Direction::lt);
  });
  const Value sorted = b.sort({x, places}, 1, true, less);
  return b.tuple(
      {b.get_tuple_element(sorted, 0), b.get_tuple_element(sorted, 1), b.sort({x}, 0, false, less_alone)});
}
constexpr auto top(Builder& b) -> Value {
  return b.topk(b.parameter({DType::f32, {2, 4}}, "x"), 2, true);
}
constexpr auto mapped(Builder& b) -> Value {
  const Value x = b.parameter(f32_2x3, "x");
  const ComputationId square = b.computation("square", [&] {
    const Value a = b.parameter({DType::f32, {}});
    return b.multiply(a, a);
  });
  return b.map(fxpass::Span(&x, 1), square);
}
constexpr auto transforms(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {2, 8}}, "x");
  const Value half = b.fft(x, FftType::rfft, {8});
  return b.tuple({half, b.fft(half, FftType::irfft, {8}), b.fft(half, FftType::fft, {2, 5}),
                  b.fft(half, FftType::ifft, {5})});
}
constexpr auto decompositions(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {3, 3}}, "x");
  DotDims dims;
  dims.lhs_contracting = {1};
  dims.rhs_contracting = {1};
  const Value eye = b.convert(
      b.compare(b.iota({DType::i32, {3, 3}}, 0), b.iota({DType::i32, {3, 3}}, 1), Direction::eq), DType::f32);
  const Value positive = b.add(b.dot_general(x, x, dims), eye);
  const Value lower = b.cholesky(positive, true);
  return b.tuple({lower, b.cholesky(positive, false), b.triangular_solve(lower, x, true, true, false),
                  b.triangular_solve(lower, x, false, true, true, TriangularTranspose::transpose)});
}
constexpr auto random(Builder& b) -> Value {
  const Value state = b.parameter({DType::u64, {2}}, "state");
  return b.rng_bit_generator(state, RngAlgorithm::three_fry, {DType::u32, {6}});
}
constexpr auto random_by_backend(Builder& b) -> Value {
  const Value state = b.parameter({DType::u64, {2}}, "state");
  return b.get_tuple_element(b.rng_bit_generator(state, RngAlgorithm::by_backend, {DType::u32, {6}}), 1);
}
constexpr auto old_random(Builder& b) -> Value {
  const Value low = b.constant(DType::f32, 0), high = b.constant(DType::f32, 1);
  return b.tuple({b.rng(low, high, Distribution::uniform, {4}), b.rng(low, high, Distribution::normal, {4})});
}
constexpr auto loop(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4}}, "x");
  const Value init = b.tuple({b.constant(DType::i32, 0), x});
  const ShapeId state = b.shape_id(init);
  const ComputationId condition = b.computation("condition", [&] {
    const Value s = b.parameter(state, "state");
    return b.compare(b.get_tuple_element(s, 0), b.constant(DType::i32, 3), Direction::lt);
  });
  const ComputationId body = b.computation("body", [&] {
    const Value s = b.parameter(state, "state");
    const Value n = b.get_tuple_element(s, 0), y = b.get_tuple_element(s, 1);
    return b.tuple({b.add(n, b.constant(DType::i32, 1)), b.add(y, y)});
  });
  return b.while_loop(init, condition, body);
}
constexpr auto branches(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4}}, "x");
  const Value flag = b.parameter({DType::boolean, {}}, "flag"),
              which = b.parameter({DType::i32, {}}, "which");
  const auto make = [&](std::string_view name, Opcode opcode) {
    return b.computation(name, [&] { return b.unary(opcode, b.parameter({DType::f32, {4}})); });
  };
  const ComputationId targets[3] = {make("neg", Opcode::negate), make("exp", Opcode::exponential),
                                    make("abs", Opcode::abs)};
  const Value operands[3] = {x, x, x};
  return b.tuple({b.conditional(flag, fxpass::Span(operands).first(2), fxpass::Span(targets).first(2)),
                  b.conditional(which, operands, targets), b.call(targets[0], fxpass::Span(operands).first(1)),
                  b.opt_barrier(x)});
}
constexpr auto literals(Builder& b) -> Value {
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::array<double, 6> reals{0.1, -2.5, -0.0, inf, -inf, nan};
  constexpr std::array<double, 6> finite{0.1, -2.5, -0.0, 448, 1e-3, nan};
  constexpr std::array<std::int64_t, 4> integers{-128, -1, 0, 127};
  constexpr std::array<std::uint64_t, 4> naturals{0, 1, 200, 255};
  Pool<Value> all;
  for (const DType d : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8e5m2})
    all.push_back(b.constant(d, {2, 3}, fxpass::Span<const double>(reals)));
  for (const DType d : {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2fnuz})
    all.push_back(b.constant(d, {3, 2}, fxpass::Span<const double>(finite)));
  for (const DType d : {DType::i8, DType::i16, DType::i32, DType::i64})
    all.push_back(b.constant(d, {4}, fxpass::Span<const std::int64_t>(integers)));
  for (const DType d : {DType::u8, DType::u16, DType::u32, DType::u64})
    all.push_back(b.constant(d, {4}, fxpass::Span<const std::uint64_t>(naturals)));
  constexpr std::array<bool, 3> flags{true, false, true};
  all.push_back(b.constant(DType::boolean, {3, 1}, fxpass::Span<const bool>(flags)));
  all.push_back(b.constant(DType::i64, std::numeric_limits<std::int64_t>::min()));
  all.push_back(b.constant(DType::u64, std::numeric_limits<std::uint64_t>::max()));
  all.push_back(b.constant_complex(DType::c64, 1, -2));
  all.push_back(b.constant_complex(DType::c128, -0.0, nan));
  all.push_back(b.constant(DType::f32, {2, 0}, fxpass::Span<const double>()));
  all.push_back(b.constant(DType::f32, {0, 2}, fxpass::Span<const double>()));
  all.push_back(b.constant_bytes(DType::f32, {2}, std::string_view("\x01\x00\xc0\x7f\x00\x00\xc0\xff", 8)));
  all.push_back(b.constant(DType::f64, 5e-324));
  all.push_back(b.constant(DType::f32, 3.4028234663852886e38));
  return b.tuple(all.view());
}
constexpr auto power_of_two_literals(Builder& b) -> Value {
  constexpr std::array<double, 4> values{1, 0.25, 1024, 3};
  return b.constant(DType::f8e8m0fnu, {4}, fxpass::Span<const double>(values));
}
constexpr auto awkward_names(Builder& b) -> Value {
  b.set_metadata("aten.\"quoted\"", "back\\slash\nand line \xc3\xa9", "dir with space/f.py", 17);
  const Value s1 = b.parameter({DType::f32, {}}, "s1"), f32 = b.parameter({DType::f32, {}}, "f32");
  const Value digit = b.parameter({DType::f32, {}}, "0x"), hidden = b.parameter({DType::f32, {}}, "__a b"),
              root = b.parameter({DType::f32, {}}, "ROOT"), inf = b.parameter({DType::f32, {}}, "inf");
  const Value sum = b.add(s1, f32);
  b.add_frontend_attribute(sum, "first", "a=\"b\"");
  b.add_frontend_attribute(sum, "second", "plain");
  b.clear_metadata();
  return b.tuple({b.add(b.add(sum, digit), b.add(hidden, root)), inf});
}
constexpr auto aliases(Builder& b) -> Value {
  const Value cache = b.parameter(f32_2x3, "cache"), x = b.parameter(f32_2x3, "x"),
              z = b.parameter(f32_2x3, "z");
  b.add_alias({1, 0, Alias::Kind::must});
  b.add_alias({0, 2, Alias::Kind::may});
  return b.tuple({b.multiply(x, z), b.add(cache, x)});
}
constexpr auto alias_of_array(Builder& b) -> Value {
  b.add_alias({0, 0, Alias::Kind::must});
  return b.negate(b.parameter(f32_2x3, "cache"));
}
constexpr auto custom_calls(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {2, 8}}, "x");
  const Value soft =
      b.custom_call({.target = "AwsNeuronSoftmax", .backend_config = "1"}, {x}, {DType::f32, {2, 8}});
  const CustomCall::Alias in_place[1] = {{-1, 0}}, in_tuple[1] = {{1, 0}};
  const Value kernel = b.custom_call({.target = "AwsNeuronCustomNativeKernel",
                                      .backend_config = "{\"a\": \"b\\c\"}",
                                      .api_version = ApiVersion::status_returning,
                                      .has_side_effect = true,
                                      .aliases = in_place},
                                     {soft, x}, {DType::f32, {2, 8}});
  const ShapeId results[2] = {b.shapes().array(DType::i32, {}), b.shape_id(x)};
  const ShapeId pair = b.shapes().tuple(results);
  const ComputationId add = b.scalar_computation(Opcode::add, DType::f32);
  const Value several = b.custom_call(
      {.target = "several", .aliases = in_tuple, .called = fxpass::Span(&add, 1)}, fxpass::Span(&kernel, 1), pair);
  return several;
}
[[nodiscard]] constexpr auto pairs_of_ranks() -> ReplicaGroups {
  ReplicaGroups groups;
  groups.add({0, 1});
  groups.add({2, 3});
  return groups;
}
constexpr auto collectives(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4, 4}}, "x");
  const ComputationId add = b.scalar_computation(Opcode::add, DType::f32);
  const ReplicaGroups groups = pairs_of_ranks();
  ReplicaGroups all;
  all.add({0, 1, 2, 3});
  constexpr std::array<std::int64_t, 4> exchange{0, 1, 1, 0};
  const Value halves[2] = {b.slice_in_dim(x, 0, 0, 2), b.slice_in_dim(x, 0, 2, 4)};
  const Value swapped = b.all_to_all(halves, groups);
  const Value both = b.all_reduce(fxpass::Span(halves), add, groups);
  return b.tuple(
      {b.all_reduce(x, add, groups), b.all_reduce(x, add, ReplicaGroups()), b.get_tuple_element(both, 1),
       b.all_gather(x, 0, groups), b.reduce_scatter(x, 1, add, groups), b.all_to_all(x, 0, all),
       b.get_tuple_element(swapped, 0), b.collective_permute(x, exchange), b.replica_id(), b.partition_id()});
}
constexpr auto channels(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4, 4}}, "x");
  ReplicaGroups all;
  all.add({0, 1, 2, 3});
  const ComputationId add = b.scalar_computation(Opcode::add, DType::f32);
  return b.tuple({b.all_reduce(x, add, all, {.id = 1, .use_global_device_ids = true}),
                  b.all_gather(x, 1, all, {.id = 2, .use_global_device_ids = true})});
}
constexpr auto broadcasts_between_ranks(Builder& b) -> Value {
  return b.collective_broadcast(b.parameter({DType::f32, {4}}, "x"), pairs_of_ranks());
}

/// The result is not the last instruction: what is kept for its effect comes behind it.
constexpr auto effects_without_users(Builder& b) -> Value {
  const Value x = b.parameter({DType::f32, {4}}, "x");
  b.all_reduce(b.exponential(x), b.scalar_computation(Opcode::add, DType::f32), pairs_of_ranks());
  return b.negate(x);
}

using enum Sample::Fate;

inline constexpr Sample all[] = {
    {"float_unary", float_unary},
    {"integer_unary", integer_unary},
    {"complex_numbers", complex_numbers},
    {"float_binary", float_binary},
    {"integer_binary", integer_binary},
    {"conversions", conversions},
    {"comparisons", comparisons},
    {"movement", movement},
    {"gathers", gathers},
    {"products", products},
    {"convolutions", convolutions},
    {"reductions", reductions},
    {"windows", windows},
    {"orders", orders},
    {"top", top},
    {"mapped", mapped},
    {"transforms", transforms},
    {"decompositions", decompositions},
    {"random", random},
    {"random_by_backend", random_by_backend},
    {"old_random", old_random},
    {"loop", loop},
    {"branches", branches},
    {"literals", literals},
    {"power_of_two_literals", power_of_two_literals, compiles_elsewhere},
    {"awkward_names", awkward_names},
    {"aliases", aliases},
    {"alias_of_array", alias_of_array},
    {"custom_calls", custom_calls, compiles_elsewhere},
    {"collectives", collectives, runs, 4},
    {"channels", channels, runs, 4},
    {"effects_without_users", effects_without_users, runs, 4},
    {"broadcasts_between_ranks", broadcasts_between_ranks, compiles_elsewhere, 4},
};

[[nodiscard]] constexpr auto make(const Sample& sample) -> Expected<Module> {
  Builder b(sample.name);
  b.set_replica_count(sample.replicas);
  return b.finish(sample.body(b));
}

}  // namespace fxpass::hlo::samples
