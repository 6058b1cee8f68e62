from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given

from tests.block_graphs import BLOCK_GRAPHS, CATALOG, two_datasets
from tests.helpers import chain_graph, require_parity, same, script_batches
from tests.thorough import examples
from workbench.engine.run.runner import Runner
from workbench.errors import PipelineError
from workbench.graph import Graph, Node, Port, check_graph, dump_graph, load_graph
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import rename_node, set_arg, set_setting
from workbench.graph.model import Body
from workbench.sources import Datasets


@pytest.fixture(scope="module")
def data(photos: Path) -> Datasets:
    return two_datasets(photos)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@examples(2, thorough=200)
@given(graph=BLOCK_GRAPHS)
def test_the_preview_is_the_script_at_any_batch(
    graph: Graph, data: Datasets, scripts: Path
) -> None:
    assert check_graph(graph, CATALOG) == ()
    assert load_graph(dump_graph(graph)) == graph
    require_parity(graph, data, scripts)


@pytest.mark.gpu
@examples(8, thorough=400)
@given(graph=BLOCK_GRAPHS)
def test_so_it_is_with_mixed_decoding(graph: Graph, data: Datasets, scripts: Path) -> None:
    graph = set_setting(graph, device="mixed")
    assume(not check_graph(graph, CATALOG))
    require_parity(graph, data, scripts)


def coin(name: str, seed: int) -> Node:
    return Node(name, "random.coin_flip", {"probability": 0.5, "dtype": "BOOL"}, seed=seed)


def branching(then: Body, otherwise: Body | None = None) -> Graph:
    """A chain that ends with an ``if`` block over the image, decided by a coin flip."""
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)})
    block = Node(
        "branch",
        "if",
        inputs={"condition": Port("flag", "output"), "images": Port("resize", "output")},
        bodies={
            "then": then,
            "else": otherwise or Body((), {"images": Port("branch.else", "images")}, ("images",)),
        },
    )
    return replace(
        graph,
        nodes=(*graph.nodes, coin("flag", 3), block),
        outputs={**graph.outputs, "images": Port("branch", "images")},
        settings=replace(graph.settings, batch_size=8),
    )


def noise(seed: int = 5) -> Body:
    made = Node(
        "noise",
        "noise.gaussian",
        {"stddev": 20.0},
        {"data": Port("branch.then", "images")},
        seed=seed,
    )
    return Body((made,), {"images": Port("noise", "output")}, ("images",))


def test_what_runs_inside_is_seen_for_the_samples_that_came(photos: Path) -> None:
    graph = branching(noise())
    inner, outer = Port("noise", "output"), Port("branch", "images")
    result = Runner(CATALOG).run(graph, photos, 1, 8, [inner, outer, Port("flag", "output")])
    flags = [bool(value) for value in result.batches[Port("flag", "output")].arrays()]
    came = tuple(place for place, flag in enumerate(flags) if flag)
    assert 0 < len(came) < 8
    assert result.places["branch.then"] == came
    assert result.places["branch.else"] == tuple(set(range(8)) - set(came))
    parts = result.batches[inner].arrays()
    whole = result.batches[outer].arrays()
    assert same(parts, [whole[place] for place in came])


def test_fewer_samples_are_the_first_of_the_batch(photos: Path) -> None:
    graph = branching(noise())
    runner, port = Runner(CATALOG), Port("branch", "images")
    for batch in (0, 3):
        every = runner.run(graph, photos, batch, 8, [port]).batches[port].arrays()
        few = Runner(CATALOG).run(graph, photos, batch, 3, [port]).batches[port].arrays()
        assert same(few, every[:3])


def test_a_change_behind_a_block_does_not_run_it_again(photos: Path) -> None:
    graph = branching(noise())
    last = Node("last", "brightness", {"brightness": 1.2}, {"data": Port("branch", "images")})
    graph = replace(graph, nodes=(*graph.nodes, last), outputs={"images": Port("last", "output")})
    runner = Runner(CATALOG)
    runner.run(graph, photos, 0, 8, [Port("last", "output")])
    brighter = graph.replace_node(replace(last, args={"brightness": 1.4}))
    assert runner.run(brighter, photos, 0, 8, [Port("last", "output")]).reran == ("last",)
    louder = brighter.replace_node(replace(brighter.node("noise"), args={"stddev": 40.0}))
    assert runner.run(louder, photos, 0, 8, [Port("last", "output")]).reran == ("branch", "last")


