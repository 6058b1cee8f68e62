"""What the recipes of papers draw: as often, and from the ranges, that were published."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import workbench.graph.storage.recipes
from tests.helpers import CATALOG, torchvision_transforms
from workbench.errors import GraphFormatError
from workbench.graph import Graph, Node, load_recipe, load_recipes
from workbench.graph.model.node_order import ancestors
from workbench.graph.storage.recipes import load_recipe_document

SAMPLES = 10_000
WITHIN = 0.99
Draws = NDArray[Any]
Range = tuple[float, float]

JITTER: Mapping[str, Range] = {
    "brightness": (0.6, 1.4),
    "contrast": (0.6, 1.4),
    "saturation": (0.8, 1.2),
    "hue": (-36, 36),
}
"""ColorJitter(0.4, 0.4, 0.2, 0.1) of torchvision: factors, and 0.1 of a turn."""
STRONG: Mapping[str, Range] = {
    **dict.fromkeys(("brightness", "contrast", "saturation"), (0.2, 1.8)),
    "hue": (-72, 72),
}
SIGMA = {"sigma": (0.1, 2.0)}
ALWAYS = {"mirror": 0.5, "with_jitter": 0.8, "with_gray": 0.2}
SECOND = {**ALWAYS, "with_blur": 0.1, "with_solarize": 0.2}


def view(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{key}_{name}": value for key, value in values.items()}


LOCALS = [f"local_{number}" for number in range(1, 9)]
PROBABILITIES: Mapping[str, Mapping[str, float]] = {
    "simclr": {
        key: value for n in "12" for key, value in view(n, {**ALWAYS, "with_blur": 0.5}).items()
    },
    "byol": view("1", ALWAYS) | view("2", SECOND),
    "moco-v3": view("1", ALWAYS) | view("2", SECOND),
    "dino": view("global_1", ALWAYS)
    | view("global_2", SECOND)
    | {k: v for n in LOCALS for k, v in view(n, {**ALWAYS, "with_blur": 0.5}).items()},
    "chest-xray": {},
    "ct-slice": {
        "with_rotated": 0.2,
        "with_scaled": 0.2,
        "with_noisy": 0.1,
        "with_blurred": 0.2 * 0.5,
        "with_brightened": 0.15,
        "with_contrasted": 0.15,
        "with_coarsened": 0.25 * 0.5,
        "with_inverted_gamma": 0.1,
        "with_plain_gamma": 0.3,
        "horizontal": 0.5,
        "vertical": 0.5,
    },
    "histology-stain": {"horizontal": 0.5, "vertical": 0.5},
    **{key: {"mirror": 0.5} for key in ("rand-augment", "auto-augment", "trivial-augment")},
    "augmix": {"mirror": 0.5}  # a chain is 1, 2 or 3 deep, evenly
    | {f"two_{chain}": 0.667 for chain in "123"}
    | {f"three_{chain}": 0.5 for chain in "123"},
}
"""Recipe -> coin flip -> how often it says yes."""
RANGES: Mapping[str, Mapping[str, Range]] = {
    "simclr": view("1", STRONG | SIGMA) | view("2", STRONG | SIGMA),
    "byol": {
        key: value
        for n in "12"
        for key, value in view(n, {**JITTER, "brightness": (-0.4, 0.4), **SIGMA}).items()
    },
    "moco-v3": view("1", JITTER | SIGMA) | view("2", JITTER | SIGMA),
    "dino": {
        key: value
        for n in ("global_1", "global_2", *LOCALS)
        for key, value in view(n, JITTER | SIGMA).items()
    },
    "chest-xray": {
        "angle": (-45, 45),
        "scale": (0.85, 1.15),
        "offset": (-0.15 * 224, 0.15 * 224),
    },
    "ct-slice": {
        "angle": (-180, 180),
        "scale": (0.7, 1.4),
        "deviation": (0, 0.1),
        "sigma": (0.5, 1),
        "brightness": (0.75, 1.25),
        "contrast": (0.75, 1.25),
        "resolution": (0.5, 1),
        "curvature_1": (-1, 1),
        "curvature_2": (-1, 1),
    },
    "histology-stain": {
        "scale": (0.8, 1.2),
        "gain": (0.95, 1.05),
        "bias": (-0.05, 0.05),
        "brightness": (0.65, 1.35),
        "contrast": (0.5, 1.5),
        "deviation": (0, 0.1 * 255),
        "sigma": (0.1, 1),
    },
}
"""Recipe -> uniform draw -> its two ends."""
CROPS: Mapping[str, Mapping[str, tuple[int, Range]]] = {
    "simclr": {f"crop_{n}": (224, (0.08, 1)) for n in "12"},
    "byol": {f"crop_{n}": (224, (0.08, 1)) for n in "12"},
    "moco-v3": {f"crop_{n}": (224, (0.08, 1)) for n in "12"},
    "dino": {f"crop_global_{n}": (224, (0.4, 1)) for n in "12"}
    | {f"crop_{name}": (96, (0.05, 0.4)) for name in LOCALS},
}
"""Recipe -> random crop -> its side, and which shares of the photo's area it takes."""

