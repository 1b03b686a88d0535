#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the pages of docs/ to the programs in examples/, which are compiled and run as tests, and the code in the
comments of headers to tests/docs/comments.cpp, which is compiled.

    tools/check_docs.py --excerpts                 each C++ and Python block of a page stands in an example or a
                                                   header, each piece of code in a comment in that file
    tools/check_docs.py --output PAGE PROGRAM...   each text block of PAGE is printed by a PROGRAM, run here

A text block may leave lines of the output out, and three points at the end of a line stand for its rest.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
COMMENT_CODE = re.compile(r"^ *///\n((?: *///     .*\n)+)", re.M)
SOURCES = {"cpp": ("examples/**/*.cpp", "include/**/*.hpp", "tests/docs/*.cpp"), "python": ("examples/**/*.py",)}


def blocks(page, languages):
    """Language, first line and text of each block in one of `languages`."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match[1] in languages:
            yield match[1], text.count("\n", 0, match.start()) + 1, match[2]


def stands_in(block, source):
    """Whether the lines of `block` follow one another in `source`, whatever they are indented by."""
    wanted = textwrap.dedent(block).splitlines()
    lines = source.splitlines()
    return any(
        textwrap.dedent("\n".join(lines[at : at + len(wanted)])).splitlines() == wanted
        for at in range(len(lines) - len(wanted) + 1)
    )


def check_comments():
    """Code is what has a statement in it; a block that leaves something out, by a line of three points, is none."""
    compiled = (ROOT / "tests" / "docs" / "comments.cpp").read_text(encoding="utf-8")
    problems = []
    for header in sorted(ROOT.glob("include/**/*.hpp")):
        text = header.read_text(encoding="utf-8")
        for match in COMMENT_CODE.finditer(text):
            lines = [line.strip().removeprefix("///") for line in match[1].splitlines()]
            is_code = any(re.search(r";( *//.*)?$", line) for line in lines)
            if is_code and "..." not in map(str.strip, lines) and not stands_in("\n".join(lines), compiled):
                line = text.count("\n", 0, match.start(1)) + 1
                problems.append(
                    f"{header.relative_to(ROOT)}:{line}: error: this code does not stand in tests/docs/comments.cpp"
                )
    return problems


def check_excerpts():
    sources = {
        language: [path.read_text(encoding="utf-8") for pattern in patterns for path in ROOT.glob(pattern)]
        for language, patterns in SOURCES.items()
    }
    return [
        f"{page.relative_to(ROOT)}:{line}: error: this block stands in none of {' '.join(SOURCES[language])}"
        for page in sorted(DOCS.glob("*.md"))
        if page.name != "errors.md"  # generated from tests/compile_fail
        for language, line, text in blocks(page, SOURCES)
        if not any(stands_in(text, source) for source in sources[language])
    ]


def first_missing(block, output):
    """The first line of `block` that `output` does not have, in order; None if it has them all."""
    printed = iter(output.splitlines())
    for wanted in block.splitlines():
        start, is_cut = (wanted[:-3], True) if wanted.endswith("...") else (wanted, False)
        if not any(line.startswith(start) if is_cut else line == start for line in printed):
            return wanted
    return None


def check_output(page, programs):
    outputs = []
    for program in programs:
        result = subprocess.run([program], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return [f"{program} failed:\n{result.stderr}"]
        outputs.append(result.stdout)
    problems = []
    for _, line, text in blocks(page, ("text",)):
        missing = [first_missing(text, output) for output in outputs]
        if None not in missing:
            problems.append(f"{page}:{line}: error: no program prints this; not printed: {missing[-1]}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--excerpts", action="store_true")
    parser.add_argument("--output", nargs="+", metavar="PAGE_OR_PROGRAM", default=[])
    arguments = parser.parse_args()
    problems = check_excerpts() + check_comments() if arguments.excerpts else []
    if arguments.output:
        problems += check_output(pathlib.Path(arguments.output[0]), arguments.output[1:])
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
