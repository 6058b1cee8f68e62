"""The function ``audit``: read the loader of each rank, and check the delivered samples."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from workbench.arguments import FLAG, FUNCTION, NUMBER, WHOLE, checked
from workbench.engine.protocol.progress import Progress, with_progress_bar
from workbench.errors import ArgumentError
from workbench.names import join_words, shortened
from workbench.results import record_result
from workbench.training.audit.batches import VALUES
from workbench.training.audit.coverage import (
    by_epoch,
    coverage_findings,
    padding_note,
    population,
    same_order,
)
from workbench.training.audit.findings import Finding, field_text, plural
from workbench.training.audit.numbered import SAMPLES
from workbench.training.audit.randomness import Randomness, randomness_findings, randomness_of
from workbench.training.audit.reading import (
    EpochRead,
    Factory,
    Reader,
    ResumeRead,
    dataset_size,
    generated_images,
    restored_state,
    resume,
    set_rank,
)
from workbench.training.audit.result import Audit
from workbench.training.audit.streams import (
    GIVEN,
    PIXELS,
    Stream,
    coloured_ids,
    find_id_field,
    streams_of,
)
from workbench.training.audit.structure import (
    left_early_findings,
    resume_findings,
    structure_findings,
)
from workbench.training.loader_kinds import kinds_of_loader


@checked(
    epochs=WHOLE, ranks=WHOLE, index=FUNCTION, samples=WHOLE, before_epoch=FUNCTION,
    training=FLAG, limit=WHOLE, seconds=NUMBER,
)  # fmt: skip
@with_progress_bar()
def audit(
    make_loader: Any,
    epochs: int = 3,
    ranks: int = 2,
    *,
    data: Any = None,
    index: Callable[[Any], Any] | None = None,
    samples: int | None = None,
    before_epoch: Callable[[Any, int], None] | None = None,
    training: bool | None = None,
    limit: int = 10_000,
    seconds: float = 600,
    on_progress: Progress = lambda share, text: None,
) -> Audit:
    """Read epochs of any loader, and report which samples and random values they contain.

    ``make_loader`` returns an iterable of batches: arrays, tensors, tuples or dicts of these, or
    DALI outputs. Its parameters can be ``rank`` and ``ranks`` (without ``rank`` only one rank is
    read), ``data`` and ``checkpoint`` (a state to resume from). You can also pass an existing
    loader, but then its ranks, seeds and resuming are not checked.

    If the parameter ``data`` of ``make_loader`` has no default, it receives a folder of ``samples``
    (default 203) identical generated images, each in its own class folder. Labels identify samples,
    and equal outputs have equal random values. Pass ``data=`` to use your own data, and
    ``samples=`` with its number of samples. Samples are then identified by unique integers or
    strings in the batch, or by ``index(batch)``, which returns an id for each sample.

    ``before_epoch(loader, epoch)`` is called before each epoch, as a training loop calls
    ``set_epoch``. ``training=True`` means that the loader should shuffle and be random; by default
    a loader with random values should shuffle. At most ``limit`` batches of an epoch are read, and
    the whole audit ends after ``seconds``. If it is interrupted, the result contains what was read.

    Ranks run one after the other in this process, with the environment variables ``RANK``,
    ``LOCAL_RANK`` and ``WORLD_SIZE``, without a process group. The global seeds of Python, NumPy
    and PyTorch are set before each call, differently for each rank. An error that the loader raises
    is a finding. Raises ArgumentError for a parameter of ``make_loader`` that has no default.

    ::

        import random

        def make_loader(rank, ranks):
            order = random.sample(range(100), 100)[rank::ranks]
            return [order[start : start + 10] for start in range(0, len(order), 10)]

        audit = wb.audit(make_loader)
        print(audit)                       # faults with the code to change
        kinds = [each.kind for each in audit.findings]
        assert "no_shuffle" in kinds       # the list is the same in every epoch
    """
    counts = {"epochs": epochs, "ranks": ranks, "limit": limit, "samples": samples}
    for name, value in counts.items():
        if value is not None and value < 1:
            raise ArgumentError(f"audit: {name} is {value}. Use an integer of 1 or more.")
    factory = Factory(make_loader, data)
    run = _Run(factory, epochs, ranks if factory.accepts("rank") else 1, samples)
    run.reader = Reader(index, before_epoch, limit, time.monotonic() + seconds)
    run.training = training
    if factory.made is not None:
        run.note("ranks, seeds and resuming", "a loader was passed, not a function that makes one")
    elif not factory.accepts("rank") and ranks > 1:
        run.note("other ranks than one", "make_loader has no parameter rank")
    with restored_state(), ExitStack() as stack:
        if factory.needs_data and data is None:
            run.generated = True
            run.samples = samples or SAMPLES
            factory.data = str(stack.enter_context(generated_images("equal", run.samples)))
        try:
            run.read(on_progress)
        except KeyboardInterrupt:
            run.interrupted = True
        result = run.judge()
    on_progress(1.0, "")
    record_result(result)
    return result


class _Run:
    """An audit in progress."""

    reader: Reader
    training: bool | None = None
    generated = False
    interrupted = False

    def __init__(self, factory: Factory, epochs: int, ranks: int, samples: int | None) -> None:
        self.factory, self.epochs, self.ranks = factory, epochs, ranks
        self.samples = samples
        self.reads: list[EpochRead] = []
        self.kinds: tuple[str, ...] = ("any",)
        self.ids: str | None = None
        self.second: tuple[EpochRead, EpochRead] | None = None
        self.resumed: ResumeRead | str | None = None
        self.coloured: list[EpochRead] = []
        self.notes: dict[str, None] = {}

    def note(self, subject: str, reason: str) -> None:
        self.notes[f"Not checked: {subject}, because {reason}."] = None

    def read(self, on_progress: Progress) -> None:
        """Read the epochs of all ranks, an epoch that is left early, and a resumed run.

        If no field identifies the samples, epochs of coloured images are read too.
        """
        self.reads = self._read_epochs(on_progress, 0.0, 0.7)
        if self.samples is None and self.factory.made is not None:
            self.samples = dataset_size(self.factory.made)
        self.ids = find_id_field(self.reads, self.samples, self.generated)
        if any(read.end in ("interrupted", "raised") for read in self.reads):
            self.interrupted = any(read.end == "interrupted" for read in self.reads)
            self.note("leaving an epoch early and resuming", "the epochs were not read to the end")
            return
        on_progress(0.7, "an epoch that is left early")
        set_rank(0, self.ranks)
        self._leave_early()
        if self.factory.made is None:
            on_progress(0.8, "a resumed run")
            self._resume()
        if self.generated and self.ids is None:
            on_progress(0.9, "coloured images")
            with generated_images("coloured", self.samples or SAMPLES) as folder:
                equal, self.factory.data = self.factory.data, str(folder)
                self.reader.colours = True
                self.coloured = self._read_epochs(on_progress, 0.9, 1.0)
                self.factory.data = equal
            if not coloured_ids(self.coloured, self.samples or SAMPLES):
                self.coloured = []

    def _read_epochs(self, on_progress: Progress, first: float, last: float) -> list[EpochRead]:
        reads: list[EpochRead] = []
        total = self.ranks * self.epochs
        for rank in range(self.ranks):
            set_rank(rank, self.ranks)
            try:
                loader = self.factory(rank, self.ranks)
                self.kinds = kinds_of_loader(loader)
                if self.samples is None:
                    self.samples = dataset_size(loader)
            except Exception as error:
                words = shortened(" ".join(str(error).split()), 300)
                found = f"{type(error).__name__}: {words}"
                reads.append(EpochRead(rank, -1, end="raised", error=found))
                continue
            for epoch in range(self.epochs):
                done = (rank * self.epochs + epoch) / total
                on_progress(first + (last - first) * done, f"epoch {epoch} of rank {rank}")
                reads.append(self.reader.epoch(loader, rank, epoch))
                if reads[-1].end == "interrupted":
                    return reads
                if reads[-1].end in ("raised", "time"):
                    break
        return reads

    def _leave_early(self) -> None:
        first = next((read for read in self.reads if read.rank == 0 and read.epoch == 0), None)
        if first is None or len(first.batches) < 2 or not first.whole:
            cut = first is not None and not first.whole
            why = "was not read to its end" if cut else "has fewer than two batches"
            self.note("an epoch that is left early", f"an epoch {why}")
            return
        try:
            loader = self.factory(0, self.ranks)
        except Exception as error:
            self.note("an epoch that is left early", f"make_loader raised {error}")
            return
        half = self.reader.epoch(loader, 0, 0, max_batches=max(1, len(first.batches) // 2))
        if half.whole and not half.batches:
            self.note("an epoch that is left early", "the loader can be read only once")
            return
        with warnings.catch_warnings():  # of wb.loader: this function left the epoch
            warnings.filterwarnings("ignore", "This loop continues the epoch")
            following = self.reader.epoch(loader, 0, 1)
        if half.end == "raised" or following.end == "raised":
            self.reads.append(half if half.end == "raised" else following)
        elif "interrupted" in (half.end, following.end):
            self.interrupted = True
        else:
            self.second = half, following

    def _resume(self) -> None:
        try:
            self.resumed = resume(self.reader, self.factory, self.ranks)
        except Exception as error:
            self.resumed = f"it raised {type(error).__name__}: {shortened(str(error), 200)}"

    def judge(self) -> Audit:
        """Return the audit: findings and notes about the batches that were read."""
        self.notes.update(self.reader.notes)
        streams = [s for s in streams_of(self.reads, self.ids) if s.epoch >= 0]
        delivered = streams_of(self.coloured, GIVEN) if self.coloured else streams
        count = self.samples if self.generated else self._plausible_count(delivered)
        self._notes_about_ids(delivered)
        random = self._randomness(streams)
        findings = [*structure_findings(self.reads, streams)]
        training = self._is_training(random)
        findings += coverage_findings(delivered, count, training)
        findings += randomness_findings(streams, self.generated, {r.field: r for r in random})
        if self.training and random and all(each.varies is False for each in random):
            findings.append(
                Finding(
                    "no_random_values",
                    "The outputs of a sample are equal in every epoch, although training=True.",
                )
            )
        findings += self._reproducibility_findings()
        if self.second is not None:
            half, following = streams_of(self.second, self.ids)
            usual = next(s for s in streams if s.rank == 0 and s.epoch == 0)
            found, note = left_early_findings(half, following, usual)
            findings += found
            self.notes |= {note: None} if note else {}
        if isinstance(self.resumed, ResumeRead):
            repeats = not any(each.kind == "not_reproducible" for each in findings)
            found, note = resume_findings(self.resumed, self.ids, values=repeats)
            findings += found
            self.notes |= {note: None} if note else {}
        elif self.resumed:
            self.note("a resumed run", self.resumed)
        self._notes_about_order(delivered, training, random)
        return Audit(
            tuple(
                each.with_fix(self.kinds)
                for each in sorted(findings, key=lambda each: each.level != "fault")
            ),
            tuple(self.notes),
            tuple(delivered),
            tuple(each for each in random if not each.field.endswith(VALUES)),
            count,
            self.interrupted,
        )

    def _plausible_count(self, streams: list[Stream]) -> int | None:
        """Return the given number of samples, or None if more ids than that were delivered."""
        seen, _ = population(streams, None)
        return None if self.samples is None or len(seen) > self.samples else self.samples

    def _randomness(self, streams: list[Stream]) -> list[Randomness]:
        first = next((stream for stream in streams if stream.prints), None)
        names = first.prints if first is not None else {}
        if not names:
            why = "the batches contain no arrays of several numbers"
            self.note("random values", why if any(s.sizes for s in streams) else "nothing was read")
        return [randomness_of(streams, name, self.generated) for name in names]

    def _is_training(self, random: list[Randomness]) -> bool | None:
        if self.training is not None:
            return self.training
        if any(each.varies for each in random):
            return True
        return False if random and all(each.varies is False for each in random) else None

    def _reproducibility_findings(self) -> list[Finding]:
        """Compare the first batches of two loaders that were created with the same global seeds."""
        if self.factory.made is not None or self.second is None:
            return []
        once = next(read for read in self.reads if read.rank == 0 and read.epoch == 0)
        a, b = streams_of([once, self.second[0]], self.ids)
        n = min(a.size, b.size)
        if a.ids is not None and b.ids is not None and a.ids[:n] != b.ids[:n]:
            return [
                Finding(
                    "not_reproducible",
                    "The order of two runs with the same global seeds of Python, NumPy and "
                    "PyTorch differs.",
                    "information",
                )
            ]
        for name in a.prints:
            if name in b.prints and (share := (a.prints[name][:n] != b.prints[name][:n]).mean()):
                return [
                    Finding(
                        "not_reproducible",
                        f"Two runs with the same global seeds of Python, NumPy and PyTorch differ: "
                        f"{share:.0%} of {field_text(name)} in the first {n} samples differ.",
                        "information",
                        case="values",
                    )
                ]
        return []

    def _notes_about_ids(self, streams: list[Stream]) -> None:
        if not any(stream.size for stream in streams):
            return
        if self.generated:
            used = "equal images" if not self.coloured else "equal and coloured images"
            self.notes[f"The data were {self.samples} generated, {used}."] = None
        if any(stream.ids is None for stream in streams):
            self.note(
                "which samples were delivered, and their order",
                "no field of the batches identifies them (add the index to the batch, or pass "
                "index=lambda batch: ...)",
            )
            return
        if self.samples is None:
            self.note("samples that no epoch contains", "their number is unknown (pass samples=)")
        if self.ids and self.ids != GIVEN:
            kind = "" if self.ids.startswith(PIXELS) else "the field "
            self.notes[f"Samples were identified by {kind}{self.ids}."] = None
        cut = [stream for stream in streams if not stream.whole]
        if cut:
            epochs = join_words(sorted({str(stream.epoch) for stream in cut}))
            self.note(
                f"missed samples of epoch {epochs}",
                f"it was read only up to {plural(len(cut[0].sizes), 'batch')} (limit=, seconds=)",
            )
        if note := padding_note(by_epoch([s for s in streams if s.whole])):
            self.notes[note] = None

    def _notes_about_order(
        self, streams: list[Stream], training: bool | None, random: list[Randomness]
    ) -> None:
        if random and all(each.varies is False for each in random):
            why = (
                "outputs of equal images are equal"
                if self.generated
                else "the output of each sample is the same in every epoch. Random values that "
                "repeat in every epoch would look the same; a parameter data without default "
                "lets the audit use equal images"
            )
            self.notes[f"Nothing is random: {why}."] = None
        elif any(each.varies is None or each.collision is None for each in random):
            self.note("random values of some fields", "too few samples can be compared")
        if any(stream.length is None for stream in streams):
            self.note("the number of batches", "the loader has no len()")
        if self.epochs == 1:
            self.note("shuffling, and random values across epochs", "epochs is 1")
        rank = [stream for stream in streams if stream.rank == 0]
        if training is False and all(s.ids is not None for s in rank) and same_order(rank):
            self.notes[
                "The order is the same in every epoch, as in an evaluation. If the loader is for "
                "training, pass training=True."
            ] = None
        if self.ranks > 1:
            self.notes[
                f"The {self.ranks} ranks were read one after the other in this process, without a "
                "process group."
            ] = None


__all__ = ["audit"]
