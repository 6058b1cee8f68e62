"""Only what is registered is found, and only modules of known packages are imported for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.engine import tasks
from workbench.engine.protocol.registry import (
    find_registered,
    know_packages,
    known_packages,
    name_of,
    task,
)
from workbench.errors import EngineError


def helper() -> None:
    """Not a task."""


def test_a_task_is_found_by_its_name() -> None:
    assert name_of(tasks.echo) == "tests.engine.tasks:echo"
    assert find_registered("tests.engine.tasks:echo") is tasks.echo
    render = find_registered("workbench.preview.views.render:render")
    assert render.__module__ == "workbench.preview.views.render"
    assert {"workbench", "tests"} <= known_packages()


@pytest.mark.parametrize(
    "name",
    [
        f"{__name__}:helper",
        "os:system",
        "workbench.cli:main",
        "workbench.errors:WorkbenchError",
        "workbench.no_such_module:task",
        "subprocess",
        "",
        ":",
        "workbench:..cli",
    ],
)
def test_nothing_else_is(name: str) -> None:
    with pytest.raises(EngineError, match="cannot be run in the worker"):
        find_registered(name)


def test_no_module_is_imported_because_a_message_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from workbench.engine.protocol.registry import task\n@task\ndef run(worker): ...\n"
    (tmp_path / "stranger.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("workbench.engine.protocol.registry._known", {"workbench"})
    with pytest.raises(EngineError, match="not registered"):
        find_registered("stranger:run")
    assert "stranger" not in sys.modules
    know_packages(["stranger"])
    assert find_registered("stranger:run") is sys.modules.pop("stranger").run


def test_a_task_stays_the_function_that_it_is() -> None:
    def local() -> None: ...

    assert task(local) is local
