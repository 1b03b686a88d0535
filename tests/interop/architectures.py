# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Architectures of transformers in tiny configurations with random weights, each as a module that takes tensors and returns
tensors.

A row names the classes of configuration and model, the configuration's small numbers, the inputs, and which of the
outputs are looked at.
"""

import copy
import inspect
import json
import pathlib
import tempfile
import zipfile
from dataclasses import dataclass

import torch
import transformers
from capture import capture
from transformers.cache_utils import DynamicCache, EncoderDecoderCache, StaticCache

TEXT = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = {**TEXT, "intermediate_size": 48, "max_position_embeddings": 32}
GROUPED = {**DECODER, "num_key_value_heads": 2}
VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
IMAGE = {**VISION, "image_size": 16, "patch_size": 4}


def tokens(batch=2, length=7, vocabulary=64, seed=1):
    return torch.randint(2, vocabulary, (batch, length), generator=torch.Generator().manual_seed(seed))


def numbers(*shape, seed=2):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def text():
    """Two rows, the second with padding at its end."""
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    return {"input_ids": tokens(), "attention_mask": mask}


def image(size=16):
    return {"pixel_values": numbers(2, 3, size, size)}


def sequences():
    return {"input_ids": tokens(), "decoder_input_ids": tokens(length=5, seed=3)}


@dataclass
class Architecture:
    kind: str
    config: str
    model: str
    numbers: dict
    inputs: object
    outputs: tuple = ("logits",)


ARCHITECTURES = {
    # Decoders
    "llama": Architecture("decoder", "LlamaConfig", "LlamaForCausalLM", GROUPED, text),
    "mistral": Architecture(
        "decoder", "MistralConfig", "MistralForCausalLM", {**GROUPED, "sliding_window": 4}, text
    ),
    "qwen2": Architecture("decoder", "Qwen2Config", "Qwen2ForCausalLM", GROUPED, text),
    "qwen3": Architecture("decoder", "Qwen3Config", "Qwen3ForCausalLM", {**GROUPED, "head_dim": 8}, text),
    "gemma2": Architecture(
        "decoder", "Gemma2Config", "Gemma2ForCausalLM", {**GROUPED, "head_dim": 8, "sliding_window": 4}, text
    ),
    "phi3": Architecture("decoder", "Phi3Config", "Phi3ForCausalLM", {**GROUPED, "pad_token_id": 0}, text),
    "olmo2": Architecture("decoder", "Olmo2Config", "Olmo2ForCausalLM", GROUPED, text),
    "granite": Architecture("decoder", "GraniteConfig", "GraniteForCausalLM", GROUPED, text),
    "stablelm": Architecture("decoder", "StableLmConfig", "StableLmForCausalLM", GROUPED, text),
    "gpt2": Architecture(
        "decoder", "GPT2Config", "GPT2LMHeadModel",
        {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 32}, text,
    ),
    "gpt_neox": Architecture("decoder", "GPTNeoXConfig", "GPTNeoXForCausalLM", DECODER, text),
    "opt": Architecture(
        "decoder", "OPTConfig", "OPTForCausalLM",
        {**TEXT, "ffn_dim": 48, "max_position_embeddings": 32, "word_embed_proj_dim": 32}, text,
    ),
    "bloom": Architecture(
        "decoder", "BloomConfig", "BloomForCausalLM",
        {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4}, text,
    ),
    "falcon": Architecture("decoder", "FalconConfig", "FalconForCausalLM", {**TEXT, "alibi": False}, text),
    # Mixtures of experts
    "mixtral": Architecture(
        "mixture of experts", "MixtralConfig", "MixtralForCausalLM", {**GROUPED, "num_local_experts": 4}, text
    ),
    "qwen2_moe": Architecture(
        "mixture of experts", "Qwen2MoeConfig", "Qwen2MoeForCausalLM",
        {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
         "shared_expert_intermediate_size": 16}, text,
    ),
    # State spaces
    "mamba": Architecture(
        "state space", "MambaConfig", "MambaForCausalLM",
        {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}, lambda: {"input_ids": tokens()},
    ),
    "mamba2": Architecture(
        "state space", "Mamba2Config", "Mamba2ForCausalLM",
        {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8, "num_heads": 8, "head_dim": 8,
         "n_groups": 2, "chunk_size": 4}, lambda: {"input_ids": tokens()},
    ),
    # Encoders
    "bert": Architecture("encoder", "BertConfig", "BertForMaskedLM", DECODER, text),
    "roberta": Architecture("encoder", "RobertaConfig", "RobertaForMaskedLM", DECODER, text),
    "distilbert": Architecture(
        "encoder", "DistilBertConfig", "DistilBertForMaskedLM",
        {"vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 32}, text,
    ),
    "albert": Architecture(
        "encoder", "AlbertConfig", "AlbertForMaskedLM", {**DECODER, "embedding_size": 16}, text
    ),
    "electra": Architecture(
        "encoder", "ElectraConfig", "ElectraForPreTraining", {**DECODER, "embedding_size": 16}, text
    ),
    "deberta": Architecture(
        "encoder", "DebertaV2Config", "DebertaV2ForMaskedLM",
        {**DECODER, "relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": 8}, text,
    ),
    "modernbert": Architecture(
        "encoder", "ModernBertConfig", "ModernBertForMaskedLM",
        {**DECODER, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1, "cls_token_id": 1, "sep_token_id": 1}, text,
    ),
    # Encoders with decoders
    "t5": Architecture(
        "encoder-decoder", "T5Config", "T5ForConditionalGeneration",
        {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}, sequences,
    ),
    "bart": Architecture(
        "encoder-decoder", "BartConfig", "BartForConditionalGeneration",
        {"vocab_size": 64, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "max_position_embeddings": 32},
        sequences,
    ),
    # Vision
    "vit": Architecture("vision", "ViTConfig", "ViTForImageClassification", IMAGE, image),
    "deit": Architecture("vision", "DeiTConfig", "DeiTForImageClassification", IMAGE, image),
    "dinov2": Architecture("vision", "Dinov2Config", "Dinov2ForImageClassification", IMAGE, image),
    "swin": Architecture(
        "vision", "SwinConfig", "SwinForImageClassification",
        {"image_size": 16, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4},
        image,
    ),
    "convnext": Architecture(
        "vision", "ConvNextConfig", "ConvNextForImageClassification",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}, lambda: image(32),
    ),
    "segformer": Architecture(
        "vision", "SegformerConfig", "SegformerForSemanticSegmentation",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4],
         "decoder_hidden_size": 16}, lambda: image(32),
    ),
    "mobilenet": Architecture(
        "vision", "MobileNetV2Config", "MobileNetV2ForImageClassification",
        {"image_size": 32, "depth_multiplier": 0.35}, lambda: image(32),
    ),
    # Audio
    "whisper": Architecture(
        "audio", "WhisperConfig", "WhisperForConditionalGeneration",
        {"vocab_size": 64, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "num_mel_bins": 8,
         "max_source_positions": 10, "max_target_positions": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
         "decoder_start_token_id": 1},
        lambda: {"input_features": numbers(2, 8, 20), "decoder_input_ids": tokens(length=5)},
    ),
    "wav2vec2": Architecture(
        "audio", "Wav2Vec2Config", "Wav2Vec2ForCTC",
        {**TEXT, "intermediate_size": 48, "conv_dim": [8, 8], "conv_stride": [5, 2], "conv_kernel": [10, 3],
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2},
        lambda: {"input_values": numbers(2, 160)},
    ),
    # Several modalities
    "clip": Architecture(
        "multimodal", "CLIPConfig", "CLIPModel",
        {"text_config": {**DECODER, "eos_token_id": 63}, "vision_config": IMAGE, "projection_dim": 16},
        lambda: {**text(), **image()}, ("logits_per_image", "text_embeds", "image_embeds"),
    ),
    "siglip": Architecture(
        "multimodal", "SiglipConfig", "SiglipModel", {"text_config": DECODER, "vision_config": IMAGE},
        lambda: {"input_ids": tokens(length=16), **image()}, ("logits_per_image",),
    ),
    "llava": Architecture(
        "multimodal", "LlavaConfig", "LlavaForConditionalGeneration",
        {"text_config": {"model_type": "llama", **GROUPED, "vocab_size": 65},
         "vision_config": {"model_type": "clip_vision_model", **IMAGE, "projection_dim": 16}, "image_token_id": 64,
         "vision_feature_layer": -1},
        lambda: {"input_ids": torch.cat([torch.full((2, 16), 64), tokens()], 1), **image()},
    ),
}


class Wrapped(torch.nn.Module):
    """The model's outputs that are looked at, as a tuple of tensors."""

    def __init__(self, architecture):
        super().__init__()
        config = getattr(transformers, architecture.config)(**architecture.numbers)
        config._experts_implementation = "batched_mm"  # what else there is looks at values, or has kernels of its own
        self.model = getattr(transformers, architecture.model)(config)
        self.names = list(architecture.inputs())
        self.outputs = architecture.outputs
        self.uses_cache = "use_cache" in config.to_dict()

    def forward(self, *inputs):
        options = {"use_cache": False} if self.uses_cache else {}
        result = self.model(**dict(zip(self.names, inputs)), **options)
        return tuple(result[name] for name in self.outputs)


