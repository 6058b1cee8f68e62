"""Values that DALI takes in several forms, and texts: no export ends in a traceback."""

from __future__ import annotations

import ast
import json
from dataclasses import replace

import pytest

from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.emit.targets import export, target_names
from workbench.errors import GraphExportError, GraphFaultsError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edits.edit import set_arg

CATALOG = load_catalog()
WITHOUT_DALI = ("torchvision", "albumentations")
HOSTILE = ('HWC"); PWN(); ("', 'H"', "\nPWN()", "1) or PWN() or (1", "'''", "\\")


def with_node(op: str, **args: Value) -> Graph:
    """A graph that gives what a node makes of resized images."""
    graph = load_recipe("imagenet-eval")
    node = Node("it", op, args, {"data": graph.outputs["images"]} if op != "constant" else {})
    return replace(
        graph,
        nodes=(*graph.nodes, node),
        outputs={**graph.outputs, "made": Port("it", "output")},
    )


@pytest.mark.parametrize(
    ("op", "argument", "others"),
    [
        ("constant", "layout", {"fdata": (1.0,), "shape": (1, 1, 1)}),
        ("transpose", "output_layout", {"perm": (2, 0, 1)}),
        ("transpose", "output_layout", {}),
        ("reshape", "layout", {}),
        ("expand_dims", "new_axis_names", {"axes": (0,)}),
        ("crop_mirror_normalize", "output_layout", {}),
        ("reductions.max", "axis_names", {}),
    ],
)
def test_a_layout_of_anything_but_letters_is_a_fault(
    op: str, argument: str, others: dict[str, Value]
) -> None:
    for layout in HOSTILE:
        graph = with_node(op, **others, **{argument: layout})
        for target in target_names():
            with pytest.raises(GraphFaultsError, match=rf"it\.{argument}: .*Give .*"):
                export(graph, target, CATALOG)


def test_a_layout_is_written_as_a_text() -> None:
    graph = with_node("constant", fdata=(1.0,), shape=(1, 1, 1), layout="HWC")
    assert 'layout="HWC"' in export(graph, "dynamic", CATALOG).main.text
    notebook = json.loads(export(load_recipe("rotate-jitter"), "notebook", CATALOG).main.text)
    sources = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    calls = [node for text in sources for node in ast.walk(ast.parse(text))]
    shown = [node for node in calls if isinstance(node, ast.Call) and "show" in ast.dump(node.func)]
    assert any(isinstance(node.args[1], ast.Constant) for node in shown if len(node.args) == 2)


@pytest.mark.parametrize("target", WITHOUT_DALI)
@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("transpose", {"output_layout": "CHW"}),
        ("crop_mirror_normalize", {"mean": 0.0, "std": 255.0}),
        ("crop_mirror_normalize", {"mean": (), "std": ()}),
        ("erase", {"shape": 1, "anchor": 0.5}),
        ("erase", {"shape": (0.5, 0.0), "anchor": (0.5, 0.5)}),
        ("gaussian_blur", {"window_size": ()}),
        ("resize", {"size": 32}),
    ],
)
def test_a_single_value_or_none_is_exported_or_refused(
    target: str, op: str, args: dict[str, Value]
) -> None:
    graph = chain_graph("resize", op) if op != "resize" else chain_graph(op)
    node = graph.node(op)
    graph = graph.replace_node(replace(node, args=args))
    said = op
    try:
        ast.parse(export(graph, target, CATALOG).main.text)
    except (GraphExportError, GraphFaultsError) as error:
        said = str(error)
    assert op in said


def test_a_single_value_counts_as_a_list_of_one() -> None:
    graph = set_arg(load_recipe("rotate-jitter"), CATALOG, "angle", "values", 3.0)
    args = {name: value for name, value in graph.node("angle").args.items() if name != "range"}
    graph = graph.replace_node(replace(graph.node("angle"), args=args))
    text = export(graph, "albumentations", CATALOG).main.text
    assert "(3, 3)" in text
