"""Comments in exported programs: frames above what they frame, and warnings about the graph."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.emit.target_graphs import held
from tests.helpers import CATALOG, with_settings
from tests.thorough import one_in
from workbench.cli import main
from workbench.emit.targets import export, target_names
from workbench.engine.importing import from_file
from workbench.graph import load_recipe
from workbench.graph.model import Graph
from workbench.graph.storage.io import dump_graph
from workbench.graph.storage.layout import Frame
from workbench.sources import DataFacts, data_facts, open_dataset
from workbench.ui.export.exports import with_frame_comments

WARNED = "fit pixels from 0 to 1"


def small_constants(about: str = "") -> Graph:
    graph = wb.load_recipe("imagenet-eval")
    (last,) = (node for node in graph.nodes if node.op == "crop_mirror_normalize")
    args = {**last.args, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
    return replace(graph.replace_node(replace(last, args=args)), about=about)


@pytest.mark.parametrize(
    "target",
    ["script", "pytorch", "lightning", "jax", "dynamic", "ray", "torchvision", "albumentations"],
)
def test_the_docstring_lists_warnings(target: str) -> None:
    graph = small_constants()
    (warning,) = wb.check_warnings(graph)
    docstring = ast.get_docstring(ast.parse(export(graph, target, CATALOG).main.text))
    assert f"Warning: {warning}".replace('"', "'") in " ".join((docstring or "").split())


def test_the_notebook_lists_warnings_in_its_introduction() -> None:
    cells = json.loads(export(small_constants(), "notebook", CATALOG).main.text)["cells"]
    assert WARNED in " ".join("".join(cells[0]["source"]).split())


def test_a_graph_without_warnings_has_no_such_line() -> None:
    text = export(wb.load_recipe("imagenet-eval"), "script", CATALOG).main.text
    assert "Warning" not in text


def test_an_import_ignores_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "pipe.py"
    graph = small_constants("Evaluation.")
    path.write_text(export(graph, "script", CATALOG).main.text)
    imported = from_file(path)
    assert imported.graph.about == "Evaluation."
    assert imported.graph.name == graph.name
    assert [node.op for node in imported.graph.nodes] == [node.op for node in graph.nodes]


@pytest.fixture
def sorted_classes(tmp_path: Path) -> Path:
    for name in ("bee", "cat"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(8):
            Image.new("RGB", (8, 8)).save(tmp_path / "photos" / name / f"{number}.png")
    return tmp_path / "photos"


def unshuffled() -> Graph:
    graph = with_settings(wb.load_recipe("imagenet-eval"), batch_size=4)
    (source,) = graph.sources  # a graph for evaluation needs no shuffling
    return replace(graph.replace_node(replace(source, args={})), name="photos", about="")


@pytest.mark.parametrize("target", ["script", "pytorch", "dynamic", "ray"])
def test_with_data_the_docstring_lists_their_warnings(target: str, sorted_classes: Path) -> None:
    graph = unshuffled()
    text = export(graph, target, CATALOG, data=str(sorted_classes)).main.text
    docstring = " ".join((ast.get_docstring(ast.parse(text)) or "").split())
    (warning,) = wb.check_warnings(graph, facts={"data": data_facts(open_dataset(sorted_classes))})
    assert f"Warning: {warning}" in docstring
    without = export(graph, target, CATALOG, data=str(sorted_classes), facts={}).main.text
    assert "Warning" not in without
    assert "Warning" not in export(graph, target, CATALOG).main.text


def test_empty_files_of_a_folder_are_told(sorted_classes: Path) -> None:
    (sorted_classes / "cat" / "9.png").write_bytes(b"")
    graph = wb.load_recipe("imagenet-train")
    text = export(graph, "script", CATALOG, data=str(sorted_classes)).main.text
    docstring = " ".join((ast.get_docstring(ast.parse(text)) or "").split())
    assert (
        "at least 1 sample cannot be used, and an exported program stops at the first." in docstring
    )
    assert "`workbench check DATA --full --good FILE`" in docstring


def test_the_command_line_writes_them(sorted_classes: Path, tmp_path: Path) -> None:
    graph, made = tmp_path / "graph.json", tmp_path / "pipe.py"
    graph.write_text(dump_graph(unshuffled()))
    arguments = ["export", str(graph), "--data", str(sorted_classes), "-o", str(made)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    assert "sorted by class" in " ".join(made.read_text().split())
    imported = from_file(made)
    assert "sorted by class" not in imported.graph.about


@pytest.mark.parametrize("name", ['"""\nimport os', "\\", "$definition", "«data»"])
def test_names_of_files_in_warnings_stay_text(name: str) -> None:
    boxes = wb.load_recipe("ssd")
    facts = {"data": DataFacts(without_area=1, first_without_area=f"{name}: it has no width")}
    assert wb.check_warnings(boxes, facts=facts)
    for target in ("script", "pytorch", "notebook"):
        made = export(boxes, target, CATALOG, facts=facts).main.text
        if target == "notebook":
            assert "without an area" in "".join(json.loads(made)["cells"][0]["source"])
            continue
        plain = ast.parse(export(boxes, target, CATALOG).main.text)
        tree = ast.parse(made)
        assert "without an area" in " ".join((ast.get_docstring(tree) or "").split())
        assert list(map(ast.dump, tree.body[1:])) == list(map(ast.dump, plain.body[1:]))