class CachedStep(torch.nn.Module):
    """One step of generation. What a cache holds are buffers of the module, which the step writes in place."""

    def __init__(self, architecture):
        super().__init__()
        self.config = getattr(transformers, architecture.config)(**architecture.numbers)
        self.config._experts_implementation = "batched_mm"
        self.model = getattr(transformers, architecture.model)(self.config).eval()
        self.held = []  # (buffer, what has it, its attribute, the key in that, if it is a dictionary)
        self.state = []  # the buffers that a step writes

    def hold(self, name, owner, attribute, key=None, is_written=True):
        value = getattr(owner, attribute)
        self.register_buffer(name, value if key is None else value[key])
        self.held.append((name, owner, attribute, key))
        if is_written:
            self.state.append(name)

    def bind(self):
        """Export replaces a module's buffers while it traces: the caches are to hold those."""
        for name, owner, attribute, key in self.held:
            if key is None:
                setattr(owner, attribute, getattr(self, name))
            else:
                getattr(owner, attribute)[key] = getattr(self, name)

    def hold_static(self, cache, heads, size):
        cache.early_initialization(2, heads, size, torch.float32, torch.device("cpu"))
        for part in ("keys", "values", "cumulative_length"):
            for i, layer in enumerate(cache.layers):
                self.hold(f"{part}_{i}", layer, part)


