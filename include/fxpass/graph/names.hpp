// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/functional_form.hpp>
#include <fxpass/graph/resolve.hpp>
#include <fxpass/ops/custom_operators.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// The tables a graph is built and edited with: texts stored once, unique node names, operators resolved once. They
/// live beside the graph, not in it, so that a finished graph carries no hash tables.

namespace fxpass {

namespace detail {
[[nodiscard]] constexpr auto byte(char c, std::uint32_t place) -> std::uint64_t {
  return std::uint64_t{static_cast<unsigned char>(c)} << (8 * place);
}
/// Eight characters a step, of which compilers make one load: names are hashed over and over.
[[nodiscard]] constexpr auto hash(std::string_view text) -> std::uint64_t {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ULL;  // odd, its bits without pattern: 2^64 / golden ratio
  std::uint64_t h = text.size();
  while (text.size() >= 8) {
    const char* const c = text.data();
    h ^= byte(c[0], 0) | byte(c[1], 1) | byte(c[2], 2) | byte(c[3], 3) | byte(c[4], 4) | byte(c[5], 5) |
         byte(c[6], 6) | byte(c[7], 7);
    h *= factor;
    h ^= h >> 32U;
    text.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  for (const char c : text) rest = rest << 8U | static_cast<unsigned char>(c);
  h = (h ^ rest) * factor;
  return h ^ h >> 32U;
}

/// An open-addressing table of 32-bit ids, keyed by whatever the caller hashes and compares.
class IdTable {
 public:
  static constexpr std::uint32_t absent = 0xffffffffU;

  /// The id for which `equal(id)` holds among those hashed to `hash`, or `absent`. Expected O(1).
  template <class Equal>
  [[nodiscard]] constexpr auto find(std::uint64_t hash, Equal&& equal) const -> std::uint32_t {
    if (slots_.empty()) return absent;
    const std::uint32_t mask = slots_.size() - 1;
    for (std::uint32_t i = static_cast<std::uint32_t>(hash) & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.id == absent) return absent;
      if (slot.hash == static_cast<std::uint32_t>(hash >> 32U) && equal(slot.id)) return slot.id;
    }
  }
  /// Makes room for `count` ids.
  constexpr void reserve(std::uint32_t count) {
    std::uint32_t size = first_size;
    while (size < 2 * count) size *= 2;
    if (size > slots_.size()) grow(size);
  }
  /// Adds an id that `find` did not find.
  constexpr void insert(std::uint64_t hash, std::uint32_t id) {
    if (used_ * 2 >= slots_.size()) grow(slots_.empty() ? first_size : slots_.size() * 2);
    place(hash, id);
    ++used_;
  }

 private:
  struct Slot {
    std::uint32_t low = 0;  ///< low half of the hash, to place it again
    std::uint32_t hash = 0;
    std::uint32_t id = absent;
  };
  constexpr void place(std::uint64_t hash, std::uint32_t id) {
    const std::uint32_t mask = slots_.size() - 1;
    std::uint32_t i = static_cast<std::uint32_t>(hash) & mask;
    while (slots_[i].id != absent) i = (i + 1) & mask;
    slots_[i] = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32U), id};
  }
  static constexpr std::uint32_t first_size = 16;  // as are the others, a power of two
  constexpr void grow(std::uint32_t size) {
    Pool<Slot> old = static_cast<Pool<Slot>&&>(slots_);
    slots_.resize(size);
    for (const Slot& slot : old)
      if (slot.id != absent) place(std::uint64_t{slot.hash} << 32U | slot.low, slot.id);
  }

  Pool<Slot> slots_;
  std::uint32_t used_ = 0;
};
}  // namespace detail

