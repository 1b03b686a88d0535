// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/graph/geometry.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

// Runs small graphs as eager PyTorch would, on strided memory that views really share: the oracle of the tests of alias
// analysis and functionalisation. It knows nothing of the passes, and of operators only what those tests use.

namespace fxpass::testing {

/// A tensor as PyTorch has it: a window of a storage.
struct EagerTensor {
  std::size_t storage = 0;
  Geometry geometry;
  DType dtype = DType::f32;
};

class Interpreter {
 public:
  /// Runs `graph` on `inputs` (row-major values of the placeholders) and returns the outputs, row-major. Inputs are
  /// updated to what they hold afterwards. None if an operator is not known.
  [[nodiscard]] auto run(const Graph& graph, std::vector<std::vector<double>>& inputs)
      -> std::optional<std::vector<std::vector<double>>> {
    storages_.clear();
    lists_.clear();
    values_.assign(graph.node_count(), {});
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      const NodeId node = graph.inputs()[i].node;
      storages_.push_back(inputs[i]);
      values_[node.index] = EagerTensor{i, *geometry_of(graph, *graph.tensor(node)), graph.tensor(node)->dtype};
    }
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const Node& node = graph.node(NodeId{i});
      if (node.kind == NodeKind::call_function || node.kind == NodeKind::call_method)
        if (!call(graph, NodeId{i})) return std::nullopt;
    }
    std::vector<std::vector<double>> outputs;
    for (const Argument& a : graph.arguments(graph.output_node()))
      outputs.push_back(a.is_node() ? read(values_[a.node().index]) : std::vector<double>());
    for (std::uint32_t i = 0; i < inputs.size(); ++i) inputs[i] = storages_[i];
    return outputs;
  }

  // View geometry, for makers of programs ---------------------------------------------------------------------------
  static auto expanded(const EagerTensor& t, fxpass::Span<const std::int64_t> sizes) -> EagerTensor {
    EagerTensor result = t;
    result.geometry.sizes = {};
    result.geometry.strides = {};
    const std::size_t added = sizes.size() - t.geometry.rank();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool old = i >= added;
      const auto k = static_cast<std::uint32_t>(i - added);
      const std::int64_t size = sizes[i] == -1 ? t.geometry.sizes[k] : sizes[i];
      result.geometry.sizes.push_back(size);
      result.geometry.strides.push_back(old && t.geometry.sizes[k] == size ? t.geometry.strides[k] : 0);
    }
    return result;
  }

  static auto select(EagerTensor t, std::int64_t dim, std::int64_t index) -> EagerTensor {
    const auto d = *wrap_dimension(dim, t.geometry.rank());
    EagerTensor result = t;
    result.geometry.sizes = {};
    result.geometry.strides = {};
    result.geometry.offset += wrap_index(index, t.geometry.sizes[d]) * t.geometry.strides[d];
    for (std::uint32_t i = 0; i < t.geometry.rank(); ++i) {
      if (i == d) continue;
      result.geometry.sizes.push_back(t.geometry.sizes[i]);
      result.geometry.strides.push_back(t.geometry.strides[i]);
    }
    return result;
  }
  static auto slice(EagerTensor t, std::int64_t dim, std::optional<std::int64_t> start,
                    std::optional<std::int64_t> end, std::int64_t step) -> EagerTensor {
    const auto d = *wrap_dimension(dim, t.geometry.rank());
    const SliceBounds b = clamp_slice(start, end, step, t.geometry.sizes[d]);
    t.geometry.offset += b.start * t.geometry.strides[d];
    t.geometry.sizes[d] = b.length();
    t.geometry.strides[d] *= b.step;
    return t;
  }
  static auto diagonal(EagerTensor t, std::int64_t offset, std::uint32_t dim1, std::uint32_t dim2) -> EagerTensor {
    EagerTensor result = t;
    result.geometry.sizes = {};
    result.geometry.strides = {};
    const std::int64_t rows = t.geometry.sizes[dim1] - std::max<std::int64_t>(-offset, 0);
    const std::int64_t columns = t.geometry.sizes[dim2] - std::max<std::int64_t>(offset, 0);
    const std::int64_t length = std::max<std::int64_t>(std::min(rows, columns), 0);
    if (length > 0)
      result.geometry.offset += offset > 0 ? offset * t.geometry.strides[dim2] : -offset * t.geometry.strides[dim1];
    for (std::uint32_t i = 0; i < t.geometry.rank(); ++i) {
      if (i == dim1 || i == dim2) continue;
      result.geometry.sizes.push_back(t.geometry.sizes[i]);
      result.geometry.strides.push_back(t.geometry.strides[i]);
    }
    result.geometry.sizes.push_back(length);
    result.geometry.strides.push_back(t.geometry.strides[dim1] + t.geometry.strides[dim2]);
    return result;
  }
  static auto unfolded(EagerTensor t, std::uint32_t dim, std::int64_t size, std::int64_t step) -> EagerTensor {
    t.geometry.sizes.push_back(size);
    t.geometry.strides.push_back(t.geometry.strides[dim]);
    t.geometry.sizes[dim] = (t.geometry.sizes[dim] - size) / step + 1;
    t.geometry.strides[dim] *= step;
    return t;
  }
  static auto permute(const EagerTensor& t, fxpass::Span<const std::int64_t> order) -> EagerTensor {
    EagerTensor result = t;
    for (std::uint32_t i = 0; i < t.geometry.rank(); ++i) {
      const auto d = *wrap_dimension(order[i], t.geometry.rank());
      result.geometry.sizes[i] = t.geometry.sizes[d];
      result.geometry.strides[i] = t.geometry.strides[d];
    }
    return result;
  }
  static auto indexed(const Graph& graph, EagerTensor t, const Argument& index) -> std::optional<EagerTensor> {
    std::vector<Argument> items;
    if (index.is(ArgumentKind::tuple))
      items.assign(graph.children(index).begin(), graph.children(index).end());
    else
      items.push_back(index);
    std::int64_t taken = 0;
    for (const Argument& item : items) taken += item.is(ArgumentKind::integer) || item.is(ArgumentKind::slice) ? 1 : 0;
    const auto rank = static_cast<std::int64_t>(t.geometry.rank());
    std::int64_t dim = 0;
    for (const Argument& item : items) {
      if (item.is(ArgumentKind::integer)) {
        t = select(t, dim, item.integer());
      } else if (item.is(ArgumentKind::slice)) {
        std::optional<std::int64_t> bounds[3];
        for (std::size_t i = 0; i < 3; ++i)
          if (!graph.children(item)[i].is_none()) bounds[i] = graph.children(item)[i].integer();
        t = slice(t, dim++, bounds[0], bounds[1], bounds[2].value_or(1));
      } else if (item.is(ArgumentKind::ellipsis)) {
        dim += rank - taken;
      } else if (item.is_none()) {
        Dims sizes;
        Dims strides;
        for (std::uint32_t i = 0; i <= t.geometry.rank(); ++i) {
          if (i == static_cast<std::uint32_t>(dim)) {
            sizes.push_back(1);
            strides.push_back(1);
          }
          if (i < t.geometry.rank()) {
            sizes.push_back(t.geometry.sizes[i]);
            strides.push_back(t.geometry.strides[i]);
          }
        }
        t.geometry.sizes = sizes;
        t.geometry.strides = strides;
        ++dim;
      } else {
        return std::nullopt;
      }
    }
    return t;
  }

 private:
  // Elements ---------------------------------------------------------------------------------------------------------
  template <class F>
  static void for_each_place(const Geometry& g, F&& visit) {
    if (g.element_count() == 0) return;
    std::vector<std::int64_t> index(g.rank(), 0);
    while (true) {
      std::int64_t place = g.offset;
      for (std::uint32_t d = 0; d < g.rank(); ++d) place += index[d] * g.strides[d];
      visit(static_cast<std::size_t>(place));
      std::uint32_t d = g.rank();
      while (d > 0 && ++index[d - 1] == g.sizes[d - 1]) index[--d] = 0;
      if (d == 0) return;
    }
  }
  [[nodiscard]] auto read(const EagerTensor& t) const -> std::vector<double> {
    std::vector<double> values;
    for_each_place(t.geometry, [&](std::size_t place) { values.push_back(storages_[t.storage][place]); });
    return values;
  }
  static auto rounded(DType dtype, double value) -> double {
    if (is_integral(dtype)) return std::trunc(value);
    return dtype == DType::boolean ? (value != 0 ? 1 : 0) : static_cast<double>(static_cast<float>(value));
  }
  void write(const EagerTensor& t, const std::vector<double>& values) {
    std::size_t next = 0;
    for_each_place(t.geometry,
                   [&](std::size_t place) { storages_[t.storage][place] = rounded(t.dtype, values[next++]); });
  }
  auto fresh(const Dims& sizes, const std::vector<double>& values, DType dtype) -> EagerTensor {
    EagerTensor t;
    t.storage = storages_.size();
    t.geometry.sizes = sizes;
    t.geometry.strides = contiguous_strides(sizes.view());
    t.dtype = dtype;
    storages_.emplace_back(values.size());
    write(t, values);
    return t;
  }
  // Operators --------------------------------------------------------------------------------------------------------
  auto tensor(const Call& c, std::string_view name) -> const EagerTensor& { return values_[c.operand(name).index]; }
  static auto numbers(const Call& c, std::string_view name) -> std::vector<std::int64_t> {
    std::vector<std::int64_t> list;
    for (const SymInt s : c.integers(name).value_or(Pool<SymInt>())) list.push_back(s.value());
    return list;
  }
  auto reshape(const EagerTensor& t, fxpass::Span<const std::int64_t> sizes) -> EagerTensor {
    const auto wanted = *infer_sizes(sizes, t.geometry.element_count());
    if (auto strides = view_strides(t.geometry, wanted.view())) {
      EagerTensor result = t;
      result.geometry.sizes = wanted;
      result.geometry.strides = *strides;
      return result;
    }
    return fresh(wanted, read(t), t.dtype);
  }
  static auto strided(const Call& c, EagerTensor t) -> EagerTensor {
    t.geometry.sizes = {};
    t.geometry.strides = {};
    for (const std::int64_t size : numbers(c, "size")) t.geometry.sizes.push_back(size);
    for (const std::int64_t stride : numbers(c, "stride")) t.geometry.strides.push_back(stride);
    t.geometry.offset = *c.integer("storage_offset");
    return t;
  }
  auto elementwise(const Call& c, const std::function<double(double, double)>& f) -> std::vector<double> {
    const EagerTensor& self = tensor(c, "self");
    const auto other = *c.given("other");
    std::vector<double> b;
    if (other.is_node())
      b = read(expanded(values_[other.node().index], self.geometry.sizes.view()));
    else
      b.assign(static_cast<std::size_t>(self.geometry.element_count()), *c.real("other"));
    std::vector<double> a = read(self);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = f(a[i], b[i]);
    return a;
  }

  auto call(const Graph& graph, NodeId id) -> bool {
    const Call c(graph, id);
    const std::string_view base = c.schema().base();
    EagerTensor& out = values_[id.index];
    const auto binary = [&](std::string_view name, const std::function<double(double, double)>& f) {
      if (base == name) {
        const TensorMeta* meta = graph.tensor(id);
        const auto values = elementwise(c, f);
        out = fresh(tensor(c, "self").geometry.sizes, values, meta != nullptr ? meta->dtype : tensor(c, "self").dtype);
        return true;
      }
      if (base.size() == name.size() + 1 && base.starts_with(name) && base.ends_with('_')) {
        write(tensor(c, "self"), elementwise(c, f));
        out = tensor(c, "self");
        return true;
      }
      return false;
    };
    if (binary("aten.add", [](double a, double b) { return a + b; })) return true;
    if (binary("aten.sub", [](double a, double b) { return a - b; })) return true;
    if (binary("aten.mul", [](double a, double b) { return a * b; })) return true;
    if (base == "aten.relu" || base == "aten.relu_") {
      auto values = read(tensor(c, "self"));
      for (double& v : values) v = std::max(v, 0.0);
      if (base == "aten.relu") {
        out = fresh(tensor(c, "self").geometry.sizes, values, tensor(c, "self").dtype);
      } else {
        write(tensor(c, "self"), values);
        out = tensor(c, "self");
      }
    } else if (base == "aten.copy_") {
      out = tensor(c, "self");
      write(out, read(expanded(tensor(c, "src"), out.geometry.sizes.view())));
    } else if (base == "aten.fill_" || base == "aten.zero_") {
      out = tensor(c, "self");
      const double value = base == "aten.zero_" ? 0 : *c.real("value");
      write(out, std::vector<double>(static_cast<std::size_t>(out.geometry.element_count()), value));
    } else if (base == "aten.clone") {
      out = fresh(tensor(c, "self").geometry.sizes, read(tensor(c, "self")), tensor(c, "self").dtype);
    } else if (base == "aten._to_copy") {
      out = fresh(tensor(c, "self").geometry.sizes, read(tensor(c, "self")), *c.dtype("dtype"));
    } else if (base == "aten.full_like") {
      const EagerTensor like = tensor(c, "self");
      out = fresh(like.geometry.sizes,
                  std::vector<double>(static_cast<std::size_t>(like.geometry.element_count()), *c.real("fill_value")),
                  like.dtype);
    } else if (base == "aten.detach" || base == "aten.alias") {
      out = tensor(c, "self");
    } else if (base == "aten.select") {
      out = select(tensor(c, "self"), *c.integer("dim"), *c.integer("index"));
    } else if (base == "aten.slice") {
      out = slice(tensor(c, "self"), *c.integer("dim"), c.integer("start"), c.integer("end"), *c.integer("step"));
    } else if (base == "aten.view" || base == "aten.reshape") {
      const auto sizes = numbers(c, base == "aten.view" ? "size" : "shape");
      out = reshape(tensor(c, "self"), sizes);
    } else if (base == "aten.unsqueeze" || base == "aten.squeeze" || base == "aten.flatten") {
      const auto g = geometry_of(graph, *graph.tensor(id));
      out = reshape(tensor(c, "self"), g->sizes.view());
    } else if (base == "aten.permute") {
      out = permute(tensor(c, "self"), numbers(c, "dims"));
    } else if (base == "aten.t") {
      const std::int64_t order[] = {1, 0};
      out = permute(tensor(c, "self"), order);
    } else if (base == "aten.expand") {
      out = expanded(tensor(c, "self"), numbers(c, "size"));
    } else if (base == "aten.diagonal") {
      out = diagonal(tensor(c, "self"), *c.integer("offset"), 0, 1);
    } else if (base == "aten.split_with_sizes" || base == "aten.split") {
      lists_[id.index] = values_[graph.arguments(id)[0].node().index];
    } else if (base == "aten.unfold") {
      const EagerTensor& self = tensor(c, "self");
      out = unfolded(self, *wrap_dimension(*c.integer("dimension"), self.geometry.rank()), *c.integer("size"),
                     *c.integer("step"));
    } else if (base == "aten.as_strided") {
      out = strided(c, tensor(c, "self"));
    } else if (base == "aten.as_strided_scatter") {
      const EagerTensor self = tensor(c, "self");
      out = fresh(self.geometry.sizes, read(self), self.dtype);
      write(strided(c, out), read(tensor(c, "src")));
    } else if (base == "aten.select_scatter" || base == "aten.slice_scatter" ||
               base == "aten.diagonal_scatter") {
      const EagerTensor self = tensor(c, "self");
      out = fresh(self.geometry.sizes, read(self), self.dtype);
      const EagerTensor part =
          base == "aten.select_scatter"
              ? select(out, *c.integer("dim"), *c.integer("index"))
          : base == "aten.diagonal_scatter"
              ? diagonal(out, *c.integer("offset"), static_cast<std::uint32_t>(*c.integer("dim1")),
                         static_cast<std::uint32_t>(*c.integer("dim2")))
              : slice(out, *c.integer("dim"), c.integer("start"), c.integer("end"), *c.integer("step"));
      write(part, read(tensor(c, "src")));
    } else if (base == "operator.getitem" && lists_.contains(graph.arguments(id)[0].node().index)) {
      // The tests split off the first of dimension 0.
      const EagerTensor& whole = lists_[graph.arguments(id)[0].node().index];
      out = graph.arguments(id)[1].integer() == 0 ? slice(whole, 0, 0, 1, 1)
                                                  : slice(whole, 0, 1, whole.geometry.sizes[0], 1);
    } else if (base == "operator.getitem") {
      const auto view = indexed(graph, values_[graph.arguments(id)[0].node().index], graph.arguments(id)[1]);
      if (!view) return false;
      out = *view;
    } else if (base == "operator.setitem") {
      const auto view = indexed(graph, values_[graph.arguments(id)[0].node().index], graph.arguments(id)[1]);
      if (!view) return false;
      const Argument value = graph.arguments(id)[2];
      const auto count = static_cast<std::size_t>(view->geometry.element_count());
      if (!value.is_node()) {
        write(*view, std::vector<double>(count, value.is(ArgumentKind::integer) ? static_cast<double>(value.integer())
                                                                               : value.real()));
      } else {
        EagerTensor source = values_[value.node().index];
        while (source.geometry.rank() > view->geometry.rank()) source = select(source, 0, 0);
        write(*view, read(expanded(source, view->geometry.sizes.view())));
      }
    } else {
      return false;
    }
    return true;
  }

  std::vector<std::vector<double>> storages_;
  std::vector<EagerTensor> values_;
  std::map<std::uint32_t, EagerTensor> lists_;  ///< what was split, by the node that did it
};

}  // namespace fxpass::testing
