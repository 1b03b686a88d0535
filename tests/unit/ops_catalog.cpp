// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/ops/mutations.hpp>
#include <fxpass/ops/views.hpp>

#include <iterator>
#include <string>
#include <string_view>

#include "twice.hpp"

namespace {

using namespace fxpass::ops;

constexpr auto twin(std::string_view name) -> std::string_view { return schema(functional_twin(find_overload(name))).name(); }
constexpr auto parameter(std::string_view overload, std::string_view name) -> Parameter {
  return schema(find_overload(overload)).find(name)->parameter;
}

// Searching by bisection needs it; too many comparisons for a constant expression.
TEST_CASE("catalog rows are sorted by name, each once") {
  for (std::size_t i = 1; i < std::size(operator_schemas); ++i)
    CHECK(Schema(operator_schemas[i - 1]).name() < Schema(operator_schemas[i]).name());
  for (std::size_t i = 1; i < std::size(python_schemas); ++i)
    CHECK(Schema(python_schemas[i - 1]).name() < Schema(python_schemas[i]).name());
}

TEST_CASE("every row is found by its name and read to its end") {
  for (CatalogRow row = 0; row < aten_rows; ++row) {
    const Schema s = schema(row);
    CHECK(find_overload(s.name()) == row);
    const OverloadSet all = find_overloads(s.base());
    CHECK((all.first <= row && row < all.last));
    ParameterReader reader = s.parameters();
    for (auto p = reader.next(); p; p = reader.next()) CHECK((!p->type.empty() && !p->name.empty()));
  }
}

// An in-place operator whose twin has another name, or none, is known as such and not forgotten.
TEST_CASE("operators with a rule to write by a twin have one") {
  for (const WritingOperator& w : writing_operators) {
    const bool by_twin = w.rule == WriteRule::promoting || w.rule == WriteRule::floating ||
                         w.rule == WriteRule::comparing || w.rule == WriteRule::same_dtype;
    const OverloadSet all = find_overloads(w.base);
    CHECK_MESSAGE(!all.empty(), std::string(w.base));
    for (CatalogRow row = all.first; by_twin && row < all.last; ++row)
      CHECK_MESSAGE(functional_twin(row) != no_row, std::string(schema(row).name()));
  }
}

constexpr auto schemas_are_read() -> bool {
  const Schema add = schema(find_overload("aten.add_.Tensor"));
  return add.base() == "aten.add_" && add.overload() == "Tensor" && add.writes() && add.returns() == "Tensor(a!)" &&
         parameter("aten.add_.Tensor", "self").written && !parameter("aten.add_.Tensor", "other").written &&
         parameter("aten.add.Tensor", "alpha").keyword_only && parameter("aten.add.Tensor", "alpha").default_value == "1" &&
         parameter("aten.split.Tensor", "self").type == "Tensor" && parameter("aten.split.Tensor", "self").aliased &&
         parameter("aten.index_put_.default", "indices").type == "Tensor?[]" &&
         parameter("aten.gelu.default", "approximate").default_value == "\"none\"" &&
         schema(find_overload("aten.native_layer_norm.default")).return_count() == 3 &&
         schema(find_overload("aten._assert_tensor_metadata.default")).return_count() == 0;
}
FXPASS_TEST_TWICE(schemas_are_read)

constexpr auto unknown_names_are_not_found() -> bool {
  return find_overload("aten.add") == no_row && find_overload("aten.add.Tensors") == no_row &&
         find_overload("") == no_row && find_overloads("aten.ad").empty() && find_overloads("aten").empty() &&
         schema(no_row).empty();
}
FXPASS_TEST_TWICE(unknown_names_are_not_found)

constexpr auto in_place_operators_have_their_twin() -> bool {
  return twin("aten.add_.Tensor") == "aten.add.Tensor" && twin("aten.relu_.default") == "aten.relu.default" &&
         twin("aten.floor_divide_.Tensor") == "aten.floor_divide.default" &&
         twin("aten.__iand__.Tensor") == "aten.__and__.Tensor" &&
         twin("aten.pow_.Scalar") == "aten.pow.Tensor_Scalar" && twin("aten.pow_.Tensor") == "aten.pow.Tensor_Tensor" &&
         twin("aten.dropout_.default") == "aten.dropout.default" && twin("aten.add.out") == "aten.add.Tensor" &&
         twin("aten.max.dim_max") == "aten.max.dim" && twin("aten.zeros_like.out") == "aten.zeros_like.default" &&
         twin("_c10d_functional.all_gather_into_tensor_out.default") == "_c10d_functional.all_gather_into_tensor.default" &&
         twin("_c10d_functional.all_reduce_.default") == "_c10d_functional.all_reduce.default" &&
         functional_twin(find_overload("aten.add.Tensor")) == no_row;
}
FXPASS_TEST_TWICE(in_place_operators_have_their_twin)

constexpr auto views_have_their_rules() -> bool {
  const auto rule = [](std::string_view name) { return view_rule(schema(find_overload(name))); };
  return rule("aten.view.default") == ViewRule::reshape && rule("aten.view.dtype") == ViewRule::bitcast &&
         rule("aten.add.Tensor") == ViewRule::none && rule("aten.add_.Tensor") == ViewRule::none &&
         rule("aten.as_strided.default") == ViewRule::strided && rule("aten.type_as.default") == ViewRule::maybe_cast &&
         rule("aten.unbind.int") == ViewRule::unbind && rule("aten.clone.default") == ViewRule::none;
}
FXPASS_TEST_TWICE(views_have_their_rules)

}  // namespace
