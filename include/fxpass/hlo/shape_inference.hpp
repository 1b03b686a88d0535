// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/hlo/module.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// The shape of an instruction's result, from its operands, attributes and called computations; and whether
/// they are such as the operation takes. Builder and verifier share it, so a module holds what was inferred,
/// or is wrong. Source of the rules: XLA's operation semantics and what its HloVerifier refuses.

namespace fxpass::hlo {

namespace detail {

/// Inference for one instruction. `shapes` takes new shapes and may be the module's own table.
class ShapeInference {
 public:
  constexpr ShapeInference(ShapeTable& shapes, const Module& module, const Instruction& instruction)
      : shapes_(shapes), module_(module), i_(instruction), info_(opcode_info(instruction.opcode)) {}

  [[nodiscard]] constexpr auto run() -> Expected<ShapeId> {
    if (Status form = check_form(); !form) return std::move(form).error();
    Expected<ShapeId> result = infer();
    if (result && !is_known(*result)) return reject("gives an element type that XLA does not have");
    return result;
  }

 private:
  [[nodiscard]] constexpr auto infer() -> Expected<ShapeId> {
    switch (i_.opcode) {
      case Opcode::parameter: return i_.shape;
      case Opcode::constant: return constant();
      case Opcode::iota: return iota();
      case Opcode::replica_id:
      case Opcode::partition_id: return shapes_.array(DType::u32, {});
      case Opcode::bitcast_convert: return bitcast_convert();
      case Opcode::select: return select();
      case Opcode::clamp: return clamp();
      case Opcode::broadcast: return broadcast();
      case Opcode::reshape: return reshape();
      case Opcode::transpose: return transpose();
      case Opcode::reverse: return reverse();
      case Opcode::slice: return slice();
      case Opcode::dynamic_slice: return dynamic_slice();
      case Opcode::dynamic_update_slice: return dynamic_update_slice();
      case Opcode::concatenate: return concatenate();
      case Opcode::pad: return pad();
      case Opcode::gather: return gather();
      case Opcode::scatter: return scatter();
      case Opcode::dot: return dot();
      case Opcode::convolution: return convolution();
      case Opcode::reduce: return reduce();
      case Opcode::reduce_window: return reduce_window();
      case Opcode::select_and_scatter: return select_and_scatter();
      case Opcode::sort: return sort();
      case Opcode::topk: return topk();
      case Opcode::map: return map();
      case Opcode::fft: return fft();
      case Opcode::cholesky: return cholesky();
      case Opcode::triangular_solve: return triangular_solve();
      case Opcode::rng: return rng();
      case Opcode::rng_bit_generator: return rng_bit_generator();
      case Opcode::while_: return while_loop();
      case Opcode::conditional: return conditional();
      case Opcode::call: return call();
      case Opcode::tuple: return tuple();
      case Opcode::get_tuple_element: return get_tuple_element();
      case Opcode::opt_barrier: return operand(0);
      case Opcode::custom_call: return custom_call();
      case Opcode::all_reduce: return all_reduce();
      case Opcode::all_gather: return all_gather();
      case Opcode::reduce_scatter: return reduce_scatter();
      case Opcode::all_to_all: return all_to_all();
      case Opcode::collective_permute: return collective_permute();
      case Opcode::collective_broadcast:
        if (Status groups = check_groups(true); !groups) return std::move(groups).error();
        return operand(0);
      default:
        // Not by ?: with two prvalues: g++ 12 destroys the result of a call that it evaluates in a constant
        // expression.
        if (info_.category == Category::unary) return unary();
        return binary();
    }
  }
  [[nodiscard]] constexpr auto is_known(ShapeId id) const -> bool {
    if (shapes_.is_array(id)) return !dtype_info(shapes_.dtype(id)).xla_name.empty();
    for (const ShapeId element : shapes_.elements(id))
      if (!is_known(element)) return false;
    return true;
  }

  // ---- access

  [[nodiscard]] constexpr auto count() const -> std::uint32_t { return i_.operands.count; }
  [[nodiscard]] constexpr auto operand(std::uint32_t n) const -> ShapeId {
    return module_.operand_shape(i_, n);
  }
  [[nodiscard]] constexpr auto shape(std::uint32_t n) const -> Shape { return shapes_.shape(operand(n)); }
  [[nodiscard]] constexpr auto dtype(std::uint32_t n) const -> DType { return shapes_.dtype(operand(n)); }
  [[nodiscard]] constexpr auto list(AttributeKey key) const -> Span<const std::int64_t> {
    return module_.list(i_, key);
  }
  [[nodiscard]] constexpr auto number(AttributeKey key) const -> std::int64_t {
    return module_.number(i_, key);
  }
  [[nodiscard]] constexpr auto callee(std::uint32_t n = 0) const -> const Computation& {
    return module_[module_.called_by(i_)[n]];
  }
  /// The shape the instruction is declared to have, where the operation leaves that open.
  [[nodiscard]] constexpr auto declared() const -> Shape { return shapes_.shape(i_.shape); }

  // ---- messages

  [[nodiscard]] constexpr auto reject(std::string_view what) const -> Diagnostic {
    return Diagnostic::error(DiagnosticCode::invalid_hlo, text_of(info_.name, ": ", what));
  }
  [[nodiscard]] constexpr auto reject(std::string_view what, const Shape& a) const -> Diagnostic {
    Diagnostic d = reject(what);
    append_all(d.message, " (", a, ")");
    return d;
  }
  [[nodiscard]] constexpr auto reject(std::string_view what, const Shape& a, const Shape& b) const
      -> Diagnostic {
    Diagnostic d = reject(what);
    append_all(d.message, " (", a, " and ", b, ")");
    return d;
  }

  // ---- checks that several operations need

  [[nodiscard]] constexpr auto takes_any_shapes() const -> bool {
    switch (i_.opcode) {
      case Opcode::while_:
      case Opcode::conditional:
      case Opcode::call:
      case Opcode::tuple:
      case Opcode::get_tuple_element:
      case Opcode::opt_barrier:
      case Opcode::custom_call: return true;
      default: return false;
    }
  }

