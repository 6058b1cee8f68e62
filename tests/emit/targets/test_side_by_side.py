"""Exported code that runs several pipelines side by side, as its users run it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.emit.targets.test_execute import (
    RECIPES,
    drive,
    held,
    outputs_of,
    require,
    require_whole_epochs,
    shuffled_eval,
    some_of,
    write,
)
from tests.helpers import CATALOG
from workbench.emit.targets import export, load_target, target_names
from workbench.errors import GraphExportError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting

pytestmark = pytest.mark.timeout(600)
ABLE = [name for name in target_names() if load_target(name).side_by_side]
LOADERS = ("pytorch", "lightning", "jax", "ray")
CHOSEN = ("cutout", "blocks", "rand-augment")


@pytest.fixture(scope="module")
def some(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 photos: whole batches for two pipelines and for three."""
    return some_of(photos, 24, tmp_path_factory.mktemp("some") / "photos")


def first(target: str, pipelines: int, folder: Path, data: Path) -> dict[str, Any]:
    """The first batches of some graphs that run so many pipelines."""
    graphs = {n: set_setting(RECIPES[n], pipelines=pipelines) for n in held(target, CHOSEN)}
    for name, graph in graphs.items():
        write(graph, target, folder / name)
    given = json.dumps(dict.fromkeys(graphs, str(data)))
    return dict(drive("start", target, "+", "first", target, folder, given, outputs_of(graphs))[1])


@pytest.mark.thorough
@pytest.mark.parametrize("target", LOADERS)
@pytest.mark.parametrize("pipelines", [2, 3])
def test_first_batches_are_those_of_the_script(
    target: str, pipelines: int, some: Path, tmp_path: Path
) -> None:
    require(target)
    found = first(target, pipelines, tmp_path / target, some)
    scripts = first("script", pipelines, tmp_path / "script", some)
    assert found == {name: scripts[name] for name in found}
    for batches in found.values():
        assert len({json.dumps(batch) for batch in batches}) == 3


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["pytorch", "jax", "ray"])
def test_two_ranks_of_two_pipelines_lose_and_double_nothing(
    target: str, photos: Path, tmp_path: Path
) -> None:
    require(target)
    uneven = some_of(photos, 33, tmp_path / "photos")
    folder = write(set_setting(shuffled_eval(), pipelines=2), target, tmp_path / "export")
    two = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"} if target == "jax" else {}
    found = drive("start", target, "+", "epochs", target, folder, uneven, "3", **two)[1]
    require_whole_epochs(found)


@pytest.mark.parametrize("target", sorted(set(target_names()) - set(ABLE)))
def test_a_target_of_one_pipeline_says_so(target: str) -> None:
    with pytest.raises(GraphExportError, match=rf"pipelines is 2, and the target {target} runs "):
        export(set_setting(load_recipe("cutout"), pipelines=2), target, CATALOG)


def test_triton_has_as_many_instances() -> None:
    files = export(set_setting(load_recipe("cutout"), pipelines=3), "triton", CATALOG).files
    config = next(file.text for name, file in files.items() if name.endswith(".pbtxt"))
    assert "instance_group [ { count: 3, kind: KIND_CPU } ]" in config
    assert "PIPELINES" not in next(iter(files.values())).text
