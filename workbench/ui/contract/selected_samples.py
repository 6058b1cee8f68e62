"""The samples that are selected in the preview, for cells to read and observe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.figures import plot_counts
from workbench.preview.views.render import PreviewResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS = 100


@dataclass(frozen=True, slots=True)
class SelectedSamples:
    """``w.preview.selected``: those marked in the preview, else the one on the canvas's cards.

    Attributes
    ----------
    batch:
        Which batch is shown, from 0.
    places:
        Their places in it, from 0. Set to others it selects these: ``w.preview.selected = [0, 2]``,
        as ``w.preview.marked`` does; GraphEditError says which places there are.
    files:
        Relative to the data.
    labels:
        Whole numbers, None where the graph gives no label out.
    draws:
        For each sample a text for each node that draws: ``angle -7.2``. ``w.batch(k).draws`` has
        the numbers.

    ::

        w.preview.selected = [0, 2]
        w.preview.observe(lambda change: print(change["new"].files), "selected")
    """

    batch: int = 0
    places: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    labels: tuple[int | None, ...] = ()
    draws: tuple[tuple[str, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.places)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each sample: place, file, label, draws.

        ::

            frame = w.preview.selected.to_frame()
            assert list(frame.columns) == ["place", "file", "label", "draws"]
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "place": self.places,
                "file": self.files,
                "label": self.labels,
                "draws": [", ".join(each) for each in self.draws],
            }
        )

    def plot(self) -> Figure:
        """A figure of matplotlib: how many of them have each label.

        ::

            figure = w.preview.selected.plot()
        """
        counts = Counter("no label" if each is None else str(each) for each in self.labels)
        return plot_counts(counts, "samples", f"{len(self)} selected samples, by label")

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{place}</td><td>{escape(file[:200])}</td><td>{label}</td>"
            f"<td>{escape(', '.join(draws)[:300])}</td></tr>"
            for place, file, label, draws in zip(
                self.places[:_MOST_ROWS], self.files, self.labels, self.draws, strict=False
            )
        )
        head = "<tr><th>place</th><th>file</th><th>label</th><th>draws</th></tr>"
        return f"<p>batch {self.batch}: {len(self)} selected</p><table>{head}{rows}</table>"


def selected_samples(
    result: PreviewResult | None, marked: Sequence[int], sample: int
) -> SelectedSamples:
    """Of what the preview shows; empty before its first picture."""
    if result is None:
        return SelectedSamples()
    wanted = set(marked) or {sample}
    tiles = [tile for tile in result.tiles if tile.index in wanted]
    return SelectedSamples(
        result.batch,
        tuple(tile.index for tile in tiles),
        tuple(tile.sample.file for tile in tiles),
        tuple(_number(tile.label) for tile in tiles),
        tuple(tile.draws for tile in tiles),
    )


def _number(label: str) -> int | None:
    try:
        return int(label)
    except ValueError:
        return None
