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
    """Option of the switch between CPU and mixed decoding."""

    id: str
    label: str
    """Text of the option: ``CPU`` or ``Mixed · H200``."""
    disabled: str
    """Reason why the option cannot be selected; empty if it can."""


class Status(TypedDict):
    """Status of the graph, shown at the top right."""

    state: Literal["ready", "busy", "fault", "dead"]
    text: str
    """Text of the status: ``ready · 12 ms``, ``computing``, ``2 faults``."""


class OverwriteQuestion(TypedDict):
    """Question whether to overwrite an existing file; all texts are empty if nothing is asked."""

    number: int
    """Counter, incremented with each question."""
    do: str
    """``do`` of the action that wrote the file; the browser repeats it with ``overwrite``."""
    path: str
    """File path, as the user typed it."""
    message: str


class VersionEntry(TypedDict):
    """Dataset version that was rendered last, or its proof."""

    state: Literal["none", "running", "done", "failed"]
    text: str
    """Current step, or the result."""
    share: float
    """Progress from 0 to 1."""
    lines: list[str]
    """Path and content of the complete version, and differences that the proof found."""
    provable: bool


class TextFile(TypedDict):
    """Text file for download."""

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
    """True if the graph is the initial example, False if it has no nodes."""


class OpenedData(TypedDict):
    """The open folder or file, and the reason why another folder or file could not be opened."""

    path: str
    refused: str
    outside: str
    """Path of the refused folder if the user may open it after a confirmation; empty otherwise."""
    places: dict[str, str]
    """Absolute path of the data by parameter, used in links; empty for data passed in Python."""


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
    """Name of the data folder; empty for data passed in Python."""
    picture: str
    """``data:`` URL of the session's first photos; empty if there is none."""
    open: bool
    """True if the session is open in a page or notebook."""


class RestoredEntry(TypedDict):
    """Report on restored or offered edits, or on data of a shared graph that are not open.

    The dict is empty if there is nothing to report.
    """

    text: NotRequired[str]
    offered: NotRequired[bool]
    """True if the edits are only offered; ``apply_kept`` applies them."""
    choose: NotRequired[bool]
    """True if the user must choose the data."""
    outside: NotRequired[str]
    """Path of the data that ``open_shared_data`` would open; empty if they cannot be opened."""


class CellEntry(TypedDict):
    """The current graph as code of a notebook cell; an empty dict outside notebooks."""

    after: NotRequired[str]
    """Id of the cell that created the workbench; empty if it is unknown."""
    source: NotRequired[str]
    """Code of the cell; empty until ``describe_cell`` is requested."""
    asked: NotRequired[int]
    """Number of ``describe_cell`` requests so far."""


class FaultEntry(TypedDict):
    """Reason why the graph cannot run, or a warning."""

    node: str
    """Id of the faulty node; empty if the fault concerns the whole graph."""
    arg: str
    message: str
    remedy: str
    fixes: list[str]
    """Labels of the available fixes. The action ``fix`` selects one by its label."""
    warning: bool
    """True for a warning, which does not prevent a run."""


class ImportRow(TypedDict):
    """Difference between the imported graph and the original program."""

    kind: str
    """Kind of difference, such as ``changed``."""
    subject: str
    """Node, transform or value that differs; empty for the whole pipeline."""
    place: str
    """Line in the original program, such as ``train.py:12``; empty if unknown."""
    why: str
    node: str
    """Id of the node to select; empty if there is none."""


class ImportEntry(TypedDict):
    """Report on the import that created the graph."""

    summary: str
    """Summary of the import, such as ``12 of 14 steps exact, 2 changed``."""
    rows: list[ImportRow]
    notes: list[str]


class HistoryEntry(TypedDict):
    """One edit in the history, which can be undone or redone."""

    step: int
    """Argument ``step`` of ``go_to`` for this entry: the number of edits that are then applied."""
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
    """Shape and type of the port's data, ``224×224×3 u8 HWC``, with ``?`` for unknown sizes."""


class DrawEntry(TypedDict):
    """Random argument whose generator is shown inside the node's card."""

    arg: str
    text: str
    """Distribution as text, such as ``angle ~ −10 … 10``."""


class BodyEntry(TypedDict):
    """Body of a block."""

    name: str
    title: str
    """Title set by the user; empty if there is none."""
    scope: str
    """Id of the block and name of the body, for example ``branch.then``."""
    nodes: int
    """Number of nodes in the body, without generators."""
    faulty: bool


class ScopeBody(TypedDict):
    """Body of a block in the breadcrumb."""

    name: str
    title: str
    """Title set by the user; empty if there is none."""
    scope: str
    shown: bool
    """True if this body contains the visible body, or is the visible body."""


class ScopeEntry(TypedDict):
    """Block in the breadcrumb, which contains the visible body."""

    block: str
    op: str
    bodies: list[ScopeBody]


Role = Literal["read", "decode", "geometry", "colour", "arithmetic", "output", "other"]
"""Role of an operator, which determines the colour of its card."""


