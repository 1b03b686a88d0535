// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A pass is written as a function object.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::has_operator_call_where_run_is_meant
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Reader {
  static constexpr std::string_view name = "reader";
#ifdef FXPASS_CONTROL
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
#else
  constexpr auto operator()(const Graph&, Context&) const -> Status { return {}; }
#endif
};

inline constexpr auto passes = pipeline(Reader{});
