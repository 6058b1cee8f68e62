"""What a run of a graph gives, and the outputs that are kept from one run to the next.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.engine.build.augmenter import Turns
from workbench.engine.build.plan import Plan
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.batch_store import Batch, Memory
from workbench.graph.model import Port


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave.

    ``plan`` is what was run, ``batches`` has the wanted outputs, ``samples`` one entry for each
    sample, ``reran`` the ids of the nodes that were not kept from before. An output inside a block
    has the samples alone that came there: ``places`` says for its scope which, of a body that runs
    again in the first turn; ``came`` says it of any turn. Generators that nothing feeds draw for
    all samples also there.
    """

    plan: Plan
    batches: dict[Port, Batch]
    samples: tuple[Sample, ...]
    reran: tuple[str, ...]
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    came: Mapping[str, frozenset[int]] = field(default_factory=dict)
    augmented: Mapping[str, Turns] = field(default_factory=dict)
    """What automatic augmentation does, by the node's id; nothing to samples that do not come."""
    left_out: str = ""
    """Which samples of the data no reader can give, in words."""

    @property
    def keys(self) -> dict[str, str]:
        """For each node what its outputs are kept under: the same key means the same bits."""
        return self.plan.keys


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """One output of a node, or of what stands inside it, with the port that gave it."""

    node: str
    port: Port
    batch: Batch

    def port_of(self, node: str) -> Port:
        """The same port of a node of another name: names change no bits, so keys leave them out."""
        place = self.port.node
        if place == self.node or place.startswith(f"{self.node}."):
            place = node + place.removeprefix(self.node)
        return Port(place, self.port.output)

    @property
    def device(self) -> Memory:
        return self.batch.device

    @property
    def nbytes(self) -> int:
        return self.batch.nbytes