class NodeEntry(TypedDict):
    """Card of a node on the canvas. The first card of a body represents the body's inputs."""

    id: str
    """Id of the node. The card of a body's inputs has the id of the body (``branch.then``)."""
    scope: str
    """Body that contains the node; empty for the top level of the graph."""
    op: str
    """Name of the operator; empty for the card of a body's inputs."""
    title: str
    """Text of the card: the operator, the condition of a block, or the source code of an
    opaque node.
    """
    label: str
    role: Role
    device: Literal["cpu", "gpu", "mixed"]
    output: str
    """Shape and type of the outputs, ``224×224×3 u8``, with ``?`` for sizes that depend on
    the data.
    """
    values: str
    """Arguments that differ from their defaults, such as ``size 256, fill_value 0``."""
    draws: list[DrawEntry]
    inputs: list[PortEntry]
    """Positional inputs, followed by arguments that are connected to a visible node."""
    outputs: list[PortEntry]
    fault: str
    """Message of the node's first fault or warning; empty if there is none."""
    warned: bool
    """True if ``fault`` is a warning, which does not stop a run."""
    movable: bool
    """True if the node can be swapped with the next or previous node (readers and decoders
    cannot).
    """
    generator: bool
    """True for a generator of random numbers. If only one node uses the generator, it can be shown
    inside that node.
    """
    known: bool
    """False for an operator that the installed DALI does not have, and for code that a graph cannot
    represent. Such nodes cannot be edited."""
    twin: bool
    """True if another node has the same operator."""
    note: str
    """Remark that is not a fault, such as ``not connected`` or ``muted``."""
    muted: bool
    """True if the node is excluded from the run."""
    loose: bool
    """True if no graph output depends on the node, so it does not run."""
    bodies: list[BodyEntry]
    expanded: bool
    """True if the block is drawn as a frame. The entries of the nodes inside follow this entry."""


class FrameEntry(TypedDict):
    """Named group of nodes."""

    id: str
    title: str
    nodes: list[str]


class NoteEntry(TypedDict):
    """Note on the canvas. Its position is relative to the corner of ``node`` if that is set."""

    id: str
    text: str
    x: float
    y: float
    node: str


class EdgeEntry(TypedDict):
    """Edge to a node or to a graph output."""

    id: str
    """Id of the edge: ``target:input``; ``:name`` for outputs of the visible body;
    ``branch.then:name`` for outputs of a body that is drawn inside its block.
    """
    source: str
    output: str
    target: str
    """Id of the target node; empty for outputs of a body."""
    input: str
    """Name of the target's input or argument, or of the graph output."""
    kind: str
    argument: bool
    crosses: str
    """``to the GPU`` if the edge copies data to the GPU; empty otherwise."""


class ConnectTargets(TypedDict):
    """Response to ``connect_targets``: the inputs to which an output can be connected."""

    source: str
    """The output, as ``node.output``; empty before the first request."""
    reasons: dict[str, str]
    """Reason why an input cannot be connected, by edge id (``target:input``); empty if it can."""


class CompatibleOps(TypedDict):
    """Response to ``compatible_ops``: operators that can be added at a port or on an edge."""

    place: str
    """Requested port (``node.output``) or edge id."""
    kind: str
    """Kind of data at the port or edge; empty for an empty graph."""
    reasons: dict[str, str]
    """Reason why an operator or template cannot be added, by name."""
    tried: list[str]
    """Operators and templates that were inserted into a copy of the graph to find faults."""
    fixes: dict[str, list[str]]
    """Labels of possible repairs, by the name of the refused operator or template."""


class OperatorEntry(TypedDict):
    """Operator or block that can be searched for and added."""

    name: str
    label: str
    synonyms: list[str]
    """Synonyms, including names in other libraries."""
    category: str
    summary: str
    devices: list[str]
    unusable: str
    """Reason why the operator is disabled; empty if it can be added."""
    words: str
    """Words of DALI's documentation that the search also matches."""
    inputs: list[str]
    """Kind of data of each positional input."""
    outputs: list[str]


class TemplateEntry(TypedDict):
    """Template that can be searched for and added."""

    name: str
    label: str
    synonyms: list[str]
    summary: str
    nodes: list[str]
    """Operators of the template's nodes."""
    mixes: bool
    """True if the template needs the images of two nodes."""
    first_for: list[str]
    """Search texts for which the template is listed before an operator of the same name."""


class RecipeLine(TypedDict):
    """Recipe that can be searched for."""

    name: str
    line: str


class ArgumentSearchEntry(TypedDict):
    """Argument of the inspected node that can be searched for."""

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
    """Reason why the graph cannot be exported to the target; all texts are empty if it can."""

    message: str
    node: str


# Search results besides operators and nodes: templates, arguments, recipes


def template_entries(templates: Iterable[Template]) -> list[TemplateEntry]:
    """Return payloads of the templates."""
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
    """Return payloads of an operator's arguments; empty if the operator does not exist."""
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
    figure: str
    """Rate of the whole pipeline with its unit; a range if it is not known within 3 %."""
    when: str
    """Time of the measurement (ISO 8601 with time zone); empty if unknown."""
    settings: str
    """Settings as text, such as ``batch 64 · 4 threads · prefetch 2``."""
    unstable: bool


class AutosaveState(TypedDict):
    """State of the autosave, with a label and the reason if edits are not stored."""

    state: Literal["kept", "waiting", "not kept", "off"]
    """``off`` means that autosaving was not requested, and ``not kept`` that it fails."""
    text: str
    reason: str
    """Reason why edits are not autosaved, or not yet; empty if they are."""


def status_fields(
    faults: Sequence[FaultEntry], speeds: Sequence[LastSpeed], autosave: AutosaveState
) -> dict[str, Any]:
    """Return the values of all fields of the status line."""
    return {"faults": list(faults), "speeds": list(speeds), "kept": autosave}
