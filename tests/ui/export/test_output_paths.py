import errno
import os
import stat
from pathlib import Path

import pytest

from workbench.errors import OverwriteError, SaveError
from workbench.roots import Roots
from workbench.ui.export.output_paths import OutputPath


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "out.py").symlink_to(tmp_path / "outside" / "new.py")
    (folder / ".hidden").mkdir()
    monkeypatch.chdir(folder)
    return folder


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_a_notebook_writes_where_it_may(work: Path) -> None:
    assert OutputPath("out/pipe", ".py", None).write(b"x") == work / "out" / "pipe.py"
    assert OutputPath("~/x.py", ".py", None).path == Path("~/x.py").expanduser()


@pytest.mark.parametrize(
    "name", ["pipe.py", "pipe", "my pipe-2.py", "größe.py", "a/b", "pipe.py\n"]
)
def test_the_web_app_writes_below_its_roots(work: Path, name: str) -> None:
    written = OutputPath(name, ".py", Roots.of([work])).write(b"x")
    assert written.is_relative_to(work)
    assert written.suffix == ".py"
    assert written.read_bytes() == b"x"


def test_outside_the_working_folder_plain_names_are_saved_in_the_first_root(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = Roots.of([work / "a", work])
    assert roots.save_folder() == work
    monkeypatch.chdir(work.parent / "outside")
    assert roots.save_folder() == work / "a"
    assert OutputPath("pipe", ".py", roots).write(b"x") == work / "a" / "pipe.py"
    assert OutputPath("new", "", roots).write_folder({"x": "x"}) == work / "a" / "new"
    assert OutputPath(str(work / "x.py"), ".py", roots).write(b"x") == work / "x.py"


@pytest.mark.parametrize(
    "name",
    [
        "../pipe.py", "/etc/pipe.py", "..", ".bashrc", ".hidden.py", "setup.cfg", "~root/x.py",
        "", "  ", "a\0.py", "pipe.json", "a\\..\\b.py", "x.py/..", ".hidden/x.py", "out/x.py",
        "out.py", "a/../../x.py", "/proc/self/cwd/../x.py", "nowhere/x.py",
    ],
)  # fmt: skip
@pytest.mark.parametrize("overwrite", [False, True])
def test_the_web_app_writes_nothing_else(work: Path, name: str, overwrite: bool) -> None:
    before = everything(work.parent)
    with pytest.raises(SaveError):
        OutputPath(name, ".py", Roots.of([work]), overwrite).write(b"x")
    assert everything(work.parent) == before


@pytest.mark.parametrize("confined", [False, True])
def test_a_file_that_is_there_is_overwritten_only_by_will(work: Path, confined: bool) -> None:
    roots = Roots.of([work]) if confined else None
    (work / "mine.py").write_bytes(b"old")
    (work / "mine.py").chmod(0o600)
    with pytest.raises(OverwriteError, match=r"mine\.py is there already"):
        OutputPath("mine.py", ".py", roots).write(b"new")
    assert (work / "mine.py").read_bytes() == b"old"
    OutputPath("mine.py", ".py", roots, overwrite=True).write(b"new")
    assert (work / "mine.py").read_bytes() == b"new"
    assert stat.S_IMODE((work / "mine.py").stat().st_mode) == 0o600


def test_a_file_that_comes_meanwhile_is_not_overwritten(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def come(descriptor: int) -> None:
        sync(descriptor)
        (work / "new.py").write_bytes(b"another's")

    monkeypatch.setattr(os, "fsync", come)
    with pytest.raises(OverwriteError):
        OutputPath("new.py", ".py", Roots.of([work])).write(b"mine")
    assert (work / "new.py").read_bytes() == b"another's"
    assert not list(work.glob(".workbench-*"))


def test_a_folder_is_written_whole_below_the_roots(work: Path) -> None:
    roots = Roots.of([work])
    files = {"config.txt": "a", "1/model.py": "b"}
    assert OutputPath("served", "", roots).write_folder(files) == work / "served"
    assert (work / "served" / "1" / "model.py").read_text() == "b"
    for name in ("served", "out", "out/served", "../served", "a/../../served"):
        before = everything(work.parent)
        with pytest.raises(SaveError, match="was not written"):
            OutputPath(name, "", roots).write_folder(files)
        assert everything(work.parent) == before


def test_a_file_system_without_links_is_written_too(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert OutputPath("new.py", ".py", Roots.of([work])).write(b"x").read_bytes() == b"x"
    with pytest.raises(OverwriteError):
        OutputPath("new.py", ".py", Roots.of([work])).write(b"y")
    assert not list(work.glob(".workbench-*"))


def test_a_folder_that_cannot_be_written_is_named_as_the_user_did(work: Path) -> None:
    with pytest.raises(SaveError, match=rf"^{work}/served was not written"):
        OutputPath("served", "", Roots.of([work])).write_folder({"a" * 300: "x"})
    assert not list(work.glob(".workbench-*"))


def test_a_root_in_a_hidden_folder_is_a_root(work: Path) -> None:
    roots = Roots.of([work, work / ".hidden"])
    assert OutputPath(".hidden/new.py", ".py", roots).write(b"x").read_bytes() == b"x"
