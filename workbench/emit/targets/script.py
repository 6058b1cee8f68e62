"""Export a graph as a standalone script (see ``emit.script``)."""

from __future__ import annotations

from workbench.emit.script import script_of
from workbench.emit.targets import Target

TARGET = Target(
    "the pipeline with a command line that prints imgs/s",
    lambda resolved: {"pipe.py": script_of(resolved)},
    side_by_side=True,
)
