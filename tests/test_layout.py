"""Rules of the architecture: who imports whom, how many modules a folder has."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import workbench

ROOT = Path(workbench.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
WRITTEN_BY_MACHINE = "payloads.ts"
SOURCES = [
    *MODULES,
    *(
        path
        for path in (ROOT / "ui" / "frontend" / "src").rglob("*.ts*")
        if path.name != WRITTEN_BY_MACHINE
    ),
]

CORE = (
    "errors",
    "names",
    "arguments",
    "roots",
    "files",
    "system_limits",
    "figures",
    "results",
    "sources",
    "catalog",
    "graph",
    "emit",
    "engine",
)
CAPABILITIES = ("preview", "bench", "health")
JOINT = ("optimiser", "training", "pipeline_difference", "serving_check", "versions")
"""Capabilities that need others."""
MAY_IMPORT: dict[str, set[str]] = {
    **{part: set(CORE[:index]) for index, part in enumerate(CORE)},
    **{part: set(CORE) for part in CAPABILITIES},
    **{part: {*CORE, *CAPABILITIES} for part in JOINT},
    "reference": {"graph"},
    "versions": {*CORE, *CAPABILITIES, "samples"},  # encodes records with the same functions
    "samples": {"errors", "arguments"},
    "ui": {*CORE, *CAPABILITIES, *JOINT, "files", "samples"},
    "commands": {*CORE, *CAPABILITIES, *JOINT, "files", "ui"},
    "cli": {*CORE, *CAPABILITIES, *JOINT, "files", "samples", "ui", "commands"},
}
"""Part of the package -> the parts it may import."""

FACADES = {"__init__", "__main__"}
"""Modules at the top that may name any part."""

HEAVY = ("nvidia.dali", "ipywidgets", "panel", "anywidget", "matplotlib")
MOST_MODULES, LONG_MODULE = 15, 600
IMPORT_SECONDS = 0.2


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def for_types_only(node: ast.AST) -> bool:
    tested = ast.walk(node.test) if isinstance(node, ast.If) else ()
    return any("TYPE_CHECKING" in (getattr(e, "id", ""), getattr(e, "attr", "")) for e in tested)


def run_time_statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements in a module or in another statement; an expression holds no import."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(node, field, ()):
            if not for_types_only(child):
                yield child
                yield from run_time_statements(child)


def imports_of(source: str, package: tuple[str, ...]) -> set[str]:
    """Dotted names that a module of ``package`` imports while it runs."""
    found: set[str] = set()
    for node in run_time_statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


@cache
def imports_in(path: Path) -> set[str]:
    """``imports_of`` a module of the package, which three tests ask for."""
    return imports_of(path.read_text(), ("workbench", *path.relative_to(ROOT).parent.parts))


def parts_imported(path: Path) -> set[str]:
    names = [name.split(".") for name in imports_in(path)]
    return {name[1] for name in names if name[0] == "workbench" and len(name) > 1}


def test_imports_are_read_right() -> None:
    source = """
import workbench.graph
from workbench import engine as e
from ..emit.script import emit_script
from . import panes
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from workbench.cli import main
def late():
    from workbench.bench import run
