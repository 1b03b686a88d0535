// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: Two lowerings in one list are for one operator.
// expect-error-first: fxpass: two lowerings for one operator: 'override_with' replaces one
// expect-first-four: duplicate_lowering<fxpass::verdict::lowering<LowerMySilu>, fxpass::verdict::lowers_the_operator_of<fxpass::LowerSilu>
// expect-first-four: to_mend<fxpass::verdict::override_with<fxpass::lowerings<LowerMySilu>
#include <fxpass/lower/lower.hpp>

using namespace fxpass;

struct LowerMySilu {
  static constexpr std::string_view op = "aten.silu";
  static constexpr auto lower(auto& c, const Call& call) -> hlo::Value { return c.tensor(call, "self"); }
};

auto lower_program(const Graph& graph) {
#ifdef FXPASS_CONTROL
  constexpr auto all = default_lowerings.override_with(lowerings<LowerMySilu>{});
#else
  constexpr auto all = default_lowerings + lowerings<LowerMySilu>{};
#endif
  return lower_graph(graph, xla, all.table()).has_value();
}
