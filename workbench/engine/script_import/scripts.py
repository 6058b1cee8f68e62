"""A user's script or notebook, run in the worker process for the pipelines that it makes.

DALI's pipelines are kept from being built and from running: where the script would run one, it has
told what it does with one, and is stopped there: of what comes after, only definitions are read.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding
from types import ModuleType
from typing import Any

from workbench.emit.pipeline_import.trace.traced import Loss, Traced
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.auto_augment_import import noted_calls, with_noted
from workbench.engine.script_import.call_arguments import written
from workbench.engine.script_import.dali_patches import (
    HeldBack,
    kept_from_running,
    older_names_in_dali,
)
from workbench.engine.script_import.failing_statements import STAND_IN
from workbench.engine.script_import.makers import is_pipeline
from workbench.engine.script_import.numba_calls import noted_numba_functions
from workbench.engine.script_import.pipeline_discovery import (
    FoundPipeline,
    ScriptResult,
    find_pipeline,
    has_pipeline,
    name_of,
    note_of_data,
    other_makers,
    unread_part_note,
    with_made_up_data,
)
from workbench.engine.script_import.project_modules import TREES, found_modules, package_of
from workbench.engine.script_import.script_lines import (
    EnoughError,
    ScriptRun,
    command_line,
    frames_in,
    one_process,
)
from workbench.engine.script_import.script_sandbox import (
    ScriptSandbox,
    one_printable_line,
    source_location,
)
from workbench.engine.script_import.stand_ins import StandIn, StandInError, StandIns
from workbench.engine.script_import.tracing import preload_imports, trace_pipeline
from workbench.engine.script_import.unknown_uses import UnknownUses
from workbench.errors import ImportFailedError
from workbench.system_limits import is_memory_refusal, memory_remedy

MODULE = "imported_source"
"""The ``__name__`` under which a script runs: what stands under ``__main__`` does not."""
_SHELL_VALUE = re.compile(r"([A-Za-z_][\w, ]*?)\s*=\s*([!%].*)")
"""``files = !ls``: the names, and what gives them."""
_ASYNC_NAME = re.compile(r"\basync\b(?!\s+(?:def|for|with)\b)")
LARGEST_SCRIPT = 16 * 2**20
"""Bytes of a script or notebook."""
_NO_TEXT = "it is no text in UTF-8"
_SHORTER = "Clear a notebook's outputs, or put the pipeline into a file of its own."
_ONE_PROCESS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
"""What launchers of several processes tell each, for one alone."""


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
    script = Path(path).absolute()  # a notebook's folder becomes the current one
    module = new_module(path)
    stopped = ""
    assumed: Mapping[str, Any] = {}
    tempfile.gettempdir()  # it is kept from now on, whatever the script does to the environment
    preload_imports()
    lines = ScriptRun(StandIns(lambda values: _note_pipelines(values, made)))
    uses = UnknownUses()
    lines.stand_ins.note_use = uses.note
    trees = parsed_cells(cells, lines)
    made_up = with_made_up_data(trees, script.parent)
    notes = [note_of_data(made_up.values())] if made_up else []
    with (
        ScriptSandbox(files, seconds, worker.reply_error) as sandbox,
        kept_from_running(made, lines.stand_ins) as held,
        noted_calls() as noted,
        noted_numba_functions(),
        older_names_in_dali(),
        command_line(arguments, lines) as taken,
        found_modules(script, lines.run_file, lines.stand_ins),
    ):
        try:
            paths = list(sys.path)
            module.__package__ = package_of(script, trees)
            stopped = run_cells(trees, module, lines)
            sys.path[:] = paths
            ran = list(made)
            file = Path(path).name
            found = ScriptResult(module, made, file, taken(), stopped, lines.stand_ins, TREES)
            chosen = _chosen(found, pipeline, arguments, lines)
            assumed = chosen.assumed
            with one_process():
                pipe, traced = _traced(chosen, held)
            traced = with_noted(traced, noted)
        except ImportFailedError as error:
            if error.__cause__ is None:
                raise
            hint = _hint(error.__cause__, stopped, assumed, lines)
            raise sandbox.describe_error(error.__cause__, hint) from None
        except BaseException as error:  # SystemExit and KeyboardInterrupt too
            hint = _hint(error, stopped, assumed, lines)
            raise sandbox.describe_error(error, hint) from None
    name, about = name_of(traced, module.__doc__, Path(path).stem, type(pipe))
    others = other_makers(found, traced, pipe) if stopped and pipeline is None else ()
    if stopped:
        notes.append(f"the script was stopped at {stopped}, where it runs a pipeline")
    is_new = _script_lines(traced) not in [_script_lines(trace_pipeline(each)) for each in ran]
    traced, losses = uses.reported(traced, lines.skipped + lines.unread * is_new)
    return replace(
        traced,
        name=name,
        about=about,
        notes=(*notes, *lines.told(), *chosen.notes),
        changed=(*map(Loss, (*chosen.choice, *others)), *losses),
        placeholders=(*chosen.placeholders, *made_up, *uses.texts()),
        pipelines=chosen.pipelines,
        assumed={name: written(value) for name, value in chosen.assumed.items()},
        shard=chosen.shard,
    )


def _script_lines(traced: Traced) -> set[tuple[str, int]]:
    """The lines in functions of the script that make a pipeline."""
    places = [place for op in traced.pipeline.ops for place in op.places]
    inside = [place for place in places if place.file in TREES and place.function != "<module>"]
    return {(place.file, place.line) for place in inside}


def _chosen(
    found: ScriptResult, pipeline: str | None, given: Mapping[str, Any], lines: ScriptRun
) -> FoundPipeline:
    """The pipeline that is meant; where there is none, what failed first says why."""
    try:
        return find_pipeline(found, pipeline, given)
    except ImportFailedError:
        if lines.failures and not has_pipeline(found):
            raise lines.failures[0] from None
        raise


def _note_pipelines(values: Any, made: list[Any]) -> None:
    """Note the pipelines among what a stand-in, as of an iterator, is called with."""
    for value in values:
        if isinstance(value, list | tuple):
            _note_pipelines(value, made)
        elif is_pipeline(value) and not any(value is other for other in made):
            made.append(value)


def _hint(error: BaseException, stopped: str, assumed: Mapping[str, Any], lines: ScriptRun) -> str:
    """What the user can do about an error of the script, as further sentences."""
    if isinstance(error, StandInError):
        top, modules = error.name.partition(".")[0], lines.stand_ins.modules
        setting = re.split(r"[(\[]", error.name)[0]
        return f". Install {top}" if top in modules else f". Give it: --arg {setting}=..."
    if isinstance(error, TypeError) and StandIn.__name__ in str(error):
        return f". A value in this line is not known here: {'; '.join(lines.told())}"
    if is_memory_refusal(error):
        return f": the memory does not suffice. {memory_remedy()}"
    if stopped and isinstance(error, NameError):
        return f".{unread_part_note(stopped)}"
    said = ", ".join(f"{name}={written(value)}" for name, value in assumed.items())
    give = " ".join(f"--arg {name}=..." for name in assumed)
    return f". Not given, and assumed: {said}. Give others: {give}" if said else ""


def _traced(chosen: FoundPipeline, held: HeldBack) -> tuple[Any, Traced]:
    """The pipeline and its calls."""
    try:
        with held.stand_in_for_results():
            pipe = chosen.make()
    except EnoughError as enough:
        pipe = enough.pipeline
    settings = (pipe.max_batch_size, pipe.num_threads, pipe.device_id, pipe.seed)
    for each in (*settings, *(getattr(pipe, "_graph_out", None) or ())):
        if isinstance(each, StandIn):
            raise StandInError(repr(each))
    return pipe, trace_pipeline(pipe)


def read_source_cells(path: str) -> list[SourceCell]:
    """The code of a ``.py`` file, or of each cell of an ``.ipynb``. Raises ImportFailedError."""
    try:
        if (size := Path(path).stat().st_size) > LARGEST_SCRIPT:
            raise ImportFailedError(
                f"{path} has {size:,} bytes; {LARGEST_SCRIPT:,} are the limit. {_SHORTER}"
            )
        data = Path(path).read_bytes()
        coding = (
            "utf-8-sig" if path.endswith(".ipynb") else detect_encoding(BytesIO(data).readline)[0]
        )
        text = data.decode(coding)
        if "\0" in text:
            raise SyntaxError(_NO_TEXT)
    except OSError as error:
        raise ImportFailedError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, SyntaxError, LookupError) as error:
        told = re.search("missing encoding declaration|^'utf-8' codec can't", str(error))
        words = _NO_TEXT if told else error
        raise ImportFailedError(
            f"{path} cannot be read: {words}. Save it as UTF-8, or name a script's encoding in its "
            "first line: # -*- coding: latin-1 -*-"
        ) from None
    if not path.endswith(".ipynb"):
        return [SourceCell(str(Path(path).absolute()), text)]
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ImportFailedError(
            f"{path} is not a notebook of format 4. Save it again in Jupyter, or as a script."
        ) from None
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
    plain: list[str] = []
    goes_on = False  # a shell command, in the next line
    for line in lines:
        code = "pass" if goes_on else _plain(line)
        goes_on = code != line and line.rstrip().endswith("\\")
        plain.append(f"{code}\n")
    return "".join(plain)


def _plain(line: str) -> str:
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    if given := _SHELL_VALUE.match(code):
        return f"{indent}{given[1]} = {STAND_IN}({given[2]!r})"
    if not code.startswith(("%", "!", "?")) and not code.rstrip().endswith("?"):
        return line
    return f"{indent}pass"


def new_module(path: str) -> ModuleType:
    """The module as which a script or notebook runs."""
    module = ModuleType(MODULE)
    module.__file__ = str(Path(path).absolute())
    module.__dict__["display"] = lambda *_, **__: None  # a notebook's
    sys.modules[MODULE] = module
    sys.path.insert(0, str(Path(path).absolute().parent))
    sys.argv = [path]
    for name, alone in _ONE_PROCESS.items():
        os.environ.setdefault(name, alone)
    if path.endswith(".ipynb"):  # where Jupyter runs it
        os.chdir(Path(path).absolute().parent)
    sys.dont_write_bytecode = True
    return module


def parsed_cells(cells: list[SourceCell], lines: ScriptRun) -> dict[str, ast.Module]:
    """Each cell as Python reads it; a notebook's that cannot be read is left out, and told of."""
    trees: dict[str, ast.Module] = {}
    for cell in cells:
        rows = cell.text.splitlines(keepends=True)
        linecache.cache[cell.file] = (len(cell.text), None, rows, cell.file)
        try:
            trees[cell.file] = _tree(cell)
        except (SyntaxError, ValueError, RecursionError) as error:
            if len(cells) == 1:
                raise _unreadable(error, cell.file) from None
            lines.failures.append(error)
            lines.notes.append(f"{Path(cell.file).name} cannot be read, and was left out: {error}")
    return trees


