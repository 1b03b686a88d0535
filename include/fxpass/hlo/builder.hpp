// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/arrange.hpp>
#include <fxpass/hlo/module.hpp>
#include <fxpass/hlo/shape_inference.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/float_format.hpp>
#include <fxpass/support/span.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// `hlo::Builder` makes an `hlo::Module`, one call an instruction.

namespace fxpass::hlo {

/// Which ranks meet in a collective; without groups all replicas meet.
class ReplicaGroups {
 public:
  /// One group: all ranks.
  constexpr ReplicaGroups() = default;

  /// Adds a group. Its ranks keep their order: in it shards are cut and joined.
  constexpr void add(Span<const std::int64_t> ranks) {
    numbers_.push_back(static_cast<std::int64_t>(ranks.size()));
    numbers_.append(ranks);
  }
  constexpr void add(std::initializer_list<std::int64_t> ranks) {
    add(Span(ranks.begin(), ranks.size()));
  }

  /// Each group as its size and its ranks, as `AttributeKey::replica_groups` holds them.
  [[nodiscard]] constexpr auto numbers() const -> Span<const std::int64_t> { return numbers_.view(); }

 private:
  Pool<std::int64_t> numbers_;
};

/// How the ranks of a collective's groups are named.
struct Channel {
  std::int64_t id = 0;                 ///< 0: no channel, the ranks of the groups are replicas
  bool use_global_device_ids = false;  ///< the ranks number devices, not replicas
};

/// What a custom call says beside its operands.
struct CustomCall {
  /// An element of the result that lies in the buffer of an operand.
  struct Alias {
    std::int64_t output = -1;  ///< element of the result; -1 if that is no tuple
    std::int64_t operand = 0;  ///< which operand
  };

  std::string_view target;                        ///< the backend's name for it
  std::string_view backend_config = {};           ///< text for the backend
  ApiVersion api_version = ApiVersion::original;  ///< how the backend calls it
  bool has_side_effect = false;                   ///< it is kept, used or not
  Span<const Alias> aliases = {};                 ///< results in the buffers of operands
  Span<const ComputationId> called = {};          ///< computations that it calls
};

namespace detail {
/// An attribute as an operation gives it; looks at its argument, which outlives the call.
struct NewAttribute {
  constexpr NewAttribute(AttributeKey k, std::string_view t) : key(k), text(t) {}
  constexpr NewAttribute(AttributeKey k, Span<const std::int64_t> l) : key(k), list(l) {}
  constexpr NewAttribute(AttributeKey k, const Dims& l)
      : key(k), list(l.view()), overflowed(l.overflowed()) {}
  constexpr NewAttribute(AttributeKey k, std::integral auto n)
      : key(k), number(static_cast<std::int64_t>(n)), is_number(true) {}
  template <class E>
    requires std::is_enum_v<E>
  constexpr NewAttribute(AttributeKey k, E e)
      : key(k), number(static_cast<std::int64_t>(e)), is_number(true) {}

  AttributeKey key;
  std::string_view text = {};
  Span<const std::int64_t> list = {};
  std::int64_t number = 0;
  bool is_number = false;
  bool overflowed = false;

  /// Attributes that say what holds without them anyway are not kept.
  [[nodiscard]] constexpr auto is_default() const -> bool {
    switch (key) {
      case AttributeKey::channel_id:
      case AttributeKey::comparison_type: return number == 0;
      case AttributeKey::backend_config: return text.empty();
      case AttributeKey::operand_precision:
      case AttributeKey::output_operand_aliasing: return list.empty();
      default: return attribute_info(key).kind == AttributeKind::flag && number == 0;
    }
  }
};

/// Cuts the fraction; what is too large becomes the nearest integer of the type, NaN 0.
[[nodiscard]] constexpr auto integer_bits(double value, DType dtype) -> std::uint64_t {
  const int width = static_cast<int>(byte_size(dtype)) * 8;
  const bool is_signed = dtype_info(dtype).is_signed;
  const double limit = static_cast<double>(std::uint64_t{1} << (width - 1)) * (is_signed ? 1.0 : 2.0);
  const std::uint64_t highest = ~std::uint64_t{0} >> (64 - width + (is_signed ? 1 : 0));
  if (value != value) return 0;
  if (value >= limit) return highest;
  if (value <= (is_signed ? -limit : 0.0)) return is_signed ? ~highest : 0;
  return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                   : static_cast<std::uint64_t>(value);
}

/// Appends the bytes of one element; a number that the type does not hold as XLA's convert makes it.
template <class T>
constexpr void append_element(Pool<char>& bytes, DType dtype, T value) {
  std::uint64_t bits = 0;
  if (is_complex(dtype)) {
    append_element(bytes, fxpass::detail::real_part(dtype), value);
    append_element(bytes, fxpass::detail::real_part(dtype), T{0});
    return;
  }
  if (dtype == DType::boolean)
    bits = value != T{0} ? 1 : 0;
  else if (is_floating(dtype))
    bits = float_bits(static_cast<double>(value), dtype);
  else if constexpr (std::integral<T>)
    bits = static_cast<std::uint64_t>(value);
  else
    bits = integer_bits(static_cast<double>(value), dtype);
  for (std::int64_t n = 0; n < byte_size(dtype); ++n)
    bytes.push_back(static_cast<char>(static_cast<std::uint8_t>(bits >> (8 * n))));
}
}  // namespace detail

/// Makes a module in program order.
///
///     hlo::Builder b("squares");
///     const hlo::Value x = b.parameter({DType::f32, {4}}, "x");
///     const Expected<hlo::Module> squares = b.finish(b.multiply(x, x));
///
/// Every operation infers its result's shape. An ill-formed call adds a diagnostic and gives an invalid
/// `Value`; a call with an invalid operand gives an invalid `Value` and says nothing more. So callers check
/// nothing, and `finish` tells all that went wrong. What changes nothing (a reshape to the same sizes, say)
/// is its operand. `finish` leaves out what no result needs; the order of what stays is that of the nodes
/// (`set_metadata`), and within a node follows from the operands alone, so that nested calls give one module
/// under every compiler. An instruction costs O(operands + attributes), `finish` O(instructions).
class Builder {
 public:
  /// Opens a module and its entry computation. Names are changed to ones that XLA takes.
  explicit constexpr Builder(std::string_view module_name, std::string_view entry_name = "main") {
    module_.name = clean_name(module_name);
    module_.metadata.push_back({});
    open(entry_name);
  }

  // ---- where instructions come from

  /// New instructions are said to come from this node of the source program; so are diagnostics.
  constexpr void set_metadata(std::string_view op_type, std::string_view op_name,
                              std::string_view source_file = {}, std::uint32_t source_line = 0) {
    const Metadata last = module_.metadata.back();
    Metadata next;
    next.op_type = keep_text(op_type, last.op_type);
    next.op_name = keep_text(op_name, last.op_name);
    next.source_file = keep_text(source_file, last.source_file);
    next.source_line = source_line;
    if (!(next == last)) module_.metadata.push_back(next);
    metadata_ = module_.metadata.size() - 1;
    ++step_;
  }
  /// New instructions come from nowhere in particular, until `set_metadata`.
  constexpr void clear_metadata() {
    metadata_ = 0;
    ++step_;
  }

