// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/lower/context.hpp>
#include <fxpass/pass/type_list.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text_constant.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

/// @file
/// Lowerings are types in a static list: an operator's name, and a function from its arguments to HLO.
///
///     struct LowerCube {
///       static constexpr std::string_view op = "mylib.cube";
///       static constexpr auto lower(auto& c, const Call& call) -> hlo::Value {
///         const hlo::Value x = c.tensor(call, "x");
///         return c.builder().multiply(x, c.builder().multiply(x, x));
///       }
///     };
///     constexpr auto with_cube = default_lowerings + lowerings<LowerCube>{};
///
/// `op` names all overloads ("aten.max") or one ("aten.max.dim"), which goes before the former. It may be an
/// array of such names. `lower` returns one value, a `Pool` of them for a tuple, or nothing for an operator
/// without a result. It is a template, so that a program compiles only the lowerings that it lists.

namespace fxpass {

namespace detail {

// What `op` can be: a text, or an array of texts.
template <class T>
concept OperatorName = std::convertible_to<T, std::string_view>;
template <class T>
concept OperatorNames = !OperatorName<T> && requires(const T& names) {
  typename std::tuple_size<T>::type;
  { *names.begin() } -> std::convertible_to<std::string_view>;
};
template <class L>
concept HasOp =
    requires { requires OperatorName<decltype(L::op)> || OperatorNames<std::remove_cv_t<decltype(L::op)>>; };
template <class L>
concept HasStaticOp = HasOp<L> && requires { requires !std::is_member_object_pointer_v<decltype(&L::op)>; };
template <class L>
concept HasConstantOp =
    HasStaticOp<L> && (requires { typename Constant<std::string_view(L::op).size()>; } ||
                       requires { typename Constant<std::string_view(*L::op.begin()).size()>; });

/// Whether names are those that `Operator` has, not those of a schema ("aten::relu") or of Python's attribute
/// ("torch.ops.aten.relu"), which no call would ever be looked up by.
constexpr auto name_operators(std::string_view name) -> bool {
  return !name.empty() && name.find("::") == std::string_view::npos && !name.starts_with("torch.ops.");
}
template <OperatorNames Names>
constexpr auto name_operators(const Names& names) -> bool {
  for (const std::string_view name : names)
    if (!name_operators(name)) return false;
  return true;
}

template <class L>
concept LowersCalls = requires(LoweringContext& c, const Call& call) { L::lower(c, call); };
/// What `lower` returns is a value, several, or nothing.
template <class Result>
concept LoweringResult =
    std::is_void_v<Result> || std::same_as<Result, hlo::Value> || requires(const Result& values) {
      { values.view() } -> std::convertible_to<Span<const hlo::Value>>;
    };
template <class L>
using result_of_lowering = decltype(L::lower(std::declval<LoweringContext&>(), std::declval<const Call&>()));

// Whether there is a member `lower`, be it a template: then the name means two things in `LowerProbe`.
struct LowerDecoy {
  int lower;
};
template <class L>
struct LowerProbe : L, LowerDecoy {};
template <class L>
concept MentionsLower = std::is_class_v<L> && !std::is_final_v<L> && !requires { &LowerProbe<L>::lower; };

/// Why `L` is no lowering.
template <class L>
[[nodiscard]] consteval auto judge_lowering() {
  using namespace verdict;
  if constexpr (!requires { L::op; }) {
    if constexpr (requires { L::name; })
      return not_a_lowering<L, has_member_name_where_op_is_meant>();
    else if constexpr (requires { L::ops; })
      return not_a_lowering<L, has_member_ops_where_op_is_meant>();
    else
      return not_a_lowering<L, has_no_static_op>();
  } else if constexpr (!HasOp<L>) {
    return not_a_lowering<L, op_must_be_a_text_or_an_array_of_texts>();
  } else if constexpr (!HasStaticOp<L>) {
    return not_a_lowering<L, op_must_be_static>();
  } else if constexpr (!HasConstantOp<L>) {
    return not_a_lowering<L, op_must_be_a_constant>();
  } else if constexpr (!name_operators(L::op)) {
    return not_a_lowering<L, op_must_be_written_like_aten_dot_relu_or_aten_dot_relu_dot_default>();
  } else if constexpr (!LowersCalls<L>) {
    if constexpr (requires(L& l, LoweringContext& c, const Call& call) { l.lower(c, call); })
      return not_a_lowering<L, lower_must_be_static>();
    else if constexpr (MentionsLower<L>)
      return not_a_lowering<L, lower_must_take_a_context_and_a_call>();
    else
      return not_a_lowering<L, has_no_lower, lower_must_take_a_context_and_a_call>();
  } else if constexpr (!LoweringResult<result_of_lowering<L>>) {
    return not_a_lowering<L, lower_must_return_a_value_or_a_pool_of_values_or_nothing>();
  } else {
    return in_order();
  }
}
template <class L>
using verdict_on_lowering = decltype(judge_lowering<L>());

/// `L::op`, which may be an array of anything that is text, as an array of names; empty if `L` is no lowering.
template <class L>
constexpr auto names_of() {
  if constexpr (!verdict_on_lowering<L>::ok) {
    return std::array<std::string_view, 0>();
  } else if constexpr (OperatorName<decltype(L::op)>) {
    return std::array<std::string_view, 1>{L::op};
  } else {
    std::array<std::string_view, std::tuple_size_v<std::remove_cv_t<decltype(L::op)>>> names;
    std::copy(L::op.begin(), L::op.end(), names.begin());
    return names;
  }
}

/// The same as a constant, worked out once for a lowering.
template <class L>
inline constexpr auto names_in = names_of<L>();

/// The names of one lowering of a list.
struct LoweringNames {
  Span<const std::string_view> names;
  bool overrides = false;
};

template <class L>
constexpr void run_lowering(LoweringContext& c, const Call& call) {
  using Result = decltype(L::lower(c, call));
  if constexpr (std::is_void_v<Result>) {
    L::lower(c, call);
  } else if constexpr (std::same_as<Result, hlo::Value>) {
    const hlo::Value value = L::lower(c, call);
    c.set_values(call.id(), Span<const hlo::Value>(&value, 1));
  } else {
    c.set_values(call.id(), L::lower(c, call).view());
  }
}

/// A lowering that replaces those of the same operators before it in the list.
template <class L>
struct Overriding {
  using lowering = L;
};
template <class L>
struct Unwrapped {
  using type = L;
  static constexpr bool overrides = false;
};
template <class L>
struct Unwrapped<Overriding<L>> {
  using type = L;
  static constexpr bool overrides = true;
};

/// The first sixteen characters of a name as numbers that are in the order of the names. The list is sorted
/// in constant evaluation, where to compare the characters one by one, half of them "aten.", takes a hundred
/// steps a pair.
class NamePrefix {
 public:
  constexpr NamePrefix() = default;
  constexpr explicit NamePrefix(std::string_view name)
      : first_(number(name.data(), name.size(), 0)), second_(number(name.data(), name.size(), 8)) {}

