# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of docs/guide.md, as they stand there: export, compile, run in XLA, compare with the model."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from conftest import ROOT, TIMEOUT_SECONDS


def test_commands_of_the_guide(fxpassc_path, tmp_path):
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S)
    for script in ("guide_export.py", "guide_run.py"):
        shutil.copy(ROOT / "examples" / "python" / script, tmp_path)
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(fxpassc_path.parent), os.environ["PATH"]])
    result = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("total is [15. 15. 15. 15.]\n")
