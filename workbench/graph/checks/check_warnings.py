"""Warn about graphs that run, but may not output what the user intended."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from workbench.arguments import checked
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.user_functions import OWN_CODE, PYTHON_SOURCE
from workbench.catalog.spec import CATALOG, Catalog, Value
from workbench.graph.annotations.formats import BOX_CROP, box_format, box_layout, clip_function
from workbench.graph.annotations.point_boxes import binding_warnings
from workbench.graph.checks.check_annotations import covering_warnings, side_warnings
from workbench.graph.checks.check_readers import length_warnings, unpaired_outputs
from workbench.graph.checks.check_samplers import sampler_warnings
from workbench.graph.checks.check_units import unit_warnings
from workbench.graph.execution.active import active_graph
from workbench.graph.execution.dataset_parameters import is_sampled, parameter_of
from workbench.graph.model import GRAPH, Graph, Node, Port, Source, block_of, used_ports
from workbench.graph.model.faults import Fault, Faults
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.devices import decodes
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.user_functions.function_source import (
    REMEDY,
    SOURCE_REMEDY,
    undetermined,
)
from workbench.sources import NO_FACTS, DataFacts, decodes_to_silence, load_source

MIXED_ENOUGH = 0.7
"""Value of ``class_share`` below which the sample order causes a warning."""
BYTES = 255.0
AUDIO_DECODER = "decoders.audio"
_EVALUATION = re.compile(r"(?<![a-z])(eval|evaluation|test|val|validation|inference)(?![a-z])")
"""Words in the names of evaluation graphs, which need no shuffling."""
_BUFFERED = ("readers.webdataset", "readers.tfrecord", "readers.mxnet", "readers.caffe")
"""Readers that shuffle only within a buffer. DALI's file readers shuffle the whole file list first.
"""
_PLACED = ("boxes", "points", "mask")
"""Kinds of annotations that refer to positions in an image."""
DEFAULT_FILL = 1024
"""DALI's default of ``initial_fill``."""


@checked(graph=GRAPH, catalog=CATALOG)
def check_warnings(
    graph: Graph, catalog: Catalog | None = None, facts: Mapping[str, DataFacts] | None = None
) -> Faults:
    """Return warnings about a graph, in node order. Warnings do not prevent a run.

    The app's fault list, ``workbench check GRAPH --data DATA``, ``workbench export`` and the
    docstring of an exported program show the same warnings. ``facts`` are the properties of each
    dataset (``workbench.sources.data_facts``), by parameter name; they add warnings that depend on
    the data. Raises ArgumentError if ``graph`` is not a graph::

        print(wb.check_warnings(graph))
    """
    catalog = load_catalog() if catalog is None else catalog
    return active_warnings(TypedGraph(active_graph(graph, catalog), catalog), facts or {})


def active_warnings(typed: TypedGraph, facts: Mapping[str, DataFacts]) -> Faults:
    """Return the same warnings as ``check_warnings``, for a graph in which all nodes run."""
    active = typed.graph
    return Faults(
        (
            *unpaired_outputs(typed),
            *length_warnings(active, facts),
            *covering_warnings(typed),
            *binding_warnings(typed),
            *_scale_warnings(typed),
            *_size_warnings(typed),
            *side_warnings(typed, facts),
            *_order_warnings(typed, facts),
            *sampler_warnings(active),
            *box_warnings(active, facts),
            *_orientation_warnings(active, typed.catalog, facts),
            *_unusable_warnings(active, facts),
            *_silence_warnings(active, facts),
            *_random_function_warnings(active),
            *unit_warnings(active),
        )
    )


