"""``workbench.compare``: compare two graphs on the same photos and random values."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.arguments import WHOLE, checked
from workbench.engine.protocol.progress import one_line_interrupt
from workbench.engine.protocol.shared_engine import shared_engine
from workbench.errors import ArgumentError, DataError
from workbench.figures import plot_values
from workbench.graph.model import Graph
from workbench.graph.variants.difference import GraphDifference, graph_differences, with_seeds_of
from workbench.preview import (
    PreviewRequest,
    PreviewResult,
    TileDistance,
    preview_batch,
    preview_distances,
)
from workbench.preview.pictures.contact_sheet import jpeg_within
from workbench.sources import Data, Dataset, Datasets, open_datasets
from workbench.ui.state.graph_argument import GraphLike, to_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_PICTURE = 35_000
"""Maximum size in bytes of each of the two pictures in a notebook."""
_MOST_ROWS = 40
_TILE = 112


@dataclass(frozen=True, repr=False)
class GraphComparison:
    """Outputs of two graphs for the same samples, and their differences.

    Attributes
    ----------
    names:
        Names of the two graphs.
    differences:
        Changes from the first graph to the second: nodes, arguments, edges, settings.
    previews:
        Preview of each graph.
    distances:
        For each sample, the mean absolute pixel difference (0 to 255) of each image output of the
        first graph; None if the second graph has no corresponding output of the same size.

    ::

        found = wb.compare(graph, graph["rotate"].set(angle=20), samples=2)
        assert [each.node for each in found.differences] == ["rotate"]
        print(found.to_frame())
    """

    names: tuple[str, str]
    differences: tuple[GraphDifference, ...]
    previews: tuple[PreviewResult, PreviewResult]
    distances: tuple[TileDistance, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """File of each sample.

        ::

            files = wb.compare(graph, graph, samples=2).files
        """
        return tuple(tile.sample.file for tile in self.previews[0].tiles)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per sample: file and mean difference of each output.

        ::

            frame = wb.compare(graph, graph["rotate"].set(angle=20), samples=2).to_frame()
            assert frame["images"].min() > 0

        Raises ImportError if pandas is not installed.
        """
        import pandas

        columns: dict[str, Any] = {"file": self.files}
        for index, name in enumerate(self.previews[0].outputs):
            columns[name] = [each.means[index] for each in self.distances]
        return pandas.DataFrame(columns)

    def plot(self) -> Figure:
        """Plot the mean difference of each sample for the first image output with matplotlib.

        ::

            figure = wb.compare(graph, graph["rotate"].set(angle=20), samples=2).plot()
        """
        means = {
            f"{number}: {file}": each.means[0]
            for number, (file, each) in enumerate(zip(self.files, self.distances, strict=True))
        }
        known = {name: mean for name, mean in means.items() if mean is not None}
        return plot_values(known, "mean difference (0 to 255)", " and ".join(self.names))

    def __repr__(self) -> str:
        means = [mean for each in self.distances for mean in each.means if mean is not None]
        apart = f"{sum(means) / len(means):.3g} of 255 on average" if means else "not comparable"
        count = len(self.differences)
        return (
            f"<{self.names[0]} and {self.names[1]}: {count} difference{'s' * (count != 1)}, pixels "
            f"of {len(self.distances)} samples {apart}>"
        )

    def _repr_html_(self) -> str:
        pictures = "".join(
            f'<td><b>{escape(name)}</b><br><img alt="{escape(name)}" '
            f'src="data:image/jpeg;base64,{_jpeg(preview)}"></td>'
            for name, preview in zip(self.names, self.previews, strict=True)
        )
        rows = "".join(
            f"<tr><td>{escape(each.node)}</td><td>{escape(each.what or each.change)}</td>"
            f"<td>{escape(each.before[:80])}</td><td>{escape(each.after[:80])}</td></tr>"
            for each in self.differences[:_MOST_ROWS]
        )
        more = len(self.differences) - _MOST_ROWS
        rest = f"<p>and {more} more differences</p>" if more > 0 else ""
        head = "<tr><th>node</th><th>what</th>" + "".join(
            f"<th>{escape(name)}</th>" for name in self.names
        )
        return (
            f"<table><tr>{pictures}</tr></table><p>{escape(repr(self)[1:-1])}</p>"
            f"<table>{head}</tr>{rows}</table>{rest}"
        )


