"""What the preview runs equals what the exported script runs, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray

from tests.block_graphs import BLOCK_GRAPHS, branching_graph, two_datasets
from tests.engine.test_blocks import branching
from tests.helpers import (
    CATALOG,
    chain_graph,
    recipe_cases,
    require_parity,
    same,
    with_node,
    with_nodes,
    with_settings,
)
from tests.thorough import examples, one_in
from workbench.catalog import Catalog
from workbench.emit.core.code import Code
from workbench.engine.build.pipelines import CompiledSource, function_failure, missing_package_text
from workbench.engine.run.runner import Result, Runner
from workbench.errors import PipelineError
from workbench.graph import Graph, Node, Port, Settings, load_recipe
from workbench.graph.edits.compose import place_node, remove_nodes
from workbench.graph.edits.edit import insert_node, move_node, randomise_arg, set_arg, set_setting
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.graph.model import Body
from workbench.graph.model.ports import output_ports
from workbench.sources import Datasets, open_datasets

BATCH = 5
ORDER = (2, 0, 1)
"""The order of requested batches."""
ON_GPU = pytest.param("mixed", marks=pytest.mark.gpu)

Arrays = list[NDArray[Any]]


@pytest.fixture(scope="module")
def shared_runner(catalog: Catalog) -> Iterator[Runner]:
    runner = Runner(catalog)
    yield runner
    runner.forget()


@pytest.fixture
def runner(shared_runner: Runner) -> Runner:
    shared_runner.forget()
    return shared_runner


def small(graph: Graph, device: str = "cpu") -> Graph:
    return with_settings(graph, batch_size=BATCH, num_threads=2, device=device)


def run(
    runner: Runner, graph: Graph, data: Path, batch: int, count: int = BATCH
) -> tuple[list[Arrays], Result]:
    """The graph's outputs as host arrays, and the whole result."""
    ports = list(graph.outputs.values())
    result = runner.run(graph, str(data), batch, count, ports)
    return [result.batches[port].arrays() for port in ports], result


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
@pytest.mark.parametrize("graph", recipe_cases(every=12, first=1, slow=("auto-augment",)))
@pytest.mark.parametrize(
    ("order", "count"),
    [((7, 0, 1, 7, 1, 0), BATCH), ((0, 2, 1), 2)],
    ids=["batches in any order", "fewer tiles than the batch"],
)
def test_recipes(
    order: tuple[int, ...],
    count: int,
    graph: Graph,
    device: str,
    runner: Runner,
    data_of: Callable[..., Path],
    tmp_path: Path,
) -> None:
    data = data_of(graph, device)
    require_parity(small(graph, device), data, tmp_path, order, count, runner)


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
@pytest.mark.parametrize(
    "ops",
    one_in(
        2,
        [
            "random_resized_crop noise.gaussian",
            "noise.salt_and_pepper resize noise.shot",
            "random_resized_crop random_resized_crop grid_mask",
            "resize water sphere erase paste",
        ],
    ),
)
def test_operators_that_draw_by_themselves(
    ops: str, device: str, runner: Runner, photos: Path, tmp_path: Path
) -> None:
    graph = small(chain_graph(*ops.split()), device)
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)
    require_parity(graph, photos, tmp_path, (1, 0), 3, runner)


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
@pytest.mark.parametrize(
    ("node", "arg", "op"),
    [
        ("rotate", "angle", "random.uniform"),
        ("rotate", "angle", "random.normal"),
        ("rotate", "angle", "random.beta"),
        ("flip", "vertical", "random.coin_flip"),
    ],
)
def test_every_generator(
    node: str, arg: str, op: str, device: str, runner: Runner, photos: Path, tmp_path: Path
) -> None:
    graph = randomise_arg(chain_graph("resize", "rotate", "flip"), CATALOG, node, arg, op)
    require_parity(small(graph, device), photos, tmp_path, ORDER, BATCH, runner)


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
def test_edits_one_after_the_other(
    device: str, runner: Runner, photos: Path, tmp_path: Path
) -> None:
    """Each graph runs from what the one before left, and equals a fresh export."""
    graph = small(load_recipe("rotate-jitter"), device)
    rotate = next(node.id for node in graph.nodes if node.op == "rotate")
    twist = next(node.id for node in graph.nodes if node.op == "color_twist")
    graphs = [graph]

    def then(edited: Graph) -> None:
        graphs.append(edited)

    then(set_arg(graphs[-1], CATALOG, rotate, "angle", 30.0))
    then(set_arg(graphs[-1], CATALOG, rotate, "fill_value", 255.0))
    then(randomise_arg(graphs[-1], CATALOG, rotate, "angle"))
    then(insert_node(graphs[-1], CATALOG, "noise.gaussian", rotate)[0])
    then(move_node(graphs[-1], CATALOG, twist, -1))
    then(remove_nodes(graphs[-1], CATALOG, ["gaussian"]))
    then(set_arg(graphs[-1], CATALOG, "decode", "output_type", "BGR"))
    then(graphs[0])
    then(with_settings(graphs[-1], seed=7))
    then(with_settings(graphs[-1], batch_size=4))
    then(set_arg(graphs[-1], CATALOG, "reader", "random_shuffle", False))
    for one in graphs:
        require_parity(one, photos, tmp_path, (1, 0), runner=runner)


