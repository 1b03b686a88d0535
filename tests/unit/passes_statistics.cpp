// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/graph/print.hpp>
#include <fxpass/passes/default_pipeline.hpp>

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "twice.hpp"

// What whoever watches the default pipeline can rely on: what passes are called, what they count and under which keys, what
// new values are called, which output is the new value of which input, and how an error names its pass. Each row runs
// through all passes; what stands behind an arrow is what they said.

namespace {

using namespace fxpass;

/// Takes down "pass: key=value, key=value" for each pass that counted something but zeros; all of them, if asked.
struct Notes {
  bool tells_zeros = false;
  Text text = {};

  constexpr void after(const PassReport& report, const Graph&) {
    Text counts;
    for (const Statistic& s : report.statistics)
      if (s.value != 0 || tells_zeros) append_all(counts, counts.empty() ? "" : ", ", s.key, '=', s.value);
    if (!counts.empty()) append_all(text, report.name, ": ", counts, '\n');
  }
};

/// A program of `x` and `y`, f32[4, 3], and `i`, i64[2], under construction.
struct Program {
  GraphBuilder b;
  ValueSpec m = b.tensor(DType::f32, {4, 3});
  ValueSpec row = b.tensor(DType::f32, {3});
  NodeId x = b.placeholder("x", m);
  NodeId y = b.placeholder("y", m);
  NodeId i = b.placeholder("i", b.tensor(DType::i64, {2}));

  constexpr auto set(Argument index, Argument value) -> NodeId {
    return b.call_function("operator.setitem", {x, index, value});
  }
  constexpr auto to(std::initializer_list<Argument> arguments) -> NodeId { return b.call_method("to", arguments, m); }
};
/// What was said of a program, which input each output is the new value of ("1<-0"), and the calls of the graph behind it
/// ("name = operator").
struct Said {
  Text notes;
  Text io;
  Text calls;
};
constexpr auto said(GraphBuilder&& builder, PassOptions options = {}, bool tells_zeros = false) -> Said {
  Notes notes{tells_zeros};
  Context context;
  const auto module =
      get_default_pass_manager(options).run_passes(Module<>(std::move(builder).finish()), context, notes);
  if (!module) return {text_of(module.error()), {}, {}};
  const Graph& graph = module->graph();
  Said result{notes.text, text_of(graph.original_output_count(), " own"), {}};
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o)
    if (is_mutation(graph.outputs()[o].kind)) append_all(result.io, ", ", o, "<-", graph.outputs()[o].input);
  for (NodeId id; id.index < graph.node_count(); ++id.index)
    if (const NodeKind kind = graph.node(id).kind; kind == NodeKind::call_function || kind == NodeKind::call_method) {
      std::string_view target = graph.target(id);
      for (const std::string_view prefix : {"torch.ops.aten.", "torch.ops.higher_order.", "operator."})
        if (target.starts_with(prefix)) target.remove_prefix(prefix.size());
      append_all(result.calls, result.calls.empty() ? "" : "; ", graph.name(id), " = ", target);
    }
  return result;
}
constexpr auto says(GraphBuilder&& builder, std::string_view notes, std::string_view io, std::string_view calls) -> bool {
  const Said found = said(std::move(builder));
  return found.notes == notes && found.io == io && found.calls == calls;
}

constexpr auto each_pass_has_its_name_and_its_keys() -> bool {
  Program p;
  p.b.output({p.x});
  return said(std::move(p.b), {}, true).notes ==
         "device_rewriter: rewrite_count=0\n"
         "aliasing_output_rewrite: original_output_count=1\n"
         "inplace_to_outofplace: inplace_methods=0, copy_=0, setitem=0\n"
         "nki_kernel_backend_config_pass: kernel_call_count=0\n"
         "collective_replica_groups: resolved_count=0\n";
}
FXPASS_TEST_TWICE(each_pass_has_its_name_and_its_keys)

