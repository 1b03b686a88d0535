// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/graph/functional_form.hpp>
#include <fxpass/graph/verify.hpp>
#include <fxpass/lower/default_lowerings.hpp>
#include <fxpass/lower/lowering.hpp>
#include <fxpass/lower/signature.hpp>
#include <fxpass/lower/target.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/passes/facts.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// `lower(target)`: from a module that the passes have prepared to HLO and the signature by which it is run.

namespace fxpass {

/// An HLO module and how to run it.
struct LoweredModule {
  hlo::Module module;   ///< what is run
  Signature signature;  ///< what its parameters and results are

  /// The module, so that it is emitted as it is: `emit<HloText>(lowered)`.
  constexpr operator const hlo::Module&() const { return module; }  // NOLINT(google-explicit-constructor)

  friend constexpr auto operator==(const LoweredModule&, const LoweredModule&) -> bool = default;
};

namespace detail {

/// "aten.add.Tensor"; of an operator without schema what `torch.ops` calls it, or its Python name. A call without a write is
/// lowered as the operator that it calls.
[[nodiscard]] constexpr auto operator_name(const Graph& graph, NodeId id) -> std::string_view {
  std::string_view name = is_functional_form_of_bases(graph, graph.op(id)) ? graph.target(id) : Call(graph, id).name();
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  return name;
}

/// By node whether it is lowered: what no output depends on, such as what is only computed for an assertion, is not, and
/// need not be lowerable. A node that writes is: to pass it over would be to lose a write. O(nodes + arguments).
[[nodiscard]] constexpr auto live_nodes(const Graph& graph) -> Pool<std::uint8_t> {
  Pool<std::uint8_t> is_live;
  is_live.resize(graph.node_count(), 0);
  is_live[graph.output_node().index] = 1;
  for (std::uint32_t i = graph.node_count(); i-- > 0;) {
    const NodeId id{i};
    if (graph.node(id).kind == NodeKind::placeholder || writes(graph, id)) is_live[i] = 1;
    if (is_live[i] != 0) graph.for_each_operand(id, [&](NodeId operand) { is_live[operand.index] = 1; });
  }
  return is_live;
}

/// What keeps a graph, and the graphs inside it, from being lowered, all of it at once: sizes that are no numbers, and
/// operators without a lowering.
class LoweringObstacles {
 public:
  constexpr LoweringObstacles(const Graph& graph, LoweringTable table) : table_(table) {
    check_sizes(graph);
    find_missing(graph);
    for (const Missing& m : missing_)
      errors_.add(error_at(*m.graph, m.first, DiagnosticCode::missing_lowering,
                           text_of("no lowering for ", m.op, ", called ", m.count, m.count == 1 ? " time: " : " times: ",
                                   m.nodes, draws_numbers(m) ? "; it draws random numbers, which have to be an input" : "")));
  }
  [[nodiscard]] constexpr auto errors() && -> Diagnostics { return std::move(errors_); }

 private:
  struct Missing {
    std::string_view op;
    const Graph* graph = nullptr;
    NodeId first;
    std::uint32_t count = 0;
    Text nodes;
  };

  [[nodiscard]] static constexpr auto draws_numbers(const Missing& m) -> bool {
    return m.graph->schema(m.graph->op(m.first)).find("generator").has_value();
  }
  /// Names each symbol once, at the first node that has it.
  constexpr void check_sizes(const Graph& graph) {
    const Pool<std::uint8_t> is_live = live_nodes(graph);
    for (NodeId id; id.index < graph.node_count(); ++id.index)
      for (const TensorMeta& meta : graph.values(id)) {
        if (!meta.known || is_live[id.index] == 0) continue;
        for (const SymInt& size : graph.sizes(meta)) {
          if (!size.is_symbolic() || is_named(graph.expression(size))) continue;
          symbols_.push_back(graph.expression(size));
          errors_.add(error_at(graph, id, DiagnosticCode::symbolic_size,
                               text_of("a size is ", graph.expression(size),
                                       ", but HLO needs a number; bind its symbols")));
        }
      }
    for (const std::uint32_t number : graph.subgraphs_in_use()) check_sizes(graph.subgraphs()[number]);
  }
  [[nodiscard]] constexpr auto is_named(std::string_view symbol) const -> bool {
    for (const std::string_view known : symbols_)
      if (known == symbol) return true;
    return false;
  }

