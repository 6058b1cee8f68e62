"""Left and right are swapped where an image is mirrored, as declared or named by the data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

import workbench as wb
from tests.graph.annotations.geometry_chains import block_chain, whole_chain
from tests.graph.annotations.ramps import fit_of, run_graph
from tests.helpers import built, import_script, with_node
from workbench.commands.options import graph_warnings
from workbench.emit.targets import export
from workbench.graph.checks.check import check_graph
from workbench.graph.execution.dataset_parameters import with_data_sides
from workbench.graph.model import Graph, Node, Port
from workbench.sources import open_datasets

SIDES = ("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")
NAMES = ("nose", *(f"{side}_{each}" for each in SIDES for side in ("left", "right")))
PAIRS = tuple(f"left_{each}=right_{each}" for each in SIDES)
ORDER = [0, *(at for left in range(1, 17, 2) for at in (left + 1, left))]


def poses(folder: Path, names: tuple[str, ...] = NAMES, points: int = 17) -> str:
    """Four images with 0 to 3 persons, as COCO key points; all are labelled."""
    chance = np.random.default_rng(0)
    images, annotations = [], []
    for at in range(4):
        Image.fromarray(chance.integers(0, 256, (40, 60, 3), np.uint8)).save(folder / f"{at}.png")
        images.append({"id": at, "file_name": f"{at}.png", "width": 60, "height": 40})
        for _ in range(at):
            keys = np.insert(chance.integers(1, 39, (points, 2)), 2, 2, axis=1)
            person = {"id": len(annotations), "image_id": at, "category_id": 1, "iscrowd": 0}
            person |= {"bbox": [1, 1, 50, 30], "area": 1500, "keypoints": keys.ravel().tolist()}
            annotations.append(person)
    category = {"id": 1, "name": "person", "keypoints": names, "skeleton": []}
    path = folder / "person_keypoints.json"
    path.write_text(
        json.dumps({"images": images, "annotations": annotations, "categories": [category]})
    )
    return str(path)


def _points(graph: Graph) -> list[NDArray[np.generic]]:
    batch = graph.batch(0)
    return [np.asarray(each).reshape(-1, 17, 2) for each in batch.vertices]


def test_left_is_left_after_one_and_two_flips(tmp_path: Path) -> None:
    start = wb.read(poses(tmp_path)).decode().with_settings(batch_size=4)
    once = start.flip(horizontal=1)
    assert once.node("follow_points").args == {"pairs": PAIRS, "names": NAMES}
    twice = once.flip(horizontal=0, vertical=1)
    original = _points(start.gaussian_blur(sigma=1.0))
    for before, one, two in zip(original, _points(once), _points(twice), strict=True):
        mirrored = np.array([60, 0]) + before * (-1, 1)
        np.testing.assert_allclose(one, mirrored[:, ORDER], atol=1e-4)
        np.testing.assert_allclose(two, np.array([60, 40]) - before, atol=1e-4)
    unswapped = once["follow_points"].set(pairs=["none"])
    for one, before in zip(_points(unswapped), original, strict=True):
        np.testing.assert_allclose(one, np.array([60, 0]) + before * (-1, 1), atol=1e-4)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (("left_eye=right_ey",), "'right_ey' is not one of the names. Did you mean right_eye?"),
        (("nose=nose",), "'nose' occurs twice. Pair each name with one other name."),
        (("nose=left_eye", "left_eye=nose"), "'left_eye' occurs twice. Pair each name"),
        (("left_eye",), "'left_eye=' is not a pair. Write pairs as left_eye=right_eye."),
    ],
)
def test_invalid_pairs_are_faults(tmp_path: Path, pairs: tuple[str, ...], message: str) -> None:
    graph = wb.read(poses(tmp_path)).decode().flip(horizontal=1)
    node = graph.node("follow_points")
    found = check_graph(graph.replace_node(node.with_args({"pairs": pairs})))
    assert (found[0].node, found[0].arg) == ("follow_points", "pairs")
    assert found[0].text.startswith(message)
    unnamed = graph.replace_node(replace(node, args={"pairs": pairs}))
    assert "the names of the key points are unknown. Set names" in check_graph(unnamed)[0].text


def test_pairs_are_those_of_the_data(tmp_path: Path) -> None:
    hands, uneven = tmp_path / "hands", tmp_path / "uneven"
    hands.mkdir()
    uneven.mkdir()
    graph = wb.read(poses(tmp_path)).decode().flip(horizontal=1)
    other = with_data_sides(graph, open_datasets(poses(hands, ("l_hand", "r_hand", "hat"), 3)))
    assert other.node("follow_points").args["pairs"] == ("l_hand=r_hand",)
    bare = wb.read(poses(uneven, NAMES, 16)).decode().flip(horizontal=1)  # not one point per name
    assert bare.node("follow_points").args == {}


def test_the_recipe_swaps_wrists_in_preview_and_export(tmp_path: Path) -> None:
    data = poses(tmp_path)
    recipe = wb.load_recipe("key-points").with_settings(batch_size=4)
    recipe = with_node(recipe, "mirror", seed=5)
    assert "sides" not in {each.code for each in graph_warnings(recipe, open_datasets(data))}
    preview = recipe.batch(0, data=data)
    script = import_script(export(recipe, "script", data=data).main.text, tmp_path)
    pipe = built(script, data)
    given = pipe.run()
    plain = with_node(recipe, "follow_points", args={"pairs": ("none",)}).batch(0, data=data)
    mirrored = 0
    for at in range(4):
        points, visible = np.asarray(preview.points[at]), np.asarray(preview.visible[at])
        assert np.array_equal(points, np.asarray(given[1][at]))
        assert np.array_equal(visible, np.asarray(given[2][at]))
        order = ORDER if np.asarray(preview.mirrored[at]) else [*range(17)]
        mirrored += order == ORDER
        before = np.asarray(plain.points[at]).reshape(-1, 17, 2)
        assert np.array_equal(points.reshape(-1, 17, 2), before[:, order])
        seen = np.asarray(plain.visible[at]).reshape(-1, 17)
        assert np.array_equal(visible.reshape(-1, 17), seen[:, order])
    assert 0 < mirrored < 4


Chain = Callable[[Path, int], Graph]


def _wrong_sides(folder: Path, seed: int, chain: Chain) -> list[str]:
    """Compare the sides of points and classes after a chain with the orientation of its pixels."""
    graph = chain(folder, seed)
    graph = with_node(graph, "moved", args={"names": tuple("abcd"), "pairs": ("a=b", "d=c")})
    read = {"labels": Port("reader", "labels"), "image": graph.outputs["images"]}
    classes = Node("classes", "follow_classes", {"pairs": ("1=2",)}, read)
    graph = replace(graph, nodes=(*graph.nodes, classes))
    outputs = {name: graph.outputs[name] for name in ("images", "points", "moved")}
    outputs |= {"known": read["labels"], "classes": Port("classes", "labels")}
    followers = [node for node in graph.nodes if node.op == "follow_boxes"]
    if followers:
        boxes = followers[-1].with_args({"pairs": ("1=2",), "places": True})
        graph = graph.replace_node(boxes.fed({"labels": read["labels"]}))
        outputs |= {name: Port(boxes.id, name) for name in ("labels", "places")}
    images, points, moved, known, swapped, *rest = run_graph(replace(graph, outputs=outputs))
    wrong = []
    for at, picture in enumerate(images):
        fit = fit_of(picture)
        if fit is None:
            continue
        mirrored = np.linalg.det(fit[:2]) < 0
        before = np.concatenate([points[at], np.ones((8, 1))], axis=1) @ fit
        order = [1, 0, 3, 2, 5, 4, 7, 6] if mirrored else [*range(8)]
        if np.abs(before[order] - moved[at]).max() > 2.0:
            wrong.append(f"points of {seed}, image {at}")
        own = known[at]
        wanted = np.where(own == 1, 2, np.where(own == 2, 1, own)) if mirrored else own
        if not np.array_equal(swapped[at], wanted):
            wrong.append(f"classes of {seed}, image {at}")
        if followers and not np.array_equal(rest[0][at], wanted.ravel()[rest[1][at]]):
            wrong.append(f"classes of boxes of {seed}, image {at}")
    return wrong


@pytest.mark.parametrize(
    ("chain", "seeds"),
    [
        (whole_chain, range(3)),
        (block_chain, range(2, 4)),
        pytest.param(whole_chain, range(3, 300), marks=pytest.mark.thorough),
        pytest.param(block_chain, range(4, 100), marks=pytest.mark.thorough),
    ],
)
def test_sides_follow_the_orientation_of_the_pixels(
    folder: Path, seeds: range, chain: Chain
) -> None:
    assert [each for seed in seeds for each in _wrong_sides(folder, seed, chain)] == []


Matrix = NDArray[np.float64]


def _affine(*rows: Sequence[float]) -> Matrix:
    return np.array([*rows, [0, 0, 1]][:3], float)


def _mirror(size: Matrix, x: int, y: int) -> Matrix:
    return _affine([1 - 2 * x, 0, x * size[0]], [0, 1 - 2 * y, y * size[1]])


def _moved(op: str, args: Mapping[str, Any], size: Matrix) -> tuple[Matrix, Matrix]:
    """Return the matrix (3, 3) of an operator on an image of a size, and the size after it."""
    if op == "flip":
        return _mirror(size, args["horizontal"], args["vertical"]), size
    if op == "transpose":
        return _affine([0, 1, 0], [1, 0, 0]), size[::-1]
    if op == "resize":
        after = np.array(args["size"][::-1], float)
        return np.diag([*(after / size), 1]), after
    if op == "rotate":
        angle = np.deg2rad(-args["angle"])
        turn = _affine([np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0])
        centre = _affine([1, 0, size[0] / 2], [0, 1, size[1] / 2])
        return centre @ turn @ np.linalg.inv(centre), size
    if op == "crop":
        after = np.array(args["crop"][::-1], float)
        start = np.array([args["crop_pos_x"], args["crop_pos_y"]]) * (size - after)
        return _affine([1, 0, -start[0]], [0, 1, -start[1]]), after
    if op == "crop_mirror_normalize":
        return _mirror(size, args["mirror"], 0), size
    matrix = np.array([*args["matrix"], 0, 0, 1][:9], float).reshape(3, 3)
    return matrix if args.get("inverse_map") is False else np.linalg.inv(matrix), size


BITS = st.integers(0, 1)
SCALES = st.sampled_from([-1.5, -1.0, -0.75, 0.75, 1.0, 1.25])
OPERATORS: Mapping[str, Mapping[str, st.SearchStrategy[Any]]] = {
    "flip": {"horizontal": BITS, "vertical": BITS},
    "transpose": {"perm": st.just((1, 0, 2)), "transpose_layout": st.just(False)},
    "resize": {"size": st.tuples(st.integers(20, 80), st.integers(20, 80))},
    "rotate": {"angle": st.floats(-180, 180, width=32), "keep_size": st.just(True)},
    "crop": {
        "crop": st.tuples(st.integers(20, 60), st.integers(20, 60)),
        "crop_pos_x": BITS.map(float),
        "crop_pos_y": BITS.map(float),
        "out_of_bounds_policy": st.just("pad"),
    },
    "crop_mirror_normalize": {
        "mirror": BITS,
        "output_layout": st.just("HWC"),
        "dtype": st.just("UINT8"),
    },
    "warp_affine": {
        "matrix": st.tuples(SCALES, st.just(0.1), BITS, st.just(-0.2), SCALES, BITS),
        "inverse_map": st.booleans(),
    },
    "experimental.warp_perspective": {
        "matrix": st.tuples(
            *(SCALES, st.just(0.1), BITS, st.just(-0.2), SCALES, BITS),
            *(st.sampled_from([-0.002, 0.001]), st.sampled_from([0.0, 0.002]), st.just(1.0)),
        ),
        "pixel_origin": st.just("corner"),
        "inverse_map": st.booleans(),
    },
}
Apply = Callable[[Graph], Graph]
BLOCKS: Mapping[str, tuple[Callable[[Graph, Apply], Graph], int]] = {
    "none": (lambda graph, apply: apply(graph), 1),
    "if": (lambda graph, apply: graph.with_p(1.0, apply), 1),
    "not": (lambda graph, apply: graph.with_p(0.0, apply), 0),
    "one of": (lambda graph, apply: graph.one_of(lambda x: x, apply, weights=(0, 1)), 1),
    "repeat": (lambda graph, apply: graph.repeat(2, apply), 2),
}
"""Blocks around an operator, and how often it runs."""
CHAINS = st.lists(
    st.tuples(st.sampled_from([*OPERATORS]), st.sampled_from(["none", "none", *BLOCKS])).flatmap(
        lambda step: st.tuples(*map(st.just, step), st.fixed_dictionaries(dict(OPERATORS[step[0]])))
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.filterwarnings("ignore:.*does not change the images")
@pytest.mark.parametrize(
    "count", [4, pytest.param(250, marks=[pytest.mark.thorough, pytest.mark.timeout(2400)])]
)
def test_named_points_are_where_their_matrices_put_them(
    tmp_path_factory: pytest.TempPathFactory, count: int
) -> None:
    start = wb.read(poses(tmp_path_factory.mktemp("poses"))).decode().with_settings(batch_size=4)
    outputs = {name: start.outputs[name] for name in ("images", "vertices")}
    start = replace(start, outputs=outputs)  # without boxes, no point is removed
    original = _points(start.gaussian_blur(sigma=1.0))
    chains: set[str] = set()

    @settings(max_examples=count + count // 10, deadline=None, derandomize=True, database=None)
    @given(CHAINS)
    def check(chain: list[tuple[str, str, dict[str, Any]]]) -> None:
        if repr(chain) in chains or len(chains) == count:
            return
        chains.add(repr(chain))
        graph, size, whole = start, np.array([60.0, 40.0]), np.eye(3)
        odd = False
        for op, block, args in chain:
            wrap, times = BLOCKS[block]
            graph = wrap(graph, lambda images, op=op, args=args: attrgetter(op)(images)(**args))
            for _ in range(times):
                matrix, size = _moved(op, args, size)
                odd ^= bool(np.linalg.det(matrix) < 0)
                whole = matrix @ whole
        for before, after in zip(original, _points(graph), strict=True):
            places = np.insert(before, 2, 1, axis=2) @ whole.T
            wanted = (places / places[..., 2:])[..., :2]
            wanted = wanted[:, ORDER] if odd else wanted
            near = np.abs(wanted) < 1000
            np.testing.assert_allclose(after[near], wanted[near], atol=0.02)

    check()
    assert len(chains) == count


def test_classes_of_masks_are_swapped_by_their_names(tmp_path: Path) -> None:
    """Through a warp of several operators, blocks, and a mirror; pairs are those of the data."""
    chance = np.random.default_rng(0)
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    for at in range(4):
        pixels = chance.integers(0, 256, (32, 32, 3), np.uint8)
        Image.fromarray(pixels).save(tmp_path / "images" / f"{at}.png")
        values = np.repeat(np.repeat(chance.integers(0, 4, (4, 4), np.uint8), 8, 0), 8, 1)
        Image.fromarray(values).save(tmp_path / "masks" / f"{at}.png")
    (tmp_path / "masks.names").write_text("none\nleft hand\nhat\nright hand\n")
    start = wb.read(tmp_path).decode().with_settings(batch_size=4)
    graph = start.flip(horizontal=1)
    assert graph.node("follow_masks").args["pairs"] == ("left hand=right hand",)
    other = np.array([0, 3, 2, 1])
    before = [np.asarray(each)[..., 0] for each in start.batch(0).masks]

    def masks(graph: Graph) -> list[NDArray[np.generic]]:
        return [np.asarray(each)[..., 0] for each in graph.batch(0).masks]

    once, twice = masks(graph), masks(graph.flip(horizontal=0, vertical=1))
    turned = masks(start.rotate(angle=90.0).flip(horizontal=1).rotate(angle=-90.0))
    chosen = start.with_p(0.5, lambda images: images.flip(horizontal=1))
    chosen = with_node(chosen, "chance", seed=5)  # by which some are mirrored
    for at, values in enumerate(before):
        assert np.array_equal(once[at], other[values[:, ::-1]])
        assert np.array_equal(twice[at], values[::-1, ::-1])
        assert np.array_equal(turned[at], other[values[::-1]])
    flips = []
    for values, found in zip(before, masks(chosen), strict=True):
        flips.append(np.array_equal(found, other[values[:, ::-1]]))
        assert flips[-1] or np.array_equal(found, values)
    assert {*flips} == {True, False}
    unswapped = graph["follow_masks"].set(pairs=["none"])
    assert np.array_equal(masks(unswapped)[0], before[0][:, ::-1])
    linear = graph.replace_node(graph.node("follow_masks").with_args({"interpolation": "linear"}))
    assert "interpolated values are no class numbers" in check_graph(linear)[0].text
