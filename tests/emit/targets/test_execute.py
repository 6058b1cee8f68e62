"""Exported code is run as its users run it, and compared with the script bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.block_graphs import branching_graph
from tests.emit.target_graphs import REFUSED, WITHOUT_DALI
from tests.emit.target_graphs import held as held_recipes
from tests.emit.test_own_code import REFUSE
from tests.emit.test_own_code import balanced as own_code_graph
from tests.helpers import CATALOG, import_script, same, script_batches, with_settings
from tests.thorough import one_in
from workbench.emit.targets import export, load_target, target_names
from workbench.errors import GraphExportError
from workbench.graph import Graph, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_arg, set_setting

pytestmark = pytest.mark.timeout(600)  # Ray and TensorFlow alone take a minute to start

ROOT = Path(__file__).parents[3]
BLOCKS = "blocks"
OWN_CODE = "own-code"
RECIPES = {**load_recipes(), BLOCKS: branching_graph(), OWN_CODE: own_code_graph()}
"""What is executed: the recipes, one graph with blocks inside each other, and one that calls a
function of the user."""
HOLD_NO_BLOCK = ("dynamic", "notebook", "ray")
SOME = ("cutout", "medical-gray", "two-view", "ssd", "segmentation", BLOCKS, OWN_CODE)
"""What ``make test`` executes: a decoded crop, grey images, two views, boxes, masks, blocks,
a function of the user."""
SETTINGS = {"batch_size": 4, "num_threads": 2}

NEEDS = {
    "pytorch": ("torch",),
    "lightning": ("lightning",),
    "jax": ("jax",),
    "tensorflow": ("tensorflow", "nvidia.dali_tf_plugin"),
    "ray": ("ray",),
    "dynamic": (),
    "notebook": ("IPython",),
    "triton": (),
    "keras": ("keras", "torch"),
    "huggingface": ("torch",),
    "proxy": ("torch",),
}
"""Target -> what its users install besides DALI. Those that cannot run here are not among them:
DALI's Paddle iterator requires a GPU.
"""


ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "RAY_AUTH_MODE": "disabled",
    "KERAS_BACKEND": "torch",
    "RAY_raylet_start_wait_time_s": "120",
}


def require(target: str) -> None:
    missing = [name for name in NEEDS[target] if find_spec(name) is None]
    if missing:
        pytest.skip(f"{target} is not executed: {' and '.join(missing)} not installed")


def seeing(gpus: str) -> dict[str, str]:
    """An environment in which there are these GPUs alone, such as "0,1"."""
    return {"CUDA_VISIBLE_DEVICES": gpus, "JAX_PLATFORMS": "cuda,cpu" if gpus else "cpu"}


def drive(*arguments: str | Path, gpus: str = "", **environment: str) -> list[Any]:
    """What the commands of ``drive.py`` print."""
    if "tensorflow" in arguments:  # importing torch after TensorFlow can end the process
        environment = {"KERAS_BACKEND": "tensorflow"} | environment
    done = subprocess.run(
        [sys.executable, "-m", "tests.emit.targets.drive", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=580,
        cwd=ROOT,
        env=os.environ | ENVIRONMENT | seeing(gpus) | environment,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    printed = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(printed, list)
    return printed


def write(
    graph: Graph, target: str, folder: Path, with_: str = "", data: Path | None = None
) -> Path:
    """The export with settings that tests have time for."""
    graph = with_settings(graph, **SETTINGS)
    with_ = "training" if target == "triton" else with_  # what draws is compared too
    for name, file in export(graph, target, CATALOG, with_=with_, data=data).files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    return folder


def write_with_files(graph: Graph, target: str, folder: Path) -> None:
    """The export; for targets without a reader also a script that outputs what the reader reads."""
    write(graph, target, folder)
    if target in ("triton", "proxy"):
        read = {name: Port("reader", name) for name in ("jpegs", "labels")}
        files = replace(graph, outputs=read)
        text = export(with_settings(files, **SETTINGS), "script", CATALOG).main.text
        (folder / "files.py").write_text(text)


def some_of(photos: Path, count: int, folder: Path) -> Path:
    """A folder of some photos from all classes, as one class."""
    (folder / "all").mkdir(parents=True)
    every = sorted(photos.rglob("*.jpg"))
    for number in range(count):
        (folder / "all" / f"{number:02}.jpg").symlink_to(every[number * len(every) // count])
    return folder


@pytest.fixture(scope="module")
def few(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three batches of photos: Ray's actors write all that there are."""
    return some_of(photos, 12, tmp_path_factory.mktemp("few") / "photos")


