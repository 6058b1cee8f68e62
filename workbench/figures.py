"""Plot results with matplotlib as bar charts and grids of pictures, and render them to files.

Uses ``Figure`` with the Agg or SVG canvas, without pyplot, so that no global state changes and both
the notebook and the web app can display the figure. matplotlib is imported when a figure is
created, because the import takes a second.
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from workbench.arguments import Kind as ArgumentKind
from workbench.arguments import format_value, require_kind
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL import Image

Kind = Literal["png", "svg"]
MIME = {"png": "image/png", "svg": "image/svg+xml"}
COLOURS = {"cpu": "#6b7f99", "mixed": "#5a9e00", "peer": "#c9a25f"}
"""Bar colours, readable on white and distinguishable for colour-blind people."""
INK = "#7a7a7a"
"""Text colour in notebooks, readable in light and dark themes: figures are transparent there."""
LINE = 100
"""Number of characters of 8-point text that fit into the width of a figure."""
_DPI = 150
MOST_SHOWN = 70_000
"""Maximum size in bytes of a figure with pictures in a notebook; base64 adds a third."""
_ACROSS = 4
"""Default number of pictures in a row."""
MOST_PICTURES = 16
_ROWS = ArgumentKind(
    "an integer from 1", lambda v: isinstance(v, int) and not isinstance(v, bool) and v > 0
)
_SIZE = ArgumentKind(
    "width and height in inches: (8, 6)",
    lambda v: (
        _is_list(v)
        and len(v) == 2
        and all(isinstance(side, int | float) and side > 0 for side in v)
    ),
)
LETTERS = 26
"""Maximum number of characters per line in the title of a picture."""


def new_figure(height: float, width: float = 7.0) -> Figure:
    """Return an empty figure that notebooks display as PNG. Sizes are in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    # Displayed in notebooks even if pyplot's inline figures are not enabled.
    vars(figure)["_repr_png_"] = partial(themed_png, figure)
    vars(figure)["_repr_mimebundle_"] = partial(_alternative_text, figure)
    return figure


