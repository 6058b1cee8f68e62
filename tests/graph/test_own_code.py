"""Code that comes with a graph is inert until it is trusted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.protocol.codec import _pack_graph
from workbench.graph import load_recipe
from workbench.graph.fixes import fixes
from workbench.graph.user_functions.own_code import is_trusted


@wb.node
def same(image: object) -> object:
    return image


def foreign(source: str, name: str = "evil") -> wb.Graph:
    graph = same.after(load_recipe("rotate-jitter"), "resize")
    node = graph.node("same")
    args = {**node.args, "function": name, "source": source}
    return wb.load_graph(wb.dump_graph(graph.replace_node(replace(node, args=args))))


def test_it_is_inert_until_it_is_trusted(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    graph = foreign(f"def evil(image, x=open({str(mark)!r}, 'w')):\n    return image\n")
    (fault,) = wb.check_graph(graph, load_catalog())
    assert (fault.node, "not trusted" in fault.message) == ("same", True)
    assert "trust" in fault.remedy
    with pytest.raises(wb.GraphFaultsError):
        emit_script(graph, load_catalog())
    assert "evil(image" not in str(_pack_graph(graph))
    assert not mark.exists()
    (fix,) = fixes(graph, load_catalog(), fault)
    assert fix.label == "Mute same"
    assert "evil" not in emit_script(fix.graph, load_catalog()).text
    assert fix.graph.node("same").args == graph.node("same").args, "it can be read still"
    trusted = wb.trust_graph(graph)
    assert wb.check_graph(trusted, load_catalog()) == ()
    node = trusted.node("same")
    changed = replace(node, args={**node.args, "source": f"{node.args['source']}\n"})
    assert not is_trusted(changed)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def evil(x):\n    return x\nprint(1)\n", "evil"),
        ("import os\ndef evil(x):\n    return x\n", "evil"),
        ("@print\ndef evil(x):\n    return x\n", "evil"),
        ("def evil(x:\n", "evil"),
        ("", "evil"),
        ("def fn(x):\n    return x\n", "fn"),
        ("def evil(x):\n    return x\n", "evil)(print(1)"),
    ],
)
def test_what_is_no_function_is_refused_even_if_trusted(source: str, name: str) -> None:
    graph = wb.trust_graph(foreign(source, name))
    with pytest.raises(wb.GraphFaultsError):
        emit_script(graph, load_catalog())
