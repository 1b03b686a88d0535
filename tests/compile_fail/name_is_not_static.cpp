// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The name of a pass is not static.
// expect-error-first: fxpass: this is not a pass
// expect-first-four: not_a_pass<Reader, fxpass::verdict::name_must_be_static
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

struct Reader {
#ifdef FXPASS_CONTROL
  static constexpr std::string_view name = "reader";
#else
  std::string_view name = "reader";
#endif
  constexpr auto run(const Graph&, Context&) const -> Status { return {}; }
};

inline constexpr auto passes = pipeline(Reader{});
