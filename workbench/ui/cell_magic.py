"""``%%dali``: a cell with a pipeline written by hand becomes a graph and a workbench.

``%load_ext workbench`` brings it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from IPython.display import display

from workbench.engine.importing import from_file
from workbench.errors import ImportFailedError, WorkbenchError
from workbench.ui.notebook import Workbench


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ImportFailedError(f"%%dali: {message}. {self.format_usage().strip()}")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="%%dali", add_help=False)
    parser.add_argument("data", nargs="?", default=".", help="what is read: a folder, a list")
    parser.add_argument("--pipeline", help="which one, where the cell has several")
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--name", default="w", help="the variable that holds the workbench")
    return parser


def dali(line: str, cell: str) -> None:
    """Show a workbench of the pipeline that a cell defines.

    ``%%dali photos`` reads photos; ``--pipeline NAME`` chooses one of several, ``--arg NAME=VALUE``
    gives its function an argument, ``--name w`` names the variable that holds the workbench and,
    with ``_graph`` behind it, the graph. The cell is run in a process of its own, as ``from_file``
    runs a script. What cannot be is one line.
    """
    try:
        _show(line, cell)
    except WorkbenchError as error:
        print(error, file=sys.stderr)


def _show(line: str, cell: str) -> None:
    try:
        given = _parser().parse_args(shlex.split(line))
    except ValueError as error:
        raise ImportFailedError(f"%%dali {line}: {error}.") from None
    if not given.name.isidentifier():
        raise ImportFailedError(f"--name {given.name!r} is no Python name. Give one such as w.")
    args = dict(pair.partition("=")[::2] for pair in given.arg)
    with tempfile.TemporaryDirectory(prefix="workbench-cell-") as folder:
        path = Path(folder, "cell.py")
        path.write_text(cell, encoding="utf-8")
        found = from_file(path, given.pipeline, {"data": given.data, **args} if args else None)
    if found.report.entries or found.report.faults:
        print(found.report)
    shown = Workbench(given.data, found.document)
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is not None:
        shell.user_ns |= {given.name: shown, f"{given.name}_graph": found.graph}
    display(shown)


def register(shell: Any) -> None:
    """Give a shell the magic."""
    shell.register_magic_function(dali, magic_kind="cell", magic_name="dali")
