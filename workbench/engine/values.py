"""What flows between stages, and the bounded store of what was computed.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Batch:
    """One output of one node for a batch: a DALI TensorList, or a list of host arrays."""

    data: Any
    device: Literal["cpu", "gpu"] = "cpu"

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
        return str(np.dtype(_numpy_type(self.data.dtype)))

    @property
    def layout(self) -> str:
        """``HWC``, ``CHW``, ... or empty where DALI does not say."""
        return "" if isinstance(self.data, list) else self.data.layout()

    @property
    def nbytes(self) -> int:
        """Size of the batch in bytes."""
        items = sum(int(np.prod(shape)) for shape in self.shapes)
        return items * np.dtype(self.dtype).itemsize

    def arrays(self) -> list[NDArray[Any]]:
        """Every sample as a host array."""
        if isinstance(self.data, list):
            return self.data
        host = self.data.as_cpu() if self.device == "gpu" else self.data
        return [np.asarray(host[i]) for i in range(len(host))]


def _numpy_type(dali_type: Any) -> Any:
    from nvidia.dali import types

    return types.to_numpy_type(dali_type)


@dataclass(slots=True)
class Store:
    """Outputs by key, least recently used ones dropped above ``limit`` bytes on each device."""

    limit: int
    _kept: OrderedDict[str, tuple[Batch, ...]] = field(default_factory=OrderedDict)
    used: dict[str, int] = field(default_factory=lambda: {"cpu": 0, "gpu": 0})

    def get(self, key: str) -> tuple[Batch, ...] | None:
        """What was kept under the key, or None."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: str, batches: Sequence[Batch]) -> None:
        """Keep outputs; drops others where the budget is exceeded."""
        self._drop(key)
        self._kept[key] = tuple(batches)
        for batch in batches:
            self.used[batch.device] += batch.nbytes
        while len(self._kept) > 1 and max(self.used.values()) > self.limit:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: str) -> None:
        for batch in self._kept.pop(key, ()):
            self.used[batch.device] -= batch.nbytes

    def clear(self) -> None:
        """Drop everything."""
        self._kept.clear()
        self.used = {"cpu": 0, "gpu": 0}
