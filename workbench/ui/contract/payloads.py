"""What each component shows and takes: the contract between Python and the browser.

``frontend/src/payloads.ts`` is written from these types by
``python -m workbench.ui.typescript``; a test fails when the two differ. All of it is
JSON, but for the pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from workbench.catalog.schema import first_sentence
from workbench.catalog.spec import Catalog
from workbench.catalog.templates import Template

Json = Any
"""A JSON value: an argument's fixed value, a graph file."""


class DeviceChoice(TypedDict):
    """One side of the CPU / mixed switch."""

    id: str
    label: str
    """``CPU`` or ``Mixed · H200``."""
    disabled: str
    """Why it cannot be chosen; empty where it can."""


class Status(TypedDict):
    """The chip at the top right."""

    state: Literal["ready", "busy", "fault", "dead"]
    text: str
    """``ready · 12 ms``, ``computing``, ``2 faults``."""


class OverwriteQuestion(TypedDict):
    """A file that is there already where one is to be saved; empty texts: there is none."""

    number: int
    """Another one each time that it is asked."""
    do: str
    """The action that asks, to be sent again with ``overwrite``."""
    path: str
    """As it was typed."""
    message: str


class TextFile(TypedDict):
    """A file that was made for the browser to keep."""

    number: int
    """Another one for each; 0: there is none yet."""
    text: str


class RecipeEntry(TypedDict):
    name: str
    line: str
    """One line on what it is for."""
    picture: str
    """What it makes of four photos, side by side: a ``data:`` URL; empty where there is none."""


class StartEntry(RecipeEntry):
    example: bool
    """Whether the graph is the example that everybody sees first; else it is empty."""


class OpenedData(TypedDict):
    """The open folder or file, and why the last requested one was refused."""

    path: str
    refused: str
    outside: str
    """As the data panel's."""
    places: dict[str, str]
    """Absolute path of each parameter's data, for a link; empty if given in Python."""


class RunningWork(TypedDict):
    """A measurement, comparison or check that runs, for the tab of the panel that shows it."""

    tab: str
    text: str
    share: float
    """From 0 to 1."""


class RecentEntry(TypedDict):
    """A session that was kept."""

    owner: str
    name: str
    """Of its graph."""
    when: str
    """When it was last changed: ``09:05`` or ``4 Mar, 17:30``."""
    data: str
    """The last part of the path of its folder; empty where its data were given in Python."""
    picture: str
    """A ``data:`` URL of its first photos, side by side; empty where there is none."""
    open: bool
    """Whether a page or a notebook has it open now."""


class RestoredEntry(TypedDict):
    """Earlier edits that were restored or are offered, or data of a shared graph that are not open.

    Empty: there is nothing to report.
    """

    text: NotRequired[str]
    offered: NotRequired[bool]
    """Whether the edits were not applied; ``apply_kept`` applies them."""
    choose: NotRequired[bool]
    """Whether data are to be chosen."""
    outside: NotRequired[str]
    """Data that ``open_shared_data`` opens; empty: they cannot be opened."""


class CellEntry(TypedDict):
    """The present graph as the code of a cell; empty where there is no notebook."""

    after: NotRequired[str]
    """Id of the cell that made the workbench; empty where the front end named none."""
    source: NotRequired[str]
    """Empty until ``describe_cell`` asked for it."""
    asked: NotRequired[int]
    """How often it was asked for."""


class FaultEntry(TypedDict):
    """One reason why the graph cannot run."""

    node: str
    """Node id, or empty where the fault is the whole graph's."""
    arg: str
    message: str
    remedy: str
    fixes: list[str]
    """What can be done about it at a click; the label is also the name that ``fix`` takes."""
    warning: bool
    """Whether it does not stop a run."""


class ImportRow(TypedDict):
    """Something that the import of the graph did not bring across as it was."""

    kind: str
    """``changed``, ``left out`` and the like."""
    subject: str
    """The node, transform or value; empty: the whole pipeline."""
    place: str
    """``train.py:12``; empty where it is not known."""
    why: str
    node: str
    """The node to select; empty where the graph has none for it."""


class ImportEntry(TypedDict):
    """The report of the import that the graph came from."""

    summary: str
    """``12 of 14 steps exact, 2 changed``."""
    rows: list[ImportRow]
    notes: list[str]


