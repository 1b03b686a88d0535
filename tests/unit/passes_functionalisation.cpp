// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>

#include <string_view>

#include "rewriting.hpp"
#include "twice.hpp"

// What becomes of single writes: the shape of the rewritten program, and what is refused, each refusal beside a program
// that differs in the one thing and is accepted. Values are the affair of passes_random_programs and of the interop tests.

namespace {

using namespace fxpass;
using namespace fxpass::testing;

/// A graph under construction with `x`, an input of f32[4, 3].
struct Program {
  GraphBuilder b;
  ValueSpec m43 = b.tensor(DType::f32, {4, 3});
  ValueSpec m3 = b.tensor(DType::f32, {3});
  NodeId x = b.placeholder("x", m43);

  constexpr auto input(std::string_view name, DType dtype, std::initializer_list<SymInt> sizes) -> NodeId {
    return b.placeholder(name, b.tensor(dtype, sizes));
  }
};

constexpr auto a_write_to_an_input_becomes_an_output() -> bool {
  Program p;
  p.b.call_method("add_", {p.x, 1}, p.m43);
  const NodeId y = p.b.call_method("clone", {p.x}, p.m43);
  p.b.output({y});
  const auto graph = run(std::move(p.b));
  return graph && graph->original_output_count() == 1 && graph->outputs().size() == 2 &&
         graph->outputs()[1].kind == OutputKind::user_input_mutation && graph->outputs()[1].input == 0 &&
         text_of(*graph) ==
             "graph():\n"
             "    %x : [num_users=1] = placeholder[target=x]\n"
             "    %x_modified : [num_users=2] = call_function[target=torch.ops.aten.add.Scalar](args = (%x, 1), kwargs = {})\n"
             "    %clone : [num_users=1] = call_method[target=clone](args = (%x_modified,), kwargs = {})\n"
             "    return (clone, x_modified)\n";
}
FXPASS_TEST_TWICE(a_write_to_an_input_becomes_an_output)

constexpr auto writes_to_a_buffer_and_a_parameter_keep_their_names() -> bool {
  Program p;
  InputSpec buffer;
  buffer.kind = InputKind::buffer;
  buffer.target = p.b.text("cache.k");
  InputSpec parameter;
  parameter.kind = InputKind::parameter;
  parameter.target = p.b.text("weight");
  const NodeId k = p.b.placeholder("b_cache_k", p.m43, buffer);
  const NodeId w = p.b.placeholder("p_weight", p.m43, parameter);
  p.b.call_function("torch.ops.aten.zero_.default", {w}, p.m43);
  p.b.call_function("torch.ops.aten.copy_.default", {k, p.x}, p.m43);
  p.b.output({p.x});
  const auto graph = run(std::move(p.b));
  if (!graph || graph->outputs().size() != 3) return false;
  const OutputSpec& first = graph->outputs()[1];
  const OutputSpec& second = graph->outputs()[2];
  return first.kind == OutputKind::buffer_mutation && graph->text(first.target) == "cache.k" && first.input == 1 &&
         second.kind == OutputKind::parameter_mutation && graph->text(second.target) == "weight" && second.input == 2 &&
         graph->arguments(graph->output_node())[1].node() == NodeId{0};
}
FXPASS_TEST_TWICE(writes_to_a_buffer_and_a_parameter_keep_their_names)

constexpr auto a_write_through_a_view_reaches_base_and_siblings() -> bool {
  Program p;
  const NodeId row = p.b.call_function("operator.getitem", {p.x, 0}, p.m3);
  const NodeId sibling = p.b.call_method("view", {p.x, -1}, p.b.tensor(DType::f32, {12}));
  p.b.call_method("mul_", {row, 2}, p.m3);
  p.b.output({sibling});
  return rewritten(std::move(p.b)) ==
         "graph():\n"
         "    %x : [num_users=3] = placeholder[target=x]\n"
         "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%x, 0), kwargs = {})\n"
         "    %view : [num_users=0] = call_method[target=view](args = (%x, -1), kwargs = {})\n"
         "    %x_modified : [num_users=1] = call_function[target=torch.ops.aten.mul.Scalar](args = (%getitem, 2), kwargs = {})\n"
         "    %x_modified_1 : [num_users=2] = call_function[target=torch.ops.aten.select_scatter.default]"
         "(args = (%x, %x_modified, 0, 0), kwargs = {})\n"
         "    %reshape : [num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%x_modified_1, [12]), kwargs = {})\n"
         "    return (reshape, x_modified_1)\n";
}
FXPASS_TEST_TWICE(a_write_through_a_view_reaches_base_and_siblings)

constexpr auto a_chain_through_one_view_rebuilds_the_base_once() -> bool {
  Program p;
  const NodeId row = p.b.call_method("select", {p.x, 0, 1}, p.m3);
  for (int i = 0; i < 4; ++i) p.b.call_method("add_", {row, 1}, p.m3);
  p.b.output(std::initializer_list<Argument>{});
  const Text text = rewritten(std::move(p.b));
  std::size_t scatters = 0;
  for (std::size_t at = text.view().find("select_scatter"); at != std::string_view::npos;
       at = text.view().find("select_scatter", at + 1))
    ++scatters;
  return scatters == 1 && contains(text, "add.Scalar](args = (%x_modified_2, 1)");
}
FXPASS_TEST_TWICE(a_chain_through_one_view_rebuilds_the_base_once)

constexpr auto a_value_is_cast_and_broadcast_as_eager_does() -> bool {
  Program p;
  const NodeId half = p.input("h", DType::bf16, {4, 3});
  const NodeId row = p.input("r", DType::f64, {1, 3});
  p.b.call_method("add_", {half, p.x}, p.b.tensor(DType::bf16, {4, 3}));
  p.b.call_method("copy_", {p.x, row}, p.m43);
  p.b.output(std::initializer_list<Argument>{});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "aten.add.Tensor](args = (%h, %x)") &&
         contains(text, "%h_modified : [num_users=1] = call_function[target=torch.ops.aten._to_copy.default](args = (%add,), kwargs = {dtype: torch.bfloat16})") &&
         contains(text, "aten._to_copy.default](args = (%r,), kwargs = {dtype: torch.float32})") &&
         contains(text, "%x_modified : [num_users=1] = call_function[target=torch.ops.aten.expand.default](args = (%_to_copy, [4, 3])");
}
FXPASS_TEST_TWICE(a_value_is_cast_and_broadcast_as_eager_does)

