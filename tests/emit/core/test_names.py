"""Names and texts of a graph, hostile ones too, in the exported script."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.emit.written_code import calls_in, expected_calls
from tests.helpers import HOSTILE, NO_NAMES, TEXTS, chain_graph, import_script, with_settings
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.emit.templates.template_parts import function_name
from workbench.errors import GraphFaultsError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edits.edit import insert_node, set_arg

CATALOG = load_catalog()


@given(TEXTS, TEXTS)
def test_name_and_description_never_become_code(name: str, about: str) -> None:
    graph = replace(load_recipe("imagenet-train"), name=name, about=about)
    text = emit_script(graph, CATALOG).text
    assert calls_in(text) == expected_calls(graph)
    assert function_name(graph).isidentifier()


@pytest.mark.parametrize(
    "about",
    [*HOSTILE, *("a" * n + "\\x\\N" for n in range(75, 87)), "\\" * 5000, "x" * 10_000, " \x00 a"],
)
def test_hostile_descriptions_compile_without_a_warning(
    about: str, recwarn: pytest.WarningsRecorder
) -> None:
    for name in ("", "name"):
        graph = replace(load_recipe("imagenet-eval"), name=name, about=about)
        text = emit_script(graph, CATALOG).text
        assert calls_in(text) == expected_calls(graph)
        docstring = ast.get_docstring(ast.parse(text))
        assert docstring is not None
        assert docstring.count("Usage: python pipe.py") == 1
    assert [str(warning.message) for warning in recwarn] == []


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("imagenet-train", "imagenet_train_pipeline"),
        ("", "pipeline"),
        ("3d", "pipeline_3d"),
        ("Zürich 東京", "z_rich_pipeline"),
        ('"); import os', "import_os_pipeline"),
    ],
)
def test_function_names(name: str, function: str) -> None:
    assert function_name(Graph(name=name)) == function


@pytest.mark.parametrize("name", ["build", "Build", "_build_"])
def test_the_function_does_not_hide_the_one_that_builds(
    name: str, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(replace(load_recipe("imagenet-eval"), name=name), batch_size=2)
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    assert len(script.build_pipeline(str(photos)).run()) == 2


@given(st.sampled_from([t for t in HOSTILE if len(t) < 100]) | st.text(max_size=20))
def test_texts_in_arguments_stay_texts(text: str) -> None:
    """``file_root`` accepts any text."""
    plain, graph = (
        set_arg(chain_graph("pad"), CATALOG, "reader", "file_root", each)
        for each in ("photos", text)
    )
    source = emit_script(graph, CATALOG)
    assert calls_in(source.text) == calls_in(emit_script(plain, CATALOG).text)
    strings = {n.value for n in ast.walk(ast.parse(source.text)) if isinstance(n, ast.Constant)}
    assert text in strings


@pytest.mark.parametrize("name", [*NO_NAMES, "class", "import", "a b", "", "None"])
def test_names_that_are_no_names_are_refused(name: str) -> None:
    graph = replace(load_recipe("imagenet-eval"), outputs={name: Port("normalize", "output")})
    with pytest.raises(GraphFaultsError, match="not a Python name"):
        emit_script(graph, CATALOG)
    node = Node(name, "flip", inputs={"data": Port("decode", "output")})
    outputs = {**chain_graph().outputs, "more": Port(name, "output")}
    graph = replace(chain_graph(), nodes=(*chain_graph().nodes, node), outputs=outputs)
    with pytest.raises(GraphFaultsError, match="not a Python name"):
        emit_script(graph, CATALOG)


NAMES_IN_USE = [
    "fn", "types", "data", "device", "base_seed", "find_files", "MEAN", "STD", "SIZE", "images",
    "labels", "jpegs", "os", "glob", "pipe", "print", "seed", "type", "match", "_",
]  # fmt: skip


def renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    def port(old: Port) -> Port:
        return Port(names.get(old.node, old.node), old.output)

    nodes = [
        replace(n, id=names.get(n.id, n.id), inputs={k: port(p) for k, p in n.inputs.items()})
        for n in graph.nodes
    ]
    outputs = {name: port(p) for name, p in graph.outputs.items()}
    return replace(graph, nodes=tuple(nodes), outputs=outputs)


@pytest.mark.parametrize("name", one_in(4, NAMES_IN_USE))
def test_ids_that_the_script_uses_itself_do_no_harm(
    name: str, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=2)
    for node_id in ("crop", "mirror", "reader"):
        for outputs in (graph.outputs, {name: Port("normalize", "output"), **graph.outputs}):
            changed = renamed(replace(graph, outputs=outputs), {node_id: name})
            text = emit_script(changed, CATALOG).text
            pipe = import_script(text, tmp_path).build_pipeline(str(photos))
            assert len(pipe.run()) == len(outputs)


def test_constants_of_several_nodes_keep_apart() -> None:
    graph, last = load_recipe("imagenet-eval"), "normalize"
    means: list[tuple[float, ...]] = [(123.675, 116.28, 103.53)]
    for index, node_id in enumerate(("norm", "NORM", "Norm")):
        graph, new = insert_node(graph, CATALOG, "crop_mirror_normalize", last)
        means.append((float(index),) * 3)
        graph = renamed(set_arg(graph, CATALOG, new, "mean", means[-1]), {new: node_id})
        last = node_id
    tree = ast.parse(emit_script(graph, CATALOG).text)
    constants = {
        ast.unparse(s.targets[0]): eval(ast.unparse(s.value))
        for s in tree.body
        if isinstance(s, ast.Assign)
    }
    used = [
        constants[ast.unparse(keyword.value)]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "mean"
    ]
    assert sorted(used) == sorted(list(mean) for mean in means)


def test_a_lifted_value_never_takes_the_name_of_a_setting(tmp_path: Path) -> None:
    graph = chain_graph("resize", "resize")
    ids = {"resize": "one", "resize_2": "batch"}
    nodes = tuple(
        replace(
            node,
            id=ids.get(node.id, node.id),
            args={"size": (100, 100 + n)} if node.op == "resize" else node.args,
            inputs={k: Port(ids.get(p.node, p.node), p.output) for k, p in node.inputs.items()},
        )
        for n, node in enumerate(graph.nodes)
    )
    outputs = {k: Port(ids.get(p.node, p.node), p.output) for k, p in graph.outputs.items()}
    script = import_script(
        emit_script(replace(graph, nodes=nodes, outputs=outputs), CATALOG).text, tmp_path
    )
    assert graph.settings.batch_size == script.BATCH_SIZE


def test_a_parameter_does_not_hide_the_pipeline_function() -> None:
    graph = replace(load_recipe("rotate-jitter"), name="cats")
    second = replace(graph.sources[0], id="second", seed=99, dataset="cats_pipeline")
    outputs = {**graph.outputs, "classes": Port("second", "labels")}
    text = emit_script(replace(graph, nodes=(*graph.nodes, second), outputs=outputs), CATALOG).text
    assert "def cats_pipeline_(" in text
    assert "pipe = cats_pipeline_(" in text
