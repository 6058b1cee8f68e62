"""Find which samples are delivered, how often, by which rank, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from math import comb, sqrt

import numpy as np

from workbench.training.audit.batches import Id
from workbench.training.audit.findings import Finding, ids_text, plural
from workbench.training.audit.streams import Stream

_REPLACED = 0.15
"""Minimum share of samples that an epoch must both miss and repeat to report sampling with
replacement.
"""
_NEVER = 0.75
"""Minimum share of an epoch's missing samples that all epochs must miss to report ``never_seen``.
"""
_WEAK_RHO, _WEAK_DEVIATIONS = 0.4, 6.0


@dataclass(frozen=True, slots=True)
class EpochCount:
    """Numbers of samples that an epoch of all ranks delivered once, repeatedly, or not at all."""

    epoch: int
    seen: int
    once: int
    repeated: int
    missed: int
    padding: int


def by_epoch(streams: Sequence[Stream]) -> dict[int, list[Stream]]:
    """Group streams by epoch."""
    found: dict[int, list[Stream]] = {}
    for stream in streams:
        found.setdefault(stream.epoch, []).append(stream)
    return found


def population(streams: Sequence[Stream], count: int | None) -> tuple[set[Id], int]:
    """Return the ids that were delivered, and the number of samples.

    This number is ``count``, or the number of ids if that is larger.
    """
    seen = {each for stream in streams for each in stream.ids or ()}
    return seen, max(count or 0, len(seen))


def counts_of(streams: Sequence[Stream], count: int | None) -> list[EpochCount]:
    """Return the counts of each epoch that every rank read to its end."""
    _, total = population(streams, count)
    rows = []
    for epoch, members in by_epoch(streams).items():
        if any(stream.ids is None or not stream.whole for stream in members):
            continue
        padded = sum(map(len, _padding(members).values()))
        times = Counter(each for stream in members for each in stream.ids or ())
        once = sum(1 for n in times.values() if n == 1)
        rows.append(
            EpochCount(epoch, len(times), once, len(times) - once, total - len(times), padded)
        )
    return rows


def _padding(members: Sequence[Stream]) -> dict[int, list[Id]]:
    """Return the padding at the end of each rank's last batch, by rank.

    A sample is padding if an earlier batch or another rank delivered it too.
    """
    found: dict[int, list[Id]] = {}
    times = Counter(each for stream in members for each in stream.ids or ())
    for stream in members:
        ids, last = stream.ids or (), stream.sizes[-1] if stream.sizes else 0
        tail: list[Id] = []
        for each in reversed(ids[max(1, len(ids) - last) :] if len(stream.sizes) > 1 else ids[1:]):
            if times[each] < 2:
                break
            times[each] -= 1
            tail.append(each)
        if len(tail) == last and len(ids) > len(tail) and len(members) > 1 and last > 1:
            tail = []  # a whole batch: shards that overlap
        found[stream.rank] = tail
    return found


def coverage_findings(
    streams: Sequence[Stream], count: int | None, training: bool | None
) -> Iterator[Finding]:
    """Yield findings about repeated and missed samples, about shards, and about the order."""
    epochs = {
        epoch: members
        for epoch, members in by_epoch(streams).items()
        if all(stream.ids is not None and stream.whole and stream.sizes for stream in members)
    }
    if not epochs:
        return
    seen, total = population(streams, count)
    replaced = _replacement_finding(epochs, total)
    if replaced is not None:
        yield replaced
    else:
        yield from _repeated(epochs)
        yield from _missed_findings(epochs, seen, total, training)
    yield from _order(epochs, training)
    yield from _shard_findings(epochs)


def _replacement_finding(epochs: dict[int, list[Stream]], total: int) -> Finding | None:
    """Return a finding if the loader samples with replacement, else None.

    With replacement, each epoch repeats many samples and misses many others, and different epochs
    miss different samples.
    """
    times = {
        epoch: Counter(each for stream in members for each in stream.ids or ())
        for epoch, members in epochs.items()
    }
    repeated = {epoch: sum(n > 1 for n in found.values()) for epoch, found in times.items()}
    for epoch, found in times.items():
        if min((total - len(found)) / total, repeated[epoch] / len(found)) < _REPLACED:
            return None
    if len(times) > 1 and len({frozenset(found.items()) for found in times.values()}) == 1:
        return None
    epoch = next(iter(times))
    return Finding(
        "with_replacement",
        f"Samples are delivered as if drawn with replacement: epoch {epoch} repeats "
        f"{repeated[epoch]} of {total} samples and misses {total - len(times[epoch])}.",
        "information",
    )


def sorted_ids(ids: Sequence[Id] | frozenset[Id]) -> list[Id]:
    """Sort ids, with integers before strings."""
    return sorted(ids, key=lambda each: (isinstance(each, str), each))


def _repeated(epochs: dict[int, list[Stream]]) -> Iterator[Finding]:
    within: dict[int, tuple[int, Counter[Id]]] = {}
    across: dict[int, tuple[int, int, set[Id]]] = {}
    padded: dict[int, dict[int, list[Id]]] = {}
    for epoch, members in epochs.items():
        tails = _padding(members)
        if any(tails.values()):
            padded[epoch] = tails
        cut = {s.rank: (s.ids or ())[: s.size - len(tails[s.rank])] for s in members}
        for stream in members:
            repeats = len({*cut[stream.rank]}) < len(cut[stream.rank])
            if repeats and epoch not in within:
                times = Counter(stream.ids or ())
                within[epoch] = (stream.rank, Counter({e: n for e, n in times.items() if n > 1}))
        ranks = sorted(cut)
        for place, a in enumerate(ranks):
            for b in ranks[place + 1 :]:
                common = {*cut[a]} & {*cut[b]}
                if common and epoch not in across:
                    across[epoch] = (a, b, common)
    if across:
        epoch, (a, b, common) = next(iter(across.items()))
        size = next(stream.size for stream in epochs[epoch] if stream.rank == b)
        yield Finding(
            "overlapping_shards",
            f"Ranks {a} and {b} both read {len(common)} of the {size} samples of rank {b} in "
            f"epoch {epoch} ({ids_text(common)}){_other_epochs_text(across)}.",
            case="" if len(common) > size / 2 else "edge",
        )
    if within:
        epoch, (rank, times) = next(iter(within.items()))
        stream = next(each for each in epochs[epoch] if each.rank == rank)
        same = {*times.values()}
        how = f"{same.pop()} times" if len(same) == 1 else f"2 to {max(times.values())} times"
        workers = len(times) >= 0.9 * len({*(stream.ids or ())})
        yield Finding(
            "repeated",
            f"Rank {rank} reads {len(times)} of {len({*(stream.ids or ())})} samples {how} in "
            f"epoch {epoch} ({ids_text({*times})}){_other_epochs_text(within)}.",
            case="workers" if workers else "",
        )
    if not across and not within:
        yield from _padding_findings(epochs, padded)


def _padding_findings(
    epochs: dict[int, list[Stream]], padded: dict[int, dict[int, list[Id]]]
) -> Iterator[Finding]:
    """Yield a finding if ranks repeat more samples at the end than equally large shards require."""
    for epoch, tails in padded.items():
        ranks = len(epochs[epoch])
        number = sum(map(len, tails.values()))
        if number < ranks:
            continue
        rank = max(tails, key=lambda each: len(tails[each]))
        yield Finding(
            "padded_last_batch",
            f"The last batch of rank {rank} in epoch {epoch} repeats {len(tails[rank])} samples "
            f"({ids_text({*tails[rank]})}); all ranks repeat {number}{_other_epochs_text(padded)}.",
        )
        return


def padding_note(epochs: dict[int, list[Stream]]) -> str:
    """Return a sentence about samples that are repeated so that all shards are equally long.

    Returns "" if no samples are repeated for this reason.
    """
    for epoch, members in epochs.items():
        if any(stream.ids is None for stream in members):
            continue
        number = sum(map(len, _padding(members).values()))
        times = Counter(each for stream in members for each in stream.ids or ())
        if 0 < number < len(members) and number == times.total() - len(times):
            return (
                f"{plural(number, 'sample')} of epoch {epoch} repeated to make all ranks equally "
                "long, as DistributedSampler does."
            )
    return ""


def _missed_findings(
    epochs: dict[int, list[Stream]], seen: set[Id], total: int, training: bool | None
) -> Iterator[Finding]:
    never = total - len(seen)
    missed = {
        epoch: seen - {each for stream in members for each in stream.ids or ()}
        for epoch, members in epochs.items()
    }
    lacking = {epoch: len(ids) + never for epoch, ids in missed.items() if ids or never}
    if not lacking:
        return
    epoch = next(iter(lacking))
    ids = missed[epoch]
    which = f" ({ids_text(ids)})" if ids else ""
    if all(_drops_remainder(epochs[each], number) for each, number in lacking.items()):
        stream = epochs[epoch][0]
        others = never < lacking[epoch]
        full = {size for each in epochs[epoch] for size in each.sizes} == {stream.sizes[0]}
        what = (
            f"every batch has {stream.sizes[0]} samples, and the rest of a shard is dropped"
            if full
            else f"every rank has {stream.size} samples, and the rest is dropped"
        )
        yield Finding(
            "dropped_remainder",
            f"Epoch {epoch} misses {lacking[epoch]} of {total} samples{which}: {what}, "
            f"{'others' if others else 'the same'} in each epoch.",
            "information" if others and training else "fault",
        )
        return
    if never >= _NEVER * min(lacking.values()):
        yield Finding(
            "never_seen",
            f"{never} of {total} samples are in none of {plural(len(epochs), 'epoch')}.",
        )
    elif any(missed.values()):
        epoch = next(each for each, found in missed.items() if found)
        yield Finding(
            "missed",
            f"Epoch {epoch} misses {lacking[epoch]} of {total} samples "
            f"({ids_text(missed[epoch])})"
            f"{_other_epochs_text([e for e, found in missed.items() if found])}; "
            f"{never or 'none'} of them are missing in all epochs.",
        )


def _drops_remainder(members: Sequence[Stream], lacking: int) -> bool:
    """Return whether samples are missing only because batches or shards must be equally large."""
    sizes = {size for stream in members for size in stream.sizes}
    if len(sizes) == 1 and lacking < len(members) * next(iter(sizes)):
        return True
    return lacking < len(members) and len({stream.size for stream in members}) == 1


def _order(epochs: dict[int, list[Stream]], training: bool | None) -> Iterator[Finding]:
    ranks: dict[int, list[Stream]] = {}
    for members in epochs.values():
        for stream in members:
            ranks.setdefault(stream.rank, []).append(stream)
    fixed = [rank for rank, own in ranks.items() if same_order(own)]
    if fixed and len(fixed) == len(ranks) and training is not False:
        first = ranks[fixed[0]][0].ids or ()
        ascending = list(first) == sorted_ids(first)
        yield Finding(
            "no_shuffle",
            f"The {len(first)} samples of rank {fixed[0]} have the same order in all "
            f"{len(epochs)} epochs{', ascending' if ascending else ''} (probability "
            f"1/{len(first)}! if shuffled).",
            "fault" if training else "information",
        )
        return
    weak = [
        (abs(rho), stream.rank, stream.epoch)
        for own in ranks.values()
        for stream in own
        if not same_order(own) and (rho := rank_correlation(stream)) is not None
    ]
    clear = [each for each in weak if each[0] > _WEAK_RHO]
    if clear and len(clear) > len(weak) / 2 and training is not False:
        rho, rank, epoch = clear[0]
        yield Finding(
            "weak_shuffle",
            f"The order of rank {rank} in epoch {epoch} follows the sample numbers: rank "
            f"correlation {rho:.2f}, about 0 if shuffled.",
            "fault" if training else "information",
        )


def same_order(streams: Sequence[Stream]) -> bool:
    """Return whether several epochs of a rank have the same samples in the same order."""
    return (
        len(streams) > 1
        and len(streams[0].ids or ()) > 3
        and len({stream.ids for stream in streams}) == 1
    )


def rank_correlation(stream: Stream) -> float | None:
    """Return Spearman's correlation between position and integer id: 0 if it is not significant.

    For a random order, the correlation has the standard deviation 1 / sqrt(n - 1) (Kendall and
    Gibbons, 1990). Returns None for fewer than 20 samples, or if ids are not integers.
    """
    ids = stream.ids or ()
    if len(ids) < 20 or not all(isinstance(each, int) for each in ids):
        return None
    ranks = np.argsort(np.argsort(np.array(ids)))
    rho = float(np.corrcoef(ranks, np.arange(len(ids)))[0, 1])
    return rho if abs(rho) * sqrt(len(ids) - 1) > _WEAK_DEVIATIONS else 0.0


def _shard_findings(epochs: dict[int, list[Stream]]) -> Iterator[Finding]:
    first = next(iter(epochs.values()))
    if len(epochs) < 2 or len(first) < 2:
        return
    sets: dict[int, set[frozenset[Id]]] = {}
    orders: dict[int, set[tuple[Id, ...]]] = {}
    for members in epochs.values():
        for stream in members:
            sets.setdefault(stream.rank, set()).add(frozenset(stream.ids or ()))
            orders.setdefault(stream.rank, set()).add(stream.ids or ())
    fixed = all(len(found) == 1 for found in sets.values())
    shuffled = any(len(found) > 1 for found in orders.values())
    distinct = {shard for found in sets.values() for shard in found}
    if not (fixed and shuffled and len(distinct) == len(sets)):
        return
    size = len(next(iter(sets[first[0].rank])))
    total = len({each for shard in distinct for each in shard})
    chance = comb(total, size)
    yield Finding(
        "shards_never_rotate",
        f"Rank {first[0].rank} reads the same {size} of {total} samples in all {len(epochs)} "
        f"epochs, and so does each other rank (probability 1 in 10^{len(str(chance)) - 1} per "
        "epoch if shuffled across ranks).",
    )


def _other_epochs_text(epochs: Sized) -> str:
    others = len(epochs) - 1
    return f", and in {plural(others, 'other epoch')}" if others > 0 else ""
