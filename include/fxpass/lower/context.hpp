// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/hlo/builder.hpp>
#include <fxpass/ops/promotion.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

/// @file
/// `LoweringContext`: what a lowering has in its hands.

namespace fxpass {

/// A Python number in a call.
struct Number {
  DTypeCategory category = DTypeCategory::integral;  ///< bool, integer, float or complex
  std::int64_t integer = 0;                          ///< of bools and integers
  double real = 0;                                   ///< of any number
  double imaginary = 0;                              ///< of a complex number

  /// The integer 0.
  constexpr Number() = default;

  /// Python's number of that value.
  constexpr Number(bool value)  // NOLINT(google-explicit-constructor): numbers are numbers
      : category(DTypeCategory::boolean), integer(value ? 1 : 0), real(value ? 1 : 0) {}
  constexpr Number(std::int64_t value)  // NOLINT(google-explicit-constructor)
      : integer(value), real(static_cast<double>(value)) {}
  constexpr Number(int value) : Number(std::int64_t{value}) {}  // NOLINT(google-explicit-constructor)
  constexpr Number(double value)  // NOLINT(google-explicit-constructor)
      : category(DTypeCategory::floating), integer(0), real(value) {}

  /// Whether it is that real number. Exact.
  [[nodiscard]] constexpr auto is(double value) const -> bool { return real == value && imaginary == 0; }
};

/// A tensor or a number, where PyTorch takes either.
struct Operand {
  hlo::Value value;              ///< of a tensor
  std::optional<Number> number;  ///< of a number

  /// Whether it is a number; else it is a tensor.
  [[nodiscard]] constexpr auto is_number() const -> bool { return number.has_value(); }
};

/// In which dtype operands meet before an elementwise operation.
enum class Meeting : std::uint8_t {
  common,      ///< their common dtype
  arithmetic,  ///< so too, but where a half meets a number, float32: eager does not round the number to the half
  floating,    ///< as `arithmetic`, and integers meet in float32
};

/// Lowers the graphs that calls run: what lowers the graph around them is one.
class GraphInliner {
 public:
  /// Lowers subgraph `number` into the computation that is being made, `inputs` being its inputs. The values of its
  /// outputs, invalid ones for those that are no tensors; none if there was an error, which has been noted.
  virtual constexpr auto inline_graph(std::uint32_t number, Span<const hlo::Value> inputs) -> Pool<hlo::Value> = 0;

 protected:
  /// Made, copied and destroyed only as a part of what derives from it: nobody owns one through this type.
  constexpr GraphInliner() = default;
  constexpr GraphInliner(const GraphInliner&) = default;
  constexpr auto operator=(const GraphInliner&) -> GraphInliner& = default;
  constexpr ~GraphInliner() = default;
};

/// The values of nodes, typed access to the arguments of calls, and the moves that most lowerings make.
///
/// A request that cannot be met notes a diagnostic at the call and gives a harmless value; operations on an
/// invalid `hlo::Value` give an invalid one. So a lowering reads as if nothing could go wrong. A request for
/// an argument is O(schema length). See docs/lowering.md.
class LoweringContext {
 public:
  /// Of a graph whose nodes are lowered in program order into `builder`; both have to outlive it. `around` is that of the
  /// graph around it, if there is one. O(nodes).
  constexpr LoweringContext(const Graph& graph, hlo::Builder& builder, LoweringContext* around = nullptr)
      : graph_(graph), builder_(builder), around_(around) {
    results_.resize(graph.node_count());
  }
  /// Says who lowers the graphs that calls run.
  constexpr void set_inliner(GraphInliner& inliner) { inliner_ = &inliner; }

  /// The program that is lowered, and the module that is made of it.
  [[nodiscard]] constexpr auto graph() const -> const Graph& { return graph_; }
  [[nodiscard]] constexpr auto builder() -> hlo::Builder& { return builder_; }