// Devices ---------------------------------------------------------------------------------------------------------------
/// The device that `torch.zeros(2, device=given)` has behind the passes, and how many were counted.
constexpr auto zeros_on(auto given, std::string_view target = "xla") -> Text {
  GraphBuilder b;
  const NodeId zeros = b.call_function("torch.zeros", {2, b.keyword("device", given(b))}, b.tensor(DType::f32, {2}));
  b.output({zeros});
  Notes notes;
  Context context;
  const auto module = get_default_pass_manager({.target_device = target})
                          .run_passes(Module<>(std::move(b).finish()), context, notes);
  if (!module) return {};
  const Graph& graph = module->graph();
  const Argument device = graph.arguments(zeros)[1];
  const bool is_string = device.is(ArgumentKind::string);
  return text_of(is_string ? "string " : "device ",
                 is_string ? graph.text(device.text()) : graph.device(device.device()), ", ",
                 notes.text.view().substr(0, notes.text.view().find('\n')));
}
constexpr auto devices_become_the_target_in_the_form_they_have() -> bool {
  const auto string = [](std::string_view s) { return [s](GraphBuilder& b) { return b.string(s); }; };
  const auto object = [](std::string_view s) { return [s](GraphBuilder& b) { return b.device(s); }; };
  return zeros_on(object("cpu")) == "device xla:0, device_rewriter: rewrite_count=1" &&
         zeros_on(object("cuda:1")) == "device xla:0, device_rewriter: rewrite_count=1" &&
         zeros_on(string("cpu")) == "string xla, device_rewriter: rewrite_count=1" &&
         zeros_on(string("xla:0")) == "string xla, device_rewriter: rewrite_count=1" &&
         // One that is the target already stays, and counts.
         zeros_on(string("xla")) == "string xla, device_rewriter: rewrite_count=1" &&
         zeros_on(object("xla:1")) == "device xla:1, device_rewriter: rewrite_count=1" &&
         zeros_on([](GraphBuilder&) { return Argument(); }) == "string xla, device_rewriter: rewrite_count=1" &&
         zeros_on(object("cpu"), "cpu") == "device cpu, device_rewriter: rewrite_count=1";
}
FXPASS_TEST_TWICE(devices_become_the_target_in_the_form_they_have)

constexpr auto of_positional_arguments_the_device_alone_is_changed() -> bool {
  const auto to = [](auto arguments) {
    Program p;
    const NodeId result = arguments(p);
    p.b.output({result});
    const auto module = DeviceRewriterPass{};
    Context context;
    Notes notes;
    const auto done = pipeline(module).run_passes(Module<>(std::move(p.b).finish()), context, notes);
    if (!done) return Text();
    const Text text = text_of(done->graph());
    const auto begin = text.view().find("(args = ") + 8;
    return text_of(notes.text, text.view().substr(begin, text.view().find(")\n", begin) - begin));
  };
  return to([](Program& p) {
           return p.to({p.x, p.b.string("meta"), DType::bf16, true, true,
                        p.b.keyword("memory_format", MemoryFormat::contiguous_format)});
         }) == "device_rewriter: rewrite_count=1\n"
               "(%x, xla, torch.bfloat16, True, True), kwargs = {memory_format: torch.contiguous_format}" &&
         to([](Program& p) { return p.to({p.x, DType::bf16}); }) == "(%x, torch.bfloat16), kwargs = {}" &&
         to([](Program& p) { return p.to({p.x, p.y}); }) == "(%x, %y), kwargs = {}";
}
FXPASS_TEST_TWICE(of_positional_arguments_the_device_alone_is_changed)

// Writes ----------------------------------------------------------------------------------------------------------------
constexpr auto new_values_are_called_after_what_was_written() -> bool {
  Program one;
  one.b.call_method("add_", {one.y, one.x}, one.m);
  one.b.output({one.x});
  Program two;
  two.b.call_method("add_", {two.x, 1}, two.m);
  two.b.call_method("mul_", {two.x, 2}, two.m);
  two.b.output({two.y});
  Program copied;
  copied.b.call_method("copy_", {copied.x, copied.b.call_method("sin", {copied.y}, copied.m)}, copied.m);
  copied.b.output({copied.y});
  return says(std::move(one.b),
              "aliasing_output_rewrite: original_output_count=1\ninplace_to_outofplace: inplace_methods=1\n",
              "1 own, 1<-1", "y_modified = add.Tensor") &&
         says(std::move(two.b),
              "aliasing_output_rewrite: original_output_count=1\ninplace_to_outofplace: inplace_methods=2\n",
              "1 own, 1<-0", "x_modified = add.Scalar; x_modified_1 = mul.Scalar") &&
         says(std::move(copied.b),
              "aliasing_output_rewrite: original_output_count=1\ninplace_to_outofplace: copy_=1\n", "1 own, 1<-0",
              "sin = sin");
}
FXPASS_TEST_TWICE(new_values_are_called_after_what_was_written)

