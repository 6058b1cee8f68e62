"""The folders of the canvas in the front end: how many files each has, and who imports whom."""

from __future__ import annotations

import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

from tests.ui.frontend_module import FRONTEND

CANVAS = FRONTEND / "src" / "canvas"
FILES = [path for path in CANVAS.rglob("*") if path.suffix in (".ts", ".tsx")]
MOST_FILES = 15


def folder(path: Path) -> str:
    """``layout`` or another folder; empty for the canvas itself."""
    return "" if path.parent == CANVAS else path.relative_to(CANVAS).parts[0]


def test_no_folder_has_too_many_files() -> None:
    counts = Counter(folder(path) for path in FILES)
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}


def test_no_two_folders_import_each_other() -> None:
    imports: dict[str, set[str]] = {}
    for path in FILES:
        for name in re.findall(r'from "(\.[^"]+)"', path.read_text()):
            target = (path.parent / name).resolve()
            if target.is_relative_to(CANVAS) and folder(target) != folder(path):
                imports.setdefault(folder(path), set()).add(folder(target))
    order = list(TopologicalSorter(imports).static_order())
    assert order[0] == "layout"
    assert order[-1] == "", "the canvas imports its folders, and none imports it"
