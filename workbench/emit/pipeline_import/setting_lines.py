"""The lines of a script that set a setting of its pipeline."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePath

from workbench.emit.pipeline_import.trace.traced import SourceLocation

_POSITIONAL = ("batch_size", "num_threads", "device_id", "seed", "exec_pipelined")
"""The first parameters of ``nvidia.dali.Pipeline``."""
_MAKERS = frozenset({"pipeline_def", "Pipeline", "__init__"})
_MOST = 3
"""Lines that are named."""


def setting_lines(
    name: str,
    statements: Mapping[str, Iterable[ast.stmt]],
    places: Collection[SourceLocation],
) -> str:
    """Where the script sets it, such as ``train.py:3``; empty if it is not known.

    ``statements`` are those of each file, ``places`` the lines of the pipeline's calls. Statements
    that contain one of these lines have precedence.
    """
    functions = {place.function for place in places} - {"<module>"}
    found: dict[str, bool] = {}
    for file, those in statements.items():
        for statement in those:
            end = statement.end_lineno or statement.lineno
            lines = [place.line for place in places if place.file == file]
            near = any(statement.lineno <= line <= end for line in lines)
            for line in _setting(name, statement, _MAKERS | functions):
                where = f"{PurePath(file).name}:{line}"
                found[where] = near or found.get(where, False)
    nearest = [place for place, near in found.items() if near] or list(found)
    return ", ".join(nearest[:_MOST])


def _setting(name: str, statement: ast.stmt, makers: Collection[str]) -> Iterator[int]:
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if called in makers:
            yield from (each.value.lineno for each in node.keywords if each.arg == name)
        if called not in ("Pipeline", "__init__") or name not in _POSITIONAL:
            continue
        own = isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Call)
        index = _POSITIONAL.index(name) + (called == "__init__" and own)  # after ``self``
        if index < len(node.args):
            yield node.args[index].lineno
