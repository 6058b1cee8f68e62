"""A standalone script: ``emit.script``."""

from __future__ import annotations

from workbench.emit.script import emit_script
from workbench.emit.targets import Target

TARGET = Target(
    "the pipeline with a command line that prints imgs/s",
    lambda graph, catalog: {"pipe.py": emit_script(graph, catalog)},
    side_by_side=True,
)
