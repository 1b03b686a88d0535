// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <fxpass/pass/timer.hpp>
#include <fxpass/pass/verify_each.hpp>

#include <cstdio>
#include <optional>
#include <string_view>

namespace fxpassc {

/// Text goes to the standard error stream.
struct StandardError {
  static void append(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }
};

/// What `--time-passes`, `--dump-passes` and `--verify-each` ask for, as one observer of the pipeline.
class Watcher {
 public:
  explicit Watcher(const CompileOptions& options) {
    if (options.time_passes) timer_.emplace(stream_);
    if (options.verify_each) verifier_.emplace();
  }
  Watcher(const Watcher&) = delete;
  auto operator=(const Watcher&) -> Watcher& = delete;

  /// Whether there is anything to watch for. If not, the pipeline runs neighbouring passes in one traversal.
  [[nodiscard]] static auto is_needed(const CompileOptions& options) -> bool {
    return options.time_passes || options.verify_each;
  }

  void before(std::string_view pass, const fxpass::Graph& graph) {
    if (timer_) timer_->before(pass, graph);
  }
  auto after(const fxpass::PassReport& report, const fxpass::Graph& graph) -> fxpass::Status {
    if (timer_) timer_->after(report, graph);
    if (verifier_) return verifier_->after(report, graph);
    return {};
  }

 private:
  StandardError stream_;
  std::optional<fxpass::PassTimer<StandardError>> timer_;
  std::optional<fxpass::VerifyEach> verifier_;
};

}  // namespace fxpassc
