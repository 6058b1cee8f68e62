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
"""A JSON value, such as an argument's fixed value or a graph file."""


class DeviceChoice(TypedDict):
    """Option of the CPU / mixed switch."""

    id: str
    label: str
    """Text of the option: ``CPU`` or ``Mixed · H200``."""
    disabled: str
    """Why the option cannot be selected; empty if it can be."""


class Status(TypedDict):
    """Status of the graph, shown at the top right."""

    state: Literal["ready", "busy", "fault", "dead"]
    text: str
    """Text of the status: ``ready · 12 ms``, ``computing``, ``2 faults``."""


class OverwriteQuestion(TypedDict):
    """Question whether to overwrite an existing file; all texts are empty if there is none."""

    number: int
    """Counter, incremented with each question."""
    do: str
    """``do`` of the action that asks; the browser sends it again with ``overwrite``."""
    path: str
    """Path as the user typed it."""
    message: str


class TextFile(TypedDict):
    """File for download."""

    number: int
    """Counter, incremented with each file; 0 if there is no file yet."""
    text: str


class RecipeEntry(TypedDict):
    name: str
    line: str
    picture: str
    """``data:`` URL of four augmented photos; empty if there is none."""


class StartEntry(RecipeEntry):
    example: bool
    """Whether the graph is the initial example; otherwise the graph has no nodes."""


class OpenedData(TypedDict):
    """The open folder or file, and why the last requested one was refused."""

    path: str
    refused: str
    outside: str
    """Path of that folder if the user may open it after a confirmation; otherwise empty."""
    places: dict[str, str]
    """Absolute path of each parameter's data, for a link; empty if the data was passed in Python.
    """


class RunningWork(TypedDict):
    """Measurement, comparison or check in progress, shown on the tab of its panel."""

    tab: str
    text: str
    share: float
    """Progress from 0 to 1."""


class RecentEntry(TypedDict):
    """Stored session in the list of recent work."""

    owner: str
    name: str
    when: str
    """Time of the last change: ``09:05`` or ``4 Mar, 17:30``."""
    data: str
    """Last part of the folder's path; empty if the data was passed in Python."""
    picture: str
    """``data:`` URL of its first photos; empty if there is none."""
    open: bool
    """Whether the session is open in a page or a notebook."""


class RestoredEntry(TypedDict):
    """Stored edits that were restored or are offered, or data of a shared graph that is not open.

    Empty if there is nothing to report.
    """

    text: NotRequired[str]
    offered: NotRequired[bool]
    """Whether the edits are only offered; ``apply_kept`` applies them."""
    choose: NotRequired[bool]
    """Whether the user must choose the data."""
    outside: NotRequired[str]
    """Path of the data that ``open_shared_data`` opens; empty if they cannot be opened."""


class CellEntry(TypedDict):
    """The current graph as code of a notebook cell; empty outside notebooks."""

    after: NotRequired[str]
    """Id of the cell that created the workbench; empty if unknown."""
    source: NotRequired[str]
    """Code of the cell; empty until ``describe_cell`` is requested."""
    asked: NotRequired[int]
    """Number of requests so far."""


class FaultEntry(TypedDict):
    """Reason why the graph cannot run."""

    node: str
    """Node id, or empty if the fault concerns the whole graph."""
    arg: str
    message: str
    remedy: str
    fixes: list[str]
    """Labels of the fault's fixes, by which the action ``fix`` selects one."""
    warning: bool
    """True for a warning, which does not prevent a run."""


class ImportRow(TypedDict):
    """Part of an import that differs from the original."""

    kind: str
    """Kind of difference, such as ``changed``."""
    subject: str
    """Node, transform or value; empty for the whole pipeline."""
    place: str
    """Line of the source, such as ``train.py:12``; empty if unknown."""
    why: str
    node: str
    """Id of the node to select; empty if there is none."""


class ImportEntry(TypedDict):
    """Report of the import that created the graph."""

    summary: str
    """Summary of the import, such as ``12 of 14 steps exact, 2 changed``."""
    rows: list[ImportRow]
    notes: list[str]


