"""The exports of every recipe have correct epochs: no false alarms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.thorough import one_in
from workbench.engine.build.in_process_loader import import_program
from workbench.graph import load_recipes
from workbench.sources import load_source, open_datasets

pytestmark = pytest.mark.timeout(600)
SAMPLES = 61
UNSAVED = ("medical-gray",)
"""Recipes with an operator that has no checkpoints."""


@pytest.mark.parametrize("name", one_in(15, load_recipes(), first=5))
def test_the_export_of_a_recipe_has_no_findings(name: str, data_of: Callable[..., Path]) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph = wb.load_recipe(name)
    folder = str(data_of(graph))
    program: Any = import_program(graph, "pytorch", open_datasets(folder))

    def make_loader(data: str, rank: int, ranks: int, checkpoint: Any = None) -> Any:
        pipe = program.build_pipeline(
            data, batch_size=4, num_threads=1, shard_id=rank, num_shards=ranks,
            resumable=name not in UNSAVED, checkpoint=checkpoint,
        )  # fmt: skip
        return program.Loader(pipe)

    if load_source(graph.sources[0].kind).sample:  # other kinds than photos
        audit = wb.audit(make_loader, data=folder)
    else:
        audit = wb.audit(make_loader, samples=SAMPLES)
        assert all(stream.ids is not None for stream in audit.streams)
    assert not audit.findings, audit
    resumed = any("equals the uninterrupted run" in note for note in audit.notes)
    assert resumed == (name not in (*UNSAVED, "two-modalities"))


@pytest.mark.parametrize("library", ["torch", "numpy"])
@pytest.mark.filterwarnings("error:This loop continues the epoch")
def test_a_loader_in_this_process_has_no_findings(library: str) -> None:
    if library == "torch":
        pytest.importorskip("torch", reason="torch is not installed")

    def make_loader(data: str) -> Any:
        graph = wb.read(data, random_shuffle=True).decode().resize(size=(24, 24))
        graph = graph.rotate(angle=wb.random.uniform(range=(-9, 9)), keep_size=True)
        return wb.loader(graph, library=library, batch_size=5)

    audit = wb.audit(make_loader, samples=60)
    assert not audit.findings, audit
    assert any("continues it with the other 30 samples" in note for note in audit.notes)
