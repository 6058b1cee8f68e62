"""Sessions outlive the process that made them, and nobody's are destroyed by another's."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from workbench.graph import load_graph, load_recipe
from workbench.graph.storage.layout import Document, Layout
from workbench.ui.state.history import HistoryStep
from workbench.ui.state.owner import new_owner
from workbench.ui.storage.autosave import (
    KEPT_DAYS,
    Autosave,
    Restored,
    is_open,
    remove_old,
    state_folder,
)
from workbench.ui.storage.session_file import Session

GIVEN = Document(load_recipe("rotate-jitter"))
Make = Callable[..., Autosave]


def named(name: str) -> Session:
    graph = replace(GIVEN.graph, name=name)
    return Session(Document(graph, Layout({"rotate": (12.5, -3.0)})), (HistoryStep(GIVEN),))


@pytest.fixture
def saver() -> Iterator[Make]:
    """Makes sessions, and closes them."""
    made: list[Autosave] = []

    def make(owner: str = "", delay: float = 60.0) -> Autosave:
        made.append(Autosave(owner, delay=delay))
        return made[-1]

    yield make
    for each in made:
        each.close()


def left(session: Session, age: timedelta = timedelta()) -> str:
    """The owner of a session that ended, so long ago."""
    saver = Autosave(delay=60)
    saver.changed(session)
    owner = saver.owner
    saver.close()
    path = saver.folder / f"{owner}.json"
    then = path.stat().st_mtime - age.total_seconds()
    os.utime(path, (then, then))
    return owner


def name_of(found: Restored | None) -> str:
    assert found is not None
    return found.session.document.graph.name


def test_nothing_is_written_before_a_change(saver: Make, own_state: Path) -> None:
    session = saver()
    assert session.attach(new_owner()) is None
    session.close()
    assert list(own_state.iterdir()) == []


def test_an_owner_finds_what_it_left(saver: Make) -> None:
    owner = left(named("mine"))
    found = saver().attach(owner)
    assert found is not None
    assert found.session == named("mine")
    assert datetime.now() - found.when < timedelta(minutes=1)
    assert saver().attach(new_owner()) is None


def test_a_change_is_on_the_disk_before_the_session_ends(
    saver: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = saver(delay=0.0)
    written, write = threading.Semaphore(0), session._write

    def notify() -> None:
        write()
        written.release()

    monkeypatch.setattr(session, "_write", notify)
    for number in range(20):
        session.changed(named(f"step {number}"))
    path = session.folder / f"{session.owner}.json"
    assert written.acquire(timeout=30)
    while load_graph(path.read_text()).name != "step 19":
        assert written.acquire(timeout=30)
    assert stat.S_IMODE(session.folder.stat().st_mode) == 0o700


def test_a_page_that_is_loaded_anew_at_once_finds_what_is_not_written_yet(saver: Make) -> None:
    before, after = saver(), saver()
    before.changed(named("a moment ago"))
    before._write()
    owner = before.owner
    before.changed(named("just now"))
    assert name_of(after.attach(owner)) == "just now"
    assert after.owner == owner
    before.changed(named("late"))  # by a worker that ends after its page
    before.close()
    assert before.owner != owner
    assert name_of(after.read(after.folder / f"{owner}.json")) == "just now"


def test_a_copy_leaves_the_session_of_the_other_alone(saver: Make) -> None:
    first, copy = saver(), saver()
    first.changed(named("first"))
    first._write()
    mine = new_owner()
    assert name_of(copy.attach(mine, first.owner)) == "first"
    copy.changed(named("copy"))
    copy.close()
    assert name_of(copy.read(copy.folder / f"{mine}.json")) == "copy"
    assert name_of(copy.read(copy.folder / f"{first.owner}.json")) == "first"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe\x00", b'{"format": "dali-workbench-graph", "version": 99}', b"[1]"],
)
def test_a_damaged_file_is_set_aside(content: bytes) -> None:
    owner = left(named("mine"))
    told: list[str] = []
    session = Autosave(notify=told.append)
    path = session.folder / f"{owner}.json"
    path.write_bytes(content)
    assert session.attach(owner) is None
    session.close()
    assert not path.exists()
    assert path.with_suffix(".damaged").read_bytes() == content
    assert str(path.with_suffix(".damaged")) in told[0]


def test_sessions_that_are_open_are_never_removed(saver: Make) -> None:
    old = timedelta(days=KEPT_DAYS + 1)
    gone, recent = left(named("gone"), old), left(named("recent"))
    held = left(named("held"), old)
    holder = saver()
    assert holder.attach(held) is not None
    elsewhere = left(named("elsewhere"), old)
    folder = holder.folder
    code = (
        "import sys; from workbench.ui.storage.autosave import Autosave; a = Autosave();"
        "assert a.attach(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, elsewhere], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        assert is_open(folder / f"{elsewhere}.json")
        remove_old(folder)
        assert {path.stem for path in folder.glob("*.json")} == {recent, held, elsewhere}
        mine = saver()
        assert name_of(mine.attach(elsewhere)) == "elsewhere"
        assert mine.owner != elsewhere  # what another process has open is read, and not written
        other.kill()
    assert not is_open(folder / f"{elsewhere}.json")
    remove_old(folder)
    assert {path.stem for path in folder.iterdir()} & {gone, elsewhere} == set()


RACER = """
import sys
from tests.ui.storage.test_autosave import named
from workbench.ui.storage.autosave import Autosave
print("ready", flush=True)
for line in sys.stdin:
    owner, name = line.split()
    saver = Autosave(delay=60)
    found = saver.attach(owner)
    saver.changed(named(name))
    saver._write()
    print(saver.owner, found.session.document.graph.name if found else "", flush=True)
    sys.stdin.readline()  # all have written
    saver.close()
    print("closed", flush=True)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("left_before", [True, False])
