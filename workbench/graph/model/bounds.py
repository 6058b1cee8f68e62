"""Limits of DALI and the workbench: settings, seeds, and numbers of nodes."""

from __future__ import annotations

from collections.abc import Mapping

LARGEST_SEED = 2**32 - 1
"""For nodes: seeds assigned by DALI, which an import keeps, are up to this."""
USUAL_SEEDS = 10_000
"""Nodes created here get smaller seeds while available."""

SETTINGS: Mapping[str, tuple[int, int]] = {
    "batch_size": (1, 100_000),
    "num_threads": (1, 1024),
    "prefetch_queue_depth": (1, 64),
    "pipelines": (1, 4),
    "seed": (0, 2**31 - USUAL_SEEDS - 1),
}
"""Minimum and maximum of each numeric setting."""

MOST_FILE_NODES = 10_000
"""Maximum nodes in a graph file: more than anyone composes; the time of checks and drawing grows
with it, and a file may be hostile."""
MOST_CANVAS_NODES = 1000
"""Maximum nodes that the page draws at a usable speed."""
MOST_NESTED = 16
"""Maximum nesting of bodies (DALI splits the batch in each), and of lists in a graph file."""
MOST_TURNS_IN_ALL = 1024
"""Maximum iterations of a body including repeated blocks around it: DALI builds each iteration
(some 2 ms)."""
MOST_PAGE_CHARACTERS = 4_000_000
"""Maximum characters of a graph file that a page opens, also from a link: 1,000 nodes with every
argument have 1.5 million."""

FILES = "mapped", "read"
"""How readers access files: memory-mapped, or with ``dont_use_mmap``."""
