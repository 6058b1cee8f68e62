"""Define the limits of DALI and the workbench: settings, seeds, and numbers of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from workbench.arguments import WHOLE

DecodeDevice = Literal["cpu", "mixed"]
Executor = Literal["static", "dynamic", "separate"]
LARGEST_SEED = 2**32 - 1
"""Maximum seed of a node. DALI assigns seeds up to this value, and imported graphs preserve them.
"""
USUAL_SEEDS = 10_000
"""Exclusive upper bound of the seeds of new nodes, unless all smaller seeds are in use."""

SETTINGS: Mapping[str, tuple[int, int]] = {
    "batch_size": (1, 100_000),
    "num_threads": (1, 1024),
    "prefetch_queue_depth": (1, 64),
    "pipelines": (1, 4),
    "seed": (0, 2**31 - USUAL_SEEDS - 1),
}
"""Minimum and maximum of each numeric setting."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    "device": get_args(DecodeDevice),
    "executor": get_args(Executor),
}
"""Allowed values of each non-numeric setting."""


def setting_fault(name: str, value: object) -> tuple[str, str] | None:
    """Return the problem and the fix if a setting cannot have the given value, else None."""
    words = " or ".join(CHOICES.get(name, ()))
    if name in SETTINGS:
        least, most = SETTINGS[name]
        if WHOLE.fits(value) and least <= value <= most:  # type: ignore[operator]  # an integer
            return None
        words = f"{'a number from 0' if name == 'seed' else f'an integer from {least}'} to {most}"
    elif value in CHOICES[name]:
        return None
    return f"{name} is {value!r}", f"Use {words}."


MOST_FILE_NODES = 10_000
"""Maximum number of nodes in a graph file, because checking and rendering more takes longer.
Files may come from untrusted sources."""
MOST_CANVAS_NODES = 1000
"""Maximum number of nodes that the page renders at a usable speed."""
MOST_NESTED = 16
"""Maximum nesting depth of lists in a file, and of bodies: DALI splits the batch for each body."""
MOST_TURNS_IN_ALL = 1024
"""Maximum number of iterations of a body, multiplied over nested repeat blocks. DALI builds every
iteration separately, which takes about 2 ms."""
MOST_PAGE_CHARACTERS = 4_000_000
"""Maximum size in characters of a graph file or link that the page opens. A graph with 1,000 nodes
and all their arguments has 1.5 million characters."""

FILES = "mapped", "read"
"""Ways in which readers access files: memory-mapped, or read (``dont_use_mmap``)."""