def test_processes_that_open_one_session_at_a_time_keep_one_copy_each(
    left_before: bool, saver: Make, racers: list[subprocess.Popen[str]]
) -> None:
    """One has the session itself, each other its own, which begins with what was there."""

    def ask(*lines: str) -> list[str]:
        for racer, line in zip(racers, lines, strict=True):
            assert racer.stdin is not None
            print(line, file=racer.stdin, flush=True)
        return [racer.stdout.readline() for racer in racers if racer.stdout is not None]

    for _ in range(10):
        owner = left(named("before")) if left_before else new_owner()
        names = [f"{owner}-{number}" for number in range(len(racers))]
        told = [line.split() for line in ask(*(f"{owner} {name}" for name in names))]
        ask(*["close"] * len(racers))
        owners = [each for each, *_ in told]
        assert owners.count(owner) == 1
        assert len(set(owners)) == len(racers)
        if left_before:
            found = dict(told)
            assert found[owner] == "before"
            assert set(found.values()) <= {"before", names[owners.index(owner)]}
        folder = saver().folder
        kept = {name_of(saver().read(folder / f"{each}.json")) for each in owners}
        assert kept == set(names)


@pytest.fixture
def racers() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that open a session when they are told its owner, and all at one time."""
    made = [
        subprocess.Popen(
            [sys.executable, "-c", RACER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for racer in made:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    yield made
    for racer in made:
        with racer:
            racer.kill()


def test_a_session_that_another_process_wrote_meanwhile_is_left_alone(saver: Make) -> None:
    mine, owner = saver(), new_owner()
    assert mine.attach(owner) is None
    (path := mine.folder / f"{owner}.json").parent.mkdir(parents=True, exist_ok=True)
    theirs = saver()  # as of a process that has ended since
    theirs.changed(named("theirs"))
    theirs._write()
    (theirs.folder / f"{theirs.owner}.json").rename(path)
    mine.changed(named("mine"))
    mine.close()
    assert mine.owner != owner
    assert name_of(mine.read(path)) == "theirs"
    assert name_of(mine.read(mine.folder / f"{mine.owner}.json")) == "mine"


def test_what_is_found_is_what_its_last_holder_wrote(
    saver: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last write may come between reading the file and locking it."""
    owner = left(named("early"))
    mine = saver()
    claim = mine._claim

    def last_words() -> bool:
        (mine.folder / f"{left(named('late'))}.json").replace(mine.folder / f"{owner}.json")
        return claim()

    monkeypatch.setattr(mine, "_claim", last_words)
    assert name_of(mine.attach(owner)) == "late"


def test_what_was_set_aside_is_kept_as_long(saver: Make) -> None:
    folder = saver().folder
    folder.mkdir(parents=True, exist_ok=True)
    old, recent = folder / "old.damaged", folder / "recent.damaged"
    for path in (old, recent):
        path.write_text("{")
    when = time.time() - timedelta(days=KEPT_DAYS + 1).total_seconds()
    os.utime(old, (when, when))
    remove_old(folder)
    assert not old.exists()
    assert recent.exists()


def test_a_folder_that_cannot_be_written_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file, not a folder")
    monkeypatch.setenv("DALI_WORKBENCH_STATE", str(taken))
    told: list[str] = []
    for _ in range(2):
        session = Autosave(notify=told.append)
        assert session.attach(new_owner()) is None
        session.changed(named("mine"))
        session._write()
        session.changed(named("again"))
        session.close()
        session.changed(named("too late"))
    assert len(told) == 2  # one for each session
    assert "cannot be stored" in told[0]


def test_many_threads_leave_the_last_change(saver: Make) -> None:
    session = saver(delay=0.001)

    def edit(number: int) -> None:
        for step in range(20):
            session.changed(named(f"{number}.{step}"))

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session.changed(named("last"))
    owner = session.owner
    session.close()
    assert name_of(saver().attach(owner)) == "last"


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
        (lambda: datetime.now().replace(hour=9, minute=5), "from 09:05 with 1 edit to undo."),
        (lambda: datetime(2026, 3, 4, 17, 30), "from 4 Mar, 17:30 with 1 edit to undo."),
    ],
)
def test_the_line_says_when(when: Callable[[], datetime], words: str) -> None:
    assert words in str(Restored(named("mine"), when()))
