from __future__ import annotations

import json

import pytest

from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph import load_recipe
from workbench.graph.control_flow.options import move_option, remove_option, set_body_title
from workbench.graph.control_flow.wrap import wrap_as_options
from workbench.graph.edits.edit import rename_node
from workbench.graph.edits.fragment import copy_fragment, paste_fragment
from workbench.graph.storage.io import dump_graph, load_graph
from workbench.graph.variants.difference import graph_differences

CATALOG = load_catalog()
PLAIN, BLOCK = wrap_as_options(load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"])
NAMED = set_body_title(PLAIN, CATALOG, BLOCK, "option_1", "stronger colour")


def test_a_title_stays_through_files_copies_renames_and_moves() -> None:
    assert load_graph(dump_graph(NAMED)) == NAMED != PLAIN
    assert "title" not in json.dumps(json.loads(dump_graph(PLAIN))["nodes"])
    (found,) = graph_differences(PLAIN, NAMED)
    assert (found.node, found.what, found.after) == ("one_of.option_1", "title", "stronger colour")
    pasted, (*_, copy) = paste_fragment(NAMED, copy_fragment(NAMED, [BLOCK]))
    assert pasted.node(copy).bodies["option_1"].title == "stronger colour"
    renamed = rename_node(NAMED, BLOCK, "choose")
    assert renamed.node("choose").bodies["option_1"].title == "stronger colour"
    moved = move_option(NAMED, CATALOG, BLOCK, "option_1", -1)
    assert [body.title for body in moved.node(BLOCK).bodies.values()] == ["stronger colour", ""]
    assert set_body_title(NAMED, CATALOG, BLOCK, "option_1", "") == PLAIN
    three = load_graph(dump_graph(NAMED))
    with pytest.raises(GraphEditError, match="two bodies"):
        remove_option(three, CATALOG, BLOCK, "option_0")


@pytest.mark.parametrize("title", ["x" * 61, "zero\x00byte"])
def test_what_no_comment_can_hold_is_refused(title: str) -> None:
    with pytest.raises(GraphEditError, match="one line of at most 60"):
        set_body_title(PLAIN, CATALOG, BLOCK, "option_0", title)


def test_a_file_cannot_lead_code_in_by_a_title() -> None:
    data = dump_graph(NAMED).replace("stronger colour", "x\\nimport os")
    with pytest.raises(GraphFormatError, match=r"bodies.option_1.title: .* is not one line"):
        load_graph(data)


def test_the_code_has_it_as_a_comment() -> None:
    lines = emit_script(NAMED, CATALOG).text.splitlines()
    assert "else:  # stronger colour" in [line.strip() for line in lines]
