"""Proposals, rejections with reasons, differences of outputs, and applied rewrites."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import workbench as wb
from tests.bench.fakes import MACHINE, measured
from tests.graph.rewrites.laws import BATCH, CATALOG, difference, ops, start
from tests.optimiser.made_up import FAR, NAMES, NEAR, SAME, make_up, slow_graph
from workbench.bench.measuring.interleaved import NOT_YET
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.records.record import dump_report, load_report
from workbench.errors import (
    ArgumentError,
    CancelledError,
    DataError,
    EngineError,
    GraphEditError,
    GraphFaultsError,
    RecordFormatError,
)
from workbench.graph.edits.edit import set_arg
from workbench.graph.rewrites import EVERYWHERE, Rewrite, load_rewrites, rewritten
from workbench.graph.types.devices import infer_devices
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser import Optimisation, OptimisationExperiment, optimisation_of, optimise
from workbench.optimiser.difference import WorstSample
from workbench.optimiser.experiment import CONTROL, ORIGINAL
from workbench.optimiser.proposal import Proposal, difference_text, proposal_from_json

SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=1, budget=0.0)
FASTER = {"colour-after-crop": 200.0, "crop-in-decoder": 300.0, "colour-into-twist": 330.0}

SLOWER = {**FASTER, "colour-after-crop": 90.0, "crop-in-decoder": 92.0}


def proposed(photos: Path, **options: Any) -> Any:
    return optimise(slow_graph(), str(photos), **options)


def ended_early(run: OptimisationExperiment, measure: Any = None) -> Any:
    """The report so far of a run that is cancelled, in ``measure`` or at its first call."""

    def stopped(*given: Any) -> Any:
        run.stop.set()
        return measured_as_usual(*given)

    measured_as_usual = run.measure
    run.measure = measure or stopped  # type: ignore[method-assign, assignment]
    with pytest.raises(CancelledError):
        run.run()
    so_far = run.interrupted_report()
    assert so_far is not None
    return so_far


def test_each_is_measured_behind_those_before_it(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    seen = make_up(monkeypatch, FASTER, tried=load_rewrites())
    found = proposed(photos)
    assert seen[0] == [ORIGINAL, CONTROL, *NAMES, "fast-idct"]
    assert found.rejected[-1].rejected == "slower: 0.30 times"
    assert [one.name for one in found.proposals] == list(NAMES)
    assert [round(one.gain.median, 2) for one in found.proposals] == [2.0, 1.5, 1.1]
    assert [one.kind for one in found.proposals] == ["exact", "exact", "near"]
    assert found.total.median == pytest.approx(3.3)
    assert found.control.median == 1.0
    assert found.proposals[1].needs == ("colour-after-crop",)
    assert found.proposals[0].nodes == ("contrast", "crop")


def test_what_finds_a_place_only_behind_a_near_one_comes_behind_it(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    """A cast before a resize: after it, it is merged into the normalisation."""
    graph = start().cast(dtype="FLOAT").resize(size=(60.0, 60.0)).crop_mirror_normalize()
    seen = make_up(
        monkeypatch, {"colour-after-resize": 200.0, "cast-into-normalize": 250.0}, lambda name: NEAR
    )
    found = optimise(graph.with_settings(batch_size=4, num_threads=1), str(photos))
    assert seen == [[ORIGINAL, CONTROL, "colour-after-resize", "cast-into-normalize"]]
    assert [one.kind for one in found.proposals] == ["near", "near"], "its class alone is exact"
    assert found.proposals[1].needs == ("colour-after-resize",)
    assert ops(found.apply())[-2:] == ["resize", "crop_mirror_normalize"]
    assert found.apply("exact") == found.graph


def test_what_is_slower_than_the_controls_noise_is_left_and_the_rest_measured_without_it(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    seen = make_up(monkeypatch, {**SLOWER, CONTROL: 97.0})
    found = proposed(photos)
    assert [seen[at][2:] for at in (0, -1)] == [list(NAMES), ["colour-into-twist"]]
    assert [one.name for one in found.proposals] == ["colour-into-twist"]
    assert [(one.name, one.rejected) for one in found.rejected] == [
        ("colour-after-crop", "slower: 0.90 times")
    ]


def test_the_accepted_ones_are_measured_together_if_no_sequence_is_accepted_whole(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    monkeypatch.setattr("workbench.optimiser.experiment._MOST_CHAINS", 1)
    seen = make_up(monkeypatch, {**FASTER, "crop-in-decoder": 150.0})
    found = proposed(photos)
    assert [one.name for one in found.rejected] == ["crop-in-decoder"]
    assert seen[-1] == [ORIGINAL, "colour-after-crop, colour-into-twist"]
    assert found.total is not None


def test_slower_within_the_noise_stays_where_it_is_exact(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    make_up(monkeypatch, {CONTROL: 94.0, "colour-after-crop": 96.0, "colour-into-twist": 104.0})
    found = proposed(photos)
    assert [one.name for one in found.proposals] == ["colour-after-crop", "crop-in-decoder"]
    (near,) = found.rejected
    assert "no faster (1.04 times, noise 6%), and it changes pixels" in near.rejected


@pytest.mark.parametrize(("last", "kept"), [(140.0, 2), (103.0, 0)], ids=["worth it", "not"])
def test_what_only_makes_way_is_kept_where_both_are_faster(
    monkeypatch: pytest.MonkeyPatch, photos: Path, last: float, kept: int
) -> None:
    names = ["colour-after-resize", "cast-into-normalize"]
    make_up(monkeypatch, {CONTROL: 95.0, names[0]: 101.0, names[1]: last}, lambda name: NEAR)
    graph = start().cast(dtype="FLOAT").resize(size=(60.0, 60.0)).crop_mirror_normalize()
    found = optimise(graph.with_settings(batch_size=4, num_threads=1), str(photos))
    assert [one.name for one in found.proposals] == names[:kept]


@pytest.mark.parametrize(
    ("pixels", "words"),
    [(FAR, "21.0 dB on these data, below 35"), (SAME.__class__(other="shapes"), "shapes")],
)
def test_pixels_too_far_from_the_original_are_not_measured(
    monkeypatch: pytest.MonkeyPatch, photos: Path, pixels: Any, words: str
) -> None:
    def of(name: str) -> Any:
        return pixels if name == "colour-into-twist" else SAME

    seen = make_up(monkeypatch, FASTER, of)
    found = proposed(photos)
    assert seen == [[ORIGINAL, CONTROL, *NAMES[:2]]]
    assert words in found.rejected[0].rejected


def test_an_exact_rewrite_with_one_byte_that_differs_is_refused(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    make_up(monkeypatch, FASTER, lambda name: NEAR)
    found = proposed(photos)
    assert [one.name for one in found.proposals] == ["colour-into-twist"]
    assert {one.rejected for one in found.rejected} == {
        "its pixels are not bit-identical on these data"
    }


def test_one_that_fails_has_its_reason(monkeypatch: pytest.MonkeyPatch, photos: Path) -> None:
    make_up(monkeypatch, {**FASTER, "colour-into-twist": 0.0})
    found = proposed(photos)
    assert found.rejected[0].rejected == "not measured: it ended"
    make_up(monkeypatch, {ORIGINAL: 0.0})
    with pytest.raises(EngineError, match="not measured: it ended"):
        proposed(photos)


def test_a_run_that_is_ended_early_keeps_what_it_has(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    make_up(monkeypatch, FASTER)
    run = OptimisationExperiment(slow_graph(), str(photos))
    assert run.interrupted_report() is None
    so_far = ended_early(run)
    found = optimisation_of(slow_graph(), so_far)
    assert found.interrupted
    assert [one.name for one in found.proposals] == list(NAMES)


def test_one_ended_in_its_first_look_keeps_that(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float]
) -> None:
    make_up(monkeypatch, {ORIGINAL: 50.0})
    run = OptimisationExperiment(slow_graph(), str(photos), seconds=60.0)
    so_far = ended_early(run)
    (row,) = so_far.measurements
    assert (row.label, row.median) == (ORIGINAL, pytest.approx(50.0))
    found = optimisation_of(slow_graph(), load_report(dump_report(so_far)))
    assert found.lines() == [
        "untitled: 0 rewrites proposed (ended early)",
        "  speed of the graph: 50 imgs/s",
        "  peak memory: 954 MiB",
    ]
    assert found._repr_html_().count("ended early") == 1


def test_one_ended_before_the_graph_has_a_figure_beside_the_rest_keeps_its_first_look(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float]
) -> None:
    make_up(monkeypatch, {ORIGINAL: 50.0})
    run = OptimisationExperiment(slow_graph(), str(photos), seconds=60.0)
    measure = run.measure

    def stopped(entries: Any, *how: Any) -> Any:
        if len(entries) == 1:
            return measure(entries, *how)
        waiting = tuple(Measurement(e.config, reason=NOT_YET, label=e.label) for e in entries[1:])
        run.on_rows((measured(50.0, ORIGINAL), *waiting))
        raise CancelledError("Cancelled.")

    so_far = ended_early(run, stopped)
    assert [row.label for row in so_far.measurements] == [ORIGINAL]


def test_one_ended_before_the_rest_is_measured_again_has_the_first_figures(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    make_up(monkeypatch, {**FASTER, "colour-into-twist": 90.0, "crop-in-decoder": 50.0})
    run = OptimisationExperiment(slow_graph(), str(photos))
    measure, calls = run.measure, iter(range(9))

    def stopped(*args: Any) -> Any:
        if next(calls):
            raise CancelledError("before its first round")
        return measure(*args)

    so_far = ended_early(run, stopped)
    found = optimisation_of(slow_graph(), so_far)
    names = [one.name for one in (*found.proposals, *found.rejected)]
    assert sorted(names) == sorted(NAMES), "each once"
    assert found.total is None, "nobody measured those that are left together"
    assert "slower" in next(o for o in found.rejected if o.name == "crop-in-decoder").rejected


@pytest.mark.parametrize("no_gpu", ["", "this machine has no NVIDIA GPU"])
def test_placement_is_measured_node_by_node_where_there_is_a_gpu(
    monkeypatch: pytest.MonkeyPatch, photos: Path, no_gpu: str
) -> None:
    machine = replace(MACHINE, no_gpu=no_gpu)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: machine
    )
    rates = {"on-the-gpu@crop": 80.0, "on-the-gpu@brightness": 150.0, "on-the-gpu@contrast": 300.0,
             "on-the-gpu@decode": 900.0}  # fmt: skip
    seen = make_up(monkeypatch, rates, lambda name: NEAR)
    found = proposed(photos, rewrites=["on-the-gpu", "on-the-cpu"])
    if no_gpu:
        (one,) = found.rejected
        assert (one.name, one.rejected) == ("on-the-gpu", f"it needs a GPU: {no_gpu}")
        assert found.proposals == ()
        return
    assert seen[0][2:] == list(rates)
    assert [one.rejected for one in found.rejected] == ["slower: 0.80 times"]
    assert [one.name for one in found.proposals] == list(rates)[1:]
    assert found.proposals[0].title == "On the GPU from here on: brightness"
    assert found.proposals[0].nodes == ("brightness",)
    assert infer_devices(found.apply("on-the-gpu@contrast"), CATALOG)["crop"] == "gpu"
    assert found.apply().node("decode").device == "mixed"


def test_what_cannot_be_optimised_says_why(photos: Path) -> None:
    bad = set_arg(start().brightness(brightness=2), CATALOG, "brightness", "brightness", "very")
    with pytest.raises(GraphFaultsError, match="brightness"):
        optimise(bad, str(photos))
    with pytest.raises(GraphEditError, match="Did you mean join-crops"):
        optimise(slow_graph(), str(photos), ["join-crop"])
    with pytest.raises(DataError, match="There is no folder"):
        optimise(slow_graph(), "nowhere")


def test_for_real_a_lie_is_found_and_a_law_is_not(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    def brighter(typed: TypedGraph) -> Any:
        graph = typed.graph
        node = next((n for n in graph.nodes if n.args.get("brightness") == 0.9), None)
        if node is not None:
            args = {**node.args, "brightness": 0.95}
            yield graph.replace_node(type(node)(node.id, node.op, args, node.inputs))

    lie = Rewrite("a-lie", "A lie", "", brighter, EVERYWHERE)
    known = {"a-lie": lie, "colour-after-crop": load_rewrites()["colour-after-crop"]}
    for module in ("workbench.graph.rewrites", "workbench.optimiser.experiment"):
        monkeypatch.setattr(f"{module}.load_rewrites", lambda: known)
    monkeypatch.setattr("workbench.optimiser.result.load_rewrites", lambda: known)
    found = optimise(slow_graph(), str(photos), config=SHORT)
    names = {one.name: one for one in (*found.proposals, *found.rejected)}
    assert names["a-lie"].rejected == "its pixels are not bit-identical on these data"
    assert names["a-lie"].difference.equal < 1
    assert names["colour-after-crop"].difference.identical


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the deadlines take for the time, in s."""
    now = [0.0]
    monkeypatch.setattr(
        "workbench.bench.measuring.deadline.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    return now


def test_a_graph_without_a_place_is_not_measured_beside_itself(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    seen = make_up(monkeypatch, {})
    found = optimise(start().with_settings(batch_size=4, num_threads=1), str(photos))
    assert seen == [[ORIGINAL]], "one short look"
    assert (found.proposals, found.control, found.interrupted) == ((), None, False)
    assert "  no rewrite remained to be measured" in found.lines()
    assert found.to_frame().empty


@pytest.mark.parametrize(
    ("seconds", "rate", "kept"), [(60.0, 100.0, 3), (20.0, 15.0, 2), (20.0, 12.0, 1)]
)
def test_a_time_measures_as_many_as_it_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
    photos: Path,
    clock: list[float],
    seconds: float,
    rate: float,
    kept: int,
) -> None:
    """Each takes 72 images at the least."""
    rates = {ORIGINAL: rate, CONTROL: rate}
    rates |= {name: rate * faster for faster, name in enumerate(NAMES, 2)}
    seen = make_up(monkeypatch, rates)
    found = proposed(photos, seconds=seconds)
    together = {3: NAMES, 2: NAMES[::2], 1: NAMES[2:]}[kept]
    assert seen == [[ORIGINAL], [ORIGINAL, CONTROL, *together]]
    assert [one.name for one in found.proposals] == list(NAMES), "with the next measured one"
    assert [one.name for one in found.proposals if one.gain] == list(together)
    assert found.total.median == pytest.approx(4.0)
    assert found.interrupted == (kept < len(NAMES))


def test_a_time_that_is_too_short_for_one_proposes_nothing(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float]
) -> None:
    seen = make_up(monkeypatch, {ORIGINAL: 4.0})
    measure = OptimisationExperiment.measure

    def slowly(run: OptimisationExperiment, entries: Any, *how: Any) -> Any:
        clock[0] += 9.0
        return measure(run, entries, *how)

    monkeypatch.setattr(OptimisationExperiment, "measure", slowly)
    monkeypatch.setattr("workbench.optimiser.experiment.start_seconds", lambda *_: 6.0)
    found = proposed(photos, seconds=20)
    assert seen == [[ORIGINAL]]
    assert (found.proposals, found.interrupted) == ((), True)
    late = "not measured: two graphs need a time limit of about 57 s"
    assert {one.name: one.rejected for one in found.rejected} == dict.fromkeys(NAMES, late)
    with pytest.raises(ArgumentError, match=r"seconds is 5. Use 20 or more"):
        proposed(photos, seconds=5)