  friend constexpr auto operator==(NamePrefix, NamePrefix) -> bool = default;
  friend constexpr auto operator<(NamePrefix a, NamePrefix b) -> bool {
    return a.first_ < b.first_ || (a.first_ == b.first_ && a.second_ < b.second_);
  }

 private:
  static constexpr auto number(const char* name, std::size_t size, std::size_t begin) -> std::uint64_t {
    std::uint64_t n = 0;
    for (std::size_t i = begin; i < begin + 8; ++i)
      n = n << 8U | (i < size ? static_cast<unsigned char>(name[i]) : 0U);
    return n;
  }

  std::uint64_t first_ = 0;
  std::uint64_t second_ = 0;
};

/// One operator of one lowering of a list.
struct ListedOperator {
  std::string_view op;
  NamePrefix prefix;
  std::uint16_t place = 0;  ///< of the lowering in the list
  bool overrides = false;

  [[nodiscard]] constexpr auto is_named_as(const ListedOperator& other) const -> bool {
    return prefix == other.prefix && op == other.op;
  }
  friend constexpr auto operator<(const ListedOperator& a, const ListedOperator& b) -> bool {
    return a.prefix < b.prefix || (a.prefix == b.prefix && a.op < b.op);
  }
};

/// A stable sort by merging, which takes a third of the evaluation steps of `std::ranges::sort`.
template <std::size_t N>
constexpr auto sorted(std::array<ListedOperator, N> list) -> std::array<ListedOperator, N> {
  std::array<ListedOperator, N> merged = list;
  for (std::size_t length = 1; length < N; length *= 2) {  // of the runs that are sorted already
    const ListedOperator* const from = list.data();
    ListedOperator* to = merged.data();
    for (std::size_t begin = 0; begin < N; begin += 2 * length) {
      const std::size_t middle = std::min(begin + length, N), end = std::min(middle + length, N);
      for (std::size_t left = begin, right = middle; left < middle || right < end;)
        *to++ = from[right == end || (left < middle && !(from[right] < from[left])) ? left++ : right++];
    }
    list = merged;
  }
  return list;
}

struct LoweringClash {
  std::size_t first = 0;
  std::size_t second = 0;
  [[nodiscard]] constexpr auto exists() const -> bool { return first != second; }
};

}  // namespace detail

/// A type with an operator's name and a function that lowers it.
template <class L>
concept Lowering = detail::verdict_on_lowering<L>::ok;

/// A row of a `LoweringTable`.
struct LoweringEntry {
  std::string_view op;                                     ///< one overload, or all
  void (*lower)(LoweringContext&, const Call&) = nullptr;  ///< lowers a call
};

/// Place of a lowering in a table.
struct LoweringId {
  std::uint16_t index = 0xffff;  ///< all ones: none

