"""Which graphs a target takes, and what it says of the others.

Formatting and independence of the exports are tested in ``tests/emit/test_targets.py``.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from tests.emit.target_graphs import CATALOG, PYTHON, WITHOUT_DALI, files_of, held
from tests.helpers import chain_graph, with_nodes
from tests.placed import placed
from tests.thorough import one_in
from workbench.emit.targets import export, target_names
from workbench.errors import GraphExportError, GraphFaultsError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.edit import set_arg, set_setting


def test_a_graph_with_faults_goes_nowhere() -> None:
    graph = set_arg(chain_graph("rotate"), CATALOG, "rotate", "angle", "ten")
    for target in target_names():
        with pytest.raises(GraphFaultsError, match=r"rotate\.angle"):
            export(graph, target, CATALOG)


SHARDING = ("pytorch", "lightning", "jax", "tensorflow", "paddle", "ray")


@pytest.mark.parametrize("target", SHARDING)
def test_a_shard_of_its_own_is_refused(target: str) -> None:
    graph = set_arg(load_recipe("simclr"), CATALOG, "reader", "num_shards", 4)
    with pytest.raises(GraphExportError, match=r"reader\.num_shards is 4"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", SHARDING)
def test_one_shard_of_one_is_no_shard(target: str) -> None:
    """As training scripts say it that are given a rank and how many there are."""
    graph = load_recipe("imagenet-train")
    usual = export(graph, target, CATALOG, plain=True)
    for name, value in {"shard_id": 0, "num_shards": 1, "pad_last_batch": False}.items():
        graph = set_arg(graph, CATALOG, "reader", name, value)
    assert graph.node("reader").args.keys() >= {"shard_id", "num_shards", "pad_last_batch"}
    assert export(graph, target, CATALOG, plain=True).files == usual.files


@pytest.mark.parametrize("target", SHARDING)
def test_who_counts_on_the_next_shard_takes_no_reader_that_stays(target: str) -> None:
    graph = set_arg(load_recipe("imagenet-train"), CATALOG, "reader", "stick_to_shard", True)
    if target in ("pytorch", "lightning", "paddle"):  # DALI's iterator knows
        assert "stick_to_shard=True" in export(graph, target, CATALOG).main.text
        return
    with pytest.raises(GraphExportError, match=r"reader\.stick_to_shard is True"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", ["pytorch", "lightning"])
def test_training_needs_an_image(target: str) -> None:
    graph = load_recipe("simclr")
    graph = replace(graph, outputs={"labels": graph.outputs["labels"]})
    assert 'OUTPUTS = ["labels"]' in export(graph, target, CATALOG).main.text
    with pytest.raises(GraphExportError, match=r"reader: .* needs an image"):
        export(graph, target, CATALOG, with_="training")


@pytest.mark.parametrize("target", SHARDING)
def test_encoded_images_make_no_array(target: str) -> None:
    graph = load_recipe("imagenet-eval")
    graph = with_nodes(graph, files=Port("reader", "jpegs"))
    if target == "ray":
        assert "files" in export(graph, target, CATALOG).main.text
        return
    with pytest.raises(GraphExportError, match=r"reader\.jpegs: .* the output .files. has encoded"):
        export(graph, target, CATALOG)


@pytest.mark.parametrize("target", SHARDING)
def test_labels_that_are_no_class_numbers_stay_as_they_are(target: str) -> None:
    """Classes as vectors, with fractions where they are smoothed."""
    text = export(with_classes(load_recipe("imagenet-eval")), target, CATALOG).main.text
    assert 'OUTPUTS = ["images", "labels", "classes"]' in text
    if target == "ray":
        assert 'LABELS = ["labels"]' in text
        return
    assert 'batch["labels"] = ' in text
    assert 'batch["classes"] = ' not in text


@pytest.mark.parametrize("target", target_names())
def test_types_that_the_iterator_does_not_know(target: str) -> None:
    graph = load_recipe("imagenet-eval")
    inputs = {CATALOG["reductions.sum"].inputs[0].name: graph.outputs["images"]}
    total = Node("total", "reductions.sum", {"dtype": "UINT64"}, inputs)
    graph = with_nodes(graph, total, total=Port("total", "output"))
    if target in WITHOUT_DALI:
        with pytest.raises(GraphExportError, match=r"total: .* has no equivalent of reductions"):
            export(graph, target, CATALOG)
        return
    if target in ("pytorch", "lightning", "paddle", "huggingface", "proxy"):
        with pytest.raises(GraphExportError, match=r"total: .* type UINT64, .* cast after 'total'"):
            export(graph, target, CATALOG)
        return
    text = export(graph, target, CATALOG).main.text
    assert ("converted to 32 bits, unless ``jax_enable_x64``" in text) == (target == "jax")


@pytest.mark.parametrize("target", [name for name in PYTHON if name not in WITHOUT_DALI])
def test_nothing_is_imported_over_something_else(target: str) -> None:
    """``math`` is Python's or DALI's."""
    graph, node = place_node(load_recipe("imagenet-eval"), CATALOG, "math.abs")
    graph = with_nodes(graph, sizes=Port(node, "output"))
    inputs = {"data": graph.outputs["images"]}
    nodes = [replace(n, inputs=inputs) if n.id == node else n for n in graph.nodes]
    text = export(replace(graph, nodes=tuple(nodes)), target, CATALOG).main.text
    imported = [
        alias.asname or alias.name
        for statement in ast.walk(ast.parse(text))
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    ]
    assert ("math" in imported) == (target != "dynamic")
    assert len(imported) == len(set(imported))


@pytest.mark.parametrize(
    ("recipe", "loss"),
    [
        ("cutout", 'F.cross_entropy(scores, batch["labels"]'),
        ("segmentation", 'classes = batch["masks"].squeeze(3).long()'),
        ("ssd", "losses: dict[str, Tensor] = model(images, targets)"),
        ("two-view", "similar = (views @ views.T / 0.5)"),
    ],
)
def test_a_loop_learns_what_the_graph_is_for(recipe: str, loss: str) -> None:
    assert loss in export(load_recipe(recipe), "pytorch", CATALOG, with_="training").main.text


def test_two_pictures_that_are_no_random_views_teach_nothing() -> None:
    graph, node = place_node(chain_graph("resize"), CATALOG, "flip", Port("resize", "output"))
    graph = with_nodes(graph, other=Port(node, "output"))
    with pytest.raises(GraphExportError, match="two random views of one photo"):
        export(graph, "pytorch", CATALOG, with_="training")


def test_a_picture_without_channels_gets_an_axis_for_them() -> None:
    graph, node = place_node(chain_graph("resize"), CATALOG, "subscript", Port("resize", "output"))
    graph = set_arg(graph, CATALOG, node, "index", ":, :, 0")
    graph = replace(
        graph, outputs={"grey": Port(node, "output"), "labels": graph.outputs["labels"]}
    )
    text = export(graph, "pytorch", CATALOG, with_="training").main.text
    assert 'model(batch["grey"].unsqueeze(1).float() / 255)' in text
    assert "nn.Conv2d(1, 32" in text


def test_triton_needs_more_than_labels() -> None:
    graph = load_recipe("simclr")
    graph = replace(graph, outputs={"labels": graph.outputs["labels"]})
    with pytest.raises(GraphExportError, match="reader: no output is computed from an image"):
        export(graph, "triton", CATALOG)


def with_classes(graph: Graph) -> Graph:
    """The graph with an output made from its labels alone."""
    name = CATALOG["one_hot"].inputs[0].name
    inputs = {name: Port("reader", "labels")}
    classes = Node("classes", "one_hot", {"num_classes": 12}, inputs)
    return with_nodes(graph, classes, classes=Port("classes", "output"))


def test_triton_leaves_out_what_is_made_from_labels() -> None:
    usual = files_of(load_recipe("imagenet-eval"), "triton")
    assert files_of(with_classes(load_recipe("imagenet-eval")), "triton") == usual


def test_triton_refuses_what_a_client_does_not_send() -> None:
    graph = load_recipe("imagenet-eval")
    inputs = {"data": graph.outputs["images"], "right": graph.outputs["labels"]}
    graph = with_nodes(graph, Node("both", "math.mul", {}, inputs))
    graph = replace(graph, outputs={"both": Port("both", "output")})
    with pytest.raises(GraphExportError, match=r"both\.right is connected to reader\.labels"):
        export(graph, "triton", CATALOG)


@pytest.mark.parametrize("target", target_names())
def test_a_graph_that_gives_out_nothing_of_what_it_reads(target: str) -> None:
    graph, node = place_node(load_recipe("imagenet-eval"), CATALOG, "random.uniform")
    graph = replace(graph, outputs={"numbers": Port(node, "output")})
    if target in ("script", "notebook"):
        assert "fn.readers" not in export(graph, target, CATALOG).main.text
        return
    with pytest.raises(GraphExportError, match=f"{node}: "):
        export(graph, target, CATALOG)


def test_dynamic_refuses_what_it_does_not_have() -> None:
    graph = set_arg(chain_graph("rotate"), CATALOG, "rotate", "preserve", True)
    with pytest.raises(GraphExportError, match=r"rotate\.preserve: DALI's dynamic mode"):
        export(graph, "dynamic", CATALOG)
    graph, _ = placed(CATALOG["get_property"])
    graph = with_nodes(graph, labels=Port("reader", "labels"))
    with pytest.raises(GraphExportError, match=r"get_property\.key: the key is 'source_info'"):
        export(graph, "dynamic", CATALOG)


@pytest.mark.parametrize(
    "args",
    [
        {"fdata": (1.5,), "dtype": "INT32"},
        {"idata": (300,), "dtype": "UINT8"},
        {"idata": (1,), "dtype": "FLOAT"},
        {"idata": (1, 2), "shape": (3,)},
    ],
)
def test_dynamic_takes_constants_as_they_are(args: Mapping[str, Any]) -> None:
    graph = load_recipe("imagenet-eval")
    graph = with_nodes(graph, Node("values", "constant", args), values=Port("values", "output"))
    with pytest.raises(
        GraphExportError, match=r"values: the dynamic target cannot convert [fi]data to type"
    ):
        export(graph, "dynamic", CATALOG)


def test_operators_that_dynamic_leaves_out_are_those_that_dali_has_not() -> None:
    import nvidia.dali.experimental.dynamic as ndd

    from workbench.emit.targets.dynamic import is_missing

    for op in CATALOG.values():
        if op.module:
            continue  # refused with the blocks: it chooses for each sample what runs
        if op.expression:
            continue  # Python's operators, or ndd.math, and run in tests/emit/core/test_calls.py
        home, name = ndd, op.name
        if op.name.startswith("readers."):
            name = "readers." + op.schema.split("__")[-1]
        for part in name.split("."):
            home = getattr(home, part, None)
        assert (home is None) == is_missing(op.name), op.name


def test_triton_asks_for_the_device_of_the_graph() -> None:
    graph = load_recipe("imagenet-eval")
    for device, kind in (("cpu", "KIND_CPU"), ("mixed", "KIND_GPU")):
        files = files_of(set_setting(graph, device=device), "triton")
        config = next(text for name, text in files.items() if name.endswith("config.pbtxt"))
        assert f"kind: {kind}" in config
        assert "dims: [ 3, 224, 224 ]" in config
        assert "TYPE_FP32" in config


def test_a_notebook_is_one() -> None:
    nbformat = pytest.importorskip("nbformat")
    for graph in held("notebook").values():
        text = files_of(graph, "notebook")["pipeline.ipynb"]
        nbformat.validate(nbformat.reads(text, as_version=4))
        assert json.loads(text)["nbformat"] == 4


TARGETS = [name for name in target_names() if name not in ("script", *WITHOUT_DALI)]
OTHER_READERS = ("dynamic", "proxy", "triton")
"""Targets that read batches from a reader object, from a data set or from requests."""
WRITTEN_OTHERWISE = {
    ("dynamic", "histology-stain"): "constants are batches, and gains move to the device used",
    ("triton", "simclr"): "a function for both views is not shared: its statements are repeated",
}
SHARDS = ("shard_id", "num_shards", "pad_last_batch")
"""Arguments by which a reader reads one shard. Loaders have them and the script has not."""


class Normalized(ast.NodeTransformer):
    """The script's spelling: ``fn``, ``seed``, no shards, keywords in alphabetical order."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name({"ndd": "fn", "base_seed": "seed"}.get(node.id, node.id))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        found = {keyword.arg or "**": keyword for keyword in node.keywords}
        if "rng" in found:  # dynamic mode: rng=Draws(seed + 1, first)
            draws = found.pop("rng").value
            assert isinstance(draws, ast.Call)
            found["seed"] = ast.keyword("seed", draws.args[0])
        dropped = (*SHARDS, "batch_size")
        node.keywords = [found[name] for name in sorted(found) if name not in dropped]
        return node


