// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// All of fxpass but the readers, in the order of the data flow. Readers parse files with compiled libraries and are
/// headers of their own: fxpass/read/pt2.hpp, fxpass/read/exported_program.hpp, fxpass/read/fx_json.hpp.

// What the compiler has to be, and which fxpass this is.
#include <fxpass/config.hpp>
#include <fxpass/fwd.hpp>
#include <fxpass/version.hpp>

// The vocabulary: element types, errors as values.
#include <fxpass/support/diagnostic.hpp>
#include <fxpass/support/dtype.hpp>
#include <fxpass/support/expected.hpp>
#include <fxpass/support/report.hpp>

// A program: an FX graph as a value. Make one, look at it, change it, check it.
#include <fxpass/graph/builder.hpp>
#include <fxpass/graph/editor.hpp>
#include <fxpass/graph/graph.hpp>
#include <fxpass/graph/print.hpp>
#include <fxpass/graph/users.hpp>
#include <fxpass/graph/verify.hpp>

// What the compiler says of passes in a wrong order. Before the rest, so that errors show a short chain of includes.
#include <fxpass/pass/verdict.hpp>
#include <fxpass/pass/auto_order.hpp>

// Passes over graphs: what is known of a module, what a pass needs and establishes, and pipelines of them.
#include <fxpass/pass/contract.hpp>
#include <fxpass/pass/describe.hpp>
#include <fxpass/pass/fact.hpp>
#include <fxpass/pass/forward.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/pass/module.hpp>
#include <fxpass/pass/named_pipeline.hpp>
#include <fxpass/pass/observer.hpp>
#include <fxpass/pass/optional_pass.hpp>
#include <fxpass/pass/pass.hpp>
#include <fxpass/pass/pipeline.hpp>
#include <fxpass/pass/process_groups.hpp>
#include <fxpass/pass/repeat.hpp>
#include <fxpass/pass/timer.hpp>
#include <fxpass/pass/verify_each.hpp>

// The library's own passes, and the order in which they run by default.
#include <fxpass/passes/bind_symbols.hpp>
#include <fxpass/passes/default_pipeline.hpp>

// From a graph to HLO, for a target.
#include <fxpass/hlo/builder.hpp>
#include <fxpass/hlo/module.hpp>
#include <fxpass/hlo/verify.hpp>
#include <fxpass/lower/compile.hpp>
#include <fxpass/lower/lower.hpp>
#include <fxpass/neuron/target.hpp>

// Out: HLO as text, as a proto and as StableHLO, graphs as text, Python and JSON, files.
#include <fxpass/emit/file.hpp>
#include <fxpass/emit/fx_json.hpp>
#include <fxpass/emit/fx_python.hpp>
#include <fxpass/emit/fx_text.hpp>
#include <fxpass/emit/hlo_proto.hpp>
#include <fxpass/emit/hlo_text.hpp>
#include <fxpass/emit/pass_dumper.hpp>
#include <fxpass/emit/stablehlo.hpp>