  /// What the opcode table says: numbers of operands and of called computations, attributes, element types.
  [[nodiscard]] constexpr auto check_form() const -> Status {
    if (count() < info_.min_operands || (info_.max_operands != unbounded && count() > info_.max_operands))
      return reject("wrong number of operands");
    if (i_.called.count < info_.min_called ||
        (info_.max_called != unbounded && i_.called.count > info_.max_called))
      return reject("wrong number of called computations");
    AttributeSet missing = info_.needs;
    for (const Attribute& a : module_.attributes_of(i_)) {
      const AttributeInfo& about = attribute_info(a.key);
      missing.erase(a.key);
      if (!info_.needs.contains(a.key) && !info_.takes.contains(a.key) &&
          a.key != AttributeKey::frontend_attribute)
        return reject(text_of("takes no attribute ", about.name));
      const bool is_single = about.kind == AttributeKind::number || about.kind == AttributeKind::flag ||
                             about.kind == AttributeKind::enumeration;
      if (is_single && a.value.count != 1) return reject(text_of("attribute needs one number: ", about.name));
      if (about.kind == AttributeKind::numbers && a.value.count > max_rank)
        return reject(text_of("attribute has too many numbers: ", about.name));
      if (about.kind == AttributeKind::enumeration &&
          enumeration_name(a.key, module_.numbers[a.value.begin]).empty())
        return reject(text_of("attribute has no such value: ", about.name));
    }
    if (!missing.empty()) return reject(text_of("needs attribute ", attribute_info(missing.first()).name));
    if (takes_any_shapes()) return {};
    for (std::uint32_t n = 0; n < count(); ++n)
      if (!shapes_.is_array(operand(n))) return reject("an operand is no array");
    if (count() > 0 && !info_.types.contains(dtype(0)))
      return reject("does not take this element type", shape(0));
    return {};
  }

  /// Whether `dims` are different dimensions below `rank`; ascending too if asked.
  [[nodiscard]] static constexpr auto are_dims(Span<const std::int64_t> dims, std::size_t rank,
                                               bool ascending) -> bool {
    for (std::size_t a = 0; a < dims.size(); ++a) {
      if (dims[a] < 0 || static_cast<std::size_t>(dims[a]) >= rank) return false;
      for (std::size_t b = 0; b < a; ++b)
        if (dims[b] == dims[a] || (ascending && dims[b] > dims[a])) return false;
    }
    return true;
  }
  [[nodiscard]] static constexpr auto contains(Span<const std::int64_t> dims, std::size_t dim) -> bool {
    for (const std::int64_t d : dims)
      if (d == static_cast<std::int64_t>(dim)) return true;
    return false;
  }
  [[nodiscard]] constexpr auto array(DType type, const Dims& dims) -> Expected<ShapeId> {
    if (dims.overflowed()) return reject("result has too many dimensions");
    if (!checked_element_count(dims)) return reject("result has too many elements, or a negative size");
    return shapes_.array(type, dims);
  }
  [[nodiscard]] constexpr auto array(const Shape& s) -> Expected<ShapeId> { return array(s.dtype, s.dims); }
  /// One result as it is, several as a tuple.
  [[nodiscard]] constexpr auto one_or_tuple(const Pool<ShapeId>& results) -> ShapeId {
    return results.size() == 1 ? results[0] : shapes_.tuple(results.view());
  }
  /// The size of one dimension under a window; none if the window dimension is ill-formed.
  [[nodiscard]] static constexpr auto windowed_size(std::int64_t base, const WindowDim& w) -> std::int64_t {
    if (w.size < 1 || w.stride < 1 || w.window_dilation < 1 || w.base_dilation < 1) return -1;
    constexpr std::int64_t limit = std::int64_t{1} << 40;  // of every factor, so that nothing below overflows
    for (const std::int64_t n : {w.size, w.stride, w.padding_low, w.padding_high, base})
      if (n > limit || n < -limit) return -1;
    if (w.window_dilation > (limit >> 20) || w.base_dilation > (limit >> 20)) return -1;
    const std::int64_t dilated = base == 0 ? 0 : (base - 1) * w.base_dilation + 1;
    const std::int64_t padded = w.padding_low + dilated + w.padding_high;
    const std::int64_t window = (w.size - 1) * w.window_dilation + 1;
    return padded < window ? 0 : (padded - window) / w.stride + 1;
  }

  /// Whether `c` takes scalars of `types`, in order, and gives scalars of `results` (one: as it is, several:
  /// a tuple).
  [[nodiscard]] constexpr auto is_scalar_function(const Computation& c, const Pool<DType>& types,
                                                  const Pool<DType>& results) const -> bool {
    const auto is_scalar_of = [&](ShapeId id, DType type) {
      return shapes_.is_array(id) && shapes_.dims(id).empty() && shapes_.dtype(id) == type;
    };
    const Span<const Value> parameters = module_.parameters_of(c);
    if (parameters.size() != types.size()) return false;
    for (std::uint32_t n = 0; n < types.size(); ++n)
      if (!is_scalar_of(module_[parameters[n]].shape, types[n])) return false;
    const ShapeId result = module_.result_shape(c);
    if (results.size() == 1) return is_scalar_of(result, results[0]);
    const Span<const ShapeId> elements = shapes_.elements(result);
    if (elements.size() != results.size()) return false;
    for (std::uint32_t n = 0; n < results.size(); ++n)
      if (!is_scalar_of(elements[n], results[n])) return false;
    return true;
  }
  /// Whether `c` combines n accumulators with n values, of the types of the first `n` operands.
  [[nodiscard]] constexpr auto is_reducer(const Computation& c, std::uint32_t n) const -> bool {
    Pool<DType> parameters, results;
    for (std::uint32_t k = 0; k < 2 * n; ++k) parameters.push_back(dtype(k % n));
    for (std::uint32_t k = 0; k < n; ++k) results.push_back(dtype(k));
    return is_scalar_function(c, parameters, results);
  }
  [[nodiscard]] constexpr auto takes(const Computation& c, Span<const Value> operands) const -> bool {
    const Span<const Value> parameters = module_.parameters_of(c);
    if (parameters.size() != operands.size()) return false;
    for (std::size_t n = 0; n < operands.size(); ++n)
      if (module_[parameters[n]].shape != module_[operands[n]].shape) return false;
    return true;
  }

  // ---- sources

  [[nodiscard]] constexpr auto constant() -> Expected<ShapeId> {
    if (!shapes_.is_array(i_.shape)) return reject("is no array");
    const auto bytes = static_cast<std::uint64_t>(declared().element_count()) *
                       static_cast<std::uint64_t>(byte_size(declared().dtype));
    if (module_.text(i_, AttributeKey::literal).size() != bytes)
      return reject("needs as many bytes as its shape holds", declared());
    return i_.shape;
  }
  [[nodiscard]] constexpr auto iota() -> Expected<ShapeId> {
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (!shapes_.is_array(i_.shape) || dims.size() != 1 || !are_dims(dims, declared().rank(), false))
      return reject("needs one dimension of its result", declared());
    if (declared().dtype == DType::boolean) return reject("counts in numbers");
    return i_.shape;
  }