def _scale_warnings(typed: TypedGraph) -> Iterator[Fault]:
    """Warn about constants in normalisation and arithmetic that do not fit the pixel range."""
    ranges: dict[Port, float | None] = {}
    for node in typed.graph.walk():
        source = node.inputs.get("data")
        if not _constants(node) or source is None or typed.kind(source) != "image":
            continue
        top = _pixel_maximum(typed.at_scope(typed.graph.scope_of(node.id)), source, ranges)
        if top is None:
            continue
        factor = _missing_factor(node, top)
        if factor is None:
            continue
        fits, has = f"{top / factor:,.0f}", f"{top:,.0f}"
        named = " and ".join(_constants(node))
        remedy = f"{'Multiply' if factor > 1 else 'Divide'} {named} by 255."
        if node.op.startswith("math."):
            remedy = f"Remove {node.id!r}, or change its constant."
        words = f"{named} fit pixels from 0 to {fits}, but these are from 0 to {has}"
        yield Fault(node.id, next(iter(_constants(node))), words, remedy, "scale", f"{factor:g}")


def _constants(node: Node) -> dict[str, list[float]]:
    """Return a node's constants that must fit the pixel range, by argument."""
    names = {
        "crop_mirror_normalize": ("mean", "std"),
        "normalize": ("mean", "stddev"),
        "math.sub": ("right",),
        "math.add": ("right",),
        "math.truediv": ("right",),
        "math.mul": ("right",),
    }.get(node.op, ())
    found = {name: _numbers(node.args.get(name)) for name in names if name not in node.inputs}
    return {name: numbers for name, numbers in found.items() if numbers}


def _numbers(value: Value | None) -> list[float]:
    items = value if isinstance(value, tuple) else (value,)
    return [float(i) for i in items if isinstance(i, int | float) and not isinstance(i, bool)]


def _missing_factor(node: Node, top: float) -> float | None:
    """Return the factor that a node's constants are off by, or None if they are plausible."""
    constants = _constants(node)
    if node.op in ("crop_mirror_normalize", "normalize"):
        mean = constants.get("mean", [])
        deviation = constants.get("std", constants.get("stddev", []))
        given = [*mean, *deviation]
        if not given:
            return None
        if top == BYTES and max(map(abs, given)) <= 1 and any(abs(m) > 0 for m in mean):
            return BYTES
        if top == BYTES and deviation and not any(mean) and max(deviation) < 1:
            return BYTES
        return 1 / BYTES if max(map(abs, given)) > 2 * top else None
    if not constants:
        return None
    (value,) = constants["right"][:1]
    if top == BYTES and node.op in ("math.sub", "math.add"):
        return BYTES if 0 < abs(value) < 1 else None
    if top == 1.0 and node.op == "math.truediv" and value > 100:
        return 1 / BYTES
    if top == 1.0 and node.op == "math.mul" and 0 < value < 0.01:
        return 1 / BYTES
    return 1 / BYTES if top == 1.0 and node.op == "math.sub" and value > 2 else None


def _pixel_maximum(typed: TypedGraph, port: Port, known: dict[Port, float | None]) -> float | None:
    """Return the maximum value of a port's pixels, 255 or 1, or None if unknown."""
    if port in known:
        return known[port]
    known[port] = None  # for cycles
    known[port] = _pixel_maximum_of(typed, port, known)
    return known[port]


