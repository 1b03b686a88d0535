// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A contract names a pass where it has to name the fact that the pass establishes.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::needs_what_is_no_fact<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::is_a_pass
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  using needs = facts<OutOfPlace>;
#else
  using needs = facts<InPlaceToOutOfPlacePass>;
#endif
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = get_default_pass_manager().add_pass(Reader{});
