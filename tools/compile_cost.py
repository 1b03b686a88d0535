#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What it costs to compile fxpass, as a property that is reviewed.

The gate counts template instantiations, as clang++ traces them (-ftime-trace): for a given compiler and
standard library the number is the same on every machine, and it moves with time and memory. Seconds and MiB
are reported only.

    tools/compile_cost.py --check             compare with the committed baseline; blocks at +3 %
    tools/compile_cost.py --record            write the baseline of this compiler and these libraries
    tools/compile_cost.py --attribute NAME    what a workflow instantiates, and what grew since the baseline
    tools/compile_cost.py --report            seconds and MiB of g++ and clang++, as a table
    tools/compile_cost.py --constant          whether a module compiled at compile time leaves no code behind
    tools/compile_cost.py --self-test         whether the gate itself closes

Exit status of --check: 0 in order, 1 red, 77 when there is no baseline for the compiler or the libraries.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILE = ROOT / "bench" / "compile"
FLAGS = ["-std=c++20", "-O0", "-fno-exceptions", "-fno-rtti", "-w"]
EVENTS = {"InstantiateClass", "InstantiateFunction"}

BLOCK = 0.03      # growth of a workflow that is an error
RERECORD = -0.03  # shrinkage that the baseline has to follow, or what was won is lost again unnoticed
SKIPPED = 77
LONGEST_SYMBOL = 300
# Templates instantiated less often are left out of the baseline, which would be ten times as long with them.
LISTED = 10

HEAD = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n#include <fxpass/pass/pipeline.hpp>\n"
PLAIN_PASS = """
struct Pass{i} {{
  static constexpr std::string_view name = "pass_{i}";
  using keeps = fxpass::everything;
  constexpr auto run(fxpass::Graph graph, fxpass::Context&) const -> fxpass::Expected<fxpass::Graph> {{
    return graph;
  }}
}};
"""
EDITING_PASS = """
struct Pass{i} {{
  static constexpr std::string_view name = "pass_{i}";
  using keeps = fxpass::everything;
  constexpr auto run(fxpass::Graph&, fxpass::Context&) const -> fxpass::Status {{ return {{}}; }}
}};
"""
FORWARD_PASS = """
struct Pass{i} {{
  static constexpr std::string_view name = "pass_{i}";
  using keeps = fxpass::everything;
  struct State {{}};
  constexpr auto begin(fxpass::Graph&, fxpass::Artifacts<Pass{i}>&, fxpass::Context&) const -> State {{
    return {{}};
  }}
  static constexpr auto wants(const fxpass::Operator&) -> bool {{ return true; }}
  constexpr auto visit(State&, fxpass::Sweep&) const -> fxpass::Status {{ return {{}}; }}
  constexpr auto finish(State&, fxpass::Graph&, fxpass::Context&) const -> fxpass::Status {{ return {{}}; }}
}};
"""
RUN = """
auto run(fxpass::Graph graph) -> bool {{ return {composed}(fxpass::Module<>(std::move(graph))).has_value(); }}
"""
# The same passes called one after another by hand: what of a series is the passes' own.
BY_HAND_REBUILDING = """
auto run(fxpass::Graph graph) -> bool {{
  fxpass::Context context;
  fxpass::Expected<fxpass::Graph> result(std::move(graph));
{calls}  return result.has_value();
}}
"""


def series(pass_text: str, count: int, tail: str) -> str:
    """`count` passes, then `tail` with all of them in place of {composed}, {chain}, {types} or {calls}."""
    passes = [f"Pass{i}" for i in range(count)]
    values = [f"{p}()" for p in passes]
    calls = "".join(f"  if (result) result = {v}.run(*std::move(result), context);\n" for v in values)
    return (HEAD + "".join(pass_text.format(i=i) for i in range(count)) +
            tail.format(composed=f"fxpass::pipeline({', '.join(values)})",
                        chain=f"(fxpass::Pipeline<>() | {' | '.join(values)})",
                        types=", ".join(passes), calls=calls))


