// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

/// @file
/// The names of fxpass, declared: for headers that speak of graphs, modules and passes without a look inside. What the
/// names are is said where they are defined; the folders follow the data flow.

/// PyTorch FX graphs, through passes whose order the compiler checks, to HLO.
namespace fxpass {

// support/
class Text;
enum class DiagnosticCode : std::uint8_t;
struct SourcePlace;
struct Diagnostic;
class Diagnostics;
template <class T>
class Expected;
/// Done, or why not.
using Status = Expected<void>;
enum class DType : std::uint8_t;
struct Range;
template <class T>
class Pool;
template <class T>
class Span;

// graph/
struct NodeId;
struct TextId;
struct DeviceId;
class SymInt;
class Argument;
enum class ArgumentKind : std::uint8_t;
enum class NodeKind : std::uint8_t;
enum class ValueKind : std::uint8_t;
struct Node;
struct Operator;
struct TensorMeta;
enum class InputKind : std::uint8_t;
struct InputSpec;
enum class OutputKind : std::uint8_t;
struct OutputSpec;
struct Partition;
class Graph;
struct ValueSpec;
class GraphBuilder;
class Call;
class Renumbering;
class Editor;
class Users;

// pass/: `Module<A, B>` sorts its facts and cannot be declared; it is a `ModuleOf<...>`.
template <class... F>
struct facts;
struct everything;
struct nothing;
template <class... F>
struct everything_but;
struct FactInfo;
struct Contract;
template <class... F>
class ModuleOf;
template <class P>
class Artifacts;
struct Statistic;
class Context;
class Sweep;
struct PassReport;
class VerifyEach;
template <class... P>
class Pipeline;
template <int Limit, class... P>
class Repeat;
template <class P>
class OptionalPass;
using FXPassManager = Pipeline<>;
struct Rejected;
struct KernelEntry;
class KernelRegistry;
class ProcessGroups;

// passes/
struct OnTargetDevice;
struct AliasesAnalysed;
struct MutationsSurfaced;
struct OutOfPlace;
struct KernelsConfigured;
struct ReplicaGroupsResolved;
struct DeviceRewriterPass;
struct AliasingOutputRewritePass;
struct InPlaceToOutOfPlacePass;
struct NkiKernelWriteBackendConfigPass;
struct CollectiveReplicaGroupsPass;
struct PassOptions;

// hlo/
namespace hlo {
struct Shape;
enum class Opcode : std::uint8_t;
struct Instruction;
struct Computation;
struct Module;
class Builder;
}  // namespace hlo

// lower/, neuron/
struct Signature;
struct LoweredModule;
struct CompileOptions;
struct XlaTarget;
namespace neuron {
struct Target;
}  // namespace neuron

// emit/
struct HloText;
struct HloProto;
struct FxText;
struct FxPython;
struct OutputFile;
class PassDumper;

}  // namespace fxpass
