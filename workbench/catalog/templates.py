"""Templates: words of other libraries and of common speech that take several nodes of DALI.

They are data, ``templates.toml``; ``graph.snippets`` puts one into a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from workbench.catalog.spec import Value
from workbench.catalog.tables import read_tables

PLACE = "in"
"""What feeds a node of a template that is fed by what flows at the place."""
SECOND = "second"
"""What feeds a node that is fed by a second image."""


@dataclass(frozen=True, slots=True)
class TemplateNode:
    """One node of a template; ``templates.toml`` says what the fields are."""

    id: str
    op: str
    inputs: tuple[str, ...] = ()
    """What feeds its positional inputs: ids of nodes before it, or ``PLACE``."""
    feeds: Mapping[str, str] = field(default_factory=dict)
    """Argument -> what feeds it."""
    args: Mapping[str, Value] = field(default_factory=dict)
    unsized: bool = False
    """Only where the images that arrive may differ in size."""


@dataclass(frozen=True, slots=True)
class Template:
    """Nodes that take an image, or two, and give one: the first output of the last node."""

    name: str
    label: str
    summary: str
    synonyms: tuple[str, ...]
    nodes: tuple[TemplateNode, ...]
    probability: float | None = None
    """Where they run for some samples only: they stand in an ``if`` that a coin flip decides."""
    first_for: tuple[str, ...] = ()
    """What it is found for before an operator that is called so."""

    @property
    def mixes(self) -> bool:
        """Whether it takes a second image."""
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