  /// Compile options, written in the header of HLO text.
  constexpr void set_replica_count(std::uint32_t count) { module_.replica_count = count; }
  constexpr void set_num_partitions(std::uint32_t count) { module_.num_partitions = count; }
  /// Says that an output lies in the buffer of a parameter.
  constexpr void add_alias(Alias alias) { module_.aliases.push_back(alias); }
  /// Adds `key="value"` to the instruction, for the backend to read. A key holds no `=`.
  constexpr void add_frontend_attribute(Value value, std::string_view key, std::string_view text) {
    if (!value.valid()) return;
    Instruction& i = module_.instructions[value.id];
    // The attributes of an instruction lie together: those of an older one move to the end.
    const Range old = i.attributes;
    i.attributes = module_.attributes.append(module_.attributes.view(old));
    Range chars = module_.chars.append(Span<const char>(key.data(), key.size()));
    module_.chars.push_back('=');
    chars.count += 1 + module_.chars.append(Span<const char>(text.data(), text.size())).count;
    module_.attributes.push_back({AttributeKey::frontend_attribute, chars});
    ++i.attributes.count;
    sort_attributes(i.attributes);
  }

  // ---- errors

  /// Notes a diagnostic, with the current node unless it names one, and gives the invalid value.
  constexpr auto fail(Diagnostic diagnostic) -> Value {
    const Metadata& m = module_.metadata[metadata_];
    if (diagnostic.node.empty()) diagnostic.node = module_.text(m.op_name);
    if (diagnostic.model.file.empty()) {
      diagnostic.model.file = module_.text(m.source_file);
      diagnostic.model.line = m.source_line;
    }
    errors_.add(std::move(diagnostic));
    return {};
  }
  /// Whether a diagnostic was noted.
  [[nodiscard]] constexpr auto failed() const -> bool { return !errors_.empty(); }

  // ---- shapes

  /// The shape of an array; of an invalid value, as of a tuple, a scalar f32. `dims`, `rank` and `dtype` are
  /// its parts.
  [[nodiscard]] constexpr auto shape(Value v) const -> Shape {
    return v.valid() ? module_.shapes.shape(module_[v].shape) : Shape{};
  }
  [[nodiscard]] constexpr auto dims(Value v) const -> Dims { return shape(v).dims; }
  [[nodiscard]] constexpr auto rank(Value v) const -> std::size_t { return shape(v).rank(); }
  [[nodiscard]] constexpr auto dtype(Value v) const -> DType {
    return v.valid() ? module_.shapes.dtype(module_[v].shape) : DType::f32;
  }
  /// The id of any shape, of a tuple too. Needs a valid value.
  [[nodiscard]] constexpr auto shape_id(Value v) const -> ShapeId { return module_[v].shape; }
  /// The shapes of this module; for results that a caller gives as ids.
  [[nodiscard]] constexpr auto shapes() -> ShapeTable& { return module_.shapes; }
  /// What made the value; `tuple` for an invalid one.
  [[nodiscard]] constexpr auto opcode(Value v) const -> Opcode {
    return v.valid() ? module_[v].opcode : Opcode::tuple;
  }

  // ---- computations

  /// The next parameter of the computation that is being made.
  constexpr auto parameter(const Shape& shape, std::string_view name = {}) -> Value {
    const Expected<ShapeId> id = intern(shape);
    if (!id) return fail(id.error().front());
    return parameter(*id, name);
  }
  constexpr auto parameter(ShapeId shape, std::string_view name = {}) -> Value {
    const Value v =
        make(Opcode::parameter, shape, {}, {{AttributeKey::parameter_number, scopes_.back().parameters}});
    if (!v.valid()) return v;
    ++scopes_.back().parameters;
    if (!name.empty()) module_.instructions[v.id].name = keep_text(clean_name(name), {});
    return v;
  }

  /// Makes a computation: `body` is called once, adds its instructions to this builder and returns the
  /// result. It sees no values of the computation around it but those it takes as parameters.
  template <std::invocable Body>
  constexpr auto computation(std::string_view name, Body&& body) -> ComputationId {
    open(name);
    const Value root = std::forward<Body>(body)();
    return close(root);
  }
  /// The computation `(a, b) -> opcode(a, b)` on scalars, made once a module for each opcode and type. Needs
  /// a binary opcode; `copy` stands for the second operand.
  constexpr auto scalar_computation(Opcode opcode, DType dtype) -> ComputationId {
    for (const SharedComputation& shared : shared_)
      if (shared.opcode == opcode && shared.dtype == dtype) return shared.id;
    const std::uint32_t metadata = std::exchange(metadata_, 0);
    open(to_string(opcode));
    const Value a = parameter(Shape{dtype, {}});
    const Value b = parameter(Shape{dtype, {}});
    const ComputationId id = close(opcode == Opcode::copy ? copy(b) : binary(opcode, a, b));
    metadata_ = metadata;
    if (id.valid()) shared_.push_back({opcode, dtype, id});
    return id;
  }