def test_only_what_changed_runs_again(runner: Runner, photos: Path) -> None:
    graph = small(chain_graph("resize", "rotate", "hue", rotate={"angle": 5.0}))
    assert run(runner, graph, photos, 0)[1].reran == ("reader", "decode", "resize", "rotate", "hue")
    assert run(runner, graph, photos, 0)[1].reran == ()
    changed = set_arg(graph, CATALOG, "rotate", "angle", 6.0)
    assert run(runner, changed, photos, 0)[1].reran == ("rotate", "hue")
    assert run(runner, graph, photos, 0)[1].reran == (), "going back costs nothing"
    assert run(runner, with_settings(graph, num_threads=1), photos, 0)[1].reran == ()
    assert run(runner, replace(graph, name="renamed", about="x"), photos, 0)[1].reran == ()
    longer = insert_node(graph, CATALOG, "flip", "hue")[0]
    assert run(runner, longer, photos, 0)[1].reran == ("flip",)
    assert run(runner, remove_nodes(graph, CATALOG, ["hue"]), photos, 0)[1].reran == ()
    assert "decode" in run(runner, graph, photos, 1)[1].reran
    assert run(runner, graph, photos, 0)[1].reran == ()


def test_a_kept_batch_is_not_overwritten_by_the_next(runner: Runner, photos: Path) -> None:
    graph = small(load_recipe("imagenet-train"))
    taps = [Port("decode", "output"), Port("crop", "output"), *graph.outputs.values()]
    first = runner.run(graph, str(photos), 0, BATCH, taps)
    copies = {port: [a.copy() for a in first.batches[port].arrays()] for port in taps}
    for batch in (1, 2, 3):
        runner.run(graph, str(photos), batch, BATCH, taps)
    again = runner.run(graph, str(photos), 0, BATCH, taps)
    assert again.reran == ()
    for port in taps:
        assert same(first.batches[port].arrays(), copies[port]), port
        assert same(again.batches[port].arrays(), copies[port]), port


def test_random_values_of_one_node_leave_the_others_alone(runner: Runner, photos: Path) -> None:
    graph = small(load_recipe("two-view"))
    ports = [Port(n.id, "output") for n in graph.nodes if n.op.startswith("random.")]
    before = runner.run(graph, str(photos), 1, BATCH, ports)
    blur = [node.id for node in graph.nodes if node.op == "gaussian_blur"][-1]
    gone = {port.node for port in graph.node(blur).inputs.values()}
    shorter = insert_node(remove_nodes(graph, CATALOG, [blur]), CATALOG, "noise.shot", "decode")[0]
    after = runner.run(shorter, str(photos), 1, BATCH, [p for p in ports if p.node not in gone])
    for port, batch in after.batches.items():
        assert same(batch.arrays(), before.batches[port].arrays()), port


