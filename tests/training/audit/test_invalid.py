"""Loaders that end early or never, raise or are interrupted, and wrong arguments."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.training.audit.planted import factory
from workbench.errors import ArgumentError
from workbench.results import recorded_results


def batches(count: int = 60, size: int = 6) -> Iterator[Any]:
    order = random.sample(range(count), count)
    for start in range(0, count, size):
        ids = order[start : start + size]
        yield {"index": np.array(ids), "x": np.random.rand(len(ids), 5)}


class Shuffled:
    def __init__(self, stop: BaseException | None = None, after: int = 13) -> None:
        self.stop, self.left = stop, after

    def __iter__(self) -> Iterator[Any]:
        for batch in batches():
            if self.stop is not None and not self.left:
                raise self.stop
            self.left -= 1
            yield batch


def test_without_len_and_without_ranks() -> None:
    audit = wb.audit(Shuffled, samples=60)
    assert audit.findings == ()
    assert {stream.length for stream in audit.streams} == {None}
    assert any("other ranks than one" in note for note in audit.notes)


def test_a_loader_that_never_ends() -> None:
    class Endless:
        def __iter__(self) -> Iterator[Any]:
            return itertools.chain.from_iterable(batches() for _ in itertools.count())

    audit = wb.audit(Endless, limit=25)
    assert not audit.faults
    assert [len(stream.sizes) for stream in audit.streams] == [25, 25, 25]
    assert any("only up to 25 batches" in note for note in audit.notes)

    class WithLength(Endless):
        def __len__(self) -> int:
            return 10

    (finding,) = wb.audit(WithLength).faults
    assert finding.kind == "wrong_length"
    assert "len(loader) is 10, but epoch 0 of rank 0 has at least 30 batches" in finding.sentence


def test_a_time_limit_ends_the_reading() -> None:
    audit = wb.audit(Shuffled, seconds=0)
    assert [len(stream.sizes) for stream in audit.streams] == [1]
    assert not audit.findings
    planted = wb.audit(factory(""), samples=40, seconds=0)
    assert not planted.findings
    assert any("resumed run" in note and "seconds=" in note for note in planted.notes)


def test_a_generator_can_be_read_once() -> None:
    assert "empty_epoch" in wb.audit(batches).kinds


def test_an_error_is_a_finding_and_what_was_read_is_kept() -> None:
    audit = wb.audit(lambda: Shuffled(OSError("image file is truncated")))
    assert audit.kinds == ("raised",)
    assert "batch 3 of rank 0 in epoch 1: OSError: image file is truncated" in str(audit)
    assert [stream.size for stream in audit.streams] == [60, 18]


def test_a_factory_that_raises_is_a_finding() -> None:
    def make_loader(rank: int) -> Any:
        if rank:
            raise RuntimeError("Default process group has not been initialized")
        return Shuffled()

    (finding,) = wb.audit(make_loader).findings
    assert finding.kind == "raised"
    assert "make_loader for rank 1: RuntimeError" in finding.sentence
    assert "num_replicas=ranks and rank=rank" in finding.fix


def test_an_interrupt_returns_what_was_read() -> None:
    audit = wb.audit(lambda: Shuffled(KeyboardInterrupt()))
    assert audit.interrupted
    assert audit.verdict == "Interrupted. No faults in 2 epochs of 1 rank."
    assert [stream.size for stream in audit.streams] == [60, 18]


def test_an_error_of_an_argument_is_not_blamed_on_the_loader() -> None:
    def set_epoch(loader: Any, epoch: int) -> None:
        loader.sampler.set_epoch(epoch)

    text = str(wb.audit(Shuffled, before_epoch=set_epoch))
    assert "An error occurred in before_epoch= at batch 0 of rank 0 in epoch 0" in text
    assert "Correct index= and repeat" in str(wb.audit(Shuffled, index=lambda batch: batch[0]))
    audit = wb.audit(Shuffled, index=lambda batch: [0.5] * 6)
    assert "neither an integer nor a string" in str(audit)
    assert "2 ids for 6 samples" in str(wb.audit(Shuffled, index=lambda batch: [1, 2]))


def test_empty_batches_and_epochs_without_batches() -> None:
    assert wb.audit(lambda: [[1, 2], []]).kinds.count("changing_batches") == 1
    empty = [{"index": np.arange(3)}, {"index": np.arange(0)}]
    assert "empty_batch" in wb.audit(lambda: empty).kinds
    audit = wb.audit(list)
    assert audit.verdict == "The loader is empty: there are no samples in 3 epochs of 1 rank."
    (finding,) = audit.findings
    assert finding.sentence == "The loader has no batches in 3 epochs."
    assert finding.fix.startswith("The list of samples is probably empty")
    assert wb.audit(lambda: 1 / 0).verdict == "No samples were read, so nothing was checked."


def test_a_loader_that_exists() -> None:
    audit = wb.audit(Shuffled(), epochs=2)
    assert not audit.findings
    assert any("a loader was passed" in note for note in audit.notes)


def test_nested_audits_and_the_state_of_the_process() -> None:
    random.seed(3)
    expected = random.random()
    random.seed(3)
    os.environ.pop("RANK", None)
    inner = []

    def make_loader(rank: int, ranks: int) -> Any:
        inner.append(wb.audit(Shuffled, epochs=1))
        assert os.environ["RANK"] == str(rank)
        return Shuffled()

    assert "overlapping_shards" in wb.audit(make_loader).kinds
    assert "RANK" not in os.environ
    assert random.random() == expected
    assert {audit.kinds for audit in inner} == {()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": 0}, "epochs is 0. Use an integer of 1 or more."),
        ({"ranks": "two"}, "ranks"),
        ({"samples": -1}, "samples is -1. Use an integer of 1 or more."),
        ({"make_loader": 5}, "make_loader has type 'int'"),
        ({"make_loader": "a loader"}, "make_loader has type 'str'"),
        ({"make_loader": lambda batch_size: []}, "'batch_size' of make_loader has no default"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        wb.audit(**{"make_loader": Shuffled} | arguments)


def test_the_epoch_is_set_before_each_epoch() -> None:
    class Seeded(Shuffled):
        epoch = 0

        def __iter__(self) -> Iterator[Any]:
            random.seed(self.epoch)
            return super().__iter__()

    def set_epoch(loader: Seeded, epoch: int) -> None:
        loader.epoch = epoch

    assert "no_shuffle" in wb.audit(Seeded).kinds
    assert "no_shuffle" not in wb.audit(Seeded, before_epoch=set_epoch).kinds


def test_the_result_has_tables_and_a_figure() -> None:
    audit = wb.audit(factory("overlapping_shards"), samples=40, epochs=2)
    frame = pytest.importorskip("pandas") and audit.to_frame()
    assert list(frame.columns) == ["epoch", "samples", "seen once", "repeated", "missed"]
    assert frame["repeated"].tolist() == [40, 40]
    titles = [table.title for table in audit.document().tables]
    assert titles == ["Samples per epoch", "Epochs and ranks", "Random values"]
    assert recorded_results()[-1].sentences == audit.document().sentences
    assert audit.plot().axes
    without_ids = wb.audit(lambda: [np.zeros((3, 4))])
    assert any("no field of the batches identifies them" in note for note in without_ids.notes)
    assert without_ids.plot().axes
    assert without_ids.verdict.startswith("No faults found in what could be checked in 3 epochs")


def test_a_random_value_of_a_whole_batch_is_no_fault() -> None:
    """Such as the weight of mixup; those of images are a fault."""

    class Mixed(Shuffled):
        def __iter__(self) -> Iterator[Any]:
            for batch in super().__iter__():
                yield batch | {
                    "weight": np.full(len(batch["x"]), round(0.05 + np.random.rand() * 0.9, 1))
                }

    assert not wb.audit(Mixed).findings
    assert wb.audit(factory("repeated_across_samples")).kinds == ("repeated_across_samples",)


def test_training_states_what_a_loader_is_for() -> None:
    fixed = [{"index": np.arange(k, k + 5), "x": np.ones((5, 40))} for k in range(0, 40, 5)]
    evaluation = wb.audit(lambda: fixed)
    assert not evaluation.findings
    assert "for training, pass training=True" in str(evaluation)
    assert {*wb.audit(lambda: fixed, training=True).kinds} == {"no_shuffle", "no_random_values"}
    only_ids = [each["index"] for each in fixed]
    assert [f.level for f in wb.audit(lambda: only_ids).findings] == ["information"]
    assert not wb.audit(lambda: only_ids, training=False).findings
