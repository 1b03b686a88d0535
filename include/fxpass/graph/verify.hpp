// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/call.hpp>
#include <fxpass/graph/names.hpp>
#include <fxpass/support/expected.hpp>

#include <cstdint>
#include <string_view>

/// @file
/// `verify(graph)`: the invariants of `Graph`, checked. Each rule is stated by the message of its violation.

namespace fxpass {

constexpr auto verify(const Graph& graph) -> Status;

namespace detail {

/// Checks one graph. References are checked before they are followed, so that no graph, however broken, is
/// read out of bounds; what hangs on a broken reference is not looked at.
class GraphVerifier {
 public:
  constexpr explicit GraphVerifier(const Graph& graph) : graph_(graph) {
    seen_arguments_.resize(graph.argument_count(), 0);
    last_written_by_.resize(static_cast<std::uint32_t>(graph.inputs().size()), no_input);
  }

  constexpr auto run() && -> Status {
    check_placeholders_and_output();
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) check_node(NodeId{i});
    check_inputs();
    check_outputs();
    check_size_ranges();
    check_partitions();
    check_subgraphs();
    return std::move(found_);
  }

 private:
  // Findings ------------------------------------------------------------------------------------------------
  template <class... Parts>
  constexpr void report(const Parts&... parts) {
    found_.add(Diagnostic::error(DiagnosticCode::invalid_graph, text_of(parts...)));
  }
  template <class... Parts>
  constexpr void report_at(NodeId id, const Parts&... parts) {
    const Node& n = graph_.node(id);
    if (graph_.holds(n.name.base) && graph_.holds(n.stack_trace))
      found_.add(error_at(graph_, id, DiagnosticCode::invalid_graph, text_of(parts...)));
    else
      report("node ", id.index, ": ", parts...);
  }

  // Nodes ---------------------------------------------------------------------------------------------------
  constexpr void check_placeholders_and_output() {
    const std::uint32_t count = graph_.node_count();
    if (count == 0) return report("the graph has no output node");
    bool placeholders_over = false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const NodeKind kind = graph_.nodes()[i].kind;
      if (kind != NodeKind::placeholder)
        placeholders_over = true;
      else if (placeholders_over)
        report_at(NodeId{i}, "a placeholder stands behind other nodes; placeholders come first");
      if (kind == NodeKind::output && i + 1 != count)
        report_at(NodeId{i}, "the output node is not the last node");
    }
    if (graph_.nodes()[count - 1].kind != NodeKind::output)
      report_at(NodeId{count - 1}, "the last node is not the output node");
  }

  constexpr void check_node(NodeId id) {
    const Node& n = graph_.node(id);
    if (graph_.holds(n.name.base))
      check_name(id);
    else
      report_at(id, "its name is no text of the graph");
    if (!graph_.holds(n.stack_trace)) report_at(id, "its stack trace is no text of the graph");
    if (!graph_.holds(n.target)) report_at(id, "its target is no text of the graph");
    if (!graph_.holds(n.op))
      report_at(id, "its operator is no record of the graph");
    else if (graph_.holds(n.target))
      check_operator(id);
    if (n.replica_groups > graph_.partitions().size())
      report_at(id, "its replica groups are no record of the graph");
    check_arguments(id);
    check_values(id);
  }

  /// Names are compared as they are printed: ("add", 2) and ("add_1", 0) are the same name.
  constexpr void check_name(NodeId id) {
    const Text name = graph_.name(id);
    if (name.empty()) return report_at(id, "a node has no name");
    const std::uint64_t h = hash(name);
    const std::uint32_t other =
        names_.find(h, [&](std::uint32_t i) { return graph_.name(NodeId{i}) == name; });
    if (other == IdTable::absent)
      names_.insert(h, id.index);
    else
      report_at(id, "nodes ", other, " and ", id.index, " have the same name");
  }

