"""OpenCV's operators are the counterparts of DALI's; where the two differ is within rounding."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.thorough import one_in
from workbench.bench.measuring.config import config_of, with_config
from workbench.bench.measuring.pixels import IMAGES, PixelDifference
from workbench.bench.peers import OPERATORS, PEERS, compare_with_peer
from workbench.bench.peers.opencv import PoolWorkload, crop_window, decode, operators
from workbench.bench.peers.program import program_of, without_randomness
from workbench.catalog import Catalog
from workbench.emit import emit_script
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.sources import open_datasets

pytest.importorskip("cv2", reason="opencv-python-headless is not installed")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as found:
        yield found


@pytest.mark.parametrize(
    "name",
    one_in(4, ["imagenet-train", "imagenet-eval", "rotate-jitter", "two-view"], first=3),
)
def test_its_pixels_are_near_dalis(
    name: str, photos: Path, catalog: Catalog, engine: Engine
) -> None:
    graph = without_randomness(load_recipe(name), catalog)
    config = replace(config_of(graph, "cpu"), batch_size=IMAGES)
    source = emit_script(with_config(graph, catalog, config), catalog)
    program = program_of(graph, catalog, OPERATORS, "OpenCV")
    found = engine.call(compare_with_peer, source, program, PEERS["OpenCV"], open_datasets(photos))
    assert isinstance(found, PixelDifference)
    assert found.images == IMAGES
    assert found.mean > 0
    # Its hue turns in HSV and DALI's in YIQ: what draws a hue is told to be something else.
    assert found.is_same is (name != "two-view")


def test_every_operator_that_is_offered_is_there() -> None:
    assert set(operators(random.Random(0))) == set(OPERATORS)


def test_operators_do_what_their_names_say() -> None:
    table = operators(random.Random(0))
    image = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)
    assert table["resize"](image, resize_shorter=20).shape == (20, 30, 3)
    assert table["random_resized_crop"](image, size=(16, 24)).shape == (16, 24, 3)
    assert (table["flip"](image) == image[:, ::-1]).all()
    assert (table["flip"](image, horizontal=0, vertical=1) == image[::-1]).all()
    assert (table["flip"](image, horizontal=0) == image).all()
    assert table["crop"](image, crop=(10, 20)).shape == (10, 20, 3)
    turned = table["rotate"](image, angle=90.0)
    assert turned.shape == (60, 40, 3)
    assert np.abs(np.rot90(image).astype(int) - turned).mean() < 5
    assert table["rotate"](image, angle=30.0, keep_size=True).shape == image.shape
    assert (table["brightness"](image, brightness=0.0) == 0).all()
    gray = table["saturation"](image, saturation=0.0)
    assert (gray[..., 0] == gray[..., 1]).all()
    blurred = table["gaussian_blur"](image, sigma=3.0)
    assert blurred.std() < image.std()
    normal = table["crop_mirror_normalize"](image, mean=(10.0,), std=(2.0,), mirror=1.0)
    assert normal.shape == (3, 40, 60)
    assert normal[0, 0, 0] == pytest.approx((float(image[0, -1, 0]) - 10) / 2)


@pytest.mark.parametrize("shape", [(40, 60), (10, 400), (400, 10)])
def test_a_random_crop_lies_within_the_image(shape: tuple[int, int]) -> None:
    chance = random.Random(0)
    for _ in range(50):
        top, left, high, wide = crop_window((*shape, 3), (0.08, 1.0), (3 / 4, 4 / 3), chance)
        assert 0 < high <= shape[0] - top
        assert 0 < wide <= shape[1] - left


@pytest.mark.parametrize("content", [b"", b"no picture"])
def test_a_file_that_it_cannot_decode_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    with pytest.raises(DataError, match=r"OpenCV cannot decode .*a\.jpg"):
        decode(str(tmp_path / "a.jpg"), gray=False)


def test_one_channel_where_the_graph_decodes_gray(photos: Path) -> None:
    assert decode(str(next(photos.rglob("*.jpg"))), gray=True).ndim == 2


def test_batches_are_of_the_size_and_by_as_many_threads_as_asked_for(
    photos: Path, catalog: Catalog
) -> None:
    program = program_of(load_recipe("imagenet-train"), catalog, OPERATORS, "OpenCV")
    files = [str(path) for path in sorted(photos.rglob("*.jpg"))[:5]]
    work = PoolWorkload(program, files, batch_size=8, workers=2)
    assert [work.run() for _ in range(3)] == [8, 8, 8]
    assert work._pool._max_workers == 2
    work._pool.shutdown(cancel_futures=True)
