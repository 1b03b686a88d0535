// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/graph/editor.hpp>
#include <fxpass/support/diagnostic.hpp>
#include <fxpass/support/span.hpp>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

/// @file
/// `Context`: what a running pass says besides its result.

namespace fxpass {

/// A number that a pass reports of its run.
struct Statistic {
  Text key;                ///< what is counted
  std::int64_t value = 0;  ///< how many
  friend constexpr auto operator==(const Statistic&, const Statistic&) -> bool = default;
};

/// Where passes put warnings and statistics. Warnings gather over a whole run, statistics belong to one pass: observers
/// read them behind it.
class Context {
 public:
  /// Gives a warning, which does not end the run.
  constexpr void warn(Diagnostic warning) { warnings_.add(std::move(warning)); }
  /// The warnings of all passes so far.
  [[nodiscard]] constexpr auto warnings() const -> const Diagnostics& { return warnings_; }

  /// Adds `amount` to statistic `key`, which starts at 0; an amount of 0 makes it appear. O(keys).
  constexpr void count(std::string_view key, std::int64_t amount = 1) {
    for (Statistic& statistic : statistics_)
      if (statistic.key == key) {
        statistic.value += amount;
        return;
      }
    statistics_.push_back({Text(key), amount});
  }
  /// In the order in which keys appeared.
  [[nodiscard]] constexpr auto statistics() const -> Span<const Statistic> { return statistics_; }

  /// A pass that commits an `Editor` of its own says so here, or the artifacts it keeps would name other nodes: the
  /// runner renumbers them. Artifacts that it makes itself name the nodes of the graph it leaves. Forward passes need
  /// not; the sweep commits for them.
  constexpr void renumbered(Renumbering moved) { moves_.push_back(std::move(moved)); }
  [[nodiscard]] constexpr auto moves() const -> Span<const Renumbering> { return moves_; }

  /// A pass that has found nothing to change says so here: observers need not look for a difference.
  /// `VerifyEach` proves it. Of a pass that only looks it is known without a word.
  constexpr void claim_unchanged() { claims_unchanged_ = true; }
  [[nodiscard]] constexpr auto claims_unchanged() const -> bool { return claims_unchanged_ && !has_changed_nested_; }

  /// Adds what the pass has said of a graph inside its graph, which `nested` has: the pass has changed nothing if it has
  /// changed neither, whichever it is done with first.
  constexpr void add_nested(const Context& nested) {
    for (const Diagnostic& warning : nested.warnings_) warn(warning);
    for (const Statistic& statistic : nested.statistics_) count(statistic.key, statistic.value);
    has_changed_nested_ = has_changed_nested_ || !nested.claims_unchanged();
  }

 private:
  Diagnostics warnings_;
  std::vector<Statistic> statistics_;
  std::vector<Renumbering> moves_;
  bool claims_unchanged_ = false;
  bool has_changed_nested_ = false;
};

}  // namespace fxpass
