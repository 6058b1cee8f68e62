"""What a stored function may contain."""

from __future__ import annotations

import functools
import math as mathematics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.helpers import with_node
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.graph import Graph, load_recipe
from workbench.graph.user_functions.function_source import definition_source, undetermined

LIMIT = 3


@wb.node(layouts="HWC")
def brighten(image: np.ndarray[Any, Any], by: int = 20) -> Any:
    """Brighter."""
    return np.clip(image + by * mathematics.sqrt(4), 0, 255).astype(np.uint8)


def test_imports_come_along_and_the_call_is_written() -> None:
    assert brighten.source == (
        "def brighten(image, by=20):\n"
        '    """Brighter."""\n'
        "    import numpy as np\n"
        "    import math as mathematics\n\n"
        "    return np.clip(image + by * mathematics.sqrt(4), 0, 255).astype(np.uint8)\n"
    )
    graph = brighten.after(load_recipe("rotate-jitter"), "resize")
    text = emit_script(graph, load_catalog()).text
    assert brighten.source in text
    assert "function=brighten" in text
    assert "exec_async" not in text
    assert wb.load_graph(wb.dump_graph(graph)) == graph


def test_called_with_a_graph_it_goes_behind_its_image() -> None:
    start = load_recipe("rotate-jitter")
    turned = start.with_p(0.5, lambda x: brighten(x.rotate(angle=5))).one_of(
        brighten, lambda x: x.flip(horizontal=1)
    )
    assert wb.check_graph(turned, load_catalog()) == ()
    inside, alone = (node for node in turned.walk() if node.op == "python_function")
    assert turned.scope_of(inside.id) == "branch.then"
    assert inside.inputs["input_0"].node == "rotate_2"
    assert turned.scope_of(alone.id) == "one_of.option_0"
    image = np.full((2, 2, 3), 10, np.uint8)
    assert brighten(image)[0, 0, 0] == 50


def test_what_does_not_travel_is_refused_by_name() -> None:
    inner = 4

    def closure(image: Any) -> Any:
        return image * inner

    def outside(image: Any) -> Any:
        return image * LIMIT

    for function, name in ((closure, "inner"), (outside, "LIMIT")):
        with pytest.raises(wb.GraphEditError, match=rf"test_function_node.*'{name}'.*default"):
            wb.node(function)
    with pytest.raises(wb.GraphEditError, match="lambda"):
        wb.node(lambda image: image)
    scope: dict[str, Any] = {}
    exec("def made(x):\n    return x", scope)
    with pytest.raises(wb.GraphEditError, match="source"):
        wb.node(scope["made"])


def test_the_function_of_a_script() -> None:
    script = "import numpy as np\n\ndef f(x):\n    return np.flip(x)\n"
    assert (
        definition_source(script, "f")
        == "def f(x):\n    import numpy as np\n\n    return np.flip(x)\n"
    )
    assert isinstance(
        definition_source("K = 2\ndef f(x):\n    return x * K\n", "f"), wb.GraphEditError
    )


def wrapping(function: Any) -> Any:
    @functools.wraps(function)
    def wrapped(*arrays: Any) -> Any:
        return function(*arrays)

    return wrapped


@wrapping
def decorated(image: Any) -> Any:
    return image


def yields(image: Any) -> Any:
    yield image


async def waits(image: Any) -> Any:
    return image


def by_name(image: Any, *, by: Any) -> Any:
    return image * by


class Blur:
    def __call__(self, image: Any) -> Any:
        return image

    def method(self, image: Any) -> Any:
        return image


class Compiled(Blur):
    py_func = by_name


