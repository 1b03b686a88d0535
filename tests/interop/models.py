# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of the interop tests: tiny configurations of transformers models with random weights.

The Llama is that of examples/python/export_llama_decode.py; `ResNet` has in-place ReLUs and residual `add_`s.
"""

import torch
from export_llama_decode import llama, llama_step  # noqa: F401  (for the tests)
from transformers import ResNetConfig, ResNetForImageClassification
from transformers.cache_utils import StaticLayer


class SetitemLayer(StaticLayer):
    """A static cache layer that writes with `cache[:, :, position] = new` instead of `index_copy_`."""

    def update(self, key_states, value_states, *args, **kwargs):
        position = torch.arange(key_states.shape[-2], device=self.device) + self.cumulative_length
        self.cumulative_length.add_(key_states.shape[-2])
        self.keys[:, :, position] = key_states
        self.values[:, :, position] = value_states
        return self.keys, self.values


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