class DecoderStep(CachedStep):
    """input_ids [2, 1], position [1], attention_mask [2, LENGTH] -> logits [2, 1, vocabulary]."""

    LENGTH = 8

    def __init__(self, architecture):
        super().__init__(architecture)
        config = self.config.get_text_config(decoder=True)
        self.cache = StaticCache(config, max_cache_len=self.LENGTH)
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        heads = 1 if getattr(config, "multi_query", False) else heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self.hold_static(self.cache, heads, size)
        parameters = inspect.signature(self.model.forward).parameters
        self.takes_position = "position_ids" in parameters
        self.name_of_cache = "cache" if "cache" in parameters else "past_key_values"

    def forward(self, input_ids, position, attention_mask):
        self.bind()
        for layer in self.cache.layers:
            if layer.is_sliding:  # a number, which the program is for: that of a full window, where it no longer matters
                layer.cumulative_length_int = layer.max_cache_len
        options = {"position_ids": position.expand(2, 1)} if self.takes_position else {}
        options[self.name_of_cache] = self.cache
        return (self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=True, **options).logits,)

    def inputs(self, step):
        """Of decode step `step`; the second row is padded on the left by one place."""
        mask = torch.zeros(2, self.LENGTH, dtype=torch.int64)
        mask[:, : step + 1] = 1
        mask[1, 0] = 0 if step else 1
        return {
            "input_ids": tokens(length=1, seed=4 + step),
            "position": torch.tensor([step]),
            "attention_mask": mask,
        }


