"""The names of bodies, as comments of an exported script, come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.importing import from_file
from workbench.graph import load_recipe
from workbench.graph.control_flow.one_of import choose_one_of
from workbench.graph.model.body_titles import set_body_title

CATALOG = load_catalog()


@pytest.mark.parametrize("op", ["one_of", "some_of"])
def test_names_of_bodies_come_back(op: str, photos: Path, tmp_path: Path) -> None:
    plain, region = choose_one_of(load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], op)
    graph = plain
    for body, title in (("option_0", "a turn: 'large'"), ("option_1", "if # colour")):
        graph = set_body_title(graph, CATALOG, region, body, title)
    script = tmp_path / "pipeline.py"
    script.write_text(emit_script(graph, CATALOG).text, encoding="utf-8")
    found = from_file(script, args={"data": str(photos)}).graph
    (back,) = [node for node in found.walk() if node.bodies]
    assert [body.title for body in back.bodies.values()] == ["a turn: 'large'", "if # colour"]
