// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: No pass establishes what a pass needs, and one before it would lose it: adding a pass mends it.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>, fxpass::verdict::would_be_lost_by<CountDropout>
// expect-first-four: to_mend<fxpass::verdict::add<fxpass::AliasingOutputRewritePass>, fxpass::verdict::before<fxpass::InPlaceToOutOfPlacePass>
#include <fxpass/passes/default_pipeline.hpp>

using namespace fxpass;

struct CountDropout {
  static constexpr std::string_view name = "count_dropout";
  constexpr auto run(Graph graph, Context& context) const -> Expected<Graph> {
    context.count("dropouts", 0);
    return graph;
  }
};

#ifdef FXPASS_CONTROL
inline constexpr auto passes = pipeline(CountDropout{}, AliasingOutputRewritePass{}, InPlaceToOutOfPlacePass{});
#else
inline constexpr auto passes = pipeline(CountDropout{}, InPlaceToOutOfPlacePass{});
#endif
