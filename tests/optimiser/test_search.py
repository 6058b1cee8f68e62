"""Which sequences of rewrites are measured, and what they are judged by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from benchmarks.badly_ordered import turned_first
from tests.graph.rewrites.laws import CATALOG, ops, start
from tests.optimiser.made_up import NAMES, NEAR, SAME, make_up, slow_graph
from workbench.errors import ArgumentError
from workbench.graph import Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.rewrites import load_rewrites, rewritten_by
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser import OptimisationExperiment, optimisation_of, optimise
from workbench.optimiser.difference import SamplingError, with_other_filters
from workbench.optimiser.experiment import CONTROL, ORIGINAL
from workbench.optimiser.search import RewriteSearch

CHAIN = ("resize-before-rotate", "crop-before-rotate", "crop-into-resize")


def searched(graph: Graph, names: tuple[str, ...] = CHAIN) -> RewriteSearch:
    return RewriteSearch(TypedGraph(graph, CATALOG), names)


def test_the_order_decides_what_a_sequence_can_do() -> None:
    graph = turned_first()
    search = searched(graph)
    assert search.first() == CHAIN
    assert ops(search.steps(CHAIN)[-1].graph)[2:4] == ["resize_crop_mirror", "rotate"]
    prevented = search.steps(("crop-into-resize", *CHAIN[:2]))
    assert [step.name for step in prevented] == ["crop-into-resize"]
    assert rewritten_by(TypedGraph(graph, CATALOG), CHAIN) == search.steps(CHAIN)[-1].graph


def test_what_was_not_measured_is_predicted_from_what_was() -> None:
    search = searched(turned_first())
    for count, ratio in ((1, 2.0), (2, 1.4), (3, 1.5)):
        search.add(search.steps(CHAIN[:count])[-1], CHAIN[:count], ratio)
    assert search.best() == (CHAIN[:1], pytest.approx(2.0))
    assert search.ratio_of(CHAIN[:1]) == pytest.approx(2.0)
    assert [*search.candidates()] == [], "nothing else is as good as the first alone"
    other = searched(turned_first())
    assert next(other.candidates()) == CHAIN, "before anything is measured, the longest"
    other.refuse(["crop-into-resize"])
    assert not any("crop-into-resize" in names for names in other.candidates())


def test_exact_rewrites_come_first_where_the_order_makes_no_difference() -> None:
    search = searched(slow_graph(), NAMES)
    steps = search.steps(("colour-into-twist", *NAMES[:2]))
    assert [(step.name, step.kind) for step in steps] == list(
        zip(NAMES, ("exact", "exact", "near"), strict=True)
    )


def test_a_better_combination_is_measured_and_proposed(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    both = "colour-after-crop, colour-into-twist"
    seen = make_up(
        monkeypatch,
        {"colour-after-crop": 200.0, "crop-in-decoder": 150.0, "colour-into-twist": 230.0},
    )
    lines: list[str] = []
    run = OptimisationExperiment(slow_graph(), str(photos))
    run.on_result = lines.append
    found = optimisation_of(slow_graph(), run.run())
    assert seen[1][0] == ORIGINAL
    assert both in seen[1]
    assert seen[2] == [ORIGINAL, CONTROL, "colour-after-crop", "colour-into-twist"]
    assert f"{both}: 2.30 times the speed" in lines
    assert [one.name for one in found.rejected] == ["crop-in-decoder"]
    assert "other orders and combinations: " in repr(found)


def test_small_gains_of_near_rewrites_count_together(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    names = ("colour-after-resize", "scale-into-normalize", "fast-idct")
    image = (start().images / 255.0).resize(size=(60.0, 60.0))
    graph = wb.outputs(images=image.crop_mirror_normalize())
    small = graph.with_settings(batch_size=4, num_threads=1)
    rates = dict(zip(names, (106.0, 113.0, 120.0), strict=True))
    make_up(monkeypatch, {CONTROL: 93.0, **rates}, lambda name: NEAR, tried=names)
    assert [one.name for one in optimise(small, str(photos)).proposals] == list(names)
    make_up(monkeypatch, {CONTROL: 88.0, **rates}, lambda name: NEAR, tried=names)
    assert optimise(small, str(photos)).proposals == ()


def test_less_memory_can_be_the_objective(monkeypatch: pytest.MonkeyPatch, photos: Path) -> None:
    memory = {"colour-after-crop": 1100, "crop-in-decoder": 900, "colour-into-twist": 897}
    make_up(monkeypatch, {"crop-in-decoder": 60.0}, memory=memory)
    found = optimise(slow_graph(), str(photos), objective="memory")
    assert [one.name for one in found.proposals] == ["colour-after-crop", "crop-in-decoder"]
    assert found.proposals[1].memory == 900
    assert "no less memory (1.00 times, noise 1%)" in found.rejected[-1].rejected
    assert found.total is not None
    assert found.total.median == pytest.approx(0.6), "its speed is reported as well"
    with pytest.raises(ArgumentError, match="objective"):
        optimise(slow_graph(), str(photos), objective="size")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("psnr", "kept"), [(None, True), (30.0, True), (60.0, True), (44.0, False)]
)
def test_a_near_rewrite_is_judged_by_the_sampling_error(
    monkeypatch: pytest.MonkeyPatch, photos: Path, psnr: float | None, kept: bool
) -> None:
    """At least 35 dB, or more if the graph's own sampling is more precise, but at most 45 dB."""
    found = replace(NEAR, psnr=43.0 if psnr == 44.0 else 47.0 if psnr == 60.0 else 36.0)
    rates = {name: 100.0 + 50 * n for n, name in enumerate(NAMES, 1)}
    make_up(monkeypatch, rates, lambda name: found if "twist" in name else SAME)
    known = SamplingError(psnr, "made up")
    monkeypatch.setattr(OptimisationExperiment, "_measured_sampling", lambda *_: known)
    result = optimise(slow_graph(), str(photos))
    assert ("colour-into-twist" in [one.name for one in result.proposals]) == kept
    if not kept:
        assert "43.0 dB on these data, below 44 dB, the sampling error" in repr(result)


def test_every_filter_is_exchanged_for_the_sampling_error() -> None:
    graph, source = with_other_filters(ResolvedGraph(turned_first(), CATALOG))
    assert graph.node("resize").args["interp_type"] == "INTERP_LANCZOS3"
    assert graph.node("rotate").args["interp_type"] == "INTERP_NN"
    assert source == "rotate with filter nearest pixel, resize with filter Lanczos"
    assert with_other_filters(ResolvedGraph(slow_graph(), CATALOG)) == (slow_graph(), "")
    assert {*CHAIN} < {*load_rewrites()}
