// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <fxpass/read/fx_document.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

/// @file
/// Arguments of calls in FX code, as ARGs of FX JSON.

namespace fxpass::detail {

/// `device(type='cuda', index=0)` or `torch.device('cuda:0')` as "cuda:0".
[[nodiscard]] inline auto device_of(const PythonExpression& e, std::string& device) -> bool {
  if (!e.is(PythonKind::call)) return false;
  const std::string callee = dotted_path(e.parts[0]);
  if (callee != "device" && callee != "torch.device") return false;
  std::string type;
  std::string index;
  for (std::size_t i = 1; i < e.parts.size(); ++i) {
    const bool is_keyword = e.parts[i].is(PythonKind::keyword);
    const PythonExpression& value = is_keyword ? e.parts[i].parts[0] : e.parts[i];
    if (value.is(PythonKind::string) && (is_keyword ? e.parts[i].text == "type" : i == 1)) {
      type = value.text;
    } else if (value.is(PythonKind::integer) && (is_keyword ? e.parts[i].text == "index" : i == 2)) {
      index = std::to_string(value.integer);
    } else {
      return false;
    }
  }
  device = index.empty() ? type : type + ":" + index;
  return !type.empty();
}

/// A number that may have a sign: none where the expression is something else. Infinities and NaN are names
/// in FX code.
[[nodiscard]] inline auto real_of(const PythonExpression& e) -> std::optional<double> {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (e.is(PythonKind::real)) return e.real;
  if (e.is(PythonKind::integer)) return static_cast<double>(e.integer);
  if (e.is_name("inf") || dotted_path(e) == "math.inf") return infinity;
  if (e.is_name("nan") || dotted_path(e) == "math.nan") return std::numeric_limits<double>::quiet_NaN();
  if (e.is(PythonKind::unary) && (e.text == "-" || e.text == "+"))
    if (const auto value = real_of(e.parts[0])) return e.text == "-" ? -*value : *value;
  if (e.is(PythonKind::call) && e.parts[0].is_name("float") && e.parts.size() == 2 &&
      e.parts[1].is(PythonKind::string)) {
    if (e.parts[1].text == "inf" || e.parts[1].text == "-inf")
      return e.parts[1].text == "inf" ? infinity : -infinity;
    if (e.parts[1].text == "nan") return std::numeric_limits<double>::quiet_NaN();
  }
  return std::nullopt;
}

/// Real and imaginary part of `1+2j`, `-2j` and their kind.
[[nodiscard]] inline auto complex_of(const PythonExpression& e) -> std::optional<std::pair<double, double>> {
  if (e.is(PythonKind::imaginary)) return std::pair(0.0, e.real);
  if (e.is(PythonKind::unary) && e.text == "-")
    if (const auto z = complex_of(e.parts[0])) return std::pair(-z->first, -z->second);
  if (!e.is(PythonKind::binary) || (e.text != "+" && e.text != "-") || !e.parts[1].is(PythonKind::imaginary))
    return std::nullopt;
  const auto real = real_of(e.parts[0]);
  if (!real) return std::nullopt;
  return std::pair(*real, e.text == "+" ? e.parts[1].real : -e.parts[1].real);
}

/// Writes expressions as ARGs. Variables are looked up in `values`, which holds the ARG of each.
class PythonArgumentWriter {
 public:
  using Values = std::unordered_map<std::string, std::string>;

  PythonArgumentWriter(const Values& values, PythonParser& parser) : values_(values), parser_(parser) {}

