"""Frames as comments: above what they frame, in code that is otherwise the same."""

from __future__ import annotations

import ast

import pytest

from tests.emit.target_graphs import held
from tests.thorough import one_in
from workbench.emit.targets import export, target_names
from workbench.graph import load_recipe
from workbench.graph.storage.layout import Frame
from workbench.ui.export.exports import with_frame_comments


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
