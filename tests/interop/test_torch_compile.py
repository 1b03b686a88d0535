# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The torch.compile backend of examples/python: functions that write in place run in XLA as they do in
eager."""

import copy

import pytest
import torch
from capture import assert_close
from fxpass_backend import compile_with
from models import llama, llama_step
from transformers import LlamaConfig, LlamaForCausalLM


def writes_through_views(x, y):
    x[0].copy_(y)
    x.view(-1)[2:4].mul_(3.0)
    early = x.transpose(0, 1)
    x[1:3, 0] = -1.0
    x += 0.5
    return early.sum(-1), x.t()[1] * y.sum()


def returns_what_it_wrote(x, y):
    x.add_(y)
    return x, x[0] * 2.0


def writes_nothing(x, y):
    return x @ y, None


def overwrites(x, y):
    x.fill_(2.0)
    x[2] = y
    x.masked_fill_(x > 3.0, 0.0)
    return x.mean(-1)


FUNCTIONS = [writes_through_views, returns_what_it_wrote, writes_nothing, overwrites]


def arguments():
    return [torch.arange(12.0).reshape(4, 3), torch.tensor([1.0, -2.0, 5.0])]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_function(fxpassc_path, function):
    compiled = torch.compile(function, backend=compile_with(fxpassc_path), fullgraph=True, dynamic=False)
    ours, eager = arguments(), arguments()
    for call in range(2):
        got, expected = compiled(*ours), function(*eager)
        for actual, value in zip(_flat(got), _flat(expected), strict=True):
            if value is None:
                assert actual is None
            else:
                assert_close(actual, value, f"call {call}: output")
        for actual, value in zip(ours, eager):
            assert_close(actual, value, f"call {call}: input")


def test_an_input_that_is_returned_is_the_same_tensor(fxpassc_path):
    compiled = torch.compile(returns_what_it_wrote, backend=compile_with(fxpassc_path), fullgraph=True)
    x, y = arguments()
    returned, _ = compiled(x, y)
    returned.zero_()
    assert torch.equal(x, torch.zeros(4, 3))


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.register_buffer("history", torch.zeros(4, 2))

    def forward(self, x):
        self.calls.add_(1)
        out = self.linear(x)
        self.history[1:3].copy_(out)
        return out + self.history.t().unsqueeze(0)[0, :, 1]


@pytest.mark.parametrize("make", [Counter, llama], ids=["buffers", "llama"])
def test_module(fxpassc_path, make):
    torch.manual_seed(0)
    eager = make()
    compiled = torch.compile(
        copy.deepcopy(eager), backend=compile_with(fxpassc_path), fullgraph=True, dynamic=False
    )
    for step in range(2):
        inputs = list(llama_step(step).values()) if make is llama else [torch.randn(2, 3)]
        assert_close(compiled(*inputs), eager(*inputs), f"step {step}: output")
        for (name, actual), (_, value) in zip(compiled.named_buffers(), eager.named_buffers(), strict=True):
            assert_close(actual, value, f"step {step}: {name}")


def language_model(attention):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
        initializer_range=0.4,  # so that a token does not decide on all that follow it
        attn_implementation=attention,
    )
    return LlamaForCausalLM(config).eval()


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_twenty_tokens(fxpassc_path, attention):
    """The loop is that of transformers: it hands the same cache to each call, which writes into it, and the token that
    comes out to the next."""
    prompt = torch.tensor([[5, 17, 3, 42], [9, 9, 60, 1]])
    options = {
        "max_new_tokens": 20,
        "do_sample": False,
        "cache_implementation": "static",
        "return_dict_in_generate": True,
        "eos_token_id": None,
        "pad_token_id": 0,
    }
    model = language_model(attention)
    expected = model.generate(prompt, **options)
    graphs = []

    def backend(gm, example_inputs):
        graphs.append(gm)
        return compile_with(fxpassc_path)(gm, example_inputs)

    model.forward = torch.compile(model.forward, backend=backend, fullgraph=True, dynamic=False)
    got = model.generate(prompt, **options)
    assert len(graphs) == 2  # one for the prompt, one for all other tokens
    assert torch.equal(got.sequences, expected.sequences) and got.sequences.shape == (2, 24)
    assert len(set(got.sequences[0, 4:].tolist())) > 5  # not one token again and again
    caches = zip(got.past_key_values.layers, expected.past_key_values.layers, strict=True)
    for layer, (ours, eager) in enumerate(caches):
        assert bool(eager.keys[:, :, 22].any())
        for name in ("keys", "values"):
            assert_close(getattr(ours, name), getattr(eager, name), f"layer {layer}: {name}")


def _flat(values):
    return list(values) if isinstance(values, tuple) else [values]
