"""One sample of a loader shown again, by its file and its random values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.arguments import MAPPING, PATH, checked
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import GRAPH, Graph, Source
from workbench.graph.resolved import resolve
from workbench.graph.variants.samples import with_values
from workbench.preview import OutputBatch, preview_outputs
from workbench.preview.request import PreviewRequest
from workbench.sources import Data, Dataset, Sample, list_samples, open_dataset, open_datasets

_ORDER = {"random_shuffle", "shuffle_after_epoch", "initial_fill"}


@checked(graph=GRAPH, file=PATH, values=MAPPING)
def replay(
    graph: Graph,
    file: str | os.PathLike[str],
    values: Mapping[str, Any],
    data: Data | None = None,
) -> OutputBatch:
    """The sample that a loader made of a file with these random values, bit for bit on the CPU.

    ``file`` and ``values`` are what a loader exported ``with_="samples"`` returned for it: the
    values by the id of the node that drew them, as numbers, lists or arrays. ``data`` is the folder
    or list that the loader read, by default what the graph was made to read. Raises GraphError for
    a graph that draws otherwise, such as by ``random_resized_crop``, and for a value that is
    missing or not one of the graph's; DataError where the data have no such file::

        batch = w.batch(0)
        values = {name: drawn[0] for name, drawn in batch.draws.items()}
        shown = wb.replay(w.graph, batch.files[0], values, "photos")
        assert (shown.images[0] == batch.images[0]).all()
    """
    catalog = load_catalog()
    running = resolve(graph, catalog).graph
    given = graph.datasets if data is None else open_datasets(data)
    sources = list(running.sources)
    if len(sources) != 1 or sources[0].op != "readers.file" or not given:
        raise DataError("Give data: the one folder or list of files that the loader read.")
    found = _sample(next(iter(given.values())), os.fspath(file))
    numbers = {name: np.asarray(value).tolist() for name, value in values.items()}
    made = with_values(
        running, catalog, {n: tuple(v) if isinstance(v, list) else v for n, v in numbers.items()}
    )
    reader = made.node(sources[0].id)
    assert isinstance(reader, Source)
    args = {name: value for name, value in reader.args.items() if name not in _ORDER}
    made = made.replace_node(replace(reader, args=args, kind="file_list"))
    made = set_setting(made, batch_size=1)
    one = {reader.dataset: open_dataset([(os.path.abspath(found.path), found.label)])}
    with Engine() as engine:
        return preview_outputs(engine, PreviewRequest(made, one, tiles=1))


def _sample(dataset: Dataset, file: str) -> Sample:
    """The sample of a file, which is named relative to the data or absolute."""
    path = os.path.abspath(os.path.join(dataset.root, file))
    for sample in list_samples(dataset):
        if os.path.abspath(sample.path) == path:
            return sample
    raise DataError(f"{dataset} has no file {file}. Give a name that the loader returned.")
