"""Convert what a user compares (graph, composed transforms, function or file) to steps."""

from __future__ import annotations

import inspect
import io
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.emit.interop.graph import LIBRARIES
from workbench.emit.interop.live import call_of_albumentations, call_of_object
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.engine.protocol.process import Engine
from workbench.errors import ArgumentError, ImportFailedError
from workbench.graph import load_recipe, load_recipes, read_graph
from workbench.graph.model import Graph
from workbench.names import shortened
from workbench.pipeline_difference.measure import Failed, Item
from workbench.pipeline_difference.sides.dali_steps import (
    DALI,
    DaliBackend,
    graph_side,
    program_graph,
)
from workbench.pipeline_difference.sides.foreign import PILLOW, ForeignProcess, require_file
from workbench.pipeline_difference.sides.library_calls import library_input
from workbench.pipeline_difference.sides.library_steps import (
    LIBRARY,
    decode_step,
    decode_with_pillow,
    library_backend,
    library_side,
    unsupported_transform,
)
from workbench.pipeline_difference.steps import (
    DECODE,
    FUNCTION,
    TAIL,
    Backend,
    Side,
    Step,
    describe,
    function_step,
    run_functions,
    to_array,
)

FOREIGN = "foreign"
_WORDS = {
    "decode": DECODE, "imread": DECODE, "load": DECODE, "resize": "resize", "crop": "crop",
    "flip": "flip", "mirror": "flip", "colour": "colour", "color": "colour", "jitter": "colour",
    "gray": "colour", "grey": "colour", "hue": "colour", "norm": TAIL, "tensor": TAIL,
    "layout": TAIL, "float": TAIL, "transpose": TAIL,
}  # fmt: skip
"""Kind of step that a function is assumed to be, by a part of the function's name."""
_BYTES = "the result is bytes, not an image"
WHOLE = "everything"
"""Kind of a step that includes everything after decoding."""


class Sides:
    """Opens both pipelines and owns the processes that run them."""

    def __init__(self, engine: Engine) -> None:
        self.backends: dict[str, Backend] = {
            DALI: DaliBackend(engine),
            LIBRARY: library_backend(engine),
            FUNCTION: run_functions,
        }
        self._processes: list[ForeignProcess] = []
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-diff-")

    def close(self) -> None:
        """End the processes and remove the temporary files."""
        for each in self._processes:
            each.close()
        self._folder.cleanup()

    def open(self, what: Any, label: str, trial: Sequence[bytes], python: str = "") -> Side:
        """Return the steps of the pipeline ``what``.

        ``trial`` are images that are used to find out what a function accepts. Raises ArgumentError
        if ``what`` is not a pipeline.
        """
        name = label
        if isinstance(what, str | Path):
            name = str(what)
            what = str(what) if python else _opened(str(what))
        if isinstance(what, str):  # in a process
            return self._foreign(what, label, trial, python or sys.executable)
        if python:
            if not isinstance(what, Graph):
                raise ArgumentError(
                    f"diff: {label} runs in {python}, so it must be a file (file.py:name, a "
                    "program or a graph file) or a graph. Pass one of these."
                )
            return self._program(what, name, label, trial, python)
        if isinstance(what, ImportedGraph):
            call = what.transforms
            if name != label and call is not None:  # a script with a composition
                return library_side(call, name, label)
            what = what.graph
        if isinstance(what, Graph):
            known = name != label or what.name == Graph.name
            return graph_side(what, name if known else f"{label} ({what.name})", label)
        library = _package(what)
        if _is_sequential(what):
            library = next((_package(each) for each in what if _package(each) in LIBRARIES), "")
            library = library or "torchvision"
        if library in LIBRARIES:
            return self._composition(what, library, label)
        if isinstance(what, list | tuple) and what and all(map(callable, what)):
            return self._functions(what, label, trial)
        if callable(what):
            return self._function(what, label, trial)
        raise ArgumentError(
            f"diff: {label} has type {type(what).__name__!r}. Use a graph, a composition, a "
            "function, a list of functions, or the path of a file with one."
        )

    def _composition(self, what: Any, library: str, label: str) -> Side:
        name = f"{label} ({library})"
        has_dict = library == "albumentations" and hasattr(what, "to_dict")
        call = call_of_albumentations(what) if has_dict else call_of_object(what, library)
        unsupported = unsupported_transform(call)
        if not unsupported:
            return library_side(call, name, label)
        note = f"{name} runs as one step, because diff cannot run {unsupported} alone."
        decode, sentence = decode_step(library)
        step = function_step(_whole_composition(what, library), name, (WHOLE,))
        return Side(name, (decode, step), (f"{name}: {sentence}", note))

    def _function(self, function: Callable[[Any], Any], label: str, trial: Sequence[bytes]) -> Side:
        name = f"{label} ({getattr(function, '__name__', type(function).__name__)})"

        step = function_step(function, name, (WHOLE,))
        return self._function_side(step, name, trial, run_functions)

    def _functions(
        self, functions: Sequence[Callable[[Any], Any]], label: str, trial: Sequence[bytes]
    ) -> Side:
        names = [getattr(each, "__name__", type(each).__name__) for each in functions]
        steps = [
            function_step(each, text, (_kind_of(text, at),))
            for at, (each, text) in enumerate(zip(functions, names, strict=True))
        ]
        if DECODE in steps[0].kinds:
            return Side(f"{label} ({', '.join(names)})", tuple(steps))
        first = self._function_side(steps[0], label, trial, run_functions)
        steps[0] = replace(first.steps[-1], kinds=steps[0].kinds)
        return Side(f"{label} ({', '.join(names)})", (*first.steps[:-1], *steps), first.notes)

    def _function_side(self, step: Step, name: str, trial: Sequence[bytes], run: Backend) -> Side:
        """Return a side for a function; tries encoded bytes, arrays and Pillow images as input."""
        wanted = _annotation(step.payload)
        decode, _ = decode_step("torchvision")
        forms: dict[str, tuple[str, Callable[[Any], Any]]] = {
            "bytes": ("encoded bytes", _identity),
            "array": ("arrays (height, width, 3) that Pillow decodes", _identity),
            "Image": ("Pillow images", _as_pillow),
        }
        reasons: dict[str, str] = {}
        for form in [wanted] if wanted else forms:
            words, convert = forms[form]
            tried = step if convert is _identity else _converted(step, convert)
            for data in trial:
                given = data if form == "bytes" else _decoded(data)
                (result,) = [given] if isinstance(given, Failed) else run([tried], [given])
                if isinstance(result, np.ndarray):
                    note = f"{name} is called with {words}."
                    if form == "bytes":
                        return Side(name, (replace(tried, kinds=(DECODE, WHOLE)),), (note,))
                    return Side(name, (decode, tried), (note,))
                why = result.why if isinstance(result, Failed) else _BYTES
            reasons.setdefault(why, words.partition(" (")[0])
        returned = {why: form for why, form in reasons.items() if why.endswith("not an image")}
        whys = "; ".join(f"with {words}: {why}" for why, words in (returned or reasons).items())
        raise ArgumentError(
            f"diff: {name} returns no image ({shortened(whys, 400)}). Pass a function that returns "
            "an array with height, width and channels for one image."
        )

    def _foreign(self, spec: str, label: str, trial: Sequence[bytes], python: str) -> Side:
        if ":" not in spec or not spec.rpartition(":")[2].isidentifier():
            opened = _opened(spec)
            if not isinstance(opened, ImportedGraph | Graph):
                raise ArgumentError(
                    f"diff: {spec} is neither a graph nor a program. Pass a function as "
                    "file.py:name."
                )
            graph = opened.graph if isinstance(opened, ImportedGraph) else opened
            return self._program(graph, spec, label, trial, python)
        require_file(spec)
        process = ForeignProcess(spec, python)
        self._processes.append(process)
        self.backends[f"{FOREIGN}{label}"] = process
        step = Step((WHOLE,), spec, f"{FOREIGN}{label}", None, f"{spec} {python}")
        where = "" if python == sys.executable else f" in {python}"
        return self._function_side(step, f"{label} ({spec}{where})", trial, process)

    def _program(
        self, graph: Graph, name: str, label: str, trial: Sequence[bytes], python: str
    ) -> Side:
        """Export a graph, and return a side that runs the program in another interpreter."""
        side = graph_side(graph, name, label, on_gpu=False)
        path = Path(self._folder.name, f"{label}.py")
        exported = export(program_graph(side.steps), "script", plain=True)
        path.write_text(exported.main.text, encoding="utf-8")
        spec = f"{path}:build_pipeline"
        process = ForeignProcess(spec, python)
        self._processes.append(process)
        self.backends[f"{FOREIGN}{label}"] = process
        kinds = (DECODE, WHOLE)
        step = Step(kinds, f"{name} in {python}", f"{FOREIGN}{label}", None, f"{spec} {python}")
        return replace(side, name=f"{name} in {python}", steps=(step,))


