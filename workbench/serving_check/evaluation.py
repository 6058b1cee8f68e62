"""Build the evaluation graph of a pack, and apply graphs to single images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog import load_catalog
from workbench.engine.protocol.process import Engine
from workbench.engine.resources.machine import describe_machine
from workbench.engine.resources.missing_gpu import require_gpu_if_used
from workbench.errors import ArgumentError, CancelledError, DataError, EngineError, GraphError
from workbench.graph.model import Graph, Node, Source
from workbench.graph.resolved import resolve
from workbench.graph.variants.source_annotations import with_opened
from workbench.graph.variants.validation import validation_graph
from workbench.names import did_you_mean, shortened
from workbench.preview.request import PreviewRequest
from workbench.preview.requests.fault_isolation import call_isolating_faults
from workbench.preview.requests.output_batch import BatchArrays, read_outputs
from workbench.sources import Datasets, open_datasets

Array = NDArray[Any]
JPEG = b"\xff\xd8"
"""First bytes of a JPEG file."""
_TILE = 8
"""Tile size in pixels for preview requests; small, because no tile is displayed."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason why a graph cannot process an image."""

    reason: str


def evaluation_graph(graph: Graph, output: str = "") -> tuple[Graph, str]:
    """Return the validation variant of a graph, with one image as its only output.

    The second value is a sentence that lists the removed and changed nodes, or an empty string.

    Raises GraphError if there is no such variant, and ArgumentError if ``output`` is not an image.
    """
    catalog = load_catalog()
    resolved = resolve(graph.whole, catalog)
    images = list(resolved.images)
    if not images:
        raise GraphError("No output of the graph is an image. Make the image an output.")
    if output and output not in images:
        raise ArgumentError(
            f"pack: the graph has no image output {output!r}, only "
            f"{', '.join(map(repr, images))}. {did_you_mean(output, images, 'Use one of these.')}"
        )
    if len(images) > 1 and not output:
        raise ArgumentError(
            f"pack: the graph has {len(images)} image outputs ({', '.join(images)}), but a server "
            f"returns one. Select one, for example output={images[0]!r}."
        )
    name = output or images[0]
    single = replace(resolved.graph, outputs={name: resolved.graph.outputs[name]}, datasets=None)
    alone = resolve(single.with_settings(batch_size=1, pipelines=1), catalog)
    fixed = validation_graph(alone)
    if fixed is None:
        random = [node.id for node in alone.graph.walk() if _is_random(node)]
        nodes = f" ({', '.join(random[:3])})" if random else ""
        raise GraphError(
            f"The graph cannot run without its random values{nodes}, so it has no evaluation "
            "variant. Mute the random nodes, or pack the graph that you evaluate with."
        )
    return fixed, _changes_sentence(alone.graph, fixed)


def _changes_sentence(graph: Graph, fixed: Graph) -> str:
    left = {node.id: node for node in fixed.walk()}
    nodes = [node for node in graph.walk() if not isinstance(node, Source)]
    removed = [node.id for node in nodes if node.id not in left]
    changed = [node.id for node in nodes if left.get(node.id, node) != node]
    parts = [
        f"{words}: {', '.join(ids)}"
        for words, ids in (("removed", removed), ("changed", changed))
        if ids
    ]
    return f"The tensors are those of the graph for evaluation ({'; '.join(parts)})." * bool(parts)


def _is_random(node: Node) -> bool:
    return node.seed is not None and not isinstance(node, Source)


@dataclass
class GraphRunner:
    """Applies graphs with one image output to encoded images, one image at a time."""

    engine: Engine
    folder: Path
    """Temporary folder for the images."""
    layout: str = ""
    """Layout of the latest output."""

    def run(self, graph: Graph, images: Sequence[bytes]) -> list[Array | Refusal]:
        """Run a graph on encoded images. Returns a Refusal for each image that it cannot process.

        Raises DataError if the graph does not read encoded images.
        """
        if not images:
            return []
        paths = []
        for index, data in enumerate(images):
            path = self.folder / f"{index:03}.{'jpg' if data[:2] == JPEG else 'png'}"
            path.write_bytes(data)
            paths.append((str(path), 0))
        datasets = open_datasets(paths)
        readers = [node for node in graph.nodes if isinstance(node, Source)]
        if len(readers) != 1:
            read = f"{len(readers)} readers ({', '.join(each.id for each in readers)})"
            raise GraphError(
                f"The graph has {read if readers else 'no reader'}, but a server receives one "
                "encoded image. Pack a graph with one reader."
            )
        opened = with_opened(graph, datasets, load_catalog())
        opened = replace(opened, outputs=graph.outputs)
        reader = opened.sources[0]
        opened = opened.replace_node(replace(reader, args={}))
        require_gpu_if_used(opened, describe_machine())
        return [self._run_one(opened, datasets, index) for index in range(len(images))]

    def _run_one(self, graph: Graph, datasets: Datasets, index: int) -> Array | Refusal:
        request = PreviewRequest(graph, datasets, index, 1, _TILE)
        try:
            found: BatchArrays = call_isolating_faults(self.engine, read_outputs, request)
        except CancelledError:
            raise
        except (EngineError, DataError) as error:
            return Refusal(shortened(" ".join(str(error).split()), 200))
        if found.samples[0].error:
            return Refusal(found.samples[0].error)
        self.layout = found.outputs[0].layout
        return np.array(found.outputs[0].arrays[0])
