"""Blocks that a person saved, in the state folder, and what the canvas does with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.helpers import chain_graph
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.importing import from_file
from workbench.engine.resources.machine import describe_machine
from workbench.errors import GraphEditError
from workbench.graph import check_graph
from workbench.graph.edits.rename import rename_node
from workbench.graph.storage.layout import Document
from workbench.ui.canvas.insertions import apply_insertion
from workbench.ui.contract.actions.canvas import AddTemplate, RemoveBlock, SaveBlock
from workbench.ui.state.view_state import ViewState, check_before_run
from workbench.ui.storage.autosave import state_folder
from workbench.ui.storage.saved_blocks import (
    PREFIX,
    block_entries,
    remove_block,
    save_block,
    saved_blocks,
)

CATALOG = load_catalog()
NAME = "Turned / blurred.."
OTHER = chain_graph("resize", "flip")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALI_WORKBENCH_STATE", str(tmp_path / "state"))


@pytest.fixture
def state() -> ViewState:
    graph = chain_graph("resize", "rotate", "gaussian_blur")
    return ViewState(check_before_run(graph, CATALOG, describe_machine()))


def save(state: ViewState, name: str = NAME, *nodes: str) -> str:
    return save_block(state, CATALOG, SaveBlock(list(nodes or ("rotate", "gaussian_blur")), name))


def test_one_is_saved_replaced_put_in_and_removed(state: ViewState) -> None:
    assert "is saved" in save(state)
    assert "is replaced" in save(state)
    assert [block.name for block in saved_blocks()] == [NAME]
    assert len(list((state_folder() / "blocks").iterdir())) == 1
    (entry,) = block_entries(state.blocks)
    assert (entry["name"], entry["nodes"]) == (PREFIX + NAME, ["rotate", "gaussian_blur"])
    for place in ({"after": "resize"}, {"edge": "flip:data"}, {"after": "flip"}):
        action = AddTemplate(PREFIX + NAME, sound=True, **place)
        document, selected = apply_insertion(Document(OTHER), CATALOG, action)
        assert selected == ["gaussian_blur"]
        assert check_graph(document.graph, CATALOG) == ()
    remove_block(state, RemoveBlock(NAME))
    assert (saved_blocks(), state.blocks) == ((), ())


def test_what_is_none_is_refused_and_named(state: ViewState) -> None:
    with pytest.raises(GraphEditError, match="There are: none"):
        remove_block(state, RemoveBlock("x"))
    with pytest.raises(GraphEditError, match="no block 'x'"):
        apply_insertion(Document(OTHER), CATALOG, AddTemplate(PREFIX + "x", after="resize"))
    with pytest.raises(GraphEditError, match="No node is selected"):
        save(state, NAME, "gone")
    assert saved_blocks() == ()


def test_a_damaged_file_hides_no_other(state: ViewState) -> None:
    save(state)
    for name, text in {"a": "", "b": "{}", "c": "\udcff"}.items():
        path = state_folder() / "blocks" / f"{name}.json"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert [block.name for block in saved_blocks()] == [NAME]


def test_a_region_is_put_in_again_renamed_and_comes_back_from_its_code(tmp_path: Path) -> None:
    graph = chain_graph("resize").with_p(0.3, lambda x: x.rotate(angle=5).saturation(saturation=2))
    state = ViewState(check_before_run(graph, CATALOG, describe_machine()))
    save(state, NAME, "branch")
    (entry,) = block_entries(state.blocks)
    assert entry["summary"] == "Saved by you: if, rotate, saturation."
    document, places = Document(graph), ["branch", "branch_2"]
    for place in places:
        action = AddTemplate(PREFIX + NAME, sound=True, after=place)
        document, selected = apply_insertion(document, CATALOG, action)
    (last,) = selected
    twice = rename_node(document.graph, last, "last")
    other, _ = apply_insertion(Document(OTHER), CATALOG, replace(action, after="resize"))
    for made, regions in ((twice, ["branch", "branch_2", "last"]), (other.graph, ["branch"])):
        assert check_graph(made, CATALOG) == ()
        assert [node.id for node in made.nodes if node.bodies] == regions
        draws = [node for node in made.walk() if node.op == "random.coin_flip"]
        assert [draw.args["probability"] for draw in draws] == [0.3] * len(regions)
        assert len({draw.seed for draw in draws}) == len(regions), "each draws by itself"
        script = emit_script(made, CATALOG).text
        (tmp_path / "script.py").write_text(script)
        again = from_file(tmp_path / "script.py").graph
        assert emit_script(again, CATALOG).text == script
