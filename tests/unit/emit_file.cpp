// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/emit/file.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;
using fxpass::write_file;
using fxpass::write_files;

/// A folder of its own, gone at the end.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "fxpass_test_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  Folder(const Folder&) = delete;
  auto operator=(const Folder&) -> Folder& = delete;
  ~Folder() {
    std::error_code none;
    fs::remove_all(path, none);
  }
  [[nodiscard]] auto file(const char* name) const -> std::string { return (path / name).string(); }
  [[nodiscard]] auto entries() const -> std::ptrdiff_t {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
  fs::path path;
};

auto contents(const std::string& path) -> std::string {
  std::string text;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "(none)";
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

TEST_CASE("a file is written and replaced") {
  const Folder folder;
  const std::string path = folder.file("a");
  CHECK(write_file(path, std::string_view("x\0y\n", 4)));
  CHECK(contents(path) == std::string("x\0y\n", 4));
  CHECK(write_file(path, ""));
  CHECK(contents(path).empty());
  CHECK(folder.entries() == 1);
}

TEST_CASE("of two files both are written or neither") {
  const Folder folder;
  const std::string good = folder.file("good"), bad = folder.file("nowhere/bad");
  for (const auto& [first, second] : {std::pair(good, bad), std::pair(bad, good)}) {
    const fxpass::Status status = write_files({{first, "1"}, {second, "2"}});
    REQUIRE(!status);
    CHECK(status.error().front().code == fxpass::DiagnosticCode::file_unwritable);
    CHECK(status.error().front().input.file == bad);
    CHECK(folder.entries() == 0);
  }
  CHECK(write_files({{good, "1"}, {folder.file("other"), "2"}}));
  CHECK(contents(good) == "1");
  CHECK(contents(folder.file("other")) == "2");
}

TEST_CASE("a folder is not replaced") {
  const Folder folder;
  const std::string first = folder.file("first");
  fs::create_directories(folder.path / "second" / "inner");
  const fxpass::Status status = write_files({{first, "1"}, {folder.file("second"), "2"}});
  CHECK(!status);
  CHECK(!fs::exists(first));
  CHECK(folder.entries() == 1);
}

TEST_CASE("an old file survives a failure") {
  const Folder folder;
  const std::string path = folder.file("a");
  CHECK(write_file(path, "old"));
  CHECK(!write_files({{path, "new"}, {folder.file("nowhere/b"), "x"}}));
  CHECK(contents(path) == "old");
}

TEST_CASE("a link stays a link, and a device a device") {
  const Folder folder;
  CHECK(write_file(folder.file("real"), "old"));
  fs::create_symlink(folder.file("real"), folder.file("link"));
  CHECK(write_file(folder.file("link"), "new"));
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(contents(folder.file("real")) == "new");
  CHECK(write_file("/dev/null", "gone"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("files of other runs are left alone") {
  const Folder folder;
  CHECK(write_file(folder.file("a.partial0"), "of another run"));
  CHECK(write_file(folder.file("a"), "mine"));
  CHECK(contents(folder.file("a.partial0")) == "of another run");
  CHECK(contents(folder.file("a")) == "mine");
}

}  // namespace
