"""Payloads of all components: the contract between Python and the browser.

``frontend/src/payloads.ts`` is generated from these types by ``python -m workbench.ui.typescript``;
a test fails if they differ. Everything is JSON, except pictures.
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
    """Option of the CPU / mixed switch."""

    id: str
    label: str
    """``CPU`` or ``Mixed · H200``."""
    disabled: str
    """Why it cannot be selected; empty if it can."""


class Status(TypedDict):
    """Status chip at the top right."""

    state: Literal["ready", "busy", "fault", "dead"]
    text: str
    """``ready · 12 ms``, ``computing``, ``2 faults``."""


class OverwriteQuestion(TypedDict):
    """Existing file to be overwritten; all texts are empty if there is no question."""

    number: int
    """Counter, incremented with each question."""
    do: str
    """Action that asks, to be sent again with ``overwrite``."""
    path: str
    """Path as typed."""
    message: str


class TextFile(TypedDict):
    """File for download."""

    number: int
    """Counter, incremented with each file; 0: no file yet."""
    text: str


class RecipeEntry(TypedDict):
    name: str
    line: str
    """One-line description."""
    picture: str
    """Four augmented photos: a ``data:`` URL; empty if there is none."""


class StartEntry(RecipeEntry):
    example: bool
    """Whether the graph is the initial example; otherwise it is empty."""


class OpenedData(TypedDict):
    """The open folder or file, and why the last requested one was refused."""

    path: str
    refused: str
    outside: str
    """As in the data panel."""
    places: dict[str, str]
    """Absolute path of each parameter's data, for a link; empty if given in Python."""


class RunningWork(TypedDict):
    """Running measurement, comparison or check, shown on the tab of its panel."""

    tab: str
    text: str
    share: float
    """Progress from 0 to 1."""


class RecentEntry(TypedDict):
    """Stored session."""

    owner: str
    name: str
    """Name of the graph."""
    when: str
    """Time of the last change: ``09:05`` or ``4 Mar, 17:30``."""
    data: str
    """Last part of the folder's path; empty if the data was passed in Python."""
    picture: str
    """``data:`` URL of its first photos; empty if there is none."""
    open: bool
    """Whether a page or a notebook has it open."""


class RestoredEntry(TypedDict):
    """Earlier edits that were restored or are offered, or data of a shared graph that is not open.

    Empty: nothing to report.
    """

    text: NotRequired[str]
    offered: NotRequired[bool]
    """Whether the edits were not applied; ``apply_kept`` applies them."""
    choose: NotRequired[bool]
    """Whether data needs to be selected."""
    outside: NotRequired[str]
    """Data that ``open_shared_data`` opens; empty: it cannot be opened."""


class CellEntry(TypedDict):
    """The current graph as code of a cell; empty outside a notebook."""

    after: NotRequired[str]
    """Id of the cell that created the workbench; empty if unknown."""
    source: NotRequired[str]
    """Empty until ``describe_cell`` is requested."""
    asked: NotRequired[int]
    """Number of requests."""


class FaultEntry(TypedDict):
    """Reason why the graph cannot run."""

    node: str
    """Node id, or empty if the fault concerns the whole graph."""
    arg: str
    message: str
    remedy: str
    fixes: list[str]
    """Labels of its fixes; ``fix`` accepts them as names."""
    warning: bool
    """True for a warning, which does not prevent a run."""


class ImportRow(TypedDict):
    """Part of the import that differs from the original."""

    kind: str
    """``changed``, ``left out`` and others."""
    subject: str
    """Node, transform or value; empty: the whole pipeline."""
    place: str
    """``train.py:12``; empty if unknown."""
    why: str
    node: str
    """Node to select; empty if there is none."""


class ImportEntry(TypedDict):
    """Report of the import that created the graph."""

    summary: str
    """``12 of 14 steps exact, 2 changed``."""
    rows: list[ImportRow]
    notes: list[str]


