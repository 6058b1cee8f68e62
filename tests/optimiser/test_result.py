"""What was found, looked at, kept in a record and applied."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.graph.rewrites.laws import CATALOG, ops
from tests.optimiser.made_up import NAMES, make_up, slow_graph
from workbench.bench.records.record import dump_report, load_report
from workbench.errors import GraphEditError, RecordFormatError
from workbench.graph.rewrites import rewritten
from workbench.optimiser import Optimisation, optimisation_of, optimise
from workbench.optimiser.difference import WorstSample

LARGEST_REPR = 100_000


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, photos: Path) -> Optimisation:
    rates = {"colour-after-crop": 200.0, "crop-in-decoder": 300.0, "colour-into-twist": 400.0}
    make_up(monkeypatch, rates)
    return optimise(slow_graph(), str(photos))


def test_it_is_applied_by_name_with_what_it_needs_by_class_or_whole(found: Optimisation) -> None:
    assert ops(found.apply())[1:] == ["decoders.image_crop", "color_twist"]
    assert ops(found.apply("exact"))[1:] == ["decoders.image_crop", "contrast", "brightness"]
    assert found.apply("crop-in-decoder") == found.apply("exact")
    assert found.apply(*NAMES) == rewritten(found.graph, CATALOG, NAMES)
    with pytest.raises(GraphEditError, match=r"'join-crops' is not proposed\. Give colour-after"):
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
    assert again._repr_html_().count("farthest from the original:") == 2
