// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/pass/contract.hpp>
#include <fxpass/passes/facts.hpp>
#include <fxpass/passes/out_of_place.hpp>

#include <string_view>

/// @file
/// `InPlaceToOutOfPlacePass`: no operation writes any more; every write has become a value.

namespace fxpass {

/// Carries out each write out of place: the new value of the written view is computed, broadcast to its shape and cast
/// to its dtype as PyTorch does, put into its storage, and read from there by everything that comes later, whatever
/// view it uses. What PyTorch refuses is an error here, with the node's name.
///
/// Values written into `x` are named `x_modified`, `x_modified_1`, ... Results of kernels are snapshots: `k` read
/// after a later write still is what kernel k returned, while the operand it aliases is the newest value.
/// Counts `inplace_methods`, `copy_`, `setitem`.
///
/// Errors: `unsupported_mutation` for a write, or a read behind one, that cannot be carried out;
/// `eager_would_raise`; `missing_metadata` where shape or dtype of what is written is not known. O(nodes +
/// operands + new nodes).
struct InPlaceToOutOfPlacePass {
  static constexpr std::string_view name = "inplace_to_outofplace";
  using needs = facts<AliasesAnalysed, MutationsSurfaced>;
  using establishes = facts<OutOfPlace>;
  using keeps = everything_but<AliasesAnalysed>;

  /// Forward pass: what it keeps during a run.
  using State = OutOfPlaceRewriter;

  constexpr auto begin(Graph&, Artifacts<InPlaceToOutOfPlacePass>& artifacts, Context&) const -> State {
    return State(artifacts.template get<AliasesAnalysed>());
  }
  [[nodiscard]] static constexpr auto wants(const Operator& op) -> bool { return OutOfPlaceRewriter::concerns(op); }
  constexpr auto visit(State& state, Sweep& sweep) const -> Status { return state.visit(sweep); }
  constexpr auto finish(State& state, Graph&, Context& context) const -> Status {
    context.count("inplace_methods", state.counts().in_place_methods);
    context.count("copy_", state.counts().copies);
    context.count("setitem", state.counts().setitems);
    if (!state.has_rewritten()) context.claim_unchanged();
    return {};
  }
};

}  // namespace fxpass
