"""Checks of data files: by header and end, by several processes; what DALI makes of bad ones."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.damaged import DAMAGED, REFUSED, make_folder
from tests.engine import tasks
from tests.helpers import CATALOG, chain_graph, same, script_batches, with_settings
from tests.thorough import one_in
from workbench.catalog import Catalog
from workbench.engine.file_checks import file_check, file_check_pool
from workbench.engine.file_checks.file_check import check_header
from workbench.engine.file_checks.file_check_pool import check_each
from workbench.engine.protocol.exit_status import describe_exit, is_file_fault
from workbench.engine.run.runner import Result, Runner
from workbench.errors import CancelledError, DataError, PipelineError
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.sources import Sample


@pytest.fixture
def runner(catalog: Catalog) -> Iterator[Runner]:
    runner = Runner(catalog)
    yield runner
    runner.forget()


def graph_of(size: int) -> Graph:
    """Every kind of draw: a shuffled reader, a generator, an operator that draws by itself."""
    graph = chain_graph("random_resized_crop", "noise.gaussian", "rotate")
    graph = set_arg(graph, CATALOG, "reader", "random_shuffle", True)
    graph = randomise_arg(graph, CATALOG, "rotate", "angle")
    return with_settings(graph, batch_size=size)


def run(runner: Runner, graph: Graph, data: Path, batch: int = 0) -> Result:
    ports = list(graph.outputs.values())
    return runner.run(graph, str(data), batch, graph.settings.batch_size, ports)


def assert_the_others_are_untouched(
    runner: Runner, bad: Path, good: Path, kinds: list[str], folder: Path
) -> None:
    size = 2 * len(kinds)
    for graph, count in ((graph_of(size), 1), (graph_of(3), 3)):
        script = script_batches(graph, good, count, folder)
        for batch in reversed(range(count)):
            result = run(runner, graph, bad, batch)
            with_errors = 0
            for index, sample in enumerate(result.samples):
                kind = next((k for k in kinds if sample.file.endswith(k)), "")
                if kind in REFUSED:
                    with_errors += 1
                    assert REFUSED[kind][1] in sample.error
                    continue
                said = sample.error + sample.warning
                assert DAMAGED[kind][1] in said if kind else not said
                for port, expected in zip(graph.outputs.values(), script[batch], strict=True):
                    mine = result.batches[port].arrays()[index]
                    if not kind or port.node == "reader":
                        assert np.array_equal(mine, expected[index]), sample.file
            assert batch or count > 1 or with_errors == sum(k in REFUSED for k in kinds)


@pytest.mark.parametrize("kind", one_in(4, [*REFUSED, *DAMAGED]))
def test_one_kind(kind: str, photos: Path, tmp_path: Path, runner: Runner) -> None:
    kinds = [kind, kind]
    bad, good = make_folder(photos, tmp_path, kinds)
    assert_the_others_are_untouched(runner, bad, good, kinds, tmp_path)


def test_all_kinds_at_once(photos: Path, tmp_path: Path, runner: Runner) -> None:
    kinds = [*REFUSED, *DAMAGED]
    bad, good = make_folder(photos, tmp_path, kinds)
    assert_the_others_are_untouched(runner, bad, good, kinds, tmp_path)


def test_one_class_folder_less_where_files_lie_flat(
    photos: Path, tmp_path: Path, runner: Runner
) -> None:
    kinds = ["empty.jpg", "text.jpg"]
    bad, good = make_folder(photos, tmp_path, kinds)
    assert_the_others_are_untouched(runner, bad / "class", good / "class", kinds, tmp_path)


def test_a_folder_reached_through_a_link(photos: Path, tmp_path: Path, runner: Runner) -> None:
    kinds = ["empty.jpg", "gif.jpg"]
    bad, good = make_folder(photos, tmp_path, kinds)
    for path in (bad, good):
        (tmp_path / f"link_{path.name}").symlink_to(path / "class")
    links = tmp_path / "link_bad", tmp_path / "link_good"
    assert_the_others_are_untouched(runner, *links, kinds, tmp_path)


def test_nothing_but_bad_files(photos: Path, tmp_path: Path, runner: Runner) -> None:
    bad, _ = make_folder(photos, tmp_path, list(REFUSED))
    for path in bad.glob("*/*_a.jpg"):
        path.unlink()
    graph = with_settings(load_recipe("imagenet-eval"), batch_size=len(REFUSED))
    result = run(runner, graph, bad)
    assert all(sample.error for sample in result.samples)
    assert len(result.samples) == len(REFUSED)


def test_the_folder_stays_as_it_was(photos: Path, tmp_path: Path, runner: Runner) -> None:
    bad, _ = make_folder(photos, tmp_path, ["empty.jpg", "text.jpg"])
    before = {path: path.read_bytes() for path in bad.rglob("*") if path.is_file()}
    run(runner, graph_of(4), bad)
    runner.forget()
    assert {path: path.read_bytes() for path in bad.rglob("*") if path.is_file()} == before


def test_a_file_that_may_not_be_read(photos: Path, tmp_path: Path, runner: Runner) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read every file")
    bad, good = make_folder(photos, tmp_path, ["text.jpg", "gif.jpg"])
    path = next(bad.rglob("*_text.jpg"))
    path.chmod(0)
    result = run(runner, graph_of(4), bad)
    errors = {sample.file: sample.error for sample in result.samples}
    assert errors[str(path.relative_to(bad))] == "no permission to read it"
    assert script_batches(graph_of(4), good, 1, tmp_path)


def test_a_link_to_nowhere(photos: Path, tmp_path: Path, runner: Runner) -> None:
    bad, good = make_folder(photos, tmp_path, ["text.jpg", "gif.jpg"])
    path = next(bad.rglob("*_text.jpg"))
    path.unlink()
    path.symlink_to(tmp_path / "gone.jpg")
    result = run(runner, graph_of(4), bad)
    assert sum(bool(sample.error) for sample in result.samples) == 2
    (error,) = [s.error for s in result.samples if s.file.endswith("text.jpg")]
    assert "No such file" in error
    script = script_batches(graph_of(4), good, 1, tmp_path)[0]
    for port, expected in zip(graph_of(4).outputs.values(), script, strict=True):
        mine = result.batches[port].arrays()
        fine = [i for i, sample in enumerate(result.samples) if not sample.error]
        assert same([mine[i] for i in fine], [expected[i] for i in fine])


class TestFolders:
    """A folder that cannot be used says why and what to do."""

    def test_missing(self, tmp_path: Path, runner: Runner) -> None:
        with pytest.raises(DataError, match=r"no folder .*missing\. Use a folder of images"):
            run(runner, graph_of(2), tmp_path / "missing")

    def test_a_file(self, tmp_path: Path, runner: Runner) -> None:
        path = tmp_path / "photo.jpg"
        path.write_bytes(b"x")
        with pytest.raises(DataError, match=r"photo\.jpg is a file\. Use the folder"):
            run(runner, graph_of(2), path)

    def test_empty(self, tmp_path: Path, runner: Runner) -> None:
        with pytest.raises(DataError) as caught:
            run(runner, graph_of(2), tmp_path)
        assert str(tmp_path) in str(caught.value)
        assert "empty" in str(caught.value)
        assert "Use a folder" in str(caught.value)

    def test_without_images(self, tmp_path: Path, runner: Runner) -> None:
        (tmp_path / "notes.txt").write_text("hello")
        (tmp_path / "table.csv").write_text("a,b")
        with pytest.raises(DataError) as caught:
            run(runner, graph_of(2), tmp_path)
        assert "no image" in str(caught.value)
        assert "notes.txt" in str(caught.value)
        assert ".jpg" in str(caught.value)

    def test_class_folders_without_images(self, tmp_path: Path, runner: Runner) -> None:
        (tmp_path / "cats").mkdir()
        (tmp_path / "dogs").mkdir()
        with pytest.raises(DataError, match="Use a folder"):
            run(runner, graph_of(2), tmp_path)

    def test_images_beside_a_folder(self, photos: Path, tmp_path: Path, runner: Runner) -> None:
        (tmp_path / "empty_class").mkdir()
        shutil.copy(photos / "cat" / "cat_01.jpg", tmp_path)
        with pytest.raises(DataError) as caught:
            run(runner, graph_of(2), tmp_path)
        assert "class folders" in str(caught.value)

    def test_not_readable(self, photos: Path, tmp_path: Path, runner: Runner) -> None:
        if os.geteuid() == 0:
            pytest.skip("root may read every folder")
        folder = tmp_path / "locked"
        shutil.copytree(photos / "cat", folder)
        folder.chmod(0)
        with pytest.raises(DataError, match="cannot be read"):
            run(runner, graph_of(2), folder)

    def test_gone_while_in_use(self, photos: Path, tmp_path: Path, runner: Runner) -> None:
        folder = tmp_path / "class"
        shutil.copytree(photos / "cat", folder)
        graph = set_arg(graph_of(1), CATALOG, "reader", "random_shuffle", False)
        run(runner, graph, tmp_path)
        shutil.rmtree(folder)

        def run_on() -> None:
            for batch in range(1, 10):
                run(runner, graph, tmp_path, batch)

        with pytest.raises((DataError, PipelineError), match=r"cat_0|no image|empty"):
            run_on()


# A file's header and end, looked at without trust in the file.

_CHECK_OFTEN = """
import sys
from workbench.engine.file_checks.file_check import check_header
from workbench.sources import Sample
print("begins", flush=True)
for _ in range(100):
    check_header(Sample(sys.argv[1], "photo.jpg", 0))