@pytest.fixture(scope="module")
def few_of(few: Path, shapes: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """For each recipe whole batches of what it reads, as JSON."""
    coco = shapes / "coco"
    kinds = {"coco": coco / "annotations.json", "coco_keypoints": coco / "keypoints.json"}
    for kind, place in {"video": "video", "numpy_files": "volumes/images"}.items():
        kinds[kind] = tmp_path_factory.mktemp(kind)
        every = sorted(path for path in (shapes / place).rglob("*") if path.is_file())
        for number in range(12):
            file = every[number % len(every)]
            (kinds[kind] / f"{number:02}{file.suffix}").symlink_to(file)
    return json.dumps(
        {name: str(kinds.get(graph.sources[0].kind, few)) for name, graph in RECIPES.items()}
    )


@pytest.fixture(scope="module")
def scripts(
    few_of: str, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Iterable[str]], dict[str, list[Any]]]:
    """The first batches of the scripts of some recipes."""
    known: dict[str, list[Any]] = {}

    def run(names: Iterable[str]) -> dict[str, list[Any]]:
        names = list(names)
        if new := {name: RECIPES[name] for name in names if name not in known}:
            folder = tmp_path_factory.mktemp("scripts")
            for name, graph in new.items():
                write(graph, "script", folder / name)
            known.update(drive("first", "script", folder, few_of, outputs_of(new))[0])
        return {name: known[name] for name in names}

    return run


def outputs_of(graphs: dict[str, Graph]) -> str:
    return json.dumps({name: list(graph.outputs) for name, graph in graphs.items()})


@pytest.mark.parametrize("target", HOLD_NO_BLOCK)
def test_a_target_that_cannot_hold_a_block_says_so(target: str) -> None:
    with pytest.raises(
        GraphExportError, match=r"^outer: .* not support 'if'.*Export the graph as a script"
    ):
        export(RECIPES[BLOCKS], target, CATALOG)


def test_every_target_is_executed_or_cannot_be() -> None:
    assert {*NEEDS, *WITHOUT_DALI, "script", "paddle"} == set(target_names())


