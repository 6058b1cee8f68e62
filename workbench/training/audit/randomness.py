"""Find repeated random values, and bound the probability that this happens by chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, inf, lgamma, log, sqrt
from typing import Any

import numpy as np

from workbench.training.audit.batches import VALUES
from workbench.training.audit.findings import Finding, field_text, plural
from workbench.training.audit.streams import Stream

Prints = np.ndarray[Any, np.dtype[np.uint64]]
_LEAST_SHARE = 0.5
_LARGEST_P = 1e-6
"""Equal values are reported if their probability, times the number of tests, is below this."""
_TESTS = 1_000
_PAIRS = 20_000
_FEWEST_PAIRS = 30
_REPEATED_BATCH = 0.9
"""Minimum share of equal samples at which two batches are reported to have the same random values.
"""


@dataclass(frozen=True, slots=True)
class Randomness:
    """Statistics of the random values of a field.

    ``collision`` is the share of equal outputs among pairs of samples of different batches and
    positions, or None if there were too few pairs; ``upper`` is its upper confidence limit.
    ``varies`` is true if the field has random values, and None if that is unknown.
    """

    field: str
    collision: float | None
    upper: float
    varies: bool | None


def randomness_of(streams: Sequence[Stream], name: str, equal_images: bool) -> Randomness:
    """Measure how often two samples have the same value of field ``name``, and whether values vary.

    ``equal_images`` is true if all input images are identical.
    """
    used = [stream for stream in streams if name in stream.prints and stream.size]
    if not used:
        return Randomness(name, None, 1.0, None)
    prints = np.concatenate([stream.prints[name] for stream in used])
    batch = np.concatenate([number * 10**6 + s.batch for number, s in enumerate(used)])
    position = np.concatenate([stream.position for stream in used])
    ids = _codes(used)
    chance = np.random.default_rng(0)
    a, b = chance.integers(0, len(prints), (2, _PAIRS))
    apart = batch[a] != batch[b]
    if position.any():  # equal positions of two batches can have equal random values by mistake
        apart &= position[a] != position[b]
    if ids is not None:
        apart &= ids[a] != ids[b]
    varies = len({*prints.tolist()}) > 1 if equal_images else _varies(used, name)
    if apart.sum() < _FEWEST_PAIRS:
        return Randomness(name, None, 1.0, varies)
    share = float((prints[a] == prints[b])[apart].mean())
    count = len(prints)
    upper = min(1.0, share + 3 * sqrt(share * (1 - share) / count) + 1 / count)
    return Randomness(name, share, upper, varies)


def hoeffding_bound(equal: int, pairs: int, share: float) -> float:
    """Return an upper bound on the probability that ``equal`` or more of ``pairs`` pairs are equal.

    Each pair is equal with probability ``share``. The bound is exp(-n KL(k/n || q)), theorem 1 of
    Hoeffding (1963).
    """
    rate = equal / pairs if pairs else 0.0
    if rate <= share or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    divergence = rate * log(rate / share)
    if rate < 1:
        divergence += (1 - rate) * log((1 - rate) / (1 - share))
    return exp(-pairs * divergence)


def randomness_findings(
    streams: Sequence[Stream], equal_images: bool, known: dict[str, Randomness]
) -> Iterator[Finding]:
    """Yield at most one finding per kind of repetition: the one with the smallest probability."""
    used = {name: r for name, r in known.items() if r.varies and r.collision is not None}
    for search in (_within_batches, _across_epochs, _across_ranks, _across_workers):
        found: list[tuple[float, bool, str, Finding]] = []
        for name, random in used.items():
            for each in search(streams, name, random, equal_images):
                found.append((each.probability or 0.0, name.endswith(VALUES), name, each))
        if search is _within_batches:  # otherwise whole batches would count as many samples
            for _, _, name, _ in found:
                used.pop(name, None)
            # A few numbers per batch, such as the weight of mixup, are intended.
            found = [each for each in found if each[1] or each[2] + VALUES in known]
        if found:
            yield min(found, key=lambda each: each[:2])[-1]
    views = _equal_views(streams, known)
    if views is not None:
        yield views


def _across_epochs(
    streams: Sequence[Stream], name: str, random: Randomness, equal_images: bool
) -> Iterator[Finding]:
    """Yield findings about equal outputs in two epochs of a rank.

    Outputs are compared by position, and by sample if all images are equal.
    """
    for a, b in combinations([s for s in streams if name in s.prints], 2):
        if a.rank == b.rank and a.epoch != b.epoch:
            same = _by_position(a, b, name, equal_images)
            where = f"the same position of epochs {a.epoch} and {b.epoch} (rank {a.rank})"
            yield from _repetition_findings("repeated_across_epochs", same, where, random)
    if equal_images:
        epochs: dict[int, dict[Any, int]] = {}
        for stream in streams:
            if stream.ids is not None and name in stream.prints:
                pairs = zip(stream.ids, stream.prints[name].tolist(), strict=True)
                epochs.setdefault(stream.epoch, {}).update(pairs)
        for e, f in combinations(epochs, 2):
            common = epochs[e].keys() & epochs[f].keys()
            same = np.array([epochs[e][each] == epochs[f][each] for each in common], bool)
            where = f"the same sample in epochs {e} and {f}"
            yield from _repetition_findings("repeated_across_epochs", same, where, random)


def _across_ranks(
    streams: Sequence[Stream], name: str, random: Randomness, equal_images: bool
) -> Iterator[Finding]:
    for a, b in combinations([s for s in streams if name in s.prints], 2):
        if a.epoch == b.epoch and a.rank != b.rank:
            same = _by_position(a, b, name, equal_images)
            where = f"the same position of ranks {a.rank} and {b.rank} in epoch {a.epoch}"
            yield from _repetition_findings("repeated_across_ranks", same, where, random)


def _across_workers(
    streams: Sequence[Stream], name: str, random: Randomness, equal_images: bool
) -> Iterator[Finding]:
    """Yield a finding for each epoch in which batches repeat the outputs of an earlier batch."""
    for stream in streams:
        if name not in stream.prints:
            continue
        edges = np.cumsum(stream.sizes)[:-1]
        parts = np.split(stream.prints[name], edges)
        ids = None if stream.ids is None else np.split(np.array(stream.ids, object), edges)
        repeats: list[tuple[int, int, int, int]] = []
        for k in range(1, len(parts)):
            for j in range(max(0, k - 64), k):
                n = min(len(parts[j]), len(parts[k]))
                if not n or (
                    ids is not None and not equal_images and (ids[j][:n] == ids[k][:n]).any()
                ):
                    continue
                same = int((parts[j][:n] == parts[k][:n]).sum())
                if same >= _REPEATED_BATCH * n:
                    repeats.append((j, k, same, n))
                    break
        if not repeats:
            continue
        # The union bound over all sets of as many pairs of batches.
        pairs = len(parts) * (len(parts) - 1) / 2
        count = len(repeats)
        chance = _log(_binomial(pairs, count)) + sum(
            _log(hoeffding_bound(same, n, random.upper)) for _, _, same, n in repeats
        )
        p = exp(min(0.0, chance))
        if p * _TESTS > _LARGEST_P:
            continue
        j, k, same, n = repeats[0]
        yield Finding(
            "repeated_across_workers",
            f"{plural(count, 'batch')} of {len(parts)} in epoch {stream.epoch} of rank "
            f"{stream.rank} repeat the random values of an earlier batch (batches {j} and {k}: "
            f"{field_text(name)} is equal for {same} of {n} samples). {_probability(p, random)}",
            probability=p,
        )


def _within_batches(
    streams: Sequence[Stream], name: str, random: Randomness, equal_images: bool
) -> Iterator[Finding]:
    for stream in streams:
        if name not in stream.prints or max(stream.sizes, default=0) < 2:
            continue
        prints, batch = stream.prints[name], stream.batch
        ids = _codes([stream])
        near = batch[1:] == batch[:-1]
        if not equal_images and ids is not None:
            near &= ids[1:] != ids[:-1]
        same = (prints[1:] == prints[:-1])[near]
        where = f"neighbours in a batch of epoch {stream.epoch} (rank {stream.rank})"
        yield from _repetition_findings("repeated_across_samples", same, where, random)


def _repetition_findings(
    kind: str, same: np.ndarray[Any, np.dtype[np.bool_]], where: str, random: Randomness
) -> Iterator[Finding]:
    equal, pairs = int(same.sum()), len(same)
    if not pairs or equal < _LEAST_SHARE * pairs:
        return
    p = hoeffding_bound(equal, pairs, random.upper)
    if p * _TESTS > _LARGEST_P:
        return
    yield Finding(
        kind,
        f"Random values repeat: {field_text(random.field)} is equal for {equal} of {pairs} pairs "
        f"of {where}. {_probability(p, random)}",
        probability=p,
    )


def _equal_views(streams: Sequence[Stream], known: dict[str, Randomness]) -> Finding | None:
    """Return a finding if two random fields are equal for nearly all samples, else None."""
    names = [
        name
        for name, random in known.items()
        if not name.endswith(VALUES) and random.varies and random.collision is not None
    ]
    for first, second in combinations(names, 2):
        used = [s for s in streams if first in s.prints and second in s.prints]
        if not used:
            continue
        same = np.concatenate([s.prints[first] == s.prints[second] for s in used])
        random = max((known[first], known[second]), key=lambda each: each.upper)
        p = hoeffding_bound(int(same.sum()), len(same), random.upper)
        if same.mean() >= _REPEATED_BATCH and p * _TESTS < _LARGEST_P:
            return Finding(
                "equal_views",
                f"The views {field_text(first)} and {field_text(second)} are equal for "
                f"{int(same.sum())} of {len(same)} samples. {_probability(p, random)}",
                probability=p,
            )
    return None


def _by_position(
    a: Stream, b: Stream, name: str, equal_images: bool
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return for each position whether two epochs have the same output there.

    Unless all images are equal, positions with the same sample in both epochs are excluded.
    """
    if a.sizes[:1] != b.sizes[:1]:
        return np.zeros(0, bool)
    n = min(a.size, b.size)
    same: np.ndarray[Any, np.dtype[np.bool_]] = a.prints[name][:n] == b.prints[name][:n]
    if equal_images:
        return same
    ids = _codes([a, b])
    if ids is None:
        return np.zeros(0, bool)
    others: np.ndarray[Any, np.dtype[np.bool_]] = ids[: a.size][:n] != ids[a.size :][:n]
    return np.asarray(same[others])