ORDER_ONLY = "\nstatic_assert(fxpass::order_verdict<{types}>::ok);\n"
CHAIN = RUN.replace("{composed}", "{chain}")
SERIES = {
    "plain_8": (PLAIN_PASS, 8, RUN),
    "plain_32": (PLAIN_PASS, 32, RUN),
    "plain_128": (PLAIN_PASS, 128, RUN),
    "editing_8": (EDITING_PASS, 8, RUN),
    "editing_128": (EDITING_PASS, 128, RUN),
    "forward_8": (FORWARD_PASS, 8, RUN),
    "forward_32": (FORWARD_PASS, 32, RUN),
    "chain_8": (PLAIN_PASS, 8, CHAIN),
    "chain_32": (PLAIN_PASS, 32, CHAIN),
    "order_32": (PLAIN_PASS, 32, ORDER_ONLY),
}
# For the report only: the passes of a series without a pipeline, text that must not compile, and the single
# header, which lags behind the headers between two runs of tools/amalgamate.py.
UNCOUNTED_SERIES = {
    "by_hand_8": (PLAIN_PASS, 8, BY_HAND_REBUILDING),
    "by_hand_128": (PLAIN_PASS, 128, BY_HAND_REBUILDING),
}
UNCOUNTED = {"wrong_order"}
SLOPES = [("plain_8", "plain_128"), ("by_hand_8", "by_hand_128"), ("editing_8", "editing_128"),
          ("forward_8", "forward_32"), ("chain_8", "chain_32")]


def workflows(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """The source file of each counted workflow; those of series are written into `folder`."""
    found = {p.stem: p for p in sorted((COMPILE / "workflows").glob("*.cpp")) if p.stem not in UNCOUNTED}
    for name, (text, count, tail) in SERIES.items():
        found[name] = folder / f"{name}.cpp"
        found[name].write_text(series(text, count, tail))
    return found


def macros(compiler: str, include: pathlib.Path) -> dict[str, str]:
    text = ("#include <version>\n#include <boost/version.hpp>\n#include <range/v3/version.hpp>\n")
    command = [compiler, "-std=c++20", f"-I{include}", "-E", "-dM", "-xc++", "-"]
    out = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout
    return dict(re.findall(r"#define (\w+) (.*)", out))


def environment(compiler: str, include: pathlib.Path) -> dict[str, str]:
    """All that the counts depend on beside this library."""
    m = macros(compiler, include)
    number = lambda name: m.get(name, "none").strip()
    stdlib = f"libstdc++ {number('_GLIBCXX_RELEASE')} {number('__GLIBCXX__')}" if "__GLIBCXX__" in m else \
        f"libc++ {number('_LIBCPP_VERSION')}"
    return {"compiler": ".".join(["clang " + number("__clang_major__"), number("__clang_minor__"),
                                  number("__clang_patchlevel__")]),
            "standard library": stdlib,
            "Boost": number("BOOST_VERSION"),
            "range-v3": ".".join(number(f"RANGE_V3_{part}") for part in ("MAJOR", "MINOR", "PATCHLEVEL"))}


def baseline_file(env: dict[str, str]) -> pathlib.Path:
    short = lambda text: "-".join(text.split(".")[0].split(" ")[:2])
    return COMPILE / "baselines" / f"{short(env['compiler'])}-{short(env['standard library'])}.json"


def template_of(detail: str) -> str:
    """`ns::f<...>::g` for an instantiated name: what one would look for in the source."""
    depth, out = 0, []
    for c in detail:
        if c == "<":
            if depth == 0:
                out.append("<>")
            depth += 1
        elif c == ">" and depth > 0:
            depth -= 1
        elif depth == 0:
            out.append(c)
    return "".join(out)


def instantiations(compiler: str, include: pathlib.Path, source: pathlib.Path,
                   folder: pathlib.Path) -> collections.Counter:
    """How often each template is instantiated when `source` is compiled; no code is made of them."""
    trace = folder / (source.stem + ".json")
    command = [compiler, *FLAGS, f"-I{include}", "-c", "-Xclang", "-fsyntax-only", f"-ftime-trace={trace}",
               "-ftime-trace-granularity=0", "-o", str(folder / "unused.o"), str(source)]
    if subprocess.run(command).returncode != 0:
        sys.exit(f"compile_cost: {source} does not compile")
    with trace.open() as file:
        events = json.load(file)["traceEvents"]
    trace.unlink()
    return collections.Counter(template_of(e["args"]["detail"]) for e in events if e["name"] in EVENTS)


def leftovers(symbols: str) -> list[str]:
    """What an object with nothing but constants would not have, in what nm printed."""
    rows = [line.split() for line in symbols.splitlines()]
    long_names = [row[-1] for row in rows if len(row[-1]) > LONGEST_SYMBOL]
    return ([f"code: {row[-1]}" for row in rows if row[-2] in "TtWwiu"] +
            [f"a symbol of {len(name)} characters: {name}" for name in long_names])


def constant(args, folder: pathlib.Path) -> int:
    source = ROOT / "examples" / "compile_time_hlo" / "constant.cpp"
    made = folder / "constant.o"
    flags = [flag for flag in FLAGS if flag != "-O0"]
    subprocess.run([args.compiler, *flags, "-O2", f"-I{args.include}", "-c", str(source), "-o", str(made)],
                   check=True)
    found = leftovers(subprocess.run(["nm", str(made)], text=True, stdout=subprocess.PIPE, check=True).stdout)
    print("\n".join(found) or f"{source.relative_to(ROOT)}: no code, no long symbol")
    return 1 if found else 0


def growth(new: collections.Counter, old: dict[str, int], rows: int) -> list[str]:
    """The templates that grew most. What the baseline does not list was instantiated under LISTED times."""
    names = set(old) | {n for n, k in new.items() if k >= LISTED}
    change = {n: new.get(n, 0) - old.get(n, 0) for n in names}
    grown = sorted((n for n in change if change[n] > 0), key=lambda n: (-change[n], n))
    return [f"    {change[n]:+6}  {n}  ({old.get(n, f'under {LISTED}')} -> {new[n]})" for n in grown[:rows]]


def is_red(count: int, was: int) -> bool:
    change = (count - was) / max(was, 1)
    return change >= BLOCK or change <= RERECORD


def check(args, folder: pathlib.Path) -> int:
    if shutil.which(args.compiler) is None:
        print(f"skipped: no {args.compiler} here")
        return SKIPPED
    env = environment(args.compiler, args.include)
    file = baseline_file(env)
    if not file.exists():
        print(f"skipped: no baseline {file.name} for {', '.join(env.values())}")
        return SKIPPED
    baseline = json.loads(file.read_text())
    if baseline["environment"] != env:
        print(f"skipped: {file.name} was recorded with {baseline['environment']}, here is {env}")
        return SKIPPED
    red = False
    sources = workflows(folder)
    for name in sorted(set(baseline["workflows"]) - set(sources)):
        red = True
        print(f"RED  {name}: in the baseline, but no workflow any more: record it again")
    for name, source in sources.items():
        new = instantiations(args.compiler, args.include, source, folder)
        count = sum(new.values())
        old = baseline["workflows"].get(name)
        if old is None:
            red = True
            print(f"RED  {name:18} {count:7}: not in the baseline: record it")
            continue
        was = old["instantiations"]
        change = (count - was) / max(was, 1)
        bad = is_red(count, was)
        red = red or bad
        print(f"{'RED ' if bad else 'ok  '} {name:18} {count:7}  {100 * change:+6.1f} %  (was {was})",
              flush=True)
        if change >= BLOCK:
            print("\n".join(growth(new, old["templates"], 12)))
        elif change <= RERECORD:
            print("    won: keep it with tools/compile_cost.py --record")
    if red:
        print("what a workflow instantiates: tools/compile_cost.py --attribute NAME\n"
              "a change that is worth its cost: tools/compile_cost.py --record, and say why in the commit")
    return 1 if red else 0


def record(args, folder: pathlib.Path) -> int:
    env = environment(args.compiler, args.include)
    data = {"environment": env, "workflows": {}}
    for name, source in workflows(folder).items():
        counts = instantiations(args.compiler, args.include, source, folder)
        listed = {n: k for n, k in sorted(counts.items()) if k >= LISTED}
        data["workflows"][name] = {"instantiations": sum(counts.values()), "templates": listed}
        print(f"{name:18} {sum(counts.values()):7}", flush=True)
    file = baseline_file(env)
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(data, indent=1) + "\n")
    print(f"wrote {file.relative_to(ROOT)}")
    return 0