/// x[1:, [first, second]] = 5
constexpr auto with_list_in_index(Argument first, Argument second) -> GraphBuilder {
  Program p;
  const Argument rows = p.b.slice(1, Argument());
  p.b.call_function("operator.setitem", {p.x, p.b.tuple_of({rows, p.b.list({first, second})}), 5.0});
  p.b.output({p.x});
  return std::move(p.b);
}
constexpr auto a_list_in_an_index_is_a_tensor() -> bool {
  const Text text = rewritten(with_list_in_index(0, -1));
  constexpr std::string_view why = "an index that fxpass does not carry out, or that is out of range";
  return contains(text, "call_function[target=torch.tensor](args = ([0, -1],), kwargs = {})") &&
         contains(text, "aten.index_put.default](args = (%slice_1, [None, %tensor], %new_full)") &&
         refused(with_list_in_index(0, 3), DiagnosticCode::unsupported_mutation, why) &&
         refused(with_list_in_index(0, true), DiagnosticCode::unsupported_mutation, why) &&
         refused(with_list_in_index(true, false), DiagnosticCode::unsupported_mutation, why) &&  // of three columns
         accepted(with_list_in_index(0, 0));
}
FXPASS_TEST_TWICE(a_list_in_an_index_is_a_tensor)

constexpr auto members_of_a_list_of_views_are_views() -> bool {
  Program p;
  const ValueSpec half = p.b.tensor(DType::f32, {2, 3});
  const NodeId parts = p.b.call_method("chunk", {p.x, 2}, p.b.tuple({half, half}));
  const NodeId first = p.b.call_function("operator.getitem", {parts, 0}, half);
  p.b.call_method("add_", {first, 1}, half);
  // Taken out behind the write, from a list made before it.
  const NodeId again = p.b.call_function("operator.getitem", {parts, 0}, half);
  const NodeId rows = p.b.call_method("unbind", {p.x}, p.b.tuple({p.m3, p.m3, p.m3, p.m3}));
  p.b.call_method("zero_", {p.b.call_function("operator.getitem", {rows, -1}, p.m3)}, p.m3);
  p.b.output({again});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "slice_scatter.default](args = (%x, %x_modified, 0, 0, 2, 1)") &&
         contains(text, "select_scatter.default](args = (%x_modified_1, %x_modified_2, 0, 3)") &&
         contains(text, "return (slice_1, x_modified_3)");
}
FXPASS_TEST_TWICE(members_of_a_list_of_views_are_views)

constexpr auto a_view_of_a_rewritten_value_is_a_reshape() -> bool {
  // The new value of x is a transposed tensor, which `view` would refuse when the program runs as Python.
  Program p;
  const SymInt sizes[] = {3, 4};
  const SymInt strides[] = {1, 3};
  const ValueSpec transposed = p.b.tensor(TensorMeta{}, sizes, strides);
  p.b.call_method("mul_", {p.b.call_method("t", {p.x}, transposed), 2}, transposed);
  p.b.output({p.b.call_method("view", {p.x, -1}, p.b.tensor(DType::f32, {12}))});
  return contains(rewritten(std::move(p.b)),
                  "%view : [num_users=1] = call_function[target=torch.ops.aten.reshape.default](args = (%x_modified_1, [12])");
}
FXPASS_TEST_TWICE(a_view_of_a_rewritten_value_is_a_reshape)

