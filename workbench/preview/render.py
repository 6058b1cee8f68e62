"""The worker's part of a preview: run what changed, make tiles, lay out the sheet."""

from __future__ import annotations

import time
from dataclasses import dataclass

from workbench.catalog.spec import Catalog
from workbench.engine.samples import Sample
from workbench.engine.values import Batch
from workbench.engine.worker import Worker
from workbench.errors import GraphError
from workbench.graph.devices import image_outputs, infer_devices, is_decoder, is_generator
from workbench.graph.model import Graph, Node, Port, ancestors, topological
from workbench.preview.display import Tiles, make_tiles, scaling_of
from workbench.preview.sheet import Encoder, compose, encode, gpu_encoder, mark_bad

_KEPT_TILES = 8


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """What to show.

    ``batch`` counts from 0; ``tiles`` is the number of samples, ``tile_size`` the side of a tile in
    pixels; ``shown`` is ``original``, ``augmented`` or ``both``; ``lossless`` gives PNG.
    """

    graph: Graph
    data: str
    batch: int = 0
    tiles: int = 16
    tile_size: int = 224
    shown: str = "both"
    lossless: bool = False


Box = tuple[int, int, int, int]
"""(x, y, width, height) in pixels of the sheet."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One sample."""

    index: int
    sample: Sample
    label: str
    shape: str
    draws: tuple[str, ...]
    original: Box | None
    augmented: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """A contact sheet and what it shows.

    ``size`` is (width, height); ``facts`` tells what each node gave, ``224×224×3 u8``; ``reran``
    names the nodes that had to run; ``milliseconds`` is the time in the worker.
    """

    image: bytes
    mime: str
    size: tuple[int, int]
    tiles: tuple[Tile, ...]
    outputs: tuple[str, ...]
    note: str
    batch: int
    facts: dict[str, str]
    reran: tuple[str, ...]
    milliseconds: float


def render(worker: Worker, request: PreviewRequest) -> Preview:
    """Task: the preview of a sound graph. Raises PipelineError, DataError or GraphError."""
    start = time.perf_counter()
    graph, catalog = request.graph, worker.runner.catalog
    images = image_outputs(graph, catalog)
    if not images:
        raise GraphError("No output of the graph is an image: there is nothing to show.")
    ordered, _ = topological(graph)
    wanted = ancestors(graph, list(graph.outputs.values()))
    nodes = [node for node in ordered if node.id in wanted]
    taps = [Port(n.id, output.name) for n in nodes for output in catalog[n.op].outputs]
    result = worker.runner.run(graph, request.data, request.batch, request.tiles, taps)

    decoder = next((n for n in nodes if is_decoder(catalog[n.op])), None)
    shown: list[Port] = []
    if decoder is not None and request.shown != "augmented":
        shown.append(Port(decoder.id, catalog[decoder.op].outputs[0].name))
    has_original = bool(shown)
    if request.shown != "original":
        shown += images.values()
    groups = [
        _tiles(worker, graph, port, result.batches[port], result.keys[port.node], request.tile_size)
        for port in shown
    ]
    sheet, places = compose([group.pixels for group in groups])
    mime = "image/png" if request.lossless else "image/jpeg"
    draws = _draws(graph, catalog, nodes, result.batches)
    labels = _labels(graph, catalog, nodes, result.batches)
    first = result.batches[next(iter(images.values()))]
    tiles = []
    for index, sample in enumerate(result.samples):
        corners = places[index * len(groups) : (index + 1) * len(groups)]
        sizes = [group.sizes[index] for group in groups]
        if sample.error:
            sizes = [(request.tile_size, request.tile_size)] * len(groups)
            for corner in corners:
                mark_bad(sheet, corner, request.tile_size)
        boxes = [_box(corner, size) for corner, size in zip(corners, sizes, strict=True)]
        tiles.append(
            Tile(
                index,
                sample,
                labels[index] if labels else "",
                describe_shape(first.shapes[index], first),
                tuple(f"{name} {values[index]}" for name, values in draws.items()),
                boxes[0] if has_original else None,
                tuple(boxes[1:] if has_original else boxes),
            )
        )
    return Preview(
        image=encode(sheet, mime, _encoder(worker, first)),
        mime=mime,
        size=(sheet.shape[1], sheet.shape[0]),
        tiles=tuple(tiles),
        outputs=tuple(images),
        note=next((group.note for group in reversed(groups) if group.note), ""),
        batch=request.batch,
        facts={node.id: _facts(catalog, node, result.batches) for node in nodes},
        reran=result.reran,
        milliseconds=(time.perf_counter() - start) * 1000,
    )


