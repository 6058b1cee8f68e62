"""Planted faults are named, each alone, with the numbers and the line to change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.thorough import one_in
from tests.training.audit.planted import Loader, factory
from workbench.training.audit.coverage import coverage_findings
from workbench.training.audit.findings import KINDS
from workbench.training.audit.fixes import _FIXES, fix_text
from workbench.training.audit.randomness import hoeffding_bound, randomness_findings, randomness_of
from workbench.training.audit.streams import Stream

FAULTS = (
    *("repeated_across_workers", "not_reproducible", "no_shuffle", "dropped_remainder"),
    *("overlapping_shards", "shards_never_rotate", "wrong_length", "resume_restarts"),
    *("equal_views", "repeated_across_epochs", "repeated_across_ranks", "repeated"),
    *("repeated_across_samples", "padded_last_batch", "weak_shuffle", "missed", "never_seen"),
    *("left_early", "uneven_ranks", "empty_epoch", "with_replacement", "resume_differs"),
    *("raised", "changing_batches"),
)
INFORMATION = ("not_reproducible", "with_replacement", "dropped_remainder")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_and_nothing_else(fault: str) -> None:
    audit = wb.audit(factory(fault), samples=101)
    assert audit.kinds == (fault,), audit
    (finding,) = audit.findings
    assert finding.level == ("information" if fault in INFORMATION else "fault")
    assert finding.kind in KINDS
    assert any(letter.isdigit() for letter in finding.sentence) or fault == "not_reproducible"
    assert finding.fix.endswith(".")
    assert str(finding) in audit.lines()[2]


@pytest.mark.parametrize("size", [1, 6, 7, 50, 200])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_correct_loader_has_no_findings(size: int, ranks: int) -> None:
    def make_loader(data: str, rank: int, ranks: int) -> Loader:
        return Loader(data, rank, ranks, size=size)

    audit = wb.audit(make_loader, ranks=ranks, samples=102, epochs=2)
    assert not audit.findings, audit
    assert audit.verdict == f"No faults in 2 epochs of {ranks} rank{'s' * (ranks > 1)}."


def test_random_values_that_belong_to_a_sample_repeat_in_each_epoch() -> None:
    (finding,) = wb.audit(factory("repeated_per_sample"), samples=101).findings
    assert finding.kind == "repeated_across_epochs"
    assert "101 of 101 pairs of the same sample in epochs 0 and 1" in finding.sentence
    assert finding.probability is not None
    assert finding.probability < 1e-100


def test_random_values_that_repeat_next_to_others_that_do_not() -> None:
    """A flip with its own random numbers, after a crop whose seed all workers share."""
    (finding,) = wb.audit(factory("repeated_before_a_flip"), samples=101).findings
    assert finding.kind == "repeated_across_workers"
    assert "image (values)" in finding.sentence


def test_a_remainder_that_is_the_same_in_each_epoch_is_a_fault() -> None:
    order = [[*range(start, start + 8)] for start in range(0, 96, 8)]
    (finding,) = wb.audit(lambda: order, samples=101, training=False).findings
    assert (finding.kind, finding.level) == ("dropped_remainder", "fault")
    assert "misses 5 of 101 samples" in finding.sentence


@pytest.mark.parametrize("block", one_in(60, range(60)))
def test_random_epochs_have_no_findings(block: int) -> None:
    """Of any size, with few or many outcomes of the random values."""
    for seed in range(50 * block, 50 * block + 50):
        chance = np.random.default_rng(seed)
        samples, size, ranks, outcomes = (
            int(chance.choice(values))
            for values in ((12, 37, 101, 203), (1, 2, 4, 16, 64), (1, 2, 3), (1, 2, 3, 8, 999))
        )
        streams = []
        for epoch in range(3):
            order = chance.permutation(samples)
            for rank in range(ranks):
                ids = tuple(order[rank::ranks].tolist())
                sizes = tuple(min(size, len(ids) - start) for start in range(0, len(ids), size))
                prints = {
                    name: chance.choice(outcomes, len(ids)).astype(np.uint64) for name in "ab"
                }
                streams.append(Stream(rank, epoch, sizes, ids, prints))
        known = {name: randomness_of(streams, name, True) for name in "ab"}
        found = [*randomness_findings(streams, True, known)]
        found += coverage_findings(streams, samples, True)
        assert not found, (seed, found)


@pytest.mark.parametrize(
    ("equal", "pairs", "share"), [(10, 20, 0.1), (7, 7, 0.5), (60, 100, 0.4), (2, 50, 0.01)]
)
def test_the_bound_is_above_the_binomial_probability(equal: int, pairs: int, share: float) -> None:
    exact = sum(
        math.comb(pairs, k) * share**k * (1 - share) ** (pairs - k) for k in range(equal, pairs + 1)
    )
    assert exact <= hoeffding_bound(equal, pairs, share) <= 40 * exact
    assert hoeffding_bound(0, 0, share) == 1


def torch_cases() -> dict[str, tuple[str, object]]:
    pytest.importorskip("torch", reason="torch is not installed")
    from tests.training.audit import torch_loaders

    return {**torch_loaders.FAULTS, **{name: ("", f) for name, f in torch_loaders.CORRECT.items()}}


ALSO = {
    "one NumPy generator for all workers": {"repeated_across_epochs", "repeated_across_ranks"},
    "one seed in worker_init_fn": {"repeated_across_epochs", "repeated_across_ranks"},
    "samples of the next epoch in the last batch": {"overlapping_shards"},
}
"""What else such a fault causes."""
TORCH = (
    *("unseeded augmentation", "no shuffle", "set_epoch is not called", "dropped remainder"),
    *("overlapping shards", "shards that never rotate", "len off by one", "two views", "pairs"),
    *("resume at the first sample", "equal random values for both views", "lists", "resumable"),
    *("one seed for all ranks", "distributed", "shuffled", "batches of one", "one batch"),
    *("seeded", "batch sampler", "without labels", "evaluation", "indices", "environment"),
)
WITH_WORKERS = (
    *("one NumPy generator for all workers", "every worker reads everything", "stream"),
    *("one seed in worker_init_fn", "shuffled, workers", "distributed, workers"),
    *("distributed, persistent workers", "distributed, large batches"),
    "every worker reads all of the user's numbers",
)


@pytest.mark.parametrize("name", [*TORCH, *one_in(4, WITH_WORKERS)])
def test_loaders_of_pytorch(name: str) -> None:
    kind, make_loader = torch_cases()[name]
    audit = wb.audit(make_loader, samples=101)
    assert {*audit.kinds} == {*filter(None, [kind]), *ALSO.get(name, ())}, audit
    assert not any("reader" in each.fix or "tf." in each.fix for each in audit.findings), audit


@pytest.mark.thorough
def test_albumentations_in_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each worker has a copy of the generator, also in each epoch (AlbumentationsX 266)."""
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setenv("NO_ALBUMENTATIONS_UPDATE", "1")
    library = pytest.importorskip("albumentations", reason="albumentations is not installed")
    from tests.training.audit.torch_loaders import Photos, distributed, torch

    class Cropped(Photos):
        def __init__(self, data: str) -> None:
            super().__init__(data)
            steps = [library.RandomCrop(20, 24), library.RandomBrightnessContrast(p=1)]
            self.steps = library.Compose(steps)

        def crop(self) -> Any:
            return torch.tensor(self.steps(image=self.pixels)["image"])

    def seed_worker(worker: int) -> None:
        info = torch.utils.data.get_worker_info()
        info.dataset.steps.set_random_seed(info.seed % 2**32)

    kinds = wb.audit(distributed(Cropped, workers=2), samples=101).kinds
    repeated = ("repeated_across_epochs", "repeated_across_workers", "not_reproducible")
    assert kinds == repeated
    assert wb.audit(distributed(Cropped), samples=101).kinds == ("not_reproducible",)
    seeded = distributed(Cropped, workers=2, worker_init_fn=seed_worker)
    assert not wb.audit(seeded, samples=101).findings