constexpr auto only_written_inputs_are_outputs() -> bool {
  Program untouched;
  untouched.b.output({untouched.x});
  Program alone;
  alone.b.call_method("add_", {alone.x, 1}, alone.m);
  alone.b.output({});
  Program twice;
  const NodeId same = twice.b.call_method("add_", {twice.x, 1}, twice.m);
  twice.b.output({same, same});
  return says(std::move(untouched.b), "aliasing_output_rewrite: original_output_count=1\n", "1 own", "") &&
         says(std::move(alone.b), "inplace_to_outofplace: inplace_methods=1\n", "0 own, 0<-0", "x_modified = add.Scalar") &&
         says(std::move(twice.b),
              "aliasing_output_rewrite: original_output_count=2\ninplace_to_outofplace: inplace_methods=1\n",
              "2 own, 2<-0", "x_modified = add.Scalar");
}
FXPASS_TEST_TWICE(only_written_inputs_are_outputs)

constexpr auto setitem_is_a_scatter() -> bool {
  const auto set = [](auto index, auto value, std::string_view calls) {
    Program p;
    p.set(index(p), value(p));
    p.b.output({p.y});
    return says(std::move(p.b),
                "aliasing_output_rewrite: original_output_count=1\ninplace_to_outofplace: setitem=1\n", "1 own, 1<-0",
                calls);
  };
  const auto number = [](Program&) { return Argument(0.5); };
  const auto a_row = [](Program& p) { return Argument(p.b.call_method("sum", {p.y, 0}, p.row)); };
  const auto two_rows = [](Program& p) {
    return Argument(p.b.call_method("narrow", {p.y, 0, 1, 2}, p.b.tensor(DType::f32, {2, 3})));
  };
  const auto slice = [](Argument start, Argument stop, Argument step = {}) {
    return [=](Program& p) { return p.b.slice(start, stop, step); };
  };
  return set([](Program&) { return Argument(2); }, a_row, "sum_1 = sum; x_modified = select_scatter.default") &&
         set([](Program&) { return Argument(2); }, number,
             "select = select.int; x_modified = full_like.default; x_modified_1 = select_scatter.default") &&
         set(slice({}, 2), two_rows, "narrow = narrow; x_modified = slice_scatter.default") &&
         set(slice({}, {}, 2), two_rows, "narrow = narrow; x_modified = slice_scatter.default") &&
         set(slice(-2, {}), two_rows, "narrow = narrow; x_modified = slice_scatter.default") &&
         set([](Program& p) { return p.b.tuple_of({p.b.slice(1, 3), p.b.slice(0, 2)}); },
             [](Program& p) {
               return Argument(p.b.call_method("narrow", {p.i, 0, 0, 2}, p.b.tensor(DType::f32, {2})));
             },
             "narrow = narrow; x_modified = expand.default; slice_1 = slice.Tensor; "
             "x_modified_1 = slice_scatter.default; x_modified_2 = slice_scatter.default") &&
         set([](Program& p) { return p.b.tuple_of({Argument::ellipsis(), 1}); }, number,
             "select = select.int; x_modified = full_like.default; x_modified_1 = select_scatter.default") &&
         set([](Program& p) { return Argument(p.i); }, two_rows, "narrow = narrow; x_modified = index_put.default");
}
FXPASS_TEST_TWICE(setitem_is_a_scatter)