/// A program that writes a window of x, an input of f32[12], and returns x; the window is taken of x or of x[4:].
constexpr auto window_of_line(std::initializer_list<SymInt> sizes, std::initializer_list<Argument> size,
                              std::initializer_list<Argument> strides, std::string_view writes, bool of_a_view = false)
    -> GraphBuilder {
  GraphBuilder b;
  const NodeId x = b.placeholder("x", b.tensor(DType::f32, {12}));
  NodeId viewed = x;
  if (of_a_view) viewed = b.call_method("narrow", {x, 0, 4, 8}, b.tensor(DType::f32, {8}));
  const ValueSpec m = b.tensor(DType::f32, sizes);
  const NodeId window =
      b.call_function("torch.ops.aten.as_strided.default", {viewed, b.list(size), b.list(strides), 1}, m);
  b.call_method(writes, {window, 7}, m);
  b.output({x});
  return b;
}

constexpr auto a_window_into_memory_is_written_where_it_lies() -> bool {
  // The offset counts from where the storage begins, also on top of a view; an eager value may lie in memory in any order.
  constexpr std::string_view written =
      "aten.as_strided_scatter.default](args = (%clone_1, %x_modified, [2, 2], [5, 2], 1), kwargs = {})";
  const Text direct = rewritten(window_of_line({2, 2}, {2, 2}, {5, 2}, "add_"));
  const Text of_view = rewritten(window_of_line({2, 2}, {2, 2}, {5, 2}, "add_", true));
  const Text line = rewritten(window_of_line({5}, {5}, {1}, "add_", true));
  return contains(direct, "aten.as_strided.default](args = (%x, [2, 2], [5, 2], 1)") &&
         contains(direct, "aten.as_strided_scatter.default](args = (%clone, %x_modified, [2, 2], [5, 2], 1)") &&
         contains(of_view, "%clone : [num_users=1] = call_function[target=torch.ops.aten.clone.default](args = (%x,), "
                           "kwargs = {memory_format: torch.contiguous_format})") &&
         contains(of_view, "aten.as_strided.default](args = (%clone, [2, 2], [5, 2], 1)") && contains(of_view, written) &&
         contains(line, "slice_scatter.default](args = (%x, %x_modified, 0, 1, 6, 1)") && !contains(line, "strided");
}
FXPASS_TEST_TWICE(a_window_into_memory_is_written_where_it_lies)

constexpr auto a_window_that_overlaps_itself_takes_one_value() -> bool {
  const auto overlapping = [](std::string_view writes) { return window_of_line({3, 2}, {3, 2}, {1, 1}, writes); };
  const auto repeated = [](std::string_view writes) { return window_of_line({3, 2}, {3, 2}, {0, 1}, writes); };
  return refused(overlapping("add_"), DiagnosticCode::unsupported_mutation, "overlap") && accepted(overlapping("fill_")) &&
         refused(repeated("add_"), DiagnosticCode::eager_would_raise, "expanded") &&
         // Of equal elements in one place, the first is put there.
         contains(rewritten(repeated("fill_")), "as_strided_scatter.default](args = (%clone, %slice_1, [1, 2], [0, 1], 1)") &&
         // No two of these lie in one place, though strides do not reach over one another.
         accepted(window_of_line({2, 2}, {2, 2}, {3, 2}, "add_"));
}
FXPASS_TEST_TWICE(a_window_that_overlaps_itself_takes_one_value)

constexpr auto windows_of_an_input_in_another_order_are_taken_of_its_memory() -> bool {
  GraphBuilder b;
  const SymInt sizes[] = {3, 4};
  const SymInt strides[] = {1, 3};
  const NodeId x = b.placeholder("x", b.tensor(TensorMeta{}, sizes, strides));
  const ValueSpec m = b.tensor(DType::f32, {2, 2});
  const NodeId window = b.call_method("as_strided", {x, b.list({2, 2}), b.list({5, 2}), 1}, m);
  b.call_method("add_", {window, 1}, m);
  b.output(std::initializer_list<Argument>{});
  const Text text = rewritten(std::move(b));
  return contains(text, "permute.default](args = (%x, [1, 0])") && contains(text, "clone.default](args = (%permute,)") &&
         contains(text, "permute.default](args = (%x_modified_1, [1, 0])");
}
FXPASS_TEST_TWICE(windows_of_an_input_in_another_order_are_taken_of_its_memory)

constexpr auto sliding_windows_are_slices_where_they_lie_apart() -> bool {
  const auto unfolded = [](std::int64_t size, std::int64_t step, std::initializer_list<SymInt> sizes) {
    GraphBuilder b;
    const NodeId x = b.placeholder("x", b.tensor(DType::f32, {7}));
    const ValueSpec m = b.tensor(DType::f32, sizes);
    b.call_method("fill_", {b.call_method("unfold", {x, 0, size, step}, m), 1.0}, m);
    b.output(std::initializer_list<Argument>{});
    return rewritten(std::move(b));
  };
  const Text apart = unfolded(2, 3, {2, 2});
  return contains(apart, "slice_scatter.default](args = (%x, %x_modified_2, 0, 0, 6, 1)") && !contains(apart, "strided") &&
         contains(unfolded(2, 5, {2, 2}), "as_strided_scatter.default](args = (%clone, %x_modified, [2, 2], [5, 1], 0)") &&
         contains(unfolded(3, 1, {5, 3}), "as_strided_scatter.default](args = (%clone, %x_modified, [5, 3], [1, 1], 0)");
}
FXPASS_TEST_TWICE(sliding_windows_are_slices_where_they_lie_apart)

