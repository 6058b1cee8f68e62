"""The exported script: its calls, imports and seeds, and a run as a user runs it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from jinja2 import UndefinedError

from tests.emit.pipeline_import.graphs import canonical
from tests.emit.pipeline_import.test_roundtrip import there_and_back
from tests.emit.written_code import calls_in, expected_calls, ruff
from tests.helpers import (
    CATALOG,
    CHAINS,
    chain_graph,
    import_script,
    with_node,
    with_settings,
)
from workbench.emit import Code, emit_script
from workbench.emit.core.seed_sequence import (
    _registration_order,
    assigned_seeds,
    pipeline_seed_is_enough,
)
from workbench.emit.targets import export, target_names
from workbench.emit.templates.rendering import lines_in, render, sorted_imports
from workbench.engine import Engine
from workbench.engine.importing import from_file
from workbench.errors import GraphFaultsError
from workbench.graph import Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.edit import randomise_arg, set_arg, set_setting
from workbench.preview.verify import Verifier

RECIPES = list(load_recipes().values())


def inlined(text: str) -> str:
    """A script with what its function of views does for each call, in the place of it."""
    function = re.search(r"def augment\(images.*?\n    return images\n", text, re.DOTALL)
    if function is None:
        return text
    made = re.sub(r"= augment\(.*\)", "= images", text.replace(function[0], ""))
    for start in re.findall(r" = augment\(images, seed \+ (\d+)\)", text):

        def moved(seed: re.Match[str], start: int = int(start)) -> str:
            return f"seed=seed + {start + int(seed[1] or 0)}"

        made += re.sub(r"seed=seed(?: \+ (\d+))?", moved, function[0])
    return made


def test_chains_are_as_ruff_would_have_them(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    ops = [op for op in CATALOG.values() if op.image and not op.unusable and "cpu" in op.devices]
    for op in ops:
        if op.inputs[0].kind == "image":
            twice = chain_graph(op.name, op.name)
            sound = not check_graph(twice, CATALOG)  # a sum is no image to sum up again
            graph = replace(twice if sound else chain_graph(op.name), name=op.name)
            for arg in [a for a in op.args.values() if a.tensor and a.draw]:
                graph = randomise_arg(graph, CATALOG, graph.nodes[-1].id, arg.name)
            (tmp_path / f"{op.name}.py").write_text(emit_script(graph, CATALOG).text)
    assert len(list(tmp_path.iterdir())) > 25
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("graph", RECIPES, ids=lambda graph: graph.name)
def test_every_random_operator_has_its_own_seed(graph: Graph) -> None:
    tree = ast.parse(inlined(emit_script(graph, CATALOG).text))
    seeds = [
        ast.unparse(keyword.value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func).startswith(("fn.", "read_"))
        # a follower's window is the whole image: nothing is drawn
        if not any(keyword.arg == "total_num_attempts" for keyword in call.keywords)
        or "thresholds=[0.0]" not in ast.unparse(call)
        for keyword in call.keywords
        if keyword.arg == "seed" and not isinstance(keyword.value, ast.Constant)
    ]
    assert len(seeds) == sum(CATALOG[node.op].seeded for node in graph.walk())
    assert len(set(seeds)) == len(seeds)


def check_lines(source: Code, graph: Graph) -> None:
    lines = source.text.splitlines()
    assert set(source.lines) == {node.id for node in graph.nodes}
    for node in graph.nodes:
        places = source.lines[node.id]
        call = f"{CATALOG[node.op].module or 'fn'}.{node.op}("
        assert call in "\n".join(lines[places.start - 1 : places.stop - 1])
        assert all(source.node_at(line) == node.id for line in places)
    assert source.node_at(0) is None
    assert source.node_at(len(lines) + 1) is None


@given(CHAINS)
def test_any_chain_gives_source_that_parses_with_a_true_line_table(graph: Graph) -> None:
    source = emit_script(graph, CATALOG)
    assert calls_in(source.text) == expected_calls(graph)
    check_lines(source, graph)


def test_a_graph_with_faults_gives_no_script() -> None:
    graph = set_arg(chain_graph("rotate"), CATALOG, "rotate", "angle", "ten")
    with pytest.raises(GraphFaultsError, match=r"rotate\.angle: 'ten' is not a number"):
        emit_script(graph, CATALOG)


@pytest.fixture(scope="module")
def flat_folder(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images with no class folders, under a name that a file pattern would misread."""
    folder = tmp_path_factory.mktemp("flat") / "photos [a-z] *?"
    folder.mkdir()
    for path in sorted((photos / "coins").glob("*.jpg")):
        (folder / path.name).symlink_to(path)
    (folder.parent / "photos a *?").mkdir()  # would match if the name were taken as a pattern
    (folder.parent / "photos a *?" / "other.jpg").symlink_to(path)
    return folder