@pytest.mark.parametrize(("faster", "count"), [(2.0, 3), (0.9, 0)])
def test_if_nothing_else_fits_the_graph_and_all_rewrites_are_measured(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float], faster: float, count: int
) -> None:
    seen = make_up(monkeypatch, {ORIGINAL: 4.0, NAMES[-1]: 4.0 * faster})
    lines: list[str] = []
    run = OptimisationExperiment(slow_graph(), str(photos), seconds=20.0)
    run.on_result = lines.append
    found = optimisation_of(slow_graph(), run.run())
    assert seen == [[ORIGINAL], [ORIGINAL, NAMES[-1]]]
    assert len(found.proposals) == count
    assert lines[0] == "the graph: 4 imgs/s, 954 MiB"
    if count:
        assert found.total is not None
        assert found.total.median == pytest.approx(faster)
    assert found.control is not None
    assert found.interrupted


def test_a_measurement_ended_by_the_time_limit_proposes_nothing(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float]
) -> None:
    make_up(monkeypatch, {ORIGINAL: 4.0})
    run = OptimisationExperiment(slow_graph(), str(photos), seconds=20.0)
    measure = run.measure

    def cut(entries: Any, *how: Any) -> Any:
        rows = measure(entries, *how)
        return rows if len(rows) == 1 else (rows[0], replace(rows[1], rounds=rows[1].rounds[:1]))

    run.measure = cut  # type: ignore[method-assign]
    found = optimisation_of(slow_graph(), run.run())
    assert not found.proposals
    assert {"not measured: two graphs need a time limit of about 36 s"} == {
        one.rejected for one in found.rejected
    }


