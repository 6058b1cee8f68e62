"""What a cell reads of the samples that are selected in the preview."""

from __future__ import annotations

from typing import Any

from tests.ui.screen import Make


def test_the_marked_samples_else_the_one_on_the_cards(make: Make) -> None:
    model, screen = make()
    screen.wait_ready()
    assert model.state.preview is not None
    tiles = model.state.preview.tiles

    def selected() -> Any:
        return model.shown("preview", "selected")

    assert selected().files == (tiles[0].sample.file,)
    model.receive("preview", "marked", [3, 1, 1])
    assert selected().places == (1, 3)
    assert selected().labels == tuple(int(tiles[place].label) for place in (1, 3))
    assert selected().draws == (tiles[1].draws, tiles[3].draws)
    assert list(selected().to_frame()["file"]) == list(selected().files)
    model.receive("preview", "batch", 1)
    assert model.shown("preview", "marked") == []
