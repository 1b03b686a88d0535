// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "reference_interpreter.hpp"

// Random programs of views, writes and reads over a few inputs: run as they are and after functionalisation, outputs and
// inputs have to be equal. An input's new value is what the output says that io_map pairs with it; the rewritten program
// itself must not touch its inputs.

namespace {

using namespace fxpass;
using fxpass::testing::EagerTensor;
using fxpass::testing::Interpreter;

struct Live {
  NodeId node;
  EagerTensor tensor;
};

class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed) {
    const auto inputs = 1 + pick(2);
    for (std::uint32_t i = 0; i < inputs; ++i) {
      static constexpr std::int64_t shapes[][3] = {{4, 3, 0}, {2, 3, 2}, {6, 0, 0}, {3, 3, 0}};
      EagerTensor t;
      t.storage = i;
      const auto& shape = shapes[pick(4)];
      for (const std::int64_t size : shape)
        if (size != 0) t.geometry.sizes.push_back(size);
      t.geometry.strides = contiguous_strides(t.geometry.sizes.view());
      t.dtype = pick(4) == 0 ? DType::i64 : DType::f32;
      live_.push_back({builder_.placeholder("x", meta(t)), t});
      ++storages_;
    }
    const auto statements = 3 + pick(14);
    for (std::uint32_t i = 0; i < statements; ++i) {
      switch (pick(5)) {
        case 0:
        case 1: add_view(); break;
        case 2:
        case 3: add_write(); break;
        default: add_read(); break;
      }
    }
    std::vector<Argument> outputs;
    for (std::uint32_t i = 0; i < 1 + pick(3); ++i) outputs.emplace_back(any().node);
    builder_.output(outputs);
  }
  [[nodiscard]] auto finish() && -> Graph { return std::move(builder_).finish(); }

 private:
  auto pick(std::uint32_t n) -> std::uint32_t { return static_cast<std::uint32_t>(random_() % n); }
  auto any() -> const Live& { return live_[pick(static_cast<std::uint32_t>(live_.size()))]; }
  auto meta(const EagerTensor& t) -> ValueSpec {
    TensorMeta m;
    m.dtype = t.dtype;
    m.device = builder_.mutable_graph().add_device("cpu");
    m.storage_offset = t.geometry.offset;
    std::vector<SymInt> sizes(t.geometry.sizes.begin(), t.geometry.sizes.end());
    std::vector<SymInt> strides(t.geometry.strides.begin(), t.geometry.strides.end());
    return builder_.tensor(m, sizes, strides);
  }
  void keep(NodeId node, const EagerTensor& t) { live_.push_back({node, t}); }
  auto fresh(const EagerTensor& like) -> EagerTensor {
    EagerTensor t;
    t.storage = storages_++;
    t.geometry.sizes = like.geometry.sizes;
    t.geometry.strides = contiguous_strides(t.geometry.sizes.view());
    t.dtype = like.dtype;
    return t;
  }
  auto list(const Dims& numbers) -> Argument {
    std::vector<Argument> items(numbers.begin(), numbers.end());
    return builder_.list(items);
  }

  void add_view() {
    const Live v = any();
    const std::uint32_t rank = v.tensor.geometry.rank();
    const std::int64_t dim = rank == 0 ? 0 : pick(rank);
    EagerTensor t = v.tensor;
    switch (pick(14)) {
      case 0: {
        if (rank == 0 || t.geometry.sizes[static_cast<std::uint32_t>(dim)] == 0) return;
        const std::int64_t index = pick(static_cast<std::uint32_t>(t.geometry.sizes[static_cast<std::uint32_t>(dim)]));
        t = Interpreter::select(t, dim, index);
        return keep(builder_.call_method("select", {v.node, dim, index}, meta(t)), t);
      }
      case 1: {
        if (rank == 0) return;
        const std::int64_t start = pick(3);
        const std::int64_t end = pick(2) == 0 ? 9223372036854775807 : start + pick(3);
        const std::int64_t step = 1 + pick(2);
        t = Interpreter::slice(t, dim, start, end, step);
        return keep(builder_.call_function("torch.ops.aten.slice.Tensor", {v.node, dim, start, end, step}, meta(t)), t);
      }
      case 2: {
        Dims flat;
        flat.push_back(t.geometry.element_count());
        const auto strides = view_strides(t.geometry, flat.view());
        t = strides ? t : fresh(t);
        t.geometry.sizes = flat;
        t.geometry.strides = strides ? *strides : contiguous_strides(flat.view());
        return keep(builder_.call_method("reshape", {v.node, -1}, meta(t)), t);
      }
      case 3: {
        if (rank != 2) return;
        const std::int64_t order[] = {1, 0};
        t = Interpreter::permute(t, order);
        return keep(builder_.call_method("t", {v.node}, meta(t)), t);
      }
      case 4: {
        if (rank < 2) return;
        Dims order;
        for (std::uint32_t i = 0; i < rank; ++i) order.push_back((i + 1) % rank);
        t = Interpreter::permute(t, order.view());
        return keep(builder_.call_function("torch.ops.aten.permute.default", {v.node, list(order)}, meta(t)), t);
      }
      case 5: {
        const Argument index = builder_.group(ArgumentKind::tuple, {Argument::ellipsis(), Argument()});
        t = *Interpreter::indexed(builder_.graph(), t, index);
        return keep(builder_.call_function("operator.getitem", {v.node, index}, meta(t)), t);
      }
      case 6: {
        if (rank == 0 || t.geometry.sizes[0] == 0) return;
        const Argument index = builder_.group(ArgumentKind::tuple, {Argument(-1), Argument::ellipsis()});
        t = *Interpreter::indexed(builder_.graph(), t, index);
        return keep(builder_.call_function("operator.getitem", {v.node, index}, meta(t)), t);
      }
      case 7: {
        Dims sizes;
        sizes.push_back(2);
        for (const std::int64_t size : t.geometry.sizes) sizes.push_back(size);
        t = Interpreter::expanded(t, sizes.view());
        return keep(builder_.call_method("expand", {v.node, list(sizes)}, meta(t)), t);
      }
      case 8: {
        if (rank < 2) return;
        const std::int64_t offset = static_cast<std::int64_t>(pick(3)) - 1;
        t = Interpreter::diagonal(t, offset, 0, 1);
        return keep(builder_.call_method("diagonal", {v.node, offset}, meta(t)), t);
      }
      case 9: {
        if (rank == 0 || t.geometry.sizes[0] < 2) return;
        const EagerTensor first = Interpreter::slice(t, 0, 0, 1, 1);
        const EagerTensor rest = Interpreter::slice(t, 0, 1, t.geometry.sizes[0], 1);
        const NodeId parts = builder_.call_method("split", {v.node, builder_.list({1, t.geometry.sizes[0] - 1})},
                                                  builder_.tuple({meta(first), meta(rest)}));
        lists_.push_back({parts, first, rest});
        return take_member();
      }
      case 10: return take_member();
      case 11: {
        if (rank == 0) return;
        const auto d = static_cast<std::uint32_t>(dim);
        const std::int64_t size = 1 + pick(3);
        const std::int64_t step = 1 + pick(4);
        if (size > t.geometry.sizes[d]) return;
        t = Interpreter::unfolded(t, d, size, step);
        return keep(builder_.call_method("unfold", {v.node, dim, size, step}, meta(t)), t);
      }
      case 12: {
        // Two dimensions within what the view spans.
        std::int64_t span = 0;
        for (std::uint32_t i = 0; i < rank; ++i) span += (t.geometry.sizes[i] - 1) * t.geometry.strides[i];
        if (t.geometry.element_count() == 0) return;
        const std::int64_t outer = pick(static_cast<std::uint32_t>(span) + 1);
        const std::int64_t inner = pick(static_cast<std::uint32_t>(span - outer) + 1);
        const std::int64_t count = inner == 0 ? 1 : 1 + (span - outer) / inner;
        t.geometry.sizes = {};
        t.geometry.strides = {};
        for (const std::int64_t size : {std::int64_t{2}, count}) t.geometry.sizes.push_back(size);
        for (const std::int64_t stride : {outer, inner}) t.geometry.strides.push_back(stride);
        return keep(builder_.call_function("torch.ops.aten.as_strided.default",
                                           {v.node, list(t.geometry.sizes), list(t.geometry.strides), t.geometry.offset},
                                           meta(t)),
                    t);
      }
      default: return keep(builder_.call_method("detach", {v.node}, meta(t)), t);
    }
  }

  /// A member of a list made now or earlier, when other values of its base were in place.
  void take_member() {
    if (lists_.empty()) return;
    const List& list = lists_[pick(static_cast<std::uint32_t>(lists_.size()))];
    const bool second = pick(2) == 1;
    const EagerTensor& t = second ? list.rest : list.first;
    keep(builder_.call_function("operator.getitem", {list.node, second ? 1 : 0}, meta(t)), t);
  }

  /// A value that broadcasts to `target` and that gives what it held before, if it is read while `target` is written.
  auto readable_for(const EagerTensor& target, bool is_copied) -> const Live* {
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Live& v = any();
      const bool promotes = v.tensor.dtype == target.dtype;
      if (!promotes || !broadcasts_to(v.tensor.geometry.sizes.view(), target.geometry.sizes.view())) continue;
      if (v.tensor.storage == target.storage && !are_apart(target.geometry, v.tensor.geometry)) {
        const bool is_own_part = is_copied && is_broadcast_onto_itself(target.geometry, v.tensor.geometry);
        if (partially_overlap(target.geometry, v.tensor.geometry)) continue;
        if (!is_own_part && !reads_ahead(target.geometry, v.tensor.geometry)) continue;
      }
      return &v;
    }
    return nullptr;
  }

  void add_write() {
    const Live v = any();
    const EagerTensor& t = v.tensor;
    const ValueSpec value = meta(t);
    const auto choice = pick(8);
    if (choice == 0) return keep(builder_.call_method("fill_", {v.node, static_cast<std::int64_t>(pick(9))}, value), t);
    if (choice == 1) return keep(builder_.call_function("torch.ops.aten.zero_.default", {v.node}, value), t);
    if (overlaps_itself(t.geometry)) return;
    if (choice == 2) return keep(builder_.call_method("add_", {v.node, static_cast<std::int64_t>(1 + pick(5))}, value), t);
    if (choice == 3) return keep(builder_.call_function("torch.relu_", {v.node}, value), t);
    if (choice == 4) {
      if (t.geometry.rank() == 0) return;
      const std::int64_t start = pick(3);
      const Argument index =
          builder_.group(ArgumentKind::tuple, {Argument::ellipsis(), builder_.slice(start, start + 1 + pick(2))});
      const EagerTensor part = *Interpreter::indexed(builder_.graph(), t, index);
      const Live* source = readable_for(part, true);
      const Argument written = source != nullptr ? Argument(source->node) : Argument(7);
      builder_.call_function("operator.setitem", {v.node, index, written});
      return;
    }
    const Live* source = readable_for(t, choice == 5);
    if (source == nullptr) return;
    const NodeId other = source->node;
    if (choice == 5) return keep(builder_.call_method("copy_", {v.node, other}, value), t);
    if (choice == 6) return keep(builder_.call_function("operator.isub", {v.node, other}, value), t);
    keep(builder_.call_function("torch.ops.aten.mul_.Tensor", {v.node, other}, value), t);
  }

  void add_read() {
    const Live v = any();
    const EagerTensor t = fresh(v.tensor);
    if (pick(2) == 0) return keep(builder_.call_method("clone", {v.node}, meta(t)), t);
    keep(builder_.call_function("operator.add", {v.node, 1}, meta(t)), t);
  }

  std::mt19937 random_;
  GraphBuilder builder_;
  struct List {
    NodeId node;
    EagerTensor first;
    EagerTensor rest;
  };
  std::vector<Live> live_;
  std::vector<List> lists_;
  std::size_t storages_ = 0;
};

