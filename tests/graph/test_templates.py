"""Templates in a graph: sound wherever they fit, run as they say, shown as they are exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageOps

from tests.helpers import CATALOG, script_batches, with_settings
from workbench.catalog.templates import load_templates
from workbench.engine import Engine
from workbench.errors import GraphEditError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.compose import insert_on_edge, place_node
from workbench.graph.edits.connect import set_output
from workbench.graph.edits.edit import set_setting, start_graph
from workbench.graph.snippets import (
    branch_template,
    insert_template,
    insert_template_on_edge,
)
from workbench.preview.verify import Verifier

TEMPLATES = load_templates()
SIZES = [(48, 30), (32, 56), (40, 40), (64, 36)]
"""Width and height of the photos that the templates run on: all differ."""
Pixels = NDArray[Any]


def start(device: str = "cpu") -> Graph:
    """A reader and a decoder of images that differ in size."""
    graph = set_setting(start_graph(CATALOG), device=device)
    return with_settings(graph, batch_size=len(SIZES), num_threads=1)


def inserted(name: str, graph: Graph | None = None) -> Graph:
    graph, template = graph or start(), TEMPLATES[name]
    if not template.mixes:
        return insert_template(graph, CATALOG, template, "decode")[0]
    source = Port("decode", "output")
    graph, flipped = place_node(graph, CATALOG, "flip", source)
    graph = set_output(graph, "images", Port(flipped, "output"))
    return insert_template(graph, CATALOG, template, flipped, source)[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("templates")
    chance = np.random.default_rng(5)
    (root / "a").mkdir()
    for number, (width, height) in enumerate(SIZES):
        noise = chance.integers(0, 256, (height // 2, width // 2, 3), np.uint8)
        image = Image.fromarray(noise).resize((width, height), Image.Resampling.BILINEAR)
        image.save(root / "a" / f"{number}.png")
    return root


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("device", ["cpu", "mixed"])
def test_it_is_sound_behind_a_decoder(name: str, device: str) -> None:
    assert check_graph(inserted(name, start(device)), CATALOG) == ()


def run(name: str, folder: Path, tmp_path: Path) -> tuple[list[Pixels], list[Pixels]]:
    """What goes in, and what the exported script makes of it."""
    plain = script_batches(start(), folder, 1, tmp_path)[0][0]
    return plain, script_batches(inserted(name), folder, 1, tmp_path)[0][0]


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_exported_script_runs_and_changes_the_pictures(
    name: str, folder: Path, tmp_path: Path
) -> None:
    plain, made = run(name, folder, tmp_path)
    assert len(made) == len(SIZES)
    changed = [
        a.shape != b.shape or not np.array_equal(a, b) for a, b in zip(plain, made, strict=True)
    ]
    # A coin, or a draw of one in ten, may leave them all as they are.
    by_chance = {"random_grayscale", "channel_dropout", "random_horizontal_flip"}
    assert any(changed) or name in by_chance


@pytest.mark.thorough
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
def test_the_preview_shows_what_is_exported(
    name: str, device: str, folder: Path, engine: Engine
) -> None:
    verified = Verifier(inserted(name, start(device)), str(folder), 2, engine=engine).run()
    assert not verified.failure
    assert verified.exact


def _solarized(image: Pixels) -> Pixels:
    return np.where(image >= 128, 255 - image, image)


def _by_pillow(effect: Callable[..., Image.Image], *options: int) -> Callable[[Pixels], Pixels]:
    return lambda image: np.asarray(effect(Image.fromarray(image), *options))


def _auto_contrast(image: Pixels) -> Pixels:
    low = image.min((0, 1), keepdims=True).astype(np.float32)
    span = np.maximum(image.max((0, 1), keepdims=True) - low, 1)
    return np.rint((image - low) / span * 255).astype(np.uint8)


def _kernel(rows: list[list[float]]) -> Callable[[Pixels], Pixels]:
    """Correlation with a mirrored border that does not repeat the edge, as DALI's filter."""
    weights = np.array(rows, np.float64)
    above, left = weights.shape[0] // 2, weights.shape[1] // 2

    def filtered(image: Pixels) -> Pixels:
        padded = np.pad(image.astype(np.float64), ((above, above), (left, left), (0, 0)), "reflect")
        height, width = image.shape[:2]
        total = sum(
            weight * padded[y : y + height, x : x + width]
            for y, row in enumerate(weights)
            for x, weight in enumerate(row)
        )
        return np.clip(np.rint(total), 0, 255).astype(np.uint8)

    return filtered