constexpr auto bytes_are_written_as_what_they_are_seen_as() -> bool {
  // A program that writes x, of type `from` and f[4], through a view of its bytes as `to`.
  const auto bytes = [](DType from, DType to, std::int64_t length) {
    GraphBuilder b;
    const NodeId x = b.placeholder("x", b.tensor(from, {4}));
    const ValueSpec m = b.tensor(to, {length});
    b.call_method("mul_", {b.call_method("view", {x, to}, m), 1}, m);
    b.output(std::initializer_list<Argument>{});
    return b;
  };
  const Text same = rewritten(bytes(DType::f32, DType::i32, 4));
  const Text narrower = rewritten(bytes(DType::f32, DType::i16, 8));
  return contains(same, "view.dtype](args = (%x_modified, torch.float32)") && !contains(same, "clone") &&
         contains(narrower, "view.dtype](args = (%clone, torch.float32)") &&
         refused(bytes(DType::boolean, DType::u8, 4), DiagnosticCode::unsupported_mutation, "is no bool") &&
         refused(bytes(DType::u8, DType::boolean, 4), DiagnosticCode::unsupported_mutation, "is no bool");
}
FXPASS_TEST_TWICE(bytes_are_written_as_what_they_are_seen_as)

constexpr auto parts_of_complex_numbers_are_views() -> bool {
  const auto of_complex = [](std::string_view view) {
    GraphBuilder b;
    const NodeId x = b.placeholder("x", b.tensor(DType::c64, {3}));
    const bool is_real = view == "real" || view == "imag";
    ValueSpec m = b.tensor(DType::c64, {3});
    if (is_real) m = b.tensor(DType::f32, {3});
    b.call_method("neg_", {b.call_method(view, {x}, m)}, m);
    b.output(std::initializer_list<Argument>{});
    return rewritten(std::move(b));
  };
  const Text imag = of_complex("imag");
  return contains(imag, "select_scatter.default](args = (%view, %x_modified, 1, 1)") &&
         contains(imag, "view.dtype](args = (%clone_1, torch.complex64)") &&
         contains(of_complex("conj"), "conj_physical.default](args = (%x_modified,)") &&
         !contains(of_complex("conj_physical"), "return (x_modified");
}
FXPASS_TEST_TWICE(parts_of_complex_numbers_are_views)

constexpr auto members_of_a_list_of_several_tensors_are_views_of_each() -> bool {
  Program p;
  const NodeId row = p.input("row", DType::f32, {3});
  const NodeId both = p.b.call_function("torch.functional.broadcast_tensors", {row, p.x}, p.b.tuple({p.m43, p.m43}));
  const NodeId second = p.b.call_function("operator.getitem", {both, 1}, p.m43);
  const NodeId first = p.b.call_function("operator.getitem", {both, 0}, p.m43);
  p.b.call_method("add_", {second, 1}, p.m43);
  p.b.call_method("zero_", {row}, p.m3);
  p.b.output({first});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "expand.default](args = (%row_modified, [4, 3])") &&
         contains(text, "%x_modified : [num_users=1] = call_function[target=torch.ops.aten.add.Scalar]") &&
         contains(text, "return (expand, x_modified, row_modified)");
}
FXPASS_TEST_TWICE(members_of_a_list_of_several_tensors_are_views_of_each)

constexpr auto a_list_is_read_by_its_newest_members() -> bool {
  Program p;
  const ValueSpec half = p.b.tensor(DType::f32, {2, 3});
  const NodeId parts = p.b.call_method("chunk", {p.x, 2}, p.b.tuple({half, half}));
  p.b.call_method("add_", {p.x, 1}, p.m43);
  p.b.output({p.b.call_function("torch.cat", {parts}, p.m43)});
  return contains(rewritten(std::move(p.b)), "target=torch.cat](args = ([%slice_1, %slice_2],)");
}
FXPASS_TEST_TWICE(a_list_is_read_by_its_newest_members)

