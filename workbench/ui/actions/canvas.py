"""What the canvas may ask for."""

from __future__ import annotations

import msgspec

from workbench.ui.actions.base import Action, OpenScope, Redo, Undo


class Add(Action, tag="add", frozen=True):
    """Add an operator behind a node; what followed that follows the new node."""

    op: str
    after: str
    """Id of the node; empty: at the end."""


class AddOnEdge(Action, tag="add_on", frozen=True):
    """Add an operator on an edge; no other edge changes."""

    op: str
    edge: str


class Branch(Action, tag="branch", frozen=True):
    """Add an operator fed by an output, beside what that feeds already."""

    op: str
    node: str
    """Empty: fed by nothing yet."""
    output: str


class Connect(Action, tag="connect", frozen=True):
    """Join an output to an input, or give it out."""

    source: str
    output: str
    target: str
    """Empty: an output of the graph, called ``input``."""
    input: str
    """Of the graph's outputs, empty means a free name."""
    edge: str
    """The one whose end was dragged; else empty."""


class Disconnect(Action, tag="disconnect", frozen=True):
    """Cut edges."""

    edges: list[str]


class Splice(Action, tag="splice", frozen=True):
    """Put a node that stands apart into an edge."""

    node: str
    edge: str


class Move(Action, tag="move", frozen=True):
    """Let a node change places with its neighbour."""

    node: str
    by: int
    """-1 or 1."""


class Remove(Action, tag="remove", frozen=True):
    """Remove nodes and edges."""

    nodes: list[str] = msgspec.field(default_factory=list)
    edges: list[str] = msgspec.field(default_factory=list)


class Duplicate(Action, tag="duplicate", frozen=True):
    """Add copies of nodes."""

    nodes: list[str]


class Paste(Action, tag="paste", frozen=True):
    """Add the nodes of a copied text."""

    text: str
    x: float
    """Where there is room for what is fed by nothing."""
    y: float


class Rename(Action, tag="rename", frozen=True):
    """Give a node, or ``:name`` an output of the graph, another name."""

    node: str
    to: str


class Place(Action, tag="place", frozen=True):
    """Take the places of all that is on the canvas."""

    positions: dict[str, list[float]]


class Wrap(Action, tag="wrap", frozen=True):
    """Put nodes into a new region, so that they run for some samples only."""

    nodes: list[str]
    op: str
    """The kind of region: ``if``."""


class Unwrap(Action, tag="unwrap", frozen=True):
    """Replace a region by what stands in one of its bodies."""

    node: str
    body: str


class Arrange(Action, tag="arrange", frozen=True):
    """Lay all out automatically again."""


class Unfold(Action, tag="unfold", frozen=True):
    """Draw the generator of an argument as a node of its own."""

    node: str
    arg: str


class Fold(Action, tag="fold", frozen=True):
    """Draw a generator in the node that it feeds."""

    node: str


class FindConnectTargets(Action, tag="connect_targets", frozen=True):
    """Ask what an output may feed."""

    node: str
    output: str
    edge: str
    """The one whose end is dragged; else empty."""


class FindCompatibleOps(Action, tag="compatible_ops", frozen=True):
    """Ask which operators may be added behind an output or on an edge."""

    node: str
    output: str
    edge: str
    """In place of the two others; else empty."""


CanvasEdit = (
    Add | AddOnEdge | Branch | Connect | Disconnect | Splice | Move | Remove
    | Duplicate | Paste | Rename | Place | Wrap | Unwrap | Arrange | Unfold | Fold
)  # fmt: skip
CanvasAction = CanvasEdit | OpenScope | FindConnectTargets | FindCompatibleOps | Undo | Redo