def _varies(streams: Sequence[Stream], name: str) -> bool | None:
    """Return whether outputs of the same sample differ, or None if no sample was seen twice."""
    seen: dict[Any, int] = {}
    pairs = different = 0
    for stream in streams:
        if stream.ids is None:
            return _new_outputs(streams, name)
        for each, value in zip(stream.ids, stream.prints[name].tolist(), strict=True):
            if each in seen:
                pairs += 1
                different += seen[each] != value
            seen[each] = value
    return different > 0.1 * pairs if pairs else None


def _new_outputs(streams: Sequence[Stream], name: str) -> bool | None:
    """Return whether later epochs have outputs that the first epoch did not have."""
    epochs: dict[int, set[int]] = {}
    for stream in streams:
        epochs.setdefault(stream.epoch, set()).update(stream.prints[name].tolist())
    first, *others = epochs.values()
    return len(others[0] - first) > 0.1 * len(others[0]) if others else None


def _codes(streams: Sequence[Stream]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Return the sample ids of streams as integers, or None if they are unknown."""
    if any(stream.ids is None for stream in streams):
        return None
    codes: dict[Any, int] = {}
    found = [codes.setdefault(each, len(codes)) for s in streams for each in s.ids or ()]
    return np.array(found, np.int64)


def _probability(p: float, random: Randomness) -> str:
    share = f"{random.collision:.2g}" if random.collision else f"at most {random.upper:.2g}"
    chance = "below 1e-300" if p < 1e-300 else f"at most {p:.1g}"
    return (
        f"If they were independent, the probability would be {chance} (two samples are equal with "
        f"probability {share}, measured on other pairs)."
    )


def _binomial(n: float, k: int) -> float:
    """Return the binomial coefficient; large coefficients are approximate."""
    if k > n:
        return 1.0
    value = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(value) if value < 700 else inf


def _log(value: float) -> float:
    return log(value) if 0 < value < inf else (-inf if value <= 0 else 700.0)