  /// One look-up an operator, and one diagnostic for each that has no lowering.
  constexpr void find_missing(const Graph& graph) {
    constexpr std::uint8_t not_asked = 0, is_there = 1, is_missing = 2;
    Pool<std::uint8_t> state;
    state.resize(static_cast<std::uint32_t>(graph.operators().size()), not_asked);
    const Pool<std::uint8_t> is_live = live_nodes(graph);
    for (NodeId id; id.index < graph.node_count(); ++id.index) {
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::placeholder || node.kind == NodeKind::output) continue;
      if (is_live[id.index] == 0 && !may_write_unseen(graph, id)) continue;  // to pass it over may be to lose a write
      if (node.kind == NodeKind::get_attr || node.kind == NodeKind::call_module) {
        refuse(graph, id);
        continue;
      }
      std::uint8_t& known = state[node.op.index];
      if (known == not_asked) known = table_.find(operator_name(graph, id)).valid() ? is_there : is_missing;
      // What computes sizes is gone when they are numbers.
      const bool is_size = node.value_kind == ValueKind::sym_int || node.value_kind == ValueKind::scalar;
      if (known == is_missing && !(is_size && !symbols_.empty())) add_missing(graph, id);
    }
    for (const std::uint32_t number : graph.subgraphs_in_use()) find_missing(graph.subgraphs()[number]);
  }
  constexpr void add_missing(const Graph& graph, NodeId id) {
    constexpr std::uint32_t longest_list = 8;
    const std::string_view name = operator_name(graph, id);
    std::size_t at = 0;
    while (at < missing_.size() && missing_[at].op != name) ++at;
    if (at == missing_.size()) missing_.push_back({name, &graph, id, 0, {}});
    Missing& m = missing_[at];
    ++m.count;
    if (m.count <= longest_list) append_all(m.nodes, m.count == 1 ? "" : ", ", graph.name(id));
    if (m.count == longest_list + 1) append_to(m.nodes, ", ...");
  }
  constexpr void refuse(const Graph& graph, NodeId id) {
    if (graph.node(id).kind == NodeKind::call_module)
      errors_.add(error_at(graph, id, DiagnosticCode::missing_lowering,
                           text_of("no lowering for a call of module ", graph.target(id))));
    else if (graph.node(id).value_kind == ValueKind::tensor)  // a subgraph, say, is the business of whoever reads it
      errors_.add(error_at(graph, id, DiagnosticCode::unsupported,
                           text_of("tensor attribute ", graph.target(id), " is not an input of the graph")));
  }

  LoweringTable table_;
  Diagnostics errors_;
  std::vector<std::string_view> symbols_;
  std::vector<Missing> missing_;
};

/// Lowers one graph into the computation that is being made. The graphs that its calls run are lowered by lowerings of
/// their own, wherever those calls ask for them.
class GraphLowering final : public GraphInliner {
 public:
  /// `around` lowers the graph that this one is inside of; null for the program.
  constexpr GraphLowering(const Graph& graph, LoweringTable table, hlo::Builder& builder, GraphLowering* around = nullptr)
      : graph_(graph),
        table_(table),
        builder_(builder),
        around_(around),
        context_(graph, builder, around == nullptr ? nullptr : &around->context_) {
    context_.set_inliner(*this);
    lowerings_.resize(static_cast<std::uint32_t>(graph.operators().size()));
    for (std::uint32_t i = 0; i < graph.node_count(); ++i)
      if (const OpId op = graph.node({i}).op; op != OpId{} && !lowerings_[op.index].valid())
        lowerings_[op.index] = table.find(operator_name(graph, {i}));
  }