def _pixel_maximum_of(
    typed: TypedGraph, port: Port, known: dict[Port, float | None]
) -> float | None:
    graph = typed.graph
    if not graph.has(port.node):
        fed = graph.whole.feeding(port)
        if fed is None:
            return None
        around = graph.whole.scope_of(block_of(port.node))
        return _pixel_maximum(typed.whole.at_scope(around), fed, known)
    node = graph.node(port.node)
    spec = typed.catalog.find(node.op)
    if spec is None:
        return None
    if decodes(spec) and not isinstance(node, Source):
        tops = {"UINT8": BYTES, "FLOAT": 1.0, "FLOAT16": 1.0}  # DALI scales floats to 0..1
        return tops.get(str(node.args.get("dtype", "UINT8")))
    source = node.inputs.get("data", node.inputs.get("input"))
    if node.bodies:
        inner = [
            _pixel_maximum(typed.at_scope(node.scope(name)), body.outputs[port.output], known)
            for name, body in node.bodies.items()
            if port.output in body.outputs
        ]
        return inner[0] if inner and len({*inner}) == 1 else None
    if source is None:
        return None
    before = _pixel_maximum(typed, source, known)
    if before is None:
        return None
    if node.op in ("math.truediv", "math.mul"):
        constant = _numbers(node.args.get("right"))
        if len(constant) != 1 or constant[0] == 0:
            return None
        scale = constant[0] if node.op == "math.mul" else 1 / constant[0]
        after = before * scale
        return next((top for top in (1.0, BYTES) if abs(after / top - 1) < 0.01), None)
    if node.op in ("crop_mirror_normalize", "normalize"):
        plain = node.op == "crop_mirror_normalize" and {*node.args, *node.inputs}.isdisjoint(
            {"mean", "shift"}
        )
        deviation = _numbers(node.args.get("std"))
        if not plain or {"std", "scale"} & node.inputs.keys() or len({*deviation}) > 1:
            return None
        (scale,) = _numbers(node.args.get("scale")) or [1.0]
        after = before * scale / (deviation[0] if deviation and deviation[0] else 1.0)
        return next((top for top in (1.0, BYTES) if abs(after / top - 1) < 0.01), None)
    keeps = {"geometry", "crop", "filter", "noise", "occlusion", "format", "colour"}
    if spec.category in keeps and not _rescales(node):
        return before
    return None


def _rescales(node: Node) -> bool:
    """Return whether a colour operator may change the value range of the pixels."""
    values = [v for name in ("brightness", "contrast") for v in _numbers(node.args.get(name))]
    return any(abs(value) < 0.05 for value in values) or node.op in ("lookup_table", "to_decibels")


def _size_warnings(typed: TypedGraph) -> Iterator[Fault]:
    """Warn about arithmetic of two images that were cropped or resized differently."""
    for node in typed.graph.walk():
        spec = typed.catalog.find(node.op)
        if spec is None or spec.category != "arithmetic":
            continue
        within = typed.at_scope(typed.graph.scope_of(node.id))
        images = [port for port in node.inputs.values() if typed.kind(port) == "image"]
        shapes = [typed.types[port].shape for port in images]
        origins = {_size_key(within, port) for port in images}
        known = all(shape is not None and None not in shape for shape in shapes)
        if known or None in origins or len(origins) < 2:
            continue
        words = f"{' and '.join(map(str, images))} can have different sizes, at which DALI stops"
        yield Fault(node.id, "", words, "Resize both to the same size before it.", "unequal")


def _size_key(typed: TypedGraph, port: Port) -> str | None:
    """Return a key that is equal for images of equal size, or None if the size is unknown."""
    graph = typed.graph
    node = graph.node(port.node) if graph.has(port.node) else None
    spec = typed.catalog.find(node.op) if node is not None else None
    if node is None or spec is None or node.bodies or node.op in OWN_CODE or not node.inputs:
        return None  # an input of a body, or unknown
    before = next(iter(node.inputs.values()))
    words = spec.outputs[0].gives.shape or ()
    if decodes(spec) and words == ("decoded",):
        return str(before)
    if spec.category == "arithmetic":
        images = [each for each in node.inputs.values() if typed.kind(each) == "image"]
        return _size_key(typed, images[0]) if images else None
    source = _size_key(typed, before)
    keeps = not spec.whole_batch and {*words} <= _SAME_SIZE
    if words == ("canvas",):
        fixed = "keep_size" not in spec.args or node.args.get("keep_size") is True
        keeps = fixed and "size" not in {*node.args, *node.inputs}
    if source is None or keeps:
        return source
    if not {*words} <= _SAME_SIZE | _OTHER_SIZE:
        return None
    others = {name: str(fed) for name, fed in node.inputs.items() if fed != before}
    return f"{node.op}({source}, {sorted(node.args.items())}, {sorted(others.items())})"


_SAME_SIZE = {"input", "recolour", "pad_channels"}
"""Effects on the shape (``ShapeWord``) that preserve an image's height and width."""
_OTHER_SIZE = {"crop", "resize", "resize_axes", "canvas", "pad", "slice", "paste"}
"""Effects on the shape (``ShapeWord``) that may change an image's height and width."""