  // Errors -----------------------------------------------------------------------------------------------------------
  /// Notes an error at `call` and gives the invalid value.
  constexpr auto fail(const Call& call, DiagnosticCode code, std::string_view what) -> hlo::Value {
    return builder_.fail(error_at(graph_, call.id(), code, text_of(call.name(), ": ", what)));
  }
  /// Notes that the program is legal, but that this lowering does not carry it out.
  constexpr auto unsupported(const Call& call, std::string_view what) -> hlo::Value {
    return fail(call, DiagnosticCode::unsupported, what);
  }

  // Values of nodes --------------------------------------------------------------------------------------------------
  /// What node `id` was lowered to: one value, or one for each member of a tuple.
  [[nodiscard]] constexpr auto values(NodeId id) const -> Span<const hlo::Value> {
    return values_.view(results_[id.index]);
  }
  /// Says what node `id` was lowered to. Lowerings return their values instead.
  constexpr void set_values(NodeId id, Span<const hlo::Value> values) {
    results_[id.index] = values_.append(values);
  }

  // Arguments --------------------------------------------------------------------------------------------------------
  /// The tensor given for parameter `name`.
  constexpr auto tensor(const Call& call, std::string_view name) -> hlo::Value {
    const auto given = call.given(name);
    if (!given || given->is_none()) return missing(call, name);
    return tensor(call, *given, name);
  }
  /// A member of a list of tensors, or any other argument that has to be a tensor.
  constexpr auto tensor(const Call& call, const Argument& argument, std::string_view name) -> hlo::Value {
    if (!argument.is_node()) return fail(call, DiagnosticCode::unsupported, text_of("'", name, "' is not a tensor"));
    const Span<const hlo::Value> found = values(argument.node());
    if (found.size() == 1) return found[0];
    return fail(call, DiagnosticCode::unsupported,
                text_of("'", name, "' is given by node ", graph_.name(argument.node()), ", which is no tensor"));
  }
  /// The argument of a function that has no schema, by its place or its name in Python; none if it is not given or None.
  [[nodiscard]] constexpr auto python_argument(const Call& call, std::size_t position, std::string_view keyword) const
      -> std::optional<Argument> {
    std::size_t at = 0;
    for (const Argument& a : graph_.arguments(call.id())) {
      const bool is_it = a.is_keyword() ? graph_.text(a.keyword()) == keyword : at == position;
      if (is_it) return a.is_none() ? std::nullopt : std::optional(a);
      ++at;
    }
    return std::nullopt;
  }
  /// The members of the list of tensors given for `name`.
  constexpr auto tensors(const Call& call, std::string_view name) -> Pool<hlo::Value> {
    Pool<hlo::Value> list;
    const auto members = call.list(name);
    if (!members) {
      missing(call, name);
      return list;
    }
    for (const Argument& member : *members) list.push_back(tensor(call, member, name));
    return list;
  }
  /// The tensor or number given for `name`.
  constexpr auto operand(const Call& call, std::string_view name) -> Operand {
    const auto given = call.given(name);
    if (given && given->is_node()) return {tensor(call, *given, name), {}};
    return {{}, number(call, name)};
  }
  /// An argument as a number; none if it is something else.
  [[nodiscard]] constexpr auto number_of(const Argument& a) const -> std::optional<Number> {
    switch (a.kind()) {
      case ArgumentKind::integer: return Number(a.integer());
      case ArgumentKind::boolean: return Number(a.boolean());
      case ArgumentKind::real: return Number(a.real());
      case ArgumentKind::complex: {
        const auto parts = graph_.children(a);
        if (parts.size() != 2) return std::nullopt;
        const auto real_part = number_of(parts[0]), imaginary_part = number_of(parts[1]);
        if (!real_part || !imaginary_part) return std::nullopt;
        Number n(real_part->real);
        n.category = DTypeCategory::complex;
        n.imaginary = imaginary_part->real;
        return n;
      }
      default: return std::nullopt;
    }
  }
  /// The number given for `name`, or its default.
  constexpr auto number(const Call& call, std::string_view name) -> Number {
    if (const auto given = call.given(name)) {
      if (const auto found = number_of(*given)) return *found;
    } else if (const auto integer = call.integer(name)) {
      return *integer;
    } else if (const auto real = call.real(name)) {
      return *real;
    }
    not_static(call, name, "number");
    return {};
  }
  /// The integer, float or bool given for `name`, or its default. What is computed by a node, or symbolic, is
  /// not known.
  constexpr auto integer(const Call& call, std::string_view name) -> std::int64_t {
    if (const auto found = call.integer(name)) return *found;
    not_static(call, name, "integer");
    return 0;
  }
  constexpr auto real(const Call& call, std::string_view name) -> double {
    if (const auto found = call.real(name)) return *found;
    not_static(call, name, "number");
    return 0;
  }
  constexpr auto boolean(const Call& call, std::string_view name) -> bool {
    if (const auto found = call.boolean(name)) return *found;
    not_static(call, name, "bool");
    return false;
  }
  /// A list of integers, all known.
  constexpr auto integers(const Call& call, std::string_view name) -> hlo::Dims {
    hlo::Dims list;
    const auto found = call.integers(name);
    if (!found) not_static(call, name, "list of integers");
    if (found)
      for (const SymInt& s : *found) {
        if (s.is_symbolic())
          fail(call, DiagnosticCode::symbolic_size, text_of("'", name, "' holds ", graph_.expression(s)));
        else
          list.push_back(s.value());
      }
    return list;
  }
  /// A dimension of a tensor of rank `rank`, counted from the end if negative.
  constexpr auto dim(const Call& call, std::string_view name, std::size_t rank) -> std::size_t {
    return wrapped_dim(call, integer(call, name), rank);
  }
  /// A dimension given as a number, which has to be one of a tensor of rank `rank`; one without dimensions
  /// has 0 and -1.
  constexpr auto wrapped_dim(const Call& call, std::int64_t dim, std::size_t rank) -> std::size_t {
    // A tensor without dimensions takes 0 and -1 as if it had one.
    const auto count = static_cast<std::int64_t>(rank == 0 ? 1 : rank);
    if (dim >= -count && dim < count) return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
    fail(call, DiagnosticCode::eager_would_raise, text_of("there is no dimension ", dim));
    return 0;
  }
  /// Some dimensions in ascending order; all of them where the list, or its default, is empty or None.
  constexpr auto dims(const Call& call, std::string_view name, std::size_t rank) -> hlo::Dims {
    hlo::Dims given;
    if (call.has(name) || call.integers(name)) given = integers(call, name);
    if (given.empty()) return hlo::iota_dims(rank);
    std::array<bool, hlo::max_rank + 1> chosen{};
    for (const std::int64_t d : given) chosen[wrapped_dim(call, d, rank)] = true;
    hlo::Dims list;
    for (std::size_t d = 0; d < rank; ++d)
      if (chosen[d]) list.push_back(static_cast<std::int64_t>(d));
    return list;
  }

