"""Find modules of a script's project when it imports them, and replace missing ones by stand-ins.

Installed modules are found as usual, and their own imports are not affected.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import FrameType, ModuleType

from workbench.engine.script_import.placeholders import StandIns

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
"""Files and folders that occur in the root folder of a project."""
_MOST_FOLDERS = 8
"""Maximum number of folders between a script and its project's root."""
_WORKBENCH = Path(__file__).parents[2]
_CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_PLUGINS: Mapping[str, str] = {
    "nvidia.dali.plugin.pytorch": "torch",
    "nvidia.dali.plugin.jax": "jax",
    "nvidia.dali.plugin.tf": "tensorflow",
    "nvidia.dali.plugin.paddle": "paddle",
    "nvidia.dali.plugin.mxnet": "mxnet",
}
"""Framework that is needed to import a plugin of DALI, by plugin."""

Run = Callable[[str, ModuleType], None]
"""Function that runs a file as a module."""


def project_folders(script: Path) -> list[Path]:
    """Return the script's folder and its parents, up to the root of its project.

    World-writable folders such as ``/tmp``, the home folder and ``/`` cannot be projects.
    """
    folders: list[Path] = []
    for folder in list(script.absolute().parents)[:_MOST_FOLDERS]:
        shared = folder == folder.parent or folder == Path.home() or folder.stat().st_mode & 0o002
        if folders and shared:
            break
        folders.append(folder)
        if any((folder / mark).exists() for mark in _MARKS):
            break
    return folders


class _ProjectLoader(SourceFileLoader):
    """Runs a module of the project like the script: failing lines are skipped."""

    def __init__(self, name: str, path: str, run: Run) -> None:
        super().__init__(name, path)
        self._run = run

    def exec_module(self, module: ModuleType) -> None:
        self._run(self.path, module)


class _StandInLoader(Loader):
    def __init__(self, stand_ins: StandIns, place: str) -> None:
        self._stand_ins = stand_ins
        self._place = place

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._stand_ins.module(spec.name, self._place)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Finder(MetaPathFinder):
    """Module finder that is called before the standard finders if ``first``, else after them."""

    def __init__(self, first: bool, folders: Sequence[Path], run: Run, stand_ins: StandIns) -> None:
        self._first = first
        self._folders = folders
        self._run = run
        self._stand_ins = stand_ins

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        where = _importing_line()
        if where is None or not self.owns(where[0]):
            return None
        if path is not None:
            inside = [entry for entry in path if self.owns(entry)] if self._first else []
        elif self._first:
            inside = [str(self._folders[0])]
        else:
            inside = [str(folder) for folder in self._folders[1:]]
        framework = _PLUGINS.get(name, "") if self._first else ""
        if framework and PathFinder.find_spec(framework) is None:
            return self._stand_in(name, *where)
        found = PathFinder.find_spec(name, inside) if inside else None
        if found is not None:
            origin = found.origin or ""
            if origin.endswith(".py"):
                found.loader = _ProjectLoader(name, origin, self._run)
            return found
        if self._first:
            return None
        if catches_import_errors(*where):
            self._stand_ins.note_use(name, "missing")
            return None
        return self._stand_in(name, *where)

    def _stand_in(self, name: str, file: str, line: int) -> ModuleSpec:
        loader = _StandInLoader(self._stand_ins, f"{Path(file).name}:{line}")
        return ModuleSpec(name, loader, is_package=True)

    def owns(self, file: str) -> bool:
        """Return True if a path belongs to the project and not to an installed package."""
        path, root = Path(file), self._folders[-1]
        if "site-packages" in path.parts or _WORKBENCH in path.parents:
            return False
        return path == root or root in path.parents


def _importing_line() -> tuple[str, int] | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith("<frozen importlib") and "/importlib/" not in file:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


TREES: dict[str, ast.Module] = {}
"""Syntax tree of the executed code, by file or notebook cell."""


def catches_import_errors(file: str, line: int) -> bool:
    """Return True if a line is in a ``try`` statement that catches import errors."""
    return any(first <= line <= last for first, last in _try_line_ranges(file))


@cache
def _try_line_ranges(file: str) -> tuple[tuple[int, int], ...]:
    tree = TREES.get(file)
    if tree is None:
        return ()
    return tuple(
        (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        and any(_continues_after_import_error(each) for each in node.handlers)
    )


def _continues_after_import_error(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = any(kind is None or ast.unparse(kind) in _CATCHING for kind in kinds)
    return caught and not any(isinstance(part, ast.Raise) for part in handler.body)


@contextmanager
def found_modules(script: Path, run: Run, stand_ins: StandIns) -> Iterator[None]:
    """Within the context, imports find modules of the script's project, or else stand-ins."""
    folders = project_folders(script)
    finders = [_Finder(first, folders, run, stand_ins) for first in (True, False)]
    sys.meta_path.insert(0, finders[0])
    sys.meta_path.append(finders[1])
    try:
        yield
    finally:
        for finder in finders:
            sys.meta_path.remove(finder)
        for name in stand_ins.modules:
            sys.modules.pop(name, None)


def package_of(script: Path, trees: Mapping[str, ast.Module]) -> str:
    """Return the package for a script's relative imports, or an empty string if it has none.

    The package and its parents are registered. An ``__init__.py`` runs when one of its names is
    accessed.
    """
    levels = [
        node.level
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    ]
    depth = max(levels, default=0)
    if not depth:
        return ""
    folders = list(script.absolute().parents)
    while depth < len(folders) and (folders[depth - 1] / "__init__.py").exists():
        depth += 1
    parts: list[str] = []
    for folder in reversed(folders[:depth]):
        parts.append(folder.name.replace(".", "_") or "root")
        name = ".".join(parts)
        if name not in sys.modules:
            sys.modules[name] = _LazyPackage(name, folder)
    return ".".join(parts)


class _LazyPackage(ModuleType):
    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name)
        self.__dict__.update(__path__=[str(folder)], __package__=name, _unread=True)
        self.__file__ = str(folder / "__init__.py")

    def __getattr__(self, name: str) -> object:
        if not name.startswith("__") and self.__dict__.pop("_unread", False):
            file = self.__file__
            if file and Path(file).exists():
                text = Path(file).read_text("utf-8")
                exec(compile(text, file, "exec", dont_inherit=True), self.__dict__)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
