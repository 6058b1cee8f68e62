"""Whatever a function looks like, its text with the imports inside is the same function."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.protocol.codec import _pack_graph
from workbench.graph import load_recipe
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.user_functions.function_source import written_function
from workbench.graph.user_functions.trust import is_trusted

IMPORTS = ["import math"]

CASES = {
    "def f(x): return math.sqrt(x)\n": "def f(x): import math; return math.sqrt(x)\n",
    "def f(x):\n    return x\n": "def f(x):\n    import math\n\n    return x\n",
    """\
@node(layouts='HWC')
def f(x: int, by: float = 2.0) -> int:  # why

    # more
    return x
""": """\
def f(x: int, by: float = 2.0) -> int:  # why
    import math

    # more
    return x
""",
    """\
def f(x: "np.ndarray", /, by: int = 3, *rest: Any, k: Any = 4, **more: Any) -> Any:
    return x
""": """\
def f(x, /, by=3, *rest, k=4, **more):
    import math

    return x
""",
    """\
def f(
    x: np.ndarray[
        int, Any
    ],
    *,
    k: Any = {1: 2},
) -> Any:
    return x
""": """\
def f(x, *, k={1: 2}):
    import math

    return x
""",
    """\
def f(x, d={"é": 1}):
    '''Two
    lines.'''
    @g
    def h(): pass
    return x
""": """\
def f(x, d={"é": 1}):
    '''Two
    lines.'''
    import math

    @g
    def h(): pass
    return x
""",
    """\
def f(x):
    @g
    def h(): pass
    return x
""": """\
def f(x):
    import math

    @g
    def h(): pass
    return x
""",
}


@pytest.mark.parametrize("text", CASES)
def test_its_text(text: str) -> None:
    definition: Any = ast.parse(text).body[0]
    written = written_function(text, definition, IMPORTS)
    assert written == CASES[text]
    compile(written, "f", "exec")


@pytest.mark.parametrize("text", CASES)
def test_without_imports_only_the_head_can_change(text: str) -> None:
    definition: Any = ast.parse(text).body[0]
    again: Any = ast.parse(written_function(text, definition, [])).body[0]
    assert [ast.dump(each) for each in again.body] == [ast.dump(each) for each in definition.body]
    assert [each.arg for each in again.args.args] == [each.arg for each in definition.args.args]


# Code that comes with a graph is inert until it is trusted.


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
    (fix,) = fixes(ResolvedGraph(graph, load_catalog()), fault)
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
