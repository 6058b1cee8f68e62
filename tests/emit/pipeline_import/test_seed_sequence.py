"""DALI's own way to give out seeds, held against DALI."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emit.pipeline_import.material import batches
from workbench.emit.core.seed_sequence import COUNT, drawn_seeds


def test_the_sequence_is_long_and_has_no_pattern() -> None:
    seeds = drawn_seeds(1234)
    assert len(seeds) == COUNT == len(set(seeds))
    assert all(0 <= seed < 2**32 for seed in seeds)
    assert seeds[:3] == (2101795843, 884893477, 2975149592)


@pytest.mark.parametrize("seed", [0, 1234, 2**31 - 1, 77_777_777_777])
def test_a_pipeline_draws_the_same_with_its_seeds_written_out(photos: Path, seed: int) -> None:
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=seed)
    def drawn(one, two, three):
        jpegs, labels = fn.readers.file(file_root=str(photos), random_shuffle=True, **two)
        angle = fn.random.uniform(range=(-30, 30), **one)
        images = fn.rotate(fn.decoders.image(jpegs), angle=angle)
        return angle, labels, fn.random_resized_crop(images, size=32, **three)

    def run(seeds):
        pipe = drawn(*seeds)
        pipe.build()
        return batches(pipe, 2)

    given = [{"seed": number} for number in drawn_seeds(seed)[:3]]
    for left, right in zip(run([{}, {}, {}]), run(given), strict=True):
        for ours, theirs in zip(left, right, strict=True):
            assert all(map(np.array_equal, ours, theirs))