def test_any_stage_may_be_tapped(runner: Runner, photos: Path) -> None:
    graph = small(load_recipe("imagenet-eval"))
    taps = [Port(n.id, o.name) for n in graph.nodes for o in CATALOG[n.op].outputs]
    result = runner.run(graph, str(photos), 0, 3, taps)
    assert list(result.batches) == taps
    assert all(len(batch) == 3 for batch in result.batches.values())
    assert result.batches[Port("decode", "output")].layout == "HWC"
    normal = result.batches[Port("normalize", "output")]
    assert (normal.dtype, normal.layout, normal.shapes) == ("float32", "CHW", [(3, 224, 224)] * 3)
    assert set(result.keys) == {node.id for node in graph.nodes}
    files = [sample.file for sample in result.samples]
    assert files == sorted(str(p.relative_to(photos)) for p in photos.glob("*/*.jpg"))[:3]


def test_more_tiles_than_the_batch_are_the_batch(runner: Runner, photos: Path) -> None:
    ours, result = run(runner, small(load_recipe("imagenet-eval")), photos, 0, count=64)
    assert len(result.samples) == BATCH
    assert all(len(output) == BATCH for output in ours)


@pytest.mark.parametrize("batch", [19, 200])
def test_batches_beyond_the_first_epoch(
    batch: int, runner: Runner, photos: Path, tmp_path: Path
) -> None:
    graph = replace(chain_graph("random_resized_crop"), settings=Settings(batch_size=7))
    graph = set_arg(graph, CATALOG, "reader", "random_shuffle", True)
    graph = set_arg(graph, CATALOG, "random_resized_crop", "size", (16, 16))
    if batch > 100:  # too many to decode: the files are enough
        graph = replace(graph, outputs={"labels": Port("reader", "labels")})
    require_parity(graph, photos, tmp_path, (batch, batch - 1), 7, runner)


def test_two_readers(runner: Runner, photos: Path, tmp_path: Path) -> None:
    graph = small(load_recipe("imagenet-eval"))
    second = replace(graph.node("reader"), id="second", args={"random_shuffle": True}, seed=9)
    decode = replace(graph.node("decode"), id="decode_2", inputs={"data": Port("second", "jpegs")})
    graph = with_nodes(graph, second, decode, other=Port("decode_2", "output"))
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)


@pytest.mark.parametrize(
    ("op", "boxes"), [("random_bbox_crop", "boxes"), ("bbox_rotate", "output")]
)
def test_an_output_that_an_optional_input_adds(
    op: str, boxes: str, runner: Runner, photos: Path, tmp_path: Path
) -> None:
    graph, crop = place_node(small(chain_graph("resize")), CATALOG, op)
    graph = feed_node(graph, CATALOG, crop)
    graph, numbers = place_node(graph, CATALOG, "random.uniform")
    node = graph.node(numbers)
    args = {"range": (0, 9), "shape": (5,), "dtype": "INT32"}
    graph = graph.replace_node(replace(node, args=args))
    graph = with_nodes(graph, boxes=Port(crop, boxes))
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)
    port = Port(numbers, "output")
    node = graph.node(crop)
    graph = graph.replace_node(replace(node, inputs={**node.inputs, "labels": port}))
    graph = with_nodes(graph, classes=Port(crop, "labels"))
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)


def test_nodes_before_the_decoder(runner: Runner, photos: Path, tmp_path: Path) -> None:
    graph = small(chain_graph("resize"))
    spec = CATALOG["peek_image_shape"]
    shape = replace(
        graph.node("resize"),
        id="shape",
        op="peek_image_shape",
        args={},
        inputs={spec.inputs[0].name: Port("reader", "jpegs")},
    )
    port = Port("shape", spec.outputs[0].name)
    graph = with_nodes(graph, shape, shape=port)
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)


