#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/errors.md: each mistake of tests/compile_fail, what the compilers say of it, and its mend.

    tools/generate_errors.py [--compiler g++ --compiler clang++-19 ...] [--include DIRECTORY]...
    tools/generate_errors.py --check --outputs BUILD/tests/compile_fail/outputs --compiler g++ ...

With --outputs nothing is compiled: the compile-fail tests have left there what the compilers printed, in a
folder for each compiler. With --check nothing is written: a page that is not current is an error. What is said
of a compiler that is not here, or not of the version that the page shows, stays as it is.
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "compile_fail"
PAGE = ROOT / "docs" / "errors.md"
# The versions that the page shows.
SHOWN = ("g++ 12", "clang 16", "clang 19")
FLAGS = ("-std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -fno-exceptions -fno-rtti -fsyntax-only "
         "-fdiagnostics-color=never").split()

HEAD = """# What the compiler says

A mistake that the types show is one error. Its text is mostly a type that reads as a sentence: which pass,
which fact, why, and how to mend it. The words are declared in `include/fxpass/pass/verdict.hpp`, in namespace
`fxpass::verdict`.

For each mistake below: the program, what the compilers say, and the lines that mend it. The texts are real;
left out are the lines that say which header includes which, the numbers of lines in the library, the quoted
lines of source, and what Clang says between the error and the user's line. `tools/generate_errors.py` writes
this page from the cases in `tests/compile_fail/`, which check that the first four lines of each text name
pass, fact, reason and mend, that there is one error, and that it has at most 15 lines in all.
"""


class Case:
    """A source of tests/compile_fail, in its two forms."""

    def __init__(self, path):
        self.path = path
        self.name = path.stem
        text = path.read_text(encoding="utf-8")
        self.mistake = re.search(r"^// mistake: (.+)$", text, re.M).group(1)
        # A regular expression, of which only parentheses need a backslash.
        self.sentence = re.search(r"^// expect-error-first: fxpass: (.+)$", text, re.M).group(1).replace("\\", "")
        body = [line for line in text.splitlines()
                if not re.match(r"// (SPDX|mistake:|expect-)|#include|using namespace fxpass;", line)]
        self.wrong = self.form(body, is_control=False)
        self.right = self.form(body, is_control=True)

    @staticmethod
    def form(body, is_control):
        """The lines that remain when FXPASS_CONTROL is decided."""
        lines, keeps = [], [True]
        for line in body:
            if line in ("#ifdef FXPASS_CONTROL", "#ifndef FXPASS_CONTROL"):
                keeps.append(("ifdef" in line) == is_control)
            elif line == "#else":
                keeps[-1] = not keeps[-1]
            elif line == "#endif":
                keeps.pop()
            elif all(keeps):
                lines.append(line)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n").splitlines()

    def mend(self):
        changes = list(difflib.unified_diff(self.wrong, self.right, lineterm="", n=0))[2:]
        return [line for line in changes if not line.startswith("@@") and line not in ("+", "-")]


def version_of(compiler):
    """A name like those of SHOWN."""
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    if match := re.search(r"clang version (\d+)", said):
        return f"clang {match.group(1)}"
    major = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True, check=True).stdout
    return f"g++ {major.split('.')[0].strip()}"


def normalised(output, case):
    """The lines of a compiler's output that the page shows."""
    lines = output.replace(f"{ROOT}/", "").splitlines()
    shown = []
    for number, line in enumerate(lines):
        if re.match(r"In file included from |  +from ", line):
            continue
        shown.append(line)
        if "error: " in line:
            # Clang names the user's line in its last note; g++ has done so.
            place = f"tests/compile_fail/{case.name}.cpp"
            if not any(place in earlier for earlier in shown):
                shown += [later for later in lines[number:] if later.startswith(place) and "note: " in later][-1:]
            break
    return [re.sub(r"^(include/\S+\.hpp):[\d:]+", r"\1:", line) for line in shown]


def said_by(compiler, outputs, includes, case):
    if outputs:
        path = outputs / pathlib.Path(compiler).name / f"{case.name}.txt"
        if not path.exists():
            sys.exit(f"{path} is not there: has the compile-fail test run?")
        return normalised(path.read_text(encoding="utf-8"), case)
    command = [compiler, *FLAGS, f"-I{ROOT / 'include'}", *(f"-isystem{path}" for path in includes), str(case.path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    return normalised(result.stderr, case)


def texts_of_page():
    """What the page has, by case and compiler."""
    texts = {}
    if not PAGE.exists():
        return texts
    for section in re.split(r"^### ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        name = re.search(r"tests/compile_fail/(\w+)\.cpp", section).group(1)
        for label, text in re.findall(r"^(\S[^\n]*):\n\n```text\n(.*?)\n```$", section, re.M | re.S):
            for version in versions_in(label):
                texts[name, version] = text.splitlines()
    return texts


def versions_in(label):
    """The versions that "clang 16 and 19" names."""
    compiler, *numbers = label.replace(" and", "").split()
    return [f"{compiler} {number}" for number in numbers]


def block(language, lines):
    return f"```{language}\n" + "\n".join(lines) + "\n```\n"


def page(cases, texts):
    # In the order of the verdicts in the header; `Expected` has one that needs none of its words.
    headers = ("pass/verdict.hpp", "support/expected.hpp")
    header = "".join((ROOT / "include/fxpass" / path).read_text(encoding="utf-8") for path in headers)
    kinds = sorted({case.sentence for case in cases}, key=lambda sentence: header.index(f'"fxpass: {sentence}"'))
    parts = [HEAD]
    for kind in kinds:
        parts.append(f"## {kind}\n")
        for case in (case for case in cases if case.sentence == kind):
            parts.append(f"### {case.mistake.rstrip('.')}\n")
            parts.append(f"`tests/compile_fail/{case.name}.cpp`\n")
            parts.append(block("cpp", case.wrong))
            by_text = {}
            for version in SHOWN:
                if text := texts.get((case.name, version)):
                    by_text.setdefault(tuple(text), []).append(version)
            for text, versions in by_text.items():
                numbers = [version.split()[1] for version in versions]
                parts.append(f"{versions[0].split()[0]} {' and '.join(numbers)}:\n")
                parts.append(block("text", text))
            parts.append("The mend:\n")
            parts.append(block("diff", case.mend()))
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compiler", action="append", default=[])
    parser.add_argument("--outputs", type=pathlib.Path)
    parser.add_argument("--include", action="append", default=[])
    arguments = parser.parse_args()
    cases = [Case(path) for path in sorted(CASES.glob("*.cpp"))]
    texts = texts_of_page()
    includes = list(filter(None, arguments.include))
    for compiler in arguments.compiler or ["g++", "clang++-16", "clang++-19"]:
        version = version_of(compiler)
        if version not in SHOWN:
            print(f"{compiler} is {version}: the page shows {', '.join(SHOWN)}")
            continue
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            said = pool.map(lambda case, c=compiler: said_by(c, arguments.outputs, includes, case), cases)
            texts.update({(case.name, version): text for case, text in zip(cases, said)})
    wanted = page(cases, texts)
    if not arguments.check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    present = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if present == wanted:
        return 0
    difference = difflib.unified_diff(present.splitlines(), wanted.splitlines(), "docs/errors.md", "what it should be",
                                      lineterm="", n=1)
    print("\n".join(list(difference)[:60]), file=sys.stderr)
    print("docs/errors.md is not current: run tools/generate_errors.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
