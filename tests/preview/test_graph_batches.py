"""Graphs that run without a workbench: one image, batches, grids, and the worker they share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import psutil
import pytest
from PIL import Image

import workbench as wb
from workbench.engine.protocol import shared_engine
from workbench.graph.model import Graph


@pytest.fixture(autouse=True, scope="module")
def _end_the_worker() -> Iterator[None]:
    yield
    shared_engine.shared_engine().end_worker()


@pytest.fixture
def graph(photos: Path) -> Graph:
    turned = wb.random.uniform(range=(-20, 20))
    made = wb.read(photos).decode().resize(size=(32, 32))
    return made.rotate(angle=turned, keep_size=True, p=0.5).with_settings(batch_size=6)


def test_a_batch_is_that_of_the_script(graph: Graph, photos: Path) -> None:
    batch = graph.batch(1)
    images, labels = wb.loader(graph, library="numpy").batches.__iter__().__next__().values()
    assert batch.number == 1
    assert batch.labels.shape == labels.shape == (6,)
    assert np.array_equal(graph.batch(0).images, images)
    assert np.array_equal(graph.batch(1, samples=2, data=photos).images, batch.images[:2])
    names = sorted(folder.name for folder in photos.iterdir() if folder.is_dir())
    assert list(batch.classes) == [names[label] for label in batch.labels]
    drawn = zip(batch.draws["rotate_chance"], batch.draws["angle"], strict=True)
    assert all((angle is None) != chance for chance, angle in drawn), "None: it did not apply"
    with pytest.raises(wb.DataError, match="The graph has no data"):
        wb.load_recipe("rotate-jitter").batch(0)


def test_one_image(graph: Graph, photos: Path) -> None:
    path = sorted(photos.rglob("*.jpg"))[0]
    of_path = graph(path)
    with Image.open(path) as image:
        assert np.array_equal(graph(np.asarray(image)), of_path)
        assert np.array_equal(graph(image), of_path)
    assert np.array_equal(graph(path), of_path), "the same numbers are drawn"
    assert len({graph(path, draw=draw).tobytes() for draw in range(6)}) > 1
    two = wb.outputs(a=graph.images, b=graph["resize"].output, labels=graph.labels)
    assert [view.shape for view in two(path)] == [(32, 32, 3)] * 2
    by_label = graph.if_else(graph.labels[0] == 3, lambda x: x.flip())
    with pytest.raises(wb.ArgumentError, match="for example label=3"):
        by_label(path)
    assert np.array_equal(by_label(path, label=3), by_label(path, label=2)[:, ::-1])


def test_pictures_have_classes_draws_and_boxes(graph: Graph, tmp_path: Path) -> None:
    batch = graph.batch(0)
    figure = batch.plot(rows=1, figsize=(8, 2))
    assert len(figure.axes) == 4
    assert tuple(figure.get_size_inches()) == (8, 2)
    lines = figure.axes[0].get_title().split("\n")
    assert lines[0].startswith(f"{batch.classes[0]} · {Path(batch.files[0]).stem}")
    assert lines[1].startswith("rotate_chance ")
    assert 'title="1. ' in figure._repr_html_()
    value = [wb.random.uniform(range=(0, 2)) for _ in range(3)]
    many = graph.brightness(brightness=value[0]).contrast(contrast=value[1])
    many = many.saturation(saturation=value[2]).batch(0)
    shown = many.plot()
    assert {axes.get_title().count("\n") for axes in shown.axes} == {2}
    assert all(axes.get_title().endswith(" …") for axes in shown.axes)
    assert shown._repr_html_().count(", saturation") == 6, "the tooltip has every value"
    two = wb.outputs(a=graph.images, b=graph.images.flip(horizontal=wb.random.coin_flip()))
    titles = [axes.get_title() for axes in two.batch(0).plot(rows=1).axes[:2]]
    assert ["horizontal" in title for title in titles] == [False, True], "of each view its own"
    own, axes = plt.subplots(1, 2)
    assert batch.plot(ax=axes) is axes
    assert all(each.get_title() for each in axes)
    assert batch.plot(ax=axes[0]) is axes[0]
    plt.close(own)
    own, whole = plt.subplots()
    rotated = wb.outputs(
        view_1=graph.images, view_2=graph.images.rotate(angle=wb.random.uniform(range=(0, 9)))
    )
    places = rotated.batch(0).plot(ax=whole).child_axes
    own.canvas.draw()
    titles = [place.title.get_window_extent() for place in places]
    pictures = [place.get_window_extent() for place in places]
    for title in titles:
        assert sum(title.overlaps(other) for other in (*titles, *pictures)) == 1, "its own"
    plt.close(own)
    with pytest.raises(wb.GraphError, match=r"no pictures to plot\. The outputs are labels"):
        wb.outputs(labels=graph.labels).batch(0).plot()


def test_show_outside_of_a_notebook_writes_a_file(
    graph: Graph, capsys: pytest.CaptureFixture[str]
) -> None:
    graph.show(rows=1)
    path = capsys.readouterr().out.strip()
    with Image.open(path) as shown:
        assert shown.size[0] > 500
    os.remove(path)


def test_boxes_are_drawn_with_their_names(tmp_path: Path) -> None:
    wb.write_samples(tmp_path, annotations=True)
    batch = (
        wb.load_recipe("ssd")
        .with_settings(batch_size=2)
        .batch(0, data=tmp_path / "coco" / "annotations.json")
    )
    assert any(mark.text for mark in batch.marks["images"][0])
    bare = batch.__class__(**{**vars(batch), "marks": {}})
    drawn, plain = (each.plot().axes[0].images[0].get_array() for each in (batch, bare))
    assert drawn.shape != plain.shape or not np.array_equal(drawn, plain)


def test_a_graph_is_saved_and_compared(graph: Graph, tmp_path: Path) -> None:
    path = graph.save(tmp_path / "mine.json")
    assert wb.read_graph(path) == graph
    assert not graph.diff(wb.read_graph(path))
    (found,) = graph.diff(graph["resize"].set(size=(16, 16)))
    assert (found.node, found.what, found.after) == ("resize", "size", "16, 16")
    newer = {**json.loads(path.read_text()), "version": 999}
    path.write_text(json.dumps(newer))
    with pytest.raises(wb.GraphFormatError, match="Open it with a newer workbench"):
        wb.read_graph(path)


def test_every_operator_has_a_chance(graph: Graph) -> None:
    flipped = graph.images.flip(p=0.3)
    made = wb.outputs(one=flipped, two=wb.fn.flip(graph.images, p=0.3), labels=graph.labels)
    assert not wb.check_graph(made)
    assert made["flip_chance"].probability == made["flip_chance_2"].probability == 0.3
    assert len(made.sources) == 1
    with pytest.raises(wb.GraphEditError, match=r"p is 2\. Use a number from 0 to 1"):
        graph.flip(p=2)


def test_all_graphs_and_the_latest_workbench_share_one_worker(graph: Graph) -> None:
    def workers() -> list[int]:
        found = psutil.Process().children(recursive=True)
        return [each.pid for each in found if shared_engine.shared_engine().pid == each.pid]

    graph.batch(0)
    graph.flip().batch(0)
    compared = wb.compare(graph, graph["resize"].set(size=(16, 16)), samples=2)
    assert "1 difference, pixels" in repr(compared)
    own = shared_engine.shared_engine()
    assert len(workers()) == 1
    w = wb.Workbench(graph, restore=False)
    try:
        assert shared_engine.shared_engine() is w._model.engine
        assert own.pid is None, "the worker of before has ended"
        graph.batch(0)
        assert own.pid is None
    finally:
        w.close()
    assert shared_engine.shared_engine() is own


@pytest.mark.thorough
def test_many_graphs_leave_one_worker_and_little_memory(graph: Graph) -> None:
    """10,000 graphs drawn and every hundredth run: nothing grows with their number."""
    graph.batch(0)
    process, used = psutil.Process(), []
    for number in range(10_000):
        made = graph.rotate(angle=float(number))
        made._repr_mimebundle_()
        if number % 100 == 0:
            made.batch(0)
        if number in (2_000, 9_999):
            used.append(sum(each.memory_info().rss for each in [process, *process.children()]))
    assert used[1] - used[0] < 100 * 2**20


class Broken:
    """A data set whose third sample raises."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> tuple[Any, int]:
        if index == 2:
            raise RuntimeError("the disk is gone")
        return Image.new("RGB", (40, 40)), index


