# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of docs/guide.md: runs guide.pb by guide.json in XLA on the CPU, and the model beside it.

    python guide_run.py
"""

import json

import jax
import jaxlib._hlo
import numpy
import torch
from guide_export import RunningSum
from jax.extend import mlir
from jax.extend.backend import get_backend, get_compile_options
from jaxlib import xla_client

with open("guide.pb", "rb") as file:
    module = jaxlib._hlo.XlaComputation(file.read()).get_hlo_module()
client = get_backend("cpu")
executable = client.compile_and_load(
    mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto()),
    xla_client.DeviceList(tuple(client.local_devices()[:1])),
    get_compile_options(num_replicas=1, num_partitions=1),
)

with open("guide.json") as file:
    signature = json.load(file)
model = RunningSum()
x = torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]])
# A parameter for each tensor input, in order: the buffer "total", then x.
parameters = [numpy.zeros(4, numpy.float32), x.numpy()]
for step in range(3):
    # Copies, since the module overwrites the buffers of inputs that it writes.
    arguments = [jax.device_put(value).copy() for value in parameters]
    rows = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
    outputs = [numpy.asarray(row[0]) for row in rows]
    for output, parameter in signature["hlo_input_output_alias"].items():
        parameters[parameter] = outputs[int(output)]
    numpy.testing.assert_array_equal(outputs[0], model(x).numpy())
    numpy.testing.assert_array_equal(parameters[0], model.total.numpy())
print("total is", parameters[0])
