"""Crops and slices in the decoder: every byte stays on the CPU."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import CATALOG, done, ops, require_exact, start
from workbench.graph import Graph
from workbench.graph.rewrites import load_rewrites

NAME = "crop-in-decoder"
PLACE = {"crop_pos_x": wb.random.uniform(range=(0.0, 1.0)), "crop_pos_y": 0.31}
WHOLE = start().images
CUTS = {
    "crop": start().crop(crop=(61, 73), **PLACE),
    "slice": start().slice(start=(5, 9), shape=(60, 51), axes=(0, 1)),
    "shares": start().slice(rel_start=(0.13, 0.21), rel_shape=(0.5, 0.6), axis_names="HW"),
}


@pytest.mark.parametrize("cut", CUTS)
def test_every_byte_stays(cut: str, photos: Path) -> None:
    after = done(CUTS[cut], NAME)
    fused = "decoders.image_crop" if cut == "crop" else "decoders.image_slice"
    assert ops(after) == ["readers.file", fused]
    require_exact(CUTS[cut], after, photos)


@pytest.mark.parametrize(
    "graph",
    [
        start().crop(crop=(600, 60), out_of_bounds_policy="pad"),
        start().crop(crop=(60, 60), dtype="FLOAT"),
        wb.outputs(whole=WHOLE, images=WHOLE.crop(crop=(60, 60))),
    ],
    ids=["pad", "dtype", "the whole is given out"],
)
def test_what_the_decoder_cannot_do_stays(graph: Graph) -> None:
    assert done(graph, NAME) == graph


def test_on_a_gpu_it_is_near() -> None:
    mixed = CUTS["crop"].with_settings(device="mixed")
    rewrite = load_rewrites()[NAME]
    assert rewrite.class_in(CUTS["crop"], CATALOG) == "exact"
    assert rewrite.class_in(mixed, CATALOG) == "near"
