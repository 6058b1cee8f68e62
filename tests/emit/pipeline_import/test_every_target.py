"""graph -> each target -> the same graph, as users do it: from the file, which carries it.

Every kind of source goes through the script and the sharded loaders of PyTorch and JAX; one graph
of each other kind of part goes through every target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.block_graphs import branching_graph
from tests.emit.pipeline_import.graphs import assert_the_same
from tests.emit.test_own_code import balanced, sometimes
from tests.placed import CATALOG
from tests.thorough import one_in
from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.emit.targets import export, target_names
from workbench.engine.importing import from_file
from workbench.errors import GraphExportError, ImportFailedError
from workbench.graph import Graph, Port, check_graph, load_recipe, load_recipes
from workbench.graph.annotations.follower_edits import with_new_targets
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.execution.dataset_parameters import swap_source
from workbench.sources import load_source, source_kinds

pytestmark = pytest.mark.timeout(300)

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
    masks = {"masks": Port("reader", "masks")} if "masks" in outputs else {}
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
    with pytest.raises(ImportFailedError, match=r"needs data, device, seed, shard_id, num_shards"):
        back(graph, "jax", tmp_path, plain=True)
    (program,) = tmp_path.iterdir()
    args = {"device": "cpu", "seed": 42, "shard_id": 0, "num_shards": 1}
    settings = {"batch_size": 64, "num_threads": 4, "device_id": None}
    assert_the_same(graph, from_file(program, args={"data": "photos", **args, **settings}))


@pytest.mark.thorough
@pytest.mark.parametrize("kind", source_kinds())
@pytest.mark.parametrize("target", ["script", "pytorch"])
def test_every_source_is_read_from_the_code(target: str, kind: str, tmp_path: Path) -> None:
    found = back(of_kind(kind), target, tmp_path, plain=True)
    assert found.report.is_exact, str(found.report)
    assert found.graph.sources[0].kind == kind


@pytest.mark.thorough
@pytest.mark.parametrize("kind", source_kinds())
@pytest.mark.parametrize("target", ["script", "pytorch", "jax"])
def test_every_source_comes_back(target: str, kind: str, tmp_path: Path) -> None:
    graph = of_kind(kind)
    assert check_graph(graph, CATALOG) == ()
    assert graph.sources[0].kind == kind
    imported = back(graph, target, tmp_path)
    assert_the_same(graph, imported)
    assert imported.graph.sources[0].kind == kind
