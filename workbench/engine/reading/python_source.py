"""Check what a Python source returns in a preview. Used in the worker process only.

DALI ignores surplus outputs, and reports a missing one as an ``IndexError`` without a node.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, MutableMapping
from functools import wraps
from typing import Any

import numpy as np

from workbench.engine.build.function_checks import describe, is_supported_type
from workbench.errors import PipelineError
from workbench.graph.model import Source


class SourceChecks:
    """Wraps the function of a Python source, so that every returned batch or sample is checked."""

    def __init__(
        self, source: Source, batch_size: int, namespace: MutableMapping[str, Any]
    ) -> None:
        """``namespace`` is that of the compiled code, in which the function is replaced."""
        names = source.args.get("outputs")
        self._id, self._batch_size = source.id, batch_size
        self._names = tuple(map(str, names)) if isinstance(names, tuple) else ("output",)
        self._in_tuple = len(self._names) > 1 or bool(source.args.get("in_tuple"))
        self._whole = source.args.get("batch") is not False
        self._cycles = "cycle" in source.args
        self._calls = 0
        self._known: dict[str, tuple[str, int, int]] = {}
        """Element type, number of axes and first batch of each output, by output name."""
        name = str(source.args["function"])
        function: Callable[..., Any] = namespace[name]
        if source.args.get("creates"):
            namespace[name] = lambda: self._checked(function())
        else:
            namespace[name] = self._checked(function)

    def _checked(self, source: Any) -> Any:
        if _is_generator_function(source):

            @wraps(source)
            def generate() -> Iterator[Any]:
                yield from map(self._check, source())

            return generate
        if inspect.isgenerator(source) and self._cycles:
            return source  # an error of DALI
        if hasattr(source, "__iter__") or hasattr(source, "__getitem__"):
            return _CheckedIterable(source, self._check)
        if not callable(source):
            return source  # an error of DALI

        @wraps(source)
        def call(*index: Any) -> Any:
            return self._check(source(*index))

        return call

    def _check(self, returned: Any) -> Any:
        batch = self._calls if self._whole else self._calls // self._batch_size
        self._calls += 1
        expected = f"expected {len(self._names)} arrays ({', '.join(self._names)})"
        outputs = returned if self._in_tuple else (returned,)
        if not isinstance(outputs, tuple | list) or len(outputs) != len(self._names):
            if hasattr(returned, "__iter__") and not isinstance(outputs, tuple | list | dict):
                expected += ". Set creates to True if it creates the source"
            raise self._error(batch, f"it returned {describe(returned)}; {expected}")
        for name, output in zip(self._names, outputs, strict=True):
            listed = self._whole and isinstance(output, tuple | list)
            if self._whole and not hasattr(output, "__len__"):
                words = f"{name!r} is {describe(output)}; expected an array or a list per batch"
                raise self._error(batch, f"{words}. Set batch to False if it returns one sample")
            if self._whole and not 0 < len(output) <= self._batch_size:
                words = f"{name!r} has {len(output)} samples; expected 1 to {self._batch_size}"
                raise self._error(batch, f"{words}, the batch size of the graph")
            if self._whole and len(output) != len(outputs[0]):
                words = f"{name!r} has {len(output)} samples; expected {len(outputs[0])}"
                raise self._error(batch, f"{words}, as {self._names[0]!r} has")
            for each in output if listed else [output]:
                self._check_type(batch, name, each, axes=0 if listed or not self._whole else 1)
        return returned

    def _check_type(self, batch: int, name: str, value: Any, axes: int) -> None:
        """Compare an array with earlier arrays. It has ``axes`` more axes than a sample."""
        if type(value).__module__.startswith("nvidia.dali") or hasattr(
            value, "__cuda_array_interface__"
        ):
            return
        if type(value).__module__ == "torch" and not sys.modules["torch"].cuda.is_available():
            words = f"{name!r} is a PyTorch tensor, which DALI reads only if PyTorch has a GPU"
            raise self._error(batch, f"{words}. Return tensor.numpy()")
        array = np.asarray(value)
        if not is_supported_type(array.dtype):
            words = f"{name!r} is {describe(value)}, of the type {array.dtype}; expected numbers"
            raise self._error(batch, words)
        if not hasattr(value, "shape") and not hasattr(value, "__array_interface__"):
            words = f"{name!r} is {describe(value)}; expected an array for each sample"
            raise self._error(batch, f"{words}. Return np.array(...)")
        found = (str(array.dtype), array.ndim - axes)
        dtype, count, first = self._known.setdefault(name, (*found, batch))
        if (dtype, count) != found:
            words = f"{name!r} is {_type_text(*found)}, but in batch {first} "
            words += _type_text(dtype, count)
            raise self._error(batch, f"{words}. Return one type and number of axes")

    def _error(self, batch: int, words: str) -> PipelineError:
        return PipelineError(f"{self._id}: in batch {batch} of its source, {words}.", self._id)


class _CheckedIterable:
    """Iterable that passes each item of ``items`` to ``check``."""

    def __init__(self, items: Any, check: Callable[[Any], Any]) -> None:
        self._items, self._check = items, check

    def __iter__(self) -> _CheckedIterable:
        return _CheckedIterable(iter(self._items), self._check)

    def __next__(self) -> Any:
        return self._check(next(self._items))


def _is_generator_function(source: Any) -> bool:
    call = source if inspect.isroutine(source) else getattr(source, "__call__", None)  # noqa: B004
    return inspect.isgeneratorfunction(call)


def _type_text(dtype: str, axes: int) -> str:
    return f"{dtype} with {axes} ax{'is' if axes == 1 else 'es'}"