ORDERS: Mapping[str, Mapping[str, str]] = {
    "simclr": {f"view_{n}": "crop flip jitter gray blur" for n in "12"},
    "byol": {
        "view_1": "crop flip jitter gray gaussian normalize",
        "view_2": "crop flip jitter gray blur solarize normalize",
    },
    "moco-v3": {  # which normalises and mirrors in one, last
        "view_1": "crop jitter gray gaussian normalize",
        "view_2": "crop jitter gray blur solarize normalize",
    },
    "dino": {
        "global_1": "crop flip jitter gray gaussian normalize",
        "global_2": "crop flip jitter gray blur solarize normalize",
    }
    | dict.fromkeys(LOCALS, "crop flip jitter gray blur normalize"),
    "rand-augment": {"images": "crop flip augment"},
    "auto-augment": {"images": "crop flip augment"},
    "trivial-augment": {"images": "crop flip augment normalize"},
    "ct-slice": {
        "images": "resize normalize rotated scaled noisy blurred brightened contrasted coarsened "
        "inverted_gamma plain_gamma flip transpose"
    },
}
"""Recipe -> output -> what a photo goes through, step by step."""


def drawn(graph: Graph, op: str) -> list[Node]:
    return [node for node in graph.walk() if node.op == op and not node.inputs]


def draws(graph: Graph, node: Node) -> Draws:
    """What the exported script draws there, in a batch of ``SAMPLES``."""
    from nvidia.dali import fn, pipeline_def, types

    module, _, name = node.op.rpartition(".")
    args: dict[str, Any] = dict(node.args)
    for key, value in args.items():
        if isinstance(value, tuple):
            args[key] = list(value)
        elif isinstance(value, str):
            args[key] = getattr(types, value)
    seed = graph.settings.seed + (node.seed or 0)

    @pipeline_def(batch_size=SAMPLES, num_threads=1, device_id=None)
    def pipeline() -> Any:
        return getattr(getattr(fn, module), name)(**args, seed=seed)

    pipe = pipeline()
    pipe.build()
    return np.asarray(pipe.run()[0].as_array(), np.float64).reshape(SAMPLES, -1)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_coins_fall_as_often_as_published(name: str) -> None:
    """The interval that contains all coins of a recipe together, 99 times in 100."""
    graph, wanted = load_recipe(name), PROBABILITIES[name]
    coins = {node.id: node for node in drawn(graph, "random.coin_flip")}
    assert {key: coin.args["probability"] for key, coin in coins.items()} == pytest.approx(wanted)
    for key, probability in wanted.items():
        alone = 1 - (1 - WITHIN) / len(wanted)
        margin = NormalDist().inv_cdf((1 + alone) / 2)
        margin *= (probability * (1 - probability) / SAMPLES) ** 0.5
        assert abs(draws(graph, coins[key]).mean() - probability) < margin, key


@pytest.mark.parametrize("name", ORDERS)
def test_steps_come_in_the_published_order(name: str) -> None:
    graph = load_recipe(name)
    for output, wanted in ORDERS[name].items():
        steps, port = list[str](), graph.outputs[output]
        while port.node != "decode":
            steps.append(port.node.removesuffix(output).removesuffix(f"_{output[-1]}").strip("_"))
            inputs = graph.node(port.node).inputs
            port = inputs.get("data") or inputs["images"]
        assert " ".join(reversed(steps)) == wanted, output


@pytest.mark.parametrize("name", RANGES)
def test_ranges_are_those_published_and_filled_evenly(name: str) -> None:
    graph, wanted = load_recipe(name), RANGES[name]
    uniform = {n.id: n for n in drawn(graph, "random.uniform") if "range" in n.args}
    assert uniform.keys() == wanted.keys()
    for key, (low, high) in wanted.items():
        assert uniform[key].args["range"] == pytest.approx((low, high)), key
        found = draws(graph, uniform[key])
        assert found.min() >= low - 1e-6
        assert found.max() <= high + 1e-6
        counts, _ = np.histogram(found, bins=10, range=(low, high))
        assert abs(counts / found.size - 0.1).max() < 0.015, key