def _box(corner: tuple[int, int], size: tuple[int, int]) -> Box:
    return (*corner, *size)


def _tiles(worker: Worker, graph: Graph, port: Port, batch: Batch, key: str, size: int) -> Tiles:
    """The tiles of an output, kept from before where its bits are the same."""
    name = ("tiles", key, port.output, size)
    if name not in worker.kept:
        for stale in [k for k in worker.kept if k[0] == "tiles"][:-_KEPT_TILES]:
            del worker.kept[stale]
        scaling = scaling_of(graph, worker.runner.catalog, port, batch)
        worker.kept[name] = make_tiles(worker, batch, size, scaling)
    tiles: Tiles = worker.kept[name]
    return tiles


def _encoder(worker: Worker, batch: Batch) -> Encoder | None:
    """The GPU's JPEG encoder where the batch is on a GPU; Pillow serves elsewhere."""
    if batch.device == "cpu":
        return None
    if ("encoder",) not in worker.kept:
        try:
            worker.kept[("encoder",)] = gpu_encoder()
        except (ImportError, RuntimeError):  # nvImageCodec is optional: Pillow gives the same
            worker.kept[("encoder",)] = None
    encoder: Encoder | None = worker.kept[("encoder",)]
    return encoder


def describe_shape(shape: tuple[int, ...], batch: Batch) -> str:
    """``3×224×224 f32``."""
    short = batch.dtype.replace("uint", "u").replace("int", "i").replace("float", "f")
    return f"{'×'.join(map(str, shape)) or 'scalar'} {short}"


def _facts(catalog: Catalog, node: Node, batches: dict[Port, Batch]) -> str:
    parts = []
    for output in catalog[node.op].outputs:
        if output.kind in ("encoded", "label"):
            parts.append({"encoded": "jpeg"}.get(output.kind, output.kind))
            continue
        batch = batches[Port(node.id, output.name)]
        dims = zip(*batch.shapes, strict=False)
        sides = [str(side.pop()) if len(side := set(dim)) == 1 else "?" for dim in dims]
        short = describe_shape((), batch).split()[1]
        parts.append(f"{'×'.join(sides)} {short}".strip())
    return ", ".join(parts)


def _draws(
    graph: Graph, catalog: Catalog, nodes: list[Node], batches: dict[Port, Batch]
) -> dict[str, list[str]]:
    """Every generator's values, one text for each sample, by the generator's id."""
    devices = infer_devices(graph, catalog)
    found: dict[str, list[str]] = {}
    for node in nodes:
        if not is_generator(catalog[node.op]) or devices[node.id] != "cpu":
            continue
        truth = node.op == "random.coin_flip"
        for output in catalog[node.op].outputs:
            arrays = batches[Port(node.id, output.name)].arrays()
            found[node.id] = [
                ", ".join(
                    ("yes" if value else "no") if truth else f"{float(value):.3g}"
                    for value in array.reshape(-1)[:6]
                )
                for array in arrays
            ]
    return found


def _labels(
    graph: Graph, catalog: Catalog, nodes: list[Node], batches: dict[Port, Batch]
) -> list[str]:
    for node in nodes:
        for output in catalog[node.op].outputs:
            if output.kind == "label":
                arrays = batches[Port(node.id, output.name)].arrays()
                return [str(array.reshape(-1)[0]) for array in arrays]
    return []
