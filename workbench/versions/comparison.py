"""Compare two versions: graphs, settings, numbers of samples, and pictures of the same samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import ArgumentError
from workbench.figures import plot_pictures
from workbench.graph.storage.io import graph_from_json
from workbench.graph.variants.difference import GraphDifference, graph_differences
from workbench.results import DocumentedResult, ResultDocument, ResultTable
from workbench.versions.pictures import (
    Chosen,
    caption_of,
    class_of,
    pictures_of,
    samples_by_class,
    tasks_and_records,
)
from workbench.versions.plan import VersionPlan

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from workbench.versions.manifest import Version

_CANDIDATES = 256
"""Number of samples per class of one version that are looked up in the other."""


@dataclass(frozen=True, slots=True, repr=False)
class VersionDifference(DocumentedResult):
    """Differences from the version ``first`` to ``second``, returned by ``Version.diff``.

    ``graphs`` are the differences of the graphs, by ``train``, ``eval`` or ``original train``;
    ``settings`` have the values of both versions by name, and ``counts`` the numbers of samples by
    split and class name.

    ::

        found = wb.open_version("versions/v1").diff("versions/v2")
        print(found.settings)
    """

    first: Version
    second: Version
    graphs: Mapping[str, tuple[GraphDifference, ...]]
    settings: Mapping[str, tuple[str, str]]
    counts: Mapping[tuple[str, str], tuple[int, int]]

    def document(self) -> ResultDocument:
        names = self._names
        title = " and ".join(names)
        graph_rows = tuple(
            (graph, each.change, each.node or "graph", each.what, each.before, each.after)
            for graph, found in self.graphs.items()
            for each in found
        )
        settings = tuple((name, *values) for name, values in self.settings.items())
        counts = tuple(
            (split, name, before, after)
            for (split, name), (before, after) in self.counts.items()
            if not name or before != after
        )
        sentences = [
            "The graphs differ." if graph_rows else "The graphs are equal.",
            "The settings or the data differ." if settings else "Settings and data are equal.",
        ]
        tables = [
            ResultTable("Graph", ("graph", "change", "node", "what", *names), graph_rows),
            ResultTable("Settings and data", ("setting", *names), settings),
            ResultTable("Samples; of the classes, those that differ", ("split", "class", *names),
                        counts),
        ]  # fmt: skip
        shown = tuple(each for each in tables if each.rows)
        return ResultDocument("versions", title, tuple(sentences), shown)

    def plot(self, samples: int = 8) -> Figure:
        """Return a matplotlib figure with pictures of the same samples of both versions.

        The first picture of the first copy is shown, with classes, boxes, points and masks. Raises
        ArgumentError if the versions have no sample in common.

        ::

            wb.open_version("versions/v1").diff("versions/v2").plot()
        """
        if samples < 1:
            raise ArgumentError(f"plot: samples is {samples}. Use 1 or more.")
        candidates = samples_by_class(self.first, most=max(_CANDIDATES, samples))
        wanted = {record.source for _, record in candidates}
        there: dict[str, Chosen] = {}
        for task, record in tasks_and_records(self.second):
            if task.copy == 0 and record.source in wanted:
                there.setdefault(record.source, (task, record))
        common = [each for each in candidates if each[1].source in there][:samples]
        if not common:
            raise ArgumentError(
                f"{self.first.path} and {self.second.path} have no sample in common to plot."
            )
        sides = (self.first, common), (self.second, [there[each.source] for _, each in common])
        shown = [pictures_of(version, chosen) for version, chosen in sides]
        names, pictures, titles = self._names, [], []
        for at in range(len(common)):
            for name, (version, chosen), images in zip(names, sides, shown, strict=True):
                task, record = chosen[at]
                pictures.append(images[record.key])
                titles.append(f"{caption_of(version.plan, record)}\n{name}, {task.split}")
        title = f"The same samples of {' and '.join(names)}"
        return plot_pictures(pictures, titles, title, rows=-(-len(common) // 2))

    def _repr_html_(self) -> str:
        shown: Any = DocumentedResult._repr_html_(self)
        try:
            figure: Any = self.plot()
        except ArgumentError as error:
            return f"{shown}<p>{error}</p>"
        return f"{shown}{figure._repr_html_()}"

    @property
    def _names(self) -> tuple[str, str]:
        """The names of both versions, or their paths if the names are equal."""
        first, second = self.first.path, self.second.path
        if first.name == second.name:
            return str(first), str(second)
        return first.name, second.name


def difference(first: Version, second: Version) -> VersionDifference:
    """Return the differences from one version to another."""
    ours, theirs = settings_of(first.plan), settings_of(second.plan)
    settings = {
        name: (ours.get(name, ""), theirs.get(name, ""))
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    }
    before, after = counts_of(first), counts_of(second)
    counts = {key: (before[key], after[key]) for key in dict.fromkeys((*before, *after))}
    return VersionDifference(first, second, _graphs(first.plan, second.plan), settings, counts)


def settings_of(plan: VersionPlan) -> dict[str, str]:
    """Return the settings of a version as text, without its graph."""
    train = plan.splits[0]
    return {
        "copies": str(train.copies),
        "originals": "yes" if train.originals else "no",
        "split": ", ".join(f"{each:g}" for each in plan.shares),
        "format": plan.format,
        "pictures": f"JPEG {plan.quality}" if plan.encoding == "jpeg" else "PNG",
        "arrays": "yes" if plan.arrays else "no",
        "shard_size": str(plan.shard_size),
        "classes": ", ".join(plan.classes),
        **plan.data,
        **{f"samples of {name}": each[:12] for name, each in plan.data_hashes.items()},
        "excluded samples": ", ".join(plan.excluded),
        **plan.libraries,
    }


def counts_of(version: Version) -> Counter[tuple[str, str]]:
    """Return the number of samples by split and class. The class is empty for the whole split."""
    found: Counter[tuple[str, int | None]] = Counter()
    for task, record in tasks_and_records(version):
        found[task.split, record.label] += 1
    made: Counter[tuple[str, str]] = Counter()
    for split, count in version.samples.items():
        made[split, ""] = count
        own = sorted((label, n) for (where, label), n in found.items()
                     if where == split and label is not None)  # fmt: skip
        made.update({(split, class_of(version.plan, label)): n for label, n in own})
    return made


def _graphs(first: VersionPlan, second: VersionPlan) -> dict[str, tuple[GraphDifference, ...]]:
    """Return the differences of the graphs that both have; those of the first are not repeated."""
    found: dict[str, tuple[GraphDifference, ...]] = {}
    seen: set[GraphDifference] = set()
    for key in sorted(first.graphs.keys() & second.graphs.keys(), key=lambda each: each != "train"):
        graphs = (graph_from_json(plan.graphs[key]) for plan in (first, second))
        own = [each for each in graph_differences(*graphs) if "output _" not in each.what]
        found[key] = tuple(each for each in own if each not in seen)
        seen.update(own)
    return found
