"""The same pixels in every form that images in memory have."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from workbench.graph import load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph
from workbench.sources import open_datasets

COUNT, BATCH = 11, 4
random = np.random.default_rng(5)
PIXELS = random.integers(0, 256, (COUNT, 40, 50, 3)).astype(np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


class Photos:
    """A typical PyTorch dataset that records the requested indices."""

    classes = ("cat", "dog")

    def __init__(self, broken: int = -1) -> None:
        self.asked: list[int] = []
        self._broken = broken

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, index: int) -> tuple[Image.Image, int]:
        self.asked.append(index)
        if index == self._broken:
            raise KeyError(f"no photo {index}")
        return Image.fromarray(PIXELS[index]), index % 2


def tensor() -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(np.moveaxis(PIXELS, 3, 1).copy())


def tensor_set() -> Any:
    torch = pytest.importorskip("torch")
    return torch.utils.data.TensorDataset(tensor(), torch.arange(COUNT))


def arrow() -> Any:
    rows = [{"bytes": png(each), "path": "a.png"} for each in PIXELS]
    return pytest.importorskip("pyarrow").table({"image": rows, "label": range(COUNT)})


def frame(library: str) -> Any:
    columns = {"Image": [png(each) for each in PIXELS], "label": list(range(COUNT))}
    return pytest.importorskip(library).DataFrame(columns)


FORMS: dict[str, Callable[[], Any]] = {
    "array": lambda: PIXELS,
    "images and labels": lambda: (PIXELS, np.arange(COUNT)),
    "list of arrays": lambda: list(PIXELS),
    "pairs": lambda: [(each, number) for number, each in enumerate(PIXELS)],
    "encoded": lambda: [png(each) for each in PIXELS],
    "encoded with labels": lambda: [(png(each), number) for number, each in enumerate(PIXELS)],
    "PIL": lambda: [Image.fromarray(each) for each in PIXELS],
    "PIL palette": lambda: [Image.fromarray(each).convert("P") for each in PIXELS],
    "rows of Hugging Face": lambda: [{"image": {"bytes": png(e), "path": None}} for e in PIXELS],
    "map-style data set": Photos,
    "tensor": tensor,
    "data set of tensors": tensor_set,
    "table of Arrow": arrow,
    "frame of pandas": lambda: frame("pandas"),
    "frame of Polars": lambda: frame("polars"),
}


def a_graph(data: Any, *, shuffled: bool = True, batch_size: int = BATCH) -> Graph:
    graph = load_recipe("rotate-jitter")
    (reader,) = graph.sources
    reader = replace(reader, args={"random_shuffle": shuffled, "initial_fill": 16})
    nodes = tuple(reader if node.id == reader.id else node for node in graph.nodes)
    settings = replace(graph.settings, batch_size=batch_size)
    return with_datasets(replace(graph, nodes=nodes, settings=settings), open_datasets(data))
