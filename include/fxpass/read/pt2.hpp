// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/module.hpp>
#include <fxpass/read/exported_program.hpp>
#include <fxpass/read/file.hpp>
#include <fxpass/read/finish.hpp>
#include <fxpass/read/json.hpp>

#include <zip.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// @file
/// Reads the archives of `torch.export.save`. Two layouts: everything below one root folder with the program in
/// `models/<name>.json` and lists of what data belongs to which attribute (PyTorch 2.8 and later), and the flat one
/// with the program in `serialized_exported_program.json`. The data itself is not read.

namespace fxpass {

namespace detail {

/// A zip archive open for reading.
class Archive {
 public:
  [[nodiscard]] static auto open(std::string_view path) -> Expected<Archive> {
    Archive archive;
    archive.path_ = path;
    int code = 0;
    archive.zip_.reset(zip_open(archive.path_.c_str(), ZIP_RDONLY, &code));
    if (archive.zip_) return archive;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const bool is_foreign = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS;
    Diagnostic d = file_error(DiagnosticCode::file_unreadable, path,
                              is_foreign ? text_of("the archive is cut short, or is no zip archive")
                                         : text_of("the archive cannot be opened: ", zip_error_strerror(&error)));
    zip_error_fini(&error);
    return d;
  }

  [[nodiscard]] auto path() const -> std::string_view { return path_; }
  /// Names of the members, in the archive's order.
  [[nodiscard]] auto members() const -> std::vector<std::string_view> {
    std::vector<std::string_view> names;
    const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i)
      if (const char* name = zip_get_name(zip_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW))
        names.push_back(name);
    return names;
  }
  /// Size of a member; none if there is no such member.
  [[nodiscard]] auto size_of(const std::string& member) const -> std::optional<std::uint64_t> {
    zip_stat_t stat;
    if (zip_stat(zip_.get(), member.c_str(), ZIP_FL_ENC_RAW, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0)
      return std::nullopt;
    return stat.size;
  }
  /// The bytes of a member.
  [[nodiscard]] auto read(const std::string& member) const -> Expected<std::string> {
    zip_stat_t stat;
    if (zip_stat(zip_.get(), member.c_str(), ZIP_FL_ENC_RAW, &stat) != 0)
      return unreadable(member, zip_get_error(zip_.get()));
    const std::unique_ptr<zip_file_t, CloseMember> file(zip_fopen_index(zip_.get(), stat.index, 0));
    if (!file) return unreadable(member, zip_get_error(zip_.get()));
    // Not `stat.size` at once: a damaged directory may claim any size.
    constexpr std::uint64_t block = std::uint64_t{1} << 20U;
    std::string bytes;
    while (bytes.size() < stat.size) {
      const std::size_t old_size = bytes.size();
      const auto wanted = static_cast<std::size_t>(std::min(block, stat.size - old_size));
      bytes.resize(old_size + wanted);
      const zip_int64_t got = zip_fread(file.get(), bytes.data() + old_size, wanted);
      if (got < 0) return unreadable(member, zip_file_get_error(file.get()));
      if (got == 0) return file_error(DiagnosticCode::file_unreadable, name_of(member), "the member is cut short");
      bytes.resize(old_size + static_cast<std::size_t>(got));
    }
    // Reading at the end is what makes libzip compare the checksum; 0 is what PyTorch writes when told to compute none.
    char beyond = '\0';
    const bool has_checksum = (stat.valid & ZIP_STAT_CRC) != 0 && stat.crc != 0;
    if (has_checksum && zip_fread(file.get(), &beyond, 1) < 0)
      return unreadable(member, zip_file_get_error(file.get()));
    return bytes;
  }
  /// How diagnostics name a member: "model.pt2:models/model.json", without the root folder.
  [[nodiscard]] auto name_of(std::string_view member, std::string_view root = {}) const -> std::string {
    return std::string(path_).append(1, ':').append(member.substr(root.size()));
  }

 private:
  struct CloseArchive {
    void operator()(zip_t* zip) const { zip_discard(zip); }
  };
  struct CloseMember {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
  };
  [[nodiscard]] auto unreadable(std::string_view member, zip_error_t* error) const -> Diagnostic {
    return file_error(DiagnosticCode::file_unreadable, name_of(member),
                      text_of("the member cannot be read: ", zip_error_strerror(error)));
  }

  std::unique_ptr<zip_t, CloseArchive> zip_;
  std::string path_;
};

/// Where the program stands in an archive.
struct ProgramMember {
  std::string root;    ///< root folder with its slash; empty in the flat layout
  std::string model;   ///< "model"; empty in the flat layout
  std::string member;  ///< full name of the JSON
};

[[nodiscard]] inline auto find_program(const Archive& archive) -> Expected<ProgramMember> {
  constexpr std::string_view flat = "serialized_exported_program.json";
  constexpr std::string_view folder = "models/";
  constexpr std::string_view ending = ".json";
  std::vector<ProgramMember> programs;
  bool is_pickle = false;
  for (const std::string_view member : archive.members()) {
    const auto slash = member.find('/');
    const std::string_view root = slash == std::string_view::npos ? std::string_view() : member.substr(0, slash + 1);
    const std::string_view inside = member.substr(root.size());
    if (member == flat) return ProgramMember{"", "", std::string(member)};
    is_pickle = is_pickle || inside == "data.pkl";
    if (!inside.starts_with(folder) || !inside.ends_with(ending)) continue;
    const std::string_view model = inside.substr(folder.size(), inside.size() - folder.size() - ending.size());
    programs.push_back({std::string(root), std::string(model), std::string(member)});
  }
  for (const ProgramMember& program : programs)
    if (programs.size() == 1 || program.model == "model") return program;
  Text message;
  if (!programs.empty()) {
    append_to(message, "the archive holds several programs and none is called 'model':");
    for (const ProgramMember& program : programs) append_all(message, ' ', program.model);
  } else if (is_pickle) {
    append_to(message, "the archive holds pickled objects or TorchScript: save the program with torch.export.save");
  } else {
    append_all(message, "the archive holds no exported program: neither models/model.json nor ", flat);
  }
  return file_error(DiagnosticCode::file_malformed, archive.path(), std::move(message));
}

/// The lists of what data belongs to which attribute, and which attributes share a storage.
class PayloadReader {
 public:
  /// Reads the lists that belong to `program`. The flat layout has none, nor has an archive that keeps all data in one
  /// pickle: those say nothing of shared storage.
  [[nodiscard]] auto read(const Archive& archive, const ProgramMember& program) -> Status {
    if (program.model.empty()) return {};
    const std::string weights = program.root + "data/weights/";
    const std::string constants = program.root + "data/constants/";
    bool is_listed = archive.size_of(weights + program.model + ".pt").has_value();
    for (const std::string* folder : {&weights, &constants}) {
      const std::string start = *folder + program.model + "_";
      for (const std::string_view member : archive.members()) {
        // Builds before 2.8 have names such as <model>_model_param_config.json.
        if (!member.starts_with(start) || !member.ends_with("_config.json")) continue;
        if (Status read = read_list(archive, program, *folder, std::string(member)); !read) return read;
        is_listed = is_listed || folder == &weights;
      }
    }
    // Without the list inputs that share a storage would be taken for distinct.
    if (!is_listed)
      return file_error(DiagnosticCode::file_malformed, archive.path(),
                        text_of("the archive has no member data/weights/", program.model, "_weights_config.json"));
    return {};
  }
  /// Valid while the reader is.
  [[nodiscard]] auto payloads() const -> const Payloads& { return payloads_; }

