"""Exported code that runs several pipelines side by side, as its users run it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.emit.targets.test_execute import (
    RECIPES,
    SETTINGS,
    drive,
    held,
    outputs_of,
    require,
    shuffled_eval,
    some_of,
    write,
)
from tests.helpers import with_settings
from workbench.catalog import load_catalog
from workbench.emit.targets import export, load_target, target_names
from workbench.errors import GraphExportError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting

pytestmark = pytest.mark.timeout(600)
CATALOG = load_catalog()
ABLE = [name for name in target_names() if load_target(name).side_by_side]
LOADERS = ("pytorch", "lightning", "jax", "ray")
CHOSEN = ("cutout", "regions", "rand-augment")


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
    every = Counter(found[0][0] + found[0][1])
    assert len(every) == 33
    for shards in found:
        assert sorted(map(len, shards)) == [16, 17]
        assert Counter(shards[0] + shards[1]) == every
    assert found[0] != found[1], "an epoch is shuffled as the one before"


@pytest.mark.thorough
def test_every_sample_comes_once_an_epoch(photos: Path, tmp_path: Path) -> None:
    """Over ranks times pipelines, whatever the number of files and the size of a batch."""
    require("pytorch")
    every = sorted(photos.rglob("*.jpg"))
    for count in range(12, 41):
        lines = [f"{every[k % len(every)]} {k}" for k in range(count)]
        (tmp_path / f"{count}.txt").write_text("\n".join(lines) + "\n")
    graph = set_setting(load_recipe("cutout"), pipelines=2)
    text = export(graph, "pytorch", CATALOG, data=str(tmp_path / "12.txt")).main.text
    # Its labels alone, which are read in no time.
    start, end = text.index("    images = fn.decoders"), text.index("    return images, labels")
    text = text[:start] + text[end:].replace("return images, labels", "return (labels,)", 1)
    text = text.replace('OUTPUTS = ["images", "labels"]', 'OUTPUTS = ["labels"]')
    (tmp_path / "loader.py").write_text(text)
    assert drive("partition", tmp_path, tmp_path, "60") == [[]]


@pytest.mark.thorough
def test_a_resumed_loader_gives_the_next_batches(photos: Path, tmp_path: Path) -> None:
    """Also from the midst of an epoch, and from where it is not the first pipeline's turn."""
    require("pytorch")
    graph = with_settings(load_recipe("imagenet-train"), **SETTINGS)
    folder = write(set_setting(graph, pipelines=2), "pytorch", tmp_path)
    small = some_of(photos, 30, tmp_path / "photos")  # 8 batches an epoch, 4 of each pipeline
    for index, (went_on, resumed) in drive("resume", folder, small)[0].items():
        assert len(resumed) >= 5, index
        assert resumed == went_on, f"after batch {index}"


@pytest.mark.parametrize("target", sorted(set(target_names()) - set(ABLE)))
def test_a_target_of_one_pipeline_says_so(target: str) -> None:
    with pytest.raises(GraphExportError, match=rf"pipelines is 2, and the target {target} runs "):
        export(set_setting(load_recipe("cutout"), pipelines=2), target, CATALOG)


def test_triton_has_as_many_instances() -> None:
    files = export(set_setting(load_recipe("cutout"), pipelines=3), "triton", CATALOG).files
    config = next(file.text for name, file in files.items() if name.endswith(".pbtxt"))
    assert "instance_group [ { count: 3, kind: KIND_CPU } ]" in config
    assert "PIPELINES" not in next(iter(files.values())).text
