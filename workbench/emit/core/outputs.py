"""Determine what a framework must know in advance about a graph's outputs and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.catalog.extra_operators import FOLLOWERS
from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.errors import GraphExportError
from workbench.graph.annotations.followers import follows
from workbench.graph.annotations.formats import box_format
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.model.ports import KIND_WORDS
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import device_of
from workbench.graph.types.tensor_type import TensorType
from workbench.names import join_words

_SHARD = {"shard_id": "shard_id", "num_shards": "num_shards", "pad_last_batch": "True"}
"""Reader arguments for one shard. They include padding: without it, the shuffle buffer carries
samples over to the next epoch, so that an epoch would lose some samples and duplicate others.
"""
Outputs = Mapping[str, TensorType]
"""Type of one sample by output name, in output order."""
_WHOLE_VIDEOS = ("decoders.video", "experimental.inputs.video")
_FORMATS = {
    "relative": "relative to the image size",
    "absolute": "in pixels",
    "ltrb": "left, top, right, bottom",
    "xywh": "left, top, width, height",
    "cxcywh": "centre x, centre y, width, height",
}


def outputs_of_kind(outputs: Outputs, kind: str) -> list[str]:
    """Return the names of the outputs that have the given kind, such as ``image``."""
    return [name for name, flow in outputs.items() if flow.kind == kind]


def class_numbers(outputs: Outputs) -> list[str]:
    """Return the names of label outputs with one integer per sample."""
    return [
        name
        for name in outputs_of_kind(outputs, "label")
        if outputs[name].shape == (1,) and (outputs[name].dtype or "").startswith(("INT", "UINT"))
    ]


def class_shares(outputs: Outputs) -> list[str]:
    """Return the names of label outputs with one weight per class (soft labels)."""
    return [
        name
        for name in outputs_of_kind(outputs, "label")
        if outputs[name].dtype == "FLOAT" and len(outputs[name].shape or ()) == 1
        if None not in (outputs[name].shape or ())
    ]


def output_sentences(resolved: ResolvedGraph) -> str:
    """Return docstring sentences that describe the outputs, and name the outputs on the CPU."""
    graph, described = resolved.graph, dict[str, list[str]]()
    for name, flow in resolved.outputs.items():
        node = graph.node(graph.outputs[name].node)
        letters = flow.layout or "N" * len(flow.shape or ())
        sides = zip(flow.shape or (), letters, strict=False)
        shape = ", ".join(letter if side is None else str(side) for side, letter in sides)
        text = (flow.dtype or "").lower().replace("float", "float32")
        text = text.replace("3216", "16").replace("3264", "64")
        text += f" {flow.layout or ''} [{shape}]".replace("  ", " ") * bool(shape)
        form = box_format(graph, node) if flow.kind == "boxes" else None
        if form and (isinstance(node, Source) or node.op in FOLLOWERS):  # others may change it
            unit, order = form.split()
            text += f": {_FORMATS[order]}, {_FORMATS[unit]}"
        described.setdefault(text, []).append(name)
    parts = [
        f"{join_words(names)} ({text.strip() or 'of a type that is known when it runs'})"
        for text, names in described.items()
    ]
    devices = resolved.mixed_devices
    on_cpu = [name for name, port in graph.outputs.items() if device_of(devices, port) == "cpu"]
    if not 0 < len(on_cpu) < len(graph.outputs):
        return f"Yields {join_words(parts)}."
    return f"Yields {join_words(parts)}. With device='mixed' {join_words(on_cpu)} stay on the CPU."


def require_images(graph: Graph, outputs: Outputs, target: str) -> list[str]:
    """Return the names of the image outputs. Raises GraphExportError if there are none."""
    images = outputs_of_kind(outputs, "image")
    if not images:
        raise GraphExportError(
            f"{next(iter(graph.outputs.values())).node}: the target {target!r} needs an image, but "
            f"the outputs are {described_outputs(outputs)}. Make an image an output."
        )
    return images


def described_outputs(outputs: Outputs) -> str:
    """Return the names of outputs with their kinds, such as ``'images' (images)``."""
    return ", ".join(f"{name!r} ({KIND_WORDS[flow.kind]})" for name, flow in outputs.items())


def require_arrays(graph: Graph, outputs: Outputs, target: str) -> None:
    """Raise GraphExportError if an output has encoded images, because their lengths differ."""
    for name in outputs_of_kind(outputs, "encoded"):
        port = graph.outputs[name]
        raise GraphExportError(
            f"{port.node}.{port.output}: the target {target!r} makes one array per batch, but "
            f"the output {name!r} has encoded images, whose lengths differ. Remove the output, "
            "or export as a script."
        )


def ragged_outputs(graph: Graph, outputs: Outputs) -> list[str]:
    """Return the names of outputs whose length can differ between images, such as boxes.

    The output of a ``pad`` operator has the same length throughout a batch.
    """
    return [
        name
        for name, flow in outputs.items()
        if graph.node(graph.outputs[name].node).op != "pad"
        and (
            (flow.kind in ("boxes", "points") and (flow.shape is None or flow.shape[0] is None))
            or (
                _is_list(graph, name, flow) and flow.shape is not None and flow.shape[:1] == (None,)
            )
        )
    ]


def _is_list(graph: Graph, name: str, flow: TensorType) -> bool:
    """Return True if an output has one entry per box, such as labels and polygons."""
    node = graph.node(graph.outputs[name].node)
    read = isinstance(node, Source) or follows(node)
    return flow.kind == "label" or (flow.kind == "number" and read)


def require_even(graph: Graph, outputs: Outputs, target: str) -> None:
    """Raise GraphExportError if boxes, points or labels may differ in length within a batch."""
    for name in ragged_outputs(graph, outputs):
        raise GraphExportError(
            f"{graph.outputs[name]}: the target {target!r} makes one array per batch, but the "
            f"length of {name!r} differs between images. Add a pad with axes 0, the largest "
            "length as shape, and a fill_value that marks padding; or export for pytorch, which "
            "returns lists, or as a script."
        )


def require_one_size(graph: Graph, outputs: Outputs, lists: Sequence[str], target: str) -> None:
    """Raise GraphExportError if an output not in ``lists`` has images of different sizes."""
    for name in outputs_of_kind(outputs, "image"):
        flow = outputs[name]
        axes, shape = flow.axes or "", flow.shape or ()
        sides = [shape[axes.index(each)] for each in "HW" if shape and each in axes]
        node = graph.outputs[name].node
        if axes[:1] == "F" and shape[:1] == (None,) and _decodes_videos(graph, node):
            raise GraphExportError(
                f"{node}: the target {target!r} makes one array per batch, but {name!r} may have "
                "sequences of different lengths, because their length depends on the videos. Set "
                "sequence_length and pad short sequences (pad_mode or last_sequence_policy), or "
                "export as a script."
            )
        if None in sides and name not in lists:
            raise GraphExportError(
                f"{node}: the target {target!r} makes one array per batch, but images of the "
                f"output {name!r} may differ in size, because their size after {node!r} depends "
                f"on the data. Add a resize, a crop or a pad after {node!r} (or set keep_size of "
                "a rotate), or export as a script."
            )


def _decodes_videos(graph: Graph, node: str) -> bool:
    made = ancestors(graph, [Port(node, "")])
    return any(graph.node(each).op in _WHOLE_VIDEOS for each in made)


def require_signed(graph: Graph, outputs: Outputs, target: str) -> None:
    """Raise GraphExportError for element types that DALI's PyTorch and Paddle iterators lack."""
    for name, flow in outputs.items():
        if flow.dtype in ("UINT16", "UINT32", "UINT64"):
            node = graph.outputs[name].node
            raise GraphExportError(
                f"{node}: the output {name!r} has type {flow.dtype}, which DALI's iterator for "
                f"{target} does not support. Add a cast after {node!r}, for example to INT64."
            )


