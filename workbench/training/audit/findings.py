"""Define the findings of an audit: their kind, a sentence with numbers, and the code to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.training.audit.batches import Id
from workbench.training.audit.fixes import fix_text

Level = Literal["fault", "information"]
KINDS: dict[str, str] = {
    "repeated": "samples are delivered several times in an epoch",
    "missed": "samples are not delivered in an epoch",
    "never_seen": "samples are not delivered in any epoch",
    "with_replacement": "samples are drawn with replacement",
    "overlapping_shards": "ranks read the same samples",
    "shards_never_rotate": "each rank reads the same samples in every epoch",
    "no_shuffle": "the order is the same in every epoch",
    "weak_shuffle": "the order within an epoch follows the sample numbers",
    "dropped_remainder": "the last batch of an epoch is dropped",
    "padded_last_batch": "the last batch repeats samples",
    "wrong_length": "len differs from the number of batches",
    "uneven_ranks": "ranks have different numbers of batches",
    "empty_epoch": "an epoch has no batches",
    "empty_batch": "a batch has no samples",
    "changing_batches": "batches have different fields",
    "left_early": "samples are lost after an epoch was left early",
    "resume_restarts": "a resumed run starts again at the first sample",
    "resume_differs": "a resumed run differs from an uninterrupted one",
    "repeated_across_epochs": "random values repeat across epochs",
    "repeated_across_workers": "random values repeat across batches of an epoch, as of workers",
    "repeated_across_ranks": "random values repeat across ranks",
    "repeated_across_samples": "samples of a batch have the same random values",
    "equal_views": "two views of a sample have the same random values",
    "no_random_values": "a loader for training has no random values",
    "not_reproducible": "two runs with the same global seeds differ",
    "raised": "the loader raised an error",
}
"""Description of each kind of finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: its ``kind``, a sentence with the numbers, and the code to change (``fix``).

    ``level`` is ``fault``, or ``information`` for behaviour that is right for some uses.
    ``probability`` is an upper bound on the probability that independent random values repeat like
    this. ``case`` selects the fix if a kind has several causes.
    """

    kind: str
    sentence: str
    level: Level = "fault"
    probability: float | None = None
    case: str = ""
    fix: str = ""

    def with_fix(self, kinds: tuple[str, ...]) -> Finding:
        """Return the finding with the fix for loaders of ``kinds``, unless it already has a fix."""
        problem = f"{self.kind}, {self.case}" if self.case else self.kind
        return self if self.fix else replace(self, fix=fix_text(problem, kinds))

    def __str__(self) -> str:
        return f"{self.sentence} {self.fix}".rstrip()


def ids_text(ids: Sequence[Id] | set[Id], limit: int = 5) -> str:
    """Return the first ids as text: ``3, 7, 12 and 40 more``."""
    listed = sorted(ids, key=lambda each: (isinstance(each, str), each))
    shown = ", ".join(map(str, listed[:limit]))
    more = len(listed) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def field_text(field: str) -> str:
    """Return a field's name for a sentence: ``image``, or ``field 0`` of a tuple."""
    return f"field {field}" if field[:1].isdigit() else field


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 batch``, ``2 batches``, ``no samples``."""
    ending = "" if count == 1 else "es" if noun.endswith("batch") else "s"
    return f"{count:,} {noun}{ending}"
