"""State -> the value of every field of every component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.machine import Machine
from workbench.graph.check import Fault
from workbench.graph.devices import infer_devices
from workbench.graph.io import dump_graph
from workbench.ui import present
from workbench.ui.folder import Folder
from workbench.ui.history import History
from workbench.ui.rows import inspector_view, random_view
from workbench.ui.state import State, faults_of
from workbench.ui.views import Status

Fields = dict[str, dict[str, Any]]
"""Component -> field -> value."""


def constant_fields(catalog: Catalog, machine: Machine) -> Fields:
    """The fields that never change."""
    return {
        "bar": {
            "devices": present.device_choices(machine),
            "recipes": present.recipe_entries(),
        },
        "canvas": {"operators": present.operator_entries(catalog)},
    }


def graph_fields(state: State, history: History, catalog: Catalog, folder: Folder) -> Fields:
    """All other fields, but for those of the speed panel that a measurement sets."""
    graph, settings = state.checked.graph, state.checked.graph.settings
    faults = faults_of(state)
    devices = infer_devices(graph, catalog)
    facts = state.preview.facts if state.preview else {}
    return {
        "bar": {
            "title": graph.name,
            "folder": folder.chip,
            "device": settings.device,
            "can_undo": history.can_undo,
            "can_redo": history.can_redo,
            "status": _status(state, folder, faults),
            "faults": present.fault_entries(faults),
            "message": state.message,
            "saved": dump_graph(graph),
        },
        "canvas": {
            "nodes": present.node_entries(graph, catalog, devices, facts, faults),
            "selected": state.selected,
        },
        "inspector": {
            "node": inspector_view(
                graph, catalog, state.selected, devices.get(state.selected, ""), faults
            )
        },
        "tabs": {"tab": state.tab},
        "preview": {
            "picture": state.picture,
            "mode": state.mode,
            "batch": state.batch,
            "seed": settings.seed,
            "tiles": state.tiles,
            "stale": folder.error or _first(faults),
        },
        "speed": {"batch_size": settings.batch_size, "threads": settings.num_threads},
        "code": {
            "source": state.source.text,
            "lit": _lit(state, catalog),
            "message": state.code_message
            if state.checked.source
            else f"Of the last sound graph. Now: {_first(state.checked.faults)}",
        },
        "data": {"summary": folder.view},
    }


def _first(faults: tuple[Fault, ...]) -> str:
    if not faults:
        return ""
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{str(faults[0]).strip()}{more}"


def _status(state: State, folder: Folder, faults: tuple[Fault, ...]) -> Status:
    if folder.error:
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


def _lit(state: State, catalog: Catalog) -> list[int]:
    """Lines of the selected node and of what feeds its arguments."""
    graph = state.checked.graph
    if state.checked.source is None or not graph.has(state.selected):
        return []
    inputs = graph.node(state.selected).inputs.values()
    feeding = [port.node for port in inputs if random_view(graph, catalog, port)]
    lines: Mapping[str, range] = state.source.lines
    return sorted(line for node in [state.selected, *feeding] for line in lines.get(node, ()))