// Kernels and groups ------------------------------------------------------------------------------------------------------
constexpr auto kernel_call(GraphBuilder& b, std::initializer_list<Argument> arguments, ValueSpec value) -> NodeId {
  const Argument keywords[] = {b.keyword("kernel_idx", 3),
                               b.keyword("grid", b.tuple_of({Argument(2)})),
                               b.keyword("backend_config", b.string("")),
                               b.keyword("operand_output_aliases", b.group(ArgumentKind::dict, {})),
                               b.keyword("args", b.tuple_of(arguments)),
                               b.keyword("arg_names", b.list({b.string("a")})),
                               b.keyword("constant_args_key", -1)};
  return b.call_function("torch.ops.higher_order.nki_kernel_wrapper", keywords, value, "k");
}
constexpr auto registry(KernelAlias alias) -> KernelRegistry {
  KernelEntry entry;
  entry.kernel_idx = 3;
  entry.backend_config = "eyJ9";
  entry.aliases.push_back(alias);
  KernelRegistry kernels;
  kernels.add(std::move(entry));
  return kernels;
}
constexpr auto kernels_are_counted_and_what_they_write_is_named() -> bool {
  // The second of the tensors, which is the fourth argument, is result 0.
  const KernelRegistry second = registry({1, 0});
  Program p;
  const NodeId k = kernel_call(p.b, {Argument(), Argument(p.y), 3, Argument(p.x)}, p.b.tuple({p.m, p.m}));
  p.b.output({p.b.call_function("operator.getitem", {k, 1}, p.m)});
  const Said found = said(std::move(p.b), {.kernels = &second});
  // Two calls that write one input: the second gets what the first returned.
  const KernelRegistry first = registry({0, 0});
  Program chain;
  kernel_call(chain.b, {Argument(chain.x)}, chain.m);
  kernel_call(chain.b, {Argument(chain.x)}, chain.m);
  chain.b.output({chain.b.call_method("sum", {chain.x}, chain.b.tensor(DType::f32, {}))});
  const Said twice = said(std::move(chain.b), {.kernels = &first});
  return found.notes ==
             "aliasing_output_rewrite: original_output_count=1\nnki_kernel_backend_config_pass: kernel_call_count=1\n" &&
         found.io == "1 own, 1<-0" &&
         found.calls == "k = nki_kernel_wrapper_functional; x_modified = getitem; getitem = getitem" &&
         twice.notes ==
             "aliasing_output_rewrite: original_output_count=1\nnki_kernel_backend_config_pass: kernel_call_count=2\n" &&
         twice.io == "1 own, 1<-0";
}
FXPASS_TEST_TWICE(kernels_are_counted_and_what_they_write_is_named)

constexpr auto collectives_are_counted_not_groups() -> bool {
  const std::vector<std::int64_t> tiles[] = {{3, 2}, {0, 1}};
  ProcessGroups groups(4);
  for (const std::string_view name : {"5", "6"})
    if (!groups.add(name, tiles)) return false;
  Program p;
  NodeId sum = p.x;
  for (const std::string_view name : {"5", "6", "5", "0"})
    sum = p.b.call_function("torch.ops._c10d_functional.all_reduce.default", {sum, p.b.string("sum"), p.b.string(name)}, p.m);
  p.b.output({sum});
  Notes notes;
  Context context;
  const auto module = get_default_pass_manager({.groups = &groups})
                          .run_passes(Module<>(std::move(p.b).finish()), context, notes);
  if (!module || notes.text !=
                     "aliasing_output_rewrite: original_output_count=1\ncollective_replica_groups: resolved_count=4\n")
    return false;
  const auto has_ranks = [&](std::uint32_t back, std::initializer_list<std::int64_t> ranks) {
    const NodeId id{module->graph().output_node().index - back};
    return same_elements(module->graph().ranks(*module->graph().replica_groups(id)),
                         Span<const std::int64_t>(ranks.begin(), ranks.size()));
  };
  // By the first rank of each, which is not the smallest; inside a group the order stays.
  return has_ranks(4, {0, 1, 3, 2}) && has_ranks(3, {0, 1, 3, 2}) && has_ranks(1, {0, 1, 2, 3});
}
FXPASS_TEST_TWICE(collectives_are_counted_not_groups)

// Errors ----------------------------------------------------------------------------------------------------------------
constexpr auto an_error_names_its_pass_and_the_cause() -> bool {
  Program resized;
  resized.b.call_method("resize_", {resized.x, 2}, resized.m);
  resized.b.output({resized.x});
  Program unknown;
  unknown.b.output({unknown.b.call_function("torch.ops._c10d_functional.all_reduce.default",
                                            {unknown.x, unknown.b.string("sum"), unknown.b.string("tp")}, unknown.m)});
  Program kernel;
  kernel.b.output({kernel_call(kernel.b, {Argument(kernel.x)}, kernel.m)});
  const auto begins = [](GraphBuilder&& b, std::string_view with) { return said(std::move(b)).notes.view().starts_with(with); };
  return begins(std::move(resized.b), "resize_: error: in pass 'aliasing_output_rewrite': ") &&
         begins(std::move(unknown.b), "all_reduce: error: in pass 'collective_replica_groups': names process group 'tp'") &&
         begins(std::move(kernel.b), "k: error: in pass 'aliasing_output_rewrite': ");
}
FXPASS_TEST_TWICE(an_error_names_its_pass_and_the_cause)

}  // namespace