class HistoryEntry(TypedDict):
    """Step of undo or redo."""

    step: int
    """Number of done steps after it, an argument of ``go_to``."""
    label: str
    """``angle of rotate to 5``."""
    done: bool
    """True if the edit is applied; otherwise redo applies it."""


class PortEntry(TypedDict):
    """Input or output of a node."""

    name: str
    kind: str
    """``PortKind``: encoded, image, sound, label, boxes, mask, points, number, any."""
    argument: bool
    """True if the parameter is a named argument, False if it is positional."""
    fed: bool
    """True if the input is connected."""
    optional: bool
    flows: str
    """Type of its data: ``224×224×3 u8 HWC``, with ``?`` for what depends on the data."""


class DrawEntry(TypedDict):
    """Random argument whose generator is shown inside the node."""

    arg: str
    text: str
    """``angle ~ −10 … 10``."""


class BodyEntry(TypedDict):
    """Body of a block."""

    name: str
    """Name of the body, for example ``then``."""
    title: str
    """Title set by the user; may be empty."""
    scope: str
    """Id of the block and name of the body, for example ``branch.then``."""
    nodes: int
    """Number of nodes without generators."""
    faulty: bool
    """Whether a node in it has a fault."""


class ScopeBody(TypedDict):
    """Body of a block on the path to the visible body."""

    name: str
    title: str
    """Title set by the user; may be empty."""
    scope: str
    shown: bool
    """True if the body is on the path."""


class ScopeEntry(TypedDict):
    """Block on the path from the graph to the visible body."""

    block: str
    op: str
    bodies: list[ScopeBody]


Role = Literal["read", "decode", "geometry", "colour", "arithmetic", "output", "other"]
"""Role of an operator, which sets the colour of its card."""


class NodeEntry(TypedDict):
    """Box on the canvas. The first box of a body represents its inputs."""

    id: str
    """For the inputs of a body its scope, ``branch.then``."""
    scope: str
    """Body that contains it; empty for the graph itself."""
    op: str
    """Empty for the inputs of a body."""
    title: str
    """Text of the card: the operator, the call that an opaque node represents, or a block's
    condition.
    """
    label: str
    role: Role
    device: Literal["cpu", "gpu", "mixed"]
    output: str
    """``224×224×3 u8``, ``jpeg, label``; ``?`` for what depends on the data."""
    values: str
    """Changed values: ``size 256, fill_value 0``; may be empty."""
    draws: list[DrawEntry]
    inputs: list[PortEntry]
    """Positional ports, then arguments connected to a visible node."""
    outputs: list[PortEntry]
    fault: str
    """Message of its first fault, or empty."""
    warned: bool
    """Whether ``fault`` is a warning, which does not stop a run."""
    movable: bool
    """True if the node can be swapped with its neighbour (readers and decoders cannot)."""
    generator: bool
    """True for a generator of random numbers; with one consumer it can be shown inside it."""
    known: bool
    """False for an operator that the installed DALI does not have, and for code that a graph cannot
    represent: these nodes are not changed.
    """
    twin: bool
    """Whether another node has the same operator."""
    note: str
    """Remark other than a fault: ``not connected``, ``muted``."""
    muted: bool
    """True if the node is excluded from the run."""
    loose: bool
    """True if no output depends on the node; it is then not run."""
    bodies: list[BodyEntry]
    """Bodies of a block."""
    expanded: bool
    """Whether its bodies are shown in a frame; the entries of their nodes follow it."""


class FrameEntry(TypedDict):
    """Named group of nodes."""

    id: str
    title: str
    nodes: list[str]


class NoteEntry(TypedDict):
    """Note on the canvas, with the position of its corner, relative to ``node`` if set."""

    id: str
    text: str
    x: float
    y: float
    node: str


class EdgeEntry(TypedDict):
    """Edge to a node or to an output of the graph."""

    id: str
    """``target:input``; ``:name`` for the outputs of the visible body, ``branch.then:name`` for
    those of a body shown inside it.
    """
    source: str
    output: str
    target: str
    """Node id; empty for the outputs of a body."""
    input: str
    """Port, argument, or name of the output."""
    kind: str
    argument: bool
    crosses: str
    """``to the GPU`` if data is copied on this edge, else empty."""


