"""A user's script or notebook, run in the worker process for the pipelines that it makes.

DALI's pipelines are kept from being built and from running: where the script would run one, it has
told all that there is to know, and is stopped there.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench.emit.imports.traced import Traced
from workbench.engine.choice import Found, choose, name_of
from workbench.engine.guard import Guard, place_of
from workbench.engine.tracing import ready, trace_pipeline
from workbench.engine.worker import Worker
from workbench.errors import ImportFailedError

MODULE = "imported_source"
"""The ``__name__`` under which a script runs: what stands under ``__main__`` does not."""
_LARGEST = 16 * 2**20
_RUNS = (
    *("run", "schedule_run", "outputs", "share_outputs", "feed_input", "epoch_size"),
    *("reader_meta", "output_stream", "executor_statistics", "checkpoint"),
)
"""Methods of a pipeline for which it must run."""


class _EnoughError(BaseException):
    """The script came to where it runs a pipeline. No ``except Exception`` catches it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Python source under the name of a file: a script, or one cell of a notebook."""

    file: str
    text: str


def trace_source(
    worker: Worker,
    path: str,
    pipeline: str | None,
    arguments: Mapping[str, Any],
    seconds: float,
) -> Traced:
    """Task: run a script or notebook and trace one of its pipelines.

    Raises ImportFailedError, which names the line, where it fails, takes too much, or has none or
    several.
    """
    pieces = read_pieces(path)
    files = [piece.file for piece in pieces]
    made: list[Any] = []
    module = _module(path)
    tempfile.gettempdir()  # it is kept from now on, whatever the script does to the environment
    ready()
    with Guard(files, seconds, worker.last_word) as guard, _kept_from_running(made):
        try:
            paths = list(sys.path)
            stopped = _run(pieces, module)
            sys.path[:] = paths
            chosen = choose(Found(module, made, Path(path).name), pipeline, arguments)
            pipe = _made(chosen.make, made)
            traced = trace_pipeline(pipe)
        except ImportFailedError as error:
            if error.__cause__ is None:
                raise
            raise guard.told(error.__cause__) from None
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            raise guard.told(error) from None
    name, about = name_of(traced, module.__doc__, Path(path).stem)
    notes = [f"the script was stopped at {stopped}, where it runs a pipeline"] if stopped else []
    return replace(
        traced,
        name=name,
        about=about,
        notes=(*notes, *chosen.notes),
        placeholder=chosen.placeholder,
    )


def _made(make: Any, made: list[Any]) -> Any:
    try:
        return make()
    except _EnoughError:
        return made[-1]


def read_pieces(path: str) -> list[Piece]:
    """The code of a ``.py`` file, or of each cell of an ``.ipynb``. Raises ImportFailedError."""
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ImportFailedError(f"{path} cannot be read: {error}.") from None
    if len(data) > _LARGEST:
        raise ImportFailedError(f"{path} has {len(data)} bytes; {_LARGEST} are the limit.")
    if not path.endswith(".ipynb"):
        return [Piece(str(Path(path).absolute()), text)]
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ImportFailedError(f"{path} is not a notebook of format 4.") from None
    name = str(Path(path).absolute())
    return [Piece(f"{name} cell {n}", _python(code)) for n, code in enumerate(sources, start=1)]


def _python(cell: str) -> str:
    """A cell without what only IPython understands; every line stays where it is."""
    lines = cell.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first.split()[0] not in ("%%time", "%%capture", "%%timeit"):
        return "pass\n" * len(lines)
    return "".join(f"{_plain(line)}\n" for line in lines)


def _plain(line: str) -> str:
    code = line.lstrip()
    if not code.startswith(("%", "!", "?")) and not code.rstrip().endswith("?"):
        return line
    return f"{line[: len(line) - len(code)]}pass"


def _module(path: str) -> ModuleType:
    module = ModuleType(MODULE)
    module.__file__ = str(Path(path).absolute())
    module.__dict__["display"] = lambda *_, **__: None  # a notebook's
    sys.modules[MODULE] = module
    sys.path.insert(0, str(Path(path).absolute().parent))
    sys.argv = [path]
    sys.dont_write_bytecode = True
    return module


def _run(pieces: list[Piece], module: ModuleType) -> str | None:
    """Run all of it; the line at which it was stopped, or None where it came to its end."""
    for piece in pieces:
        lines = piece.text.splitlines(keepends=True)
        linecache.cache[piece.file] = (len(piece.text), None, lines, piece.file)
    try:
        for piece in pieces:
            tree = ast.parse(piece.text, piece.file)
            if piece is pieces[0]:
                module.__doc__ = ast.get_docstring(tree)
            exec(compile(tree, piece.file, "exec"), module.__dict__)
    except _EnoughError as enough:
        files = {piece.file for piece in pieces}
        trace, line = enough.__traceback__, ""
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in files:
                line = place_of(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
            trace = trace.tb_next
        return line
    return None


@contextmanager
def _kept_from_running(made: list[Any]) -> Iterator[None]:
    """Pipelines that would be built are noted in ``made``; running one stops the script."""
    from nvidia.dali.pipeline import Pipeline

    def note(pipe: Any) -> None:
        if not any(pipe is other for other in made):
            made.append(pipe)

    def build(pipe: Any, *_: Any, **__: Any) -> None:
        note(pipe)

    def stop(pipe: Any, *_: Any, **__: Any) -> None:
        note(pipe)
        raise _EnoughError

    patched = {"build": build, "start_py_workers": build, **dict.fromkeys(_RUNS, stop)}
    usual = {name: getattr(Pipeline, name) for name in patched}
    for name, function in patched.items():
        setattr(Pipeline, name, function)
    try:
        yield
    finally:
        for name, function in usual.items():
            setattr(Pipeline, name, function)
