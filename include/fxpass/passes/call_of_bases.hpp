// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/graph/functional_form.hpp>
#include <fxpass/graph/geometry.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// `CallOfBases`: what a call of `auto_functionalized_v2` says. It gives the new values of bases, and says of each parameter
/// that is written which view of which base it is: `_x_base_index=0, _x_slice_dim=0, _x_slice_start=1, _x_slice_end=4,
/// _all_bases=[z]`. Source: `write_view_information_to_args` in `torch/_higher_order_ops/auto_functionalize.py`.

namespace fxpass {

/// How a tensor that is written lies in its base.
struct ViewOfBase {
  /// What is said of it.
  enum class Kind : std::uint8_t { none, whole, slice, strided };
  Kind kind = Kind::none;  ///< none: None stands for the tensor
  std::uint32_t base = 0;  ///< among the bases
  Argument arguments[3];   ///< of slice: dim, start, end; of as_strided: size, stride, offset
  Geometry geometry;       ///< in the base's storage
};

/// A parameter that is written.
struct WrittenParameter {
  std::string_view name;          ///< as the schema has it
  bool is_list = false;           ///< it is a list of tensors,
  bool is_none = false;           ///< or None in its place
  std::vector<ViewOfBase> views;  ///< one, or one for each member
};

/// Reads one call. Valid while the graph is not changed.
class CallOfBases {
 public:
  /// Of node `id`, a call of the second form. O(arguments^2).
  constexpr CallOfBases(const Graph& graph, NodeId id) : graph_(graph), id_(id), is_understood_(read()) {}

  /// The graph that the call is in.
  [[nodiscard]] constexpr auto graph() const -> const Graph& { return graph_; }
  /// Whether the call is one of a custom operator, of each of whose views it is known what it is, and that no two of them share
  /// memory: then writing one after the other is the same.
  [[nodiscard]] constexpr auto is_understood() const -> bool { return is_understood_; }
  /// How many results come before the bases: those of the operator, or None.
  [[nodiscard]] constexpr auto result_count() const -> std::uint32_t {
    return static_cast<std::uint32_t>(graph_.values(id_).size() - bases().size());
  }
  /// The bases, nodes all.
  [[nodiscard]] constexpr auto bases() const -> Span<const Argument> { return graph_.children(bases_); }
  /// The parameters that are written, in the order of the schema.
  [[nodiscard]] constexpr auto written() const -> const std::vector<WrittenParameter>& { return written_; }
  /// The other arguments, which are keywords.
  [[nodiscard]] constexpr auto read_only() const -> const Pool<Argument>& { return read_only_; }

