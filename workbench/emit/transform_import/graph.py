"""A composition as calls -> a graph, with a report of what DALI does otherwise or not at all."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.emit.pipeline_import.report import ImportReport
from workbench.emit.transform_import.albumentations import ALBUMENTATIONS
from workbench.emit.transform_import.images import Images
from workbench.emit.transform_import.kornia import KORNIA
from workbench.emit.transform_import.timm import TIMM
from workbench.emit.transform_import.torchvision import TORCHVISION
from workbench.emit.transform_import.transform_call import TransformCall
from workbench.errors import ImportFailedError
from workbench.graph.edit import new_node
from workbench.graph.layout import Document
from workbench.graph.model import Graph, Port, Source
from workbench.sources import PARAMETER, load_source

LIBRARIES = {each.name: each for each in (TORCHVISION, ALBUMENTATIONS, KORNIA, TIMM)}
"""Whose compositions can be read, by the name of the package."""


def import_transforms(call: TransformCall, name: str = "imported") -> ImportedGraph:
    """The graph of a composition, behind a folder of images that are decoded.

    What DALI does otherwise is told as ``changed``, what it cannot do is left out and told as
    ``refused``. Raises ImportFailedError for a call of no library that is known.
    """
    library = LIBRARIES.get(call.library)
    if library is None:
        raise ImportFailedError(
            f"{call.name} is of no library whose compositions are read: {', '.join(LIBRARIES)}."
        )
    images = Images(_decoded())
    before = {node.id for node in images.graph.walk()}
    library.apply(images, call)
    graph = images.finish().named(name)
    known = before | set(images.exact)
    exact = tuple(node.id for node in graph.walk() if node.id in known)
    report = ImportReport(exact=exact, entries=tuple(images.issues))
    return ImportedGraph(Document(graph), report)


def _decoded() -> Graph:
    catalog, kind = load_catalog(), load_source("folder")
    node = new_node(Graph(), catalog, kind.op, "reader")
    fields = {each: getattr(node, each) for each in ("id", "op", "seed")}
    source = Source(
        **fields, args={**node.args, "random_shuffle": True}, kind="folder", dataset=PARAMETER
    )
    outputs = {"jpegs": Port("reader", "jpegs"), "labels": Port("reader", "labels")}
    read = replace(Graph(), nodes=(source,), outputs=outputs)
    return read.decode(output_type="RGB")
