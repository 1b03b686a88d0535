# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why a random program need not become a program equal to eager PyTorch: what is said of it, and what such a program holds."""

import re

REBINDING = r"\.(t|squeeze|unsqueeze|transpose|swapaxes|set|resize)_\("

PICK = r"\[.*[bx]\d+.*\]"

# What fxpassc may say of a program that eager PyTorch runs.
REFUSED = {
    "which its owner would see|may be the same tensor|in a list": REBINDING,
    "fills a diagonal that fxpass does not find": r"fill_diagonal_",
    "the shape of the result": r"out=",
    "which may share memory with the out= tensor": r"out=",
    "which may share memory with the tensor that it writes": r"batch_norm|\[.*\] = |masked_scatter_|put_\(|scatter_|index_\w+_\(|addmm_",
    "hangs on the order in which PyTorch goes through": r"_\(|[-+*/&|^%]= |\] = ",
    "is in a list of the same call": r"_foreach_",
    # Export makes of such an index a number that it calls u0.
    r"which the program reads from a tensor|select(_\d+)?', a view made by .* before its base was written": PICK,
    # PyTorch warns where such a write is no fill, and writes one place several times.
    "what is no view of elements that are there": r"\.(resize|set)_\(",
    "several elements of which are one place": r"expand|broadcast|meshgrid|unfold|as_strided",
    "cannot make that view anew": r"as_strided",
    "through a view that fxpass cannot invert": r"as_strided",  # of a view that negates or conjugates
    "cannot tell which places that is": r"expand|broadcast|meshgrid",
    "takes bools for numbers or numbers for bools": r"\.view\(torch\.",
}
# What Dynamo or export cannot capture: values looked at, out=, and what eager warns of. Export goes on with the shape that
# an input had before.
NOT_CAPTURED = {
    "data-dependent expression|fake tensor call": rf"\[.*\] = |{PICK}",
    "out=": r"out=",
    "": REBINDING,
    "single memory location|fake tensor call": r"expand|broadcast|meshgrid|unfold|as_strided",
    "Expected out tensor|fake tensor call|resize_": r"out=",
    "graph itself differs": "",
    "other strides than its tensors": r"as_strided",
    "MathBitsFallback": r"conj\(|_neg_view",
}
# What fxpass runs although eager PyTorch refuses it.
ACCEPTED = {
    # An elementwise operator may read the very elements that it writes, however their dimensions of size 1 stand.
    "some elements of the input tensor and the written-to tensor": r"_\(|\] [-+*/|&^]?= ",
    # Writes of no element are dropped before anybody looks at dtypes.
    "can't be cast to the desired output type|with a bool tensor is not supported": r"\[.*:.*\]|narrow|slice|split|chunk",
    # Its kernels are not there for each dtype.
    "Found dtype|not implemented for": r"_\(|= ",
    "single memory location": r"expand|broadcast|meshgrid|unfold|as_strided",
    "refer to a single memory location|destination dtypes match": r"\[.*\] = [bvx]|index_put_",
}
REASONS = {"refused": REFUSED, "not captured": NOT_CAPTURED, "accepted": ACCEPTED}


def is_known(outcome, grown):
    statements = "\n".join(statement.text for statement in grown.statements)
    return any(
        re.search(reason, outcome.detail) and re.search(holds, statements)
        for reason, holds in REASONS.get(outcome.kind, {}).items()
    )
