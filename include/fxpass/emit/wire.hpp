// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/emitter.hpp>
#include <fxpass/support/span.hpp>
#include <fxpass/support/text.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// The wire format of protocol buffers, written forwards into any sink without a buffer of its own.
/// Source: the encoding chapter of the Protocol Buffers documentation.

namespace fxpass::detail {

[[nodiscard]] constexpr auto varint_size(std::uint64_t value) -> std::size_t {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

/// Writes the fields of one message. As proto3 has it, a number 0, a false flag and empty bytes are not
/// written.
template <TextSink Sink>
class WireWriter {
 public:
  explicit constexpr WireWriter(Sink& sink) : sink_(sink) {}

  constexpr void number(std::uint32_t field, std::int64_t value) {
    if (value == 0) return;
    key(field, varint_type);
    varint(static_cast<std::uint64_t>(value));
  }
  constexpr void bytes(std::uint32_t field, std::string_view value) {
    if (value.empty()) return;
    key(field, length_type);
    varint(value.size());
    sink_.append(value);
  }
  /// Characters that `write_text` puts into any sink, the same every time: they are counted first.
  template <class WriteText>
  constexpr void text(std::uint32_t field, WriteText write_text) {
    CountingSink count;
    write_text(count);
    key(field, length_type);
    varint(count.count());
    write_text(sink_);
  }
  /// Repeated numbers in one piece.
  constexpr void packed(std::uint32_t field, Span<const std::int64_t> values) {
    if (values.empty()) return;
    std::size_t size = 0;
    for (const std::int64_t value : values) size += varint_size(static_cast<std::uint64_t>(value));
    key(field, length_type);
    varint(size);
    for (const std::int64_t value : values) varint(static_cast<std::uint64_t>(value));
  }
  /// Repeated numbers in one piece: `get(0)`, ..., `get(count - 1)`.
  template <std::invocable<std::uint64_t> Get>
  constexpr void packed(std::uint32_t field, std::uint64_t count, Get get) {
    if (count == 0) return;
    std::size_t size = 0;
    for (std::uint64_t n = 0; n < count; ++n) size += varint_size(get(n));
    key(field, length_type);
    varint(size);
    for (std::uint64_t n = 0; n < count; ++n) varint(get(n));
  }
  /// A submessage, present even if it is empty. `write_fields` takes a `WireWriter` of any sink and writes
  /// the same every time: its length comes first on the wire, so it is counted first. A message in `n` others
  /// is thus counted `n` times and written once.
  template <class WriteFields>
  constexpr void message(std::uint32_t field, WriteFields write_fields) {
    CountingSink count;
    WireWriter<CountingSink> counter(count);
    write_fields(counter);
    key(field, length_type);
    varint(count.count());
    if constexpr (std::same_as<Sink, CountingSink>)
      sink_.skip(count.count());
    else
      write_fields(*this);
  }

 private:
  static constexpr std::uint32_t varint_type = 0, length_type = 2;

  constexpr void key(std::uint32_t field, std::uint32_t type) { varint((std::uint64_t{field} << 3) | type); }
  constexpr void varint(std::uint64_t value) {
    char out[10];
    std::size_t count = 0;
    do {
      const auto low = static_cast<std::uint8_t>(value & 0x7f);
      value >>= 7;
      out[count++] = static_cast<char>(value == 0 ? low : static_cast<std::uint8_t>(low | 0x80));
    } while (value != 0);
    sink_.append(std::string_view(out, count));
  }

  Sink& sink_;
};

}  // namespace fxpass::detail
