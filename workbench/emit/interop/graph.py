"""Convert a composition of calls to a graph, and report differences and omissions."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.catalog import load_catalog
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.interop.custom_steps import OWN
from workbench.emit.interop.importing.images import Images
from workbench.emit.interop.kornia import KORNIA
from workbench.emit.interop.library import Library
from workbench.emit.interop.live import call_of_albumentations, call_of_dictionary, call_of_object
from workbench.emit.interop.timm import TIMM
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.emit.pipeline_import.graph import (
    ImportedGraph,
    with_arithmetic_collapsed,
    with_report,
)
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.errors import ImportFailedError
from workbench.graph.builder.data_node import deferred_checks
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import free_id, new_node, rename_node
from workbench.graph.model import Graph, Source
from workbench.graph.model.frozen_dict import FrozenDict
from workbench.graph.model.ports import output_ports
from workbench.graph.storage.import_report import ImportIssue, ImportReport
from workbench.graph.storage.layout import Document
from workbench.sources import PARAMETER, load_source

LIBRARIES = {each.name: each for each in (TORCHVISION, ALBUMENTATIONS, KORNIA, TIMM)}
"""Supported libraries by package name."""


def from_torchvision(transform: Any, name: str = "imported") -> ImportedGraph:
    """Import a composition of torchvision's transforms, v1 or v2, or a single transform.

    Each transform becomes equivalent DALI nodes with torchvision's probability, order and ranges.
    The report lists transforms that differ in DALI (``changed``), and transforms that the graph
    omits because DALI lacks them (``refused``). ``DIFFERENCES.md`` next to the module has the pixel
    differences. Raises ImportFailedError if ``transform`` is not a torchvision transform::

        from importlib.util import find_spec

        if find_spec("torchvision"):  # a script that uses it can be imported without it: from_file
            from torchvision.transforms import RandomHorizontalFlip

            found = wb.from_torchvision(RandomHorizontalFlip(p=0.5))
            assert found.graph.has("flip")
    """
    return import_transforms(call_of_object(transform, "torchvision"), name)


def from_albumentations(
    transform: Any | str | Path | Mapping[str, Any], name: str = "imported"
) -> ImportedGraph:
    """Import a composition of Albumentations: the object, or its saved form.

    ``transform`` is a ``Compose`` or another transform, the dictionary returned by ``to_dict``, or
    the path of a ``.yaml`` or ``.json`` file written by ``albumentations.save``. The report is as
    described for ``from_torchvision``. Raises ImportFailedError for anything else::

        saved = {"__class_fullname__": "Compose", "p": 1.0, "transforms": [
            {"__class_fullname__": "HorizontalFlip", "p": 0.5},
        ]}
        found = wb.from_albumentations(saved)
        assert found.graph.has("flip")
    """
    if isinstance(transform, str | Path):
        return from_saved(Path(transform), name)
    if isinstance(transform, Mapping):
        call = call_of_dictionary(transform)
    elif hasattr(transform, "to_dict") and type(transform).__module__.startswith("albumentations"):
        call = call_of_albumentations(transform)
    else:
        call = call_of_object(transform, "albumentations")
    return import_transforms(call, name)


def from_saved(path: Path, name: str, key: str | None = None) -> ImportedGraph:
    """Import a composition from a ``.yaml`` or ``.json`` file.

    ``key`` selects one of several compositions. Raises ImportFailedError if the file cannot be
    read, or does not contain the composition.
    """
    saved = _read_saved(path)
    try:
        call = call_of_dictionary(saved, key)
    except ImportFailedError as error:
        raise ImportFailedError(f"{path}: {error}") from None
    return import_transforms(call, name)


def _read_saved(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ImportFailedError(f"{path} cannot be read: {reason}.") from None
    try:
        if path.suffix == ".json":
            found = json.loads(text)
        else:
            found = import_module("yaml").safe_load(text)
    except ModuleNotFoundError:
        raise ImportFailedError(
            f"{path} is YAML, which requires PyYAML. Install it (pip install pyyaml), or save the "
            "composition as .json."
        ) from None
    except Exception as error:
        raise ImportFailedError(
            f"{path} cannot be read: {error}. Use a file that albumentations.save wrote."
        ) from None
    if not isinstance(found, Mapping):
        raise ImportFailedError(
            f"{path} is not a saved composition. Save one with albumentations.save."
        )
    return found


def import_transforms(
    call: TransformCall,
    name: str = "imported",
    notes: Sequence[str] = (),
    kind: str = "folder",
    assumed: Mapping[str, str] = FrozenDict(),
    losses: Sequence[ImportIssue] = (),
) -> ImportedGraph:
    """Convert a composition to a graph that starts with a source of decoded images.

    Where DALI differs, the report has an issue of kind ``changed``. Unsupported transforms are
    omitted and reported as ``refused``. Raises ImportFailedError for a call of an unknown library.
    """
    library = {**LIBRARIES, OWN.name: OWN}.get(call.library)
    if library is None:
        raise ImportFailedError(
            f"{call.name} is not supported. Use transforms of {', '.join(LIBRARIES)}."
        )
    start = decoded_images(kind)
    with deferred_checks():
        images, graph = _applied(library, call, start)
    if check_graph(graph, load_catalog()):  # the transform's own check reports the name
        images, graph = _applied(library, call, start)
    graph, names = _named_blocks(graph.named(name), images.blocks)
    differing = {names.get(node, node) for node, differs in images.differing.items() if differs}
    inexact = tuple(node.id for node in graph.walk() if node.id in differing)
    exact = tuple(node.id for node in graph.walk() if node.id not in inexact)
    report = ImportReport(
        exact,
        (*(replace(each, made=names.get(each.made, each.made)) for each in images.issues), *losses),
        notes=tuple(notes),
        assumed=FrozenDict(assumed),
        changed_nodes=inexact,
        steps=FrozenDict(Counter(images.outcomes)),
    )
    document = with_arithmetic_collapsed(Document(graph))
    return ImportedGraph(with_report(document, report), call)


def _named_blocks(graph: Graph, blocks: Mapping[str, str]) -> tuple[Graph, dict[str, str]]:
    """Rename blocks after the transforms that they were created for.

    Returns the graph, and a mapping from old to new ids.
    """
    names: dict[str, str] = {}
    for block, transform in blocks.items():
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", transform).lower()
        if graph.has(block) and words.isidentifier():
            names[block] = free_id(graph, words)
            graph = rename_node(graph, block, names[block])
    return graph, names


def _applied(library: Library, call: TransformCall, start: Graph) -> tuple[Images, Graph]:
    images = Images(start)
    library.import_transform(images, call)
    return images, images.finish()


def decoded_images(kind: str) -> Graph:
    """Return the initial graph of an import: a source of this kind, and decoded images."""
    catalog, read_by = load_catalog(), load_source(kind)
    node = new_node(Graph(), catalog, read_by.op, "reader")
    fields = {each: getattr(node, each) for each in ("id", "op", "args", "seed")}
    source = Source(**fields, kind=kind, dataset=PARAMETER)
    ports = {port.output: port for port in output_ports(source, catalog[source.op])}
    images = next(iter(ports))
    given = {name: port for name, port in ports.items() if name in (images, "labels")}
    read = replace(Graph(), nodes=(source,), outputs=given)
    return read.decode(output_type="RGB") if images == "jpegs" else read
