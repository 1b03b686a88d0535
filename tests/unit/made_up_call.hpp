// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/builder.hpp>
#include <fxpass/lower/lower.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

// Every lowering of the library on a call that is made up from the operator's schema.

namespace made_up {

using namespace fxpass;

constexpr auto entries = default_lowerings.table().entries();

constexpr auto has_part(std::string_view text, std::string_view part) -> bool {
  return text.find(part) != std::string_view::npos;
}

/// How many dimensions the tensors of the call have, each of size 2.
constexpr auto rank_for(std::string_view op) -> std::uint32_t {
  if (has_part(op, "3d")) return 5;
  if (has_part(op, "2d") || has_part(op, "_norm") || has_part(op, "aten.conv")) return 4;
  return has_part(op, "1d") || op == "aten.bmm" || op == "aten.baddbmm" ? 3 : op == "aten.dot" ? 1 : 2;
}
constexpr auto dtype_for(std::string_view op) -> DType {
  return op.starts_with("aten.bitwise") || op.starts_with("aten.__") ? DType::i64 : DType::f32;
}

/// What a call gives for parameters that have a default: nothing; or true for bools, and a tensor where there
/// may be one.
enum class Options : std::uint8_t { left_out, given };

/// Makes a call of an operator up.
class MadeUpCall {
 public:
  constexpr MadeUpCall(std::string_view op, Options options) : options_(options), dtype_(dtype_for(op)) {
    sizes_.resize(rank_for(op), 2);
  }

  constexpr auto make(std::string_view op) -> Graph {
    const ops::CatalogRow row = overload_of(op);
    const ops::Schema schema = ops::schema(row);
    Pool<Argument> arguments;
    ops::ParameterReader reader = schema.parameters();
    for (auto p = reader.next(); p; p = reader.next())
      if (!p->has_default || (options_ == Options::given && (p->type == "bool" || p->is_tensor())))
        arguments.push_back(value_of(*p));
    if (op == "torch.tensor") arguments.push_back(b_.list({b_.list({0.5, 1.5}), b_.list({2.5, 3.5})}));
    Text target = op;
    if (row != ops::no_row) target = text_of("torch.ops.", schema.name());
    const NodeId call = b_.call_function(target, arguments.view(), result_of(schema));
    Graph graph = std::move(b_).finish();
    constexpr std::int64_t ranks[] = {0, 1};
    graph.mutable_node(call).replica_groups = graph.add_partition(ranks, 2);
    return graph;
  }

 private:
  /// The overload `op`, or the plain one of operator `op`, or any.
  static constexpr auto overload_of(std::string_view op) -> ops::CatalogRow {
    const ops::CatalogRow simple = ops::find_overload(text_of(op, op == "aten.where" ? ".self" : ".default"));
    if (simple != ops::no_row) return simple;
    const ops::OverloadSet overloads = ops::find_overloads(op);
    return overloads.empty() ? ops::find_overload(op) : overloads.first;
  }
  constexpr auto tensor(DType dtype) -> ValueSpec { return b_.tensor(dtype, sizes_.view()); }
  constexpr auto input(DType dtype) -> Argument { return b_.placeholder("x", tensor(dtype)); }
  constexpr auto result_of(const ops::Schema& schema) -> ValueSpec {
    Pool<ValueSpec> members;
    const std::uint32_t count = schema.empty() ? 1 : schema.return_count();  // without one: torch.tensor
    for (std::uint32_t i = 0; i < count; ++i) members.push_back(tensor(dtype_));
    if (members.empty()) return {};
    return members.size() == 1 ? members[0] : b_.tuple(members.view());
  }
  constexpr auto value_of(const ops::Parameter& p) -> Argument {
    Argument value = any_value_of(p);
    return p.keyword_only || p.has_default ? b_.keyword(p.name, value) : value;
  }
  constexpr auto any_value_of(const ops::Parameter& p) -> Argument {
    const bool is_index = p.name.starts_with("ind") || p.name == "src";
    if (p.is_tensor() || (p.type == "Any" && p.name == "self")) return input(is_index ? DType::i64 : dtype_);
    if (p.is_tensor_list()) return b_.list({input(is_index ? DType::i64 : dtype_)});
    const std::string_view type = p.type;
    if (type.starts_with("int[") || type.starts_with("SymInt[")) return numbers(p.name);
    if (type == "Any" && p.name == "index") return 0;
    if (type.starts_with("int") || type.starts_with("SymInt"))
      return p.name == "dim" ? 0 : p.name == "group_size" ? 2 : 1;
    if (type.starts_with("float") || type.starts_with("Scalar")) return 0.5;
    if (type == "bool") return options_ == Options::given;
    if (type == "bool[3]") return b_.list({true, true, true});
    if (type.starts_with("str")) return b_.string("sum");
    return {};
  }
  /// Places of dimensions are all of them, sizes and shapes those of the tensors, paddings nothing, the
  /// rest 1.
  constexpr auto numbers(std::string_view name) -> Argument {
    Pool<Argument> list;
    const bool is_window =
        name == "kernel_size" || name == "stride" || name == "dilation" || name == "output_size";
    const bool is_padding = name.starts_with("pad") || name == "output_padding";
    const std::size_t count = is_window || is_padding ? sizes_.size() - 2 : sizes_.size();
    for (std::uint32_t i = 0; i < count; ++i)
      list.push_back(name.starts_with("dim") ? Argument(i) : Argument(is_padding ? 0 : is_window ? 1 : 2));
    return b_.list(list.view());
  }

  Options options_;
  DType dtype_;
  GraphBuilder b_;
  Pool<SymInt> sizes_;
};

/// Whether the lowering came to its end: with HLO, or with a value of a shape that the made-up metadata does
/// not have.
constexpr auto is_lowered(std::string_view op, Options options) -> bool {
  const auto module = lower_graph(MadeUpCall(op, options).make(op), xla);
  return module || module.error().front().code == DiagnosticCode::invalid_hlo;
}

// A constant for each, so that each has the whole of the steps that compilers allow. The name is copied: some
// are template arguments, in which g++ 12 finds nothing in constant expressions under -fsanitize=undefined.
template <Options Given, std::size_t I>
constexpr bool is_lowered_at_compile_time = is_lowered(Text(entries[I].op), Given);
/// For each entry whether it is lowered in constant evaluation.
template <Options Given>
constexpr auto at_compile_time = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<bool, sizeof...(I)>{is_lowered_at_compile_time<Given, I>...};
}(std::make_index_sequence<entries.size()>());

/// Whether the running program lowers the same operators, and but for one in twenty all of them: `einsum`,
/// say, asks for an equation, and no schema tells how it looks.
template <Options Given>
auto agrees_with_run_time() -> bool {
  std::size_t lowered = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_lowered(entries[i].op, Given) != at_compile_time<Given>[i]) return false;
    if (at_compile_time<Given>[i]) ++lowered;
  }
  return 20 * lowered >= 19 * entries.size();
}

}  // namespace made_up
