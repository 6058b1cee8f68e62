"""Scripts and notebooks are run for their pipelines, and for nothing else.

What harm they may do is in ``tests/commands/test_import_command.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import photo_recipes, recipe_cases
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.emit.pipeline_import.graph import import_traced
from workbench.emit.pipeline_import.trace.traced import Traced
from workbench.engine import Engine
from workbench.engine.script_import.opened_script import read_source_cells
from workbench.engine.script_import.scripts import trace_source
from workbench.errors import ImportFailedError
from workbench.graph import Graph, load_recipes

CATALOG = load_catalog()

HEAD = (
    "from nvidia.dali import fn, pipeline_def, types\nfrom nvidia.dali.pipeline import Pipeline\n"
)
ONE = """
@pipeline_def(batch_size=4, num_threads=2, device_id=0)
def one(data_dir, size=32, *, turn=True):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.decoders.image(jpegs, device="mixed")
    images = fn.resize(images, size=size)
    if turn:
        images = fn.rotate(images, angle=5)
    return images, labels
"""
TWO = ONE.replace("def one", "def two")
BAD = "def bad():\n    nonlocal nothing\n"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as started:
        yield started


@pytest.fixture
def trace(engine: Engine, tmp_path: Path) -> Any:
    def traced(text: str, pipeline: str | None = None, suffix: str = ".py", **args: Any) -> Traced:
        script = tmp_path / f"train{suffix}"
        script.write_text(text, encoding="utf-8")
        found = engine.call(trace_source, str(script), pipeline, args, 60.0)
        assert isinstance(found, Traced)
        return found

    return traced


def ops(traced: Traced) -> list[str]:
    return [op.display for op in traced.pipeline.ops]


def test_a_function_with_arguments(trace: Any) -> None:
    traced = trace(HEAD + ONE, data_dir="photos", turn=False)
    assert ops(traced) == ["file", "image", "resize"]
    assert traced.name == "one"
    assert traced.pipeline.ops[0].places[-1].line == 6
    assert trace(HEAD + ONE, data_dir="p", batch_size=7).pipeline.batch_size == 7


def test_one_that_needs_nothing_goes_before_one_that_does(trace: Any) -> None:
    text = HEAD + ONE + TWO.replace("data_dir,", 'data_dir="here",')
    assert trace(text).name == "two"


def test_a_pipeline_that_the_script_makes(trace: Any) -> None:
    traced = trace(HEAD + ONE + "pipe = one('photos', turn=False)\n")
    assert ops(traced) == ["file", "image", "resize"]
    built = trace(HEAD + ONE + "def f():\n    p = one('photos')\n    p.build()\n    p.run()\nf()\n")
    assert ops(built) == ["file", "image", "resize", "rotate"]
    assert built.notes == ("the script was stopped at train.py:15, where it runs a pipeline",)


def test_nothing_is_built_and_no_data_are_read(trace: Any) -> None:
    text = (
        HEAD
        + ONE
        + "p = one('nowhere')\np.build()\nprint(p.epoch_size())\np.run()\nraise ValueError\n"
    )
    stopped = "the script was stopped at train.py:15, where it runs a pipeline"
    assert trace(text).notes == (stopped,)


def test_after_the_stop_definitions_are_read(trace: Any) -> None:
    """Nothing else is run; what was there stays as it was when the pipeline was made."""
    text = HEAD + "SIDE = 32\n" + ONE + (
        "pipe = one('photos')\n"
        "for _ in range(3):\n"
        "    pipe.run()\n"
        "raise SystemExit\n"
        "SIDE = 8\n"
        "LATE = 8\n"
        "import math, no_such_module\n"
        "import math\n"
        "class Broken(no_such_name): pass\n"
        "class Runs:\n    pipe.run()\n"
        "def one(): return 3\n"
        "@pipeline_def(batch_size=math.floor(4.5), num_threads=1, device_id=None)\n"
        "def two(side=None): return fn.constant(idata=[SIDE if side is None else LATE])\n"
    )  # fmt: skip
    assert ops(trace(text, "one", data_dir="x")) == ["file", "image", "resize", "rotate"]
    two = trace(text, "two")
    assert (two.name, two.pipeline.batch_size) == ("two", 4)
    assert "train.py:15, where it runs" in two.notes[0]
    assert two.pipeline.ops[0].args["idata"] in (32, (32,))
    with pytest.raises(ImportFailedError, match=r"'no_such'. It has .*stopped at train.py:15"):
        trace(text, "no_such")
    with pytest.raises(ImportFailedError, match=r"'LATE' is not defined. It was stopped at"):
        trace(text, "two", side=3)


def test_cells_after_the_stop(trace: Any) -> None:
    sources = [
        HEAD + ONE,
        "pipe = one('photos')\npipe.build()",
        "pipe.run()",
        "not python",
        BAD,
        TWO,
    ]
    cells = [{"cell_type": "code", "source": source} for source in sources]
    text = json.dumps({"cells": cells})
    assert trace(text, "two", suffix=".ipynb", data_dir="photos").name == "two"
    assert trace(text, suffix=".ipynb").name == "one", "the one that it made, as before"


def test_what_stands_under_main_is_not_run(trace: Any) -> None:
    text = HEAD + ONE + "if __name__ == '__main__':\n    raise ValueError\n"
    assert ops(trace(text, data_dir="x"))


def test_main_is_run_if_it_is_selected(trace: Any) -> None:
    """Up to the line where it runs a pipeline; also if it calls a function with values."""
    main = (
        "import argparse\n"
        "def start(pipe):\n    pipe.run()\n    raise ValueError\n"
        "def create(sizes):\n    return one('photos', size=sizes[1])\n"
        "if __name__ == '__main__':\n"
        "    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--side', type=int, default=20)\n"
        "    start(create({1: parser.parse_args().side}))\n"
    )
    traced = trace(HEAD + ONE + main, "__main__", side=24)
    assert next(op for op in traced.pipeline.ops if op.display == "resize").args["size"] == (24.0,)
    assert traced.notes == ("the script was stopped at train.py:14, where it runs a pipeline",)
    with pytest.raises(ImportFailedError, match="__main__ reads no option 'sides'"):
        trace(HEAD + ONE + main, "__main__", sides=24)
    with pytest.raises(ImportFailedError, match=r", or select what calls it: --pipeline create\|"):
        trace(HEAD + ONE + main, "one")
    with pytest.raises(ImportFailedError, match="__main__ creates 0 pipelines"):
        trace(HEAD + ONE + "if __name__ == '__main__':\n    pass\n", "__main__")


def test_the_class_form(trace: Any) -> None:
    text = HEAD + (
        "from nvidia.dali import ops\n"
        "class Old(Pipeline):\n"
        "    def __init__(self, data, side=8):\n"
        "        super().__init__(4, 2, 0)\n"
        "        self.read = ops.readers.File(file_root=data)\n"
        "    def define_graph(self):\n"
        "        return self.read()\n"
    )
    traced = trace(text, data="photos")
    assert ops(traced) == ["File"]
    assert traced.name == "old"
    with pytest.raises(ImportFailedError, match=r"'Old' requires 'data'\. Pass --arg data=\.\.\."):
        trace(text)


def test_debug_mode_has_the_graph_that_it_has_without(trace: Any) -> None:
    text = (
        "from nvidia.dali import fn\n"
        "from nvidia.dali.pipeline.experimental import pipeline_def\n"
        "@pipeline_def(batch_size=4, num_threads=2, device_id=None, debug=True)\n"
        "def looked_at(data):\n"
        "    jpegs, labels = fn.readers.file(file_root=data)\n"
        "    return jpegs, labels\n"
    )
    assert ops(trace(text, data="photos")) == ["file"]


def test_the_second_of_two_pipelines_with_one_name_is_imported(trace: Any) -> None:
    text = HEAD + ONE + ONE.replace("angle=5", "angle=9").replace("size=32", "size=48")
    traced = trace(text, data_dir="photos")
    assert traced.pipeline.ops[-1].args["angle"] == 9
    assert traced.pipeline.ops[-2].args["size"] == (48.0,)


def test_conditions_and_imports_beside_the_script(trace: Any, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("SIDE = 48\n")
    text = HEAD + (
        "from beside import SIDE\n"
        "@pipeline_def(batch_size=4, num_threads=2, device_id=None, enable_conditionals=True)\n"
        "def some():\n"
        "    images = fn.random.uniform(range=[0, 1], shape=[SIDE])\n"
        "    if fn.random.coin_flip(dtype=types.BOOL):\n"
        "        images = fn.cast(images, dtype=types.FLOAT)\n"
        "    return images\n"
    )
    found = trace(text)
    assert {"split", "merge"} <= set(ops(found))
    assert found.pipeline.ops[0].args["shape"] in (48, (48,))


@pytest.mark.parametrize(
    ("text", "pipeline", "args", "message"),
    [
        (ONE, "oen", {}, "train.py has no pipeline 'oen'. Did you mean one?"),
        (ONE + "a = one('x')\n", None, {"size": 3}, "creates its pipeline at the top level"),
        ("def f(): return 3\n", "f", {}, "'f' returns a value of type int. Return an nvidia"),
        (ONE, "one", {"data_dir": "x", "size": "wide"}, r"train.py:8: "),
    ],
)
def test_what_is_wrong_is_said(
    trace: Any, text: str, pipeline: str | None, args: dict[str, Any], message: str
) -> None:
    with pytest.raises(ImportFailedError, match=message):
        trace(HEAD + text, pipeline, **args)


def test_a_notebook(trace: Any) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A title"]},
        {"cell_type": "code", "source": "%matplotlib inline\n!pip list\n" + HEAD},
        {"cell_type": "code", "source": "%%bash\nrm -rf /nowhere"},
        {"cell_type": "code", "source": ("%%time\n" + ONE).splitlines(keepends=True)},
        {
            "cell_type": "code",
            "source": "one?\nif True:\n    !ls\npipe = one('photos')\ndisplay(1)",
        },
        {"cell_type": "code", "source": "pipe.build()\npipe.run()\nraise ValueError"},
    ]
    traced = trace(json.dumps({"cells": cells, "nbformat": 4}), suffix=".ipynb")
    assert ops(traced) == ["file", "image", "resize", "rotate"]
    assert Path(traced.pipeline.ops[0].places[-1].file).name == "train.ipynb cell 3"
    assert traced.pipeline.ops[0].places[-1].line == 5
    assert traced.pipeline.ops[0].places[-1].text.startswith("jpegs, labels = ")
    assert traced.sources
    assert "train.ipynb cell 5:2" in traced.notes[0]


def test_pieces(tmp_path: Path) -> None:
    for text in ("[]", "{}", '{"cells": 3}', '{"cells": [{}]}', "{", "[" * 100_000):
        (tmp_path / "n.ipynb").write_text(text)
        with pytest.raises(ImportFailedError, match="not an nbformat 4 notebook"):
            read_source_cells(str(tmp_path / "n.ipynb"))
    with pytest.raises(ImportFailedError, match="cannot be read"):
        read_source_cells(str(tmp_path / "none.py"))


def test_encodings(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_bytes("# -*- coding: latin-1 -*-\nname = 'café'\n".encode("latin-1"))
    assert "name = 'café'" in read_source_cells(str(script))[0].text
    script.write_text("name = 'café'\n", encoding="utf-8-sig")
    assert read_source_cells(str(script))[0].text == "name = 'café'\n"
    for line in ("# -*- coding: klingon -*-", "# -*- coding: rot13 -*-", "# café"):
        script.write_bytes(line.encode("latin-1"))
        with pytest.raises(ImportFailedError, match=r"cannot be read: .*\. Save it as UTF-8"):
            read_source_cells(str(script))


@pytest.mark.parametrize("graph", recipe_cases(only=photo_recipes(), every=3))
def test_our_own_scripts_need_no_help(trace: Any, graph: Graph, photos: Path) -> None:
    """The function's name, description, outputs, settings, seeds and ids of the source are back."""
    text = emit_script(graph, CATALOG).text
    traced = trace(text)
    assert (traced.name, traced.about) == (graph.name.replace("-", "_"), graph.about)
    found = import_traced(traced, CATALOG)
    assert list(found.graph.outputs) == list(graph.outputs)
    assert found.graph.settings == graph.settings
    said = {node.id for node in graph.nodes if node.op.startswith(("random.", "readers."))}
    said = {name for name in said if len(name) > 1}  # variables of one letter name no node
    assert said <= {node.id for node in found.graph.nodes}
    for node in graph.nodes:
        if node.id in said:
            assert found.graph.node(node.id) == node
    assert found.report.notes == ("name the folder of images when you run the graph",)


def test_our_own_script_of_a_flat_folder(trace: Any, tmp_path: Path) -> None:
    flat = tmp_path / "flat"
    flat.mkdir()
    (flat / "a.jpg").touch()
    traced = trace(emit_script(load_recipes()["simclr"], CATALOG).text, data=str(flat))
    reader = import_traced(traced, CATALOG).graph.node("reader")
    assert dict(reader.args) == {"random_shuffle": True}


def test_a_pipeline_function_that_is_imported(trace: Any, tmp_path: Path) -> None:
    """Those of the script go before those that it imports."""
    (tmp_path / "shared_pipes.py").write_text(HEAD + ONE)
    text = "from nvidia.dali.pipeline import Pipeline\nfrom shared_pipes import one\n"
    traced = trace(text, data_dir="photos")
    assert ops(traced) == ops(trace(HEAD + ONE, data_dir="photos"))
    two = trace(text + HEAD + TWO.replace("angle=5", "angle=9"), data_dir="photos")
    assert two.pipeline.ops[-1].args["angle"] == 9
    with pytest.raises(ImportFailedError, match="no pipeline outside __main__"):
        trace("from nvidia.dali.pipeline import Pipeline\n")