def run_script(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, path.name, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=path.parent,
    )


def test_run_as_a_user_runs_it(photos: Path, tmp_path: Path) -> None:
    path = tmp_path / "pipe.py"
    path.write_text(emit_script(load_recipe("imagenet-train"), CATALOG).text)
    size = ["--batches", "2", "--batch-size", "4", "--threads", "2"]
    done = run_script(path, "--data", str(photos), *size)
    assert done.returncode == 0, done.stderr
    figure, unit = done.stdout.split()
    assert unit == "imgs/s"
    assert float(figure) > 0
    done = run_script(path)
    assert done.returncode == 2
    assert "--data" in done.stderr


def test_a_flat_folder_is_read_alone(flat_folder: Path, tmp_path: Path) -> None:
    graph = with_settings(chain_graph("resize"), batch_size=len(list(flat_folder.iterdir())))
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    images, _ = script.build_pipeline(str(flat_folder)).run()
    files = sorted(image.source_info() for image in images)
    assert files == [path.name for path in sorted(flat_folder.iterdir())]


def test_what_leads_to_no_output_is_not_written() -> None:
    graph = chain_graph("rotate", "hue")
    outputs = {**graph.outputs, "images": Port("rotate", "output")}
    text = emit_script(replace(graph, outputs=outputs), CATALOG).text
    assert "fn.rotate(" in text
    assert "fn.hue(" not in text