def test_an_image_knows_its_file_through_every_stage(
    runner: Runner, photos: Path, tmp_path: Path
) -> None:
    graph = small(chain_graph("resize", "flip"))
    asked = {node: Port(f"file_{node}", "output") for node in ("reader", "decode", "flip")}
    nodes = [
        Node(port.node, "get_property", {"key": "source_info"},
             {CATALOG["get_property"].inputs[0].name:
              Port(node, "jpegs" if node == "reader" else "output")})
        for node, port in asked.items()
    ]  # fmt: skip
    graph = replace(
        graph,
        nodes=(*graph.nodes, *nodes),
        outputs={f"{node}_file": port for node, port in asked.items()},
    )
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)
    edited = set_arg(graph, CATALOG, "flip", "vertical", 1)
    require_parity(edited, photos, tmp_path, ORDER, BATCH, runner)


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
@pytest.mark.parametrize("op", ["pad", "normalize"])
def test_nodes_that_look_at_the_whole_batch(
    op: str, device: str, runner: Runner, photos: Path, tmp_path: Path
) -> None:
    """Few tiles show what those samples are in the whole batch."""
    graph = small(chain_graph(op), device)
    if op == "normalize":
        graph = with_node(graph, op, args={"batch": True})
    require_parity(graph, photos, tmp_path, (1, 0), 2, runner)


@pytest.mark.gpu
def test_a_graph_that_goes_to_the_gpu_by_hand(runner: Runner, photos: Path, tmp_path: Path) -> None:
    graph = small(chain_graph("resize", "rotate"))
    graph = with_node(graph, "rotate", device="gpu")
    assert run(runner, graph, photos, 0)[1].batches[Port("rotate", "output")].device == "gpu"
    require_parity(graph, photos, tmp_path, ORDER, BATCH, runner)


def test_what_dali_refuses_names_the_node(runner: Runner, photos: Path) -> None:
    size = {"crop": (5000.0, 5000.0), "out_of_bounds_policy": "error"}
    graph = small(chain_graph("crop", "rotate", crop=size))
    with pytest.raises(PipelineError) as caught:
        run(runner, graph, photos, 0)
    assert caught.value.node == "crop"
    assert str(caught.value).startswith("crop: ")
    assert "Traceback" not in str(caught.value)
    assert "C++ context" not in str(caught.value)
    mended = set_arg(graph, CATALOG, "crop", "crop", (50.0, 50.0))
    assert run(runner, mended, photos, 0)[1].reran == ("crop", "rotate")


def test_forgetting_drops_everything(runner: Runner, photos: Path) -> None:
    graph = small(load_recipe("imagenet-eval"))
    run(runner, graph, photos, 0)
    assert runner.store.used["cpu"] > 0
    runner.forget()
    assert runner.store.used == {"cpu": 0, "gpu": 0}
    assert len(run(runner, graph, photos, 0)[1].reran) == len(graph.nodes)


def test_a_decoder_that_fails_by_its_arguments_blames_no_file(
    runner: Runner, photos: Path, catalog: Catalog
) -> None:
    good = small(chain_graph("resize"))
    bad = set_arg(good, catalog, "decode", "dtype", "FLOAT16")
    with pytest.raises(PipelineError, match="decode"):
        run(runner, bad, photos, 0)
    _, result = run(runner, good, photos, 0)
    assert [sample.error for sample in result.samples] == [""] * BATCH


def test_the_files_of_a_decoder_are_reported_before_it_runs(photos: Path) -> None:
    reported: list[tuple[Sequence[str], Sequence[str]]] = []
    runner = Runner(CATALOG, report_running=lambda nodes, files=(): reported.append((nodes, files)))
    _, result = run(runner, small(load_recipe("imagenet-eval")), photos, 0)
    decoding = [files for nodes, files in reported if "decode" in nodes]
    assert decoding == [tuple(sample.file for sample in result.samples)]
    assert not any(files for nodes, files in reported if "decode" not in nodes)


# Functions of the user that fail, or need a package that is not installed.

TEXT = "import x\n\n\ndef f(image):\n    y = 1\n    return image / y\n\n\ndef stage():\n    pass\n"


def told(error: str, *frames: str) -> str | None:
    at = "".join(f"\n  {frame}" for frame in frames)
    message = f"encountered:\n\nDLTensorPythonFunction error: {error}\n\nAt:{at}\n"
    message += "\nCurrent pipeline object is no longer valid."
    return function_failure(message, "<workbench 3>", TEXT)


def test_the_line_is_that_of_the_function_and_not_of_what_it_calls() -> None:
    frames = ("/x/numpy/core.py(90): mean", "<workbench 3>(6): f", "/x/dali/f.py(1): func")
    expected = "line 3 of f, return image / y, raised ValueError: two\nlines"
    assert told("ValueError: two\nlines", *frames) == expected