 private:
  constexpr auto read() -> bool {
    const auto arguments = graph_.arguments(id_);
    const std::string_view called = detail::functional_operator(graph_, arguments);
    if (called.empty() || called.starts_with("higher_order.")) return false;
    const auto all = keyword("_all_bases");
    if (!all || !all->is_sequence()) return false;
    bases_ = *all;
    for (const Argument& base : bases())
      if (!base.is_node() || !geometry_of(graph_, base.node())) return false;
    if (graph_.values(id_).size() <= bases().size()) return false;
    for (const Argument& a : arguments)
      if (a.is_keyword() && !read_parameter(graph_.text(a.keyword()))) return false;
    for (const Argument& a : arguments)
      if (a.is_keyword() && !says_view(graph_.text(a.keyword()))) read_only_.push_back(a);
    return !written_.empty() && are_views_apart();
  }
  [[nodiscard]] constexpr auto keyword(std::string_view name) const -> std::optional<Argument> {
    for (const Argument& a : graph_.arguments(id_))
      if (a.is_keyword() && graph_.text(a.keyword()) == name) return a;
    return std::nullopt;
  }
  /// `_x_base_index`, or `_xs_length`, which comes before the `_xs_0_base_index` of its members.
  constexpr auto read_parameter(std::string_view key) -> bool {
    constexpr std::string_view index = "_base_index", length = "_length";
    if (!key.starts_with('_') || says_view(key)) return true;
    const bool is_list = key.ends_with(length);
    if (!is_list && !key.ends_with(index)) return true;
    WrittenParameter parameter;
    parameter.is_list = is_list;
    parameter.name = key.substr(1, key.size() - 1 - (is_list ? length : index).size());
    if (!is_list) {
      auto view = read_view(text_of('_', parameter.name));
      if (!view) return false;
      parameter.views.push_back(*std::move(view));
      parameter.is_none = parameter.views[0].kind == ViewOfBase::Kind::none;
      written_.push_back(std::move(parameter));
      return true;
    }
    const Argument count = keyword(key).value_or(Argument());
    parameter.is_none = count.is_none();
    if (!count.is_none() && !count.is(ArgumentKind::integer)) return false;
    for (std::int64_t i = 0; !count.is_none() && i < count.integer(); ++i) {
      auto view = read_view(text_of('_', parameter.name, '_', i));
      if (!view || view->kind == ViewOfBase::Kind::none) return false;
      parameter.views.push_back(*std::move(view));
    }
    written_.push_back(std::move(parameter));
    return true;
  }
  /// Whether `key` is one of the words on a parameter that has been read.
  [[nodiscard]] constexpr auto says_view(std::string_view key) const -> bool {
    if (key == "_all_bases") return true;
    for (const WrittenParameter& p : written_) {
      if (p.is_list && key == text_of('_', p.name, "_length")) return true;
      for (std::size_t i = 0; i < p.views.size(); ++i) {
        Text prefix = text_of('_', p.name, '_');  // not by ?:, which g++ 12 evaluates wrongly in constant expressions
        if (p.is_list) append_all(prefix, i, '_');
        if (!key.starts_with(prefix.view())) continue;
        for (const std::string_view word :
             {"base_index", "alias", "size", "stride", "storage_offset", "slice_dim", "slice_start", "slice_end"})
          if (key.substr(prefix.size()) == word) return true;
      }
    }
    return false;
  }
  constexpr auto read_view(const Text& prefix) const -> std::optional<ViewOfBase> {
    const auto word = [&](std::string_view name) { return keyword(text_of(prefix, '_', name)); };
    ViewOfBase view;
    const Argument index = word("base_index").value_or(Argument());
    if (index.is_none()) return view;
    if (!index.is(ArgumentKind::integer) || index.integer() < 0 || index.integer() >= static_cast<std::int64_t>(bases().size()))
      return std::nullopt;
    view.base = static_cast<std::uint32_t>(index.integer());
    const Geometry base = *geometry_of(graph_, bases()[view.base].node());
    view.kind = ViewOfBase::Kind::whole;
    view.geometry = base;
    if (const auto offset = word("storage_offset")) {
      const auto size = word("size"), stride = word("stride");
      view.kind = ViewOfBase::Kind::strided;
      if (!size || !stride || !take_numbers(*size, view.geometry.sizes) || !take_numbers(*stride, view.geometry.strides) ||
          !offset->is(ArgumentKind::integer) || view.geometry.sizes.size() != view.geometry.strides.size())
        return std::nullopt;
      view.geometry.offset = offset->integer();
      const Argument arguments[] = {*size, *stride, *offset};
      set_arguments(view, arguments);
      // A window into memory is one of what the base holds only if that fills its memory in row-major order.
      if (!is_contiguous(base) || base.offset != 0) return std::nullopt;
    } else if (const auto dim = word("slice_dim")) {
      const auto start = word("slice_start"), end = word("slice_end");
      view.kind = ViewOfBase::Kind::slice;
      if (!start || !end || !dim->is(ArgumentKind::integer) || !start->is(ArgumentKind::integer) ||
          !end->is(ArgumentKind::integer))
        return std::nullopt;
      const std::int64_t d = dim->integer();
      if (d < 0 || d >= base.rank() || start->integer() < 0 || end->integer() < start->integer() ||
          end->integer() > base.sizes[static_cast<std::uint32_t>(d)])
        return std::nullopt;
      view.geometry.sizes[static_cast<std::uint32_t>(d)] = end->integer() - start->integer();
      view.geometry.offset += start->integer() * base.strides[static_cast<std::uint32_t>(d)];
      const Argument arguments[] = {*dim, *start, *end};
      set_arguments(view, arguments);
    }
    return view;
  }
  static constexpr void set_arguments(ViewOfBase& view, Span<const Argument> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) view.arguments[i] = arguments[i].with_keyword({});
  }
  [[nodiscard]] constexpr auto take_numbers(const Argument& list, Dims& numbers) const -> bool {
    numbers.clear();
    if (!list.is_sequence()) return false;
    for (const Argument& number : graph_.children(list)) {
      if (!number.is(ArgumentKind::integer)) return false;
      numbers.push_back(number.integer());
    }
    return true;
  }
  [[nodiscard]] constexpr auto are_views_apart() const -> bool {
    std::vector<const ViewOfBase*> all;
    for (const WrittenParameter& p : written_)
      for (const ViewOfBase& view : p.views)
        if (view.kind != ViewOfBase::Kind::none) all.push_back(&view);
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (all[i]->base == all[j]->base && !are_apart(all[i]->geometry, all[j]->geometry)) return false;
    return true;
  }

  const Graph& graph_;
  NodeId id_;
  Argument bases_;
  std::vector<WrittenParameter> written_;
  Pool<Argument> read_only_;
  bool is_understood_;
};

}  // namespace fxpass
