"""Define templates: augmentations of other libraries that need several DALI nodes.

They are stored in ``templates.toml``; ``graph.snippets`` inserts them into a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from workbench.catalog.spec import Value
from workbench.catalog.tables import read_tables

PLACE = "in"
"""Placeholder for an input of a template node: the image at the insertion point."""
SECOND = "second"
"""Placeholder for an input of a template node: a second image."""


@dataclass(frozen=True, slots=True)
class TemplateNode:
    """One node of a template; the fields are documented in ``templates.toml``."""

    id: str
    op: str
    inputs: tuple[str, ...] = ()
    """Sources of the positional inputs: ids of previous nodes, or ``PLACE``."""
    feeds: Mapping[str, str] = field(default_factory=dict)
    """Id of the node that is connected to each argument, by argument name."""
    args: Mapping[str, Value] = field(default_factory=dict)
    unsized: bool = False
    """Whether the node is inserted only if the incoming images may differ in size."""


@dataclass(frozen=True, slots=True)
class Template:
    """Nodes that are inserted into a graph together, with one or two image inputs.

    The output of a template is the first output of its last node.
    """

    name: str
    label: str
    summary: str
    synonyms: tuple[str, ...]
    nodes: tuple[TemplateNode, ...]
    probability: float | None = None
    """Probability of the random ``if`` around the nodes, or None if they always run."""
    first_for: tuple[str, ...] = ()
    """Search words that list the template before the operator with the same name."""
    selects: str = ""
    """Id of the node with the main values, to select after insertion; empty for the last node."""

    @property
    def mixes(self) -> bool:
        """Whether the template needs a second image."""
        return any(SECOND in node.inputs for node in self.nodes)


@cache
def load_templates() -> Mapping[str, Template]:
    """Return the templates of ``templates.toml`` by name."""
    return {
        name: Template(
            name, **{**row, "nodes": tuple(TemplateNode(**node) for node in row["nodes"])}
        )
        for name, row in read_tables("templates.toml").items()
    }
