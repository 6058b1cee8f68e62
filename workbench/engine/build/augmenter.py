"""Run automatic augmentation without conditionals: each augmentation gets only its own samples.

DALI builds all augmentations of a suite for every step, which takes half a second after each
parameter change. Built one by one, the augmentations take some milliseconds and can be used for
every step, every magnitude and any number of steps. The results are bit-identical, because each
augmentation processes one sample at a time.

Used in the worker process only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from workbench.emit.core.code import Code
from workbench.emit.templates.auto_augment_random import (
    UniformCall,
    UniformCalls,
    emit_random_values,
)
from workbench.engine.build.auto_augment import (
    IDENTITY,
    Applied,
    Augmented,
    applied_steps,
    applied_text,
    argument_of,
    bins_of,
)
from workbench.engine.build.pipelines import CompiledSource, plain_reason
from workbench.engine.build.stage_pipeline import THREADS
from workbench.engine.resources.batch_store import Batch, Memory
from workbench.errors import PipelineError
from workbench.graph.model import Node

_KEPT_PIPELINES = 64
_KEPT_DRAWS = 64

Turns = tuple[tuple[tuple[Augmented, ...], ...], ...]
"""Applied augmentations, indexed by loop iteration, sample and step."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a node on ``count`` samples; ``position`` is the index of the first."""

    node: Node
    draws: Sequence[UniformCall]
    position: int
    count: int
    device: Memory
    layout: str


class Augmenter:
    """Runs augmentations one by one, and caches the built pipelines."""

    def __init__(self, report_making: Callable[[str], None] = lambda _: None) -> None:
        """``report_making`` is called with the name of each augmentation before it is built."""
        self._report_making = report_making
        self._pipelines: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._drawn: OrderedDict[str, Any] = OrderedDict()
        self._running = Lock()  # DALI may call the functions of two branches concurrently

    def run(
        self,
        node: Node,
        uniform_calls: Sequence[UniformCall],
        position: int,
        data: Batch,
        shape: Batch | None,
    ) -> Batch:
        """Return the node's output for a batch whose first sample has the index ``position``.

        ``shape`` is the batch connected to the node's argument ``shape``, or None. Raises
        PipelineError if DALI fails.
        """
        count = len(data)
        call = _Call(node, uniform_calls, position, count, data.device, data.layout)
        samples = [data.data[index] for index in range(count)]
        self._run(call, range(count), samples, None if shape is None else shape.arrays())
        return Batch(_tensor_list(data)(samples, data.layout, contiguous=False), data.device)

    def function(
        self,
        node: Node,
        uniform_calls: Sequence[UniformCall],
        position: int,
        count: int,
        device: Memory,
        layout: str,
    ) -> Callable[..., list[Any]]:
        """Return a Python function that augments some samples of a batch of ``count`` samples.

        The function accepts three lists of CPU arrays: images, their indices in the batch, and the
        values of the argument ``shape``. It returns the images, augmented on ``device``, and raises
        PipelineError if DALI fails.
        """
        call = _Call(node, uniform_calls, position, count, device, layout)

        def augmented(images: list[Any], indices: list[Any], shapes: Any = None) -> list[Any]:
            from nvidia.dali.tensors import TensorCPU

            samples: list[Any] = [TensorCPU(image, layout) for image in images]
            if device == "gpu":
                samples = [sample._as_gpu() for sample in samples]
            self._run(call, list(map(int, indices)), samples, shapes)
            if device == "gpu":
                samples = [sample.as_cpu() for sample in samples]
            return list(map(np.asarray, samples))

        return augmented

    def describe(self, node: Node, calls: UniformCalls, position: int, count: int) -> Turns:
        """Return the augmentations that each call of the node applies to each sample.

        If a step leaves a sample unchanged, its augmentation is ``identity``.
        """
        return tuple(self._describe(node, draws, position, count) for draws in calls)

    def _describe(
        self, node: Node, uniform_calls: Sequence[UniformCall], position: int, count: int
    ) -> tuple[tuple[Augmented, ...], ...]:
        values = self.drawn(uniform_calls, position, count) if uniform_calls else []
        steps = applied_steps(node, values)
        bins = bins_of(node)
        return tuple(
            tuple(applied_text(step[index], bins) for step in steps if step[index].augmentation)
            or (Augmented(IDENTITY, IDENTITY),)
            for index in range(count)
        )

    def forget(self) -> None:
        """Release all pipelines."""
        self._pipelines.clear()
        self._drawn.clear()

    def drawn(self, uniform_calls: Sequence[UniformCall], position: int, count: int) -> list[Any]:
        """Return the random values of ``count`` samples, starting with the sample at ``position``.

        The list has one array of shape [samples, ...] per call in ``uniform_calls``.
        """
        text = emit_random_values(uniform_calls)
        key = f"{position} {count}\n{text}"
        if key not in self._drawn:
            pipe = CompiledSource(Code(text, {}))["drawn"](
                position, batch_size=count, num_threads=1, device_id=None, prefetch_queue_depth=1
            )
            pipe.build()
            self._drawn[key] = [np.array(output.as_array()) for output in pipe.run()]
            while len(self._drawn) > _KEPT_DRAWS:
                self._drawn.popitem(last=False)
        self._drawn.move_to_end(key)
        found: list[Any] = self._drawn[key]
        return found

    def _run(
        self, call: _Call, indices: Sequence[int], samples: list[Any], shapes: Sequence[Any] | None
    ) -> None:
        try:
            sampled = self.drawn(call.draws, call.position, call.count) if call.draws else []
            for step in applied_steps(call.node, sampled):
                with self._running:
                    self._apply(call, [step[place] for place in indices], samples, shapes)
        except BaseException as error:
            self._pipelines.clear()  # an unfinished run would output this batch in the next call
            if not isinstance(error, Exception):
                raise
            node = call.node.id
            raise PipelineError(f"{node}: {plain_reason(error)}", node) from error

    def _apply(
        self,
        call: _Call,
        step: Sequence[Applied],
        samples: list[Any],
        shapes: Sequence[Any] | None,
    ) -> None:
        places: dict[str, list[int]] = {}
        for index, applied in enumerate(step):
            if applied.augmentation is not None and applied.augmentation.name != IDENTITY:
                places.setdefault(applied.augmentation.name, []).append(index)
        running = []  # all at once: each has only a few samples
        for chosen in places.values():
            augmentation = step[chosen[0]].augmentation
            pipe = self._pipeline(call, augmentation, shapes is not None)
            pipe.feed_input("data", [samples[index] for index in chosen])
            if augmentation.mag_range is not None:
                pipe.feed_input("bin", [np.int32(step[index].magnitude) for index in chosen])
            if augmentation.randomly_negate:
                pipe.feed_input("sign", [np.int32(step[index].sign) for index in chosen])
            if shapes is not None and augmentation.name.startswith("translate"):
                pipe.feed_input("shape", [shapes[index] for index in chosen])
            pipe.schedule_run()
            running.append((chosen, pipe))
        for chosen, pipe in running:
            (output,) = pipe.outputs()
            for place, index in enumerate(chosen):
                samples[index] = output[place]

    def _pipeline(self, call: _Call, augmentation: Any, linked: bool) -> Any:
        node = call.node
        fixed = {
            name: value for name, value in node.args.items() if name not in ("n", "m", "policy")
        }
        size = 1 << (call.count - 1).bit_length()
        key = (node.op, repr(fixed), augmentation.name, call.device, call.layout, linked, size)
        if key not in self._pipelines:
            self._report_making(f"building {augmentation.name} of {node.id}")
            pipe = _single(call, augmentation, linked, size)
            pipe.build()
            self._pipelines[key] = pipe
            while len(self._pipelines) > _KEPT_PIPELINES:
                self._pipelines.popitem(last=False)
        self._pipelines.move_to_end(key)
        return self._pipelines[key]