class ConnectTargets(TypedDict):
    """Response to ``connect_targets``: inputs that an output can be connected to."""

    source: str
    """``node.output``; empty before the first request."""
    reasons: dict[str, str]
    """Edge id (``target:input``) -> why it is not possible; empty if it is."""


class CompatibleOps(TypedDict):
    """Response to ``compatible_ops``: operators that can be added at a place."""

    place: str
    """``node.output`` or an edge's id, as requested."""
    kind: str
    """Kind of the data there; empty for an empty graph."""
    reasons: dict[str, str]
    """Operator or template -> why it does not fit; those that fit are omitted."""
    tried: list[str]
    """Operators that were tried on the graph."""
    fixes: dict[str, list[str]]
    """Operator or template that does not fit -> labels of fixes that make it fit."""


class OperatorEntry(TypedDict):
    """Operator in the search."""

    name: str
    label: str
    synonyms: list[str]
    """Names in other libraries, and synonyms."""
    category: str
    summary: str
    devices: list[str]
    unusable: str
    """Why it is disabled; empty if it can be added."""
    words: str
    """Words of DALI's documentation for the search."""
    inputs: list[str]
    """Kinds of its positional ports."""
    outputs: list[str]
    """Kinds of its outputs."""


class TemplateEntry(TypedDict):
    """Template in the search."""

    name: str
    label: str
    synonyms: list[str]
    summary: str
    nodes: list[str]
    """Operators of its nodes."""
    mixes: bool
    """True if the template needs the images of two nodes."""
    first_for: list[str]
    """Queries for which it precedes an operator with that name."""


class RecipeLine(TypedDict):
    """Recipe in the search."""

    name: str
    line: str
    """One-line description."""


class ArgumentSearchEntry(TypedDict):
    """Argument of the inspected node in the search."""

    name: str
    label: str
    summary: str


class TargetEntry(TypedDict):
    """Export target."""

    name: str
    about: str
    """Short description of the exported files."""


class CodeFile(TypedDict):
    """File of an export."""

    path: str
    """Path inside the export."""
    text: str


class CodeFault(TypedDict):
    """Why the current graph cannot be exported to the target; empty texts if it can."""

    message: str
    node: str
    """Node with the fault, or empty."""


# Search results besides operators and nodes: templates, arguments, recipes


def template_entries(templates: Iterable[Template]) -> list[TemplateEntry]:
    """Entries of all templates."""
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
    """Arguments of an operator; empty if it does not exist."""
    spec = catalog.find(op)
    return [
        {"name": arg.name, "label": arg.label, "summary": first_sentence(arg.doc)}
        for arg in (spec.args.values() if spec else ())
        if not arg.deprecated
    ]


def recipe_lines(recipes: Iterable[RecipeEntry]) -> list[RecipeLine]:
    """Recipes without their pictures."""
    return [{"name": recipe["name"], "line": recipe["line"]} for recipe in recipes]


# Payloads of the status line


class LastSpeed(TypedDict):
    """Last measured speed of the current graph on this machine."""

    device: Literal["cpu", "mixed"]
    rate: float
    """Median imgs/s of the whole pipeline."""
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""
    when: str
    """ISO 8601 with time zone; empty if it was not recorded."""
    settings: str
    """``batch 64 · 4 threads · prefetch 2``."""
    unstable: bool


class AutosaveState(TypedDict):
    """Whether edits are autosaved."""

    state: Literal["kept", "waiting", "not kept"]
    text: str
    reason: str
    """Why edits are not autosaved, or not yet; else empty."""


def status_fields(
    faults: Sequence[FaultEntry], speeds: Sequence[LastSpeed], kept: AutosaveState
) -> dict[str, Any]:
    """All fields of the component."""
    return {"faults": list(faults), "speeds": list(speeds), "kept": kept}
