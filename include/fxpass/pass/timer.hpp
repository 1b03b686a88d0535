// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/observer.hpp>
#include <fxpass/support/text.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>

/// @file
/// `PassTimer`: how long each pass takes. Not part of pass/observer.hpp, since `<chrono>` costs that much
/// again.

namespace fxpass {

/// Writes a line for each pass: `FX Pass 'device_rewriter' completed in 0.0001s`, or `FX Pass 'device_rewriter' skipped`
/// if it is switched off. Put it last among the observers, so that it does not time the others.
///
///     Text log;
///     PassTimer timer(log);
///     const auto done = passes.run_passes(module, context, timer);
template <TextSink Sink>
class PassTimer {
 public:
  /// Writes to `sink`, which has to outlive it.
  explicit PassTimer(Sink& sink) : sink_(&sink) {}

  /// Observer: starts the clock.
  void before(std::string_view, const Graph&) { start_ = Clock::now(); }
  /// Observer: writes the line.
  void after(const PassReport& report, const Graph&) {
    const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_).count();
    if (report.skipped) return append_all(*sink_, "FX Pass '", report.name, "' skipped\n");
    append_all(*sink_, "FX Pass '", report.name, "' completed in ");
    append_seconds(taken);
    append_all(*sink_, "s\n");
    total_ += taken;
  }
  /// Of all passes so far, in seconds.
  [[nodiscard]] auto total() const -> double { return static_cast<double>(total_) * 1e-9; }

 private:
  using Clock = std::chrono::steady_clock;

  /// With four decimals, rounded.
  void append_seconds(std::int64_t nanoseconds) {
    constexpr std::int64_t unit = 100'000;
    const std::int64_t units = (nanoseconds + unit / 2) / unit;
    append_all(*sink_, units / 10'000, '.');
    for (std::int64_t digit = 1'000; digit > 0; digit /= 10) append_to(*sink_, units / digit % 10);
  }

  Sink* sink_;
  Clock::time_point start_;
  std::int64_t total_ = 0;
};

}  // namespace fxpass