def test_build_pipeline_takes_what_a_trainer_sets(photos: Path, tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    script = import_script(emit_script(graph, CATALOG).text, tmp_path)
    pipe = script.build_pipeline(str(photos), 3, num_threads=1, device="cpu", seed=7)
    assert (pipe.max_batch_size, pipe.num_threads) == (3, 1)
    assert len(pipe.run()[0]) == 3
    assert (script.BATCH_SIZE, script.SEED) == (64, 42)


def test_what_only_asks_for_a_shape_stays_on_the_cpu_behind_mixed_decoding(
    photos: Path, tmp_path: Path
) -> None:
    """DALI would move it to the GPU, but not its other input; it raises on any machine."""
    image = Port("decode", "output")
    nodes = (
        Node("reader", "readers.file", seed=0),
        Node("decode", "decoders.image", inputs={"data": Port("reader", "jpegs")}),
        Node("tone", "random.uniform", {"dtype": "UINT8", "range": (0, 255)}, seed=1),
        Node(
            "full", "full_like", inputs={"data_like": image, "fill_value": Port("tone", "output")}
        ),
        Node("cast", "cast_like", inputs={"input_0": Port("tone", "output"), "input_1": image}),
        Node("same", "cast_like", inputs={"input_0": image, "input_1": Port("tone", "output")}),
    )
    outputs = {name: Port(name, "output") for name in ("full", "cast", "same")}
    module = import_script(
        emit_script(Graph("like", nodes=nodes, outputs=outputs), CATALOG).text, tmp_path
    )
    for device, sides in (("cpu", ["cpu", "cpu", "cpu"]), ("mixed", ["cpu", "cpu", "gpu"])):
        pipe = module.like_pipeline(
            str(photos), device, 0, batch_size=2, num_threads=1, device_id=0
        )
        pipe._build_graph()
        assert [node.device for node in pipe._graph_outputs] == sides


# Identical views are one function in the exported script.

SIMCLR = load_recipe("simclr")


def test_two_views_are_one_function_and_come_back_as_two(tmp_path: Path) -> None:
    script = emit_script(SIMCLR, CATALOG)
    assert "view_1 = augment(images, seed + 21)\n" in script.text
    assert "view_2 = augment(images, seed + 31)\n" in script.text
    assert script.lines["crop_1"] == script.lines["crop_2"]
    imported = there_and_back(SIMCLR, tmp_path)
    assert canonical(imported.graph) == canonical(SIMCLR)
    drawn = {node.id for node in SIMCLR.nodes if node.op.startswith("random.")}
    assert drawn <= {node.id for node in imported.graph.nodes}  # mirror_1 and mirror_2


def test_views_that_differ_are_written_out() -> None:
    other = set_arg(SIMCLR, CATALOG, "gaussian_2", "window_size", 21)
    seed = with_node(SIMCLR, "mirror_2", seed=99)
    for graph in (other, seed):
        assert "augment(" not in emit_script(graph, CATALOG).text


# Where DALI's seeds from the pipeline's own are those of a graph, none is written.


def by_the_pipeline(graph: Graph) -> Graph:
    """The graph with the seeds that DALI hands out."""
    drawing = [node for node in _registration_order(graph, CATALOG) if CATALOG[node.op].seeded]
    seeds = assigned_seeds(graph.settings.seed)
    for node, seed in zip(drawing, seeds, strict=False):
        graph = graph.replace_node(replace(node, seed=seed - graph.settings.seed))
    return graph


@pytest.mark.parametrize("recipe", ["imagenet-train", "two-view"])
def test_batches_are_those_of_the_preview(recipe: str, engine: Engine, photos: Path) -> None:
    graph = with_settings(by_the_pipeline(load_recipe(recipe)), batch_size=4)
    assert pipeline_seed_is_enough(graph, CATALOG, graph.nodes)
    text = export(graph, "script", CATALOG, data=photos).main.text
    assert text.count("seed=") == text.count("seed=seed,") == 1
    assert Verifier(graph, str(photos), 2, engine=engine).run().exact


def test_it_comes_in_and_goes_out_as_it_was(tmp_path: Path) -> None:
    graph = by_the_pipeline(load_recipe("imagenet-train"))
    text = export(graph, "script", CATALOG).main.text
    (tmp_path / "pipe.py").write_text(text)
    again = from_file(tmp_path / "pipe.py").graph
    assert [node.seed for node in again.nodes] == [node.seed for node in graph.nodes]
    assert export(again, "script", CATALOG).main.text.count("seed=") == 1


@pytest.mark.parametrize("target", ["pytorch", "lightning", "jax", "ray", "tensorflow", "paddle"])
def test_shards_draw_apart_by_the_pipelines_seed(target: str) -> None:
    text = export(by_the_pipeline(load_recipe("cutout")), target, CATALOG).main.text
    assert "seed=seed + 100_000 * shard_id," in text
    assert "shards draw apart" not in text
    compile(text, target, "exec")


def test_otherwise_each_operator_has_its_own() -> None:
    graph = by_the_pipeline(load_recipe("imagenet-train"))
    for other in (
        load_recipe("imagenet-train"),
        set_setting(graph, seed=7),
        set_setting(graph, pipelines=2),
        by_the_pipeline(load_recipe("simclr")),  # its blocks hold further operators
    ):
        assert not pipeline_seed_is_enough(other, CATALOG, other.nodes)
        assert "seed=seed" in export(other, "script", CATALOG).main.text


def test_imports_are_sorted_and_joined() -> None:
    text = "import time\nfrom b import c\nfrom b import Z, MAX\nimport numpy as np\n"
    assert sorted_imports(text, ["import abc", "import time"], ["from b import c, a"]) == (
        "import abc\nimport time\n\nimport numpy as np\nfrom b import MAX, Z, a, c\n"
    )
    assert sorted_imports("\n\n") == ""


def test_imports_are_as_ruff_sorts_them(tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    lines = """
        from nvidia.dali.plugin.pytorch import DALIGenericIterator
        from nvidia.dali import types
        from nvidia.dali.data_node import DataNode
        from nvidia.dali import fn, pipeline_def
        from PIL import Image
        from IPython.display import display
        import torch.nn.functional as F
        import numpy as np
        from torch import Tensor, nn
        from collections.abc import Sequence, Iterator
        from typing import Any
        import os
        import argparse
        from torch.nn.parallel import DistributedDataParallel
        from albumentations import Crop
    """
    text = sorted_imports("\n".join(line.strip() for line in lines.splitlines()))
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "I001", "--diff"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="title"):
        render("script.py.j2", {"parameters": []})


@pytest.mark.parametrize("target", target_names())
def test_text_of_a_graph_is_never_part_of_a_template(target: str) -> None:
    about = "{{ title }} {% if several %} {# none #}"
    graph = replace(load_recipe("imagenet-train"), about=about)
    text = "".join(code.text for code in export(graph, target, CATALOG, plain=True).files.values())
    assert about in text


def test_the_lines_of_nodes_are_found_in_the_whole() -> None:
    assert lines_in("a\nb\nc\nd\n", "c\nd", {"node": range(1, 2)}) == {"node": range(4, 5)}
    with pytest.raises(AssertionError, match="does not use"):
        lines_in("a\n", "b", {"node": range(1)})
