"""Templates: words of other libraries and of common speech that take several nodes of DALI.

They are data, ``templates.toml``; ``graph.templates`` puts one into a graph.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from workbench.catalog.spec import Value
from workbench.errors import CatalogError

PLACE = "in"
"""What feeds a node of a template that is fed by what flows at the place."""
_KEYS = ("label", "summary", "synonyms", "nodes", "probability", "first_for")
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
    """The templates by name. Raises CatalogError where ``templates.toml`` is wrong."""
    text = files(__package__).joinpath("templates.toml").read_text("utf-8")
    return read_templates(text)


def read_templates(text: str) -> Mapping[str, Template]:
    """Templates by name from TOML. Raises CatalogError, naming the template, for what is wrong."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(f"templates.toml: not TOML: {error}") from error
    return {name: _template(name, table) for name, table in tables.items()}


def _template(name: str, table: Mapping[str, Any]) -> Template:
    where = f"templates.toml: [{name}]"
    _require_keys(table, _KEYS, where)
    nodes = tuple(_node(row, where) for row in table.get("nodes", ()))
    known = {PLACE, SECOND}
    for node in nodes:
        for source in (*node.inputs, *node.feeds.values()):
            if source not in known:
                raise CatalogError(
                    f"{where}: {node.id} is fed by {source!r}, which is not before it"
                )
        if node.id in known:
            raise CatalogError(f"{where}: two nodes are called {node.id!r}")
        known.add(node.id)
    if not nodes:
        raise CatalogError(f"{where}: it has no nodes")
    synonyms = tuple(table.get("synonyms", ()))
    return Template(
        name,
        table.get("label", name),
        table.get("summary", ""),
        synonyms,
        nodes,
        table.get("probability"),
        tuple(table.get("first_for", ())),
    )


def _node(row: Mapping[str, Any], where: str) -> TemplateNode:
    _require_keys(row, ("id", "op", "from", "feeds", "args", "unsized"), where)
    for key in ("id", "op"):
        if key not in row:
            raise CatalogError(f"{where}: a node has no {key!r}")
    return TemplateNode(
        row["id"],
        row["op"],
        tuple(row.get("from", ())),
        row.get("feeds", {}),
        {name: _frozen(value) for name, value in row.get("args", {}).items()},
        row.get("unsized", False),
    )


def _require_keys(table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    allowed = tuple(allowed)
    for key in table:
        if key not in allowed:
            raise CatalogError(f"{where}: key {key!r}. There are: {', '.join(allowed)}")


def _frozen(value: Any) -> Value:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
