"""What the panel shows of the optimiser, and what is taken from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench.bench.experiments.speed_experiment
from tests.graph.rewrites.laws import ops
from tests.optimiser.made_up import NAMES, make_up, slow_graph
from tests.ui.speed.conftest import NO_GPU, Bed
from workbench.errors import CancelledError, GraphEditError
from workbench.graph import load_recipe
from workbench.ui.speed.speed_actions import ApplyRewrites


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, bed: Bed) -> Bed:
    rates = {"colour-after-crop": 200.0, "crop-in-decoder": 300.0, "colour-into-twist": 310.0}
    make_up(monkeypatch, rates)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: NO_GPU
    )
    bed.graph = slow_graph()
    bed.run(what="rewrites")
    return bed


def entries(bed: Bed) -> dict[str, Any]:
    return {entry["name"]: entry for entry in bed["rewrites"]["rewrites"]}


def take(bed: Bed, *names: str) -> None:
    action = ApplyRewrites(bed["rewrites"]["on"][0]["id"], list(names))
    bed.graph = bed.edited(action)


def test_every_proposal_has_gain_pixels_nodes_and_the_worst_samples(found: Bed) -> None:
    assert found["part"] == "rewrites"
    assert found["rewrites"]["total"].startswith("3.10 ×")
    assert found["rewrites"]["control"].startswith("1.00 ×")
    assert list(entries(found)) == list(NAMES)
    assert found["rewrites"]["notes"] == [
        "speed of the graph: 100 imgs/s",
        "peak memory: 954 MiB instead of 954 MiB",
    ]
    crop, near = entries(found)["crop-in-decoder"], entries(found)["colour-into-twist"]
    assert (crop["kind"], crop["gain"], crop["pixels"]) == ("exact", "1.50 ×", "none in 24 samples")
    assert {"decode", "crop"} <= set(crop["nodes"])
    assert crop["needs"] == ["Colour after crops"]
    assert "becomes" in crop["law"]
    assert (near["kind"], near["taken"]) == ("near", False)
    assert "47.0 dB" in near["pixels"]


def test_a_run_that_goes_on_has_a_row_for_each_rewrite(
    monkeypatch: pytest.MonkeyPatch, bed: Bed
) -> None:
    make_up(monkeypatch, {"colour-after-crop": 200.0, "crop-in-decoder": 50.0})
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: NO_GPU
    )
    bed.graph = slow_graph()
    measure: Any = vars(workbench.bench.experiments.speed_experiment)["measure"]  # the made up one
    shown: list[Any] = []

    def observed(*args: Any) -> Any:
        shown.append(bed["rewrites"])  # compared, before the first round
        rows = measure(*args)
        shown.append(bed["rewrites"])
        return rows

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", observed)
    bed.run(what="rewrites")
    before, measured = shown[:2]
    assert before["on"][0]["partial"].startswith("Partial: 3 of 3 rewrites compared")
    assert [(one["name"], one["gain"]) for one in before["rewrites"]] == [(n, "") for n in NAMES]
    assert measured["on"][0]["partial"].startswith("Partial: 6 rounds measured so far")
    so_far = {one["name"]: one for one in measured["rewrites"]}
    assert so_far["colour-after-crop"]["gain"] == "2.00 ×"
    assert so_far["crop-in-decoder"]["rejected"].startswith("slower")
    assert not any(one["taken"] for one in measured["rewrites"])
    assert bed["rewrites"]["on"][0]["partial"] == ""


def test_a_search_that_is_cancelled_while_it_compares_shows_the_differences(
    monkeypatch: pytest.MonkeyPatch, bed: Bed
) -> None:
    make_up(monkeypatch, {})
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: NO_GPU
    )
    bed.graph = slow_graph()

    def cancelled(*_: Any) -> Any:
        bed.do("cancel")
        raise CancelledError("Cancelled.")

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", cancelled)
    bed.run(what="rewrites")
    assert "Stopped early" in bed["message"]
    shown = entries(bed)
    assert {one["rejected"] for one in shown.values()} == {"not measured: the search was ended"}
    assert [shown[name]["pixels"] != "" for name in NAMES] == [True] * 3


def test_a_graph_without_a_rewrite_has_no_control(
    monkeypatch: pytest.MonkeyPatch, bed: Bed
) -> None:
    make_up(monkeypatch, {})
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: NO_GPU
    )
    bed.graph = load_recipe("rotate-jitter")
    bed.run(what="rewrites")
    assert (bed["rewrites"]["control"], bed["rewrites"]["total"]) == ("", "")


def test_one_is_taken_then_all_and_what_is_done_says_so(found: Bed) -> None:
    take(found, "colour-after-crop")
    assert ops(found.graph)[1:] == ["decoders.image", "crop", "contrast", "brightness"]
    assert [entry["taken"] for entry in entries(found).values()] == [True, False, False]
    assert "undo restores" in found["message"]
    take(found)
    assert ops(found.graph)[1:] == ["decoders.image_crop", "brightness_contrast"]
    assert all(entry["taken"] for entry in entries(found).values())
    with pytest.raises(GraphEditError, match="does not change the current graph"):
        take(found)


def test_the_exact_ones_are_taken_by_their_class(found: Bed) -> None:
    take(found, "exact")
    assert ops(found.graph)[1:] == ["decoders.image_crop", "contrast", "brightness"]


def test_a_record_of_another_kind_proposes_nothing(found: Bed, tmp_path: Path) -> None:
    found.run(what="compare")
    found.speed.set("part", "compare")
    action = ApplyRewrites(found["compare"]["on"][0]["id"], [])
    with pytest.raises(GraphEditError, match="no proposals"):
        found.edited(action)