/// Names that `torch.fx` gives to no call, because the Python code of a graph needs them otherwise: keywords, builtins,
/// and what that code imports. Sorted.
inline constexpr std::string_view reserved_names[] = {
    "Ellipsis", "False", "None", "NoneType", "NotImplemented", "True", "abs", "aiter", "all", "and", "anext",
    "any", "as", "ascii", "assert", "async", "await", "bin", "bool", "break", "breakpoint", "bytearray",
    "bytes", "callable", "chr", "class", "classmethod", "compile", "complex", "continue", "copyright",
    "credits", "def", "del", "delattr", "device", "dict", "dir", "divmod", "elif", "else", "enumerate", "eval",
    "except", "exec", "exit", "filter", "finally", "float", "for", "format", "from", "frozenset", "fx_pytree",
    "getattr", "global", "globals", "hasattr", "hash", "help", "hex", "id", "if", "import", "in", "inf",
    "input", "int", "is", "isinstance", "issubclass", "iter", "lambda", "len", "license", "list", "locals",
    "map", "math", "max", "memoryview", "min", "nan", "next", "nonlocal", "not", "object", "oct", "open",
    "operator", "or", "ord", "pass", "pow", "print", "property", "pytree", "quit", "raise", "range", "repr",
    "return", "reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod", "str", "sum", "super",
    "torch", "try", "tuple", "type", "vars", "while", "with", "yield", "zip",
};
/// Whether `name` is one of them. O(log names).
[[nodiscard]] constexpr auto is_reserved_name(std::string_view name) -> bool {
  std::size_t low = 0;
  std::size_t high = std::size(reserved_names);
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (reserved_names[middle] == name) return true;
    if (reserved_names[middle] < name)
      low = middle + 1;
    else
      high = middle;
  }
  return false;
}

/// The name that FX gives to a call of `target` before it makes it unique: `add` for `torch.ops.aten.add.Tensor`, `iadd`
/// for method `__iadd__`, `sum_1` for `torch.sum`.
[[nodiscard]] constexpr auto default_name(std::string_view target) -> Text {
  std::string_view name =
      ops::last_name(target.starts_with("torch.ops.") ? ops::operation_of_function(target).base : target);
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) name = name.substr(2, name.size() - 4);
  return text_of(name, is_reserved_name(name) ? "_1" : "");
}
/// The name of what lies at `path` in the module: `layers_0` for `layers.0`.
[[nodiscard]] constexpr auto default_name_of_path(std::string_view path) -> Text {
  Text name;
  for (const char c : path) name.append(c == '.' ? '_' : c);
  return name;
}

/// Stores each text of a graph once.
class TextInterner {
 public:
  /// The id of `text` in `graph`, which holds it from then on. Expected O(length).
  constexpr auto intern(Graph& graph, std::string_view text) -> TextId {
    return text.empty() ? TextId() : intern(graph, text, detail::hash(text));
  }
  /// The same for a text that is not empty, whose hash is known.
  constexpr auto intern(Graph& graph, std::string_view text, std::uint64_t hash) -> TextId {
    const std::uint32_t found =
        table_.find(hash, [&](std::uint32_t id) { return graph.text(TextId{id}) == text; });
    if (found != detail::IdTable::absent) return {found};
    const TextId id = graph.add_text(text);
    table_.insert(hash, id.index);
    return id;
  }

 private:
  detail::IdTable table_;
};

/// Hands out names that no node of the graph has.
class NameTable {
 public:
  /// No names are taken.
  constexpr NameTable() = default;
  /// Knows the names of `graph`. O(nodes).
  constexpr explicit NameTable(const Graph& graph) {
    names_.reserve(graph.node_count());
    taken_.reserve(graph.node_count());
    for (const Node& node : graph.nodes()) add(graph, node.name);
  }

  /// A node has this name.
  constexpr void add(const Graph& graph, Name n) { add(n, detail::hash(graph.text(n.base))); }

  /// `name` itself if it is free, else the first of `name_1`, `name_2`, ... that is; taken from now on.
  constexpr auto unique(Graph& graph, TextInterner& texts, std::string_view name) -> Name {
    const Wanted wanted = split(name);
    const std::uint64_t base = detail::hash(wanted.base);
    return unique(graph, {texts.intern(graph, wanted.base, base), wanted.ordinal}, base);
  }
  /// The same for a name that is a text of the graph already.
  constexpr auto unique(Graph& graph, TextInterner& texts, TextId name) -> Name {
    const std::string_view text = graph.text(name);
    if (split(text).ordinal != 0) return unique(graph, texts, text);
    return unique(graph, {name, 0}, detail::hash(text));
  }

 private:
  struct Counter {
    TextId base;
    std::uint32_t last = 1;  ///< the ordinal given last; base_1 has ordinal 2
  };
  /// A name in its two parts, the base not yet a text of the graph.
  struct Wanted {
    std::string_view base;
    std::uint32_t ordinal = 0;
  };

