"""Functions named by where they stand: ``augment.py:invert`` or ``package.augment:invert``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from workbench.errors import GraphEditError
from workbench.graph.model import is_name
from workbench.graph.user_functions.function_source import definition_source

FORM = "Write file.py:function or package.module:function."
_LARGEST = 1_000_000


def source_at(place: str) -> tuple[str, str]:
    """The name of a function and its source, the imports inside, as ``file.py:function`` says.

    The file is read and not run; of ``package.module:function`` Python imports the package.
    Raises GraphEditError with what hinders it.
    """
    where, colon, name = place.rpartition(":")
    if not colon or not where or not is_name(name):
        raise GraphEditError(f"{place!r} does not name a function. {FORM}")
    found = definition_source(_text(_file(where, place), place), name)
    if isinstance(found, GraphEditError):
        raise GraphEditError(f"{place}: {str(found).rstrip('.')}.")
    return name, found


def _file(where: str, place: str) -> Path:
    if where.endswith(".py"):
        return Path(where).expanduser()
    if not all(is_name(part) for part in where.split(".")):
        raise GraphEditError(f"{place}: {where!r} is no file of Python and no module. {FORM}")
    try:
        spec = importlib.util.find_spec(where)
    except ModuleNotFoundError as error:
        raise GraphEditError(f"{place}: {error}. Install it, or name the file. {FORM}") from None
    except (ImportError, ValueError) as error:
        raise GraphEditError(f"{place}: {where} cannot be imported: {error}.") from None
    if spec is None:
        raise GraphEditError(f"{place}: there is no module {where}. Name the file. {FORM}")
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise GraphEditError(f"{place}: {where} is not written in Python, so it has no source.")
    return Path(spec.origin)


def _text(file: Path, place: str) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise GraphEditError(f"{place}: {file} cannot be read: {error.strerror}.") from None
    if len(data) > _LARGEST:
        raise GraphEditError(f"{place}: {file} is larger than {_LARGEST:,} bytes.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise GraphEditError(f"{place}: {file} is not UTF-8: {error.reason}.") from None
