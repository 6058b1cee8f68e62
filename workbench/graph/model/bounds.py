"""What DALI and the workbench can take: settings, seeds, and numbers of nodes."""

from __future__ import annotations

from collections.abc import Mapping

LARGEST_SEED = 2**32 - 1
"""Of a node: those that DALI gives out for itself, and an import keeps, are as large."""
USUAL_SEEDS = 10_000
"""Nodes made here have seeds below, as long as there are any."""

SETTINGS: Mapping[str, tuple[int, int]] = {
    "batch_size": (1, 100_000),
    "num_threads": (1, 1024),
    "prefetch_queue_depth": (1, 64),
    "pipelines": (1, 4),
    "seed": (0, 2**31 - USUAL_SEEDS - 1),
}
"""Smallest and largest value of each setting that is a number."""

MOST_FILE_NODES = 10_000
"""Nodes in a graph file: more than anyone composes; checks and drawing grow with them, and a file
may be hostile."""
MOST_CANVAS_NODES = 1000
"""Nodes that the page still draws at a speed that one can work with."""
MOST_NESTED = 16
"""Bodies inside each other (DALI splits the batch anew in each), and lists in a graph file."""
MOST_TURNS_IN_ALL = 1024
"""Of a body that repeated blocks around it repeat too: DALI builds each turn (some 2 ms)."""
MOST_PAGE_CHARACTERS = 4_000_000
"""Of a graph file that a page opens, a link included: 1,000 nodes with every argument have 1.5
million."""

FILES = "mapped", "read"
"""How readers get at files: into memory, or with ``dont_use_mmap``."""
