"""Arguments of automatic augmentation that do not go together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from nvidia.dali.types import DALIDataType

from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.catalog.own_operators.auto_augment import SUITE, WARPS
from workbench.graph import check_graph
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.fixes import fixes

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("op", "args", "arg", "words"),
    [
        ("rand_augment", {"m": 31}, "m", "it is 31, and there are 31 steps"),
        ("rand_augment", {"m": 9, "num_magnitude_bins": 9}, "m", "Give 0 to 8"),
        ("rand_augment", {"n": -1}, "n", "-1"),
        ("rand_augment", {"excluded": ("turn",)}, "excluded", "'turn' is no augmentation"),
        ("rand_augment", {"excluded": "rotate"}, "excluded", "'rotate' is a text, not a list"),
        ("trivial_augment_wide", {"excluded": SUITE}, "excluded", "leaves out all of them"),
        ("rand_augment", {"excluded": WARPS}, "excluded", "Leave one of them in: translate_x"),
        ("trivial_augment_wide", {"excluded": (*WARPS, "color")}, "excluded", "DALI 2.4"),
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


def test_fixed_magnitudes_are_refused_on_the_gpu() -> None:
    graph = chain_graph("resize", "rand_augment", rand_augment={"monotonic_mag": False})
    assert check_graph(graph, CATALOG) == ()
    graph = set_setting(graph, device="mixed")
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.node, fault.arg) == ("rand_augment", "monotonic_mag")
    assert [check_graph(fix.graph, CATALOG) for fix in fixes(graph, CATALOG, fault)] == [()]
    for name in ("brightness", "contrast"):
        assert (
            check_graph(set_arg(graph, CATALOG, "rand_augment", "excluded", (name,)), CATALOG) == ()
        )


def test_dali_builds_none_without_what_moves_the_image() -> None:
    """Until it does, the fault is right."""
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.auto_aug import rand_augment

    @pipeline_def(enable_conditionals=True, batch_size=1, num_threads=1, device_id=None)
    def augmented() -> Any:
        images = fn.random.uniform(range=[0, 255], shape=[8, 8, 3], dtype=DALIDataType.UINT8)
        return rand_augment.rand_augment(images, n=1, m=9, excluded=list(WARPS))

    with pytest.raises(Exception, match="fill_value"):
        augmented()
