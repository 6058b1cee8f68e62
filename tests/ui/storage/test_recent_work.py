"""The list of recent work: the newest first, what was not worked on or cannot be read left out."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from workbench.graph import load_recipe
from workbench.graph.storage.layout import Document
from workbench.roots import Roots
from workbench.ui.state.history import HistoryStep
from workbench.ui.storage.autosave import Autosave, sessions_folder
from workbench.ui.storage.recent_work import SHOWN, recent_folders, recent_work
from workbench.ui.storage.session_file import Session

NOW = time.time()
GIVEN = Document(load_recipe("rotate-jitter"))


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
    found = recent_work(but=owners[-1])
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
    assert recent_folders(None, but=[outside]) == [a, b]
    assert recent_folders(Roots.of([a, b])) == [a, b]
