// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error-first: fxpass: this is not a pass
// expect-error: not_a_pass<Nameless, fxpass::verdict::has_no_static_name>
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Nameless {
#ifdef FXPASS_CONTROL
  static constexpr std::string_view name = "nameless";
#endif
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Nameless{});