def test_dali_translates_the_whole_script(
    photos: Path, scripts: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It warns of what it cannot translate, such as functions of Python's own library."""
    graph = branching(noise())
    script_batches(graph, photos, 1, scripts)
    assert "AutoGraph" not in caplog.text


def test_a_fault_inside_names_the_node(photos: Path) -> None:
    crop = Node("crop", "crop", {"crop": (64.0, 64.0)}, {"data": Port("branch.then", "images")})
    body = Body((crop,), {"images": Port("crop", "output")}, ("images",))
    with pytest.raises(Exception, match=r"^crop") as caught:
        Runner(CATALOG).run(branching(body), photos, 0, 8, [Port("branch", "images")])
    assert caught.value.node == "crop"  # type: ignore[attr-defined]


def test_a_decoder_fed_from_a_decoded_image(photos: Path, scripts: Path) -> None:
    """Finding A4: its script ran, and the preview raised KeyError."""
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)})
    mean = Node("mean", "reductions.mean", {}, {"data": Port("decode", "output")})
    part = Node(
        "part",
        "math.truediv",
        {"right": 1000.0, "constant_type": "FLOAT"},
        {"data": Port("mean", "output")},
    )
    start = Node(
        "start", "stack", {}, {"input_0": Port("part", "output"), "input_1": Port("part", "output")}
    )
    sliced = Node(
        "sliced",
        "decoders.image_slice",
        {"axis_names": "HW", "rel_shape": (0.5, 0.5)},
        {"data": Port("reader", "jpegs"), "rel_start": Port("start", "output")},
    )
    graph = replace(
        graph,
        nodes=(*graph.nodes, mean, part, start, sliced),
        outputs={"images": Port("sliced", "output")},
        settings=replace(graph.settings, batch_size=4),
    )
    assert check_graph(graph, CATALOG) == ()
    require_parity(graph, {"data": two_datasets(photos)["data"]}, scripts, (0,))


def test_one_of_two_sources_may_stay_as_it_is_for_long(photos: Path) -> None:
    """Finding A3: the samples of the source that was not run again were dropped after 64 runs."""
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)})
    second = replace(graph.node("reader"), id="second", seed=77)
    graph = replace(
        graph,
        nodes=(*graph.nodes, second),
        outputs={**graph.outputs, "others": Port("second", "labels")},
        settings=replace(graph.settings, batch_size=2),
    )
    runner, taps = Runner(CATALOG), list(graph.outputs.values())
    for number in range(70):
        shuffled = replace(second, args={"initial_fill": 10 + number, "random_shuffle": True})
        changed = graph.replace_node(shuffled)
        assert len(runner.run(changed, photos, 0, 2, taps).samples) == 2


@pytest.mark.parametrize("taken", [("images",), ("images", "labels")])
def test_what_no_body_uses_may_feed_a_block(taken: tuple[str, ...], photos: Path) -> None:
    """DALI omits unused inputs, and the preview could not feed them."""
    graph = branching(replace(noise(), inputs=taken))
    block = graph.node("branch")
    fed = replace(block, inputs={**block.inputs, "labels": Port("reader", "labels")})
    port = Port("branch", "images")
    plain = Runner(CATALOG).run(graph, photos, 1, 4, [port]).batches[port].arrays()
    found = Runner(CATALOG).run(graph.replace_node(fed), photos, 1, 4, [port])
    assert same(found.batches[port].arrays(), plain)


def test_what_is_kept_is_found_under_other_names(photos: Path) -> None:
    graph = branching(noise())
    runner = Runner(CATALOG)
    kept = runner.run(graph, photos, 0, 8, [Port("branch", "images")])
    renamed = rename_node(rename_node(graph, "branch", "chosen"), "resize", "smaller")
    port = Port("chosen", "images")
    found = runner.run(renamed, photos, 0, 8, [port])
    assert found.reran == ()
    assert found.places["chosen.then"] == kept.places["branch.then"]
    assert same(found.batches[port].arrays(), kept.batches[Port("branch", "images")].arrays())


def test_a_changed_value_gives_the_bits_of_the_script_and_a_wrong_one_names_its_node(
    photos: Path, tmp_path: Path
) -> None:
    """DALI translates the code of a block once for all values."""
    graph = chain_graph("resize", "rotate", "gaussian_blur", resize={"size": (32.0, 32.0)})
    graph, _ = wrap_in_block(graph, CATALOG, ["rotate", "gaussian_blur"])
    graph = set_setting(graph, batch_size=4)
    runner, taps = Runner(CATALOG), list(graph.outputs.values())
    for angle in (10.0, -50.0):
        changed = set_arg(graph, CATALOG, "rotate", "angle", angle)
        require_parity(changed, photos, tmp_path, (0,), runner=runner)
    runner.run(set_arg(graph, CATALOG, "gaussian_blur", "window_size", 3), photos, 0, 4, taps)
    even = set_arg(graph, CATALOG, "gaussian_blur", "window_size", 4)
    with pytest.raises(PipelineError, match="odd length, got: 4") as caught:
        runner.run(even, photos, 0, 4, taps)
    assert caught.value.node == "gaussian_blur"
