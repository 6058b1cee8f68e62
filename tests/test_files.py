"""Files are written atomically and opened only inside the roots; a full disk is reported."""

from __future__ import annotations

import errno
import os
import resource
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.engine.protocol.worker_process import WorkerProcess
from workbench.errors import DataError, EngineError, SaveError
from workbench.files import require_place, write_bytes, write_folder, write_text
from workbench.roots import Roots, default_roots, roots_of_worker
from workbench.system_limits import describe_refusal, is_full, is_memory_refusal, memory_remedy


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root may mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_text_and_bytes_arrive(tmp_path: Path) -> None:
    target = write_text(tmp_path / "ü.json", "é\n")
    assert target == tmp_path / "ü.json"
    assert target.read_bytes() == "é\n".encode()
    assert write_bytes(target, b"\x00\xff").read_bytes() == b"\x00\xff"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_gives(
    umask: int, mode: int, tmp_path: Path
) -> None:
    before = os.umask(umask)
    try:
        target = write_text(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "run.py"
    target.write_text("old")
    target.chmod(0o750)
    write_text(target, "new")
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o750)


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_and_its_target_is_written(exists: bool, tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    if exists:
        (tmp_path / "far" / "graph.json").write_text("old")
    (tmp_path / "middle").symlink_to(tmp_path / "far" / "graph.json")
    (tmp_path / "link").symlink_to("middle")
    assert write_text(tmp_path / "link", "new") == tmp_path / "link"
    assert (tmp_path / "link").readlink() == Path("middle")
    assert (tmp_path / "far" / "graph.json").read_text() == "new"
    assert len(list(tmp_path.rglob("*"))) == 4


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(SaveError, match="was not written"):
        write_text(tmp_path / "a", "text")
    assert (tmp_path / "a").is_symlink()


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "text")
    reader.join()
    assert heard == ["text"]
    assert pipe.is_fifo()


def test_a_name_as_long_as_can_be(tmp_path: Path) -> None:
    assert write_text(tmp_path / ("x" * 255), "text").read_text() == "text"


def test_relative_and_home_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_text("a.txt", "a") == tmp_path / "a.txt"
    assert write_text("~/b.txt", "b") == tmp_path / "b.txt"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tiny_disk: Path) -> None:
    target = tiny_disk / "graph.json"
    write_text(target, "old")
    with pytest.raises(SaveError, match=rf"{target} was not written: No space left on device"):
        write_text(target, "x" * 200_000)
    assert target.read_text() == "old"
    assert list(tiny_disk.iterdir()) == [target]


def test_a_full_disk_is_told_before_long_work(tiny_disk: Path) -> None:
    require_place(tiny_disk / "record.json")
    (tiny_disk / "other").write_bytes(bytes(10_000))
    with pytest.raises(SaveError, match=r"record\.json cannot be written: No space left on device"):
        require_place(tiny_disk / "record.json")
    assert [path.name for path in tiny_disk.iterdir()] == ["other"]


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_whatever_fails_the_old_file_stays(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "graph.json"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(SaveError, match="No space left on device"):
        write_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_and_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match=r"there is no folder .* Create it"):
        write_text(tmp_path / "missing" / "graph.json", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SaveError, match="folder was not written"):
        write_text(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_text_that_utf8_cannot_hold_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "graph.json"
    target.write_text("old")
    with pytest.raises(SaveError, match="was not written"):
        write_text(target, "half a character: \ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_has_all_its_files(tmp_path: Path) -> None:
    files = {"a/b.txt": "é\n", "c.txt": ""}
    (tmp_path / "made").mkdir()  # an empty one may be there
    for name in ("made", "new"):
        written = write_folder(tmp_path / name, files)
        assert written == [tmp_path / name / "a/b.txt", tmp_path / name / "c.txt"]
        assert [path.read_text(encoding="utf-8") for path in written] == ["é\n", ""]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "new"]


def test_a_folder_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.txt").write_text("mine")
    with pytest.raises(SaveError, match="already exists"):
        write_folder(tmp_path / "kept", {"a.txt": "a"})
    with pytest.raises(SaveError, match="already exists"):
        write_folder(tmp_path / "kept" / "mine.txt", {"a.txt": "a"})
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]


def test_a_folder_is_not_half_written(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="was not written"):
        write_folder(tmp_path / "new", {"a.txt": "a", "b.txt": "\ud800"})
    with pytest.raises(SaveError, match="was not written"):
        write_folder(tmp_path / "new", {"a": "a", "a/b": "b"})
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_written_is_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file", "new", "/dev/null", "~"):
        require_place(tmp_path / name if name[0] not in "/~" else name)
    for name, words in (
        ("none/new", "No such file"),
        ("file/new", "Not a directory"),
        ("loop", "symbolic links"),
    ):
        with pytest.raises(SaveError, match=words):
            require_place(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "loop"]


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "in").symlink_to(folder / "deep")
    return folder


