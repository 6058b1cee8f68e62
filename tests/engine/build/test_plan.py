"""From emitted source to pipelines: plans, parts, several pipelines, and their times."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import workbench as wb
from tests.block_graphs import BLOCK_GRAPHS
from tests.helpers import CATALOG, CHAINS, chain_graph, same, with_nodes, with_settings
from workbench.emit import Code
from workbench.engine import Engine
from workbench.engine.build.pipelines import CompiledSource, plain_reason
from workbench.engine.build.plan import Plan, kind_of, make_plan, partition
from workbench.engine.build.stage_pipeline import THREADS, Stage
from workbench.engine.run.runner import Result, Runner
from workbench.engine.run.timing import empty_pipeline_time, time_node
from workbench.errors import PipelineError
from workbench.graph import Graph, Node, Port, load_recipe
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph
from workbench.preview import PreviewRequest, preview_batch
from workbench.sources import Dataset

SOURCE = Code("def first():\n    raise ValueError('no')\n\ndef second():\n    first()\n", {})


def compiled(**lines: range) -> CompiledSource:
    return CompiledSource(Code(SOURCE.text, lines))


def test_the_names_of_a_source() -> None:
    assert callable(compiled()["first"])
    with pytest.raises(KeyError):
        compiled()["third"]


def test_each_source_has_a_file_of_its_own_that_goes_with_it() -> None:
    one, other = compiled(), compiled()
    assert one.filename != other.filename
    assert linecache.getline(one.filename, 1) == "def first():\n"
    name = one.filename
    del one
    assert linecache.getline(name, 1) == ""


def test_the_innermost_line_names_the_node() -> None:
    source = compiled(outer=range(4, 6), inner=range(1, 3))
    with pytest.raises(ValueError, match="no") as caught:
        source["second"]()
    error = source.error(caught.value)
    assert (str(error), error.node) == ("inner: no", "inner")


def test_a_line_that_dali_quotes_names_the_node() -> None:
    source = compiled(resize=range(2, 4))
    text = (
        "Critical error in pipeline:\nError in CPU operator `nvidia.dali.fn.resize`,\n"
        "which was used in the pipeline definition with the following traceback:\n\n"
        f'  File "{source.filename}", line 3, in stage\n    x = fn.resize(y)\n\n'
        'encountered:\n\nAssert on "a > b" failed: The size is wrong\n'
        "C++ context: [/opt/dali/x.h:3]\nCurrent pipeline object is no longer valid."
    )
    error = source.error(RuntimeError(text))
    assert (str(error), error.node) == ("resize: The size is wrong", "resize")


def test_an_error_from_elsewhere_names_none() -> None:
    error = compiled(a=range(1, 9)).error(RuntimeError("something"))
    assert (str(error), error.node) == ("something", None)
    assert plain_reason(ZeroDivisionError()) == "ZeroDivisionError"
    text = 'in user code:\n\n    File "a.py", line 3, in f  *\n        f(x)\n\n    KeyError: 3\n'
    assert plain_reason(Exception(text)) == "KeyError: 3"


def test_operands_of_two_sizes_are_named_with_the_remedy() -> None:
    import numpy as np
    from nvidia.dali import fn, pipeline_def

    def images(*heights: int) -> list[np.ndarray]:
        return [np.zeros((height, 6, 3), np.uint8) for height in heights]

    @pipeline_def(batch_size=2, num_threads=1, device_id=None)
    def unequal():  # type: ignore[no-untyped-def]
        first = fn.external_source(lambda: images(5, 5), layout="HWC")
        return first + fn.external_source(lambda: images(5, 4), layout="HWC")

    with pytest.raises(RuntimeError) as caught:
        unequal().run()
    assert plain_reason(caught.value).startswith(
        "its operands have the shapes 5 x 6 x 3 and 4 x 6 x 3 in one sample. Resize both to the "
        "same size before it.\nDALI: Can't broadcast shapes: "
    )


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("encountered:\n\nstd::bad_alloc"),
        RuntimeError("CUDA runtime API error cudaErrorMemoryAllocation (2):\nout of memory"),
    ],
)
def test_out_of_memory_names_the_node_and_the_remedy(error: Exception) -> None:
    source = compiled(resize=range(1, 3))
    source.namespace["ValueError"] = lambda _: error
    with pytest.raises(type(error)) as caught:
        source["first"]()
    told = source.error(caught.value)
    assert told.node == "resize"
    assert str(told) == (
        "Out of memory while running 'resize'. Show fewer tiles, or make the batch or the images "
        "smaller."
    )


def test_a_batch_that_no_memory_holds(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (1_000_000.0, 1_000_000.0)})
    with pytest.raises(PipelineError, match=r"Out of memory while running 'resize'\. Show fewer"):
        preview_batch(engine, PreviewRequest(graph, str(photos), tiles=2))


@wb.node(layouts="HWC")
def as_float(image: Any) -> Any:
    return image.astype("float32")


def test_a_function_whose_type_is_another_than_its_sibling_s_is_named(
    engine: Engine, photos: Path
) -> None:
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)}).one_of(
        lambda x: as_float(x.rotate(angle=5)), lambda x: x.flip(horizontal=1)
    )
    with pytest.raises(PipelineError) as caught:
        preview_batch(engine, PreviewRequest(graph, str(photos), tiles=8))
    assert caught.value.node == "as_float"
    assert str(caught.value) == (
        "the function of 'as_float' and the other branch of 'one_of' differ in types: float and "
        "uint8. Make them equal in all branches"
    )
    source = compiled(one_of=range(1, 9))
    text = "Divergent data found in different branches. Found distinct layouts: HWC and CHW."
    quoted = RuntimeError(f'File "{source.filename}", line 2\n{text}')
    expected = (
        "the branches of 'one_of' differ in layouts: HWC and CHW. Make them equal in all branches"
    )
    assert str(source.error(quoted)) == expected


def plan_of(graph: Graph, data: str = "photos", batch: int = 0, count: int = 8) -> Plan:
    given = {"data": Dataset("folder", data)}
    return make_plan(
        ResolvedGraph(graph, CATALOG), given, batch, count, list(graph.outputs.values())
    )


@pytest.fixture
def graph() -> Graph:
    drawn = chain_graph("resize", "rotate", "noise.gaussian", rotate={"angle": 3.0})
    return randomise_arg(drawn, CATALOG, "resize", "size")


@given(CHAINS)
def test_every_node_has_a_key_of_its_own(graph: Graph) -> None:
    plan = plan_of(graph)
    assert len(set(plan.keys.values())) == len(plan.nodes)


def test_what_no_output_needs_is_no_part(graph: Graph) -> None:
    unused = Node("unused", "flip", inputs={"data": Port("decode", "output")})
    plan = plan_of(with_nodes(graph, unused))
    assert "unused" not in {node.id for node in plan.nodes}


CHANGES: dict[str, tuple[Callable[[Graph], Plan], set[str]]] = {
    "nothing": (plan_of, set()),
    "name": (lambda g: plan_of(replace(g, name="other", about="other")), set()),
    "threads": (lambda g: plan_of(with_settings(g, num_threads=9)), set()),
    "value": (
        lambda g: plan_of(set_arg(g, CATALOG, "rotate", "angle", 4.0)),
        {"rotate", "gaussian"},
    ),
    "type of a value": (
        lambda g: plan_of(set_arg(g, CATALOG, "gaussian", "stddev", 7)),
        {"gaussian"},
    ),
    "data": (
        lambda g: plan_of(g, data="elsewhere"),
        {"reader", "decode", "resize", "rotate", "gaussian"},
    ),
    "batch": (lambda g: plan_of(g, batch=1), {"*"}),
    "count": (lambda g: plan_of(g, count=4), {"*"}),
    "seed": (lambda g: plan_of(with_settings(g, seed=1)), {"*"}),
    "batch size": (lambda g: plan_of(with_settings(g, batch_size=9)), {"*"}),
    "decoder": (
        lambda g: plan_of(with_settings(g, device="mixed")),
        {"decode", "resize", "rotate", "gaussian"},
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_key_changes_with_all_that_changes_the_bits(change: str, graph: Graph) -> None:
    before, (make, expected) = plan_of(graph), CHANGES[change]
    after = make(graph)
    changed = {node for node, key in before.keys.items() if after.keys[node] != key}
    assert changed == (set(before.keys) if expected == {"*"} else expected)
    assert after.keys == make(graph).keys
    assert after.position == after.batch * after.graph.settings.batch_size


def test_one_node_drawing_does_not_change_the_keys_of_others() -> None:
    plain = chain_graph("resize", "rotate")
    drawn = randomise_arg(plain, CATALOG, "rotate", "angle")
    before, after = plan_of(plain).keys, plan_of(drawn).keys
    assert before["resize"] == after["resize"]
    assert before["rotate"] != after["rotate"]


def parts_of(graph: Graph) -> list[list[str]]:
    return [[node.id for node in part] for part in partition(topological(graph)[0], CATALOG)]


def each_needs_only_those_before_it(graph: Graph) -> None:
    parts = partition(topological(graph)[0], CATALOG)
    place = {node.id: number for number, part in enumerate(parts) for node in part}
    assert len(place) == len(graph.nodes)
    for part in parts:
        kinds = {kind_of(node, CATALOG) for node in part}
        assert len(kinds) == 1
        assert len(part) == 1 or kinds <= {"operators", "decoder"}
        for node in part:
            before = [place[port.node] for port in node.inputs.values()]
            same = [number for number in before if number == place[node.id]]
            assert max(before, default=-1) <= place[node.id]
            assert not same or kinds == {"operators"}


@given(CHAINS)
def test_of_chains(graph: Graph) -> None:
    each_needs_only_those_before_it(graph)


@given(BLOCK_GRAPHS)
def test_of_graphs_with_blocks(graph: Graph) -> None:
    each_needs_only_those_before_it(graph)


def test_a_recipe() -> None:
    parts = parts_of(load_recipe("imagenet-train"))
    assert parts == [["reader"], ["decode"], ["crop", "mirror", "normalize"]]


def test_what_feeds_a_decoder_runs_before_it_and_the_rest_behind() -> None:
    graph = chain_graph("resize")
    shape = Node("shape", "peek_image_shape", inputs={"data": Port("reader", "jpegs")})
    sliced = Node(
        "sliced",
        "decoders.image_slice",
        inputs={"data": Port("reader", "jpegs"), "end": Port("shape", "output")},
    )
    graph = with_nodes(graph, shape, sliced)
    assert parts_of(graph) == [
        ["reader"],
        ["shape"],
        ["sliced"],
        ["decode"],
        ["resize"],
    ] or parts_of(graph) == [["reader"], ["decode"], ["shape"], ["resize"], ["sliced"]]


@pytest.fixture
def runner() -> Iterator[Runner]:
    runner = Runner(CATALOG)
    yield runner
    runner.forget()


def run(runner: Runner, graph: Graph, photos: Path) -> Result:
    graph = with_settings(graph, batch_size=4)
    taps = [port for node in graph.nodes for port in output_ports(node, CATALOG[node.op])]
    return runner.run(graph, str(photos), 0, 4, taps)


def test_more_work_takes_longer(runner: Runner, photos: Path) -> None:
    graph = chain_graph("copy", "gaussian_blur", gaussian_blur={"sigma": 12.0})
    result = run(runner, graph, photos)
    blur, copy = (
        time_node(runner, result, graph.node(node)).milliseconds or 0.0
        for node in ("gaussian_blur", "copy")
    )
    nothing = empty_pipeline_time(result.batches[Port("copy", "output")])
    assert blur > 3 * copy, "measured: 100 times"
    assert 0 < nothing < blur


def test_nothing_that_is_kept_changes(runner: Runner, photos: Path) -> None:
    graph = chain_graph("random_resized_crop")
    result = run(runner, graph, photos)
    port = Port("random_resized_crop", "output")
    before = [array.copy() for array in result.batches[port].arrays()]
    for node in graph.nodes:
        time_node(runner, result, node)
    again = run(runner, graph, photos)
    assert again.reran == ()
    assert same(again.batches[port].arrays(), before)


def test_a_decoder_stays_built(runner: Runner, photos: Path) -> None:
    result = run(runner, chain_graph(), photos)
    (built,) = runner._built.values()
    assert time_node(runner, result, result.plan.nodes[1]).milliseconds
    assert list(runner._built.values()) == [built]


def test_the_threads_can_be_chosen(
    runner: Runner, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(runner, chain_graph("copy"), photos)
    built: list[int] = []
    build = Stage.build
    monkeypatch.setattr(
        Stage, "build", lambda stage: (built.append(stage.threads), build(stage))[1]
    )
    for threads in (3, None):
        assert time_node(runner, result, result.plan.nodes[2], threads).milliseconds
    assert built == [3, THREADS]


def test_a_reader_has_a_reason_instead(runner: Runner, photos: Path) -> None:
    result = run(runner, chain_graph(), photos)
    told = time_node(runner, result, result.plan.nodes[0])
    assert told.milliseconds is None
    assert "reads ahead" in told.reason
