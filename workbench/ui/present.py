"""Graph and results -> what the components show. Pure functions, no toolkit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.bench import Measurement, Report
from workbench.catalog.spec import Catalog, Device
from workbench.engine.machine import Machine
from workbench.graph.check import Fault
from workbench.graph.devices import is_generator
from workbench.graph.edit import chain, is_movable
from workbench.graph.model import Graph, Node
from workbench.graph.recipes import load_recipes
from workbench.preview import Preview, Tile
from workbench.ui.rows import CHOICE, random_view
from workbench.ui.views import (
    DeviceChoice,
    FaultEntry,
    Json,
    NodeEntry,
    OperatorEntry,
    RecipeEntry,
    SheetHeader,
    SpeedRow,
    TileEntry,
)


def device_choices(machine: Machine) -> list[DeviceChoice]:
    """CPU and mixed; mixed with the GPU's name, or why it cannot be chosen."""
    gpu = machine.gpu.replace("NVIDIA ", "")
    return [
        {"id": "cpu", "label": "CPU", "disabled": ""},
        {
            "id": "mixed",
            "label": f"Mixed · {gpu}" if gpu else "Mixed",
            "disabled": f"Mixed decoding needs a GPU: {machine.no_gpu}." if machine.no_gpu else "",
        },
    ]


def recipe_entries() -> list[RecipeEntry]:
    """Every recipe with its line."""
    return [{"name": name, "line": graph.about} for name, graph in load_recipes().items()]


def operator_entries(catalog: Catalog) -> list[OperatorEntry]:
    """Every operator of the catalogue, usable or not, but for the generators."""
    return [
        {
            "name": spec.name,
            "label": spec.label,
            "category": spec.category,
            "summary": spec.summary,
            "devices": list(spec.devices),
            "unusable": spec.unusable or "",
        }
        for spec in catalog.values()
        if not is_generator(spec)
    ]


def on_shown_nodes(graph: Graph, catalog: Catalog, faults: Sequence[Fault]) -> list[Fault]:
    """The faults, those of a generator moved to the argument that it feeds."""
    return [_moved(fault, graph, catalog) for fault in faults]


def _moved(fault: Fault, graph: Graph, catalog: Catalog) -> Fault:
    if not graph.has(fault.node):
        return fault
    node = graph.node(fault.node)
    fed = graph.consumers(node.id)
    if node.op not in catalog or not is_generator(catalog[node.op]) or not fed:
        return fault
    message = f"{fault.arg}: {fault.message}" if fault.arg else fault.message
    return replace(fault, node=fed[0].target, arg=fed[0].input, message=message)


def fault_entries(faults: Sequence[Fault]) -> list[FaultEntry]:
    """The faults with their places in the message."""
    return [
        {
            "node": fault.node,
            "arg": fault.arg,
            "message": ": ".join(
                filter(None, [".".join(filter(None, [fault.node, fault.arg])), fault.message])
            ),
            "remedy": fault.remedy,
        }
        for fault in faults
    ]


def node_entries(
    graph: Graph,
    catalog: Catalog,
    devices: Mapping[str, Device],
    facts: Mapping[str, str],
    faults: Sequence[Fault],
) -> list[NodeEntry]:
    """The nodes in running order; ``facts`` is what each gave when it last ran, by id."""
    return [
        {
            "id": node.id,
            "op": node.op,
            "label": catalog[node.op].label if node.op in catalog else "",
            "device": devices[node.id],
            "output": facts.get(node.id, "?"),
            "draws": _draws(graph, catalog, node),
            "fault": next((fault.message for fault in faults if fault.node == node.id), ""),
            "movable": is_movable(node, catalog),
        }
        for node in chain(graph, catalog)
    ]


def _draws(graph: Graph, catalog: Catalog, node: Node) -> list[str]:
    found = []
    for name, port in node.inputs.items():
        drawn = random_view(graph, catalog, port)
        if drawn is not None:
            found.append(f"{name} ~ {_distribution(drawn['op'], drawn['args'])}")
    return found


def _distribution(op: str, args: Mapping[str, Json]) -> str:
    word = op.removeprefix("random.")
    if op == "random.uniform":
        low, high = (*_numbers(args.get("range")), "?", "?")[:2]
        return f"{low} … {high}"
    if op == "random.normal":
        return f"{_number(args.get('mean', 0))} ± {_number(args.get('stddev', 1))}"
    if op == "random.coin_flip":
        return f"{_number(args.get('probability', 0.5))} yes"
    if op == CHOICE:
        return "one of " + ", ".join(_numbers(args.get("values")))
    return f"{word} {', '.join(_number(value) for value in args.values())}"


def _numbers(value: Json) -> list[str]:
    return [_number(item) for item in value] if isinstance(value, list) else [_number(value)]


def _number(value: Json) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}".replace("-", "\N{MINUS SIGN}")
    return str(value)


def picture_bytes(preview: Preview) -> bytes:
    """Header length (u32, little-endian), the JSON ``SheetHeader``, the image."""
    header: SheetHeader = {
        "mime": preview.mime,
        "sheet": list(preview.size),
        "tiles": [_tile(tile) for tile in preview.tiles],
        "outputs": list(preview.outputs),
        "note": preview.note,
        "batch": preview.batch,
        "milliseconds": round(preview.milliseconds, 2),
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    return len(text).to_bytes(4, "little") + text + preview.image


def _tile(tile: Tile) -> TileEntry:
    return {
        "index": tile.index,
        "file": tile.sample.file,
        "label": tile.label,
        "shape": tile.shape,
        "draws": list(tile.draws),
        "error": tile.sample.error,
        "warning": tile.sample.warning,
        "original": list(tile.original or ()),
        "augmented": [list(box) for box in tile.augmented],
    }


def speed_rows(report: Report) -> list[SpeedRow]:
    """One row for each measurement of a report."""
    machine = report.machine
    return [_speed_row(row, machine) for row in report.measurements]


def _speed_row(row: Measurement, machine: Machine) -> SpeedRow:
    cores = f"{machine.cpu}, {machine.cores} cores"
    return {
        "device": row.device,
        "label": "CPU" if row.device == "cpu" else "Mixed",
        "median": row.median,
        "low": min(row.imgs_per_s, default=None),
        "high": max(row.imgs_per_s, default=None),
        "rounds": list(row.imgs_per_s),
        "settings": f"batch {row.batch_size} · {row.threads} thread{'s' * (row.threads != 1)} · "
        f"prefetch {row.prefetch}"
        + " · unstable: the rounds differ by more than 10 %"
        * row.unstable,
        "machine": f"{cores}, {machine.gpu}" if machine.gpu else cores,
        "reason": row.reason,
    }
