"""Folders are listed only within the roots."""

import shutil
from pathlib import Path

import pytest

from tests.ui.screen import Make
from workbench.roots import Roots
from workbench.ui.data import folder_browser
from workbench.ui.data.folder_browser import list_folders


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("root/cats/tabby", "root/.hidden", "root/empty", "outside/secret"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("a.jpg", "b.PNG", ".c.jpg", "notes.txt"):
        (tmp_path / "root" / "cats" / name).write_text("")
    (tmp_path / "root" / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "root" / "link").symlink_to(tmp_path / "root" / "cats")
    (tmp_path / "root" / "lost").symlink_to(tmp_path / "nowhere")
    (tmp_path / "root" / "photo.jpg").write_text("")
    return tmp_path


def test_folders_are_listed_with_what_is_in_them(tree: Path) -> None:
    found = list_folders(str(tree / "root"), Roots.of([tree / "root"]))
    assert found["error"] == found["parent"] == ""
    assert {e["name"]: (e["images"], e["folders"]) for e in found["entries"]} == {
        "cats": (2, 1),
        "empty": (0, 0),
        "link": (2, 1),
    }
    inner = list_folders(found["entries"][0]["path"], Roots.of([tree / "root"]))
    assert ([e["name"] for e in inner["entries"]], inner["parent"]) == (
        ["tabby"],
        str(tree / "root"),
    )


@pytest.mark.parametrize(
    "place", ["outside", "root/out", "root/out/secret", "root/..", "root/.hidden"]
)
def test_nothing_is_listed_outside_the_roots_or_hidden(tree: Path, place: str) -> None:
    found = list_folders(str(tree / place), Roots.of([tree / "root"]))
    assert found["entries"] == []
    assert "cannot be listed" in found["error"]


@pytest.mark.parametrize("name", ["cats\0", "\ud800"])
def test_what_is_no_path_is_said(tree: Path, name: str) -> None:
    found = list_folders(f"{tree}/root/{name}", Roots.of([tree / "root"]))
    assert (found["path"], found["entries"]) == ("", [])
    assert "is not a valid path" in found["error"]


def test_it_is_not_told_where_a_link_out_of_the_roots_leads(tree: Path) -> None:
    (tree / "elsewhere").symlink_to(tree / "outside" / "secret")
    for place in ("elsewhere", "root/out/secret", "root/../elsewhere"):
        found = list_folders(str(tree / place), Roots.of([tree / "root"]))
        assert found["error"]
        assert "outside/secret" not in str({**found, "places": []})


def test_without_a_place_the_first_root_is_listed(tree: Path) -> None:
    roots = Roots.of([tree / "root" / "cats", tree / "outside"])
    found = list_folders(str(tree), roots, anywhere=True)
    assert (found["path"], found["places"]) == (str(tree / "root" / "cats"), list(roots.folders))


def test_a_notebook_has_no_roots(tree: Path) -> None:
    found = list_folders(str(tree), None)
    assert [entry["name"] for entry in found["entries"]] == ["outside", "root"]
    assert found["parent"] == str(tree.parent)
    assert "cannot be listed" in list_folders(str(tree / "gone"), None)["error"]


def test_no_more_is_counted_than_a_listing_may_take(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_browser, "COUNTED", 2)
    monkeypatch.setattr(folder_browser, "LISTED", 2)
    found = list_folders(str(tree / "root"), None)
    assert found["more"]
    cats = found["entries"][0]
    assert cats["more"]
    assert cats["images"] + cats["folders"] <= 2


def test_the_panel_looks_around_the_data_first(make: Make, photos: Path, tmp_path: Path) -> None:
    shutil.copytree(photos, tmp_path / "photos")
    (tmp_path / "others").mkdir()
    model, screen = make(tmp_path / "photos")
    model.act("data", {"do": "browse", "path": ""})
    screen.wait(lambda s: s["data", "folders"]["path"] != "", "the listing")
    assert screen["data", "folders"]["path"] == str(tmp_path.resolve())
    names = [entry["name"] for entry in screen["data", "folders"]["entries"]]
    assert {"others", "photos"} <= set(names)
