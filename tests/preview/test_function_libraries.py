"""Functions with numba, CuPy and torch run, and are exact, where these are installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

try:
    from numba import cuda
except ImportError:
    cuda = None


import workbench as wb
from tests.helpers import chain_graph, with_settings
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.graph import Graph
from workbench.graph.control_flow.wrap import wrap_in_block
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.sources import open_datasets

COUNT = 4


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
    with pytest.raises(wb.PipelineError, match=r"darker: it needs cupy.*cupy-cuda12x"):
        preview_batch(engine, request)
