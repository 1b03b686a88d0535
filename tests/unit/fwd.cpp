// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/fwd.hpp>

#include <string_view>

/// Somebody's header: speaks of fxpass by its names alone.
struct Downstream {
  auto run(const fxpass::Graph&, fxpass::Context&) const -> fxpass::Expected<fxpass::Graph>;
  auto lower(const fxpass::ModuleOf<fxpass::OutOfPlace>&) const -> fxpass::Expected<fxpass::LoweredModule>;
  auto emit(const fxpass::hlo::Module&) const -> fxpass::Text;

  static constexpr std::string_view name = "downstream";
  using needs = fxpass::facts<fxpass::MutationsSurfaced>;
  using keeps = fxpass::everything_but<fxpass::AliasesAnalysed>;
};

#include <fxpass/fxpass.hpp>

#include <doctest/doctest.h>

namespace {

using namespace fxpass;

// A name that is declared and no longer defined would not be missed otherwise.
template <class... T>
constexpr bool all_defined = ((sizeof(T) > 0) && ...);
static_assert(all_defined<Text, DiagnosticCode, SourcePlace, Diagnostic, Diagnostics, Expected<int>, Status, DType, Range,
                          Pool<int>>);
static_assert(all_defined<NodeId, TextId, DeviceId, SymInt, Argument, ArgumentKind, NodeKind, ValueKind, Node, Operator,
                          TensorMeta, InputKind, InputSpec, OutputKind, OutputSpec, Partition, Graph, ValueSpec,
                          GraphBuilder, Call, Renumbering, Editor, Users>);
static_assert(all_defined<facts<>, everything, nothing, everything_but<>, FactInfo, Contract, ModuleOf<>,
                          Artifacts<DeviceRewriterPass>, Statistic, Context, Sweep, PassReport, VerifyEach, Pipeline<>,
                          FXPassManager, Rejected, KernelEntry, KernelRegistry, ProcessGroups>);
static_assert(all_defined<OnTargetDevice, AliasesAnalysed, MutationsSurfaced, OutOfPlace, KernelsConfigured,
                          ReplicaGroupsResolved, DeviceRewriterPass, AliasingOutputRewritePass, InPlaceToOutOfPlacePass,
                          NkiKernelWriteBackendConfigPass, CollectiveReplicaGroupsPass, PassOptions>);
static_assert(all_defined<hlo::Shape, hlo::Opcode, hlo::Instruction, hlo::Computation, hlo::Module, hlo::Builder,
                          Signature, LoweredModule, CompileOptions, XlaTarget, neuron::Target>);
static_assert(all_defined<HloText, HloProto, FxText, FxPython, OutputFile, PassDumper>);

TEST_CASE("a pass declared by names alone is a pass") {
  CHECK(FXPass<Downstream>);
  CHECK(contract_of<Downstream>.needs[0] == fact_info<MutationsSurfaced>);
}

}  // namespace
