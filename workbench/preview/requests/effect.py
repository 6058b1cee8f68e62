"""Show the effect of an argument: one sample of an image output for several values."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import ArgSpec, Value
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError, PipelineError
from workbench.graph.model import Graph
from workbench.preview.pictures.contact_sheet import compose, encode, grid_of
from workbench.preview.pictures.frame_strip import as_pictures
from workbench.preview.pictures.output_tiles import scaling_for
from workbench.preview.pictures.tiles import Tiles, make_tiles, on_host
from workbench.preview.request import PreviewRequest, run_request
from workbench.preview.requests.render import Box

MOST_VARIANTS = 16
"""Maximum number of variants. Each runs the nodes after the changed node for the whole batch."""


def effect_values(arg: ArgSpec, count: int) -> tuple[Value, ...]:
    """Return the values to show: both booleans, every choice, or ``count`` values in the range.

    The result is empty if the argument has neither choices nor a known range.
    """
    if arg.kind == "bool":
        return (False, True)
    choices = arg.choices or arg.members
    if choices:
        return tuple(choices[:MOST_VARIANTS])
    if arg.low is None or arg.high is None or arg.kind not in ("int", "float"):
        return ()
    width = arg.high - arg.low
    spread = [float(f"{arg.low + width * i / (count - 1):.4g}") for i in range(count)]
    if arg.kind == "float":
        return tuple(dict.fromkeys(spread))
    whole = (round(each) | 1 if arg.step == 2 else round(each) for each in spread)
    return tuple(dict.fromkeys(whole))


@dataclass(frozen=True, slots=True)
class Effect:
    """A sheet with the images of the variants.

    ``boxes`` has the rectangle of each variant's image, or None if the variant failed. ``errors``
    has the reasons, which are empty for variants with an image. ``image`` is empty if all variants
    failed. ``alike`` has one index per variant: that of the first variant with bit-identical
    output. Outputs are compared before they are scaled for display.
    """

    boxes: tuple[Box | None, ...]
    errors: tuple[str, ...]
    image: bytes
    mime: str
    size: tuple[int, int]
    alike: tuple[int, ...]


def _digest(output: NDArray[Any]) -> bytes:
    head = f"{output.dtype} {output.shape}".encode()
    return hashlib.blake2b(head + np.ascontiguousarray(output).tobytes(), digest_size=16).digest()


@task
def render_effect(
    worker: Worker, request: PreviewRequest, graphs: Sequence[Graph], index: int
) -> Effect:
    """Task: render sample ``index`` with each graph, using the graph's first image output.

    All graphs use the request's seeds. Raises GraphError for more than ``MOST_VARIANTS`` graphs,
    and the errors of ``run_request``. DALI's errors and missing images are not raised, but reported
    for each variant.
    """
    if len(graphs) > MOST_VARIANTS:
        raise GraphError(f"{len(graphs)} variants are too many. Use at most {MOST_VARIANTS}.")
    tiles: list[Tiles] = []
    outputs: list[bytes] = []
    errors: list[str] = []
    for graph in graphs:
        try:
            run = run_request(worker, replace(request, graph=graph))
        except PipelineError as error:
            errors.append(str(error))
            continue
        run.require_sample(index)
        port = next(iter(run.images.values()), None)
        reason = run.result.samples[index].error
        if port is None:
            reason = "The graph outputs no image."
        if port is not None and not reason:
            one = run.result.batches[port].sample(index)
            try:
                shown = as_pictures(one, run.resolved.kind(port))
                scaling = scaling_for(worker, run, port)
                made = make_tiles(worker, shown, request.tile_size, scaling)
                tiles.append(made)
                outputs.append(_digest(one.arrays()[0]))
            except GraphError as error:  # no pixels: the value crops everything
                reason = str(error)
        errors.append(reason)
    mime, image, size = "image/png" if request.lossless else "image/jpeg", b"", (0, 0)
    boxes: list[Box | None] = [None] * len(graphs)
    alike = list(range(len(graphs)))
    if tiles:
        pictures = [on_host(made) for made in tiles]
        together = Tiles(np.concatenate(pictures), [], "")
        seen: dict[bytes, int] = {}
        rendered = [at for at, reason in enumerate(errors) if not reason]
        for at, output in zip(rendered, outputs, strict=True):
            alike[at] = seen.setdefault(output, at)
        grid = grid_of([together])
        image, size = encode(compose([together]).pixels, mime), grid.extent
        placed = iter(zip(grid.places, tiles, strict=True))
        for at, reason in enumerate(errors):
            if not reason:
                (x, y), made = next(placed)
                boxes[at] = (x, y, *made.sizes[0])
    return Effect(tuple(boxes), tuple(errors), image, mime, size, tuple(alike))
