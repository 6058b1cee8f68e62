"""What a generator starts with, and what it cannot feed."""

import pytest

from workbench.catalog import ArgSpec, Value, load_catalog
from workbench.graph import Node
from workbench.graph.edits.generators import draw_args, draw_refusal, element_of, generators_for

CATALOG = load_catalog()
ANGLE = CATALOG["rotate"].args["angle"]
FLIP = CATALOG["flip"].args["horizontal"]


def test_the_kind_of_an_argument_says_what_can_draw_it() -> None:
    assert generators_for(ANGLE) == ("random.uniform", "random.normal", "random.beta")
    assert "random.beta" not in generators_for(FLIP)
    assert generators_for(ArgSpec("a", "bool", tensor=True)) == ("random.coin_flip",)
    assert generators_for(ArgSpec("a", "int", tensor=True, minimum=1)) == (
        "random.uniform",
        "random.normal",
    )
    for arg in (
        CATALOG["rotate"].args["keep_size"],  # no tensor
        CATALOG["resize"].args["interp_type"],  # names
        CATALOG["random.uniform"].args["range"],  # its ends would cross
        CATALOG["warp_affine"].args["matrix"],  # transforms.* make it
    ):
        assert generators_for(arg) == ()


@pytest.mark.parametrize(
    ("op", "arg", "value", "before", "expected"),
    [
        ("random.uniform", ANGLE, 15, {}, {"range": (-10, 10)}),
        ("random.normal", ANGLE, 15, {}, {"mean": 0, "stddev": 5}),
        ("random.normal", ANGLE, 15, {"range": (2, 4)}, {"mean": 3, "stddev": 0.5}),
        ("random.uniform", ANGLE, 15, {"mean": 3, "stddev": 0.5}, {"range": (2, 4)}),
        ("random.uniform", ANGLE, 15, {"values": (9, 1, 5)}, {"range": (1, 9)}),
        ("random.uniform", ANGLE, 15, {"values": (9,)}, {"range": (-10, 10)}),
        ("random.beta", ANGLE, 15, {"range": (2, 4)}, {}),
        ("random.coin_flip", FLIP, 1, {}, {}),
        ("random.uniform", FLIP, 1, {}, {"range": (0, 1), "dtype": "INT32"}),
        ("random.uniform", ANGLE, 1, {"shape": (3,)}, {"range": (-10, 10), "shape": (3,)}),
        ("random.uniform", ArgSpec("a", "float"), None, {}, {"range": (0, 1)}),
        ("random.uniform", ArgSpec("a", "int", minimum=1), 1, {}, {"range": (1, 2)}),
        ("random.uniform", ArgSpec("a", "float", low=0, high=8), 8, {}, {"range": (7, 8)}),
    ],
)
def test_a_generator_starts_with_what_suits(
    op: str, arg: ArgSpec, value: Value, before: dict[str, Value], expected: dict[str, Value]
) -> None:
    found = draw_args(op, arg, value, before)
    assert {key: found[key] for key in expected} == expected
    assert found.keys() - expected.keys() <= {"dtype"}


def test_as_many_numbers_are_drawn_as_the_argument_has() -> None:
    size = CATALOG["rotate"].args["size"]
    assert draw_args("random.uniform", size, (64, 64), {})["shape"] == (2,)
    assert draw_args("random.uniform", size, None, {})["shape"] == (2,)
    assert "shape" not in draw_args("random.uniform", ANGLE, 15, {})


def test_what_a_generator_cannot_feed() -> None:
    floats = Node("draw", "random.uniform", {"range": (0, 1)})
    whole = Node("draw", "random.uniform", {"dtype": "INT32"})
    coin = Node("coin", "random.coin_flip")
    assert (element_of(floats), element_of(whole), element_of(coin)) == ("FLOAT", "INT32", "INT32")
    assert draw_refusal(floats, ANGLE) is None
    assert draw_refusal(whole, FLIP) is None
    assert draw_refusal(coin, FLIP) is None
    assert draw_refusal(whole, ANGLE) == "angle takes FLOAT, and draw draws INT32"
    assert "random.uniform" in (draw_refusal(coin, ANGLE) or "")
    matrix = CATALOG["warp_affine"].args["matrix"]
    assert draw_refusal(floats, matrix) == "matrix takes no random numbers"
