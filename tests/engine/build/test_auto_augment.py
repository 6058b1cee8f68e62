"""Automatic augmentation in the preview: it draws what it draws in the script."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nvidia.dali import Pipeline

from tests.block_graphs import set_count
from tests.helpers import (
    CATALOG,
    chain_graph,
    require_parity,
    same,
    torchvision_transforms,
)
from tests.thorough import one_in
from workbench.catalog import Value, load_catalog
from workbench.catalog.extra_operators.auto_augment import POLICIES, SUITE, SubPolicies
from workbench.engine.build.augmenter import Augmenter
from workbench.engine.build.auto_augment import (
    applied_steps,
    auto_augment_random_values,
    bins_of,
    reporting_build_progress,
    strength_of,
)
from workbench.engine.build.stage_pipeline import Stage
from workbench.engine.run.runner import Runner
from workbench.errors import PipelineError
from workbench.graph import Graph, Port, check_graph, load_recipe
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import editable_policy, randomise_arg, set_arg, set_setting
from workbench.graph.resolved import ResolvedGraph

SIZE = {"size": (64.0, 64.0)}

Args = dict[str, Value]
LONG: SubPolicies = (
    (("translate_x", 0.9, 4), ("color", 0.5, 7), ("sharpness", 1, 2)),
    (("brightness", 0.4, 3), ("invert", 0.6)),
    (("solarize", 0.7, 5), ("contrast", 0.7, 8), ("posterize", 0.7, 6), ("translate_y", 1.0, 2)),
    (("identity", 1.0),),
    (("solarize_add", 0.0, 8), ("auto_contrast", 0.9)),
)


def all_but(*kept: str) -> Value:
    return tuple(name for name in SUITE if name not in kept)


ALONE: list[tuple[str, Args]] = [
    ("trivial_augment_wide", {}),
    ("rand_augment", {"n": 2, "m": 9}),
    ("auto_augment", {"policy_name": "image_net"}),
    ("rand_augment", {"n": 1, "m": 20, "monotonic_mag": False, "excluded": ("rotate", "contrast")}),
    ("rand_augment", {"n": 3, "m": 4, "num_magnitude_bins": 11, "shape": (64, 64)}),
    ("trivial_augment_wide", {"num_magnitude_bins": 5, "max_translate_abs": (8, 16)}),
    ("trivial_augment_wide", {"excluded": all_but("rotate")}),
    ("rand_augment", {"n": 1, "m": 9, "excluded": all_but("shear_x")}),
    ("rand_augment", {"n": 2, "m": 9, "excluded": all_but("rotate")}),
    ("auto_augment", {"policy_name": "svhn", "fill_value": 0, "interp_type": "INTERP_NN"}),
    ("auto_augment", {"policy_name": "reduced_cifar10"}),
    ("auto_augment", {"policy_name": "reduced_image_net"}),
    ("apply_auto_augment", {"policy": LONG, "num_magnitude_bins": 9, "fill_value": 3}),
    ("apply_auto_augment", {"policy": ((("rotate", 1.0, 9),),), "interp_type": "INTERP_NN"}),
    ("apply_auto_augment", {"policy": ((("equalize", 0.6), ("identity", 0.2)),)}),
    (
        "apply_auto_augment",
        {
            "policy": LONG,
            "magnitudes": "learnt",
            "shape": (64, 64),
            "max_translate_rel": (0.2, 0.4),
        },
    ),
]


def small(*ops: str, **values: Args) -> Graph:
    graph = chain_graph("resize", *ops, resize=SIZE, **values)
    return replace(graph, settings=replace(graph.settings, batch_size=10))


def require_exact(graph: Graph, photos: Path, folder: Path) -> None:
    assert check_graph(graph, CATALOG) == ()
    require_parity(graph, photos, folder)


CHEAP = 6
"""``trivial_augment_wide`` of one augmentation; DALI builds all of them in seconds."""


@pytest.mark.parametrize(("op", "args"), one_in(len(ALONE), ALONE, first=CHEAP))
def test_the_preview_is_the_script(op: str, args: Args, photos: Path, tmp_path: Path) -> None:
    require_exact(small(op, **{op: args}), photos, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "args"), ALONE)
def test_so_it_is_with_mixed_decoding(op: str, args: Args, photos: Path, tmp_path: Path) -> None:
    graph = set_setting(small(op, **{op: args}), device="mixed")
    require_exact(graph, photos, tmp_path)


@pytest.mark.parametrize("name", one_in(2, POLICIES))
def test_a_learnt_policy_as_ones_own_gives_the_same(name: str, photos: Path) -> None:
    learnt = small("auto_augment", auto_augment={"policy_name": name})
    own = editable_policy(learnt, "auto_augment")
    assert check_graph(own, CATALOG) == ()
    port = Port("auto_augment", "output")
    first, second = (
        Runner(CATALOG).run(graph, photos, 1, 10, [port]).batches[port].arrays()
        for graph in (learnt, own)
    )
    assert same(first, second)


@pytest.mark.thorough
def test_several_beside_and_behind_each_other(photos: Path, tmp_path: Path) -> None:
    """Seeds go to the calls in the order in which DALI holds them, which starts at the outputs."""
    graph = small("rand_augment", "trivial_augment_wide", "auto_augment")
    graph, other = place_node(graph, CATALOG, "trivial_augment_wide", Port("resize", "output"))
    outputs = {"views": Port(other, "output"), **graph.outputs}
    for names in (list(outputs), list(reversed(outputs))):
        ordered = replace(graph, outputs={name: outputs[name] for name in names})
        require_exact(ordered, photos, tmp_path)


def in_an_if() -> Graph:
    """With an operator that draws before and behind it, for the samples that came alone."""
    graph = small("noise.gaussian", "rand_augment", "noise.salt_and_pepper")
    graph, _ = wrap_in_block(graph, CATALOG, [node.id for node in graph.nodes[-3:]])
    return graph


def in_one_of() -> Graph:
    ops = ["rand_augment", "apply_auto_augment", "auto_augment"]
    graph, _ = wrap_as_options(small(*ops, "rotate"), CATALOG, ops)
    return graph


def in_some_of() -> Graph:
    ops = ["rand_augment", "trivial_augment_wide", "noise.gaussian"]
    graph = small(*ops)
    ids = [node.id for node in graph.nodes[-3:]]
    graph, block = wrap_as_options(graph, CATALOG, ids, "some_of")
    return set_count(graph, CATALOG, block, 2, shuffled=True)


def drawn_often() -> Graph:
    """So often as is drawn, for some of the samples alone."""
    graph, block = wrap_in_block(
        small("trivial_augment_wide"), CATALOG, ["trivial_augment_wide"], "repeat"
    )
    graph = randomise_arg(graph, CATALOG, block, "times", "random.uniform")
    graph, _ = wrap_in_block(graph, CATALOG, [block])
    return graph


def repeated_twice() -> Graph:
    graph, inner = wrap_in_block(small("rand_augment"), CATALOG, ["rand_augment"], "repeat")
    graph, _ = wrap_in_block(graph, CATALOG, [inner], "repeat")
    return graph


def with_a_linked_shape() -> Graph:
    args: Args = {"n": 3, "m": 9, "excluded": all_but("translate_x", "translate_y")}
    graph = small("rand_augment", rand_augment=args)
    graph, shape = place_node(graph, CATALOG, "shape", Port("resize", "output"))
    graph = connect(graph, CATALOG, Port(shape, "output"), "rand_augment", "shape")
    graph, _ = wrap_in_block(graph, CATALOG, ["rand_augment"])
    return graph


BLOCKS = [in_an_if, in_one_of, in_some_of, drawn_often, repeated_twice, with_a_linked_shape]


@pytest.mark.thorough
@pytest.mark.parametrize("make", BLOCKS)
def test_inside_blocks(make: Callable[[], Graph], photos: Path, tmp_path: Path) -> None:
    require_exact(make(), photos, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize("make", BLOCKS)
def test_inside_blocks_with_mixed_decoding(
    make: Callable[[], Graph], photos: Path, tmp_path: Path
) -> None:
    require_exact(set_setting(make(), device="mixed"), photos, tmp_path)


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
def test_a_change_inside_a_block_builds_nothing_of_dali(
    device: str, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its augmentations nor the block: what the engine applies is exchanged."""
    graph = set_setting(in_an_if(), device=device)
    changed = set_arg(graph, CATALOG, "rand_augment", "m", 20)
    taps = list(graph.outputs.values())
    expected = Runner(CATALOG).run(changed, photos, 0, 10, taps).batches[taps[0]].arrays()
    runner = Runner(CATALOG)
    before = runner.run(graph, photos, 0, 10, taps).batches[taps[0]].arrays()
    monkeypatch.setattr(Stage, "build", lambda _: pytest.fail("built"))
    after = runner.run(changed, photos, 0, 10, taps).batches[taps[0]].arrays()
    assert same(after, expected)
    assert not same(before, after)


