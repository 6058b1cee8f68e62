"""Export programs that skip bad files: check the data, and write a list of the good samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.arguments import FLAG, TEXT, checked
from workbench.catalog import load_catalog
from workbench.catalog.spec import CATALOG, Catalog
from workbench.emit.targets import Export, require_skips_bad
from workbench.emit.targets import export as export_all
from workbench.errors import ArgumentError
from workbench.graph.checks.check import require_sound
from workbench.graph.execution.dataset_parameters import (
    datasets_as_read,
    require_numbering,
    with_datasets,
)
from workbench.graph.model import GRAPH, Graph
from workbench.health.check import FolderCheck, check_folder
from workbench.sources import Data, DataFacts, Dataset, Datasets, open_datasets
from workbench.sources.good_data import GoodData


@checked(graph=GRAPH, target=TEXT, catalog=CATALOG, with_=TEXT, skip_bad=FLAG)
def export(
    graph: Graph,
    target: str = "script",
    catalog: Catalog | None = None,
    *,
    with_: str = "",
    data: Data | None = None,
    facts: Mapping[str, DataFacts] | None = None,
    plain: bool = False,
    skip_bad: bool = False,
) -> Export:
    """Export the graph as code for a target. Call ``write`` of the result to write files.

    ``catalog`` defaults to that of the installed DALI. ``with_`` is empty or one of these:

    - ``training``: adds a training loop to a loader.
    - ``samples``: batches of ``pytorch``, ``lightning`` and ``jax`` also contain the file name and
      the random values of each sample, which ``wb.replay`` shows again.
    - ``training+samples``: both.
    - ``capture``: DALI's capture mode, for ``dynamic``.

    ``data`` is the data that the code will read, if known: the code then lists the files of a
    folder without class folders, and its docstring contains warnings about the data. ``facts`` are
    properties of ``data`` by parameter, if computed already (``workbench.sources.data_facts``);
    ``{}`` omits these warnings. With ``skip_bad`` the properties of the good samples are computed
    again.

    ``skip_bad`` decodes all of ``data`` as ``check_folder`` does. The program then reads only the
    samples that are neither bad nor damaged: a list of these samples (for record files, links and
    an index) is stored next to the program. Unless ``plain``, the main file ends with the graph in
    a comment, from which ``from_file`` restores it exactly without running the file, and programs
    that decode files contain the command that finds a bad one.

    Raises GraphFaultsError if the graph cannot run, GraphExportError if the target is unknown or
    does not support the graph; with ``skip_bad`` also ArgumentError without ``data``, DataError if
    no sample is good or the kind cannot exclude samples, and the errors of ``check_folder``::

        loader = wb.export(graph, "pytorch", with_="training", plain=True)
        print(loader.main.text)
        wb.export(graph, data="photos", skip_bad=True).write("pipe.py")
    """
    if not skip_bad:
        return export_all(graph, target, catalog, with_=with_, data=data, facts=facts, plain=plain)
    if data is None:
        raise ArgumentError(
            "export: skip_bad is True, but data is missing. Pass the data to check."
        )
    catalog = catalog or load_catalog()
    require_sound(graph, catalog)
    datasets = open_datasets(data)
    graph = with_datasets(graph, datasets)
    without_check(graph, target, catalog, with_, datasets)
    good, _ = without_bad(graph, datasets_as_read(graph, datasets))
    omitted: Mapping[str, DataFacts] | None = None if facts is None or facts else {}
    return export_all(graph, target, catalog, with_=with_, facts=omitted, plain=plain, good=good)


def without_check(
    graph: Graph, target: str, catalog: Catalog, with_: str, data: Datasets
) -> Export:
    """Export the program for all files, so that export errors are raised before the check.

    Raises GraphExportError if the export fails or the target cannot skip bad files.
    """
    require_skips_bad(target)
    return export_all(graph, target, catalog, with_=with_, data=data, facts={}, plain=True)


def without_bad(
    graph: Graph, data: Datasets, check: Callable[[Dataset], FolderCheck] = check_folder
) -> tuple[GoodData, str]:
    """Return the data without bad and damaged samples, and a sentence with the number skipped.

    Raises DataError if no sample is left, if samples of this kind cannot be excluded, or if a
    sampler of the graph numbers them, and the errors of ``check``.
    """
    found = {dataset: check(dataset) for dataset in dict.fromkeys(data.values())}
    require_numbering(graph.sources, [name for name, each in data.items() if found[each].skipped])
    good = GoodData(data, {name: found[each].skipped for name, each in data.items()})
    return good, "; ".join(each.describe_skipped() for each in found.values())