def functions_of_operators(nodes: Iterable[ast.stmt]) -> list[ast.FunctionDef]:
    return [n for n in nodes if isinstance(n, ast.FunctionDef) and "fn." in ast.unparse(n)]


def statements(target: str, text: str) -> list[ast.stmt]:
    """The statements that call operators: of a notebook's cells, of a loop, or of functions."""
    if target == "notebook":
        cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")
        nodes = [node for cell in cells for node in ast.parse("".join(cell["source"])).body]
        bodies = (node.body for node in nodes if isinstance(node, ast.With))
        return [*functions_of_operators(nodes), *chain.from_iterable(bodies)]
    nodes = ast.parse(text).body
    if target == "dynamic":
        batches = next(n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == "batches")
        loop = next(node for node in ast.walk(batches) if isinstance(node, ast.For))
        counts = isinstance(loop.body[-1], ast.AugAssign)  # the samples, where something draws
        return loop.body[: len(loop.body) - counts]
    functions = functions_of_operators(nodes)
    first = next(
        index
        for index, function in enumerate(functions)
        if any("pipeline_def" in ast.unparse(each) for each in function.decorator_list)
    )
    body = functions[first].body
    return [*functions[:first], *body[bool(ast.get_docstring(functions[first])) :]]


def operators_and_outputs(target: str, text: str) -> tuple[list[str], list[str]]:
    """Statements that call operators, as text; and the names of the outputs."""
    *calls, last = statements(target, text)
    assert ast.unparse(last).startswith(("return ", "yield ", "pipe.set_outputs("))
    names = (node.id for node in ast.walk(last) if isinstance(node, ast.Name))
    found = [ast.unparse(Normalized().visit(statement)) for statement in calls]
    return found, [name for name in names if name != "pipe"]


def without_reader(operators: list[str]) -> list[str]:
    readers = ("fn.readers.", "fn.external_source(")
    return [each for each in operators if not any(reader in each for reader in readers)]


@pytest.mark.parametrize("target", one_in(4, TARGETS))
def test_a_target_has_the_operators_of_the_script(target: str) -> None:
    assert held(target)
    for name, graph in held(target).items():
        ours, theirs = (
            operators_and_outputs(each, next(iter(files_of(graph, each).values())))
            for each in (target, "script")
        )
        if target in OTHER_READERS:
            assert len(without_reader(theirs[0])) == len(theirs[0]) - 1, name
            ours, theirs = ((without_reader(calls), found) for calls, found in (ours, theirs))
        if target in ("triton", "proxy"):  # a request has no labels, a data set has its own
            theirs[1].remove("labels")
        same = ours == theirs
        assert same != ((target, name) in WRITTEN_OTHERWISE), name