  // ---- element by element

  [[nodiscard]] constexpr auto unary() -> Expected<ShapeId> {
    const Shape x = shape(0);
    switch (i_.opcode) {
      case Opcode::abs:
      case Opcode::real:
      case Opcode::imag:
        return array(x.with(is_complex(x.dtype) ? fxpass::detail::real_part(x.dtype) : x.dtype));
      case Opcode::is_finite: return array(x.with(DType::boolean));
      case Opcode::convert:
        if (!shapes_.is_array(i_.shape)) return reject("gives an array");
        if (is_complex(x.dtype) && !is_complex(declared().dtype))
          return reject("would lose the imaginary part");
        return array(x.with(declared().dtype));
      case Opcode::reduce_precision:
        if (number(AttributeKey::exponent_bits) < 1 || number(AttributeKey::mantissa_bits) < 0)
          return reject("needs an exponent");
        return operand(0);
      default: return operand(0);
    }
  }
  [[nodiscard]] constexpr auto binary() -> Expected<ShapeId> {
    if (operand(0) != operand(1)) return reject("operands differ in shape", shape(0), shape(1));
    switch (i_.opcode) {
      case Opcode::compare: return compare();
      case Opcode::complex:
        if (dtype(0) != DType::f32 && dtype(0) != DType::f64) return reject("takes f32 or f64", shape(0));
        return array(shape(0).with(fxpass::detail::complex_of(dtype(0))));
      default: return operand(0);
    }
  }
  [[nodiscard]] constexpr auto compare() -> Expected<ShapeId> {
    const auto direction = static_cast<Direction>(number(AttributeKey::comparison_direction));
    const bool is_equality = direction == Direction::eq || direction == Direction::ne;
    if (is_complex(dtype(0)) && !is_equality) return reject("complex numbers have no order");
    return array(shape(0).with(DType::boolean));
  }
  [[nodiscard]] constexpr auto bitcast_convert() -> Expected<ShapeId> {
    if (!shapes_.is_array(i_.shape)) return reject("gives an array");
    const Shape x = shape(0);
    const DType to = declared().dtype;
    if (x.dtype == to) return operand(0);
    const auto has_no_bits = [](DType d) { return d == DType::boolean || is_complex(d); };
    if (has_no_bits(x.dtype) || has_no_bits(to)) return reject("takes neither PRED nor complex numbers", x);
    Shape result = x.with(to);
    if (byte_size(x.dtype) > byte_size(to)) {
      result.dims.push_back(byte_size(x.dtype) / byte_size(to));
    } else if (byte_size(x.dtype) < byte_size(to)) {
      if (x.rank() == 0 || x.dims.back() != byte_size(to) / byte_size(x.dtype))
        return reject("last dimension must hold the parts of one element", x);
      result.dims.erase(x.rank() - 1);
    }
    return array(result);
  }
  [[nodiscard]] constexpr auto select() -> Expected<ShapeId> {
    if (operand(1) != operand(2)) return reject("choices differ in shape", shape(1), shape(2));
    if (dtype(0) != DType::boolean || (!shape(0).is_scalar() && shape(0).dims != shape(1).dims))
      return reject("predicate must be PRED, a scalar or of the choices' sizes", shape(0), shape(1));
    return operand(1);
  }
  [[nodiscard]] constexpr auto clamp() -> Expected<ShapeId> {
    for (const std::uint32_t bound : {0u, 2u})
      if (dtype(bound) != dtype(1) || (!shape(bound).is_scalar() && operand(bound) != operand(1)))
        return reject("a bound must be a scalar or of the operand's shape", shape(bound), shape(1));
    return operand(1);
  }

  // ---- movement of elements

