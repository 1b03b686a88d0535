// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

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

/// Lowers one graph.
class GraphLowering {
 public:
  constexpr GraphLowering(const Graph& graph, LoweringTable table)
      : graph_(graph), table_(table), builder_("fxpass"), context_(graph, builder_) {}

  [[nodiscard]] constexpr auto run() && -> Expected<LoweredModule> {
    check_sizes();
    find_lowerings();
    if (!errors_.empty()) return std::move(errors_);
    Expected<Signature> signature = signature_of(graph_);
    if (!signature) return std::move(signature).error();

    add_parameters(*signature);
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) lower_node({i});
    for (const WriteBack& alias : signature->hlo_input_output_alias)
      builder_.add_alias({alias.output, alias.input, hlo::Alias::Kind::must});
    builder_.clear_metadata();
    Expected<hlo::Module> module = builder_.finish(builder_.tuple(results(*signature).view()));
    if (!module) return std::move(module).error();
    return LoweredModule{std::move(*module), std::move(*signature)};
  }

 private:
  /// Names each symbol once, at the first node that has it.
  constexpr void check_sizes() {
    Pool<SymInt> named;
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i)
      for (const TensorMeta& meta : graph_.values({i})) {
        if (!meta.known) continue;
        for (const SymInt& size : graph_.sizes(meta)) {
          if (!size.is_symbolic() || is_named(named, size)) continue;
          named.push_back(size);
          errors_.add(error_at(graph_, {i}, DiagnosticCode::symbolic_size,
                               text_of("a size is ", graph_.expression(size),
                                       ", but HLO needs a number; bind its symbols")));
        }
      }
  }
  [[nodiscard]] constexpr auto is_named(const Pool<SymInt>& named, SymInt size) const -> bool {
    for (const SymInt& s : named)
      if (graph_.expression(s) == graph_.expression(size)) return true;
    return false;
  }

  /// One look-up an operator, and one diagnostic for each that has no lowering.
  constexpr void find_lowerings() {
    constexpr std::uint8_t not_asked = 0, asked = 1;
    lowerings_.resize(static_cast<std::uint32_t>(graph_.operators().size()));
    Pool<std::uint8_t> state;
    state.resize(lowerings_.size(), not_asked);
    std::vector<Missing> missing;
    const bool has_symbols = !errors_.empty();
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.node({i});
      if (node.kind == NodeKind::placeholder || node.kind == NodeKind::output) continue;
      if (node.kind == NodeKind::get_attr || node.kind == NodeKind::call_module) {
        refuse(node, {i});
        continue;
      }
      if (state[node.op.index] == not_asked) {
        state[node.op.index] = asked;
        lowerings_[node.op.index] = table_.find(operator_name({i}));
      }
      // What computes sizes is gone when they are numbers.
      const bool is_size = node.value_kind == ValueKind::sym_int || node.value_kind == ValueKind::scalar;
      if (!lowerings_[node.op.index].valid() && !(is_size && has_symbols)) add_missing(missing, {i});
    }
    for (const Missing& m : missing)
      errors_.add(error_at(graph_, m.first, DiagnosticCode::missing_lowering,
                           text_of("no lowering for ", m.op, ", called ", m.count, m.count == 1 ? " time: " : " times: ",
                                   m.nodes)));
  }
  struct Missing {
    std::string_view op;
    NodeId first;
    std::uint32_t count = 0;
    Text nodes;
  };
  constexpr void add_missing(std::vector<Missing>& missing, NodeId id) const {
    constexpr std::uint32_t longest_list = 8;
    const std::string_view name = operator_name(id);
    std::size_t at = 0;
    while (at < missing.size() && missing[at].op != name) ++at;
    if (at == missing.size()) missing.push_back({name, id, 0, {}});
    Missing& m = missing[at];
    ++m.count;
    if (m.count <= longest_list) append_all(m.nodes, m.count == 1 ? "" : ", ", graph_.name(id));
    if (m.count == longest_list + 1) append_to(m.nodes, ", ...");
  }
  /// "aten.add.Tensor"; of an operator without schema what `torch.ops` calls it, or its Python name.
  [[nodiscard]] constexpr auto operator_name(NodeId id) const -> std::string_view {
    std::string_view name = Call(graph_, id).name();
    if (name.starts_with("torch.ops.")) name.remove_prefix(10);
    return name;
  }
  constexpr void refuse(const Node& node, NodeId id) {
    if (node.kind == NodeKind::get_attr) {
      // A subgraph, say, is the business of whoever reads it.
      if (node.value_kind == ValueKind::tensor)
        errors_.add(error_at(graph_, id, DiagnosticCode::unsupported,
                             text_of("tensor attribute ", graph_.target(id), " is not an input of the graph")));
    } else {
      errors_.add(error_at(graph_, id, DiagnosticCode::missing_lowering,
                           text_of("no lowering for a call of module ", graph_.target(id))));
    }
  }

  constexpr void add_parameters(const Signature& signature) {
    for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
      const SignatureInput& input = signature.inputs[i];
      if (!input.tensor) continue;
      const hlo::Value parameter = builder_.parameter(input.tensor->shape, input.name);
      context_.set_values(graph_.inputs()[i].node, Span<const hlo::Value>(&parameter, 1));
    }
  }
  constexpr void lower_node(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind != NodeKind::call_function && node.kind != NodeKind::call_method) return;
    if (depends_on_failure(id)) return;
    const Call call(graph_, id, parameters_.of(graph_, node.op));
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
    for (std::size_t i = 0; i < metas.size(); ++i) {
      if (!metas[i].known) continue;
      const hlo::Value value = i < values.size() ? values[i] : hlo::Value{};
      if (!value.valid()) continue;
      const hlo::Shape expected = context_.shape_of(metas[i]);
      if (builder_.shape(value) == expected) continue;
      context_.fail(call, DiagnosticCode::invalid_hlo,
                    text_of("the lowering gives ", builder_.shape(value), ", the program says ", expected));
    }
    if (graph_.tensor(call.id()) != nullptr && values.empty())
      context_.fail(call, DiagnosticCode::invalid_hlo, "the lowering gives no value");
  }
  [[nodiscard]] constexpr auto results(const Signature& signature) const -> Pool<hlo::Value> {
    Pool<hlo::Value> list;
    const auto values = graph_.arguments(graph_.output_node());
    for (std::size_t i = 0; i < signature.outputs.size(); ++i) {
      if (!signature.outputs[i].tensor) continue;
      const auto value = context_.values(values[i].node());
      list.push_back(value.empty() ? hlo::Value{} : value[0]);
    }
    return list;
  }

  const Graph& graph_;
  LoweringTable table_;
  hlo::Builder builder_;
  LoweringContext context_;
  Diagnostics errors_;
  Pool<LoweringId> lowerings_;  ///< by operator
  ParameterTable parameters_;
  TextId last_trace_;
  SourcePlace last_place_;
};

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
  Expected<LoweredModule> lowered = detail::GraphLowering(graph, table).run();
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