def test_no_message_and_a_long_one() -> None:
    frame = "<workbench 3>(5): f"
    assert told("KeyError: <EMPTY MESSAGE>", frame) == "line 2 of f, y = 1, raised KeyError"
    assert len(told(f"ValueError: {'x' * 1_000_000}", frame) or "") < 1000


def test_what_dali_finds_itself() -> None:
    nothing = "Python function returned 0 outputs and 1 were expected."
    assert "is a return statement missing" in (function_failure(nothing, "", "") or "")
    unequal = "Output DLPack tensor list should have consistent data type."
    assert "differ in type between samples" in (function_failure(unequal, "", "") or "")
    assert function_failure("Rotate: no such angle", "", "") is None


# A package that a function needs is named where it is not installed.


def test_it_is_named_with_how_to_get_it() -> None:
    words = missing_package_text(ModuleNotFoundError("no", name="cupy.cuda"))
    assert words == (
        "it requires cupy, which is not installed. Install it (pip install cupy-cuda12x), or mute "
        "the node."
    )
    assert missing_package_text(ImportError("circular")) is None


def test_a_source_that_imports_it_says_so() -> None:
    source = Code("import no_such_package_at_all\n", {"kernel": range(1, 2)})
    with pytest.raises(PipelineError, match="it requires no_such_package_at_all") as told:
        CompiledSource(source)
    assert told.value.node == "kernel"


# The conditions alone have the indices of the whole graph, and read only what they need.


def agree(graph: Graph, data: Datasets, batches: int) -> None:
    """Assert that blocks of a graph decide alone as they do in it."""
    runner = Runner(CATALOG)
    blocks = [node for node in graph.nodes if node.bodies]
    places = runner.branch_places(graph, data, blocks)
    taps = [port for block in blocks for port in output_ports(block, CATALOG[block.op])]
    size = graph.settings.batch_size
    for batch in range(batches):
        came = {scope: tuple(map(int, map(np.asarray, p))) for scope, p in places.run().items()}
        assert came == runner.run(graph, data, batch, size, taps).places, batch


@pytest.mark.thorough
@examples(8, thorough=150)
@given(graph=BLOCK_GRAPHS)
def test_places_are_those_of_the_graph(graph: Graph, photos: Path) -> None:
    agree(set_setting(graph, batch_size=BATCH), two_datasets(photos), 3)


def test_where_draws_decide_nothing_is_read(photos: Path) -> None:
    graph, data = set_setting(branching_graph(), batch_size=5), open_datasets(photos)
    agree(graph, data, 2)
    assert not Runner(CATALOG).branch_places(graph, data, [graph.node("outer")]).reads


def test_a_block_on_which_another_depends_runs_whole(photos: Path) -> None:
    """The second condition is the mean of the first one's output."""
    bright = Node(
        "bright",
        "brightness_contrast",
        {"brightness": 1.5},
        {"data": Port("branch.then", "images")},
    )
    graph = branching(Body((bright,), {"images": Port("bright", "output")}, ("images",)))
    mean = Node("mean", "reductions.mean", {"axes": (0, 1, 2)}, {"data": Port("branch", "images")})
    light = Node(
        "light",
        "math.lt",
        {"right": 110.0, "constant_type": "FLOAT"},
        {"data": Port("mean", "output")},
    )
    turned = Node("turned", "flip", {}, {"data": Port("second.then", "images")})
    second = Node(
        "second",
        "if",
        inputs={"condition": Port("light", "output"), "images": Port("branch", "images")},
        bodies={
            "then": Body((turned,), {"images": Port("turned", "output")}, ("images",)),
            "else": Body((), {"images": Port("second.else", "images")}, ("images",)),
        },
    )
    graph = replace(
        graph,
        nodes=(*graph.nodes, mean, light, second),
        outputs={**graph.outputs, "images": Port("second", "images")},
    )
    data = open_datasets(photos)
    agree(graph, data, 2)
    assert Runner(CATALOG).branch_places(graph, data, [graph.node("second")]).reads
