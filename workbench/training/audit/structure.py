"""Check a loader for errors, wrong epoch lengths, and faults after a partial or resumed epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.training.audit.coverage import by_epoch
from workbench.training.audit.findings import Finding, field_text, ids_text, plural
from workbench.training.audit.reading import EpochRead, ResumeRead
from workbench.training.audit.streams import Stream, streams_of


def structure_findings(reads: Sequence[EpochRead], streams: Sequence[Stream]) -> Iterator[Finding]:
    """Yield findings that need no sample ids: errors, lengths, and types of batches."""
    yield from _error_findings(reads)
    yield from _length_findings(reads)
    whole = [stream for stream in streams if stream.whole]
    is_empty = bool(whole) and not any(stream.sizes for stream in streams)
    if is_empty:
        yield Finding(
            "empty_epoch",
            f"The loader has no batches in {plural(len(whole), 'epoch')}.",
        )
    for stream in () if is_empty else whole:
        if stream.epoch and not stream.sizes:
            yield Finding(
                "empty_epoch",
                f"Epoch {stream.epoch} of rank {stream.rank} has no batches: the loader can be "
                "read only once.",
                case="once",
            )
            break
    for stream in streams:
        if 0 in stream.sizes and not stream.padding:
            yield Finding(
                "empty_batch",
                f"Batch {stream.sizes.index(0)} of rank {stream.rank} in epoch {stream.epoch} has "
                "no samples.",
            )
            break
    for epoch, members in by_epoch(whole).items():
        counts = {stream.rank: len(stream.sizes) for stream in members}
        if len({*counts.values()}) > 1:
            most, least = max(counts, key=counts.__getitem__), min(counts, key=counts.__getitem__)
            yield Finding(
                "uneven_ranks",
                f"In epoch {epoch} rank {most} has {plural(counts[most], 'batch')} and rank "
                f"{least} has {counts[least]}: synchronised training waits forever.",
            )
            break
    yield from _field_findings(reads)


def _error_findings(reads: Sequence[EpochRead]) -> Iterator[Finding]:
    for read in reads:
        if read.end == "raised":
            where = (
                f"batch {len(read.batches)} of rank {read.rank} in epoch {read.epoch}"
                if read.epoch >= 0
                else f"make_loader for rank {read.rank}"
            )
            hint = ""
            if "process group" in read.error:
                hint = " Pass num_replicas=ranks and rank=rank; no process group is started."
            wrong = f"{read.argument}=" if read.argument else "the loader"
            called = f"{wrong} at " if read.argument else ""
            yield Finding("raised", f"An error occurred in {called}{where}: {read.error}.",
                          fix=f"Correct {wrong} and repeat the audit.{hint}")  # fmt: skip
            return


def _length_findings(reads: Sequence[EpochRead]) -> Iterator[Finding]:
    wrong = []
    for read in reads:
        found = len(read.batches)
        beyond = read.end == "limit" and read.length is not None and found > read.length
        empty = read.epoch and not found
        known = read.length is not None and (read.whole or beyond)
        if known and found != read.length and not empty:
            wrong.append(read)
    if wrong:
        read = wrong[0]
        found = len(read.batches)
        at_least = "" if read.whole else "at least "
        also = f", and wrong in {plural(len(wrong) - 1, 'other epoch')}" if len(wrong) > 1 else ""
        yield Finding(
            "wrong_length",
            f"len(loader) is {read.length}, but epoch {read.epoch} of rank {read.rank} has "
            f"{at_least}{plural(found, 'batch')}{also}.",
            case="" if read.whole else "endless",
        )


def _field_findings(reads: Sequence[EpochRead]) -> Iterator[Finding]:
    first: tuple[str, ...] | None = None
    for read in reads:
        for number, batch in enumerate(read.batches):
            first = batch.names if first is None else first
            if batch.names != first:
                yield Finding(
                    "changing_batches",
                    f"Batch {number} of rank {read.rank} in epoch {read.epoch} has the fields "
                    f"{', '.join(batch.names) or 'none'}; the first batch had "
                    f"{', '.join(first) or 'none'}.",
                )
                return


def left_early_findings(first: Stream, second: Stream, usual: Stream) -> tuple[list[Finding], str]:
    """Check the iteration after an epoch that was left early.

    ``first`` contains the samples of the epoch that was left, and ``second`` contains the samples
    of the next iteration. ``usual`` is an epoch that was read to its end. Returns findings, or a
    note if there are no findings.
    """
    left = plural(len(first.sizes), "batch")
    if not second.sizes and second.whole:
        sentence = f"After an epoch was left after {left}, the next iteration has no batches."
        return [Finding("left_early", sentence)], ""
    if not second.whole:
        return [], f"Not checked: the order after an epoch was left early ({left}), because " + (
            "the next epoch was not read to its end."
        )
    rest = usual.size - first.size
    common = {*(first.ids or ())} & {*(second.ids or ())}
    spare = max(usual.sizes)  # shards differ by one sample, and padding repeats some
    is_new = usual.ids is None or len({*(second.ids or ())}) >= 0.8 * len({*usual.ids})
    if abs(second.size - usual.size) <= 1 and is_new:
        return [], f"After an epoch was left after {left}, the next iteration is a new epoch."
    if abs(second.size - rest) <= 1 and len(common) < spare:
        return [], (
            f"After an epoch was left after {left}, the next iteration continues it with the other "
            f"{plural(second.size, 'sample')}."
        )
    new = f" {len(common)} were delivered before it was left." if common else ""
    sentence = (
        f"After an epoch of {usual.size} samples was left after {left}, the next iteration has "
        f"{plural(second.size, 'sample')}, neither the other {rest} nor a whole epoch.{new}"
    )
    return [Finding("left_early", sentence)], ""


def resume_findings(read: ResumeRead, ids: str | None, values: bool) -> tuple[list[Finding], str]:
    """Compare a resumed run with the uninterrupted run.

    If ``values`` is true, random values are compared too. Returns findings, or a note if there are
    no findings.
    """
    taken, *_ = streams_of([read.taken], ids)
    rest, *following = streams_of(read.rest, ids)
    resumed = streams_of(read.resumed, ids)
    after = f"after {plural(len(taken.sizes), 'batch')}"
    raised = next((each for each in read.resumed if each.end == "raised"), None)
    if raised is not None:
        sentence = f"A run resumed {after} raised {raised.error}."
        return [Finding("resume_differs", sentence, case="raised")], ""
    again = resumed[0]
    if not rest.whole or not again.whole:
        return [], "Not checked: the resumed run, because it was not read to its end."
    expected, got = _order_of(rest), _order_of(again)
    start = _order_of(taken)
    if expected is None or got is None or start is None:
        return [], "Not checked: the resumed run, because the samples cannot be identified."
    if got == expected:
        return _compare_values(rest, again, following, resumed[1:], after, values)
    whole = len(taken.sizes) + len(rest.sizes)
    if got[: len(start)] == start or len(again.sizes) >= whole:
        sentence = (
            f"A run resumed {after} of {whole} starts again at the first sample: it has "
            f"{plural(len(again.sizes), 'batch')} instead of {len(rest.sizes)}."
        )
        return [Finding("resume_restarts", sentence)], ""
    twice, lost = {*got} & {*start}, {*expected} - {*got}
    sentence = (
        f"A run resumed {after} differs from the uninterrupted one: of {len(expected)} samples "
        f"left in the epoch {len(lost)} are lost, and {len(twice)} are repeated"
        f"{f' ({ids_text(twice)})' if twice and taken.ids is not None else ''}."
    )
    if not lost and not twice:
        sentence = f"A run resumed {after} has the right samples in another order."
    return [Finding("resume_differs", sentence)], ""


def _compare_values(
    rest: Stream, again: Stream, following: Sequence[Stream], next_epoch: Sequence[Stream],
    after: str, values: bool,
) -> tuple[list[Finding], str]:  # fmt: skip
    both = [each for each in (*following, *next_epoch) if each.whole]
    if len(both) == 2 and _order_of(both[0]) != _order_of(both[1]):
        sentence = (
            f"A run resumed {after} finishes its epoch correctly, but the order of the next "
            "epoch differs from the uninterrupted run."
        )
        return [Finding("resume_differs", sentence)], ""
    for name in (each for each in rest.prints if values and each in again.prints):
        same = (rest.prints[name] == again.prints[name]).mean()
        if same < 1:
            sentence = (
                f"A run resumed {after} has the right samples, but {field_text(name)} of "
                f"{1 - same:.0%} differs from the uninterrupted run: the state has no random "
                "numbers."
            )
            return [Finding("resume_differs", sentence, "information", case="values")], ""
    return [], f"A run resumed {after} equals the uninterrupted run."


def _order_of(stream: Stream) -> list[int | str] | None:
    """Return the ids of a stream, or its fingerprints if the ids are unknown."""
    if stream.ids is not None:
        return list(stream.ids)
    first = next(iter(stream.prints.values()), None)
    return None if first is None else [int(each) for each in first]