def test_one_ended_while_pixels_are_compared_keeps_the_differences(
    monkeypatch: pytest.MonkeyPatch, photos: Path
) -> None:
    make_up(monkeypatch, FASTER)
    run = OptimisationExperiment(slow_graph(), str(photos))

    def ended(*_: Any) -> Any:
        raise CancelledError("Cancelled.")

    so_far = ended_early(run, ended)
    found = optimisation_of(slow_graph(), load_report(dump_report(so_far)))
    assert (found.proposals, found.interrupted) == ((), True)
    for one, differs in zip(found.rejected, (SAME, SAME, NEAR), strict=True):
        words = f"not measured: the search was ended; {difference_text(differs)}"
        assert any(line.endswith(words) and one.name in line for line in found.lines())


def test_what_the_time_does_not_compare_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float]
) -> None:
    def pixels(_: str) -> Any:
        clock[0] = 40.0
        return SAME

    seen = make_up(monkeypatch, FASTER, pixels)
    found = proposed(photos, seconds=60)
    assert seen[-1] == [ORIGINAL, CONTROL, NAMES[0]]
    assert [one.rejected for one in found.rejected] == [
        "not compared within the time limit: increase it"
    ] * 2
    assert found.interrupted


def test_what_is_slow_is_not_measured_again_without_where_the_time_has_no_room(
    monkeypatch: pytest.MonkeyPatch, photos: Path, clock: list[float]
) -> None:
    seen = make_up(monkeypatch, SLOWER)
    measure = OptimisationExperiment.measure

    def slowly(run: OptimisationExperiment, entries: Any, *how: Any) -> Any:
        clock[0] += 8.0 if len(entries) == 1 else 51.0
        return measure(run, entries, *how)

    monkeypatch.setattr(OptimisationExperiment, "measure", slowly)
    found = proposed(photos, seconds=60)
    assert seen == [[ORIGINAL], [ORIGINAL, CONTROL, *NAMES]]
    assert found.interrupted
    assert "colour-after-crop" in [one.name for one in found.rejected]
    assert found.proposals


