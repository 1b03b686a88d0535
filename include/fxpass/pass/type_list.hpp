// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/names.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

/// @file
/// The little type-level machinery that pipelines need. What can be computed over values is: an element is found by one
/// overload resolution, lists of lists are joined through a table of places, and nothing recurses over a pack, so that
/// the cost of a pipeline is linear in its passes.

namespace fxpass::detail {

template <class... T>
struct types {};

template <class T>
[[nodiscard]] consteval auto function_text() -> std::string_view {
  return __PRETTY_FUNCTION__;
}
/// Names `T`; two types have the same text only if they are the same type. What stands before the name in the
/// text of a function is the same for all types, and not worth hashing and comparing.
template <class T>
[[nodiscard]] consteval auto type_text() -> std::string_view {
  return function_text<T>().substr(function_text<void>().find("void"));
}

/// A number for a type. It is a hash of the type's name, since the address of a tag per type is no constant
/// expression under g++ 12's -fsanitize=undefined.
template <class T>
inline constexpr std::uint64_t type_id = hash(type_text<T>());

template <std::size_t I, class T>
struct Indexed {
  using type = T;
};
template <class Indices, class... T>
struct IndexedTypes;
template <std::size_t... I, class... T>
struct IndexedTypes<std::index_sequence<I...>, T...> : Indexed<I, T>... {};

template <std::size_t I, class T>
auto find_indexed(const Indexed<I, T>&) -> Indexed<I, T>;

/// Element `I` of a list.
template <std::size_t I, class List>
struct At;
template <std::size_t I, template <class...> class List, class... T>
struct At<I, List<T...>> : decltype(find_indexed<I>(IndexedTypes<std::index_sequence_for<T...>, T...>())) {};
template <std::size_t I, class List>
using at = typename At<I, List>::type;

template <class List>
inline constexpr std::size_t size_of = 0;
template <template <class...> class List, class... T>
inline constexpr std::size_t size_of<List<T...>> = sizeof...(T);

/// Where an element of a list of lists is.
struct Place {
  std::size_t list = 0;
  std::size_t element = 0;
};
template <class... Lists>
[[nodiscard]] consteval auto places() {
  std::array<Place, (size_of<Lists> + ... + 0)> result{};
  const std::array<std::size_t, sizeof...(Lists)> sizes{size_of<Lists>...};
  std::size_t next = 0;
  for (std::size_t list = 0; list < sizes.size(); ++list)
    for (std::size_t element = 0; element < sizes[list]; ++element) result[next++] = {list, element};
  return result;
}

/// The elements of `Lists`, one list after another, as an `Out`.
template <template <class...> class Out, class... Lists>
struct Join {
  static constexpr auto table = places<Lists...>();
  template <std::size_t... I>
  static auto join(std::index_sequence<I...>)
      -> Out<at<table[I].element, at<table[I].list, types<Lists...>>>...>;
  using type = decltype(join(std::make_index_sequence<table.size()>()));
};
/// Of lists of one element each there is nothing to look up.
template <template <class...> class Out, class... T>
struct Join<Out, types<T>...> {
  static constexpr auto table = places<types<T>...>();
  using type = Out<T...>;
};
/// Nor for one more element behind a list, as a chain of `|` has it.
template <template <class...> class Out, class A, class B, class... More, class Last>
struct Join<Out, types<A, B, More...>, types<Last>> {
  static constexpr auto table = places<types<A, B, More...>, types<Last>>();
  using type = Out<A, B, More..., Last>;
};
template <template <class...> class Out, class... Lists>
using join = typename Join<Out, Lists...>::type;

/// Some of N things, by index.
template <std::size_t N>
struct Choice {
  std::array<std::size_t, N> index{};
  std::size_t count = 0;
};

/// The elements of `List` that the static member `chosen` of `Chooser` names, as an `Out`.
template <template <class...> class Out, class List, class Chooser>
struct Choose {
  template <std::size_t... I>
  static auto choose(std::index_sequence<I...>) -> Out<at<Chooser::chosen.index[I], List>...>;
  using type = decltype(choose(std::make_index_sequence<Chooser::chosen.count>()));
};

}  // namespace fxpass::detail