def first_reader(nodes: Sequence[Node]) -> Node:
    """Return the reader that determines the epoch length, or raise GraphExportError."""
    for node in nodes:
        if isinstance(node, Source):
            return node
    raise GraphExportError(
        f"{nodes[-1].id}: no output depends on a reader, which defines the length of an epoch. "
        "Make data of a reader an output, or export as a script."
    )


def require_no_blocks(nodes: Sequence[Node], target: str) -> None:
    """Raise GraphExportError for a block: the target does not support per-sample control flow."""
    for node in nodes:
        if node.bodies or node.op in AUTO_AUGMENT:
            raise GraphExportError(
                f"{node.id}: {target} does not support {node.op!r}, which selects operators per "
                "sample. Export the graph as a script."
            )


def require_unsharded(nodes: Sequence[Node], target: str) -> None:
    """Raise GraphExportError if a reader already has the argument ``num_shards``."""
    for node in (node for node in nodes if isinstance(node, Source)):
        shards = node.args.get("num_shards", 1)
        if shards != 1:
            raise GraphExportError(
                f"{node.id}.num_shards is {shards}, but the target {target!r} assigns a shard to "
                "each process. Reset num_shards."
            )


_FED_TARGETS = ("pytorch", "lightning")


def require_epoch_size(nodes: Sequence[Node], target: str) -> None:
    """Raise GraphExportError if the target needs the length of an epoch and a source has none."""
    for node in nodes:
        if node.op == PYTHON_SOURCE.name and target not in (*_FED_TARGETS, "tensorflow"):
            raise GraphExportError(
                f"{node.id}: the target {target!r} needs the number of samples of an epoch, "
                f"which a Python source does not have. Export for {' or '.join(_FED_TARGETS)}, "
                "or as a script."
            )


def require_next_shard(nodes: Sequence[Node], target: str) -> None:
    """Raise GraphExportError if a reader reads the same shard in every epoch."""
    for node in (node for node in nodes if isinstance(node, Source)):
        if node.args.get("stick_to_shard"):
            raise GraphExportError(
                f"{node.id}.stick_to_shard is True, but the target {target!r} requires readers "
                "that move to the next shard after each epoch. Reset stick_to_shard."
            )


def shard_arguments(source: Source) -> Mapping[str, str]:
    """Return the reader arguments for one shard. If the graph selects a shard, it is divided."""
    own, count = source.args.get("shard_id", 0), source.args.get("num_shards", 1)
    if count == 1:
        return _SHARD
    share = {"shard_id": f"{own} * num_shards + shard_id", "num_shards": f"{count} * num_shards"}
    return {**_SHARD, **share}
