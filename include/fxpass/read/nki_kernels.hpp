// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/read/file.hpp>
#include <fxpass/read/json.hpp>
#include <fxpass/support/base64.hpp>

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// @file
/// Reads what a kernel compiler says of its kernels:
///
///     {"kernels": [{"kernel_idx": 3, "backend_config": {...}, "operand_output_aliases": {"1": 0}}, ...]}
///
/// `backend_config` is the text for the backend, passed on as it is, or the JSON object that the text is the
/// base64 of. `operand_output_aliases` says that tensor argument 1 is written and that its new value is
/// result 0.

namespace fxpass {

namespace detail {

class NkiKernelReader {
 public:
  explicit NkiKernelReader(std::string_view file_name) : json_(file_name) {}

  [[nodiscard]] auto read(Json root) -> Expected<KernelRegistry> {
    JsonObject file;
    JsonArray kernels;
    if (!json_.as(root, "the file", file) || !json_.member(file, "kernels", kernels)) return json_.error();
    for (const Json kernel : kernels)
      if (!read_kernel(kernel)) return json_.error();
    return std::move(registry_);
  }

 private:
  [[nodiscard]] auto read_kernel(Json value) -> bool {
    JsonObject kernel;
    KernelEntry entry;
    if (!json_.as(value, "a kernel", kernel) || !json_.member(kernel, "kernel_idx", entry.kernel_idx))
      return false;
    if (registry_.find(entry.kernel_idx) != nullptr)
      return json_.malformed("kernel ", entry.kernel_idx, " is described twice");
    if (!read_backend_config(kernel, entry.backend_config) || !read_aliases(kernel, entry)) return false;
    registry_.add(std::move(entry));
    return true;
  }

  [[nodiscard]] auto read_backend_config(JsonObject kernel, Text& config) -> bool {
    Json value;
    if (!json_.member(kernel, "backend_config", value)) return false;
    if (value.is_object()) {
      append_base64(config, simdjson::minify(value));
      return true;
    }
    std::string_view text;
    if (!json_.as(value, "member 'backend_config'", text)) return false;
    if (text.empty()) return json_.malformed("member 'backend_config' is empty");
    config = text;
    return true;
  }

  [[nodiscard]] auto read_aliases(JsonObject kernel, KernelEntry& entry) -> bool {
    JsonObject aliases;
    if (!json_.member(kernel, "operand_output_aliases", aliases)) return false;
    for (const auto& [key, value] : aliases) {
      KernelAlias alias;
      std::int64_t result = 0;
      const auto parsed = std::from_chars(key.data(), key.data() + key.size(), alias.operand);
      if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size())
        return json_.malformed("'", key, "' in 'operand_output_aliases' is no argument number");
      if (!json_.as(value, "a value of 'operand_output_aliases'", result)) return false;
      if (result < 0 || result > std::numeric_limits<std::int32_t>::max())
        return json_.malformed(result, " in 'operand_output_aliases' is no result number");
      alias.result = static_cast<std::uint32_t>(result);
      for (const KernelAlias other : entry.aliases)
        if (other.operand == alias.operand || other.result == alias.result)
          return json_.malformed("kernel ", entry.kernel_idx, " aliases an argument or a result twice");
      entry.aliases.push_back(alias);
    }
    return true;
  }

  JsonReader json_;
  KernelRegistry registry_;
};

}  // namespace detail

/// The kernels described in the JSON file at `path`. Errors: `file_unreadable`, `file_malformed`. O(size).
[[nodiscard]] inline auto read_nki_kernels(std::string_view path) -> Expected<KernelRegistry> {
  return read_file(path).and_then([&](const std::string& text) -> Expected<KernelRegistry> {
    detail::JsonDocument document;
    if (Status parsed = document.parse(text, path); !parsed) return std::move(parsed).error();
    return detail::NkiKernelReader(path).read(document.root());
  });
}

}  // namespace fxpass
