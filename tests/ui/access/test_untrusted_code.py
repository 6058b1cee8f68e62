"""Whichever way a graph comes, code in it runs only where it is trusted."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.ui.screen import Ready
from workbench.emit import emit_script
from workbench.errors import GraphFaultsError
from workbench.graph import Graph, dump_graph, load_graph, load_recipe
from workbench.graph.builder.function_node import node
from workbench.graph.edits.edit import set_setting
from workbench.graph.edits.fragment import copy_fragment
from workbench.graph.user_functions.trust import trust_graph
from workbench.preview.requests.share import write_shared
from workbench.ui.state.owner import new_owner

Make = Callable[..., Ready]
SMALL = set_setting(load_recipe("rotate-jitter"), batch_size=4, num_threads=2)


@node
def same(image: object) -> object:
    return image


def leaving(mark: Path) -> str:
    """A graph whose code leaves a mark when it is defined, and when it is called."""
    graph = same.after(SMALL, "rotate")
    made = graph.node("same")
    place = f"open({str(mark)!r}, 'w').close()"
    source = f"def same(image, at={place}):\n    {place}\n    return image\n"
    return dump_graph(graph.replace_node(replace(made, args={**made.args, "source": source})))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "ran"


@pytest.fixture
def start_graph() -> Graph:
    return SMALL


def picture(text: str) -> str:
    return base64.b64encode(write_shared(Image.new("RGB", (4, 4)), text)).decode()


def pasted(text: str) -> str:
    return copy_fragment(load_graph(text), ["same"])


WAYS: dict[str, Callable[[str], tuple[str, dict[str, Any]]]] = {
    "file": lambda text: ("bar", {"do": "open", "text": text}),
    "picture": lambda text: ("bar", {"do": "open_picture", "data": picture(text)}),
    "paste": lambda text: ("canvas", {"do": "paste", "text": pasted(text), "x": 0.0, "y": 0.0}),
}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_a_fault_with_its_remedy_until_it_is_trusted(
    way: str, make: Make, mark: Path
) -> None:
    model, screen = make()
    screen.wait_ready()
    text = leaving(mark)
    component, action = WAYS[way](text)
    model.act(component, action)
    if way == "paste":
        pasted_node = next(n.id for n in model.graph.nodes if n.op == "python_function")
        model.act(
            "canvas",
            {"do": "connect", "source": "rotate", "output": "output", "node": pasted_node,
             "input": "input_0"},
        )  # fmt: skip
    assert "not trusted" in str(screen["bar", "faults"])
    screen.wait(lambda s: s["bar", "status"]["state"] in ("fault", "ready"), "at rest")
    assert "same" in str(screen["canvas", "nodes"]), "its source can be read"
    assert not mark.exists()


def test_what_is_compared_with_does_not_run(make: Make, mark: Path) -> None:
    model, screen = make()
    screen.wait_ready()
    model.receive("preview", "mode", "compare")
    action = {"do": "compare_with_file", "name": "other", "text": leaving(mark)}
    model.act("preview", action)
    screen.wait(lambda s: s["preview", "comparison"]["error"], "why there is no picture")
    assert "not trusted" in screen["preview", "comparison"]["error"]
    assert not mark.exists()


def test_what_was_kept_comes_back_without_trust(make: Make, mark: Path) -> None:
    owner, text = new_owner(), leaving(mark)
    first, screen = make(owner=owner, cell="cell")
    first.act("bar", {"do": "open", "text": text})
    first.act("bar", {"do": "shown", "opened": screen["bar", "opened"]})
    first.close()
    again, screen = make(owner=owner, cell="cell")
    assert dump_graph(again.graph) == text, "it is kept as it was"
    assert "not trusted" in str(screen["bar", "faults"])
    assert not mark.exists()


def test_a_page_that_begins_with_it_does_not_run_it(make: Make, mark: Path) -> None:
    graph: Graph = load_graph(leaving(mark))
    model, screen = make(graph=graph)
    screen.wait(lambda s: s["bar", "status"]["state"] == "fault", "a fault")
    assert "not trusted" in str(screen["bar", "faults"])
    assert not mark.exists()
    changed = dump_graph(graph).replace("return image", "return  image")
    _, trusting = make(graph=trust_graph(graph))
    trusting.wait_ready()
    assert mark.exists()
    with pytest.raises(GraphFaultsError, match="not trusted"):
        emit_script(load_graph(changed), model.catalog)
