// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass needs what an earlier pass says that it loses.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<Reader>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: fxpass::verdict::was_lost_by<fxpass::InPlaceToOutOfPlacePass>
// expect-first-four: to_mend<fxpass::verdict::move<Reader>, fxpass::verdict::before<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
  using needs = facts<AliasesAnalysed>;
  using keeps = everything;
  constexpr auto run(Graph&, Artifacts<Reader>&, Context&) const -> Status { return {}; }
};

#ifdef FXPASS_CONTROL
inline constexpr auto passes = get_default_pass_manager().insert_before<InPlaceToOutOfPlacePass>(Reader{});
#else
inline constexpr auto passes = get_default_pass_manager().insert_after<InPlaceToOutOfPlacePass>(Reader{});
#endif