@pytest.mark.parametrize(("name", "words"), [
    ("torch.utils.data.dataloader", "pass shuffle=True to the DataLoader"),
    ("nvidia.dali.plugin.pytorch", "pass random_shuffle=True to the reader"),
    ("workbench.engine.build.in_process_loader", "pass random_shuffle=True to wb.read"),
    ("tensorflow.python.data.ops", "call dataset.shuffle(buffer_size"),
    ("mine", "shuffle the samples before each epoch"),
])  # fmt: skip
def test_a_fix_is_that_of_the_kind_of_loader(name: str, words: str) -> None:
    """Also of a loader in a wrapper, as timm's."""
    made = type("Made", (list,), {"__module__": name})([[1, 2], [3, 4]])
    wrapper = type("Wrapper", (), {"loader": made, "__iter__": lambda self: iter(made)})()
    for loader in (made, wrapper):
        (finding,) = wb.audit(loader).findings
        assert words in finding.fix


def test_each_kind_of_finding_has_a_fix_for_any_loader() -> None:
    assert {each.partition(",")[0] for each in _FIXES} == {*KINDS} - {"raised"}
    assert all(fix_text(problem, ("any",)) for problem in _FIXES)


def test_every_loader_of_pytorch_is_tried() -> None:
    assert {*TORCH, *WITH_WORKERS} == {*torch_cases()}


DALI = (
    *("padded last batch", "samples of the next epoch in the last batch", "dropped last batch"),
    *("no shuffle", "fixed shards", "one seed for all ranks", "one seed for both views"),
    *("generic", "reset by the loop", "shuffled after each epoch", "several pipelines"),
    *("classification", "evaluation"),
)


@pytest.mark.parametrize("name", one_in(3, DALI))
def test_loaders_of_dali(name: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from tests.training.audit.dali_loaders import CORRECT, FAULTS

    assert {*DALI} == {*CORRECT, *FAULTS}
    kind, make_loader = FAULTS.get(name) or ("", CORRECT[name])
    audit = wb.audit(make_loader, samples=101)
    assert {*audit.kinds} == {*filter(None, [kind]), *ALSO.get(name, ())}, audit
    assert not any("DataLoader" in each.fix or "tf." in each.fix for each in audit.findings), audit
