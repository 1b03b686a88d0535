# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of fxpassc: what it prints, and what its options that watch the passes do."""

import io
import json
import pathlib
import re
import subprocess

import pytest
import torch
from capture import Function, capture

PASSES = [
    "device_rewriter",
    "aliasing_output_rewrite",
    "inplace_to_outofplace",
    "nki_kernel_backend_config_pass",
    "collective_replica_groups",
]


@pytest.fixture
def program(tmp_path):
    def function(x, y):
        x[0] = 2.0
        x.mul_(y)
        return torch.zeros(3, device="cpu") + x

    return capture(Function(function), {"x": torch.ones(4, 3), "y": torch.ones(3)}, "dynamo", tmp_path).path


def test_version_and_help(fxpassc):
    assert re.fullmatch(r"fxpassc \d+\.\d+\.\d+\n", fxpassc.run("--version").stdout)
    for arguments in (["--help"], ["compile", "--help"], ["passes", "--help"], ["ops", "--help"]):
        result = fxpassc.run(*arguments)
        assert result.returncode == 0 and "Usage" in result.stdout and not result.stderr
    help_of_compile = fxpassc.run("compile", "--help").stdout
    for option in (
        "--output --emit --signature --target-device --no-fx-passes --world-size --process-group --nki-kernels "
        "--time-passes --dump-passes --verify-each"
    ).split():
        assert option in help_of_compile


def test_passes(fxpassc):
    text = fxpassc.run("passes").stdout
    assert re.findall(r"^(\w+)$", text, re.M) == PASSES
    contract = re.search(r"^inplace_to_outofplace\n((?:  .*\n)+)", text, re.M)[1]
    assert contract.split("\n")[:4] == [
        "  needs       aliases_analysed, mutations_surfaced",
        "  forbids     -",
        "  establishes out_of_place",
        "  keeps       everything but aliases_analysed",
    ]


def test_ops(fxpassc):
    lines = fxpassc.run("ops").stdout.splitlines()
    assert lines == sorted(set(lines)) and {"aten.add", "aten.cat", "operator.getitem"} <= set(lines)
    assert all(re.fullmatch(r"[\w.]+", line) for line in lines)
    readme = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
    assert re.findall(r"`fxpassc ops` lists (\d+) operators", readme) == [str(len(lines))]


def test_time_passes(fxpassc, tmp_path, program):
    result = fxpassc.run("compile", program, "-o", tmp_path / "out.hlo", "--time-passes")
    assert result.returncode == 0 and result.stdout == ""
    *times, alias = result.stderr.splitlines()
    found = [re.fullmatch(r"FX Pass '(\w+)' completed in \d+\.\d{4}s", line)[1] for line in times]
    assert found == PASSES
    assert re.fullmatch(r"output 1 \(\w+\) is the new value of user_input l_\w+", alias)


def test_watching_changes_nothing(fxpassc, tmp_path, program):
    plain, signature = fxpassc.compile(program)
    watched, watched_signature = fxpassc.compile(
        program, "hlo-text", "--time-passes", "--verify-each", "--dump-passes", tmp_path / "dump"
    )
    assert plain == watched and signature == watched_signature


def test_dump_passes(fxpassc, tmp_path, program):
    fxpassc.compile(program, "fx-text", "--dump-passes", tmp_path / "dump")
    folder = tmp_path / "dump" / "passes"
    names = ["00_original.txt", *(f"{k:02}_after_{name}.txt" for k, name in enumerate(PASSES, 1))]
    assert sorted(path.name for path in folder.iterdir()) == names
    original = (folder / names[0]).read_text()
    assert "target=operator.setitem" in original and "target=mul_" in original
    last = (folder / names[-1]).read_text()
    assert "target=operator.setitem" not in last and "target=mul_" not in last and "device: xla" in last
    assert fxpassc.compile(program, "fx-text")[0] in last