constexpr auto setitem_takes_every_static_index() -> bool {
  Program p;
  const auto set = [&](Argument index, Argument value) { p.b.call_function("operator.setitem", {p.x, index, value}); };
  const NodeId lead = p.input("v", DType::f32, {1, 2, 3});
  set(Argument::ellipsis(), 0.0);
  set(p.b.slice(1, -1), lead);
  set(p.b.tuple_of({Argument(-1), p.b.slice({}, 2)}), 9);
  set(p.b.tuple_of({Argument(), Argument(0)}), 1.0);
  set(p.b.slice(3, 1), 5.0);
  set(Argument(true), 4.0);
  set(Argument(false), 5.0);
  p.b.output(std::initializer_list<Argument>{});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "slice_scatter.default](args = (%x_modified, %x_modified_1, 0, 1, 3, 1)") &&
         contains(text, "aten.reshape.default](args = (%v, [2, 3])") && !contains(text, "setitem") &&
         !contains(text, "5.0");
}
FXPASS_TEST_TWICE(setitem_takes_every_static_index)

constexpr auto setitem_by_tensors_is_index_put() -> bool {
  Program p;
  const NodeId i = p.input("i", DType::i64, {2});
  p.b.call_function("operator.setitem", {p.x, p.b.tuple_of({p.b.slice({}, {}), Argument(i)}), 9.0});
  p.b.call_function("operator.setitem", {p.x, p.b.tuple_of({Argument(1), Argument(i)}), 9.0});
  p.b.call_function("operator.setitem", {p.x, p.b.tuple_of({Argument(true), Argument::ellipsis(), Argument(i)}), 9.0});
  p.b.output(std::initializer_list<Argument>{});
  const Text text = rewritten(std::move(p.b));
  return contains(text, "new_full.default](args = (%x, [], 9.0)") &&
         contains(text, "aten.index_put.default](args = (%x, [None, %i], %new_full)") &&
         contains(text, "aten.select.int](args = (%x_modified, 0, 1)") && contains(text, "[%i], %new_full_1)") &&
         contains(text, "[None, None, %i], %new_full_2)");
}
FXPASS_TEST_TWICE(setitem_by_tensors_is_index_put)

/// Whether a write into what `make_view` makes of x is a write into x.
template <class MakeView>
constexpr auto written(MakeView make_view) -> bool {
  Program p;
  const NodeId v = make_view(p);
  p.b.call_method("add_", {v, 1}, {ValueKind::tensor, p.b.graph().node(v).values});
  p.b.output(std::initializer_list<Argument>{});
  const auto graph = run(std::move(p.b));
  return graph && graph->outputs().size() == 1;
}

constexpr auto conditional_views_follow_strides() -> bool {
  const auto transposed = [](Program& p) {
    const SymInt sizes[] = {3, 4};
    const SymInt strides[] = {1, 3};
    return p.b.call_method("t", {p.x}, p.b.tensor(TensorMeta{}, sizes, strides));
  };
  const auto flat = [](Program& p) { return p.b.tensor(DType::f32, {12}); };
  const auto column = [](Program& p) {
    const SymInt sizes[] = {4, 1};
    const SymInt strides[] = {3, 1};
    return p.b.call_method("narrow", {p.x, 1, 0, 1}, p.b.tensor(TensorMeta{}, sizes, strides));
  };
  const auto short_column = [](Program& p) { return p.b.tensor(DType::f32, {4}); };
  return written([&](Program& p) { return p.b.call_method("reshape", {p.x, -1}, flat(p)); }) &&
         !written([&](Program& p) { return p.b.call_method("reshape", {transposed(p), -1}, flat(p)); }) &&
         written([&](Program& p) { return p.b.call_method("flatten", {column(p)}, short_column(p)); }) &&
         written([&](Program& p) { return p.b.call_method("ravel", {p.x}, flat(p)); }) &&
         !written([&](Program& p) { return p.b.call_method("ravel", {column(p)}, short_column(p)); }) &&
         written([&](Program& p) { return p.b.call_method("contiguous", {p.x}, p.m43); }) &&
         !written([&](Program& p) {
           return p.b.call_method("contiguous", {transposed(p)}, p.b.tensor(DType::f32, {3, 4}));
         });
}
FXPASS_TEST_TWICE(conditional_views_follow_strides)

constexpr auto conditional_views_follow_dtype_and_device() -> bool {
  return written([](Program& p) { return p.b.call_method("to", {p.x, DType::f32}, p.m43); }) &&
         written([](Program& p) { return p.b.call_method("float", {p.x}, p.m43); }) &&
         written([](Program& p) { return p.b.call_method("type_as", {p.x, p.input("y", DType::f32, {2})}, p.m43); }) &&
         !written([](Program& p) {
           return p.b.call_method("type_as", {p.x, p.input("y", DType::f64, {2})}, p.b.tensor(DType::f64, {4, 3}));
         }) &&
         !written([](Program& p) { return p.b.call_method("double", {p.x}, p.b.tensor(DType::f64, {4, 3})); }) &&
         !written([](Program& p) {
           return p.b.call_method("to", {p.x, DType::f32, p.b.keyword("copy", true)}, p.m43);
         }) &&
         !written([](Program& p) {
           return p.b.call_method("to", {p.x, p.b.device("cuda")}, p.b.tensor(DType::f32, {4, 3}, "cuda"));
         }) &&
         written([](Program& p) {
           return p.b.call_function("torch.nn.functional.dropout", {p.x, 0.5, false}, p.m43);
         }) &&
         !written([](Program& p) {
           return p.b.call_function("operator.getitem", {p.x, p.b.list({0, 2})}, p.b.tensor(DType::f32, {2, 3}));
         });
}
FXPASS_TEST_TWICE(conditional_views_follow_dtype_and_device)