def _tree(cell: SourceCell) -> ast.Module:
    """As Python reads it; ``async`` was a name before Python 3.7, and people gave it to options."""
    try:
        return ast.parse(cell.text, cell.file)
    except SyntaxError:
        return ast.parse(_ASYNC_NAME.sub("async_", cell.text), cell.file)


def _unreadable(error: Exception, file: str) -> ImportFailedError:
    line = getattr(error, "lineno", None) or 0
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    older = ". It is of Python 2: 2to3 -w rewrites it" if "Missing parentheses" in words else ""
    quoted = one_printable_line(linecache.getline(file, line))
    return ImportFailedError(
        f"{source_location(file, line)}: {type(error).__name__}: {words}{older}\n    {quoted}"
    )


def run_cells(trees: Mapping[str, ast.Module], module: ModuleType, lines: ScriptRun) -> str:
    """Run all of it; the line at which it was stopped, or nothing where it came to its end."""
    module.__dict__[STAND_IN] = lines.stand_ins.value
    cells = list(trees.items())
    for number, (file, tree) in enumerate(cells):
        if number == 0:
            module.__doc__ = ast.get_docstring(tree)
        try:
            lines.run(tree, file, module)
        except EnoughError as enough:
            frames = frames_in(enough, trees)
            lines.define(tree, file, frames[0][1], module)
            for later_file, later in cells[number + 1 :]:
                lines.define(later, later_file, 0, module)
            return source_location(*frames[-1])
    return ""
