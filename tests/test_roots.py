import os
from pathlib import Path

import pytest

from workbench.errors import DataError, SaveError
from workbench.roots import Roots, default_roots, roots_of_worker


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
        ("..", "it lies outside"),
        ("../inside-too", "it lies outside"),
        ("/etc/passwd", "it lies outside"),
        ("deep/../../outside", "it lies outside"),
        ("~root/x", "it lies outside"),
        ("out", "it is a symbolic link to a place outside"),
        ("out/photo.jpg", "it is a symbolic link to a place outside"),
        ("a\0b", "NUL"),
    ],
)
def test_what_leads_out_is_refused_with_the_remedy(inside: Path, name: str, reason: str) -> None:
    path = name if name.startswith("~") else inside / name
    refused = Roots.of([inside]).refusal(path)
    assert reason in refused
    assert "NUL" in reason or "--root DIR` names them in the place of the default" in refused
    with pytest.raises(DataError, match="cannot be opened"):
        Roots.of([inside]).require([str(path)])


def test_a_folder_is_opened_where_no_link_leads_out(inside: Path) -> None:
    roots = Roots.of([inside])
    with roots.folder(inside / "in") as folder:
        assert os.readlink(f"/proc/self/fd/{folder}") == str(inside / "deep")
    for name in ("out", "..", "../outside"):
        with pytest.raises(SaveError, match="was not written to"), roots.folder(inside / name):
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
    for data in (tmp_path / "photos", files):
        near = default_roots([data], loopback=True)
        assert near.folders == tuple(str(tmp_path / name) for name in ("photos", "work", "home"))
        far = default_roots([data], loopback=False)
        assert far.folders == tuple(str(tmp_path / name) for name in ("photos", "work"))
