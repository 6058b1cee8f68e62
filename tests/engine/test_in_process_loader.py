from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from tests.thorough import one_in
from workbench.engine.build.in_process_loader import build_pipeline, import_program, make_loader
from workbench.errors import DataError, GraphExportError, GraphFaultsError
from workbench.graph.model import Graph
from workbench.sources import open_datasets


@pytest.fixture
def graph(photos: Path) -> Graph:
    made = wb.read(photos).decode().resize(size=(32, 32)).with_settings(batch_size=16)
    return made.crop_mirror_normalize(dtype="FLOAT", output_layout="CHW")


def test_the_loader_gives_every_sample_once(graph: Graph, photos: Path) -> None:
    torch = pytest.importorskip("torch")
    loader = make_loader(graph, open_datasets(photos), "torch", epochs=2)
    sizes = [len(images) for images, _ in loader]
    assert sum(sizes) == 2 * sum(1 for _ in photos.rglob("*.jpg"))
    images, labels = next(iter(make_loader(graph, open_datasets(photos), "torch")))
    assert images.dtype == torch.float32
    assert labels.shape == (16,)
    assert len(loader) == len(sizes) // 2
    assert repr(loader).startswith("<loader of images, labels")


def test_a_loader_needs_no_workbench(graph: Graph) -> None:
    pytest.importorskip("torch")
    assert len(list(wb.loader(graph, epochs=2, batch_size=60))) == 4
    with pytest.raises(DataError, match="no data are set"):
        wb.loader(wb.load_recipe("simclr"))


def test_a_loader_converts_the_graph_to_other_kinds_of_data(graph: Graph, photos: Path) -> None:
    files = sorted(photos.rglob("*.jpg"))[:6]
    of_files = wb.read(files).decode().resize(size=(8, 8)).with_settings(batch_size=6)
    for made, data in ((of_files, photos), (graph.with_settings(batch_size=6), files)):
        (images, labels), *_ = wb.loader(made, data, "numpy")
        batch = made.batch(0, data=data)
        assert np.array_equal(images, batch.images)
        assert np.array_equal(labels, batch.labels)


def test_jax_has_batches_of_one_size(graph: Graph, photos: Path) -> None:
    jax = pytest.importorskip("jax")
    batches = list(wb.loader(graph, library="jax", batch_size=50))
    assert [images.shape for images, _ in batches] == [(50, 3, 32, 32)] * len(batches)
    assert isinstance(batches[0][0], jax.Array)
    with pytest.raises(wb.ArgumentError, match="Did you mean batch_size"):
        wb.loader(graph, library="jax", batch_sise=3)


def test_samples_of_several_sizes_are_told_in_a_sentence(graph: Graph, photos: Path) -> None:
    pytest.importorskip("torch")
    turned = wb.read(photos).decode().resize(size=(32, 32))
    turned = turned.rotate(angle=wb.random.uniform(range=(10, 40))).with_settings(batch_size=8)
    with pytest.raises(GraphExportError, match=r"rotate: .* differ in size.*keep_size"):
        wb.loader(turned)


def test_pipelines_side_by_side_give_every_sample_once(graph: Graph, photos: Path) -> None:
    pytest.importorskip("torch")
    two, data = graph.with_settings(pipelines=2), open_datasets(photos)
    assert len(build_pipeline(two, data)) == 2
    sizes = [len(images) for images, _ in make_loader(two, data, "torch")]
    assert sum(sizes) == sum(1 for _ in photos.rglob("*.jpg"))


