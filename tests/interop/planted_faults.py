# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mistakes that a compiler could make, put into what fxpassc emitted: the random programs have to find each.

A fault is a function of an `Emitted` and its signature that changes either, wherever the mistake would show,
and returns whether there was such a place.
"""

import ast
import re

FAULTS = {}


def fault(function):
    FAULTS[function.__name__] = function
    return function


class Emitted:
    """Code that fxpassc emitted: a function of assignments `name = operator(arguments)` and one return."""

    def __init__(self, code):
        self.tree = ast.parse(code)
        (function,) = (node for node in self.tree.body if isinstance(node, ast.FunctionDef))
        *self.assignments, returned = function.body
        self.outputs = returned.value.elts
        self.inputs = [argument.arg for argument in function.args.args]

    def code(self):
        return ast.unparse(self.tree)

    def calls(self, *operators):
        """Assignments of a call of one of the operators, such as `aten.select.int`."""
        for assignment in self.assignments:
            if operator_of(assignment) in operators:
                yield assignment, assignment.value.args

    def previous(self):
        """For each value that takes a write in, the value of the same tensor without that write."""
        scatters = self.calls(*SCATTERS, "aten.index_put.default")
        return {name_of(assignment): args[0] for assignment, args in scatters}


LISTED = ["aten.add.Scalar", "aten.mul.Scalar", "aten.mul.Tensor", "aten.neg.default", "aten.maximum.default"]
SCATTERS = ["aten.select_scatter.default", "aten.slice_scatter.default", "aten.diagonal_scatter.default"]
VIEWS = [
    "aten.select.int",
    "aten.slice.Tensor",
    "aten.permute.default",
    "aten.reshape.default",
    "aten.diagonal.default",
    "aten.expand.default",
]


def name_of(assignment):
    return assignment.targets[0].id


def operator_of(assignment):
    return ast.unparse(assignment.value.func).removeprefix("torch.ops.")


def is_write(assignment):
    return "_modified" in name_of(assignment)


def replace_all(places, change):
    """Applies `change` to each place; whether it changed any."""
    return any([change(*place) for place in places])


def number(argument):
    return ast.literal_eval(argument)


def older(args, index, previous):
    """Makes an argument the value before the last write."""
    name = args[index].id if isinstance(args[index], ast.Name) else None
    if name not in previous:
        return False
    args[index] = previous[name]
    return True


@fault
def no_cast(emitted, signature):
    def change(assignment, args):
        assignment.value = args[0]
        return True

    return replace_all(list(emitted.calls("aten._to_copy.default")), change)


@fault
def old_view_is_not_made_anew(emitted, signature):
    previous = emitted.previous()
    return replace_all(emitted.calls(*VIEWS), lambda _, args: older(args, 0, previous))


@fault
def sibling_write_not_seen(emitted, signature):
    previous = emitted.previous()
    return replace_all(emitted.calls(*SCATTERS), lambda _, args: older(args, 0, previous))


@fault
def wrong_step(emitted, signature):
    """As many elements, but next to one another."""

    def change(_, args):
        start, end, step = map(number, args[3:6])
        length = -(-(end - start) // step)
        args[4], args[5] = ast.Constant(start + length), ast.Constant(1)
        return step > 1 and length > 1

    return replace_all(emitted.calls("aten.slice_scatter.default"), change)


@fault
def wrong_start(emitted, signature):
    def change(_, args):
        start, end = map(number, args[3:5])
        args[3:5] = [ast.Constant(start - 1), ast.Constant(end - 1)]
        return True

    places = [place for place in emitted.calls("aten.slice_scatter.default") if number(place[1][3]) > 0]
    return replace_all(places, change)


@fault
def wrong_index(emitted, signature):
    def change(_, args):
        index = number(args[3])
        args[3] = ast.Constant(index - 1)
        return True

    places = [place for place in emitted.calls("aten.select_scatter.default") if number(place[1][3]) > 0]
    return replace_all(places, change)


@fault
def wrong_diagonal(emitted, signature):
    """Above the main diagonal in place of below it."""

    def change(_, args):
        args[2] = ast.Constant(-number(args[2]))
        return True

    places = [place for place in emitted.calls("aten.diagonal_scatter.default") if number(place[1][2]) != 0]
    return replace_all(places, change)


@fault
def permutation_not_inverted(emitted, signature):
    def change(_, args):
        order = number(args[1])
        inverse = [order.index(i) for i in range(len(order))]
        args[1] = ast.parse(str(inverse), mode="eval").body
        return inverse != order

    return replace_all(
        [place for place in emitted.calls("aten.permute.default") if is_write(place[0])], change
    )


@fault
def write_lost(emitted, signature):
    def change(assignment, args):
        assignment.value = args[0]
        return True

    operators = [
        "aten.add.Tensor",
        "aten.mul.Tensor",
        "aten.sub.Tensor",
        "aten.relu.default",
        "aten.clamp.default",
    ]
    return replace_all([place for place in emitted.calls(*operators) if is_write(place[0])], change)


@fault
def list_written_at_its_first_tensor_alone(emitted, signature):
    """Of writes of the same operator that follow one another, as a `_foreach_` operator leaves them."""

    def change(assignment, args):
        assignment.value = args[0]
        return True

    calls = list(emitted.calls(*LISTED))
    pairs = [
        second
        for first, second in zip(calls, calls[1:])
        if is_write(first[0]) and is_write(second[0]) and operator_of(first[0]) == operator_of(second[0])
    ]
    return replace_all(pairs, change)


@fault
def out_is_not_cast(emitted, signature):
    computed = {name_of(a) for a, _ in emitted.calls("aten.gt.Scalar", "aten.ne.Scalar", "aten.neg.default")}

    def change(assignment, args):
        assignment.value = args[0]
        return True

    casts = [place for place in emitted.calls("aten._to_copy.default") if is_write(place[0])]
    casts = [place for place in casts if isinstance(place[1][0], ast.Name) and place[1][0].id in computed]
    return replace_all(casts, change)


@fault
def changed_shape_is_not_seen(emitted, signature):
    """After `x.t_()`, x is what it was."""

    def change(assignment, args):
        assignment.value = args[0]
        return True

    operators = ["aten.t.default", "aten.transpose.int", "aten.unsqueeze.default"]
    calls = [place for place in emitted.calls(*operators) if re.search(r"_(_\d+)?$", name_of(place[0]))]
    return replace_all(calls, change)


@fault
def statistics_swapped(emitted, signature):
    def change(assignment, args):
        args[1] = ast.Constant({3: 4, 4: 3}[number(args[1])])
        return True

    members = [place for place in emitted.calls("operator.getitem") if is_write(place[0])]
    members = [place for place in members if "batch_norm" in ast.unparse(place[1][0])]
    return replace_all([place for place in members if number(place[1][1]) in (3, 4)], change)


@fault
def value_accumulates_no_more(emitted, signature):
    def change(_, args):
        args[3] = ast.Constant(False)
        return True

    places = emitted.calls("aten.index_put.default")
    return replace_all([place for place in places if len(place[1]) > 3 and number(place[1][3])], change)


@fault
def writes_in_place(emitted, signature):
    """The operator that writes its operand, which is an input, stands where its twin should."""

    def change(assignment, args):
        if not isinstance(args[0], ast.Name) or args[0].id not in emitted.inputs:
            return False
        assignment.value.func.value.attr += "_"  # torch.ops.aten.add . Tensor
        return True

    return replace_all(emitted.calls("aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor"), change)


@fault
def returned_before_the_last_write(emitted, signature):
    previous = emitted.previous()
    places = [(emitted.outputs, int(output)) for output in signature["io_map"]]
    return replace_all(places, lambda outputs, index: older(outputs, index, previous))


@fault
def stale_user_output(emitted, signature):
    previous = emitted.previous()
    places = [(emitted.outputs, index) for index in range(signature["original_output_count"])]
    return replace_all(places, lambda outputs, index: older(outputs, index, previous))


@fault
def user_outputs_in_another_order(emitted, signature):
    count = signature["original_output_count"]
    emitted.outputs[:count] = emitted.outputs[:count][::-1]
    return count > 1


@fault
def io_map_swapped(emitted, signature):
    targets = list(signature["io_map"].values())
    signature["io_map"] = dict(zip(signature["io_map"], targets[::-1]))
    return len(targets) > 1


@fault
def io_map_without_its_last(emitted, signature):
    return bool(signature["io_map"]) and signature["io_map"].popitem() is not None
