# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of the interop tests: tiny configurations of transformers models with random weights.

`LlamaDecode` is one decode step over a static key/value cache that lives in module buffers and is
written in place at a position tensor; `ResNet` has in-place ReLUs and residual `add_`s.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, ResNetConfig, ResNetForImageClassification
from transformers.cache_utils import StaticCache, StaticLayer

CACHE_LENGTH = 16


class SetitemLayer(StaticLayer):
    """A static cache layer that writes with `cache[:, :, position] = new` instead of `index_copy_`."""

    def update(self, key_states, value_states, *args, **kwargs):
        position = torch.arange(key_states.shape[-2], device=self.device) + self.cumulative_length
        self.cumulative_length.add_(key_states.shape[-2])
        self.keys[:, :, position] = key_states
        self.values[:, :, position] = value_states
        return self.keys, self.values


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
        # Bound here, not in the constructor: export replaces a module's buffers while it traces, and a cache that
        # still held the tensors from before would be lifted as constants of the graph beside those buffers.
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


class ResNet(torch.nn.Module):
    """pixel_values [B, 3, 32, 32] -> logits [B, 5]."""

    def __init__(self, layer_type="basic"):
        super().__init__()
        config = ResNetConfig(
            num_channels=3,
            embedding_size=8,
            hidden_sizes=[8, 16] if layer_type == "basic" else [16, 32],
            depths=[1, 2],
            layer_type=layer_type,
            num_labels=5,
        )
        self.model = ResNetForImageClassification(config)
        # transformers makes every activation out of place; a ReLU in place is what torchvision's ResNet has.
        for module in self.model.modules():
            if isinstance(module, torch.nn.ReLU):
                module.inplace = True

    def forward(self, pixel_values):
        return self.model(pixel_values).logits


def resnet(training, seed=0, layer_type="basic"):
    torch.manual_seed(seed)
    model = ResNet(layer_type).train(training)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with torch.no_grad():
        for name, buffer in model.named_buffers():
            if name.endswith("running_mean"):
                buffer.normal_(0.0, 0.1)
            elif name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
    return model


def pixels(batch=2, seed=3):
    return {"pixel_values": torch.randn(batch, 3, 32, 32, generator=torch.Generator().manual_seed(seed))}
