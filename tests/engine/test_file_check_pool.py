"""Many files checked by several processes, whatever becomes of these."""

from __future__ import annotations

import shutil
import signal
import threading
from pathlib import Path

import pytest

from tests.engine import tasks
from tests.thorough import one_in
from workbench.engine.file_checks import file_check_pool
from workbench.engine.file_checks.file_check_pool import check_each
from workbench.engine.protocol.exit_status import describe_exit, is_file_fault
from workbench.errors import CancelledError
from workbench.sources import Sample


def files_of(photos: Path, count: int) -> list[Sample]:
    paths = sorted(photos.rglob("*.jpg"))
    return [Sample(str(paths[n % len(paths)]), f"{n}.jpg", 0) for n in range(count)]


def test_a_file_that_ends_its_process_is_blamed_and_no_other(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_check_pool, "check_decoding", tasks.check_deadly_files)
    monkeypatch.setattr(file_check_pool, "_DECODE_LIMIT", 0.5)
    files = files_of(photos, 10)
    for place, name in ((3, "deadly.jpg"), (4, "deadly too.jpg"), (9, "endless.jpg")):
        files[place] = files[place]._replace(name=name)
    found = list(check_each(files, full=True))
    assert [one.file for one in found] == [file.name for file in files]
    assert {one.file: one.findings[0].kind for one in found if one.findings} == {
        "deadly.jpg": "crashes the decoder",
        "deadly too.jpg": "crashes the decoder",
        "endless.jpg": "crashes the decoder",
    }
    assert "SIGSEGV" in found[3].reason
    assert "No answer within" in found[9].reason


@pytest.mark.parametrize("full", one_in(2, [True, False]))
def test_no_file_is_blamed_for_a_process_that_was_killed(
    full: bool, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks.check_files_of_a_killed_worker
    monkeypatch.setattr(file_check_pool, "check_decoding" if full else "check_headers", task)
    monkeypatch.setattr(file_check_pool, "HERE", 0)
    shutil.copytree(photos, tmp_path / "photos")
    files = files_of(tmp_path / "photos", 5)
    Path(files[3].path).with_suffix(".kill").touch()
    found = list(check_each(files, full))
    assert [(one.file, one.findings) for one in found] == [(file.name, ()) for file in files]


def test_headers_read_here_and_by_workers_are_the_same(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of(photos, 700)
    here = list(check_each(files, full=False))
    monkeypatch.setattr(file_check_pool, "HERE", 10)
    assert list(check_each(files, full=False)) == here


def test_it_can_be_stopped_and_leaves_no_worker(photos: Path) -> None:
    stopped = threading.Event()
    checked = check_each(files_of(photos, 10_000), full=True, stop=stopped.is_set)
    assert next(checked).findings == ()
    stopped.set()
    with pytest.raises(CancelledError):
        next(checked)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGFPE", "SIGABRT", "SIGILL", "SIGBUS"])
def test_a_crash_may_be_the_fault_of_a_file(name: str) -> None:
    ended = describe_exit(-signal.Signals[name])
    assert is_file_fault(f"not measured: the process {ended}")
    assert not is_file_fault(f"the process {describe_exit(-signal.SIGKILL)}")
