# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Llama's decode step over a static key/value cache in buffers: HLO against eager, step after step."""

import copy
import pathlib
import re

import pytest
import torch
from capture import FORMS, assert_close, capture, close, state_of
from models import SetitemLayer, llama, llama_step
from xla_runner import Executable, Session, shape_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 3
CACHES = ["key_cache_0", "value_cache_0", "key_cache_1", "value_cache_1"]
# What a step does not depend on: the lengths are set from the position before they are read, and transformers
# keeps the original rotary frequencies only to restore them.
WITHOUT_EFFECT = {"length_0", "length_1", "model.model.rotary_emb.original_inv_freq"}

VARIANTS = {
    "f32": {},
    "bf16": {"dtype": torch.bfloat16},
    "sdpa": {"attention": "sdpa"},
    "setitem": {"layer": SetitemLayer},
}
MAIN = [(variant, form) for variant in ("f32", "bf16") for form in FORMS]
MORE = [(variant, form) for variant in ("sdpa", "setitem") for form in FORMS]
INPUTS = list(llama_step(0))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Model and captured program by (variant, form), each made once."""
    made = {}

    def program(variant, form):
        if (variant, form) not in made:
            model = llama(**VARIANTS[variant])
            made[variant, form] = model, capture(model, llama_step(0), form, tmp_path_factory.mktemp(variant))
        model, captured = made[variant, form]
        return copy.deepcopy(model), captured

    return program


def start(fxpassc, program, state, emit):
    module, signature = fxpassc.compile(program.path, emit)
    return Session(Executable(module), signature, program.values(state)), {
        name: key for key, name in program.names.items()
    }


def compare(session, keys, model, inputs, logits, expected, what):
    assert_close(logits, expected, f"{what}: logits")
    for name, buffer in model.named_buffers():
        if name in keys:
            assert_close(session.get(keys[name]), buffer, f"{what}: {name}")
    for name, tensor in inputs.items():
        assert torch.equal(session.get(keys[name]), tensor), f"{what}: input {name} was written"


@pytest.mark.parametrize("emit", ["hlo-text", "hlo-proto"])
@pytest.mark.parametrize(("variant", "form"), MAIN + MORE)
def test_three_steps(programs, fxpassc, variant, form, emit):
    model, program = programs(variant, form)
    session, keys = start(fxpassc, program, state_of(model, llama_step(0)), emit)
    mutated = [*CACHES, "length_0", "length_1"]
    before = {name: session.pointer(keys[name]) for name in mutated}
    for step in range(STEPS):
        inputs = llama_step(step)
        for name, tensor in inputs.items():
            session.set(keys[name], tensor)
        (logits,) = session.run()
        expected = model(*inputs.values())
        compare(session, keys, model, inputs, logits, expected, f"step {step}")
    assert {name: session.pointer(keys[name]) for name in mutated} == before
    assert all(bool(model.get_buffer(name)[:, :, :STEPS].any()) for name in CACHES)


@pytest.mark.parametrize(("variant", "form"), MAIN + MORE)
def test_cache_is_updated_in_place(programs, fxpassc, variant, form):
    model, program = programs(variant, form)
    text, signature = fxpassc.compile(program.path, "hlo-text")
    cache = re.escape(shape_text(model.key_cache_0))
    updates = re.findall(rf"= {cache}\S* (dynamic-update-slice|scatter)\(", text)
    assert len(updates) == len(CACHES)
    by_name = {Session.key(entry): entry for entry in signature["inputs"]}
    keys = {name: key for key, name in program.names.items()}
    aliased = set(signature["hlo_input_output_alias"].values())
    assert aliased == {by_name[keys[name]]["hlo_parameter"] for name in [*CACHES, "length_0", "length_1"]}
    optimized = Executable(text).optimized_text
    assert re.search(rf"{cache}\S* parameter\(", optimized)
    assert not re.findall(rf"= {cache}\S* copy\(", optimized)


def perturbed(tensor, name):
    if name == "input_ids":
        return (tensor + 1) % 64
    if name == "attention_mask":
        tensor = tensor.clone()
        tensor[0, 0] = 0
        return tensor
    if not tensor.dtype.is_floating_point:
        return tensor + 1
    noise = torch.randn(tensor.shape, generator=torch.Generator().manual_seed(5))
    return (tensor.float() + 0.5 * (1.0 + tensor.float().abs().max()) * noise).to(tensor.dtype)


def results(model, inputs):
    logits = model(*inputs.values())
    return {"logits": logits, **{name: buffer.clone() for name, buffer in model.named_buffers()}}


def differs(left, right):
    return any(not close(left[name], right[name]) for name in right)


@pytest.mark.parametrize(("variant", "form"), MAIN)
def test_every_input_counts(programs, fxpassc, variant, form):
    model, program = programs(variant, form)
    for step in range(2):
        model(*llama_step(step).values())
    inputs = llama_step(2)
    state = {name: tensor.clone() for name, tensor in state_of(model, inputs).items()}
    session, keys = start(fxpassc, program, state, "hlo-text")

    def run_eager(state):
        fresh = copy.deepcopy(model)
        fresh.load_state_dict({name: state[name] for name in fresh.state_dict()})
        for name, buffer in fresh.named_buffers():  # those that are not persistent too
            buffer.copy_(state[name])
        return results(fresh, {name: state[name] for name in inputs})

    def run_xla(state):
        for name, key in keys.items():
            session.set(key, state[name])
        (logits,) = session.run()
        buffers = {name: session.get(keys[name]) for name, _ in model.named_buffers() if name in keys}
        return {"logits": logits, **buffers}

    base_eager, base_xla = run_eager(state), run_xla(state)
    without_effect = set()
    for changed in sorted(keys):
        case = {**state, changed: perturbed(state[changed], changed)}
        eager, xla = run_eager(case), run_xla(case)
        for name, value in xla.items():
            assert_close(value, eager[name], f"{changed} perturbed: {name}")
        # What was perturbed and not written is different by itself; it says nothing about the program.
        others = [name for name in xla if name != changed or name in CACHES]
        effect = differs({n: base_eager[n] for n in others}, {n: eager[n] for n in others})
        assert differs({n: base_xla[n] for n in others}, {n: xla[n] for n in others}) == effect, changed
        if not effect:
            without_effect.add(changed)
    assert without_effect == WITHOUT_EFFECT & set(keys)


@pytest.mark.parametrize("emit", ["hlo-text", "hlo-proto"])
def test_bundled_export(fxpassc, emit):
    path = ROOT / "examples" / "data" / "llama_decode.pt2"
    loaded = torch.export.load(path)
    model = loaded.module()
    state = {**loaded.state_dict, **loaded.constants, **llama_step(0)}
    module, signature = fxpassc.compile(path, emit)
    session = Session(Executable(module), signature, {name: tensor.clone() for name, tensor in state.items()})
    for step in range(STEPS):
        for name, tensor in llama_step(step).items():
            session.set(name, tensor)
        (logits,) = session.run()
        assert_close(logits, model(**llama_step(step)), f"step {step}: logits")
        for name in CACHES:
            assert_close(session.get(name), model.get_buffer(name), f"step {step}: {name}")