REFUSED = {
    "decorated": (decorated, r"has the decorator 'wrapping'.*Remove it"),
    "generator": (yields, r"yields\) is a generator. Return the values instead"),
    "async": (waits, r"waits\) is an async function. Define a plain function with def"),
    "by name": (by_name, r"keyword-only argument. Set a default for it"),
    "method": (Blur().method, r"'method' has type 'method', which cannot be stored"),
    "object": (Blur(), r"has type 'Blur', which cannot be stored. Define a function with def"),
    "class": (Blur, r"'Blur' has type 'type'"),
    "builtin": (len, r"'len' has type 'builtin_function_or_method'"),
    "partial": (functools.partial(by_name, by=2), r"partial.*as defaults of its arguments"),
    "numba": (Compiled(), r"Compiled.*Pass the function without the decorator"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_plain_function_is_refused_with_its_remedy(kind: str) -> None:
    function, words = REFUSED[kind]
    with pytest.raises(wb.GraphEditError, match=words):
        wb.node(function)


@wb.node
def nested(image: Any, by: int = 2, *rest: Any) -> Any:
    def halved(value: Any) -> Any:
        return max(each // by for each in (value,))

    def counts() -> Any:
        yield from (1, 2)

    return halved(image) if sum(counts()) else nested(image)


def test_defaults_functions_inside_and_calls_of_itself_travel() -> None:
    scope: dict[str, Any] = {}
    exec(nested.source, scope)
    assert scope["nested"](8) == nested(8) == 4
    assert scope["nested"](9, 3) == 3


FILE = """\
import numpy as np
from math import sqrt as root

LIMIT = 3

@wb.node
def invert(image: np.ndarray, by=255):
    return np.abs(by - image) * root(1)

@cached
def kept(image):
    return image

def limited(image):
    return image * LIMIT

def late(image, by=LIMIT):
    return image

class Blur:
    pass

async def waits(image):
    return image

def twice(image):
    return 1

def twice(image):
    return 2

raise SystemExit("it was run")
"""


def test_a_function_is_named_by_its_file_or_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "augment_of_mine.py").write_text(FILE)
    monkeypatch.syspath_prepend(str(tmp_path))
    for place in (f"{tmp_path}/augment_of_mine.py:invert", "augment_of_mine:invert"):
        made = wb.node(place, layouts="HWC")
        assert made(np.array([250])).tolist() == [5]
        assert made.source == (
            "def invert(image, by=255):\n    import numpy as np\n"
            "    from math import sqrt as root\n\n    return np.abs(by - image) * root(1)\n"
        )
        graph = made.after(load_recipe("rotate-jitter"), "resize")
        assert graph.node("invert").args["output_layouts"] == ("HWC",)
        assert wb.check_graph(graph, load_catalog()) == ()


PLACES = {
    "augment.py": "does not name a function. Write file.py:function",
    ":invert": "does not name a function",
    "augment.py:in-vert": "does not name a function",
    "{0}/none.py:f": "cannot be read: No such file",
    "{0}:f": "is neither a Python file nor a module",
    "no_such_module_here:f": "There is no module 'no_such_module_here'. Use file.py:function",
    "no.such.module:f": "there is no module 'no'. Install the module, or use file.py:function",
    "math:sqrt": "the module 'math' is not written in Python",
    "{0}/mine.py:nothing": "the script defines no function 'nothing' at its top level",
    "{0}/mine.py:kept": "'kept' has the decorator 'cached'. Remove",
    "{0}/mine.py:limited": "'limited' uses 'LIMIT', which the script does not import. Define it",
    "{0}/mine.py:late": "'late' uses 'LIMIT'",
    "{0}/mine.py:Blur": "'Blur' is a class, not a plain function",
    "{0}/mine.py:waits": "'waits' is an async function",
    "{0}/mine.py:twice": "defines 'twice' 2 times",
    "{0}/broken.py:f": "cannot be read as Python",
    "{0}/latin.py:f": "is not UTF-8",
    "{0}/large.py:f": "is larger than 1,000,000 bytes",
}


@pytest.mark.parametrize("place", PLACES)
def test_a_place_without_a_function_says_what_is_there(place: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    (tmp_path / "broken.py").write_text("def f(:")
    (tmp_path / "latin.py").write_bytes(b"# \xe9")
    (tmp_path / "large.py").write_bytes(b"#" * 1_000_001)
    with pytest.raises(wb.GraphEditError) as told:
        wb.node(place.format(tmp_path))
    assert PLACES[place] in str(told.value)


@wb.node(layouts="HWC")
def noisy(image: Any, seed: Any) -> Any:
    noise = np.random.default_rng(int(seed)).integers(0, 20, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def test_dali_draws_further_arguments() -> None:
    graph = noisy.after(load_recipe("rotate-jitter"), "resize", draws={"seed": (0, 1000)})
    made = graph.node("noisy")
    assert graph.node("seed").args == {"range": (0, 1000)}
    assert made.inputs["input_1"] == wb.Port("seed", "output")
    assert wb.check_graph(graph, load_catalog()) == ()
    assert undetermined(noisy.source) is None
    two = noisy.after(graph, "rotate", draws={"seed": (0, 1), "more": (1, 2)})
    (fault,) = wb.check_graph(two, load_catalog())
    assert str(fault) == (
        "noisy_2.function: 'noisy' accepts 2 arrays (image, seed), but the node has 3 inputs. "
        "Connect fewer inputs, or add arguments to the function."
    )
    seeds = [node.seed for node in two.walk() if node.seed is not None]
    assert len(seeds) == len(set(seeds))
    (fault,) = wb.check_graph(noisy.after(load_recipe("rotate-jitter"), "resize"), load_catalog())
    assert fault.remedy == "Connect input_1."


# What does not give the same for the same input is found in the source.

FOUND = {
    "    import numpy as np\n    return x + np.random.rand()": "numpy.random.rand",
    "    from numpy.random import default_rng\n    return default_rng().normal()": (
        "numpy.random.default_rng"
    ),
    "    import random\n    return x if random.random() < 0.5 else -x": "random.random",
    "    from random import choice as pick\n    return pick([x, x])": "random.choice",
    "    import torch\n    return torch.rand(3)": "torch.rand",
    "    import os\n    return os.urandom(3)": "os.urandom",
    "    import time\n    return x * time.time()": "time.time",
    "    import datetime\n    return datetime.datetime.now()": "datetime.datetime.now",
}
SAME = [
    "    import numpy as np\n    return np.random.default_rng(int(seed)).random(3)",
    "    import random\n    return random.Random(3).random()",
    "    import numpy as np\n    return np.clip(x, 0, 1)",
    "    random = x\n    return random.random()",
    "    return x * table[1]",
]


@pytest.mark.parametrize("body", FOUND)
def test_what_draws(body: str) -> None:
    found = undetermined(f"def f(x):\n{body}\n")
    assert found is not None
    assert (found.name, found.line) == (FOUND[body], 3)
    assert found.text == body.splitlines()[1].strip()
    assert f"line 3: {found.text}" in found.warning()
    assert "fed by random.uniform" in found.warning()


@pytest.mark.parametrize("body", SAME)
def test_what_gives_the_same(body: str) -> None:
    assert undetermined(f"def f(x, seed=1, table=[1, 2]):\n{body}\n") is None


def test_what_it_keeps_between_calls() -> None:
    found = undetermined("def f(x, *, seen=[], known={}):\n    seen.append(1)\n    return x\n")
    assert found is not None
    assert found.name == "its default seen, which it changes"
    found = undetermined("def f(x, known={}):\n    known[1] = x\n    return x\n")
    assert found is not None
    assert found.line == 2


def test_a_text_that_is_no_python() -> None:
    assert undetermined("def f(:") is None


# Numba functions get the types of their arrays, and are in the script below their imports.


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
    graph = with_node(graph, "kernel", args=bare)
    (fault,) = wb.check_graph(graph, load_catalog())
    assert "requires 'blocks'" in str(fault)
    whole = {**kernel.args, "batch_processing": True}
    graph = with_node(graph, "kernel", args=whole)
    (fault,) = wb.check_graph(graph, load_catalog())
    assert "on the GPU numba processes one sample at a time" in str(fault)


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
    assert "something other than the function 'invert' and 'another'" in str(fault)


@pytest.mark.parametrize("words", ["UINT8", "uint8 HWC", "FLOAT16 HWC", "UINT8 H C", ""])
def test_what_is_no_type_and_layout_is_refused(words: str) -> None:
    with pytest.raises(wb.GraphEditError, match="is not a type and layout, such as UINT8 HWC"):
        wb.numba_node(words)(invert.function)


def test_arrays_that_do_not_fit_the_function_are_named() -> None:
    two = wb.numba_node(("UINT8 HWC", "FLOAT 1"))(invert.function)
    graph = two.after(load_recipe("rotate-jitter"), "resize", draws={"by": (0, 1)})
    (fault,) = wb.check_graph(graph, load_catalog())
    assert "has 2 arguments (out, image), first 1 to write and then 2 to read" in str(fault)
    with pytest.raises(wb.GraphEditError, match="Set the layouts of all outputs"):
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
    with pytest.raises(wb.GraphEditError, match="Use numpy, cupy or torch"):
        wb.node(library="jax")(lighter.function)  # type: ignore[arg-type]


def test_numpy_stays_on_the_cpu_behind_mixed_decoding() -> None:
    plain = wb.node(layouts="HWC")(darker.function)
    graph = plain.after(load_recipe("rotate-jitter"), "resize")
    graph = replace(graph, settings=replace(graph.settings, device="mixed"))
    assert wb.check_graph(graph, load_catalog()) == ()
    assert "fn.python_function(\n        images.cpu()," in emit_script(graph, load_catalog()).text
