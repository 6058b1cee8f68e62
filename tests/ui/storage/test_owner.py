"""A reload is the same owner; a duplicated tab, another notebook or another cell is not."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.ui.state.owner import (
    OpenTabs,
    is_owner,
    new_owner,
    notebook_owner,
    notebook_path,
    running_cell,
)


class FakePage:
    def __init__(self, connected: bool = True) -> None:
        self.connected = connected

    def is_connected(self) -> bool:
        return self.connected


def test_a_page_that_is_loaded_anew_keeps_its_owner() -> None:
    tabs, before, after = OpenTabs(), FakePage(), FakePage()
    owner = tabs.claim("", before)
    assert is_owner(owner)
    assert tabs.claim(owner, before) == owner
    before.connected = False
    assert tabs.claim(owner, after) == owner


def test_a_duplicated_tab_gets_an_owner_of_its_own() -> None:
    tabs, first, copy = OpenTabs(), FakePage(), FakePage()
    owner = tabs.claim("", first)
    other = tabs.claim(owner, copy)
    assert is_owner(other)
    assert other != owner
    assert tabs.claim(owner, first) == owner


@pytest.mark.parametrize("tab", ["", "..", "../../etc/passwd", "x" * 16, "A" * 16, "a" * 17])
def test_what_can_be_no_owner_is_exchanged(tab: str) -> None:
    page = FakePage()
    assert is_owner(OpenTabs().claim(tab, page))
    assert not is_owner(tab)


def test_an_owner_in_a_notebook_follows_from_notebook_cell_and_start() -> None:
    owner = notebook_owner("/a.ipynb", "cell", "start")
    assert is_owner(owner)
    assert owner == notebook_owner("/a.ipynb", "cell", "start")
    others = {
        notebook_owner("/copy.ipynb", "cell", "start"),
        notebook_owner("/a.ipynb", "other", "start"),
        notebook_owner("/a.ipynb", "cell", "other"),
        new_owner(),
    }
    assert len(others - {owner}) == 4


@pytest.mark.parametrize(
    ("named", "namespace", "found"),
    [
        ("/work/a.ipynb", {}, "/work/a.ipynb"),
        ("", {"__vsc_ipynb_file__": "/work/b.ipynb"}, "/work/b.ipynb"),
        ("console-1", {}, ""),
        ("", {}, ""),
    ],
)
def test_the_notebook_is_known_where_the_kernel_can_tell(
    named: str, namespace: dict[str, str], found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = SimpleNamespace(user_ns=namespace, parent_header={"metadata": {"cellId": "the-cell"}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setenv("JPY_SESSION_NAME", named)
    assert notebook_path() == (str(Path(found).resolve()) if found else "")
    assert running_cell() == "the-cell"


def test_a_script_has_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    monkeypatch.setenv("JPY_SESSION_NAME", "/work/a.ipynb")
    assert notebook_path() == ""
    assert running_cell() == ""
