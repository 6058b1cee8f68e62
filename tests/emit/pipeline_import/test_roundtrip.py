"""graph -> each target -> the same graph, as users do it: from the file, which carries it.

Every kind of source goes through the script and the sharded loaders of PyTorch and JAX; one graph
of each other kind of part goes through every target.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from tests.block_graphs import branching_graph
from tests.emit.pipeline_import.graphs import CPU_ONLY, GROWN, MOST, assert_the_same, canonical
from tests.emit.test_own_code import balanced, sometimes
from tests.helpers import import_script, photo_recipes, recipe_cases
from tests.placed import CATALOG, USABLE, placed
from tests.thorough import examples, one_in
from workbench.catalog import OpSpec
from workbench.emit import emit_script
from workbench.emit.pipeline_import.graph import ImportedGraph, import_traced
from workbench.emit.targets import export, target_names
from workbench.emit.templates.template_parts import function_name
from workbench.engine.importing import from_file
from workbench.engine.script_import.auto_augment_import import noted_calls, with_noted
from workbench.engine.script_import.tracing import trace_pipeline
from workbench.errors import GraphExportError, ImportFailedError
from workbench.graph import Graph, Port, check_graph, load_recipe, load_recipes
from workbench.graph.annotations.follower_edits import with_new_targets
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.execution.dataset_parameters import parameters, swap_source
from workbench.sources import load_source, open_dataset, source_kinds

AUTOMATIC = ("auto-augment", "augmix", "rand-augment", "trivial-augment")
FOLLOWING = ("key-points", "retinanet", "segmentation", "ssd")

PARTS: Mapping[str, Callable[[], Graph]] = {
    "plain": lambda: load_recipe("imagenet-train"),
    "mixed decoding": lambda: set_setting(load_recipe("imagenet-train"), device="mixed"),
    "separate queues": lambda: set_setting(load_recipe("imagenet-train"), executor="separate"),
    "blocks": branching_graph,
    "views": lambda: load_recipe("simclr"),
    "own code": balanced,
    "own code in a block": lambda: sometimes(CATALOG),
    "side by side": lambda: set_setting(load_recipe("cutout"), pipelines=3),
    "padded": lambda: padded(load_recipe("cutout")),
    "two sources": lambda: load_recipe("two-modalities"),
    **{name: lambda name=name: load_recipe(name) for name in (*AUTOMATIC, *FOLLOWING)},
}
"""What a graph may be made of, in one graph each."""


def padded(graph: Graph) -> Graph:
    return set_arg(graph, CATALOG, "reader", "pad_last_batch", True)


DECLARED = {"array_request", "memory_fields", "tfrecord_features", "webdataset_features"}
"""Kinds whose graphs declare types or names; the tests in tests/sources import them."""
KINDS = [kind for kind in source_kinds() if kind not in DECLARED]


def of_kind(kind: str) -> Graph:
    """A graph that reads such a source."""
    for graph in load_recipes().values():
        if len(graph.sources) == 1 and graph.sources[0].kind == kind:
            return graph
    graph = load_recipe("rotate-jitter")
    outputs = {output.name for output in CATALOG[load_source(kind).op].outputs}
    given = {n: port for n, port in graph.outputs.items() if port.node != "reader"}
    if "labels" in outputs:
        given["labels"] = Port("reader", "labels")
    (source,) = graph.sources
    graph = swap_source(replace(graph, outputs={"images": given["images"]}), source, kind)
    has_masks = load_source(kind).targets == "masks"
    masks = {"masks": Port("reader", "masks")} if has_masks else {}
    graph = replace(graph, outputs={**given, **masks, **graph.outputs})
    return with_new_targets(graph, CATALOG, masks)


def back(graph: Graph, target: str, folder: Path, plain: bool = False) -> ImportedGraph:
    """Exported, and read again from the file; skipped where the target refuses the graph."""
    try:
        made = export(graph, target, CATALOG, plain=plain)
    except GraphExportError as refused:
        pytest.skip(str(refused))
    path = folder / Path(next(iter(made.files))).name
    path.write_text(made.main.text, encoding="utf-8")
    return from_file(path)


@pytest.mark.parametrize("part", one_in(8, PARTS))
@pytest.mark.parametrize("target", one_in(5, target_names()))
def test_every_part_comes_back(target: str, part: str, tmp_path: Path) -> None:
    graph = PARTS[part]()
    assert_the_same(graph, back(graph, target, tmp_path))


# Without the graph, and so after an edit, the code is run and read as any other script.

READABLE = (
    *("script", "pytorch", "lightning", "tensorflow", "paddle", "keras", "huggingface"),
    *("ray", "notebook"),
)
"""Targets whose code can be read. JAX's loader makes its pipelines itself (see below). Dynamic mode
leaves no graph; Triton's is another, that answers requests; torchvision and Albumentations have
operators of their own (``emit/interop``)."""


@pytest.mark.parametrize("part", one_in(8, PARTS))
@pytest.mark.parametrize("target", one_in(5, READABLE))
def test_every_part_is_read_from_the_code(target: str, part: str, tmp_path: Path) -> None:
    graph = PARTS[part]()
    found = back(graph, target, tmp_path, plain=True)
    assert found.report.is_exact, str(found.report)
    assert found.graph.settings == graph.settings
    assert len(found.graph.outputs) == len(graph.outputs)
    assert [source.kind for source in found.graph.sources] == [s.kind for s in graph.sources]
    blocks = {"if", "one_of", "some_of", "repeat"}
    own = blocks | {"follow_boxes", "follow_points", "follow_masks"}
    if not own & {node.op for node in graph.walk()}:
        assert_the_same(graph, found)


def test_a_pipeline_that_a_loader_makes_needs_its_arguments(tmp_path: Path) -> None:
    """The shard and the settings of JAX's program depend on the devices, which are not here."""
    graph = PARTS["plain"]()
    inputs = "requires 'data', 'device', 'seed', 'shard_id', 'num_shards'"
    with pytest.raises(ImportFailedError, match=inputs):
        back(graph, "jax", tmp_path, plain=True)
    (program,) = tmp_path.iterdir()
    args = {"device": "cpu", "seed": 42, "shard_id": 0, "num_shards": 1}
    settings = {"batch_size": 64, "num_threads": 4, "device_id": None}
    assert_the_same(graph, from_file(program, args={"data": "photos", **args, **settings}))


