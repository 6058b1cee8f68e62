"""Run a graph with its methods ``batch`` and ``show``, or by calling it with an image."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.arguments import TEXT, WHOLE, checked, format_value
from workbench.catalog import load_catalog
from workbench.engine.protocol.progress import one_line_interrupt
from workbench.engine.protocol.shared_engine import shared_engine
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.missing_gpu import require_gpu_if_used
from workbench.errors import ArgumentError, DataError, GraphError
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.graph import changed_settings
from workbench.graph.resolved import resolve
from workbench.preview import OutputBatch, PreviewRequest, preview_outputs
from workbench.sources import Data, Datasets, open_datasets

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST_TILE = 8
"""Tile size in pixels of requests whose tiles are not displayed."""
_IMAGES = ("folder", "file_list", "memory")


@checked(number=WHOLE, samples=WHOLE)
@one_line_interrupt()
def batch(
    graph: Graph, number: int = 0, samples: int | None = None, data: Data | None = None
) -> OutputBatch:
    """Return batch ``number`` (from 0) as arrays: ``.images``, ``.labels``, ``.draws``.

    The batch is bit-identical to that of the exported script. Numbers continue through all epochs:
    with 120 samples and batches of 16, batch 8 has samples of the second epoch. The graph runs in a
    worker process that all graphs of this process share. Findings of ``check_warnings``, and
    samples that cannot be used, are issued as a UserWarning. ``samples`` is the number of samples,
    by default the whole batch. ``data`` is any data that ``Workbench`` accepts, by default the
    graph's own. Raises GraphFaultsError if the graph cannot run, DataError if the data cannot be
    used, and PipelineError if DALI reports an error.

    ::

        images = graph.batch(0, samples=4).images
        assert images.shape == (4, 224, 224, 3)
    """
    return run_batch(graph, _data_of(graph, data), number, samples)


@checked(output=TEXT, batch=WHOLE)
@one_line_interrupt()
def show(
    graph: Graph,
    data: Data | None = None,
    *,
    batch: int = 0,
    rows: int | None = None,
    figsize: tuple[float, float] | None = None,
    output: str = "",
) -> None:
    """Display a grid of pictures of one batch, with classes, random values, boxes and masks.

    ``rows`` is the number of rows, by default at most four. ``figsize`` is in inches. Outside of a
    notebook, the pictures are saved to a file and its path is printed. ``graph.batch(0).plot()``
    returns the figure. Raises the errors of ``batch`` and ``OutputBatch.plot``.

    ::

        graph.show(rows=1)
    """
    count = graph.settings.batch_size
    wanted = 4 * rows if isinstance(rows, int) and rows > 0 else 16
    found = run_batch(graph, _data_of(graph, data), batch, min(count, wanted))
    found.show(output, rows=rows, figsize=figsize)


@checked()
def call(
    graph: Graph, image: object, *, draw: int = 0, label: int | None = None
) -> NDArray[Any] | tuple[NDArray[Any], ...]:
    """Apply the graph to one image: a path, an array (height, width, channels) or a PIL image.

    Returns the output as an array, or a tuple of arrays if the graph has several image outputs.
    ``draw`` selects the random values: the same number returns the same pixels. ``label`` is
    required if the graph uses labels. Raises GraphError for a graph that reads more than images and
    labels, DataError if ``image`` is not an image, and the errors of ``batch``.

    ::

        turned = graph("photos/cat/cat_01.jpg")
        assert turned.shape == (224, 224, 3) and (turned == graph("photos/cat/cat_01.jpg")).all()
    """
    if isinstance(draw, bool) or not isinstance(draw, int) or draw < 0:
        raise ArgumentError(f"graph(image): draw is {format_value(draw)}. Use an integer >= 0.")
    if label is not None and (isinstance(label, bool) or not isinstance(label, int) or label < 0):
        raise ArgumentError(f"graph(image): label is {format_value(label)}. Use an integer >= 0.")
    whole = graph.whole
    running = resolve(whole, load_catalog())
    sources = running.graph.sources
    if len(sources) != 1 or sources[0].kind not in _IMAGES:
        read = ", ".join(f"{each.id} ({each.op})" for each in sources) or "nothing"
        raise GraphError(
            f"graph(image) needs a graph that reads images and labels; this one reads {read}. "
            "Use graph.batch(0)."
        )
    if label is None and _uses(running.graph.walk(), Port(sources[0].id, "labels")):
        raise ArgumentError(
            "graph(image): the graph uses the label of the image. Pass the label, for example "
            "label=3."
        )
    images = running.images
    if not images:
        raise GraphError("graph(image): no output of the graph is an image. Use graph.batch(0).")
    dataset = _one_image(image, label or 0)
    single = replace(
        running.graph,
        outputs=dict(images),
        settings=changed_settings(whole.settings, {"batch_size": 1}),
        datasets=None,
    )
    # The order of the reader's files does not matter for one file.
    reader = replace(sources[0], args={})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 1 samples cannot be used")
        found = run_batch(single.replace_node(reader), dataset, draw, None)
    for file, reason in found.errors.items():
        raise DataError(f"{file} cannot be used: {reason.rstrip('.')}. Pass an image.")
    arrays = tuple(np.asarray(found[name][0]) for name in images)
    return arrays[0] if len(arrays) == 1 else arrays


def run_batch(
    graph: Graph, data: Datasets, number: int, samples: int | None, engine: Any = None
) -> OutputBatch:
    """Run a batch of a graph in a worker. Raises the errors of ``batch``."""
    size = graph.settings.batch_size
    if samples is not None and not 1 <= samples <= size:
        raise ArgumentError(f"samples is {samples}. Use 1 to {size}, the batch size.")
    require_gpu_if_used(graph, describe_machine())
    request = PreviewRequest(graph.whole, data, number, samples or size, SMALLEST_TILE)
    return preview_outputs(engine or shared_engine(), request)


def _data_of(graph: Graph, data: Data | None) -> Datasets:
    given = (graph.whole.datasets or {}) if data is None else open_datasets(data)
    if not given and parameters(graph.whole.nodes):
        raise DataError(
            "The graph has no data. Pass data, for example graph.batch(0, data='photos')."
        )
    return given


def _one_image(image: object, label: int) -> Datasets:
    if isinstance(image, str | os.PathLike):
        if not os.path.isfile(image):
            what = "There is no file {}" if not os.path.isdir(image) else "{} is a folder"
            raise DataError(f"{what.format(os.fspath(image))}. Pass the path of an image.")
        return open_datasets([(os.path.abspath(image), label)])
    is_image = hasattr(image, "__array__") or hasattr(image, "convert") or isinstance(image, bytes)
    if not is_image or isinstance(image, Graph):
        raise DataError(
            f"graph(image) received {format_value(image)}. Pass a path, an array of shape "
            "(height, width, "
            "channels) or a PIL image."
        )
    return open_datasets([(image, label)])


def _uses(nodes: Iterable[Node], labels: Port) -> bool:
    return any(labels in node.inputs.values() for node in nodes)
