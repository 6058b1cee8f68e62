"""Names that a person gives to the bodies of a block: ``option_1`` may be called "stronger"."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.model import Graph
from workbench.graph.model.scoped import scoped

LONGEST = 60
TITLE_WORDS = f"one line of at most {LONGEST} printable characters"


def is_title(text: str) -> bool:
    """Whether a text can name a body: it stands in a comment of the code, so on one line."""
    return len(text) <= LONGEST and text.isprintable() and text == text.strip()


@scoped("block")
def set_body_title(graph: Graph, catalog: Catalog, block: str, body: str, title: str) -> Graph:
    """Call a body by a name, or by an empty one no longer.

    Raises GraphEditError where there is no such body, and for a name of more than one line.
    """
    node = graph.node(block)
    if body not in node.bodies:
        names = ", ".join(node.bodies) or "none"
        raise GraphEditError(f"{block} has no body {body[:40]!r}. It has: {names}.")
    title = " ".join(title.split())
    if not is_title(title):
        raise GraphEditError(f"{title[:40]!r} cannot name {block}.{body}. Give {TITLE_WORDS}.")
    for name, other in node.bodies.items():
        if title and name != body and title in (name, other.title):
            raise GraphEditError(f"{name} of {block} is called {title!r} too. Give another name.")
    named = replace(node.bodies[body], title=title)
    return graph.replace_node(replace(node, bodies={**node.bodies, body: named}))
