// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: The check of a fact is private, so that nobody could call it.
// expect-error-first: fxpass: this is not a fact
// expect-first-four: not_a_fact<Small, fxpass::verdict::check_must_be_public_and_take_a_graph_and_return_a_status
#include <fxpass/pass/pipeline.hpp>

using namespace fxpass;

class Small {
#ifdef FXPASS_CONTROL
 public:
#endif
  static constexpr auto check(const Graph&) -> Status { return {}; }

 public:
  static constexpr std::string_view name = "small";
};

auto prove(Module<> module) -> bool { return check_facts<Small>(std::move(module)).has_value(); }