def is_same_data(first: Datasets, second: Datasets) -> bool:
    """Return whether two sets of datasets read the same data from the same location.

    Two copies of data in memory are not the same.
    """
    return _kinds_and_identities(first) == _kinds_and_identities(second)


def _kinds_and_identities(datasets: Datasets) -> dict[str, tuple[str, str]]:
    return {name: (dataset.kind, dataset.identity) for name, dataset in datasets.items()}


def require_same_data(call: str, first: Datasets, second: Datasets, fix: str) -> None:
    """Raise ArgumentError if ``second`` contains data that ``first`` does not contain.

    Data in memory are compared by name, because they are copied each time they are read.
    """
    known = {name: _known_as(dataset) for name, dataset in first.items()}
    for name, dataset in second.items():
        if known.get(name) != _known_as(dataset):
            named = ", ".join(map(str, first.values()))
            raise ArgumentError(
                f"{call}: one graph reads {named}, the other {dataset}. Both must read the "
                f"same data: {fix}."
            )


def _known_as(dataset: Dataset) -> str:
    return str(dataset) if dataset.in_memory else dataset.identity


def _reading_as(graph: Graph, reference: Graph) -> Graph:
    """Return ``graph`` with the reader arguments of ``reference``: both then read the same photos.

    The graph is returned unchanged if its reader also decodes, or is another operator than the
    reader of ``reference``.
    """
    mine, its = graph.sources, reference.sources
    if len(mine) != 1 or len(its) != 1 or mine[0].decodes or mine[0].op != its[0].op:
        return graph
    return graph.replace_node(replace(mine[0], args=its[0].args, seed=its[0].seed))


def _jpeg(preview: PreviewResult) -> str:
    return base64.b64encode(jpeg_within(preview.annotated(), _MOST_PICTURE)).decode()


@checked(batch=WHOLE, samples=WHOLE)
@one_line_interrupt()
def compare(
    first: GraphLike, second: GraphLike, data: Data | None = None, batch: int = 0, samples: int = 8
) -> GraphComparison:
    """Compare two graphs on the same photos and random values: pictures and differences.

    Parameters
    ----------
    first, second:
        Graphs, recipe names, or paths of graph files. The second graph runs with the seeds, the
        batch size and the reading order of the first; ``differences`` compares the originals.
    data:
        As for ``Workbench``; by default the data that the graphs were created for.
    batch, samples:
        Index of the batch, and number of samples.

    Raises GraphFormatError for an invalid graph, ArgumentError if ``batch`` or ``samples`` is out
    of range or the graphs read different data and ``data`` is not passed, GraphFaultsError if a
    graph cannot run, DataError for data that cannot be used, and PipelineError if DALI fails.

    ::

        found = wb.compare(graph, "rotate-jitter", data="photos", samples=2)
    """
    if samples < 1:
        raise ArgumentError(f"compare: samples is {samples}. Use 1 or more.")
    one, other = to_graph(first), to_graph(second)
    if data is None and one.datasets and other.datasets:
        require_same_data("compare", one.datasets, other.datasets, "pass data=...")
    given = one.datasets or other.datasets if data is None else open_datasets(data)
    if given is None:
        raise DataError("compare received no data. Pass a folder: data='photos'.")
    following = _reading_as(with_seeds_of(other, one), one)
    requests = [
        PreviewRequest(graph, given, batch, samples, _TILE, "augmented")
        for graph in (one, following)
    ]
    engine = shared_engine()
    here, there = (preview_batch(engine, request) for request in requests)
    distances = preview_distances(engine, requests[0], requests[1])
    names = (one.name, other.name if other.name != one.name else f"{other.name} (second)")
    return GraphComparison(names, graph_differences(one, other), (here, there), distances)
