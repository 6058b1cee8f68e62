"""What flows between stages, and the bounded store of what was computed.

Runs inside the worker process only.
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
    """One output of one node for a batch: a DALI TensorList, or a list of host arrays."""

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
        """NumPy's name of the element type; ``float16`` and the like included."""
        if isinstance(self.data, list):
            return str(self.data[0].dtype)
        return _type_name(self.data.dtype)

    @property
    def layout(self) -> str:
        """``HWC``, ``CHW``, ... or empty where DALI does not say."""
        return "" if isinstance(self.data, list) else self.data.layout()

    @property
    def nbytes(self) -> int:
        """Size of the batch in bytes."""
        return sum(map(math.prod, self.shapes)) * np.dtype(self.dtype).itemsize

    def arrays(self) -> list[NDArray[Any]]:
        """Every sample as a host array."""
        if isinstance(self.data, list):
            return self.data
        host = self.data.as_cpu() if self.device == "gpu" else self.data
        return [np.asarray(host[i]) for i in range(len(host))]

    def sample(self, index: int) -> Batch:
        """One sample as a batch of one, on the host; of a GPU batch only that one is copied."""
        if isinstance(self.data, list):
            return Batch([self.data[index]])
        tensor = self.data[index]
        return Batch(tensor_list([tensor.as_cpu() if self.device == "gpu" else tensor]))

    def first(self, count: int) -> Batch:
        """The first samples, not copied."""
        if count == len(self):
            return self
        if isinstance(self.data, list):
            return Batch(self.data[:count])
        from nvidia.dali.tensors import TensorListCPU, TensorListGPU

        make: Any = TensorListGPU if self.device == "gpu" else TensorListCPU
        chosen = [self.data[index] for index in range(count)]
        return Batch(make(chosen, self.layout, contiguous=False), self.device)


def tensor_list(tensors: Sequence[Any]) -> Any:
    """DALI's tensors as one list, with their layout and the file each came from.

    Host tensors are copied; those of a GPU are held, for each run makes new ones there.
    """
    from nvidia.dali.tensors import TensorGPU, TensorListCPU, TensorListGPU

    if isinstance(tensors[0], TensorGPU):
        make: Any = TensorListGPU
        return make(list(tensors), tensors[0].layout(), contiguous=False)
    return TensorListCPU(list(tensors), tensors[0].layout())


def memory_of(data: Any) -> Memory:
    """Where one of DALI's lists of tensors lies."""
    return "gpu" if "GPU" in type(data).__name__ else "cpu"


@cache
def _type_name(dali_type: Any) -> str:
    from nvidia.dali import types

    if dali_type == types.NO_TYPE:  # of a body to which no sample came
        return "void"
    return str(np.dtype(types.to_numpy_type(dali_type)))


class StoredValue(Protocol):
    """What the store holds: something that says how large it is, and where it lies."""

    @property
    def device(self) -> Memory: ...

    @property
    def nbytes(self) -> int: ...


@dataclass(slots=True)
class BatchStore:
    """Things by key, the least recently used ones dropped where ``budget`` (bytes) is exceeded.

    Host and GPU have a budget each. A thing that is larger than the whole budget is kept while it
    is the newest.
    """

    budget: Mapping[Memory, int]
    _kept: OrderedDict[str, tuple[Any, ...]] = field(default_factory=OrderedDict)
    used: dict[Memory, int] = field(default_factory=lambda: {"cpu": 0, "gpu": 0})

    def get(self, key: str) -> tuple[Any, ...] | None:
        """What was kept under the key, or None."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, things: Sequence[StoredValue]) -> None:
        """Keep things under a key; drops others where a budget is exceeded."""
        self._drop(key)
        self._kept[key] = tuple(things)
        for thing in things:
            self.used[thing.device] += thing.nbytes
        self._fit(key)

    def set_budget(self, budget: Mapping[Memory, int]) -> None:
        """Keep no more than this from now on."""
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
        """Drop everything."""
        self._kept.clear()
        self.used = {"cpu": 0, "gpu": 0}
