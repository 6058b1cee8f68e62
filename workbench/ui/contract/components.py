"""The one table of components: which fields each has, and who may set them.

Both hosts build their widgets from it: ``ui/notebook/widget.py`` makes traitlets of the fields,
``ui/web.py`` makes params. A component is one ES module, ``frontend/src/<name>.ts``.

A field has one of four directions:

``show``    Python sets it, the browser draws it (types in ``views.py``).
``both``    either side sets it; the last one wins.
``picture`` bytes: u32 little-endian header length, a JSON header (``SheetHeader`` and the like),
            the image. Pixels and what they mean travel in one field because Panel does not update
            several atomically.
``python``  Python sets it for cells to read and observe; it is not sent.

Besides these every component has those of ``LINK_FIELDS``. By two the browser asks for an edit:

``outbox``  list of ``{"n": 1, "do": "set_arg", ...}``, numbered from 1 up; the browser appends,
``ack``     the highest ``n`` that Python has carried out; the browser then drops up to it.

A list with an acknowledgement, and not one field for the last edit, because a host may merge two
quick changes of one field into one. Numbers start at a random high value for each view, so a
reloaded page is not mistaken for an old one (``n`` at or below the last seen of the same
``view`` is ignored). By the others it knows whether Python is there (``page_heartbeat.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from workbench.ui.contract import (
    data_views,
    inspector_views,
    preview_views,
    speed_views,
    views,
)
from workbench.ui.contract.selected_samples import SelectedSamples
from workbench.ui.speed import EFFORTS, PARTS

Direction = Literal["show", "both", "picture", "python"]


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


LINK_FIELDS = (
    Field("outbox", "both", [], "Edits that the browser asks for."),
    Field("ack", "show", 0, "The last of them that was carried out."),
    Field("workbench", "show", "", "Which workbench the component is a part of."),
    Field("watched", "both", 0, "Changed again and again by a page that looks."),
    Field("beat", "show", 0, "Changes while somebody looks: Python is there."),
)
"""What every component has besides its own."""

TABS = ("preview", "speed", "code", "data")
MODES = ("original", "augmented", "both", "difference", "compare")

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
            Field("undo_label", "show", "", "What undo takes back; empty: nothing."),
            Field("redo_label", "show", "", "What redo makes again; empty: nothing."),
            Field(
                "history",
                "show",
                [],
                "Steps of undo and redo, the oldest first; empty while nobody looks.",
                holds=views.HistoryEntry,
            ),
            Field("history_in_view", "both", False, "Whether the history is looked at."),
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
            Field("script", "show", {}, "What ``download_script`` made.", holds=views.TextFile),
            Field("save_folder", "show", "", "Where files with a plain name are saved."),
            Field("overwrite", "show", {}, "OverwriteQuestion", holds=views.OverwriteQuestion),
            Field("shared", "show", b"", "The PNG that ``share`` asked for; empty until it is."),
            Field(
                "tab",
                "show",
                "",
                "Owner of what is kept (``owner.py``). A page remembers it for its tab and hands "
                "it in by ``attach`` when it is loaded anew. Empty: nothing is kept, or a "
                "notebook is the owner.",
            ),
            Field("restored", "show", {}, "RestoredEntry", holds=views.RestoredEntry),
            Field("graph_number", "show", 0, "Another one whenever another graph is opened."),
            Field("opened", "show", 0, "Number of the graph that is to be confirmed by ``shown``."),
            Field("recent", "show", [], "list[RecentEntry]", holds=views.RecentEntry),
            Field("cell", "show", {}, "CellEntry", holds=views.CellEntry),
        ),
    ),
    Component(
        "canvas",
        "The nodes and what joins them.",
        (
            Field("nodes", "show", [], "list[NodeEntry]", holds=views.NodeEntry),
            Field("edges", "show", [], "list[EdgeEntry]", holds=views.EdgeEntry),
            Field(
                "breadcrumb",
                "show",
                [],
                "Blocks from the graph into the body that is shown. Empty: the graph itself is.",
                holds=views.ScopeEntry,
            ),
            Field(
                "positions",
                "show",
                {},
                "Where nodes were put by hand: id (``:name`` for an output) -> [x, y]. Empty: all "
                "are laid out automatically.",
                holds=dict[str, list[float]],
            ),
            Field("frames", "show", [], "list[FrameEntry]", holds=views.FrameEntry),
            Field("notes", "show", [], "list[NoteEntry]", holds=views.NoteEntry),
            Field("operators", "show", [], "list[OperatorEntry]", holds=views.OperatorEntry),
            Field("blocks", "show", [], "The same of blocks.", holds=views.OperatorEntry),
            Field("categories", "show", [], "Of operators, in the order of a palette.", holds=str),
            Field("templates", "show", [], "list[TemplateEntry]", holds=views.TemplateEntry),
            Field("snippets", "show", [], "What the person saved.", holds=views.TemplateEntry),
            Field("recipes", "show", [], "list[RecipeLine]", holds=views.RecipeLine),
            Field(
                "arguments", "show", [], "Of the inspected node.", holds=views.ArgumentSearchEntry
            ),
            Field("recent_folders", "show", [], "As ``list_folders`` found them.", holds=str),
            Field(
                "selected",
                "both",
                [],
                "Ids of the selected nodes; the last is inspected.",
                holds=str,
            ),
            Field("fragment", "show", "", "The selected nodes as text, to be copied."),
            Field(
                "copied_code",
                "show",
                {"number": 0, "text": ""},
                "The Python lines that ``copy_code`` asked for.",
                holds=views.TextFile,
            ),
            Field(
                "connect_targets",
                "show",
                {"source": "", "reasons": {}},
                "ConnectTargets",
                holds=views.ConnectTargets,
            ),
            Field(
                "compatible_ops",
                "show",
                {"place": "", "kind": "", "reasons": {}, "tried": []},
                "CompatibleOps",
                holds=views.CompatibleOps,
            ),
            Field("pictures", "picture", b"", "The cards' pictures: ``CardsHeader`` and JPEG."),
            Field("sample", "both", 0, "Which sample of the batch the cards show, from 0."),
            Field("show_targets", "both", True, "Whether targets are drawn over the cards."),
            Field(
                "in_view",
                "both",
                False,
                "Whether it is on the screen: only then pictures are made.",
            ),
            Field("stale", "show", "", "Why the pictures are not of the present graph."),
            Field("detail_of", "both", "", "Id of the node that is looked at; empty: none."),
            Field("detail", "picture", b"", "What it gave: ``DetailHeader`` and picture."),
        ),
    ),
    Component(
        "inspector",
        "The arguments of the selected node.",
        (
            Field("node", "show", {}, "InspectorView", holds=inspector_views.InspectorView),
            Field("classes", "show", [], "Names of the classes of the data.", holds=str),
            Field(
                "fused_speed",
                "show",
                {},
                "An if against one operator: FusedSpeedEntry.",
                holds=speed_views.FusedSpeedEntry,
            ),
            Field(
                "shares",
                "show",
                {},
                "How often the bodies of the shown block ran: InspectedSharesEntry.",
                holds=preview_views.InspectedSharesEntry,
            ),
            Field("effect_open", "both", False, "Whether the effect of arguments is wanted."),
            Field("effect_choices", "show", [], "Arguments whose effect can be seen.", holds=str),
            Field("effect_remark", "show", "", "What cannot be varied, and why; may be empty."),
            Field("effect_args", "both", [], "The one or two that are varied.", holds=str),
            Field("effect", "picture", b"", "One sample varied: ``EffectHeader`` and JPEG."),
            Field("effect_stale", "show", False, "Whether it is not of the present graph."),
            Field("effect_blocked", "show", "", "Why it cannot be computed; empty: it can."),
            Field("policy_rows", "both", [], "Sub-policies on the screen, from 0.", holds=int),
            Field("policy_pictures", "picture", b"", "One sample after each: ``PolicyHeader``."),
            Field(
                "augmentations",
                "show",
                {},
                "Names that a policy may have: whether they take a magnitude.",
                holds=dict[str, bool],
            ),
            Field("policies", "show", [], "Names of the learnt policies.", holds=str),
        ),
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
            Field("picture", "picture", b"", "The contact sheet: ``SheetHeader`` and image."),
            Field("mode", "both", "both", "What is shown.", MODES),
            Field(
                "show_original",
                "both",
                False,
                "Whether the originals are shown while a key is held.",
            ),
            Field(
                "baseline", "both", "", "Node that a difference compares with; empty: the first."
            ),
            Field("baselines", "show", [], "Nodes that it may compare with.", holds=str),
            Field("against", "both", "last", "What the graph is compared with: an id."),
            Field(
                "comparison_choices",
                "show",
                [],
                "What it may be compared with; empty while it is not compared.",
                holds=preview_views.ComparisonChoice,
            ),
            Field("comparison", "show", {}, "ComparisonEntry", holds=preview_views.ComparisonEntry),
            Field("compared", "picture", b"", "The other graph's sheet: ``SheetHeader``, image."),
            Field("batch", "both", 0, "Index of the batch, from 0."),
            Field("seed", "both", 42, "The graph's seed."),
            Field("pinned", "both", False, "Whether seed and batch stay as they are."),
            Field("repeat", "both", -1, "The photo at this place stands at every place; -1: none."),
            Field("tiles", "both", 16, "How many samples are shown, 4 to 64."),
            Field("tile_size", "both", 0, "Side of a tile in pixels; 0: as it fits."),
            Field("lossless", "both", False, "Exact pixels in place of JPEG."),
            Field("limits", "show", {}, "Largest batch and seed.", holds=dict[str, int]),
            Field("classes", "show", [], "Names of the classes of the data.", holds=str),
            Field(
                "shown_classes",
                "both",
                [],
                "Names of the classes whose samples alone are shown; empty: all.",
                holds=str,
            ),
            Field(
                "shown_branches",
                "both",
                [],
                "Scopes of the bodies of blocks whose samples alone are shown; empty: all.",
                holds=str,
            ),
            Field(
                "shown_augmentations",
                "both",
                [],
                "Keys of the augmentations, node.name, whose samples alone are shown; empty: all.",
                holds=str,
            ),
            Field(
                "stale", "show", "", "Why the picture is not of the present graph; empty if it is."
            ),
            Field("retryable", "show", False, "Whether trying again may help."),
            Field("shuffles", "show", False, "Whether another seed also means other photos."),
            Field(
                "verification",
                "show",
                {"state": "none"},
                "VerifiedEntry",
                holds=preview_views.VerifiedEntry,
            ),
            Field(
                "saved_draws",
                "show",
                [],
                "list[SavedDrawEntry]",
                holds=preview_views.SavedDrawEntry,
            ),
            Field("show_targets", "both", True, "Whether targets are drawn over pictures."),
            Field("show_statistics", "both", False, "Whether the statistics are wanted."),
            Field(
                "statistics",
                "show",
                [],
                "list[StatisticsEntry]",
                holds=preview_views.StatisticsEntry,
            ),
            Field(
                "statistics_pending",
                "show",
                False,
                "Whether they are of other values than the picture.",
            ),
            Field(
                "statistics_error",
                "show",
                "",
                "Why there are none; empty where nothing went wrong.",
            ),
            Field(
                "branch_shares",
                "show",
                {},
                "BranchSharesEntry; empty while no statistics are shown.",
                holds=preview_views.BranchSharesEntry,
            ),
            Field("sample", "show", 0, "The one that the cards of the canvas show."),
            Field("marked", "both", [], "Places of the samples marked in the batch.", holds=int),
            Field(
                "selected",
                "python",
                SelectedSamples(),
                "The samples marked, else the one on the cards: files, labels, draws.",
            ),
            Field("closeup", "picture", b"", "One sample: ``CloseupHeader`` and PNG."),
            Field(
                "compared_closeup",
                "picture",
                b"",
                "The sample in the other graph: ``CloseupHeader`` and PNG; empty: not compared.",
            ),
            Field("values", "picture", b"", "``ValuesHeader`` and the values of a region."),
        ),
    ),
    Component(
        "speed",
        "The speed lab: CPU against mixed, stages, rewrites, tuner, scaling, peers, records.",
        (
            Field("part", "both", "compare", "Which part is open.", PARTS),
            Field("effort", "both", "usual", "How carefully it is measured.", EFFORTS),
            Field("batch_size", "both", 64, "Samples in a batch."),
            Field("threads", "both", 4, "Threads of a pipeline."),
            Field("pipelines", "both", 1, "Pipelines side by side."),
            Field("running", "show", False, "Whether a measurement runs."),
            Field("what", "show", "", "The part that it is of, or that the last one was of."),
            Field("progress", "show", 0.0, "0 to 1."),
            Field("message", "show", "", "What runs now, or what was done last."),
            Field("failed", "show", False, "Whether the message says what went wrong."),
            Field("compare", "show", {}, "CompareView", holds=speed_views.CompareView),
            Field("stages", "show", {}, "StagesView", holds=speed_views.StagesView),
            Field("rewrites", "show", {}, "RewritesView", holds=speed_views.RewritesView),
            Field("tune", "show", {}, "TuneView", holds=speed_views.TuneView),
            Field("scaling", "show", {}, "ScalingView", holds=speed_views.ScalingView),
            Field("peers", "show", {}, "CompareView", holds=speed_views.CompareView),
            Field("records", "show", [], "list[RecordEntry]", holds=speed_views.RecordEntry),
            Field("overlay", "both", "", "Record whose bars stand among those of a comparison."),
            Field(
                "selected_records", "both", [], "Two records, to be set side by side.", holds=str
            ),
            Field("comparison", "show", {}, "ComparisonView", holds=speed_views.ComparisonView),
            Field("limits", "show", {}, "SpeedLimits", holds=speed_views.SpeedLimits),
            Field("file", "picture", b"", "``FileHeader`` and a file that ``export`` made."),
        ),
    ),
    Component(
        "code",
        "The graph as code for a target, live.",
        (
            Field("source", "python", "", "The script for any data; empty: the graph has faults."),
            Field("target", "both", "script", "What the graph is shown as."),
            Field("targets", "show", [], "list[TargetEntry]", holds=views.TargetEntry),
            Field("in_view", "both", False, "Whether it is on the screen: only then it is sent."),
            Field("skip_bad", "both", False, "Whether the code reads a list of the good files."),
            Field(
                "files",
                "show",
                [],
                "What the target last gave, the main file first.",
                holds=views.CodeFile,
            ),
            Field(
                "highlighted",
                "show",
                {},
                "File -> line numbers, from 1, that the selected node made.",
                holds=dict[str, list[int]],
            ),
            Field(
                "fault",
                "show",
                {},
                "CodeFault; where there is one, there are no files.",
                holds=views.CodeFault,
            ),
            Field("download", "show", b"", "The file to download, or a ZIP of several."),
            Field("notes", "show", [], "What the files do otherwise than the graph.", holds=str),
            Field("note", "show", "", "What running the code on these data meets, or empty."),
            Field("lists_files", "show", False, "Whether a check has told which can be used."),
            Field("graph_number", "show", 0, "As the bar's."),
            Field("message", "show", "", "Where it was saved, or why not."),
            Field("save_folder", "show", "", "Where files with a plain name are saved."),
            Field("overwrite", "show", {}, "OverwriteQuestion", holds=views.OverwriteQuestion),
        ),
    ),
    Component(
        "data",
        "What is read: counts, sizes, formats, what a check of the files found.",
        (
            Field("summary", "show", {}, "DataView", holds=data_views.DataView),
            Field("shown_classes", "show", [], "As the preview's.", holds=str),
            Field("folders", "show", {}, "FolderListing", holds=data_views.FolderListing),
            Field("recent_folders", "show", [], "As ``list_folders`` found them.", holds=str),
            Field(
                "report",
                "show",
                {"number": 0, "text": ""},
                "The report of a check, a web page.",
                holds=views.TextFile,
            ),
        ),
    ),
    Component(
        "status",
        "The line below: faults, the last measured speed of the graph, whether edits are kept.",
        (
            Field("faults", "show", [], "As the bar's.", holds=views.FaultEntry),
            Field(
                "speeds",
                "show",
                [],
                "Of this very graph; empty: none.",
                holds=views.LastSpeed,
            ),
            Field("kept", "show", {}, "KeptState", holds=views.KeptState),
        ),
    ),
)