class HistoryEntry(TypedDict):
    """One step of undo or redo."""

    step: int
    """How many steps are done after it; ``go_to`` takes it."""
    label: str
    """``angle of rotate to 5``."""
    done: bool
    """Whether it is; else redo leads to it."""


class PortEntry(TypedDict):
    """One input or output of a node."""

    name: str
    kind: str
    """``PortKind``: encoded, image, sound, label, boxes, mask, points, number, any."""
    argument: bool
    """Whether it is a named argument that a node feeds; else it is positional."""
    fed: bool
    """Whether an edge leads into it (inputs) or leaves it (outputs)."""
    optional: bool
    flows: str
    """What comes out: ``224×224×3 u8 HWC``, with ``?`` where only the data tell."""


class DrawEntry(TypedDict):
    """A random argument whose generator is folded into the node."""

    arg: str
    text: str
    """``angle ~ −10 … 10``."""


class BodyEntry(TypedDict):
    """One body of a block."""

    name: str
    """``then``"""
    title: str
    """What a person calls it; may be empty."""
    scope: str
    """``branch.then``"""
    nodes: int
    """How many it has, without the generators."""
    faulty: bool
    """Whether something in it is at fault."""


class ScopeBody(TypedDict):
    """One body of a block on the way into the body that is shown."""

    name: str
    title: str
    """What a person calls it; may be empty."""
    scope: str
    shown: bool
    """Whether it is on that way."""


class ScopeEntry(TypedDict):
    """One block on the way from the graph into the body that is shown."""

    block: str
    op: str
    bodies: list[ScopeBody]


Role = Literal["read", "decode", "geometry", "colour", "arithmetic", "output", "other"]
"""The kind of work that an operator does."""


class NodeEntry(TypedDict):
    """One box of the canvas. The first of a body is what that takes in."""

    id: str
    """Of what a body takes in its scope, ``branch.then``."""
    scope: str
    """The body in which it stands; empty for the graph itself."""
    op: str
    """Empty for what a body takes in."""
    title: str
    """What its card says: the operator, the call that an opaque node stands for, or of a block
    what decides."""
    label: str
    role: Role
    device: Literal["cpu", "gpu", "mixed"]
    output: str
    """``224×224×3 u8``, ``jpeg, label``; ``?`` where only the data tell."""
    values: str
    """``size 256, fill_value 0``: what was changed; may be empty."""
    draws: list[DrawEntry]
    inputs: list[PortEntry]
    """Positional ports, then the arguments that a drawn node feeds."""
    outputs: list[PortEntry]
    fault: str
    """First fault's message, or empty."""
    warned: bool
    """Whether ``fault`` is a warning, which does not stop a run."""
    movable: bool
    """Whether it may change places with its neighbour (the reader and the decoder may not)."""
    generator: bool
    """Whether it only draws numbers; then it may be folded into what it feeds if that is one."""
    known: bool
    """False for an operator that the installed DALI lacks, and for code that the graph cannot hold:
    kept as it is."""
    twin: bool
    """Whether another node has the same operator."""
    note: str
    """What is to be known of it and is no fault: ``feeds nothing``, ``muted``."""
    muted: bool
    """Whether it is left out of what runs."""
    loose: bool
    """Whether no output depends on it, so that it does not run."""
    bodies: list[BodyEntry]
    """Of a block, each to be opened."""
    expanded: bool
    """Whether its bodies are drawn too, in a frame; the entries of their nodes follow it."""


class FrameEntry(TypedDict):
    """A named rectangle around nodes."""

    id: str
    title: str
    nodes: list[str]


class NoteEntry(TypedDict):
    """A text on the canvas, and the place of its corner, from that of ``node`` if any."""

    id: str
    text: str
    x: float
    y: float
    node: str


class EdgeEntry(TypedDict):
    """One edge, to a node or to an output of the graph."""

    id: str
    """``target:input``; ``:name`` for the outputs of the body that is shown, ``branch.then:name``
    for those of one that is drawn in it."""
    source: str
    output: str
    target: str
    """Node id; empty for the outputs of a body."""
    input: str
    """Port, argument, or the output's name."""
    kind: str
    argument: bool
    crosses: str
    """``to the GPU`` where the data changes sides on this edge, else empty."""


