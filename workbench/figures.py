"""Figures of matplotlib that results give: bars, pictures, and how one becomes a file.

matplotlib's ``Figure`` with the Agg or SVG canvas; no pyplot, so nothing global is touched and both
hosts can show them. It is imported when a figure is made: that takes a second.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["png", "svg"]
MIME = {"png": "image/png", "svg": "image/svg+xml"}
COLOURS = {"cpu": "#6b7f99", "mixed": "#5a9e00", "peer": "#c9a25f"}
"""Readable on white and apart for the colour-blind: the bars are labelled as well."""
LINE = 100
"""Letters of 8 points in a line as wide as a figure."""
_DPI = 150
_MOST_SHOWN = 70_000
"""Bytes of a figure with pictures that a notebook keeps, where a third is added to them."""
_ACROSS = 4
"""Pictures in a row."""
LETTERS = 26
"""Of a title above a picture."""


def new_figure(height: float, width: float = 7.0) -> Figure:
    """An empty figure of so many inches, which a notebook shows as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    # A notebook shows it also where nobody has turned on pyplot's own figures.
    vars(figure)["_repr_png_"] = partial(render_figure, figure)
    return figure


def new_axes(height: float, width: float = 7.0) -> tuple[Figure, Axes]:
    """A figure with one plot."""
    figure = new_figure(height, width)
    return figure, figure.add_subplot()


def render_figure(figure: Figure, kind: Kind = "png") -> bytes:
    """The picture as PNG (150 dots an inch) or SVG; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    nothing: dict[str, Any] = {"Software": None} if kind == "png" else {"Date": None}
    with matplotlib.rc_context({"svg.hashsalt": "workbench", "svg.fonttype": "none"}):
        figure.savefig(buffer, format=kind, dpi=_DPI, metadata=nothing)
    return buffer.getvalue()


def plot_values(
    values: Mapping[str, float],
    unit: str,
    title: str,
    ends: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """A bar for each name, with the interval between its ``ends`` where these are known."""
    figure, axes = new_axes(height=1.1 + 0.3 * len(values))
    names = list(values)
    spans = [(ends or {}).get(name, (values[name], values[name])) for name in names]
    below = [values[name] - low for name, (low, _) in zip(names, spans, strict=True)]
    above = [high - values[name] for name, (_, high) in zip(names, spans, strict=True)]
    axes.barh(
        names,
        list(values.values()),
        xerr=[below, above] if ends else None,
        color=COLOURS["cpu"],
        capsize=3,
    )
    axes.invert_yaxis()
    axes.set_xlabel(unit, fontsize=8)
    axes.tick_params(labelsize=8)
    figure.suptitle(textwrap.fill(title, LINE), fontsize=9)
    return figure


def plot_counts(counts: Mapping[str, int], unit: str, title: str) -> Figure:
    """A bar for each name with its number beside it."""
    from matplotlib.ticker import MaxNLocator

    figure = plot_values(counts, unit, title)
    (axes,) = figure.axes
    for bars in axes.containers:
        axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8)  # type: ignore[arg-type]  # bars
    axes.set_xlim(0, 1.12 * max([1, *counts.values()]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def plot_pictures(pictures: Sequence[Any], titles: Sequence[str], title: str) -> Figure:
    """A grid of pictures, arrays as matplotlib's ``imshow`` takes them, each with its title."""
    columns = min(_ACROSS, len(pictures))
    rows = math.ceil(len(pictures) / columns)
    figure = new_figure(1.9 * rows * _ACROSS / columns)
    for index, (picture, words) in enumerate(zip(pictures, titles, strict=True), start=1):
        axes = figure.add_subplot(rows, columns, index)
        axes.imshow(picture, cmap="gray")
        axes.set_title(words if len(words) <= LETTERS else f"…{words[1 - LETTERS :]}", fontsize=8)
        axes.axis("off")
    figure.suptitle(textwrap.fill(title, LINE), fontsize=9)
    del vars(figure)["_repr_png_"]
    vars(figure)["_repr_jpeg_"] = partial(_small_jpeg, figure)  # a tenth of the bytes
    return figure


def _small_jpeg(figure: Figure) -> bytes:
    """With as many dots an inch as there is room for."""
    for dpi in (_DPI, 120, 90, 60, 40):
        buffer = io.BytesIO()
        figure.savefig(buffer, format="jpeg", dpi=dpi, pil_kwargs={"quality": 80})
        if buffer.tell() <= _MOST_SHOWN:
            break
    return buffer.getvalue()