# Differences of outputs.


def test_a_shift_of_one_level_is_48_db(photos: Path) -> None:
    image = start().crop(crop=(40, 40)).images
    dark = (image / 2).cast(dtype="UINT8")
    graph = wb.outputs(images=dark)
    found = difference(graph, wb.outputs(images=(dark + 1).cast(dtype="UINT8")), photos)
    assert found.largest == found.mean == 1.0
    assert found.equal == 0.0
    assert abs(found.psnr - 20 * math.log10(255)) < 1e-9
    assert found.samples == 2 * BATCH
    worst = found.worst[0]
    assert worst.before.startswith(b"\xff\xd8")
    assert worst.after != worst.before
    assert worst.file.endswith(".jpg")


def test_what_has_no_extent_or_no_number_is_far_off_also_in_a_record(photos: Path) -> None:
    flat = start().crop(crop=(40, 40)).images * 0.0
    for other in (flat + 1.0, 1.0 / flat):
        found = difference(wb.outputs(images=flat), wb.outputs(images=other), photos)
        assert found.psnr == 0.0
        assert not found.identical
        kept = proposal_from_json(Proposal("a", "A", "near", difference=found).to_json())
        assert kept.difference.psnr == 0.0


def test_another_shape_type_or_label_is_told(photos: Path) -> None:
    graph = start().crop(crop=(40, 40))
    assert (
        "(40, 40, 3) and uint8 (40, 41, 3)"
        in difference(graph, start().crop(crop=(40, 41)), photos).other
    )
    assert "float32" in difference(graph, graph.cast(dtype="FLOAT"), photos).other
    other = wb.outputs(images=graph.images, labels=graph.labels + 1)
    assert difference(graph, other, photos).other
    assert difference(graph, graph, photos).identical


