"""Predict the memory of a pipeline from image headers and inferred shapes, without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Literal, NamedTuple

from PIL import Image

from workbench.errors import DataError
from workbench.graph.model import Node, Port
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import device_of, is_decoder
from workbench.graph.types.shapes import infer_types_from
from workbench.graph.types.tensor_type import TensorType
from workbench.sources import Dataset, list_samples, no_files_reason
from workbench.sources.headers import image_header

PROCESS = 124 * 2**20
"""Host memory in bytes of a process that runs a CPU pipeline, without its batches (DALI 2.4)."""
_ENCODED_BATCHES = 3
"""Number of encoded batches in the memory of a process, read or mapped (measured with DALI 2.4)."""
_TYPICAL = 64
"""Number of images, evenly spaced by size, from which the typical batch is computed."""
_NAMED = 3

Side = Literal["cpu", "gpu"]


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """Bytes of a node's outputs for one batch; None if a shape does not follow from headers."""

    node: str
    side: Side
    typical: int | None
    worst: int | None


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Predicted memory of one pipeline, with its batch size and prefetch depth.

    ``typical`` and ``worst`` are the peaks in bytes by device; None if unknown. The worst batch
    contains the images with the most pixels, and so do the batches before and after it. Peaks of a
    GPU exclude CUDA's context and the decoder's own buffers, and were not compared with a GPU.
    """

    batch_size: int
    nodes: tuple[NodeMemory, ...]
    typical: Mapping[Side, int | None]
    worst: Mapping[Side, int | None]
    largest: tuple[tuple[str, int, int], ...]
    """Name, width and height of the largest images, starting with the largest."""
    without_header: int
    """Number of files without a readable image header, which are not part of the estimate."""

    @property
    def unknown(self) -> tuple[str, ...]:
        """Nodes whose output size does not follow from the headers."""
        return tuple(row.node for row in self.nodes if row.worst is None)


class _Image(NamedTuple):
    pixels: int
    name: str
    width: int
    height: int
    nbytes: int


def estimate_memory(
    resolved: ResolvedGraph,
    dataset: Dataset,
    on_progress: Callable[[int], None] = lambda count: None,
) -> MemoryEstimate:
    """Read the header of each image of a dataset and predict the memory of a pipeline.

    Freed buffers below 32 MiB that the C library keeps are not included.
    ``on_progress`` is called with the number of files read. Raises DataError if no file has an
    image header, for example for videos and arrays.
    """
    images: list[_Image] = []
    count = 0
    with _images_of_any_size():
        for count, sample in enumerate(list_samples(dataset), 1):
            on_progress(count)
            try:
                header = image_header(sample) if sample.path and sample.has_image else None
                if header is not None:
                    width, height = header.upright
                    images.append(_Image(width * height, sample.name, width, height, sample.size))
            except OSError:
                continue  # `check` reports the reason
    if not images:
        reason = "none of its files has an image header" if count else no_files_reason(dataset)
        raise DataError(f"The memory is unknown for {dataset}: {reason}.")
    size = resolved.graph.settings.batch_size
    images.sort(reverse=True)
    worst = [images[at % len(images)] for at in range(size)]
    step = ceil(len(images) / _TYPICAL)
    some = images[step // 2 :: step]  # of many images not the largest, which few batches contain
    bytes_worst = _port_bytes(resolved, worst)
    bytes_typical = {
        port: None if total is None else total * size // len(some)
        for port, total in _port_bytes(resolved, some).items()
    }
    rows = []
    for node in resolved.nodes:
        ports = output_ports(node, resolved.spec(node))
        rows.append(
            NodeMemory(
                node.id,
                _side(resolved, ports[0]),
                _sum(bytes_typical[port] for port in ports),
                _sum(bytes_worst[port] for port in ports),
            )
        )
    encoded = sum(image.nbytes for image in some) * size // len(some)
    return MemoryEstimate(
        size,
        tuple(rows),
        _peaks(resolved, bytes_typical, some[len(some) // 2 :], encoded),
        _peaks(resolved, bytes_worst, worst, sum(image.nbytes for image in worst)),
        tuple((image.name, image.width, image.height) for image in images[:_NAMED]),
        count - len(images),
    )


@contextmanager
def _images_of_any_size() -> Iterator[None]:
    """Within the context, Pillow parses the headers of images beyond its size limit."""
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def _side(resolved: ResolvedGraph, port: Port) -> Side:
    return "cpu" if device_of(resolved.devices, port) == "cpu" else "gpu"


def _sum(sizes: Iterable[int | None]) -> int | None:
    found = list(sizes)
    return None if None in found else sum(size or 0 for size in found)


# Bytes of a batch at each port, from the sizes of its images.


def _port_bytes(resolved: ResolvedGraph, images: Sequence[_Image]) -> dict[Port, int | None]:
    totals: dict[Port, int | None] = dict.fromkeys(resolved.types, 0)
    by_size: dict[tuple[int, int], Mapping[Port, TensorType]] = {}
    for image in images:
        key = image.height, image.width
        if key not in by_size:
            by_size[key] = _types_for(resolved, *key)
        for port, flow in by_size[key].items():
            totals[port] = _sum((totals.get(port, 0), _bytes(flow)))
    return totals


def _types_for(resolved: ResolvedGraph, height: int, width: int) -> Mapping[Port, TensorType]:
    """Return the type at each port for a decoded image of this size.

    A random crop of the decoder has at most the size of its image.
    """
    known: dict[Port, TensorType] = {}
    for port in _decoded(resolved):
        flow = resolved.types[port]
        if flow.shape is not None and len(flow.shape) == 3:
            sides = zip(flow.shape, (height, width), strict=False)
            shape = (*(each or side for each, side in sides), flow.shape[2])
            known[port] = replace(flow, shape=shape)
    types = infer_types_from(resolved.graph, resolved.catalog, known)
    while resized := _resized_by_one_side(resolved, types):
        known |= resized
        types = infer_types_from(resolved.graph, resolved.catalog, known)
    return types


def _resized_by_one_side(
    resolved: ResolvedGraph, types: Mapping[Port, TensorType]
) -> dict[Port, TensorType]:
    """Return the types after ``resize_shorter`` and ``resize_longer``, which keep the proportions.

    Shape inference does not compute them, because they depend on the size of the image.
    """
    found = {}
    for node in resolved.nodes:
        ports = output_ports(node, resolved.spec(node))
        shape = types[next(iter(node.inputs.values()))].shape if node.inputs else None
        flow = types[ports[0]]
        if node.op != "resize" or shape is None or None in shape or flow.shape is None:
            continue
        chosen = [name for name in node.args if name.startswith("resize_")]
        value = node.args.get(chosen[0]) if len(chosen) == 1 else None
        plain = isinstance(value, int | float) and not {"max_size", "mode", "size"} & {*node.args}
        if None not in flow.shape or flow.layout != "HWC" or not plain:
            continue
        assert isinstance(value, int | float)
        height, width = (each or 1 for each in shape[:2])
        sides = {"resize_shorter": min(height, width), "resize_longer": max(height, width)}
        if chosen[0] in sides:
            scale = value / sides[chosen[0]]
            found[ports[0]] = replace(
                flow, shape=(ceil(height * scale), ceil(width * scale), flow.shape[2])
            )
    return found


def _bytes(flow: TensorType) -> int | None:
    """Return the bytes of a sample; None if unknown. Lists of boxes or labels count as 0."""
    if flow.shape is not None and len(flow.shape) < 3 and None in flow.shape:
        return 0
    if flow.shape is None or flow.dtype is None or None in flow.shape:
        return None
    bits = re.search(r"\d+$", flow.dtype)
    item = int(bits[0]) // 8 if bits else 1 if flow.dtype == "BOOL" else 4
    return prod(each or 0 for each in flow.shape) * item


# Peak of a pipeline, from the bytes of a batch.


def _peaks(
    resolved: ResolvedGraph,
    sizes: Mapping[Port, int | None],
    images: Sequence[_Image],
    encoded: int,
) -> dict[Side, int | None]:
    """Return the peak on each device.

    DALI frees a buffer after its last use. Outputs wait in the queue, and the caller still has the
    previous batch when it requests the next one. In graphs with branches, DALI may compute the
    next batch before the last operators of this one, so two batches are in work. Each thread that
    decodes on the CPU has a second copy of its image.
    """
    graph = resolved.graph
    depth = graph.settings.prefetch_queue_depth or 2
    threads = graph.settings.num_threads or 1
    ports = [port for node in resolved.nodes for port in node.inputs.values()]
    outputs = set(graph.outputs.values())
    branched = any(ports.count(port) > 1 for port in ports)
    largest = sorted(images, reverse=True)[:threads]
    decoding = [
        port for port in sizes if port in _decoded(resolved) and _side(resolved, port) == "cpu"
    ]
    peaks: dict[Side, int | None] = {}
    sides: tuple[Side, ...] = ("cpu", "gpu")
    for side in sides:
        here: dict[Port, int | None] = {
            port: size if _side(resolved, port) == side else 0 for port, size in sizes.items()
        }
        parts = [_working_set(resolved, here)] * (2 if branched else 1)
        parts += [here[port] for port in outputs for _ in range(depth + 1)]
        if side == "cpu":
            channels = sum(resolved.types[port].channels or 3 for port in decoding)
            scratch = channels * sum(image.pixels for image in largest)
            parts.append(PROCESS + _ENCODED_BATCHES * encoded + scratch)
        if (peak := _sum(parts)) != 0:
            peaks[side] = peak
    return peaks


def _decoded(resolved: ResolvedGraph) -> set[Port]:
    """Return the outputs of image decoders."""
    return {
        output_ports(node, spec)[0]
        for node in resolved.graph.nodes
        if is_decoder(spec := resolved.spec(node))
    }


def _working_set(resolved: ResolvedGraph, sizes: Mapping[Port, int | None]) -> int | None:
    """Return the maximum number of bytes that one batch uses at a time, without the outputs."""
    outputs = set(resolved.graph.outputs.values())
    last = {port: at for at, node in enumerate(resolved.nodes) for port in node.inputs.values()}
    live: dict[Port, int | None] = {}
    peak = 0
    for at, node in enumerate(resolved.nodes):
        ports = output_ports(node, resolved.spec(node))
        live |= {port: sizes[port] for port in ports if port not in outputs}
        used = _sum((*live.values(), *_body_bytes(resolved, node, sizes)))
        if used is None:
            return None
        peak = max(peak, used)
        live = {port: size for port, size in live.items() if last.get(port, -1) > at}
    return peak


def _body_bytes(
    resolved: ResolvedGraph, node: Node, sizes: Mapping[Port, int | None]
) -> list[int | None]:
    """Return the bytes of all buffers inside a block."""
    return [
        size
        for body in node.bodies.values()
        for inner in body.nodes
        for size in (
            *(sizes[port] for port in output_ports(inner, resolved.spec(inner))),
            *_body_bytes(resolved, inner, sizes),
        )
    ]
