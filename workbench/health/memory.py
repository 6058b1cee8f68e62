"""Predict the memory of a pipeline from image headers and inferred shapes, without running it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from html import escape
from math import ceil
from typing import Any

import psutil
from PIL import Image

from workbench.arguments import FUNCTION, checked
from workbench.catalog import load_catalog
from workbench.engine.file_checks.file_check_pool import is_inside
from workbench.engine.protocol.exit_status import printable
from workbench.engine.resources.machine import describe_machine, usable_memory
from workbench.errors import DataError
from workbench.graph.checks.check import require_sound
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.active import active_graph
from workbench.graph.execution.dataset_parameters import parameters, with_datasets
from workbench.graph.model import GRAPH, Graph
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.health.memory_model import (
    ImageSize,
    PortTypes,
    Side,
    decoded_ports,
    decoder_copies,
    peaks_of,
    port_bytes,
    retained_bytes,
    side_of,
    sum_known,
)
from workbench.roots import Roots
from workbench.sources import Data, Dataset, list_samples, no_files_reason, open_datasets
from workbench.sources.headers import image_header

RETURN_FREED = "MALLOC_TRIM_THRESHOLD_=131072"
"""Variable with which glibc returns freed buffers to the system at once."""
_TYPICAL = 64
"""Number of images, evenly spaced by size, from which the typical batch is computed."""
_LISTED = 2**20 // 20
_NAMED = 3


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
    copies: tuple[int, int] = (0, 0)
    """Bytes that the threads need while they decode on the CPU, in addition to the batch, for the
    typical and the worst batch. Random crops of an image of 320 MiB or more add its size."""
    fitting: int = 0
    """Largest power of two whose worst batch fits into the free memory, if this batch does not; 0
    if none fits."""

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
        if (found := _excess(self.worst, self.retained)) is None:
            return ""
        side, needed, limit = found
        where = "are free" if side == "cpu" else "are on the GPU"
        fix = "Make the largest images smaller"
        if self.fitting:
            fix = f"Use a batch size of {self.fitting} or less, or make the largest images smaller"
        return (
            f"The worst batch can need {needed / 2**30:.1f} GiB, but {limit / 2**30:.1f} GiB "
            f"{where}. {fix}."
        )

    def table(self) -> list[tuple[str, str, Side, int | None, int | None]]:
        """Return name, node id, device, typical and worst bytes of the peaks, copies and each node.

        Nodes with less than 0.05 MiB, such as random numbers, are not listed.
        """
        rows: list[tuple[str, str, Side, int | None, int | None]] = []
        for side, peak in self.worst.items():
            name = "peak of the process" if side == "cpu" else "peak of the GPU"
            rows.append((name, "", side, self.typical[side], peak))
        if self.copies[1] >= _LISTED:
            rows.append(("copies of the decoder", "", "cpu", *self.copies))
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
    """Format a number of bytes in MiB: integers from 10 MiB on."""
    if size is None:
        return "unknown"
    return f"{size / 2**20:,.0f}" if size >= 10 * 2**20 else f"{size / 2**20:,.1f}"


def _excess(worst: Mapping[Side, int | None], retained: int) -> tuple[Side, int, int] | None:
    """Return the device without enough memory, the bytes needed and the bytes available."""
    free = min(usable_memory(), int(psutil.virtual_memory().available))
    limits = {"cpu": free, "gpu": int(describe_machine().gpu_memory_gib * 2**30)}
    for side, peak in worst.items():
        needed = None if peak is None else peak + (retained if side == "cpu" else 0)
        if needed is not None and limits[side] and needed > limits[side]:
            return side, needed, limits[side]
    return None


@checked(graph=GRAPH, on_progress=FUNCTION)
def memory(
    graph: Graph,
    data: Data,
    on_progress: Callable[[int], None] | None = None,
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
    on_progress: Callable[[int], None] | None = None,
    roots: Roots | None = None,
) -> MemoryEstimate:
    """Read the header of each image of a dataset and predict the memory of a pipeline.

    Parameters and errors are those of ``memory``.
    """
    images, count = _read_headers(dataset, on_progress, roots)
    if not images:
        reason = "none of its files has an image header." if count else no_files_reason(dataset)
        raise DataError(f"The memory is unknown for {dataset}: {reason}")
    settings = resolved.graph.settings
    size = settings.batch_size
    types: PortTypes = {}
    worst = [images[at % len(images)] for at in range(size)]
    step = ceil(len(images) / _TYPICAL)
    some = images[step // 2 :: step]  # of many images not the largest, which few batches contain
    bytes_worst = port_bytes(resolved, worst, types)
    bytes_typical = {
        port: None if total is None else total * size // len(some)
        for port, total in port_bytes(resolved, some, types).items()
    }
    listed = {node.id for node in resolved.nodes}
    rows: list[NodeMemory] = []
    for node in (*resolved.nodes, *resolved.graph.walk()):
        ports = output_ports(node, resolved.spec(node))
        row = NodeMemory(
            node.id,
            side_of(resolved, ports[0]),
            sum_known(bytes_typical[port] for port in ports),
            sum_known(bytes_worst[port] for port in ports),
        )
        if len(rows) < len(listed) or (row.worst is None and node.id not in listed):
            rows.append(row)  # of the nodes inside blocks only the unknown ones
    encoded = sum(image.nbytes for image in some) * size // len(some)
    peaks, retained = _worst_peaks(resolved, images, types)
    fitting = _fitting(resolved, images, types) if _excess(peaks, retained) else 0
    return MemoryEstimate(
        size,
        tuple(rows),
        peaks_of(resolved, bytes_typical, some[len(some) // 2 :], encoded),
        peaks,
        retained,
        tuple((image.name, image.width, image.height) for image in images[:_NAMED]),
        count - len(images),
        settings.pipelines,
        tuple(_remedies(resolved, images, types, fitting)),
        (decoder_copies(resolved, some[len(some) // 2 :]), decoder_copies(resolved, worst)),
        fitting,
    )


def _read_headers(
    dataset: Dataset, on_progress: Callable[[int], None] | None, roots: Roots | None
) -> tuple[list[ImageSize], int]:
    """Return the images by decreasing number of pixels, and the number of files."""
    images: list[ImageSize] = []
    count = 0
    with _images_of_any_size():
        for count, sample in enumerate(list_samples(dataset), 1):
            if on_progress is not None:
                on_progress(count)
            try:
                usable = sample.path and sample.has_image and is_inside(roots, sample)
                header = image_header(sample) if usable else None
                if header is not None:
                    width, height = header.upright
                    images.append(
                        ImageSize(
                            width * height, sample.name, width, height, sample.size, header.format
                        )
                    )
            except OSError:
                continue  # `check` reports the reason
    return sorted(images, reverse=True), count


def _worst_peaks(
    resolved: ResolvedGraph, images: Sequence[ImageSize], types: PortTypes
) -> tuple[dict[Side, int | None], int]:
    """Return the peaks of the batch that contains the largest images, and its retained bytes."""
    size = resolved.graph.settings.batch_size
    worst = [images[at % len(images)] for at in range(size)]
    encoded = sum(image.nbytes for image in worst)
    sizes = port_bytes(resolved, worst, types)
    return peaks_of(resolved, sizes, worst, encoded), retained_bytes(resolved, sizes, worst)


def _fitting(resolved: ResolvedGraph, images: Sequence[ImageSize], types: PortTypes) -> int:
    """Return the largest smaller power of two whose worst batch fits into the memory, or 0."""
    size = 1 << (resolved.graph.settings.batch_size - 1).bit_length() - 1
    while size:
        smaller = resolved.for_graph(set_setting(resolved.graph, batch_size=size))
        if _excess(*_worst_peaks(smaller, images, types)) is None:
            break
        size //= 2
    return size


def _remedies(
    resolved: ResolvedGraph, images: Sequence[ImageSize], types: PortTypes, fitting: int
) -> Iterator[Remedy]:
    """Yield the changes that lower a peak by at least 5 %, and hints for mixed decoding.

    ``fitting`` is a batch size to use, or 0 for half of the current one.
    """
    before, _ = _worst_peaks(resolved, images, types)
    settings = resolved.graph.settings
    for name, value in (
        ("batch_size", fitting or settings.batch_size // 2),
        ("prefetch_queue_depth", (settings.prefetch_queue_depth or 2) - 1),
        ("num_threads", (settings.num_threads or 1) // 2),
    ):
        if value:
            changed = resolved.for_graph(set_setting(resolved.graph, **{name: value}))
            after, _ = _worst_peaks(changed, images, types)
            if _is_lower(after, before):
                yield Remedy(f"{name}={value}", after)
    limit = images[len(images) // 10]  # one image in ten is larger
    larger = sum(image.pixels > limit.pixels for image in images)
    decodes = bool(decoded_ports(resolved))
    one, every = (
        _worst_peaks(resolved, [limit] * count + list(images[count:]), types)[0]
        for count in (1, larger)
    )
    if larger and decodes and _is_lower(every, before):
        larger, after = (larger, every) if _is_lower(every, one) else (1, one)
        names = ", ".join(printable(image.name) for image in images[: min(larger, _NAMED)])
        more = f" and {larger - _NAMED:,} more" * (larger > _NAMED)
        yield Remedy(f"resize {names}{more} to {limit.width} x {limit.height}", after)
    wide = max(image.width for image in images)
    high = max(image.height for image in images)
    for port in decoded_ports(resolved):
        if (
            side_of(resolved, port) == "gpu"
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
