// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fxpass/read/sympy.hpp>

#include <doctest/doctest.h>

#include <string>

using fxpass::infix_from_srepr;

TEST_CASE("sizes are written as people write them") {
  CHECK(infix_from_srepr("Symbol('s77', positive=True, integer=True)") == "s77");
  CHECK(infix_from_srepr("Integer(-3)") == "-3");
  CHECK(infix_from_srepr("Add(Integer(1), Mul(Integer(2), Symbol('s0', integer=True)))") == "2*s0 + 1");
  CHECK(infix_from_srepr("Add(Integer(-1), Symbol('s0'))") == "s0 - 1");
  CHECK(infix_from_srepr("Mul(Integer(-1), Symbol('s0'))") == "-s0");
  CHECK(infix_from_srepr("Add(Symbol('u0', integer=True), Mul(Integer(-1), Symbol('s0')))") == "u0 - s0");
  CHECK(infix_from_srepr("Rational(1, 2)") == "1/2");
  CHECK(infix_from_srepr("Float('0.5', precision=53)") == "0.5");
}

TEST_CASE("parentheses stand where the meaning needs them") {
  CHECK(infix_from_srepr("Mul(Symbol('a'), Add(Symbol('b'), Integer(1)))") == "a*(b + 1)");
  CHECK(infix_from_srepr("Mul(Integer(-1), Add(Symbol('b'), Integer(1)))") == "-(b + 1)");
  CHECK(infix_from_srepr("Mul(Symbol('a'), Integer(-2))") == "a*(-2)");
  CHECK(infix_from_srepr("Pow(Mul(Integer(2), Symbol('a')), Integer(2))") == "(2*a)**2");
  CHECK(infix_from_srepr("Pow(Symbol('a'), Integer(-1))") == "a**(-1)");
  CHECK(infix_from_srepr("FloorDiv(Add(Symbol('a'), Integer(1)), Integer(2))") == "(a + 1)//2");
  CHECK(infix_from_srepr("Mul(Integer(2), FloorDiv(Symbol('a'), Integer(2)))") == "2*(a//2)");
  CHECK(infix_from_srepr("GreaterThan(Add(Symbol('a'), Symbol('b')), Integer(3))") == "a + b >= 3");
}

TEST_CASE("what has no infix form stays a call") {
  CHECK(infix_from_srepr("Max(Integer(1), Symbol('s0', integer=True))") == "Max(1, s0)");
  CHECK(infix_from_srepr("Surprise(Symbol('s0'), 'text', strict=False)") == "Surprise(s0, 'text', strict=False)");
  CHECK(infix_from_srepr("And(StrictLessThan(Symbol('a'), Integer(2)), true)") == "And(a < 2, true)");
}

TEST_CASE("text of another form is kept") {
  for (const char* text : {"2*s0 + 1", "s0", "", "Add(", "Add(Integer(1)", "Add(Integer(1),Integer(2))", "Symbol('s0",
                           "f())", "Add()x", "((", ")"})
    CHECK(infix_from_srepr(text) == text);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "Abs(";
  CHECK(infix_from_srepr(deep) == deep);
}
