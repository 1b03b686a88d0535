#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the pages of docs/ to the programs in examples/, which are compiled and run as tests.

    tools/check_docs.py --excerpts              each C++ and Python block of a page stands in one of the examples
    tools/check_docs.py --output PAGE PROGRAM   PROGRAM, run here, prints the text blocks of PAGE

In a text block, lines that are left out of the output are left out, and three points at the end of a line stand for its
rest.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
SUFFIX = {"cpp": ".cpp", "python": ".py"}


def blocks(page, languages):
    """Language, first line and text of each block in one of `languages`."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match[1] in languages:
            yield match[1], text.count("\n", 0, match.start()) + 1, match[2]


def stands_in(block, source):
    """Whether the lines of `block` follow one another in `source`, both without what they are indented by together."""
    wanted = textwrap.dedent(block).splitlines()
    lines = source.splitlines()
    return any(
        textwrap.dedent("\n".join(lines[at : at + len(wanted)])).splitlines() == wanted
        for at in range(len(lines) - len(wanted) + 1)
    )


def check_excerpts():
    sources = {
        language: [path.read_text(encoding="utf-8") for path in EXAMPLES.rglob("*" + suffix)]
        for language, suffix in SUFFIX.items()
    }
    return [
        f"{page.relative_to(ROOT)}:{line}: error: this block stands in no *{SUFFIX[language]} of examples/"
        for page in sorted(DOCS.glob("*.md"))
        for language, line, text in blocks(page, SUFFIX)
        if not any(stands_in(text, source) for source in sources[language])
    ]


def check_output(page, program):
    result = subprocess.run([program], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return [f"{program} failed:\n{result.stderr}"]
    problems = []
    for _, line, text in blocks(page, ("text",)):
        printed = iter(result.stdout.splitlines())
        for wanted in text.splitlines():
            start, is_cut = (wanted[:-3], True) if wanted.endswith("...") else (wanted, False)
            if not any(p.startswith(start) if is_cut else p == start for p in printed):
                problems.append(f"{page}:{line}: error: {program} does not print, in this order: {wanted}")
                break
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--excerpts", action="store_true")
    parser.add_argument("--output", nargs=2, metavar=("PAGE", "PROGRAM"), default=None)
    arguments = parser.parse_args()
    problems = check_excerpts() if arguments.excerpts else []
    if arguments.output:
        problems += check_output(pathlib.Path(arguments.output[0]), arguments.output[1])
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