def test_a_data_set_that_raises_is_told_with_the_sample() -> None:
    graph = wb.read(Broken()).decode().resize(size=(32, 32)).with_settings(batch_size=4)
    with pytest.warns(UserWarning, match=r"1 of 4 samples cannot be used: 2 \(.*the disk") as found:
        batch = graph.batch(0)
    assert "first usable sample replaces their content; their files" in str(found[0].message)
    assert batch.labels[[0, 1, 3]].tolist() == [0, 1, 3]
    assert {*batch.errors} == {"2"}
    assert "the disk is gone" in repr(batch)
    assert batch.plot().axes[2].get_title() == "replaces 2"
    with pytest.raises(
        wb.DataError, match=r"Sample 2 of the data .Broken .* RuntimeError: the disk"
    ):
        next(iter(wb.loader(graph, library="numpy")))


def test_samples_of_a_file_that_is_read_twice_are_all_counted(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_text("no image")
    files = [tmp_path / "bad.jpg", *sorted(photos.rglob("*.jpg"))[:1]]
    for count, said in ((1, "4 of 4 .* A placeholder"), (2, "2 of 4 .* The batch's first usable")):
        graph = wb.read(files[:count]).decode().resize(size=(8, 8)).with_settings(batch_size=4)
        with pytest.warns(UserWarning, match=said):
            graph.batch(0)


def test_constants_for_another_range_are_reported_where_a_graph_runs(graph: Graph) -> None:
    made = graph.crop_mirror_normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    for run in (made.batch, lambda: wb.loader(made, library="numpy")):
        with pytest.warns(UserWarning, match="Multiply mean and std by 255") as found:
            run()
        assert found[0].filename == __file__
    assert "warning: crop_mirror_normalize.mean" in repr(made)


def test_a_batch_names_its_epochs_and_labels_that_the_data_do_not_have(photos: Path) -> None:
    files = sorted(photos.rglob("*.jpg"))[:10]
    images = [np.asarray(Image.open(file).resize((8, 8))) for file in files]
    graph = wb.read(images).decode().with_settings(batch_size=4)
    later = graph.batch(2)
    assert [graph.batch(n).epochs for n in (0, 2, 999)] == [(1, 1), (1, 2), (400, 400)]
    assert "batch 2: 4 samples of epochs 1 to 2\n" in repr(later)
    assert "of batch 999 of epoch 400" in graph.batch(999).plot().get_suptitle()
    plt.close("all")
    assert "labels: 4 int32, 0 for all: the data have no labels" in repr(later)
    assert not later.classes
    with pytest.warns(UserWarning, match="have no labels, so 'labels' is 0 for every sample"):
        wb.loader(graph, library="numpy")
    labelled = graph.batch(0, data=[(image, at // 5) for at, image in enumerate(images)])
    assert labelled.classes == ("0",) * 4
    assert "no labels" not in repr(labelled)


def test_labels_of_torch_are_int64(graph: Graph) -> None:
    pytest.importorskip("torch")
    assert str(graph.batch(0).to("torch").labels.dtype) == "torch.int64"
