// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The check of a fact that a pass establishes is not static, so nobody could call it.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<RemoveDropout, fxpass::verdict::establishes_what_is_no_fact<NoDropout>, fxpass::verdict::check_must_be_static
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct NoDropout {
  static constexpr std::string_view name = "no_dropout";
#ifdef FXPASS_CONTROL
  static constexpr auto check(const Graph&) -> Status { return {}; }
#else
  constexpr auto check(const Graph&) const -> Status { return {}; }
#endif
};
struct RemoveDropout {
  static constexpr std::string_view name = "remove_dropout";
  using establishes = facts<NoDropout>;
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(RemoveDropout{});
