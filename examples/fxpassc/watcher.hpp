// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"

#include <fxpass/emit/pass_dumper.hpp>
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
    if (!options.dump_passes.empty()) dumper_.emplace(options.dump_passes);
  }
  Watcher(const Watcher&) = delete;
  auto operator=(const Watcher&) -> Watcher& = delete;

  /// Whether there is anything to watch for. If not, the pipeline runs neighbouring passes in one traversal.
  [[nodiscard]] static auto is_needed(const CompileOptions& options) -> bool {
    return options.time_passes || options.verify_each || !options.dump_passes.empty();
  }

  void before(std::string_view pass, const fxpass::Graph& graph) {
    if (dumper_) dumper_->before(pass, graph);
    if (verifier_) verifier_->before(pass, graph);
    if (timer_) timer_->before(pass, graph);
  }
  auto after(const fxpass::PassReport& report, const fxpass::Graph& graph) -> fxpass::Status {
    if (timer_) timer_->after(report, graph);
    if (verifier_)
      if (fxpass::Status verified = verifier_->after(report, graph); !verified) return verified;
    if (dumper_) dumper_->after(report, graph);
    return {};
  }
  /// What went wrong with watching; the program is none the worse for it.
  [[nodiscard]] auto problems() const -> fxpass::Diagnostics {
    return dumper_ ? dumper_->problems() : fxpass::Diagnostics();
  }

 private:
  StandardError stream_;
  std::optional<fxpass::PassTimer<StandardError>> timer_;
  std::optional<fxpass::VerifyEach> verifier_;
  std::optional<fxpass::PassDumper> dumper_;
};

}  // namespace fxpassc
