"""A recipe with a block, and what a canvas shows of it."""

from __future__ import annotations

from typing import Any

from tests.ui.screen import Screen
from workbench.catalog import load_catalog
from workbench.graph import load_recipe
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import set_setting
from workbench.ui.app.view_model import ViewModel

CATALOG = load_catalog()
JITTER = set_setting(load_recipe("rotate-jitter"), batch_size=4)
BRANCHED, BLOCK = wrap_in_block(JITTER, CATALOG, ["rotate"])
NESTED, INNER = wrap_in_block(BRANCHED, CATALOG, ["rotate"])
INNER_THEN = f"{INNER}.then"
INNER_CHANCE = NESTED.node(INNER).inputs["condition"].node


def ask(model: ViewModel, do: str, component: str = "canvas", **parameters: Any) -> None:
    model.act(component, {"do": do, **parameters})


def drawn(screen: Screen) -> list[str]:
    return [node["id"] for node in screen["canvas", "nodes"]]


def breadcrumb(screen: Screen) -> list[str]:
    return [
        body["scope"]
        for block in screen["canvas", "breadcrumb"]
        for body in block["bodies"]
        if body["shown"]
    ]
