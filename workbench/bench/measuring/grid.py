"""Define the grid of a sweep: all combinations of the values of the knobs (settings)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, get_args

from workbench.arguments import Kind, checked, format_value
from workbench.bench.measuring.config import Config, config_of, has_dont_use_mmap
from workbench.engine.resources.machine import Machine
from workbench.errors import ArgumentError
from workbench.graph.execution.pipelines import executor_faults, pipeline_faults
from workbench.graph.model import DecodeDevice, Executor
from workbench.graph.model.graph import changed_settings
from workbench.graph.resolved import ResolvedGraph

KNOBS = (
    *("hw_decoder_load", "threads", "batch_size", "prefetch", "pipelines", "executor"),
    "dont_use_mmap",
)


def knob_values(config: Config) -> tuple[object, ...]:
    """Return the configuration's value of each knob, in the order of ``KNOBS``."""
    return tuple(getattr(config, knob) for knob in KNOBS)


Value = int | float | str | None
Place = tuple[int, ...]
"""A setting of the grid: the index of its value for each knob, in the order of ``KNOBS``."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Values for ``w.tune`` to try: one ascending tuple for each setting.

    Raises ArgumentError for values that are not ascending numbers.

    ::

        grid = wb.Grid(threads=(1, 2), batch_size=(8, 16), prefetch=(2,))
        assert len(grid) == 4
    """

    threads: tuple[int, ...]
    batch_size: tuple[int, ...]
    prefetch: tuple[int, ...] = (1, 2, 4)
    hw_decoder_load: tuple[float | None, ...] = (None,)
    pipelines: tuple[int, ...] = (1,)
    executor: tuple[Executor, ...] = ("dynamic",)
    dont_use_mmap: tuple[bool | None, ...] = (None,)

    def __post_init__(self) -> None:
        for knob in KNOBS:
            values = self.values(knob)
            numbers = values if isinstance(values, tuple | list) else ()
            known = [value for value in numbers if isinstance(value, int | float)]
            is_list = isinstance(values, tuple | list) and values
            least = 0 if knob in ("hw_decoder_load", "dont_use_mmap") else 1
            if not is_list or known != sorted(set(known)) or min(known, default=1) < least:
                raise ArgumentError(
                    f"Grid: {knob} is {format_value(values)}. Use ascending values: (1, 2)."
                )

    def values(self, knob: str) -> Sequence[Value]:
        """Return the values of one knob."""
        found: Sequence[Value] = getattr(self, knob)
        return found

    def __len__(self) -> int:
        count = 1
        for knob in KNOBS:
            count *= len(self.values(knob))
        return count

    def places(self) -> Iterator[Place]:
        """Iterate over all combinations of values."""
        return product(*(range(len(self.values(knob))) for knob in KNOBS))

    def config(self, place: Place, base: Config) -> Config:
        """Return the configuration at a place. Fields other than knobs are those of ``base``."""
        values: dict[str, Any] = {
            knob: self.values(knob)[index] for knob, index in zip(KNOBS, place, strict=True)
        }
        return replace(base, **values)

    def place(self, config: Config) -> Place | None:
        """Return the place of a configuration, or None if one of its values is not in the grid."""
        with suppress(ValueError):
            return tuple(self.values(knob).index(getattr(config, knob)) for knob in KNOBS)
        return None

    def to_json(self) -> dict[str, Any]:
        return {knob: list(values) for knob, values in asdict(self).items()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Grid:
        """Parse the result of ``to_json``. Keys missing in older records get DALI's defaults."""
        old = {"pipelines": [1], "executor": ["dynamic"], "dont_use_mmap": [None]}
        known = {**old, **values}
        return cls(**{knob: tuple(known[knob]) for knob in KNOBS})


Grid.__init__ = checked()(Grid.__init__)  # type: ignore[method-assign]


def grid_for(resolved: ResolvedGraph, machine: Machine, device: DecodeDevice) -> Grid:
    """Return ``default_grid``, restricted to the values that the graph supports.

    The grid has one pipeline if the graph's reader cannot read a shard, and only DALI's default
    executor if a CPU operator follows a GPU operator. Memory-mapping is a knob only if a reader
    supports both modes.
    """
    graph = resolved.graph
    grid = default_grid(machine, device)
    unmapped = config_of(graph).dont_use_mmap
    if unmapped or not any(has_dont_use_mmap(resolved, node) for node in graph.nodes):
        grid = replace(grid, dont_use_mmap=(unmapped,))
    wanted = changed_settings(
        graph.settings, {"device": device, "pipelines": 2, "executor": "static"}
    )
    other = resolved.for_graph(replace(graph, settings=wanted))
    if any(pipeline_faults(other)):
        grid = replace(grid, pipelines=(1,))
    if any(executor_faults(other)):
        grid = replace(grid, executor=("dynamic",))
    return grid


def mapping_values(resolved: ResolvedGraph, files: Collection[str]) -> tuple[bool | None, ...]:
    """Return the values of ``dont_use_mmap`` that ``files`` names: ``mapped``, ``read`` or both.

    By default a graph maps files. Raises ArgumentError for ``read`` if no reader supports it.
    """
    if "read" in files and not any(
        has_dont_use_mmap(resolved, node) for node in resolved.graph.nodes
    ):
        names = ", ".join(source.op for source in resolved.graph.sources) or "none"
        raise ArgumentError(
            f"files sets the argument 'dont_use_mmap', which the graph's reader ({names}) "
            "does not have. Omit files."
        )
    mapped = False if config_of(resolved.graph).dont_use_mmap else None
    values = {"mapped": mapped, "read": True}
    return tuple(value for name, value in values.items() if name in files)


def default_grid(machine: Machine, device: DecodeDevice) -> Grid:
    """Return settings worth trying on a machine: threads up to its cores, common batch sizes.

    With GPU decoding, a few threads are fastest, several pipelines keep the engines busy, the
    executor determines how host and device buffers are queued, and reading files instead of mapping
    them halves the reader thread's time. On a CPU, one pipeline can run while another waits for its
    slowest image.
    """
    powers = [2**power for power in range(10) if 2**power < machine.cores]
    if device == "mixed":
        few = [count for count in (3, 6) if count < machine.cores]
        threads = sorted({*powers, *few, machine.cores})
        loads, executors = (0.65, 0.85, 1.0), get_args(Executor)
        batches, unmapped = (32, 64, 128, 256), (None, True)
        return Grid(tuple(threads), batches, (2, 4), loads, (1, 2, 3), executors, unmapped)
    threads = [*powers, machine.cores, 2 * machine.cores]
    return Grid(tuple(threads), (16, 32, 64, 128), (1, 2, 4), pipelines=(1, 2))


GRID = Kind.of("workbench.Grid(threads=(1, 2), batch_size=(8,))", Grid)
