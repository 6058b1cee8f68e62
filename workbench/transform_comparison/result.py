"""Result of a comparison with a library, as text, table and figure."""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import ArgumentError
from workbench.figures import LETTERS, plot_pictures
from workbench.names import shortened
from workbench.transform_comparison.measured_transform import MeasuredTransform

if TYPE_CHECKING:
    from matplotlib.figure import Figure

State = Literal["compared", "not compared", "no match"]
_COLUMNS = "transform call library nodes state mean largest psnr equal sizes why notes place"
_MOST_PLOTTED = 12
"""Maximum number of transforms in a figure."""
_MOST_ROWS = 60
_MOST_LETTERS = 300
_MOST_PICTURES = 60_000
"""Maximum number of characters that pictures may have in a notebook output."""
_SIDE = 96
"""Maximum width and height of pictures in a notebook output, in pixels."""


@dataclass(frozen=True, slots=True)
class ComparedTransform:
    """One transform: its call with fixed values, the DALI nodes, and the measured difference.

    ``notes`` are known deviations and statements on what was compared instead; ``why`` is the
    reason if nothing was compared, and ``place`` is the line of the script.
    """

    name: str
    text: str
    place: str
    library: str
    nodes: tuple[str, ...]
    state: State = "not compared"
    measured: MeasuredTransform = field(default_factory=MeasuredTransform)
    why: str = ""
    notes: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """Measured values as text, or the reason if there are none."""
        found = self.measured.difference
        if self.state != "compared":
            return self.why
        figures = (
            f"{found.psnr_text}, {found.equal:.1%} equal, {found.mean:.2f} on average, "
            f"{found.largest:.0f} at most"
        )
        if found.psnr == math.inf:
            figures = "equal"
        return "; ".join(filter(None, [figures if found.measured else "", found.sizes]))