def test_boxes_that_differ_in_their_last_bits_are_rounded(photos: Path) -> None:
    def boxes(*values: float) -> wb.DataNode:
        return wb.fn.constant(fdata=values, shape=(1, 4), dtype="FLOAT")

    image = start().crop(crop=(40, 40)).images
    given = (0.1, 12.5, 300.25, 999.0)
    graph = wb.outputs(images=image, boxes=boxes(*given))
    found = difference(
        graph, wb.outputs(images=image, boxes=boxes(0.1, 12.5, 300.2501, 999.0001)), photos
    )
    assert (found.rounded, found.other, found.identical) == (("boxes",), "", False)
    assert difference_text(found).endswith("; boxes: the last bits")
    kept = proposal_from_json(Proposal("a", "A", "near", difference=found).to_json())
    assert kept.difference.rounded == ("boxes",)
    moved = difference(graph, wb.outputs(images=image, boxes=boxes(0.11, *given[1:])), photos)
    assert moved.other == "boxes differs in sample 0 of batch 0"


# Results: displayed, stored in a record and applied.

LARGEST_REPR = 100_000


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, photos: Path) -> Optimisation:
    rates = {"colour-after-crop": 200.0, "crop-in-decoder": 300.0, "colour-into-twist": 400.0}
    make_up(monkeypatch, rates)
    return optimise(slow_graph(), str(photos))


