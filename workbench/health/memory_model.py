"""The memory model of a pipeline: bytes of a batch at each port, and the peak on each device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil, prod
from typing import Literal, NamedTuple

from workbench.graph.model import Node, Port
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import device_of, is_decoder
from workbench.graph.types.shapes import infer_types_from
from workbench.graph.types.tensor_type import TensorType

_PROCESS = 124 * 2**20
"""Host memory in bytes of a process that runs a CPU pipeline, without its batches (DALI 2.4)."""
_AUGMENTATION, _BLOCK = 6 * 2**20, 2**20
"""Bytes of the operators of an automatic augmentation, and of a block (measured)."""
_ENCODED_BATCHES = 2
"""Number of encoded batches in the memory of a process, read or mapped (measured with DALI 2.4)."""
_RETAINED = 96 * 2**20
"""Bytes that the C library keeps in addition to small buffers (measured with 2 and 8 threads)."""
_GPU_DECODER, _GPU_DECODER_THREAD = 72 * 2**20, 16 * 2**20
"""GPU memory in bytes of a mixed decoder without its batches (measured on an H200), and for each
thread (``device_memory_padding`` of DALI).
"""
_GPU_DECODER_BATCHES = 1.7
"""Decoded batches that a mixed decoder needs in addition, at most (0.7 to 1.7 on an H200)."""
_LARGEST_JPEG = 2**29
"""Decoded bytes above which libjpeg-turbo refuses a JPEG, which OpenCV then decodes (DALI 2.4)."""
_CROP_BLOCKS = 1.5
"""Bytes of DALI's memory pool for random crops of other sizes, per byte of an image that OpenCV
decodes (measured: up to 1.5 in 24 batches of a 20,000 x 15,000 JPEG).
"""
_SPLIT = 320 * 2**20
"""Bytes of an image from which a random crop can need its size once more, because DALI's pool can
split the freed buffer (measured: with 484 and 858 MiB in eight batches, not with 309 MiB in 30).
"""
_POOLED = 32 * 2**20
"""Size in bytes from which DALI allocates buffers in a memory pool of its own."""

Side = Literal["cpu", "gpu"]


class ImageSize(NamedTuple):
    """Size of an image and of its file in bytes; images sort by their number of pixels."""

    pixels: int
    name: str
    width: int
    height: int
    nbytes: int
    format: str = "JPEG"

    @property
    def copies(self) -> int:
        """Decoded images that a thread needs while it decodes the image on the CPU.

        OpenCV needs a second one to swap red and blue.
        """
        own = self.format == "TIFF" or (
            self.format in ("JPEG", "MPO") and 3 * self.pixels <= _LARGEST_JPEG
        )
        return 1 if own else 2


PortTypes = dict[tuple[int, int], Mapping[Port, TensorType]]
"""Type at each port by height and width of the decoded image."""


def side_of(resolved: ResolvedGraph, port: Port) -> Side:
    """Return the device whose memory contains a port's batch."""
    return "cpu" if device_of(resolved.devices, port) == "cpu" else "gpu"


def sum_known(sizes: Iterable[int | None]) -> int | None:
    """Return the sum; None if a size is unknown."""
    found = list(sizes)
    return None if None in found else sum(size or 0 for size in found)


# Bytes of a batch at each port, from the sizes of its images.


def port_bytes(
    resolved: ResolvedGraph, images: Sequence[ImageSize], types: PortTypes
) -> dict[Port, int | None]:
    """Return the bytes of a batch of these images at each port. ``types`` is a cache."""
    totals: dict[Port, int | None] = dict.fromkeys(resolved.types, 0)
    for image in images:
        key = image.height, image.width
        if key not in types:
            types[key] = _types_for(resolved, *key)
        for port, flow in types[key].items():
            totals[port] = sum_known((totals.get(port, 0), _bytes(flow)))
    return totals


def _types_for(resolved: ResolvedGraph, height: int, width: int) -> Mapping[Port, TensorType]:
    """Return the type at each port for a decoded image of this size.

    A random crop of the decoder has at most the size of its image.
    """
    known: dict[Port, TensorType] = {}
    for port in decoded_ports(resolved):
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


def peaks_of(
    resolved: ResolvedGraph,
    sizes: Mapping[Port, int | None],
    images: Sequence[ImageSize],
    encoded: int,
) -> dict[Side, int | None]:
    """Return the peak on each device.

    DALI runs the operators of a batch one after the other, before those of the next batch, and
    frees a buffer after its last use. The caller still has the previous batch, and finished batches
    wait in the queue. Each thread that decodes on the CPU has copies of its image. Mixed
    decoding may decode the next batch while the GPU finishes this one.
    """
    decoded = decoded_ports(resolved)
    peaks: dict[Side, int | None] = {}
    sides: tuple[Side, ...] = ("cpu", "gpu")
    for side in sides:
        here: dict[Port, int | None] = {
            port: size if side_of(resolved, port) == side else 0 for port, size in sizes.items()
        }
        if side == "cpu":
            parts = _pooled_buffers(resolved, here)
            parts += [_process(resolved), _ENCODED_BATCHES * encoded]
            parts.append(decoder_copies(resolved, images))
        else:
            parts = [_buffers(resolved, here), *(here[port] for port in decoded if port in here)]
            parts += _decoder_buffers(resolved, here)
        if (peak := sum_known(parts)) != 0:
            peaks[side] = peak
    return peaks


