"""Views that are made alike are one function in the exported script."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.emit.pipeline_import.graphs import canonical
from tests.emit.pipeline_import.test_roundtrip import there_and_back
from tests.placed import CATALOG
from workbench.emit import emit_script
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_arg

SIMCLR = load_recipe("simclr")


def test_two_views_are_one_function_and_come_back_as_two(tmp_path: Path) -> None:
    script = emit_script(SIMCLR, CATALOG)
    assert "view_1 = augment(images, seed + 21)\n" in script.text
    assert "view_2 = augment(images, seed + 31)\n" in script.text
    assert script.lines["crop_1"] == script.lines["crop_2"]
    imported = there_and_back(SIMCLR, tmp_path)
    assert canonical(imported.graph) == canonical(SIMCLR)
    drawn = {node.id for node in SIMCLR.nodes if node.op.startswith("random.")}
    assert drawn <= {node.id for node in imported.graph.nodes}  # mirror_1 and mirror_2


def test_views_that_differ_are_written_out() -> None:
    other = set_arg(SIMCLR, CATALOG, "gaussian_2", "window_size", 21)
    seed = SIMCLR.replace_node(replace(SIMCLR.node("mirror_2"), seed=99))
    for graph in (other, seed):
        assert "augment(" not in emit_script(graph, CATALOG).text
