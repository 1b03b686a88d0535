// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass needs what an earlier pass, which says nothing of what it keeps, does not vouch for.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-first-four: fxpass::verdict::was_lost_by<CountDropout>
// expect-first-four: to_mend<fxpass::verdict::declare_keeps<fxpass::AliasesAnalysed>, fxpass::verdict::in<CountDropout>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct CountDropout {
  static constexpr std::string_view name = "count_dropout";
#ifdef FXPASS_CONTROL
  using keeps = everything;
#endif
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> {
    context.count("dropouts", 0);
    return graph;
  }
};

inline constexpr auto passes = pipeline(AliasingOutputRewritePass{}, CountDropout{}, InPlaceToOutOfPlacePass{});
