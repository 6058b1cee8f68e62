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

from workbench.catalog.spec import Catalog
from workbench.engine.batch_store import Batch
from workbench.graph.devices import infer_devices, is_generator
from workbench.graph.model import Graph, Node, Port
from workbench.graph.ports import outputs_of

_FEW_VALUES = 6
_FEW_ROWS = 8


def describe_shape(shape: tuple[int, ...], dtype: str) -> str:
    """``3×224×224 f32``."""
    short = dtype.replace("uint", "u").replace("int", "i").replace("float", "f")
    return f"{'×'.join(map(str, shape)) or 'scalar'} {short}"


def facts_of(catalog: Catalog, node: Node, batches: Mapping[Port, Batch]) -> str:
    """What a node gave: ``?×?×3 u8``, with ``?`` where the samples differ."""
    parts = []
    for output in outputs_of(node, catalog[node.op]):
        if output.kind in ("encoded", "label"):
            parts.append({"encoded": "jpeg"}.get(output.kind, output.kind))
            continue
        batch = batches[Port(node.id, output.name)]
        dims = zip(*batch.shapes, strict=False)
        sides = [str(side.pop()) if len(side := set(dim)) == 1 else "?" for dim in dims]
        short = describe_shape((), batch.dtype).split()[1]
        parts.append(f"{'×'.join(sides)} {short}".strip())
    return ", ".join(parts)


def draws_of(
    graph: Graph, catalog: Catalog, nodes: Sequence[Node], batches: Mapping[Port, Batch]
) -> dict[str, list[str]]:
    """The values of each generator on the CPU, one text for each sample, by the generator's id.

    Those on a GPU are passed over: to show them would mean to fetch them at every change.
    """
    devices = infer_devices(graph, catalog)
    found: dict[str, list[str]] = {}
    for node in nodes:
        if not is_generator(catalog[node.op]) or devices[node.id] != "cpu":
            continue
        for output in outputs_of(node, catalog[node.op]):
            arrays = batches[Port(node.id, output.name)].arrays()
            found[node.id] = [short_values(array, is_truth(node)) for array in arrays]
    return found


def labels_of(catalog: Catalog, nodes: Sequence[Node], batches: Mapping[Port, Batch]) -> list[str]:
    """The first label in the graph, one text for each sample; empty where there is none."""
    for node in nodes:
        for output in outputs_of(node, catalog[node.op]):
            if output.kind == "label":
                arrays = batches[Port(node.id, output.name)].arrays()
                return [str(array.reshape(-1)[0]) if array.size else "" for array in arrays]
    return []


def is_truth(node: Node) -> bool:
    """Whether a generator's numbers mean yes and no."""
    return node.op == "random.coin_flip"


def short_values(array: NDArray[Any], truth: bool = False) -> str:
    """The first few values on one line: ``-7.24``, ``yes``, ``224, 180``."""
    values = array.reshape(-1)
    texts = [("yes" if value else "no") if truth else number(value) for value in values[:6]]
    return ", ".join([*texts, *(["…"] if len(values) > _FEW_VALUES else [])])


def number(value: Any) -> str:
    """A whole number whole, another to three digits."""
    if isinstance(value, np.bool_ | bool):
        return "yes" if value else "no"
    if isinstance(value, np.integer | int):
        return str(int(value))
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
