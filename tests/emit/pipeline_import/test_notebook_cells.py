"""The cells of a notebook are one source, also for what moves targets."""

from __future__ import annotations

from workbench.emit.pipeline_import.trace.notebook_cells import (
    notebook_of,
    whole_text,
    with_cells_joined,
)
from workbench.emit.pipeline_import.trace.traced import SourceLocation


def test_a_cell_is_one_of_its_notebook() -> None:
    assert notebook_of("/home/a cell 1/look.ipynb cell 12") == "/home/a cell 1/look.ipynb"
    assert notebook_of("/home/train.py") == ""


def test_cells_in_order_and_nodes_where_they_stand_then() -> None:
    sources = {
        "look.ipynb cell 10": "with pipe:\n    # Masks\n    masks = fn.flip(masks)\n",
        "look.ipynb cell 2": "CROP = 3\nx = 1\n",
        "train.py": "with pipe:\n    pass\n",
    }
    places = {
        "flip": SourceLocation("look.ipynb cell 10", 3, "", ""),
        "other": SourceLocation("train.py", 2, "", ""),
        "unknown": None,
    }
    joined, moved = with_cells_joined(sources, places)
    lines = joined["look.ipynb"].splitlines()
    assert lines == ["CROP = 3", "x = 1", "", "# Masks", "masks = fn.flip(masks)"]
    assert joined["train.py"] == sources["train.py"]
    flip = moved["flip"]
    assert flip is not None
    assert (flip.file, lines[flip.line - 1]) == ("look.ipynb", "masks = fn.flip(masks)")
    assert moved["other"] == places["other"]
    assert moved["unknown"] is None


def test_what_a_call_can_see_is_the_whole_notebook() -> None:
    sources = {"a.ipynb cell 2": "y = 2", "a.ipynb cell 1": "x = 1", "b.ipynb cell 1": "z = 3"}
    assert whole_text("a.ipynb cell 2", sources) == "x = 1\ny = 2"
    assert whole_text("train.py", {"train.py": "x = 1"}) == "x = 1"
    assert whole_text("other.py", sources) == ""
