# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports one decode step of a small Llama (transformers, random weights) with torch.export.

    python export_llama_decode.py [OUT.pt2]

OUT is examples/data/llama_decode.pt2 unless given, which tools/demo compiles.

The key/value cache lives in buffers of the module and is written in place at a position that is an input.
"""

import pathlib
import re
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import StaticCache, StaticLayer

CACHE_LENGTH = 16


class LlamaDecode(torch.nn.Module):
    """input_ids [B, 1], position [1], attention_mask [B, CACHE_LENGTH] -> logits [B, 1, vocabulary]."""

    def __init__(self, batch=2, dtype=torch.float32, attention="eager", layer=StaticLayer):
        super().__init__()
        config = LlamaConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CACHE_LENGTH,
            attn_implementation=attention,
            tie_word_embeddings=False,
        )
        self.model = LlamaForCausalLM(config).to(dtype)
        self.cache = StaticCache(config=config, max_cache_len=CACHE_LENGTH)
        self.cache.layers = [layer(CACHE_LENGTH) for _ in range(config.num_hidden_layers)]
        head_dim = config.hidden_size // config.num_attention_heads
        shape = (batch, config.num_key_value_heads, CACHE_LENGTH, head_dim)
        for i in range(config.num_hidden_layers):
            self.register_buffer(f"key_cache_{i}", torch.zeros(shape, dtype=dtype))
            self.register_buffer(f"value_cache_{i}", torch.zeros(shape, dtype=dtype))
            self.register_buffer(f"length_{i}", torch.zeros((), dtype=torch.long))

    def forward(self, input_ids, position, attention_mask):
        # Bound here, not in the constructor: export replaces a module's buffers while it traces, and a cache
        # that still held the tensors from before would be lifted as constants of the graph beside those
        # buffers.
        for i, cached in enumerate(self.cache.layers):
            cached.keys = getattr(self, f"key_cache_{i}")
            cached.values = getattr(self, f"value_cache_{i}")
            cached.cumulative_length = getattr(self, f"length_{i}")
            cached.cumulative_length.copy_(position[0])
            cached.device = cached.keys.device
            cached.is_initialized = True
        return self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position.unsqueeze(0),
            cache=self.cache,
            use_cache=True,
        ).logits


def llama(seed=0, **options):
    torch.manual_seed(seed)
    model = LlamaDecode(**options).eval()
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    return model


def llama_step(step, batch=2, seed=1):
    """The inputs of decode step `step`; the last row is padded on the left by two places."""
    generator = torch.Generator().manual_seed(seed + step)
    input_ids = torch.randint(0, 64, (batch, 1), generator=generator)
    attention_mask = torch.ones(batch, CACHE_LENGTH, dtype=torch.long)
    attention_mask[-1, :2] = 0
    return {
        "input_ids": input_ids,
        "position": torch.tensor([step], dtype=torch.long),
        "attention_mask": attention_mask,
    }


def without_machine_paths(program):
    """Make the paths of stack traces relative: this machine's have no place in a file that is committed."""
    root = str(pathlib.Path(__file__).resolve().parents[2])
    for node in program.graph.nodes:
        if node.stack_trace:
            trace = node.stack_trace.replace(root + "/", "")
            node.meta["stack_trace"] = re.sub(r'"/[^"]*/site-packages/', '"', trace)
    return program


def main():
    default = pathlib.Path(__file__).resolve().parents[1] / "data" / "llama_decode.pt2"
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    path.parent.mkdir(parents=True, exist_ok=True)
    program = torch.export.export(llama(), (), llama_step(0))
    torch.export.save(without_machine_paths(program), path)


if __name__ == "__main__":
    main()