def attribute(args, folder: pathlib.Path) -> int:
    sources = workflows(folder)
    if args.attribute not in sources:
        sys.exit(f"compile_cost: no workflow {args.attribute}; there are {', '.join(sources)}")
    counts = instantiations(args.compiler, args.include, sources[args.attribute], folder)
    print(f"{args.attribute}: {sum(counts.values())} instantiations; most often:")
    for name, count in counts.most_common(args.rows):
        print(f"    {count:6}  {name}")
    file = baseline_file(environment(args.compiler, args.include))
    if file.exists():
        old = json.loads(file.read_text())["workflows"].get(args.attribute)
        if old is not None:
            print(f"growth since {file.name} ({old['instantiations']}):")
            print("\n".join(growth(counts, old["templates"], args.rows)) or "    none")
    return 0


def measure(compiler: str, include: pathlib.Path, source: pathlib.Path, folder: pathlib.Path, repeats: int,
            may_fail: bool) -> tuple[float, float]:
    """Processor seconds, the least of some runs, and MiB at most."""
    seconds, mebibytes = float("inf"), 0.0
    for _ in range(repeats):
        with open(os.devnull, "w") as null:
            process = subprocess.Popen([compiler, *FLAGS, f"-I{include}", "-c", str(source), "-o",
                                        str(folder / "timed.o")], stderr=null if may_fail else None)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
        if (status != 0) != may_fail:
            sys.exit(f"compile_cost: {compiler}: {source} {'compiles' if may_fail else 'does not compile'}")
        seconds = min(seconds, usage.ru_utime + usage.ru_stime)
        mebibytes = max(mebibytes, usage.ru_maxrss / 1024)
    return seconds, mebibytes


