"""Reproduce one sample of a loader from its file and random values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from workbench.arguments import MAPPING, PATH, checked
from workbench.catalog import load_catalog
from workbench.engine.protocol.shared_engine import shared_engine
from workbench.errors import DataError
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.dataset_parameters import parameter_of
from workbench.graph.model import GRAPH, Graph, Source
from workbench.graph.resolved import resolve
from workbench.graph.variants.samples import with_values
from workbench.preview import OutputBatch, preview_outputs
from workbench.preview.request import PreviewRequest
from workbench.sources import (
    ORDER_OPTIONS,
    Data,
    Dataset,
    Sample,
    list_samples,
    open_dataset,
    open_datasets,
    write_remaining,
)


@checked(graph=GRAPH, file=PATH, values=MAPPING)
def replay(
    graph: Graph,
    file: str | os.PathLike[str],
    values: Mapping[str, Any],
    data: Data | None = None,
) -> OutputBatch:
    """Reproduce a sample of a loader, given its file and random values.

    The result is bit-identical on the CPU. ``file`` and ``values`` come from a loader exported with
    ``with_="samples"``: ``values`` maps the ids of the random nodes to numbers, lists or arrays.
    ``data`` is the data that the loader read, by default the graph's own. Raises GraphError for
    nodes with internal randomness, such as ``random_resized_crop``, and for missing or unknown
    values. Raises DataError if the data has no such file, and for video sequences::

        batch = w.batch(0)
        values = {name: drawn[0] for name, drawn in batch.draws.items()}
        shown = wb.replay(w.graph, batch.files[0], values, "photos")
        assert (shown.images[0] == batch.images[0]).all()
    """
    resolved = resolve(graph, load_catalog())
    running = resolved.graph
    given = graph.datasets if data is None else open_datasets(data)
    sources = list(running.sources)
    if len(sources) != 1 or not given:
        raise DataError(
            "replay needs the data of one reader. Pass the folder, list or archive that was read."
        )
    if sources[0].op == "experimental.readers.video":
        raise DataError(
            f"{file}: replay does not support videos, because a file has several sequences of "
            "frames. Use a graph that reads images."
        )
    name = parameter_of(sources[0]) or ""
    if name not in given and len(given) > 1:
        raise DataError(
            f"The data have the names {', '.join(map(repr, given))}, but the graph reads "
            f"{name!r}. Pass the data that the loader read."
        )
    dataset = given[name] if name in given else next(iter(given.values()))
    if sources[0].op != "readers.file":
        dataset = replace(dataset, kind=sources[0].kind)  # archives are opened lazily
    found = _sample(dataset, os.fspath(file))
    numbers = {name: np.asarray(value).tolist() for name, value in values.items()}
    made = with_values(
        resolved, {n: tuple(v) if isinstance(v, list) else v for n, v in numbers.items()}
    )
    reader = made.node(sources[0].id)
    assert isinstance(reader, Source)
    args = {name: value for name, value in reader.args.items() if name not in ORDER_OPTIONS}
    made = set_setting(made.replace_node(replace(reader, args=args)), batch_size=1)
    if reader.op == "readers.file":
        made = made.replace_node(replace(reader, args=args, kind="file_list"))
        return _shown(made, open_dataset([(os.path.abspath(found.path), found.label)]))
    with TemporaryDirectory(prefix="workbench-replay-") as folder:
        others = {each.name for each in list_samples(dataset)} - {found.name}
        place = write_remaining(dataset, others, Path(folder) / "one")
        return _shown(made, replace(dataset, location=os.fspath(place), items=()))


def _shown(graph: Graph, dataset: Dataset) -> OutputBatch:
    (reader,) = graph.sources
    request = PreviewRequest(graph, {reader.dataset: dataset}, tiles=1)
    return preview_outputs(shared_engine(), request)


def _sample(dataset: Dataset, file: str) -> Sample:
    """Return the sample with a file name that is relative to the data or to the current folder."""
    names = {os.path.abspath(os.path.join(dataset.root, file)), os.path.abspath(file)}
    for sample in list_samples(dataset):
        known = {os.path.abspath(os.path.join(dataset.root, sample.name))}
        if sample.nbytes is None:  # it is stored in a file of its own
            known.add(os.path.abspath(sample.path))
        if names & known:
            return sample
    raise DataError(f"{dataset} has no file {file}. Use a file name that the loader returned.")
