"""State -> the value of every field of every component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.machine import Machine
from workbench.graph.bounds import SETTINGS
from workbench.graph.check import Fault
from workbench.graph.devices import infer_devices
from workbench.graph.fixes import Fix
from workbench.graph.fragment import copy_fragment
from workbench.graph.layout import Layout, dump_document
from workbench.graph.model import Graph
from workbench.ui import presenters, views
from workbench.ui.argument_rows import inspector_view
from workbench.ui.canvas_actions import all_folded_generators
from workbench.ui.canvas_views import edge_entries, node_entries, on_drawn_nodes, operator_entries
from workbench.ui.data_panel import DataPanel, data_parameters
from workbench.ui.exports import target_entries
from workbench.ui.history import History
from workbench.ui.identity_memo import IdentityMemo
from workbench.ui.region_views import scope_entries
from workbench.ui.saved_draws import saved_draw_entries
from workbench.ui.state import MOST_BATCH, State, faults_of, shuffles
from workbench.ui.views import Status

Fields = dict[str, dict[str, Any]]
"""Component -> field -> value."""
_NO_FACTS: dict[str, str] = {}


def constant_fields(catalog: Catalog, machine: Machine) -> Fields:
    """The fields that never change."""
    return {
        "bar": {
            "devices": presenters.device_choices(machine),
            "recipes": presenters.recipe_entries(),
        },
        "canvas": {"operators": operator_entries(catalog)},
        "code": {"targets": target_entries()},
        "preview": {"limits": {"batch": MOST_BATCH, "seed": SETTINGS["seed"][1]}},
    }


def graph_fields(
    state: State, history: History, catalog: Catalog, data_panel: DataPanel, memo: IdentityMemo
) -> Fields:
    """All other fields, but for those that measurements, comparisons and auxiliary views set.

    What takes time to compute goes through ``memo``, so that a tick of a progress bar costs none.
    """
    graph, settings = state.checked.graph, state.checked.graph.settings
    document = history.document
    layout = document.layout
    shown = memo(_at_scope, graph, state.scope)
    found = faults_of(state)
    faults = memo(on_drawn_nodes, graph, catalog, layout, found)
    fixes = state.checked.fixes if found is state.checked.faults else ()
    devices = memo(infer_devices, graph, catalog)
    facts = state.preview.facts if state.preview else _NO_FACTS
    repeated = state.repeated(settings.batch_size)
    again = bool(data_panel.error or (state.failure and not state.checked.faults))
    return {
        "bar": {
            "title": graph.name,
            "folder": data_panel.chip,
            "device": settings.device,
            "can_undo": history.can_undo,
            "can_redo": history.can_redo,
            "status": _status(state, data_panel, faults),
            "faults": memo(_fault_entries, faults, fixes),
            "message": state.message,
            "saved": memo(dump_document, document),
            "shared": state.shared,
        },
        "canvas": {
            "nodes": memo(
                node_entries, shown, catalog, layout, devices, facts, state.checked.flows, faults
            ),
            "edges": memo(edge_entries, shown, catalog, layout, devices),
            "breadcrumb": memo(scope_entries, graph, state.scope),
            "positions": memo(_positions, layout, shown),
            "selected": state.selected,
            "fragment": memo(_fragment, shown, state.selected),
            "connect_targets": state.connect_targets,
            "compatible_ops": state.compatible_ops,
        },
        "inspector": {
            "node": memo(
                inspector_view,
                graph,
                catalog,
                state.inspected,
                devices.get(state.inspected, ""),
                faults,
                len(state.selected),
            )
        },
        "tabs": {"tab": state.tab},
        "preview": {
            "picture": state.picture,
            "mode": state.mode,
            "show_original": state.show_original,
            "baseline": state.baseline,
            "baselines": state.baselines,
            "batch": state.batch,
            "seed": settings.seed,
            "pinned": state.pinned,
            "repeat": -1 if repeated is None else repeated,
            "tiles": state.tiles,
            "tile_size": state.tile_size,
            "lossless": state.lossless,
            "stale": data_panel.error or _first(faults),
            "retryable": again,
            "shuffles": memo(shuffles, graph),
            "saved_draws": memo(saved_draw_entries, document, state.batch, repeated),
            "show_statistics": state.show_statistics,
        },
        "steps": {
            "sample": state.sample,
            "in_view": state.steps_in_view,
            "retryable": again,
            "selected": state.selected,
            "folded": memo(_folded, graph, catalog, layout),
        },
        "speed": {"batch_size": settings.batch_size, "threads": settings.num_threads},
        "code": {
            "note": data_panel.export_note,
            "source": state.source.text,
            "target": state.target,
            "in_view": state.code_in_view,
            "message": state.code_message,
        },
        "data": {
            "summary": data_panel.view
            | {"parameters": memo(data_parameters, graph, data_panel.datasets)}
        },
    }


def _fault_entries(
    faults: Sequence[Fault], fixes: Sequence[Sequence[Fix]]
) -> list[views.FaultEntry]:
    labels = [[fix.label for fix in each] for each in fixes] or [[] for _ in faults]
    return presenters.fault_entries(faults, labels)


def _at_scope(graph: Graph, scope: str) -> Graph:
    return graph.at_scope(scope)


def _positions(layout: Layout, shown: Graph) -> dict[str, list[float]]:
    return {key: list(place) for key, place in layout.shown(shown).items()}


def _fragment(shown: Graph, selected: Sequence[str]) -> str:
    nodes = [node for node in selected if node != shown.scope]
    return copy_fragment(shown, nodes) if nodes else ""


def _folded(graph: Graph, catalog: Catalog, layout: Layout) -> list[str]:
    return sorted(all_folded_generators(graph, catalog, layout))


def _first(faults: Sequence[Fault]) -> str:
    if not faults:
        return ""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{str(faults[0]).strip()}{more}"


def _status(state: State, data_panel: DataPanel, faults: Sequence[Fault]) -> Status:
    if data_panel.error:
        return {"state": "fault", "text": "no images"}
    if state.failure and state.failure.dead and not state.checked.faults:
        return {"state": "dead", "text": "worker ended"}
    if faults:
        return {"state": "fault", "text": f"{len(faults)} fault{'s' * (len(faults) > 1)}"}
    if state.preview is None or state.slow:
        return {"state": "busy", "text": "computing" if state.preview else "starting"}
    return {"state": "ready", "text": f"ready · {_duration(state.preview.milliseconds)}"}


def _duration(milliseconds: float) -> str:
    digits = 1 if milliseconds < 10 else 0
    return f"{milliseconds:.{digits}f} ms"
