"""Check the inputs and results of user functions in a preview.

DALI checks little. It interprets complex numbers and foreign byte orders as plain floats, uses the
first of several arrays where it expects one, and passes its own buffers, so that a function can
overwrite the inputs of other operators. All of this would silently change results, so it raises an
error here.

Used in the worker process only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from functools import wraps
from typing import Any

import numpy as np

from workbench.catalog.extra_operators.user_functions import PYTHON_FUNCTION
from workbench.emit.core.user_functions import nodes_within
from workbench.graph.model import Node

_KINDS = "biuf"
"""NumPy's kind codes for the element types that DALI supports: bool, integers, floats."""
_WIDEST = 8
"""Largest supported element size in bytes."""
_LONGEST = 80


class FunctionMisuseError(TypeError):
    """Raised if a function returns an invalid result or writes to its inputs."""


class FunctionChecks:
    """Wraps the user functions of some nodes with checks.

    Replaces the functions in the namespace of their compiled code. Set ``active`` to False to
    disable the checks while the functions are timed.
    """

    def __init__(self, namespace: MutableMapping[str, Any], nodes: Iterable[Node]) -> None:
        self.active = True
        plain: dict[str, Callable[..., Any]] = {}
        for node in nodes_within(nodes):
            if node.op == PYTHON_FUNCTION.name and node.device != "gpu":
                name = str(node.args["function"])
                function = plain.setdefault(name, namespace[name])
                namespace[name] = self.checked(function, node)

    def checked(self, function: Callable[..., Any], node: Node) -> Callable[..., Any]:
        """Return the function with a check of its result against the node's arguments.

        The returned function raises FunctionMisuseError if the check fails.
        """
        count = int(str(node.args.get("num_outputs", 1)))
        found = node.args.get("output_layouts")
        layouts = [str(each) for each in found] if isinstance(found, tuple) else []
        whole = bool(node.args.get("batch_processing"))

        @wraps(function)
        def call(*inputs: Any) -> Any:
            if not self.active:
                return function(*inputs)
            given = [[np.copy(each) for each in one] if whole else np.copy(one) for one in inputs]
            arrays = [list(one) if whole else [one] for one in given]
            returned = function(*given)
            for before, after in zip(inputs, arrays, strict=True):
                pairs = zip(before if whole else [before], after, strict=True)
                if not all(np.array_equal(_bytes(one), _bytes(other)) for one, other in pairs):
                    raise FunctionMisuseError(
                        "wrote into an input array, which other operators read. Change a "
                        "copy instead: image = image.copy()"
                    )
            _check(returned, count, layouts, whole)
            return returned

        return call


def describe(value: Any) -> str:
    """Return a short description of a value for an error message."""
    if value is None:
        return "None (is a return statement missing?)"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} {value.shape}"
    kind = type(value).__name__
    if isinstance(value, list | tuple):
        inside = f", first {describe(value[0])}" if value else ""
        return f"a {kind} of {len(value)}{inside}"
    if isinstance(value, dict):
        return f"a dict of {', '.join(map(repr, value))}"
    text = repr(value)
    return f"{kind} {text[:_LONGEST] + '…' if len(text) > _LONGEST else text}"


def _bytes(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def _check(returned: Any, count: int, layouts: list[str], whole: bool) -> None:
    one = "a list of NumPy arrays, one for each sample" if whole else "a NumPy array"
    wanted = one if count == 1 else f"a tuple of {count}, each {one}"
    outputs = returned if count > 1 else (returned,)
    if not isinstance(outputs, tuple) or len(outputs) != count:
        raise FunctionMisuseError(f"returned {describe(returned)}; expected {wanted}")
    for place, output in enumerate(outputs):
        if not isinstance(output, list if whole else np.ndarray):
            raise FunctionMisuseError(f"returned {describe(returned)}; expected {wanted}")
        arrays: list[Any] = list(output) if whole else [output]
        for array in arrays:
            if not isinstance(array, np.ndarray):
                raise FunctionMisuseError(f"returned {describe(returned)}; expected {wanted}")
            if not is_supported_type(array.dtype):
                raise FunctionMisuseError(
                    f"returned {describe(array)}, a type that DALI does not support; expected "
                    "one of bool, int8 to int64, uint8 to uint64, float16 to float64"
                )
            layout = layouts[place] if place < len(layouts) else ""
            if layout and array.ndim != len(layout):
                raise FunctionMisuseError(
                    f"returned {describe(array)}; expected one of {len(layout)} dimensions, as "
                    f"in its layout {layout}"
                )
        _same_type(arrays)


def is_supported_type(dtype: np.dtype[Any]) -> bool:
    """Return whether DALI supports a NumPy element type."""
    return dtype.kind in _KINDS and dtype.isnative and dtype.itemsize <= _WIDEST


def _same_type(arrays: list[Any]) -> None:
    for array in arrays[1:]:
        if (array.dtype, array.ndim) != (arrays[0].dtype, arrays[0].ndim):
            raise FunctionMisuseError(
                f"returned {describe(arrays[0])} for one sample and {describe(array)} for "
                "another; expected the same type and number of dimensions for all"
            )
