"""Kornia's operators on the CPU, where it is installed: what runs on a GPU is the same code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.bench.measuring.pixels import compare_cpu_with_mixed
from workbench.bench.peers import OPERATORS, PEERS, kornia, opencv
from workbench.bench.peers.operator_graphs import operator_graphs
from workbench.bench.peers.program import Program, program_of, without_randomness
from workbench.catalog import Catalog
from workbench.graph import load_recipe

pytest.importorskip("kornia", reason="kornia is not installed")
pytest.importorskip("cv2", reason="opencv-python-headless is not installed")
pytestmark = pytest.mark.thorough
PEER = replace(PEERS["Kornia on CUDA"], decoder="cpu")


def programs(name: str, catalog: Catalog, still: bool) -> dict[str, Program]:
    """A recipe and each of its operators, with chance or without."""
    recipe = load_recipe(name)
    graphs = {name: recipe, **operator_graphs(recipe, catalog)}
    made = {
        node: without_randomness(graph, catalog) if still else graph
        for node, graph in graphs.items()
    }
    return {node: program_of(each, catalog, OPERATORS, "Kornia") for node, each in made.items()}


@pytest.mark.parametrize("name", ["imagenet-train", "imagenet-eval", "rotate-jitter"])
def test_it_does_what_opencv_does(name: str, photos: Path, catalog: Catalog) -> None:
    files = [str(path) for path in sorted(photos.rglob("*.jpg"))[:4]]
    for node, program in programs(name, catalog, still=True).items():
        ours = opencv.images(PEERS["OpenCV"], program, files)
        theirs = kornia.images(PEER, program, files)
        found = compare_cpu_with_mixed(ours, theirs)
        assert found is not None, f"{node}: other shapes"
        hue = any(step.op == "color_twist" for step in program.steps)
        assert found.is_same or hue, f"{node}: {found}"


def test_a_batch_has_the_sizes_that_the_graph_gives(photos: Path, catalog: Catalog) -> None:
    files = [str(path) for path in sorted(photos.rglob("*.jpg"))[:3]]
    samples = kornia.DecodedImages(files, gray=False)
    for node, program in programs("rotate-jitter", catalog, still=False).items():
        batch: list[Any] = kornia.BatchAugmentation(program, "cpu")(
            [samples[index] for index in range(len(files))]
        )
        (found,) = batch
        shapes = {tuple(image.shape) for several in found for image in several}
        if node == "decoding":
            assert sum(len(several) for several in found) == 3
        else:
            side = 256 if node in ("nothing", "rotate", "color", "flip") else 224
            assert shapes == {(3, side, side)}, node
        assert np.asarray(found[0]).dtype == np.uint8