  // What is known of the result --------------------------------------------------------------------------------------
  /// The shape that metadata states. Needs numbers for sizes.
  [[nodiscard]] constexpr auto shape_of(const TensorMeta& meta) const -> hlo::Shape {
    hlo::Shape shape{meta.dtype, {}};
    for (const SymInt& size : graph_.sizes(meta)) shape.dims.push_back(size.value());
    return shape;
  }
  /// Shape and dtype that the node has in PyTorch.
  constexpr auto result_shape(const Call& call) -> hlo::Shape {
    if (const TensorMeta* meta = graph_.tensor(call.id())) return shape_of(*meta);
    fail(call, DiagnosticCode::missing_metadata, "the shape of the result is not known");
    return {};
  }
  /// The value in the result's dtype.
  constexpr auto to_result(const Call& call, hlo::Value x) -> hlo::Value {
    return x.valid() ? builder_.convert(x, result_shape(call).dtype) : x;
  }

  /// The values of a tuple, each in the dtype and shape that the node's member has. Those that the node does not have
  /// are left out; an invalid one stands for a result that nobody may read.
  constexpr auto members(const Call& call, std::initializer_list<hlo::Value> values) -> Pool<hlo::Value> {
    Pool<hlo::Value> list;
    const auto metas = graph_.values(call.id());
    for (const hlo::Value value : values) {
      if (list.size() == metas.size()) break;
      const TensorMeta& meta = metas[list.size()];
      const bool is_known = meta.known && value.valid();
      const hlo::Shape shape = is_known ? shape_of(meta) : hlo::Shape{};
      list.push_back(is_known ? builder_.reshape(builder_.convert(value, shape.dtype), shape.dims) : value);
    }
    return list;
  }

