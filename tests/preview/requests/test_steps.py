"""Every step of one sample, from cached outputs, with its description."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.block_graphs import branching_graph
from tests.damaged import make_folder
from tests.helpers import (
    CATALOG,
    chain_graph,
    flat_recipes,
    recipe_cases,
    script_batches,
    with_settings,
)
from tests.thorough import one_in
from workbench.engine import Engine
from workbench.errors import GraphError, PipelineError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.preview import (
    CardPictures,
    PreviewRequest,
    Steps,
    preview_batch,
    preview_card_pictures,
    preview_steps,
)

COUNT = 4
TAPPED = 12
"""Outputs of one script: DALI's conversion of conditionals takes minutes for a hundred."""


def request_of(graph: Graph, photos: Path, **options: object) -> PreviewRequest:
    graph = with_settings(graph, batch_size=COUNT)
    request = PreviewRequest(graph, str(photos), tile_size=96, lossless=True)
    return replace(request, **options)  # type: ignore[arg-type]


def second_batch(
    graph: Graph, ports: list[Port], photos: Path, folder: Path
) -> list[list[NDArray[Any]]]:
    """The values of the exported script at these ports.

    The graph's own outputs come first: automatic augmentation draws in the order of outputs.
    """
    outputs = {**graph.outputs, **{f"{port.node}__{port.output}": port for port in ports}}
    found = script_batches(replace(graph, outputs=outputs), photos, 2, folder)[1]
    return found[len(graph.outputs) :]


def pictures(steps: Steps) -> dict[str, NDArray[np.uint8]]:
    """The picture of each output, cut out of the sheet."""
    sheet = np.asarray(Image.open(io.BytesIO(steps.image)))
    assert sheet.shape == (steps.size[1], steps.size[0], 3)
    found = {}
    for step in steps.steps:
        for output in step.outputs:
            if output.box is not None:
                x, y, width, height = output.box
                found[f"{step.node}.{output.name}"] = sheet[y : y + height, x : x + width]
    return found


@pytest.mark.parametrize("graph", recipe_cases(every=12, first=1, slow=("auto-augment",)))
def test_every_node_of_a_recipe_says_what_it_gives(
    graph: Graph, engine: Engine, data_of: Callable[[Graph], Path], tmp_path: Path
) -> None:
    data = data_of(graph)
    request = request_of(graph, data, batch=1)
    steps = preview_steps(engine, request, 2, times=False)
    ports = [Port(s.node, o.name) for s in steps.steps for o in s.outputs]
    script = [
        output
        for first in range(0, len(ports), TAPPED)
        for output in second_batch(request.graph, ports[first : first + TAPPED], data, tmp_path)
    ]
    outputs = [output for step in steps.steps for output in step.outputs]
    for output, batch in zip(outputs, script, strict=True):
        its = batch[2]
        assert (output.shape, output.dtype) == (its.shape, str(its.dtype))
        assert (output.box is None) == bool(output.text)
        if output.kind != "encoded" and its.size:
            assert (output.low, output.high) == (float(its.min()), float(its.max()))
    assert {step.device for step in steps.steps} == {"cpu"}
    assert steps.sample.file
    assert (steps.index, steps.batch, steps.samples) == (2, 1, COUNT)


