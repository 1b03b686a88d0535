#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the include rules of include/fxpass: the layout is the data flow, so a folder includes what is upstream of it.

--self-test checks that the checker itself finds each kind of offence.
"""

import argparse
import graphlib
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

# What each folder may include beside itself. The files of include/fxpass itself are the folder "".
UPSTREAM = {
    "support": set(),
    "ops": {"support"},
    "graph": {"support", "ops"},
    "pass": {"support", "ops", "graph"},
    "passes": {"support", "ops", "graph", "pass"},
    "hlo": {"support"},
    "lower": {"support", "ops", "graph", "pass", "passes", "hlo"},
    "neuron": {"support", "hlo", "lower"},
    "emit": {"support", "ops", "graph", "pass", "hlo"},
    "read": {"support", "ops", "graph", "pass"},
}
# Includable from everywhere; they themselves include the standard library alone.
COMMON = {"config.hpp", "version.hpp", "fwd.hpp"}

CORE = {"support", "ops", "graph", "pass", "passes"}
# In the core only narrow Hana headers, and none of the standard ones that are costly, or not constexpr on every compiler.
NOT_IN_CORE = {"algorithm", "any", "deque", "execution", "filesystem", "format", "forward_list", "functional", "future",
               "iterator", "list", "map", "memory", "memory_resource", "mutex", "random", "set", "span", "string", "thread",
               "tuple", "unordered_map", "unordered_set", "variant"}
# Nowhere: streams bring static initialisers and locales, the others cost more than the rest of a header.
NOWHERE = {"fstream", "iomanip", "iostream", "istream", "locale", "ostream", "ranges", "regex", "sstream"}
THIRD_PARTY = {"boost/": CORE, "range/v3/": {"lower", "neuron", "emit", "read"},
               "simdjson": {"read"}, "zip.h": {"read"}}


def offence(file: pathlib.PurePosixPath, quote: str, target: str) -> str:
    """Why FILE (relative to include/fxpass) may not include TARGET, or an empty text."""
    folder = file.parts[0] if len(file.parts) > 1 else ""
    if quote == '"':
        return "own headers are included as <fxpass/...>"
    if target.startswith("fxpass/"):
        parts = target.split("/")[1:]
        other = parts[0] if len(parts) > 1 else ""
        if folder == "":
            if file.name in COMMON and not (other == "" and parts[0] in COMMON):
                return f"{file.name} is included by every folder and includes none"
            return "the umbrella leaves the readers out" if other == "read" else ""
        if other == "":
            return "" if parts[0] in COMMON else "the umbrella is for users"
        if other != folder and other not in UPSTREAM.get(folder, set()):
            return f"{other}/ is not upstream of {folder}/"
        return ""
    if target == "boost/hana.hpp":
        return "only narrow Hana headers: the umbrella is slow, and fails with libc++"
    if target == "range/v3/all.hpp":
        return "only narrow range-v3 headers"
    for prefix, folders in THIRD_PARTY.items():
        if target.startswith(prefix):
            return "" if folder in folders else f"{prefix} is not for {folder or 'the top level'}"
    if re.fullmatch(r"[a-z_0-9]+", target):
        if target in NOWHERE:
            return f"<{target}> is not for a library that others include"
        if folder in CORE | {""} and target in NOT_IN_CORE:
            return f"<{target}> is not for the core: slow, or not constexpr on every compiler"
        return ""
    return f"unknown library <{target}>"


def check(root: pathlib.Path) -> list[str]:
    messages = []
    files = sorted(root.rglob("*.hpp"))
    for path in files:
        relative = pathlib.PurePosixPath(path.relative_to(root).as_posix())
        text = path.read_text(encoding="utf-8")
        if len(relative.parts) > 1 and relative.parts[0] not in UPSTREAM:
            messages.append(f"{path}:1: error: its folder is not in the table of tools/check_includes.py")
        if "#pragma once" not in text:
            messages.append(f"{path}:1: error: no #pragma once")
        for number, line in enumerate(text.splitlines(), 1):
            match = INCLUDE.match(line)
            why = offence(relative, *match.groups()) if match else ""
            if why:
                messages.append(f"{path}:{number}: error: {why}")
    if not files:
        messages.append(f"{root}: error: no headers")
    return messages


VERDICT = "pass/verdict.hpp"
# The errors of that header are to be told within the first four lines, below a line for each include that leads to it.
LONGEST_CHAIN = 3


def chain_to_verdict(header: str, includes: dict[str, list[str]], seen: set[str]) -> int:
    """How many includes lead from HEADER to the first mention of the verdicts, as a compiler reads; 0 if none does."""
    for target in includes.get(header, []):
        if target in seen:
            continue
        seen.add(target)
        if target == VERDICT:
            return 1
        if rest := chain_to_verdict(target, includes, seen):
            return rest + 1
    return 0


def check_chains(root: pathlib.Path) -> list[str]:
    includes = {}
    for path in root.rglob("*.hpp"):
        targets = map(INCLUDE.match, path.read_text(encoding="utf-8").splitlines())
        includes[path.relative_to(root).as_posix()] = [
            match[2].removeprefix("fxpass/") for match in targets if match and match[2].startswith("fxpass/")
        ]
    # The file of the user includes the header, which is the last line of the chain.
    chains = {header: chain_to_verdict(header, includes, {header}) for header in sorted(includes)}
    return [
        f"{root / header}:1: error: {chain} includes lead to {VERDICT}: include it first"
        for header, chain in chains.items()
        if chain > LONGEST_CHAIN
    ]


def self_test() -> list[str]:
    """Each line: a file, an include in it, and whether that is an offence."""
    cases = [
        ("graph/graph.hpp", "<fxpass/support/pool.hpp>", False),
        ("graph/graph.hpp", "<fxpass/config.hpp>", False),
        ("graph/graph.hpp", "<vector>", False),
        ("graph/graph.hpp", "<fxpass/pass/module.hpp>", True),
        ("graph/graph.hpp", "<fxpass/fxpass.hpp>", True),
        ("graph/graph.hpp", '"node.hpp"', True),
        ("graph/graph.hpp", "<ranges>", True),
        ("graph/graph.hpp", "<functional>", True),
        ("graph/graph.hpp", "<unordered_map>", True),
        ("read/pt2.hpp", "<unordered_map>", False),
        ("read/pt2.hpp", "<iostream>", True),
        ("neuron/target.hpp", "<fxpass/lower/target.hpp>", False),
        ("neuron/target.hpp", "<fxpass/passes/facts.hpp>", True),
        ("graph/graph.hpp", "<range/v3/algorithm/sort.hpp>", True),
        ("graph/graph.hpp", "<simdjson.h>", True),
        ("hlo/module.hpp", "<fxpass/graph/graph.hpp>", True),
        ("lower/lower.hpp", "<fxpass/hlo/module.hpp>", False),
        ("lower/lower.hpp", "<range/v3/algorithm/sort.hpp>", False),
        ("lower/lower.hpp", "<range/v3/all.hpp>", True),
        ("pass/pipeline.hpp", "<boost/hana/unpack.hpp>", False),
        ("pass/pipeline.hpp", "<boost/hana.hpp>", True),
        ("read/pt2.hpp", "<zip.h>", False),
        ("emit/text.hpp", "<zip.h>", True),
        ("fxpass.hpp", "<fxpass/emit/text.hpp>", False),
        ("fxpass.hpp", "<fxpass/read/pt2.hpp>", True),
        ("fwd.hpp", "<fxpass/graph/graph.hpp>", True),
        ("config.hpp", "<fxpass/version.hpp>", False),
        ("fwd.hpp", "<boost/hana/fwd/tuple.hpp>", True),
        ("fwd.hpp", "<functional>", True),
        ("other/file.hpp", "<vector>", True),
        ("support/pool.hpp", "<absl/types/span.h>", True),
    ]
    messages = []
    try:
        list(graphlib.TopologicalSorter(UPSTREAM).static_order())
    except graphlib.CycleError as error:
        messages.append(f"self-test: error: the table of folders has a cycle: {error.args[1]}")
    for name, include, wrong in cases:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"#pragma once\n#include {include}\n", encoding="utf-8")
            if bool(check(pathlib.Path(folder))) != wrong:
                messages.append(f"self-test: error: {name} with {include} should {'' if wrong else 'not '}be an offence")
    for length in (LONGEST_CHAIN, LONGEST_CHAIN + 1):
        names = [f"pass/{number}.hpp" for number in range(length)] + [VERDICT]
        with tempfile.TemporaryDirectory() as folder:
            for name, target in zip(names, names[1:]):
                file = pathlib.Path(folder, name)
                file.parent.mkdir(exist_ok=True)
                file.write_text(f"#include <fxpass/{target}>\n", encoding="utf-8")
            if len(check_chains(pathlib.Path(folder))) != length - LONGEST_CHAIN:
                messages.append(f"self-test: error: a chain of {length} includes to the verdicts")
    return messages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true", help="test the checker instead of the headers")
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent / "include" / "fxpass"
    messages = self_test() if arguments.self_test else check(root) + check_chains(root)
    print("\n".join(messages))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
