"""Every row of fused.toml: the operator alone outputs the pixels of the if, bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import CATALOG, chain_graph, require_parity, with_nodes
from tests.thorough import one_in
from workbench.catalog import Value
from workbench.catalog.extra_operators import FUSED_FORMS
from workbench.errors import GraphEditError
from workbench.graph import Graph, check_graph
from workbench.graph.control_flow.options import set_probability
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import randomise_arg, set_arg, set_setting
from workbench.graph.variants.fused import fuse, fused_refusal

WRITTEN: Mapping[str, Mapping[str, Value]] = {
    "flip": {"horizontal": 1, "vertical": 1},
    "rotate": {"angle": 17.0, "keep_size": True, "fill_value": 7},
    "gaussian_blur": {"sigma": 1.7},
    "brightness": {"brightness": 1.37, "brightness_shift": 0.1},
    "contrast": {"contrast": 1.3, "contrast_center": 90.0},
    "brightness_contrast": {"brightness": 0.7, "contrast": 1.3},
    "saturation": {"saturation": 0.3},
    "hue": {"hue": 31.0},
    "hsv": {"hue": 31.0, "saturation": 0.3, "value": 1.2},
    "color_twist": {"hue": 31.0, "saturation": 0.3, "brightness": 1.2, "contrast": 0.6},
    "sphere": {},
    "water": {},
}
DRAWN = {
    "flip": "horizontal",
    "rotate": "angle",
    "gaussian_blur": "sigma",
    "brightness": "brightness",
    "color_twist": "saturation",
}


FORMS = [*((op, "") for op in FUSED_FORMS), *DRAWN.items()]


def sometimes(op: str, args: Mapping[str, Value], drawn: str = "") -> tuple[Graph, str]:
    graph = chain_graph("resize", op, resize={"size": (57.0, 91.0)})
    node = next(node for node in graph.nodes if node.op == op)
    graph = graph.replace_node(replace(node, args=dict(args)))
    if drawn:
        graph = randomise_arg(graph, CATALOG, node.id, drawn,
                              *(["random.coin_flip"] if op == "flip" else []))  # fmt: skip
    graph, block = wrap_in_block(set_setting(graph, batch_size=20), CATALOG, [node.id])
    return set_probability(graph, block, 0.4), block


@pytest.mark.parametrize(("op", "drawn"), one_in(8, FORMS))
def test_the_pixels_stay(op: str, drawn: str, photos: Path, tmp_path: Path) -> None:
    require_same_pixels(*sometimes(op, WRITTEN[op], drawn), photos, tmp_path)


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "drawn"), FORMS)
def test_so_they_do_with_mixed_decoding(op: str, drawn: str, photos: Path, tmp_path: Path) -> None:
    graph, block = sometimes(op, WRITTEN[op], drawn)
    require_same_pixels(set_setting(graph, device="mixed"), block, photos, tmp_path)


def require_same_pixels(graph: Graph, block: str, photos: Path, tmp_path: Path) -> None:
    fused, node = fuse(graph, CATALOG, block)
    assert check_graph(fused, CATALOG) == ()
    assert not any(each.bodies for each in fused.nodes)
    require_parity(fused, photos, tmp_path, (0, 1), script_of=graph)
    assert fused.has(node)


def test_what_the_block_holds_more_is_refused() -> None:
    graph, block = sometimes("flip", {"horizontal": 1})
    more = chain_graph("resize", "flip", "rotate")
    names = [node.id for node in more.nodes if node.op in ("flip", "rotate")]
    two, both = wrap_in_block(more, CATALOG, names)
    noisy, noise = sometimes("noise.gaussian", {"stddev": 9.0})
    grown, turned = sometimes("rotate", {"angle": 9.0})
    shared = with_nodes(graph, coin=graph.node(block).inputs["condition"])
    for refused, name, words in (
        (two, both, "must contain one operator"),
        (noisy, noise, "no argument of noise.gaussian"),
        (grown, turned, "only with keep_size=True"),
        (shared, block, "feeds other nodes too"),
    ):
        with pytest.raises(GraphEditError, match=words):
            fuse(refused, CATALOG, name)


def test_so_is_a_block_with_faults() -> None:
    """As a file may have it: the inspector queries this while it shows the fault."""
    graph, block = sometimes("flip", WRITTEN["flip"])
    node = graph.node(block)
    then = node.bodies["then"]
    for bodies in ({"then": then}, {**node.bodies, "then": replace(then, inputs=())}):
        faulty = graph.replace_node(replace(node, bodies=bodies))
        assert "it has faults" in fused_refusal(faulty, CATALOG, block)


def test_so_is_what_was_not_proven_for_a_type() -> None:
    graph = chain_graph("resize", "cast", "hue", resize={"size": (32.0, 32.0)})
    graph = set_arg(graph, CATALOG, "cast", "dtype", "FLOAT")
    graph, block = wrap_in_block(graph, CATALOG, ["hue"])
    with pytest.raises(GraphEditError, match="its input is FLOAT, and only with UINT8 do"):
        fuse(graph, CATALOG, block)


def test_a_block_inside_another_is_fused_there() -> None:
    graph, block = sometimes("flip", {"horizontal": 1})
    graph, _ = wrap_in_block(graph, CATALOG, [block])
    fused, node = fuse(graph, CATALOG, block)
    assert fused.scope_of(node) == "branch_2.then"
    assert not check_graph(fused, CATALOG)