def test_the_pictures_are_those_of_the_grid(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", "rotate", "crop_mirror_normalize", resize={"size": (96, 96)})
    request = request_of(graph, photos)
    preview = preview_batch(engine, request)
    sheet = np.asarray(Image.open(io.BytesIO(preview.image)))
    for index in range(COUNT):
        found = pictures(preview_steps(engine, request, index, times=False))
        assert list(found) == [
            "decode.output", "resize.output", "rotate.output", "crop_mirror_normalize.output",
        ]  # fmt: skip
        tile = preview.tiles[index]
        for name, box in (
            ("decode.output", tile.original),
            ("crop_mirror_normalize.output", tile.augmented[0]),
        ):
            assert box is not None
            x, y, width, height = box
            assert np.array_equal(found[name], sheet[y : y + height, x : x + width])


def test_draws_stand_at_the_node_that_they_feed(engine: Engine, photos: Path) -> None:
    graph = randomise_arg(
        chain_graph("rotate", "flip", "noise.gaussian"), CATALOG, "rotate", "angle"
    )
    graph = randomise_arg(graph, CATALOG, "flip", "horizontal", "random.coin_flip")
    request = request_of(graph, photos)
    tiles = preview_batch(engine, request).tiles
    for index in range(COUNT):
        steps = {s.node: s for s in preview_steps(engine, request, index, times=False).steps}
        draws = [*steps["rotate"].draws, *steps["flip"].draws]
        assert draws == list(tiles[index].draws)
        assert steps["flip"].draws[0] in ("horizontal yes", "horizontal no")
        assert [node for node, step in steps.items() if step.drawn] == ["gaussian"]


def test_what_is_no_picture_is_told_in_words(engine: Engine, photos: Path) -> None:
    steps = preview_steps(engine, request_of(load_recipe("rotate-jitter"), photos), 0, times=False)
    by_name = {f"{s.node}.{o.name}": o for s in steps.steps for o in s.outputs}
    encoded = by_name["reader.jpegs"]
    with Image.open(photos / steps.sample.file) as photo:
        assert encoded.text.startswith(f"JPEG {photo.width}×{photo.height}, ")
    classes = sorted(path.name for path in photos.iterdir())
    label = classes.index(Path(steps.sample.file).parent.name)
    assert by_name["reader.labels"].text == str(label)
    assert float(by_name["angle.output"].text)


def test_channels_first_floats_say_how_they_are_shown(engine: Engine, photos: Path) -> None:
    graph = chain_graph("crop_mirror_normalize", crop_mirror_normalize={"output_layout": "CHW"})
    steps = preview_steps(engine, request_of(graph, photos), 0, times=False)
    (output,) = steps.steps[-1].outputs
    assert (output.layout, output.dtype) == ("CHW", "float32")
    assert output.note == "channels first, shown de-normalised"
    assert output.low is not None
    assert output.low < 0


def test_times_are_of_each_node_and_kept(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", "water", resize={"size": (300, 300)})
    request = request_of(graph, photos)
    first = preview_steps(engine, request, 0)
    times = {step.node: step.time for step in first.steps}
    assert first.floor is not None
    assert first.floor > 0
    assert f"{COUNT} samples" in first.timing
    reader = times.pop("reader")
    assert reader is not None
    assert (reader.milliseconds, bool(reader.reason)) == (None, True)
    for time in times.values():
        assert time is not None
        assert time.milliseconds is not None
        assert time.milliseconds > 0
    again = preview_steps(engine, request, 1)
    assert [step.time for step in again.steps] == [step.time for step in first.steps]
    changed = preview_steps(engine, replace(request, graph=set_arg(
        request.graph, CATALOG, "water", "ampl_x", 3.0)), 1)  # fmt: skip
    assert [a.time == b.time for a, b in zip(first.steps, changed.steps, strict=True)] == [
        True, True, True, False,
    ]  # fmt: skip


def test_timing_changes_no_picture(engine: Engine, photos: Path) -> None:
    graph = chain_graph("random_resized_crop", "noise.gaussian")
    request = request_of(graph, photos)
    before = preview_batch(engine, request)
    preview_steps(engine, request, 0)
    after = preview_batch(engine, request)
    assert after.reran == ()
    assert after.image == before.image


def test_it_is_made_of_what_is_kept(engine: Engine, photos: Path) -> None:
    request = request_of(load_recipe("imagenet-train"), photos)
    preview_batch(engine, request)
    preview_steps(engine, request, 3, times=False)
    assert preview_batch(engine, request).reran == ()


def test_a_bad_sample_has_no_steps_of_another_file(
    engine: Engine, photos: Path, tmp_path: Path
) -> None:
    bad, _ = make_folder(photos, tmp_path, ["text.jpg", "gif.jpg"])
    graph = chain_graph("resize")
    steps = preview_steps(engine, request_of(graph, bad), 1)
    assert "text, not an image" in steps.sample.error
    assert steps.image == b""
    assert all(step.outputs == () for step in steps.steps)


def test_what_fails_names_the_node(engine: Engine, photos: Path) -> None:
    args = {"crop": (5000.0, 5000.0), "out_of_bounds_policy": "error"}
    with pytest.raises(PipelineError) as caught:
        preview_steps(engine, request_of(chain_graph("crop", crop=args), photos), 0)
    assert caught.value.node == "crop"
    with pytest.raises(GraphError, match=r"no sample 4\. Use 0 to 3"):
        preview_steps(engine, request_of(chain_graph(), photos), COUNT)


@pytest.mark.gpu
def test_on_a_gpu(engine: Engine, photos: Path) -> None:
    request = request_of(with_settings(load_recipe("rotate-jitter"), device="mixed"), photos)
    steps = preview_steps(engine, request, 1)
    devices = {step.node: step.device for step in steps.steps}
    assert devices["decode"] == "mixed"
    assert devices["rotate"] == "gpu"
    assert len(pictures(steps)) > 2
    for step in steps.steps[1:]:
        assert step.time is not None
        assert step.time.milliseconds, step


def test_one_node_is_looked_at_with_its_histogram(engine: Engine, photos: Path) -> None:
    request = request_of(load_recipe("rotate-jitter"), photos)
    steps = preview_steps(engine, request, 1, node="resize")
    (step,) = steps.steps
    (output,) = step.outputs
    assert (step.node, list(pictures(steps))) == ("resize", ["resize.output"])
    assert step.time is not None
    assert output.histogram is not None
    assert (output.histogram.low, output.histogram.high) == (0, 256)
    assert [sum(channel.counts) for channel in output.histogram.channels] == [224 * 224] * 3
    with pytest.raises(GraphError, match="'gone' was not run"):
        preview_steps(engine, request, 1, node="gone")


# One sample at every node, small: from cached outputs, in one sheet.

SIDE = 96


def small_request_of(graph: Graph, photos: Path) -> PreviewRequest:
    return PreviewRequest(with_settings(graph, batch_size=4), str(photos), tile_size=SIDE)


def card_pictures(found: CardPictures) -> dict[str, NDArray[np.uint8]]:
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
    request = small_request_of(graph, data_of(graph))
    preview_batch(engine, request)
    found = preview_card_pictures(engine, request, 2)
    steps = preview_steps(engine, request, 2, times=False)
    assert preview_batch(engine, request).reran == ()
    assert [card.node for card in found.cards] == [step.node for step in steps.steps]
    assert [card.draws for card in found.cards] == [step.draws for step in steps.steps]
    shown = card_pictures(found)
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
    request = small_request_of(load_recipe("rotate-jitter"), photos)
    before = preview_card_pictures(engine, request, 0)
    graph = set_arg(request.graph, CATALOG, "rotate", "angle", 45.0)
    after = preview_card_pictures(engine, small_request_of(graph, photos), 0)
    old, new = card_pictures(before), card_pictures(after)
    inside = slice(8, -8)  # a JPEG's colours reach over the border
    assert np.array_equal(old["resize"][inside, inside], new["resize"][inside, inside])
    assert not np.array_equal(old["rotate"][inside, inside], new["rotate"][inside, inside])


def test_the_branch_of_each_sample_is_told(engine: Engine, photos: Path) -> None:
    plain = with_settings(load_recipe("rotate-jitter"), batch_size=4)
    graph, block = wrap_in_block(plain, CATALOG, ["rotate"])
    request = small_request_of(graph, photos)
    for index in range(4):
        cards = {c.node: c for c in preview_card_pictures(engine, request, index).cards}
        assert cards[block].branches == ("then" if cards["chance"].text == "yes" else "else",)
        assert cards["flip"].branches == ()


def test_inside_blocks_there_are_cards_of_the_branch_that_ran(engine: Engine, photos: Path) -> None:
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
        shown = card_pictures(found)
        last = shown[{"then": "rotate", "else": "blur", "": "flip"}[turned]].astype(float)
        assert np.abs(last - shown["outer"]).mean() < 2  # one picture, twice in one JPEG
        if turned == "then":
            assert cards["rotate"].draws == (f"angle {cards['angle'].text}",)
        seen |= {taken, turned}
    assert seen == {"then", "else", ""}


def test_numbers_stand_where_a_picture_would(engine: Engine, photos: Path) -> None:
    found = preview_card_pictures(engine, small_request_of(load_recipe("rotate-jitter"), photos), 0)
    cards = {card.node: card for card in found.cards}
    assert float(cards["angle"].text)
    assert (cards["reader"].text, cards["reader"].box) == ("", None)


def test_a_bad_sample_has_no_cards_of_another_file(
    engine: Engine, photos: Path, tmp_path: Path
) -> None:
    bad, _ = make_folder(photos, tmp_path, ["text.jpg", "gif.jpg"])
    request = small_request_of(chain_graph("resize"), bad)
    found = preview_card_pictures(engine, request, 1)
    assert "text, not an image" in found.sample.error
    assert (found.cards, found.image) == ((), b"")
    with pytest.raises(GraphError, match=r"no sample 4\. Use 0 to 3"):
        preview_card_pictures(engine, request, 4)


@pytest.mark.gpu
def test_cards_on_a_gpu(engine: Engine, photos: Path) -> None:
    request = small_request_of(with_settings(load_recipe("rotate-jitter"), device="mixed"), photos)
    assert len(card_pictures(preview_card_pictures(engine, request, 1))) == 5
