"""Arguments of automatic augmentation that do not go together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.catalog.auto_augment import SUITE
from workbench.graph import check_graph
from workbench.graph.fixes import fixes

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("op", "args", "arg", "words"),
    [
        ("rand_augment", {"m": 31}, "m", "it is 31, and there are 31 steps"),
        ("rand_augment", {"m": 9, "num_magnitude_bins": 9}, "m", "Give 0 to 8"),
        ("rand_augment", {"n": -1}, "n", "-1"),
        ("rand_augment", {"excluded": ("turn",)}, "excluded", "'turn' is no augmentation"),
        ("trivial_augment_wide", {"excluded": SUITE}, "excluded", "leaves out all of them"),
        ("trivial_augment_wide", {"max_translate_rel": (0.5, 0.5)}, "max_translate_rel", "shape"),
        ("auto_augment", {"policy_name": "cifar"}, "policy_name", "cifar"),
        (
            "auto_augment",
            {"policy_name": "reduced_image_net", "shape": (64, 64)},
            "shape",
            "translates nothing",
        ),
        (
            "rand_augment",
            {"shape": (64, 64), "max_translate_abs": (8, 8)},
            "shape",
            "max_translate_abs",
        ),
    ],
)
def test_each_is_told_and_can_be_mended(
    op: str, args: dict[str, Value], arg: str, words: str
) -> None:
    graph = chain_graph("resize", op)
    node = graph.node(op)
    graph = graph.replace_node(replace(node, args={**node.args, **args}))
    found = check_graph(graph, CATALOG)
    fault = next(fault for fault in found if fault.arg == arg)
    assert (fault.node, words in str(fault)) == (op, True), str(fault)
    assert fixes(graph, CATALOG, fault)


def test_what_goes_together_has_no_fault() -> None:
    for args in ({"m": 30}, {"shape": (64, 64), "max_translate_rel": (0.2, 0.4)}):
        graph = chain_graph("resize", "rand_augment", rand_augment=args)  # type: ignore[arg-type]
        assert check_graph(graph, CATALOG) == ()