REFERENCES: dict[str, Callable[[Pixels], Pixels]] = {
    "solarize": _solarized,
    "posterize": _by_pillow(ImageOps.posterize, 4),
    "invert": _by_pillow(ImageOps.invert),
    "threshold": lambda image: np.where(image >= 128, 255, 0).astype(np.uint8),
    "auto_contrast": _auto_contrast,
    "sharpen": _kernel([[0, -1, 0], [-1, 5, -1], [0, -1, 0]]),
    "emboss": _kernel([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]),
    "sobel": _kernel([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]),
    "box_blur": _kernel([[0.04] * 5] * 5),
    "motion_blur": _kernel([[1 / 15] * 15]),
    "to_tensor": lambda image: np.moveaxis(image, 2, 0).astype(np.float32) / 255,
}
"""What a template with no draws makes of an image, by NumPy and Pillow."""


@pytest.mark.parametrize("name", REFERENCES)
def test_it_does_what_the_reference_does(name: str, folder: Path, tmp_path: Path) -> None:
    plain, made = run(name, folder, tmp_path)
    for before, after in zip(plain, made, strict=True):
        wanted = REFERENCES[name](before)
        assert (after.dtype, after.shape) == (wanted.dtype, wanted.shape)
        step = 1e-6 if wanted.dtype == np.float32 else 1  # a sum that is rounded elsewhere
        assert np.abs(after.astype(np.float64) - wanted).max() <= step


def test_solarize_agrees_with_pillow(folder: Path, tmp_path: Path) -> None:
    plain, made = run("solarize", folder, tmp_path)
    reference = _by_pillow(ImageOps.solarize, 128)
    assert all(np.array_equal(reference(a), b) for a, b in zip(plain, made, strict=True))


def test_cutmix_takes_every_pixel_from_one_of_two(folder: Path, tmp_path: Path) -> None:
    graph = inserted("cutmix")
    for output in ("sized", "other"):
        graph = set_output_of(graph, output)
    images, _, sized, other = script_batches(graph, folder, 1, tmp_path)[0]
    for mixed, own, its in zip(images, sized, other, strict=True):
        assert ((mixed == own) | (mixed == its)).all()
        assert not (mixed == own).all()


def test_mixup_lies_between_two_images(folder: Path, tmp_path: Path) -> None:
    graph = inserted("mixup")
    for output in ("sized", "other"):
        graph = set_output_of(graph, output)
    images, _, sized, other = script_batches(graph, folder, 1, tmp_path)[0]
    for mixed, own, its in zip(images, sized, other, strict=True):
        assert (mixed >= np.minimum(own, its)).all()
        assert (mixed <= np.maximum(own, its)).all()


def set_output_of(graph: Graph, node: str) -> Graph:
    return set_output(graph, f"of_{node}", Port(node, "output"))


def test_a_node_for_images_of_any_size_is_left_out_where_they_have_one() -> None:
    jitter = load_recipe("rotate-jitter")
    graph, _ = insert_template(jitter, CATALOG, TEMPLATES["mixup"], "resize")
    assert not graph.has("sized")
    assert Port("resize", "output") in graph.node("other").inputs.values()


def test_it_takes_all_that_left_the_port() -> None:
    jitter = load_recipe("rotate-jitter")
    graph, last = insert_template(jitter, CATALOG, TEMPLATES["solarize"], "resize")
    assert last == "solarize"
    assert graph.node("rotate").inputs["data"] == Port("solarize", "output")
    assert graph.node("bright").inputs["data"] == Port("resize", "output")


def test_on_an_edge_no_other_edge_changes() -> None:
    jitter, added = insert_on_edge(load_recipe("rotate-jitter"), CATALOG, "hue", "rotate:data")
    graph, last = insert_template_on_edge(jitter, CATALOG, TEMPLATES["gamma"], "rotate:data")
    assert graph.node("rotate").inputs["data"] == Port(last, "output")
    assert graph.node("unit").inputs["data"] == Port(added, "output")
    assert graph.outputs == jitter.outputs
    given, last = insert_template_on_edge(jitter, CATALOG, TEMPLATES["gamma"], ":images")
    assert given.outputs["images"] == Port(last, "output")


def test_beside_what_is_there_nothing_else_changes() -> None:
    jitter = load_recipe("rotate-jitter")
    graph, _ = branch_template(jitter, CATALOG, TEMPLATES["gamma"], Port("resize", "output"))
    assert [graph.node(node.id) for node in jitter.nodes] == list(jitter.nodes)
    assert graph.outputs == jitter.outputs


def test_ids_that_are_taken_get_a_number() -> None:
    graph = inserted("invert", inserted("invert"))
    assert graph.has("invert")
    assert graph.has("invert_2")


@pytest.mark.parametrize("node", ["reader", "nowhere"])
def test_where_no_image_flows_it_is_refused(node: str) -> None:
    with pytest.raises(GraphEditError):
        insert_template(start(), CATALOG, TEMPLATES["gamma"], node)
    with pytest.raises(GraphEditError):
        branch_template(start(), CATALOG, TEMPLATES["gamma"], Port(node, "labels"))
