"""What numba compiles is told its arrays, and stands in the script with its imports above."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.graph import Graph, load_recipe


@wb.numba_node("UINT8 HWC", "UINT8 HWC")
def invert(out: Any, image: Any) -> None:
    out[:] = 255 - np.minimum(image, 200)


def inverted() -> Graph:
    return invert.after(load_recipe("rotate-jitter"), "resize")


def test_it_is_written_with_its_types_and_its_layout() -> None:
    assert invert.source == (
        "import numpy as np\n\n\ndef invert(out, image):\n"
        "    out[:] = 255 - np.minimum(image, 200)\n"
    )
    assert wb.check_graph(inverted(), load_catalog()) == ()
    text = emit_script(inverted(), load_catalog()).text
    assert "from nvidia.dali.plugin.numba.fn import numba_function\n" in text
    assert "import numpy as np\n" in text
    assert "\n\n\ndef invert(out, image):\n    out[:] =" in text
    assert (
        """
    images = numba_function(
        images,
        run_fn=invert,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )
    images = fn.reshape(images, layout="HWC")
"""
        in text
    )


@wb.numba_node("UINT8 HWC", "UINT8 HWC", blocks=(8, 8, 1), threads_per_block=(16, 16, 1))
def kernel(out: Any, image: Any) -> None:
    out[0] = image[0]


def test_on_the_gpu_it_is_told_blocks_and_threads() -> None:
    graph = kernel.after(load_recipe("rotate-jitter"), "resize")
    text = emit_script(graph, load_catalog()).text
    assert "images.gpu()," in text
    assert "blocks=[8, 8, 1]" in text
    assert "threads_per_block=[16, 16, 1]" in text
    assert 'device="gpu"' in text
    assert "device_id=0," in text
    bare = {k: v for k, v in graph.node("kernel").args.items() if k != "blocks"}
    graph = graph.replace_node(replace(graph.node("kernel"), args=bare))
    (fault,) = wb.check_graph(graph, load_catalog())
    assert "must be told blocks" in str(fault)
    whole = {**kernel.args, "batch_processing": True}
    graph = graph.replace_node(replace(graph.node("kernel"), args=whole))
    (fault,) = wb.check_graph(graph, load_catalog())
    assert "on the GPU numba is given one sample at a time" in str(fault)


def test_what_sets_the_extents_stands_beside_the_function() -> None:
    graph = inverted()
    node = graph.node("invert")
    source = f"{node.args['source']}\n\ndef same(outs, ins):\n    outs[0][0][0] = 8\n"
    both = {**node.args, "source": source, "setup_fn": "same"}
    (fault,) = wb.check_graph(graph.replace_node(replace(node, args=both)), load_catalog())
    assert "is not trusted" in str(fault)
    graph = wb.trust_graph(graph.replace_node(replace(node, args=both)))
    text = emit_script(graph, load_catalog()).text
    assert "\n\n\ndef invert(out, image):\n" in text
    assert "\n\n\ndef same(outs, ins):\n    outs[0][0][0] = 8\n\n\n@pipeline_def" in text
    assert "        run_fn=invert,\n        setup_fn=same,\n" in text
    other = {**both, "setup_fn": "another"}
    (fault,) = wb.check_graph(graph.replace_node(replace(node, args=other)), load_catalog())
    assert "something else than the function invert and another" in str(fault)


@pytest.mark.parametrize("words", ["UINT8", "uint8 HWC", "FLOAT16 HWC", "UINT8 H C", ""])
def test_what_is_no_type_and_layout_is_refused(words: str) -> None:
    with pytest.raises(wb.GraphEditError, match="is no type and layout, such as UINT8 HWC"):
        wb.numba_node(words)(invert.function)


def test_arrays_that_do_not_fit_the_function_are_named() -> None:
    two = wb.numba_node(("UINT8 HWC", "FLOAT 1"))(invert.function)
    graph = two.after(load_recipe("rotate-jitter"), "resize", draws={"by": (0, 1)})
    (fault,) = wb.check_graph(graph, load_catalog())
    assert "has 2 arguments (out, image), first 1 to write and then 2 to read" in str(fault)
    with pytest.raises(wb.GraphEditError, match="all outputs a layout, or none"):
        wb.numba_node("UINT8 HWC", ("UINT8 HWC", "FLOAT 1"))(invert.function)


@wb.node(library="torch", layouts="HWC")
def lighter(image: Any) -> Any:
    return image + 1


@wb.node(library="cupy", layouts="HWC")
def darker(image: Any) -> Any:
    return image - 1


def test_torch_and_cupy_run_on_the_gpu() -> None:
    catalog = load_catalog()
    text = emit_script(lighter.after(load_recipe("rotate-jitter"), "resize"), catalog).text
    assert "from nvidia.dali.plugin.pytorch.fn import torch_python_function\n" in text
    assert "torch_python_function(\n        images.gpu(), function=lighter" in text
    text = emit_script(darker.after(load_recipe("rotate-jitter"), "resize"), catalog).text
    assert "fn.python_function(\n        images.gpu()," in text
    assert 'device="gpu"' in text
    with pytest.raises(wb.GraphEditError, match="give numpy, cupy or torch"):
        wb.node(library="jax")(lighter.function)  # type: ignore[arg-type]


def test_numpy_stays_on_the_cpu_behind_mixed_decoding() -> None:
    plain = wb.node(layouts="HWC")(darker.function)
    graph = plain.after(load_recipe("rotate-jitter"), "resize")
    graph = replace(graph, settings=replace(graph.settings, device="mixed"))
    assert wb.check_graph(graph, load_catalog()) == ()
    assert "fn.python_function(\n        images.cpu()," in emit_script(graph, load_catalog()).text
