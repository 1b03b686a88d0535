// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: `run` does not take the context.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::run_must_take_a_graph_and_a_context
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
#else
  constexpr auto run(const Graph&) const -> Status { return {}; }
#endif
};

inline constexpr auto passes = pipeline(Reader{});