@pytest.fixture(scope="module")
def uneven(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """33 photos: shards of 16 and 17, of four batches and of five."""
    return some_of(photos, 33, tmp_path_factory.mktemp("uneven") / "photos")


SHARDED = ("pytorch", "tensorflow", "ray", "jax")


def together(targets: Iterable[str]) -> list[Any]:
    """Cases; those of one target run in one worker, so that its framework starts once."""
    slow = set(NEEDS) - {"pytorch", "triton"}
    return [
        pytest.param(
            name,
            marks=[pytest.mark.xdist_group(name), *[pytest.mark.thorough] * (name in slow)],
        )
        for name in targets
    ]


def held(target: str, names: Iterable[str]) -> list[str]:
    """Those that a target can hold."""
    if target in REFUSE:
        names = [name for name in names if name != OWN_CODE]
    names = [name for name in names if name not in REFUSED.get(target, ())]
    if target not in HOLD_NO_BLOCK:
        return list(names)
    return [
        name
        for name in names
        if not any(node.bodies or CATALOG[node.op].module for node in RECIPES[name].nodes)
    ]


def first_of(target: str, names: Iterable[str], folder: Path, data: str) -> tuple[Any, ...]:
    """The commands that give the first batches of these recipes."""
    graphs = {name: RECIPES[name] for name in held(target, names)}
    for name, graph in graphs.items():
        write_with_files(graph, target, folder / name)
    return ("start", target, "+", "first", target, folder, data, outputs_of(graphs))


@pytest.fixture(scope="module")
def execute(
    few_of: str, uneven: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[Any]]:
    """The first batches of some recipes, and three epochs of two shards of one."""

    @cache
    def run(target: str) -> list[Any]:
        folder = tmp_path_factory.mktemp(target)
        first = first_of(target, SOME, folder, few_of)
        if target not in SHARDED:
            return drive(*first)[1:]
        shards = write(shuffled_eval(), target, folder / "shards")
        epochs = ("epochs", target, shards, uneven, "3")
        if target == "jax":  # two devices split every batch in two
            two = "--xla_force_host_platform_device_count=2"
            return [*drive(*first)[1:], *drive(*epochs, XLA_FLAGS=two)]
        return drive(*first, "+", *epochs)[1:]

    return run


def compare(target: str, found: dict[str, list[Any]], scripts: dict[str, list[Any]]) -> None:
    """Each batch equals the script's; Triton receives images and returns no labels."""
    served = {"labels"} if target == "triton" else set()
    assert set(found) == set(scripts)
    for name, batches in found.items():
        assert len(batches) == 3, name
        for ours, theirs in zip(batches, scripts[name], strict=True):
            assert set(ours) == set(theirs) - served, name
            assert ours == {output: theirs[output] for output in ours}, name


@pytest.mark.parametrize("target", together(NEEDS))
def test_first_batches_are_those_of_the_script(
    target: str,
    execute: Callable[[str], list[Any]],
    scripts: Callable[[Iterable[str]], dict[str, list[Any]]],
) -> None:
    require(target)
    compare(target, execute(target)[0], scripts(held(target, SOME)))


@pytest.mark.thorough
@pytest.mark.parametrize("target", NEEDS)
def test_first_batches_of_every_recipe_are_those_of_the_script(
    target: str,
    few_of: str,
    tmp_path: Path,
    scripts: Callable[[Iterable[str]], dict[str, list[Any]]],
) -> None:
    require(target)
    found = drive(*first_of(target, RECIPES, tmp_path, few_of))[1]
    compare(target, found, scripts(held(target, RECIPES)))


@pytest.fixture(scope="module")
def mixed(few_of: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """The first batches, decoded on a GPU, of the recipes that can be.

    But of video: the sample clips are motion JPEG, which DALI does not decode on a GPU.
    """
    images = {name: graph for name, graph in RECIPES.items() if graph.sources[0].kind != "video"}
    made = {name: set_setting(graph, device="mixed") for name, graph in images.items()}
    graphs = {name: graph for name, graph in made.items() if not check_graph(graph, CATALOG)}

    @cache
    def run(target: str) -> Any:
        folder = tmp_path_factory.mktemp(f"mixed-{target}")
        chosen = {name: graphs[name] for name in held(target, graphs)}
        for name, graph in chosen.items():
            write_with_files(graph, target, folder / name)
        command = ("start", target, "+", "first", target, folder, few_of, outputs_of(chosen))
        return drive(*command, gpus="0")[1]

    return run


@pytest.mark.gpu
@pytest.mark.parametrize("target", ["pytorch", "jax", "dynamic", "notebook", "triton", "proxy"])
def test_mixed_decoding_gives_the_batches_of_the_script(
    target: str, mixed: Callable[[str], Any]
) -> None:
    require(target)
    scripts = mixed("script")
    assert len(scripts) >= 4
    compare(target, mixed(target), {name: scripts[name] for name in held(target, scripts)})


def shuffled_eval() -> Graph:
    """A recipe whose images do not depend on when they are read, read in random order."""
    return set_arg(load_recipe("imagenet-eval"), CATALOG, "reader", "random_shuffle", True)


def require_whole_epochs(epochs: list[list[list[Any]]]) -> None:
    """Three epochs of 33 samples in two shards: each sample once, in another order each time."""
    assert len(epochs) == 3
    every = Counter(epochs[0][0] + epochs[0][1])
    assert len(every) == 33
    for shards in epochs:
        assert sorted(map(len, shards)) == [16, 17]
        assert Counter(shards[0] + shards[1]) == every
    assert epochs[0] != epochs[1], "an epoch is shuffled as the one before"


@pytest.mark.parametrize("target", together(SHARDED))
def test_two_shards_lose_and_double_nothing(
    target: str, execute: Callable[[str], list[Any]]
) -> None:
    require(target)
    require_whole_epochs(execute(target)[1])


def test_shards_draw_apart() -> None:
    """Otherwise two ranks that read the same photo would rotate it by the same angle."""
    graph = load_recipe("imagenet-train")
    text = export(graph, "pytorch", CATALOG).main.text
    assert "seed + 100_000 * shard_id" in text
    assert max(node.seed or 0 for node in graph.nodes) < 100_000


@pytest.mark.thorough
@pytest.mark.parametrize("pipelines", [1, 2])
def test_a_resumed_loader_gives_the_next_batches(
    pipelines: int, photos: Path, tmp_path: Path
) -> None:
    """Also from the midst of an epoch, and from where it is not the first pipeline's turn."""
    require("pytorch")
    graph = set_setting(load_recipe("imagenet-train"), pipelines=pipelines)
    folder = write(graph, "pytorch", tmp_path)
    small = some_of(photos, 30, tmp_path / "photos")  # 8 batches an epoch
    for index, (went_on, resumed) in drive("resume", folder, small)[0].items():
        assert len(resumed) >= 5, index
        assert resumed == went_on, f"after batch {index}"


def captured(graph: Graph, photos: Path, folder: Path, count: int) -> list[list[Any]]:
    """The first batches of the captured loop, of a graph that reads photos."""
    text = export(graph, "dynamic", CATALOG, with_="capture").main.text
    stream = import_script(text, folder).batches(str(photos), graph.settings.batch_size)
    batches = [
        [[np.array(each.cpu()) for each in output.evaluate().tensors] for output in next(stream)]
        for _ in range(count)
    ]
    # otherwise the operators ran one by one, which would give the same batches
    state = stream.gi_frame.f_locals["reader"]._captured_iter._capture_ctx.state
    assert state.name == "CAPTURED"
    return batches


@pytest.mark.parametrize("name", one_in(4, held_recipes("dynamic")))
def test_a_captured_loop_gives_the_batches_of_the_script(
    name: str, photos: Path, tmp_path: Path
) -> None:
    graph = with_settings(held_recipes("dynamic")[name], batch_size=7)
    ours, theirs = captured(graph, photos, tmp_path, 3), script_batches(graph, photos, 3, tmp_path)
    assert all(
        same(a, b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)
    )


def test_a_captured_loop_goes_on_into_the_next_epoch_and_takes_one_seed_twice(
    photos: Path, tmp_path: Path
) -> None:
    """The number of photos is no multiple of the batch size."""
    graph = with_settings(load_recipe("rotate-jitter"), batch_size=7)
    one = graph.node("brightness").seed
    graph = graph.replace_node(replace(graph.node("contrast"), seed=one))
    count = 2 * (sum(1 for _ in photos.rglob("*.jpg")) // 7) + 3
    ours = captured(graph, photos, tmp_path, count)
    theirs = script_batches(graph, photos, count, tmp_path)
    assert all(
        same(a, b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)
    )


def test_capture_is_for_the_dynamic_mode() -> None:
    with pytest.raises(
        GraphExportError,
        match=r"The target 'jax' has no capture mode\. .* or for the target dynamic\.",
    ):
        export(load_recipe("cutout"), "jax", CATALOG, with_="capture")


ABLE = [name for name in target_names() if load_target(name).side_by_side]
LOADERS = ("pytorch", "lightning", "jax", "ray")
CHOSEN = ("cutout", "blocks", "rand-augment")


@pytest.fixture(scope="module")
def some(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 photos: whole batches for two pipelines and for three."""
    return some_of(photos, 24, tmp_path_factory.mktemp("some") / "photos")


def first(target: str, pipelines: int, folder: Path, data: Path) -> dict[str, Any]:
    """Return the first batches of some graphs with this number of pipelines."""
    graphs = {n: set_setting(RECIPES[n], pipelines=pipelines) for n in held(target, CHOSEN)}
    for name, graph in graphs.items():
        write(graph, target, folder / name)
    given = json.dumps(dict.fromkeys(graphs, str(data)))
    return dict(drive("start", target, "+", "first", target, folder, given, outputs_of(graphs))[1])


@pytest.mark.thorough
@pytest.mark.parametrize("target", LOADERS)
@pytest.mark.parametrize("pipelines", [2, 3])
def test_batches_of_pipelines_side_by_side_are_those_of_the_script(
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
    with pytest.raises(GraphExportError, match=rf"pipelines is 2, but the target '{target}' runs "):
        export(set_setting(load_recipe("cutout"), pipelines=2), target, CATALOG)


def test_triton_has_as_many_instances() -> None:
    files = export(set_setting(load_recipe("cutout"), pipelines=3), "triton", CATALOG).files
    config = next(file.text for name, file in files.items() if name.endswith(".pbtxt"))
    assert "instance_group [ { count: 3, kind: KIND_CPU } ]" in config
    assert "PIPELINES" not in next(iter(files.values())).text
