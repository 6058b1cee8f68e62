"""One sample at every node, small: from what is kept, in one sheet."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.damaged import make_folder
from tests.helpers import chain_graph, flat_recipes, with_settings
from tests.region_graphs import branching_graph
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.errors import GraphError
from workbench.graph import Graph, load_recipe
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.edits.edit import set_arg
from workbench.preview import (
    CardPictures,
    PreviewRequest,
    preview_batch,
    preview_card_pictures,
    preview_steps,
)

CATALOG = load_catalog()
SIDE = 96


def request_of(graph: Graph, photos: Path) -> PreviewRequest:
    return PreviewRequest(with_settings(graph, batch_size=4), str(photos), tile_size=SIDE)


def pictures(found: CardPictures) -> dict[str, NDArray[np.uint8]]:
    """The picture of each node that has one, cut out of the sheet."""
    sheet = np.asarray(Image.open(io.BytesIO(found.image)))
    assert sheet.shape == (found.size[1], found.size[0], 3)
    cut = {}
    for card in found.cards:
        if card.box is not None:
            x, y, width, height = card.box
            cut[card.node] = sheet[y : y + height, x : x + width]
    return cut


@pytest.mark.parametrize("graph", one_in(4, flat_recipes()), ids=lambda graph: graph.name)
def test_the_cards_of_a_recipe(
    graph: Graph, engine: Engine, data_of: Callable[[Graph], Path]
) -> None:
    request = request_of(graph, data_of(graph))
    preview_batch(engine, request)
    found = preview_card_pictures(engine, request, 2)
    steps = preview_steps(engine, request, 2, times=False)
    assert preview_batch(engine, request).reran == ()
    assert [card.node for card in found.cards] == [step.node for step in steps.steps]
    assert [card.draws for card in found.cards] == [step.draws for step in steps.steps]
    shown = pictures(found)
    large = np.asarray(Image.open(io.BytesIO(steps.image))).astype(float)
    for step in steps.steps:
        box = next((output.box for output in step.outputs if output.box), None)
        assert (step.node in shown) == (box is not None)
        if box is not None:
            small = shown[step.node]
            assert max(small.shape) == SIDE
            x, y, width, height = box
            mean = large[y : y + height, x : x + width].mean(axis=(0, 1))
            assert np.allclose(small.mean(axis=(0, 1)), mean, atol=6), step.node


def test_only_what_changed_is_made_anew(engine: Engine, photos: Path) -> None:
    request = request_of(load_recipe("rotate-jitter"), photos)
    before = preview_card_pictures(engine, request, 0)
    graph = set_arg(request.graph, CATALOG, "rotate", "angle", 45.0)
    after = preview_card_pictures(engine, request_of(graph, photos), 0)
    old, new = pictures(before), pictures(after)
    inside = slice(8, -8)  # a JPEG's colours reach over the border
    assert np.array_equal(old["resize"][inside, inside], new["resize"][inside, inside])
    assert not np.array_equal(old["rotate"][inside, inside], new["rotate"][inside, inside])


def test_the_branch_of_each_sample_is_told(engine: Engine, photos: Path) -> None:
    plain = with_settings(load_recipe("rotate-jitter"), batch_size=4)
    graph, region = wrap_in_region(plain, CATALOG, ["rotate"])
    request = request_of(graph, photos)
    for index in range(4):
        cards = {c.node: c for c in preview_card_pictures(engine, request, index).cards}
        assert cards[region].branches == ("then" if cards["chance"].text == "yes" else "else",)
        assert cards["flip"].branches == ()


def test_inside_regions_there_are_cards_of_the_branch_that_ran(
    engine: Engine, photos: Path
) -> None:
    graph = branching_graph()
    request = PreviewRequest(with_settings(graph, batch_size=5), str(photos), tile_size=SIDE)
    branches = {"then": {"noise", "turn", "inner"}, "else": {"flip"}}
    inner: dict[str, set[str]] = {"then": {"angle", "rotate"}, "else": {"blur"}, "": set()}
    seen: set[str] = set()
    for index in range(5):
        found = preview_card_pictures(engine, request, index)
        cards = {card.node: card for card in found.cards}
        (taken,) = cards["outer"].branches
        turned = cards["inner"].branches[0] if taken == "then" else ""
        own = {"reader", "decode", "resize", "disturb", "outer"}
        assert set(cards) == own | branches[taken] | inner[turned]
        shown = pictures(found)
        last = shown[{"then": "rotate", "else": "blur", "": "flip"}[turned]].astype(float)
        assert np.abs(last - shown["outer"]).mean() < 2  # one picture, twice in one JPEG
        if turned == "then":
            assert cards["rotate"].draws == (f"angle {cards['angle'].text}",)
        seen |= {taken, turned}
    assert seen == {"then", "else", ""}


def test_numbers_stand_where_a_picture_would(engine: Engine, photos: Path) -> None:
    found = preview_card_pictures(engine, request_of(load_recipe("rotate-jitter"), photos), 0)
    cards = {card.node: card for card in found.cards}
    assert float(cards["angle"].text)
    assert (cards["reader"].text, cards["reader"].box) == ("", None)


def test_a_bad_sample_has_no_cards_of_another_file(
    engine: Engine, photos: Path, tmp_path: Path
) -> None:
    bad, _ = make_folder(photos, tmp_path, ["text.jpg", "gif.jpg"])
    request = request_of(chain_graph("resize"), bad)
    found = preview_card_pictures(engine, request, 1)
    assert "text, not an image" in found.sample.error
    assert (found.cards, found.image) == ((), b"")
    with pytest.raises(GraphError, match=r"no sample 4\. Give 0 to 3"):
        preview_card_pictures(engine, request, 4)


@pytest.mark.gpu
def test_cards_on_a_gpu(engine: Engine, photos: Path) -> None:
    request = request_of(with_settings(load_recipe("rotate-jitter"), device="mixed"), photos)
    assert len(pictures(preview_card_pictures(engine, request, 1))) == 5
