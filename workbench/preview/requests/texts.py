"""Convert outputs to text: shapes, values, random values, labels, annotations, class names.

Used in the worker process only.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from workbench.engine.build.auto_augment import Augmented
from workbench.engine.resources.batch_store import Batch
from workbench.engine.run.worker import Worker
from workbench.errors import DataError
from workbench.graph.annotations.formats import labels_source
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.ports import outputs_of
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_generator
from workbench.preview.request import GraphRun
from workbench.sources import Dataset, class_names, is_unlabelled
from workbench.sources.record_features import TYPES as FEATURE_READERS

T = TypeVar("T")
_FEW_VALUES = 6
_FEW_ROWS = 8


def describe_shape(shape: tuple[int, ...], dtype: str) -> str:
    """Format shape and type, such as ``3×224×224 f32``."""
    short = dtype.replace("uint", "u").replace("int", "i").replace("float", "f")
    return f"{'×'.join(map(str, shape)) or 'scalar'} {short}"


def shape_and_type_text(run: GraphRun, node: Node) -> str:
    """Format shape and type of a node's output: ``?×?×3 u8``, with ``?`` where samples differ."""
    parts = []
    for output in outputs_of(node, run.resolved.spec(node)):
        if output.kind in ("encoded", "label"):
            parts.append({"encoded": "jpeg"}.get(output.kind, output.kind))
            continue
        batch = run.result.batches[Port(node.id, output.name)]
        dims = zip(*batch.shapes, strict=False)
        sides = [str(side.pop()) if len(side := set(dim)) == 1 else "?" for dim in dims]
        short = describe_shape((), batch.dtype).split()[1]
        parts.append(f"{'×'.join(sides)} {short}".strip())
    return ", ".join(parts)


Drawn = Mapping[str, Sequence[NDArray[Any] | None]]
"""Random values of each sample by generator id. None means that a generator did not run for it."""


def random_value_texts(run: GraphRun, sampled: Drawn) -> dict[str, list[str]]:
    """Convert random values to texts. The text of None is empty."""
    return {
        name: [
            "" if value is None else short_values(value, is_truth(run.graph.node(name)))
            for value in values
        ]
        for name, values in sampled.items()
    }


def plain_random_value(value: NDArray[Any] | None) -> Any:
    """Convert a random value to a number or a list. None is returned unchanged."""
    return None if value is None else value.tolist()


def random_values(run: GraphRun, devices: Collection[str] = ("cpu", "gpu")) -> Drawn:
    """Return the random values of the generators that run on one of ``devices``.

    The preview omits generators on a GPU, because copying values from it takes too long.
    """
    found: dict[str, list[NDArray[Any] | None]] = {}
    for node in (*run.nodes, *run.inner_nodes):
        spec = run.resolved.spec(node)
        if not is_generator(spec) or run.resolved.devices[node.id] not in devices:
            continue
        scope = run.graph.scope_of(node.id)
        for output in outputs_of(node, spec):
            arrays = run.result.batches[Port(node.id, output.name)].arrays()
            found[node.id] = [
                np.array(arrays[at])
                if run.place(scope, index) is not None
                and (at := run.output_place(node.id, index)) is not None
                else None
                for index in range(len(run.result.samples))
            ]
    return found


def augmentations_of(run: GraphRun) -> dict[str, list[str]]:
    """Return the text of each sample's automatic augmentations, by node. A text may be empty."""
    return {
        node: [_augmentation_text(each) for each in augmented_at(run, node)]
        for node in run.result.augmented
    }


def augmented_at(run: GraphRun, node: str) -> list[tuple[Augmented, ...]]:
    """Return the augmentations that a node applied to each sample, in all iterations of a loop."""
    turns = run.result.augmented[node]
    return [
        tuple(each for turn in turns for each in turn[index])
        for index in range(len(run.result.samples))
    ]


def _augmentation_text(augmented: Sequence[Augmented]) -> str:
    return ", ".join(each.text for each in augmented)


def random_argument_texts(run: GraphRun, node: Node, index: int) -> list[str]:
    """Return the random values of a node's arguments for a sample, such as ``angle -7.24``.

    The node must have run for the sample.
    """
    args = run.resolved.spec(node).args
    found = []
    for name, port in node.inputs.items():
        if name in args:
            truth = run.graph.has(port.node) and is_truth(run.graph.node(port.node))
            found.append(f"{name} {short_values(run.fed(port, index), truth)}")
    if turns := run.result.augmented.get(node.id):
        found.append(
            _augmentation_text(turns[0][index])
        )  # as the image, which is from the first iteration
    return found


def label_port(resolved: ResolvedGraph) -> Port | None:
    """Return the port of the first label in the graph, or None."""
    for node in resolved.nodes:
        for output in outputs_of(node, resolved.spec(node)):
            if output.kind == "label":
                return Port(node.id, output.name)
    return None


def labels_of(port: Port | None, batches: Mapping[Port, Batch]) -> list[str]:
    """Return the labels of a port, one text per sample. Without a port, the list is empty."""
    if port is None:
        return []
    arrays = batches[port].arrays()
    return [str(array.reshape(-1)[0]) if array.size else "" for array in arrays]


def is_truth(node: Node) -> bool:
    """Return True if the numbers of a generator represent booleans."""
    return node.op == "random.coin_flip"


def short_values(array: NDArray[Any], as_yes_no: bool = False) -> str:
    """Format the first values of an array on one line: ``-7.24``, ``yes``, ``224, 180``."""
    values = array.reshape(-1)
    convert = _yes_no if as_yes_no else number_text
    texts = [convert(value) for value in values[:6]]
    return ", ".join([*texts, *(["…"] if len(values) > _FEW_VALUES else [])])


