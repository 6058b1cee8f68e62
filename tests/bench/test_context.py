"""The hash that tells graphs apart, and the command for a machine with a GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.bench.measuring.config import adopt_config, config_of
from workbench.bench.records.context import gpu_command, graph_hash
from workbench.catalog import load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Body, Node, Port, Source
from workbench.sources import open_datasets


def loaded(graph: Graph, load: float) -> Graph:
    return adopt_config(graph, replace(config_of(graph), hw_decoder_load=load))


def test_knobs_do_not_change_the_hash_and_arguments_do() -> None:
    graph = load_recipe("rotate-jitter")
    same = set_setting(loaded(graph, 1.0), batch_size=8, device="mixed")
    assert graph_hash(same) == graph_hash(graph)
    assert graph_hash(set_arg(same, load_catalog(), "reader", "dont_use_mmap", True)) == graph_hash(
        graph
    )
    other = set_arg(graph, load_catalog(), "rotate", "angle", 45.0)
    assert graph_hash(other) != graph_hash(graph)


def test_neither_the_kind_of_data_nor_the_file_format_changes_the_hash(photos: Path) -> None:
    graph = load_recipe("rotate-jitter")
    listed = with_datasets(graph, open_datasets([next(photos.rglob("*.jpg"))]))
    assert listed != graph
    assert graph_hash(listed) == graph_hash(graph)
    record = Path(__file__).parents[2] / "assets/benchmarks/peers-rotate-jitter-2-cores.json"
    assert f'"graph_sha256": "{graph_hash(graph)}"' in record.read_text()


def test_what_is_inside_a_block_counts() -> None:
    inner = Node("flip", "flip", inputs={"data": Port("if.then", "images")})
    passed = Body((), {"images": Port("if.else", "images")}, ("images",))
    flipped = Body((inner,), {"images": Port("flip", "output")}, ("images",))
    graph = Graph(nodes=(Node("if", "if", bodies={"then": flipped, "else": passed}),))
    vertical = graph.replace_node(replace(inner, args={"vertical": 1}))
    assert graph_hash(vertical) != graph_hash(graph)
    loaded_inside = graph.replace_node(replace(inner, args={"hw_decoder_load": 0.9}))
    assert graph_hash(loaded_inside) == graph_hash(graph)


def test_what_to_run_on_a_machine_with_a_gpu() -> None:
    recipe = load_recipe("rotate-jitter")
    assert gpu_command(recipe)[0] == (
        "workbench bench rotate-jitter --data DIR --json rotate-jitter-gpu.json"
    )
    set_so, hint = gpu_command(loaded(set_setting(recipe, batch_size=8, num_threads=2), 0.9))
    assert " --batch-size 8 --threads 2 --load 0.9 " in set_so
    assert hint == ""
    edited = set_arg(recipe, load_catalog(), "rotate", "angle", 45.0)
    command, hint = gpu_command(replace(edited, name="my graph"), ("decode",))
    assert command == (
        "workbench bench 'my graph.json' --data DIR --regime decode --json 'my graph-gpu.json'"
    )
    assert "Save the graph" in hint


def test_each_further_parameter_is_named() -> None:
    recipe = load_recipe("rotate-jitter")
    second = Source("second", "readers.file", kind="folder", dataset="others")
    command, _ = gpu_command(replace(recipe, nodes=(*recipe.nodes, second)))
    assert " --data DIR --data others=DIR " in command


def test_a_setting_without_an_option_goes_by_file() -> None:
    graph = set_setting(load_recipe("rotate-jitter"), prefetch_queue_depth=4)
    command, hint = gpu_command(graph)
    assert command.startswith("workbench bench rotate-jitter.json ")
    assert "Save the graph" in hint