@pytest.mark.parametrize("name", CROPS)
def test_crops_take_the_published_shares(name: str) -> None:
    graph = load_recipe(name)
    crops = {n.id: n for n in graph.walk() if n.op == "random_resized_crop"}
    assert {key: (crop.args["size"], crop.args["random_area"]) for key, crop in crops.items()} == {
        key: ((side, side), area) for key, (side, area) in CROPS[name].items()
    }
    ratio = CATALOG["random_resized_crop"].args["random_aspect_ratio"].default
    assert ratio == pytest.approx((3 / 4, 4 / 3))
    assert not any("random_aspect_ratio" in crop.args for crop in crops.values())


def test_turns_of_tiles_are_quarters() -> None:
    graph = load_recipe("histology-stain")
    found = draws(graph, graph.node("angle"))
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [0, 90, 180, 270]
    margin = NormalDist().inv_cdf((1 + WITHIN) / 2) * (0.25 * 0.75 / SAMPLES) ** 0.5
    assert abs(counts / SAMPLES - 0.25).max() < margin


def test_gamma_is_below_one_as_often_as_above() -> None:
    """nnU-Net draws a side first, then evenly within it: 0.7 to 1, or 1 to 1.5."""
    graph = load_recipe("ct-slice")
    curvature = draws(graph, graph.node("curvature_1"))
    steep, flat = (graph.node(f"{name}_1").args["right"] for name in ("steep", "flat"))
    assert isinstance(steep, float)
    assert isinstance(flat, float)
    gamma = 1 + np.maximum(curvature * steep, curvature * flat)
    assert (gamma.min(), gamma.max()) == pytest.approx((0.7, 1.5), abs=1e-3)
    assert abs((gamma < 1).mean() - 0.5) < 0.013
    assert np.median(gamma[gamma < 1]) == pytest.approx(0.85, abs=0.01)
    assert np.median(gamma[gamma > 1]) == pytest.approx(1.25, abs=0.01)


# SimCLR's draws, against 10,000 draws of torchvision's own code.

SMALLEST = 0.001
"""Of two samples of one distribution, one pair in a thousand is farther apart."""
HEIGHT, WIDTH = 375, 500


@pytest.fixture(scope="module")
def transforms() -> Any:
    return torchvision_transforms()


def same_distribution(ours: Draws, theirs: Draws) -> bool:
    from scipy.stats import ks_2samp

    return bool(ks_2samp(ours.ravel(), theirs.ravel()).pvalue > SMALLEST)


def repeated(draw: Callable[[], Any]) -> Draws:
    return np.array([draw() for _ in range(SAMPLES)], np.float64)


def windows(view: int) -> tuple[Draws, Draws]:
    """Heights and widths of SimCLR's crops in a photo of ``HEIGHT`` and ``WIDTH``, in pixels."""
    from nvidia.dali import fn, pipeline_def

    graph = load_recipe("simclr")
    crop = graph.node(f"crop_{view}")
    photo = np.array([HEIGHT, WIDTH], np.int64)

    @pipeline_def(batch_size=SAMPLES, num_threads=1, device_id=None)
    def pipeline() -> Any:
        shapes = fn.external_source(lambda info: photo, batch=False)
        _, window = fn.random_crop_generator(
            shapes,
            random_area=list(crop.args["random_area"]),  # type: ignore[arg-type]
            num_attempts=crop.args["num_attempts"],
            seed=graph.settings.seed + (crop.seed or 0),
        )
        return window

    pipe = pipeline()
    pipe.build()
    found = np.asarray(pipe.run()[0].as_array(), np.float64)
    return found[:, 0], found[:, 1]


@pytest.mark.parametrize("view", [1, 2])
def test_strengths_of_the_jitter(transforms: Any, view: int) -> None:
    graph = load_recipe("simclr")
    jitter = transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)
    theirs = repeated(
        lambda: jitter.get_params(
            jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
        )[1:]
    )
    for column, (name, scale) in enumerate(
        {"brightness": 1, "contrast": 1, "saturation": 1, "hue": 360}.items()
    ):
        ours = draws(graph, graph.node(f"{name}_{view}"))
        assert same_distribution(ours, theirs[:, column] * scale), name


