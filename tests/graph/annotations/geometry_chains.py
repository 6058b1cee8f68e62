"""Figures of many random chains of geometric operators: how far points, boxes and masks are off.

    python -m tests.graph.annotations.geometry_chains FIRST LAST
        [--device mixed] [--blocks] [--minutes 15]

runs the chains of these seeds, or such chains with some of their operators in blocks, or as many
as there is time for.

What is true is found from the pixels of the ramps that went through the same calls.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.block_graphs import set_count
from tests.graph.annotations.ramps import (
    HEIGHT,
    WIDTH,
    box_errors,
    chain_of,
    coco_start,
    fit_of,
    replace_visible,
    run_graph,
    write_ramps,
)
from tests.helpers import with_args
from workbench.catalog import load_catalog
from workbench.catalog.geometry import geometry_rules
from workbench.catalog.spec import Catalog, Value
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.model import Graph, Node, Port


@dataclass(frozen=True)
class Errors:
    """The worst of one chain."""

    box: float
    """Pixels that a side of an uncut box is off."""
    iou: float
    """The least of an uncut box with the true hull."""
    point: float
    """Pixels that a point in the picture is off."""
    mask: float
    """Pixels between the mask's edge and the image's."""


def whole_chain(folder: Path, seed: int) -> Graph:
    """A random chain, with boxes, points and masks that follow the image."""
    graph = replace_visible(chain_of(folder, seed))
    graph = with_args(graph, "reader", pixelwise_masks=True)
    drawn: dict[str, Value] = {"range": (0.0, float(min(WIDTH, HEIGHT))), "shape": (8, 2)}
    image = graph.outputs["images"]
    nodes = (
        Node("points", "random.uniform", drawn, seed=9),
        Node("moved", "follow_points", {}, {"points": Port("points", "output"), "image": image}),
        Node("mask", "follow_masks", {}, {"masks": Port("reader", "masks"), "image": image}),
    )
    outputs = {
        "images": image,
        "boxes": graph.outputs["boxes"],
        "points": Port("points", "output"),
        "moved": Port("moved", "points"),
        "masks": Port("mask", "masks"),
    }
    return replace(graph, nodes=(*graph.nodes, *nodes), outputs=outputs)


def block_chain(folder: Path, seed: int) -> Graph:
    """The same with some of its operators in a block, or one inside another."""
    graph, catalog, chance = whole_chain(folder, seed), load_catalog(), random.Random(seed)
    runs: list[list[str]] = [[]]  # between casts: bodies give what they take in, of its type
    for node in graph.nodes:
        if node.op == "cast":
            runs.append([])
        elif geometry_rules().moves(node.op):
            runs[-1].append(node.id)
    moving = max(runs, key=len)
    put = chance.choice(
        (_in_if, _in_repeat, _in_nested, wrap_as_options, _some_as_numbered, _in_order)
    )
    first = chance.randrange(len(moving))
    count = chance.randint(1, len(moving) - first)
    return put(graph, catalog, moving[first : first + count])[0]


def _in_if(graph: Graph, catalog: Catalog, nodes: Sequence[str]) -> tuple[Graph, str]:
    return wrap_in_block(graph, catalog, nodes)


def _some_as_numbered(graph: Graph, catalog: Catalog, nodes: Sequence[str]) -> tuple[Graph, str]:
    return wrap_as_options(graph, catalog, nodes, "some_of")


def _in_repeat(graph: Graph, catalog: Catalog, nodes: Sequence[str]) -> tuple[Graph, str]:
    return wrap_in_block(graph, catalog, nodes[:2], "repeat")  # more would leave nothing to be seen


def _in_nested(graph: Graph, catalog: Catalog, nodes: Sequence[str]) -> tuple[Graph, str]:
    graph, _ = wrap_in_block(graph, catalog, nodes)
    return wrap_in_block(graph, catalog, nodes[-1:])


def _in_order(graph: Graph, catalog: Catalog, nodes: Sequence[str]) -> tuple[Graph, str]:
    graph, block = wrap_as_options(graph, catalog, nodes, "some_of")
    if len(nodes) < 3:  # of two with targets an import makes an ``if`` in each turn
        return graph, block
    count = len(graph.node(block).bodies)
    return set_count(graph, catalog, block, min(count, 2), shuffled=True), block


def errors_of(
    folder: Path, seed: int, device: str = "cpu", chain: Callable[[Path, int], Graph] = whole_chain
) -> Errors:
    """The worst of the chain of a seed."""
    images, boxes, points, moved, masks = run_graph(chain(folder, seed), device)
    given = [np.asarray(each) for each in run_graph(coco_start(folder), "cpu")[1]]
    off, least = box_errors(images, boxes, given)
    point = mask = 0.0
    for index, picture in enumerate(images):
        fit = fit_of(picture)
        if fit is None:
            continue
        before = np.asarray(points[index], np.float64)
        wanted = np.concatenate([before, np.ones((len(before), 1))], axis=1) @ fit
        places = wanted.astype(int).clip(0, np.array(picture.shape[1::-1]) - 1)
        seen = (places == np.floor(wanted)).all(axis=1)
        seen &= picture[places[:, 1], places[:, 0], 2] > 250  # of others the fit is a guess
        apart = np.abs(wanted - np.asarray(moved[index]))[seen]
        point = max(point, float(apart.max(initial=0.0)))
        mask = max(mask, _mask_error(picture, masks[index], given[index], fit))
    return Errors(off, least, point, mask)


def _mask_error(
    picture: NDArray[np.generic],
    mask: NDArray[np.generic],
    boxes: NDArray[np.generic],
    fit: NDArray[np.float64],
) -> float:
    """Distance of a pixel on the wrong side from the true edge, in pixels of the result."""
    assert mask.shape[:2] == picture.shape[:2]
    ys, xs = np.nonzero(np.asarray(picture[..., 2]) > 254)
    places = np.stack([xs + 0.5, ys + 0.5], axis=1)
    source = (places - fit[2]) @ np.linalg.inv(fit[:2])
    # The smallest distance in the result that one pixel of the source can become.
    scale = np.linalg.svd(fit[:2], compute_uv=False).min()
    depth = np.full(len(xs), -np.inf)
    for left, top, right, bottom in np.asarray(boxes, np.float64):
        x, y = source[:, 0], source[:, 1]
        inside = np.minimum.reduce([x - left, right - x, y - top, bottom - y])
        depth = np.maximum(depth, inside)
    wrong = (depth > 0) != (np.asarray(mask)[ys, xs, 0] > 0)
    return float(np.abs(depth[wrong]).max() * scale) if wrong.any() else 0.0


def worst_of(
    folder: Path,
    seeds: Iterable[int],
    device: str = "cpu",
    chain: Callable[[Path, int], Graph] = whole_chain,
) -> dict[int, Errors]:
    """Those of many chains, by seed."""
    return {seed: errors_of(folder, seed, device, chain) for seed in seeds}


def require_near(
    folder: Path,
    seeds: range,
    device: str = "cpu",
    chain: Callable[[Path, int], Graph] = whole_chain,
) -> None:
    """Boxes and points within half a pixel, masks within one, after every chain."""
    far = {
        seed: (errors, [node.op for node in chain(folder, seed).walk()])
        for seed, errors in worst_of(folder, seeds, device, chain).items()
        if errors.box > 0.5 or errors.iou < 0.98 or errors.point > 0.5 or errors.mask > 1.0
    }
    assert far == {}


def _main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("first", type=int, help="first seed")
    parser.add_argument("last", type=int, help="the seed after the last")
    parser.add_argument("--device", choices=("cpu", "mixed"), default="cpu")
    parser.add_argument("--blocks", action="store_true", help="put operators into blocks")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    chain = block_chain if given.blocks else whole_chain
    end = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as place:
        folder = write_ramps(Path(place))
        seeds = takewhile(lambda _: time.monotonic() < end, range(given.first, given.last))
        found = worst_of(folder, seeds, given.device, chain)
        exact = {seed for seed in found if chain(folder, seed).has("exact")}
    print(f"{given.first} to {max(found)} on {given.device}:")
    _print({seed: errors for seed, errors in found.items() if seed in exact}, "exact ramps")
    _print({seed: errors for seed, errors in found.items() if seed not in exact}, "ramps of bytes")


def _print(found: Mapping[int, Errors], kind: str) -> None:
    every = np.array([(e.box, 1 - e.iou, e.point, e.mask) for e in found.values()])
    print(f" {len(found)} chains with {kind}")
    if not found:
        return
    for name, column in zip(("box px", "1 - IoU", "point px", "mask px"), every.T, strict=True):
        far = [f"{seed}: {column[at]:.3f}" for at, seed in enumerate(found)]
        worst = sorted(far, key=lambda text: -float(text.split()[1]))[:5]
        middle, high = np.quantile(column, [0.5, 0.99])
        print(f"  {name}: median {middle:.4f}, 99 % {high:.4f}, worst {', '.join(worst)}")


if __name__ == "__main__":
    _main()