class StateSpaceStep(CachedStep):
    """input_ids [2, 1] -> logits [2, 1, vocabulary], behind a prompt."""

    def __init__(self, architecture):
        super().__init__(architecture)
        self.cache = DynamicCache(config=self.config)
        self.model(input_ids=tokens(length=5), cache=self.cache, use_cache=True)
        for i, layer in enumerate(self.cache.layers):
            self.hold(f"conv_states_{i}", layer, "conv_states", 0)
            self.hold(f"recurrent_states_{i}", layer, "recurrent_states", 0)

    def forward(self, input_ids):
        self.bind()
        return (self.model(input_ids=input_ids, cache=self.cache, use_cache=True).logits,)

    def inputs(self, step):
        return {"input_ids": tokens(length=1, seed=4 + step)}


class EncoderDecoderStep(CachedStep):
    """decoder_input_ids [2, 1] -> logits [2, 1, vocabulary], for a sequence that has been encoded."""

    LENGTH = 8

    def __init__(self, architecture):
        super().__init__(architecture)
        name, encoded = next((k, v) for k, v in architecture.inputs().items() if not k.startswith("decoder"))
        self.register_buffer("encoded", self.model.get_encoder()(**{name: encoded}).last_hidden_state)
        decoder = copy.deepcopy(self.config)
        decoder.num_hidden_layers = getattr(decoder, "decoder_layers", None) or decoder.num_decoder_layers
        own = StaticCache(decoder, max_cache_len=self.LENGTH)
        size = getattr(decoder, "d_kv", None) or decoder.d_model // decoder.num_attention_heads
        self.hold_static(own, decoder.num_attention_heads, size)
        # The keys and values of the encoded sequence are computed once, in a step that is not looked at.
        cross = DynamicCache(config=decoder)
        self.cache = EncoderDecoderCache(DynamicCache(config=decoder), cross)
        self.forward(tokens(length=1))
        self.cache = EncoderDecoderCache(own, cross)
        for i, layer in enumerate(cross.layers):
            for part in ("keys", "values"):
                self.hold(f"cross_{part}_{i}", layer, part, is_written=False)

    def forward(self, decoder_input_ids):
        self.bind()
        result = self.model(
            encoder_outputs=(self.encoded,), decoder_input_ids=decoder_input_ids, cache=self.cache, use_cache=True
        )
        return (result.logits,)

    def inputs(self, step):
        return {"decoder_input_ids": tokens(length=1, seed=4 + step)}


STEPS = {
    "decoder": DecoderStep,
    "mixture of experts": DecoderStep,
    "state space": StateSpaceStep,
    "encoder-decoder": EncoderDecoderStep,
    "audio": EncoderDecoderStep,
    "multimodal": DecoderStep,
}
# These generate nothing: wav2vec2 gives each piece of sound a token, the others compare texts with images.
WITHOUT_CACHE = {"wav2vec2", "clip", "siglip"}
GENERATORS = [name for name, row in ARCHITECTURES.items() if row.kind in STEPS and name not in WITHOUT_CACHE]


def prepared(make, row):
    torch.manual_seed(0)
    module = make(row).eval()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module


def architecture(name):
    """The module, and its inputs by name."""
    row = ARCHITECTURES[name]
    return prepared(Wrapped, row), row.inputs()


def decode_step(name):
    """The module, which knows its inputs at each step."""
    row = ARCHITECTURES[name]
    return prepared(STEPS[row.kind], row)


def table_row(name, path):
    """The README's row for the program in a .pt2 archive, in training IR."""
    with zipfile.ZipFile(path) as archive:
        (model,) = (entry for entry in archive.namelist() if entry.endswith("/models/model.json"))
        nodes = json.loads(archive.read(model))["graph_module"]["graph"]["nodes"]
    operators = {node["target"] for node in nodes}
    return f"| {name} | {ARCHITECTURES[name].kind} | {len(nodes)} | {len(operators)} |"


def main():
    """Prints the README's table."""
    print("| model | kind | nodes | operators |\n|---|---|---|---|")
    with torch.no_grad(), tempfile.TemporaryDirectory() as directory:
        for name in ARCHITECTURES:
            module, inputs = architecture(name)
            program = capture(module, inputs, "training", pathlib.Path(directory) / name)
            print(table_row(name, program.path))


if __name__ == "__main__":
    main()