class HistoryEntry(TypedDict):
    """One edit in the history, which can be undone or redone."""

    step: int
    """Number of applied edits after going to this edit; an argument of ``go_to``."""
    label: str
    """Description of the edit, such as ``angle of rotate to 5``."""
    done: bool
    """True if the edit is applied; False if it was undone."""


class PortEntry(TypedDict):
    """Input or output of a node."""

    name: str
    kind: str
    """Kind of data: encoded, image, sound, label, boxes, mask, points, number or any."""
    argument: bool
    """True if the input is a named argument, False if it is positional."""
    fed: bool
    optional: bool
    flows: str
    """Type of the port's data, ``224×224×3 u8 HWC``, with ``?`` for values that depend on the data.
    """


class DrawEntry(TypedDict):
    """Random argument whose generator is shown inside the node."""

    arg: str
    text: str
    """Distribution as text, such as ``angle ~ −10 … 10``."""


class BodyEntry(TypedDict):
    """Body of a block."""

    name: str
    title: str
    """Title set by the user; may be empty."""
    scope: str
    """Id of the block and name of the body, for example ``branch.then``."""
    nodes: int
    """Number of nodes without generators."""
    faulty: bool


class ScopeBody(TypedDict):
    """Body of a block on the path to the visible body, or of a block next to it."""

    name: str
    title: str
    """Title set by the user; may be empty."""
    scope: str
    shown: bool
    """Whether the body is on the path to the visible body."""


class ScopeEntry(TypedDict):
    """Block on the path from the graph to the visible body."""

    block: str
    op: str
    bodies: list[ScopeBody]


Role = Literal["read", "decode", "geometry", "colour", "arithmetic", "output", "other"]
"""Role of an operator, which sets the colour of its card."""


class NodeEntry(TypedDict):
    """Card on the canvas. The first card of a body represents its inputs."""

    id: str
    """Id of the node; for the inputs of a body, the body itself (``branch.then``)."""
    scope: str
    """Body that contains the node; empty for the graph itself."""
    op: str
    """Name of the operator; empty for the inputs of a body."""
    title: str
    """Text of the card: the operator, the call that an opaque node represents, or a block's
    condition.
    """
    label: str
    role: Role
    device: Literal["cpu", "gpu", "mixed"]
    output: str
    """Shape and type of the outputs, ``224×224×3 u8``, with ``?`` for values that depend on the
    data."""
    values: str
    """Arguments that differ from their defaults, such as ``size 256, fill_value 0``; may be empty.
    """
    draws: list[DrawEntry]
    inputs: list[PortEntry]
    """Positional inputs, followed by arguments connected to a visible node."""
    outputs: list[PortEntry]
    fault: str
    """Message of the node's first fault, or empty."""
    warned: bool
    """Whether ``fault`` is a warning, which does not stop a run."""
    movable: bool
    """True if the node can be swapped with its neighbour (readers and decoders cannot)."""
    generator: bool
    """True for a generator of random numbers. If one node uses it, it can be shown inside that
    node."""
    known: bool
    """False for an operator that the installed DALI does not have, and for code that a graph cannot
    represent. Such nodes cannot be edited."""
    twin: bool
    """Whether another node has the same operator."""
    note: str
    """Remark other than a fault: ``not connected``, ``muted``."""
    muted: bool
    """True if the node is excluded from the run."""
    loose: bool
    """True if no output depends on the node; it is then not run."""
    bodies: list[BodyEntry]
    expanded: bool
    """Whether the block's bodies are shown in a frame; the entries of their nodes follow this one.
    """


class FrameEntry(TypedDict):
    """Named group of nodes."""

    id: str
    title: str
    nodes: list[str]


class NoteEntry(TypedDict):
    """Note on the canvas. The position of its corner is relative to ``node``, if set."""

    id: str
    text: str
    x: float
    y: float
    node: str


