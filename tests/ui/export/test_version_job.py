"""The Code panel renders, cancels and proves dataset versions, below the roots of the web app."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.ui.screen import Make, Screen, ask
from tests.versions.test_render import a_graph, write_photos
from workbench.errors import SaveError
from workbench.roots import Roots
from workbench.ui.app.view_model import ViewModel
from workbench.ui.export import version_job
from workbench.ui.export.version_job import new_version_folder


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return write_photos(tmp_path / "photos", 2)


def render(model: ViewModel, path: Path | str, **options: Any) -> None:
    given = {"format": "folder", "copies": 1, "split": "1", "quality": None, "originals": False}
    ask(model, "code", "render_version", path=str(path), **{**given, **options})


def wait(screen: Screen, state: str) -> dict[str, Any]:
    screen.wait(lambda s: s["code", "version"]["state"] == state, f"version {state}")
    return dict(screen["code", "version"])


def test_a_version_is_rendered_and_proven(make: Make, photos: Path, tmp_path: Path) -> None:
    model, screen = make(photos, a_graph(photos), connected=False)
    assert screen["code", "version"]["state"] == "none"
    render(model, tmp_path / "v1", copies=2, quality=90)
    shown = wait(screen, "done")
    assert shown["lines"][:2] == [str(tmp_path / "v1"), "v1: 8 train, folder, JPEG 90"]
    assert wb.open_version(tmp_path / "v1").samples == {"train": 8}
    ask(model, "code", "prove_version")
    screen.wait(lambda s: "4 of 8 samples" in s["code", "version"]["text"], "proof")
    assert shown["provable"]
    render(model, tmp_path / "v1", copies=3)
    assert "another plan" in wait(screen, "failed")["text"]


def test_a_version_is_cancelled(
    make: Make, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(*args: Any, on_progress: Any, **options: Any) -> None:
        while True:
            on_progress(0.5, "2 of 4 samples")
            threading.Event().wait(0.01)

    monkeypatch.setattr(version_job, "render", endless)
    model, screen = make(photos, a_graph(photos), connected=False)
    render(model, tmp_path / "v1")
    screen.wait(lambda s: s["code", "version"]["text"] == "2 of 4 samples", "progress")
    assert screen["tabs", "work"] == [{"tab": "code", "text": "dataset version", "share": 0.5}]
    ask(model, "code", "cancel_version")
    assert wait(screen, "failed")["text"].startswith("Cancelled. Render again to continue")
    for options, words in (({"split": "0.8,x"}, "split is '0.8,x'"), ({"path": " "}, "file name")):
        render(model, **{"path": "v1", **options})
        assert words in screen["code", "version"]["text"]


def test_a_version_of_the_web_app_is_below_its_roots(tmp_path: Path) -> None:
    (tmp_path / "open" / ".hidden").mkdir(parents=True)
    (tmp_path / "open" / "link.unfinished").symlink_to(tmp_path)
    (tmp_path / "open" / "out").symlink_to(tmp_path)
    roots = Roots.of([tmp_path / "open"])
    assert new_version_folder("v1", roots) == tmp_path / "open" / "v1"
    for path in ("../v1", f"{tmp_path}/v1", ".hidden/v1", "out/v1", "link", "none/v1", ".v1"):
        with pytest.raises(SaveError):
            new_version_folder(path, roots)


def test_files_outside_the_roots_are_not_rendered(
    make: Make, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = write_photos(tmp_path / "open" / "photos", 2)
    secret = next(photos.rglob("*.png"))
    (inside / "bee" / "secret.png").symlink_to(secret)
    roots = Roots.of([tmp_path / "open"])
    model, screen = make(inside, a_graph(inside), connected=False, roots=roots)
    render(model, "v1")
    assert "outside" in wait(screen, "failed")["text"]
    assert not list((tmp_path / "open").glob("v1*"))
