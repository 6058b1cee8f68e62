"""Times of stages that add up to the whole, and which of them the others wait for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def exclusive_times(prefixes: Sequence[float]) -> list[float]:
    """Milliseconds of each stage by itself, of the times of the pipeline cut behind each.

    They are not negative and add up to the last, which is the whole: no part of a pipeline can take
    longer than more of it, so times that fall are noise, which is spread over the stages that it
    lies between (isotonic regression by pooling adjacent violators, R. E. Barlow et al.,
    Statistical Inference under Order Restrictions, 1972; the last time is kept as it is).
    """
    pools: list[tuple[float, int]] = []
    for time in prefixes[:-1]:
        pools.append((time, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (last, many), (before, few) = pools.pop(), pools.pop()
            pools.append(((before * few + last * many) / (few + many), few + many))
    fitted = [min(mean, prefixes[-1]) for mean, count in pools for _ in range(count)]
    ends = [*fitted, prefixes[-1]]
    return [end - start for start, end in zip([0.0, *ends], ends, strict=False)]


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The stages that a batch waits for, and what runs beside them.

    DALI works at one operator of each kind at a time (``OperatorConcurrency.BACKEND``): a thread
    reads ahead, and operators of the CPU, mixed decoders and operators of the GPU work at
    different batches at once. The kind that is busy longest sets the pace.
    """

    stages: tuple[str, ...]
    milliseconds: float
    beside: Mapping[str, float]
    """Milliseconds of a batch of each other kind, by its name."""

    def words(self, total: float) -> str:
        """For a batch that takes ``total`` milliseconds."""
        text = f"critical path: {' → '.join(self.stages)}, {self.milliseconds:.1f} ms of work for "
        text += f"a batch of {total:.1f} ms"
        beside = ", ".join(f"{name} ({ms:.1f} ms)" for name, ms in self.beside.items())
        return f"{text}; beside it {beside}" if beside else text


def critical_path(busy: Sequence[tuple[str, str, float]]) -> CriticalPath | None:
    """The kind that is busy longest. ``busy`` has each stage's name, kind and milliseconds."""
    spent: dict[str, float] = {}
    for _, kind, milliseconds in busy:
        spent[kind] = spent.get(kind, 0.0) + milliseconds
    if not spent:
        return None
    longest = max(spent, key=lambda kind: spent[kind])
    return CriticalPath(
        tuple(name for name, kind, _ in busy if kind == longest),
        spent[longest],
        {kind: ms for kind, ms in spent.items() if kind != longest},
    )