def test_programs_of_every_source_define_the_names_that_they_use(tmp_path: Path) -> None:
    for kind in KINDS:
        graph = of_kind(kind)
        graphs = {"": graph}
        if load_source(kind).sampled is not None:
            (reader,) = graph.sources
            sampled = graph.replace_node(replace(reader, args={"sampler": "random"}))
            graphs |= {"sampled": sampled} if not check_graph(sampled, CATALOG) else {}
        for name, each in graphs.items():
            text = export(each, "script", plain=True).main.text
            (tmp_path / f"{kind.replace(':', '_')}_{name}.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache"]
    done = subprocess.run(
        [*command, "--select", "F821", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["script", "pytorch"])
def test_every_source_is_read_from_the_code(target: str, kind: str, tmp_path: Path) -> None:
    found = back(of_kind(kind), target, tmp_path, plain=True)
    assert found.report.is_exact, str(found.report)
    assert found.graph.sources[0].kind == kind


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["script", "pytorch", "jax"])
def test_every_source_comes_back(target: str, kind: str, tmp_path: Path) -> None:
    graph = of_kind(kind)
    assert check_graph(graph, CATALOG) == ()
    assert graph.sources[0].kind == kind
    imported = back(graph, target, tmp_path)
    assert_the_same(graph, imported)
    assert imported.graph.sources[0].kind == kind


def there_and_back(graph: Graph, folder: Path) -> ImportedGraph:
    """Exported, imported as Python imports it, and traced in this process: nothing is built."""
    text = emit_script(graph, CATALOG).text
    chosen = graph.settings
    automatic = any(CATALOG[node.op].module for node in graph.walk())
    with noted_calls() as noted:
        script = import_script(text, folder)
        pipe = getattr(script, function_name(graph))(
            *(open_dataset(folder).argument for _ in parameters(graph.nodes)),
            chosen.device,
            chosen.seed,
            batch_size=chosen.batch_size,
            num_threads=chosen.num_threads,
            device_id=0,
            prefetch_queue_depth=chosen.prefetch_queue_depth,
            **({"seed": chosen.seed} if automatic else {}),  # as build_pipeline has it
        )
        return import_traced(with_noted(trace_pipeline(pipe, graph.name), noted), CATALOG)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the scripts; readers look for class folders in it."""
    made = tmp_path_factory.mktemp("scripts")
    (made / "a_class").mkdir()
    return made


@pytest.mark.parametrize("graph", recipe_cases(only=photo_recipes(), every=2))
def test_every_recipe(graph: Graph, folder: Path) -> None:
    for device in ("cpu", "mixed"):
        moved = replace(graph, settings=replace(graph.settings, device=device, seed=7))
        imported = there_and_back(moved, folder)
        assert_the_same(moved, imported)
        assert list(imported.graph.outputs) == list(graph.outputs)


@pytest.mark.parametrize("op", one_in(4, USABLE), ids=lambda op: op.name)
def test_every_usable_operator(op: OpSpec, folder: Path) -> None:
    devices = ("cpu",) if op.name == CPU_ONLY else ("cpu", "mixed")
    graphs = [placed(op, device=device)[0] for device in devices]
    sound = [graph for graph in graphs if not check_graph(graph, CATALOG)]
    assert sound
    for graph in sound:
        graph = replace(graph, outputs={"images": Port("decode", "output"), **graph.outputs})
        assert_the_same(graph, there_and_back(graph, folder))


@examples(8, thorough=1200)
@given(graph=GROWN)
def test_any_graph(graph: Graph, folder: Path) -> None:
    assert len(graph.nodes) <= MOST
    imported = there_and_back(graph, folder)
    assert_the_same(graph, imported)
    again = there_and_back(imported.graph, folder)
    assert canonical(again.graph) == canonical(imported.graph)