  constexpr void check_operator(NodeId id) {
    const Node& n = graph_.node(id);
    const bool has_operator = n.kind == NodeKind::call_function || n.kind == NodeKind::call_method;
    if (!has_operator) {
      if (n.op != OpId{}) report_at(id, "only call_function and call_method nodes have an operator");
      return;
    }
    const Operator& o = graph_.op(id);
    if (n.op == OpId{})
      report_at(id, "a call has no operator");
    else if (o.kind != n.kind || !graph_.holds(o.spelling) || graph_.text(o.spelling) != graph_.target(id))
      report_at(id, "its operator is that of another target");
  }

  // Arguments -----------------------------------------------------------------------------------------------
  constexpr void check_arguments(NodeId id) {
    const Node& n = graph_.node(id);
    if (!graph_.holds_arguments(n.arguments))
      return report_at(id, "its arguments are no records of the graph");
    if (n.kind == NodeKind::placeholder && n.arguments.count > 1)
      report_at(id, "a placeholder has at most one argument, its default");
    if (n.kind == NodeKind::get_attr && n.arguments.count != 0)
      report_at(id, "a get_attr node has arguments");
    if (n.kind == NodeKind::call_method && (n.arguments.empty() || graph_.arguments(id)[0].is_keyword()))
      report_at(id, "a method is called without an object");
    bool keywords_begun = false;
    for (const Argument& a : graph_.arguments(id)) {
      if (a.is_keyword()) {
        keywords_begun = true;
        check_keyword(id, a);
        if (n.kind == NodeKind::output) report_at(id, "an output has a keyword");
      } else if (keywords_begun) {
        report_at(id, "a positional argument stands behind a keyword argument");
      }
    }
    check_members(id, n.arguments);
  }

  constexpr void check_keyword(NodeId id, const Argument& a) {
    if (!graph_.holds(a.keyword())) return report_at(id, "a keyword is no text of the graph");
    const std::string_view keyword = graph_.text(a.keyword());
    const std::uint64_t h = hash(keyword);
    const std::uint32_t known =
        keyword_table_.find(h, [&](std::uint32_t i) { return graph_.text(keywords_[i].text) == keyword; });
    if (known == IdTable::absent)
      keyword_table_.insert(h, keywords_.push_back({a.keyword(), id}));
    else if (keywords_[known].last_node == id)
      report_at(id, "keyword ", keyword, " is given twice");
    else
      keywords_[known].last_node = id;
  }

  /// Arguments, or members of a group, each of which has one owner: an edit renumbers the nodes in it once.
  constexpr void check_members(NodeId id, Range members) {
    for (std::uint32_t i = members.begin; i < members.end(); ++i) {
      if (seen_arguments_[i] != 0)
        return report_at(id, "it shares arguments with another node, or with itself");
      seen_arguments_[i] = 1;
    }
    for (const Argument& a : graph_.arguments_in(members)) check_argument(id, a);
  }

  constexpr void check_argument(NodeId id, const Argument& a) {
    switch (a.kind()) {
      case ArgumentKind::node:
        if (!graph_.holds(a.node()))
          report_at(id, "an operand is no node of the graph; it was erased while it was used");
        else if (a.node() >= id)
          report_at(id, "operand ", printed_name(a.node()), " does not precede its user");
        else if (graph_.node(a.node()).kind == NodeKind::output)
          report_at(id, "an operand is the output node");
        break;
      case ArgumentKind::string:
      case ArgumentKind::operation:
        if (!graph_.holds(a.text())) report_at(id, "a string argument is no text of the graph");
        break;
      case ArgumentKind::sym_int:
        if (!graph_.holds(a.sym_int())) report_at(id, "a symbolic argument is no expression of the graph");
        break;
      case ArgumentKind::device:
        if (!graph_.holds(a.device())) report_at(id, "a device argument is no device of the graph");
        break;
      case ArgumentKind::subgraph:
        if (a.subgraph() >= graph_.subgraphs().size())
          report_at(id, "an argument is no subgraph of the graph");
        break;
      case ArgumentKind::list:
      case ArgumentKind::tuple:
      case ArgumentKind::dict:
      case ArgumentKind::slice:
      case ArgumentKind::complex: check_group(id, a); break;
      case ArgumentKind::none:
      case ArgumentKind::integer:
      case ArgumentKind::real:
      case ArgumentKind::boolean:
      case ArgumentKind::dtype:
      case ArgumentKind::layout:
      case ArgumentKind::memory_format:
      case ArgumentKind::ellipsis: break;
    }
  }