def _single(call: _Call, augmentation: Any, linked: bool, size: int) -> Any:
    """Build a pipeline of one augmentation. Its inputs are the samples and the random values."""
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.auto_aug.core import signed_bin

    given: dict[str, Any] = _keywords(call.node)
    bins = bins_of(call.node)

    def define() -> Any:
        source = fn.external_source(name="data", device=call.device, layout=call.layout)
        magnitude = None
        if augmentation.mag_range is not None:
            magnitude = fn.external_source(name="bin", dtype=types.INT32, ndim=0)
        if augmentation.randomly_negate:
            sign = fn.external_source(name="sign", dtype=types.INT32, ndim=0)
            magnitude = signed_bin(magnitude, random_sign=sign)
        if linked and augmentation.name.startswith("translate"):
            given["shape"] = fn.external_source(name="shape")
        return augmentation(source, magnitude_bin=magnitude, num_magnitude_bins=bins, **given)

    return pipeline_def(define)(
        batch_size=size,
        num_threads=THREADS,
        device_id=0 if call.device == "gpu" else None,
        prefetch_queue_depth=1,
    )


def _keywords(node: Node) -> dict[str, Any]:
    """Return the node's arguments that DALI passes to each augmentation."""
    from nvidia.dali import types

    given: Mapping[str, Any] = {
        name: node.args[name] for name in ("fill_value", "shape") if name in node.args
    }
    interpolation = node.args.get("interp_type")
    return {
        "fill_value": argument_of(node, "fill_value"),
        "interp_type": None if interpolation is None else getattr(types, str(interpolation)),
        **given,
    }


def _tensor_list(data: Batch) -> Any:
    from nvidia.dali.tensors import TensorListCPU, TensorListGPU

    return TensorListGPU if data.device == "gpu" else TensorListCPU