  [[nodiscard]] constexpr auto broadcast() -> Expected<ShapeId> {
    const Shape x = shape(0), result = declared();
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (!shapes_.is_array(i_.shape) || result.dtype != x.dtype) return reject("keeps the element type");
    if (dims.size() != x.rank() || !are_dims(dims, result.rank(), true))
      return reject("needs one result dimension for each operand dimension, in ascending order", x, result);
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (x.dims[d] != result.dims[static_cast<std::size_t>(dims[d])])
        return reject("a dimension changes its size", x, result);
    return i_.shape;
  }
  [[nodiscard]] constexpr auto reshape() -> Expected<ShapeId> {
    const Shape x = shape(0), result = declared();
    if (!shapes_.is_array(i_.shape) || result.dtype != x.dtype || result.element_count() != x.element_count())
      return reject("keeps element type and number of elements", x, result);
    return i_.shape;
  }
  [[nodiscard]] constexpr auto transpose() -> Expected<ShapeId> {
    const Shape x = shape(0);
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (dims.size() != x.rank() || !are_dims(dims, x.rank(), false))
      return reject("needs every dimension of the operand once", x);
    Shape result{x.dtype, {}};
    for (const std::int64_t d : dims) result.dims.push_back(x.dims[static_cast<std::size_t>(d)]);
    return array(result);
  }
  [[nodiscard]] constexpr auto reverse() -> Expected<ShapeId> {
    if (!are_dims(list(AttributeKey::dimensions), shape(0).rank(), false))
      return reject("needs different dimensions of the operand", shape(0));
    return operand(0);
  }
  [[nodiscard]] constexpr auto slice() -> Expected<ShapeId> {
    const Shape x = shape(0);
    const Span<const std::int64_t> bounds = list(AttributeKey::slice);
    if (bounds.size() != x.rank() * slice_numbers) return reject("needs bounds for every dimension", x);
    Shape result{x.dtype, {}};
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const std::int64_t start = bounds[3 * d], limit = bounds[3 * d + 1], stride = bounds[3 * d + 2];
      if (start < 0 || limit < start || limit > x.dims[d] || stride < 1)
        return reject("bounds lie outside the operand", x);
      result.dims.push_back(limit == start ? 0 : (limit - start - 1) / stride + 1);
    }
    return array(result);
  }
  /// Operands from `first` on are one index for each of `rank` dimensions.
  [[nodiscard]] constexpr auto are_indices(std::uint32_t first, std::size_t rank) const -> bool {
    if (count() != first + rank) return false;
    for (std::uint32_t n = first; n < count(); ++n)
      if (!shape(n).is_scalar() || !is_integral(dtype(n)) || dtype(n) != dtype(first)) return false;
    return true;
  }
  [[nodiscard]] constexpr auto dynamic_slice() -> Expected<ShapeId> {
    const Shape x = shape(0);
    const Dims sizes = list(AttributeKey::dynamic_slice_sizes);
    if (!are_indices(1, x.rank()))
      return reject("needs one scalar integer for each dimension, of one type", x);
    if (sizes.size() != x.rank()) return reject("needs a size for every dimension", x);
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (sizes[d] < 0 || sizes[d] > x.dims[d]) return reject("slice is larger than the operand", x);
    return array(x.dtype, sizes);
  }
  [[nodiscard]] constexpr auto dynamic_update_slice() -> Expected<ShapeId> {
    const Shape x = shape(0), update = shape(1);
    if (!are_indices(2, x.rank()))
      return reject("needs one scalar integer for each dimension, of one type", x);
    if (update.dtype != x.dtype || update.rank() != x.rank()) return reject("update does not fit", x, update);
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (update.dims[d] > x.dims[d]) return reject("update is larger than the operand", x, update);
    return operand(0);
  }
  [[nodiscard]] constexpr auto concatenate() -> Expected<ShapeId> {
    Shape result = shape(0);
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (dims.size() != 1 || !are_dims(dims, result.rank(), false))
      return reject("needs one dimension", result);
    const auto along = static_cast<std::size_t>(dims[0]);
    for (std::uint32_t n = 1; n < count(); ++n) {
      const Shape x = shape(n);
      bool fits = x.dtype == result.dtype && x.rank() == result.rank();
      for (std::size_t d = 0; fits && d < x.rank(); ++d) fits = d == along || x.dims[d] == result.dims[d];
      if (!fits) return reject("operands differ outside the dimension", shape(0), x);
      result.dims[along] += x.dims[along];
    }
    return array(result);
  }
  [[nodiscard]] constexpr auto pad() -> Expected<ShapeId> {
    const Shape x = shape(0);
    const Span<const std::int64_t> padding = list(AttributeKey::padding);
    if (!shape(1).is_scalar() || dtype(1) != x.dtype)
      return reject("needs a scalar of the operand's type", x, shape(1));
    if (padding.size() != x.rank() * padding_numbers) return reject("needs padding for every dimension", x);
    Shape result{x.dtype, {}};
    constexpr std::int64_t limit = std::int64_t{1} << 31;  // of padding, so that no size overflows
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const std::int64_t low = padding[3 * d], high = padding[3 * d + 1], interior = padding[3 * d + 2];
      if (low > limit || high > limit || low < -limit || high < -limit || interior < 0 || interior > limit ||
          x.dims[d] > limit)
        return reject("padding is out of range", x);
      const std::int64_t inner = x.dims[d] == 0 ? 0 : x.dims[d] + (x.dims[d] - 1) * interior;
      result.dims.push_back(low + inner + high);
    }
    return array(result);
  }
  [[nodiscard]] constexpr auto gather() -> Expected<ShapeId> {
    const Shape x = shape(0), indices = shape(1);
    const Dims offset = list(AttributeKey::offset_dims), collapsed = list(AttributeKey::collapsed_slice_dims),
               map = list(AttributeKey::start_index_map), sizes = list(AttributeKey::slice_sizes);
    const auto vector_dim = static_cast<std::size_t>(number(AttributeKey::gather_index_vector_dim));
    if (!is_integral(indices.dtype)) return reject("indices are integers", indices);
    if (vector_dim > indices.rank()) return reject("index_vector_dim is not one of the indices", indices);
    const std::int64_t vector_size = vector_dim == indices.rank() ? 1 : indices.dims[vector_dim];
    const std::size_t batch_rank = indices.rank() - (vector_dim < indices.rank() ? 1 : 0);
    if (static_cast<std::int64_t>(map.size()) != vector_size || !are_dims(map, x.rank(), false))
      return reject("start_index_map needs one operand dimension for each number of an index", x, indices);
    if (!are_dims(collapsed, x.rank(), true)) return reject("collapsed_slice_dims are not in order", x);
    if (!are_dims(offset, batch_rank + offset.size(), true)) return reject("offset_dims are not in order", x);
    if (sizes.size() != x.rank() || offset.size() + collapsed.size() != x.rank())
      return reject("every operand dimension must be an offset or collapsed", x);
    for (std::size_t d = 0; d < x.rank(); ++d) {
      if (sizes[d] < 0 || sizes[d] > x.dims[d]) return reject("slice is larger than the operand", x);
      if (contains(collapsed, d) && sizes[d] != 1)
        return reject("a collapsed dimension has size 1 in a slice", x);
    }
    Shape result{x.dtype, {}};
    std::size_t next_batch = 0, next_offset = 0;
    for (std::size_t d = 0; d < batch_rank + offset.size(); ++d) {
      if (contains(offset, d)) {
        while (contains(collapsed, next_offset)) ++next_offset;
        result.dims.push_back(sizes[next_offset++]);
      } else {
        if (next_batch == vector_dim) ++next_batch;
        result.dims.push_back(indices.dims[next_batch++]);
      }
    }
    return array(result);
  }
  [[nodiscard]] constexpr auto scatter() -> Expected<ShapeId> {
    if (count() % 2 == 0) return reject("needs operands, indices, and as many updates as operands");
    const std::uint32_t n = count() / 2;
    const Shape x = shape(0), indices = shape(n), updates = shape(n + 1);
    const Dims window = list(AttributeKey::update_window_dims),
               inserted = list(AttributeKey::inserted_window_dims),
               map = list(AttributeKey::scatter_dims_to_operand_dims);
    const auto vector_dim = static_cast<std::size_t>(number(AttributeKey::scatter_index_vector_dim));
    if (!is_integral(indices.dtype)) return reject("indices are integers", indices);
    if (vector_dim > indices.rank()) return reject("index_vector_dim is not one of the indices", indices);
    const std::int64_t vector_size = vector_dim == indices.rank() ? 1 : indices.dims[vector_dim];
    const std::size_t batch_rank = indices.rank() - (vector_dim < indices.rank() ? 1 : 0);
    if (static_cast<std::int64_t>(map.size()) != vector_size || !are_dims(map, x.rank(), false))
      return reject("scatter_dims_to_operand_dims needs one operand dimension for each number of an index", x,
                    indices);
    if (!are_dims(inserted, x.rank(), true)) return reject("inserted_window_dims are not in order", x);
    if (!are_dims(window, updates.rank(), true))
      return reject("update_window_dims are not in order", updates);
    if (window.size() + inserted.size() != x.rank() || updates.rank() != window.size() + batch_rank)
      return reject("updates have the dimensions of the windows and of the indices", x, updates);
    std::size_t next_batch = 0, next_window = 0;
    for (std::size_t d = 0; d < updates.rank(); ++d) {
      if (contains(window, d)) {
        while (contains(inserted, next_window)) ++next_window;
        if (updates.dims[d] > x.dims[next_window++])
          return reject("a window is larger than the operand", x, updates);
      } else {
        if (next_batch == vector_dim) ++next_batch;
        if (updates.dims[d] != indices.dims[next_batch++])
          return reject("updates and indices differ in size", updates, indices);
      }
    }
    for (std::uint32_t k = 1; k < n; ++k)
      if (shape(k).dims != x.dims || shape(n + 1 + k).dims != updates.dims)
        return reject("operands differ in size");
    for (std::uint32_t k = 0; k < n; ++k)
      if (dtype(k) != dtype(n + 1 + k))
        return reject("updates have the operand's type", shape(k), shape(n + 1 + k));
    if (!is_reducer(callee(), n))
      return reject("combiner must take and give scalars of the operands' types", x);
    Pool<ShapeId> results;
    for (std::uint32_t k = 0; k < n; ++k) results.push_back(operand(k));
    return one_or_tuple(results);
  }