"""


@pytest.fixture
def photo(photos: Path, tmp_path: Path) -> Path:
    found = tmp_path / "photo.jpg"
    found.write_bytes(next(photos.rglob("*.jpg")).read_bytes())
    return found


def kinds(path: Path) -> list[str]:
    return [finding.kind for finding in check_header(Sample(str(path), path.name, 0)).findings]


def test_a_file_that_shrinks_meanwhile_does_not_end_the_process(photo: Path) -> None:
    photo.write_bytes(photo.read_bytes()[:-2])
    size = photo.stat().st_size
    command = [sys.executable, "-c", _CHECK_OFTEN, str(photo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as checking:
        assert checking.stdout is not None
        checking.stdout.readline()
        while checking.poll() is None:
            os.truncate(photo, 2**25)
            os.truncate(photo, size)
    assert checking.returncode == 0


@pytest.mark.parametrize("behind", [0, 7, 11, 98, 99, 100, 101, 5_000])
def test_the_end_is_found_whatever_follows_it(
    behind: int, photo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_check, "_READ_AT_ONCE", 100)
    whole = photo.read_bytes()
    photo.write_bytes(whole + bytes(behind))
    assert kinds(photo) == []
    photo.write_bytes(whole[:-2] + bytes(behind))
    assert kinds(photo) == ["cut short"]


def test_the_end_is_looked_for_behind_the_header_only() -> None:
    file = io.BytesIO(b"\xff\xd9" + bytes(300))
    file.seek(2)
    assert not file_check._has_trailer(file, b"\xff\xd9")


# Many files checked by several processes, whatever becomes of these.


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
    assert "No response within" in found[9].reason


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
