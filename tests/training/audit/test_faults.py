"""Planted faults are named, each alone, with the numbers and the line to change."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.thorough import one_in
from tests.training.audit.planted import Loader, factory
from workbench.training.audit.findings import KINDS

FAULTS = (
    *("repeated_across_workers", "not_reproducible", "no_shuffle", "dropped_remainder"),
    *("overlapping_shards", "shards_never_rotate", "wrong_length", "resume_restarts"),
    *("equal_views", "repeated_across_epochs", "repeated_across_ranks", "repeated"),
    *("repeated_across_samples", "padded_last_batch", "weak_shuffle", "missed", "never_seen"),
    *("left_early", "uneven_ranks", "empty_epoch", "with_replacement", "resume_differs"),
    *("raised", "changing_batches"),
)
INFORMATION = ("not_reproducible", "with_replacement")


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
)


@pytest.mark.parametrize("name", [*TORCH, *one_in(4, WITH_WORKERS)])
def test_loaders_of_pytorch(name: str) -> None:
    kind, make_loader = torch_cases()[name]
    audit = wb.audit(make_loader, samples=101)
    assert {*audit.kinds} == {*filter(None, [kind]), *ALSO.get(name, ())}, audit


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
