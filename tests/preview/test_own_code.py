"""Own code runs in the worker as it does in the exported script, and ends nothing but itself."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.helpers import chain_graph, with_args, with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.engine.run.worker import MOST_OUTPUT
from workbench.graph import Graph
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.sources import open_datasets

COUNT = 4


@wb.node(layouts="HWC")
def swap(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(image[:, :, ::-1])


def sized() -> Graph:
    return with_settings(chain_graph("resize", resize={"size": (64, 64)}), batch_size=COUNT)


def resize_of(graph: Graph) -> str:
    return next(node.id for node in graph.nodes if node.op == "resize")


def test_it_is_exact(engine: Engine, photos: Path) -> None:
    graph = sized()
    graph = swap.after(graph, resize_of(graph))
    report = Verifier(graph, str(photos), 2, engine=engine).run()
    assert report.lines() == [f"identical: {2 * COUNT} of {2 * COUNT}"]


def test_it_is_exact_inside_a_branch(engine: Engine, photos: Path) -> None:
    graph = sized()
    graph = swap.after(graph, resize_of(graph))
    graph, _ = wrap_in_block(graph, load_catalog(), ["swap"], "if")
    report = Verifier(graph, str(photos), 2, engine=engine).run()
    assert report.lines() == [f"identical: {2 * COUNT} of {2 * COUNT}"]


def test_while_it_runs_it_is_said(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (40, 30)})  # of which nothing is kept
    graph, _ = wrap_in_block(swap.after(graph, resize_of(graph)), load_catalog(), ["swap"])
    heard = list[str]()
    preview_batch(engine, PreviewRequest(graph, str(photos), tiles=2), heard.append)
    assert heard == ["running swap"]


@wb.node
def fails(image: Any) -> Any:
    raise ValueError("no such thing")


@wb.node
def loud(image: Any) -> Any:
    print("x" * 5_000_000)
    return image


@wb.node
def divides(image: Any) -> Any:
    """Fails below another function."""

    def inner(by: int) -> Any:
        return np.mean(image) / by + [][by]

    return inner(0)


@wb.node
def gives_text(image: Any) -> Any:
    return "a text"


@wb.node
def gives_nothing(image: Any) -> Any:
    image.sum()


@wb.node
def gives_list(image: Any) -> Any:
    return [image, image]


@wb.node(outputs=2)
def gives_one(image: Any) -> Any:
    return image


@wb.node
def gives_two(image: Any) -> Any:
    return image, image


@wb.node
def gives_complex(image: Any) -> Any:
    return image.astype(np.complex64)


@wb.node
def gives_foreign_order(image: Any) -> Any:
    return image.astype(">f4")


@wb.node
def gives_objects(image: Any) -> Any:
    return np.array([None])


@wb.node(layouts="HWC")
def gives_grey(image: Any) -> Any:
    return image[:, :, 0]


@wb.node(batch_processing=True)
def gives_stack(images: Any) -> Any:
    return np.stack(images)


@wb.node(batch_processing=True)
def gives_unequal(images: Any) -> Any:
    return [images[0], *(image.astype(np.float32) for image in images[1:])]


@wb.node
def writes(image: Any) -> Any:
    image[:] = 0
    return image


@wb.node
def leaves(image: Any) -> Any:
    raise SystemExit(3)


@wb.node
def never_returns(image: Any) -> Any:
    while True:
        pass


def preview(engine: Engine, made: wb.FunctionNode, photos: Path) -> Any:
    graph = sized()
    graph = made.after(graph, resize_of(graph))
    request = PreviewRequest(graph, open_datasets(photos), tiles=2)
    return preview_batch(engine, request)


@wb.node(layouts="HWC")
def noisy(image: Any, seed: Any) -> Any:
    noise = np.random.default_rng(int(seed)).integers(0, 20, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def test_what_dali_draws_for_it_is_exact_in_a_branch_too(engine: Engine, photos: Path) -> None:
    graph = sized()
    graph = noisy.after(graph, resize_of(graph), draws={"seed": (0, 1000)})
    inside, _ = wrap_in_block(graph, load_catalog(), ["noisy"], "if")
    for each in (graph, inside):
        report = Verifier(each, str(photos), 2, engine=engine).run()
        assert report.lines() == [f"identical: {2 * COUNT} of {2 * COUNT}"]


@pytest.mark.parametrize("inside", [False, True], ids=["beside", "in a block"])
def test_another_source_under_the_same_name_is_shown(
    inside: bool, engine: Engine, photos: Path
) -> None:
    shown = []
    for value in (10, 200):
        graph = sized()
        graph = swap.after(graph, resize_of(graph))
        made = graph.node("swap")
        source = f"def swap(image):\n    return image * 0 + {value}\n"
        graph = with_args(graph, made.id, source=source)
        if inside:
            graph, _ = wrap_in_block(graph, load_catalog(), ["swap"], "repeat")
        request = PreviewRequest(wb.trust_graph(graph), open_datasets(photos), tiles=1)
        shown.append(preview_batch(engine, request).image)
    assert shown[0] != shown[1]


FAILURES = {
    fails: 'fails: line 2 of fails, raise ValueError("no such thing"), raised ValueError: no such '
    "thing",
    divides: "divides: line 7 of divides, return np.mean(image) / by + [][by], raised IndexError: "
    "list index out of range",
    leaves: "leaves: line 2 of leaves, raise SystemExit(3), raised SystemExit: 3",
    gives_text: "gives_text: its function returned str 'a text'; expected a NumPy array",
    gives_nothing: "gives_nothing: its function returned None (is a return statement missing?); "
    "expected a NumPy array",
    gives_list: "gives_list: its function returned a list of 2, first an array of uint8 "
    "(64, 64, 3); expected a NumPy array",
    gives_one: "gives_one: its function returned an array of uint8 (64, 64, 3); expected a "
    "tuple of 2, each a NumPy array",
    gives_two: "gives_two: its function returned a tuple of 2, first an array of uint8 "
    "(64, 64, 3); expected a NumPy array",
    gives_complex: "gives_complex: its function returned an array of complex64 (64, 64, 3), a type "
    "that DALI does not support; expected one of bool, int8 to int64, uint8 to uint64, float16 to "
    "float64",
    gives_foreign_order: "gives_foreign_order: its function returned an array of >f4",
    gives_objects: "gives_objects: its function returned an array of object (1,), a type",
    gives_grey: "gives_grey: its function returned an array of uint8 (64, 64); expected one of "
    "3 dimensions, as in its layout HWC",
    gives_stack: "gives_stack: its function returned an array of uint8 (4, 64, 64, 3); expected "
    "a list of NumPy arrays, one for each sample",
    gives_unequal: "gives_unequal: its function returned an array of uint8 (64, 64, 3) for one "
    "sample and an array of float32 (64, 64, 3) for another; expected the same type and number "
    "of dimensions for all",
    writes: "writes: its function wrote into an input array, which other operators "
    "read. Change a copy instead: image = image.copy()",
}


@pytest.mark.parametrize("made", FAILURES, ids=lambda made: made.function.__name__)
def test_what_goes_wrong_in_it_is_told_with_its_line(
    made: wb.FunctionNode, engine: Engine, photos: Path
) -> None:
    with pytest.raises(wb.PipelineError) as told:
        preview(engine, made, photos)
    assert told.value.node == made.function.__name__
    assert FAILURES[made] in str(told.value)


def test_verify_tells_it_in_the_same_words(engine: Engine, photos: Path) -> None:
    graph = sized()
    graph = gives_grey.after(graph, resize_of(graph))
    report = Verifier(graph, str(photos), 1, engine=engine).run()
    words = "The exported script fails like the preview: "
    assert report.failure.startswith(words + FAILURES[gives_grey])


def test_megabytes_printed_do_not_hurt(engine: Engine, photos: Path) -> None:
    assert preview(engine, loud, photos) is not None
    assert engine.pid is not None
    log = Path(f"/proc/{engine.pid}/fd/1").resolve()
    assert 0 < log.stat().st_size <= 2 * MOST_OUTPUT


@pytest.mark.thorough
def test_one_that_never_returns_is_ended(photos: Path) -> None:
    with Engine(call_limit=8) as engine:
        with pytest.raises(wb.WorkerTimeoutError, match="its function does not") as told:
            preview(engine, never_returns, photos)
        assert told.value.node == "never_returns"
        assert preview(engine, swap, photos) is not None


def test_an_untrusted_one_is_not_run(engine: Engine, photos: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"def leaves(image):\n    open({str(mark)!r}, 'w').close()\n    return image\n"
    graph = sized()
    graph = swap.after(graph, resize_of(graph))
    node = graph.node("swap")
    args = {**node.args, "function": "leaves", "source": source}
    graph = wb.load_graph(wb.dump_graph(graph.replace_node(replace(node, args=args))))
    request = PreviewRequest(graph, open_datasets(photos), tiles=2)
    with pytest.raises(wb.WorkbenchError):
        preview_batch(engine, request)
    assert not mark.exists()
    preview_batch(engine, replace(request, graph=wb.trust_graph(graph)))
    assert mark.exists()


# Functions with numba, CuPy and torch run, and are exact, where these are installed.

try:
    from numba import cuda
except ImportError:
    cuda = None


def behind_resize(made: wb.FunctionNode, device: str = "cpu") -> Graph:
    graph = chain_graph("resize", resize={"size": (64, 64)})
    graph = with_settings(graph, batch_size=COUNT, device=device)
    return made.after(graph, next(node.id for node in graph.nodes if node.op == "resize"))


def require(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def is_exact(graph: Graph, engine: Engine, photos: Path) -> bool:
    report = Verifier(graph, str(photos), 2, engine=engine).run()
    return report.lines() == [f"identical: {2 * COUNT} of {2 * COUNT}"]


@wb.numba_node("UINT8 HWC", "UINT8 HWC")
def inverted(out: Any, image: Any) -> None:
    out[:] = 255 - np.minimum(image, 200)


@wb.numba_node("UINT8 HWC", "UINT8 HWC")
def untyped(out: Any, image: Any) -> None:
    out[:] = {}[image]


@pytest.mark.thorough
def test_numba_is_exact_beside_and_inside_a_branch(engine: Engine, photos: Path) -> None:
    require("numba")
    graph = behind_resize(inverted)
    assert is_exact(graph, engine, photos)
    inside, _ = wrap_in_block(graph, load_catalog(), ["inverted"], "if")
    assert is_exact(inside, engine, photos)


@pytest.mark.thorough
def test_what_numba_does_not_compile_names_its_node(engine: Engine, photos: Path) -> None:
    require("numba")
    request = PreviewRequest(behind_resize(untyped), open_datasets(photos), tiles=2)
    with pytest.raises(wb.PipelineError) as told:
        preview_batch(engine, request)
    assert told.value.node == "untyped"


@wb.node(library="cupy", layouts="HWC")
def darker(image: Any) -> Any:
    return image // 2


@wb.node(library="torch", layouts="HWC")
def lighter(image: Any) -> Any:
    return image // 2 + 128


@wb.numba_node("UINT8 HWC", "UINT8 HWC", blocks=(4, 4, 1), threads_per_block=(16, 16, 1))
def kernel(out: Any, image: Any) -> None:
    row, column = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        for channel in range(out.shape[2]):
            out[row, column, channel] = 255 - image[row, column, channel]


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["cpu", "mixed"])
@pytest.mark.parametrize("made", [darker, lighter, kernel], ids=lambda made: made.library)
def test_on_the_gpu_it_is_exact(
    made: wb.FunctionNode, device: str, engine: Engine, photos: Path
) -> None:
    require(made.library)
    if made.library == "numba":
        require_numba_of_dali()
    assert is_exact(behind_resize(made, device), engine, photos)


def require_numba_of_dali() -> None:
    """DALI 2.4 takes the numba of CUDA 12 at most."""
    from nvidia.dali.plugin.numba import NumbaFunction

    try:
        NumbaFunction._check_minimal_numba_version()
    except RuntimeError as error:
        pytest.skip(f"DALI cannot use the numba that is installed: {error}")


def test_cupy_is_named_where_it_is_missing(engine: Engine, photos: Path) -> None:
    if find_spec("cupy") is not None:
        pytest.skip("cupy is installed")
    request = PreviewRequest(behind_resize(darker), open_datasets(photos), tiles=2)
    with pytest.raises(wb.PipelineError, match=r"darker: it requires cupy.*cupy-cuda12x"):
        preview_batch(engine, request)
