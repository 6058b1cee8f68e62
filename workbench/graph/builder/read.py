"""Create graphs that read data: ``read``, ``fn`` and ``random``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from workbench.arguments import checked, warn_caller
from workbench.catalog import load_catalog
from workbench.errors import ArgumentError, DataError
from workbench.graph.builder.graph_methods import Fn
from workbench.graph.builder.node_handle import NodeHandle
from workbench.graph.builder.samplers import sampler_options
from workbench.graph.edits.edit import new_node
from workbench.graph.model import Graph, Port, Source
from workbench.graph.model.ports import output_ports
from workbench.graph.types.devices import port_kind
from workbench.sources import (
    PARAMETER,
    Data,
    Datasets,
    annotated_alternatives,
    choose_columns,
    choose_split,
    class_names,
    holds_objects,
    load_source,
    open_datasets,
    require_dataset,
    source_kinds,
)
from workbench.sources.kinds.file_list import require_files
from workbench.sources.record_features import TYPES as FEATURE_TYPES
from workbench.sources.record_features import parse_feature

if TYPE_CHECKING:
    from workbench.graph.builder.data_node import DataNode
    from workbench.graph.model.operators import RandomOperators, ReaderOptions

_RANDOM = """Generators of random values: ``uniform``, ``normal``, ``coin_flip`` and so on.

A value that is used twice is sampled once; two calls are independent. Raises like ``fn``::

    drawn = graph.rotate(angle=wb.random.uniform(range=(-10, 10)))
    assert drawn["rotate_2"].angle.range == (-10, 10)
"""
fn = Fn()
"""Every DALI operator as a function: ``fn.cat(a, b, axis=0)``, ``fn.readers.file()``."""
random: RandomOperators[DataNode] = Fn("random", _RANDOM)  # type: ignore[assignment]  # its group's
"""DALI's random generators as functions: ``random.uniform(range=(-10, 10))``."""


@checked()
def read(
    data: Data,
    *,
    path: str | None = None,
    label: str | None = None,
    split: str | None = None,
    sampler: Any = None,
    weights: Any = None,
    features: Mapping[str, str] | Sequence[str] | None = None,
    **options: Unpack[ReaderOptions],
) -> Graph:
    """Create a graph that reads data, with the reader's outputs: encoded images and labels.

    Parameters
    ----------
    data:
        Anything that ``Workbench`` opens: a folder, a file of samples, a list, a data frame. Pass a
        list with labels as pairs: ``list(zip(paths, labels))``.
    path, label:
        Columns of a data frame or table: ``path`` has paths or images, ``label`` has labels.
        ``label=""`` means no labels. By default the columns are found by name.
    split:
        Part of the data that is read: ``"train"``, ``"val"`` or another name in data.yaml of YOLO,
        in ImageSets/Main of Pascal VOC, or of a folder.
    sampler:
        Order of the samples: ``"balanced"`` (the same number of each class), ``"random"``,
        ``"sequential"``, or a sampler of PyTorch.
    weights:
        How often each class or sample is read: a dict by class name, or one number per class or
        per sample. The samples are then drawn with replacement.
    features:
        Features of TFRecord, or components of WebDataset, that become outputs, with their types:
        ``{"image/encoded": "image", "score": "float32[3]"}`` or ``{"jpg": "image", "txt":
        "bytes"}``. By default, one image and one label are found in the records. For a dataset in
        Python, pass the names of its fields: ``["boxes", "path"]``.
    options:
        Arguments of DALI's reader, such as ``random_shuffle=True``.

    ::

        graph = wb.read("photos").decode().resize(size=(224, 224))

    The graph refers to the data, so ``Workbench(graph)`` can open them; a saved file does not.
    Raises DataError for invalid or missing data, and GraphEditError for an unknown option.
    """
    if "labels" in options:
        raise ArgumentError(
            "read accepts labels only with the data. Pass pairs of path and label: "
            "wb.read(list(zip(paths, labels)))."
        )
    data = data if split is None else choose_split(data, split)
    if path is not None or label is not None:
        data = choose_columns(data, path, label)
    named = features is not None and holds_objects(data)
    if named:
        opening = import_module("workbench.sources.kinds.memory_fields")
        data = opening.open_fields(data, [*(features or ())])
    datasets = open_datasets(data)
    if not datasets:
        raise DataError("read received no data. Pass a folder: wb.read('photos').")
    texts: dict[str, Any] = {}
    if named:
        texts["fields"] = tuple(map(str, features or ()))
    elif features is not None:
        datasets, texts["features"] = by_feature(datasets, features)
    for each in datasets.values():
        require_dataset(each)
        require_files(each)
        if others := [str(o) for o in annotated_alternatives(each) if o.kind == "coco"]:
            labels = " with its folders as classes," if class_names(each) else ""
            warn_caller(
                f"{each} is read{labels} without its COCO annotations. Open {others[0]} for boxes."
            )
    kind = load_source(next(iter(datasets.values())).kind)
    if taken := sorted(options.keys() & kind.located_by):
        raise ArgumentError(
            f"read sets {', '.join(map(repr, taken))} of {kind.op} from the data. Pass the files "
            "as data instead."
        )
    sampling = sampler_options(next(iter(datasets.values())), sampler, weights)
    return unchecked_reader_graph(datasets, {**options, **sampling, **texts})


def by_feature(
    datasets: Datasets, features: Mapping[str, str] | Sequence[str]
) -> tuple[Datasets, tuple[str, ...]]:
    """Return the datasets with the first one read by feature name, and the feature declarations.

    Raises DataError if the data have no features, and ArgumentError for an invalid feature.
    """
    name, dataset = next(iter(datasets.items()))
    stem = dataset.kind.removesuffix("_features")
    if (kind := f"{stem}_features") not in source_kinds():
        raise DataError(
            f"{dataset} is a {load_source(dataset.kind).about}, which has no features. Omit "
            "features, or use TFRecord or WebDataset."
        )
    pairs = features.items() if isinstance(features, Mapping) else ()
    texts = [f"{key}: {value}" for key, value in pairs] or [*features]
    types = FEATURE_TYPES[load_source(kind).op]
    try:
        parsed = tuple(str(parse_feature(text, types)) for text in texts)
    except ValueError as error:
        raise ArgumentError(f"features: {error}.") from None
    source = load_source(kind)
    known = source.options_of({**source.begins, "features": parsed})
    return {**datasets, name: replace(dataset, kind=kind, options=known)}, parsed


def unchecked_reader_graph(datasets: Datasets, options: Mapping[str, Any]) -> Graph:
    """Return a graph that reads the first dataset, without checking that its data exist."""
    catalog = load_catalog()
    name, dataset = next(iter(datasets.items()))
    kind = load_source(dataset.kind)
    node = new_node(Graph(), catalog, kind.op, "reader")
    args = {**node.args, **kind.begins}
    with suppress(DataError, OSError):  # the check of the data reports it
        args |= kind.start_args(dataset)
    source = Source(
        node.id, node.op, args, seed=node.seed, kind=dataset.kind, dataset=name or PARAMETER
    )
    graph = Graph(nodes=(source,), datasets=datasets)
    if options:
        graph = NodeHandle(graph, source.id).set(**options)
    node = graph.node(source.id)
    given: dict[str, Port] = {}
    for port in output_ports(node, catalog[node.op]):
        pixels = port_kind(graph, catalog, port) == "image"
        given["images" if pixels and "images" not in given else port.output] = port
    return replace(graph, outputs=given)
