"""Templates: terms of other libraries that need several DALI nodes.

They are data in ``templates.toml``; ``graph.snippets`` inserts them into a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from workbench.catalog.spec import Value
from workbench.catalog.tables import read_tables

PLACE = "in"
"""Source of a node's input: the image at the insertion point."""
SECOND = "second"
"""Source of a node's input: a second image."""


@dataclass(frozen=True, slots=True)
class TemplateNode:
    """One node of a template; the fields are documented in ``templates.toml``."""

    id: str
    op: str
    inputs: tuple[str, ...] = ()
    """Sources of its positional inputs: ids of previous nodes, or ``PLACE``."""
    feeds: Mapping[str, str] = field(default_factory=dict)
    """Argument -> its source."""
    args: Mapping[str, Value] = field(default_factory=dict)
    unsized: bool = False
    """Only if the incoming images may differ in size."""


@dataclass(frozen=True, slots=True)
class Template:
    """Nodes with one or two image inputs and one output: the first output of the last node."""

    name: str
    label: str
    summary: str
    synonyms: tuple[str, ...]
    nodes: tuple[TemplateNode, ...]
    probability: float | None = None
    """Probability, if they run for some samples only: they are wrapped in a random ``if``."""
    first_for: tuple[str, ...] = ()
    """Search words for which it precedes an operator of that name."""
    selects: str = ""
    """Id of the node to select, with the values that matter; empty: the last one."""

    @property
    def mixes(self) -> bool:
        """True if the template needs a second image."""
        return any(SECOND in node.inputs for node in self.nodes)


@cache
def load_templates() -> Mapping[str, Template]:
    """The templates by name."""
    return {
        name: Template(
            name, **{**row, "nodes": tuple(TemplateNode(**node) for node in row["nodes"])}
        )
        for name, row in read_tables("templates.toml").items()
    }