  // Moves ------------------------------------------------------------------------------------------------------------
  /// A scalar of type `dtype`.
  constexpr auto scalar(DType dtype, const Number& n) -> hlo::Value {
    if (is_complex(dtype)) return builder_.constant_complex(dtype, n.real, n.imaginary);
    if (n.category == DTypeCategory::floating) return builder_.constant(dtype, n.real);
    return builder_.constant(dtype, n.integer);
  }
  /// The number everywhere.
  constexpr auto full(const hlo::Shape& shape, const Number& n) -> hlo::Value {
    return builder_.broadcast(scalar(shape.dtype, n), shape.dims);
  }
  /// The number in the shape and type of `x`.
  constexpr auto full_like(hlo::Value x, const Number& n) -> hlo::Value {
    return x.valid() ? full(builder_.shape(x), n) : x;
  }
  /// `x` in the shape `to`, by PyTorch's rule: aligned at the last dimension, sizes of 1 stretched.
  constexpr auto broadcast_to(const Call& call, hlo::Value x, const hlo::Dims& to) -> hlo::Value {
    if (!x.valid()) return x;
    const hlo::Dims from = builder_.dims(x);
    if (from == to) return x;
    if (from.size() > to.size()) return cannot_broadcast(call, from, to);
    const std::size_t shift = to.size() - from.size();
    hlo::Dims kept, places;
    for (std::size_t d = 0; d < from.size(); ++d) {
      const bool is_stretched = from[d] == 1 && to[d + shift] != 1;
      if (!is_stretched && from[d] != to[d + shift]) return cannot_broadcast(call, from, to);
      if (is_stretched) continue;
      kept.push_back(from[d]);
      places.push_back(static_cast<std::int64_t>(d + shift));
    }
    return builder_.broadcast_in_dim(builder_.reshape(x, kept), to, places);
  }
  /// The shape that shapes `a` and `b` broadcast to.
  constexpr auto common_dims(const Call& call, const hlo::Dims& a, const hlo::Dims& b) -> hlo::Dims {
    const hlo::Dims& longer = a.size() >= b.size() ? a : b;
    const hlo::Dims& shorter = a.size() >= b.size() ? b : a;
    hlo::Dims common = longer;
    const std::size_t shift = longer.size() - shorter.size();
    for (std::size_t d = 0; d < shorter.size(); ++d) {
      if (common[d + shift] == 1)
        common[d + shift] = shorter[d];
      else if (shorter[d] != 1 && shorter[d] != common[d + shift])
        cannot_broadcast(call, a, b);
    }
    return common;
  }
  /// The dtype that `operands` promote to.
  constexpr auto common_dtype(const Call& call, Span<const Operand> operands) -> DType {
    ops::ResultType type;
    for (const Operand& o : operands) {
      if (o.is_number())
        type.add_number(o.number->category);
      else if (o.value.valid())
        type.add_tensor(builder_.dtype(o.value), builder_.rank(o.value) != 0);
    }
    if (const auto common = type.get()) return *common;
    // Nothing to promote: an operand failed, and that has been said.
    bool all_failed = true;
    for (const Operand& o : operands) all_failed = all_failed && !o.is_number() && !o.value.valid();
    if (!all_failed) fail(call, DiagnosticCode::eager_would_raise, "the dtypes of the operands do not promote");
    return DType::f32;
  }
  /// The operands given for `names`, in one dtype and one shape.
  ///
  ///     const auto [a, b] = c.operands(call, Meeting::arithmetic, "self", "other");
  template <class... Names>
  constexpr auto operands(const Call& call, Meeting meeting, const Names&... names)
      -> std::array<hlo::Value, sizeof...(Names)> {
    return meet(call, meeting, std::array<Operand, sizeof...(Names)>{operand(call, names)...});
  }
  /// Operands that are at hand, in one dtype and one shape: as `operands`.
  template <std::size_t N>
  constexpr auto meet(const Call& call, Meeting meeting, const std::array<Operand, N>& given)
      -> std::array<hlo::Value, N> {
    DType type = common_dtype(call, given);
    hlo::Dims common;
    bool is_mixed = false;
    for (const Operand& o : given) {
      is_mixed = is_mixed || o.is_number() || builder_.dtype(o.value) != type;
      if (!o.is_number()) common = common_dims(call, common, builder_.dims(o.value));
    }
    if (meeting == Meeting::floating) type = ops::floating_type(type);
    if (meeting != Meeting::common && is_mixed) type = ops::accumulate_type(type);
    std::array<hlo::Value, N> met;
    for (std::size_t i = 0; i < N; ++i)
      met[i] = given[i].is_number() ? full({type, common}, *given[i].number)
                                    : broadcast_to(call, builder_.convert(given[i].value, type), common);
    return met;
  }
  /// A tensor in the dtype in which eager computes with it: integers as float32, halves as float32.
  constexpr auto accurate(hlo::Value x) -> hlo::Value {
    return x.valid() ? builder_.convert(x, ops::accumulate_type(ops::floating_type(builder_.dtype(x)))) : x;
  }
  /// A tensor as truth values: whether each element differs from zero.
  constexpr auto truth(hlo::Value x) -> hlo::Value { return converted(x, DType::boolean); }
  /// A tensor in another dtype as PyTorch casts: of complex numbers the real parts, and whether they differ from zero.
  constexpr auto converted(hlo::Value x, DType to) -> hlo::Value {
    if (!x.valid()) return x;
    if (!is_complex(builder_.dtype(x)) || is_complex(to)) return builder_.convert(x, to);
    if (to == DType::boolean) return builder_.compare(x, full_like(x, 0), hlo::Direction::ne);
    return builder_.convert(builder_.real(x), to);
  }

