#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what README.md shows: its first program is examples/readme.cpp, and compilers say of its wrong-order twin what
it says that they say.

    tools/check_readme.py --program
    tools/check_readme.py --compiler g++ [--include DIRECTORY]...
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(language):
    return [text for name, text in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")) if name == language]


def check_program():
    source = (ROOT / "examples" / "readme.cpp").read_text(encoding="utf-8")
    shown = blocks("cpp")[0]
    if source.split("\n", 1)[1] != shown:
        return "the first program of README.md is not examples/readme.cpp without its licence line"
    return ""


def check_messages(compiler, includes):
    """The lines shown for this compiler have to be lines of its output, in order, after the place they speak of."""
    is_clang = "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    program = blocks("cpp")[1]
    messages = {name: text.splitlines() for name, text in zip(("g++", "clang++"), blocks("text"))}
    shown = messages["clang++" if is_clang else "g++"]
    with tempfile.TemporaryDirectory() as directory:
        source = pathlib.Path(directory, "wrong_order.cpp")
        source.write_text(program, encoding="utf-8")
        command = [compiler, "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{ROOT / 'include'}"]
        command += [f"-isystem{path}" for path in includes] + [str(source)]
        result = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )
    if result.returncode == 0:
        return "the wrong program of README.md compiles"
    said = iter(result.stderr.splitlines())
    for line in shown:
        if not any(other.endswith(line) for other in said):
            return f"{compiler} does not say\n  {line}\nbut\n{result.stderr}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--compiler")
    parser.add_argument("--include", action="append", default=[])
    arguments = parser.parse_args()
    problems = []
    if arguments.program:
        problems.append(check_program())
    if arguments.compiler:
        problems.append(check_messages(arguments.compiler, filter(None, arguments.include)))
    for problem in filter(None, problems):
        print(problem, file=sys.stderr)
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