def report(args, folder: pathlib.Path) -> int:
    sources = workflows(folder)
    for name, (text, count, tail) in UNCOUNTED_SERIES.items():
        sources[name] = folder / f"{name}.cpp"
        sources[name].write_text(series(text, count, tail))
    sources["wrong_order"] = COMPILE / "workflows" / "wrong_order.cpp"
    sources["single_include"] = COMPILE / "workflows" / "umbrella.cpp"
    if args.only:
        sources = {n: s for n, s in sources.items() if n in args.only}
    compilers = [c for c in (args.gcc, args.compiler) if shutil.which(c) is not None]
    seconds: dict[tuple[str, str], float] = {}
    print("| workflow | " + " | ".join(compilers) + " |\n|---|" + "---|" * len(compilers))
    for name, source in sources.items():
        include = ROOT / "single_include" if name == "single_include" else args.include
        cells = []
        for compiler in compilers:
            seconds[name, compiler], mebibytes = measure(compiler, include, source, folder, args.repeats,
                                                         name == "wrong_order")
            cells.append(f"{seconds[name, compiler]:.2f} s, {mebibytes:.0f} MiB")
        print(f"| `{name}` | " + " | ".join(cells) + " |", flush=True)
    for low, high in SLOPES:
        if low not in sources or high not in sources:
            continue
        passes = int(high.rsplit("_", 1)[1]) - int(low.rsplit("_", 1)[1])
        cells = [f"{1000 * (seconds[high, c] - seconds[low, c]) / passes:.1f} ms a pass" for c in compilers]
        print(f"| `{low}` to `{high}` | " + " | ".join(cells) + " |")
    return 0


def self_test() -> int:
    mistakes = []

    def expect(what: str, found, wanted) -> None:
        if found != wanted:
            mistakes.append(f"{what}: {found!r}, not {wanted!r}")

    expect("the same count", is_red(1000, 1000), False)
    expect("grown by less than 3 %", is_red(1029, 1000), False)
    expect("grown by 3 %", is_red(1030, 1000), True)
    expect("shrunk by less than 3 %", is_red(971, 1000), False)
    expect("shrunk by 3 %", is_red(970, 1000), True)
    expect("the first instantiation", is_red(1, 0), True)
    expect("a member of a template", template_of("a::B<C<int>, 3>::f<D>"), "a::B<>::f<>")
    grown = growth(collections.Counter({"grown": 25, "new": 12, "rare": LISTED - 1, "less": 3}),
                   {"grown": 20, "less": 30}, 5)
    expect("attribution", [line.split()[:2] for line in grown], [["+12", "new"], ["+5", "grown"]])
    expect("a series", series("{i} ", 2, "{types}"), HEAD + "0 1 Pass0, Pass1")
    expect("a constant", leftovers("0 D step_hlo\n0 r _ZL4text\n"), [])
    expect("a function", leftovers("0 D step_hlo\n0 W _Z3runv\n"), ["code: _Z3runv"])
    expect("a long symbol", len(leftovers("0 D " + "s" * (LONGEST_SYMBOL + 1))), 1)
    print("\n".join(mistakes) or "the gate closes")
    return 1 if mistakes else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="compare with the baseline")
    what.add_argument("--record", action="store_true", help="write the baseline")
    what.add_argument("--attribute", metavar="NAME", help="what a workflow instantiates")
    what.add_argument("--report", action="store_true", help="seconds and MiB")
    what.add_argument("--constant", action="store_true", help="whether a constant leaves no code behind")
    what.add_argument("--self-test", action="store_true", help="whether the gate itself closes")
    parser.add_argument("--compiler", default="clang++-19", help="clang++ (default %(default)s)")
    parser.add_argument("--gcc", default="g++", help="g++ of the report (default %(default)s)")
    parser.add_argument("--include", type=pathlib.Path, default=ROOT / "include", help="another tree's include/")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="the report's workflows")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the report takes the shortest")
    parser.add_argument("--rows", type=int, default=25, help="rows of --attribute")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    with tempfile.TemporaryDirectory() as folder:
        action = (check if args.check else record if args.record else report if args.report else
                  constant if args.constant else attribute)
        return action(args, pathlib.Path(folder))


if __name__ == "__main__":
    sys.exit(main())