constexpr auto batch_norm_in_training_updates_its_statistics() -> bool {
  const auto make = [](bool training) {
    Program p;
    const NodeId mean = p.input("mean", DType::f32, {3});
    const NodeId var = p.input("var", DType::f32, {3});
    const NodeId y = p.b.call_function("torch.nn.functional.batch_norm", {p.x, mean, var, Argument(), Argument(), training},
                                       p.m43);
    p.b.output({y});
    return rewritten(std::move(p.b));
  };
  const Text training = make(true);
  const Text evaluation = make(false);
  return contains(training, "aten._native_batch_norm_legit_functional.default](args = (%x, None, None, %mean, %var, True, 0.1, 1e-05)") &&
         contains(training, "%mean_modified : [num_users=1] = call_function[target=operator.getitem]") &&
         contains(training, "return (getitem, mean_modified, var_modified)") &&
         contains(evaluation, "return (batch_norm,)");
}
FXPASS_TEST_TWICE(batch_norm_in_training_updates_its_statistics)

constexpr auto a_write_into_no_elements_goes_away() -> bool {
  Program p;
  const ValueSpec none = p.b.tensor(DType::f32, {0});
  const NodeId empty = p.b.placeholder("empty", none);
  const NodeId written = p.b.call_method("add_", {empty, 1}, none);
  const NodeId view = p.b.call_method("view", {written, -1}, none);
  p.b.output({view});
  const Text text = rewritten(std::move(p.b));
  return !contains(text, "add") && contains(text, "(args = (%empty, -1)") && contains(text, "return (view,)");
}
FXPASS_TEST_TWICE(a_write_into_no_elements_goes_away)

constexpr auto noise_without_effect_goes_away() -> bool {
  Program p;
  const NodeId d = p.b.call_method("requires_grad_", {p.x, false}, p.m43);
  const NodeId e = p.b.call_function("torch.ops.aten.detach_.default", {d}, p.m43);
  p.b.output({e});
  return rewritten(std::move(p.b)) ==
         "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    return (x,)\n";
}
FXPASS_TEST_TWICE(noise_without_effect_goes_away)

constexpr auto what_pytorch_refuses_is_refused() -> bool {
  const auto integer = [](Argument by) {
    Program p;
    const NodeId i = p.input("i", DType::i64, {4, 3});
    p.b.call_method("add_", {i, by}, p.b.tensor(DType::i64, {4, 3}));
    return std::move(p.b);
  };
  const auto grown = [](std::initializer_list<SymInt> sizes) {
    Program p;
    const NodeId y = p.input("y", DType::f32, sizes);
    p.b.call_method("add_", {p.x, y}, p.m43);
    return std::move(p.b);
  };
  const auto shifted = [](bool cloned) {
    Program p;
    const ValueSpec part = p.b.tensor(DType::f32, {3, 3});
    const NodeId low = p.b.call_function("operator.getitem", {p.x, p.b.slice(0, 3)}, part);
    const SymInt sizes[] = {3, 3};
    const SymInt strides[] = {3, 1};
    TensorMeta meta;
    meta.storage_offset = 3;
    const NodeId high = p.b.call_function("operator.getitem", {p.x, p.b.slice(1, 4)}, p.b.tensor(meta, sizes, strides));
    const NodeId source = cloned ? p.b.call_method("clone", {high}, part) : high;
    p.b.call_method("copy_", {low, source}, part);
    return std::move(p.b);
  };
  const auto onto_itself = [](std::int64_t columns) {
    Program p;
    const NodeId square = p.input("square", DType::f32, {3, columns});
    const Argument index = p.b.group(ArgumentKind::tuple, {Argument(), Argument::ellipsis()});
    const NodeId transposed = p.b.call_method("t", {square}, p.b.tensor(DType::f32, {columns, 3}));
    p.b.call_function("operator.setitem", {square, index, columns == 3 ? transposed : square});
    p.b.output({square});
    return std::move(p.b);
  };
  const auto expanded = [](std::string_view write) {
    Program p;
    const NodeId row = p.b.call_method("select", {p.x, 0, 0}, p.m3);
    const SymInt sizes[] = {2, 3};
    const SymInt strides[] = {0, 1};
    const ValueSpec m23 = p.b.tensor(TensorMeta{}, sizes, strides);
    const NodeId e = p.b.call_method("expand", {row, 2, 3}, m23);
    p.b.call_method(write, {e, 1}, m23);
    return std::move(p.b);
  };
  return refused(integer(0.5), DiagnosticCode::eager_would_raise, "float32") && accepted(integer(2)) &&
         refused(grown({2, 4, 3}), DiagnosticCode::eager_would_raise, "broadcast") && accepted(grown({1, 3})) &&
         refused(shifted(false), DiagnosticCode::eager_would_raise, "overlapping") && accepted(shifted(true)) &&
         refused(onto_itself(3), DiagnosticCode::eager_would_raise, "overlapping") && accepted(onto_itself(4)) &&
         refused(expanded("add_"), DiagnosticCode::eager_would_raise, "expanded") && accepted(expanded("fill_"));
}
FXPASS_TEST_TWICE(what_pytorch_refuses_is_refused)

