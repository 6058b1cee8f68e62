"""Which arguments can be varied, and that only they differ between the variants."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.ui.hosts import small
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.graph.model import Graph
from workbench.preview import Effect
from workbench.ui.preview.effect_variations import effect_remark, variations
from workbench.ui.preview.effect_views import (
    Variant,
    chosen_arguments,
    effect_bytes,
    effect_variants,
    idle_names,
)

CATALOG = load_catalog()


def header(data: bytes) -> dict[str, Any]:
    return dict(json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")]))


def test_arguments_with_a_range_can_be_varied() -> None:
    names = list(variations(small(), CATALOG, "color"))
    assert {"brightness", "contrast", "saturation"} <= set(names)
    assert variations(small(), CATALOG, "reader") == {}
    assert variations(small(), CATALOG, "nowhere") == {}
    assert chosen_arguments(names, ["angle"]) == names[:1]
    assert chosen_arguments(names, ["saturation", "saturation", "contrast"]) == [
        "saturation",
        "contrast",
    ]


def test_all_other_nodes_keep_their_draws_where_a_drawn_argument_is_varied() -> None:
    graph = randomise_arg(small(), CATALOG, "color", "saturation", "random.uniform")
    before = {node.id: node for node in graph.nodes}
    for variant in effect_variants(graph, CATALOG, "color", ["saturation"]):
        after = {node.id: node for node in variant.graph.nodes}
        assert not variant.fault
        assert len(before) - len(after) == 1, "the generator of this argument alone goes"
        assert all(after[key] == before[key] for key in after if key != "color")


def test_the_present_value_is_among_them() -> None:
    graph = set_arg(small(), CATALOG, "color", "saturation", 1.37)
    values = [v.values[0] for v in effect_variants(graph, CATALOG, "color", ["saturation"])]
    assert 1.37 in values
    assert len(values) == 5
    graph = set_arg(graph, CATALOG, "color", "contrast", 0.7)
    pairs = [v.values for v in effect_variants(graph, CATALOG, "color", ["saturation", "contrast"])]
    assert (1.37, 0.7) in pairs
    assert (len(pairs), len(set(pairs))) == (16, 16)
    assert pairs[0][1] == pairs[3][1], "the second leads down"


def test_a_fault_stands_in_its_place() -> None:
    graph = small()
    variants = [Variant((0.0,), (0.0,), graph, "it cannot run"), Variant((1.0,), (1.0,), graph)]
    found = header(
        effect_bytes(
            "color",
            ["hue"],
            variants,
            Effect(((0, 0, 8, 8),), ("",), b"x", "image/jpeg", (8, 8), (0,)),
        )
    )
    assert [each["error"] for each in found["pictures"]] == ["it cannot run", ""]
    assert [each["box"] for each in found["pictures"]] == [[], [0, 0, 8, 8]]


def as_op(op: str, args: dict[str, Value]) -> Graph:
    """``small`` with another operator in place of ``color``."""
    (name,) = [port.name for port in CATALOG[op].inputs][:1]
    color = small().node("color")
    port = color.inputs["data"]
    seed = 7 if CATALOG[op].seeded else None
    made = replace(color, op=op, args=args, inputs={name: port}, seed=seed)
    return small().replace_node(made)


def test_a_list_is_varied_whole_and_by_its_elements() -> None:
    graph = as_op("crop_mirror_normalize", {"mean": (120.0, 60.0, 30.0), "std": 50.0})
    names = list(variations(graph, CATALOG, "color"))
    assert {"mean", "mean.r", "mean.g", "mean.b", "std", "std.r", "crop.h"} <= set(names)
    whole = effect_variants(graph, CATALOG, "color", ["mean"])
    assert (120.0, 60.0, 30.0) in [variant.values[0] for variant in whole]
    assert (255.0, 127.5, 63.75) in [variant.values[0] for variant in whole], "its proportions stay"
    green = effect_variants(graph, CATALOG, "color", ["mean.g"])
    assert green[0].values[0] == (120.0, 0.0, 30.0)
    assert 60.0 in [variant.shown[0] for variant in green]
    pairs = effect_variants(graph, CATALOG, "color", ["mean.r", "mean.b"])
    assert len({variant.values for variant in pairs}) == 16
    assert all(variant.values[0] == variant.values[1] for variant in pairs), "one list"
    single = effect_variants(graph, CATALOG, "color", ["std"])
    assert [variant.values[0] for variant in single][1] == 50.0, "the present one, as it is written"
    assert not any(variant.fault for variant in [*whole, *green, *pairs, *single])


def test_the_ends_of_a_range_stay_in_order() -> None:
    graph = as_op("random_resized_crop", {"size": (64, 64), "random_area": (0.2, 0.6)})
    assert "random_area" not in variations(graph, CATALOG, "color")
    for name in ("random_area.low", "random_area.high"):
        variants = effect_variants(graph, CATALOG, "color", [name])
        assert [variant.fault for variant in variants] == [""] * 5
        assert (0.2, 0.6) in [variant.values[0] for variant in variants]


def test_what_dali_ignores_is_not_offered_and_the_rest_is_named() -> None:
    names = variations(as_op("crop", {"crop": (64, 64)}), CATALOG, "color")
    assert {"crop", "crop_pos_x"} <= names.keys()
    assert not {"preserve", "crop_d", "crop_w", "crop_pos_z"} & names.keys()
    assert "rotate.size" not in names
    remark = effect_remark(small(), CATALOG, "reader", [], [])
    assert remark.startswith("A reader's values decide which photos come")
    warp = as_op("warp_affine", {"matrix": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)})
    offered = variations(warp, CATALOG, "color")
    remark = effect_remark(warp, CATALOG, "color", offered, [])
    assert remark == "Not varied, having neither range nor choices: matrix."
    remark = effect_remark(small(), CATALOG, "color", ["hue"], ["hue", "dtype"])
    assert remark.startswith("Without effect on this picture as it is: hue, dtype.")


def test_an_argument_that_changes_no_picture_is_named() -> None:
    graph = small()
    variants = [Variant((a, b), (a, b), graph) for b in (0, 1) for a in (0, 1)]
    box = (0, 0, 8, 8)
    effect = Effect((box,) * 4, ("",) * 4, b"x", "image/jpeg", (8, 8), (0, 0, 2, 2))
    assert idle_names(["a", "b"], variants, effect) == ["a"]
    for boxes in ((box, box, box, None), (None,) * 4):  # the cure of a failure has an effect
        failed = Effect(boxes, ("",) * 4, b"x", "image/jpeg", (8, 8), (0, 0, 2, 3))
        assert idle_names(["a", "b"], variants, failed) == []
    assert header(effect_bytes("color", ["a", "b"], variants, effect))["note"].startswith(
        "a changes nothing in this picture"
    )
