"""Build and run a pipeline for some nodes of a graph, from generated code.

Used in the worker process only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.emit.preview.preview_stage import SAMPLE, emit_stage
from workbench.emit.templates.template_parts import has_blocks
from workbench.engine.build.function_checks import FunctionChecks
from workbench.engine.build.pipelines import CompiledSource
from workbench.engine.build.plan import Plan, uses_random_numbers
from workbench.engine.resources.batch_store import Batch, memory_of
from workbench.engine.resources.machine import usable_cores
from workbench.graph.model import Node, Port
from workbench.graph.model.ports import output_ports, used_inputs

THREADS = min(8, usable_cores())
GPU_THREADS = min(2, usable_cores())
"""Number of threads of a pipeline on the GPU. Six more would add 0.7 ms per change on an H200."""


class Stage:
    """A pipeline that outputs every port of ``nodes``. Its inputs are outputs of other nodes."""

    def __init__(
        self,
        plan: Plan,
        nodes: Sequence[Node],
        batches: Mapping[Port, Batch],
        threads: int | None = None,
        positions: Mapping[str, int] | None = None,
        apply: Callable[..., Callable[..., Any]] | None = None,
    ) -> None:
        """Generate the code of the pipeline. Call ``build`` to build it.

        ``batches`` has at least the nodes' inputs from other nodes. ``positions`` maps each scope
        to its number of samples in earlier batches. ``threads`` is by default a number suitable for
        previews. If ``apply`` (``Augmenter.function``) is passed, it runs the automatic
        augmentation in blocks, which is then not built into the pipeline.
        """
        inside, catalog = {node.id for node in nodes}, plan.resolved.catalog
        fed = [port for node in nodes for port in used_inputs(node, catalog)]
        outside = [port for port in fed if port.node not in inside]
        self.feeds = tuple(dict.fromkeys(outside))
        taps = [port for node in nodes for port in output_ports(node, catalog[node.op])]
        self._plan = plan
        self._positions = dict(positions or {})
        self._has_blocks = has_blocks(nodes)
        fed_from_gpu = any(batches[port].device == "gpu" for port in self.feeds)
        self._uses_gpu = fed_from_gpu or any(plan.devices[node.id] != "cpu" for node in nodes)
        works_on_gpu = all(plan.devices[n.id] == "gpu" or not n.inputs for n in nodes)
        usual = GPU_THREADS if self._uses_gpu and works_on_gpu else THREADS
        self.threads = threads or usual
        made = emit_stage(
            plan.resolved,
            inside,
            taps,
            {port: batches[port].device for port in self.feeds},
            plan.draws,
            applied=apply is not None,
        )
        self._code, self.outputs, self.feeds = made.code, made.outputs, made.feeds
        self._applied = {
            id_: [
                apply(
                    plan.graph.node(id_),
                    draws,
                    plan.position,
                    plan.count,
                    plan.devices[id_],
                    layout,
                )
                for draws in plan.draws[id_]
            ]
            for id_, layout in made.automatic.items()
            if apply
        }
        settings = plan.graph.settings
        random = any(uses_random_numbers(node, catalog) for node in nodes)
        start = f"{settings.seed}\n{plan.position}\n{self._positions}" if random else ""
        self.key = f"{settings.device}\n{self.threads}\n{start}\n{plan.count}\n{self._code.text}"
        self._nodes = tuple(nodes)
        self._compiled: CompiledSource | None = None
        self._checks: FunctionChecks | None = None
        self._pipe: Any = None

    def build(self) -> None:
        """Build the pipeline. Raises PipelineError with the node if this fails."""
        settings, plan = self._plan.graph.settings, self._plan
        self._compiled = CompiledSource(self._code)
        self._checks = FunctionChecks(self._compiled.namespace, self._nodes)
        self._compiled.namespace["AUTOMATIC"] = {
            id_: [self._automatic(id_, number) for number in range(len(calls))]
            for id_, calls in self._applied.items()
        }
        with self._blaming():
            pipe = self._compiled["stage"](
                settings.device, settings.seed, plan.position, self._positions,
                batch_size=plan.count, num_threads=self.threads,
                device_id=0 if self._uses_gpu else None, prefetch_queue_depth=1,
            )  # fmt: skip
            pipe.build()
        self._pipe = pipe

    def _automatic(self, node: str, number: int) -> Callable[..., Any]:
        """Return a function that runs an automatic augmentation with its current settings."""
        return lambda *given: self._applied[node][number](*given)

    def adopt(self, other: Stage) -> None:
        """Copy the settings of automatic augmentations from a stage with the same key."""
        self._applied = other._applied

    @property
    def built(self) -> bool:
        """True if the pipeline is built, so that inputs can be set and a batch can be run."""
        return self._pipe is not None

    def feed(self, batches: Mapping[Port, Batch]) -> None:
        """Set the inputs of the next run."""
        with self._blaming():
            for port in self.feeds:
                self._pipe.feed_input(str(port), batches[port].data)
            if self._has_blocks:
                self._pipe.feed_input(str(SAMPLE), np.arange(self._plan.count, dtype=np.int32))

    def run(self) -> dict[Port, Batch]:
        """Run one batch and wait for the outputs. Raises PipelineError with the node on failure."""
        with self._blaming():
            outputs = self._pipe.run()
        return {port: _batch(output) for port, output in zip(self.outputs, outputs, strict=True)}

    @contextmanager
    def unchecked(self) -> Iterator[None]:
        """Within the context, skip the checks of user functions, so that timings are realistic."""
        assert self._checks is not None
        self._checks.active = False
        try:
            yield
        finally:
            self._checks.active = True

    @contextmanager
    def _blaming(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self._compiled is None:
                raise
            raise self._compiled.error(error) from None


def _batch(tensors: Any) -> Batch:
    return Batch(tensors, memory_of(tensors))