class ConnectTargets(TypedDict):
    """What the output of a node may feed, as ``connect_targets`` was asked."""

    source: str
    """``node.output``; empty before anything was asked."""
    reasons: dict[str, str]
    """Edge id (``target:input``) -> why not; empty text where it may."""


class CompatibleOps(TypedDict):
    """Which operators may be added at a place, as ``compatible_ops`` was asked."""

    place: str
    """``node.output`` or an edge's id, as asked."""
    kind: str
    """What flows there; empty for an empty graph."""
    reasons: dict[str, str]
    """Operator or template -> why not; those that fit are left out."""
    tried: list[str]
    """Those of which it was found out that the graph would have no fault, or which."""
    fixes: dict[str, list[str]]
    """Operator or template that does not fit -> labels of what would make it fit."""


class OperatorEntry(TypedDict):
    """One operator in the search."""

    name: str
    label: str
    synonyms: list[str]
    """What other libraries and people call it."""
    category: str
    summary: str
    devices: list[str]
    unusable: str
    """Why it is greyed; empty where it can be added."""
    words: str
    """Further words of DALI's documentation, to be found by."""
    inputs: list[str]
    """Kinds of its positional ports."""
    outputs: list[str]
    """Kinds of its outputs."""


class TemplateEntry(TypedDict):
    """One template in the search."""

    name: str
    label: str
    synonyms: list[str]
    summary: str
    nodes: list[str]
    """The operators of its nodes."""
    mixes: bool
    """Whether it takes the images of two nodes."""
    first_for: list[str]
    """What it is found for before an operator that is called so."""


class RecipeLine(TypedDict):
    """One recipe in the search."""

    name: str
    line: str
    """One line on what it is for."""


class ArgumentSearchEntry(TypedDict):
    """One argument of the inspected node in the search."""

    name: str
    label: str
    summary: str


class TargetEntry(TypedDict):
    """What a graph may be exported to."""

    name: str
    about: str
    """What comes out, in a few words."""


class CodeFile(TypedDict):
    """One file of an export."""

    path: str
    """Inside the export."""
    text: str


class CodeFault(TypedDict):
    """Why the present graph cannot go to the target; empty texts where it can."""

    message: str
    node: str
    """The one at fault, or empty."""


# What the search finds besides the operators and the nodes: templates, arguments, recipes.


def template_entries(templates: Iterable[Template]) -> list[TemplateEntry]:
    """Every template."""
    return [
        {
            "name": template.name,
            "label": template.label,
            "synonyms": list(template.synonyms),
            "summary": template.summary,
            "nodes": [node.op for node in template.nodes],
            "mixes": template.mixes,
            "first_for": list(template.first_for),
        }
        for template in templates
    ]


def argument_entries(catalog: Catalog, op: str) -> list[ArgumentSearchEntry]:
    """The arguments of an operator; none where there is no such operator."""
    spec = catalog.find(op)
    return [
        {"name": arg.name, "label": arg.label, "summary": first_sentence(arg.doc)}
        for arg in (spec.args.values() if spec else ())
        if not arg.deprecated
    ]


def recipe_lines(recipes: Iterable[RecipeEntry]) -> list[RecipeLine]:
    """The recipes without their pictures."""
    return [{"name": recipe["name"], "line": recipe["line"]} for recipe in recipes]


# What the status line shows, in the way of ``payloads.py``, and how it is put together.


class LastSpeed(TypedDict):
    """The last measured speed of the present graph on this machine."""

    device: Literal["cpu", "mixed"]
    rate: float
    """imgs/s of the whole pipeline, the median."""
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
    when: str
    """ISO 8601, with its zone; empty where it is not recorded."""
    settings: str
    """``batch 64 · 4 threads · prefetch 2``."""
    unstable: bool


class KeptState(TypedDict):
    """Whether the edits outlive the session."""

    state: Literal["kept", "waiting", "not kept"]
    text: str
    reason: str
    """Why they are not kept, or not yet; else empty."""


def status_fields(
    faults: Sequence[FaultEntry], speeds: Sequence[LastSpeed], kept: KeptState
) -> dict[str, Any]:
    """Every field of the component."""
    return {"faults": list(faults), "speeds": list(speeds), "kept": kept}