 private:
  struct Storage {
    std::uint32_t number = 0;
    bool is_empty = false;
    Payload* first = nullptr;  ///< the only attribute so far
  };

  [[nodiscard]] auto read_list(const Archive& archive, const ProgramMember& program, const std::string& prefix,
                               const std::string& member) -> Status {
    const auto text = archive.read(member);
    if (!text) return text.error();
    const std::string file_name = archive.name_of(member, program.root);
    JsonDocument& document = documents_.emplace_back();
    if (Status parsed = document.parse(*text, file_name); !parsed) return parsed;
    JsonReader json(file_name);
    return read_entries(json, document.root(), archive, prefix) ? Status() : Status(json.error());
  }
  auto read_entries(JsonReader& json, Json root, const Archive& archive, const std::string& prefix) -> bool {
    JsonObject file;
    JsonObject config;
    if (!json.as(root, "the file", file) || !json.member(file, "config", config)) return false;
    for (const auto& [attribute, value] : config) {
      JsonObject entry;
      Json meta;
      std::string_view path_name;
      if (!json.as(value, "an entry", entry) || !json.member(entry, "path_name", path_name)) return false;
      Payload& payload = payloads_[attribute];
      if (entry.at_key("tensor_meta").get(meta) == simdjson::SUCCESS && !meta.is_null()) payload.tensor_meta = meta;
      const std::string data = std::string(prefix).append(path_name);
      const auto [known, is_new] = storages_.try_emplace(data);
      Storage& storage = known->second;
      if (is_new) {
        // Tensors without data, empty or fake ones, are listed under one path though nothing ties them together.
        storage.is_empty = archive.size_of(data).value_or(0) == 0;
        storage.first = &payload;
        continue;
      }
      if (storage.is_empty) continue;
      if (storage.first != nullptr) {
        storage.number = shared_storages_++;
        storage.first->storage = storage.number;
        storage.first = nullptr;
      }
      payload.storage = storage.number;
    }
    return true;
  }

  std::list<JsonDocument> documents_;  // payloads point into them
  Payloads payloads_;
  std::unordered_map<std::string, Storage> storages_;
  std::uint32_t shared_storages_ = 0;
};

[[nodiscard]] inline auto read_archive(const Archive& archive, const CustomOperators* operators) -> Expected<Graph> {
  const auto program = find_program(archive);
  if (!program) return program.error();
  const auto text = archive.read(program->member);
  if (!text) return text.error();
  PayloadReader payloads;
  if (Status read = payloads.read(archive, *program); !read) return std::move(read).error();
  const std::string file_name = archive.name_of(program->member, program->root);
  JsonDocument document;
  if (Status parsed = document.parse(*text, file_name); !parsed) return std::move(parsed).error();
  return read_exported_program(document.root(), file_name, payloads.payloads(), operators);
}

}  // namespace detail

/// The program in a `.pt2` archive of `torch.export.save`; where it holds several, the one called "model".
///
/// Errors, with the member of the archive and the node: `file_unreadable`, `file_malformed`;
/// `schema_unsupported` for another major version than 8; `unknown_dtype`; `unsupported` for a program with
/// parts that fxpass has no place for; `invalid_graph` for one that is not sound; `invalid_option` where
/// `operators`, the schemas of custom operators that an export does not hold, are contradicted by a call. O(size of
/// the program): the data of tensors is not read. See examples/guide.cpp.
[[nodiscard]] inline auto read_pt2(std::string_view path, const CustomOperators* operators = nullptr)
    -> Expected<Module<>> {
  const auto read = [&](const detail::Archive& archive) { return detail::read_archive(archive, operators); };
  return detail::finish_reading(detail::Archive::open(path).and_then(read), path, operators);
}

}  // namespace fxpass