@dataclass(frozen=True, slots=True, repr=False)
class TransformComparison:
    """Comparison of a library's transforms with their DALI nodes, on the same photos.

    ``transforms`` are in the order of the composition. Differences are in 8-bit levels over all
    photos: the mean and maximum difference, the peak signal-to-noise ratio (dB) and the fraction of
    equal values (floats: closer than half a level). ``versions`` are the versions of the libraries,
    and ``missing`` maps libraries that could not be used to the reason. A notebook shows both
    results of the photo with the largest difference.

    ::

        saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
        compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
        assert [each.name for each in compared.transforms] == ["HorizontalFlip"]
    """

    name: str
    samples: int
    versions: Mapping[str, str]
    missing: Mapping[str, str]
    transforms: tuple[ComparedTransform, ...]
    left_out: tuple[str, ...] = ()
    """Files that cannot be decoded."""

    @property
    def compared(self) -> tuple[ComparedTransform, ...]:
        """Transforms that were compared, the largest difference first."""
        found = [each for each in self.transforms if each.state == "compared"]
        return tuple(sorted(found, key=_nearness))

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row per transform: its differences or the reason.

        ::

            saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
            compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
            print(compared.to_frame())

        Raises ImportError if pandas is not installed.
        """
        import pandas

        rows = []
        for each in self.transforms:
            found = each.measured.difference
            figures = (found.mean, found.largest, found.psnr, found.equal)
            shown = figures if found.measured else 4 * (math.nan,)
            notes = (found.sizes, each.why, "; ".join(each.notes), each.place)
            nodes = ", ".join(each.nodes)
            rows.append((each.name, each.text, each.library, nodes, each.state, *shown, *notes))
        return pandas.DataFrame(rows, columns=_COLUMNS.split())

    def plot(self) -> Figure:
        """Return a matplotlib figure with the library's and DALI's result next to each other.

        Shows the photo with the largest difference for each transform, the largest differences
        first, at most twelve. Raises ArgumentError if nothing was compared.

        ::

            saved = {"__class_fullname__": "HorizontalFlip", "p": 0.5}
            compared = wb.compare_transforms(wb.from_albumentations(saved), "photos", samples=2)
            if compared.compared:  # empty if Albumentations is missing
                figure = compared.plot()
        """
        shown = [each for each in self.compared if each.measured.theirs and each.measured.ours]
        if not shown:
            why = "; ".join([*self.missing.values()] or ["no transform could be compared"])
            raise ArgumentError(f"plot: there are no pictures to show: {why}.")
        pictures: list[Any] = []
        titles: list[str] = []
        for each in shown[:_MOST_PLOTTED]:
            pictures += [_decoded(each.measured.theirs), _decoded(each.measured.ours)]
            figures = each.measured.difference
            titles += [_short(each), f"DALI, {figures.psnr_text if figures.measured else 'sizes'}"]
        more = len(shown) - _MOST_PLOTTED
        rest = f", the {_MOST_PLOTTED} largest differences of {len(shown)}" if more > 0 else ""
        return plot_pictures(pictures, titles, f"{self.name}: {self._libraries} and DALI{rest}")

    @property
    def _libraries(self) -> str:
        return ", ".join(f"{name} {version}".strip() for name, version in self.versions.items())

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        found = [self._summary, *self._faults]
        for each in self._unexplained:
            nodes = f" as {', '.join(each.nodes)}" if each.nodes else ""
            nodes = nodes if each.state == "compared" else f", {each.state}"
            place = f" ({each.place})" if each.place else ""
            found.append(_cut(f"  {each.text}{place}{nodes}: {each.outcome}"))
            found += [_cut(f"      {note}") for note in each.notes]
        return found

    @property
    def _summary(self) -> str:
        done, every = len(self.compared), len(self.transforms)
        whom = f" with {self._libraries}" if self.versions else ""
        how = "; ranges are fixed to their upper end, p to 1" if done else ""
        return (
            f"{self.name}: {done} of {every} transforms compared{whom} on {self.samples} "
            f"photo{'s' * (self.samples != 1)}{how}"
        )

    @property
    def _faults(self) -> list[str]:
        """Sentences about libraries that could not be used (one each) and about skipped files."""
        whys = [each.why for each in self.transforms]
        found = [
            f"{fault}. Transforms not compared for this reason: {whys.count(fault)}."
            for fault in self.missing.values()
        ]
        if self.left_out:
            found.append(
                _cut(f"Skipped, because they cannot be decoded: {', '.join(self.left_out)}.")
            )
        return found

    @property
    def _unexplained(self) -> list[ComparedTransform]:
        """Transforms whose outcome the sentences of ``_faults`` do not explain."""
        return [each for each in self.transforms if each.why not in self.missing.values()]

    def __repr__(self) -> str:
        lines = self.lines()
        more = len(lines) - 2 * _MOST_ROWS
        return "\n".join([*lines[: 2 * _MOST_ROWS], *([f"and {more} more lines"] * (more > 0))])

    def _repr_html_(self) -> str:
        left = _MOST_PICTURES
        pictures: dict[str, str] = {}
        for each in self.compared:
            cells = _image(each.measured.theirs) + _image(each.measured.ours)
            if len(cells) > left:
                break
            pictures[each.text] = cells
            left -= len(cells)
        head = "<tr><th>transform</th><th>nodes</th><th>difference</th><th>library, DALI</th></tr>"
        rows = "".join(
            f"<tr><td><code>{escape(each.text[:_MOST_LETTERS])}</code><br>{escape(each.place)}</td>"
            f"<td>{escape(', '.join(each.nodes)[:_MOST_LETTERS])}</td>"
            f"<td>{_outcome_cell(each)}</td><td>{pictures.get(each.text, '')}</td></tr>"
            for each in self._unexplained[:_MOST_ROWS]
        )
        lines = [self._summary, *self._faults]
        summary = "<br>".join(escape(line[: 2 * _MOST_LETTERS]) for line in lines)
        more = len(self._unexplained) - _MOST_ROWS
        rest = f"<p>and {more} more</p>" if more > 0 else ""
        return f"<p>{summary}</p><table>{head}{rows}</table>{rest}"


def _nearness(each: ComparedTransform) -> float:
    found = each.measured.difference
    return found.psnr if found.measured else -1.0


def _short(each: ComparedTransform) -> str:
    """Return the title of a picture, such as ``ColorJitter(hue=0.1)``."""
    text = each.text.replace("p=1.0, ", "").replace(", p=1.0", "").replace("p=1.0", "")
    text = re.sub(r"\((-?[\d.]+), \1\)", r"\1", text).replace("()", "")
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def _cut(line: str) -> str:
    return shortened(line, _MOST_LETTERS)


def _outcome_cell(each: ComparedTransform) -> str:
    state = "" if each.state == "compared" else f"<b>{each.state}</b>: "
    notes = "".join(f"<br><i>{escape(note[:_MOST_LETTERS])}</i>" for note in each.notes[:4])
    return f"{state}{escape(each.outcome[:_MOST_LETTERS])}{notes}"


def _decoded(jpeg: bytes) -> Any:
    import numpy as np
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(jpeg)))


def _image(jpeg: bytes) -> str:
    from PIL import Image

    if not jpeg:
        return ""
    picture = Image.open(io.BytesIO(jpeg))
    picture.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    picture.save(written, "JPEG", quality=75)
    code = base64.b64encode(written.getvalue()).decode()
    return f"<img src='data:image/jpeg;base64,{code}'>"
