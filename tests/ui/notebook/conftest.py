"""Workbenches that are closed at the end of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import workbench as wb

Open = Callable[..., wb.Workbench]


@pytest.fixture
def open_workbench() -> Iterator[Open]:
    """``Workbench`` with the same arguments; earlier edits are restored only where asked for."""
    made: list[wb.Workbench] = []

    def open_workbench(
        *arguments: Any, restore: bool | None = False, **options: Any
    ) -> wb.Workbench:
        made.append(wb.Workbench(*arguments, restore=restore, **options))
        return made[-1]

    yield open_workbench
    for each in made:
        each.close()