  /// Ends the module with `root` as its result; the builder is spent. Errors, all that were noted:
  /// `invalid_hlo` for ill-formed calls, `unsupported` for shapes and constants that HLO cannot hold, and
  /// what `fail` was given. O(instructions).
  [[nodiscard]] constexpr auto finish(Value root) -> Expected<Module> {
    const ComputationId entry = close(root);
    if (!entry.valid() && errors_.empty())
      fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "module has no result"));
    if (!errors_.empty()) return std::move(errors_);
    arrange();
    return std::move(module_);
  }

  // ---- constants

  /// A scalar. A number that the type does not hold is rounded, cut or saturated as XLA's convert does.
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  constexpr auto constant(DType dtype, T value) -> Value {
    return constant(dtype, Dims{}, Span<const T>(&value, 1));
  }
  /// An array of `values`, row-major.
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  constexpr auto constant(DType dtype, const Dims& dims, Span<T> values) -> Value {
    const auto size = static_cast<std::size_t>(byte_size(dtype));
    if (values.size() > largest_literal / size) return fail(too_large());
    Pool<char> bytes;
    bytes.reserve(static_cast<std::uint32_t>(values.size() * size));
    for (const std::remove_const_t<T> value : values) detail::append_element(bytes, dtype, value);
    return constant_bytes(dtype, dims, std::string_view(bytes.data(), bytes.size()));
  }
  /// A complex scalar. Needs a complex type.
  constexpr auto constant_complex(DType dtype, double real, double imaginary) -> Value {
    if (!is_complex(dtype))
      return fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "constant: is not complex"));
    Pool<char> bytes;
    detail::append_element(bytes, fxpass::detail::real_part(dtype), real);
    detail::append_element(bytes, fxpass::detail::real_part(dtype), imaginary);
    return constant_bytes(dtype, {}, std::string_view(bytes.data(), bytes.size()));
  }
  /// An array by the bytes of its elements: little-endian, row-major, a PRED a byte 0 or 1.
  constexpr auto constant_bytes(DType dtype, const Dims& dims, std::string_view bytes) -> Value {
    const Expected<ShapeId> id = intern({dtype, dims});
    if (!id) return fail(id.error().front());
    if (std::uint64_t{module_.chars.size()} + bytes.size() > largest_literal) return fail(too_large());
    return make(Opcode::constant, *id, {}, {{AttributeKey::literal, bytes}});
  }
  /// An array with `value` everywhere.
  template <class T>
    requires std::integral<T> || std::floating_point<T>
  constexpr auto full(const Shape& shape, T value) -> Value {
    return broadcast(constant(shape.dtype, value), shape.dims);
  }
  /// The scalar that is the lowest of its type: -inf where there is one.
  constexpr auto lowest(DType dtype) -> Value { return extreme(dtype, true); }
  /// The scalar that is the highest of its type: +inf where there is one.
  constexpr auto highest(DType dtype) -> Value { return extreme(dtype, false); }

  /// Each element is its index along `dimension`.
  constexpr auto iota(const Shape& shape, std::int64_t dimension) -> Value {
    const Expected<ShapeId> id = intern(shape);
    if (!id) return fail(id.error().front());
    return make(Opcode::iota, *id, {}, {{AttributeKey::dimensions, dimension}});
  }
  /// The number of this replica, or partition: a scalar u32.
  constexpr auto replica_id() -> Value { return make(Opcode::replica_id, {}, {}, {}); }
  constexpr auto partition_id() -> Value { return make(Opcode::partition_id, {}, {}, {}); }

  // ---- element by element

  /// Any unary operation without attributes.
  constexpr auto unary(Opcode opcode, Value x) -> Value { return make(opcode, {}, {x}, {}); }
  /// Any binary operation without attributes.
  constexpr auto binary(Opcode opcode, Value a, Value b) -> Value { return make(opcode, {}, {a, b}, {}); }

  /// The operation of that name, of every element. XLA's operation semantics say what it computes;
  /// `opcode_table` has the element types that it takes.
  constexpr auto abs(Value x) -> Value { return unary(Opcode::abs, x); }
  constexpr auto negate(Value x) -> Value { return unary(Opcode::negate, x); }
  constexpr auto sign(Value x) -> Value { return unary(Opcode::sign, x); }
  constexpr auto exponential(Value x) -> Value { return unary(Opcode::exponential, x); }
  constexpr auto exponential_minus_one(Value x) -> Value { return unary(Opcode::exponential_minus_one, x); }
  constexpr auto log(Value x) -> Value { return unary(Opcode::log, x); }
  constexpr auto log_plus_one(Value x) -> Value { return unary(Opcode::log_plus_one, x); }
  constexpr auto logistic(Value x) -> Value { return unary(Opcode::logistic, x); }
  constexpr auto tanh(Value x) -> Value { return unary(Opcode::tanh, x); }
  constexpr auto tan(Value x) -> Value { return unary(Opcode::tan, x); }
  constexpr auto sine(Value x) -> Value { return unary(Opcode::sine, x); }
  constexpr auto cosine(Value x) -> Value { return unary(Opcode::cosine, x); }
  constexpr auto sqrt(Value x) -> Value { return unary(Opcode::sqrt, x); }
  constexpr auto rsqrt(Value x) -> Value { return unary(Opcode::rsqrt, x); }
  constexpr auto cbrt(Value x) -> Value { return unary(Opcode::cbrt, x); }
  constexpr auto erf(Value x) -> Value { return unary(Opcode::erf, x); }
  constexpr auto floor(Value x) -> Value { return unary(Opcode::floor, x); }
  constexpr auto ceil(Value x) -> Value { return unary(Opcode::ceil, x); }
  constexpr auto round_nearest_even(Value x) -> Value { return unary(Opcode::round_nearest_even, x); }
  constexpr auto round_nearest_afz(Value x) -> Value { return unary(Opcode::round_nearest_afz, x); }
  constexpr auto is_finite(Value x) -> Value { return unary(Opcode::is_finite, x); }
  constexpr auto not_(Value x) -> Value { return unary(Opcode::not_, x); }
  constexpr auto popcnt(Value x) -> Value { return unary(Opcode::popcnt, x); }
  constexpr auto count_leading_zeros(Value x) -> Value { return unary(Opcode::count_leading_zeros, x); }
  constexpr auto real(Value x) -> Value { return unary(Opcode::real, x); }
  constexpr auto imag(Value x) -> Value { return unary(Opcode::imag, x); }
  constexpr auto copy(Value x) -> Value { return unary(Opcode::copy, x); }

  /// Every element as the nearest of another type; `x` itself if it has that type. Of a float to an integer
  /// cuts the fraction.
  constexpr auto convert(Value x, DType to) -> Value {
    if (x.valid() && dtype(x) == to) return x;
    return make(Opcode::convert, scalar(to), {x}, {});
  }
  /// Reads the bits as another type; of another width, with a last dimension of the parts more or less.
  constexpr auto bitcast_convert(Value x, DType to) -> Value {
    if (x.valid() && dtype(x) == to) return x;
    return make(Opcode::bitcast_convert, scalar(to), {x}, {});
  }
  /// Rounds every element to fewer exponent and mantissa bits; the type stays.
  constexpr auto reduce_precision(Value x, std::int64_t exponent_bits, std::int64_t mantissa_bits) -> Value {
    return make(Opcode::reduce_precision, {}, {x},
                {{AttributeKey::exponent_bits, exponent_bits}, {AttributeKey::mantissa_bits, mantissa_bits}});
  }

  /// The operation of that name, of every pair of elements. Needs operands of one shape: nothing is
  /// broadcast.
  constexpr auto add(Value a, Value b) -> Value { return binary(Opcode::add, a, b); }
  constexpr auto subtract(Value a, Value b) -> Value { return binary(Opcode::subtract, a, b); }
  constexpr auto multiply(Value a, Value b) -> Value { return binary(Opcode::multiply, a, b); }
  constexpr auto divide(Value a, Value b) -> Value { return binary(Opcode::divide, a, b); }
  constexpr auto remainder(Value a, Value b) -> Value { return binary(Opcode::remainder, a, b); }
  constexpr auto maximum(Value a, Value b) -> Value { return binary(Opcode::maximum, a, b); }
  constexpr auto minimum(Value a, Value b) -> Value { return binary(Opcode::minimum, a, b); }
  constexpr auto power(Value a, Value b) -> Value { return binary(Opcode::power, a, b); }
  constexpr auto atan2(Value a, Value b) -> Value { return binary(Opcode::atan2, a, b); }
  constexpr auto complex(Value real, Value imaginary) -> Value {
    return binary(Opcode::complex, real, imaginary);
  }
  constexpr auto and_(Value a, Value b) -> Value { return binary(Opcode::and_, a, b); }
  constexpr auto or_(Value a, Value b) -> Value { return binary(Opcode::or_, a, b); }
  constexpr auto xor_(Value a, Value b) -> Value { return binary(Opcode::xor_, a, b); }
  constexpr auto shift_left(Value a, Value b) -> Value { return binary(Opcode::shift_left, a, b); }
  constexpr auto shift_right_arithmetic(Value a, Value b) -> Value {
    return binary(Opcode::shift_right_arithmetic, a, b);
  }
  constexpr auto shift_right_logical(Value a, Value b) -> Value {
    return binary(Opcode::shift_right_logical, a, b);
  }

  /// PRED for every pair of elements. Needs operands of one shape; by total order, floating ones.
  constexpr auto compare(Value a, Value b, Direction direction,
                         ComparisonType type = ComparisonType::by_operand) -> Value {
    return make(Opcode::compare, {}, {a, b},
                {{AttributeKey::comparison_direction, direction}, {AttributeKey::comparison_type, type}});
  }
  /// From `on_true` where `predicate` holds, else from `on_false`. Needs a PRED of their shape, or a scalar
  /// one.
  constexpr auto select(Value predicate, Value on_true, Value on_false) -> Value {
    return make(Opcode::select, {}, {predicate, on_true, on_false}, {});
  }
  /// Every element held between `low` and `high`, which have its shape or are scalars.
  constexpr auto clamp(Value low, Value x, Value high) -> Value {
    return make(Opcode::clamp, {}, {low, x, high}, {});
  }

  // ---- movement of elements

  /// Dimension i of `x` becomes dimension `broadcast_dims[i]` of the result, which has the sizes `to`. Sizes
  /// of 1 are not stretched.
  constexpr auto broadcast_in_dim(Value x, const Dims& to, const Dims& broadcast_dims) -> Value {
    if (!x.valid()) return {};
    if (dims(x) == to && broadcast_dims == iota_dims(to.size())) return x;
    const Expected<ShapeId> id = intern({dtype(x), to});
    if (!id) return fail(id.error().front());
    return make(Opcode::broadcast, *id, {x}, {{AttributeKey::dimensions, broadcast_dims}});
  }
  /// A scalar everywhere.
  constexpr auto broadcast(Value scalar_value, const Dims& to) -> Value {
    return broadcast_in_dim(scalar_value, to, {});
  }
  /// The same elements in row-major order with other sizes; a reshape of a reshape is one.
  constexpr auto reshape(Value x, const Dims& to) -> Value {
    if (!x.valid()) return {};
    if (opcode(x) == Opcode::reshape) x = module_.operands_of(module_[x])[0];
    if (dims(x) == to) return x;
    const Expected<ShapeId> id = intern({dtype(x), to});
    if (!id) return fail(id.error().front());
    return make(Opcode::reshape, *id, {x}, {});
  }
  /// Dimension i of the result is dimension `permutation[i]` of `x`.
  constexpr auto transpose(Value x, const Dims& permutation) -> Value {
    if (x.valid() && permutation == iota_dims(rank(x))) return x;
    return make(Opcode::transpose, {}, {x}, {{AttributeKey::dimensions, permutation}});
  }
  /// Those dimensions from back to front.
  constexpr auto reverse(Value x, const Dims& dimensions) -> Value {
    if (dimensions.empty()) return x;
    return make(Opcode::reverse, {}, {x}, {{AttributeKey::dimensions, dimensions}});
  }
  /// Every dimension cut to `[start, limit)` in steps of `stride`. Needs a number for each dimension.
  constexpr auto slice(Value x, const Dims& start, const Dims& limit, const Dims& stride) -> Value {
    if (!x.valid()) return {};
    const std::size_t n = rank(x);
    if (start.size() != n || limit.size() != n || stride.size() != n)
      return fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "slice: needs bounds for every dimension"));
    if (start == Dims(n, 0) && limit == dims(x) && stride == Dims(n, 1)) return x;
    return make(Opcode::slice, {}, {x}, {{AttributeKey::slice, interleaved(start, limit, stride).view()}});
  }
  /// One dimension cut to `[start, limit)` in steps of `stride`, the others whole.
  constexpr auto slice_in_dim(Value x, std::int64_t dimension, std::int64_t start, std::int64_t limit,
                              std::int64_t stride = 1) -> Value {
    const std::size_t n = rank(x);
    if (x.valid() && (dimension < 0 || static_cast<std::size_t>(dimension) >= n))
      return fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "slice: there is no such dimension"));
    Dims starts(n, 0), limits = dims(x), strides(n, 1);
    const auto d = static_cast<std::size_t>(dimension);
    starts[d] = start;
    limits[d] = limit;
    strides[d] = stride;
    return slice(x, starts, limits, strides);
  }
  /// A window of `sizes` from the indices `starts`, scalars, one a dimension. XLA moves one that would stick
  /// out inside.
  constexpr auto dynamic_slice(Value x, Span<const Value> starts, const Dims& sizes) -> Value {
    return make(Opcode::dynamic_slice, {}, with_first(x, starts).view(),
                {{AttributeKey::dynamic_slice_sizes, sizes}});
  }
  /// `x` with `update` from the indices `starts` on, which XLA moves so that it fits. In a chain, done in
  /// place.
  constexpr auto dynamic_update_slice(Value x, Value update, Span<const Value> starts) -> Value {
    Pool<Value> operands;
    operands.push_back(x);
    operands.push_back(update);
    operands.append(starts);
    return make(Opcode::dynamic_update_slice, {}, operands.view(), {});
  }
  /// The arrays one behind the other along `dimension`; the other sizes are equal.
  constexpr auto concatenate(Span<const Value> values, std::int64_t dimension) -> Value {
    if (values.size() == 1) return values[0];
    return make(Opcode::concatenate, {}, values, {{AttributeKey::dimensions, dimension}});
  }
  constexpr auto concatenate(std::initializer_list<Value> values, std::int64_t dimension) -> Value {
    return concatenate(Span(values.begin(), values.size()), dimension);
  }
  /// `low` and `high` may be negative, which cuts; `interior` lies between neighbours.
  constexpr auto pad(Value x, Value padding, const Dims& low, const Dims& high, const Dims& interior)
      -> Value {
    if (!x.valid() || !padding.valid()) return {};
    const std::size_t n = rank(x);
    if (low.size() != n || high.size() != n || interior.size() != n)
      return fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "pad: needs padding for every dimension"));
    if (low == Dims(n, 0) && high == Dims(n, 0) && interior == Dims(n, 0)) return x;
    return make(Opcode::pad, {}, {x, padding},
                {{AttributeKey::padding, interleaved(low, high, interior).view()}});
  }
  /// Slices of `x`, one for each index vector in `indices`; XLA moves one that would stick out inside.
  constexpr auto gather(Value x, Value indices, const GatherDims& gather_dims, const Dims& slice_sizes,
                        bool indices_are_sorted = false) -> Value {
    return make(Opcode::gather, {}, {x, indices},
                {{AttributeKey::offset_dims, gather_dims.offset_dims},
                 {AttributeKey::collapsed_slice_dims, gather_dims.collapsed_slice_dims},
                 {AttributeKey::start_index_map, gather_dims.start_index_map},
                 {AttributeKey::gather_index_vector_dim, gather_dims.index_vector_dim},
                 {AttributeKey::slice_sizes, slice_sizes},
                 {AttributeKey::indices_are_sorted, indices_are_sorted}});
  }
  /// `x` with every window of `updates` combined into it at its index vector; one that sticks out is left
  /// out.
  constexpr auto scatter(Value x, Value indices, Value updates, const ScatterDims& scatter_dims,
                         ComputationId combiner, bool indices_are_sorted = false, bool unique_indices = false)
      -> Value {
    return make(Opcode::scatter, {}, {x, indices, updates},
                {{AttributeKey::update_window_dims, scatter_dims.update_window_dims},
                 {AttributeKey::inserted_window_dims, scatter_dims.inserted_window_dims},
                 {AttributeKey::scatter_dims_to_operand_dims, scatter_dims.scatter_dims_to_operand_dims},
                 {AttributeKey::scatter_index_vector_dim, scatter_dims.index_vector_dim},
                 {AttributeKey::indices_are_sorted, indices_are_sorted},
                 {AttributeKey::unique_indices, unique_indices}},
                {combiner});
  }

  // ---- sums of products, reductions, orders

  /// Result: batch dimensions, free ones of `a`, free ones of `b`; in `result_type`, by default that of `a`.
  constexpr auto dot_general(Value a, Value b, const DotDims& dot_dims, std::optional<DType> result_type = {},
                             Precision precision = Precision::standard) -> Value {
    const std::int64_t precisions[2] = {static_cast<std::int64_t>(precision),
                                        static_cast<std::int64_t>(precision)};
    return make(Opcode::dot, scalar(result_type.value_or(dtype(a))), {a, b},
                {{AttributeKey::lhs_contracting_dims, dot_dims.lhs_contracting},
                 {AttributeKey::rhs_contracting_dims, dot_dims.rhs_contracting},
                 {AttributeKey::lhs_batch_dims, dot_dims.lhs_batch},
                 {AttributeKey::rhs_batch_dims, dot_dims.rhs_batch},
                 {AttributeKey::operand_precision, precision_numbers(precisions, precision)}});
  }
  /// `window` runs over the spatial dimensions, in the order of the lists of `convolution_dims`.
  constexpr auto convolution(Value x, Value kernel, const Window& window,
                             const ConvolutionDims& convolution_dims, std::int64_t feature_group_count = 1,
                             std::int64_t batch_group_count = 1, std::optional<DType> result_type = {},
                             Precision precision = Precision::standard) -> Value {
    const std::int64_t precisions[2] = {static_cast<std::int64_t>(precision),
                                        static_cast<std::int64_t>(precision)};
    return make(Opcode::convolution, scalar(result_type.value_or(dtype(x))), {x, kernel},
                {{AttributeKey::window, window_numbers(window).view()},
                 {AttributeKey::convolution_dimensions, label_numbers(convolution_dims).view()},
                 {AttributeKey::feature_group_count, feature_group_count},
                 {AttributeKey::batch_group_count, batch_group_count},
                 {AttributeKey::operand_precision, precision_numbers(precisions, precision)}});
  }
  /// Combines the elements along `dimensions`, which are then gone, from `init` on. The order is XLA's to
  /// choose.
  constexpr auto reduce(Value x, Value init, const Dims& dimensions, ComputationId reducer) -> Value {
    return make(Opcode::reduce, {}, {x, init}, {{AttributeKey::dimensions, dimensions}}, {reducer});
  }
  /// Several arrays at once; the result is a tuple.
  constexpr auto reduce(Span<const Value> values, Span<const Value> inits, const Dims& dimensions,
                        ComputationId reducer) -> Value {
    return make(Opcode::reduce, {}, joined(values, inits).view(), {{AttributeKey::dimensions, dimensions}},
                {reducer});
  }
  /// Combines what the window covers, at each of its places. Several arrays at once give a tuple.
  constexpr auto reduce_window(Value x, Value init, const Window& window, ComputationId reducer) -> Value {
    return make(Opcode::reduce_window, {}, {x, init}, {{AttributeKey::window, window_numbers(window).view()}},
                {reducer});
  }
  constexpr auto reduce_window(Span<const Value> values, Span<const Value> inits,
                               const Window& window, ComputationId reducer) -> Value {
    return make(Opcode::reduce_window, {}, joined(values, inits).view(),
                {{AttributeKey::window, window_numbers(window).view()}}, {reducer});
  }
  /// Adds, with `scatter`, each element of `source` to the one in its window of `x` that `select` picks: the
  /// gradient of a maximum pool.
  constexpr auto select_and_scatter(Value x, Value source, Value init, const Window& window,
                                    ComputationId select, ComputationId scatter) -> Value {
    return make(Opcode::select_and_scatter, {}, {x, source, init},
                {{AttributeKey::window, window_numbers(window).view()}}, {select, scatter});
  }
  /// Sorts all arrays by the comparator's order of `(a0, b0, a1, b1, ...)`; several give a tuple.
  constexpr auto sort(Span<const Value> values, std::int64_t dimension, bool is_stable,
                      ComputationId comparator) -> Value {
    return make(Opcode::sort, {}, values,
                {{AttributeKey::dimensions, dimension}, {AttributeKey::is_stable, is_stable}}, {comparator});
  }
  constexpr auto sort(std::initializer_list<Value> values, std::int64_t dimension, bool is_stable,
                      ComputationId comparator) -> Value {
    return sort(Span(values.begin(), values.size()), dimension, is_stable, comparator);
  }
  /// The k largest or smallest of the last dimension, and their places as s32.
  constexpr auto topk(Value x, std::int64_t k, bool largest) -> Value {
    return make(Opcode::topk, {}, {x}, {{AttributeKey::k, k}, {AttributeKey::largest, largest}});
  }
  /// `function` of the arrays' elements, which have one shape.
  constexpr auto map(Span<const Value> values, ComputationId function) -> Value {
    const Dims all = values.empty() ? Dims{} : iota_dims(rank(values[0]));
    return make(Opcode::map, {}, values, {{AttributeKey::dimensions, all}}, {function});
  }

  // ---- linear algebra, random numbers

  /// Fourier transform of the last dimensions, of `length`.
  constexpr auto fft(Value x, FftType type, const Dims& length) -> Value {
    return make(Opcode::fft, {}, {x}, {{AttributeKey::fft_type, type}, {AttributeKey::fft_length, length}});
  }
  /// The factor of symmetric positive definite matrices in the last two dimensions: the lower or the upper
  /// one.
  constexpr auto cholesky(Value x, bool lower) -> Value {
    return make(Opcode::cholesky, {}, {x}, {{AttributeKey::cholesky_lower, lower}});
  }
  /// Solves `op(a) x = b`, or `x op(a) = b`, for triangular `a` in the last two dimensions.
  constexpr auto triangular_solve(Value a, Value b, bool left_side, bool lower, bool unit_diagonal,
                                  TriangularTranspose transpose_a = TriangularTranspose::none) -> Value {
    return make(Opcode::triangular_solve, {}, {a, b},
                {{AttributeKey::left_side, left_side},
                 {AttributeKey::triangular_lower, lower},
                 {AttributeKey::unit_diagonal, unit_diagonal},
                 {AttributeKey::transpose_a, transpose_a}});
  }
  /// Uniform in `[a, b)`, or normal of mean `a` and deviation `b`.
  constexpr auto rng(Value a, Value b, Distribution distribution, const Dims& dimensions) -> Value {
    const Expected<ShapeId> id = intern({dtype(a), dimensions});
    if (!id) return fail(id.error().front());
    return make(Opcode::rng, *id, {a, b}, {{AttributeKey::distribution, distribution}});
  }
  /// The tuple of the next state and of random bits.
  constexpr auto rng_bit_generator(Value state, RngAlgorithm algorithm, const Shape& bits) -> Value {
    if (!state.valid()) return {};
    const Expected<ShapeId> id = intern(bits);
    if (!id) return fail(id.error().front());
    const ShapeId results[2] = {shape_id(state), *id};
    return make(Opcode::rng_bit_generator, module_.shapes.tuple(results), {state},
                {{AttributeKey::rng_algorithm, algorithm}});
  }

  // ---- control and structure

  /// Repeats `body` on the loop's value while `condition` of it holds.
  constexpr auto while_loop(Value init, ComputationId condition, ComputationId body) -> Value {
    return make(Opcode::while_, {}, {init}, {}, {body, condition});
  }
  /// Calls the branch that `selector` picks (PRED: the first if true; s32: by number) with that branch's
  /// operand.
  constexpr auto conditional(Value selector, Span<const Value> operands,
                             Span<const ComputationId> branches) -> Value {
    return make(Opcode::conditional, {}, with_first(selector, operands).view(), {}, branches);
  }
  /// The result of a computation of those operands.
  constexpr auto call(ComputationId computation, Span<const Value> operands) -> Value {
    return make(Opcode::call, {}, operands, {}, {computation});
  }
  /// Several values as one; and one of them. An element of a tuple made here is that value.
  constexpr auto tuple(Span<const Value> values) -> Value { return make(Opcode::tuple, {}, values, {}); }
  constexpr auto tuple(std::initializer_list<Value> values) -> Value {
    return tuple(Span(values.begin(), values.size()));
  }
  constexpr auto get_tuple_element(Value tuple_value, std::int64_t index) -> Value {
    if (!tuple_value.valid()) return {};
    const Instruction& i = module_[tuple_value];
    if (i.opcode == Opcode::tuple && index >= 0 && index < static_cast<std::int64_t>(i.operands.count))
      return module_.operands_of(i)[static_cast<std::size_t>(index)];
    return make(Opcode::get_tuple_element, {}, {tuple_value}, {{AttributeKey::tuple_index, index}});
  }
  /// `x`, past which XLA moves no instruction.
  constexpr auto opt_barrier(Value x) -> Value { return make(Opcode::opt_barrier, {}, {x}, {}); }

  /// What the backend calls `what.target`, of the operands; the result has the shape given.
  constexpr auto custom_call(const CustomCall& what, Span<const Value> operands, ShapeId result)
      -> Value {
    Pool<std::int64_t> aliases;
    for (const CustomCall::Alias& alias : what.aliases) {
      aliases.push_back(alias.output);
      aliases.push_back(alias.operand);
    }
    return make(Opcode::custom_call, result, operands,
                {{AttributeKey::custom_call_target, what.target},
                 {AttributeKey::backend_config, what.backend_config},
                 {AttributeKey::custom_call_has_side_effect, what.has_side_effect},
                 {AttributeKey::output_operand_aliasing, aliases.view()},
                 {AttributeKey::api_version, what.api_version}},
                what.called);
  }
  constexpr auto custom_call(const CustomCall& what, std::initializer_list<Value> operands,
                             const Shape& result) -> Value {
    const Expected<ShapeId> id = intern(result);
    if (!id) return fail(id.error().front());
    return custom_call(what, Span(operands.begin(), operands.size()), *id);
  }

  // ---- communication

  /// Several operands are reduced together and give a tuple.
  constexpr auto all_reduce(Span<const Value> values, ComputationId reducer, const ReplicaGroups& groups,
                            Channel channel = {}) -> Value {
    return make(Opcode::all_reduce, {}, values,
                {{AttributeKey::channel_id, channel.id},
                 {AttributeKey::replica_groups, groups.numbers()},
                 {AttributeKey::use_global_device_ids, channel.use_global_device_ids}},
                {reducer});
  }
  constexpr auto all_reduce(Value x, ComputationId reducer, const ReplicaGroups& groups, Channel channel = {})
      -> Value {
    return all_reduce(Span<const Value>(&x, 1), reducer, groups, channel);
  }
  /// The arrays of a group one behind the other along `dimension`, in the group's order.
  constexpr auto all_gather(Value x, std::int64_t dimension, const ReplicaGroups& groups,
                            Channel channel = {}) -> Value {
    return make(Opcode::all_gather, {}, {x},
                {{AttributeKey::dimensions, dimension},
                 {AttributeKey::channel_id, channel.id},
                 {AttributeKey::replica_groups, groups.numbers()},
                 {AttributeKey::use_global_device_ids, channel.use_global_device_ids}});
  }
  /// Reduces, and leaves each rank its part of `dimension`, which the group's size divides.
  constexpr auto reduce_scatter(Value x, std::int64_t dimension, ComputationId reducer,
                                const ReplicaGroups& groups, Channel channel = {}) -> Value {
    return make(Opcode::reduce_scatter, {}, {x},
                {{AttributeKey::dimensions, dimension},
                 {AttributeKey::channel_id, channel.id},
                 {AttributeKey::replica_groups, groups.numbers()},
                 {AttributeKey::use_global_device_ids, channel.use_global_device_ids}},
                {reducer});
  }
  /// Splits `dimension` among the group and joins what arrives along the same dimension.
  constexpr auto all_to_all(Value x, std::int64_t dimension, const ReplicaGroups& groups,
                            Channel channel = {}) -> Value {
    return make(Opcode::all_to_all, {}, {x},
                {{AttributeKey::dimensions, dimension},
                 {AttributeKey::channel_id, channel.id},
                 {AttributeKey::replica_groups, groups.numbers()}});
  }
  /// Sends the i-th operand to the i-th rank of the group; the result is the tuple of what arrives.
  constexpr auto all_to_all(Span<const Value> values, const ReplicaGroups& groups, Channel channel = {})
      -> Value {
    return make(Opcode::all_to_all, {}, values,
                {{AttributeKey::channel_id, channel.id}, {AttributeKey::replica_groups, groups.numbers()}});
  }
  /// `pairs` holds source and target in turn; a rank that is no target gets zeros.
  constexpr auto collective_permute(Value x, Span<const std::int64_t> pairs, Channel channel = {})
      -> Value {
    return make(Opcode::collective_permute, {}, {x},
                {{AttributeKey::channel_id, channel.id}, {AttributeKey::source_target_pairs, pairs}});
  }
  /// The first rank of each group is the source.
  constexpr auto collective_broadcast(Value x, const ReplicaGroups& groups, Channel channel = {}) -> Value {
    return make(Opcode::collective_broadcast, {}, {x},
                {{AttributeKey::channel_id, channel.id}, {AttributeKey::replica_groups, groups.numbers()}});
  }

 private:
  /// A computation that is being made.
  struct Scope {
    std::uint32_t serial = 0;
    std::uint32_t first = 0;  ///< no instruction before this one is of the scope
    std::uint32_t parameters = 0;
    Range name;
    std::uint32_t first_source = 0;  ///< of `sources_`
  };
  struct Owner {
    std::uint32_t serial;  ///< of the scope that the instruction is in
    std::uint32_t step;    ///< see `detail::Origin`
  };
  struct SharedComputation {
    Opcode opcode;
    DType dtype;
    ComputationId id;
  };

  /// All characters of a module together: a serialised proto ends at 2 GiB.
  static constexpr std::size_t largest_literal = 0x7fffffff;

  [[nodiscard]] static constexpr auto too_large() -> Diagnostic {
    return Diagnostic::error(DiagnosticCode::unsupported,
                             "constant: is too large for an HLO module; make it a parameter");
  }

  // ---- making an instruction

  constexpr auto make(Opcode opcode, ShapeId declared, std::initializer_list<Value> operands,
                      std::initializer_list<detail::NewAttribute> attributes,
                      std::initializer_list<ComputationId> called = {}) -> Value {
    return make(opcode, declared, Span(operands.begin(), operands.size()), attributes,
                Span(called.begin(), called.size()));
  }
  constexpr auto make(Opcode opcode, ShapeId declared, Span<const Value> operands,
                      std::initializer_list<detail::NewAttribute> attributes,
                      std::initializer_list<ComputationId> called) -> Value {
    return make(opcode, declared, operands, attributes, Span(called.begin(), called.size()));
  }
  constexpr auto make(Opcode opcode, ShapeId declared, std::initializer_list<Value> operands,
                      std::initializer_list<detail::NewAttribute> attributes,
                      Span<const ComputationId> called) -> Value {
    return make(opcode, declared, Span(operands.begin(), operands.size()), attributes, called);
  }
  constexpr auto make(Opcode opcode, ShapeId declared, Span<const Value> operands,
                      std::initializer_list<detail::NewAttribute> attributes,
                      Span<const ComputationId> called = {}) -> Value {
    for (const ComputationId id : called)
      if (!id.valid()) return {};
    for (const Value v : operands)
      if (!v.valid()) return {};
    for (const Value v : operands)
      if (v.id >= owners_.size() || owners_[v.id].serial != scopes_.back().serial)
        return fail(invalid(opcode, "operand belongs to another computation"));

    const std::uint32_t numbers = module_.numbers.size(), chars = module_.chars.size(),
                        first_attribute = module_.attributes.size();
    Instruction i;
    i.opcode = opcode;
    i.shape = declared;
    i.metadata = metadata_;
    i.operands = module_.operands.append(operands);
    i.called = module_.called.append(called);
    for (const detail::NewAttribute& a : attributes) {
      if (a.overflowed) return fail(invalid(opcode, "there are too many dimensions"));
      if (a.is_default()) continue;
      Range value;
      if (holds_text(a.key))
        value = module_.chars.append(Span<const char>(a.text.data(), a.text.size()));
      else
        value = module_.numbers.append(a.is_number ? Span<const std::int64_t>(&a.number, 1) : a.list);
      module_.attributes.push_back({a.key, value});
    }
    i.attributes = {first_attribute, module_.attributes.size() - first_attribute};
    sort_attributes(i.attributes);

    Expected<ShapeId> shape = infer_shape(module_.shapes, module_, i);
    if (!shape) return fail(shape.error().front());
    i.shape = *shape;

    const bool is_source = opcode_info(opcode).category == Category::source && opcode != Opcode::parameter;
    if (is_source) {
      if (const Value same = find_source(i); same.valid()) {
        module_.attributes.resize(first_attribute);
        module_.numbers.resize(numbers);
        module_.chars.resize(chars);
        return same;
      }
    }
    const Value v{module_.instructions.push_back(i)};
    owners_.push_back({scopes_.back().serial, step_});
    if (is_source) sources_.push_back(v);
    return v;
  }

  /// An instruction of this computation that gives the same; so a constant is kept once. Large ones are not
  /// compared.
  [[nodiscard]] constexpr auto find_source(const Instruction& i) const -> Value {
    constexpr std::uint32_t longest_literal = 16;
    const std::string_view bytes = module_.text(i, AttributeKey::literal);
    if (bytes.size() > longest_literal) return {};
    for (std::uint32_t n = sources_.size(); n-- > scopes_.back().first_source;) {
      const Instruction& other = module_[sources_[n]];
      if (other.opcode == i.opcode && other.shape == i.shape &&
          bytes == module_.text(other, AttributeKey::literal) &&
          module_.number(i, AttributeKey::dimensions) == module_.number(other, AttributeKey::dimensions))
        return sources_[n];
    }
    return {};
  }

  constexpr void sort_attributes(Range range) {
    const Span<Attribute> list = module_.attributes.view(range);
    for (std::size_t n = 1; n < list.size(); ++n)
      for (std::size_t k = n; k > 0 && list[k].key < list[k - 1].key; --k) std::swap(list[k], list[k - 1]);
  }

  [[nodiscard]] static constexpr auto invalid(Opcode opcode, std::string_view what) -> Diagnostic {
    return Diagnostic::error(DiagnosticCode::invalid_hlo, text_of(to_string(opcode), ": ", what));
  }
  [[nodiscard]] constexpr auto intern(const Shape& shape) -> Expected<ShapeId> {
    if (dtype_info(shape.dtype).xla_name.empty())
      return Diagnostic::error(DiagnosticCode::unsupported,
                               text_of("XLA has no type ", dtype_info(shape.dtype).torch_name));
    if (shape.dims.overflowed())
      return Diagnostic::error(DiagnosticCode::unsupported,
                               text_of("a shape has more than ", max_rank, " dimensions"));
    const std::optional<std::int64_t> count = checked_element_count(shape.dims);
    if (!count || *count > std::numeric_limits<std::int64_t>::max() / byte_size(shape.dtype))
      return Diagnostic::error(DiagnosticCode::invalid_hlo,
                               text_of("a shape has a negative size or too many elements (", shape, ")"));
    return module_.shapes.array(shape);
  }
  /// Stands for an array of that type where inference finds the sizes.
  constexpr auto scalar(DType dtype) -> ShapeId { return module_.shapes.array(dtype, {}); }

  // ---- computations

  constexpr void open(std::string_view name) {
    Scope scope;
    scope.serial = next_serial_++;
    scope.first = module_.instructions.size();
    scope.name = keep_text(clean_name(name), {});
    scope.first_source = sources_.size();
    scopes_.push_back(scope);
  }
  constexpr auto close(Value root) -> ComputationId {
    const Scope scope = scopes_.back();
    sources_.resize(scope.first_source);
    scopes_.resize(scopes_.size() - 1);
    if (!root.valid()) return {};
    if (owners_[root.id].serial != scope.serial) {
      fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "result belongs to another computation"));
      return {};
    }
    Computation c;
    c.name = scope.name;
    c.root = root;
    c.parameters.begin = module_.parameters.size();
    for (std::uint32_t n = scope.first; n < module_.instructions.size(); ++n)
      if (owners_[n].serial == scope.serial && module_.instructions[n].opcode == Opcode::parameter)
        module_.parameters.push_back({n});
    c.parameters.count = module_.parameters.size() - c.parameters.begin;
    serials_.push_back(scope.serial);
    return {module_.computations.push_back(c)};
  }
  constexpr void arrange() {
    Pool<std::uint32_t> computation_of_serial;
    computation_of_serial.resize(next_serial_, detail::Origin::none);
    for (std::uint32_t c = 0; c < serials_.size(); ++c) computation_of_serial[serials_[c]] = c;
    Pool<detail::Origin> origins;
    origins.reserve(owners_.size());
    for (const Owner& owner : owners_) origins.push_back({computation_of_serial[owner.serial], owner.step});
    detail::Arranger(module_, origins).run();
  }

  // ---- text and numbers

  /// A name as XLA keeps it: letters, digits, underscores, points and minus signs, not a digit first, not two
  /// underscores first.
  [[nodiscard]] static constexpr auto clean_name(std::string_view name) -> Text {
    Text clean;
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto is_inner = [&](char c) {
      return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
    };
    while (name.starts_with("__")) name.remove_prefix(1);
    if (name.empty() || !(is_letter(name[0]) || name[0] == '_')) clean.append("x_");
    for (const char c : name) clean.append(is_inner(c) ? c : '_');
    return clean;
  }
  constexpr auto keep_text(std::string_view text, Range last) -> Range {
    if (text == module_.text(last)) return last;
    return module_.chars.append(Span<const char>(text.data(), text.size()));
  }

  constexpr auto extreme(DType dtype, bool lowest) -> Value {
    if (is_complex(dtype))
      return fail(Diagnostic::error(DiagnosticCode::invalid_hlo, "complex numbers have no order"));
    if (dtype == DType::boolean) return constant(dtype, !lowest);
    if (is_integral(dtype)) {
      constexpr double infinity = std::numeric_limits<double>::infinity();
      return constant(dtype, lowest ? -infinity : infinity);
    }
    const FloatFormat format = float_format(dtype);
    const std::uint64_t ones = (std::uint64_t{1} << (format.exponent_bits + format.mantissa_bits)) - 1;
    std::uint64_t bits = 0;
    switch (format.specials) {
      case FloatFormat::Specials::ieee: bits = ones ^ ((std::uint64_t{1} << format.mantissa_bits) - 1); break;
      case FloatFormat::Specials::nan_only: bits = ones - 1; break;
      case FloatFormat::Specials::unsigned_zero: bits = ones; break;
      case FloatFormat::Specials::exponent_only: bits = lowest ? 0 : ones - 1; break;
    }
    if (lowest && format.specials != FloatFormat::Specials::exponent_only) bits |= ones + 1;
    return constant(dtype, float_from_bits(bits, format));
  }

  using Numbers = ShortList<std::int64_t, max_rank * detail::window_numbers>;
  using Triples = ShortList<std::int64_t, max_rank * 3>;

  [[nodiscard]] static constexpr auto window_numbers(const Window& window) -> Numbers {
    Numbers numbers;
    for (const WindowDim& w : window)
      for (const std::int64_t n : {w.size, w.stride, w.padding_low, w.padding_high, w.window_dilation,
                                   w.base_dilation, std::int64_t{w.reversal ? 1 : 0}})
        numbers.push_back(n);
    return numbers;
  }
  [[nodiscard]] static constexpr auto label_numbers(const ConvolutionDims& d) -> Triples {
    Triples numbers;
    const auto part = [&](std::int64_t first, std::int64_t second, const Dims& spatial) {
      numbers.push_back(first);
      numbers.push_back(second);
      for (const std::int64_t dimension : spatial) numbers.push_back(dimension);
    };
    part(d.input_batch, d.input_feature, d.input_spatial);
    part(d.kernel_input_feature, d.kernel_output_feature, d.kernel_spatial);
    part(d.output_batch, d.output_feature, d.output_spatial);
    return numbers;
  }
  [[nodiscard]] static constexpr auto precision_numbers(Span<const std::int64_t> numbers,
                                                        Precision precision)
      -> Span<const std::int64_t> {
    return precision == Precision::standard ? Span<const std::int64_t>() : numbers;
  }
  [[nodiscard]] static constexpr auto interleaved(const Dims& a, const Dims& b, const Dims& c) -> Triples {
    Triples numbers;
    for (std::size_t d = 0; d < a.size(); ++d) {
      numbers.push_back(a[d]);
      numbers.push_back(b[d]);
      numbers.push_back(c[d]);
    }
    return numbers;
  }
  [[nodiscard]] static constexpr auto with_first(Value first, Span<const Value> rest) -> Pool<Value> {
    return joined(Span<const Value>(&first, 1), rest);
  }
  [[nodiscard]] static constexpr auto joined(Span<const Value> a, Span<const Value> b)
      -> Pool<Value> {
    Pool<Value> all;
    all.append(a);
    all.append(b);
    return all;
  }

  Module module_;
  Diagnostics errors_;
  std::uint32_t metadata_ = 0;
  std::uint32_t step_ = 0;
  std::uint32_t next_serial_ = 0;
  Pool<Scope> scopes_;
  Pool<Owner> owners_;           ///< for each instruction
  Pool<std::uint32_t> serials_;  ///< for each computation the serial number of its scope
  Pool<Value> sources_;          ///< of the open scopes: what `find_source` looks through
  Pool<SharedComputation> shared_;
};

}  // namespace fxpass::hlo
