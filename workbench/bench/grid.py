"""The settings that a sweep tries: threads x batch x prefetch x load x pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from workbench.bench.config import Config
from workbench.catalog.spec import Catalog
from workbench.engine.machine import Machine
from workbench.graph.model import DecodeDevice, Graph
from workbench.graph.pipelines import pipeline_faults

KNOBS = ("hw_decoder_load", "threads", "batch_size", "prefetch", "pipelines")

Value = int | float | None
Place = tuple[int, ...]
"""An index into the values of each knob, in the order of ``KNOBS``."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The values of each knob, ascending."""

    threads: tuple[int, ...]
    batch_size: tuple[int, ...]
    prefetch: tuple[int, ...] = (1, 2, 4)
    hw_decoder_load: tuple[float | None, ...] = (None,)
    pipelines: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        for knob in KNOBS:
            values = self.values(knob)
            known = [value for value in values if value is not None]
            if not values or known != sorted(set(known)):
                raise ValueError(f"{knob}: {values} is not one or more values in rising order.")

    def values(self, knob: str) -> Sequence[Value]:
        """The values of a knob."""
        found: Sequence[Value] = getattr(self, knob)
        return found

    def __len__(self) -> int:
        count = 1
        for knob in KNOBS:
            count *= len(self.values(knob))
        return count

    def places(self) -> Iterator[Place]:
        """Every combination."""
        return product(*(range(len(self.values(knob))) for knob in KNOBS))

    def config(self, place: Place, base: Config) -> Config:
        """The configuration at a place; what is no knob is the base's."""
        values: dict[str, Any] = {
            knob: self.values(knob)[index] for knob, index in zip(KNOBS, place, strict=True)
        }
        return replace(base, **values)

    def to_json(self) -> dict[str, Any]:
        """The values of each knob as JSON values."""
        return {knob: list(values) for knob, values in asdict(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Grid:
        """As ``to_json`` gave it; a grid of old had one pipeline."""
        known = {"pipelines": [1], **values}
        return cls(**{knob: tuple(known[knob]) for knob in KNOBS})


def grid_for(graph: Graph, catalog: Catalog, machine: Machine, device: DecodeDevice) -> Grid:
    """``default_grid``, of one pipeline where the graph's reader cannot read a shard."""
    grid = default_grid(machine, device)
    several = replace(graph, settings=replace(graph.settings, pipelines=2))
    alone = any(pipeline_faults(several, catalog))
    return replace(grid, pipelines=(1,)) if alone else grid


def default_grid(machine: Machine, device: DecodeDevice) -> Grid:
    """What is worth trying on a machine: threads up to its cores, and usual batches.

    Where a GPU decodes, few threads are the fastest, and several pipelines fill its engines; on a
    CPU one works while another waits for its slowest image.
    """
    powers = [2**power for power in range(10) if 2**power < machine.cores]
    if device == "mixed":
        few = [count for count in (3, 6) if count < machine.cores]
        threads = sorted({*powers, *few, machine.cores})
        return Grid(tuple(threads), (32, 64, 128, 256), (2, 4), (0.65, 0.85, 1.0), (1, 2, 3))
    threads = [*powers, machine.cores, 2 * machine.cores]
    return Grid(tuple(threads), (16, 32, 64, 128), (1, 2, 4), pipelines=(1, 2))
