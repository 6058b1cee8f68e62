"""Blocks as a person would write them."""

from __future__ import annotations

import ast
from dataclasses import replace
from textwrap import dedent

from hypothesis import given

from tests.block_graphs import BLOCK_GRAPHS, CATALOG, branching_graph, set_count, several
from workbench.emit import emit_script
from workbench.graph import Graph, Node, Port, check_graph, load_recipe
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import rename_node
from workbench.graph.model import Body


def pipeline_of(graph: Graph) -> str:
    """The body of the pipeline function."""
    text = emit_script(graph, CATALOG).text
    body = text.split("tuple[DataNode, ...]:\n")[1].split("\n\n\n")[0]
    return dedent(body)


def test_ifs_inside_each_other() -> None:
    expected = """\
        jpegs, labels = fn.readers.file(**find_files(data), seed=seed, name="reader")
        images = fn.decoders.image(jpegs, device=device)
        images = fn.resize(images, size=SIZE)
        disturb = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 1)
        turn = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed + 2)
        angle = fn.random.uniform(range=[-30.0, 30.0], seed=seed + 4)
        if disturb:
            images = fn.noise.gaussian(images, stddev=10.0, seed=seed + 3)
            if turn:
                images = fn.rotate(images, keep_size=True, angle=angle)
            else:
                images = fn.gaussian_blur(images, sigma=1.5)
        else:
            images = fn.flip(images)
        return images, labels"""
    assert pipeline_of(branching_graph()) == dedent(expected)


def test_an_if_that_is_all_of_an_else_is_an_elif() -> None:
    graph = branching_graph()
    outer = graph.node("outer")
    then = outer.bodies["then"]
    (inner,) = (node for node in then.nodes if node.id == "inner")
    taken = {"images": Port("outer.else", "images")}
    moved = replace(inner, inputs={**inner.inputs, **taken})
    angle = [node for node in then.nodes if node.id == "angle"]
    turn = [node for node in then.nodes if node.id == "turn"]
    kept = [node for node in then.nodes if node not in (inner, *angle, *turn)]
    bodies = {
        "then": replace(then, nodes=tuple(kept), outputs={"images": Port("noise", "output")}),
        "else": Body((*turn, *angle, moved), {"images": Port("inner", "images")}, ("images",)),
    }
    graph = graph.replace_node(replace(outer, bodies=bodies))
    assert check_graph(graph, CATALOG) == ()
    text = pipeline_of(graph)
    assert "\nelif turn:\n    images = fn.rotate(" in text
    assert "\nelse:\n    images = fn.gaussian_blur(" in text
    code = emit_script(graph, CATALOG)
    assert code.text.splitlines()[code.lines["inner"].start - 1].strip() == "elif turn:"


def test_a_body_that_changes_nothing_is_left_out() -> None:
    graph = branching_graph()
    outer = graph.node("outer")
    through = Body((), {"images": Port("outer.else", "images")}, ("images",))
    graph = graph.replace_node(replace(outer, bodies={**outer.bodies, "else": through}))
    assert "else:\n    images = fn.flip" not in pipeline_of(graph)
    assert pipeline_of(graph).count("else:") == 1


def test_what_is_needed_behind_a_block_keeps_its_variable() -> None:
    graph = branching_graph()
    graph = replace(graph, outputs={**graph.outputs, "original": Port("resize", "output")})
    text = pipeline_of(graph)
    assert "return outer, labels, images" in text
    assert "    outer = fn.flip(images)" in text
    assert "    outer = fn.noise.gaussian(images, " in text


def test_a_line_belongs_to_the_innermost_node() -> None:
    code = emit_script(branching_graph(), CATALOG)
    lines = code.text.splitlines()
    for node, words in {
        "rotate": "fn.rotate(",
        "blur": "fn.gaussian_blur(",
        "inner": "if turn:",
        "outer": "if disturb:",
        "angle": "angle = ",
    }.items():
        at = next(number for number, line in enumerate(lines, 1) if words in line)
        assert code.node_at(at) == node


@given(BLOCK_GRAPHS)
def test_no_body_reads_a_variable_that_stands_for_something_else(graph: Graph) -> None:
    """Run on values that say which port they are: DALI's ``if`` runs both bodies, apart."""
    text = emit_script(graph, CATALOG).text
    function = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == "blocks_pipeline"
    )
    read = {name.id for name in ast.walk(function) if isinstance(name, ast.Name)}
    assert read
    for choices in (True, False):
        values = _run(function.body, {}, choices)
        assert values is not None


