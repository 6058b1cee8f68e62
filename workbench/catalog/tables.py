"""Read the TOML files of this package, converting lists to tuples."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any


def read_tables(path: str) -> dict[str, Any]:
    """Return the contents of a TOML file, given by its path in this package."""
    tables: dict[str, Any] = frozen(
        tomllib.loads(files(__package__).joinpath(path).read_text("utf-8"))
    )
    return tables


def frozen(value: Any) -> Any:
    """Convert TOML lists to tuples, recursively."""
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    return tuple(map(frozen, value)) if isinstance(value, list) else value