def _alternative_text(figure: Figure, **_: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata of the PNG in a notebook: the text for screen readers."""
    return {}, {"image/png": {"alt": figure.get_suptitle()}}


def new_axes(height: float, width: float = 7.0) -> tuple[Figure, Axes]:
    """Return a figure with one plot, and its Axes."""
    figure = new_figure(height, width)
    return figure, figure.add_subplot()


def render_figure(figure: Figure, kind: Kind = "png") -> bytes:
    """Render a figure as PNG (150 dpi) or SVG. Equal figures produce equal bytes."""
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
    """Return a bar chart with one bar per name. ``ends`` are the ends of error bars, if known."""
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
    """Return a bar chart with one bar per name. Each bar is labelled with its count."""
    from matplotlib.ticker import MaxNLocator

    figure = plot_values(counts, unit, title)
    (axes,) = figure.axes
    for bars in axes.containers:
        axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8)  # type: ignore[arg-type]  # bars
    axes.set_xlim(0, 1.12 * max([1, *counts.values()]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def plot_pictures(
    pictures: Sequence[Any],
    titles: Sequence[str],
    title: str,
    *,
    rows: int | None = None,
    columns: int = _ACROSS,
    figsize: tuple[float, float] | None = None,
    ax: Any = None,
) -> Figure | Any:
    """Return a grid of pictures with titles. Pictures are arrays as for matplotlib's ``imshow``.

    Without ``rows`` only the first ``MOST_PICTURES`` are shown. ``ax`` is an Axes for the whole
    grid, or several Axes, one per picture: then ``ax`` is returned. Titles are shortened to three
    lines; in a notebook, the complete text is shown when the mouse is over the figure.
    """
    require_kind("plot: rows", 1 if rows is None else rows, _ROWS)
    require_kind("plot: figsize", (1, 1) if figsize is None else figsize, _SIZE)
    several = None if ax is None or hasattr(ax, "imshow") else _axes_in(ax)
    count = len(several) if several else rows * columns if rows else MOST_PICTURES
    pictures, full = pictures[:count], titles[:count]
    titles = [*map(_shortened, full)]
    columns = min(columns, len(pictures))
    down = math.ceil(len(pictures) / columns)
    lines, size = max((words.count("\n") for words in titles), default=0), 8.0
    if ax is None:
        width, height = figsize or (7.0, (1.9 + 0.13 * lines) * down * _ACROSS / columns + 0.7)
        figure = new_figure(height - 0.7, width)
        places = [figure.add_subplot(down, columns, at + 1) for at in range(len(pictures))]
        figure.suptitle(textwrap.fill(title, LINE), fontsize=9)
    elif several:
        places = several
    else:
        ax.axis("off")
        wide, high = ax.bbox.width / columns, ax.bbox.height / down
        points = 72 / ax.figure.dpi
        size = min(size, max(4, wide * points / (0.6 * LETTERS)))  # a letter is 0.6 of it wide
        share = max(
            0.3, 0.95 - 1.25 * size * (lines + 1) / (high * points)
        )  # the rest is the title's
        places = [
            ax.inset_axes(
                ((at % columns) / columns, 1 - (at // columns + 1) / down,
                 0.96 / columns, share / down)
            )
            for at in range(len(pictures))
        ]  # fmt: skip
    for place, picture, words in zip(places, pictures, titles, strict=False):
        place.imshow(picture, cmap="gray")
        place.set_title(words, fontsize=size, pad=0.75 * size)
        place.axis("off")
    if ax is not None:
        return ax  # a notebook displays the figure itself
    del vars(figure)["_repr_png_"], vars(figure)["_repr_mimebundle_"]
    lines_of = (words.replace("\n", " · ") for words in full)
    hover = "\n".join(f"{number}. {words}" for number, words in enumerate(lines_of, 1))
    # a tenth of the bytes of PNG
    vars(figure)["_repr_html_"] = partial(_small_picture, figure, title, hover)
    return figure


def _axes_in(ax: Any) -> list[Axes]:
    """Return the Axes in a list or array, such as the result of ``plt.subplots``."""
    found = list(ax.flat) if hasattr(ax, "flat") else list(ax) if _is_list(ax) else []
    if not found or not all(hasattr(each, "imshow") for each in found):
        raise ArgumentError(f"plot: ax is {format_value(ax)}. Pass an Axes, or an array of Axes.")
    return found


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _shortened(words: str) -> str:
    """Shorten a title to one line for its first line, and two for the rest; names keep values."""
    first, *rest = words.split("\n")
    stem, ending = os.path.splitext(first)
    if len(first) > LETTERS and ending[1:].isalpha():  # of a file name
        first = stem
    first = first if len(first) <= LETTERS else f"{first[: LETTERS - 1]}…"
    whole = re.sub(r"(?<![,:]) ", "\xa0", " ".join(rest))  # no line break within `angle 3.2`
    more = textwrap.wrap(whole, LETTERS + 1, max_lines=2, placeholder=" …")
    return "\n".join([first, *more]).replace("\xa0", " ")


def show_figure(figure: Figure, name: str) -> None:
    """Display a figure in a notebook; elsewhere write it to a temporary file and print its path."""
    from IPython.core.getipython import get_ipython

    if hasattr(get_ipython(), "kernel"):
        from IPython.display import display

        display(figure)
        return
    folder = tempfile.mkdtemp(prefix="workbench-")
    path = os.path.join(folder, f"{name}.png")
    figure.savefig(path, dpi=_DPI)
    print(path)


def themed_png(figure: Figure) -> bytes:
    """Render a figure with a transparent background and text that is readable in any theme."""
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    parts: list[Any] = figure.findobj(lambda each: isinstance(each, Text | Line2D))
    for part in parts:
        if part.get_color() == "black":
            part.set_color(INK)
    for spine in (spine for axes in figure.axes for spine in axes.spines.values()):
        spine.set_edgecolor(INK)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, transparent=True, metadata={"Software": None})
    return buffer.getvalue()


def _small_picture(figure: Figure, title: str, hover: str) -> str:
    """Return the figure as an ``<img>`` element with a tooltip."""
    from PIL import Image

    width = round(100 * figure.get_size_inches()[0])
    source = webp_url(Image.open(io.BytesIO(themed_png(figure))))
    tooltip = escape(hover).replace("\n", "&#10;")
    return f'<img alt="{escape(title)}" title="{tooltip}" width="{width}" src="{source}">'


def webp_url(picture: Image.Image, max_bytes: int = MOST_SHOWN) -> str:
    """Encode an image, including transparency, as a data URL for ``<img src=...>``.

    The image is reduced until it has at most ``max_bytes`` bytes.
    """
    while True:
        buffer = io.BytesIO()
        picture.save(buffer, "WEBP", quality=80)
        if buffer.tell() <= max_bytes or min(picture.size) < 16:
            return f"data:image/webp;base64,{base64.b64encode(buffer.getvalue()).decode()}"
        picture = picture.resize((picture.width * 3 // 4, picture.height * 3 // 4))
