"""Exported programs list the warnings about their graph; an import ignores these lines."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine.importing import from_file
from workbench.graph.model import Graph

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