  /// False for an operator without a lowering.
  [[nodiscard]] constexpr auto valid() const -> bool { return index != 0xffff; }
};

/// The lowerings of a list, sorted by operator; a view of static storage.
///
/// They are named by place, not by function: g++ 12 under -fsanitize=undefined compares no pointers in
/// constants.
class LoweringTable {
 public:
  /// No lowerings.
  constexpr LoweringTable() = default;

  /// Needs entries sorted by operator, each once.
  constexpr explicit LoweringTable(Span<const LoweringEntry> entries) : entries_(entries) {}

  /// The operators that have a lowering, in alphabetical order.
  [[nodiscard]] constexpr auto entries() const -> Span<const LoweringEntry> { return entries_; }
  /// The lowering of overload `name`, else of its base name, if there is one. O(log entries).
  [[nodiscard]] constexpr auto find(std::string_view name) const -> LoweringId {
    if (const LoweringId exact = find_exactly(name); exact.valid()) return exact;
    const auto dot = name.rfind('.');
    return dot == std::string_view::npos ? LoweringId{} : find_exactly(name.substr(0, dot));
  }
  /// Lowers a call of an operator that `id` was found for. Needs a valid id.
  constexpr void lower(LoweringId id, LoweringContext& c, const Call& call) const {
    entries_[id.index].lower(c, call);
  }

 private:
  [[nodiscard]] constexpr auto find_exactly(std::string_view name) const -> LoweringId {
    const auto at = std::ranges::lower_bound(entries_, name, {}, &LoweringEntry::op);
    if (at == entries_.end() || at->op != name) return {};
    return {static_cast<std::uint16_t>(at - entries_.begin())};
  }

  Span<const LoweringEntry> entries_;
};

/// A list of lowerings. A member is a lowering, or `detail::Overriding` of one.
template <class... L>
struct lowerings {
  /// The list itself: what a type derived from it is taken for.
  using list = lowerings;

  /// The names of each. Lists are long, and Clang nests a fold over one deeper than it allows: so this is an array.
  static constexpr std::array<detail::LoweringNames, sizeof...(L)> names{
      detail::LoweringNames{detail::names_in<typename detail::Unwrapped<L>::type>, detail::Unwrapped<L>::overrides}...};

  /// How many names of operators the lowerings have together.
  static constexpr std::size_t name_count = [] {
    std::size_t count = 0;
    for (const detail::LoweringNames& n : names) count += n.names.size();
    return count;
  }();

  /// All operators, sorted by name, in the list's order where names are equal.
  static constexpr std::array<detail::ListedOperator, name_count> operators = [] {
    std::array<detail::ListedOperator, name_count> all{};
    std::size_t n = 0;
    for (std::size_t place = 0; place < names.size(); ++place)
      for (const std::string_view name : names[place].names)
        all[n++] = {name, detail::NamePrefix(name), static_cast<std::uint16_t>(place), names[place].overrides};
    return detail::sorted(all);
  }();

  /// Two lowerings of one operator of which the second does not say that it overrides; the same place twice
  /// if none.
  static constexpr detail::LoweringClash clash = [] {
    for (std::size_t i = 1; i < name_count; ++i)
      if (operators[i].is_named_as(operators[i - 1]) && !operators[i].overrides)
        return detail::LoweringClash{operators[i - 1].place, operators[i].place};
    return detail::LoweringClash{};
  }();

  /// These lowerings, those of `other` in place of any for the same operator. An `other` without any such
  /// lowering does not compile: its names are misspelt, or `+` is meant.
  template <class Other>
  [[nodiscard]] constexpr auto override_with(Other) const;

  /// What is looked up when a graph is lowered.
  [[nodiscard]] static constexpr auto table() -> LoweringTable {
    return LoweringTable(Span<const LoweringEntry>(entries.rows.data(), entries.count));
  }