@pytest.mark.parametrize("view", [1, 2])
def test_strength_of_the_blur(transforms: Any, view: int) -> None:
    graph = load_recipe("simclr")
    blur = transforms.GaussianBlur(23, (0.1, 2.0))
    theirs = repeated(lambda: blur.get_params(*blur.sigma))
    assert same_distribution(draws(graph, graph.node(f"sigma_{view}")), theirs)
    assert graph.node(f"gaussian_{view}").args["window_size"] == blur.kernel_size[0]


@pytest.mark.parametrize("view", [1, 2])
def test_area_and_ratio_of_the_crop(transforms: Any, view: int) -> None:
    import torch

    crop = transforms.RandomResizedCrop(224)
    photo = torch.zeros(3, HEIGHT, WIDTH)
    theirs = repeated(lambda: crop.get_params(photo, list(crop.scale), list(crop.ratio)))
    high, wide = windows(view)
    assert same_distribution(high * wide, theirs[:, 2] * theirs[:, 3])
    assert same_distribution(wide / high, theirs[:, 3] / theirs[:, 2])


@pytest.mark.parametrize("view", [1, 2])
def test_how_often_each_is_applied(transforms: Any, view: int) -> None:
    """By their constructors' probabilities: ours are tested to be as often in ``draws``."""
    graph = load_recipe("simclr")
    flip, gray = transforms.RandomHorizontalFlip(), transforms.RandomGrayscale(0.2)
    jitter = transforms.RandomApply([transforms.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    blur = transforms.RandomApply([transforms.GaussianBlur(23)], p=0.5)
    for coin, theirs in (
        ("mirror", flip),
        ("with_jitter", jitter),
        ("with_gray", gray),
        ("with_blur", blur),
    ):
        assert graph.node(f"{coin}_{view}").args["probability"] == theirs.p, coin


def test_the_windows_are_those_of_the_recipe() -> None:
    high, wide = windows(1)
    shares = high * wide / (HEIGHT * WIDTH)
    assert shares.min() > 0.079
    assert shares.max() <= 1
    assert (wide / high).min() > 0.74
    assert (wide / high).max() < 1.35


FOLDER = Path(workbench.graph.storage.recipes.__file__).parent


def test_one_file_is_one_recipe_of_that_name() -> None:
    recipes = load_recipes()
    assert list(recipes) == sorted(path.stem for path in FOLDER.glob("*.json"))
    assert repr(recipes).count("\n") == len(recipes) - 1, "one line for each"
    assert {"imagenet-train", "imagenet-eval", "rotate-jitter", "simclr"} <= set(load_recipes())


def test_recipes_are_told_in_a_line_and_their_nodes_draw_apart() -> None:
    """What each does is in its golden script."""
    for name, graph in load_recipes().items():
        assert 0 < len(graph.about) <= 100, name
        assert "\n" not in graph.about, name
        seeds = [node.seed for node in graph.walk() if node.seed is not None]
        assert len(set(seeds)) == len(seeds), name


def test_the_views_of_a_pair_share_no_draw() -> None:
    for name in ("byol", "moco-v3", "simclr", "two-view"):
        graph = load_recipe(name)
        first, second = (ancestors(graph, [graph.outputs[f"view_{number}"]]) for number in (1, 2))
        assert first & second == {"reader", "decode"}


def test_recipes_of_papers_name_them_and_the_differences_from_their_code() -> None:
    for name, graph in load_recipes().items():
        notes = load_recipe_document(name).layout.notes.values()
        papers = set(re.findall(r"arXiv \d{4}\.\d{5}", graph.about))
        assert bool(papers) == bool(notes), name
        for note in notes:
            assert papers <= set(re.findall(r"arXiv \d{4}\.\d{5}", note.text))
            assert re.search(r"^Code: [\w-]+/[\w-]+, ", note.text, re.MULTILINE), name
            assert re.search(r"\n\n(Differences from that code:\n- |As in that code)", note.text), (
                name
            )


def test_what_stands_beside_a_recipe_is_of_its_nodes() -> None:
    for name, graph in load_recipes().items():
        layout = load_recipe_document(name).layout
        assert layout == layout.without_missing(graph)
        placed = {key for key in layout.positions if not key.startswith(":")}
        drawn_alone = {n.id for n in graph.nodes if not n.op.startswith("random.")}
        assert not placed or drawn_alone <= placed


def test_an_unknown_recipe_gets_the_nearest_one() -> None:
    with pytest.raises(GraphFormatError, match=r"Did you mean imagenet-train\?$"):
        load_recipe("imagenet-trian")
    with pytest.raises(GraphFormatError, match=r"no recipe 'zzz'. Recipes"):
        load_recipe("zzz")
