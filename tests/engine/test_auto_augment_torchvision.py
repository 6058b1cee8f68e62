"""What automatic augmentation draws, against 10,000 draws of torchvision's own code."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.helpers import torchvision_transforms
from workbench.catalog import load_catalog
from workbench.catalog.own_operators.auto_augment import SUITE
from workbench.engine.build.applied_augmentations import applied_steps, bins_of, strength_of
from workbench.engine.build.augmenter import Augmenter
from workbench.engine.build.auto_augment import automatic_draws
from workbench.graph import load_recipe
from workbench.graph.resolved import ResolvedGraph

SAMPLES = 10_000
SMALLEST = 0.001
"""Of two samples of one distribution, one pair in a thousand is farther apart."""
SIDE = 224
THEIRS = {name.replace("_", ""): name for name in SUITE}
"""Our names by torchvision's in lower case."""
NAMES = ["rand_augment", "trivial_augment_wide"]
DIFFERENT = {
    ("rand_augment", "translate_x"): "DALI: up to 100 px; torchvision: 150/331 of the width",
    ("rand_augment", "translate_y"): "DALI: up to 100 px; torchvision: 150/331 of the height",
    ("rand_augment", "solarize"): "DALI: from 256, where nothing changes; torchvision: from 255",
    ("trivial_augment_wide", "brightness"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "contrast"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "color"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "sharpness"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "solarize"): "DALI: from 256; torchvision: from 255",
}
"""Whose range is another in DALI, and how; the number of the step is drawn alike."""
Drawn = dict[str, list[float]]
"""The strengths that were drawn, by the operation's name; 0 for what has none."""


def of_torchvision(name: str) -> Drawn:
    autoaugment = torchvision_transforms().autoaugment
    import torch

    made = {
        "rand_augment": lambda: autoaugment.RandAugment(num_ops=2, magnitude=9),
        "trivial_augment_wide": autoaugment.TrivialAugmentWide,
    }[name]()
    drawn: Drawn = defaultdict(list)

    def record(image: Any, operation: str, magnitude: float, *_: Any, **__: Any) -> Any:
        drawn[THEIRS[operation.lower()]].append(magnitude)
        return image

    photo = torch.zeros(3, SIDE, SIDE, dtype=torch.uint8)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(autoaugment, "_apply_op", record)
        for _ in range(SAMPLES):
            made(photo)
    return drawn


def of_the_workbench(name: str) -> Drawn:
    catalog = load_catalog()
    graph = load_recipe({"rand_augment": "rand-augment"}.get(name, "trivial-augment"))
    graph = replace(graph, settings=replace(graph.settings, batch_size=SAMPLES))
    node = next(node for node in graph.walk() if node.op == name)
    if name == "rand_augment":
        assert (node.args["n"], node.args["m"], bins_of(node)) == (2, 9, 31), "the paper's"
    (draws,) = automatic_draws(ResolvedGraph(graph, catalog))[node.id]
    drawn: Drawn = defaultdict(list)
    for step in applied_steps(node, Augmenter().drawn(draws, 0, SAMPLES)):
        for applied in step:
            strength = strength_of(applied, bins_of(node)) or 0.0
            whole = applied.augmentation.name == "posterize"  # it keeps whole bits
            drawn[applied.augmentation.name].append(round(strength) if whole else strength)
    return drawn


def steps_of(strengths: list[float]) -> list[int]:
    """Without sign and range: 0 for the least that was drawn, 1 for the next."""
    sizes = np.round(np.abs(strengths), 5)
    return [int(step) for step in np.searchsorted(np.unique(sizes), sizes)]


@pytest.mark.parametrize("name", NAMES)
def test_operations_are_as_often(name: str) -> None:
    theirs, ours = of_torchvision(name), of_the_workbench(name)
    from scipy.stats import chi2_contingency

    counts = [[len(drawn[operation]) for operation in SUITE] for drawn in (theirs, ours)]
    assert min(map(min, counts)) > 0
    assert chi2_contingency(counts).pvalue > SMALLEST


@pytest.mark.parametrize("name", NAMES)
def test_strengths_are_as_often(name: str) -> None:
    """With sign, each operation by itself; what differs is listed, and differs."""
    theirs, ours = of_torchvision(name), of_the_workbench(name)
    from scipy.stats import ks_2samp

    for operation in SUITE:
        alike = ks_2samp(np.round(theirs[operation], 5), np.round(ours[operation], 5))
        difference = DIFFERENT.get((name, operation))
        if difference is None:
            assert alike.pvalue > SMALLEST, operation
            assert set(np.round(theirs[operation], 5)) == set(np.round(ours[operation], 5))
        else:
            assert set(np.round(theirs[operation], 5)) != set(np.round(ours[operation], 5)), (
                f"{operation} does not differ: {difference}"
            )
            steps = [steps_of(drawn[operation]) for drawn in (theirs, ours)]
            assert ks_2samp(*steps).pvalue > SMALLEST, f"{operation}: its steps"