@pytest.mark.parametrize("name", ["", "deep", "in", "deep/../in/photo.jpg", "not/there"])
def test_what_lies_inside_may_be_opened(inside: Path, name: str) -> None:
    assert Roots.of([inside]).refusal(inside / name) == ""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("..", "it is outside"),
        ("../inside-too", "it is outside"),
        ("/etc/passwd", "it is outside"),
        ("deep/../../outside", "it is outside"),
        ("~root/x", "it is outside"),
        ("out", "it is a symbolic link to a place outside"),
        ("out/photo.jpg", "it is a symbolic link to a place outside"),
        ("a\0b", "NUL"),
    ],
)
def test_what_leads_out_is_refused_with_the_remedy(inside: Path, name: str, reason: str) -> None:
    path = name if name.startswith("~") else inside / name
    refused = Roots.of([inside]).refusal(path)
    assert reason in refused
    assert "NUL" in reason or "To replace the default folders, start" in refused
    with pytest.raises(DataError, match="cannot be opened"):
        Roots.of([inside]).require([str(path)])


def test_a_folder_is_opened_where_no_link_leads_out(inside: Path) -> None:
    roots = Roots.of([inside])
    with roots.folder(inside / "in") as folder:
        assert os.readlink(f"/proc/self/fd/{folder}") == str(inside / "deep")
    for name in ("out", "..", "../outside"):
        with pytest.raises(SaveError, match="Cannot write to"), roots.folder(inside / name):
            pass
    (inside / ".ssh").mkdir()
    with pytest.raises(SaveError, match="hidden"), roots.folder(inside / ".ssh"):
        pass


def test_a_link_that_is_made_meanwhile_is_not_followed(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots, resolve = Roots.of([inside]), os.path.realpath

    def swap(path: str | Path, **options: bool) -> str:
        found = str(resolve(path, **options))
        (inside / "deep").rename(inside / "moved")
        (inside / "deep").symlink_to(inside.parent / "outside")
        return found

    monkeypatch.setattr(os.path, "realpath", swap)
    with pytest.raises(OSError, match="deep"), roots.folder(inside / "deep"):
        pass


def test_a_file_is_opened_where_no_link_leads_out(inside: Path) -> None:
    roots = Roots.of([inside])
    (inside / "deep" / "a.jpg").write_bytes(b"inside")
    with roots.open(inside / "in" / "a.jpg") as file:
        assert file.read() == b"inside"
    (inside.parent / "outside" / "a.jpg").touch()
    with pytest.raises(DataError, match="symbolic link"):
        roots.open(inside / "out" / "a.jpg")


def test_a_file_that_a_link_leads_out_to_meanwhile_is_not_read(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = Roots.of([inside])
    (inside / "a.jpg").symlink_to(inside.parent / "outside" / "a.jpg")
    (inside.parent / "outside" / "a.jpg").touch()
    monkeypatch.setattr(Roots, "refusal", lambda *_: "")  # as before it was swapped
    with pytest.raises(DataError, match="leads outside"):
        roots.open(inside / "a.jpg")


def test_a_worker_is_told_the_roots(inside: Path) -> None:
    roots = Roots.of([inside, inside / "in", inside])
    assert roots.folders == (str(inside), str(inside / "deep"))
    assert roots_of_worker(roots.environment) == roots
    assert roots_of_worker({}) is None


def test_the_home_folder_is_for_users_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home", "work", "photos"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "work")
    files = tmp_path / "photos" / "list.csv"
    files.write_text("path,label\n")
    for data in (tmp_path / "photos", files, f"{files}:val"):
        near = default_roots([data], loopback=True)
        assert near.folders == tuple(str(tmp_path / name) for name in ("photos", "work", "home"))
        far = default_roots([data], loopback=False)
        assert far.folders == tuple(str(tmp_path / name) for name in ("photos", "work"))
        assert (near.extensible, far.extensible) == (True, False)


# A full disk and exhausted memory are reported as such.


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "there is no space left in /x"),
        (errno.EFBIG, "ulimit -f"),
        (errno.ENOMEM, "there is not enough memory"),
        (errno.EAGAIN, "ulimit -u"),
        (errno.EMFILE, "ulimit -n"),
    ],
)
def test_each_says_what_to_do(number: int, words: str) -> None:
    assert words in describe_refusal(OSError(number, os.strerror(number), "/x"))


def test_a_full_disk_as_tempfile_tells_it() -> None:
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    assert "no space for temporary files" in describe_refusal(error)


def test_other_errors_are_not_the_systems() -> None:
    error = FileNotFoundError(errno.ENOENT, "No such file")
    assert describe_refusal(error) == ""
    assert not is_full(error)
    assert not is_memory_refusal(error)


def test_a_limit_of_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**30, 2**30))
    assert "allows 1.0 GiB of address space" in memory_remedy()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert "ulimit" not in memory_remedy()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libx.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
    ],
)
def test_what_is_a_lack_of_memory(error: BaseException) -> None:
    assert is_memory_refusal(error)


def test_a_worker_without_a_socket_says_so_and_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("workbench.engine.protocol.worker_process.socket.socketpair", refused)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EngineError, match=r"too many files are open .*ulimit -n"):
        WorkerProcess(None, {})
    assert list(tmp_path.iterdir()) == []
