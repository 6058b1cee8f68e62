"""Arithmetic and indexing in what is exported: run, compared bit for bit, and well formed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.emit.targets.test_execute import drive, outputs_of, some_of, write
from tests.emit.written_code import imports_in, ruff
from tests.helpers import chain_graph, with_nodes
from tests.placed import CATALOG, USABLE, placed
from workbench.catalog.extra_operators.arithmetic import CONSTANT_TYPES
from workbench.emit import emit_script
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import insert_node, randomise_arg, set_arg

RESIZED = Port("resize", "output")


def with_op(op: str, **args: Any) -> Graph:
    graph, node = place_node(chain_graph("resize"), CATALOG, op, RESIZED)
    for name, value in args.items():
        graph = set_arg(graph, CATALOG, node, name, value)
    return replace(graph, outputs={"images": Port(node, "output")})


def blend() -> Graph:
    """Two views of a photo, mixed by a random weight."""
    graph, _ = place_node(chain_graph("resize"), CATALOG, "flip", RESIZED)
    graph, one = place_node(graph, CATALOG, "math.mul", RESIZED)
    graph = randomise_arg(graph, CATALOG, one, "right")
    graph, rest = place_node(graph, CATALOG, "math.sub", Port("right", "output"))
    graph = set_arg(graph, CATALOG, rest, "left", 1)
    graph, other = place_node(graph, CATALOG, "math.mul", Port("flip", "output"))
    graph = connect(graph, CATALOG, Port(rest, "output"), other, "other")
    graph, both = place_node(graph, CATALOG, "math.add", Port(one, "output"))
    graph = connect(graph, CATALOG, Port(other, "output"), both, "other")
    graph, out = insert_node(graph, CATALOG, "cast", both)
    graph = set_arg(graph, CATALOG, out, "dtype", "UINT8")
    return replace(graph, name="blend", outputs={"images": Port(out, "output")})


def by_constant(**args: Any) -> Graph:
    """Photos times a constant."""
    graph, node = place_node(chain_graph("resize"), CATALOG, "math.mul", RESIZED)
    values = Node("values", "constant", args)
    graph = with_nodes(graph, values)
    graph = connect(graph, CATALOG, Port("values", "output"), node, "other")
    return replace(graph, outputs={"images": Port(node, "output")})


CONSTANTS = {
    "three": by_constant(fdata=(0.299, 0.587, 0.114)),
    "long": by_constant(fdata=(0.299123, 0.587123, 0.114123), shape=(1, 1, 3), dtype="FLOAT"),
    "one for all": by_constant(idata=(2,), shape=(1, 3), dtype="INT16"),
    "no axes": by_constant(idata=(7,), shape=()),
    "with a layout": by_constant(idata=(1, 2, 3), shape=(1, 1, 3), dtype="UINT8", layout="HWC"),
}

GRAPHS = {
    **{f"constant, {name}": graph for name, graph in CONSTANTS.items()},
    **{op.name: placed(op)[0] for op in USABLE if op.expression},
    **{
        f"typed {dtype}": with_op("math.add", constant_type=dtype, right=1)
        for dtype in CONSTANT_TYPES
    },
    "short matrix": with_op("warp_affine", matrix=(0.5, 0, 0, 0, 0.5, 0)),
    "left": with_op("math.sub", left=-0.1),
    "left of a power": with_op("math.pow", left=-2, constant_type="INT32"),
    "left byte": with_op("math.sub", left=255, constant_type="UINT8"),
    "negative": with_op("math.sub", right=-7.25),
    "drawn": randomise_arg(with_op("math.mul"), CATALOG, "mul", "right"),
    "drawn on the left": randomise_arg(with_op("math.truediv"), CATALOG, "truediv", "left"),
    "drawn end": randomise_arg(with_op("math.clamp"), CATALOG, "clamp", "hi"),
    "places": with_op("subscript", index="5, ::-2"),
    "whole": with_op("subscript", index=":, :"),
    "blend": blend(),
}


def test_all_are_sound() -> None:
    assert {name: check_graph(graph, CATALOG) for name, graph in GRAPHS.items()} == dict.fromkeys(
        GRAPHS, ()
    )


@pytest.fixture(scope="module")
def few(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return some_of(photos, 12, tmp_path_factory.mktemp("few") / "photos")


@pytest.mark.thorough
def test_the_dynamic_mode_gives_what_the_script_gives(few: Path, tmp_path: Path) -> None:
    found = []
    for target in ("script", "dynamic"):
        for name, graph in GRAPHS.items():
            write(graph, target, tmp_path / target / name)
        data = json.dumps(dict.fromkeys(GRAPHS, str(few)))
        command = ("first", target, tmp_path / target, data, outputs_of(GRAPHS))
        found.append(drive("start", target, "+", *command)[1])
    for name in GRAPHS:
        assert found[0][name] == found[1][name], name
        assert len(json.dumps(found[0][name])) > 50, name


def body(graph: Graph) -> list[str]:
    lines = [line.strip() for line in emit_script(graph, CATALOG).text.splitlines()]
    return lines[lines.index("@pipeline_def") :]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("math.mul", "out_output = out_output * 0.5"),
        ("math.neg", "out_output = -out_output"),
        ("math.sqrt", "out_output = math.sqrt(out_output)"),
        ("math.clamp", "out_output = math.clamp(out_output, 64.0, 192.0)"),
        ("typed INT32", "images = images + 1"),
        ("typed BOOL", "images = images + True"),
        ("typed UINT8", "images = images + types.Constant(1, types.UINT8)"),
        ("typed FLOAT64", "images = images + types.Constant(1.0, types.FLOAT64)"),
        ("left", "images = -0.1 - images"),
        ("left of a power", "images = math.pow(-2, images)"),
        ("negative", "images = images - -7.25"),
        ("drawn", "images = images * right"),
        ("drawn on the left", "images = left / images"),
        ("places", "images = images[5, ::-2]"),
        ("blend", "mul_2 = flip * (1.0 - right)"),
    ],
)
def test_it_is_what_a_person_writes(name: str, line: str) -> None:
    assert line in body(GRAPHS[name])


def test_math_is_imported_where_it_is_used() -> None:
    for name, graph in GRAPHS.items():
        text = emit_script(graph, CATALOG).text
        assert (" fn, math, pipeline_def" in text) == ("= math." in text), name
        assert "math" not in imports_in(text)


def test_scripts_are_as_ruff_would_have_them(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    for name, graph in GRAPHS.items():
        for target in ("script", "dynamic"):
            write(graph, target, tmp_path / target / name.replace(" ", "_"))
    long = "a_name_of_such_length_that_a_line_breaks"
    for op in ("math.add", "math.max", "math.gt"):
        graph, node = place_node(GRAPHS[op], CATALOG, op, Port("decode", "output"))
        graph = connect(graph, CATALOG, Port(op.split(".")[1], "output"), node, "other")
        graph = replace(graph, outputs={long: Port(node, "output")})
        write(graph, "script", tmp_path / op)
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
