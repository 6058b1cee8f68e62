"""One sample through the nodes in running order: picture, facts, draws, time of each step.

Runs inside the worker process only, but for its records.
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
from workbench.preview.pictures.contact_sheet import compose, encode, grid_of
from workbench.preview.pictures.frame_strip import as_pictures, value_layout
from workbench.preview.pictures.output_tiles import scaling_for
from workbench.preview.pictures.target_marks import marked
from workbench.preview.pictures.tiles import Tiles, make_tiles, picture_layout
from workbench.preview.request import GraphRun, PreviewRequest, run_steps
from workbench.preview.views.render import Box
from workbench.preview.views.statistics import Histogram, histogram_of
from workbench.preview.views.texts import describe_encoded, draws_at, long_values

_KEPT_TIMES = 4096


@dataclass(frozen=True, slots=True)
class StepOutput:
    """What one output of a node holds for the sample.

    ``low`` and ``high`` are its smallest and largest finite value, None where it has none;
    ``device`` is where it lies. A picture has its place in the sheet in ``box``, and ``note`` says
    how its values and channels are shown; anything else stands in ``text``. ``histogram`` is that
    of a picture's values, where one node alone was asked for.
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
    """One node.

    ``device`` is where it ran; ``draws`` has what its arguments were fed for this sample,
    ``angle -7.24``; ``drawn`` says that it draws by itself too, with DALI showing no value;
    ``time`` is None where times were not asked for.
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
    """Every step of one sample, and one sheet with their pictures.

    ``size`` is (width, height) of the sheet; ``image`` is empty where no step is a picture. Of a
    sample with an error there are no outputs: another file's stand in its place. Times
    are of the whole batch of ``samples`` samples: ``timing`` says what was measured, and
    ``floor`` is the milliseconds that a pipeline takes which does nothing.
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
    """Task: sample ``index`` of the request's batch, from the outputs that are kept.

    ``node`` is the one that is wanted, with histograms; empty: all, without. ``times`` runs each
    node alone a few times, once for each change of it: up to 0.1 s for a node, 1.6 s more for a
    mixed decoder that was not built yet. ``targets`` and ``between`` as of
    ``render_card_pictures``. Raises as ``render``, and GraphError where no output depends on the
    node, or the sample did not come.
    """
    start = time.perf_counter()
    run = run_steps(worker, request, targets, between)
    run.require_sample(index)
    pictures: list[Tiles] = []
    inner = run.inner_nodes if node else ()
    wanted = [each for each in (*run.nodes, *inner) if node in ("", each.id)]
    if not wanted:
        raise GraphError(f"No output depends on {node!r}: it was not run.")
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
        floor=_floor(worker, run) if times else None,
        milliseconds=(time.perf_counter() - start) * 1000,
    )


def _timing(samples: int) -> str:
    return (
        f"Each node alone in a pipeline of its own, {samples} samples, at most {THREADS} CPU "
        "threads: median of up to 5 runs after one to warm up, until the batch is ready. In one "
        "pipeline they overlap, so the sum is more than the whole takes."
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
        draws=tuple(draws_at(run, node, index)),
        drawn=spec.seeded and not is_generator(spec) and not spec.reads,
        time=None,
    )


def _place(run: GraphRun, node: str, index: int) -> int:
    """Where in a node's outputs the sample stands. Raises GraphError where it did not come."""
    place = run.output_place(node, index)
    if place is None:
        scope = run.graph.scope_of(node)
        raise GraphError(f"Sample {index} went another way: {scope} did not run for it.")
    return place


def _with_histograms(run: GraphRun, step: Step, place: int) -> Step:
    outputs = []
    for output in step.outputs:
        if output.box is not None:
            one = run.result.batches[Port(step.node, output.name)].sample(place)
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
    at = len(pictures) - 1  # its place in the sheet is known when all are there
    return replace(made, box=(at, 0, *tiles.sizes[0]), note=tiles.note)


def _picture(
    worker: Worker, run: GraphRun, port: Port, kind: PortKind, one: Batch, index: int
) -> Tiles | None:
    if kind not in (*SHOWN_KINDS, "mask", "any") or (kind not in SHOWN_KINDS and not one.layout):
        return None
    try:
        one = as_pictures(one, kind)
        picture_layout(one)
    except GraphError:
        return None
    # On the host, where one sample alone is cheap; scaled as in the grid.
    tiles = make_tiles(worker, one, run.request.tile_size, scaling_for(worker, run, port))
    width, height = tiles.sizes[0]
    pictures = tiles.pictures.copy()
    whole = pictures[0, :height, :width]
    pictures[0, :height, :width] = marked(worker, run, port, index, whole)
    return replace(tiles, pictures=pictures)


def _placed(step: Step, places: list[tuple[int, int]]) -> Step:
    outputs = [
        replace(output, box=(*places[output.box[0]], *output.box[2:])) if output.box else output
        for output in step.outputs
    ]
    return replace(step, outputs=tuple(outputs))


def finite_range(array: NDArray[np.generic]) -> tuple[float | None, float | None]:
    """Smallest and largest finite value, or None and None."""
    if array.dtype.kind not in "biuf" or not array.size:
        return None, None
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
        if not array.size:
            return None, None
    return float(array.min()), float(array.max())


def _time(worker: Worker, run: GraphRun, node_id: str) -> NodeTime:
    """The time of a node, measured once for each key."""
    worker.report_running([node_id])
    times: dict[str, NodeTime] = worker.kept.setdefault(("times",), {})
    if run.graph.scope_of(node_id):
        return NodeTime(
            None, reason="It runs inside a block, whose card has the time of the whole."
        )
    key = run.result.keys[node_id]
    if key not in times:
        if len(times) >= _KEPT_TIMES:
            times.clear()
        times[key] = time_node(worker.runner, run.result, run.graph.node(node_id))
    return times[key]


def _floor(worker: Worker, run: GraphRun) -> float | None:
    """What a pipeline takes that does nothing, with the batch of the last picture."""
    port = next(iter(run.images.values()), None)
    if port is None:
        return None
    batch = run.result.batches[port]
    name = ("floor", batch.device, len(batch))
    if name not in worker.kept:
        worker.kept[name] = empty_pipeline_time(batch)
    found: float = worker.kept[name]
    return found
