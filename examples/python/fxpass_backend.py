# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A torch.compile backend: Dynamo graph -> FX JSON -> fxpassc -> HLO -> XLA (CPU, through jaxlib).

    backend = fxpass_backend.compile_with("build/release/examples/fxpassc/fxpassc")
    compiled = torch.compile(model, backend=backend)

Inputs that the program writes are written: PyTorch's tensors hold the new values after the call, as in eager
mode.
"""

import json
import operator
import pathlib
import subprocess
import tempfile

import jax
import jaxlib._hlo
import ml_dtypes
import numpy
import torch
from fx_to_json import dump
from jax.extend import mlir
from jax.extend.backend import get_backend, get_compile_options
from jaxlib import xla_client

jax.config.update("jax_enable_x64", True)


def to_device(tensor, device):
    if tensor.dtype == torch.bfloat16:
        array = tensor.detach().contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    else:
        array = tensor.detach().contiguous().numpy()
    # A buffer of the device's own, which XLA may take over: device_put may return a view of PyTorch's memory.
    return jax.device_put(array, device).copy()


def from_device(buffer):
    array = numpy.array(buffer)
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(numpy.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def load(hlo_proto):
    """The executable of a serialized HloModuleProto, and the device it runs on."""
    client = get_backend("cpu")
    device = client.local_devices()[0]
    module = jaxlib._hlo.XlaComputation(hlo_proto).get_hlo_module()
    stablehlo = mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    options = get_compile_options(num_replicas=1, num_partitions=1)
    return client.compile_and_load(stablehlo, xla_client.DeviceList((device,)), options), device


def compile_with(fxpassc="fxpassc"):
    """The backend that runs the given fxpassc."""

    def backend(gm, example_inputs):
        with tempfile.TemporaryDirectory() as directory:
            graph, proto, signature = (pathlib.Path(directory, name) for name in ("g.json", "g.pb", "s.json"))
            dump(gm, graph, example_inputs)
            subprocess.run([fxpassc, "compile", graph, "-o", proto, "--signature", signature], check=True)
            executable, device = load(proto.read_bytes())
            signature = json.loads(signature.read_text())
        # The writer made inputs of the module's own tensors, behind the placeholders.
        paths = [entry["target"] for entry in signature["inputs"][len(example_inputs) :]]
        lifted = [operator.attrgetter(path)(gm) for path in paths]
        parameters = [entry["hlo_parameter"] for entry in signature["inputs"]]
        results = [(entry["hlo_output"], entry.get("value")) for entry in signature["outputs"]]
        io_map = {int(output): entry for output, entry in signature["io_map"].items()}

        def run(*arguments):
            inputs = [*arguments, *lifted]
            pairs = [pair for pair in zip(parameters, inputs) if pair[0] is not None]
            operands = [to_device(value, device) for _, value in sorted(pairs, key=operator.itemgetter(0))]
            returned = executable.execute_sharded(operands)
            buffers = [row[0] for row in returned.disassemble_into_single_device_arrays()]
            outputs = [value if place is None else from_device(buffers[place]) for place, value in results]
            for output, entry in io_map.items():
                outputs[output] = inputs[entry].copy_(outputs[output])
            return outputs[: signature["original_output_count"]]

        return run

    return backend
