// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// expect-error-first: fxpass: wrong pass order
// expect-error: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>
// expect-error: fxpass::verdict::was_lost_by<CountDropout>
// expect-error: to_mend<fxpass::verdict::declare_keeps<fxpass::AliasesAnalysed>, fxpass::verdict::in<CountDropout>
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
