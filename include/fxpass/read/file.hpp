// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/expected.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

/// @file
/// Reading a whole file into memory.

namespace fxpass {

namespace detail {

/// An error about a file as a whole.
[[nodiscard]] inline auto file_error(DiagnosticCode code, std::string_view path, Text message) -> Diagnostic {
  Diagnostic d = Diagnostic::error(code, std::move(message));
  d.input.file = path;
  return d;
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace detail

/// The bytes of the file at `path`, the first `limit` of them at most. Error: `file_unreadable`. O(size).
[[nodiscard]] inline auto read_file(std::string_view path, std::size_t limit = std::string::npos)
    -> Expected<std::string> {
  const auto failure = [&](std::string_view what) {
    return detail::file_error(DiagnosticCode::file_unreadable, path, text_of(what, std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, detail::CloseFile> file(std::fopen(std::string(path).c_str(), "rb"));
  if (!file) return failure("cannot be opened: ");
  std::string text;
  // The size is not asked for beforehand: a pipe has none. Blocks grow with what is read, so the cost stays linear.
  while (std::feof(file.get()) == 0 && text.size() < limit) {
    const std::size_t old_size = text.size();
    const std::size_t block = std::min(std::max(old_size, std::size_t{1} << 16U), limit - old_size);
    text.resize(old_size + block);
    text.resize(old_size + std::fread(text.data() + old_size, 1, block, file.get()));
    if (std::ferror(file.get()) != 0) return failure("cannot be read: ");
  }
  return text;
}

}  // namespace fxpass
