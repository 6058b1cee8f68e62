"""What comes in by a door that is open: forged messages, hostile graphs, names that are markup."""

from __future__ import annotations

import base64
import io
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page, expect

from tests.thorough import one_in
from tests.ui.access.client import AppServer, run
from tests.ui.access.conftest import MARKUP
from tests.ui.hosts import PATIENCE, part
from workbench.graph import dump_graph, load_recipe
from workbench.preview.requests.share import KEY

pytestmark = pytest.mark.xdist_group("access")  # in one worker: one app for all of them


def everything(*folders: Path) -> dict[Path, bytes]:
    found = (path for folder in folders for path in folder.rglob("*"))
    return {path: path.read_bytes() if path.is_file() else b"" for path in found}


def save(path: str) -> list[dict[str, Any]]:
    """Every way to write to a path, also over what is there."""
    return [{"do": "save", "path": path, "overwrite": overwrite} for overwrite in (False, True)]


def hostile_places(app: AppServer) -> list[str]:
    return [
        "/etc/forged.json", "/etc/forged.py", "../outside/forged.json", "../outside/forged.py",
        "way-out/forged.json", "way-out/forged.py", "way-out.json", f"{app.outside}/secret.json",
        "/proc/self/cwd/../outside/forged.json", "~root/.bashrc", ".forged.json", "a\0.json", "..",
    ]  # fmt: skip


FORGED: list[Any] = [
    {}, {"do": None}, {"do": ["save"]}, {"do": "__class__"}, {"do": "take_over"}, {"do": "save"},
    {"do": "save", "path": 7}, {"do": "save", "path": {"a": 1}},
    {"do": "export", "target": "../x"},
    {"do": "resume", "session": "../x"}, {"do": "resume", "session": "\0"},
    {"do": "open", "text": "[" * 3000}, {"do": "open", "text": '{"format": 1e999}'},
    {"do": "open_picture", "data": "!"}, {"do": "open_picture", "data": "iVBORw0KGgo="},
    {"do": "recipe", "name": "../../../../etc/passwd"}, {"do": "recipe", "name": "\0"},
    {"do": "fix", "node": "__init__", "arg": "x", "fix": "y"}, "save", None, 7, [[[]]],
]  # fmt: skip


@pytest.mark.parametrize("every", one_in(2, [4, 1]))
def test_forged_messages_write_nothing_outside_and_end_nothing(every: int, app: AppServer) -> None:
    before = everything(app.outside, app.data)

    async def attack() -> None:
        async with app.page() as page, app.page() as other:
            places = hostile_places(app)[::every]
            saves = [action for place in places for action in save(place)]
            await page.ask("bar", [*saves, *FORGED])
            await page.ask("code", saves)
            await page.ask("data", [{"do": "open", "path": place} for place in places])
            for name in ("canvas", "inspector", "preview", "speed", "code", "data"):
                await page.ask(name, FORGED)
            summary = json.loads((await page.models())["data"]["summary"])
            assert (summary["root"], summary["error"]) == (str(app.data), "")
            assert "cannot be opened" in summary["refused"]
            assert (await other.models())["bar"]["title"] == "rotate-jitter"

    run(attack())
    assert everything(app.outside, app.data) == before
    assert not Path("/etc/forged.json").exists()
    assert not list(app.work.glob("**/*forged*"))


def test_forged_changes_of_the_document_run_nothing(app: AppServer) -> None:
    async def attack() -> None:
        async with app.page() as page, app.page() as other:
            bar = (await page.models())["bar"]
            change = {"kind": "ModelChanged", "model": {"id": bar["id"]}, "attr": "title"}
            for value in (
                {"type": "object", "name": "subprocess.Popen", "attributes": {"args": ["id"]}},
                {"type": "object", "name": "bokeh.models.CustomJS", "id": "p9"},
                {"type": "ndarray", "dtype": "object", "shape": [9**9], "order": "little"},
                {"type": "typed_array", "array": {"type": "bytes", "data": "!"}},
                {"type": "bytes", "data": {"id": "none"}},
                {"type": "value", "value": "x"}, {"type": "slice"}, {"type": "__import__"},
                {"id": "none"}, {"type": "field", "field": "__class__"},
            ):  # fmt: skip
                await page.patch({**change, "new": value})
            for event in (
                {"kind": "RootAdded", "model": {"type": "object", "name": "os.system", "id": "x"}},
                {"kind": "RootRemoved", "model": {"id": "none"}},
                {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {"name": "x"}},
                {"kind": "ColumnDataChanged", "model": {"id": bar["id"]}, "attr": "data"},
                {"kind": "__class__"},
                {},
            ):
                await page.patch(event)
            for attr in ("__class__", "_callbacks", "document", "esm", "bundle", "none"):
                await page.patch({**change, "attr": attr, "new": "x"})
            assert (await other.models())["bar"]["title"] == "rotate-jitter"
            assert (await page.models())["bar"]

    run(attack())


def hostile_graph(app: AppServer) -> dict[str, Any]:
    """One whose every text is markup, and whose reader names files outside the roots."""
    graph = json.loads(dump_graph(load_recipe("rotate-jitter")))
    graph["name"] = MARKUP
    graph["about"] = MARKUP
    return dict(graph)


def link_to(app: AppServer, text: str) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(text.encode()) + packer.flush()
    return f"{app.origin}/#graph={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def test_a_graph_that_names_files_outside_shows_none_of_them(app: AppServer) -> None:
    graph = hostile_graph(app)
    reader = next(each for each in graph["sources"] if each["op"] == "readers.file")
    picture = io.BytesIO()
    reader["args"] = {"file_root": str(app.outside), "files": ["secret.jpg"]}
    text = PngInfo()
    text.add_itxt(KEY, json.dumps(graph), zip=True)
    Image.new("RGB", (8, 8)).save(picture, "PNG", pnginfo=text)
    shared = base64.b64encode(picture.getvalue()).decode()

    async def attack() -> None:
        async with app.page() as page:
            for args in (
                reader["args"],
                {"file_root": str(app.work), "files": ["../outside/secret.jpg"]},
                {"file_root": str(app.work / "way-out")},
                {"files": [str(app.outside / "secret.jpg")]},
                {"file_list": "/etc/passwd"},
            ):
                reader["args"] = args
                models = await page.ask("bar", [{"do": "open", "text": json.dumps(graph)}])
                assert "--root" in models["bar"]["faults"], args
            models = await page.ask("bar", [{"do": "new"}, {"do": "open_picture", "data": shared}])
            assert "--root" in models["bar"]["faults"]

    run(attack())


@pytest.mark.thorough
@pytest.mark.browser
def test_names_that_are_markup_are_text(app: AppServer, page: Page) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    page.goto(link_to(app, json.dumps(hostile_graph(app))))
    page.get_by_label("Token").fill(app.token)
    page.get_by_role("button", name="Log in").click()
    expect(part(page, "bar").locator("[data-wb=title]")).to_have_text(MARKUP, timeout=PATIENCE)
    expect(part(page, "preview")).to_have_attribute("data-sheet", "1", timeout=PATIENCE)
    preview = part(page, "preview")
    expect(preview).to_contain_text("it is a symbolic link to a place outside")
    expect(preview).to_contain_text(f"0{MARKUP}.jpg")
    for name in ("code", "data"):
        part(page, "tabs").locator(f"[data-tab={name}]").click()
        expect(part(page, name)).to_be_visible()
    expect(part(page, "data")).to_contain_text(MARKUP)
    assert page.evaluate("() => window.hacked") is None
    assert asked == []
