// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: An emitter of graphs cannot say what its form does not express.
// expect-error-first: fxpass: this is not an emitter
// expect-first-four: not_an_emitter<Names, fxpass::verdict::write_must_take_a_text_and_a_graph_and_return_a_status
#include <fxpass/emit/graph_emitter.hpp>

using namespace fxpass;

struct Names {
  static constexpr std::string_view name = "names";
  static constexpr std::string_view file_ending = ".txt";
#ifdef FXPASS_CONTROL
  static constexpr auto write(auto& sink, const Graph&) -> Status {
    append_to(sink, "x\n");
    return {};
  }
#else
  static constexpr void write(auto& sink, const Graph&) { append_to(sink, "x\n"); }
#endif
};

auto print(const Graph& graph) { return emit<Names>(graph).has_value(); }
