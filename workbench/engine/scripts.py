"""A user's script or notebook, run in the worker process for the pipelines that it makes.

DALI's pipelines are kept from being built and from running: where the script would run one, it has
told what it does with one, and is stopped there: of what comes after, only definitions are read.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding
from traceback import walk_tb
from types import ModuleType
from typing import Any

from workbench.emit.pipeline_import.traced import Traced
from workbench.engine.auto_augment_import import noted_calls, with_noted
from workbench.engine.pipeline_discovery import (
    ScriptResult,
    find_pipeline,
    name_of,
    unread_part_note,
)
from workbench.engine.registry import task
from workbench.engine.script_sandbox import ScriptSandbox, source_location
from workbench.engine.tracing import preload_imports, trace_pipeline
from workbench.engine.worker import Worker
from workbench.errors import ImportFailedError
from workbench.system_limits import is_memory_refusal, memory_remedy

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
class SourceCell:
    """Python source under the name of a file: a script, or one cell of a notebook."""

    file: str
    text: str


@task
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
    cells = read_source_cells(path)
    files = [cell.file for cell in cells]
    made: list[Any] = []
    module = _module(path)
    stopped = ""
    tempfile.gettempdir()  # it is kept from now on, whatever the script does to the environment
    preload_imports()
    with (
        ScriptSandbox(files, seconds, worker.reply_error) as sandbox,
        _kept_from_running(made),
        noted_calls() as noted,
    ):
        try:
            paths = list(sys.path)
            stopped = _run(cells, module)
            sys.path[:] = paths
            found = ScriptResult(module, made, Path(path).name, stopped)
            chosen = find_pipeline(found, pipeline, arguments)
            pipe = _made(chosen.make, made)
            traced = with_noted(trace_pipeline(pipe), noted)
        except ImportFailedError as error:
            if error.__cause__ is None:
                raise
            raise sandbox.describe_error(error.__cause__, _hint(error.__cause__, stopped)) from None
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            raise sandbox.describe_error(error, _hint(error, stopped)) from None
    name, about = name_of(traced, module.__doc__, Path(path).stem, type(pipe))
    notes = [f"the script was stopped at {stopped}, where it runs a pipeline"] if stopped else []
    return replace(
        traced,
        name=name,
        about=about,
        notes=(*notes, *chosen.notes),
        placeholders=chosen.placeholders,
        pipelines=chosen.pipelines,
    )


def _hint(error: BaseException, stopped: str) -> str:
    """Where a name lacks, perhaps because it is given below the line of the stop; or memory."""
    if is_memory_refusal(error):
        return f": the memory does not suffice. {memory_remedy()}"
    return f".{unread_part_note(stopped)}" if stopped and isinstance(error, NameError) else ""


def _made(make: Any, made: list[Any]) -> Any:
    try:
        return make()
    except _EnoughError:
        return made[-1]


def read_source_cells(path: str) -> list[SourceCell]:
    """The code of a ``.py`` file, or of each cell of an ``.ipynb``. Raises ImportFailedError."""
    try:
        data = Path(path).read_bytes()
        coding = (
            "utf-8-sig" if path.endswith(".ipynb") else detect_encoding(BytesIO(data).readline)[0]
        )
        text = data.decode(coding)
    except OSError as error:
        raise ImportFailedError(f"{path} cannot be read: {error}.") from None
    except (UnicodeDecodeError, SyntaxError, LookupError) as error:
        raise ImportFailedError(
            f"{path} cannot be read: {error}. Save it as UTF-8, or name a script's encoding in its "
            "first line: # -*- coding: latin-1 -*-"
        ) from None
    if len(data) > _LARGEST:
        raise ImportFailedError(f"{path} has {len(data)} bytes; {_LARGEST} are the limit.")
    if not path.endswith(".ipynb"):
        return [SourceCell(str(Path(path).absolute()), text)]
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ImportFailedError(f"{path} is not a notebook of format 4.") from None
    name = str(Path(path).absolute())
    return [
        SourceCell(f"{name} cell {n}", _python(code)) for n, code in enumerate(sources, start=1)
    ]


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


def _run(cells: list[SourceCell], module: ModuleType) -> str:
    """Run all of it; the line at which it was stopped, or nothing where it came to its end."""
    for cell in cells:
        lines = cell.text.splitlines(keepends=True)
        linecache.cache[cell.file] = (len(cell.text), None, lines, cell.file)
    files = {cell.file for cell in cells}
    for number, cell in enumerate(cells):
        tree = ast.parse(cell.text, cell.file)
        if number == 0:
            module.__doc__ = ast.get_docstring(tree)
        try:
            exec(compile(tree, cell.file, "exec"), module.__dict__)
        except _EnoughError as enough:
            frames = [
                (frame.f_code.co_filename, line)
                for frame, line in walk_tb(enough.__traceback__)
                if frame.f_code.co_filename in files
            ]
            _define(tree, cell.file, frames[0][1], module)
            for later in cells[number + 1 :]:
                with suppress(SyntaxError, ValueError):  # a cell that cannot be read
                    _define(ast.parse(later.text, later.file), later.file, 0, module)
            return source_location(*frames[-1])
    return ""


def _define(tree: ast.Module, file: str, after: int, module: ModuleType) -> None:
    """Run the definitions and imports at the top level below a line, and nothing else.

    Those that need what is not there are passed over, and what is there already stays as it is.
    """
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    for statement in tree.body:
        if isinstance(statement, kinds) and statement.lineno > after:
            there = dict(module.__dict__)
            with suppress(Exception, SystemExit, _EnoughError):
                exec(compile(ast.Module([statement], []), file, "exec"), module.__dict__)
            module.__dict__.update(there)


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
