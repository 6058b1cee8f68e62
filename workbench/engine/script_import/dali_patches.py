"""Patch DALI while a script runs: prevent runs of pipelines, and define removed older names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from workbench.engine.script_import.placeholders import StandIns, replaced
from workbench.engine.script_import.statement_runner import StopScriptError

_RUNS = (
    *("run", "schedule_run", "outputs", "share_outputs", "feed_input", "epoch_size"),
    *("reader_meta", "output_stream", "executor_statistics", "checkpoint", "serialize"),
    "save_graph_to_dot_file",
)
"""Methods that run a pipeline or write it to a file."""
_MOST_RUNS = 100
"""Maximum number of calls that return placeholders, so that a loop over a pipeline ends."""


_DECODERS = {
    "": "Image",
    "Crop": "ImageCrop",
    "RandomCrop": "ImageRandomCrop",
    "Slice": "ImageSlice",
}
"""Current decoder name, by the suffix of the older decoder name."""
_LOST = ("cache_type_", "use_batched_decode")
"""Arguments of older decoders that current decoders do not have."""


@dataclass
class BlockedCall:
    """Replacement for DALI's methods that run a pipeline.

    ``run`` records the pipeline in ``made``, then returns a placeholder or stops the script.
    """

    made: list[Any]
    stand_ins: StandIns
    _left: int = 0
    """Number of calls that still return a placeholder before the script is stopped."""

    @contextmanager
    def stand_in_for_results(self) -> Iterator[None]:
        """Within the context, running a pipeline returns a placeholder. The script continues.

        This lets a script use helper pipelines. DALI's iterators still stop the script, because
        they run the pipeline to import.
        """
        self._left = _MOST_RUNS
        try:
            yield
        finally:
            self._left = 0

    def note(self, pipe: Any) -> None:
        """Record a pipeline that the script would build or run."""
        if not any(pipe is other for other in self.made):
            self.made.append(pipe)

    def run(self, pipe: Any, name: str) -> Any:
        """Return a placeholder for the result of a running pipeline, or raise StopScriptError."""
        self.note(pipe)
        caller = sys._getframe(2).f_code.co_filename
        counts_samples = name in ("epoch_size", "reader_meta")
        if "/nvidia/dali/" in caller or not (self._left or counts_samples):
            raise StopScriptError(pipe)
        self._left = max(0, self._left - 1)
        return self.stand_ins.value(f"{type(pipe).__name__}.{name}(...)")


@contextmanager
def recording_pipelines(pipelines: list[Any], stand_ins: StandIns) -> Iterator[BlockedCall]:
    """Add pipelines to ``pipelines`` instead of building them. Running one stops the script."""
    from nvidia.dali.pipeline import Pipeline, pipeline_def

    blocked = BlockedCall(pipelines, stand_ins)
    experimental: Any = import_module("nvidia.dali.pipeline.experimental")

    def without_debug_mode(*function: Any, debug: bool = False, **settings: Any) -> Any:
        return pipeline_def(*function, **settings)  # debug mode has no graph

    def build(pipe: Any, *_: Any, **__: Any) -> None:
        blocked.note(pipe)

    def running(name: str) -> Any:
        return lambda pipe, *_, **__: blocked.run(pipe, name)

    built = dict.fromkeys(("build", "start_py_workers"), build)
    patched = built | {name: running(name) for name in _RUNS}
    # DALI tests the truth value of pipelines, and a user's __len__ would run it
    patched["__bool__"] = lambda pipe: True
    places = [(Pipeline, name, function) for name, function in patched.items()]
    with replaced([*places, (experimental, "pipeline_def", without_debug_mode)]):
        yield blocked


@contextmanager
def older_names_in_dali() -> Iterator[None]:
    """Within the context, ``nvidia.dali.ops`` has the classes that DALI removed.

    Each is replaced by its successor according to DALI's release notes of 0.5 to 1.0:
    https://docs.nvidia.com/deeplearning/dali.
    """
    ops: Any = import_module("nvidia.dali.ops")

    def decoder(kind: str, device: str) -> Callable[..., Any]:
        def make(**arguments: Any) -> Any:
            supported = {name: value for name, value in arguments.items() if name not in _LOST}
            return getattr(ops.decoders, kind)(**{"device": device, **supported})

        return make

    def normalise(**arguments: Any) -> Any:
        size = {name: arguments.pop(name) for name in ("height", "width") if name in arguments}
        if size:
            arguments["crop"] = (size.get("height", 0), size.get("width", 0))
        return ops.CropMirrorNormalize(output_layout="CHW", **arguments)

    older = dict.fromkeys(("NormalPermute", "CropCastPermute"), normalise)
    for suffix, kind in _DECODERS.items():
        older[f"nvJPEGDecoder{suffix}"] = decoder(kind, "mixed")
        older[f"HostDecoder{suffix}"] = decoder(kind, "cpu")
    with replaced((ops, name, make) for name, make in older.items() if not hasattr(ops, name)):
        yield
