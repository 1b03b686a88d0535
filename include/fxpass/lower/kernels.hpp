// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/lower/lowering.hpp>
#include <fxpass/pass/kernel_registry.hpp>
#include <fxpass/support/base64.hpp>
#include <fxpass/support/span.hpp>

#include <array>
#include <string_view>

/// @file
/// Calls of compiled NKI kernels: one custom call each.

namespace fxpass {

/// The custom call under which the Neuron compiler looks for a kernel's configuration.
inline constexpr std::string_view native_kernel_target = "AwsNeuronCustomNativeKernel";

/// Operands are the tensor arguments in order, the configuration is the call's own text, and a result that is an
/// operand's new value says so. A kernel that communicates is marked, since the compiler looks for that on the call itself.
struct LowerKernelCall {
  static constexpr std::array<std::string_view, 2> op{kernel_operator, functional_kernel_operator};
  static constexpr auto lower(auto& c, const Call& call) -> Pool<hlo::Value> {
    auto& b = c.builder();
    const KernelCall kernel(c.graph(), call.id());
    Pool<hlo::Value> results;
    const auto metas = c.graph().values(call.id());
    const Pool<hlo::ShapeId> shapes = result_shapes(c, call, metas);
    if (shapes.empty()) return results;
    const bool is_tuple = call.node().value_kind == ValueKind::tuple;

    Pool<hlo::Value> operands;
    Pool<std::int64_t> operand_of;  // by argument; -1: no tensor
    const auto arguments = kernel.arguments();
    for (std::uint32_t i = 0; i < arguments.size(); ++i) {
      const bool is_tensor = kernel.tensor_at(i) != no_node;
      operand_of.push_back(is_tensor ? static_cast<std::int64_t>(operands.size()) : -1);
      if (is_tensor) operands.push_back(c.tensor(call, arguments[i], "args"));
    }
    Pool<hlo::CustomCall::Alias> aliases;
    Pool<KernelAlias> declared;
    if (!kernel.declared_aliases(declared))
      c.unsupported(call, "operand_output_aliases is not a dict of integers to integers");
    for (const KernelAlias alias : declared) {
      if (alias.operand >= operand_of.size() || operand_of[alias.operand] < 0)
        c.unsupported(call, text_of("operand_output_aliases names argument ", alias.operand, ", which is no tensor"));
      else
        aliases.push_back({is_tuple ? std::int64_t{alias.result} : -1, operand_of[alias.operand]});
    }

    hlo::CustomCall what{native_kernel_target, kernel.backend_config()};
    what.aliases = aliases.view();
    const hlo::Value result =
        b.custom_call(what, operands.view(), is_tuple ? b.shapes().tuple(shapes.view()) : shapes[0]);
    if (has_collectives(kernel.backend_config())) b.add_frontend_attribute(result, "has_collectives", "1");
    for (std::uint32_t i = 0; i < shapes.size(); ++i)
      results.push_back(is_tuple ? b.get_tuple_element(result, i) : result);
    return results;
  }

 private:
  /// Whether the configuration, JSON or base64 of it, says so.
  static constexpr auto has_collectives(std::string_view config) -> bool {
    constexpr std::string_view key = "\"has_collectives\"";
    const auto decoded = decode_base64(config);
    std::string_view json = decoded ? decoded->view() : config;
    const auto at = json.find(key);
    if (at == std::string_view::npos) return false;
    json.remove_prefix(at + key.size());
    while (json.starts_with(' ') || json.starts_with(':')) json.remove_prefix(1);
    return json.starts_with("true");
  }
  /// The shapes of all results; none, and a diagnostic, if one is not known.
  static constexpr auto result_shapes(auto& c, const Call& call, Span<const TensorMeta> metas)
      -> Pool<hlo::ShapeId> {
    Pool<hlo::ShapeId> shapes;
    for (const TensorMeta& meta : metas) {
      if (!meta.known) {
        shapes.clear();
        break;
      }
      shapes.push_back(c.builder().shapes().array(c.shape_of(meta)));
    }
    if (shapes.empty()) c.fail(call, DiagnosticCode::missing_metadata, "the shapes of the kernel's results are not known");
    return shapes;
  }
};

/// The lowerings of this file.
using KernelLowerings = lowerings<LowerKernelCall>;

}  // namespace fxpass