def test_a_folder_for_dumps_that_cannot_be_made(fxpassc, tmp_path, program):
    (tmp_path / "file").write_text("")
    out = tmp_path / "out.hlo"
    result = fxpassc.run("compile", program, "-o", out, "--dump-passes", tmp_path / "file" / "dump")
    # Dumps are for people: without them the result is the same.
    assert result.returncode == 0 and out.exists()
    assert re.fullmatch(r"fxpass: warning: cannot make folder .*\[file-unwritable\]\n", result.stderr)


def test_form_by_ending(fxpassc, tmp_path, program):
    starts = {"out.hlo": b"HloModule", "out.fx": b"graph():", "out.py": b"import operator"}
    for name, start in starts.items():
        assert fxpassc.run("compile", program, "-o", tmp_path / name).returncode == 0
        assert (tmp_path / name).read_bytes().startswith(start)
    assert fxpassc.run("compile", program, "-o", tmp_path / "out.pb").returncode == 0
    assert (tmp_path / "out.pb").read_bytes() == fxpassc.compile(program, "hlo-proto")[0]


def test_two_runs_write_the_same(fxpassc, program):
    for emit in ("hlo-text", "hlo-proto", "fx-text", "fx-python"):
        assert fxpassc.compile(program, emit) == fxpassc.compile(program, emit)


def test_no_passes_needs_a_functional_program(fxpassc, tmp_path, program):
    result = fxpassc.run("compile", program, "-o", tmp_path / "out.hlo", "--no-fx-passes")
    assert result.returncode == 1 and "setitem" in result.stderr and not (tmp_path / "out.hlo").exists()
    functional = capture(Function(lambda x: x + 1), {"x": torch.ones(3)}, "functional", tmp_path / "functional")
    fxpassc.compile(functional.path, "hlo-text", "--no-fx-passes")


def test_output_and_signature_are_two_files(fxpassc, tmp_path, program):
    out = tmp_path / "out.hlo"
    result = fxpassc.run("compile", program, "-o", out, "--signature", out)
    assert result.returncode == 2 and not out.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["no-such-command"],
        ["compile"],
        ["compile", "in.pt2"],
        ["compile", "in.pt2", "-o", "out.hlo", "--no-such-option"],
        ["compile", "in.pt2", "-o", "out.unknown"],
        ["compile", "in.pt2", "-o", "-"],
        ["compile", "in.pt2", "-o", "out.hlo", "--emit", "nothing"],
        ["compile", "in.pt2", "-o", "out.hlo", "--target-device", ""],
        ["compile", "in.pt2", "-o", "out.hlo", "--world-size", "0"],
        ["compile", "in.pt2", "-o", "out.hlo", "--process-group", "tp=0,"],
        ["compile", "in.pt2", "-o", "out.hlo", "--signature", "out.hlo"],
        ["compile", "in.pt2", "-o", "out.hlo", "--signature", "-"],
        ["compile", "in.pt2", "-o", "out.hlo", "--signature", ""],
        ["compile", "in.pt2", "-o", "out.hlo", "--dump-passes", ""],
        ["compile", "in.pt2", "-o", "out.hlo", "--nki-kernels", ""],
        ["compile", "in.pt2", "-o", "out.hlo", "--example-inputs", ""],
        ["compile", "in.pt2", "-o", "out.hlo", "--no-fx-passes", "--time-passes"],
        ["compile", "in.pt2", "-o", "out.hlo", "--no-fx-passes", "--verify-each"],
        ["compile", "in.pt2", "-o", "out.hlo", "--no-fx-passes", "--dump-passes", "dump"],
        *(["compile", "in.pt2", "-o", "out.hlo", "--target-device", name] for name in ("foo:bar", "xla:", ":1", "0", "a b")),
    ],
)
def test_wrong_usage_is_told_in_one_way(fxpassc, arguments):
    result = fxpassc.run(*arguments)
    assert result.returncode == 2 and not result.stdout
    assert re.fullmatch(r"fxpassc: error: .+\nRun 'fxpassc --help' for the options\.\n", result.stderr)


