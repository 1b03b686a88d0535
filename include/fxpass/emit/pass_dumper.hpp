// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/emit/file.hpp>
#include <fxpass/emit/fx_python.hpp>
#include <fxpass/graph/call.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/pass/observer.hpp>
#include <fxpass/support/span.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// @file
/// `PassDumper`: the graph before and behind each pass, in files.

namespace fxpass {

/// Writes `<folder>/passes/00_original.txt` before the first pass, and `<folder>/passes/NN_after_<pass>.txt`
/// behind the NN-th, if it ran: a title, the replica groups that are known, the graph as FX text, the graph
/// as Python. A dump is for people who look for an error, so a file that cannot be written stops nothing;
/// `problems` tells. A folder that cannot be made is told of once, and then nothing is dumped. O(graph as text)
/// a pass.
class PassDumper {
 public:
  /// Behind which passes the graph is dumped: all that ran, or those that do not claim to have changed
  /// nothing.
  enum class Behind : std::uint8_t { every_pass, changes };

  /// Dumps into `<folder>/passes/`, which is made at the first pass.
  explicit PassDumper(std::string_view folder, Behind behind = Behind::every_pass)
      : folder_(std::filesystem::path(folder) / "passes"), behind_(behind) {}

  /// Observer: dumps the graph before the first pass, and behind each.
  void before(std::string_view, const Graph& graph) {
    if (has_original_) return;
    has_original_ = true;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    has_folder_ = !error;
    if (error)
      problems_.add(Diagnostic::warning(DiagnosticCode::file_unwritable,
                                        text_of("cannot make folder '", folder_.string().c_str(),
                                                "', so no pass is dumped")));
    dump("00_original.txt", "Original FX graph", graph);
  }
  /// Observer: dumps the graph behind a pass.
  void after(const PassReport& report, const Graph& graph) {
    if (report.skipped || (behind_ == Behind::changes && report.claims_unchanged)) return;
    const std::size_t number = report.index + 1;
    dump(text_of(number < 10 ? "0" : "", number, "_after_", report.name, ".txt"),
         text_of("FX graph after pass '", report.name, "'"), graph);
  }

  /// The files that could not be written, as warnings.
  [[nodiscard]] auto problems() const -> const Diagnostics& { return problems_; }

  /// What stands in a file.
  [[nodiscard]] static auto contents(std::string_view title, const Graph& graph) -> Text {
    constexpr std::string_view rule = "==================================================\n";
    Text text = text_of(title, '\n', rule);
    append_replica_groups(text, graph);
    append_all(text, graph, '\n', rule);
    if (const Expected<Text> python = emit<FxPython>(graph))
      append_to(text, *python);
    else
      append_all(text, python.error());
    return text;
  }

 private:
  void dump(std::string_view file, std::string_view title, const Graph& graph) {
    if (!has_folder_) return;
    const std::string path = (folder_ / file).string();
    if (Status written = write_file(path, contents(title, graph)); !written)
      for (Diagnostic d : written.error()) {
        d.severity = Severity::warning;
        problems_.add(std::move(d));
      }
  }
  /// Each group name once, with the partition that its first collective has; nothing if no collective has one.
  static void append_replica_groups(Text& text, const Graph& graph) {
    std::vector<Text> told;
    append_replica_groups(text, graph, told);
    if (!told.empty()) append_to(text, '\n');
  }
  static void append_replica_groups(Text& text, const Graph& graph, std::vector<Text>& told) {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const Partition* partition = graph.replica_groups(NodeId{i});
      const auto name = partition != nullptr ? Call(graph, NodeId{i}).string("group_name") : std::nullopt;
      if (!name) continue;
      bool is_known = false;
      for (const Text& t : told) is_known = is_known || t == *name;
      if (is_known) continue;
      if (told.empty()) append_to(text, "Replica Groups\n--------------\n");
      told.emplace_back(*name);
      append_all(text, *name, ": [");
      append_groups(text, graph.ranks(*partition), partition->group_size);
      append_to(text, "]\n");
    }
    for (const std::uint32_t number : graph.subgraphs_in_use())
      append_replica_groups(text, graph.subgraphs()[number], told);
  }
  static void append_groups(Text& text, Span<const std::int64_t> ranks, std::size_t group_size) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const bool opens = group_size == 0 || i % group_size == 0;
      if (i > 0) append_to(text, opens ? "], " : ", ");
      if (opens) append_to(text, '[');
      append_to(text, ranks[i]);
    }
    if (!ranks.empty()) append_to(text, ']');
  }

  std::filesystem::path folder_;
  Behind behind_;
  bool has_original_ = false;
  bool has_folder_ = false;
  Diagnostics problems_;
};

}  // namespace fxpass
