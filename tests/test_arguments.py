"""What public functions say of what they do not take: one sentence, with the nearest name."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.arguments import FUNCTION, NUMBER, TEXT, WHOLE, checked
from workbench.engine import Engine
from workbench.errors import EngineClosedError
from workbench.graph.model import Graph

Mistake = Callable[[Graph], Any]


@pytest.fixture(scope="module")
def graph(photos: Path) -> Graph:
    made = wb.read(photos).decode().resize(size=(64, 64)).rotate(angle=5, keep_size=True)
    return made.with_settings(batch_size=8)


@wb.node(layouts="HWC")
def invert(image: Any) -> Any:
    return 255 - image


def one_sentence(error: type[Exception], words: str, make: Callable[[], object]) -> None:
    with pytest.raises(error) as raised:
        make()
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 600


def test_kinds_defaults_and_names() -> None:
    @checked(count=WHOLE, share=NUMBER, name=TEXT, options=FUNCTION)
    def made(count: int, *options: object, share: float = 0.5, name: str | None = None) -> int:
        return count

    assert made(np.int64(3), len, share=np.float32(1), name=None) == 3
    assert made.__name__ == "made"
    for make, words in (
        (lambda: made(1.5), "count is 1.5 (float). Use an integer."),
        (lambda: made(True), "count is True (bool)"),
        (lambda: made(3, 4), "options is 4 (int). Use a function."),
        (lambda: made(3, share=None), "share is None (NoneType). Use a number."),
        (lambda: made(3, nam=""), "has no argument 'nam'. Did you mean name?"),
        (lambda: made(3, xyz=""), "It has count, share, name."),
        (lambda: made(), "missing a required argument: 'count'. It accepts (count, *options,"),
    ):
        one_sentence(wb.ArgumentError, words, make)  # type: ignore[arg-type]


OF_ANOTHER_KIND: list[tuple[Mistake, str]] = [
    (lambda g: wb.check_graph(3), "check_graph: graph is 3 (int). Use a Graph: workbench.read"),
    (lambda g: wb.check_graph(g, 3), "catalog is 3 (int). Use a Catalog: workbench.load_catalog"),
    (lambda g: wb.check_graph(grap=g), "Did you mean graph?"),
    (lambda g: wb.emit_script("simclr"), "emit_script: graph is 'simclr' (str)"),
    (lambda g: wb.export("simclr"), "export: graph is 'simclr' (str)"),
    (lambda g: wb.export(g, 3), "target is 3 (int). Use a string."),
    (lambda g: wb.dump_graph(3), "graph is 3"),
    (lambda g: wb.load_graph(b"{}"), "text is b'{}' (bytes)"),
    (lambda g: wb.read_graph(3), "path is 3 (int). Use a path."),
    (lambda g: wb.load_recipe(3), "name is 3"),
    (lambda g: wb.trust_graph(3), "graph is 3"),
    (lambda g: wb.write_samples(3), "folder is 3"),
    (lambda g: wb.from_file(3), "path is 3"),
    (lambda g: wb.from_file("pipe.py", 3), "pipeline is 3"),
    (lambda g: wb.from_file("pipe.py", args=3), "args is 3 (int). Use a dict."),
    (lambda g: wb.from_file("pipe.py", seconds="x"), "seconds is 'x'"),
    (lambda g: wb.outputs(g.images), "outputs takes only keyword arguments. Use wb.outputs(view_1"),
    (lambda g: wb.preview_batch(3, g), "engine is 3 (int). Use an Engine: workbench.Engine()"),
    (lambda g: wb.PreviewRequest(3, "."), "PreviewRequest: graph is 3"),
    (lambda g: wb.PreviewRequest(g, ".", batch=1.5), "batch is 1.5 (float). Use an integer."),
    (lambda g: wb.PreviewRequest(g, ".", repeat="a"), "repeat is 'a'"),
    (lambda g: wb.PreviewRequest(g, ".", baseline=3), "baseline is 3"),
    (lambda g: wb.compare(g, g, batch="a"), "compare: batch is 'a'"),
    (lambda g: wb.compare(g, g, tiles=3), "compare has no argument 'tiles'."),
    (lambda g: wb.check_folder(".", on_progress=3), "on_progress is 3 (int). Use a function."),
    (lambda g: wb.Engine(call_limit="a"), "call_limit is 'a'"),
    (lambda g: wb.Engine(call_limit=-1), "Use a call_limit above 0 seconds"),
    (lambda g: wb.Benchmark("simclr", "."), "Benchmark: graph is 'simclr'"),
    (lambda g: wb.Benchmark(g, ".", device="cpu"), "Did you mean devices?"),
    (lambda g: wb.Benchmark(g, ".", devices=("gpu",)), "devices is 'gpu' (str). Use one of cpu"),
    (
        lambda g: wb.Benchmark(g, ".", devices=()),
        "devices is empty. Use one or more of cpu, mixed.",
    ),
    (lambda g: wb.Benchmark(g, ".", regimes=("decod",)), "Did you mean decode?"),
    (lambda g: wb.Benchmark(g, ".", peers=("torchvison",)), "peers is 'torchvison'"),
    (lambda g: wb.Benchmark(g, ".", cache="hot"), "cache is 'hot'"),
    (lambda g: wb.Workbench(g, g), "received two graphs"),
    (lambda g: wb.Graph(nodes=3), "nodes is 3"),
    (lambda g: wb.Node("a", "rotate", args=3), "is 3 (int). Use a dict."),
    (
        lambda g: g.with_p(0.5, 3),
        "with_p: apply is 3 (int). Use a function of the graph: lambda x:",
    ),
    (lambda g: g.with_p(0.5, None), "apply is None"),
    (lambda g: g.one_of(3, 4), "options is 3"),
    (lambda g: g.some_of(1, 3), "options is 3"),
    (lambda g: g.repeat(3, 4), "apply is 4"),
    (lambda g: g.if_else(g.labels, lambda x: x, 3), "otherwise is 3"),
    (lambda g: g.named(3), "name is 3"),
    (lambda g: g["rotate"].set(3), "set: too many positional arguments"),
    (lambda g: g["rotate"].rename(3), "new_id is 3"),
    (lambda g: invert.after(3, "resize"), "graph is 3"),
    (lambda g: invert.after(g, "resize", draws=3), "draws is 3"),
]


@pytest.mark.parametrize(("make", "words"), OF_ANOTHER_KIND)
def test_arguments_of_another_kind(graph: Graph, make: Mistake, words: str) -> None:
    one_sentence(wb.ArgumentError, words, lambda: make(graph))


OUT_OF_RANGE: list[tuple[type[wb.WorkbenchError], Mistake, str]] = [
    (wb.ArgumentError, lambda g: g.with_settings(batch_size=0), "batch_size is 0. Use an"),
    (wb.ArgumentError, lambda g: g.with_settings(batch_size="a"), "batch_size is 'a'"),
    (wb.ArgumentError, lambda g: g.with_settings(device="gpu"), "Use cpu or mixed."),
    (wb.GraphFaultsError, lambda g: g.rotate(angle=5, device="tpu"), "It runs on the CPU and"),
    (wb.GraphFaultsError, lambda g: g.rotate(angle=np.zeros((4, 4))), "is a list. Use a number."),
    (wb.GraphFaultsError, lambda g: g.warp_affine(matrix=[]), "[] has 0 elements"),
    (
        wb.GraphFaultsError,
        lambda g: g.resize(size=(1, 2, 3)),
        "resize_2.size: it has 3 elements, but its input is HWC. Use one number, or 2 (h, w).",
    ),
    (
        wb.GraphFaultsError,
        lambda g: g.random_resized_crop(size=(1, 2, 3)),
        "size: [1, 2, 3] has 3 elements. Use one number, or 2 (h, w).",
    ),
    (
        wb.GraphFaultsError,
        lambda g: g.gaussian_blur(sigma=(1, 2, 3, 4)),
        "sigma: [1, 2, 3, 4] has 4 elements. Use one number, or 2 (h, w) or 3 (d, h, w).",
    ),
    (wb.GraphEditError, lambda g: g.rotate(angle=5, name="1 x"), "Use a Python name"),
    (wb.GraphEditError, lambda g: g.noise.gaussian(seed="a"), "seed is 'a' (str)"),
    (wb.GraphEditError, lambda g: g["rotate"].set(angle=g.images), "cannot be its own input"),
    (wb.GraphFaultsError, lambda g: g.experimental.dilate(), "runs on the GPU only. Decode on"),
    (wb.GraphFaultsError, lambda g: g.experimental.dilate(device="cpu"), "cannot run on the CPU"),
    (wb.GraphEditError, lambda g: g.with_p(0.5, lambda: 3), "cannot be called with a graph"),
    (wb.GraphEditError, lambda g: g.some_of(1), "some_of has no options"),
    (wb.GraphEditError, lambda g: g.one_of(abs, abs, weights=3), "Use one number per option"),
    (wb.GraphEditError, lambda g: g["rotate"].reset("angl"), "Did you mean angle?"),
    (wb.GraphEditError, lambda g: g.images + np.zeros(3), "cannot be combined"),
    (wb.GraphEditError, lambda g: wb.outputs(**{"a b": g.images}), "is not a Python name"),
    (wb.GraphEditError, lambda g: invert.after(g, "resize", "outpt"), "no output 'outpt'. It has"),
    (wb.GraphEditError, lambda g: invert.after(g, "rotate", draws={"a": 3}), "minimum, maximum"),
    (wb.GraphEditError, lambda g: wb.node(3), "cannot be stored"),
    (wb.GraphEditError, lambda g: wb.node("x"), "does not name a function"),
    (wb.GraphEditError, lambda g: wb.numba_node(3)(abs), "3 is not a type and layout"),
    (wb.GraphExportError, lambda g: wb.export(g, "pytorc"), "Did you mean pytorch?"),
    (wb.GraphFormatError, lambda g: wb.load_recipe("simcl"), "Did you mean simclr?"),
    (wb.GraphFormatError, lambda g: wb.load_graph("x"), "The text is not valid JSON"),
    (wb.GraphFormatError, lambda g: wb.compare(3, g), "3 (int) is not a graph"),
    (wb.CatalogError, lambda g: wb.load_catalog()["rotat"], "Did you mean rotate"),
    (wb.CatalogError, lambda g: wb.load_catalog()[3], "3 is not an operator"),
    (wb.DataError, lambda g: wb.read("nowhere"), "There is no folder nowhere"),
    (wb.DataError, lambda g: wb.read({}), "read received no data"),
    (wb.DataError, lambda g: wb.read(np.zeros((2, 8, 8, 3))), "Use uint8: (255 * array)"),
    (wb.DataError, lambda g: wb.read(np.zeros((4, 3, 32, 32), np.uint8)), "is channels-first"),
    (wb.DataError, lambda g: wb.read(np.zeros((0, 8, 8, 3), np.uint8)), "has no images"),
    (wb.DataError, lambda g: wb.check_folder("nowhere"), "There is no folder nowhere"),
    (wb.DataError, lambda g: wb.check_folder([]), "The list is empty"),
    (wb.ArgumentError, lambda g: wb.PreviewRequest(g, ".", tiles=0), "tiles is 0. Use 1 or more."),
    (wb.ArgumentError, lambda g: wb.PreviewRequest(g, ".", shown="x"), "Use one of original"),
    (wb.ImportFailedError, lambda g: wb.from_pipeline(g), "is not an nvidia.dali.Pipeline"),
    (wb.ImportFailedError, lambda g: wb.from_file("nowhere.txt"), "cannot be read"),
]


@pytest.mark.parametrize(("error", "make", "words"), OUT_OF_RANGE)
def test_values_out_of_their_range(
    graph: Graph, error: type[wb.WorkbenchError], make: Mistake, words: str
) -> None:
    one_sentence(error, words, lambda: make(graph))


def test_names_of_attributes(graph: Graph) -> None:
    for make, words in (
        (lambda: wb.Workbenc, "Did you mean Workbench?"),
        (lambda: wb.fn.rotat, "Did you mean rotate"),
        (lambda: graph.images.rotat, "rotate.output has no output, method or operator 'rotat'"),
    ):
        one_sentence(AttributeError, words, make)  # type: ignore[arg-type]


def test_an_array_of_another_length_is_one_sentence(graph: Graph, engine: Engine) -> None:
    request = wb.PreviewRequest(graph.crop(crop=(3, 4, 5, 6)), graph.datasets or {}, tiles=1)
    one_sentence(wb.PipelineError, "elements", lambda: wb.preview_outputs(engine, request))


@pytest.fixture
def w(graph: Graph) -> Iterator[wb.Workbench]:
    made = wb.Workbench(graph, restore=False)
    yield made
    made.close()


def test_a_workbench_says_what_it_does_not_take(w: wb.Workbench) -> None:
    pytest.importorskip("torch")
    for error, make, words in (
        (wb.ArgumentError, lambda: w.batch("a"), "w.batch: number is 'a'"),
        (wb.ArgumentError, lambda: w.batch(0, "a"), "w.batch: samples is 'a'"),
        (wb.ArgumentError, lambda: w.param(3), "w.param: name is 3"),
        (wb.ArgumentError, lambda: w.param(), "w.param: missing a required argument: 'name'"),
        (wb.ArgumentError, lambda: w.share(3), "w.share: path is 3"),
        (wb.ArgumentError, lambda: w.to_code(3), "w.to_code: target is 3"),
        (wb.ArgumentError, lambda: w.undo(3), "w.undo: too many positional arguments"),
        (
            wb.ArgumentError,
            lambda: w.pipeline(batch_sz=3),
            "w.pipeline has no argument 'batch_sz'. Did you mean batch_size?",
        ),
        (wb.ArgumentError, lambda: w.pipeline(4), "w.pipeline: too many positional arguments"),
        (wb.ArgumentError, lambda: w.loader("torch", size=3), "w.loader has no argument 'size'"),
        (
            wb.ArgumentError,
            lambda: w.bench(device="cpu"),
            "w.bench has no argument 'device'. Did you mean devices?",
        ),
        (wb.ArgumentError, lambda: w.bench(devices=3), "w.bench: devices is 3 (int). Use one"),
        (wb.ArgumentError, lambda: w.bench(graph=w.graph), "w.bench has no argument 'graph'. It"),
        (wb.ArgumentError, lambda: w.bench(measurement_config=3), "w.bench: measurement_config is"),
        (wb.ArgumentError, lambda: w.stages(foo=1), "w.stages has no argument 'foo'"),
        (wb.ArgumentError, lambda: w.stages(cache="hot"), "w.stages: cache is 'hot'"),
        (wb.ArgumentError, lambda: w.tune("gpu"), "w.tune: device is 'gpu' (str). Use one of"),
        (wb.ArgumentError, lambda: w.tune(grid=3), "w.tune: grid is 3 (int). Use a Grid"),
        (wb.ArgumentError, lambda: w.tune(host_limit="a"), "w.tune: host_limit is 'a'"),
        (wb.ArgumentError, lambda: w.optimise(foo=1), "w.optimise has no argument 'foo'. It has"),
        (wb.ArgumentError, lambda: w.optimise(rewrites=3), "w.optimise: rewrites is 3"),
        (wb.ArgumentError, lambda: w.verify("a"), "w.verify: batches is 'a'"),
        (wb.ArgumentError, lambda: w.verify(0), "w.verify: batches is 0. Use 1 or more."),
        (wb.ArgumentError, lambda: w["rotate"].set(5), "w[node].set: too many positional"),
        (wb.ArgumentError, lambda: w.graph["rotate"].rename(3), "graph[node].rename: new_id is 3"),
        (
            wb.GraphEditError,
            lambda: setattr(w.preview, "selected", [0, 99999]),
            "The batch has no sample 99999. Use 0 to ",
        ),
        (wb.GraphEditError, lambda: setattr(w.preview, "marked", [-1]), "batch has no sample -1"),
        (
            wb.GraphEditError,
            lambda: setattr(w.canvas, "nodes", []),
            "w.canvas.nodes is read-only.",
        ),
        (wb.ArgumentError, lambda: wb.Workbench(w.graph, heigth=9), "Did you mean height?"),
        (wb.ArgumentError, lambda: wb.Workbench(w.graph, roots=3), "Workbench: roots is 3 (int)."),
        (wb.ArgumentError, lambda: wb.read(), "read: missing a required argument: 'data'."),
        (
            wb.ArgumentError,
            lambda: wb.compare(w.graph, "simclr", samples=0),
            "compare: samples is 0. Use 1 or more.",
        ),
        (wb.ArgumentError, lambda: w.pipeline(batch_size=0), "w.pipeline: batch_size is 0"),
        (wb.ArgumentError, lambda: w.batch(0, 0), "samples is 0. Use 1 to"),
        (wb.ArgumentError, lambda: w.batch(0, 1).show(rows=0), "show: rows is 0"),
        (wb.UnknownNameError, lambda: w.graph.batch_size, "It is a setting: graph.settings.batch"),
        (wb.UnknownNameError, lambda: w.graph["rotate"].unmute, "Use mute(False)."),
        (wb.ArgumentError, lambda: w.pipeline(device="gpu"), "Use cpu or mixed."),
        (wb.GraphFormatError, lambda: setattr(w, "graph", 3), "3 (int) is not a graph"),
        (wb.SaveError, lambda: w.share("nowhere/x.png"), "there is no folder"),
        (AttributeError, lambda: w.previw, "Did you mean preview?"),
        (wb.ArgumentError, lambda: wb.Workbench(w.graph, layout="x"), "Use one of: side, stacked"),
    ):
        one_sentence(error, words, make)  # type: ignore[arg-type]


def test_what_runs_on_a_gpu_is_told_where_there_is_none(w: wb.Workbench) -> None:
    pytest.importorskip("jax")
    if w._model.machine.gpu:
        pytest.skip("this machine has a GPU")
    w.graph = w.graph.rotate(angle=5, device="gpu")
    for make in (lambda: w.batch(0), lambda: w.pipeline(), lambda: w.loader("jax")):
        one_sentence(wb.GraphFaultsError, "rotate_2.device: it runs on the GPU, and ", make)
    w.undo()
    with pytest.raises(wb.GraphFaultsError, match="decodes on the GPU"):
        w.pipeline(device="mixed")


def test_a_graph_in_two_workbenches_is_two(w: wb.Workbench) -> None:
    other = wb.Workbench(w.graph, restore=False)
    other["rotate"].angle = 9
    assert (w["rotate"].angle, other["rotate"].angle) == (5, 9)
    words = "(LiveNode) is not a valid argument value"
    one_sentence(wb.GraphEditError, words, lambda: w["rotate"].set(angle=other["rotate"]))
    other.close()
    assert w.batch(0, samples=2).images.shape == (2, 64, 64, 3)


def test_a_closed_workbench_says_so_of_all_that_runs_or_edits(graph: Graph) -> None:
    w = wb.Workbench(graph, restore=False)
    turned = w.param("rotate.angle")
    w.close()
    w.close()  # a second time is nothing
    for make in (
        lambda: w.batch(),
        lambda: w.pipeline(),
        lambda: w.loader(),
        lambda: w.bench(),
        lambda: w.undo(),
        lambda: w.redo(),
        lambda: w.param("rotate.angle"),
        lambda: w["rotate"].set(angle=9),
        lambda: setattr(w, "graph", graph),
        lambda: setattr(turned, "value", 9),
        lambda: w.share("x.png"),
        lambda: w.compare("simclr"),
        lambda: w.panel(),
        lambda: setattr(w.preview, "batch", 1),
    ):
        one_sentence(EngineClosedError, "This workbench is closed.", make)  # type: ignore[arg-type]
    assert w.graph["rotate"].angle == 5
    assert "def build_pipeline" in w.to_code()


def test_every_unknown_name_is_one_type(w: wb.Workbench, graph: Graph) -> None:
    for make in (
        lambda: graph.rotat(angle=5),
        lambda: graph["rotate"].angl,
        lambda: wb.fn.readers.fil,
        lambda: w.previw,
        lambda: w["rotate"].angl,
        lambda: setattr(w, "grph", graph),
        lambda: setattr(w.param("rotate.angle"), "valu", 3),
    ):
        with pytest.raises(wb.ArgumentError) as found:
            make()
        assert isinstance(found.value, AttributeError)


def test_an_argument_error_is_a_value_error(graph: Graph) -> None:
    for make in (
        lambda: wb.Workbench(graph, height=3),
        lambda: wb.Workbench(graph, layout="x"),
        lambda: wb.check_graph("photos"),
    ):
        with pytest.raises(ValueError) as found:  # noqa: PT011
            make()
        assert isinstance(found.value, wb.ArgumentError)


def test_an_interrupt_names_the_line_of_the_caller_only() -> None:
    def deep(level: int) -> None:
        if level == 0:
            raise KeyboardInterrupt
        deep(level - 1)

    @checked()
    def entry(level: int) -> None:
        deep(level)

    with pytest.raises(KeyboardInterrupt) as found:
        entry(30)
    assert len(traceback.extract_tb(found.value.__traceback__)) == 2
    assert found.value.__suppress_context__
