"""What the canvas may ask for."""

from __future__ import annotations

import msgspec

from workbench.ui.contract.actions.bar import ListFolders, NewGraph, OpenRecipe
from workbench.ui.contract.actions.base import Action, OpenScope, Redo, Undo
from workbench.ui.contract.actions.panels import OpenFolder, Verify
from workbench.ui.contract.actions.speed import Measure


class Add(Action, tag="add", frozen=True):
    """Add an operator behind a node; what followed that follows the new node."""

    op: str
    after: str
    """Id of the node; empty: at the end."""
    sound: bool = False
    """Whether to feed what it needs, and to refuse it where the graph would have a new fault."""


class AddOnEdge(Action, tag="add_on", frozen=True):
    """Add an operator on an edge; no other edge changes."""

    op: str
    edge: str
    sound: bool = False
    """As of ``add``."""


class Branch(Action, tag="branch", frozen=True):
    """Add an operator fed by an output, beside what that feeds already."""

    op: str
    node: str
    """Empty: fed by nothing yet."""
    output: str
    sound: bool = False
    """As of ``add``."""
    at: list[float] = msgspec.field(default_factory=list)
    """[x, y] of what is fed by nothing, where things were put by hand; empty: where there is
    room."""


class AddFeeding(Action, tag="add_into", frozen=True):
    """Add an operator that feeds an input; one that is fed already is led through it."""

    op: str
    node: str
    input: str
    sound: bool = False
    """As of ``add``."""


class AddTemplate(Action, tag="add_template", frozen=True):
    """Add the nodes of a template: on an edge, beside what an output feeds, or behind a node."""

    template: str
    edge: str = ""
    node: str = ""
    """With ``output``, what it branches off from."""
    output: str = ""
    after: str = ""
    """Id of the node; empty, with all the others: at the end."""
    sound: bool = False
    """As of ``add``."""


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
    """Take a node out of where it stands and put it into an edge."""

    node: str
    edge: str
    positions: dict[str, list[float]] = msgspec.field(default_factory=dict)
    """As ``SetPositions`` takes them; empty where all is laid out automatically."""


class Move(Action, tag="move", frozen=True):
    """Let a node change places with its neighbour."""

    node: str
    by: int
    """-1 or 1."""


class Remove(Action, tag="remove", frozen=True):
    """Remove nodes and edges."""

    nodes: list[str] = msgspec.field(default_factory=list)
    edges: list[str] = msgspec.field(default_factory=list)


class Mute(Action, tag="mute", frozen=True):
    """Leave nodes out of what runs, or let them run again."""

    nodes: list[str]
    muted: bool


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


class SetPositions(Action, tag="place", frozen=True):
    """Take the places of all that stands in one body, or in several."""

    positions: dict[str, list[float]]
    """Of nodes, of outputs by ``:name``; in a body drawn inside by ``block.body:name``."""
    aligned: str = ""
    """How some of them were aligned, one of ``ALIGNMENTS``; empty where they were moved."""


class Wrap(Action, tag="wrap", frozen=True):
    """Put nodes into a new block, so that they run for some samples only."""

    nodes: list[str]
    op: str
    """The kind of block: ``if``."""
    together: bool = False
    """Whether they are one option of it; else each is one."""
    condition: str = ""
    """Of an ``if`` what it asks: ``label``, ``size`` or ``comparison``; empty: a coin flip."""


class Unwrap(Action, tag="unwrap", frozen=True):
    """Replace a block by what stands in one of its bodies."""

    node: str
    body: str


class AddElif(Action, tag="add_elif", frozen=True):
    """Ask a second condition where that of an ``if`` does not hold."""

    node: str


class Fuse(Action, tag="fuse", frozen=True):
    """Replace an ``if`` by the one operator in it, which runs on every sample from then on."""

    node: str


class Arrange(Action, tag="arrange", frozen=True):
    """Lay all out automatically again."""


class SetFrame(Action, tag="frame", frozen=True):
    """Draw a frame around nodes, or give one another title or other nodes."""

    title: str
    nodes: list[str]
    """Of a frame that is there, empty leaves them."""
    frame: str = ""
    """Empty: a new one."""


class RemoveFrame(Action, tag="remove_frame", frozen=True):
    """Take a frame away; what stands in it stays."""

    frame: str


class SetNote(Action, tag="note", frozen=True):
    """Put a note on the canvas, or change one: an empty text takes it away."""

    text: str
    x: float
    y: float
    note: str = ""
    """Empty: a new one."""


class Collapse(Action, tag="collapse", frozen=True):
    """Draw a block as a card, or again as a frame with what stands in it."""

    node: str
    collapsed: bool


class Unfold(Action, tag="unfold", frozen=True):
    """Draw the generator of an argument as a node of its own."""

    node: str
    arg: str


class Fold(Action, tag="fold", frozen=True):
    """Draw a generator in the node that it feeds."""

    node: str


class SaveSnippet(Action, tag="save_snippet", frozen=True):
    """Keep nodes under a name, to be put into any graph; one of this name is replaced."""

    nodes: list[str]
    name: str


class RemoveSnippet(Action, tag="remove_snippet", frozen=True):
    """Remove a snippet that was saved."""

    name: str


class CopyCode(Action, tag="copy_code", frozen=True):
    """Ask for the lines that the exported script has for nodes."""

    nodes: list[str]
    """Empty: all of the graph."""


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
    how: str = "add"
    """The action that is to add one: ``add``, ``add_on`` or ``branch``."""
    tried: list[str] = msgspec.field(default_factory=list)
    """Operators and templates of which it is found out whether the graph would have a fault. Of
    the others only what they take and give, and their device, is compared."""


ALIGNMENTS = {
    "left": "align left",
    "centre": "align centres",
    "right": "align right",
    "top": "align top",
    "middle": "align middles",
    "bottom": "align bottom",
    "across": "distribute across",
    "down": "distribute down",
}
"""How nodes are aligned -> what the history calls it."""

Insertion = Add | AddOnEdge | Branch | AddFeeding | AddTemplate
CanvasEdit = (
    Insertion | Connect | Disconnect | Splice | Move | Remove
    | Mute | Duplicate | Paste | Rename | SetPositions | Wrap | Unwrap | AddElif | Fuse
    | Arrange | SetFrame | RemoveFrame | SetNote | Unfold | Fold | Collapse
)  # fmt: skip
CanvasAction = (
    CanvasEdit | OpenScope | CopyCode | SaveSnippet | RemoveSnippet | FindConnectTargets
    | FindCompatibleOps | ListFolders | NewGraph | OpenRecipe | OpenFolder | Verify | Measure
    | Undo | Redo
)  # fmt: skip