 private:
  struct Entries {
    std::array<LoweringEntry, name_count> rows{};
    std::size_t count = 0;  ///< of names that differ
  };
  static constexpr Entries entries = [] {
    constexpr decltype(LoweringEntry::lower) functions[] = {
        nullptr, &detail::run_lowering<typename detail::Unwrapped<L>::type>...};
    Entries all;
    // Of equal names the last one counts: it overrides the others.
    for (std::size_t i = 0; i < name_count; ++i)
      if (i + 1 == name_count || !operators[i].is_named_as(operators[i + 1]))
        all.rows[all.count++] = {operators[i].op, functions[operators[i].place + 1]};
    return all;
  }();
};

/// `lowerings<...>`, or a type derived from one, whose name then stands for it in the compiler's messages.
template <class T>
concept LoweringList = std::derived_from<T, typename T::list> && requires { T::table(); };

/// The lowerings of several lists, one after another.
template <LoweringList... Lists>
using joined_lowerings = detail::join<lowerings, typename Lists::list...>;

namespace detail {
/// The verdict on a list of lowerings that holds `L`.
template <class List, class... L>
[[nodiscard]] consteval auto judge_lowerings() {
  using namespace verdict;
  constexpr std::size_t bad = first_false({Lowering<L>...});
  if constexpr (bad != sizeof...(L)) {
    return verdict_on_lowering<at<bad, types<L...>>>();
  } else if constexpr (List::clash.exists()) {
    using First = at<List::clash.first, types<L...>>;
    using Second = at<List::clash.second, types<L...>>;
    return duplicate_lowering<lowering<Second>, lowers_the_operator_of<First>,
                              to_mend<override_with<lowerings<Second>>>>();
  } else {
    return in_order();
  }
}
/// The verdict on what is to be a list: a list, or a type that is none.
template <class T>
struct VerdictOnLowerings {
  using type = verdict::not_a_list_of_lowerings<T>;
};
template <Lowering L>
struct VerdictOnLowerings<L> {
  using type = verdict::not_a_list_of_lowerings<L, verdict::to_mend<verdict::write<lowerings<L>>>>;
};
template <class... L>
struct VerdictOnLowerings<lowerings<L...>> {
  using type = decltype(judge_lowerings<lowerings<L...>, typename Unwrapped<L>::type...>());
};
template <LoweringList List>
struct VerdictOnLowerings<List> : VerdictOnLowerings<typename List::list> {};

/// Whether two lists have a name in common.
template <std::size_t N, std::size_t M>
constexpr auto share_a_name(const std::array<ListedOperator, N>& a, const std::array<ListedOperator, M>& b) -> bool {
  std::size_t i = 0;
  for (const ListedOperator& each : b) {
    while (i < N && a[i] < each) ++i;
    if (i < N && a[i].is_named_as(each)) return true;
  }
  return false;
}
/// The verdict on `Other` in place of lowerings of `List`.
template <class List, class Other>
[[nodiscard]] consteval auto judge_override() {
  using namespace verdict;
  using OnOther = typename VerdictOnLowerings<Other>::type;
  if constexpr (!OnOther::ok)
    return OnOther();
  else if constexpr (!share_a_name(List::operators, Other::list::operators))
    return wrong_argument<override_with<Other>, which_overrides_nothing, to_mend<add_it_with_plus>>();
  else
    return in_order();
}

/// The verdict on the second list, and then on both.
template <class Verdict, class First, class Second>
struct VerdictOnBoth {
  using type = Verdict;
};
template <class First, class Second>
struct VerdictOnBoth<verdict::in_order, First, Second> : VerdictOnLowerings<joined_lowerings<First, Second>> {
};

template <class... L>
struct Overridden;
template <class... L, class... M>
struct Overridden<lowerings<L...>, lowerings<M...>> {
  using type = lowerings<L..., Overriding<typename Unwrapped<M>::type>...>;
};
}  // namespace detail

/// The verdict on a list: good if it holds lowerings, and no operator has two.
template <class List>
using lowering_verdict = typename detail::VerdictOnLowerings<List>::type;

template <class... L>
template <class Other>
constexpr auto lowerings<L...>::override_with(Other) const {
  using Verdict = decltype(detail::judge_override<lowerings, Other>());
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok)
    return typename detail::Overridden<lowerings, typename Other::list>::type{};
  else
    return *this;
}

/// Both lists as one. Two lowerings of one operator do not compile.
template <LoweringList First, class Second>
[[nodiscard]] constexpr auto operator+(First first, Second) {
  using Verdict = typename detail::VerdictOnBoth<lowering_verdict<Second>, First, Second>::type;
  static_assert(sizeof(check_verdict<Verdict>) != 0);
  if constexpr (Verdict::ok)
    return joined_lowerings<First, Second>{};
  else
    return first;
}

}  // namespace fxpass