"""
    found = imports_of(source, ("workbench", "ui"))
    assert found - {"typing.TYPE_CHECKING"} == {
        "workbench.graph",
        "workbench.engine",
        "workbench.emit.script.emit_script",
        "workbench.ui.panes",
        "workbench.bench.run",
    }


def wrong_imports(path: Path) -> str:
    """What a module imports against the order, in words; empty where nothing."""
    part = part_of(path)
    if part in FACADES:
        return ""
    if part not in MAY_IMPORT:
        return f"{part} has no place in the order: give it one in MAY_IMPORT"
    parts = {name for name in parts_imported(path) if (ROOT / name).exists() or name in MAY_IMPORT}
    forbidden = parts - MAY_IMPORT[part] - {part}
    may = sorted(MAY_IMPORT[part])
    return f"{path}: {part} may import {may}, not {sorted(forbidden)}" if forbidden else ""


def test_imports_follow_the_way_the_data_flows() -> None:
    assert MODULES
    wrong = [words for path in MODULES if (words := wrong_imports(path))]
    assert not wrong, "\n".join(wrong)


def module_of(path: Path) -> str:
    parts = ("workbench", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules_imported(path: Path, modules: Collection[str]) -> set[str]:
    """Modules of this package that one imports, in its functions too."""
    names = imports_in(path)
    found = {name if name in modules else name.rpartition(".")[0] for name in names}
    return {name for name in found if name in modules} - {module_of(path)}


def test_no_modules_import_each_other() -> None:
    """An import inside a function may be for a light start, never to get round a cycle."""
    modules = {module_of(path) for path in MODULES}
    imports = {module_of(path): modules_imported(path, modules) for path in MODULES}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle, each imported by the next: {' -> '.join(error.args[1])}")


def package_of(path: Path) -> str:
    """The folder of a module below the package, as ``graph/edits``; of a part's own, the part."""
    return path.parent.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("part", ["sources", "graph", "emit", "engine", "preview", "bench", "ui"])
def test_sub_packages_do_not_import_each_other_in_a_circle(part: str) -> None:
    """The modules of a folder as one: so that the folders of a part have an order, too."""
    homes = {
        module_of(path): package_of(path)
        for path in (ROOT / part).rglob("*.py")
        if path.name != "__init__.py" and package_of(path) != part
    }
    imports: dict[str, set[str]] = {home: set() for home in homes.values()}
    for path in (ROOT / part).rglob("*.py"):
        home = homes.get(module_of(path))
        if home:
            found = {homes[name] for name in modules_imported(path, homes.keys())}
            imports[home] |= {each for each in found if not nested(each, home)}
    assert len(imports) > 1
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"a circle, each imported by the next: {' -> '.join(error.args[1])}")


def nested(one: str, other: str) -> bool:
    """Whether one folder is, or is inside, the other."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def packages() -> dict[str, str]:
    """Folder -> the first line of its docstring, which says what it is for."""
    found = {}
    for path in MODULES:
        if path.name == "__init__.py" and path.parent != ROOT:
            first = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
            found[package_of(path)] = first
    return found


def test_no_folder_has_too_many_modules() -> None:
    folders = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    wrong = [f"{path}: {count}" for path, count in folders.items() if count > MOST_MODULES]
    assert not wrong, "\n".join(["Split these where their subjects part:", *wrong])


def test_the_page_for_contributors_names_every_package_and_what_it_is_for() -> None:
    page = (ROOT.parent / "tests" / "README.md").read_text()
    missing = [
        f"| `{folder}/` | {purpose} |"
        for folder, purpose in packages().items()
        if f"| `{folder}/` | {purpose} |" not in page
    ]
    assert not missing, "\n".join(["Add these rows to tests/README.md:", *missing])


def test_long_modules_are_named() -> None:
    """A long module is a question, not a fault."""
    lengths = {path: len(path.read_text().splitlines()) for path in SOURCES}
    for path, lines in lengths.items():
        if lines > LONG_MODULE:
            warnings.warn(f"{path.relative_to(ROOT)} has {lines} lines", stacklevel=1)
    assert max(lengths.values()) < 2 * LONG_MODULE


def test_import_loads_neither_dali_nor_a_toolkit() -> None:
    code = f"import sys, workbench; print([n for n in {HEAVY!r} if n in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


@pytest.mark.thorough
def test_import_is_quick() -> None:
    def seconds(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        return time.perf_counter() - started

    bare = min(seconds("") for _ in range(5))
    took = min(seconds("import workbench") for _ in range(5)) - bare
    assert took < IMPORT_SECONDS, f"`import workbench` takes {took:.2f} s"
