# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ResNet with ReLUs and residual additions in place, batch norm in evaluation and in training mode."""

import copy

import pytest
import torch
from capture import FORMS, assert_close, capture, close, state_of
from models import pixels, resnet
from xla_runner import Executable, Session

BATCHES = 2
CASES = [(mode, form) for mode in ("evaluation", "training mode", "bottleneck") for form in FORMS]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Model and captured program by (mode, form), each made once."""
    made = {}

    def program(mode, form):
        if (mode, form) not in made:
            model = resnet(
                mode == "training mode", layer_type="bottleneck" if mode == "bottleneck" else "basic"
            )
            made[mode, form] = model, capture(model, pixels(), form, tmp_path_factory.mktemp("resnet"))
        model, captured = made[mode, form]
        return copy.deepcopy(model), captured

    return program


def start(fxpassc, program, state, emit):
    module, signature = fxpassc.compile(program.path, emit)
    keys = {name: key for key, name in program.names.items()}
    return Session(Executable(module), signature, program.values(state)), keys


@pytest.mark.parametrize("emit", ["hlo-text", "hlo-proto"])
@pytest.mark.parametrize(("mode", "form"), CASES)
def test_batches(programs, fxpassc, mode, form, emit):
    model, program = programs(mode, form)
    start_buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    session, keys = start(fxpassc, program, state_of(model, pixels()), emit)
    for batch in range(BATCHES):
        inputs = pixels(seed=batch)
        session.set(keys["pixel_values"], inputs["pixel_values"])
        (logits,) = session.run()
        assert_close(logits, model(*inputs.values()), f"batch {batch}: logits")
        for name, tensor in [*model.named_buffers(), *inputs.items()]:
            if name in keys:
                assert_close(session.get(keys[name]), tensor, f"batch {batch}: {name}")
    written = {name for name, buffer in model.named_buffers() if not torch.equal(buffer, start_buffers[name])}
    assert written == (set(start_buffers) if mode == "training mode" else set())
    assert len(session.signature["hlo_input_output_alias"]) == len(written)


@pytest.mark.parametrize(("mode", "form"), [case for case in CASES if case[0] != "bottleneck"])
def test_every_input_counts(programs, fxpassc, mode, form):
    model, program = programs(mode, form)
    inputs = pixels()
    state = {name: tensor.clone() for name, tensor in state_of(model, inputs).items()}
    session, keys = start(fxpassc, program, state, "hlo-text")

    def run_eager(state):
        fresh = copy.deepcopy(model)
        fresh.load_state_dict({name: state[name] for name in fresh.state_dict()})
        logits = fresh(state["pixel_values"])
        return {"logits": logits, **{name: buffer.clone() for name, buffer in fresh.named_buffers()}}

    def run_xla(state):
        for name, key in keys.items():
            session.set(key, state[name])
        (logits,) = session.run()
        return {"logits": logits, **{n: session.get(keys[n]) for n, _ in model.named_buffers() if n in keys}}

    base_eager, base_xla = run_eager(state), run_xla(state)
    without_effect = set()
    for changed in sorted(keys):
        value = state[changed]
        if value.dtype.is_floating_point:
            # Variances stay positive: no perturbation may turn the comparison into one of NaNs.
            noise = torch.rand(value.shape, generator=torch.Generator().manual_seed(5))
            value = value + 0.25 * (1.0 + value.abs().max()) * noise
        else:
            value = value + 1
        case = {**state, changed: value}
        eager, xla = run_eager(case), run_xla(case)
        for name, actual in xla.items():
            assert_close(actual, eager[name], f"{changed} perturbed: {name}")
        others = [name for name in xla if name != changed or mode == "training mode"]
        effect = any(not close(base_eager[name], eager[name]) for name in others)
        assert any(not close(base_xla[name], xla[name]) for name in others) == effect, changed
        if not effect:
            without_effect.add(changed)
    # Only evaluation has inputs that nothing reads: the counters.
    counters = {name for name in keys if name.endswith("num_batches_tracked")}
    assert without_effect == (set() if mode == "training mode" else counters)
