"""Samples selected in the preview. Notebook cells can read and observe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.arguments import require_library
from workbench.figures import plot_counts
from workbench.preview.requests.render import PreviewResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class SelectedSamples:
    """``w.preview.selected``: the samples marked in the preview, or else the sample on the cards.

    Attributes
    ----------
    batch:
        Index of the current batch.
    places:
        Indices of the samples in the batch. ``w.preview.selected = [0, 2]`` marks other samples,
        like ``w.preview.marked``. Invalid indices raise a GraphEditError that lists the valid ones.
    files:
        File of each sample, relative to the data.
    labels:
        Integer label of each sample; None if the graph does not output labels.
    draws:
        For each generator id, the random value of each sample. Values sampled on a GPU are only in
        ``w.batch(k).draws``.

    ::

        w.preview.selected = [0, 2]
        w.preview.observe(lambda change: print(change["new"].files), "selected")
    """

    batch: int = 0
    places: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    labels: tuple[int | None, ...] = ()
    draws: Mapping[str, list[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.places)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with the place, file, label and random values of each sample.

        ::

            frame = w.preview.selected.to_frame()
            assert list(frame.columns)[:3] == ["place", "file", "label"]
        """
        require_library("pandas", "selected.to_frame()")
        import pandas as pd

        columns = {"place": self.places, "file": self.files, "label": self.labels}
        return pd.DataFrame({**columns, **self.draws})

    def plot(self) -> Figure:
        """Plot the number of samples per label with matplotlib.

        ::

            figure = w.preview.selected.plot()
        """
        counts = Counter("no label" if each is None else str(each) for each in self.labels)
        return plot_counts(counts, "samples", f"{len(self)} selected samples, by label")

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{place}</td><td>{escape(file[:200])}</td><td>{label}</td>"
            f"<td>{escape(self._drawn(at)[:300])}</td></tr>"
            for at, (place, file, label) in enumerate(
                zip(self.places[:_MOST_ROWS], self.files, self.labels, strict=False)
            )
        )
        head = "<tr><th>place</th><th>file</th><th>label</th><th>draws</th></tr>"
        return f"<p>batch {self.batch}: {len(self)} selected</p><table>{head}{rows}</table>"

    def _drawn(self, at: int) -> str:
        values = {name: drawn[at] for name, drawn in self.draws.items()}
        return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


def selected_samples(
    result: PreviewResult | None, marked: Sequence[int], sample: int
) -> SelectedSamples:
    """Return the samples selected in a preview; empty before the first picture."""
    if result is None:
        return SelectedSamples()
    wanted = set(marked) or {sample}
    tiles = [tile for tile in result.tiles if tile.index in wanted]
    if not tiles:
        return SelectedSamples(result.batch)
    return SelectedSamples(
        result.batch,
        tuple(tile.index for tile in tiles),
        tuple(tile.sample.file for tile in tiles),
        tuple(_number(tile.label) for tile in tiles),
        {name: [tile.values.get(name) for tile in tiles] for name in result.tiles[0].values},
    )


def _number(label: str) -> int | None:
    try:
        return int(label)
    except ValueError:
        return None
