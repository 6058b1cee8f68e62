"""Exchange batches between the stages of a run, and cache results within a size limit.

Used in the worker process only.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Memory = Literal["cpu", "gpu"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One output of a node for a batch: a DALI TensorList, or a list of arrays on the host."""

    data: Any
    device: Memory = "cpu"

    def __len__(self) -> int:
        return len(self.data)

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of every sample."""
        if isinstance(self.data, list):
            return [sample.shape for sample in self.data]
        return [tuple(shape) for shape in self.data.shape()]

    @property
    def dtype(self) -> str:
        """NumPy's name of the element type."""
        if isinstance(self.data, list):
            return str(self.data[0].dtype)
        return _type_name(self.data.dtype)

    @property
    def layout(self) -> str:
        """Layout such as ``HWC`` or ``CHW``, or an empty string if DALI reports none."""
        return "" if isinstance(self.data, list) else self.data.layout()

    @property
    def nbytes(self) -> int:
        return sum(map(math.prod, self.shapes)) * np.dtype(self.dtype).itemsize

    def arrays(self) -> list[NDArray[Any]]:
        """Return every sample as an array on the host."""
        if isinstance(self.data, list):
            return self.data
        host = self.data.as_cpu() if self.device == "gpu" else self.data
        return [np.asarray(host[i]) for i in range(len(host))]

    def sample(self, index: int) -> Batch:
        """Return one sample as a batch of one on the host, without copying the whole batch."""
        if isinstance(self.data, list):
            return Batch([self.data[index]])
        tensor = self.data[index]
        return Batch(tensor_list([tensor.as_cpu() if self.device == "gpu" else tensor]))

    def first(self, count: int) -> Batch:
        """Return the first ``count`` samples without copying them."""
        if count == len(self):
            return self
        if isinstance(self.data, list):
            return Batch(self.data[:count])
        from nvidia.dali.tensors import TensorListCPU, TensorListGPU

        make: Any = TensorListGPU if self.device == "gpu" else TensorListCPU
        chosen = [self.data[index] for index in range(count)]
        return Batch(make(chosen, self.layout, contiguous=False), self.device)


def tensor_list(tensors: Sequence[Any]) -> Any:
    """Combine DALI tensors into one list. Their layout and the name of their file are preserved.

    Host tensors are copied. GPU tensors are referenced, because each run allocates new tensors.
    """
    from nvidia.dali.tensors import TensorGPU, TensorListCPU, TensorListGPU

    if isinstance(tensors[0], TensorGPU):
        make: Any = TensorListGPU
        return make(list(tensors), tensors[0].layout(), contiguous=False)
    return TensorListCPU(list(tensors), tensors[0].layout())


def memory_of(data: Any) -> Memory:
    """Return the device of a DALI tensor list."""
    return "gpu" if "GPU" in type(data).__name__ else "cpu"


@cache
def _type_name(dali_type: Any) -> str:
    from nvidia.dali import types

    if dali_type == types.NO_TYPE:  # of a body that no sample reached
        return "void"
    return str(np.dtype(types.to_numpy_type(dali_type)))


class StoredValue(Protocol):
    """Protocol of a cached value: it has a size and a device."""

    @property
    def device(self) -> Memory: ...

    @property
    def nbytes(self) -> int: ...


@dataclass(slots=True)
class BatchStore:
    """LRU cache with a ``budget`` in bytes.

    Host and GPU have separate budgets. A value larger than the whole budget is cached until the
    next value is added.
    """

    budget: Mapping[Memory, int]
    _kept: OrderedDict[str, tuple[Any, ...]] = field(default_factory=OrderedDict)
    used: dict[Memory, int] = field(default_factory=lambda: {"cpu": 0, "gpu": 0})

    def get(self, key: str) -> tuple[Any, ...] | None:
        """Return the values cached under a key, or None."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, values: Sequence[StoredValue]) -> None:
        """Cache values under a key, and evict older values if a budget is exceeded."""
        self._drop(key)
        self._kept[key] = tuple(values)
        for thing in values:
            self.used[thing.device] += thing.nbytes
        self._fit(key)

    def set_budget(self, budget: Mapping[Memory, int]) -> None:
        """Set the budgets in bytes, and evict values that exceed them."""
        self.budget = budget
        self._fit()

    def _fit(self, newest: str = "") -> None:
        for device, most in self.budget.items():
            for old in list(self._kept):
                if self.used[device] <= most:
                    break
                if old != newest and any(thing.device == device for thing in self._kept[old]):
                    self._drop(old)

    def _drop(self, key: str) -> None:
        for thing in self._kept.pop(key, ()):
            self.used[thing.device] -= thing.nbytes

    def clear(self) -> None:
        self._kept.clear()
        self.used = {"cpu": 0, "gpu": 0}
