"""Open a user's script or notebook, and run it in the sandbox to get its definitions."""

from __future__ import annotations

import ast
import json
import linecache
import os
import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding
from types import ModuleType
from typing import Any

from workbench.engine.run.worker import Worker
from workbench.engine.script_import.call_arguments import python_source
from workbench.engine.script_import.failing_statements import STAND_IN
from workbench.engine.script_import.placeholders import StandIn, StandInError, StandIns
from workbench.engine.script_import.project_modules import TREES, found_modules, package_of
from workbench.engine.script_import.script_sandbox import (
    ScriptSandbox,
    one_printable_line,
    source_location,
)
from workbench.engine.script_import.statement_runner import (
    ScriptRun,
    StopScriptError,
    command_line,
    frames_in,
)
from workbench.engine.script_import.unknown_uses import UnknownUses
from workbench.errors import ImportFailedError
from workbench.system_limits import is_memory_refusal, memory_remedy

MODULE = "imported_source"
"""The ``__name__`` under which a script runs. Its ``__main__`` section is skipped at first."""
_SHELL_VALUE = re.compile(r"([A-Za-z_][\w, ]*?)\s*=\s*([!%].*)")
"""Matches an IPython assignment such as ``files = !ls``, with groups for names and command."""
_ASYNC_NAME = re.compile(r"\basync\b(?!\s+(?:def|for|with)\b)")
LARGEST_SCRIPT = 16 * 2**20
"""Maximum size of a script or notebook in bytes."""
_NO_TEXT = "it is not UTF-8 text"
_SHORTER = "Clear a notebook's outputs, or move the pipeline to its own file."
_ONE_PROCESS = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
"""Environment variables that launchers set, with the values for a single process."""


@dataclass(frozen=True, slots=True)
class SourceCell:
    """Python code and its file name: a script, or one cell of a notebook."""

    file: str
    text: str


