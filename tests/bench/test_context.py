"""The hash that tells graphs apart, and the command for a machine with a GPU."""

from __future__ import annotations

from dataclasses import replace

from workbench.bench.config import config_of
from workbench.bench.context import gpu_command, graph_hash
from workbench.bench.tune import adopt
from workbench.catalog import load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edit import set_arg, set_setting


def loaded(graph: Graph, load: float) -> Graph:
    return adopt(graph, replace(config_of(graph), hw_decoder_load=load))


def test_knobs_do_not_change_the_hash_and_arguments_do() -> None:
    graph = load_recipe("rotate-jitter")
    same = set_setting(loaded(graph, 1.0), batch_size=8, device="mixed")
    assert graph_hash(same) == graph_hash(graph)
    other = set_arg(graph, load_catalog(), "rotate", "angle", 45.0)
    assert graph_hash(other) != graph_hash(graph)


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


def test_a_setting_without_an_option_goes_by_file() -> None:
    graph = set_setting(load_recipe("rotate-jitter"), prefetch_queue_depth=4)
    command, hint = gpu_command(graph)
    assert command.startswith("workbench bench rotate-jitter.json ")
    assert "Save the graph" in hint