  /// Appends the ARG. False where the expression is no argument of a call; `parser` has the error then.
  [[nodiscard]] auto write(const PythonExpression& e, std::string& json) -> bool {
    switch (e.kind) {
      case PythonKind::none: json += "null"; return true;
      case PythonKind::boolean: json += e.integer != 0 ? "true" : "false"; return true;
      case PythonKind::integer: append_to(json, e.integer); return true;
      case PythonKind::real: append_float_argument(json, e.real); return true;
      case PythonKind::string: append_json_string(json, e.text); return true;
      case PythonKind::ellipsis: json += R"({"ellipsis": true})"; return true;
      case PythonKind::list:
        json += '[';
        return write_members(e, 0, json) && close(json, "]");
      case PythonKind::tuple:
        json += "{\"tuple\": [";
        return write_members(e, 0, json) && close(json, "]}");
      case PythonKind::slice:
        json += "{\"slice\": [";
        return write_members(e, 0, json) && close(json, "]}");
      case PythonKind::dict: return write_dict(e, json);
      case PythonKind::name:
        if (const auto found = values_.find(e.text); found != values_.end()) {
          json += found->second;
          return true;
        }
        return write_constant(e, json);
      case PythonKind::imaginary:
      case PythonKind::unary:
      case PythonKind::binary:
      case PythonKind::attribute: return write_constant(e, json);
      case PythonKind::call: return write_call(e, json);
      case PythonKind::subscript:
      case PythonKind::keyword: break;
    }
    return no_argument(e);
  }
  /// The members of a call from `first` on: positional ones go to `args`, others to `kwargs`.
  [[nodiscard]] auto write_call_arguments(const PythonExpression& call, std::size_t first, std::string& args,
                                          std::string& kwargs) -> bool {
    for (std::size_t i = first; i < call.parts.size(); ++i) {
      const PythonExpression& part = call.parts[i];
      const bool is_keyword = part.is(PythonKind::keyword);
      std::string& json = is_keyword ? kwargs : args;
      if (!json.empty()) json += ", ";
      if (is_keyword) {
        append_json_string(json, part.text);
        json += ": ";
      } else if (!kwargs.empty()) {
        return parser_.fail_at(part.place, "a positional argument follows a keyword argument");
      }
      if (!write(is_keyword ? part.parts[0] : part, json)) return false;
    }
    return true;
  }

 private:
  auto no_argument(const PythonExpression& e) -> bool {
    if (e.is(PythonKind::name)) return parser_.fail_at(e.place, text_of("'", e.text, "' is not defined"));
    return parser_.fail_at(
        e.place, "an argument is expected: a value, a number, a text, or a list, tuple or dict of them",
        DiagnosticCode::unsupported);
  }
  static auto close(std::string& json, std::string_view bracket) -> bool {
    json += bracket;
    return true;
  }
  auto write_members(const PythonExpression& e, std::size_t first, std::string& json) -> bool {
    for (std::size_t i = first; i < e.parts.size(); ++i) {
      if (i != first) json += ", ";
      if (!write(e.parts[i], json)) return false;
    }
    return true;
  }
  auto write_dict(const PythonExpression& e, std::string& json) -> bool {
    json += "{\"dict\": [";
    for (std::size_t i = 0; i < e.parts.size(); i += 2) {
      json += i == 0 ? "[" : ", [";
      if (!write(e.parts[i], json)) return false;
      json += ", ";
      if (!write(e.parts[i + 1], json)) return false;
      json += ']';
    }
    return close(json, "]}");
  }
  /// Numbers with a sign, complex numbers, and what `torch` names.
  auto write_constant(const PythonExpression& e, std::string& json) -> bool {
    if (e.is(PythonKind::unary) && e.text == "-" && e.parts[0].is(PythonKind::integer)) {
      append_to(json, -e.parts[0].integer);
      return true;
    }
    if (const auto value = real_of(e)) {
      append_float_argument(json, *value);
      return true;
    }
    if (const auto z = complex_of(e)) {
      json += "{\"complex\": [";
      append_json_real(json, z->first);
      json += ", ";
      append_json_real(json, z->second);
      return close(json, "]}");
    }
    const std::string path = dotted_path(e);
    const std::string constant = torch_constant(path);
    if (!constant.empty()) return close(json, constant);
    if (path.starts_with("torch.ops.")) return close(json, tagged("operator", path));
    return no_argument(e);
  }
  auto write_call(const PythonExpression& e, std::string& json) -> bool {
    std::string device;
    if (device_of(e, device)) return close(json, tagged("device", device));
    if (real_of(e)) return write_constant(e, json);
    const std::string callee = dotted_path(e.parts[0]);
    if (callee == "torch.Size" && e.parts.size() == 2) return write(e.parts[1], json);
    if (callee != "slice" || e.parts.size() < 2 || e.parts.size() > 4) return no_argument(e);
    // slice(stop), slice(start, stop), slice(start, stop, step)
    json += e.parts.size() == 2 ? "{\"slice\": [null, " : "{\"slice\": [";
    return write_members(e, 1, json) && close(json, e.parts.size() == 4 ? "]}" : ", null]}");
  }

  const Values& values_;
  PythonParser& parser_;
};

}  // namespace fxpass::detail