def _decoder_buffers(resolved: ResolvedGraph, sizes: Mapping[Port, int | None]) -> list[int | None]:
    """Return the bytes that each mixed decoder needs on the GPU, in addition to its outputs."""
    threads = resolved.graph.settings.num_threads or 1
    found: list[int | None] = []
    for port in decoded_ports(resolved):
        if port in sizes and side_of(resolved, port) == "gpu":
            size = sizes[port]
            found.append(None if size is None else int(_GPU_DECODER_BATCHES * size))
            found.append(_GPU_DECODER + threads * _GPU_DECODER_THREAD)
    return found


def _pooled_buffers(resolved: ResolvedGraph, sizes: Mapping[Port, int | None]) -> list[int | None]:
    """Return the bytes of small buffers, and of each size of large ones.

    DALI's pool for large buffers returns nothing to the system, and a freed buffer is reused only
    for buffers of about the same size.
    """
    large = {size for size in sizes.values() if size is not None and size >= _POOLED}
    small = {port: 0 if size in large else size for port, size in sizes.items()}
    parts = [_buffers(resolved, small)]
    for each in large:
        same: dict[Port, int | None] = {
            port: size if size == each else 0 for port, size in sizes.items()
        }
        parts.append(27 * (_buffers(resolved, same) or 0) // 25)  # blocks are a little larger
    return parts


def _process(resolved: ResolvedGraph) -> int:
    """Return the bytes of a process with the operators of the graph, without its batches."""
    nodes = list(resolved.graph.walk())
    augmentations = sum(bool(resolved.spec(node).module) for node in nodes)
    return _PROCESS + augmentations * _AUGMENTATION + _BLOCK * sum(bool(n.bodies) for n in nodes)


def _buffers(resolved: ResolvedGraph, sizes: Mapping[Port, int | None]) -> int | None:
    """Return the maximum bytes of the batch in work, the waiting ones, and that of the caller."""
    graph = resolved.graph
    waiting = max(1, (graph.settings.prefetch_queue_depth or 2) - 1)
    outputs = [sizes[port] for port in {*graph.outputs.values()} for _ in range(waiting)]
    return sum_known((_working_set(resolved, sizes), *outputs))


def decoder_copies(resolved: ResolvedGraph, images: Sequence[ImageSize]) -> int:
    """Return the bytes of the copies that the threads need while they decode on the CPU.

    Libjpeg-turbo decodes only the crop of ``image_random_crop``, OpenCV the whole image. The result
    includes the buffer that random crops of a huge image can need once more.
    """
    cropped = [
        image.pixels * (resolved.types[port].channels or 3)
        for port in decoded_ports(resolved)
        if port in resolved.types and side_of(resolved, port) == "cpu"
        if resolved.graph.node(port.node).op == "decoders.image_random_crop"
        for image in images
        if image.copies > 1
    ]
    largest = max(cropped, default=0)
    blocks = int(_CROP_BLOCKS * largest) if largest >= _POOLED else 0
    return sum(_copies(resolved, images)) + blocks + _split_buffer(resolved, images)


def _split_buffer(resolved: ResolvedGraph, images: Sequence[ImageSize]) -> int:
    """Return the bytes that random crops of a huge image can need in addition."""
    largest = max((3 * image.pixels for image in images), default=0)
    crops = any(node.op == "random_resized_crop" for node in resolved.graph.walk())
    decodes = any(side_of(resolved, port) == "cpu" for port in decoded_ports(resolved))
    return 27 * largest // 25 if crops and decodes and largest >= _SPLIT else 0


def _copies(resolved: ResolvedGraph, images: Sequence[ImageSize]) -> list[int]:
    """Return the bytes of the largest copies, for one image of each thread that decodes."""
    threads = resolved.graph.settings.num_threads or 1
    largest = sorted((image.copies * image.pixels for image in images), reverse=True)[:threads]
    return [
        pixels * (resolved.types[port].channels or 3)
        for port in decoded_ports(resolved)
        if port in resolved.types and side_of(resolved, port) == "cpu"
        for pixels in largest
    ]


def retained_bytes(
    resolved: ResolvedGraph, sizes: Mapping[Port, int | None], images: Sequence[ImageSize]
) -> int:
    """Return how many bytes of freed buffers the C library keeps at most, as measured.

    Large buffers do not count, because DALI has a memory pool for them.
    """
    small = {
        port: size if size and size < _POOLED and side_of(resolved, port) == "cpu" else 0
        for port, size in sizes.items()
    }
    copies = sum(size for size in _copies(resolved, images) if size < _POOLED)
    return _RETAINED + 3 * ((_buffers(resolved, small) or 0) + copies) // 2


def decoded_ports(resolved: ResolvedGraph) -> set[Port]:
    """Return the outputs of image decoders."""
    return {
        output_ports(node, spec)[0]
        for node in resolved.graph.nodes
        if is_decoder(spec := resolved.spec(node))
    }


def _working_set(resolved: ResolvedGraph, sizes: Mapping[Port, int | None]) -> int | None:
    """Return the maximum number of bytes that one batch uses at a time, with its outputs."""
    outputs = set(resolved.graph.outputs.values())
    last = {port: at for at, node in enumerate(resolved.nodes) for port in node.inputs.values()}
    live: dict[Port, int | None] = {}
    peak = 0
    for at, node in enumerate(resolved.nodes):
        live |= {port: sizes[port] for port in output_ports(node, resolved.spec(node))}
        used = sum_known((*live.values(), *_body_bytes(resolved, node, sizes)))
        if used is None:
            return None
        peak = max(peak, used)
        live = {
            port: size for port, size in live.items() if last.get(port, -1) > at or port in outputs
        }
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
