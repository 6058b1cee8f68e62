"""Show one sample at all nodes: image, shape and type, random values, and time of each node.

Used in the worker process only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import SHOWN_KINDS, Device, PortKind
from workbench.engine.build.stage_pipeline import THREADS
from workbench.engine.protocol.registry import task
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.batch_store import Batch, Memory
from workbench.engine.run.timing import NodeTime, empty_pipeline_time, time_node
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.graph.model import Node, Port
from workbench.graph.model.ports import outputs_of
from workbench.graph.types.devices import is_generator
from workbench.preview.pictures.annotation_overlays import with_overlays
from workbench.preview.pictures.contact_sheet import compose, encode, grid_of
from workbench.preview.pictures.frame_strip import as_pictures, value_layout
from workbench.preview.pictures.output_tiles import scaling_for
from workbench.preview.pictures.tiles import Tiles, make_tiles, picture_layout
from workbench.preview.request import GraphRun, PreviewRequest, run_steps
from workbench.preview.requests.render import Box
from workbench.preview.requests.statistics import Histogram, histogram_of
from workbench.preview.requests.texts import describe_encoded, long_values, random_argument_texts

_KEPT_TIMES = 4096


@dataclass(frozen=True, slots=True)
class StepOutput:
    """One output of a node for the sample.

    ``low`` and ``high`` are the minimum and maximum finite value, or None if there is none.
    ``device`` is the device that stores the output. For an image, ``box`` is its rectangle in the
    sheet and ``note`` describes how values and channels are displayed. For other outputs, ``text``
    has the value. ``histogram`` has an image's values if a single node was requested.
    """

    name: str
    kind: PortKind
    shape: tuple[int, ...]
    dtype: str
    layout: str
    device: Memory
    low: float | None
    high: float | None
    box: Box | None = None
    note: str = ""
    text: str = ""
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One node and its outputs for the sample.

    ``device`` is the device that ran the node. ``draws`` has the random values of the node's
    arguments for this sample, such as ``angle -7.24``. ``drawn`` is True if the node also has
    internal randomness that DALI does not expose. ``time`` is None if times were not requested.
    """

    node: str
    op: str
    device: Device
    outputs: tuple[StepOutput, ...]
    draws: tuple[str, ...]
    drawn: bool
    time: NodeTime | None


@dataclass(frozen=True, slots=True)
class Steps:
    """Every step of one sample, and one sheet with the images of all steps.

    ``size`` is the (width, height) of the sheet. ``image`` is empty if no step is an image. A
    sample with an error has no outputs, because another file replaces it. Times are for the whole
    batch of ``samples`` samples: ``timing`` describes the measurement, and ``floor`` is the time of
    an empty pipeline in milliseconds.
    """

    index: int
    batch: int
    sample: Sample
    steps: tuple[Step, ...]
    image: bytes
    mime: str
    size: tuple[int, int]
    samples: int
    timing: str
    floor: float | None
    milliseconds: float


@task
def render_steps(
    worker: Worker,
    request: PreviewRequest,
    index: int,
    times: bool = True,
    node: str = "",
    targets: bool = True,
    between: bool = True,
) -> Steps:
    """Task: render sample ``index`` of the request's batch, from cached outputs.

    If ``node`` is given, only that node is rendered, with histograms. Otherwise all nodes are
    rendered, without histograms. If ``times``, the duration of each node is measured: each node
    that has changed is run alone a few times, which takes up to 0.1 s per node, plus 1.6 s to build
    a mixed decoder. If ``targets``, annotations are drawn on the outputs; if ``between``, also on
    the images of intermediate nodes. Raises the errors of ``render``, and GraphError if no output
    depends on the node, or if the node did not run for the sample.
    """
    start = time.perf_counter()
    run = run_steps(worker, request, targets, between)
    run.require_sample(index)
    pictures: list[Tiles] = []
    inner = run.inner_nodes if node else ()
    wanted = [each for each in (*run.nodes, *inner) if node in ("", each.id)]
    if not wanted:
        raise GraphError(
            f"{node!r} was not run, because no output depends on it. Connect {node!r} to an output."
        )
    steps = [_step(worker, run, each, index, pictures) for each in wanted]
    if node:
        steps = [_with_histograms(run, step, _place(run, step.node, index)) for step in steps]
    sample = run.result.samples[index]
    if sample.error:
        steps, pictures = [replace(step, outputs=(), draws=()) for step in steps], []
    image, size, mime = b"", (0, 0), "image/png" if request.lossless else "image/jpeg"
    if pictures:
        together = np.concatenate([tiles.pictures for tiles in pictures])
        sheet = [Tiles(together, [], "")]
        grid = grid_of(sheet)
        steps = [_placed(step, grid.places) for step in steps]
        image, size = encode(compose(sheet).pixels, mime), grid.extent
    if times:
        steps = [replace(step, time=_time(worker, run, step.node)) for step in steps]
    samples = len(run.result.samples)
    return Steps(
        index=index,
        batch=request.batch,
        sample=sample,
        steps=tuple(steps),
        image=image,
        mime=mime,
        size=size,
        samples=samples,
        timing=_timing(samples) if times else "",
        floor=_empty_pipeline_time(worker, run) if times else None,
        milliseconds=(time.perf_counter() - start) * 1000,
    )


