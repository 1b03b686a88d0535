// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/dtype.hpp>
#include <fxpass/support/pool.hpp>

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <string_view>

/// @file
/// The records a node is made of: identifiers, and `Argument`, one argument of a call. Texts and nested arguments live
/// in pools of the graph; a record holds only where.

namespace fxpass {

/// A node, by its place in the graph's node table: program order outside an edit.
struct NodeId {
  std::uint32_t index = 0;  ///< row in the node table
  /// In program order.
  friend constexpr auto operator<=>(NodeId, NodeId) = default;
};

/// Stands for "no node".
inline constexpr NodeId no_node{0xffffffffU};

/// A text of the graph. Id 0 is the empty text.
struct TextId {
  std::uint32_t index = 0;  ///< row in the table of texts
  friend constexpr auto operator==(TextId, TextId) -> bool = default;
};

/// A device as PyTorch writes it: "cpu", "xla:0".
struct DeviceId {
  std::uint32_t index = 0;  ///< row in the table of devices
  friend constexpr auto operator==(DeviceId, DeviceId) -> bool = default;
};

/// A size, stride, offset or integer argument that may be symbolic: a number, or an expression of the graph.
class SymInt {
 public:
  /// The number 0.
  constexpr SymInt() = default;

  /// A number above -2^62.
  constexpr SymInt(std::int64_t value) : bits_(value) {}  // NOLINT(google-explicit-constructor): a number is a SymInt
  /// Expression number `index` of the graph.
  [[nodiscard]] static constexpr auto expression(std::uint32_t index) -> SymInt {
    SymInt s;
    s.bits_ = first_expression + index;
    return s;
  }
  /// Whether it is an expression, not a number.
  [[nodiscard]] constexpr auto is_symbolic() const -> bool {
    return bits_ >= first_expression && bits_ <= first_expression + 0xffffffffLL;
  }
  /// The number. Needs `!is_symbolic()`.
  [[nodiscard]] constexpr auto value() const -> std::int64_t { return bits_; }
  /// Index of the expression in the graph. Needs `is_symbolic()`.
  [[nodiscard]] constexpr auto expression() const -> std::uint32_t {
    return static_cast<std::uint32_t>(bits_ - first_expression);
  }
  friend constexpr auto operator==(SymInt, SymInt) -> bool = default;

 private:
  // No tensor has a size near -2^62, and PyTorch's open slice end is +2^63-1, so this window is free.
  static constexpr std::int64_t first_expression = -(std::int64_t{1} << 62);
  std::int64_t bits_ = 0;
};

/// `torch.layout` and `torch.memory_format`, by the numbers of the export schema.
enum class Layout : std::uint8_t { unknown, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, mkldnn, strided };
enum class MemoryFormat : std::uint8_t { unknown, contiguous_format, channels_last, channels_last_3d, preserve_format };

/// PyTorch's name without "torch."; empty for `unknown`.
[[nodiscard]] constexpr auto to_string(Layout layout) -> std::string_view {
  constexpr std::string_view names[] = {"",           "sparse_coo", "sparse_csr", "sparse_csc",
                                        "sparse_bsr", "sparse_bsc", "_mkldnn",    "strided"};
  return names[static_cast<std::size_t>(layout)];
}
[[nodiscard]] constexpr auto to_string(MemoryFormat format) -> std::string_view {
  constexpr std::string_view names[] = {"", "contiguous_format", "channels_last", "channels_last_3d",
                                        "preserve_format"};
  return names[static_cast<std::size_t>(format)];
}

/// What an argument is. The names are those of the readings below.
enum class ArgumentKind : std::uint8_t {
  none,
  node,
  integer,
  sym_int,  ///< a symbolic expression
  real,
  boolean,
  string,
  complex,
  dtype,
  device,
  layout,
  memory_format,
  ellipsis,
  slice,  ///< three arguments: start, stop, step
  list,
  tuple,
  dict,       ///< key, value, key, value, ...
  subgraph,   ///< a graph of the graph
  operation,  ///< an operator as a value, by its name
};

/// One argument: 16 bytes, trivially copyable. A keyword argument carries its keyword.
class Argument {
 public:
  /// Python's None.
  constexpr Argument() = default;

  /// A value of the type's kind. Implicit, so that lists of arguments read as in Python.
  constexpr Argument(NodeId node) : kind_(ArgumentKind::node), bits_(node.index) {}      // NOLINT
  constexpr Argument(bool value) : kind_(ArgumentKind::boolean), bits_(value ? 1 : 0) {}  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  constexpr Argument(T value)  // NOLINT(google-explicit-constructor): `call(f, {x, 1, 2.5})` reads as Python does
      : kind_(ArgumentKind::integer), bits_(static_cast<std::int64_t>(value)) {}
  constexpr Argument(SymInt value)  // NOLINT(google-explicit-constructor)
      : kind_(value.is_symbolic() ? ArgumentKind::sym_int : ArgumentKind::integer),
        bits_(value.is_symbolic() ? value.expression() : value.value()) {}
  template <std::floating_point T>
  constexpr Argument(T value)  // NOLINT(google-explicit-constructor)
      : kind_(ArgumentKind::real), bits_(std::bit_cast<std::int64_t>(static_cast<double>(value))) {}
  constexpr Argument(DType value)  // NOLINT(google-explicit-constructor)
      : kind_(ArgumentKind::dtype), bits_(static_cast<std::int64_t>(value)) {}
  constexpr Argument(DeviceId value) : kind_(ArgumentKind::device), bits_(value.index) {}  // NOLINT
  constexpr Argument(Layout value)  // NOLINT(google-explicit-constructor)
      : kind_(ArgumentKind::layout), bits_(static_cast<std::int64_t>(value)) {}
  constexpr Argument(MemoryFormat value)  // NOLINT(google-explicit-constructor)
      : kind_(ArgumentKind::memory_format), bits_(static_cast<std::int64_t>(value)) {}

