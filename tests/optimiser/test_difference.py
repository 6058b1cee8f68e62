"""How far outputs lie apart."""

from __future__ import annotations

import math
from pathlib import Path

import workbench as wb
from tests.graph.rewrites.laws import BATCH, difference, start
from workbench.optimiser.proposal import Proposal, difference_words, proposal_from_json


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
    assert difference_words(found).endswith("; boxes: the last bits")
    kept = proposal_from_json(Proposal("a", "A", "near", difference=found).to_json())
    assert kept.difference.rounded == ("boxes",)
    moved = difference(graph, wb.outputs(images=image, boxes=boxes(0.11, *given[1:])), photos)
    assert moved.other == "boxes differs in sample 0 of batch 0"