@pytest.mark.parametrize("make", [lambda: small("rand_augment"), in_an_if])
def test_what_fails_names_the_node(
    make: Callable[[], Graph], photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("it is broken")

    monkeypatch.setattr(Augmenter, "_apply", fail)
    with pytest.raises(PipelineError) as raised:
        Runner(CATALOG).run(make(), photos, 0, 10, list(make().outputs.values()))
    assert (str(raised.value), raised.value.node) == ("rand_augment: it is broken", "rand_augment")


def test_what_had_begun_when_one_failed_is_not_given_later(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All augmentations of a step run at a time."""

    def fail(*_: object) -> None:
        raise RuntimeError("it is broken")

    graph = small("rand_augment", rand_augment={"n": 1, "m": 9})
    weaker, taps = set_arg(graph, CATALOG, "rand_augment", "m", 2), list(graph.outputs.values())
    expected = Runner(CATALOG).run(graph, photos, 0, 10, taps).batches[taps[0]].arrays()
    runner = Runner(CATALOG)
    runner.run(set_arg(graph, CATALOG, "rand_augment", "m", 5), photos, 0, 10, taps)
    with monkeypatch.context() as patch:
        patch.setattr(Pipeline, "outputs", fail)
        with pytest.raises(PipelineError, match="it is broken"):
            runner.run(weaker, photos, 0, 10, taps)
    after = runner.run(graph, photos, 0, 10, taps).batches[taps[0]].arrays()
    assert same(after, expected)


def test_what_is_made_of_a_policy_in_a_block_is_told(photos: Path) -> None:
    """Where DALI builds it: where its time is taken."""
    graph = small("apply_auto_augment", apply_auto_augment={"policy": LONG[:2]})
    graph, block = wrap_in_block(graph, CATALOG, ["apply_auto_augment"])
    runner, told = Runner(CATALOG), list[str]()
    fed = list(graph.node(block).inputs.values())
    result = runner.run(graph, photos, 0, 4, [Port(block, "images"), *fed])
    with reporting_build_progress(told.append):
        runner.stage(result.plan, [graph.node(block)], result.batches).build()
    assert told == [f"building apply_auto_augment, {place} of 3" for place in (1, 2, 3)]


def test_each_augmentation_is_built_once_and_told(photos: Path) -> None:
    told = list[str]()
    runner, taps = Runner(CATALOG, report_making=told.append), [Port("rand_augment", "output")]
    graph = small("rand_augment", rand_augment={"n": 1, "m": 9})
    for batch in range(8):
        runner.run(graph, photos, batch, 10, taps)
    names = {f"building {name} of rand_augment" for name in SUITE if name != "identity"}
    assert len(told) == len(set(told))
    assert set(told) == names


def test_seeds_are_those_that_dali_hands_out() -> None:
    graph = small("rand_augment", "trivial_augment_wide", rand_augment={"n": 2, "m": 9})
    draws = auto_augment_random_values(ResolvedGraph(graph, CATALOG))
    assert {node: [len(call) for call in calls] for node, calls in draws.items()} == {
        "rand_augment": [2],
        "trivial_augment_wide": [3],
    }
    seeds = [draw.seed for calls in draws.values() for call in calls for draw in call]
    assert len(set(seeds)) == 5
    assert (
        auto_augment_random_values(
            ResolvedGraph(set_arg(graph, CATALOG, "rand_augment", "m", 12), CATALOG)
        )
        == draws
    )
    assert auto_augment_random_values(ResolvedGraph(small("rotate"), CATALOG)) == {}


def test_what_each_sample_gets_is_told(photos: Path) -> None:
    graph = small("rand_augment", rand_augment={"n": 2, "m": 9, "num_magnitude_bins": 11})
    result = Runner(CATALOG).run(graph, photos, 1, 10, [Port("rand_augment", "output")])
    (texts,) = result.augmented["rand_augment"]
    assert len(texts) == 10
    assert all(len(each) == 2 for each in texts)
    assert {one.name for each in texts for one in each} <= set(SUITE)
    turned = [one.text for each in texts for one in each if one.name == "rotate"]
    assert set(turned) <= {"rotate 27", "rotate -27"}
    runner = Runner(CATALOG)
    assert runner.augmented(graph, photos, ["rand_augment"], 1, 10) == result.augmented


@pytest.mark.parametrize("times", ["fixed", "drawn"])
def test_what_each_sample_gets_in_each_turn_is_told(times: str, photos: Path) -> None:
    args: Args = {"n": 1, "m": 9, "excluded": all_but("rotate", "identity")}
    graph, block = wrap_in_block(
        small("rand_augment", rand_augment=args), CATALOG, ["rand_augment"], "repeat"
    )
    if times == "drawn":
        graph = randomise_arg(graph, CATALOG, block, "times", "random.uniform")
    before, after = Port("resize", "output"), Port(block, "images")
    result = Runner(CATALOG).run(graph, photos, 1, 10, [before, after])
    turns = result.augmented["rand_augment"]
    assert len(turns) > 1
    assert any(each == () for turn in turns for each in turn) == (times == "drawn")
    pairs = zip(result.batches[before].arrays(), result.batches[after].arrays(), strict=True)
    changed = [not np.array_equal(one, other) for one, other in pairs]
    told = [{one.name for turn in turns for one in turn[index]} for index in range(10)]
    assert changed == ["rotate" in names for names in told]
    assert 0 < sum(changed) < 10


def test_shares_and_strengths_are_even() -> None:
    """Over 10,000 samples, within 99.9 %: chi-square with 13 and 30 degrees of freedom."""
    graph = small("trivial_augment_wide")
    graph = replace(graph, settings=replace(graph.settings, batch_size=10_000))
    node = graph.node("trivial_augment_wide")
    (draws,) = auto_augment_random_values(ResolvedGraph(graph, CATALOG))[node.id]
    (step,) = applied_steps(node, Augmenter().drawn(draws, 0, 10_000))
    operations = Counter(each.augmentation.name for each in step)
    magnitudes = Counter(each.magnitude for each in step)
    signs = Counter((each.augmentation.name, each.sign) for each in step)
    assert set(operations) == set(SUITE)
    assert chi_square(operations.values()) < 34.5
    assert chi_square(magnitudes.values()) < 59.7
    assert chi_square(signs.values()) < 55.5, "sign and operation are independent (27 degrees)"
    strong = Counter((each.augmentation.name, each.magnitude > 15) for each in step)
    for name in SUITE:  # how much is apart from what: 15 of 31 steps are strong
        share = strong[name, True] / operations[name]
        assert abs(share - 15 / 31) < 3.5 * (15 * 16 / 31**2 / operations[name]) ** 0.5, name


def test_a_policy_gives_what_it_says_as_often_as_it_says() -> None:
    """Over 10,000 samples: sub-policies within 99 %, each operation within its 99 % interval."""
    graph = small("apply_auto_augment", apply_auto_augment={"policy": LONG})
    graph = replace(graph, settings=replace(graph.settings, batch_size=10_000))
    (draws,) = auto_augment_random_values(ResolvedGraph(graph, CATALOG))["apply_auto_augment"]
    drawn = Augmenter().drawn(draws, 0, 10_000)
    steps = applied_steps(graph.node("apply_auto_augment"), drawn)
    chosen = drawn[1]
    assert chi_square(Counter(chosen.tolist()).values()) < 13.28, "four degrees of freedom"
    for number, sub_policy in enumerate(LONG):
        samples = np.flatnonzero(chosen == number)
        for (name, share, *_), step in zip(sub_policy, steps, strict=False):
            got = [step[sample].augmentation for sample in samples]
            assert {each.name for each in got if each} <= {name}
            found = sum(each is not None for each in got) / len(samples)
            margin = 2.576 * (share * (1 - share) / len(samples)) ** 0.5
            assert abs(found - share) <= margin, (number, name, found)


def chi_square(counts: Iterable[int]) -> float:
    found = list(counts)
    expected = sum(found) / len(found)
    return sum((count - expected) ** 2 / expected for count in found)


# What automatic augmentation draws, against 10,000 draws of torchvision's own code.

SAMPLES = 10_000
SMALLEST = 0.001
"""Of two samples of one distribution, one pair in a thousand is farther apart."""
SIDE = 224
THEIRS = {name.replace("_", ""): name for name in SUITE}
"""Our names by torchvision's in lower case."""
NAMES = ["rand_augment", "trivial_augment_wide"]
DIFFERENT = {
    ("rand_augment", "translate_x"): "DALI: up to 100 px; torchvision: 150/331 of the width",
    ("rand_augment", "translate_y"): "DALI: up to 100 px; torchvision: 150/331 of the height",
    ("rand_augment", "solarize"): "DALI: from 256, where nothing changes; torchvision: from 255",
    ("trivial_augment_wide", "brightness"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "contrast"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "color"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "sharpness"): "DALI: from 0.01; torchvision: from 0",
    ("trivial_augment_wide", "solarize"): "DALI: from 256; torchvision: from 255",
}
"""Augmentations with another range in DALI, and how; the random bin is the same."""
Drawn = dict[str, list[float]]
"""The strengths that were drawn, by the operation's name; 0 for what has none."""


def of_torchvision(name: str) -> Drawn:
    autoaugment = torchvision_transforms().autoaugment
    import torch

    made = {
        "rand_augment": lambda: autoaugment.RandAugment(num_ops=2, magnitude=9),
        "trivial_augment_wide": autoaugment.TrivialAugmentWide,
    }[name]()
    drawn: Drawn = defaultdict(list)

    def record(image: Any, operation: str, magnitude: float, *_: Any, **__: Any) -> Any:
        drawn[THEIRS[operation.lower()]].append(magnitude)
        return image

    photo = torch.zeros(3, SIDE, SIDE, dtype=torch.uint8)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(autoaugment, "_apply_op", record)
        for _ in range(SAMPLES):
            made(photo)
    return drawn


def of_the_workbench(name: str) -> Drawn:
    catalog = load_catalog()
    graph = load_recipe({"rand_augment": "rand-augment"}.get(name, "trivial-augment"))
    graph = replace(graph, settings=replace(graph.settings, batch_size=SAMPLES))
    node = next(node for node in graph.walk() if node.op == name)
    if name == "rand_augment":
        assert (node.args["n"], node.args["m"], bins_of(node)) == (2, 9, 31), "the paper's"
    (draws,) = auto_augment_random_values(ResolvedGraph(graph, catalog))[node.id]
    drawn: Drawn = defaultdict(list)
    for step in applied_steps(node, Augmenter().drawn(draws, 0, SAMPLES)):
        for applied in step:
            strength = strength_of(applied, bins_of(node)) or 0.0
            whole = applied.augmentation.name == "posterize"  # it keeps whole bits
            drawn[applied.augmentation.name].append(round(strength) if whole else strength)
    return drawn


def steps_of(strengths: list[float]) -> list[int]:
    """Without sign and range: 0 for the least that was drawn, 1 for the next."""
    sizes = np.round(np.abs(strengths), 5)
    return [int(step) for step in np.searchsorted(np.unique(sizes), sizes)]


@pytest.mark.parametrize("name", NAMES)
def test_operations_are_as_often(name: str) -> None:
    theirs, ours = of_torchvision(name), of_the_workbench(name)
    from scipy.stats import chi2_contingency

    counts = [[len(drawn[operation]) for operation in SUITE] for drawn in (theirs, ours)]
    assert min(map(min, counts)) > 0
    assert chi2_contingency(counts).pvalue > SMALLEST


@pytest.mark.parametrize("name", NAMES)
def test_strengths_are_as_often(name: str) -> None:
    """With sign, each operation by itself; what differs is listed, and differs."""
    theirs, ours = of_torchvision(name), of_the_workbench(name)
    from scipy.stats import ks_2samp

    for operation in SUITE:
        alike = ks_2samp(np.round(theirs[operation], 5), np.round(ours[operation], 5))
        difference = DIFFERENT.get((name, operation))
        if difference is None:
            assert alike.pvalue > SMALLEST, operation
            assert set(np.round(theirs[operation], 5)) == set(np.round(ours[operation], 5))
        else:
            assert set(np.round(theirs[operation], 5)) != set(np.round(ours[operation], 5)), (
                f"{operation} does not differ: {difference}"
            )
            steps = [steps_of(drawn[operation]) for drawn in (theirs, ours)]
            assert ks_2samp(*steps).pvalue > SMALLEST, f"{operation}: its steps"
