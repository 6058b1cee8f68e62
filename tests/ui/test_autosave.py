"""Edits outlive the process that made them, and nobody's are destroyed by another's."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.helpers import WRITABLE
from workbench.graph import Graph, Node, load_graph, load_recipe
from workbench.graph.layout import Document, Layout
from workbench.ui.autosave import KEPT, Autosave, Restored, state_folder

GIVEN = Document(load_recipe("rotate-jitter"))


def named(name: str) -> Document:
    return Document(replace(GIVEN.graph, name=name), Layout({"rotate": (12.5, -3.0)}))


def saver(data: Path, given: Document = GIVEN, delay: float = 0.0) -> Autosave:
    return Autosave(data, given, delay=delay)


def work(data: Path, document: Document, age: float = 0.0) -> Autosave:
    """A session that made an edit and ended, some seconds ago."""
    session = saver(data, delay=60)
    session.changed(document)
    session.close()
    path = session.folder / f"{session.session}.json"
    now = path.stat().st_mtime
    os.utime(path, (now - age, now - age))
    return session


def test_nothing_is_written_before_an_edit(tmp_path: Path, own_state: Path) -> None:
    session = saver(tmp_path)
    assert session.start() is None
    session.close()
    assert list(own_state.iterdir()) == []


def test_an_edit_comes_back_with_its_layout(tmp_path: Path) -> None:
    work(tmp_path, named("mine"))
    found = saver(tmp_path).start()
    assert found is not None
    assert found.document == named("mine")
    assert datetime.now() - found.when < timedelta(minutes=1)


def test_an_edit_is_on_the_disk_before_the_session_ends(tmp_path: Path) -> None:
    session = saver(tmp_path)
    for number in range(20):
        session.changed(named(f"step {number}"))
    while (timer := session._timer) is not None:
        timer.join(10)
    (path,) = session.folder.iterdir()
    assert load_graph(path.read_text()).name == "step 19"
    assert stat.S_IMODE(session.folder.stat().st_mode) == 0o700


def test_it_belongs_to_its_folder_and_its_first_graph(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    work(here, named("mine"))
    assert saver(there).start() is None
    assert saver(here, Document(load_recipe("simclr"))).start() is None
    assert saver(here / ".." / "here").start() is not None


def test_of_two_tabs_the_last_comes_back_and_the_other_is_still_there(tmp_path: Path) -> None:
    first = work(tmp_path, named("first"), age=20)
    second = work(tmp_path, named("second"), age=10)
    session = saver(tmp_path)
    found = session.start()
    assert found is not None
    assert found.document.graph.name == "second"
    for tab in (first, second):
        mine = saver(tmp_path).resume(tab.session)
        assert mine is not None
        assert mine.document.graph.name == ("first" if tab is first else "second")


def test_a_session_that_edits_nothing_hands_on_what_it_found(tmp_path: Path) -> None:
    work(tmp_path, named("mine"), age=3600)
    between = saver(tmp_path)
    found = between.start()
    between.close()
    again = saver(tmp_path).resume(between.session)
    assert found is not None
    assert again == found


def test_going_back_to_what_was_given_is_remembered_too(tmp_path: Path) -> None:
    work(tmp_path, named("mine"), age=10)
    work(tmp_path, GIVEN)
    assert saver(tmp_path).start() is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe\x00", b'{"format": "dali-workbench-graph", "version": 99}', b"[1]"],
)
def test_a_damaged_file_is_set_aside_and_the_one_before_comes_back(
    tmp_path: Path, content: bytes
) -> None:
    work(tmp_path, named("older"), age=10)
    newer = work(tmp_path, named("newer"))
    path = newer.folder / f"{newer.session}.json"
    path.write_bytes(content)
    told: list[str] = []
    found = Autosave(tmp_path, GIVEN, told.append).start()
    assert found is not None
    assert found.document.graph.name == "older"
    assert not path.exists()
    assert path.with_suffix(".damaged").read_bytes() == content
    assert str(path.with_suffix(".damaged")) in told[0]


@pytest.mark.parametrize("text", [*WRITABLE, "x" * 10_000, "\U0001f98a" * 3000])
def test_hostile_names_come_back_as_they_were(tmp_path: Path, text: str) -> None:
    graph = Graph(text, text, (Node("n", "no.such.operator", {"value": (text, 1.5, True)}),))
    work(tmp_path, Document(graph))
    found = saver(tmp_path).start()
    assert found is not None
    assert found.document.graph == graph


@pytest.mark.parametrize("session", ["", "..", "../../etc/passwd", "x" * 16, "a" * 16, "A" * 16])
def test_only_a_known_session_is_resumed(tmp_path: Path, session: str) -> None:
    work(tmp_path, named("mine"))
    assert saver(tmp_path).resume(session) is None


def test_a_page_that_reloads_at_once_finds_what_is_not_written_yet(tmp_path: Path) -> None:
    before = saver(tmp_path, delay=60)
    before.changed(named("a moment ago"))
    found = saver(tmp_path).start()
    assert found is not None
    assert found.document == named("a moment ago")
    before.changed(named("just now"))
    found = saver(tmp_path).resume(before.session)
    assert found is not None
    assert found.document == named("just now")
    before.close()


def test_few_files_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        last = work(tmp_path, named(str(number)), age=100 - number)
    assert len(list(last.folder.iterdir())) == KEPT
    found = saver(tmp_path).start()
    assert found is not None
    assert found.document.graph.name == str(KEPT + 4)


def test_a_folder_that_cannot_be_written_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file, not a folder")
    monkeypatch.setenv("DALI_WORKBENCH_STATE", str(taken))
    told: list[str] = []
    for _ in range(2):
        session = Autosave(tmp_path, GIVEN, told.append)
        assert session.start() is None
        session.changed(named("mine"))
        session._write()
        session.changed(named("again"))
        session.close()
        session.changed(named("too late"))
    assert len(told) == 2  # one for each session
    assert "not kept" in told[0]


def test_many_threads_leave_the_last_edit(tmp_path: Path) -> None:
    session = saver(tmp_path, delay=0.001)

    def edit(number: int) -> None:
        for step in range(50):
            session.changed(named(f"{number}.{step}"))

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.changed(named("last"))
    session.close()
    found = saver(tmp_path).start()
    assert found is not None
    assert found.document.graph.name == "last"


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"DALI_WORKBENCH_STATE": "/somewhere"}, "/somewhere"),
        ({"XDG_STATE_HOME": "/state"}, "/state/dali-workbench"),
        ({"XDG_STATE_HOME": "not/absolute"}, "/home/me/.local/state/dali-workbench"),
        ({}, "/home/me/.local/state/dali-workbench"),
    ],
)
def test_where_it_is_kept(
    variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DALI_WORKBENCH_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert state_folder() == Path(folder)


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (lambda: datetime.now().replace(hour=9, minute=5), "of 09:05;"),
        (lambda: datetime(2026, 3, 4, 17, 30), "of 4 Mar, 17:30;"),
    ],
)
def test_the_message_says_when(when: Callable[[], datetime], words: str) -> None:
    assert words in str(Restored(GIVEN, when()))