  // ---- sums of products, reductions, orders

  /// Whether a product of such operands may be given in type `to`.
  [[nodiscard]] static constexpr auto may_accumulate(DType a, DType b, DType to) -> bool {
    return category(a) == category(b) && category(a) == category(to);
  }
  [[nodiscard]] constexpr auto dot() -> Expected<ShapeId> {
    const Shape a = shape(0), b = shape(1);
    const Dims a_sum = list(AttributeKey::lhs_contracting_dims),
               b_sum = list(AttributeKey::rhs_contracting_dims), a_batch = list(AttributeKey::lhs_batch_dims),
               b_batch = list(AttributeKey::rhs_batch_dims);
    if (!shapes_.is_array(i_.shape) || !may_accumulate(a.dtype, b.dtype, declared().dtype))
      return reject("operands and result are of one kind of number", a, b);
    const auto are_apart = [](const Dims& sum, const Dims& batch, std::size_t rank) {
      Dims all = sum;
      for (const std::int64_t d : batch) all.push_back(d);
      return !all.overflowed() && are_dims(all, rank, false);
    };
    if (!are_apart(a_sum, a_batch, a.rank()) || !are_apart(b_sum, b_batch, b.rank()))
      return reject("contracting and batch dimensions must be different dimensions", a, b);
    if (a_sum.size() != b_sum.size() || a_batch.size() != b_batch.size())
      return reject("operands have as many contracting and batch dimensions", a, b);
    Shape result{declared().dtype, {}};
    for (std::size_t d = 0; d < a_sum.size(); ++d)
      if (a.dims[static_cast<std::size_t>(a_sum[d])] != b.dims[static_cast<std::size_t>(b_sum[d])])
        return reject("contracting dimensions differ in size", a, b);
    for (std::size_t d = 0; d < a_batch.size(); ++d) {
      const std::int64_t size = a.dims[static_cast<std::size_t>(a_batch[d])];
      if (size != b.dims[static_cast<std::size_t>(b_batch[d])])
        return reject("batch dimensions differ in size", a, b);
      result.dims.push_back(size);
    }
    for (std::size_t d = 0; d < a.rank(); ++d)
      if (!contains(a_sum, d) && !contains(a_batch, d)) result.dims.push_back(a.dims[d]);
    for (std::size_t d = 0; d < b.rank(); ++d)
      if (!contains(b_sum, d) && !contains(b_batch, d)) result.dims.push_back(b.dims[d]);
    if (Status precision = check_precision(); !precision) return std::move(precision).error();
    return array(result);
  }
  [[nodiscard]] constexpr auto check_precision() const -> Status {
    const Attribute* precision = module_.find(i_, AttributeKey::operand_precision);
    if (precision == nullptr) return {};
    for (const std::int64_t p : module_.numbers.view(precision->value))
      if (p < 0 || p > 2) return reject("has no such precision");
    if (precision->value.count != count()) return reject("needs a precision for each operand");
    return {};
  }
  [[nodiscard]] constexpr auto convolution() -> Expected<ShapeId> {
    const Shape x = shape(0), kernel = shape(1);
    const Span<const std::int64_t> labels = list(AttributeKey::convolution_dimensions);
    const Span<const std::int64_t> window = list(AttributeKey::window);
    if (!shapes_.is_array(i_.shape) || !may_accumulate(x.dtype, kernel.dtype, declared().dtype))
      return reject("operands and result are of one kind of number", x, kernel);
    if (x.rank() < 2 || x.rank() != kernel.rank() || labels.size() != 3 * x.rank())
      return reject("needs the meaning of every dimension", x, kernel);
    for (std::size_t part = 0; part < 3; ++part)
      if (!are_dims(labels.subspan(part * x.rank(), x.rank()), x.rank(), false))
        return reject("needs every dimension once", x, kernel);
    const std::size_t spatial = x.rank() - 2;
    if (window.size() != spatial * window_numbers)
      return reject("needs a window over the spatial dimensions", x);
    const ConvolutionDims dims = convolution_dims(labels);
    const auto at = [](const Shape& s, std::int64_t d) { return s.dims[static_cast<std::size_t>(d)]; };
    const std::int64_t feature_groups = number(AttributeKey::feature_group_count),
                       batch_groups = number(AttributeKey::batch_group_count);
    if (feature_groups < 1 || batch_groups < 1 || (feature_groups > 1 && batch_groups > 1))
      return reject("groups features or batches, by a number of at least 1");
    const std::int64_t features = at(kernel, dims.kernel_output_feature);
    if (at(x, dims.input_feature) % feature_groups != 0 ||
        at(x, dims.input_feature) / feature_groups != at(kernel, dims.kernel_input_feature))
      return reject("input features do not fit the kernel", x, kernel);
    if (features % feature_groups != 0 || features % batch_groups != 0 ||
        at(x, dims.input_batch) % batch_groups != 0)
      return reject("groups do not divide features or batch", x, kernel);
    Shape result{declared().dtype, Dims(x.rank(), 0)};
    result.dims[static_cast<std::size_t>(dims.output_batch)] = at(x, dims.input_batch) / batch_groups;
    result.dims[static_cast<std::size_t>(dims.output_feature)] = features;
    for (std::size_t d = 0; d < spatial; ++d) {
      const WindowDim w = window_dim(window, d);
      const std::int64_t size = windowed_size(at(x, dims.input_spatial[d]), w);
      if (size < 0 || w.size != at(kernel, dims.kernel_spatial[d]))
        return reject("window and kernel differ, or the window is out of range", x, kernel);
      result.dims[static_cast<std::size_t>(dims.output_spatial[d])] = size;
    }
    if (Status precision = check_precision(); !precision) return std::move(precision).error();
    return array(result);
  }
  /// Operands are n arrays of one size and their n initial scalars.
  [[nodiscard]] constexpr auto check_reduction_operands() const -> Status {
    if (count() % 2 != 0) return reject("needs as many initial values as operands");
    const std::uint32_t n = count() / 2;
    for (std::uint32_t k = 0; k < n; ++k) {
      if (shape(k).dims != shape(0).dims) return reject("operands differ in size", shape(0), shape(k));
      if (!shape(n + k).is_scalar() || dtype(n + k) != dtype(k))
        return reject("initial value must be a scalar of the operand's type", shape(k), shape(n + k));
    }
    if (!is_reducer(callee(), n))
      return reject("reducer must take and give scalars of the operands' types", shape(0));
    return {};
  }
  [[nodiscard]] constexpr auto results_of_size(std::uint32_t n, const Dims& dims) -> Expected<ShapeId> {
    Pool<ShapeId> results;
    for (std::uint32_t k = 0; k < n; ++k) {
      const Expected<ShapeId> result = array(dtype(k), dims);
      if (!result) return result;
      results.push_back(*result);
    }
    return one_or_tuple(results);
  }
  [[nodiscard]] constexpr auto reduce() -> Expected<ShapeId> {
    if (Status operands = check_reduction_operands(); !operands) return std::move(operands).error();
    const Shape x = shape(0);
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (!are_dims(dims, x.rank(), false)) return reject("needs different dimensions of the operand", x);
    Dims left;
    for (std::size_t d = 0; d < x.rank(); ++d)
      if (!contains(dims, d)) left.push_back(x.dims[d]);
    return results_of_size(count() / 2, left);
  }
  [[nodiscard]] constexpr auto reduce_window() -> Expected<ShapeId> {
    if (Status operands = check_reduction_operands(); !operands) return std::move(operands).error();
    const Shape x = shape(0);
    const Span<const std::int64_t> window = list(AttributeKey::window);
    if (window.size() != x.rank() * window_numbers) return reject("needs a window over every dimension", x);
    Dims sizes;
    for (std::size_t d = 0; d < x.rank(); ++d) {
      sizes.push_back(windowed_size(x.dims[d], window_dim(window, d)));
      if (sizes.back() < 0) return reject("window is out of range", x);
    }
    return results_of_size(count() / 2, sizes);
  }
  [[nodiscard]] constexpr auto select_and_scatter() -> Expected<ShapeId> {
    const Shape x = shape(0), source = shape(1);
    const Span<const std::int64_t> window = list(AttributeKey::window);
    if (window.size() != x.rank() * window_numbers) return reject("needs a window over every dimension", x);
    bool fits = source.dtype == x.dtype && source.rank() == x.rank();
    for (std::size_t d = 0; fits && d < x.rank(); ++d)
      fits = windowed_size(x.dims[d], window_dim(window, d)) == source.dims[d];
    if (!fits) return reject("source is not of the windowed size", x, source);
    if (!shape(2).is_scalar() || dtype(2) != x.dtype)
      return reject("initial value must be a scalar of the operand's type", x, shape(2));
    Pool<DType> parameters, result;
    parameters.resize(2, x.dtype);
    result.push_back(DType::boolean);
    if (!is_scalar_function(callee(0), parameters, result))
      return reject("select must compare two scalars", x);
    if (!is_reducer(callee(1), 1)) return reject("scatter must combine two scalars", x);
    return operand(0);
  }
  [[nodiscard]] constexpr auto sort() -> Expected<ShapeId> {
    const Shape keys = shape(0);
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (dims.size() != 1 || !are_dims(dims, keys.rank(), false)) return reject("needs one dimension", keys);
    Pool<DType> parameters, result;
    Pool<ShapeId> results;
    for (std::uint32_t n = 0; n < count(); ++n) {
      if (shape(n).dims != keys.dims) return reject("operands differ in size", keys, shape(n));
      parameters.push_back(dtype(n));
      parameters.push_back(dtype(n));
      results.push_back(operand(n));
    }
    result.push_back(DType::boolean);
    if (!is_scalar_function(callee(), parameters, result))
      return reject("comparator must take two scalars for each operand and give a PRED", keys);
    return one_or_tuple(results);
  }
  [[nodiscard]] constexpr auto topk() -> Expected<ShapeId> {
    Shape x = shape(0);
    const std::int64_t k = number(AttributeKey::k);
    if (x.rank() == 0 || k < 0 || k > x.dims.back()) return reject("k is not below the last size", x);
    x.dims[x.rank() - 1] = k;
    const ShapeId results[2] = {shapes_.array(x), shapes_.array(x.with(DType::i32))};
    return shapes_.tuple(results);
  }
  [[nodiscard]] constexpr auto map() -> Expected<ShapeId> {
    const Shape x = shape(0);
    Pool<DType> parameters, result;
    for (std::uint32_t n = 0; n < count(); ++n) {
      if (shape(n).dims != x.dims) return reject("operands differ in size", x, shape(n));
      parameters.push_back(dtype(n));
    }
    if (iota_dims(x.rank()) != Dims(list(AttributeKey::dimensions)))
      return reject("runs over all dimensions", x);
    result.push_back(shapes_.dtype(module_.result_shape(callee())));
    if (!is_scalar_function(callee(), parameters, result))
      return reject("function must take and give scalars", x);
    return array(result[0], x.dims);
  }

