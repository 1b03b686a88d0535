// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/support/expected.hpp>
#include <fxpass/support/span.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// @file
/// Writing results to files, whole or not at all.

namespace fxpass {

/// What is to be in the file at `path`: text, or bytes. The views need not outlive `write_files`.
struct OutputFile {
  std::string_view path;      ///< of the file; its folder exists
  std::string_view contents;  ///< all of it
};

namespace detail {

/// A file under another name in the same folder, until it is complete.
class StagedFile {
 public:
  explicit StagedFile(std::string_view path) : path_(path), target_(path) {
    std::error_code none;
    // What is no file, such as /dev/stdout, is written as it is; of a symbolic link the file behind it is
    // replaced.
    const auto status = std::filesystem::status(target_, none);
    is_direct_ = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    if (!is_direct_ && std::filesystem::is_symlink(target_, none))
      target_ = std::filesystem::weakly_canonical(target_, none).string();
    staged_ = is_direct_ ? target_ : target_ + ".partial";
  }
  StagedFile(const StagedFile&) = delete;
  auto operator=(const StagedFile&) -> StagedFile& = delete;
  StagedFile(StagedFile&& other) noexcept
      : path_(std::move(other.path_)), target_(std::move(other.target_)), staged_(std::move(other.staged_)),
        is_direct_(other.is_direct_), is_open_(std::exchange(other.is_open_, false)) {}
  auto operator=(StagedFile&&) -> StagedFile& = delete;
  ~StagedFile() {
    if (is_open_ && !is_direct_) std::remove(staged_.c_str());
  }

  [[nodiscard]] auto write(std::string_view contents) -> Status {
    std::FILE* const file = open();
    if (file == nullptr) return failure();
    const bool is_written = std::fwrite(contents.data(), 1, contents.size(), file) == contents.size();
    const int write_error = errno;
    if (std::fclose(file) == 0 && is_written) return {};
    if (!is_written) errno = write_error;
    return failure();
  }
  /// Gives the file its name. What had it is gone.
  [[nodiscard]] auto publish() -> Status {
    if (is_direct_) return {};
    if (std::rename(staged_.c_str(), target_.c_str()) != 0) return failure();
    is_open_ = false;
    return {};
  }
  void take_back() const {
    if (!is_direct_) std::remove(target_.c_str());
  }

 private:
  [[nodiscard]] auto open() -> std::FILE* {
    if (is_direct_) return std::fopen(staged_.c_str(), "wb");
    // Never a file that is there already: it may be that of another run, or a trap.
    constexpr int most_attempts = 100;
    const std::string stem = staged_;
    for (int i = 0; i < most_attempts; ++i) {
      staged_ = stem + std::to_string(i);
      std::FILE* const file = std::fopen(staged_.c_str(), "wbx");
      is_open_ = file != nullptr;
      if (is_open_ || errno != EEXIST) return file;
    }
    return nullptr;
  }
  [[nodiscard]] auto failure() const -> Diagnostic {
    Diagnostic d = Diagnostic::error(DiagnosticCode::file_unwritable,
                                     text_of("cannot be written: ", std::strerror(errno)));
    d.input.file = std::string_view(path_);
    return d;
  }

  std::string path_;    ///< as the user wrote it
  std::string target_;  ///< where it leads to
  std::string staged_;
  bool is_direct_ = false;
  bool is_open_ = false;
};

}  // namespace detail

/// Writes all files or none: each is written under another name first, and named when all are complete. A
/// file that is there already is replaced when that has worked. Error: `file_unwritable`, with the path.
/// O(bytes).
///
///     const Status written = write_files({{"model.pb", proto}, {"model.json", json}});
[[nodiscard]] inline auto write_files(Span<const OutputFile> files) -> Status {
  std::vector<detail::StagedFile> staged;
  staged.reserve(files.size());
  for (const OutputFile& file : files) {
    staged.emplace_back(file.path);
    if (Status written = staged.back().write(file.contents); !written) return written;
  }
  for (std::size_t i = 0; i < staged.size(); ++i) {
    Status published = staged[i].publish();
    if (published) continue;
    while (i-- > 0) staged[i].take_back();
    return published;
  }
  return {};
}

/// The same of files that are named in place.
[[nodiscard]] inline auto write_files(std::initializer_list<OutputFile> files) -> Status {
  return write_files(Span<const OutputFile>(files.begin(), files.size()));
}

/// Writes one file, whole or not at all. Error: `file_unwritable`. O(bytes).
[[nodiscard]] inline auto write_file(std::string_view path, std::string_view contents) -> Status {
  return write_files({{path, contents}});
}

}  // namespace fxpass
