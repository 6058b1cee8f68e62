"""Images in memory behind the view-model: as in a kernel, and as in an app that keeps to roots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ui.screen import Make
from workbench.roots import Roots
from workbench.sources import open_dataset

PIXELS = np.random.default_rng(3).integers(0, 256, (9, 40, 50, 3)).astype(np.uint8)


@pytest.mark.parametrize("confined", [False, True])
def test_they_are_shown_and_counted(make: Make, tmp_path: Path, confined: bool) -> None:
    roots = Roots.of([tmp_path]) if confined else None
    data = open_dataset((PIXELS, np.arange(9)))
    model, screen = make(data=data, graph="rotate-jitter", roots=roots)
    screen.wait_ready()
    screen.wait(lambda s: len(s.header["tiles"]) == 4, "four tiles")
    assert not any(tile.get("error") for tile in screen.header["tiles"])
    assert {tile["file"] for tile in screen.header["tiles"]} <= set("012345678")
    model.data_panel.scan()
    screen.wait(lambda s: model.data_panel.view["count"] == 9, "counted")
    assert "module:factory" in model.data_panel.export_note()
    assert model.data_panel.chip == "a list of 9 images"


def test_a_page_names_no_factory(make: Make, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemExit('it was run')\n")
    model, screen = make()
    screen.wait_ready()
    said = model.open_data({"data": f"{tmp_path}/own.py:images"})
    assert "own.py:images" in said
    assert all(dataset.kind == "folder" for dataset in model.data_panel.datasets.values())
