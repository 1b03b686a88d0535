// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/fxpass.hpp>
#include <fxpass/read/pt2.hpp>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

// consumer PROGRAM.pt2 OUT.pb OUT.hlo: compiles a program with a pass and an observer of its own.

namespace {

struct CountCalls {
  static constexpr std::string_view name = "count_calls";
  using keeps = fxpass::everything;

  constexpr auto run(fxpass::Graph graph, fxpass::Context& context) const -> fxpass::Expected<fxpass::Graph> {
    for (const fxpass::Node& node : graph.nodes()) {
      if (node.kind == fxpass::NodeKind::call_function) context.count("calls");
    }
    return graph;
  }
};

struct ReadCount {
  std::int64_t* calls;

  void after(const fxpass::PassReport& report, const fxpass::Graph&) const {
    for (const fxpass::Statistic& statistic : report.statistics) {
      if (report.name == CountCalls::name && statistic.key == "calls") *calls = statistic.value;
    }
  }
};

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc != 4) {
    std::fputs("usage: consumer PROGRAM.pt2 OUT.pb OUT.hlo\n", stderr);
    return 2;
  }
  auto program = fxpass::read_pt2(argv[1]);
  if (!program) return fxpass::report(stderr, program.error());

  constexpr auto pipeline =
      fxpass::get_default_pass_manager().insert_before<fxpass::InPlaceToOutOfPlacePass>(CountCalls{});
  fxpass::Context context;
  std::int64_t calls = 0;
  const auto lowered = pipeline.run_passes(*std::move(program), context, ReadCount{&calls})
                           .and_then(fxpass::lower(fxpass::neuron::trn2));
  if (!lowered) return fxpass::report(stderr, lowered.error());
  if (calls == 0) {
    std::fputs("error: the observer saw no calls\n", stderr);
    return 1;
  }
  const auto proto = fxpass::emit<fxpass::HloProto>(*lowered);
  const auto text = fxpass::emit<fxpass::HloText>(*lowered);
  const auto written = fxpass::write_files({{argv[2], proto}, {argv[3], text}});
  return written ? 0 : fxpass::report(stderr, written.error());
}
