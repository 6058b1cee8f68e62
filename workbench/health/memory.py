"""Predict the memory of a pipeline from image headers and inferred shapes, without running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from html import escape
from math import ceil, prod
from typing import Any, Literal, NamedTuple

import psutil
from PIL import Image

from workbench.catalog import load_catalog
from workbench.engine.file_checks.file_check_pool import is_inside
from workbench.engine.protocol.exit_status import printable
from workbench.engine.resources.machine import describe_machine, usable_memory
from workbench.errors import DataError
from workbench.graph.checks.check import require_sound
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.active import active_graph
from workbench.graph.execution.dataset_parameters import parameters, with_datasets
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import device_of, is_decoder
from workbench.graph.types.shapes import infer_types_from
from workbench.graph.types.tensor_type import TensorType
from workbench.roots import Roots
from workbench.sources import Data, Dataset, list_samples, no_files_reason, open_datasets
from workbench.sources.headers import image_header

RETURN_FREED = "MALLOC_TRIM_THRESHOLD_=131072"
"""Variable with which glibc returns freed buffers to the system at once."""
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
_POOLED = 32 * 2**20
"""Size in bytes from which DALI allocates buffers in a memory pool of its own."""
_TYPICAL = 64
"""Number of images, evenly spaced by size, from which the typical batch is computed."""
_LISTED = 2**20 // 20
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
class Remedy:
    """A change and the peaks in bytes of the worst batch after it, by device."""

    change: str
    worst: Mapping[Side, int | None]


@dataclass(frozen=True, slots=True, repr=False)
class MemoryEstimate:
    """Predicted memory of one pipeline.

    ``typical`` and ``worst`` are the peaks in bytes by device; None if unknown. The worst batch
    contains the images with the most pixels, and so do the batches before and after it. Peaks of a
    GPU exclude CUDA's context. They are bounds: 1 to 30 % above what 23 runs on an H200 needed.

    ::

        print(wb.memory(graph, "photos"))
    """

    batch_size: int
    nodes: tuple[NodeMemory, ...]
    typical: Mapping[Side, int | None]
    worst: Mapping[Side, int | None]
    retained: int
    """Bytes of host memory that the process can need in addition, because the C library keeps
    freed buffers (a bound from measurements)."""
    largest: tuple[tuple[str, int, int], ...]
    """Name, width and height of the largest images, starting with the largest."""
    without_header: int
    """Number of files without a readable image header, which are not part of the estimate."""
    pipelines: int = 1
    """Number of pipelines of the graph. All bytes are those of one pipeline."""
    remedies: tuple[Remedy, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """Nodes whose output size does not follow from the headers."""
        return tuple(row.node for row in self.nodes if row.worst is None)

    @property
    def shortage(self) -> str:
        """Sentence that the worst batch can need more memory than is free; "" if it fits.

        ::

            assert not wb.memory(graph, "photos").shortage
        """
        machine = describe_machine()
        free = min(usable_memory(), int(psutil.virtual_memory().available))
        limits = {"cpu": free, "gpu": int(machine.gpu_memory_gib * 2**30)}
        for side, peak in self.worst.items():
            needed = None if peak is None else peak + (self.retained if side == "cpu" else 0)
            if needed is not None and limits[side] and needed > limits[side]:
                where = "are free" if side == "cpu" else "are on the GPU"
                return (
                    f"The worst batch can need {needed / 2**30:.1f} GiB, but "
                    f"{limits[side] / 2**30:.1f} GiB {where}. Use a smaller batch size, or make "
                    "the largest images smaller."
                )
        return ""

    def table(self) -> list[tuple[str, str, Side, int | None, int | None]]:
        """Return name, node id, device, typical and worst bytes of the peaks and of each node.

        Nodes with less than 0.05 MiB, such as random numbers, are not listed.
        """
        rows: list[tuple[str, str, Side, int | None, int | None]] = []
        for side, peak in self.worst.items():
            name = "peak of the process" if side == "cpu" else "peak of the GPU"
            rows.append((name, "", side, self.typical[side], peak))
        rows += [
            (row.node, row.node, row.side, row.typical, row.worst)
            for row in self.nodes
            if row.worst is None or row.worst >= _LISTED
        ]
        return rows

    def notes(self) -> list[str]:
        """Return the largest images, the unknown parts, and the changes that help."""
        images = (f"{printable(name)} ({wide} x {high})" for name, wide, high in self.largest)
        found = [f"largest images: {', '.join(images)}"]
        if self.unknown:
            found.append(f"unknown: the shapes after {', '.join(self.unknown)} depend on the run")
        if self.pipelines > 1:
            found.append(f"These figures are for one pipeline; the graph has {self.pipelines}.")
        if self.without_header:
            found.append(f"not included: {self.without_header:,} files without an image header")
        if self.worst.get("cpu") is not None:
            found.append(
                f"The process can need up to {as_mib(self.retained)} MiB more, because the C "
                f"library keeps freed buffers. {RETURN_FREED} in the environment prevents this; "
                "with large images the process is then slower."
            )
        if self.remedies:
            found.append("Peak of the worst batch in MiB after a change:")
        for each in self.remedies:
            peaks = (f"{as_mib(peak)} ({side})" for side, peak in each.worst.items())
            found.append(f"  {each.change}: {', '.join(peaks)}")
        return found

    def lines(self) -> list[str]:
        """Return the report as lines: a table in MiB, notes, and the changes that help."""
        rows = self.table()
        width = max(24, *(len(name) + 2 for name, *_ in rows))
        head = f"{'MiB per batch of ' + str(self.batch_size):{width}}{'':8}typical     worst"
        table = [
            f"{name:{width}}{side:5}{as_mib(typical):>10}{as_mib(worst):>10}"
            for name, _, side, typical, worst in rows
        ]
        return [head, *table, *self.notes()]

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per node, in bytes. Requires pandas.

        ::

            print(wb.memory(graph, "photos").to_frame())
        """
        import pandas

        return pandas.DataFrame([asdict(row) for row in self.nodes])

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def as_mib(size: int | None) -> str:
    """Format a number of bytes in MiB."""
    return "unknown" if size is None else f"{size / 2**20:,.1f}"


