// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// First, so that the errors of this header are told with few lines of "included from".
#include <fxpass/pass/verdict.hpp>

#include <fxpass/pass/pipeline.hpp>
#include <fxpass/support/text_constant.hpp>

#include <string_view>
#include <utility>

/// @file
/// `named<"cleanup">(pipeline(a, b))`: a pipeline as one pass.

namespace fxpass {

namespace detail {

/// Passes `P` that run inside pass `Whole`, whose contract is theirs. A run starts from a module of which
/// what they need is known, and no more: what else is true outside is the business of the pipeline that
/// `Whole` is in.
template <class Whole, class... P>
struct Part {
  using Needs = typename JointContract<P...>::needs;
  using Entry = typename ModuleOfSet<Needs>::type;
  using Exit = typename RunPlan<Needs, P...>::Result;

  /// The module that a run starts from. The artifacts are copied: `Whole` does not own those that it only
  /// reads.
  [[nodiscard]] static constexpr auto enter(Graph graph, const Artifacts<Whole>& artifacts) -> Entry {
    slots_of<Needs> slots;
    copy_artifacts(Needs(), artifacts, slots);
    return ModuleMaker::make(Needs(), std::move(graph), slots);
  }
  /// Runs the passes. `context` is that of `Whole`.
  [[nodiscard]] static constexpr auto run(const Pipeline<P...>& passes, Entry module, Context& context)
      -> Expected<Exit> {
    return PipelineRunner<Entry, P...>(PipelineMaker::members(passes), std::move(module), context)
        .run_as_part();
  }
  /// Hands over what a run has made.
  static constexpr void leave(Exit module, Graph& graph, const Artifacts<Whole>& artifacts) {
    slots_of<typename Exit::facts> slots;
    graph = ModuleMaker::take_apart(module, slots);
    move_artifacts(establishes_of<Whole>(), slots, artifacts);
  }

 private:
  template <class... F>
  static constexpr void copy_artifacts(facts<F...>, const Artifacts<Whole>& from, slots_of<Needs>& to) {
    (copy_artifact<F>(from, to), ...);
  }
  template <class F>
  static constexpr void copy_artifact(const Artifacts<Whole>& from, slots_of<Needs>& to) {
    if constexpr (FactWithArtifact<F>) static_cast<ArtifactSlot<F>&>(to).value = from.template get<F>();
  }
  template <class... F, class Slots>
  static constexpr void move_artifacts(facts<F...>, Slots& from, const Artifacts<Whole>& to) {
    (move_artifact<F>(from, to), ...);
  }
  template <class F, class Slots>
  static constexpr void move_artifact(Slots& from, const Artifacts<Whole>& to) {
    if constexpr (FactWithArtifact<F>)
      to.template get<F>() = std::move(static_cast<ArtifactSlot<F>&>(from).value);
  }
};

}  // namespace detail

/// Passes `P` as one pass. Its contract is theirs; observers see one step, whose statistics are those of the
/// passes with `pass.` in front of the key; the passes share traversals whoever looks on.
template <TextConstant Name, class... P>
struct NamedPipeline {
  static constexpr std::string_view name = Name.view();
  /// For the verdict on a pass that is looked for and is in here.
  using passes_inside = detail::types<P...>;

  using needs = needs_of<Pipeline<P...>>;
  using forbids = forbids_of<Pipeline<P...>>;
  using establishes = establishes_of<Pipeline<P...>>;
  using establishes_when_on = establishes_when_on_of<Pipeline<P...>>;
  using keeps = typename detail::KeepsOf<Pipeline<P...>>::type;

  /// What it is made of.
  Pipeline<P...> passes;

  constexpr auto run(Graph& graph, Artifacts<NamedPipeline>& artifacts, Context& context) const -> Status {
    using Part = detail::Part<NamedPipeline, P...>;
    auto done = Part::run(passes, Part::enter(std::move(graph), artifacts), context);
    if (!done) return std::move(done.error());
    // NOLINTNEXTLINE(bugprone-use-after-move): the graph gets a new value
    Part::leave(*std::move(done), graph, artifacts);
    return {};
  }
};

/// `passes` as one pass, for `optional_pass`, for a log that tells of stages, or where an `insert_before`
/// must not come between them. A pipeline without a name dissolves in the pipeline that it is put into.
template <TextConstant Name, class... P>
[[nodiscard]] constexpr auto named(Pipeline<P...> passes) -> NamedPipeline<Name, P...> {
  return {std::move(passes)};
}

}  // namespace fxpass