  /// "add_3" is ("add", 3); "x_03" and "relu_" have no ordinal.
  static constexpr auto split(std::string_view name) -> Wanted {
    std::size_t digits = 0;
    while (digits < name.size() && name[name.size() - 1 - digits] >= '0' && name[name.size() - 1 - digits] <= '9')
      ++digits;
    const bool counted = digits > 0 && digits < 9 && name.size() > digits + 1 &&
                         name[name.size() - digits - 1] == '_' && (digits == 1 || name[name.size() - digits] != '0');
    if (!counted) return {name, 0};
    std::uint32_t ordinal = 0;
    for (const char c : name.substr(name.size() - digits)) ordinal = ordinal * 10 + static_cast<std::uint32_t>(c - '0');
    return {name.substr(0, name.size() - digits - 1), ordinal + 1};
  }
  // `base` below is the hash of the name's base.
  constexpr auto unique(const Graph& graph, Name n, std::uint64_t base) -> Name {
    // Who asks for a base that is counted already gets the next number: the base itself is taken, and stays so.
    std::uint32_t counter = n.ordinal == 0 ? find_counter(graph, n.base, base) : detail::IdTable::absent;
    if (counter != detail::IdTable::absent || is_taken(graph, n, base)) {
      if (counter == detail::IdTable::absent) counter = counter_of(graph, n.base, base);
      do {
        n.ordinal = ++counters_[counter].last;
      } while (is_taken(graph, n, base));
    }
    add(n, base);
    return n;
  }
  static constexpr auto hash(Name n, std::uint64_t base) -> std::uint64_t {
    const std::uint64_t h = (base ^ n.ordinal) * 1099511628211ULL;
    return h ^ h >> 32U;
  }
  constexpr void add(Name n, std::uint64_t base) { taken_.insert(hash(n, base), names_.push_back(n)); }
  [[nodiscard]] static constexpr auto same_text(const Graph& graph, TextId a, TextId b) -> bool {
    return a == b || graph.text(a) == graph.text(b);
  }
  [[nodiscard]] constexpr auto is_taken(const Graph& graph, Name n, std::uint64_t base) const -> bool {
    return taken_.find(hash(n, base), [&](std::uint32_t id) {
      return names_[id].ordinal == n.ordinal && same_text(graph, names_[id].base, n.base);
    }) != detail::IdTable::absent;
  }
  [[nodiscard]] constexpr auto find_counter(const Graph& graph, TextId text, std::uint64_t base) const
      -> std::uint32_t {
    return counter_table_.find(base, [&](std::uint32_t id) { return same_text(graph, counters_[id].base, text); });
  }
  constexpr auto counter_of(const Graph& graph, TextId text, std::uint64_t base) -> std::uint32_t {
    const std::uint32_t found = find_counter(graph, text, base);
    if (found != detail::IdTable::absent) return found;
    const std::uint32_t id = counters_.push_back({text, 1});
    counter_table_.insert(base, id);
    return id;
  }

  Pool<Name> names_;
  Pool<Counter> counters_;
  detail::IdTable taken_;
  detail::IdTable counter_table_;
};

/// Resolves each spelling of an operator once and keeps one `Operator` record for each overload it means.
class OperatorInterner {
 public:
  /// Knows no operator.
  constexpr OperatorInterner() = default;
  /// Knows the operators of `graph`. O(operators).
  constexpr explicit OperatorInterner(const Graph& graph) {
    for (std::uint32_t i = 1; i < graph.operators().size(); ++i) remember(graph, OpId{i});
  }

  /// Schema of a custom operator, by its target.
  constexpr void declare(TextId target, TextId schema) { declared_.push_back({target, schema}); }

  /// The record of the operator that `target(arguments)` means.
  constexpr auto intern(Graph& graph, NodeKind kind, TextId target, Span<const Argument> arguments) -> OpId {
    // A full name of an overload means the same whatever the arguments are; a packet, `torch.ops.aten.add`, does not.
    const bool is_known = kind == NodeKind::call_function && target.index < of_overload_.size();
    if (is_known && of_overload_[target.index] != OpId{}) return of_overload_[target.index];
    const std::string_view spelling = graph.text(target);
    if (kind == NodeKind::call_function && (spelling == functional_form || spelling == functional_form_of_bases))
      return intern_functional(graph, target, detail::functional_operator(graph, arguments));
    const bool is_overload = kind == NodeKind::call_function && spelling.starts_with("torch.ops.") &&
                             !ops::operation_of_function(spelling).overload.empty();
    const OpId id = find_or_add(graph, kind, target, spelling, arguments, is_overload);
    if (is_overload) {
      if (of_overload_.size() <= target.index) of_overload_.resize(target.index + 1);
      of_overload_[target.index] = id;
    }
    return id;
  }