  /// `...` in an index.
  [[nodiscard]] static constexpr auto ellipsis() -> Argument { return {ArgumentKind::ellipsis, 0}; }
  /// A string, held by the graph.
  [[nodiscard]] static constexpr auto string(TextId text) -> Argument { return {ArgumentKind::string, text.index}; }
  /// An operator as a value: `torch.ops.aten.add.Tensor` handed to a higher-order operator.
  [[nodiscard]] static constexpr auto operation(TextId name) -> Argument {
    return {ArgumentKind::operation, name.index};
  }
  /// Subgraph number `index` of the graph.
  [[nodiscard]] static constexpr auto subgraph(std::uint32_t index) -> Argument {
    return {ArgumentKind::subgraph, index};
  }
  /// A list, tuple, dict, slice or complex number made of `children`, arguments of the same graph.
  [[nodiscard]] static constexpr auto group(ArgumentKind kind, Range children) -> Argument {
    return {kind, static_cast<std::int64_t>(static_cast<std::uint64_t>(children.begin) << 32U | children.count)};
  }

  /// This argument, as the value of a keyword.
  [[nodiscard]] constexpr auto with_keyword(TextId keyword) const -> Argument {
    Argument a = *this;
    a.keyword_ = keyword;
    return a;
  }

  /// What kind it is. O(1), as all that follow.
  [[nodiscard]] constexpr auto kind() const -> ArgumentKind { return kind_; }
  [[nodiscard]] constexpr auto is(ArgumentKind kind) const -> bool { return kind_ == kind; }
  [[nodiscard]] constexpr auto is_none() const -> bool { return kind_ == ArgumentKind::none; }
  [[nodiscard]] constexpr auto is_node() const -> bool { return kind_ == ArgumentKind::node; }
  /// Whether it holds arguments: list, tuple, dict, slice, complex.
  [[nodiscard]] constexpr auto is_group() const -> bool {
    return kind_ == ArgumentKind::list || kind_ == ArgumentKind::tuple || kind_ == ArgumentKind::dict ||
           kind_ == ArgumentKind::slice || kind_ == ArgumentKind::complex;
  }
  /// Whether it is a list or a tuple.
  [[nodiscard]] constexpr auto is_sequence() const -> bool {
    return kind_ == ArgumentKind::list || kind_ == ArgumentKind::tuple;
  }
  /// Its keyword. Empty for a positional argument.
  [[nodiscard]] constexpr auto keyword() const -> TextId { return keyword_; }
  /// Whether it has a keyword.
  [[nodiscard]] constexpr auto is_keyword() const -> bool { return keyword_ != TextId{}; }

  /// The value. Each of these needs an argument of its kind; `text` one that is a string or an operation.
  [[nodiscard]] constexpr auto node() const -> NodeId { return {low()}; }
  [[nodiscard]] constexpr auto integer() const -> std::int64_t { return bits_; }
  [[nodiscard]] constexpr auto sym_int() const -> SymInt {
    return kind_ == ArgumentKind::sym_int ? SymInt::expression(low()) : SymInt(bits_);
  }
  [[nodiscard]] constexpr auto real() const -> double { return std::bit_cast<double>(bits_); }
  [[nodiscard]] constexpr auto boolean() const -> bool { return bits_ != 0; }
  [[nodiscard]] constexpr auto text() const -> TextId { return {low()}; }
  [[nodiscard]] constexpr auto dtype() const -> DType { return static_cast<DType>(bits_); }
  [[nodiscard]] constexpr auto device() const -> DeviceId { return {low()}; }
  [[nodiscard]] constexpr auto layout() const -> Layout { return static_cast<Layout>(bits_); }
  [[nodiscard]] constexpr auto memory_format() const -> MemoryFormat { return static_cast<MemoryFormat>(bits_); }
  [[nodiscard]] constexpr auto subgraph() const -> std::uint32_t { return low(); }
  [[nodiscard]] constexpr auto children() const -> Range {
    return {static_cast<std::uint32_t>(static_cast<std::uint64_t>(bits_) >> 32U), low()};
  }
  /// The bits behind the kind; equal bits of one kind are equal arguments except for texts and groups.
  [[nodiscard]] constexpr auto bits() const -> std::int64_t { return bits_; }

 private:
  constexpr Argument(ArgumentKind kind, std::int64_t bits) : kind_(kind), bits_(bits) {}
  [[nodiscard]] constexpr auto low() const -> std::uint32_t {
    return static_cast<std::uint32_t>(static_cast<std::uint64_t>(bits_));
  }

  ArgumentKind kind_ = ArgumentKind::none;
  TextId keyword_;
  std::int64_t bits_ = 0;
};

}  // namespace fxpass
