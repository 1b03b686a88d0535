// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass needs what another pass loses, and also what that one establishes: no order is right.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<Reader>, fxpass::verdict::needs<fxpass::AliasesAnalysed>, fxpass::verdict::was_lost_by<fxpass::InPlaceToOutOfPlacePass>
// expect-first-four: to_mend<fxpass::verdict::leave_out<Reader>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  using needs = facts<OutOfPlace>;
#else
  using needs = facts<AliasesAnalysed, OutOfPlace>;
#endif
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = get_default_pass_manager().add_pass(Reader{});
