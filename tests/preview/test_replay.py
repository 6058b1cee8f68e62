"""Loaders that return file names and random values, and their samples shown again."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.emit.targets.test_execute import require, seeing
from tests.helpers import (
    CATALOG,
    CHAINS,
    apply_step,
    photo_recipes,
    same,
    script_batches,
    step,
    with_nodes,
    with_settings,
)
from tests.preview.soak import BUDGET, soak
from tests.thorough import examples
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.run.runner import Runner
from workbench.errors import PipelineError
from workbench.graph import Graph, check_graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import Port
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.samples import with_samples
from workbench.graph.variants.source_annotations import with_opened
from workbench.sources import list_samples, open_datasets

READ = """
import runpy, sys, numpy as np
target, data, program, found = sys.argv[1:]
space = runpy.run_path(program)
if target == "jax":
    loader = space["Loader"](data)
else:
    loader = space["Loader"](space["build_pipeline"](data))
batches = list(loader)
found_by = {f"{n}/{name}": values for n, b in enumerate(batches) for name, values in b.items()}
np.savez(found, **{k: np.array([v or "" for v in f] if k.endswith("/file") else f)
                   for k, f in found_by.items()})
"""
DRAWN = {"angle", "brightness", "contrast", "hue", "saturation", "mirror"}


def epoch_of(target: str, photos: Path, folder: Path, batch_size: int) -> list[dict[str, Any]]:
    """The batches of one epoch of a loader with samples; no name is an empty text."""
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=batch_size, num_threads=1)
    program = export(graph, target, with_="samples", data=photos).write(folder / "l.py")[0]
    arguments = [sys.executable, "-c", READ, target, photos, program, folder / "b.npz"]
    subprocess.run(arguments, check=True, env=os.environ | seeing(""))
    found = np.load(folder / "b.npz")
    batches: dict[int, dict[str, Any]] = {}
    for key in found:
        number, name = key.split("/")
        batches.setdefault(int(number), {})[name] = found[key]
    return [batches[number] for number in sorted(batches)]


@pytest.mark.parametrize("target", ["pytorch", "lightning", "jax"])
def test_a_sample_is_shown_again_bit_for_bit(photos: Path, tmp_path: Path, target: str) -> None:
    require(target)
    batches = epoch_of(target, photos, tmp_path, 4)
    graph = load_recipe("rotate-jitter")
    places = ((0, 0), (0, 3), (1, 2)) if target == "pytorch" else ((1, 2),)
    for number, place in places:
        batch = {name: values[place] for name, values in batches[number].items()}
        assert batch.keys() - {"valid"} == {"images", "labels", "file", *DRAWN}
        file = str(batch["file"])
        assert (photos / file).is_file()
        shown = wb.replay(graph, file, {name: batch[name] for name in DRAWN}, photos)
        assert np.array_equal(shown.images[0], batch["images"])
        assert shown.labels.item() == batch["labels"]
        classes = sorted(each.name for each in photos.iterdir())
        assert classes[batch["labels"]] == Path(file).parent.name


@pytest.mark.parametrize("target", ["pytorch", "lightning", "jax"])
def test_an_epoch_names_each_file_once_and_no_padding(
    photos: Path, tmp_path: Path, target: str
) -> None:
    require(target)
    every = sorted(photos.rglob("*.jpg"))[:7]
    names = [f"one/é{number}{'x' * number}.jpg" for number in range(6)]
    names.append(os.fsdecode(b"one/\xe9.jpg"))  # not UTF-8, as old archives have them
    (tmp_path / "data" / "one").mkdir(parents=True)
    for name, photo in zip(names, every, strict=True):
        (tmp_path / "data" / name).symlink_to(photo)
    batches = epoch_of(target, tmp_path / "data", tmp_path, 3)
    found = np.concatenate([batch["file"] for batch in batches])
    if target == "jax":  # all of its batches have one shape
        valid = np.concatenate([batch["valid"] for batch in batches])
        assert ((found != "") == valid).all()
        found = found[valid]
    assert sorted(found) == sorted(names)


def test_lightning_validates_without_random_values(photos: Path, tmp_path: Path) -> None:
    require("lightning")
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=4, num_threads=1)
    export(graph, "lightning", with_="samples").write(tmp_path / "d.py")
    code = (
        "import sys, d; pipe = d.build_pipeline(sys.argv[1], define=d.validation_pipeline);"
        "print(*next(iter(d.Loader(pipe, outputs=d.VALIDATION_OUTPUTS))))"
    )
    command = [sys.executable, "-c", code, str(photos)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.split() == ["images", "labels", "file"]


def test_what_cannot_be_shown_again_is_told(photos: Path) -> None:
    graph = load_recipe("rotate-jitter")
    file = str(next(photos.rglob("*.jpg")))
    values = dict.fromkeys(("brightness", "contrast", "hue", "saturation", "mirror"), 1)
    with pytest.raises(wb.GraphError, match="The value of 'angle' is missing"):
        wb.replay(graph, file, values, photos)
    with pytest.raises(wb.GraphError, match="'angel' is not a generator"):
        wb.replay(graph, file, {**values, "angel": 1}, photos)
    with pytest.raises(wb.DataError, match="has no file"):
        wb.replay(graph, "none.jpg", {**values, "angle": 1}, photos)
    with pytest.raises(wb.DataError, match="Pass the folder"):
        wb.replay(graph, file, {**values, "angle": 1})
    with pytest.raises(wb.GraphError, match="random_resized_crop samples random values internally"):
        wb.replay(load_recipe("imagenet-train"), file, {"mirror": 1}, photos)


def test_nodes_whose_values_no_output_has_are_noted(photos: Path) -> None:
    file = next(photos.rglob("*.jpg"))
    graph = load_recipe("rand-augment")
    made = export(graph, "pytorch", with_="samples")
    assert [note.partition(" ")[0] for note in made.notes] == ["crop", "augment"]
    told = "No output has the internal random values of: crop, augment."
    assert told in made.main.text
    augmented = replace(graph, outputs={"images": graph.outputs["images"]})
    for crop in [node for node in graph.nodes if node.op == "random_resized_crop"]:
        settled = replace(crop, op="resize", args={"size": (64, 64)}, seed=None)
        augmented = augmented.replace_node(settled)
    with pytest.raises(
        wb.GraphError, match="augment: rand_augment samples random values internally"
    ):
        wb.replay(augmented, file, {"mirror": 1}, photos)
    with pytest.raises(wb.GraphExportError, match="for jax, lightning, pytorch"):
        export(graph, "keras", with_="samples")
    two = with_nodes(graph, replace(graph.sources[0], id="other"), other=Port("other", "labels"))
    with pytest.raises(wb.GraphExportError, match="of several sources has no unique file name"):
        export(two, "pytorch", with_="samples")
    in_memory = wb.read(np.zeros((4, 8, 8, 3), np.uint8))
    with pytest.raises(wb.GraphExportError, match="DALI does not report the file"):
        export(in_memory, "pytorch", with_="samples")


PLACES = [
    *(("caffe", ""), ("caffe2", ""), ("recordio", ""), ("tfrecord", ""), ("webdataset", "")),
    *(("numpy", ""), ("volumes", ""), ("video", ""), ("frames", "")),
    *(("segmentation", "segmentation"), ("webdataset", "segmentation"), ("webdataset", "ssd")),
    *(("tfrecord", "ssd"), ("coco/annotations.json", "ssd"), ("coco/keypoints.json", "key-points")),
]


@pytest.mark.parametrize(("place", "recipe"), PLACES)
def test_names_are_those_of_the_samples_of_the_data(
    shapes: Path, tmp_path: Path, place: str, recipe: str
) -> None:
    data = open_datasets(str(shapes / place))
    graph = wb.read(shapes / place)
    if recipe:
        graph = with_opened(load_recipe(recipe), data, CATALOG)
    (reader,) = graph.sources
    in_order = graph.replace_node(replace(reader, args={**reader.args, "random_shuffle": False}))
    named = with_samples(TypedGraph(set_setting(in_order, batch_size=3), CATALOG))
    named = replace(named, outputs={"file": named.outputs["file"]})
    ((names,),) = script_batches(named, shapes / place, 1, tmp_path)
    (dataset,) = (replace(each, kind=reader.kind) for each in data.values())
    listed = [os.path.join(dataset.root, each.name) for each in list_samples(dataset)]
    found = [os.path.join(dataset.root, os.fsdecode(bytes(n).rstrip(b"\0"))) for n in names]
    assert found[0] == listed[0]
    assert set(found) <= set(listed)


def test_a_loader_without_samples_is_as_before() -> None:
    assert '"file"' not in export(load_recipe("rotate-jitter"), "pytorch").main.text


REPLAYED = [
    ("coco/annotations.json", "retinanet"),
    ("tfrecord", "retinanet"),
    ("webdataset", "segmentation"),
    ("recordio", "rotate-jitter"),
    ("webdataset", "rotate-jitter"),
    ("segmentation", "segmentation"),
]


@pytest.mark.parametrize(("place", "recipe"), REPLAYED)
def test_samples_of_archives_and_annotations_are_shown_again(
    shapes: Path, tmp_path: Path, place: str, recipe: str
) -> None:
    data = open_datasets(str(shapes / place))
    graph = with_opened(load_recipe(recipe), data, CATALOG)
    named = with_samples(TypedGraph(set_setting(graph, batch_size=3, num_threads=1), CATALOG))
    (found,) = script_batches(named, shapes / place, 1, tmp_path)
    batch = dict(zip(named.outputs, (output[2] for output in found), strict=True))
    file = os.fsdecode(bytes(batch.pop("file")).rstrip(b"\0"))
    values = {name: batch.pop(name) for name in set(batch) - set(graph.outputs)}
    assert values
    shown = wb.replay(graph, file, values, shapes / place)
    for name, array in batch.items():
        is_class = name == "labels" and "boxes" not in batch  # a batch of them is (B,)
        assert np.array_equal(shown[name][0], array[0] if is_class else array), name


def test_graphs_that_compute_with_a_draw_are_refused(shapes: Path) -> None:
    values = dict.fromkeys(("zoom", "shift", "angle", "mirror"), 0)
    with pytest.raises(
        wb.GraphError, match="'zoom' cannot be set to a number, because it also feeds"
    ):
        wb.replay(load_recipe("key-points"), "000000.jpg", values, shapes / "coco/keypoints.json")


def test_of_several_data_sets_the_one_that_the_graph_reads_is_used(
    photos: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    file = next(photos.glob("*/*.jpg"))
    graph = wb.read(str(photos)).decode().resize(size=(8, 8))
    both = {"others": str(tmp_path / "other"), "data": str(photos)}
    shown = wb.replay(graph, file.relative_to(photos), {}, both)
    assert shown.images[0].shape == (8, 8, 3)
    wrong = {"others": str(photos), "more": str(photos)}
    with pytest.raises(wb.DataError, match="names 'others', 'more', but the graph reads 'data'"):
        wb.replay(graph, file.relative_to(photos), {}, wrong)


def test_a_sequence_of_a_video_is_not_shown_again(shapes: Path) -> None:
    with pytest.raises(wb.DataError, match="replay does not support videos"):
        wb.replay(wb.read(shapes / "video"), "arrow/arrow_1.avi", {}, shapes / "video")


@pytest.mark.parametrize("target", ["pytorch", "lightning"])
def test_a_loop_that_trains_leaves_file_names_on_the_host(
    photos: Path, tmp_path: Path, target: str
) -> None:
    require(target)
    graph = set_setting(load_recipe("rotate-jitter"), batch_size=64, num_threads=1)
    made = export(graph, target, with_="training+samples", data=photos)
    assert wb.export(graph, target, with_="training", data=photos).main.text != made.main.text
    program = made.write(tmp_path / "t.py")[0]
    subprocess.run(
        [sys.executable, program, "--data", photos, "--epochs", "1"], check=True, cwd=tmp_path
    )


def test_a_program_with_samples_is_read_back_as_the_graph(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    program = export(graph, "jax", with_="samples").write(tmp_path / "l.py")[0]
    assert wb.from_file(program).graph == graph


# A pinned draw: whatever is edited, every other node draws what it drew before.

COUNT = 3


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner(CATALOG)
    yield runner
    runner.forget()


def drawn(graph: Graph) -> dict[str, Port]:
    """The outputs of all generators, by node."""
    return {
        node.id: Port(node.id, "output")
        for node in graph.nodes
        if is_generator(CATALOG[node.op]) and not node.inputs
    }


@examples(20, thorough=1200)
@given(
    st.one_of(st.sampled_from(list(photo_recipes().values())), CHAINS),
    st.lists(step(("set", "insert", "remove", "move", "randomise", "reset")), max_size=4),
    st.integers(0, 2),
)
def test_an_edit_changes_no_draw_of_another_node(
    runner: Runner,
    photos: Path,
    graph: Graph,
    edits: list,
    batch: int,  # type: ignore[type-arg]
) -> None:
    graph = with_settings(graph, batch_size=COUNT, device="cpu")
    edited = graph
    for edit in edits:
        edited = apply_step(edited, CATALOG, edit)
    kept = {
        node: port
        for node, port in drawn(graph).items()
        if edited.has(node) and edited.node(node) == graph.node(node)
    }
    assume(kept)
    assume(not check_graph(graph, CATALOG))
    ports = list(kept.values())
    try:
        before = runner.run(graph, str(photos), batch, COUNT, ports)
        runner.forget()
        after = runner.run(edited, str(photos), batch, COUNT, ports)
    except PipelineError:
        assume(False)  # values that the catalogue allows and DALI refuses
    for port in ports:
        assert same(before.batches[port].arrays(), after.batches[port].arrays()), port


def test_another_batch_or_seed_is_a_new_draw(runner: Runner, photos: Path) -> None:
    graph = with_settings(load_recipes()["rotate-jitter"], batch_size=COUNT)
    port = drawn(graph)["angle"]

    def angles(graph: Graph, batch: int) -> list[float]:
        result = runner.run(graph, str(photos), batch, COUNT, [port])
        return [float(array) for array in result.batches[port].arrays()]

    first = angles(graph, 0)
    assert not set(first) & set(angles(graph, 1))
    assert not set(first) & set(angles(with_settings(graph, seed=1), 0))
    assert first == angles(graph, 0)


# The short form of ``benchmarks/test_soak.py``, for ``make test-all``.


@pytest.mark.thorough
@pytest.mark.parametrize("edits", [26, 300])
def test_random_edits_show_what_the_export_gives(photos: Path, edits: int) -> None:
    with Engine(budget=BUDGET) as engine:
        found = soak(engine, photos, edits, seed=2, compare_each=25)
        assert engine.pid is not None, "the worker is there after all of it"
    assert found.shown > edits / 3
    assert found.compared >= 1
    assert not found.lost, "\n".join(found.lost)