 private:
  struct Declared {
    TextId target;
    TextId schema;
  };
  /// One record for each operator that is called without a write: it has that operator's schema, or its name alone.
  constexpr auto intern_functional(Graph& graph, TextId target, std::string_view called) -> OpId {
    const std::string_view spelling = graph.text(target);
    const std::uint32_t known = table_.find(hash(NodeKind::call_function, spelling), [&](std::uint32_t id) {
      const Operator& o = graph.op(OpId{id});
      return o.kind == NodeKind::call_function && graph.text(o.spelling) == spelling && graph.schema(o).name() == called;
    });
    if (known != detail::IdTable::absent) return {known};
    Operator o;
    o.spelling = target;
    for (const Declared& d : declared_)
      if (ops::Schema(graph.text(d.schema)).name() == called) o.schema = d.schema;
    for (const Operator& other : graph.operators())
      if (o.schema == TextId{} && other.schema != TextId{} && graph.schema(other).name() == called) o.schema = other.schema;
    if (o.schema == TextId{} && !called.empty()) {
      const Text name(called);  // adding a text moves those of the graph
      o.schema = graph.add_text(name);
    } else if (o.schema != TextId{}) {
      o.takes_device = graph.schema(o).find("device").has_value();
      o.names_group = graph.schema(o).find("group_name").has_value();
    }
    const OpId id = graph.add_operator(o);
    remember(graph, id);
    return id;
  }
  constexpr auto find_or_add(Graph& graph, NodeKind kind, TextId target, std::string_view spelling,
                             Span<const Argument> arguments, bool is_overload) -> OpId {
    const std::uint64_t h = hash(kind, spelling);
    if (is_overload) {
      const std::uint32_t known = find(graph, h, kind, spelling, nullptr);
      if (known != detail::IdTable::absent) return {known};
    }
    const Resolution resolution = resolve(graph, kind, spelling, arguments);
    const std::uint32_t known = find(graph, h, kind, spelling, &resolution);
    if (known != detail::IdTable::absent) return {known};

    Operator o;
    o.kind = kind;
    o.spelling = target;
    o.row = resolution.row;
    o.writes = resolution.known_to_write;
    o.has_implied_dtype = resolution.implied_dtype.has_value();
    o.implied_dtype = resolution.implied_dtype.value_or(DType::f32);
    if (o.row == ops::no_row)
      for (const Declared& d : declared_)
        if (graph.text(d.target) == spelling) o.schema = d.schema;
    if (o.row != ops::no_row || o.schema != TextId{}) {
      const ops::Schema schema = graph.schema(o);
      o.view = ops::view_rule(schema);
      o.writes = ops::may_write(schema);
      o.write_rule = ops::write_rule(schema);
      if (o.row == ops::no_row && schema.writes() && !ops::is_of_pytorch(schema.name())) o.write_rule = ops::WriteRule::custom;
      o.has_statistics = ops::is_statistics_writer(schema) && !ops::detail::has_out_tensor(schema);
      o.takes_device = schema.find("device").has_value();
      o.names_group = !schema.base().starts_with("aten.") && schema.find("group_name").has_value();
    }
    o.parameters = graph.add_text(resolution.parameters);
    const OpId id = graph.add_operator(o);
    remember(graph, id);
    return id;
  }

  static constexpr auto hash(NodeKind kind, std::string_view spelling) -> std::uint64_t {
    return detail::hash(spelling) * 31 + static_cast<std::uint64_t>(kind);
  }
  [[nodiscard]] constexpr auto find(const Graph& graph, std::uint64_t h, NodeKind kind, std::string_view spelling,
                                    const Resolution* resolution) const -> std::uint32_t {
    return table_.find(h, [&](std::uint32_t id) {
      const Operator& o = graph.op(OpId{id});
      if (o.kind != kind || graph.text(o.spelling) != spelling) return false;
      return resolution == nullptr || (o.row == resolution->row && (o.row != ops::no_row || o.schema != TextId{} ||
                                                                    o.writes == resolution->known_to_write));
    });
  }
  constexpr void remember(const Graph& graph, OpId id) {
    const Operator& o = graph.op(id);
    table_.insert(hash(o.kind, graph.text(o.spelling)), id.index);
  }

  detail::IdTable table_;
  Pool<OpId> of_overload_;  ///< by the text of a full name, once it has been met; {} otherwise
  Pool<Declared> declared_;
};

}  // namespace fxpass