def _order_warnings(typed: TypedGraph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Warn about shuffle buffers that are too large, and orders with few classes per batch."""
    graph = typed.graph
    size = graph.settings.batch_size
    for source in graph.sources:
        found = facts_of(source, facts)
        yield from _large_buffer_warnings(source, found)
        labels = found.labels
        data = f"the first {len(labels):,} samples" if found.more else "the data"
        fill = shuffle_buffer(source) if labels else None
        if fill is None or (fill == 0 and _evaluates(typed)):
            continue
        share = class_share(labels, size, fill)
        if share >= MIXED_ENOUGH:
            continue
        enough = enough_fill(labels, size) if source.op.startswith(_BUFFERED) else DEFAULT_FILL
        if fill == 0:
            with_fill = f", and set initial_fill to {enough:,}" * (enough > DEFAULT_FILL)
            yield Fault(
                source.id,
                "random_shuffle",
                f"it does not shuffle, but {data} are sorted by class: a batch of {size} has "
                f"{share:.0%} of the classes of a shuffled batch",
                f"Turn on random_shuffle for training{with_fill}.",
                "unshuffled",
                str(enough) if with_fill else "",
            )
        else:
            yield Fault(
                source.id,
                "initial_fill",
                f"{data} are sorted by class, and a shuffle buffer of {fill} samples is too "
                f"small: a batch of {size} has {share:.0%} of the classes of a shuffled batch",
                "Increase initial_fill, or write the data in random order.",
                "buffer",
                str(enough),
            )


def _evaluates(typed: TypedGraph) -> bool:
    """Return whether a graph without random operators has a name that suggests evaluation."""
    nodes = (node for node in typed.graph.walk() if not isinstance(node, Source))
    is_random = any(spec.seeded for node in nodes if (spec := typed.catalog.find(node.op)))
    return not is_random and bool(_EVALUATION.search(typed.graph.name.lower()))


def _large_buffer_warnings(source: Source, found: DataFacts) -> Iterator[Fault]:
    """Warn if a shuffle buffer is larger than the data, so that samples are read repeatedly."""
    fill, count = source.args.get("initial_fill"), found.count
    kind = load_source(source.kind) if source.kind else None
    if not isinstance(fill, int) or found.more or not 0 < count < fill:
        return
    if not source.args.get("random_shuffle") or is_sampled(source) or (kind and kind.has_sequences):
        return
    words = (
        f"a shuffle buffer of {fill:,} samples is larger than the data ({count:,} samples), so "
        f"the reader reads {fill:,} samples before the first batch"
    )
    yield Fault(source.id, "initial_fill", words, f"Set it to {count:,}.", "buffer", str(count))


def shuffle_buffer(source: Source) -> int | None:
    """Return the number of samples in a source's shuffle buffer.

    Returns 0 if the source does not shuffle, and None if it shuffles the whole list, has a sampler,
    or is unknown.
    """
    if is_sampled(source):
        return None
    if not source.args.get("random_shuffle"):
        shuffles = "random_shuffle" in source.inputs or source.args.get("shuffle_after_epoch")
        return None if shuffles else 0
    if not source.op.startswith(_BUFFERED):
        return None
    fill = source.args.get("initial_fill", DEFAULT_FILL)
    return fill if isinstance(fill, int) else None


def class_share(labels: Sequence[int], batch_size: int, fill: int) -> float:
    """Return the mean number of classes in a batch, divided by the number in random order.

    The classes are counted in batches from the start to the end of the data. Each batch is sampled
    from the ``fill`` labels around its position.
    """
    usual = _expected_classes(labels, batch_size)
    size = min(max(fill, batch_size), len(labels))
    starts = range(0, len(labels) - size + 1, max(1, (len(labels) - size) // 8))
    windows = [labels[start : start + size] for start in starts]
    if fill:
        found = [_expected_classes(window, batch_size) for window in windows]
    else:
        found = [float(len({*window})) for window in windows]
    return min(1.0, sum(found) / len(found) / usual)


def _expected_classes(labels: Sequence[int], batch_size: int) -> float:
    """Return the expected number of classes in a batch of labels sampled with replacement."""
    total = len(labels)
    return sum(1 - (1 - count / total) ** batch_size for count in Counter(labels).values())


def enough_fill(labels: Sequence[int], batch_size: int) -> int:
    """Return the smallest ``initial_fill`` that mixes the classes well.

    The result is a power of two, or the number of samples if that is smaller.
    """
    fill = DEFAULT_FILL
    while fill < len(labels) and class_share(labels, batch_size, fill) < 0.9:
        fill *= 2
    return min(fill, max(len(labels), 1))


def _orientation_warnings(
    graph: Graph, catalog: Catalog, facts: Mapping[str, DataFacts]
) -> Iterator[Fault]:
    """Warn about decoders that handle EXIF orientation differently from the annotations."""
    read = used_ports(graph)
    for source in graph.sources:
        found = facts_of(source, facts)
        ports = {Port(source.id, p.name) for p in catalog[source.op].outputs if p.kind in _PLACED}
        if not found.turned or read.isdisjoint(ports):
            continue
        number = _count_in_headers(found, found.turned, "image")
        for node in graph.walk():
            spec = catalog.find(node.op)
            if spec is None or "adjust_orientation" not in spec.args:
                continue
            if all(port.node != source.id for port in node.inputs.values()):
                continue
            turns = bool(node.args.get("adjust_orientation", True))
            if found.annotated == "stored" and turns:
                message = f"EXIF rotates {number}, whose annotations are for the image as stored"
                remedy = "Set adjust_orientation to False."
            elif found.annotated == "upright" and not turns:
                stay = f"stay{'s' * (found.turned == 1)}"
                message = f"{number} {stay} as stored, whose annotations are for the rotated image"
                remedy = "Set adjust_orientation to True."
            elif not found.annotated and "adjust_orientation" not in node.args:
                message = (
                    f"EXIF rotates or mirrors {number}, but the data do not show whether "
                    "annotations are for the image before or after that"
                )
                remedy = "Check the preview, and set adjust_orientation to True or False."
            else:
                continue
            about = str(found.annotated == "upright")
            message += f"; the first is {found.first_turned}"
            yield Fault(node.id, "adjust_orientation", message, remedy, "orientation", about)


def _unusable_warnings(graph: Graph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Warn about sources with samples that no reader can read."""
    for source in graph.sources:
        found = facts_of(source, facts)
        if count := found.unusable:
            yield Fault(
                source.id,
                "",
                f"at least {count:,} sample{'s' * (count != 1)} cannot be used, and an exported "
                "program stops at the first",
                "Export with --skip-bad (in the app: 'Skip bad files'), or write a list of the "
                "others with `workbench check DATA --full --good FILE`.",
                "unusable",
            )


def _silence_warnings(graph: Graph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Warn about audio decoders that decode WAV files with float samples to silence."""
    for node in graph.walk():
        port = node.inputs.get("data") if node.op == AUDIO_DECODER else None
        if port is None or not graph.has(port.node):
            continue
        source = graph.node(port.node)
        found = facts_of(source, facts)
        if count := sum(decodes_to_silence(rate, node.args) for rate in found.float_rates):
            words = (
                f"{node.args['dtype']} decodes {_count_in_headers(found, count, 'WAV file')} to "
                "silence, because their samples are floats"
            )
            yield Fault(node.id, "dtype", words, "Set dtype to FLOAT.", "silent")


def _random_function_warnings(graph: Graph) -> Iterator[Fault]:
    for node in graph.walk():
        if node.op not in OWN_CODE:
            continue
        if found := undetermined(str(node.args.get("source", ""))):
            words = (
                f"{found.name} (line {found.line}: {found.text}) differs between calls, so the "
                "preview does not show what the script outputs"
            )
            remedy = SOURCE_REMEDY if node.op == PYTHON_SOURCE.name else REMEDY
            yield Fault(node.id, "source", words, remedy, "random")


# Warnings about boxes: beyond the edge, without an area, in a layout that no operator reads.

_LAYOUTS = {"xywh": "xyWH", "ltrb": "xyXY"}


def facts_of(source: Node, facts: Mapping[str, DataFacts]) -> DataFacts:
    """Return the properties of the data that a source reads. Other nodes have no properties."""
    name = parameter_of(source) if isinstance(source, Source) else None
    return facts.get(name or "", NO_FACTS)


def box_warnings(graph: Graph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Yield warnings about the boxes in a graph and in the data that it reads."""
    read = used_ports(graph)
    for node in graph.walk():
        port = node.inputs.get("boxes")
        if node.op == BOX_CROP and port is not None:
            yield from _box_layout_warnings(graph, node, port)
            yield from _box_edge_warnings(graph, node, port, facts)
    for source in graph.sources:
        found = facts_of(source, facts)
        if found.without_area and Port(source.id, "boxes") in read:
            drops = source.op == "readers.coco"
            follows = any(node.op == "follow_boxes" for node in graph.walk())
            effect = (
                "the reader drops such boxes"
                if drops
                else "follow_boxes drops such boxes"
                if follows
                else "such boxes are output"
            )
            yield Fault(
                source.id,
                "",
                f"{_images(found, found.without_area)} a box without an area, and {effect}; the "
                f"first is in {found.first_without_area}",
                "List all with `workbench check DATA`.",
                "without_area",
            )


def _box_edge_warnings(
    graph: Graph, node: Node, port: Port, facts: Mapping[str, DataFacts]
) -> Iterator[Fault]:
    """Warn if boxes that a node receives extend beyond the image."""
    feeding = ancestors(graph, [port if graph.has(port.node) else Port(node.id, "boxes")])
    for source in graph.sources:
        found = facts_of(source, facts)
        if source.id not in feeding or not found.outside:
            continue
        clips = clip_function(node) is not None
        effect = "which are clipped" if clips else "at which DALI stops"
        yield Fault(
            node.id,
            "boxes",
            f"{_images(found, found.outside)} boxes beyond the edge, {effect}; the first is in "
            f"{found.first_outside}",
            "List all with `workbench check DATA`."
            if clips
            else "Set bbox_layout to xyXY or xyWH, whose boxes are clipped.",
            "overhang",
        )


def _box_layout_warnings(graph: Graph, node: Node, port: Port) -> Iterator[Fault]:
    """Warn if the source's box layout or unit is not the one that ``random_bbox_crop`` expects."""
    while graph.has(port.node) and graph.node(port.node).op in ("math.clamp", "copy"):
        port = graph.node(port.node).inputs.get("data", Port("", ""))
    source = graph.node(port.node) if graph.has(port.node) else None
    if not isinstance(source, Source) or port.output != "boxes":
        return
    unit, _, written = (box_format(graph, source) or "").partition(" ")
    if unit == "absolute":
        words = (
            f"{source.id!r} outputs boxes in pixels, but this input accepts boxes relative to "
            "the image"
        )
        remedy = f"Turn on 'ratio' of {source.id!r}."
        yield Fault(node.id, "boxes", words, remedy, "box_layout", f"ratio={source.id}")
    wanted = _LAYOUTS.get(written)
    if wanted and box_layout(node) in _LAYOUTS.values() and box_layout(node) != wanted:
        words = f"it is {box_layout(node)}, but {source.id!r} outputs boxes as {wanted}"
        remedy = f"Set bbox_layout to {wanted}."
        yield Fault(node.id, "bbox_layout", words, remedy, "box_layout", f"bbox_layout={wanted}")


def _count_in_headers(facts: DataFacts, count: int, noun: str) -> str:
    """Format a count of files, such as ``7 of the first 100 images`` if not all were read."""
    if facts.headers_read:
        return f"{count:,} of the first {facts.headers_read:,} {noun}s"
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _images(facts: DataFacts, count: int) -> str:
    return (
        f"{facts.at_least}1 image has" if count == 1 else f"{facts.at_least}{count:,} images have"
    )