@pytest.mark.parametrize("pipelines", one_in(2, [1, 3], first=1))
@pytest.mark.parametrize("given", one_in(2, [1, 5], first=1))
def test_a_loader_goes_on_from_a_checkpoint(photos: Path, pipelines: int, given: int) -> None:
    torch = pytest.importorskip("torch")
    drawn = wb.read(photos).decode().resize(size=(32, 32))
    drawn = drawn.rotate(angle=wb.random.uniform(range=(-9, 9)), keep_size=True)
    drawn = drawn.with_settings(pipelines=pipelines, batch_size=7)
    loader = wb.loader(drawn, photos, epochs=2, resumable=True)
    batches = iter(loader)
    for _ in range(given):
        next(batches)
    saved = loader.checkpoint()
    rest = list(batches)
    again = wb.loader(drawn, photos, epochs=2, resumable=True, checkpoint=saved)
    assert len(rest) == 2 * len(loader) - given
    for one, other in zip(rest, again, strict=True):
        assert all(torch.equal(left, right) for left, right in zip(one, other, strict=True))


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_an_epoch_left_early_is_continued_with_a_warning_or_restarted(
    graph: Graph, photos: Path, library: str
) -> None:
    pytest.importorskip(library)
    loader = wb.loader(graph, library=library)
    next(iter(loader))
    with pytest.warns(UserWarning, match=r"at batch 2 of 8, .*Create the loader with restart=True"):
        assert len(list(loader)) == len(loader) - 1
    list(zip(range(len(loader)), loader, strict=False))  # a whole epoch, as islice reads it
    assert len(list(loader)) == len(loader)
    again = wb.loader(graph, library=library, restart=True)
    older = iter(again)
    next(older)
    assert len(list(again)) == len(again)
    with pytest.raises(RuntimeError, match="A newer iterator replaced this one"):
        next(older)
    with pytest.raises(wb.UnsupportedUseError, match=r"Use a loop, or next\(iter\(loader\)\)"):
        again[0]


def test_only_a_resumable_loader_has_a_checkpoint(graph: Graph, photos: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(wb.ArgumentError, match="resumable=True"):
        wb.loader(graph, photos).checkpoint()


@pytest.mark.parametrize(("shard", "count"), [(2, 2), (-1, 2), ("0", 2), (0, 0), (0, 1.5)])
def test_a_shard_that_is_none_is_told(
    graph: Graph, photos: Path, shard: object, count: object
) -> None:
    pytest.importorskip("torch")
    with pytest.raises(wb.ArgumentError, match=r"shard_id is .* with shard_id from 0 to num_sh"):
        wb.loader(graph, photos, shard_id=shard, num_shards=count)


def test_a_pipeline_takes_the_options_of_the_script(graph: Graph, photos: Path) -> None:
    pipe = build_pipeline(graph, open_datasets(photos), batch_size=3)
    assert len(pipe.run()[0]) == 3


def test_dali_can_read_the_source_of_a_graph_with_blocks(photos: Path) -> None:
    graph = wb.read(photos).decode().resize(size=(8, 8)).with_p(0.5, lambda x: x.flip())
    assert len(build_pipeline(graph, open_datasets(photos), batch_size=2).run()[0]) == 2


@pytest.mark.parametrize(
    ("left", "said"), [(0, "the file is empty"), (0.5, "image file is truncated")]
)
def test_a_bad_file_is_told_with_the_remedy(
    left: float, said: str, photos: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    for number, file in enumerate(sorted(photos.rglob("*.jpg"))[:6]):
        content = file.read_bytes()
        bad = content[: int(left * len(content))]
        (tmp_path / f"{number}.jpg").write_bytes(bad if number == 5 else content)
    files = sorted(tmp_path.iterdir())
    for data, fix in (
        (tmp_path, f"`workbench check {tmp_path} --full --good good.txt`"),
        (files, "Remove such files from the list"),
    ):
        loader = wb.loader(wb.read(data).decode().resize(size=(8, 8)), batch_size=2)
        with pytest.raises(DataError, match=rf"5\.jpg \({said}") as raised:
            list(loader)
        assert fix in str(raised.value)
        assert raised.value.__suppress_context__


def test_what_cannot_be_is_told_in_a_sentence(graph: Graph, tmp_path: Path) -> None:
    data = open_datasets(tmp_path)
    with pytest.raises(GraphExportError, match="Use one of torch, jax"):
        make_loader(graph, data, "mxnet")
    with pytest.raises(GraphExportError, match="integer of 1 or more"):
        make_loader(graph, data, "torch", epochs=0)
    with pytest.raises(DataError, match="There is no folder"):
        build_pipeline(graph, open_datasets(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="no data are set"):
        build_pipeline(graph, {})
    with pytest.raises(GraphFaultsError):
        import_program(Graph(), "script", {})
