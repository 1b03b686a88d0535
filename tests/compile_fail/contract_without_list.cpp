// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A contract names a fact without `facts<...>`.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Hasty, fxpass::verdict::needs_must_be_a_list_of_facts>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Hasty {
  static constexpr std::string_view name = "hasty";
#ifdef FXPASS_CONTROL
  using needs = facts<OutOfPlace>;
#else
  using needs = OutOfPlace;
#endif
  constexpr auto run(Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Hasty{});
