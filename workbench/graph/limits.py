"""What DALI and the workbench can take: ranges of settings and seeds."""

from __future__ import annotations

from collections.abc import Mapping

LARGEST_SEED = 10_000
"""Of a node; added to the graph's it must fit into DALI's 32 bits."""

SETTINGS: Mapping[str, tuple[int, int]] = {
    "batch_size": (1, 100_000),
    "num_threads": (1, 1024),
    "prefetch_queue_depth": (1, 64),
    "seed": (0, 2**31 - LARGEST_SEED - 1),
}
"""Smallest and largest value of each setting that is a number."""
