# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner itself, on modules written by hand: what the other tests conclude rests on it."""

import pytest
import torch

from xla_runner import DEVICES, Executable, Session, module_text, parse, shape_text, to_numpy, to_torch

CACHE_STEP = """
HloModule cache_step, input_output_alias={ {1}: (0, {}, must-alias) }

ENTRY main {
  cache = f32[8,4]{1,0} parameter(0)
  row = f32[1,4]{1,0} parameter(1)
  position = s64[] parameter(2)
  zero = s64[] constant(0)
  updated = f32[8,4]{1,0} dynamic-update-slice(cache, row, position, zero)
  doubled = f32[1,4]{1,0} add(row, row)
  ROOT results = (f32[1,4]{1,0}, f32[8,4]{1,0}) tuple(doubled, updated)
}
"""

SIGNATURE = {
    "inputs": [
        {"index": 0, "name": "b_cache", "kind": "buffer", "target": "cache", "hlo_parameter": 0},
        {"index": 1, "name": "row", "kind": "user_input", "target": None, "hlo_parameter": 1},
        {"index": 2, "name": "position", "kind": "user_input", "target": None, "hlo_parameter": 2},
    ],
    "outputs": [
        {"index": 0, "name": "doubled", "kind": "user_output", "target": None, "hlo_output": 0},
        {"index": 1, "name": "updated", "kind": "buffer_mutation", "target": "cache", "hlo_output": 1},
    ],
    "original_output_count": 1,
    "io_map": {"1": 0},
}


@pytest.fixture(params=["text", "proto"])
def cache_step(request):
    return CACHE_STEP if request.param == "text" else parse(CACHE_STEP).as_serialized_hlo_module_proto()


def test_session_writes_back_in_place(cache_step):
    cache = torch.arange(32.0).reshape(8, 4)
    session = Session(
        Executable(cache_step),
        SIGNATURE,
        {"cache": cache, "row": torch.ones(1, 4), "position": torch.tensor(2)},
    )
    before = session.pointer("cache")
    for step in range(3):
        session.set("row", torch.full((1, 4), float(step)))
        session.set("position", torch.tensor(step))
        (doubled,) = session.run()
        assert torch.equal(doubled, torch.full((1, 4), 2.0 * step))
        cache[step] = float(step)
    assert torch.equal(session.get("cache"), cache)
    assert session.pointer("cache") == before


def test_without_an_alias_the_buffer_moves():
    plain = CACHE_STEP.replace(", input_output_alias={ {1}: (0, {}, must-alias) }", "")
    values = {"cache": torch.zeros(8, 4), "row": torch.ones(1, 4), "position": torch.tensor(2)}
    session = Session(Executable(plain), SIGNATURE, values)
    before = session.pointer("cache")
    session.run()
    assert session.pointer("cache") != before


def test_replicas_hold_their_own_values():
    text = """
HloModule sum, replica_count=4

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[2]{0} parameter(0)
  reduced = f32[2]{0} all-reduce(x), replica_groups={{0,1},{2,3},{4,5},{6,7}}, to_apply=add
  ROOT y = (f32[2]{0}) tuple(reduced)
}
"""
    signature = {
        "inputs": [{"index": 0, "name": "x", "kind": "user_input", "target": None, "hlo_parameter": 0}],
        "outputs": [{"index": 0, "name": "y", "kind": "user_output", "target": None, "hlo_output": 0}],
        "original_output_count": 1,
        "io_map": {},
    }
    values = [{"x": torch.tensor([1.0, 10.0 * device])} for device in range(DEVICES)]
    outputs = Session(Executable(text, replicas=DEVICES), signature, values).run()
    assert [out[0].tolist() for out in outputs[::2]] == [[2.0, 10.0], [2.0, 50.0], [2.0, 90.0], [2.0, 130.0]]
    assert [out[0].tolist() for out in outputs[1::2]] == [out[0].tolist() for out in outputs[::2]]


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool, torch.uint8]
)
def test_values_survive_the_way_to_numpy_and_back(dtype):
    tensor = torch.tensor([[0, 1, 3], [2, 0, 5]]).to(dtype)
    assert torch.equal(to_torch(to_numpy(tensor.t())), tensor.t())
    assert to_torch(to_numpy(tensor)).dtype == dtype


def test_a_wrong_module_is_refused():
    with pytest.raises(Exception, match="dynamic_update_slice"):
        Executable(
            CACHE_STEP.replace("f32[8,4]{1,0} dynamic-update-slice", "f32[8,5]{1,0} dynamic-update-slice")
        )


def test_texts():
    assert shape_text(torch.zeros(2, 3, dtype=torch.bfloat16)) == "bf16[2,3]"
    assert shape_text(torch.zeros((), dtype=torch.bool)) == "pred[]"
    assert "dynamic-update-slice" in module_text(CACHE_STEP)
