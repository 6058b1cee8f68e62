"""Outputs in words: shapes, values, draws, labels.

Runs inside the worker process only.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from workbench.engine.build.auto_augment import Augmented
from workbench.engine.resources.batch_store import Batch
from workbench.graph.model import Node, Port
from workbench.graph.model.ports import outputs_of
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_generator
from workbench.preview.request import GraphRun

_FEW_VALUES = 6
_FEW_ROWS = 8


def describe_shape(shape: tuple[int, ...], dtype: str) -> str:
    """``3×224×224 f32``."""
    short = dtype.replace("uint", "u").replace("int", "i").replace("float", "f")
    return f"{'×'.join(map(str, shape)) or 'scalar'} {short}"


def facts_of(run: GraphRun, node: Node) -> str:
    """What a node gave: ``?×?×3 u8``, with ``?`` where the samples differ."""
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


def draws_of(run: GraphRun) -> dict[str, list[str]]:
    """The values of each generator on the CPU, one text for each sample, by the generator's id.

    The text is empty where the sample does not come to the generator. Generators on a GPU are
    left out: to show their values they would have to be fetched at every change.
    """
    found: dict[str, list[str]] = {}
    for node in (*run.nodes, *run.inner_nodes):
        spec = run.resolved.spec(node)
        if not is_generator(spec) or run.resolved.devices[node.id] != "cpu":
            continue
        scope = run.graph.scope_of(node.id)
        for output in outputs_of(node, spec):
            arrays = run.result.batches[Port(node.id, output.name)].arrays()
            found[node.id] = [
                short_values(arrays[at], is_truth(node))
                if run.place(scope, index) is not None
                and (at := run.output_place(node.id, index)) is not None
                else ""
                for index in range(len(run.result.samples))
            ]
    return found


def augmentations_of(run: GraphRun) -> dict[str, list[str]]:
    """What each automatic augmentation does to each sample; empty where none comes to it."""
    return {
        node: [_in_words(each) for each in augmented_at(run, node)] for node in run.result.augmented
    }


def augmented_at(run: GraphRun, node: str) -> list[tuple[Augmented, ...]]:
    """What one automatic augmentation does to each sample in all turns; empty where none comes."""
    turns = run.result.augmented[node]
    return [
        tuple(each for turn in turns for each in turn[index])
        for index in range(len(run.result.samples))
    ]


def _in_words(augmented: Sequence[Augmented]) -> str:
    """``rotate -27, equalize``."""
    return ", ".join(each.text for each in augmented)


def draws_at(run: GraphRun, node: Node, index: int) -> list[str]:
    """What feeds a node's arguments for one sample that comes to it: ``angle -7.24``."""
    args = run.resolved.spec(node).args
    found = []
    for name, port in node.inputs.items():
        if name in args:
            truth = run.graph.has(port.node) and is_truth(run.graph.node(port.node))
            found.append(f"{name} {short_values(run.fed(port, index), truth)}")
    if turns := run.result.augmented.get(node.id):
        found.append(_in_words(turns[0][index]))  # as the picture, which is of the first turn
    return found


def label_port(resolved: ResolvedGraph) -> Port | None:
    """Where the first label in the graph comes from, or None."""
    for node in resolved.nodes:
        for output in outputs_of(node, resolved.spec(node)):
            if output.kind == "label":
                return Port(node.id, output.name)
    return None


def labels_of(port: Port | None, batches: Mapping[Port, Batch]) -> list[str]:
    """The labels of a port, one text for each sample; empty where there is none."""
    if port is None:
        return []
    arrays = batches[port].arrays()
    return [str(array.reshape(-1)[0]) if array.size else "" for array in arrays]


def is_truth(node: Node) -> bool:
    """Whether a generator's numbers mean yes and no."""
    return node.op == "random.coin_flip"


def short_values(array: NDArray[Any], truth: bool = False) -> str:
    """The first few values on one line: ``-7.24``, ``yes``, ``224, 180``."""
    values = array.reshape(-1)
    texts = [("yes" if value else "no") if truth else number_text(value) for value in values[:6]]
    return ", ".join([*texts, *(["…"] if len(values) > _FEW_VALUES else [])])


def number_text(value: Any) -> str:
    """A whole number whole, another to three digits, from 1,000 on rounded to a whole one."""
    if isinstance(value, np.bool_ | bool):
        return "yes" if value else "no"
    if isinstance(value, np.integer | int):
        return str(int(value))
    if 1000 <= abs(value) < 1e9:
        return f"{float(value):,.0f}"
    return f"{float(value):.3g}"


def long_values(array: NDArray[Any]) -> str:
    """All values of a small array, a line for each row; of a large one the first rows."""
    if array.dtype.kind not in "biuf":
        return f"{array.dtype} values"
    if array.ndim < 2:
        return short_values(array)
    rows = array.reshape(math.prod(array.shape[:-1]), array.shape[-1])
    lines = [short_values(row) for row in rows[:_FEW_ROWS]]
    left = len(rows) - len(lines)
    return "\n".join([*lines, *([f"… {left} more rows"] if left else [])]) or "no values"


def describe_encoded(data: NDArray[np.uint8]) -> str:
    """``JPEG 640×480, 51.2 kB``."""
    size = f"{data.nbytes / 1000:.1f} kB"
    try:
        with Image.open(io.BytesIO(data.tobytes())) as image:
            return f"{image.format} {image.width}×{image.height}, {size}"
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        return size