auto input_values(const Graph& graph) -> std::vector<std::vector<double>> {
  std::vector<std::vector<double>> inputs;
  for (const InputSpec& input : graph.inputs()) {
    const auto count = static_cast<std::size_t>(geometry_of(graph, *graph.tensor(input.node))->element_count());
    inputs.emplace_back();
    for (std::size_t i = 0; i < count; ++i) inputs.back().push_back(static_cast<double>(i) - 3.0);
  }
  return inputs;
}

auto message(std::uint32_t seed, const Graph& before, const Graph& after) -> std::string {
  const Text text = text_of("seed ", seed, "\n", before, after);
  return std::string(text.view());
}

TEST_CASE("functionalised programs do what they did") {
  std::uint32_t mutated_inputs = 0;
  for (std::uint32_t seed = 0; seed < 4000; ++seed) {
    const Graph program = RandomProgram(seed).finish();
    REQUIRE(verify(program).has_value());
    auto expected_inputs = input_values(program);
    const auto expected = Interpreter().run(program, expected_inputs);
    REQUIRE_MESSAGE(expected.has_value(), message(seed, program, program));

    const auto module = get_default_pass_manager().run_passes(Module<>(program));
    if (!module) {
      const Text text = text_of(module.error());
      FAIL(std::string(text.view()) << message(seed, program, program));
    }
    const Graph& rewritten = module->graph();
    CHECK_MESSAGE(verify(rewritten).has_value(), message(seed, program, rewritten));
    CHECK_MESSAGE(OutOfPlace::check(rewritten).has_value(), message(seed, program, rewritten));

    const auto untouched = input_values(program);
    auto actual_inputs = untouched;
    const auto actual = Interpreter().run(rewritten, actual_inputs);
    REQUIRE_MESSAGE(actual.has_value(), message(seed, program, rewritten));
    CHECK_MESSAGE(actual_inputs == untouched, message(seed, program, rewritten));

    const auto returned = rewritten.original_output_count();
    REQUIRE(returned == expected->size());
    for (std::uint32_t i = 0; i < actual->size(); ++i) {
      const OutputSpec& spec = rewritten.outputs()[i];
      if (i < returned)
        CHECK_MESSAGE((*actual)[i] == (*expected)[i], message(seed, program, rewritten));
      else
        actual_inputs[spec.input] = (*actual)[i];
      mutated_inputs += i < returned ? 0 : 1;
    }
    CHECK_MESSAGE(actual_inputs == expected_inputs, message(seed, program, rewritten));
  }
  // The programs would prove nothing if none of them wrote into an input.
  CHECK(mutated_inputs > 1000);
}

}  // namespace
