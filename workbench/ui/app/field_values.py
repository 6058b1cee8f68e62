"""Compute the values of all fields of all components from the view state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.catalog.extra_operators import BLOCKS
from workbench.catalog.extra_operators.auto_augment import NAMED, POLICIES
from workbench.catalog.overlay import CATEGORIES
from workbench.catalog.spec import Catalog, Device
from workbench.catalog.templates import load_templates
from workbench.engine.resources.machine import Machine
from workbench.graph.checks.check import Fault
from workbench.graph.fixes import Fix
from workbench.graph.model import Graph
from workbench.graph.model.bounds import SETTINGS
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.import_report import ImportReport
from workbench.graph.storage.layout import Layout, dump_document
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.canvas.canvas_annotations import copied_text, frame_entries, note_entries
from workbench.ui.canvas.canvas_payloads import (
    edge_entries,
    node_entries,
    on_visible_nodes,
    operator_entries,
)
from workbench.ui.contract import payloads
from workbench.ui.contract.components import Empty
from workbench.ui.contract.payloads import Status, argument_entries, recipe_lines, template_entries
from workbench.ui.contract.selected_samples import selected_samples
from workbench.ui.data.data_panel import DataPanel, data_parameters
from workbench.ui.export.exports import target_entries
from workbench.ui.export.version_job import SessionVersions
from workbench.ui.inspector.argument_rows import inspector_view
from workbench.ui.inspector.block_payloads import scope_entries
from workbench.ui.preview import presenters
from workbench.ui.preview.verification_job import SessionVerification
from workbench.ui.speed.panel import SpeedPanel
from workbench.ui.state.history import History
from workbench.ui.state.identity_memo import IdentityMemo
from workbench.ui.state.view_state import (
    MOST_BATCH,
    Checked,
    ViewState,
    blocking_faults,
    faults_of,
    known_fixes,
    shuffles_files,
    warnings_of,
)
from workbench.ui.storage.saved_samples import saved_sample_entries
from workbench.ui.storage.saved_snippets import snippet_entries
from workbench.versions.formats import FORMATS

Fields = dict[str, dict[str, Any]]
"""Field values by component and field name."""
NO_QUESTION = payloads.OverwriteQuestion(number=0, do="", path="", message="")
MOST_STEPS = 100
"""Maximum number of edits in the displayed history, for undo and redo each."""
_MOST_ISSUES = 200
"""Maximum number of displayed issues of an import; the same limit applies to its notes."""
_LONGEST_WHY = 1000
_NO_FACTS: dict[str, str] = {}
_EMPTY = "The graph is empty. Add a reader on the canvas or open a recipe."


def constant_fields(catalog: Catalog, machine: Machine, roots: Roots | None = None) -> Fields:
    """Return the fields that never change."""
    save_folder = str(roots.save_folder() if roots is not None else Path.cwd())
    return {
        "bar": {
            "save_folder": save_folder,
            "devices": presenters.device_choices(machine),
            "recipes": presenters.recipe_entries(),
            "targets": target_entries(),
        },
        "canvas": {
            "categories": list(CATEGORIES),
            "operators": operator_entries(catalog.values()),
            "blocks": operator_entries(BLOCKS.values()),
            "templates": template_entries(load_templates().values()),
            "recipes": recipe_lines(presenters.recipe_entries()),
        },
        "code": {
            "targets": target_entries(),
            "save_folder": save_folder,
            "formats": list(FORMATS),
        },
        "inspector": {"augmentations": dict(NAMED), "policies": list(POLICIES)},
        "preview": {"limits": {"batch": MOST_BATCH, "seed": SETTINGS["seed"][1]}},
    }


def _inspected_op(state: ViewState, graph: Graph) -> str:
    return graph.node(state.inspected).op if graph.has(state.inspected) else ""


def graph_fields(
    state: ViewState, history: History, catalog: Catalog, data_panel: DataPanel, memo: IdentityMemo
) -> Fields:
    """Return the fields that depend on the graph, the view state and the data.

    Expensive values are cached by ``memo``, so that a progress update does not recompute them.
    """
    graph, settings = state.checked.graph, state.checked.graph.settings
    document = history.document
    layout = document.layout
    whole = state.checked.whole
    typed = memo(_at_scope, whole, state.scope)
    shown = typed.graph
    stopping, loose, warnings = faults_of(state), state.checked.loose_faults, warnings_of(state)
    shown_faults = memo(_faults_on_visible_nodes, whole, layout, stopping, loose, warnings)
    faults = memo(_first_ones, shown_faults, len(stopping))
    known = memo(
        known_fixes, state.checked, state.unread, state.unread_fixes, state.failure, warnings
    )
    devices = memo(_devices, state.checked)
    facts = state.preview.facts if state.preview else _NO_FACTS
    # The canvas shows what an empty graph needs.
    entries = (
        memo(_fault_entries, shown_faults, stopping, loose, warnings, known) if graph.nodes else []
    )
    stops = bool(entries and stopping and not data_panel.error)
    repeated = state.repeated(settings.batch_size)
    refused = state.refusals if state.refusals_of is state.checked else {}
    again = bool(data_panel.error or (state.failure and not blocking_faults(state)))
    return {
        "bar": {
            "title": graph.name,
            "graph_number": history.graph_number,
            "folder": data_panel.chip,
            "folders": data_panel.folders,
            "recent_folders": state.recent_folders,
            "data": {
                "path": data_panel.view["root"],
                "refused": data_panel.view["refused"] or data_panel.error,
                "outside": data_panel.view["outside"],
                "places": memo(_dataset_texts, data_panel.datasets),
            },
            "device": settings.device,
            "can_undo": history.can_undo,
            "can_redo": history.can_redo,
            "undo_label": history.undo_label,
            "redo_label": history.redo_label,
            "history": _history_entries(history) if state.history_in_view else [],
            "history_in_view": state.history_in_view,
            "status": _status(state, data_panel, faults),
            "faults": entries,
            "import_report": memo(_import_entry, document.report, whole.graph),
            "message": state.message,
            "saved": memo(dump_document, document),
            "shared": state.shared,
            "target": state.target,
            "refusals": refused,
            "unread": data_panel.view["also"],
            "overwrite": state.overwrite.get("bar", NO_QUESTION),
        },
        "canvas": {
            "graph_number": history.graph_number,
            "nodes": memo(
                node_entries,
                typed,
                layout,
                devices,
                facts,
                state.checked.flows,
                shown_faults,
                data_panel.view["classes"],
            ),
            "edges": memo(edge_entries, typed, layout, devices),
            "breadcrumb": memo(scope_entries, graph, state.scope),
            "positions": memo(_positions, layout, shown),
            "frames": memo(frame_entries, layout, shown),
            "notes": memo(note_entries, layout, shown),
            "selected": state.selected,
            "fragment": memo(_fragment, shown, layout, state.selected),
            "snippets": memo(snippet_entries, state.snippets),
            "copied_code": state.copied_code,
            "connect_targets": state.connect_targets,
            "compatible_ops": state.compatible_ops,
            "sample": state.sample,
            "show_targets": state.show_targets,
            "in_view": state.canvas_in_view,
            "detail_of": state.detail_of,
            "arguments": memo(argument_entries, catalog, _inspected_op(state, graph)),
            "recent_folders": state.recent_folders,
            "unread_masks": any(not each["place"] for each in data_panel.view["also"]),
        },
        "inspector": {
            "node": memo(
                inspector_view,
                whole,
                state.inspected,
                devices.get(state.inspected, ""),
                shown_faults,
                len(state.selected),
                data_panel.view["classes"],
            ),
            "classes": data_panel.view["classes"],
            "warnings": memo(_later_texts, shown_faults, len(stopping)),
        },
        "tabs": {"tab": state.tab},
        "preview": {
            "picture": state.picture,
            "mode": state.mode,
            "show_original": state.show_original,
            "baseline": state.baseline,
            "baselines": state.baselines,
            "against": state.against,
            "batch": state.batch,
            "seed": settings.seed,
            "pinned": state.pinned,
            "repeat": -1 if repeated is None else repeated,
            "tiles": state.tiles,
            "tile_size": state.tile_size,
            "lossless": state.lossless,
            "classes": data_panel.view["classes"],
            "shown_classes": state.shown_classes,
            "shown_branches": list(state.active_shown_branches),
            "shown_augmentations": list(state.active_shown_augmentations),
            "stale": data_panel.error or (_first_text(faults) if graph.nodes else _EMPTY),
            "rendering": state.preview is not None and state.pictured != history.graph_number,
            "fault": entries[0] if stops else {},
            "retryable": again,
            "shuffles": memo(shuffles_files, graph),
            "saved_draws": memo(
                saved_sample_entries, document, state.batch, repeated, state.preview
            ),
            "show_statistics": state.show_statistics,
            "show_targets": state.show_targets,
            "sample": state.sample,
            "marked": state.marked,
            "selected": memo(selected_samples, state.preview, state.marked, state.sample),
        },
        "speed": {
            "batch_size": settings.batch_size,
            "threads": settings.num_threads,
            "pipelines": settings.pipelines,
        },
        "code": {
            "note": data_panel.export_note(_skipped_count(state), state.skip_bad),
            "lists_files": data_panel.found is not None,
            "source": state.checked.source.text if state.checked.source else "",
            "target": state.target,
            "refusals": refused,
            "from_top": state.target_number if state.code_from_top else 0,
            "script": state.script,
            "in_view": state.code_in_view,
            "skip_bad": state.skip_bad,
            "graph_number": history.graph_number,
            "message": state.code_message,
            "overwrite": state.overwrite.get("code", NO_QUESTION),
        },
        "data": {
            **data_panel.fields(memo(data_parameters, graph, data_panel.datasets)),
            "recent_folders": state.recent_folders,
            "shown_classes": state.shown_classes,
        },
    }


def _dataset_texts(data: Datasets) -> dict[str, str]:
    """Return the absolute location of each dataset as text; {} if any dataset has no location."""
    places = {name: replace(each, location=each.place).text for name, each in data.items()}
    return places if all(places.values()) else {}


def _faults_on_visible_nodes(
    resolved: ResolvedGraph,
    layout: Layout,
    stopping: Sequence[Fault],
    loose: Sequence[Fault],
    warnings: Sequence[Fault],
) -> list[Fault]:
    return on_visible_nodes(resolved, layout, [*stopping, *loose, *warnings])


def _first_ones(faults: Sequence[Fault], count: int) -> list[Fault]:
    return list(faults[:count])


def _later_texts(faults: Sequence[Fault], count: int) -> list[str]:
    return [fault.text for fault in faults[count:]]


def _devices(checked: Checked) -> dict[str, Device]:
    return {**checked.whole.devices, **checked.running.devices}


def _fault_entries(
    displayed: Sequence[Fault],
    stopping: Sequence[Fault],
    loose: Sequence[Fault],
    warnings: Sequence[Fault],
    fixes: Mapping[Fault, Sequence[Fix]],
) -> list[payloads.FaultEntry]:
    """Return payloads of all faults: those that stop the graph, those of loose nodes, and warnings.

    ``displayed`` contains the same faults in this order, but names only visible nodes.
    """
    found = (*stopping, *loose, *warnings)
    labels = [[fix.label for fix in fixes.get(fault, ())] for fault in found]
    return presenters.fault_entries(displayed, labels, len(loose) + len(warnings))


def _history_entries(history: History) -> list[payloads.HistoryEntry]:
    done = len(history.before)
    labels = history.labels(MOST_STEPS)
    first = max(0, done - MOST_STEPS)
    return [
        {"step": first + number, "label": label, "done": first + number <= done}
        for number, label in enumerate(labels, 1)
    ]


def _at_scope(whole: ResolvedGraph, scope: str) -> ResolvedGraph:
    return whole.at_scope(scope)


def _import_entry(report: ImportReport | None, graph: Graph) -> payloads.ImportEntry | Empty:
    if report is None:
        return {}
    rows: list[payloads.ImportRow] = [
        {
            "kind": "omitted" if issue.kind == "refused" else issue.kind,
            "subject": issue.node,
            "place": issue.place,
            "why": issue.why[:_LONGEST_WHY],
            "node": next(filter(graph.has, filter(None, (issue.made, issue.node))), ""),
        }
        for issue in (*report.entries, *report.faults)[:_MOST_ISSUES]
    ]
    for name, value in report.assumed.items():
        why = f"no value was passed; set one with workbench import --arg {name}=..."
        subject = f"{name} = {value[:_LONGEST_WHY]}"
        rows.append({"kind": "assumed", "subject": subject, "place": "", "why": why, "node": ""})
    left = len(report.entries) + len(report.faults) + len(report.assumed) - _MOST_ISSUES
    more = [f"{left:,} more issues are in the graph file"] if left > 0 else []
    return {
        "summary": report.headline.removeprefix("partly: "),
        "rows": rows[:_MOST_ISSUES],
        "notes": [*more, *(note[:_LONGEST_WHY] for note in report.notes[:_MOST_ISSUES])],
    }


def _positions(layout: Layout, body: Graph) -> dict[str, list[float]]:
    return {key: list(place) for key, place in layout.visible_positions(body).items()}


def _fragment(body: Graph, layout: Layout, selected: Sequence[str]) -> str:
    nodes = [node for node in selected if body.whole.has(node)]
    if nodes:
        scope = body.whole.scope_of(nodes[-1])
        nodes = [node for node in nodes if body.whole.scope_of(node) == scope]
        body = body.whole.at_scope(scope)
    return copied_text(body, layout, nodes) if nodes else ""


def _first_text(faults: Sequence[Fault]) -> str:
    if not faults:
        return ""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{str(faults[0]).strip()}{more}"


def _status(state: ViewState, data_panel: DataPanel, faults: Sequence[Fault]) -> Status:
    if data_panel.error:
        return {"state": "fault", "text": "no images"}
    if not state.checked.graph.nodes:
        return {"state": "ready", "text": "empty graph"}
    if state.failure and state.failure.dead and not blocking_faults(state):
        return {"state": "dead", "text": "worker ended"}
    if state.silent:
        return {"state": "dead", "text": "worker not responding"}
    if state.waits_for:
        return {"state": "busy", "text": state.waits_for}
    if faults:
        return {"state": "fault", "text": f"{len(faults)} fault{'s' * (len(faults) > 1)}"}
    if state.preview is None or state.slow:
        usual = "computing" if state.started else "starting"
        return {"state": "busy", "text": state.making or usual}
    what = "provisional" if data_panel.view["provisional"] else "ready"
    parts = [what, *_sample_remarks(state, data_panel), _duration(state.preview.milliseconds)]
    return {"state": "ready", "text": " · ".join(parts)}


def _sample_remarks(state: ViewState, data_panel: DataPanel) -> list[str]:
    """Return a label about bad files, unusable samples or suspicious annotations, or no label."""
    if bad := data_panel.view["bad"]:
        return [f"{bad:,} bad file{'s' * (bad != 1)}"]
    if data_panel.view["unusable"] or any(w.code == "unusable" for w in warnings_of(state)):
        return ["some samples cannot be used"]
    return ["some annotations look wrong"] if data_panel.view["at_fault"] else []


def _skipped_count(state: ViewState) -> int:
    tiles = state.preview.tiles if state.preview else ()
    return len({tile.sample.file for tile in tiles if tile.sample.error})


def _duration(milliseconds: float) -> str:
    digits = 1 if milliseconds < 10 else 0
    return f"{milliseconds:.{digits}f} ms"


def running_work(
    speed: SpeedPanel,
    verification: SessionVerification,
    versions: SessionVersions,
    data_panel: DataPanel,
) -> list[payloads.RunningWork]:
    """Return an entry for each long-running task, with its tab and progress."""
    found: list[payloads.RunningWork] = []
    if (run := speed.run) is not None:
        found.append({"tab": "speed", "text": run.part, "share": run.share})
    if (task := verification.running) is not None:
        found.append({"tab": "preview", "text": "comparison", "share": task.share})
    if (rendered := versions.running) is not None:
        found.append({"tab": "code", "text": rendered.name, "share": rendered.share})
    if (share := data_panel.checked_share) is not None:
        found.append({"tab": "data", "text": "file check", "share": share})
    return found
