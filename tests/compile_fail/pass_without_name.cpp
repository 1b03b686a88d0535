// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass has no name.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Nameless, fxpass::verdict::has_no_static_name, fxpass::verdict::to_mend<fxpass::verdict::write_static_constexpr_string_view_name
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Nameless {
#ifdef FXPASS_CONTROL
  static constexpr std::string_view name = "nameless";
#endif
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Nameless{});