  // ---- linear algebra, random numbers

  [[nodiscard]] constexpr auto fft() -> Expected<ShapeId> {
    Shape x = shape(0);
    const Span<const std::int64_t> length = list(AttributeKey::fft_length);
    const auto type = static_cast<FftType>(number(AttributeKey::fft_type));
    if (length.empty() || length.size() > 3 || length.size() > x.rank())
      return reject("runs over the last one to three dimensions", x);
    if (is_complex(x.dtype) == (type == FftType::rfft)) return reject("does not take this element type", x);
    const std::size_t first = x.rank() - length.size();
    for (std::size_t d = 0; d < length.size(); ++d) {
      const bool is_halved = type == FftType::irfft && d + 1 == length.size();
      const std::int64_t want = is_halved ? length[d] / 2 + 1 : length[d];
      if (length[d] < 0 || x.dims[first + d] != want)
        return reject("fft_length is not the operand's size", x);
    }
    std::int64_t& last = x.dims[x.rank() - 1];
    if (type == FftType::rfft) {
      if (x.dtype != DType::f32 && x.dtype != DType::f64) return reject("takes f32 or f64", x);
      last = last == 0 ? 0 : last / 2 + 1;
      return array(x.with(fxpass::detail::complex_of(x.dtype)));
    }
    if (type == FftType::irfft) {
      last = length.back();
      return array(x.with(fxpass::detail::real_part(x.dtype)));
    }
    return array(x);
  }
  [[nodiscard]] constexpr auto is_square(const Shape& x) const -> bool {
    return x.rank() >= 2 && x.dims[x.rank() - 1] == x.dims[x.rank() - 2];
  }
  [[nodiscard]] constexpr auto cholesky() -> Expected<ShapeId> {
    if (!is_square(shape(0))) return reject("takes square matrices", shape(0));
    return operand(0);
  }
  [[nodiscard]] constexpr auto triangular_solve() -> Expected<ShapeId> {
    const Shape a = shape(0), b = shape(1);
    bool fits = is_square(a) && a.dtype == b.dtype && a.rank() == b.rank();
    for (std::size_t d = 0; fits && d + 2 < a.rank(); ++d) fits = a.dims[d] == b.dims[d];
    const bool is_left = module_.flag(i_, AttributeKey::left_side);
    if (!fits || b.dims[b.rank() - (is_left ? 2 : 1)] != a.dims.back())
      return reject("matrix and right-hand side do not fit", a, b);
    return operand(1);
  }
  [[nodiscard]] constexpr auto rng() -> Expected<ShapeId> {
    for (const std::uint32_t n : {0u, 1u})
      if (!shape(n).is_scalar() || dtype(n) != declared().dtype)
        return reject("parameters are scalars of the result's type", shape(n));
    if (!shapes_.is_array(i_.shape)) return reject("gives an array");
    return i_.shape;
  }
  [[nodiscard]] constexpr auto rng_bit_generator() -> Expected<ShapeId> {
    const Span<const ShapeId> results = shapes_.elements(i_.shape);
    if (shape(0).rank() != 1 || dtype(0) != DType::u64) return reject("state is a list of u64", shape(0));
    if (results.size() != 2 || results[0] != operand(0) || !shapes_.is_array(results[1]) ||
        !is_integral(shapes_.dtype(results[1])))
      return reject("gives the next state and integers", shape(0));
    return i_.shape;
  }