@dataclass
class OpenedScript:
    """A script or notebook, and the state of its import."""

    path: str
    module: ModuleType
    cells: Mapping[str, ast.Module]
    """Syntax trees of the script, or of a notebook's cells, by file name."""
    lines: ScriptRun = field(default_factory=lambda: ScriptRun(StandIns()))
    uses: UnknownUses = field(default_factory=UnknownUses)
    taken: Collection[str] = ()
    """Names of arguments that the script's argument parser used."""
    made: list[Any] = field(default_factory=list)
    """Pipelines that the script would have built or run."""
    stopped: str = ""
    """Line at which the script was stopped, as shown in messages, or "" if it ran to its end."""
    assumed: Mapping[str, Any] = field(default_factory=dict)
    """Assumed values of missing arguments, by name."""
    trees: Mapping[str, ast.Module] = field(default_factory=lambda: TREES)
    """Syntax trees of executed code of the script and its project, by file name."""
    launcher: Collection[str] = ()
    """Launcher variables that were missing, and were set to the values for a single process."""

    @property
    def file(self) -> str:
        """File name as shown in messages."""
        return Path(self.path).name

    def run(self) -> None:
        """Run the script. After the line where it is stopped, only definitions are read."""
        paths = list(sys.path)
        self.module.__package__ = package_of(Path(self.module.__file__ or ""), self.cells)
        self.module.__dict__[STAND_IN] = self.lines.stand_ins.value
        self.module.__doc__ = next(map(ast.get_docstring, self.cells.values()), None)
        waiting = list(self.cells.items())
        while waiting and not self.stopped:
            file, tree = waiting.pop(0)
            try:
                self.lines.run(tree, file, self.module)
            except StopScriptError as enough:
                frames = frames_in(enough, self.cells)
                self.stopped = source_location(*frames[-1])
                self.lines.define(tree, file, frames[0][1], self.module)
        for file, tree in waiting:
            self.lines.define(tree, file, 0, self.module)
        sys.path[:] = paths

    def main_sections(self) -> Iterator[tuple[str, ast.If]]:
        """Yield the file and the statement of each ``if __name__ == "__main__"``."""
        for file, tree in self.cells.items():
            for each in tree.body:
                if isinstance(each, ast.If) and "__name__" in ast.unparse(each.test):
                    yield file, each

    def run_main(self) -> Any:
        """Run the ``__main__`` section until it runs a pipeline, and return the pipeline.

        Returns None if it runs no pipeline.
        """
        for file, section in self.main_sections():
            whole = self.cells[file]
            try:
                self.lines.run(ast.Module(section.body, []), file, self.module)
            except StopScriptError as enough:
                self.stopped = source_location(*frames_in(enough, self.cells)[-1])
                return enough.pipeline
            finally:
                TREES[file] = whole
        return None

    def launcher_variables(self) -> list[str]:
        """Return the variables in ``launcher`` that the script uses."""
        texts = {
            node.value
            for tree in self.trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        return [name for name in self.launcher if name in texts]

    def unread_part_note(self) -> str:
        """Return a sentence about the part of the script that was not read, or "" without one."""
        if not self.stopped:
            return ""
        return (
            f" It was stopped at {self.stopped}, where it runs a pipeline: after that, only "
            "functions, classes and imports were read. Move the code that runs it under "
            "`if __name__ == '__main__'`."
        )

    def hint(self, error: BaseException) -> str:
        """Return sentences with possible fixes for an error of the script."""
        if isinstance(error, StandInError):
            top, modules = error.name.partition(".")[0], self.lines.stand_ins.modules
            setting = re.split(r"[(\[]", error.name)[0]
            return f". Install {top}" if top in modules else f". Pass it: --arg {setting}=..."
        if isinstance(error, TypeError) and StandIn.__name__ in str(error):
            return f". A value in this line is unknown: {'; '.join(self.lines.all_notes())}"
        if is_memory_refusal(error):
            return f": memory is exhausted. {memory_remedy()}"
        if self.stopped and isinstance(error, NameError):
            return f".{self.unread_part_note()}"
        text = ", ".join(f"{name}={python_source(value)}" for name, value in self.assumed.items())
        give = " ".join(f"--arg {name}=..." for name in self.assumed)
        return f". Assumed values: {text}. To change them: {give}" if text else ""


@contextmanager
def opened_script(
    worker: Worker, path: str, arguments: Mapping[str, Any], seconds: float
) -> Iterator[OpenedScript]:
    """Open a script in the sandbox, to run it and read its definitions within the context.

    Raises ImportFailedError for a failure in the script, with the script's line.
    """
    cells = read_source_cells(path)
    tempfile.gettempdir()  # read now, whatever the script does to the environment
    lines = ScriptRun(StandIns())
    launcher = [name for name in _ONE_PROCESS if name not in os.environ]
    module = new_module(path)
    script = OpenedScript(path, module, parsed_cells(cells, lines), lines, launcher=launcher)
    lines.stand_ins.note_use = script.uses.note
    file = Path(script.module.__file__ or "")
    with (
        ScriptSandbox([cell.file for cell in cells], seconds, worker.reply_error) as sandbox,
        command_line(arguments, lines) as script.taken,
        found_modules(file, lines.run_file, lines.stand_ins),
    ):
        try:
            yield script
        except BaseException as error:  # including SystemExit and KeyboardInterrupt
            meant = error.__cause__ if isinstance(error, ImportFailedError) else error
            if meant is None:
                raise
            raise sandbox.describe_error(meant, script.hint(meant)) from None


def read_source_cells(path: str) -> list[SourceCell]:
    """Return the code of a ``.py`` file or of each ``.ipynb`` cell, or raise ImportFailedError."""
    try:
        if (size := Path(path).stat().st_size) > LARGEST_SCRIPT:
            raise ImportFailedError(
                f"{path} has {size:,} bytes; the limit is {LARGEST_SCRIPT:,}. {_SHORTER}"
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
        undeclared = re.search("missing encoding declaration|^'utf-8' codec can't", str(error))
        words = _NO_TEXT if undeclared else error
        raise ImportFailedError(
            f"{path} cannot be read: {words}. Save it as UTF-8, or declare its encoding in the "
            "first line: # -*- coding: latin-1 -*-"
        ) from None
    if not path.endswith(".ipynb"):
        return [SourceCell(str(Path(path).absolute()), text)]
    try:
        cells = json.loads(text)["cells"]
        sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = re.search(r'"nbformat": *(\d+)', text)
        version = f" but version {found[1]}" if found else ""
        raise ImportFailedError(
            f"{path} is not an nbformat 4 notebook{version}. Save it again in Jupyter, or as a "
            "script."
        ) from None
    name = str(Path(path).absolute())
    return [
        SourceCell(f"{name} cell {n}", _python(code)) for n, code in enumerate(sources, start=1)
    ]


def _python(cell: str) -> str:
    """Replace IPython syntax in a cell. The line numbers do not change."""
    lines = cell.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%") and first.split()[0] not in ("%%time", "%%capture", "%%timeit"):
        return "pass\n" * len(lines)
    plain: list[str] = []
    goes_on = False  # a shell command, in the next line
    for line in lines:
        code = "pass" if goes_on else _without_shell_syntax(line)
        goes_on = code != line and line.rstrip().endswith("\\")
        plain.append(f"{code}\n")
    return "".join(plain)


def _without_shell_syntax(line: str) -> str:
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    if given := _SHELL_VALUE.match(code):
        return f"{indent}{given[1]} = {STAND_IN}({given[2]!r})"
    if not code.startswith(("%", "!", "?")) and not code.rstrip().endswith("?"):
        return line
    return f"{indent}pass"


def new_module(path: str) -> ModuleType:
    """Create the module in which a script or notebook runs."""
    module = ModuleType(MODULE)
    module.__file__ = str(Path(path).absolute())
    module.__dict__["display"] = lambda *_, **__: None  # a notebook's
    sys.modules[MODULE] = module
    sys.path.insert(0, str(Path(path).absolute().parent))
    sys.argv = [path]
    for name, alone in _ONE_PROCESS.items():
        os.environ.setdefault(name, alone)
    if path.endswith(".ipynb"):  # Jupyter's working directory
        os.chdir(Path(path).absolute().parent)
    sys.dont_write_bytecode = True
    return module


def parsed_cells(cells: list[SourceCell], lines: ScriptRun) -> dict[str, ast.Module]:
    """Parse each cell. Invalid cells of a notebook are skipped and reported."""
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
            lines.notes.append(f"{Path(cell.file).name} cannot be read, and was skipped: {error}")
    return trees


def _tree(cell: SourceCell) -> ast.Module:
    """Parse a cell. Variables with the name ``async``, valid before Python 3.7, are renamed."""
    try:
        return ast.parse(cell.text, cell.file)
    except SyntaxError:
        return ast.parse(_ASYNC_NAME.sub("async_", cell.text), cell.file)


def _unreadable(error: Exception, file: str) -> ImportFailedError:
    line = getattr(error, "lineno", None) or 0
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    older = (
        ". It is Python 2 code: convert it with 2to3 -w" if "Missing parentheses" in words else ""
    )
    quoted = one_printable_line(linecache.getline(file, line))
    return ImportFailedError(
        f"{source_location(file, line)}: {type(error).__name__}: {words}{older}\n    {quoted}"
    )
