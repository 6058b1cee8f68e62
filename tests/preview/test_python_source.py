"""Python sources: the preview returns what the exported programs do, and says what it cannot."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt as root
from pathlib import Path
from random import shuffle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import rand

import workbench as wb
from tests.helpers import import_script, with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.graph import Graph
from workbench.graph.types.tensor_type import TensorType
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.user_functions.source_writer import source_function
from workbench.preview import PreviewRequest, preview_outputs
from workbench.preview.verify import Verifier

SIZE = 10
opened = 0


@dataclass
class Config:
    size: int = SIZE
    lines: str = """one
    two"""


class Batches:
    """Batches of four, the last of two; it restarts by itself."""

    def __init__(self, config: Config | None = None) -> None:
        self.config = config or Config()

    def __iter__(self) -> Batches:
        global opened
        opened += 1
        self.at = 0
        return self

    def __next__(self) -> tuple[Any, Any]:
        if self.at >= self.config.size:
            self.at = 0
            raise StopIteration
        numbers = range(self.at, min(self.at + 4, self.config.size))
        self.at += 4
        images = [np.full((20, 30, 3), 10 * number, np.uint8) for number in numbers]
        return images, [np.int32([number]) for number in numbers]


def numbered(info: Any) -> Any:
    """Samples that differ in each epoch of five batches."""
    if info.iteration == 5:
        raise StopIteration
    rng = np.random.default_rng([info.idx_in_epoch, info.epoch_idx])
    return rng.integers(0, 256, (16, 16, 3), np.uint8), np.int32([info.idx_in_epoch])


def pairs(number: int) -> Any:
    images = np.zeros((4, 8, 8, 3), np.uint8)
    if number == 1:
        return images, np.zeros((4, 1), np.float32)
    if number == 2:
        return images, np.zeros((4, 1), np.int32), images
    return images, np.zeros((4, 1), np.int32)


def clips() -> Iterator[Any]:
    for number in range(3):
        yield np.full((4, 8, 8, 3), number, np.uint8)


def augmented(graph: Graph) -> Graph:
    angle = wb.random.uniform(range=(-20.0, 20.0))
    turned = graph.images.noise.gaussian(stddev=9.0).rotate(angle=angle, keep_size=True)
    return wb.outputs(images=turned, labels=graph.labels).with_settings(batch_size=4)


NAMES = ("images", "labels")


@pytest.mark.thorough
def test_a_source_before_a_block_is_not_converted(engine: Engine) -> None:
    graph = augmented(wb.source(Batches, NAMES)).with_p(0.5, lambda images: images.flip())
    assert "@do_not_convert\ndef make_batches():" in wb.export(graph).main.text
    assert Verifier(graph, {}, 8, engine=engine).run().identical == 28


@pytest.mark.parametrize(
    ("source", "options", "count"),
    [
        (Batches, {}, 28),
        (numbered, {"batch": False}, 32),
        pytest.param(clips, {"cycle": "raise"}, 32, marks=pytest.mark.thorough),
    ],
)
def test_eight_batches_are_those_of_the_script(
    engine: Engine, source: Any, options: dict[str, Any], count: int
) -> None:
    graph = wb.source(source, "images" if options.get("cycle") else NAMES, **options)
    graph = augmented(graph) if "labels" in graph.outputs else with_settings(graph, batch_size=4)
    report = Verifier(graph, {}, 8, engine=engine).run()
    assert report.lines() == [f"identical: {count} of {count}"]


def test_a_loader_has_the_epochs_of_the_source(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = wb.export(augmented(wb.source(Batches, NAMES)), "pytorch").main.text
    program = import_script(text, tmp_path)
    loader = program.Loader(program.build_pipeline())
    epochs = [[batch["labels"].reshape(-1).tolist() for batch in loader] for _ in range(2)]
    assert epochs == [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]] * 2
    with pytest.raises(ValueError, match="num_shards must be 1"):
        program.build_pipeline(num_shards=2)


def test_a_loader_in_this_process_ends_where_the_source_ends() -> None:
    loader = wb.loader(augmented(wb.source(Batches, NAMES)), library="numpy", epochs=2)
    assert [len(labels) for _, labels in loader] == 2 * [4, 4, 2]
    assert repr(loader) == "<loader of images, labels: 2 epochs>"
    ended = wb.loader(wb.source(clips).with_settings(batch_size=4), library="numpy", epochs=2)
    with pytest.raises(RuntimeError, match="does not start again"):
        list(ended)


def batch(engine: Engine, graph: Graph, number: int) -> Any:
    return preview_outputs(engine, PreviewRequest(graph, {}, number, 4))


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1, "in batch 1 of its source, 'labels' is float32 with 1 axis, but in batch 0 int32 "),
        (2, "'labels' is float32"),
    ],
)
def test_a_batch_unlike_the_first_is_named(engine: Engine, number: int, said: str) -> None:
    graph = with_settings(wb.source(pairs, NAMES), batch_size=4)
    with pytest.raises(wb.PipelineError, match=said):
        batch(engine, graph, number)


def test_another_number_of_outputs_is_named(engine: Engine) -> None:
    graph = with_settings(wb.source(pairs, ("images", "labels", "sizes")), batch_size=4)
    with pytest.raises(wb.PipelineError, match=r"a tuple of 2.*; expected 3 arrays \(images, lab"):
        batch(engine, graph, 0)


def integers() -> Iterator[Any]:
    yield from ((np.zeros((4, 4, 3), np.uint8), number) for number in range(9))


def named(info: Any) -> Any:
    return {"images": np.zeros((4, 4, 3), np.uint8), "labels": info}


def tensors(info: Any) -> Any:
    import torch

    return torch.zeros(4, 4, 3), torch.zeros(1)


@pytest.mark.parametrize(
    ("source", "whole", "said"),
    [
        (integers, True, "'labels' is int 0; expected an array .*Set batch to False if it"),
        (integers, False, r"'labels' is int 0; expected an array .*Return np\.array\(\.\.\.\)"),
        (named, False, r"a dict of 'images', 'labels'; expected 2 arrays \(images, labels\)"),
        (tensors, False, r"'images' is a PyTorch tensor, which DALI .*Return tensor\.numpy\(\)"),
    ],
)
def test_what_is_no_array_is_named(source: Any, whole: bool, said: str, engine: Engine) -> None:
    """DALI reports these without a node, for example as a missing CUDA."""
    if source is tensors and pytest.importorskip("torch").cuda.is_available():
        pytest.skip("DALI reads tensors if PyTorch has a GPU")
    graph = with_settings(wb.source(source, NAMES, batch=whole), batch_size=4)
    with pytest.raises(wb.PipelineError, match=said):
        batch(engine, graph, 0)


def test_a_batch_larger_than_the_graph_allows_is_named(engine: Engine) -> None:
    graph = with_settings(wb.source(pairs, NAMES), batch_size=2)
    with pytest.raises(wb.PipelineError, match="'images' has 4 samples; expected 1 to 2, the"):
        preview_outputs(engine, PreviewRequest(graph, {}, 0, 2))


def test_the_end_of_a_generator_is_said(engine: Engine) -> None:
    graph = with_settings(wb.source(clips), batch_size=4)
    with pytest.raises(wb.DataError, match=r"ended after 3 batches and did not start again\. Use"):
        batch(engine, graph, 3)
    graph = with_settings(wb.source(clips, batch=False, cycle="raise"), batch_size=4)
    with pytest.raises(wb.DataError, match="ended before its first batch of 4 was complete"):
        batch(engine, graph, 0)


def test_untrusted_code_does_not_run() -> None:
    text = wb.dump_graph(wb.source(numbered, NAMES, batch=False))
    graph = wb.load_graph(text.replace("iteration == 5", "iteration == 6"))
    (fault,) = wb.check_graph(graph)
    assert (fault.arg, fault.code) == ("source", "untrusted")
    with pytest.raises(wb.GraphFaultsError, match="is not trusted"):
        wb.export(graph)
    assert not wb.check_graph(wb.trust_graph(graph))


@pytest.mark.parametrize("target", ["keras", "tensorflow", "dynamic", "triton", "torchvision"])
def test_a_target_without_python_says_why(target: str) -> None:
    graph = augmented(wb.source(numbered, NAMES, batch=False))
    with pytest.raises(wb.GraphExportError, match=r"Python|python_source"):
        wb.export(graph, target)


# The code of a source


def scope_of(text: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope


def test_a_source_is_written_with_what_it_uses() -> None:
    found = source_function(Batches, "make_batches", called=True)
    made = scope_of(found.source)["make_batches"]()
    assert made.config.lines == Config().lines  # inside a string nothing is indented
    assert "nonlocal opened" in found.source
    assert len(next(iter(made))[0]) == 4


def test_arguments_are_written_as_their_values() -> None:
    scale = np.float32(0.5)

    def scaled(values: Any, index: int) -> Any:
        return [np.float32([index * scale * value]) for value in values]

    options = SimpleNamespace(values=[1, 2])
    found = source_function(functools.partial(scaled, options.values), "make_scaled")
    assert found.creates
    assert scope_of(found.source)["make_scaled"]()(4)[1] == 4


def test_methods_that_a_module_exports_are_imported() -> None:
    """``random.shuffle`` is a method of a ``Random`` that has no code."""

    def mixed() -> Any:
        numbers = [*range(int(root(9)))]
        shuffle(numbers)
        return np.float32(numbers) + rand(3)

    text = source_function(mixed, "make_mixed").source
    for line in ("from random import shuffle", "from math import sqrt as root", "import rand"):
        assert line in text
    assert scope_of(text)["mixed"]().shape == (3,)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (lambda: Batches(Config()), "the arguments of this Batches are unknown"),
        (lambda: iter(clips()), None),
        (lambda: next(started := clips()) is None or started, "has already started"),
        (lambda: functools.partial(np.full, (2,), io.StringIO()), "type StringIO"),
    ],
)
def test_a_value_that_is_no_code_is_named(source: Any, said: str | None) -> None:
    value = source()
    if said is None:
        assert source_function(value, "make").source.endswith("return clips()\n")
        return
    with pytest.raises(wb.GraphEditError, match=said):
        source_function(value, "make")


def test_outputs_have_the_declared_types() -> None:
    graph = wb.source(numbered, NAMES, batch=False, layouts=("HWC", ""), dtypes=("UINT8", ""))
    types = TypedGraph(graph, load_catalog()).types
    assert types[graph.outputs["images"]] == TensorType("UINT8", "HWC", None, "image")
    assert types[graph.outputs["labels"]] == TensorType(None, "", None, "label")