  /// Says what an input is.
  constexpr void set_input(std::uint32_t input, hlo::Value value) {
    context_.set_values(graph_.inputs()[input].node, Span<const hlo::Value>(&value, 1));
  }
  /// Lowers all nodes that an output depends on.
  constexpr void run() {
    const Pool<std::uint8_t> is_live = live_nodes(graph_);
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i)
      if (is_live[i] != 0) lower_node({i});
  }
  /// What an output is; none for one that is no tensor.
  [[nodiscard]] constexpr auto output(std::size_t number) const -> hlo::Value {
    const Argument& a = graph_.arguments(graph_.output_node())[number];
    const Span<const hlo::Value> values = a.is_node() ? context_.values(a.node()) : Span<const hlo::Value>();
    if (values.empty()) return {};
    return values[0];
  }

  constexpr auto inline_graph(std::uint32_t number, Span<const hlo::Value> inputs) -> Pool<hlo::Value> final {
    Pool<hlo::Value> results;
    const Graph& inner = graph_.subgraphs()[number];
    const Call call(graph_, at_);
    if (inner.inputs().size() != inputs.size()) {
      context_.fail(call, DiagnosticCode::invalid_graph,
                    text_of("a graph of ", inner.inputs().size(), " inputs gets ", inputs.size()));
      return results;
    }
    if (count_graph() > most_graphs) {
      context_.unsupported(call, "graphs inside graphs are run too many times to be written out");
      return results;
    }
    GraphLowering lowering(inner, table_, builder_, this);
    for (std::uint32_t i = 0; i < inputs.size(); ++i) lowering.set_input(i, inputs[i]);
    lowering.run();
    for (std::size_t i = 0; i < inner.outputs().size(); ++i) results.push_back(lowering.output(i));
    set_metadata(call);
    return results;
  }

 private:
  /// Graphs that run each other twice over double with each level: one that was written to do so is not unrolled.
  static constexpr std::uint32_t most_graphs = 10000;

  [[nodiscard]] constexpr auto count_graph() -> std::uint32_t {
    return around_ == nullptr ? ++graphs_ : around_->count_graph();
  }
  constexpr void lower_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method) return;
    if (depends_on_failure(id)) return;
    const Call call(graph_, id, parameters_.of(graph_, node.op));
    at_ = id;
    set_metadata(call);
    table_.lower(lowerings_[node.op.index], context_, call);
    check_values(call);
  }
  /// Whether an operand has no value though it should, which has been said.
  [[nodiscard]] constexpr auto depends_on_failure(NodeId id) const -> bool {
    bool failed = false;
    graph_.for_each_operand(id, [&](NodeId operand) {
      const auto values = context_.values(operand);
      bool none_valid = graph_.tensor(operand) != nullptr || !values.empty();
      for (const hlo::Value& value : values) none_valid = none_valid && !value.valid();
      failed = failed || none_valid;
    });
    return failed;
  }
  constexpr void set_metadata(const Call& call) {
    const TextId trace = call.node().stack_trace;
    if (trace != last_trace_) {
      last_trace_ = trace;
      last_place_ = model_line(graph_, call.id());
    }
    builder_.set_metadata(call.name(), graph_.name(call.id()), last_place_.file, last_place_.line);
  }
  /// What was lowered has the shapes and dtypes that the program has: a wrong lowering is found here, at its node.
  constexpr void check_values(const Call& call) {
    const auto metas = graph_.values(call.id());
    const auto values = context_.values(call.id());
    if (is_functional_form(graph_, call.op())) return check_results(call);
    for (std::size_t i = 0; i < metas.size(); ++i) check_value(call, metas[i], i < values.size() ? values[i] : hlo::Value{});
    if (graph_.tensor(call.id()) != nullptr && values.empty())
      context_.fail(call, DiagnosticCode::invalid_hlo, "the lowering gives no value");
  }
  constexpr void check_value(const Call& call, const TensorMeta& meta, hlo::Value value) {
    if (!meta.known || !value.valid()) return;
    const hlo::Shape expected = context_.shape_of(meta);
    if (builder_.shape(value) == expected) return;
    context_.fail(call, DiagnosticCode::invalid_hlo,
                  text_of("the lowering gives ", builder_.shape(value), ", the program says ", expected));
  }
  /// Of a call without a write the lowering gives what the operator returns, and behind it each tensor that it writes.
  constexpr void check_results(const Call& call) {
    const Pool<std::uint32_t> counts = tensors_of_results(graph_, call.id());
    const auto values = context_.values(call.id());
    std::uint32_t wanted = 0;
    bool is_valid = true;
    for (std::uint32_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 1 && wanted < values.size()) check_value(call, graph_.values(call.id())[i], values[wanted]);
      wanted += counts[i];
    }
    for (const hlo::Value& value : values) is_valid = is_valid && value.valid();
    if (values.size() == wanted || !is_valid) return;
    context_.fail(call, DiagnosticCode::invalid_hlo,
                  text_of("the lowering gives ", values.size(), values.size() == 1 ? " value" : " values",
                          ", and what the operator returns and the new values of what it writes are ", wanted));
  }

  const Graph& graph_;
  LoweringTable table_;
  hlo::Builder& builder_;
  GraphLowering* around_;
  LoweringContext context_;
  Pool<LoweringId> lowerings_;  ///< by operator
  ParameterTable parameters_;
  NodeId at_;  ///< the node that is being lowered
  std::uint32_t graphs_ = 0;
  TextId last_trace_;
  SourcePlace last_place_;
};