def test_counts_of_the_first_samples_are_lower_bounds(
    sorted_classes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = sorted_classes.parent / "list.txt"
    rows = [f"photos/{name}/{at}.png {name}" for name in ("bee", "cat") for at in range(8)]
    listed.write_text("\n".join(["photos/bee/gone", *rows]))
    whole = wb.check_warnings(unshuffled(), facts={"data": data_facts(open_dataset(listed))})
    (order,) = (each.message for each in whole if "sorted by class" in each.message)
    assert "the first" not in order
    # ``workbench.sources.data_facts`` is the function, which hides its module.
    monkeypatch.setattr(sys.modules[data_facts.__module__], "MOST_READ", 15)
    facts = data_facts(open_dataset(listed), "another version")
    assert facts.more
    messages = [each.message for each in wb.check_warnings(unshuffled(), facts={"data": facts})]
    assert any("the first 15 samples are sorted by class" in each for each in messages)
    boxes = DataFacts(outside=2, unusable=3, without_area=1, more=True)
    found = wb.check_warnings(wb.load_recipe("ssd"), facts={"data": boxes})
    messages = [each.message for each in found]
    for words in ("2 images have boxes", "3 samples cannot be used", "1 image has a box without"):
        assert any(f"at least {words}" in each for each in messages)


# Frames as comments: above what they frame, in code that is otherwise the same.


def test_a_title_stands_above_the_first_of_its_nodes() -> None:
    plain = export(load_recipe("rotate-jitter"))
    frames = [Frame("Colour\nand flip", ("color", "flip")), Frame("All", ("resize", "color"))]
    code = with_frame_comments(plain, frames).main
    lines = code.text.split("\n")
    assert lines[code.lines["color"].start - 2] == "    # Colour and flip"
    assert lines[code.lines["resize"].start - 2] == "    # All"
    before = plain.main.text.split("\n")
    for node, at in code.lines.items():
        old = plain.main.lines[node]
        assert lines[at.start - 1] == before[old.start - 1]
        assert lines[at.stop - 2] == before[old.stop - 2]
    assert [line for line in lines if "# " not in line] == [
        line for line in before if "# " not in line
    ]


@pytest.mark.parametrize("target", one_in(7, target_names()))
def test_the_code_stays_the_same_in_every_target(target: str) -> None:
    compared = 0
    for graph in held(target).values():
        plain = export(graph, target)
        frames = [Frame(node.id, (node.id,)) for node in graph.walk()]
        for path, code in with_frame_comments(plain, frames).files.items():
            if path.endswith(".py"):
                same = plain.files[path].text
                assert ast.dump(ast.parse(code.text)) == ast.dump(ast.parse(same))
                compared += 1
    assert compared or target == "notebook"
