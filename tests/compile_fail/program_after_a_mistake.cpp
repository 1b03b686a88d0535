// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mistake: A wrong order in a whole program: passes, lowering, report, output add no second error.
// expect-error-first: fxpass: wrong pass order
// expect-first-four: wrong_pass_order<fxpass::verdict::pass<fxpass::InPlaceToOutOfPlacePass>, fxpass::verdict::needs<fxpass::AliasesAnalysed>, fxpass::verdict::is_established_later_by<fxpass::AliasingOutputRewritePass>
#include <fxpass/fxpass.hpp>

using namespace fxpass;

auto compile_program(const Expected<Module<>>& program) -> int {
#ifdef FXPASS_CONTROL
  constexpr auto first = AliasingOutputRewritePass{} | InPlaceToOutOfPlacePass{};
#else
  constexpr auto first = InPlaceToOutOfPlacePass{} | AliasingOutputRewritePass{};
#endif
  constexpr auto passes = pipeline(DeviceRewriterPass{}, first, NkiKernelWriteBackendConfigPass{},
                                   CollectiveReplicaGroupsPass{});
  const auto prepared = program.and_then(passes);
  const auto lowered = prepared.and_then(lower(neuron::trn2));
  if (!lowered) return report(stderr, lowered.error());
  const auto written = write_file("out.hlo", emit<HloText>(lowered->module));
  return written && !emit<HloProto>(*lowered).empty() ? 0 : 1;
}
