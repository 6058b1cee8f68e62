"""The graph's seed and each node's own come to the seeds of the source."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emit.pipeline_import.material import batches
from tests.emit.pipeline_import.traces import FILE, op, place, reader
from workbench.emit.core.seed_sequence import COUNT, drawn_seeds
from workbench.emit.pipeline_import.trace.seeds import Seeds, assign_seeds
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedOp

NOWHERE = Lines({}, [])


def shared(*ops: TracedOp, pipeline: int | None = None, text: str = "") -> Seeds:
    lines = Lines({FILE: text} if text else {}, ops)
    return assign_seeds(ops, ops, lines, pipeline)


def test_the_smallest_is_the_graphs() -> None:
    seeds = shared(op("A", "a", seed=50), op("B", "b", seed=43), op("C", "c", seed=50))
    assert (seeds.base, seeds.own, seeds.changed) == (43, {"a": 7, "b": 0, "c": 7}, {})


def test_the_pipelines_goes_before() -> None:
    seeds = shared(op("A", "a", seed=50), pipeline=12)
    assert (seeds.base, seeds.own) == (12, {"a": 38})


def test_but_not_where_it_serves_fewer() -> None:
    seeds = shared(op("A", "a", seed=5), op("B", "b", seed=6), pipeline=12)
    assert (seeds.base, seeds.own, seeds.changed) == (5, {"a": 0, "b": 1}, {})


def test_what_the_source_counts_from_goes_before_all() -> None:
    text = "x = fn.a(seed=base + 4)\ny = fn.b(seed=base + 9)\n"
    ops = [
        op("A", "__A_0", seed=104, places=(place(1),)),
        op("B", "__B_1", seed=109, places=(place(2),)),
    ]
    seeds = shared(*ops, text=text, pipeline=7)
    assert (seeds.base, seeds.own) == (100, {"__A_0": 4, "__B_1": 9})


def test_calls_without_a_seed_get_what_dali_draws_for_them() -> None:
    calls = [op("A", "a"), op("B", "b", seed=20), op("C", "c")]
    seeds = shared(*calls, pipeline=9)
    first, second, *_ = drawn_seeds(9)
    assert {name: seeds.base + own for name, own in seeds.own.items()} == {
        "a": first, "b": 20, "c": second,
    }  # fmt: skip
    assert seeds.changed == {}


def test_a_negative_one_is_a_seed_and_cannot_be_held() -> None:
    seeds = shared(op("A", "a", seed=-1), op("B", "b"), pipeline=9)
    assert seeds.base + seeds.own["b"] == drawn_seeds(9)[0]
    assert seeds.changed.keys() == {"a"}


def test_also_where_a_call_between_them_cannot_be_held() -> None:
    calls = [op("A", "a"), op("Opaque", "b"), op("C", "c")]
    seeds = assign_seeds(calls, [calls[2], calls[0]], NOWHERE, 9)
    drawn = drawn_seeds(9)
    assert {name: seeds.base + own for name, own in seeds.own.items()} == {
        "c": drawn[2], "a": drawn[0],
    }  # fmt: skip


def test_without_any_seed_each_gets_its_own_and_is_told_of() -> None:
    seeds = shared(op("A", "a"), op("B", "b", seed=-1), reader("r"))
    assert seeds.base == 42
    assert sorted(seeds.own.values()) == [0, 1, 2]
    assert set(seeds.changed) == {"b"}, "-1 is a seed as any other"
    assert seeds.unseeded == ("a",), "a reader that does not shuffle draws nothing"
    assert shared(reader("r", random_shuffle=True)).unseeded == ("r",)


def test_seeds_out_of_reach_are_changed() -> None:
    seeds = shared(op("A", "a", seed=2**40), op("B", "b", seed=3))
    assert (seeds.base, seeds.own) == (3, {"b": 0, "a": 1})
    assert str(2**40) in seeds.changed["a"]
    assert shared(op("A", "a", seed=2**40), pipeline=2**40).base == 42


# DALI's own way to give out seeds, held against DALI.


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
