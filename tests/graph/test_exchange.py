from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.sources.written_pixels import write_frames, write_volumes
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import Graph, load_recipe
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import set_arg
from workbench.graph.edits.exchange import exchanged
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Port
from workbench.preview import PreviewRequest, preview_batch
from workbench.sources import Dataset, load_source, open_datasets, source_kinds

KINDS = [kind for kind in source_kinds() if "labels" in load_source(kind).outputs]


def read_as(graph: Graph, kind: str) -> Graph:
    return exchanged(graph, graph.sources[0], kind)


@pytest.mark.parametrize("kinds", [*pairwise([*KINDS, KINDS[0]])], ids="-".join)
def test_every_kind_takes_the_place_of_every_other(kinds: tuple[str, str]) -> None:
    catalog, graph = load_catalog(), load_recipe("rotate-jitter")
    for kind in (*kinds, "folder"):
        graph = read_as(graph, kind)
        assert not check_graph(graph, catalog)
        decoders = [node for node in graph.nodes if node.op.startswith("decoders.")]
        assert len(decoders) == (0 if load_source(kind).pixels else 1)
    assert graph.nodes[1].id == "decode"


def test_the_order_of_axes_that_is_given_is_that_of_what_is_read() -> None:
    graph = load_recipe("imagenet-eval")
    (given,) = (node for node in graph.nodes if "output_layout" in node.args)
    frames = read_as(graph, "video_frames")
    assert frames.node(given.id).args["output_layout"] == "FCHW"
    assert not check_graph(frames, load_catalog())
    assert read_as(read_as(frames, "video"), "folder").node(given.id) == given
    assert read_as(graph, "numpy_files").node(given.id).args["output_layout"] == "CHW"


def test_volumes_have_the_order_of_sequences(tmp_path: Path, engine: Engine) -> None:
    graph = set_arg(load_recipe("imagenet-eval"), load_catalog(), "normalize", "mean", [128.0])
    graph = set_arg(graph, load_catalog(), "normalize", "std", [64.0])
    data = open_datasets(write_volumes(tmp_path / "volumes"))
    made = with_datasets(graph, data)
    assert made.node("normalize").args["output_layout"] == "FCHW"
    (shown,) = preview_batch(engine, PreviewRequest(graph, data, tiles=1)).tiles
    assert shown.shape.startswith("6×2×224×224")
    back = read_as(made, "folder")
    assert back.node("normalize") == graph.node("normalize")


def test_a_source_of_the_same_kind_changes_nothing() -> None:
    graph = load_recipe("rotate-jitter")
    assert read_as(graph, "folder") is graph


def test_pixels_that_are_given_out_stay_given_out(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    graph = replace(graph, outputs={**graph.outputs, "original": Port("decode", "output")})
    assert read_as(graph, "numpy_files").outputs["original"] == Port("reader", "images")
    videos = read_as(read_as(graph, "numpy_files"), "video_frames")
    assert videos.outputs["original"] == Port("reader", "frames")
    assert read_as(videos, "folder").outputs == graph.outputs


def test_a_decoder_that_does_more_stays_and_says_what_it_lacks(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    decode = replace(graph.node("decode"), op="decoders.image_random_crop")
    graph = graph.replace_node(decode)
    words = r"uses jpegs of .* NumPy files .* has none: readers\.numpy gives images and"
    with pytest.raises(DataError, match=words):
        with_datasets(graph, {"data": Dataset("numpy_files", str(write_volumes(tmp_path)))})


def test_what_a_sequence_must_be_told_comes_and_goes(tmp_path: Path) -> None:
    graph = load_recipe("rotate-jitter")
    data = {"data": Dataset("video_frames", str(write_frames(tmp_path / "frames")))}
    videos = with_datasets(graph, data)
    assert videos.sources[0].args == {
        "sequence_length": 8,
        "initial_fill": 64,  # a thousand sequences of large frames would fill the memory
        "random_shuffle": True,
    }
    chosen = replace(videos.sources[0], args={"sequence_length": 3, "initial_fill": 9})
    assert read_as(videos.replace_node(chosen), "video").sources[0].args == chosen.args
    assert read_as(videos, "folder").sources[0].args == {"random_shuffle": True}
