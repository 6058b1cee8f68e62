"""How full the JPEG engines, the cores and the bus were, and what the machine could give at most.

Each of them does a fixed amount of work for an image, so a rate at which it was busy for a share of
the time becomes the limit when divided by that share. The least of the limits is the physical one.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.bench.measuring.measurement import Measurement, rate_words

ENGINES, CORES, BUS = "JPEG engines", "cores", "bus"
FULL = 0.97
"""A resource that is busy for so much of the time is used up, as far as counters tell."""
_TOLD = 0.2
"""What is busy for less than this share of the time says nothing of where it would end."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One of them: the share of the time that it was busy, None where nothing tells."""

    name: str
    busy: float | None
    why_unknown: str = ""

    def words(self) -> str:
        """``JPEG engines 91 %``."""
        if self.busy is None:
            return f"{self.name}: not known ({self.why_unknown})"
        return f"{self.name} {self.busy:.0%}"


@dataclass(frozen=True, slots=True)
class Headroom:
    """What a setting used, and what is left. ``limit`` is in imgs/s, None where it is not known."""

    resources: tuple[Resource, ...]
    rate: float
    frames: int = 0

    @property
    def fullest(self) -> Resource | None:
        """What ends first, of what is known to be used enough to tell."""
        known = [each for each in self.resources if each.busy is not None and each.busy >= _TOLD]
        return max(known, key=lambda each: each.busy or 0.0, default=None)

    @property
    def limit(self) -> float | None:
        """imgs/s where the fullest is busy all the time."""
        found = self.fullest
        return None if found is None or not found.busy else self.rate / min(found.busy, 1.0)

    @property
    def exhausted(self) -> bool:
        """Whether no setting can bring more: the engines do the same for an image whatever is set.

        Cores that are busy do not say so: another batch size may make an image cheaper.
        """
        return any(
            each.name in (ENGINES, BUS) and each.busy is not None and each.busy >= FULL
            for each in self.resources
        )

    def words(self) -> str:
        """How full each was, the limit, and the fraction of it that is reached."""
        used = "; ".join(each.words() for each in self.resources)
        found = self.fullest
        if found is None or self.limit is None:
            return f"used: {used}. The physical limit is not known"
        reached = self.rate / self.limit
        return (
            f"used: {used}. The {found.name} end at {rate_words(self.limit, self.frames)}, of "
            f"which {reached:.0%} are reached"
        )


def headroom_of(row: Measurement, cores: int) -> Headroom | None:
    """That of a measurement on a machine of so many usable cores; None where it has no figure."""
    if row.median is None or row.cpu_cores is None:
        return None
    resources = [Resource(CORES, min(1.0, row.cpu_cores / cores))]
    if row.device == "mixed":
        unseen = "NVML does not tell"
        engines = None if row.jpeg_busy is None else row.jpeg_busy / 100
        bus = None if row.bus_busy is None else row.bus_busy / 100
        resources += [Resource(ENGINES, engines, unseen), Resource(BUS, bus, unseen)]
    return Headroom(tuple(resources), row.median, row.config.frames)
