"""Sessions on the disk: whose they are, their files and locks, and recent work."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import time
import zlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.helpers import WRITABLE
from tests.ui.hosts import small
from workbench.catalog import load_catalog
from workbench.engine.resources.machine import describe_machine
from workbench.graph import Graph, Node, load_graph, load_recipe
from workbench.graph.storage.import_report import ImportReport
from workbench.graph.storage.layout import Document, Layout
from workbench.roots import Roots
from workbench.ui.app.field_edits import restore_view, view_settings
from workbench.ui.state.history import HistoryStep
from workbench.ui.state.owner import (
    OpenTabs,
    is_owner,
    new_owner,
    notebook_owner,
    notebook_path,
    running_cell,
)
from workbench.ui.state.view_state import ViewState, check_before_run
from workbench.ui.storage.autosave import Autosave, holding_lock, sessions_folder, take_lock
from workbench.ui.storage.recent_work import SHOWN, recent_folders, recent_work
from workbench.ui.storage.session_file import STEPS, Session, SessionSerializer, load_session

# A reload is the same owner; a duplicated tab, another notebook or another cell is not.


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


# What is kept of a session comes back, and its file opens as the graph that it holds.

GIVEN = Document(load_recipe("rotate-jitter"))


def named(name: str) -> Document:
    layout, report = Layout({"rotate": (12.5, -3.0)}), ImportReport(("rotate",), notes=("fed",))
    return Document(replace(GIVEN.graph, name=name), layout, report=report)


SESSION = Session(
    named("now"),
    (HistoryStep(GIVEN), HistoryStep(named("before"), ((0, -1), (3, 2)))),
    (HistoryStep(named("undone"), label="start over"),),
    {"data": "/photos"},
    ("rotate",),
    "",
    {"tab": "code", "batch": 3},
)


def test_a_session_comes_back_whole() -> None:
    text = SessionSerializer().dump(SESSION)
    assert load_session(text) == SESSION
    assert load_graph(text) == SESSION.document.graph


def test_steps_that_were_kept_without_a_label_come_back() -> None:
    data = json.loads(SessionSerializer().dump(SESSION))
    entry = data["session"]
    kept = json.loads(zlib.decompress(base64.b64decode(entry["history"])))
    old = [[step[:2] for step in each] for each in kept]
    entry["history"] = base64.b64encode(zlib.compress(json.dumps(old).encode())).decode()
    session = load_session(json.dumps(data))
    assert session.before == SESSION.before
    assert [step.label for step in session.undone] == [""]


def test_documents_are_dumped_once() -> None:
    writer = SessionSerializer()
    first = writer.dump(SESSION)
    known = {id(document) for document, _ in writer._texts.values()}
    assert writer.dump(SESSION) == first
    assert {id(document) for document, _ in writer._texts.values()} == known


def test_the_last_steps_are_kept() -> None:
    steps = tuple(HistoryStep(named(str(number))) for number in range(STEPS + 5))
    kept = load_session(SessionSerializer().dump(replace(SESSION, before=steps))).before
    assert kept == steps[5:]


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        {"history": "no base64"},
        {"history": "AAAA", "data": [], "selected": "x", "scope": 7},
        {"data": {"data": 1}, "selected": [1]},
    ],
)
def test_what_cannot_be_read_costs_nobody_the_graph(entry: Any) -> None:
    data = json.loads(SessionSerializer().dump(SESSION)) | {"session": entry}
    assert load_session(json.dumps(data)) == Session(SESSION.document)


@pytest.mark.parametrize("text", [*WRITABLE, "x" * 10_000, "\U0001f98a" * 3000])
def test_hostile_names_come_back_as_they_were(text: str) -> None:
    graph = Graph(text, text, (Node("n", "no.such.operator", {"value": (text, 1.5, True)}),))
    session = Session(Document(graph), (HistoryStep(GIVEN),), selected=(text,))
    assert load_session(SessionSerializer().dump(session)) == session


# A lock that is found out about without being taken, and that no removed file gives.


def test_one_has_it_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "session.lock"
    with holding_lock(path) as free:
        assert free
    assert not path.exists()
    first = take_lock(path)
    assert first is not None
    assert take_lock(path) is None
    with holding_lock(path) as free:
        assert not free
    first.close()
    with holding_lock(path) as free:
        assert free
        assert take_lock(path) is None


def test_who_only_looks_keeps_nobody_from_it(tmp_path: Path) -> None:
    path = tmp_path / "session.lock"
    path.touch()
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            with holding_lock(path):
                pass

    looker = threading.Thread(target=look)
    looker.start()
    try:
        for _ in range(50):
            lock = take_lock(path)
            assert lock is not None
            lock.close()
    finally:
        ended.set()
        looker.join()


def test_a_lock_that_was_removed_meanwhile_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "session.lock"
    opened = Path.open
    tries = []

    def open_and_lose(self: Path, mode: str) -> object:
        found = opened(self, mode)
        if not tries:
            self.unlink()
        tries.append(mode)
        return found

    monkeypatch.setattr(Path, "open", open_and_lose)
    lock = take_lock(path)
    assert len(tries) == 2
    assert lock is not None
    lock.close()


# How a graph was looked at comes back; what cannot be is passed over.


def fresh() -> ViewState:
    return ViewState(check_before_run(small(), load_catalog(), describe_machine()))


def test_it_comes_back() -> None:
    state, other = fresh(), fresh()
    state.tab, state.mode, state.batch, state.pinned, state.repeat = "data", "both", 7, True, 0
    restore_view(other, view_settings(state))
    assert view_settings(other) == view_settings(state)


def test_what_cannot_be_is_passed_over() -> None:
    state = fresh()
    before = view_settings(state)
    wrong = {"tab": [], "mode": "upside down", "batch": -1, "repeat": True, "target": "none",
             "tiles": "many", "pinned": 3, "lossless": None, "other": 1}  # fmt: skip
    restore_view(state, wrong)
    assert view_settings(state) == before


# The list of recent work: the newest first, what was not worked on or cannot be read left out.

NOW = time.time()


def left(name: str, when: float, edited: bool = True, data: str = "/data/photos/") -> str:
    """The owner of a session that ended at a time."""
    document = Document(replace(GIVEN.graph, name=name))
    session = Session(document, (HistoryStep(GIVEN),) if edited else (), data={"data": data})
    saver = Autosave(delay=60)
    saver.changed(session)
    saver.close()
    path = saver.folder / f"{saver.owner}.json"
    os.utime(path, (when, when))
    return saver.owner


def test_nothing_was_worked_on() -> None:
    assert recent_work() == []


def test_the_newest_come_first() -> None:
    owners = [left(str(number), NOW - 1000 + number) for number in range(SHOWN + 3)]
    left("only looked at", NOW, edited=False)
    (sessions_folder() / "damaged.json").write_text("{")
    found = recent_work(excluded_owner=owners[-1])
    assert [entry["owner"] for entry in found] == owners[-2 : -SHOWN - 2 : -1]
    assert {entry["data"] for entry in found} == {"photos"}
    assert not any(entry["open"] or entry["picture"] for entry in found)


def test_folders_that_are_there_and_may_be_opened_are_listed_once(tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "a", "outside")):
        (tmp_path / name).mkdir(exist_ok=True)
        left(name, NOW + number, data=str(tmp_path / name))
    left("gone", NOW + 9, data=str(tmp_path / "gone"))
    a, b, outside = (str(tmp_path / name) for name in ("a", "b", "outside"))
    assert recent_folders(None) == [outside, a, b]
    assert recent_folders(None, excluded=[outside]) == [a, b]
    assert recent_folders(Roots.of([a, b])) == [a, b]