def _timing(samples: int) -> str:
    return (
        f"Each node runs alone in its own pipeline with {samples} samples and at most {THREADS} "
        "CPU threads. The time is the median of up to 5 runs, after one warm-up run. In one "
        "pipeline, nodes overlap, so the sum exceeds the total time."
    )


def _step(worker: Worker, run: GraphRun, node: Node, index: int, pictures: list[Tiles]) -> Step:
    spec = run.resolved.spec(node)
    outputs = []
    place = _place(run, node.id, index)
    for output in outputs_of(node, spec):
        port = Port(node.id, output.name)
        outputs.append(_output(worker, run, port, place, pictures))
    return Step(
        node=node.id,
        op=node.op,
        device=run.result.plan.devices[node.id],
        outputs=tuple(outputs),
        draws=tuple(random_argument_texts(run, node, index)),
        drawn=spec.seeded and not is_generator(spec) and not spec.reads,
        time=None,
    )


def _place(run: GraphRun, node: str, index: int) -> int:
    """Return the sample's index in a node's outputs. Raises GraphError if the node did not run."""
    place = run.output_place(node, index)
    if place is None:
        scope = run.graph.scope_of(node)
        raise GraphError(f"The body {scope} did not run for sample {index}. Use another sample.")
    return place


def _with_histograms(run: GraphRun, step: Step, output_index: int) -> Step:
    outputs = []
    for output in step.outputs:
        if output.box is not None:
            one = run.result.batches[Port(step.node, output.name)].sample(output_index)
            made = histogram_of(one.arrays(), value_layout(one))
            output = replace(output, histogram=made)
        outputs.append(output)
    return replace(step, outputs=tuple(outputs))


def _output(
    worker: Worker, run: GraphRun, port: Port, index: int, pictures: list[Tiles]
) -> StepOutput:
    whole = run.result.batches[port]
    one = whole.sample(index)
    array = one.arrays()[0]
    kind = run.resolved.kind(port)
    low, high = finite_range(array) if kind != "encoded" else (None, None)
    made = StepOutput(
        name=port.output,
        kind=kind,
        shape=one.shapes[0],
        dtype=one.dtype,
        layout=whole.layout,
        device=whole.device,
        low=low,
        high=high,
    )
    if kind == "encoded":
        return replace(made, text=describe_encoded(array))
    tiles = _picture(worker, run, port, kind, one, index)
    if tiles is None:
        unit = " Hz" if port.output == "sample_rate" else ""
        return replace(made, text=long_values(array) + unit)
    pictures.append(tiles)
    at = len(pictures) - 1  # the position in the sheet is set when all are known
    return replace(made, box=(at, 0, *tiles.sizes[0]), note=tiles.note)


def _picture(
    worker: Worker, run: GraphRun, port: Port, kind: PortKind, batch: Batch, index: int
) -> Tiles | None:
    if kind not in (*SHOWN_KINDS, "mask", "any") or (kind not in SHOWN_KINDS and not batch.layout):
        return None
    try:
        batch = as_pictures(batch, kind)
        picture_layout(batch)
    except GraphError:
        return None
    # On the host, where a single sample is cheap; scaled as in the grid.
    tiles = make_tiles(worker, batch, run.request.tile_size, scaling_for(worker, run, port))
    width, height = tiles.sizes[0]
    pictures = tiles.pictures.copy()
    whole = pictures[0, :height, :width]
    pictures[0, :height, :width] = with_overlays(worker, run, port, index, whole)
    return replace(tiles, pictures=pictures)


def _placed(step: Step, positions: list[tuple[int, int]]) -> Step:
    outputs = [
        replace(output, box=(*positions[output.box[0]], *output.box[2:])) if output.box else output
        for output in step.outputs
    ]
    return replace(step, outputs=tuple(outputs))


def finite_range(array: NDArray[np.generic]) -> tuple[float | None, float | None]:
    """Return the minimum and maximum finite value, or (None, None) if there is none."""
    if array.dtype.kind not in "biuf" or not array.size:
        return None, None
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
        if not array.size:
            return None, None
    return float(array.min()), float(array.max())


def _time(worker: Worker, run: GraphRun, node_id: str) -> NodeTime:
    """Return the time of a node. It is measured again only if the node's cache key changes."""
    worker.report_running([node_id])
    times: dict[str, NodeTime] = worker.kept.setdefault(("times",), {})
    if run.graph.scope_of(node_id):
        return NodeTime(
            None, reason="It runs inside a block; the block's card shows the total time."
        )
    key = run.result.keys[node_id]
    if key not in times:
        if len(times) >= _KEPT_TIMES:
            times.clear()
        times[key] = time_node(worker.runner, run.result, run.graph.node(node_id))
    return times[key]


def _empty_pipeline_time(worker: Worker, run: GraphRun) -> float | None:
    """Return the time of an empty pipeline for this batch size, or None without image outputs."""
    port = next(iter(run.images.values()), None)
    if port is None:
        return None
    batch = run.result.batches[port]
    name = ("floor", batch.device, len(batch))
    if name not in worker.kept:
        worker.kept[name] = empty_pipeline_time(batch)
    found: float = worker.kept[name]
    return found
