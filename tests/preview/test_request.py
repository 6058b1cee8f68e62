from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.helpers import chain_graph, with_settings
from workbench.errors import GraphError
from workbench.graph.storage.saved_draws import SavedDraw
from workbench.preview import PreviewRequest, replayed

GRAPH = with_settings(chain_graph(), batch_size=16)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"shown": "nothing"}, "Give one of original, augmented, both, difference"),
        ({"batch": -1}, "batch is -1. Give 0 or more"),
        ({"tiles": 0}, "tiles is 0. Give 1 or more"),
        ({"tile_size": 2}, "tile_size is 2. Give 8 or more"),
        ({"tile_size": 4000}, "32 tiles of 4000 pixels are too much.*tile_size of 2048"),
        ({"repeat": 16}, "repeat is 16.*0 to 15"),
        ({"repeat": -1}, "repeat is -1"),
    ],
)
def test_what_cannot_be_shown_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        replace(PreviewRequest(GRAPH, "photos"), **wrong)


def test_a_kept_draw_is_replayed() -> None:
    request = PreviewRequest(GRAPH, "photos", batch=3, tiles=4)
    again = replayed(request, SavedDraw(seed=7, batch=5, batch_size=32, sample=2, repeat=20))
    assert again.graph == with_settings(GRAPH, seed=7, batch_size=32)
    assert (again.batch, again.repeat, again.tiles) == (5, 20, 4)
