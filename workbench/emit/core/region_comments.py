"""What a person calls the bodies of a region, as comments behind the lines that head them."""

from __future__ import annotations

from workbench.graph.model import Node


def body_comment(region: Node, body: str) -> str:
    """``  # stronger``, or nothing for a body without a name of its own."""
    given = region.bodies[body].title  # in a graph made in Python it may be any text
    title = " ".join("".join(c if c.isprintable() else " " for c in given).split())
    return f"  # {title}" if title else ""
