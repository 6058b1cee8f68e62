"""What all workers together take on the GPU."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.engine.resources.gpu import Gpu, first_visible_gpu


class GpuMeter:
    """What processes take on the GPU that CUDA calls 0.

    Where the driver tells it of no process, as in most containers, it is what the GPU's memory
    has grown by since none of them ran.
    """

    def __init__(self) -> None:
        self._gpu: Gpu | None = None
        self._before: int | None = None

    def __call__(self, pids: Sequence[int]) -> int:
        """Bytes of all of them together; 0 where nothing is known."""
        if self._gpu is None:
            self._gpu = Gpu(first_visible_gpu())
        if not pids:
            self._before = self._gpu.memory_used()
            return 0
        told = [self._gpu.memory_of(pid) for pid in pids]
        known = [bytes_ for bytes_ in told if bytes_ is not None]
        if len(known) == len(told):
            return sum(known)
        now = self._gpu.memory_used()
        if now is None:
            return sum(known)
        return max(0, now - (self._before or 0))