constexpr auto what_hangs_on_the_order_of_a_walk_is_refused() -> bool {
  // Of columns, which have gaps, PyTorch does not refuse it: there it counts which element is read before which is written.
  const auto shifted_columns = [](std::int64_t to, std::int64_t from, std::string_view write) {
    Program p;
    const auto columns = [&](std::int64_t first) {
      const SymInt sizes[] = {4, 2};
      const SymInt strides[] = {3, 1};
      TensorMeta meta;
      meta.storage_offset = first;
      const Argument index = p.b.group(ArgumentKind::tuple, {Argument::ellipsis(), p.b.slice(first, first + 2)});
      return p.b.call_function("operator.getitem", {p.x, index}, p.b.tensor(meta, sizes, strides));
    };
    const NodeId target = columns(to);
    p.b.call_method(write, {target, columns(from)}, p.b.tensor(DType::f32, {4, 2}));
    return std::move(p.b);
  };
  return refused(shifted_columns(1, 0, "copy_"), DiagnosticCode::unsupported_mutation, "order") &&
         refused(shifted_columns(1, 0, "add_"), DiagnosticCode::unsupported_mutation, "order") &&
         accepted(shifted_columns(0, 1, "copy_")) && accepted(shifted_columns(0, 1, "add_")) &&
         accepted(shifted_columns(1, 1, "add_"));
}
FXPASS_TEST_TWICE(what_hangs_on_the_order_of_a_walk_is_refused)

