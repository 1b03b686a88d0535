// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/dtype.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// What is known of HLO operations and of their attributes, said once. Builder, verifier, text and proto read
/// these tables. Sources: `xla/hlo/ir/hlo_opcode.h`, `xla/service/hlo.proto` (field numbers, as far as the
/// older copy knows them that Neuron's compiler reads), XLA's operation semantics.

namespace fxpass::hlo {

// clang-format off: tables
/// HLO's operations, by XLA's names with underscores; `opcode_table` says what is known of each.
enum class Opcode : std::uint8_t {
  // Sources.
  parameter, constant, iota, replica_id, partition_id,
  // One operand, element by element.
  abs, negate, sign, exponential, exponential_minus_one, log, log_plus_one, logistic, tanh, tan, sine,
  cosine, sqrt, rsqrt, cbrt, erf, floor, ceil, round_nearest_even, round_nearest_afz, is_finite, not_,
  popcnt, count_leading_zeros, real, imag, copy, convert, bitcast_convert, reduce_precision,
  // Two and three operands, element by element.
  add, subtract, multiply, divide, remainder, maximum, minimum, power, atan2, complex, and_, or_, xor_,
  shift_left, shift_right_arithmetic, shift_right_logical, compare, select, clamp,
  // Movement of elements.
  broadcast, reshape, transpose, reverse, slice, dynamic_slice, dynamic_update_slice, concatenate, pad,
  gather, scatter,
  // Sums of products, reductions, orders.
  dot, convolution, reduce, reduce_window, select_and_scatter, sort, topk, map,
  // Linear algebra, random numbers.
  fft, cholesky, triangular_solve, rng, rng_bit_generator,
  // Control and structure.
  while_, conditional, call, tuple, get_tuple_element, opt_barrier, custom_call,
  // Communication.
  all_reduce, all_gather, reduce_scatter, all_to_all, collective_permute, collective_broadcast,
};
// clang-format on

/// How the shape of a result follows from the operands.
enum class Category : std::uint8_t {
  source,      ///< no operand
  unary,       ///< as the operand
  binary,      ///< as both operands, which are equal
  structured,  ///< by a rule of the operation's own
  collective,  ///< as `structured`, and the ranks of a group meet in it: never removed
};

/// An attribute. In the order of the proto's field numbers, which is the order in which an instruction keeps
/// them.
// clang-format off: tables
enum class AttributeKey : std::uint8_t {
  literal, parameter_number, tuple_index, dimensions, window, convolution_dimensions, slice, exponent_bits,
  mantissa_bits, dynamic_slice_sizes, padding, distribution, channel_id, custom_call_target,
  lhs_contracting_dims, rhs_contracting_dims, lhs_batch_dims, rhs_batch_dims, fft_type, fft_length,
  offset_dims, collapsed_slice_dims, start_index_map, gather_index_vector_dim, slice_sizes, backend_config,
  update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, scatter_index_vector_dim,
  replica_groups, feature_group_count, operand_precision, source_target_pairs, batch_group_count, left_side,
  triangular_lower, unit_diagonal, transpose_a, is_stable, cholesky_lower, comparison_direction,
  custom_call_has_side_effect, indices_are_sorted, frontend_attribute, unique_indices, rng_algorithm,
  use_global_device_ids, comparison_type, output_operand_aliasing, api_version, k, largest,
};
// clang-format on

/// What an attribute holds. Numbers lie in `Module::numbers`, text in `Module::chars`.
enum class AttributeKind : std::uint8_t {
  number,       ///< one number
  flag,         ///< one number, 1; a false flag is not kept
  numbers,      ///< a list of numbers
  enumeration,  ///< one number with names, see `enumeration_names`
  text,         ///< characters
  special,      ///< a form of its own in text and proto; numbers unless said otherwise below
};

/// A row of `attribute_table`.
struct AttributeInfo {
  AttributeKey key;       ///< which one
  std::string_view name;  ///< in HLO text; empty: written otherwise
  AttributeKind kind;     ///< what it holds
  std::uint8_t
      proto_group;  ///< field of HloInstructionProto that holds the submessage with this attribute, or 0
  std::uint8_t proto_field;  ///< field number there
};

// clang-format off: tables
// The special ones, and how their numbers lie:
//   literal                  characters: the elements' bytes, little-endian, row-major; a PRED is 0 or 1
//   window                   7 a dimension: size, stride, padding low, high, window dilation, base dilation,
//                            reversal
//   convolution_dimensions   batch, feature, spatial... of the input; input feature, output feature,
//                            spatial... of the kernel; batch, feature, spatial... of the output
//   slice                    3 a dimension: start, limit, stride
//   padding                  3 a dimension: low, high, interior
//   operand_precision        one an operand: 0 default, 1 high, 2 highest
//   replica_groups           for each group its size and its members
//   source_target_pairs      2 a pair
//   output_operand_aliasing  2 an entry: element of the result (-1: the result is no tuple), operand
//   frontend_attribute       characters "key=value"; the attribute may occur more than once
/// All attributes, in the order of the keys. The comment above says how those lie whose kind is special.
inline constexpr std::array<AttributeInfo, 53> attribute_table{{
    {AttributeKey::literal, "", AttributeKind::special, 0, 8},
    {AttributeKey::parameter_number, "", AttributeKind::number, 0, 9},
    {AttributeKey::tuple_index, "index", AttributeKind::number, 0, 13},
    {AttributeKey::dimensions, "dimensions", AttributeKind::numbers, 0, 14},
    {AttributeKey::window, "window", AttributeKind::special, 0, 15},
    {AttributeKey::convolution_dimensions, "dim_labels", AttributeKind::special, 0, 16},
    {AttributeKey::slice, "slice", AttributeKind::special, 0, 17},
    {AttributeKey::exponent_bits, "exponent_bits", AttributeKind::number, 0, 18},
    {AttributeKey::mantissa_bits, "mantissa_bits", AttributeKind::number, 0, 19},
    {AttributeKey::dynamic_slice_sizes, "dynamic_slice_sizes", AttributeKind::numbers, 0, 20},
    {AttributeKey::padding, "padding", AttributeKind::special, 0, 21},
    {AttributeKey::distribution, "distribution", AttributeKind::enumeration, 0, 23},
    {AttributeKey::channel_id, "channel_id", AttributeKind::number, 0, 26},
    {AttributeKey::custom_call_target, "custom_call_target", AttributeKind::text, 0, 28},
    {AttributeKey::lhs_contracting_dims, "lhs_contracting_dims", AttributeKind::numbers, 30, 1},
    {AttributeKey::rhs_contracting_dims, "rhs_contracting_dims", AttributeKind::numbers, 30, 2},
    {AttributeKey::lhs_batch_dims, "lhs_batch_dims", AttributeKind::numbers, 30, 3},
    {AttributeKey::rhs_batch_dims, "rhs_batch_dims", AttributeKind::numbers, 30, 4},
    {AttributeKey::fft_type, "fft_type", AttributeKind::enumeration, 0, 31},
    {AttributeKey::fft_length, "fft_length", AttributeKind::numbers, 0, 32},
    {AttributeKey::offset_dims, "offset_dims", AttributeKind::numbers, 33, 1},
    {AttributeKey::collapsed_slice_dims, "collapsed_slice_dims", AttributeKind::numbers, 33, 2},
    {AttributeKey::start_index_map, "start_index_map", AttributeKind::numbers, 33, 3},
    {AttributeKey::gather_index_vector_dim, "index_vector_dim", AttributeKind::number, 33, 4},
    {AttributeKey::slice_sizes, "slice_sizes", AttributeKind::numbers, 0, 34},
    {AttributeKey::backend_config, "backend_config", AttributeKind::text, 0, 43},
    {AttributeKey::update_window_dims, "update_window_dims", AttributeKind::numbers, 48, 1},
    {AttributeKey::inserted_window_dims, "inserted_window_dims", AttributeKind::numbers, 48, 2},
    {AttributeKey::scatter_dims_to_operand_dims, "scatter_dims_to_operand_dims",
     AttributeKind::numbers, 48, 3},
    {AttributeKey::scatter_index_vector_dim, "index_vector_dim", AttributeKind::number, 48, 4},
    {AttributeKey::replica_groups, "replica_groups", AttributeKind::special, 0, 49},
    {AttributeKey::feature_group_count, "feature_group_count", AttributeKind::number, 0, 50},
    {AttributeKey::operand_precision, "operand_precision", AttributeKind::special, 51, 1},
    {AttributeKey::source_target_pairs, "source_target_pairs", AttributeKind::special, 0, 52},
    {AttributeKey::batch_group_count, "batch_group_count", AttributeKind::number, 0, 58},
    {AttributeKey::left_side, "left_side", AttributeKind::flag, 59, 1},
    {AttributeKey::triangular_lower, "lower", AttributeKind::flag, 59, 2},
    {AttributeKey::unit_diagonal, "unit_diagonal", AttributeKind::flag, 59, 3},
    {AttributeKey::transpose_a, "transpose_a", AttributeKind::enumeration, 59, 4},
    {AttributeKey::is_stable, "is_stable", AttributeKind::flag, 0, 60},
    {AttributeKey::cholesky_lower, "lower", AttributeKind::flag, 62, 1},
    {AttributeKey::comparison_direction, "direction", AttributeKind::enumeration, 0, 63},
    {AttributeKey::custom_call_has_side_effect, "custom_call_has_side_effect", AttributeKind::flag, 0, 65},
    {AttributeKey::indices_are_sorted, "indices_are_sorted", AttributeKind::flag, 0, 67},
    {AttributeKey::frontend_attribute, "frontend_attributes", AttributeKind::special, 68, 1},
    {AttributeKey::unique_indices, "unique_indices", AttributeKind::flag, 0, 69},
    {AttributeKey::rng_algorithm, "algorithm", AttributeKind::enumeration, 0, 70},
    {AttributeKey::use_global_device_ids, "use_global_device_ids", AttributeKind::flag, 0, 71},
    {AttributeKey::comparison_type, "type", AttributeKind::enumeration, 0, 72},
    {AttributeKey::output_operand_aliasing, "output_to_operand_aliasing", AttributeKind::special, 0, 74},
    {AttributeKey::api_version, "api_version", AttributeKind::enumeration, 0, 77},
    {AttributeKey::k, "k", AttributeKind::number, 0, 81},
    {AttributeKey::largest, "largest", AttributeKind::flag, 0, 85},
}};
// clang-format on

/// The row of an attribute. O(1).
[[nodiscard]] constexpr auto attribute_info(AttributeKey key) -> const AttributeInfo& {
  return attribute_table[static_cast<std::size_t>(key)];
}
/// Whether the attribute's range is one of `Module::chars`; else it is one of `Module::numbers`.
[[nodiscard]] constexpr auto holds_text(AttributeKey key) -> bool {
  return attribute_info(key).kind == AttributeKind::text || key == AttributeKey::literal ||
         key == AttributeKey::frontend_attribute;
}

// Values of enumerations, by XLA's numbers.
/// What holds between the two operands of a comparison, by XLA's numbers; so are the enumerations below.
enum class Direction : std::uint8_t { eq, ne, ge, gt, le, lt };
/// How elements compare: as their type does, or in total order, which makes -NaN < -inf < ... < -0 < +0 < ...
/// < +inf < NaN of floating-point numbers.
enum class ComparisonType : std::uint8_t { by_operand, total_order };

/// Of random numbers.
enum class Distribution : std::uint8_t { uniform = 1, normal = 2 };

/// How random bits are made.
enum class RngAlgorithm : std::uint8_t { by_backend, three_fry, philox };

/// Fourier transforms: of complex numbers, back, and those of which one side is real.
enum class FftType : std::uint8_t { fft, ifft, rfft, irfft };

/// What is done with a triangular matrix before it is solved with.
enum class TriangularTranspose : std::uint8_t { none = 1, transpose = 2, adjoint = 3 };

/// How a backend calls a custom call.
enum class ApiVersion : std::uint8_t { original = 1, status_returning, status_returning_unified, typed_ffi };

/// How exact a product has to be.
enum class Precision : std::uint8_t { standard, high, highest };

/// The text of an enumeration's value, empty where it is not written.
[[nodiscard]] constexpr auto enumeration_name(AttributeKey key, std::int64_t value) -> std::string_view {
  const auto pick = [&](auto... names) -> std::string_view {
    const std::string_view list[] = {names...};
    return value >= 0 && value < static_cast<std::int64_t>(sizeof...(names)) ? list[value]
                                                                             : std::string_view();
  };
  switch (key) {
    case AttributeKey::comparison_direction: return pick("EQ", "NE", "GE", "GT", "LE", "LT");
    case AttributeKey::comparison_type: return pick("", "TOTALORDER");
    case AttributeKey::distribution: return pick("", "rng_uniform", "rng_normal");
    case AttributeKey::rng_algorithm: return pick("rng_default", "rng_three_fry", "rng_philox");
    case AttributeKey::fft_type: return pick("FFT", "IFFT", "RFFT", "IRFFT");
    case AttributeKey::transpose_a: return pick("", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT");
    case AttributeKey::api_version:
      return pick("", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                  "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI");
    case AttributeKey::operand_precision: return pick("default", "high", "highest");
    default: return {};
  }
}

/// A set of attributes.
class AttributeSet {
 public:
  /// No attributes.
  constexpr AttributeSet() = default;

  /// Those given.
  template <class... Keys>
  // NOLINTNEXTLINE(google-explicit-constructor): a key is a set of one
  constexpr AttributeSet(AttributeKey first, Keys... rest) : bits_((bit(first) | ... | bit(rest))) {}

  /// Whether it is in the set, and whether nothing is.
  [[nodiscard]] constexpr auto contains(AttributeKey key) const -> bool { return (bits_ & bit(key)) != 0; }
  [[nodiscard]] constexpr auto empty() const -> bool { return bits_ == 0; }
  /// The one with the lowest number. Needs a set that is not empty.
  [[nodiscard]] constexpr auto first() const -> AttributeKey {
    return static_cast<AttributeKey>(std::countr_zero(bits_));
  }
  /// Takes it out, if it is in the set.
  constexpr void erase(AttributeKey key) { bits_ &= ~bit(key); }

 private:
  [[nodiscard]] static constexpr auto bit(AttributeKey key) -> std::uint64_t {
    return std::uint64_t{1} << static_cast<unsigned>(key);
  }
  std::uint64_t bits_ = 0;
};

/// Element types an elementwise operation takes.
class TypeSet {
 public:
  /// 1 PRED, 2 signed and 4 unsigned integers, 8 floating-point, 16 complex numbers.
  explicit constexpr TypeSet(unsigned bits) : bits_(bits) {}

  /// Whether the operation takes elements of that type.
  [[nodiscard]] constexpr auto contains(DType dtype) const -> bool {
    const unsigned bit = dtype == DType::boolean ? 1u
                         : is_integral(dtype)    ? (dtype_info(dtype).is_signed ? 2u : 4u)
                         : is_floating(dtype)    ? 8u
                                                 : 16u;
    return (bits_ & bit) != 0;
  }

 private:
  unsigned bits_;
};

/// The sets that operations have.
inline constexpr TypeSet any_type{31};
inline constexpr TypeSet pred_or_integers{7};
inline constexpr TypeSet integers{6};
inline constexpr TypeSet floats{8};
inline constexpr TypeSet floats_or_complex{24};
inline constexpr TypeSet signed_numbers{26};
inline constexpr TypeSet any_number{30};
inline constexpr TypeSet real_numbers{14};
inline constexpr TypeSet ordered{15};

/// No upper bound on the number of operands or called computations.
inline constexpr std::uint8_t unbounded = 255;

/// A row of `opcode_table`.
struct OpcodeInfo {
  Opcode opcode;                ///< which one
  std::string_view name;        ///< in HLO text
  Category category;            ///< how the result's shape follows
  std::uint8_t min_operands;    ///< how few
  std::uint8_t max_operands;    ///< how many, or `unbounded`
  TypeSet types;                ///< of the first operand; of all operands of unary and binary operations
  std::uint8_t min_called = 0;  ///< how few computations it calls
  std::uint8_t max_called = 0;  ///< how many, or `unbounded`
  AttributeSet needs = {};      ///< attributes that it cannot be without
  AttributeSet takes = {};      ///< beside those it needs; frontend attributes are taken everywhere
};

// clang-format off: tables
/// All operations, in the order of `Opcode`.
inline constexpr std::array<OpcodeInfo, 91> opcode_table = [] {
  using enum AttributeKey;
  constexpr Category source = Category::source, unary = Category::unary, binary = Category::binary,
                     structured = Category::structured, collective = Category::collective;
  return std::array<OpcodeInfo, 91>{{
      {Opcode::parameter, "parameter", source, 0, 0, any_type, 0, 0, {parameter_number}},
      {Opcode::constant, "constant", source, 0, 0, any_type, 0, 0, {literal}},
      {Opcode::iota, "iota", source, 0, 0, any_type, 0, 0, {dimensions}},
      {Opcode::replica_id, "replica-id", source, 0, 0, any_type},
      {Opcode::partition_id, "partition-id", source, 0, 0, any_type},

      {Opcode::abs, "abs", unary, 1, 1, signed_numbers},
      {Opcode::negate, "negate", unary, 1, 1, any_number},
      {Opcode::sign, "sign", unary, 1, 1, signed_numbers},
      {Opcode::exponential, "exponential", unary, 1, 1, floats_or_complex},
      {Opcode::exponential_minus_one, "exponential-minus-one", unary, 1, 1, floats_or_complex},
      {Opcode::log, "log", unary, 1, 1, floats_or_complex},
      {Opcode::log_plus_one, "log-plus-one", unary, 1, 1, floats_or_complex},
      {Opcode::logistic, "logistic", unary, 1, 1, floats_or_complex},
      {Opcode::tanh, "tanh", unary, 1, 1, floats_or_complex},
      {Opcode::tan, "tan", unary, 1, 1, floats_or_complex},
      {Opcode::sine, "sine", unary, 1, 1, floats_or_complex},
      {Opcode::cosine, "cosine", unary, 1, 1, floats_or_complex},
      {Opcode::sqrt, "sqrt", unary, 1, 1, floats_or_complex},
      {Opcode::rsqrt, "rsqrt", unary, 1, 1, floats_or_complex},
      {Opcode::cbrt, "cbrt", unary, 1, 1, floats},
      {Opcode::erf, "erf", unary, 1, 1, floats},
      {Opcode::floor, "floor", unary, 1, 1, floats},
      {Opcode::ceil, "ceil", unary, 1, 1, floats},
      {Opcode::round_nearest_even, "round-nearest-even", unary, 1, 1, floats},
      {Opcode::round_nearest_afz, "round-nearest-afz", unary, 1, 1, floats},
      {Opcode::is_finite, "is-finite", unary, 1, 1, floats},
      {Opcode::not_, "not", unary, 1, 1, pred_or_integers},
      {Opcode::popcnt, "popcnt", unary, 1, 1, integers},
      {Opcode::count_leading_zeros, "count-leading-zeros", unary, 1, 1, integers},
      {Opcode::real, "real", unary, 1, 1, floats_or_complex},
      {Opcode::imag, "imag", unary, 1, 1, floats_or_complex},
      {Opcode::copy, "copy", unary, 1, 1, any_type},
      {Opcode::convert, "convert", unary, 1, 1, any_type},
      {Opcode::bitcast_convert, "bitcast-convert", structured, 1, 1, any_type},
      {Opcode::reduce_precision, "reduce-precision", unary, 1, 1, floats, 0, 0,
       {exponent_bits, mantissa_bits}},

      {Opcode::add, "add", binary, 2, 2, any_type},
      {Opcode::subtract, "subtract", binary, 2, 2, any_number},
      {Opcode::multiply, "multiply", binary, 2, 2, any_type},
      {Opcode::divide, "divide", binary, 2, 2, any_number},
      {Opcode::remainder, "remainder", binary, 2, 2, real_numbers},
      {Opcode::maximum, "maximum", binary, 2, 2, ordered},
      {Opcode::minimum, "minimum", binary, 2, 2, ordered},
      {Opcode::power, "power", binary, 2, 2, any_number},
      {Opcode::atan2, "atan2", binary, 2, 2, floats_or_complex},
      {Opcode::complex, "complex", binary, 2, 2, floats},
      {Opcode::and_, "and", binary, 2, 2, pred_or_integers},
      {Opcode::or_, "or", binary, 2, 2, pred_or_integers},
      {Opcode::xor_, "xor", binary, 2, 2, pred_or_integers},
      {Opcode::shift_left, "shift-left", binary, 2, 2, integers},
      {Opcode::shift_right_arithmetic, "shift-right-arithmetic", binary, 2, 2, integers},
      {Opcode::shift_right_logical, "shift-right-logical", binary, 2, 2, integers},
      {Opcode::compare, "compare", binary, 2, 2, any_type, 0, 0, {comparison_direction}, {comparison_type}},
      {Opcode::select, "select", structured, 3, 3, any_type},
      {Opcode::clamp, "clamp", structured, 3, 3, ordered},

      {Opcode::broadcast, "broadcast", structured, 1, 1, any_type, 0, 0, {dimensions}},
      {Opcode::reshape, "reshape", structured, 1, 1, any_type},
      {Opcode::transpose, "transpose", structured, 1, 1, any_type, 0, 0, {dimensions}},
      {Opcode::reverse, "reverse", structured, 1, 1, any_type, 0, 0, {dimensions}},
      {Opcode::slice, "slice", structured, 1, 1, any_type, 0, 0, {slice}},
      {Opcode::dynamic_slice, "dynamic-slice", structured, 1, unbounded, any_type, 0, 0,
       {dynamic_slice_sizes}},
      {Opcode::dynamic_update_slice, "dynamic-update-slice", structured, 2, unbounded, any_type},
      {Opcode::concatenate, "concatenate", structured, 1, unbounded, any_type, 0, 0, {dimensions}},
      {Opcode::pad, "pad", structured, 2, 2, any_type, 0, 0, {padding}},
      {Opcode::gather, "gather", structured, 2, 2, any_type, 0, 0,
       {offset_dims, collapsed_slice_dims, start_index_map, gather_index_vector_dim, slice_sizes},
       {indices_are_sorted}},
      {Opcode::scatter, "scatter", structured, 3, unbounded, any_type, 1, 1,
       {update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims, scatter_index_vector_dim},
       {indices_are_sorted, unique_indices}},

      {Opcode::dot, "dot", structured, 2, 2, any_type, 0, 0,
       {lhs_contracting_dims, rhs_contracting_dims, lhs_batch_dims, rhs_batch_dims}, {operand_precision}},
      {Opcode::convolution, "convolution", structured, 2, 2, any_number, 0, 0,
       {window, convolution_dimensions, feature_group_count, batch_group_count}, {operand_precision}},
      {Opcode::reduce, "reduce", structured, 2, unbounded, any_type, 1, 1, {dimensions}},
      {Opcode::reduce_window, "reduce-window", structured, 2, unbounded, any_type, 1, 1, {window}},
      {Opcode::select_and_scatter, "select-and-scatter", structured, 3, 3, any_type, 2, 2, {window}},
      {Opcode::sort, "sort", structured, 1, unbounded, any_type, 1, 1, {dimensions}, {is_stable}},
      {Opcode::topk, "topk", structured, 1, 1, real_numbers, 0, 0, {k}, {largest}},
      {Opcode::map, "map", structured, 1, unbounded, any_type, 1, 1, {dimensions}},

      {Opcode::fft, "fft", structured, 1, 1, floats_or_complex, 0, 0, {fft_type, fft_length}},
      {Opcode::cholesky, "cholesky", structured, 1, 1, floats_or_complex, 0, 0, {}, {cholesky_lower}},
      {Opcode::triangular_solve, "triangular-solve", structured, 2, 2, floats_or_complex, 0, 0, {transpose_a},
       {left_side, triangular_lower, unit_diagonal}},
      {Opcode::rng, "rng", structured, 2, 2, any_type, 0, 0, {distribution}},
      {Opcode::rng_bit_generator, "rng-bit-generator", structured, 1, 1, integers, 0, 0, {rng_algorithm}},

      {Opcode::while_, "while", structured, 1, 1, any_type, 2, 2},
      {Opcode::conditional, "conditional", structured, 2, unbounded, any_type, 1, unbounded},
      {Opcode::call, "call", structured, 0, unbounded, any_type, 1, 1},
      {Opcode::tuple, "tuple", structured, 0, unbounded, any_type},
      {Opcode::get_tuple_element, "get-tuple-element", structured, 1, 1, any_type, 0, 0, {tuple_index}},
      {Opcode::opt_barrier, "opt-barrier", structured, 1, 1, any_type},
      {Opcode::custom_call, "custom-call", structured, 0, unbounded, any_type, 0, unbounded,
       {custom_call_target, api_version},
       {backend_config, custom_call_has_side_effect, output_operand_aliasing}},

      {Opcode::all_reduce, "all-reduce", collective, 1, unbounded, any_type, 1, 1, {replica_groups},
       {channel_id, use_global_device_ids}},
      {Opcode::all_gather, "all-gather", collective, 1, 1, any_type, 0, 0, {dimensions, replica_groups},
       {channel_id, use_global_device_ids}},
      {Opcode::reduce_scatter, "reduce-scatter", collective, 1, 1, any_type, 1, 1,
       {dimensions, replica_groups}, {channel_id, use_global_device_ids}},
      {Opcode::all_to_all, "all-to-all", collective, 1, unbounded, any_type, 0, 0, {replica_groups},
       {dimensions, channel_id}},
      {Opcode::collective_permute, "collective-permute", collective, 1, 1, any_type, 0, 0,
       {source_target_pairs}, {channel_id}},
      {Opcode::collective_broadcast, "collective-broadcast", collective, 1, 1, any_type, 0, 0,
       {replica_groups}, {channel_id}},
  }};
}();
// clang-format on

namespace detail {
/// The tables are indexed by their enumerators.
[[nodiscard]] constexpr auto tables_in_order() -> bool {
  for (std::size_t i = 0; i < opcode_table.size(); ++i)
    if (static_cast<std::size_t>(opcode_table[i].opcode) != i) return false;
  for (std::size_t i = 0; i < attribute_table.size(); ++i)
    if (static_cast<std::size_t>(attribute_table[i].key) != i) return false;
  return true;
}
static_assert(tables_in_order());
}  // namespace detail

/// The row of an operation. O(1).
[[nodiscard]] constexpr auto opcode_info(Opcode opcode) -> const OpcodeInfo& {
  return opcode_table[static_cast<std::size_t>(opcode)];
}

/// Its name in HLO text.
[[nodiscard]] constexpr auto to_string(Opcode opcode) -> std::string_view {
  return opcode_info(opcode).name;
}

}  // namespace fxpass::hlo