def _opened(path: str) -> Any:
    """Open a graph, recipe or script; returns the path unchanged if it must run in a process."""
    if path in load_recipes() or not (Path(path).suffix or Path(path).exists()):
        return load_recipe(path)
    if path.endswith(".py"):
        return from_file(path)
    _, colon, name = path.partition(".py:")
    if colon:
        file, _ = require_file(path)
        try:
            return from_file(file, name)
        except ImportFailedError:
            if not name.isidentifier():  # function:line of a composition
                raise
            return path
    return read_graph(path)


def _kind_of(name: str, at: int) -> str:
    words = name.lower()
    return next((kind for word, kind in _WORDS.items() if word in words), f"{name} {at}")


def _annotation(function: Any) -> str:
    """Return the annotated input type of a function: bytes, Image or array; empty if unknown."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
    except (TypeError, ValueError, StopIteration):
        return ""
    text = str(first.annotation)
    if "bytes" in text:
        return "bytes"
    return "Image" if "Image" in text else "array" if "ndarray" in text or "NDArray" in text else ""


def _identity(value: Any) -> Any:
    return value


def _whole_composition(transform: Callable[..., Any], library: str) -> Callable[[Any], Any]:
    def run(pixels: Any) -> Any:
        image = library_input(pixels, library)
        if library == "albumentations":
            return transform(image=image)["image"]
        result = transform(image)
        return result[0] if library == "kornia" else result  # a batch of one

    return run


def _as_pillow(array: Any) -> Any:
    from PIL import Image

    return Image.fromarray(array)


def _converted(step: Step, convert: Callable[[Any], Any]) -> Step:
    function = step.payload
    if function is None:
        return replace(step, payload=PILLOW, key=f"{step.key} {PILLOW}")
    key = f"{step.key} {PILLOW}"
    return replace(step, payload=lambda value: function(convert(value)), key=key)


def _decoded(data: bytes) -> Item:
    try:
        return decode_with_pillow(data)
    except Exception as error:
        return Failed(describe(error))


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _is_sequential(what: Any) -> bool:
    return type(what).__module__.startswith("torch.") and type(what).__name__ == "Sequential"


def as_png(image: Any) -> bytes:
    """Encode decoded pixels losslessly, for a function that accepts encoded bytes."""
    from PIL import Image

    written = io.BytesIO()
    pixels = to_array(image)
    assert isinstance(pixels, np.ndarray)
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(
        written, "PNG", compress_level=1
    )
    return written.getvalue()
