from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.helpers import chain_graph
from workbench.emit import Code
from workbench.engine import Engine
from workbench.engine.build.pipelines import CompiledSource, plain_reason
from workbench.errors import PipelineError
from workbench.preview import PreviewRequest, preview_batch

SOURCE = Code("def first():\n    raise ValueError('no')\n\ndef second():\n    first()\n", {})


def compiled(**lines: range) -> CompiledSource:
    return CompiledSource(Code(SOURCE.text, lines))


def test_the_names_of_a_source() -> None:
    assert callable(compiled()["first"])
    with pytest.raises(KeyError):
        compiled()["third"]


def test_each_source_has_a_file_of_its_own_that_goes_with_it() -> None:
    one, other = compiled(), compiled()
    assert one.filename != other.filename
    assert linecache.getline(one.filename, 1) == "def first():\n"
    name = one.filename
    del one
    assert linecache.getline(name, 1) == ""


def test_the_innermost_line_names_the_node() -> None:
    source = compiled(outer=range(4, 6), inner=range(1, 3))
    with pytest.raises(ValueError, match="no") as caught:
        source["second"]()
    error = source.error(caught.value)
    assert (str(error), error.node) == ("inner: no", "inner")


def test_a_line_that_dali_quotes_names_the_node() -> None:
    source = compiled(resize=range(2, 4))
    text = (
        "Critical error in pipeline:\nError in CPU operator `nvidia.dali.fn.resize`,\n"
        "which was used in the pipeline definition with the following traceback:\n\n"
        f'  File "{source.filename}", line 3, in stage\n    x = fn.resize(y)\n\n'
        'encountered:\n\nAssert on "a > b" failed: The size is wrong\n'
        "C++ context: [/opt/dali/x.h:3]\nCurrent pipeline object is no longer valid."
    )
    error = source.error(RuntimeError(text))
    assert (str(error), error.node) == ("resize: The size is wrong", "resize")


def test_an_error_from_elsewhere_names_none() -> None:
    error = compiled(a=range(1, 9)).error(RuntimeError("something"))
    assert (str(error), error.node) == ("something", None)
    assert plain_reason(ZeroDivisionError()) == "ZeroDivisionError"
    text = 'in user code:\n\n    File "a.py", line 3, in f  *\n        f(x)\n\n    KeyError: 3\n'
    assert plain_reason(Exception(text)) == "KeyError: 3"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("encountered:\n\nstd::bad_alloc"),
        RuntimeError("CUDA runtime API error cudaErrorMemoryAllocation (2):\nout of memory"),
    ],
)
def test_out_of_memory_names_the_node_and_the_remedy(error: Exception) -> None:
    source = compiled(resize=range(1, 3))
    source.namespace["ValueError"] = lambda _: error
    with pytest.raises(type(error)) as caught:
        source["first"]()
    told = source.error(caught.value)
    assert told.node == "resize"
    assert str(told) == (
        "Out of memory while it ran resize. Show fewer tiles, or make the batch or the images "
        "smaller."
    )


def test_a_batch_that_no_memory_holds(engine: Engine, photos: Path) -> None:
    graph = chain_graph("resize", resize={"size": (1_000_000.0, 1_000_000.0)})
    with pytest.raises(PipelineError, match=r"Out of memory while it ran resize\. Show fewer"):
        preview_batch(engine, PreviewRequest(graph, str(photos), tiles=2))


@wb.node(layouts="HWC")
def as_float(image: Any) -> Any:
    return image.astype("float32")


def test_a_function_whose_type_is_another_than_its_sibling_s_is_named(
    engine: Engine, photos: Path
) -> None:
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)}).one_of(
        lambda x: as_float(x.rotate(angle=5)), lambda x: x.flip(horizontal=1)
    )
    with pytest.raises(PipelineError) as caught:
        preview_batch(engine, PreviewRequest(graph, str(photos), tiles=8))
    assert caught.value.node == "as_float"
    assert str(caught.value) == (
        "as_float: its function gives another type than the other branch of one_of: float and "
        "uint8. Wanted is the same in all"
    )
    source = compiled(one_of=range(1, 9))
    text = "Divergent data found in different branches. Found distinct layouts: HWC and CHW."
    quoted = RuntimeError(f'File "{source.filename}", line 2\n{text}')
    expected = "one_of: its branches differ in layouts: HWC and CHW. Wanted is the same in all"
    assert str(source.error(quoted)) == expected
