# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles HLO text or a serialized HloModuleProto with real XLA (CPU, through jaxlib) and runs it.

`Executable` is the compiled module; `Session` runs one by its signature: it holds a device buffer for every
input, donates what the module aliases, and writes outputs back as io_map says.
"""

import os
import re

DEVICES = 8
# Read by XLA once, when jax is imported. The CPU backend's defaults trade exactness for speed: min and max
# drop NaN, and a pair of conversions f32 -> bf16 -> f32 is removed, which eager PyTorch does not do.
os.environ["XLA_FLAGS"] = " ".join(
    [
        os.environ.get("XLA_FLAGS", ""),
        f"--xla_force_host_platform_device_count={DEVICES}",
        "--xla_cpu_enable_fast_min_max=false",
        "--xla_allow_excess_precision=false",
    ]
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jaxlib._hlo  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from jax.extend import mlir  # noqa: E402
from jax.extend.backend import get_backend, get_compile_options  # noqa: E402
from jaxlib import xla_client  # noqa: E402

jax.config.update("jax_enable_x64", True)

# numpy has no type of its own for these: torch hands the bits over as integers, ml_dtypes names them.
NARROW = {
    torch.bfloat16: (torch.uint16, ml_dtypes.bfloat16),
    torch.float8_e4m3fn: (torch.uint8, ml_dtypes.float8_e4m3fn),
    torch.float8_e5m2: (torch.uint8, ml_dtypes.float8_e5m2),
}
TORCH_OF_NARROW = {numpy.dtype(narrow): (bits, dtype) for dtype, (bits, narrow) in NARROW.items()}


def to_numpy(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.dtype in NARROW:
        bits, narrow = NARROW[tensor.dtype]
        return tensor.view(bits).numpy().view(narrow)
    return tensor.numpy()


def to_torch(array):
    array = numpy.array(array)  # a copy: the device buffer may be donated to the next run
    if array.dtype in TORCH_OF_NARROW:
        bits, dtype = TORCH_OF_NARROW[array.dtype]
        return torch.from_numpy(array.view(torch.empty(0, dtype=bits).numpy().dtype)).view(dtype)
    return torch.from_numpy(array)


def owned_buffer(tensor, device):
    """A buffer of the device's own; a view of numpy's memory, which device_put may return, cannot be
    donated."""
    return jax.device_put(to_numpy(tensor), device).copy()


def parse(module):
    """HLO text (str) or proto (bytes) as XLA's HloModule; raises where XLA's parser does."""
    if isinstance(module, str):
        return jaxlib._hlo.hlo_module_from_text(module)
    return jaxlib._hlo.XlaComputation(module).get_hlo_module()


def module_text(module):
    """The module in XLA's own full spelling."""
    options = jaxlib._hlo.HloPrintOptions()
    options.print_large_constants = True
    return parse(module).to_string(options)


class Executable:
    """`module`, HLO text, a proto or StableHLO text, compiled for `replicas` devices. Raises what XLA's parser, verifier
    or compiler raises."""

    def __init__(self, module, replicas=1):
        client = get_backend("cpu")
        self.devices = client.local_devices()[:replicas]
        # jaxlib compiles StableHLO only; the conversion keeps input_output_alias and verifies every shape.
        if isinstance(module, str) and module.startswith("module @"):
            stablehlo = module
        else:
            stablehlo = mlir.hlo_to_stablehlo(parse(module).as_serialized_hlo_module_proto())
        options = get_compile_options(
            num_replicas=replicas,
            num_partitions=1,
            device_assignment=numpy.arange(replicas).reshape(replicas, 1),
        )
        self.executable = client.compile_and_load(
            stablehlo, xla_client.DeviceList(tuple(self.devices)), options
        )
        self.optimized_text = self.executable.hlo_modules()[0].to_string()

    def run(self, rows):
        """`rows[device][parameter]` are device buffers; returns `outputs[device][output]`."""
        if len(self.devices) == 1:
            arguments = rows[0]
        else:
            mesh = jax.sharding.Mesh(numpy.array(self.devices, dtype=object), ("device",))
            # Declared as replicated although every device holds its own values: XLA sees one buffer a device.
            sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
            arguments = [
                jax.make_array_from_single_device_arrays(column[0].shape, sharding, list(column))
                for column in zip(*rows)
            ]
        results = self.executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        return [list(row) for row in zip(*results)] if results else [[] for _ in self.devices]


class Session:
    """Runs an executable by its signature (the JSON object that fxpassc writes), on one or several devices.

    `values` maps an input's key to a torch tensor: the key of a parameter, buffer or constant is its
    `target`, of any other input its `name`. With several devices, `values` is a list of such maps.
    """

    def __init__(self, executable, signature, values):
        self.executable = executable
        self.signature = signature
        self.parameters = sorted(
            (entry for entry in signature["inputs"] if entry["hlo_parameter"] is not None),
            key=lambda entry: entry["hlo_parameter"],
        )
        assert [entry["hlo_parameter"] for entry in self.parameters] == list(range(len(self.parameters)))
        per_device = values if isinstance(values, list) else [values]
        self.buffers = [
            {self.key(entry): owned_buffer(row[self.key(entry)], device) for entry in self.parameters}
            for row, device in zip(per_device, executable.devices, strict=True)
        ]

    @staticmethod
    def key(entry):
        stored = entry["kind"] in ("parameter", "buffer", "tensor_constant") and entry["target"] is not None
        return entry["target"] if stored else entry["name"]

    def set(self, key, tensor, device=0):
        assert key in self.buffers[device], key
        self.buffers[device][key] = owned_buffer(tensor, self.executable.devices[device])

    def get(self, key, device=0):
        return to_torch(self.buffers[device][key])

    def pointer(self, key, device=0):
        """The address of the input's device buffer."""
        return self.buffers[device][key].unsafe_buffer_pointer()

    def run(self):
        """Run once; returns the program's own outputs (of each device, if there are several) as torch
        tensors."""
        rows = [[row[self.key(entry)] for entry in self.parameters] for row in self.buffers]
        results = self.executable.run(rows)
        inputs, outputs = self.signature["inputs"], self.signature["outputs"]
        own = [
            [
                entry.get("value") if entry["hlo_output"] is None else to_torch(row[entry["hlo_output"]])
                for entry in outputs[: self.signature["original_output_count"]]
            ]
            for row in results
        ]
        for output, target in self.signature["io_map"].items():
            key = self.key(inputs[target])
            for row, buffers in zip(results, self.buffers):
                buffers[key] = row[outputs[int(output)]["hlo_output"]]
        return own if len(own) > 1 else own[0]


def shape_text(tensor):
    """The tensor's type as HLO text spells it, without layout: f32[2,3]."""
    names = {"float": "f", "bfloat": "bf", "int": "s", "uint": "u", "bool": "pred"}
    kind, bits = re.fullmatch(r"torch\.([a-z]+)(\d*)", str(tensor.dtype)).groups()
    return f"{names[kind]}{bits}[{','.join(map(str, tensor.shape))}]"
