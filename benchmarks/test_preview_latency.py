"""From a changed value to the encoded contact sheet, in the worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Table, timed
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.run.worker import Worker
from workbench.graph import Graph, Settings
from workbench.graph.edits.edit import insert_node, set_arg, start_graph
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.requests.render import render

RUNS = 40


class Nowhere:
    """A connection without a listener: the worker runs in this process."""

    def send(self, message: Any) -> None:
        pass

    def receive(self, timeout: float | None = None) -> None:
        return None


def chain(nodes: int, device: str) -> Graph:
    """decode, resize, ``nodes - 5`` times brightness, rotate, color_twist, normalise."""
    catalog = load_catalog()
    graph = replace(start_graph(catalog), settings=Settings(device=device))
    last = "decode"
    middle = ["brightness"] * (nodes - 5)
    for op in ["resize", *middle, "rotate", "color_twist", "crop_mirror_normalize"]:
        graph, last = insert_node(graph, catalog, op, last)
    return graph


CHANGES: dict[str, Callable[[Graph, int], Graph]] = {
    "resize": lambda g, n: set_arg(g, load_catalog(), "resize", "size", (224, 224 - n / 1000)),
    "rotate": lambda g, n: set_arg(g, load_catalog(), "rotate", "angle", 5.0 + n / 70),
    "color_twist": lambda g, n: set_arg(g, load_catalog(), "color_twist", "hue", n / 70),
    "crop_mirror_normalize": lambda g, n: set_arg(
        g, load_catalog(), "crop_mirror_normalize", "mean", (100.0 + n / 70, 110.0, 120.0)
    ),
}


LIMITS = {16: 8.0, 64: 20.0}
"""Milliseconds at the 95th percentile on an H200, by the number of tiles."""
DECODER_LIMIT = 60.0
"""The same, after a change of the decoder's arguments to values that were used before."""


def measure(photos: Path, table: Table, device: str, limit: str) -> None:
    worker = Worker(Nowhere())
    fresh = itertools.count()

    def change(graph: Graph, where: str, tiles: int, shown: str) -> list[float]:
        def once(_: int) -> None:
            edited = CHANGES[where](graph, next(fresh))  # never a value that was kept
            preview = render(worker, PreviewRequest(edited, str(photos), tiles=tiles, shown=shown))
            assert where in preview.reran
            assert preview.image

        return timed(once, RUNS)

    five = chain(5, device)
    last = "crop_mirror_normalize"
    for shown in ("augmented", "both"):
        values = change(five, last, 16, shown)
        table.add(f"{device}: last of 5 nodes, 16 tiles, {shown}", values, "ms", limit)
    for where in ("color_twist", "rotate", "resize"):
        table.add(
            f"{device}: {where} of 5 nodes, 16 tiles", change(five, where, 16, "augmented"), "ms"
        )
    for tiles in (4, 64):
        values = change(five, last, tiles, "augmented")
        table.add(f"{device}: last of 5 nodes, {tiles} tiles", values, "ms")
    for nodes in (20, 50):
        values = change(chain(nodes, device), last, 16, "augmented")
        table.add(f"{device}: last of {nodes} nodes, 16 tiles", values, "ms")
        values = change(chain(nodes, device), "resize", 16, "augmented")
        table.add(f"{device}: first of {nodes} nodes, 16 tiles", values, "ms")
    worker.runner.forget()


def test_in_the_worker_on_the_cpu(photos: Path, table: Table) -> None:
    measure(photos, table, "cpu", "to reach: 60")


@pytest.mark.gpu
@pytest.mark.parametrize("tiles", LIMITS)
def test_a_change_on_an_h200(tiles: int, photos: Path, table: Table) -> None:
    """From a changed value of each node to the encoded sheet, original and augmented."""
    worker, graph, fresh = Worker(Nowhere()), chain(5, "mixed"), itertools.count()
    for where, change in CHANGES.items():

        def once(
            _: int, change: Callable[[Graph, int], Graph] = change, where: str = where
        ) -> None:
            edited = change(graph, next(fresh))
            preview = render(worker, PreviewRequest(edited, str(photos), tiles=tiles))
            assert where in preview.reran

        limit = LIMITS[tiles]
        values = timed(once, 100, 10)
        table.add(f"mixed: {where} of 5 nodes, {tiles} tiles, both", values, "ms",
                  f"p95 to reach: {limit:g}")  # fmt: skip
    worker.runner.forget()


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
def test_a_change_of_the_decoders_own_arguments(device: str, photos: Path, table: Table) -> None:
    """Each value was used before, and only the reader's output is cached."""
    worker, graph = Worker(Nowhere()), chain(5, device)
    types = ("RGB", "BGR")
    ports = list(graph.outputs.values())
    reader = worker.runner.run(graph, str(photos), 0, 16, ports).keys["reader"]

    def once(number: int) -> None:
        edited = set_arg(graph, load_catalog(), "decode", "output_type", types[number % 2])
        preview = render(worker, PreviewRequest(edited, str(photos), shown="augmented"))
        assert preview.reran[0] == "decode"
        for key in [key for key in worker.runner.store._kept if key != reader]:
            worker.runner.store._drop(key)

    values = timed(once, RUNS, 6)
    what = f"{device}: decoder's output_type, 16 tiles"
    table.add(what, values, "ms", f"p95 to reach: {DECODER_LIMIT:g}" if device == "mixed" else "")
    worker.runner.forget()


@pytest.mark.gpu
def test_in_the_worker_on_the_gpu(photos: Path, table: Table) -> None:
    measure(photos, table, "mixed", "to reach: 8")


def test_through_the_worker_process(photos: Path, table: Table) -> None:
    graph = chain(5, "cpu")
    with Engine() as engine:

        def once(number: int) -> None:
            edited = CHANGES["crop_mirror_normalize"](graph, number)
            request = PreviewRequest(edited, str(photos), shown="augmented")
            assert preview_batch(engine, request).image

        table.add("cpu: last of 5 nodes, 16 tiles, from the kernel", timed(once, RUNS), "ms")


def test_a_node_is_cheap_to_check(table: Table) -> None:
    """Python's share of an edit: check and emit a graph of 150 nodes."""
    from workbench.emit import emit_script
    from workbench.graph import check_graph

    catalog = load_catalog()
    graph = chain(150, "cpu")

    def once(number: int) -> None:
        edited = CHANGES["rotate"](graph, number)
        assert not check_graph(edited, catalog)
        assert "rotate" in emit_script(edited, catalog).text

    table.add("check and emit 150 nodes", timed(once, 20), "ms")
