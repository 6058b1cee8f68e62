"""Nodes with bodies as Python: a module for each kind.

Adding a kind is a row in ``catalog.regions`` and a module here, with ``OP``, the region's name in
the catalogue, and ``write``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from workbench.emit.core.code import Lines
from workbench.errors import GraphError
from workbench.graph.model import Node

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

Write = Callable[["Emitter", Node], Lines]
"""Writes a region at the emitter's indent, each of its outputs assigned to its variable.

``Emitter.body_lines`` is called for the bodies in the order in which they stand in the code.
"""


@cache
def load_region(op: str) -> Write:
    """What writes regions of that name. Raises GraphError where there is nothing."""
    for module in iter_modules(__path__):
        found = import_module(f"{__name__}.{module.name}")
        if op == found.OP:
            write: Write = found.write
            return write
    raise GraphError(f"{op} owns bodies, and nothing says how they are written.")