def test_wrong_usage_says_what_is_expected(fxpassc):
    compiling = ["compile", "in.pt2", "-o", "out.hlo"]
    assert "'foo' is no command: compile, passes and ops are" in fxpassc.run("foo", "in.pt2").stderr
    assert "a command is needed: compile, passes and ops are" in fxpassc.run().stderr
    for size in ("x", "0", "4x", "1e9", "99999999"):
        expected = f"a number of ranks from 1 to 16777216 is needed, not {size}\n"
        assert expected in fxpassc.run(*compiling, "--world-size", size).stderr


def test_a_device_may_have_a_number(fxpassc, program):
    assert "cuda:1" in fxpassc.compile(program, "fx-text", "--target-device", "cuda:1")[0]


def test_a_process_group_that_nothing_uses_is_warned_of(fxpassc, tmp_path, program):
    result = fxpassc.run("compile", program, "-o", tmp_path / "out.hlo", "--process-group", "tp=0,1")
    assert result.returncode == 0
    assert result.stderr == "fxpass: warning: --process-group: no collective of the program names 'tp' [invalid-option]\n"


def test_reading_from_a_pipe(fxpassc, program):
    text, _ = fxpassc.compile(program, "fx-text")
    command = [fxpassc.path, "compile", "/dev/stdin", "-o", "-", "--emit", "fx-text", "--no-fx-passes"]
    # Longer than what is read to tell the form.
    padded = text + "\n" * 100_000
    result = subprocess.run(command, input=padded, capture_output=True, text=True, check=False)
    assert result.returncode == 0 and result.stdout == text
    exported = torch.export.export(Function(lambda x: x + 1), (torch.ones(3),))
    archive = io.BytesIO()
    torch.export.save(exported, archive)
    result = subprocess.run(command, input=archive.getvalue(), capture_output=True, check=False)
    assert result.returncode == 1 and b"an archive cannot be read from a pipe" in result.stderr


def test_a_process_group_has_one_partition(fxpassc, tmp_path, program):
    out = tmp_path / "out.hlo"
    group = ["--process-group", "tp=0,1;2,3"]
    assert fxpassc.run("compile", program, "-o", out, *group, *group).returncode == 0
    result = fxpassc.run("compile", program, "-o", out, *group, "--process-group", "tp=0,2;1,3")
    assert result.returncode == 1 and "'tp' was given before" in result.stderr


def test_writing_to_the_standard_output(fxpassc, tmp_path, program):
    signature = tmp_path / "signature.json"
    result = fxpassc.run("compile", program, "-o", "-", "--emit", "hlo-text", "--signature", signature)
    assert result.returncode == 0 and not result.stderr
    assert (result.stdout, json.loads(signature.read_text())) == fxpassc.compile(program)


def test_writing_to_a_pipe(fxpassc, program):
    result = fxpassc.run("compile", program, "-o", "/dev/stdout", "--emit", "hlo-text")
    assert result.returncode == 0 and result.stdout == fxpassc.compile(program)[0]


def test_a_signature_needs_numbers(fxpassc, tmp_path):
    program, out = tmp_path / "symbolic.pt2", tmp_path / "out.py"
    rows = torch.export.Dim("rows", min=2, max=64)
    exported = torch.export.export(
        Function(lambda x: x + 1), (torch.ones(8, 3),), dynamic_shapes=(({0: rows},),)
    )
    torch.export.save(exported, program)
    assert fxpassc.run("compile", program, "-o", out).returncode == 0
    out.unlink()
    result = fxpassc.run("compile", program, "-o", out, "--signature", tmp_path / "signature.json")
    assert result.returncode == 1 and "[symbolic-size]" in result.stderr
    assert not out.exists() and not (tmp_path / "signature.json").exists()