def _run(statements: list[ast.stmt], known: dict[str, str], choice: bool) -> dict[str, str]:
    for statement in statements:
        match statement:
            case ast.If(test=ast.Name(id=name)):
                assert name in known
                branch = statement.body if choice else statement.orelse
                inside = _run(branch, dict(known), choice)
                known = {key: inside[key] for key in inside}
            case ast.Assign(targets=[target], value=value):
                for used in ast.walk(value):
                    if isinstance(used, ast.Name) and isinstance(used.ctx, ast.Load):
                        outside = {"fn", "types", "math", "data", "others", "device", "seed"}
                        constant = used.id.isupper()
                        callee = used.id in ("find_files", "read_list")
                        assert used.id in known or used.id in outside or constant or callee
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        known = {**known, name.id: ast.unparse(value)}
            case ast.Return(value=value):
                assert value is not None
                names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                assert names <= known.keys()
    return known


def test_one_of_several_with_an_if_in_it() -> None:
    expected = """\
        choice = fn.random.choice(3, p=[0.5, 0.3, 0.2], seed=seed + 7)
        chance = fn.random.coin_flip(probability=0.8, dtype=types.BOOL, seed=seed + 8)
        angle = fn.random.uniform(range=[-10, 10], seed=seed + 1)
        brightness = fn.random.uniform(range=[0.8, 1.2], seed=seed + 2)
        contrast = fn.random.uniform(range=[0.8, 1.2], seed=seed + 3)
        hue = fn.random.uniform(range=[-20, 20], seed=seed + 4)
        saturation = fn.random.uniform(range=[0.7, 1.3], seed=seed + 5)
        if choice == 0:
            if chance:
                images = fn.rotate(images, keep_size=True, fill_value=0, angle=angle)
        elif choice == 1:
            images = fn.color_twist(
                images,
                brightness=brightness,
                contrast=contrast,
                hue=hue,
                saturation=saturation,
            )
        mirror = fn.random.coin_flip("""
    assert dedent(expected) in pipeline_of(several(CATALOG))


def test_options_that_change_nothing() -> None:
    graph = several(CATALOG)
    block = graph.node("one_of")

    def without(name: str) -> str:
        through = Body((), {"images": Port(f"one_of.{name}", "images")}, ("images",))
        fewer = replace(block, bodies={**block.bodies, name: through})
        return pipeline_of(graph.replace_node(fewer))

    assert "if choice == 0:\n    pass\nelif choice == 1:\n" in without("option_0")
    assert "elif" not in without("option_1")  # nor is the last one written


def test_what_decides_is_on_the_cpu_also_with_mixed_decoding() -> None:
    """DALI splits a batch by a condition on the CPU, but images for it may be on the GPU."""
    graph = branching_graph()
    mean = Node("mean", "reductions.mean", {}, {"data": Port("resize", "output")})
    block = graph.node("outer")
    fed = replace(block, inputs={**block.inputs, "condition": Port("mean", "output")})
    graph = graph.replace_node(fed)
    graph = replace(graph, nodes=(*graph.nodes, mean))
    text = pipeline_of(graph)
    assert "if mean.cpu():" in text
    assert "    if turn:" in text


def test_what_is_looked_up_takes_no_name_of_a_draw_of_turns() -> None:
    """Read as ``some_of_option[i]``, it was treated as another name and overwritten."""
    graph, block = wrap_as_options(
        load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"], "some_of"
    )
    graph = set_count(graph, CATALOG, block, 2, shuffled=True)
    graph, _ = wrap_in_block(graph, CATALOG, [block], "repeat")
    graph = rename_node(graph, "angle", "some_of_option")
    text = emit_script(graph, CATALOG).text
    assert "angle=some_of_option[i]" in text
    assert "some_of_option_ = fn.lookup_table(" in text
    assert "some_of_option = fn.lookup_table(" not in text


def test_a_draw_of_each_turn_is_read_so_inside_another_block() -> None:
    graph = connect(load_recipe("rotate-jitter"), CATALOG, Port("angle", "output"), "color", "hue")
    graph, _ = wrap_in_block(graph, CATALOG, ["rotate", "color"], "repeat")
    graph, _ = wrap_in_block(graph, CATALOG, ["rotate"])
    text = pipeline_of(graph)
    assert "    if chance[i]:\n        images = fn.rotate(" in text
    assert "angle=angle[i]" in text
    assert "hue=angle[i]" in text
