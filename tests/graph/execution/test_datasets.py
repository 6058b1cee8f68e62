"""Which data each source is given, and the settings of several pipelines."""

from __future__ import annotations

import ast
import builtins
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import CATALOG, with_args, with_nodes, with_settings
from workbench.catalog import load_catalog
from workbench.emit.targets import export, target_names
from workbench.errors import DataError, GraphFaultsError, GraphFormatError
from workbench.graph import Graph, Port, check_graph, dump_graph, load_graph, load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.execution.dataset_parameters import parameters, require_datasets, with_datasets
from workbench.graph.execution.pipelines import SHARD_SEED, pipeline_of_batch, single_pipelines
from workbench.graph.fixes import fixes
from workbench.graph.model import Source
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import open_datasets
from workbench.sources.kinds.folder import LIST_IMAGES


def with_second(dataset: str, kind: str = "folder") -> Graph:
    graph = load_recipe("rotate-jitter")
    second = Source("second", "readers.file", seed=99, kind=kind, dataset=dataset)
    return with_nodes(graph, second, second_labels=Port("second", "labels"))


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
    with pytest.raises(DataError, match="second: no data are set"):
        require_datasets(graph, open_datasets(tmp_path))


@pytest.mark.parametrize(
    "name", ["device", "seed", "pipe", "DATA", "two words", "if", "find_files", "dict"]
)
def test_names_that_a_program_cannot_take(name: str) -> None:
    faults = [str(fault) for fault in check_graph(with_second(name), load_catalog())]
    assert len(faults) == 1
    assert faults[0].startswith(f"second: {name!r} is not a valid name for its data")


def test_one_parameter_is_read_in_one_way() -> None:
    faults = check_graph(with_second("data", "file_list"), load_catalog())
    assert [fault.node for fault in faults] == ["second"]
    assert "Use different parameters for them." in faults[0].remedy
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
    if target == "proxy":  # its data set is a folder, and takes no other parameter
        own.add("named_files")
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
    with pytest.raises(GraphFaultsError, match="'device' is not a valid name"):
        export(with_second("device"), "script")


ONE = load_recipe("imagenet-train")
TWO = set_setting(ONE, pipelines=2)


def shard_of(graph: Graph) -> tuple[object, object, object]:
    args = graph.sources[0].args
    return args["shard_id"], args["num_shards"], args["pad_last_batch"]


def test_one_pipeline_is_the_graph_itself() -> None:
    assert pipeline_of_batch(ONE, 7) == (ONE, 7)
    assert pipeline_of_batch(ONE, 7)[0] is ONE


@given(st.integers(2, 4), st.integers(0, 1000))
def test_batch_k_is_run_k_div_n_of_pipeline_k_mod_n(count: int, batch: int) -> None:
    graph, run = pipeline_of_batch(set_setting(ONE, pipelines=count), batch)
    pipeline = batch % count
    assert run * count + pipeline == batch
    assert shard_of(graph) == (pipeline, count, True)
    assert graph.settings.seed == ONE.settings.seed + SHARD_SEED * pipeline
    assert graph.settings.pipelines == 1
    assert pipeline_of_batch(graph, run) == (graph, run)


def test_a_reader_of_a_shard_divides_that() -> None:
    """Rank 1 of 3 with two pipelines reads the shards 2 and 3 of 6."""
    source = ONE.sources[0]
    ranked = with_args(TWO, source.id, shard_id=1, num_shards=3)
    assert [shard_of(graph) for graph in single_pipelines(ranked)] == [(2, 6, True), (3, 6, True)]


@pytest.mark.parametrize("count", [0, 5, "2", None])
def test_there_are_one_to_four(count: Any) -> None:
    (fault,) = check_graph(set_setting(ONE, pipelines=count), CATALOG)
    assert str(fault) == f"pipelines is {count!r}. Use an integer from 1 to 4."
    assert not check_graph(set_setting(ONE, pipelines=4), CATALOG)


def test_only_the_dynamic_executor_goes_back_from_the_gpu() -> None:
    back = set_setting(ONE, device="mixed").crop(crop=(9, 9))
    back = back.replace_node(replace(back.nodes[-1], device="cpu"))
    faults = {f.text for f in check_graph(set_setting(back, executor="static"), CATALOG)}
    (new,) = faults - {f.text for f in check_graph(back, CATALOG)}
    assert "runs on the CPU after" in new
    assert new.endswith("the static executor does not support that. Set the executor to dynamic.")
    assert not check_graph(set_setting(ONE, device="mixed", executor="static"), CATALOG)


def test_the_executor_is_one_of_three_and_stands_in_a_file_where_it_is_not_dalis_own() -> None:
    wrong = set_setting(ONE, executor="fast")
    (fault,) = check_graph(wrong, CATALOG)
    assert str(fault) == "executor is 'fast'. Use static or dynamic or separate."
    (fix,) = fixes(ResolvedGraph(wrong, CATALOG), fault)
    assert fix.graph == ONE
    assert "executor" not in dump_graph(ONE)
    for executor in ("static", "separate"):
        graph = set_setting(ONE, executor=executor)
        assert load_graph(dump_graph(graph)) == graph
    text = dump_graph(graph).replace('"separate"', '"fast"')
    with pytest.raises(GraphFormatError, match=r"settings\.executor: .*fast.* is not static or"):
        load_graph(text)


def test_a_reader_that_knows_no_shards_says_so() -> None:
    source = Source("reader", "experimental.inputs.video")
    words = f"{source.op} cannot read a shard of its data, which 2 pipelines require"
    for graph, refused in ((TWO, True), (ONE, False)):
        given = replace(graph, nodes=(source, *graph.nodes[1:]))
        assert any(words in str(each) for each in check_graph(given, CATALOG)) == refused


def test_a_file_keeps_it_and_an_older_one_has_one_pipeline() -> None:
    assert load_graph(dump_graph(TWO)) == TWO
    older = json.loads(dump_graph(ONE)) | {"version": 2}
    del older["settings"]["pipelines"]
    assert load_graph(json.dumps(older)) == ONE
    assert with_settings(ONE, pipelines=1) == ONE