def test_it_is_applied_by_name_with_what_it_needs_by_class_or_whole(found: Optimisation) -> None:
    assert ops(found.apply())[1:] == ["decoders.image_crop", "brightness_contrast"]
    assert ops(found.apply("exact"))[1:] == ["decoders.image_crop", "contrast", "brightness"]
    assert found.apply("crop-in-decoder") == found.apply("exact")
    assert found.apply(*NAMES) == rewritten(TypedGraph(found.graph, CATALOG), NAMES)
    with pytest.raises(GraphEditError, match=r"There is no proposal .*\. Use colour-after"):
        found.apply("join-crops")


def test_it_shows_itself_as_text_frame_and_html(found: Optimisation) -> None:
    assert "colour-into-twist" in repr(found)
    assert "all together                   4.00 times" in repr(found)
    assert found.plot()._repr_png_()[:4] == b"\x89PNG"
    frame = found.to_frame()
    assert list(frame["rewrite"]) == list(NAMES)
    assert list(frame["class"]) == ["exact", "exact", "near"]
    html = found._repr_html_()
    assert "47.0 dB, 80.0% equal" in html
    assert len(html.encode()) < LARGEST_REPR


def test_a_record_holds_it(found: Optimisation) -> None:
    again = optimisation_of(found.graph, load_report(dump_report(found.report)))
    assert again.proposals == found.proposals
    assert again.total == found.total
    with pytest.raises(RecordFormatError, match="no proposals"):
        optimisation_of(found.graph, type(found.report)("g", "d", found.report.machine, ()))


def test_pictures_stand_once_where_the_pixels_stay_from_one_to_the_next(
    found: Optimisation,
) -> None:
    first, second, near = found.proposals
    worst = (WorstSample(0, 3, "b.jpg", "images", 41.0, b"before", b"after"),)
    far = replace(near.difference, worst=worst)
    farther = replace(far, worst=(replace(worst[0], after=b"other"),))
    three = [replace(one, difference=far) for one in (first, second)]
    three.append(replace(near, difference=farther))
    again = replace(found, proposals=tuple(three))
    assert again.pictures == {first.name: far.worst, near.name: farther.worst}
    assert again._repr_html_().count("largest difference from the original:") == 2
