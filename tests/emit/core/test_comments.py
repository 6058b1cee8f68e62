"""Exported programs list the warnings about their graph; an import ignores these lines."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.helpers import with_settings
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.graph.model import Graph
from workbench.graph.storage.io import dump_graph
from workbench.sources import DataFacts, data_facts, open_dataset

CATALOG = load_catalog()
WARNED = "fit pixels in 0..1"


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
    (source,) = graph.sources
    return graph.replace_node(replace(source, args={}))


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
    assert "at least 1 sample cannot be used, and an exported program ends at one." in docstring
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
    assert not any("first" in each.message for each in whole)
    monkeypatch.setattr("workbench.sources.common.data_facts.MOST_READ", 15)
    facts = data_facts(open_dataset(listed), "another version")
    assert facts.more
    messages = [each.message for each in wb.check_warnings(unshuffled(), facts={"data": facts})]
    assert any("the first 15 samples are sorted by class" in each for each in messages)
    boxes = DataFacts(outside=2, unusable=3, without_area=1, more=True)
    found = wb.check_warnings(wb.load_recipe("ssd"), facts={"data": boxes})
    messages = [each.message for each in found]
    for words in ("2 images have boxes", "3 samples cannot be used", "1 image has a box without"):
        assert any(f"at least {words}" in each for each in messages)