  constexpr void check_group(NodeId id, const Argument& a) {
    if (!graph_.holds_arguments(a.children()))
      return report_at(id, "members of an argument are no records of the graph");
    const auto members = graph_.children(a);
    for (const Argument& member : members)
      if (member.is_keyword()) report_at(id, "a member of an argument has a keyword");
    if (a.is(ArgumentKind::slice) && members.size() != 3) report_at(id, "a slice has start, stop and step");
    if (a.is(ArgumentKind::complex)) {
      const auto is_number = [](const Argument& m) {
        return m.is(ArgumentKind::integer) || m.is(ArgumentKind::real);
      };
      if (members.size() != 2 || !is_number(members[0]) || !is_number(members[1]))
        report_at(id, "a complex number has a real and an imaginary part");
    }
    if (a.is(ArgumentKind::dict)) {
      if (members.size() % 2 != 0) report_at(id, "a dict has a value for each key");
      for (std::size_t k = 0; k < members.size(); k += 2)
        if (members[k].is_node() || members[k].is_group())
          report_at(id, "a key of a dict is a node or a container");
    }
    check_members(id, a.children());
  }

  // Metadata ------------------------------------------------------------------------------------------------
  constexpr void check_values(NodeId id) {
    const Node& n = graph_.node(id);
    if (!graph_.holds_values(n.values)) return report_at(id, "its metadata is no record of the graph");
    if (n.value_kind == ValueKind::tensor && n.values.count > 1)
      report_at(id, "a tensor has metadata of several tensors");
    if (n.value_kind != ValueKind::tensor && n.value_kind != ValueKind::tuple && n.values.count != 0)
      report_at(id, "a value that holds no tensor has metadata of one");
    for (const TensorMeta& meta : graph_.values(id))
      if (meta.known) check_meta(id, meta);
    check_member_of_tuple(id);
  }

  constexpr void check_meta(NodeId id, const TensorMeta& meta) {
    if (!graph_.holds(meta.device)) report_at(id, "its device is no device of the graph");
    if (!graph_.holds_dims(meta)) return report_at(id, "its sizes and strides are no records of the graph");
    if (!graph_.holds(meta.storage_offset)) report_at(id, "its storage offset is no expression of the graph");
    for (const SymInt size : graph_.sizes(meta)) {
      if (!graph_.holds(size))
        report_at(id, "a size is no expression of the graph");
      else if (!size.is_symbolic() && size.value() < 0)
        report_at(id, "a size is negative");
    }
    for (const SymInt stride : graph_.strides(meta))
      if (!graph_.holds(stride)) report_at(id, "a stride is no expression of the graph");
  }

