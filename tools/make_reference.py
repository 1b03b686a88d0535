#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Doxygen over the headers, each declaration of which gets the comment that stands for it.

    tools/make_reference.py DOXYGEN DOXYFILE HEADERS
    tools/make_reference.py --self-test

HEADERS is the folder that DOXYFILE reads; it is made anew, from include/. In the headers a comment stands for the
declarations below it, up to a blank line or the next comment, so that overloads need it once; Doxygen knows of no such
rule. And members that a concept asks for mean the same in every type that has them: they are explained at the concept,
and get a reminder here. The copies have the lines of the originals, which is where Doxygen's warnings are said to be.
"""

import pathlib
import re
import shutil
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[1] / "include"

PROTOCOL = (
    (r"static constexpr std::string_view name\b", "What diagnostics, reports and dumps call it."),
    (r"using needs\b", "Contract: what has to be true of the module before."),
    (r"using forbids\b", "Contract: what must not be true of the module before."),
    (r"using establishes\b", "Contract: what is true of the module behind it."),
    (r"using keeps\b", "Contract: what else stays true."),
    (r"using provider\b", "The pass that errors propose to establish the fact."),
    (r"using establishes_when_on\b", "Contract: what an optional pass in it would make true if it were on."),
    (r"static constexpr bool ok\b", "Whether the verdict is good."),
    (r"constexpr auto run\((const )?Graph", "Runs the pass: see pass.hpp."),
    (r"using artifact\b", "The value that comes with the fact."),
    (r"static constexpr auto check\(const Graph&", "Shows that the fact is true of a graph, or says where it is not. O(nodes)."),
    (r"struct State \{", "Forward pass: what it keeps during a run."),
    (r"constexpr auto begin\(Graph&", "Forward pass: the state of a run."),
    (r"static constexpr auto wants\(const (Node|Operator)&", "Forward pass: whether `visit` is called for a node. O(1)."),
    (r"constexpr auto visit\(State&", "Forward pass: one node."),
    (r"constexpr auto finish\(State&", "Forward pass: the end of a run."),
    (r"struct Lower\w+ \{", "Lowers the operators in `op`; what they compute is said by PyTorch."),
    (r"static constexpr [^=;{]* op\b", "The operators that it lowers."),
    (r"static constexpr (auto|void) lower\(auto&[ \w]*, const Call&", "Adds the HLO of one call and returns what it gives."),
    (r"static constexpr std::string_view file_ending\b", "The ending of the files, point included."),
    (r"static constexpr (auto|void) write\(\w+& \w+, const (Graph|hlo::Module)&", "Writes it. O(size of what is written)."),
    (r"(static )?constexpr auto reason_to_refuse\(", "Why it takes no values of a type; empty if it does."),
    (r"friend constexpr auto operator==\(.*= default;", "Compares member by member."),
)
SCOPE = re.compile(r"(template <.*>\s*)?(inline )?(namespace|class|struct|union|enum)\b[^;()]*\{$")
COMMENT_OR_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*')


class Run:
    """Declarations of one scope, and the comment that stands for them."""

    def __init__(self, is_enumeration=False):
        self.is_enumeration = is_enumeration
        self.comment = []
        self.has_own = False  # the next declaration stands directly under the comment


def is_continuation(text):
    return text[0] in "{=:)" or text.startswith(("requires", "static_assert"))


def inherited(run, text):
    text = re.sub(r"^template <[^<>]*> ?", "", text)
    for pattern, words in PROTOCOL:
        if not run.has_own and re.match(r"(\[\[nodiscard\]\] )?" + pattern, text):
            return words
    return "" if run.has_own else " ".join(line for line in run.comment if line and not line.startswith("    "))


def filtered(lines):
    scopes = [Run()]
    depth = 0  # of brackets inside the declaration
    is_open = False
    for line, next_line in zip(lines, lines[1:] + [""]):
        text = line.strip()
        run = scopes[-1]
        if text.startswith("// NOLINT"):
            pass  # said to clang-tidy of the next line
        elif not is_open and text.startswith("///"):
            if not run.has_own:
                run.comment = []
            run.comment.append(text[4:])
            run.has_own = True
        elif not is_open and (not text or text.startswith(("//", "#")) or re.fullmatch(r"\w+:", text)):
            run.comment = []
            run.has_own = False
        elif not is_open and text.startswith("}") and len(scopes) > 1:
            scopes.pop()
        elif not run.is_enumeration:
            code = COMMENT_OR_TEXT.sub("", text).rstrip()
            if not is_open and not is_continuation(text):
                declaration = text + " " + next_line.strip() if text.startswith("template") else text
                words = inherited(run, declaration) if "///<" not in text else ""
                if words:
                    line = f"/** {words} */ {line}"
                run.has_own = False
            depth += sum(code.count(c) for c in "({") - sum(code.count(c) for c in ")}")
            if depth == 1 and SCOPE.match(code):
                depth = 0
                is_open = False
                scopes.append(Run(is_enumeration=code.startswith("enum ")))
            else:
                is_open = depth > 0 or not code.endswith((";", "}"))
        yield line


# Lines, and the comment that each has to get.
SELF_TEST = (
    ("/// Two overloads.", None),
    ("auto f(int) -> int;", None),
    ("// NOLINTNEXTLINE(google-explicit-constructor)", None),
    ("template <class T>", "Two overloads."),
    ("auto f(T x) -> int {", None),
    ("  return x;", None),
    ("", None),
    ("  // not the end of the function", None),
    ("}", None),
    ("struct S {", "Two overloads."),
    ("  static constexpr std::string_view name = \"s\";", "What diagnostics, reports and dumps call it."),
    ("  int x;  ///< a comment of its own", None),
    ("  int y;", None),
    ("  /// Both.", None),
    ("  explicit S(int)", None),
    ("    requires true", None),
    ("  {}", None),
    ("  int a, b;", "Both."),
    (" private:", None),
    ("  int c;", None),
    ("};", None),
    ("enum class E {", "Two overloads."),
    ("  /// The first one.", None),
    ("  first,", None),
    ("  second,", None),
    ("};", None),
    ("", None),
    ("auto g() -> int;", None),
)


def self_test():
    lines = [line for line, _ in SELF_TEST]
    wanted = [f"/** {words} */ {line}" if words else line for line, words in SELF_TEST]
    return [f"self-test: error: {line!r} becomes {got!r}, not {want!r}"
            for line, got, want in zip(lines, filtered(lines), wanted) if got != want]


def main():
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test()
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    doxygen, doxyfile, headers = sys.argv[1:]
    shutil.rmtree(headers, ignore_errors=True)
    for header in INCLUDE.rglob("*.hpp"):
        copy = pathlib.Path(headers, header.relative_to(INCLUDE))
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("\n".join(filtered(header.read_text(encoding="utf-8").split("\n"))), encoding="utf-8")
    result = subprocess.run([doxygen, doxyfile], capture_output=True, text=True, check=False)
    print((result.stdout + result.stderr).replace(headers, str(INCLUDE)), end="", file=sys.stderr)
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
