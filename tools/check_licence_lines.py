#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fails when a source, build or script file lacks the SPDX line near its top. Uses git's list of tracked files."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINE = "SPDX-License-Identifier: " + "Apache-2.0 WITH LLVM-exception"
SUFFIXES = {".hpp", ".cpp", ".cmake", ".in", ".py", ".sh", ".txt"}
NAMES = {"CMakeLists.txt", "run"}
# Data that programs read as it is, and files whose format has no comments.
DATA_FOLDERS = {"data", "golden"}


def needs_line(path: pathlib.Path, text: str) -> bool:
    if DATA_FOLDERS & set(path.parts):
        return False
    return path.suffix in SUFFIXES or path.name in NAMES or text.startswith("#!")


def has_line(text: str) -> bool:
    """A shebang may stand first, and nothing else."""
    lines = text.splitlines()[:2]
    if lines and not lines[0].startswith("#!"):
        lines = lines[:1]
    return any(LINE in line for line in lines)


def listed_files() -> list[pathlib.Path]:
    """What git tracks, or in a tree without git (a release archive) all that is there but builds."""
    try:
        out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
        return [pathlib.Path(name) for name in out.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
        return [path for path in files if path.parts[0] not in {"build", ".git"}]


def main() -> int:
    checked = 0
    bad = []
    for path in listed_files():
        try:
            text = (ROOT / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue  # binary data, or deleted and not yet committed
        if needs_line(path, text):
            checked += 1
            if not has_line(text):
                bad.append(path)
    for path in bad:
        print(f"{path}:1: error: the first line is not '{LINE}'")
    if checked == 0:
        print("error: no file was checked")
    return 1 if bad or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