  // ---- control and structure

  [[nodiscard]] constexpr auto while_loop() -> Expected<ShapeId> {
    const Span<const Value> operands = module_.operands_of(i_);
    if (!takes(callee(0), operands) || module_.result_shape(callee(0)) != operand(0))
      return reject("body must take and give the shape of the initial value");
    if (!takes(callee(1), operands) || module_.result_shape(callee(1)) != shapes_.array(DType::boolean, {}))
      return reject("condition must take the shape of the initial value and give a PRED");
    return operand(0);
  }
  [[nodiscard]] constexpr auto conditional() -> Expected<ShapeId> {
    const bool is_two_way = dtype(0) == DType::boolean;
    if (!shapes_.is_array(operand(0)) || !shape(0).is_scalar() || (!is_two_way && dtype(0) != DType::i32))
      return reject("selector must be a scalar PRED or s32");
    if (i_.called.count + 1 != count() || (is_two_way && i_.called.count != 2))
      return reject("needs one operand for each branch, and two branches for a PRED");
    for (std::uint32_t branch = 0; branch < i_.called.count; ++branch) {
      if (!takes(callee(branch), module_.operands_of(i_).subspan(branch + 1, 1)))
        return reject("a branch does not take its operand");
      if (module_.result_shape(callee(branch)) != module_.result_shape(callee(0)))
        return reject("branches differ in the shape of their result");
    }
    return module_.result_shape(callee(0));
  }
  [[nodiscard]] constexpr auto call() -> Expected<ShapeId> {
    if (!takes(callee(), module_.operands_of(i_))) return reject("computation does not take these operands");
    return module_.result_shape(callee());
  }
  [[nodiscard]] constexpr auto tuple() -> Expected<ShapeId> {
    Pool<ShapeId> elements;
    for (std::uint32_t n = 0; n < count(); ++n) elements.push_back(operand(n));
    return shapes_.tuple(elements.view());
  }
  [[nodiscard]] constexpr auto get_tuple_element() -> Expected<ShapeId> {
    const Span<const ShapeId> elements = shapes_.elements(operand(0));
    const std::int64_t index = number(AttributeKey::tuple_index);
    if (index < 0 || static_cast<std::size_t>(index) >= elements.size())
      return reject("there is no such element");
    return elements[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] constexpr auto custom_call() -> Expected<ShapeId> {
    const Span<const std::int64_t> aliasing = list(AttributeKey::output_operand_aliasing);
    if (module_.text(i_, AttributeKey::custom_call_target).empty()) return reject("has no target");
    if (aliasing.size() % 2 != 0) return reject("aliases need an output and an operand each");
    for (std::size_t n = 0; n < aliasing.size(); n += 2) {
      const Span<const ShapeId> elements = shapes_.elements(i_.shape);
      const bool is_tuple = shapes_.is_tuple(i_.shape);
      const std::int64_t output = aliasing[n], input = aliasing[n + 1];
      const bool exists =
          is_tuple ? output >= 0 && output < static_cast<std::int64_t>(elements.size()) : output == -1;
      if (!exists || input < 0 || input >= static_cast<std::int64_t>(count()))
        return reject("aliases an output or operand that does not exist");
      const ShapeId result = is_tuple ? elements[static_cast<std::size_t>(output)] : i_.shape;
      if (operand(static_cast<std::uint32_t>(input)) != result)
        return reject("aliased output and operand differ in shape");
    }
    return i_.shape;
  }

  // ---- communication

  /// Groups have members, no rank twice, no rank of 0..n-1 left out; all of one size if `even`.
  [[nodiscard]] constexpr auto check_groups(bool even) const -> Status {
    const Span<const std::int64_t> groups = list(AttributeKey::replica_groups);
    const std::int64_t channel = number(AttributeKey::channel_id);
    if (module_.flag(i_, AttributeKey::use_global_device_ids) && (channel < 1 || groups.empty()))
      return reject("global device ids need a channel and groups");
    std::size_t ranks = 0;
    for (std::size_t at = 0; at < groups.size();) {
      const std::int64_t size = groups[at];
      if (size < 1 || static_cast<std::size_t>(size) > groups.size() - at - 1 || (even && size != groups[0]))
        return reject("replica groups are empty or differ in size");
      ranks += static_cast<std::size_t>(size);
      at += 1 + static_cast<std::size_t>(size);
    }
    Pool<std::uint8_t> seen;
    seen.resize(static_cast<std::uint32_t>(ranks), 0);
    for (std::size_t at = 0; at < groups.size(); at += 1 + static_cast<std::size_t>(groups[at])) {
      for (const std::int64_t rank : groups.subspan(at + 1, static_cast<std::size_t>(groups[at]))) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= ranks ||
            seen[static_cast<std::uint32_t>(rank)] != 0)
          return reject("replica groups must hold every rank once");
        if (!may_have_rank(static_cast<std::uint64_t>(rank)))
          return reject("a group has more ranks than the module");
        seen[static_cast<std::uint32_t>(rank)] = 1;
      }
    }
    return {};
  }
  /// Whether the module runs on so many ranks. One device is what a module says that leaves the number to the
  /// compiler.
  [[nodiscard]] constexpr auto may_have_rank(std::uint64_t rank) const -> bool {
    const std::uint64_t devices = std::uint64_t{module_.replica_count} * module_.num_partitions;
    return devices <= 1 || rank < devices;
  }
  /// Members of a group; without groups all replicas are one.
  [[nodiscard]] constexpr auto group_size() const -> std::int64_t {
    const Span<const std::int64_t> groups = list(AttributeKey::replica_groups);
    if (!groups.empty()) return groups[0];
    return module_.replica_count == 0 ? 1 : module_.replica_count;
  }
  /// The one dimension a collective runs over, or none.
  [[nodiscard]] constexpr auto collective_dim(const Shape& x) const -> std::optional<std::size_t> {
    const Span<const std::int64_t> dims = list(AttributeKey::dimensions);
    if (dims.size() != 1 || !are_dims(dims, x.rank(), false)) return std::nullopt;
    return static_cast<std::size_t>(dims[0]);
  }
  [[nodiscard]] constexpr auto all_reduce() -> Expected<ShapeId> {
    if (Status groups = check_groups(false); !groups) return std::move(groups).error();
    Pool<ShapeId> results;
    for (std::uint32_t n = 0; n < count(); ++n) {
      if (dtype(n) != dtype(0)) return reject("operands differ in type", shape(0), shape(n));
      results.push_back(operand(n));
    }
    if (!is_reducer(callee(), 1))
      return reject("reducer must combine two scalars of the operand's type", shape(0));
    return one_or_tuple(results);
  }
  [[nodiscard]] constexpr auto all_gather() -> Expected<ShapeId> {
    if (Status groups = check_groups(true); !groups) return std::move(groups).error();
    Shape x = shape(0);
    const std::optional<std::size_t> dim = collective_dim(x);
    if (!dim) return reject("needs one dimension", x);
    if (group_size() > std::int64_t{1} << 31 || x.dims[*dim] > std::int64_t{1} << 31)
      return reject("is too large", x);
    x.dims[*dim] *= group_size();
    return array(x);
  }
  [[nodiscard]] constexpr auto reduce_scatter() -> Expected<ShapeId> {
    if (Status groups = check_groups(true); !groups) return std::move(groups).error();
    Shape x = shape(0);
    const std::optional<std::size_t> dim = collective_dim(x);
    if (!dim || x.dims[*dim] % group_size() != 0)
      return reject("needs one dimension that the group divides", x);
    if (!is_reducer(callee(), 1)) return reject("reducer must combine two scalars of the operand's type", x);
    x.dims[*dim] /= group_size();
    return array(x);
  }
  [[nodiscard]] constexpr auto all_to_all() -> Expected<ShapeId> {
    if (Status groups = check_groups(true); !groups) return std::move(groups).error();
    if (module_.find(i_, AttributeKey::dimensions) != nullptr) {
      const std::optional<std::size_t> dim = collective_dim(shape(0));
      if (count() != 1 || list(AttributeKey::replica_groups).empty() || !dim ||
          shape(0).dims[*dim] % group_size() != 0)
        return reject("needs groups, and one dimension that a group divides", shape(0));
      return operand(0);
    }
    if (count() != static_cast<std::uint64_t>(group_size()))
      return reject("needs one operand for each rank of a group");
    Pool<ShapeId> results;
    for (std::uint32_t n = 0; n < count(); ++n) {
      if (operand(n) != operand(0)) return reject("operands differ in shape", shape(0), shape(n));
      results.push_back(operand(n));
    }
    return shapes_.tuple(results.view());
  }
  [[nodiscard]] constexpr auto collective_permute() -> Expected<ShapeId> {
    const Span<const std::int64_t> pairs = list(AttributeKey::source_target_pairs);
    if (pairs.size() % 2 != 0) return reject("needs pairs");
    for (std::size_t a = 0; a < pairs.size(); ++a) {
      if (pairs[a] < 0 || !may_have_rank(static_cast<std::uint64_t>(pairs[a])))
        return reject("names a rank that does not exist");
      for (std::size_t b = a % 2; b < a; b += 2)
        if (pairs[a] == pairs[b]) return reject("sources and targets must be different ranks");
    }
    return operand(0);
  }

  ShapeTable& shapes_;
  const Module& module_;
  const Instruction& i_;
  const OpcodeInfo& info_;
};

}  // namespace detail

/// The shape of the result of `instruction`, or what is wrong with it.
///
/// Needs operands and called computations that exist. Where the operation leaves its result open (parameter,
/// constant, iota, broadcast, reshape, custom-call; the element type of convert, bitcast-convert, dot,
/// convolution), the declared shape is taken and checked. `shapes` takes new shapes; it is the module's table
/// or a copy of it.
[[nodiscard]] constexpr auto infer_shape(ShapeTable& shapes, const Module& module,
                                         const Instruction& instruction) -> Expected<ShapeId> {
  return detail::ShapeInference(shapes, module, instruction).run();
}

}  // namespace fxpass::hlo