  /// A channel that no other collective of the module has.
  constexpr auto next_channel() -> std::int64_t { return around_ == nullptr ? ++channels_ : around_->next_channel(); }

  // Graphs that calls run --------------------------------------------------------------------------------------------
  /// The results of subgraph `number` in the computation that is being made, given its inputs, tensors all. None if there
  /// was an error, which is noted.
  constexpr auto run_graph(const Call& call, std::uint32_t number, Span<const hlo::Value> inputs) -> Pool<hlo::Value> {
    if (inliner_ != nullptr) return inliner_->inline_graph(number, inputs);
    unsupported(call, "runs a graph, which whoever lowers this one does not do");
    return {};
  }

 private:
  constexpr auto missing(const Call& call, std::string_view name) -> hlo::Value {
    return fail(call, DiagnosticCode::unsupported, text_of("argument '", name, "' is missing"));
  }
  constexpr void not_static(const Call& call, std::string_view name, std::string_view what) {
    const auto given = call.given(name);
    if (given && given->is(ArgumentKind::sym_int))
      fail(call, DiagnosticCode::symbolic_size,
           text_of("'", name, "' is ", graph_.expression(given->sym_int())));
    else if (given && given->is_node())
      fail(call, DiagnosticCode::unsupported,
           text_of("'", name, "' is computed by node ", graph_.name(given->node()), ", but has to be a known ", what));
    else
      fail(call, DiagnosticCode::unsupported, text_of("'", name, "' has to be a known ", what));
  }
  constexpr auto cannot_broadcast(const Call& call, const hlo::Dims& from, const hlo::Dims& to) -> hlo::Value {
    Text message("shapes do not broadcast: ");
    append_dims(message, from);
    append_to(message, " and ");
    append_dims(message, to);
    return fail(call, DiagnosticCode::eager_would_raise, message);
  }
  static constexpr void append_dims(Text& text, const hlo::Dims& dims) {
    append_to(text, '[');
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d != 0) append_to(text, ", ");
      append_to(text, dims[d]);
    }
    append_to(text, ']');
  }

  const Graph& graph_;
  hlo::Builder& builder_;
  LoweringContext* around_;
  GraphInliner* inliner_ = nullptr;
  Pool<Range> results_;  ///< by node, of `values_`
  Pool<hlo::Value> values_;
  std::int64_t channels_ = 0;
};

}  // namespace fxpass
