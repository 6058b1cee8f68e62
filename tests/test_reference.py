"""Every public name in the reference, with an example that runs."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.reference import (
    GROUPS,
    MEMBERS,
    PATH,
    START,
    build,
    docstring,
    examples,
    find,
    names,
)

LARGEST = 100_000
"""Bytes of the page."""


def is_error(name: str) -> bool:
    value = find(name)
    return isinstance(value, type) and issubclass(value, Exception)


def shared_example(name: str) -> bool:
    """Whether an error has the example of a base."""
    bases = [base.__name__ for base in find(name).__mro__[1:]]
    return any(examples(base) for base in bases if base in wb.__all__)


def test_the_page_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == build(), "run: python -m workbench.reference"
    assert len(build().encode()) < LARGEST


def test_the_groups_hold_every_public_name_once() -> None:
    listed = [name for _, names in GROUPS.values() for name in names.split()]
    assert len(listed) == len(set(listed))
    assert {*listed} == {*wb.__all__} - {"__version__"}
    assert MEMBERS.keys() <= {*listed}


@pytest.mark.parametrize("name", list(names()))
def test_every_name_has_an_example(name: str) -> None:
    assert len(docstring(name).split()) > 3
    assert examples(name) or (is_error(name) and shared_example(name))


FUNCTIONS = [
    name
    for name in wb.__all__
    if inspect.isroutine(getattr(wb, name)) and inspect.signature(getattr(wb, name)).parameters
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_raise(name: str) -> None:
    assert "raises" in docstring(name).lower()


@pytest.fixture(scope="module")
def start(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What every example may use, in a folder of their own."""
    folder, before = tmp_path_factory.mktemp("reference"), Path.cwd()
    (folder / "photos").symlink_to(photos)
    os.chdir(folder)
    given: dict[str, Any] = {"__name__": "reference"}
    try:
        run(START, folder / "start.py", given)
        yield given
    finally:
        os.chdir(before)
        for opened in ("w", "engine"):
            if opened in given:
                given[opened].close()


def run(source: str, path: Path, given: dict[str, Any]) -> None:
    """Run an example from a file, for functions to have a source."""
    path.write_text(source)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, str(path), "exec"), given)


MEASURE = (
    *("Workbench.stages", "Workbench.tune", "Workbench.optimise", "WatchReport.measure_fix"),
    *("optimise", "Benchmark.run"),
)
"""Members whose examples take many seconds."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name in MEASURE else [])
        for name in names()
        if examples(name)
    ],
)
def test_every_example_runs(name: str, start: dict[str, Any]) -> None:
    if name in ("Workbench.loader", "InProcessLoader"):
        pytest.importorskip("torch")
    if name == "loader":
        pytest.importorskip("jax")
    if "to_frame" in name or name == "GraphComparison":
        pytest.importorskip("pandas")
    for number, source in enumerate(examples(name)):
        path = Path.cwd() / f"{name}_{number}.py".replace(".", "_", name.count("."))
        if is_error(name):
            with pytest.raises(find(name)) as raised:
                run(source, path, dict(start))
            print(raised.value)
        else:
            run(source, path, dict(start))
