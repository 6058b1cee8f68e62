"""Select CPU cores for DALI's threads, with a function that is copied into exported programs.

A GPU's JPEG engines interrupt one core, 29,000 times a second at 42,000 images/s (H100, counted in
/proc/interrupts). A DALI thread scheduled on that core runs at a third of its speed, and stays
there for seconds, because no other thread waits for the core; if pipelines alternate, all of them
wait for this thread. This explains the slow mode of parallel pipelines: see the measurements in
``assets/benchmarks/README.md``.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def cores_without_interrupts() -> set[int]:
    """The cores that this thread may run on, without those that GPUs interrupt.

    JPEG engines do so tens of thousands of times a second: a DALI thread would run at a third of
    its speed there.
    """
    cores = os.sched_getaffinity(0)
    with suppress(OSError, ValueError):  # not reported by this system
        for line in Path("/proc/interrupts").read_text().splitlines():
            words = line.split()
            # The first interrupt of a GPU: a device's numbers start at a multiple of 2048.
            if words[-1] == "nvidia" and int(words[-2].split("-")[0]) % 2048 == 0:
                place = Path("/proc/irq", words[0][:-1], "effective_affinity_list")
                cores.discard(int(place.read_text()))
    return cores or os.sched_getaffinity(0)
