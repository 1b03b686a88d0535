// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: `run` asks for the artifacts of another pass.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::run_must_take_the_artifacts_of_its_own_pass
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  constexpr auto run(Graph&, Artifacts<Reader>&, Context&) const -> Status { return {}; }
#else
  constexpr auto run(Graph&, Artifacts<struct Writer>&, Context&) const -> Status { return {}; }
#endif
};

inline constexpr auto passes = pipeline(Reader{});
