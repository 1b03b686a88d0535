#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions a node of pipelines and of the same work by hand, counted by callgrind, and their ratio.

    tools/callgrind_ratio.py build/bench/bench/bench.instructions [WORKLOAD...]

Each workload runs at two sizes; what counts is the slope, so that set-up cancels. The counts are those of one compiler
and one C library, and the same each time. Fails if a ratio exceeds the limit that the program states for it. Exits with
77, which CTest takes for "skipped", where there is no valgrind.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (1_000, 5_000)
# Copies and fills of large blocks by `rep movsb`, which callgrind would take for as many instructions as bytes: not that way.
NO_REP = {"GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=0x40000000:glibc.cpu.x86_rep_stosb_threshold=0x40000000"}
MEASURED = {"pipeline": "run_pipeline", "by hand": "run_by_hand"}
SKIPPED = 77


def inclusive_costs(profile: Path) -> dict[str, int]:
    """Instructions of each function that was called, those of what it calls included, by its name."""
    names: dict[str, str] = {}
    costs: dict[str, int] = {}
    callee = ""
    is_cost_of_call = False
    for line in profile.read_text(errors="replace").splitlines():
        if is_cost_of_call:  # the line behind "calls=": where, and how many
            costs[callee] = costs.get(callee, 0) + int(line.split()[1])
            is_cost_of_call = False
        elif line.startswith("calls="):
            is_cost_of_call = True
        elif found := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
            kind, number, name = found.groups()
            if name:
                names[number] = name
            if kind == "cfn":
                callee = number
    return {names[number]: cost for number, cost in costs.items()}


def measure(program: str, workload: str, size: int) -> tuple[int, dict[str, int]]:
    """How many nodes the graph has, and the instructions of each way."""
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", program, workload, str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **NO_REP})
        if done.returncode != 0:
            sys.exit(f"{workload}: the two do not give the same graph, or valgrind failed\n{done.stderr}")
        costs = inclusive_costs(profile)
    measured = {}
    for way, function in MEASURED.items():
        measured[way] = sum(cost for name, cost in costs.items() if function in name)
        if measured[way] == 0:
            sys.exit(f"{workload}: no call of {function} in the profile")
    return int(done.stdout), measured


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed")
        return SKIPPED
    program, *wanted = sys.argv[1:]
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    limits = {name: float(limit) for name, limit in (line.split() for line in listed.splitlines())}
    exceeded = []
    print(f"{'workload':<30} {'pipeline':>9} {'by hand':>9} {'ratio':>6} {'limit':>6}")
    for workload in wanted or limits:
        (small, at_small), (large, at_large) = (measure(program, workload, size) for size in SIZES)
        fused, by_hand = ((at_large[way] - at_small[way]) / (large - small) for way in MEASURED)
        ratio = fused / by_hand
        print(f"{workload:<30} {fused:>9.1f} {by_hand:>9.1f} {ratio:>6.2f} {limits[workload]:>6.2f}", flush=True)
        if ratio > limits[workload]:
            exceeded.append(workload)
    if exceeded:
        print("above the limit:", ", ".join(exceeded))
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
