"""IPython magics ``%%dali`` and ``%%needs``, which ``%load_ext workbench`` registers.

``%%dali`` opens a workbench for the pipeline in a cell; ``%%needs`` skips a cell if packages are
missing.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from IPython.display import display

from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.engine.importing import from_file
from workbench.errors import ImportFailedError
from workbench.graph.execution.dataset_parameters import parameters
from workbench.sources import Datasets, describe_kind, load_source, open_datasets
from workbench.ui.notebook.widget import Workbench

_opened: dict[str, int] = {}
"""Identity of the value that ``%%dali`` last assigned to each variable, by variable name."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ImportFailedError(f"%%dali: {message}. {self.format_usage().strip()}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%dali", add_help=False)
    parser.add_argument("data", nargs="?", help="data to read: a folder or a file list")
    parser.add_argument("--pipeline", help="pipeline to open if the cell defines several")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--name", default="w", help="name of the workbench variable")
    return parser


def dali(line: str, cell: str) -> None:
    """Open a workbench for the pipeline defined in a cell.

    ``%%dali photos`` reads the folder ``photos``, and passes it to a function with one parameter.
    ``%%dali`` alone reads the folder named in the pipeline, and prints its name. ``--pipeline
    NAME`` selects one of several pipelines, and ``--arg NAME=VALUE`` passes an argument to its
    function. ``--name w`` sets the name of the workbench variable and, with the suffix ``_graph``,
    of the graph variable.

    The cell is run in a separate process, like a script with ``from_file``. Raises WorkbenchError;
    after any error, the variables of an earlier ``%%dali`` are deleted, so that no later cell uses
    the earlier graph.
    """
    try:
        _show(line, cell)
    except BaseException:
        _delete_earlier(line)
        raise


def _delete_earlier(line: str) -> None:
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    found = re.search(r"--name[ =](\S+)", line)
    name = found[1] if found else "w"
    names = shell.user_ns if shell is not None else {}
    if isinstance(names.get(name), Workbench) and names.pop(f"{name}_graph", None) is not None:
        del names[name]


def _show(line: str, cell: str) -> None:
    try:
        given = _parser().parse_args(shlex.split(line))
    except ValueError as error:
        raise ImportFailedError(f"%%dali {line}: {error}.") from None
    if not given.name.isidentifier():
        raise ImportFailedError(f"--name {given.name!r} is not a Python name. Use w, for example.")
    args = dict(pair.partition("=")[::2] for pair in given.arg)
    if given.data is not None:
        parameter = "data" if args else _only_parameter(cell)
        args = {parameter: given.data, **args} if parameter else args
    with tempfile.TemporaryDirectory(prefix="workbench-cell-") as folder:
        path = Path(folder, "cell.py")
        path.write_text(cell, encoding="utf-8")
        try:
            found = from_file(path, given.pipeline, args or None)
        except ImportFailedError as error:
            text = re.sub(r"^cell\.py has", "The cell has", str(error))
            error.args = (re.sub(r"cell\.py:([A-Za-z_]\w*)", r"--pipeline \1", text),)
            raise
    if found.report.entries or found.report.faults:
        print(found.report)
    shown = Workbench(_open_data(given.data, found), found.document)
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is not None:
        names = {given.name: shown, f"{given.name}_graph": found.graph}
        earlier = {name: shell.user_ns[name] for name in names if name in shell.user_ns}
        if lost := [name for name, value in earlier.items() if _opened.get(name) != id(value)]:
            print(
                f"%%dali replaced your variable{'s' * (len(lost) > 1)} {' and '.join(lost)}. "
                "Choose another name: %%dali --name NAME."
            )
        _opened.update({name: id(value) for name, value in names.items()})
        shell.user_ns |= names
    display(shown)


def _only_parameter(cell: str) -> str:
    try:
        defined = [each for each in ast.parse(cell).body if isinstance(each, ast.FunctionDef)]
    except SyntaxError:
        return ""
    made = [f for f in defined if "pipeline_def" in "".join(map(ast.unparse, f.decorator_list))]
    needed = [f.args.args[: len(f.args.args) - len(f.args.defaults)] for f in made]
    return needed[0][0].arg if len(needed) == 1 and len(needed[0]) == 1 else ""


def _open_data(path: str | None, imported: ImportedGraph) -> Datasets:
    """Open ``path``, or by default the data that the pipeline names, and print how it is read."""
    if path is None and not parameters(imported.graph.sources):
        print("The pipeline lists its files itself, so no folder is needed.")
        return open_datasets(".")
    if path is None and (known := imported.graph.datasets):
        for name, each in known.items():
            print(f"Reading {each} ({describe_kind(each)}) as {name}, as set in the pipeline.")
        return known
    if path is None and not os.path.exists(imported.data):
        named = f" {imported.data}, which does not exist" if imported.data else " no folder"
        raise ImportFailedError(
            f"%%dali: no data is set, and the pipeline names{named}. Pass the data to read: "
            "%%dali photos."
        )
    datasets = open_datasets(imported.data if path is None else path)
    (dataset,) = datasets.values()
    if path is None:
        print(f"Reading {dataset} ({describe_kind(dataset)}), as set in the pipeline.")
    elif load_source(dataset.kind).guessed:
        print(f"{dataset} is read as a {describe_kind(dataset)}.")
    return datasets


_NEEDS = re.compile(r"%%needs\s+(.+)")


def skip_if_missing(lines: list[str]) -> list[str]:
    """Remove ``%%needs torch`` from a cell, or return a cell that prints which packages it needs.

    This is an IPython input transformation, so the remaining lines run like any other cell.
    """
    found = _NEEDS.match(lines[0]) if lines else None
    if found is None:
        return lines
    missing = [name for name in found[1].split() if not _is_installed(name)]
    if not missing:
        return lines[1:]
    names = " ".join(missing)
    message = f"Skipped: this cell needs {names}. Install with: pip install {names}"
    return [f"print({message!r})\n"]


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # blocked: sys.modules has None
        return False


def register(shell: Any) -> None:
    """Register both magics in an IPython shell."""
    shell.register_magic_function(dali, magic_kind="cell", magic_name="dali")
    if skip_if_missing not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.insert(0, skip_if_missing)