class _Image(NamedTuple):
    pixels: int
    name: str
    width: int
    height: int
    nbytes: int


_Types = dict[tuple[int, int], Mapping[Port, TensorType]]
"""Type at each port by height and width of the decoded image."""


def memory(
    graph: Graph,
    data: Data,
    on_progress: Callable[[int], None] = lambda count: None,
    roots: Roots | None = None,
) -> MemoryEstimate:
    """Predict the peak memory of a graph for the typical and the worst batch, without running it.

    The header of each image is read, except files outside the ``roots``. ``on_progress`` is called
    with the number of files read.
    Raises GraphFaultsError if the graph cannot run, and DataError if the graph reads several data
    sets, or no file has an image header.

    ::

        found = wb.memory(graph, "photos")
        print(found.worst["cpu"], found.largest[0])
    """
    catalog, given = load_catalog(), open_datasets(data)
    require_sound(graph, catalog)
    graph = with_datasets(active_graph(graph, catalog), given)
    read = [given[name] for name in parameters(graph.nodes)]
    if len(read) != 1:
        raise DataError(
            f"The graph reads {len(read)} data sets. Memory is predicted for graphs that read one."
        )
    return estimate_memory(ResolvedGraph(graph, catalog), read[0], on_progress, roots)


def estimate_memory(
    resolved: ResolvedGraph,
    dataset: Dataset,
    on_progress: Callable[[int], None] = lambda count: None,
    roots: Roots | None = None,
) -> MemoryEstimate:
    """Read the header of each image of a dataset and predict the memory of a pipeline.

    Parameters and errors are those of ``memory``.
    """
    images, count = _read_headers(dataset, on_progress, roots)
    if not images:
        reason = "none of its files has an image header" if count else no_files_reason(dataset)
        raise DataError(f"The memory is unknown for {dataset}: {reason}.")
    settings = resolved.graph.settings
    size = settings.batch_size
    types: _Types = {}
    worst = [images[at % len(images)] for at in range(size)]
    step = ceil(len(images) / _TYPICAL)
    some = images[step // 2 :: step]  # of many images not the largest, which few batches contain
    bytes_worst = _port_bytes(resolved, worst, types)
    bytes_typical = {
        port: None if total is None else total * size // len(some)
        for port, total in _port_bytes(resolved, some, types).items()
    }
    listed = {node.id for node in resolved.nodes}
    rows: list[NodeMemory] = []
    for node in (*resolved.nodes, *resolved.graph.walk()):
        ports = output_ports(node, resolved.spec(node))
        row = NodeMemory(
            node.id,
            _side(resolved, ports[0]),
            _sum(bytes_typical[port] for port in ports),
            _sum(bytes_worst[port] for port in ports),
        )
        if len(rows) < len(listed) or (row.worst is None and node.id not in listed):
            rows.append(row)  # of the nodes inside blocks only the unknown ones
    encoded = sum(image.nbytes for image in some) * size // len(some)
    return MemoryEstimate(
        size,
        tuple(rows),
        _peaks(resolved, bytes_typical, some[len(some) // 2 :], encoded),
        _worst_peaks(resolved, images, types),
        _retained(resolved, bytes_worst, worst),
        tuple((image.name, image.width, image.height) for image in images[:_NAMED]),
        count - len(images),
        settings.pipelines,
        tuple(_remedies(resolved, images, types)),
    )


def _read_headers(
    dataset: Dataset, on_progress: Callable[[int], None], roots: Roots | None
) -> tuple[list[_Image], int]:
    """Return the images by decreasing number of pixels, and the number of files."""
    images: list[_Image] = []
    count = 0
    with _images_of_any_size():
        for count, sample in enumerate(list_samples(dataset), 1):
            on_progress(count)
            try:
                usable = sample.path and sample.has_image and is_inside(roots, sample)
                header = image_header(sample) if usable else None
                if header is not None:
                    width, height = header.upright
                    images.append(_Image(width * height, sample.name, width, height, sample.size))
            except OSError:
                continue  # `check` reports the reason
    return sorted(images, reverse=True), count


def _worst_peaks(
    resolved: ResolvedGraph, images: Sequence[_Image], types: _Types
) -> dict[Side, int | None]:
    """Return the peaks of the batch that contains the largest images."""
    size = resolved.graph.settings.batch_size
    worst = [images[at % len(images)] for at in range(size)]
    encoded = sum(image.nbytes for image in worst)
    return _peaks(resolved, _port_bytes(resolved, worst, types), worst, encoded)


def _remedies(resolved: ResolvedGraph, images: Sequence[_Image], types: _Types) -> Iterator[Remedy]:
    """Yield the changes that lower a peak by at least 5 %, and hints for mixed decoding."""
    before = _worst_peaks(resolved, images, types)
    settings = resolved.graph.settings
    for name, value in (
        ("batch_size", settings.batch_size // 2),
        ("prefetch_queue_depth", (settings.prefetch_queue_depth or 2) - 1),
        ("num_threads", (settings.num_threads or 1) // 2),
    ):
        if value:
            changed = resolved.for_graph(set_setting(resolved.graph, **{name: value}))
            after = _worst_peaks(changed, images, types)
            if _is_lower(after, before):
                yield Remedy(f"{name}={value}", after)
    limit = images[len(images) // 10]  # one image in ten is larger
    larger = sum(image.pixels > limit.pixels for image in images)
    smaller = [limit] * larger + list(images[larger:])
    after = _worst_peaks(resolved, smaller, types)
    if larger and _is_lower(after, before):
        files = f"{larger:,} larger images" if larger > 1 else images[0].name
        yield Remedy(f"resize {files} to {limit.width} x {limit.height}", after)
    wide = max(image.width for image in images)
    high = max(image.height for image in images)
    for port in _decoded(resolved):
        if (
            _side(resolved, port) == "gpu"
            and "preallocate_width_hint"
            in resolved.spec(node := resolved.graph.node(port.node)).args
        ):
            hints = f"preallocate_width_hint={wide}, preallocate_height_hint={high}"
            yield Remedy(f"{node.id}: {hints} (allocated once, at the start)", before)


def _is_lower(after: Mapping[Side, int | None], before: Mapping[Side, int | None]) -> bool:
    pairs = ((after.get(side), before[side]) for side in before)
    return any(new is not None and old is not None and new <= 0.95 * old for new, old in pairs)


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


def _port_bytes(
    resolved: ResolvedGraph, images: Sequence[_Image], types: _Types
) -> dict[Port, int | None]:
    """Return the bytes of a batch of these images at each port. ``types`` is a cache."""
    totals: dict[Port, int | None] = dict.fromkeys(resolved.types, 0)
    for image in images:
        key = image.height, image.width
        if key not in types:
            types[key] = _types_for(resolved, *key)
        for port, flow in types[key].items():
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

    DALI runs the operators of a batch one after the other, before those of the next batch, and
    frees a buffer after its last use. The caller still has the previous batch, and finished batches
    wait in the queue. Each thread that decodes on the CPU has a second copy of its image. Mixed
    decoding may decode the next batch while the GPU finishes this one.
    """
    decoded = _decoded(resolved)
    peaks: dict[Side, int | None] = {}
    sides: tuple[Side, ...] = ("cpu", "gpu")
    for side in sides:
        here: dict[Port, int | None] = {
            port: size if _side(resolved, port) == side else 0 for port, size in sizes.items()
        }
        if side == "cpu":
            parts = _pooled_buffers(resolved, here)
            parts += [_process(resolved), _ENCODED_BATCHES * encoded, *_copies(resolved, images)]
        else:
            parts = [_buffers(resolved, here), *(here[port] for port in decoded if port in here)]
            parts += _decoder_buffers(resolved, here)
        if (peak := _sum(parts)) != 0:
            peaks[side] = peak
    return peaks


def _decoder_buffers(resolved: ResolvedGraph, sizes: Mapping[Port, int | None]) -> list[int | None]:
    """Return the bytes that each mixed decoder needs on the GPU, in addition to its outputs."""
    threads = resolved.graph.settings.num_threads or 1
    found: list[int | None] = []
    for port in _decoded(resolved):
        if port in sizes and _side(resolved, port) == "gpu":
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
    return _sum((_working_set(resolved, sizes), *outputs))


def _copies(resolved: ResolvedGraph, images: Sequence[_Image]) -> list[int]:
    """Return the bytes of the largest images, one for each thread that decodes on the CPU."""
    threads = resolved.graph.settings.num_threads or 1
    largest = sorted((image.pixels for image in images), reverse=True)[:threads]
    return [
        pixels * (resolved.types[port].channels or 3)
        for port in _decoded(resolved)
        if port in resolved.types and _side(resolved, port) == "cpu"
        for pixels in largest
    ]


def _retained(
    resolved: ResolvedGraph, sizes: Mapping[Port, int | None], images: Sequence[_Image]
) -> int:
    """Return how many bytes of freed buffers the C library keeps at most, as measured.

    Large buffers do not count, because DALI has a memory pool for them.
    """
    small = {
        port: size if size and size < _POOLED and _side(resolved, port) == "cpu" else 0
        for port, size in sizes.items()
    }
    copies = sum(size for size in _copies(resolved, images) if size < _POOLED)
    return _RETAINED + 3 * ((_buffers(resolved, small) or 0) + copies) // 2


def _decoded(resolved: ResolvedGraph) -> set[Port]:
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
        used = _sum((*live.values(), *_body_bytes(resolved, node, sizes)))
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
