"""The canvas and the inspector of a page, and the graph behind them."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.ui.hosts import Host, part, small
from workbench.graph import Graph, load_graph

EMPTY = Graph(settings=small().settings)


def held(host: Host) -> Graph:
    """The graph that Python holds."""
    page = host.page
    expect(part(page, "canvas")).to_have_attribute("data-nodes", str(drawn(host)))
    return load_graph(host.python("__import__('workbench').dump_graph(model.graph)"))


def drawn(host: Host) -> int:
    return int(host.python("len(model.shown('canvas', 'nodes'))"))


def node(page: Page, name: str) -> Locator:
    return part(page, "canvas").locator(f"[data-node={name}]")


def argument(page: Page, name: str) -> Locator:
    return part(page, "inspector").locator(f"[data-arg={name}]")


def inspected(page: Page, name: str) -> None:
    expect(node(page, name)).to_have_attribute("aria-current", "true")
    expect(part(page, "inspector")).to_have_attribute("data-node", name)
