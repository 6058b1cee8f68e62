"""Build payloads of graphs and results, as pure functions that depend on no UI toolkit."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache

from workbench.engine.resources.machine import Machine
from workbench.graph.checks.check import Fault
from workbench.graph.storage.recipes import load_recipes, required_data_text
from workbench.preview import PreviewRequest, PreviewResult, Tile
from workbench.preview.pictures.annotation_overlays import AnnotationOverlay
from workbench.ui.contract.encoding import pack_payload
from workbench.ui.contract.payloads import DeviceChoice, FaultEntry, RecipeEntry, StartEntry
from workbench.ui.contract.preview_payloads import MarkEntry, SheetHeader, TileEntry
from workbench.ui.preview.thumbnails import picture_url


def device_choices(machine: Machine) -> list[DeviceChoice]:
    """Return the options CPU and mixed decoding, each with a label and the reason if disabled."""
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
    """Return all recipes with their descriptions and pictures."""
    return [
        {
            "name": name,
            "line": graph.about + required_data_text(graph),
            "picture": picture_url(name),
        }
        for name, graph in load_recipes().items()
    ]


@cache
def start_entry(example: bool) -> StartEntry:
    """Return the recipe to offer to users who start without a graph."""
    entry = next(entry for entry in recipe_entries() if entry["name"] == "imagenet-train")
    return {**entry, "example": example}


def fault_entries(
    faults: Sequence[Fault], fixes: Sequence[Sequence[str]], warnings: int = 0
) -> list[FaultEntry]:
    """Return payloads of faults with their fixes. Each message names the node and the argument.

    The last ``warnings`` entries are warnings, which do not stop the graph.
    """
    return [
        {
            "node": fault.node,
            "arg": fault.arg,
            "message": ": ".join(
                filter(None, [".".join(filter(None, [fault.node, fault.arg])), fault.message])
            ),
            "remedy": fault.remedy,
            "fixes": list(labels),
            "warning": place >= len(faults) - warnings,
        }
        for place, (fault, labels) in enumerate(zip(faults, fixes, strict=True))
    ]


def picture_bytes(preview: PreviewResult, request: PreviewRequest) -> bytes:
    """Return a ``SheetHeader`` followed by the contact sheet, as bytes."""
    header: SheetHeader = {
        "mime": preview.mime,
        "sheet": list(preview.size),
        "tiles": [_tile(tile) for tile in preview.tiles],
        "outputs": list(preview.outputs),
        "note": preview.note,
        "batch": preview.batch,
        "milliseconds": round(preview.milliseconds, 2),
        "of": request.graph.settings.batch_size,
        "repeat": -1 if request.repeat is None else request.repeat,
        "baseline": list(preview.baseline),
        "reran": list(preview.reran),
        "tile": request.tile_size,
        "branches": list(preview.branches),
        "augmentations": list(preview.augmentations),
    }
    if preview.memory is not None:
        header["memory"] = preview.memory
    return pack_payload(header, preview.image)


def _tile(tile: Tile) -> TileEntry:
    return {
        "index": tile.index,
        "file": tile.sample.file,
        "label": tile.label,
        "class_name": tile.class_name,
        "shape": tile.shape,
        "draws": list(tile.draws),
        "notes": list(tile.notes),
        "branches": list(tile.branches),
        "augmentations": list(tile.augmentations),
        "applied": list(tile.applied),
        "targets": list(tile.targets),
        "error": tile.sample.error,
        "warning": tile.sample.warning,
        "original": list(tile.original or ()),
        "augmented": [list(box) for box in tile.augmented],
        "marks": [[_mark(mark) for mark in marks] for marks in tile.marks]
        if any(tile.marks)
        else [],
    }


def _mark(mark: AnnotationOverlay) -> MarkEntry:
    mask = b64encode(mark.mask).decode()
    return {
        "corners": list(mark.corners),
        "text": mark.text,
        "colour": mark.colour,
        "mask": f"data:image/png;base64,{mask}" if mask else "",
        "outline": list(mark.outline),
        "left": mark.left,
        "names": [
            {"text": each.text, "colour": each.colour, "x": each.x, "y": each.y}
            for each in mark.names
        ],
    }