class EdgeEntry(TypedDict):
    """Edge to a node or to an output of the graph."""

    id: str
    """Id of the edge: ``target:input``; ``:name`` for outputs of the visible body,
    ``branch.then:name`` for outputs of a body shown inside it."""
    source: str
    output: str
    target: str
    """Node id; empty for the outputs of a body."""
    input: str
    """Name of the input, of the argument, or of the graph's output."""
    kind: str
    argument: bool
    crosses: str
    """``to the GPU`` if the edge copies data to the GPU, else empty."""


class ConnectTargets(TypedDict):
    """Response to ``connect_targets``: inputs that an output can be connected to."""

    source: str
    """Requested port, ``node.output``; empty before the first request."""
    reasons: dict[str, str]
    """Why the output cannot be connected, by edge id (``target:input``); empty texts if it can be.
    """


class CompatibleOps(TypedDict):
    """Response to ``compatible_ops``: operators that can be added at a port or on an edge."""

    place: str
    """Requested port, ``node.output``, or id of the edge."""
    kind: str
    """Kind of data at the port or edge; empty for an empty graph."""
    reasons: dict[str, str]
    """Why an operator or template cannot be added, by name; those that can be added are omitted."""
    tried: list[str]
    """Operators that were tried on the graph."""
    fixes: dict[str, list[str]]
    """Labels of fixes with which an operator or template can be added after all, by name."""


class OperatorEntry(TypedDict):
    """Operator in the search results."""

    name: str
    label: str
    synonyms: list[str]
    """Names in other libraries, and synonyms."""
    category: str
    summary: str
    devices: list[str]
    unusable: str
    """Why the operator is disabled; empty if it can be added."""
    words: str
    """Words of DALI's documentation for the search."""
    inputs: list[str]
    """Kinds of data of its positional inputs."""
    outputs: list[str]


class TemplateEntry(TypedDict):
    """Template in the search results."""

    name: str
    label: str
    synonyms: list[str]
    summary: str
    nodes: list[str]
    """Names of the operators of its nodes."""
    mixes: bool
    """True if the template needs the images of two nodes."""
    first_for: list[str]
    """Search texts for which the template precedes an operator with that name."""


class RecipeLine(TypedDict):
    """Recipe in the search results."""

    name: str
    line: str


class ArgumentSearchEntry(TypedDict):
    """Argument of the inspected node in the search results."""

    name: str
    label: str
    summary: str


class TargetEntry(TypedDict):
    """Export target."""

    name: str
    about: str
    """Short description of the exported files."""


class CodeFile(TypedDict):
    """One file of an export."""

    path: str
    text: str


class CodeFault(TypedDict):
    """Reason why the current graph cannot be exported to the target; empty texts if it can be."""

    message: str
    node: str


# Search results besides operators and nodes: templates, arguments, recipes


def template_entries(templates: Iterable[Template]) -> list[TemplateEntry]:
    """Return the entries of all templates."""
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
    """Return the entries of an operator's arguments; empty if the operator does not exist."""
    spec = catalog.find(op)
    return [
        {"name": arg.name, "label": arg.label, "summary": first_sentence(arg.doc)}
        for arg in (spec.args.values() if spec else ())
        if not arg.deprecated
    ]


def recipe_lines(recipes: Iterable[RecipeEntry]) -> list[RecipeLine]:
    """Return recipes without their pictures."""
    return [{"name": recipe["name"], "line": recipe["line"]} for recipe in recipes]


# Payloads of the status line


class LastSpeed(TypedDict):
    """Last measured speed of the current graph on this machine."""

    device: Literal["cpu", "mixed"]
    rate: float
    """Median imgs/s of the whole pipeline."""
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
    when: str
    """Time of the measurement (ISO 8601 with time zone); empty if unknown."""
    settings: str
    """Settings as text, such as ``batch 64 · 4 threads · prefetch 2``."""
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
    """Return all fields of the status line."""
    return {"faults": list(faults), "speeds": list(speeds), "kept": kept}
