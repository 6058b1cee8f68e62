"""The effect of an argument: what can be varied, and the sheet of its variants."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from tests.ui.hosts import small
from tests.ui.screen import Make, Ready, edit, unpack, until
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.graph.edits.edit import randomise_arg, set_arg
from workbench.graph.model import Graph
from workbench.graph.storage.recipes import load_recipe
from workbench.preview import Effect
from workbench.ui.app.view_model import ViewModel
from workbench.ui.preview.effect_sheet import (
    Variant,
    chosen_arguments,
    effect_bytes,
    effect_variants,
    idle_names,
)
from workbench.ui.preview.effect_variations import effect_remark, variations

# Which arguments can be varied, and that only they differ between the variants.

CATALOG = load_catalog()


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
    assert chosen_arguments(names, [], {"contrast", "saturation"}) == [
        next(name for name in names if name in ("contrast", "saturation"))
    ]
    graph = load_recipe("imagenet-train")
    names, given = list(variations(graph, CATALOG, "normalize")), graph.node("normalize").inputs
    assert names[0] == "crop"
    assert chosen_arguments(names, [], given) == ["mirror"]


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


@pytest.mark.parametrize(
    ("angle", "expected"),
    [
        (0.0, [-40, -20, 0, 20, 40]),
        (15.0, [-40, -20, 0, 15, 40]),
        (90.0, [-90, -45, 0, 45, 90]),
        ((-6.0, 10.0), [-6, -2, 2, 6, 10]),
    ],
)
def test_the_span_is_what_is_usual_or_sampled(angle: Value, expected: list[float]) -> None:
    graph = set_arg(small(), CATALOG, "rotate", "angle", 0.0)
    if isinstance(angle, tuple):
        graph = randomise_arg(graph, CATALOG, "rotate", "angle", args={"range": angle})
    else:
        graph = set_arg(graph, CATALOG, "rotate", "angle", angle)
    shown = [variant.shown[0] for variant in effect_variants(graph, CATALOG, "rotate", ["angle"])]
    assert shown == expected


def test_a_fault_stands_in_its_place() -> None:
    graph = small()
    variants = [Variant((0.0,), (0.0,), graph, "it cannot run"), Variant((1.0,), (1.0,), graph)]
    effect = Effect(((0, 0, 8, 8),), ("",), b"x", "image/jpeg", (8, 8), (0,))
    found, _ = unpack(effect_bytes("color", ["hue"], variants, effect))
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
    assert remark.startswith("A reader's arguments determine which photos are read")
    warp = as_op("warp_affine", {"matrix": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)})
    offered = variations(warp, CATALOG, "color")
    remark = effect_remark(warp, CATALOG, "color", offered, [])
    assert remark == "There is no range of values to vary for matrix."
    remark = effect_remark(small(), CATALOG, "color", ["hue"], ["hue", "dtype"])
    assert remark.startswith("Other values of hue, dtype do not change this image.")


def test_an_argument_that_changes_no_picture_is_named() -> None:
    graph = small()
    variants = [Variant((a, b), (a, b), graph) for b in (0, 1) for a in (0, 1)]
    box = (0, 0, 8, 8)
    effect = Effect((box,) * 4, ("",) * 4, b"x", "image/jpeg", (8, 8), (0, 0, 2, 2))
    assert idle_names(["a", "b"], variants, effect) == ["a"]
    for boxes in ((box, box, box, None), (None,) * 4):  # the cure of a failure has an effect
        failed = Effect(boxes, ("",) * 4, b"x", "image/jpeg", (8, 8), (0, 0, 2, 3))
        assert idle_names(["a", "b"], variants, failed) == []
    header, _ = unpack(effect_bytes("color", ["a", "b"], variants, effect))
    assert header["note"].startswith("a: no visible effect on this photo")


# The effect sheet in the view-model: computed while it is open, after the pictures.

SHEET = "inspector", "effect"


@pytest.fixture
def ready(make: Make) -> Ready:
    model, screen = make(graph=set_arg(small(), CATALOG, "color", "saturation", 1.25))
    model.receive("canvas", "selected", ["color"])
    screen.wait_ready()
    return model, screen


def timer(model: ViewModel) -> threading.Timer | None:
    return model.background_previews._effect._debounced._timer


def wanted(model: ViewModel) -> bool:
    """Whether a sheet is asked for, or will be once the graph rests."""
    return timer(model) is not None


def test_a_click_adopts_a_value_in_one_step(ready: Ready) -> None:
    model, screen = ready
    assert "saturation" in screen["inspector", "effect_choices"]
    assert screen[SHEET] == b""
    assert not wanted(model)
    model.receive("inspector", "effect_args", ["saturation", "contrast"])
    assert not wanted(model), "nothing is asked while it is closed"
    model.receive("inspector", "effect_open", True)
    header, image = until(screen, SHEET, lambda h: h["args"] == ["saturation", "contrast"])
    assert (len(header["pictures"]), header["columns"], image[:2]) == (16, 4, b"\xff\xd8")
    assert all(each["box"] and not each["error"] for each in header["pictures"])
    assert not screen["inspector", "effect_stale"]

    before, steps = model.graph, len(model.history.before)
    screen.published.clear()
    saturation, contrast = header["pictures"][-1]["values"]
    for arg, value in (("saturation", saturation), ("contrast", contrast)):
        edit(model, "set", node="color", arg=arg, value=value, group="effect-1")
    assert screen["inspector", "effect_stale"]
    assert len(model.history.before) == steps + 1
    args = model.graph.node("color").args
    assert (args["saturation"], args["contrast"]) == (saturation, contrast)
    screen.wait(lambda s: not s["inspector", "effect_stale"], "the sheet of the new graph")
    order = [each for each in screen.published if each in (SHEET, ("preview", "picture"))]
    assert order[0] == ("preview", "picture"), "the preview comes before the sheet"
    assert order[-1] == SHEET
    model.act("bar", {"do": "undo"})
    assert model.graph == before
    screen.wait(lambda s: not s["inspector", "effect_stale"], "the sheet of what was before")

    model.receive("inspector", "effect_open", False)
    assert screen[SHEET] == b""
    assert not wanted(model)


def test_nothing_is_asked_while_a_value_is_dragged(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    monkeypatch.setattr("workbench.ui.jobs.background_results.DELAY", 3600)
    model.receive("inspector", "effect_open", True)
    screen.wait(lambda s: timer(model) is not None, "the first rest")
    first = timer(model)
    assert first is not None
    for value in (0.5, 0.75):
        picture = screen.picture
        edit(model, "set", node="color", arg="saturation", value=value, group="drag")
        screen.wait_other_picture(picture)
    screen.wait(lambda s: timer(model) is not first, "another rest")
    assert first.finished.is_set(), "each newer picture begins the rest anew"
    assert screen[SHEET] == b""


def test_what_changes_no_output_is_named_and_stays_offered(ready: Ready) -> None:
    model, screen = ready
    assert "image_type" in screen["inspector", "effect_choices"]
    model.receive("inspector", "effect_open", True)
    screen.wait(
        lambda s: "of image_type" in s["inspector", "effect_remark"],
        "the idle one is found out",
    )
    assert {"image_type", "saturation"} <= set(screen["inspector", "effect_choices"])
    model.receive("inspector", "effect_args", ["image_type"])
    header, _ = until(screen, SHEET, lambda h: h["args"] == ["image_type"])
    assert header["note"].startswith("image_type: no visible effect on this photo")
    assert "image_type" in screen["inspector", "effect_choices"]


def test_what_the_preview_scales_back_has_an_effect(make: Make) -> None:
    model, screen = make(graph=small("imagenet-eval"))
    model.receive("canvas", "selected", ["normalize"])
    screen.wait_ready()
    model.receive("inspector", "effect_open", True)
    for name in ("mean", "std", "crop"):
        if name not in screen["inspector", "effect_choices"]:
            continue
        model.receive("inspector", "effect_args", [name])
        header, _ = until(screen, SHEET, lambda h, name=name: h["args"] == [name])
        assert header["note"] == "", name
    assert {"mean", "std"} <= set(screen["inspector", "effect_choices"])