def _yes_no(value: Any) -> str:
    return "yes" if value else "no"


def number_text(value: Any) -> str:
    """Format an integer, or a float with three digits. Floats of 1,000 or more become integers."""
    if isinstance(value, np.bool_ | bool):
        return _yes_no(value)
    if isinstance(value, np.integer | int):
        return str(int(value))
    if 1000 <= abs(value) < 1e9:
        return f"{float(value):,.0f}"
    return f"{float(value):.3g}"


def long_values(array: NDArray[Any]) -> str:
    """Format a small array with one line per row, or only the first rows of a large array."""
    if array.dtype.kind not in "biuf":
        return f"{array.dtype} values"
    if array.ndim < 2:
        return short_values(array)
    rows = array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
    lines = [short_values(row) for row in rows[:_FEW_ROWS]]
    left = len(rows) - len(lines)
    return "\n".join([*lines, *([f"… {left} more rows"] if left else [])]) or "no values"


def describe_encoded(data: NDArray[np.uint8]) -> str:
    """Format the type and size of encoded data, such as ``JPEG 640×480, 51.2 kB``."""
    size = f"{data.nbytes / 1000:.1f} kB"
    try:
        with Image.open(io.BytesIO(data.tobytes())) as image:
            return f"{image.format} {image.width}×{image.height}, {size}"
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        return size


# Annotations that cannot be drawn, as text: paths, ids, and class proportions.

_SHARED = ("one_hot", "follow_labels")
_KINDS = ("label", "number", "any")
_MOST_SHARES = 3
_MOST_LETTERS = 40
_LEAST_SHARE = 0.005


def target_texts(worker: Worker, run: GraphRun, label: Port | None) -> list[tuple[str, ...]]:
    """Return each sample's annotations that are not drawn, as texts such as ``image_ids 17``.

    The output ``label`` is omitted, because a tile shows it in any case.
    """
    found: list[list[str]] = [[] for _ in run.result.samples]
    for name, port in run.graph.outputs.items():
        kind = run.resolved.kind(port)
        beside_boxes = Port(port.node, "boxes") in run.result.batches and kind == "label"
        if port == label or kind not in _KINDS or beside_boxes:
            continue
        if run.resolved.devices.get(port.node) == "gpu":  # would need a copy from the GPU
            continue
        for index, array in enumerate(run.result.batches[port].arrays()):
            text = target_text(worker, run, port, array)
            if not text and array.size == 1 and array.dtype.kind in "biuf":
                text = number_text(array.reshape(-1)[0])
            elif not text and array.ndim == 1 and isinstance(run.graph.node(port.node), Source):
                text = short_values(array) if array.size else ""
            if text:
                found[index].append(f"{name} {text}")
    return [tuple(each) for each in found]


def target_text(worker: Worker, run: GraphRun, port: Port, array: NDArray[Any]) -> str:
    """Return a file path or the proportions of a one-hot label as text, or "" for other values."""
    node = run.graph.node(port.node)
    if node.op in FEATURE_READERS and array.dtype == np.uint8:
        text = array.tobytes()[:_MOST_LETTERS].decode(errors="ignore")
        return text if text.isprintable() else ""
    if node.op == "get_property":
        return array.astype(np.uint8).tobytes().decode(errors="replace")
    if node.op not in _SHARED or array.ndim != 1 or array.dtype.kind not in "biuf":
        return ""
    names = class_names_of(worker, run, labels_source(run.graph, run.resolved.catalog, port))
    shares = array.astype(np.float64)
    classes = [int(at) for at in np.argsort(-shares, kind="stable") if shares[at] > _LEAST_SHARE]
    named = [(names[at] if at < len(names) else str(at), shares[at]) for at in classes]
    texts = [name if share == 1 else f"{name} {share:.2f}" for name, share in named[:_MOST_SHARES]]
    return ", ".join([*texts, *(["…"] if len(named) > _MOST_SHARES else [])]) or "none"


# Class names of labels.


def names_of_labels(
    worker: Worker, run: GraphRun, port: Port | None, labels: Sequence[str]
) -> list[str]:
    """Return the class name of each label of a port, or the label itself if it has no name.

    The names are empty if the data has no labels, because readers then output 0.
    """
    names = class_names_of(worker, run, port)
    if labels and not names and {*labels} == {"0"} and _of_data(worker, run, port, is_unlabelled):
        return [""] * len(labels)
    return [_name(names, label) for label in labels]


def _name(names: Sequence[str], label: str) -> str:
    known = label.isdecimal() and int(label) < len(names)
    return names[int(label)] if known else label


def class_names_of(worker: Worker, run: GraphRun, port: Port | None) -> list[str]:
    """Return the class names of a source's data. They are cached until the data changes."""
    return _of_data(worker, run, port, class_names) or []


def _of_data(
    worker: Worker, run: GraphRun, port: Port | None, read: Callable[[Dataset], T]
) -> T | None:
    """Return the result of ``read`` for a source's data, cached until the data changes, or None."""
    plan = run.result.plan
    source = next((n for n in run.nodes if port is not None and n.id == port.node), None)
    dataset = plan.dataset(source) if isinstance(source, Source) else None
    if dataset is None:
        return None
    key = dataset, plan.version
    cached = worker.kept.get((read.__name__,))
    if cached is None or cached[0] != key:
        try:
            cached = key, read(dataset)
        except (DataError, OSError):  # the data were removed meanwhile: the next preview reports it
            return None
        worker.kept[(read.__name__,)] = cached
    found: T = cached[1]
    return found