/// In two halves, each of which fits into clang's limit of steps.
constexpr auto refuses_what_cannot_be_carried_out(bool is_first_half) -> bool {
  const auto method = [](std::string_view name) {
    Program p;
    p.b.call_method(name, {p.x}, p.m43);
    return std::move(p.b);
  };
  // Windows that overlap, of an input that is dense or has gaps: of the latter they are no window into its elements.
  const auto windows = [](std::int64_t row_stride, bool written, bool read_behind) {
    GraphBuilder b;
    const SymInt sizes[] = {4, 3};
    const SymInt strides[] = {row_stride, 1};
    const ValueSpec m = b.tensor(TensorMeta{}, sizes, strides);
    const ValueSpec m332 = b.tensor(DType::f32, {3, 3, 2});
    const NodeId x = b.placeholder("x", m);
    const NodeId y = b.call_method("unfold", {x, 0, 2, 1}, m332);
    if (written)
      b.call_method("zero_", {y}, m332);
    else
      b.call_method("add_", {x, 1}, m);
    b.output({read_behind ? y : x});
    return b;
  };
  // A Python function of unknown meaning may return a view; an operator without schema may do anything.
  const auto unknown = [](std::string_view target, bool written, bool read_behind, bool declared) {
    Program p;
    if (declared) p.b.declare_operator(target, "mylib.f.default(Tensor x) -> Tensor");
    const NodeId y = p.b.call_function(target, {p.x}, p.m43);
    if (written) p.b.call_method("add_", {y, 1}, p.m43);
    p.b.call_method("add_", {p.x, 1}, p.m43);
    p.b.output({read_behind ? y : p.x});
    return std::move(p.b);
  };
  const auto attribute = [](bool lifted) {
    Program p;
    const NodeId w = lifted ? p.input("w", DType::f32, {3}) : p.b.get_attr("w", p.m3);
    p.b.call_method("zero_", {w}, p.m3);
    return std::move(p.b);
  };
  const auto shared = [](std::int64_t offset) {
    GraphBuilder b;
    InputSpec spec;
    spec.storage = 0;
    const NodeId x = b.placeholder("x", b.tensor(DType::f32, {3}), spec);
    const SymInt sizes[] = {3};
    const SymInt strides[] = {1};
    TensorMeta meta;
    meta.storage_offset = offset;
    b.placeholder("y", b.tensor(meta, sizes, strides), spec);
    b.call_method("zero_", {x}, b.tensor(DType::f32, {3}));
    return b;
  };
  // A view of x that its operator decides, or a number that is not known.
  const auto transposed_copy = [](std::initializer_list<SymInt> noted) {  // of the copy, before it is transposed
    GraphBuilder b;
    const NodeId x = b.placeholder("x", b.tensor(DType::f32, {4, 3}));
    const NodeId y = b.call_method("clone", {x}, b.tensor(DType::f32, noted));
    b.call_method("t_", {y}, b.tensor(DType::f32, {3, 4}));
    b.output({y});
    return b;
  };
  const auto through = [](std::string_view view, std::string_view stride) {
    GraphBuilder b;
    const SymInt sizes[] = {4, 3};
    const SymInt strides[] = {b.add_expression(stride), b.add_expression(stride)};
    const NodeId x = b.placeholder("x", b.tensor(TensorMeta{}, sizes, strides));
    const NodeId y = b.call_method(view, {x, 0, 1, 1}, b.tensor(DType::f32, {4, 3}));
    b.call_method("add_", {y, 1}, b.tensor(DType::f32, {4, 3}));
    b.output({x});
    return b;
  };
  if (is_first_half)
    return refused(through("narrow", "unknown"), DiagnosticCode::missing_metadata, "the strides of 'x' are not known") &&
           refused(through("narrow", "s0"), DiagnosticCode::missing_metadata, "in the strides of 'x' stands s0") &&
           refused(through("unfold", "unknown"), DiagnosticCode::missing_metadata, "the strides of 'x' are not known") &&
           refused(windows(6, true, false), DiagnosticCode::unsupported_mutation, "cannot invert") &&
           accepted(windows(3, true, false)) &&
           refused(method("t_"), DiagnosticCode::unsupported_mutation, "its owner would see") &&
           accepted(transposed_copy({4, 3})) &&
           refused(transposed_copy({3, 4}), DiagnosticCode::unsupported_mutation, "of another shape than the graph says") &&
           refused(method("retain_grad"), DiagnosticCode::unsupported_mutation, "aten.retain_grad") &&
           refused(method("frobnicate_"), DiagnosticCode::unsupported_mutation, "frobnicate_") &&
           accepted(method("neg_"));
  return refused(windows(6, false, true), DiagnosticCode::unsupported_mutation, "cannot make that view anew") &&
         accepted(windows(6, false, false)) && accepted(windows(3, false, true)) &&
         refused(unknown("mylib.f", true, false, false), DiagnosticCode::unsupported_mutation, "may be a view") &&
         refused(unknown("mylib.f", false, true, false), DiagnosticCode::unsupported_mutation, "it may write it, too") &&
         refused(unknown("mylib.f", false, false, false), DiagnosticCode::unsupported_mutation, "it may write it, too") &&
         refused(unknown("torch.ops.mylib.f.default", false, false, false), DiagnosticCode::unsupported_mutation,
                 "has no schema here") &&
         accepted(unknown("torch.ops.mylib.f.default", true, true, true)) &&
         refused(attribute(false), DiagnosticCode::unsupported_mutation, "lift it") && accepted(attribute(true)) &&
         refused(shared(1), DiagnosticCode::unsupported_mutation, "shares its storage") && accepted(shared(0)) &&
         accepted(shared(3));
}
constexpr auto views_and_writes_that_cannot_be_carried_out_are_refused() -> bool {
  return refuses_what_cannot_be_carried_out(true);
}
FXPASS_TEST_TWICE(views_and_writes_that_cannot_be_carried_out_are_refused)
constexpr auto origins_that_are_not_known_are_not_written() -> bool {
  return refuses_what_cannot_be_carried_out(false);
}
FXPASS_TEST_TWICE(origins_that_are_not_known_are_not_written)
constexpr auto instance_norms_write_both_of_their_statistics() -> bool {
  const auto instance_norm = [](bool has_mean, bool has_variance) {
    Program p;
    const Argument mean = has_mean ? Argument(p.input("mean", DType::f32, {3})) : Argument();
    const Argument variance = has_variance ? Argument(p.input("variance", DType::f32, {3})) : Argument();
    const NodeId y = p.b.call_function("torch.ops.aten.instance_norm.default",
                                       {p.x, Argument(), Argument(), mean, variance, true, 0.1, 1e-5, false}, p.m43);
    p.b.output({p.b.call_method("add_", {y, 1}, p.m43)});
    return std::move(p.b);
  };
  return refused(instance_norm(true, false), DiagnosticCode::unsupported_mutation, "one of its two statistics only") &&
         accepted(instance_norm(true, true)) && accepted(instance_norm(false, false));
}
FXPASS_TEST_TWICE(instance_norms_write_both_of_their_statistics)

constexpr auto an_input_that_is_another_is_written_with_it() -> bool {
  GraphBuilder b;
  InputSpec spec;
  spec.storage = 7;
  const ValueSpec m = b.tensor(DType::f32, {3});
  const NodeId x = b.placeholder("x", m, spec);
  const NodeId tied = b.placeholder("tied", m, spec);
  b.call_method("add_", {x, 1}, m);
  b.output({b.call_method("clone", {tied}, m)});
  const auto graph = run(std::move(b));
  return graph && graph->outputs().size() == 3 && graph->outputs()[1].input == 0 && graph->outputs()[2].input == 1 &&
         graph->arguments(graph->output_node())[1].node() == graph->arguments(graph->output_node())[2].node();
}
FXPASS_TEST_TWICE(an_input_that_is_another_is_written_with_it)

}  // namespace