  /// `operator.getitem` of a tuple hands out one of its members.
  constexpr void check_member_of_tuple(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.kind != NodeKind::call_function || n.arguments.count != 2 || !graph_.holds_arguments(n.arguments) ||
        !graph_.holds(n.target) || graph_.target(id) != "operator.getitem")
      return;
    const auto arguments = graph_.arguments(id);
    if (!arguments[0].is_node() || arguments[0].node() >= id || !arguments[1].is(ArgumentKind::integer))
      return;
    const Node& tuple = graph_.node(arguments[0].node());
    if (tuple.value_kind != ValueKind::tuple || !graph_.holds_values(tuple.values)) return;
    const std::int64_t count = tuple.values.count;
    const std::int64_t given = arguments[1].integer();
    const std::int64_t index = given < 0 ? given + count : given;
    if (index < 0 || index >= count)
      return report_at(id, "member ", given, " of a tuple of ", count, " is read");
    const TensorMeta* const mine = graph_.tensor(id);
    const TensorMeta& member = graph_.values(arguments[0].node())[static_cast<std::size_t>(index)];
    if (mine != nullptr && member.known && comparable(*mine) && comparable(member) &&
        !same_shape(*mine, member))
      report_at(id, "its dtype or sizes are not those of the tuple's member");
  }

  [[nodiscard]] constexpr auto comparable(const TensorMeta& meta) const -> bool {
    if (!graph_.holds_dims(meta)) return false;
    for (const SymInt size : graph_.sizes(meta))
      if (!graph_.holds(size)) return false;
    return true;
  }
  [[nodiscard]] constexpr auto same_shape(const TensorMeta& a, const TensorMeta& b) const -> bool {
    if (a.dtype != b.dtype || a.rank != b.rank) return false;
    for (std::uint32_t i = 0; i < a.rank; ++i) {
      const SymInt x = graph_.sizes(a)[i];
      const SymInt y = graph_.sizes(b)[i];
      if (x.is_symbolic() != y.is_symbolic()) return false;
      if (x.is_symbolic() ? graph_.expression(x) != graph_.expression(y) : x != y) return false;
    }
    return true;
  }

  // Inputs and outputs --------------------------------------------------------------------------------------
  constexpr void check_inputs() {
    const auto inputs = graph_.inputs();
    std::uint32_t placeholders = 0;
    for (const Node& n : graph_.nodes()) placeholders += n.kind == NodeKind::placeholder ? 1 : 0;
    if (placeholders != inputs.size())
      report("the graph has ", placeholders, " placeholders and ", inputs.size(), " inputs");
    for (std::uint32_t i = 0; i < inputs.size(); ++i) {
      const InputSpec& input = inputs[i];
      if (input.node != NodeId{i} || !graph_.holds(input.node) ||
          graph_.node(input.node).kind != NodeKind::placeholder)
        report("input ", i, " does not name placeholder ", i);
      if (!graph_.holds(input.target)) report("the target of input ", i, " is no text of the graph");
      if (input.constant.is_node() || input.constant.is_group())
        report("the constant of input ", i, " is not a single value");
    }
  }

  constexpr void check_outputs() {
    const auto outputs = graph_.outputs();
    const std::uint32_t count = graph_.node_count();
    if (count == 0 || graph_.node(graph_.output_node()).kind != NodeKind::output) return;
    const NodeId id = graph_.output_node();
    if (!graph_.holds_arguments(graph_.node(id).arguments)) return;
    const auto values = graph_.arguments(id);
    if (values.size() != outputs.size())
      return report_at(id, "the output node has ", values.size(), " values and the graph ", outputs.size(),
                       " outputs");
    bool own_over = false;
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      const OutputSpec& output = outputs[i];
      if (!is_returned(output.kind))
        own_over = true;
      else if (own_over)
        report_at(id, "output ", i, ", which the program returns, stands behind outputs that tracing added");
      if (!graph_.holds(output.target)) report_at(id, "the target of output ", i, " is no text of the graph");
      if (is_mutation(output.kind))
        check_mutation(id, i, values[i]);
      else if (output.input != no_input && output.input >= graph_.inputs().size())
        report_at(id, "output ", i, " names input ", output.input, ", which the graph has not");
    }
  }

  constexpr void check_mutation(NodeId id, std::uint32_t index, const Argument& value) {
    const OutputSpec& output = graph_.outputs()[index];
    if (output.input >= graph_.inputs().size())
      return report_at(id, "output ", index, " is a mutation of an input which the graph has not");
    if (last_written_by_[output.input] != no_input)
      report_at(id, "outputs ", last_written_by_[output.input], " and ", index,
                " are both the new value of input ", output.input);
    last_written_by_[output.input] = index;
    if (!value.is_node())
      return report_at(id, "output ", index, " is the new value of an input, but no node");
    const InputSpec& input = graph_.inputs()[output.input];
    const bool kinds_agree =
        output.kind == OutputKind::parameter_mutation ? input.kind == InputKind::parameter
        : output.kind == OutputKind::user_input_mutation
            ? input.kind == InputKind::user_input
            : input.kind == InputKind::buffer || input.kind == InputKind::tensor_constant;
    if (!kinds_agree)
      report_at(id, "output ", index, " is a ", to_string(output.kind), " of a ", to_string(input.kind));
    if (!readable_tensor(value.node()) || !readable_tensor(input.node)) return;
    if (!same_shape(*graph_.tensor(value.node()), *graph_.tensor(input.node)))
      report_at(id, "output ", index, " differs in dtype or sizes from input ", output.input,
                ", whose new value it is");
  }
  [[nodiscard]] constexpr auto readable_tensor(NodeId id) const -> bool {
    if (!graph_.holds(id) || !graph_.holds_values(graph_.node(id).values)) return false;
    const TensorMeta* const meta = graph_.tensor(id);
    return meta != nullptr && comparable(*meta);
  }

  constexpr void check_size_ranges() {
    for (const SizeRange& range : graph_.size_ranges()) {
      if (!graph_.holds(range.expression) || range.expression == TextId{})
        report("a range is one of no symbolic size");
      else if (range.min > range.max)
        report("the size ", graph_.text(range.expression), " is at least ", range.min, " and at most ", range.max);
    }
  }

  // Partitions and subgraphs --------------------------------------------------------------------------------
  constexpr void check_partitions() {
    const auto partitions = graph_.partitions();
    for (std::uint32_t i = 0; i < partitions.size(); ++i) {
      const Partition& p = partitions[i];
      if (!graph_.holds_ranks(p)) {
        report("the ranks of partition ", i, " are no records of the graph");
        continue;
      }
      if (p.group_size == 0 || p.ranks.empty() || p.ranks.count % p.group_size != 0) {
        report("partition ", i, " has ", p.ranks.count, " ranks in groups of ", p.group_size);
        continue;
      }
      Pool<std::uint8_t> seen;
      seen.resize(p.ranks.count, 0);
      for (const std::int64_t rank : graph_.ranks(p)) {
        if (rank < 0 || rank >= p.ranks.count)
          report("partition ", i, " of ", p.ranks.count, " ranks holds rank ", rank);
        else if (seen[static_cast<std::uint32_t>(rank)]++ != 0)
          report("partition ", i, " holds rank ", rank, " twice");
      }
    }
  }

  constexpr void check_subgraphs() {
    for (std::uint32_t i = 0; i < graph_.subgraphs().size(); ++i) {
      Status status = verify(graph_.subgraphs()[i]);
      if (!status) found_.add(in_subgraph(i, std::move(status).error()));
    }
  }

  [[nodiscard]] constexpr auto printed_name(NodeId id) const -> Text {
    if (graph_.holds(graph_.node(id).name.base)) return graph_.name(id);
    return text_of("node ", id.index);
  }

  struct Keyword {
    TextId text;
    NodeId last_node;
  };

  const Graph& graph_;
  Diagnostics found_;
  IdTable names_;
  IdTable keyword_table_;
  Pool<Keyword> keywords_;
  Pool<std::uint8_t> seen_arguments_;
  Pool<std::uint32_t> last_written_by_;  ///< for each input the output that is its new value
};

}  // namespace detail

/// Whether `graph` keeps every invariant of `Graph`; else all violations, each with its node. Safe for any
/// graph, however broken. Error: `invalid_graph`. O(nodes + arguments + metadata + names).
[[nodiscard]] constexpr auto verify(const Graph& graph) -> Status {
  return detail::GraphVerifier(graph).run();
}

}  // namespace fxpass
