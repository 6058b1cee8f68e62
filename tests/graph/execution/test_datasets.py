"""Which data each source of a graph is given, and the parameters that name them."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.catalog import load_catalog
from workbench.emit.targets import export, target_names
from workbench.errors import DataError, GraphFaultsError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.graph.execution.dataset_parameters import parameters, require_datasets, with_datasets
from workbench.graph.model import Source
from workbench.sources import open_datasets
from workbench.sources.kinds.images.folder import LIST_IMAGES


def with_second(dataset: str, kind: str = "folder") -> Graph:
    graph = load_recipe("rotate-jitter")
    second = Source("second", "readers.file", seed=99, kind=kind, dataset=dataset)
    outputs = {**graph.outputs, "second_labels": Port("second", "labels")}
    return replace(graph, nodes=(*graph.nodes, second), outputs=outputs)


def test_each_name_is_one_parameter() -> None:
    assert list(parameters(with_second("data").nodes)) == ["data"]
    assert list(parameters(with_second("others").nodes)) == ["data", "others"]
    own = set_arg(load_recipe("rotate-jitter"), load_catalog(), "reader", "file_list", "list.txt")
    assert parameters(own.nodes) == {}


def test_sources_become_of_the_kind_of_their_data(tmp_path: Path) -> None:
    graph = with_second("others")
    data = open_datasets({"data": tmp_path, "others": [tmp_path / "a.jpg"]})
    exchanged = with_datasets(graph, data)
    assert [source.kind for source in exchanged.sources] == ["folder", "file_list"]
    assert exchanged.nodes[0] is graph.nodes[0]
    assert with_datasets(exchanged, data) is exchanged
    with pytest.raises(DataError, match="second: nothing says what it reads"):
        require_datasets(graph, open_datasets(tmp_path))


@pytest.mark.parametrize(
    "name", ["device", "seed", "pipe", "DATA", "two words", "if", "find_files", "dict"]
)
def test_names_that_a_program_cannot_take(name: str) -> None:
    faults = [str(fault) for fault in check_graph(with_second(name), load_catalog())]
    assert len(faults) == 1
    assert faults[0].startswith(f"second: its data cannot be called {name!r}")


def test_one_parameter_is_read_in_one_way() -> None:
    faults = check_graph(with_second("data", "file_list"), load_catalog())
    assert [fault.node for fault in faults] == ["second"]
    assert "Give one of them a parameter of its own." in faults[0].remedy
    assert check_graph(with_second("data"), load_catalog()) == ()
    assert check_graph(with_second("others", "file_list"), load_catalog()) == ()


def names_beside_data(text: str) -> set[str]:
    """Every name in small letters in a function that ``data`` is a parameter of."""
    return {
        name
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        and function.name not in ("find_files", "write_tar", *LISTING)
        and "data" in {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
        for name in (
            *(arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)),
            *(node.id for node in ast.walk(function) if isinstance(node, ast.Name)),
        )
        if name.islower()
    }


LISTING = {
    node.name for node in ast.walk(ast.parse(LIST_IMAGES)) if isinstance(node, ast.FunctionDef)
}
"""Functions that list files: ``data`` and their other names are local to them."""


@pytest.mark.parametrize("target", target_names())
def test_no_target_uses_a_name_that_a_parameter_may_have(target: str) -> None:
    """But for those that follow from the graph: its variables make room, its function is last."""
    graph = load_recipe("imagenet-eval")
    files = export(graph, target).files
    texts = [file.text for name, file in files.items() if name.endswith(".py")]
    own = {*dir(builtins), "data", "imagenet_eval_pipeline", "jpegs", "labels", "images"}
    free = {
        name
        for name in set().union(*map(names_beside_data, texts)) - own
        if not check_graph(with_second(name), load_catalog())
    }
    assert free == set()


def test_variables_make_room_for_parameters() -> None:
    graph = load_recipe("imagenet-eval")
    second = Source("second", "readers.file", seed=99, kind="folder", dataset="images")
    outputs = {**graph.outputs, "other_labels": graph.outputs["labels"]._replace(node="second")}
    text = export(replace(graph, nodes=(*graph.nodes, second), outputs=outputs), "script")
    tree = ast.parse(text.files["pipe.py"].text)
    assigned = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for name in ast.walk(node.targets[0])
        if isinstance(name, ast.Name)
    }
    assert "images" not in assigned
    with pytest.raises(GraphFaultsError, match="cannot be called 'device'"):
        export(with_second("device"), "script")
