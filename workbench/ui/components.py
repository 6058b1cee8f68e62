"""The one table of components: which fields each has, and who may set them.

Both hosts build their widgets from it: ``ui/notebook.py`` makes traitlets of the fields,
``ui/web.py`` makes params. A component is one ES module, ``frontend/src/<name>.ts``.

A field has one of three directions:

``show``    Python sets it, the browser draws it (types in ``views.py``).
``both``    either side sets it; the last one wins.
``picture`` bytes: u32 little-endian header length, a JSON ``SheetHeader``, the image. Pixels and
            what they mean travel in one field because Panel does not update several atomically.

Besides these every component has two fields by which the browser asks for an edit:

``outbox``  list of ``{"n": 1, "do": "set_arg", ...}``, numbered from 1 up; the browser appends,
``ack``     the highest ``n`` that Python has carried out; the browser then drops up to it.

A list with an acknowledgement, and not one field for the last edit, because a host may merge two
quick changes of one field into one. Numbers start at a random high value for each view, so a
reloaded page is not mistaken for an old one (``n`` at or below the last seen of the same
``view`` is ignored).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from workbench.ui import views

Direction = Literal["show", "both", "picture"]


@dataclass(frozen=True, slots=True)
class Field:
    """One synchronised field. ``default`` also gives its type."""

    name: str
    direction: Direction
    default: Any
    doc: str
    choices: tuple[str, ...] = ()
    holds: Any = None
    """The type of a list's items, or of the dict, for ``frontend/src/views.ts``."""


@dataclass(frozen=True, slots=True)
class Component:
    """One component: an ES module of the same name, and its fields."""

    name: str
    doc: str
    fields: tuple[Field, ...]
    actions: dict[str, str] = field(default_factory=dict)
    """What the browser may ask for: action -> its parameters, for the reader."""


TABS = ("preview", "speed", "code", "data")

COMPONENTS: tuple[Component, ...] = (
    Component(
        "bar",
        "Title, data, device switch, undo and redo, state of the worker, files.",
        (
            Field("title", "show", "", "Name of the graph."),
            Field("folder", "show", "", "``samples/ · 96 images``."),
            Field("device", "both", "cpu", "Where images are decoded.", ("cpu", "mixed")),
            Field("devices", "show", [], "list[DeviceChoice]", holds=views.DeviceChoice),
            Field("can_undo", "show", False, "Whether there is an edit to undo."),
            Field("can_redo", "show", False, "Whether there is an edit to redo."),
            Field(
                "status",
                "show",
                {"state": "busy", "text": "starting"},
                "Status",
                holds=views.Status,
            ),
            Field("recipes", "show", [], "list[RecipeEntry]", holds=views.RecipeEntry),
            Field("faults", "show", [], "list[FaultEntry]", holds=views.FaultEntry),
            Field("message", "show", "", "What the last action did or why it failed."),
            Field("saved", "show", "", "The graph's JSON, for the browser to offer as a file."),
        ),
        {
            "undo": "",
            "redo": "",
            "recipe": "name",
            "open": "text (a graph file's content)",
            "save": "path (of the graph's JSON, in the working folder)",
            "select": "node",
            "export": "path (of the script, in the working folder)",
        },
    ),
    Component(
        "canvas",
        "The nodes. For now an ordered list.",
        (
            Field("nodes", "show", [], "list[NodeEntry]", holds=views.NodeEntry),
            Field("operators", "show", [], "list[OperatorEntry]", holds=views.OperatorEntry),
            Field("selected", "both", "", "Id of the selected node."),
        ),
        {
            "add": "op, after (node id; empty: at the end)",
            "move": "node, by (-1 or 1)",
            "remove": "node",
            "undo": "",
            "redo": "",
        },
    ),
    Component(
        "inspector",
        "The arguments of the selected node.",
        (Field("node", "show", {}, "InspectorView", holds=views.InspectorView),),
        {
            "set": "node, arg, value, group (an id shared by the steps of one drag)",
            "reset": "node, arg",
            "randomise": "node, arg, op (a random.* operator)",
            "fix": "node, arg",
            "set_random": "node, arg, key (an argument of the generator), value, group",
            "undo": "",
            "redo": "",
        },
    ),
    Component(
        "tabs",
        "Which of the lower panels is open.",
        (Field("tab", "both", "preview", "The open one.", TABS),),
    ),
    Component(
        "preview",
        "A batch, original and augmented.",
        (
            Field("picture", "picture", b"", "The contact sheet."),
            Field("mode", "both", "both", "What is shown.", ("original", "augmented", "both")),
            Field("batch", "both", 0, "Index of the batch, from 0."),
            Field("seed", "both", 42, "The graph's seed."),
            Field("tiles", "both", 16, "How many samples are shown, 4 to 64."),
            Field(
                "stale", "show", "", "Why the picture is not of the present graph; empty if it is."
            ),
        ),
    ),
    Component(
        "speed",
        "imgs/s, CPU against mixed decoding.",
        (
            Field("running", "show", False, "Whether a measurement runs."),
            Field("progress", "show", 0.0, "0 to 1."),
            Field("message", "show", "", "What runs now, or how the last run ended."),
            Field("rows", "show", [], "list[SpeedRow]", holds=views.SpeedRow),
            Field("batch_size", "both", 64, "Samples in a batch."),
            Field("threads", "both", 4, "Threads of the pipeline."),
        ),
        {"measure": "", "cancel": ""},
    ),
    Component(
        "code",
        "The exported script, live.",
        (
            Field("source", "show", "", "The script."),
            Field(
                "lit", "show", [], "Line numbers, from 1, that the selected node made.", holds=int
            ),
            Field("message", "show", "", "Where it was saved, or why not."),
        ),
        {"save": "path (in the working folder)"},
    ),
    Component(
        "data",
        "The folder: counts, sizes, formats, unreadable files.",
        (Field("summary", "show", {}, "DataView", holds=views.DataView),),
        {"open": "path", "check": ""},
    ),
)
