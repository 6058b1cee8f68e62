"""New, open, rename, share, restore: requests of the bar, and invalid input."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.helpers import HOSTILE, WRITABLE
from tests.thorough import one_in
from tests.ui.hosts import small
from tests.ui.screen import Make, Ready, ask, bar
from workbench.emit.pipeline_import.graph import ImportedGraph, with_report
from workbench.emit.targets import export
from workbench.errors import GraphFaultsError
from workbench.graph import Graph, Node, dump_graph, load_graph, load_recipe, load_recipes
from workbench.graph.storage.import_report import ImportIssue, ImportReport
from workbench.graph.storage.layout import Document, dump_document, load_document
from workbench.preview.requests.share import compose_sheet, read_picture, read_shared, write_shared
from workbench.roots import Roots
from workbench.ui.state.open_actions import LONGEST_NAME

SMALL = small()


@pytest.fixture
def start_graph() -> Graph:
    return SMALL


def picture(text: str) -> str:
    return base64.b64encode(write_shared(Image.new("RGB", (4, 4)), text)).decode()


def test_a_new_graph_is_empty_and_undo_leads_back(make: Make) -> None:
    model, screen = make()
    bar(model, "new")
    assert model.graph == Graph()
    assert screen["canvas", "nodes"] == []
    assert screen["bar", "title"] == "untitled"
    assert screen["bar", "status"]["text"] == "empty graph"
    bar(model, "undo")
    assert model.graph == SMALL


@pytest.mark.parametrize(("recipe", "op"), [("aerial", "random"), ("rotate-jitter", "resize")])
def test_whole_numbers_that_no_float_holds_are_faults(make: Make, recipe: str, op: str) -> None:
    model, screen = make()
    data = json.loads(dump_graph(load_recipe(recipe)))
    node = next(node for node in data["nodes"] if node["op"].startswith(op))
    name, value = next(iter(node["args"].items()))
    node["args"][name] = [10**400, *value[1:]] if isinstance(value, list) else -(10**400)
    bar(model, "open", text=json.dumps(data))
    assert "does not fit into 64 bits" in str(screen["bar", "faults"])
    bar(model, "undo")
    assert model.graph == SMALL


IMPORTED = with_report(
    Document(SMALL),
    ImportReport(
        ("reader", "decode"),
        (
            ImportIssue("changed", "Rotate", "t.py:3", "<b>bilinear</b>", made="rotate"),
            ImportIssue("refused", "Elastic", "t.py:4", "no such operator"),
        ),
        (ImportIssue("fault", "resize", "", "x" * 2000),),
        ("it is fed",),
        {"crop": "224"},
        steps={"exact": 2, "changed": 1, "omitted": 1},
    ),
)


def test_the_report_of_an_import_comes_with_the_graph(make: Make) -> None:
    model, screen = make()
    assert screen["bar", "import_report"] == {}
    bar(model, "open", text=dump_document(IMPORTED))
    shown = screen["bar", "import_report"]
    assert shown["summary"] == "2 of 4 steps exact, 1 changed, 1 omitted, 1 assumed"
    assert shown["notes"] == ["it is fed"]
    changed, lost, fault, assumed = shown["rows"]
    assert changed == {
        "kind": "changed",
        "subject": "Rotate",
        "place": "t.py:3",
        "why": "<b>bilinear</b>",
        "node": "rotate",
    }
    assert (lost["kind"], lost["why"], lost["node"]) == ("omitted", "no such operator", "")
    assert (fault["node"], len(fault["why"])) == ("resize", 1000)
    assert (assumed["kind"], assumed["subject"]) == ("assumed", "crop = 224")
    ask(model, "canvas", "rename", node="rotate", to="turn")
    assert screen["bar", "import_report"]["rows"][0]["node"] == "turn"
    ask(model, "canvas", "remove", nodes=["turn"])
    assert [row["node"] for row in screen["bar", "import_report"]["rows"]] == ["", "", "resize", ""]
    assert screen["bar", "import_report"]["summary"] == shown["summary"]


def test_a_report_is_removed_as_an_edit_and_belongs_to_its_graph(make: Make) -> None:
    model, screen = make()
    bar(model, "open", text=dump_document(IMPORTED))
    bar(model, "dismiss_report")
    assert screen["bar", "import_report"] == {}
    assert load_document(screen["bar", "saved"]) == replace(IMPORTED, report=None)
    assert screen["bar", "undo_label"] == "remove the import report"
    bar(model, "undo")
    assert load_document(screen["bar", "saved"]) == IMPORTED
    bar(model, "recipe", name="simclr")
    assert screen["bar", "import_report"] == {}
    bar(model, "undo")
    model.set_graph(model.graph.rotate(angle=5))
    assert screen["bar", "import_report"]["rows"]
    model.set_graph("simclr")
    assert screen["bar", "import_report"] == {}
    model.set_graph(ImportedGraph(IMPORTED))
    assert screen["bar", "import_report"]["rows"]
    model.set_graph(model.graph.named("other"))
    assert screen["bar", "import_report"] == {}


def test_thousands_of_issues_are_cut(make: Make) -> None:
    model, screen = make()
    issues = tuple(ImportIssue("changed", "", "", str(n)) for n in range(5000))
    bar(model, "open", text=dump_document(replace(IMPORTED, report=ImportReport((), issues))))
    shown = screen["bar", "import_report"]
    assert len(shown["rows"]) == 200
    assert shown["notes"] == ["4,800 more issues are in the graph file"]


def test_a_recipe_is_offered_with_its_line_and_picture(make: Make) -> None:
    _, screen = make()
    entries = screen["bar", "recipes"]
    assert [entry["name"] for entry in entries] == list(load_recipes())
    for entry in entries:
        assert entry["line"]
        assert entry["picture"].startswith("data:image/webp;base64,")
    assert len(json.dumps(entries)) < 200_000


@pytest.mark.parametrize("name", ["mine", *HOSTILE[:6], "x" * LONGEST_NAME])
def test_a_graph_is_renamed_and_undo_leads_back(make: Make, name: str) -> None:
    model, screen = make()
    bar(model, "title", name=f"  {name} ")
    assert screen["bar", "title"] == " ".join(name.split())
    assert load_graph(screen["bar", "saved"]).name == screen["bar", "title"]
    compile(screen["code", "source"], "pipe.py", "exec")
    assert replace(model.graph, name=SMALL.name) == SMALL
    bar(model, "undo")
    assert model.graph == SMALL


@pytest.mark.parametrize("name", ["", "  ", "x" * (LONGEST_NAME + 1), "\ud800", None, 3])
def test_no_name_is_none(unchanged: Ready, name: Any) -> None:
    model, screen = unchanged
    bar(model, "title", name=name)
    assert screen["bar", "message"]
    assert model.graph == SMALL


@pytest.mark.parametrize("name", one_in(3, [*WRITABLE, "y" * 10_000]))
def test_hostile_names_and_unknown_operators_are_opened_as_data(make: Make, name: str) -> None:
    node = Node("odd", 'os.system("x")', {"value": name})
    graph = replace(SMALL, name=name, about=name, nodes=(*SMALL.nodes, node))
    for message in (
        {"do": "open", "text": dump_graph(graph)},
        {"do": "open_picture", "data": picture(dump_graph(graph))},
    ):
        model, screen = make(restore=False)
        model.act("bar", message)
        assert model.graph == graph  # the odd operator is kept as it is, and marked
        assert [fault["node"] for fault in screen["bar", "faults"]] == ["odd"]
        assert load_graph(screen["bar", "saved"]) == graph
        bar(model, "undo")
        assert model.graph == SMALL


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"do": "open", "text": ""}, "not valid JSON"),
        (
            {"do": "open", "text": "import os; os.remove('x')", "file": "my train.py"},
            "`workbench import 'my train.py' -o 'my train.json'`",
        ),
        (
            {"do": "open", "text": '{"cells": [{"cell_type": "code"}]}'},
            "This notebook does not contain a graph. A web page must not run code",
        ),
        (
            {"do": "open", "text": '"""A loader."""\n\nimport os\n'},
            "This script does not contain a graph. A web page must not run code",
        ),
        (
            {"do": "open", "text": "x = 1", "file": "odd.py"},
            "`workbench import odd.py -o odd.json`",
        ),
        ({"do": "open", "text": "def f(): pass", "file": "a\nb.py"}, "import pipeline.py"),
        ({"do": "open", "text": '"""Numbers."""\n\nSIZE = 3\n'}, "This script does not contain"),
        ({"do": "open", "text": "def make():\n    return 3\n"}, "This script does not contain"),
        ({"do": "open", "text": "[" * 100_000}, "not valid JSON"),
        ({"do": "open", "text": '{"some": "json"}'}, "not a graph file"),
        ({"do": "open", "text": '{"format": "dali-workbench-graph", "version": 9}'}, "newer"),
        ({"do": "open", "text": None}, "text is None. Expected `str`"),
        ({"do": "open_picture", "data": "***"}, "cannot be read"),
        ({"do": "open_picture", "data": ""}, "not a readable PNG"),
        (
            {"do": "open_picture", "data": base64.b64encode(b"GIF89a").decode()},
            "not a readable PNG",
        ),
        ({"do": "open_picture", "data": "A" * 9_000_000}, "more data than any graph"),
        ({"do": "open_picture", "data": picture("no graph")}, "not valid JSON"),
        ({"do": "open_recent", "owner": "../../x"}, "no longer exists"),
        ({"do": "recipe", "name": "simclrr"}, "Did you mean simclr"),
    ],
)
def test_bad_input_is_told_and_changes_nothing(
    unchanged: Ready, message: dict[str, Any], words: str
) -> None:
    model, screen = unchanged
    model.act("bar", message)
    assert words in screen["bar", "message"]
    assert model.graph == SMALL
    assert not screen["bar", "can_undo"]


@pytest.mark.parametrize("target", ["script", "notebook"])
def test_an_exported_program_opens_as_data_while_its_code_is_unchanged(
    make: Make, target: str
) -> None:
    graph = load_recipe("cutout")
    model, screen = make(restore=False)
    text = export(graph, target).main.text
    bar(model, "open", text=text)
    assert model.graph == graph
    bar(model, "undo")
    bar(model, "open", text=text.replace("BATCH_SIZE = 64", "BATCH_SIZE = 32"))
    assert "The code was changed after the export" in screen["bar", "message"]
    assert "`workbench import " in screen["bar", "message"]
    assert model.graph == SMALL


@pytest.mark.parametrize("lost", [60, 600])
def test_a_damaged_graph_of_a_program_is_told_with_what_to_do(make: Make, lost: int) -> None:
    model, screen = make(restore=False)
    program = export(load_recipe("cutout")).main.text
    kept = program[:-900] + program[-900 + lost :]
    for text in (program[:-lost], kept):
        bar(model, "open", text=text)
        said = screen["bar", "message"]
        assert said.startswith(
            "The graph stored in this script was ignored. The stored graph is damaged"
        )
        assert "Use another copy of the file, or export the graph again. " in said
        assert "workbench import pipeline.py -o pipeline.json" in said
        assert "Error" not in said
        assert model.graph == SMALL


def test_a_picture_without_a_graph_is_told(make: Make) -> None:
    model, screen = make()
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4)).save(buffer, "PNG")
    bar(model, "open_picture", data=base64.b64encode(buffer.getvalue()).decode())
    assert "contains no graph" in screen["bar", "message"]


def test_a_shared_picture_opens_again(make: Make) -> None:
    model, screen = make()
    screen.wait_ready()
    assert screen["bar", "shared"] == b""
    bar(model, "share")
    screen.wait(lambda s: s["bar", "shared"], "the picture")
    shared = screen["bar", "shared"]
    assert load_graph(read_shared(shared)) == SMALL
    with Image.open(io.BytesIO(shared)) as sheet:
        assert sheet.width == 1200
    bar(model, "title", name="other")
    assert screen["bar", "shared"] == b""  # it was of another graph
    bar(model, "open_picture", data=base64.b64encode(shared).decode())
    assert model.graph == SMALL


def test_a_graph_with_faults_is_shared_with_the_reason(make: Make, tmp_path: Path) -> None:
    model, screen = make()
    bar(model, "new")
    bar(model, "share")
    screen.wait(lambda s: s["bar", "shared"], "the picture")
    assert load_graph(read_shared(screen["bar", "shared"])) == Graph()
    with pytest.raises(GraphFaultsError):
        model.share(tmp_path / "sheet.png")


def test_code_shares_into_a_file(make: Make, tmp_path: Path) -> None:
    model, _ = make()
    written = model.share(tmp_path / "sheet")
    assert written == tmp_path / "sheet.png"
    assert read_picture(written) == SMALL
    other, _ = make(graph=str(written))
    assert other.graph == SMALL


def test_a_good_folder_stays_when_another_cannot_be_opened(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    model, screen = make()
    screen.wait_ready()
    model.act("bar", {"do": "open_folder", "path": str(tmp_path / "mistyped")})
    assert screen["bar", "message"] == ""  # the dialog shows it
    assert "mistyped" in screen["bar", "data"]["refused"]
    model.act("canvas", {"do": "open", "path": str(tmp_path / "mistyped")})
    assert "mistyped" in screen["bar", "message"]
    assert "stays open" in screen["bar", "message"]
    assert screen["data", "summary"]["root"] == str(photos)
    assert screen["data", "summary"]["error"] == ""
    assert "mistyped" in screen["data", "summary"]["refused"]
    assert screen["preview", "stale"] == ""
    model.act("data", {"do": "open", "path": str(photos / "cat")})
    screen.wait(lambda s: s["data", "summary"]["count"] == 10, "the cats")
    assert screen["data", "summary"]["refused"] == ""


@pytest.mark.parametrize("where", ["readable", "outside", "missing", "remote"])
def test_a_shared_graph_opens_with_its_data_or_names_them(
    make: Make, photos: Path, shapes: Path, tmp_path: Path, where: str
) -> None:
    annotations = shapes / "coco" / "annotations.json"
    folders = (photos, shapes) if where == "readable" else (photos,)
    model, screen = make(roots=replace(Roots.of(folders), extensible=True))
    place = {"missing": tmp_path / "none.json", "remote": "s3://bucket/a"}.get(where, annotations)
    shared = json.loads(dump_graph(load_recipe("ssd")))
    shared["session"] = {"data": {"data": str(place)}}
    bar(model, "open", text=json.dumps(shared))
    report = screen["bar", "restored"]
    assert model.graph.name == "ssd"
    assert bool(report) == (where != "readable")
    if report:
        assert report["choose"]
        assert str(place) in report["text"]
        assert report["outside"] == ("" if where == "missing" else str(place))
        assert screen["bar", "data"]["path"] == str(photos)
    if where == "outside":
        bar(model, "open_shared_data")
    if where in ("outside", "readable"):
        assert screen["bar", "restored"] == {}
        assert screen["bar", "data"]["places"] == {"data": str(place)}
        assert screen["bar", "faults"] == []


def test_a_sheet_of_a_nameless_graph_has_a_title() -> None:
    assert compose_sheet("", "").size == compose_sheet("named", "").size


def test_a_recipe_for_other_data_names_the_samples_to_open(make: Make, shapes: Path) -> None:
    model, screen = make()
    bar(model, "recipe", name="ssd")
    assert "use COCO annotations (.json)" in screen["bar", "message"]
    assert "`workbench samples shapes --annotations`" in screen["bar", "message"]
    assert model.graph == load_recipe("ssd")
    model.open_data(str(shapes / "coco" / "annotations.json"))
    model.receive("preview", "tiles", 8)
    screen.wait(
        lambda s: s.picture and any(any(tile["marks"]) for tile in s.header["tiles"]), "boxes"
    )
    assert screen["bar", "message"] == ""


def test_pictures_of_the_graph_before_are_marked_until_those_of_the_opened_one_are_there(
    make: Make, photos: Path
) -> None:
    model, screen = make(photos, small())
    screen.wait_ready()
    before = screen.picture
    with model.lock:  # no picture can come meanwhile
        model.act("bar", {"do": "recipe", "name": "imagenet-train"})
        assert screen["preview", "rendering"]
        assert screen["canvas", "stale"] == "rendering"
    screen.wait_other_picture(before)
    screen.wait(lambda s: not s["preview", "rendering"], "the pictures of the recipe")