/// Lowers a program.
[[nodiscard]] constexpr auto lower_program(const Graph& graph, LoweringTable table) -> Expected<LoweredModule> {
  Diagnostics obstacles = LoweringObstacles(graph, table).errors();
  if (!obstacles.empty()) return obstacles;
  Expected<Signature> signature = signature_of(graph);
  if (!signature) return std::move(signature).error();

  hlo::Builder builder("fxpass");
  GraphLowering lowering(graph, table, builder);
  for (std::uint32_t i = 0; i < signature->inputs.size(); ++i)
    if (const SignatureInput& input = signature->inputs[i]; input.tensor)
      lowering.set_input(i, builder.parameter(input.tensor->shape, input.name));
  lowering.run();
  Pool<hlo::Value> results;
  for (std::size_t i = 0; i < signature->outputs.size(); ++i)
    if (signature->outputs[i].tensor) results.push_back(lowering.output(i));
  for (const WriteBack& alias : signature->hlo_input_output_alias)
    builder.add_alias({alias.output, alias.input, hlo::Alias::Kind::must});
  builder.clear_metadata();
  Expected<hlo::Module> module = builder.finish(builder.tuple(results.view()));
  if (!module) return std::move(module).error();
  return LoweredModule{std::move(*module), std::move(*signature)};
}

/// One diagnostic for each element type that the target refuses, at the first instruction that has it.
template <LoweringTarget Target>
constexpr auto check_legality(const hlo::Module& module, const Target& target) -> Status {
  Diagnostics errors;
  std::array<bool, dtype_table.size()> is_refused{};
  for (const hlo::Instruction& i : module.instructions) {
    if (!module.shapes.is_array(i.shape)) continue;
    const DType dtype = module.shapes.dtype(i.shape);
    const std::string_view reason = target.reason_to_refuse(dtype);
    if (reason.empty() || std::exchange(is_refused[static_cast<std::size_t>(dtype)], true)) continue;
    const hlo::Metadata& from = module.metadata[i.metadata];
    Diagnostic d = Diagnostic::error(
        DiagnosticCode::illegal_for_target,
        text_of("a value is ", dtype_info(dtype).torch_name, "; ", target.name, " ", reason));
    d.node = i.opcode == hlo::Opcode::parameter ? module.text(i.name) : module.text(from.op_name);
    d.model = {Text(module.text(from.source_file)), from.source_line, 0};
    errors.add(std::move(d));
  }
  if (!errors.empty()) return errors;
  return {};
}

}  // namespace detail

