"""Define the result of ``pack``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.figures import plot_values
from workbench.results import DocumentedResult, ResultDocument, ResultPicture, ResultTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class PackedImage:
    """A test image and its tolerance (``mean``, ``largest``) in levels of 0..255.

    ``refused`` is the reason why the graph cannot process the image; empty if it can.
    """

    name: str
    about: str
    mean: float = 0.0
    largest: float = 0.0
    reason: str = ""
    refused: str = ""
    mistakes: tuple[str, ...] = ()
    """Keys of the mistakes that the checker recognises with this image."""


@dataclass(frozen=True, slots=True, repr=False)
class ServingPack(DocumentedResult):
    """A folder with test images, expected tensors and ``check.py``, which checks a server.

    ``mistakes`` describes the mistakes that the checker recognises with stored tensors; ``notes``
    lists mistakes that it cannot recognise, with reasons. ::

        made = wb.pack(graph, "photos", "pack-to-send")
        print(made.folder, len(made.images), made.refused)
    """

    folder: str
    graph: str
    dali: str
    images: tuple[PackedImage, ...]
    mistakes: tuple[str, ...]
    notes: tuple[str, ...] = ()
    sheet: bytes = b""
    """Thumbnails of all images in one PNG file."""

    @property
    def refused(self) -> tuple[str, ...]:
        """Names of the images that the graph cannot process."""
        return tuple(each.name for each in self.images if each.refused)

    def document(self) -> ResultDocument:
        compared = len(self.images) - len(self.refused)
        graph = "the graph" if self.graph == "untitled" else self.graph
        sentences = (
            f"{self.folder} has {len(self.images)} test images, and the tensors that {graph} "
            f"computes from {compared} of them with DALI {self.dali}.",
            f"Check a server: python {self.folder}/check.py my_server.py:predict_input",
            *(f"The graph cannot process {e.name}: {e.refused}." for e in self.images if e.refused),
            f"The checker knows {len(self.mistakes)} mistakes of decoding and resizing by stored "
            "tensors, and those of layout, channels and normalisation by itself.",
            *self.notes,
        )
        rows = tuple(
            (each.name, each.about, None, None, f"refused: {each.refused}")
            if each.refused
            else (each.name, each.about, each.mean, each.largest, each.reason)
            for each in self.images
        )
        columns = ("image", "contents", "tolerated mean", "tolerated largest", "reason")
        table = ResultTable("Tolerances in levels of 0..255", columns, rows)
        mistakes = ResultTable(
            "Mistakes with stored tensors", ("mistake",), tuple((each,) for each in self.mistakes)
        )
        pictures = (ResultPicture("The test images", self.sheet),) if self.sheet else ()
        title = f"Serving pack of {graph}"
        return ResultDocument("pack", title, sentences, (table, mistakes), pictures)

    def plot(self) -> Figure:
        """Draw a matplotlib figure of the tolerated mean difference of each image."""
        return plot_values(
            {each.name: each.mean for each in self.images if not each.refused},
            "levels of 0..255",
            "Tolerated mean difference",
        )