/// Lowers a graph whatever is known of it. Callers that hold a `Module` use `lower(target)`, which sees to it that the
/// passes have run.
///
/// Errors, all that there are, each with its node and the line of the model: `missing_lowering`, once for
/// each operator; `symbolic_size`; `unsupported`, `eager_would_raise` and `missing_metadata` from lowerings;
/// `invalid_graph` where `verify` refuses the graph; `invalid_hlo` where a lowering does not give what the
/// program says; `illegal_for_target`, once for each
/// element type. Of a graph with missing lowerings or symbolic sizes nothing more is looked at. O(nodes +
/// what lowerings make).
template <LoweringTarget Target>
constexpr auto lower_graph(const Graph& graph, const Target& target, LoweringTable table = default_lowerings.table())
    -> Expected<LoweredModule> {
  // A pass may have left a graph that is none; what follows relies on it.
  if (Status sound = verify(graph); !sound) return std::move(sound).error();
  Expected<LoweredModule> lowered = detail::lower_program(graph, table);
  if (!lowered) return lowered;
  if (Status legal = detail::check_legality(lowered->module, target); !legal) return std::move(legal).error();
  return lowered;
}

/// What lowering needs to be true of a module.
using LoweringNeeds = facts<OnTargetDevice, MutationsSurfaced, OutOfPlace, KernelsConfigured, ReplicaGroupsResolved>;

namespace detail {

/// Why `T` is no target.
template <class T>
[[nodiscard]] consteval auto judge_target() {
  using namespace verdict;
  if constexpr (LoweringTarget<T>)
    return in_order();
  else if constexpr (!requires(const T& target) {
                       { target.name } -> std::convertible_to<std::string_view>;
                     })
    return not_a_target<T, has_no_name>();
  else if constexpr (!requires { &T::reason_to_refuse; })
    return not_a_target<T, has_no_reason_to_refuse>();
  else
    return not_a_target<T, reason_to_refuse_must_take_an_element_type_and_return_a_text>();
}

/// The verdict on lowering for `Target` by the lowerings of `List`.
template <class Target, class List>
using verdict_on_lower =
    typename std::conditional_t<decltype(judge_target<Target>())::ok, VerdictOnLowerings<List>,
                                std::type_identity<decltype(judge_target<Target>())>>::type;

/// The verdict on lowering a module with facts `Have` by `Who`.
template <class Have, class Who>
using lowering_meets = require_facts<LoweringNeeds, Have, Who, verdict::run_the_passes_of_get_default_pass_manager>;

}  // namespace detail

/// Lowers modules to a target; made by `lower`.
template <class Target>
class LowerTo {
 public:
  /// Lowers to `target` by the lowerings of `table`.
  constexpr LowerTo(const Target& target, LoweringTable table) : target_(target), table_(table) {}

  /// `Expected<LoweredModule>` for a module of which all needed facts are known to be true.
  template <AnyModule M>
  using Result =
      std::conditional_t<detail::lowering_meets<typename M::facts, LowerTo>::ok, Expected<LoweredModule>, Rejected>;

  /// The HLO of a module. A module of which a needed fact is not known to be true does not compile; errors
  /// are those of `lower_graph`.
  template <AnyModule M>
  constexpr auto operator()(const M& module) const -> Result<M> {
    using Verdict = detail::lowering_meets<typename M::facts, LowerTo>;
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    if constexpr (Verdict::ok)
      return lower_graph(module.graph(), target_, table_);
    else
      return Rejected();
  }
  /// For anything else: an error that says what to do.
  template <class T>
    requires(!AnyModule<T>)
  constexpr auto operator()(const T&) const -> Rejected {
    using Verdict = decltype(detail::judge_argument<LowerTo, T>());
    static_assert(sizeof(check_verdict<Verdict>) != 0);
    return Rejected();
  }

 private:
  Target target_;
  LoweringTable table_;
};

/// A function from modules to HLO for `target`, by the lowerings of `list`:
///
///     const auto lowered = program.and_then(get_default_pass_manager()).and_then(lower(neuron::trn2));
template <class Target, class List>
[[nodiscard]] constexpr auto lower(const Target& target, List list) {
  using Verdict = detail::verdict_on_lower<Target, List>;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok)
    return LowerTo<Target>(target, list.table());
  else
    return Rejected();
}
template <class Target>
[[nodiscard]] constexpr auto lower(const Target& target) {
  using Verdict = decltype(detail::judge_target<Target>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok)
    return LowerTo<Target>(target, default_lowerings.table());
  else
    return Rejected();
}

}  // namespace fxpass
