"""``numba_function`` of a script comes in with its functions' source, whether numba is here or not.

A script is run in a process of its own; here it is run as that does it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.helpers import arrays_of, built, import_script, same
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.errors import GraphError, GraphExportError
from workbench.graph import Graph
from workbench.graph.user_functions.trust import is_trusted

SCRIPT = """
import numpy as np
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.plugin.numba.fn.experimental import numba_function


def top_half(outs, ins):
    for sample in range(len(outs[0])):
        outs[0][sample][0] = ins[0][sample][0] // 2
        outs[0][sample][1] = ins[0][sample][1]
        outs[0][sample][2] = ins[0][sample][2]


def dimmed(out, image):
    out[:] = np.minimum(image[: out.shape[0]], 200)


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=11)
def halved(data_dir, run=dimmed):
    jpegs, _ = fn.readers.file(file_root=data_dir)
    images = fn.resize(fn.decoders.image(jpegs), size=(32, 32))
    return numba_function(
        images,
        run_fn=run,
        setup_fn=top_half,
        in_types=[types.UINT8],
        out_types=[types.UINT8],
        ins_ndim=[3],
        outs_ndim=[3],
    )
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("numba") / "halved.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def found(script: Path) -> Any:
    return wb.from_file(script, args={"data_dir": "photos"})


@pytest.fixture(scope="module")
def trusted(found: Any) -> Graph:
    return wb.trust_graph(found.graph)


def test_the_node_holds_both_functions_and_their_imports(found: Any) -> None:
    assert found.report.is_exact
    node = found.graph.node("numba_function")
    source = str(node.args["source"])
    assert source.startswith("import numpy as np\n\n\ndef dimmed(out, image):\n")
    assert "\n\n\ndef top_half(outs, ins):\n" in source
    rest = {name: value for name, value in node.args.items() if name != "source"}
    assert rest == {
        "function": "dimmed",
        "setup_fn": "top_half",
        "num_outputs": 1,
        "in_types": ("UINT8",),
        "out_types": ("UINT8",),
        "ins_ndim": (3,),
        "outs_ndim": (3,),
    }


def test_it_is_not_trusted_until_its_user_says_so(script: Path) -> None:
    other = script.with_name("untrusted.py")
    other.write_text(SCRIPT.replace("200", "123"))
    found = wb.from_file(other, args={"data_dir": "photos"})
    assert not is_trusted(found.graph.node("numba_function"))
    (fault,) = found.report.faults
    assert "the function 'dimmed' came with the graph and is not trusted" in fault.why
    with pytest.raises(GraphError, match="is not trusted"):
        emit_script(found.graph, load_catalog())


def test_what_is_exported_comes_back_as_it_was(trusted: Graph, tmp_path: Path) -> None:
    text = emit_script(trusted, load_catalog()).text
    assert "        run_fn=dimmed,\n        setup_fn=top_half,\n" in text
    again = tmp_path / "again.py"
    again.write_text(text)
    back = wb.from_file(again)
    assert back.report.is_exact
    assert back.graph.node("numba_function") == trusted.node("numba_function")


@pytest.mark.thorough
def test_it_gives_the_arrays_of_the_original(trusted: Graph, script: Path, photos: Path) -> None:
    pytest.importorskip("numba")
    original = import_script(SCRIPT, script.parent)
    theirs = original.halved(str(photos))
    theirs.build()
    ours = built(import_script(emit_script(trusted, load_catalog()).text, script.parent), photos)
    for _ in range(3):
        mine, others = ([arrays_of(each) for each in pipe.run()] for pipe in (ours, theirs))
        assert all(same(a, b) for a, b in zip(mine, others, strict=True))


def test_without_numba_it_comes_in_all_the_same(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numba.py").write_text("raise ImportError('none of it is here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = wb.from_file(script, args={"data_dir": "photos"})
    assert found.report.is_exact
    assert found.graph.has("numba_function")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("run_fn=run", "run_fn=lambda out, image: None", "is a lambda"),
        ("def dimmed(out, image):\n", "SHIFT = 3\ndef dimmed(out, image, by=SHIFT):\n", "SHIFT"),
        ("200)", "LIMIT)\nLIMIT = 90\n", "uses 'LIMIT'"),
    ],
)
def test_a_function_that_cannot_travel_is_opaque(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    path = tmp_path / "other.py"
    path.write_text(SCRIPT.replace(old, new, 1))
    (issue,) = wb.from_file(path, args={"data_dir": "photos"}).report.opaque
    assert issue.node == "numba_function"
    assert why in issue.why


def test_targets_that_cannot_carry_it_say_so(trusted: Graph) -> None:
    for target in ("triton", "tensorflow", "dynamic", "torchvision"):
        with pytest.raises(GraphExportError, match=r"numba_function calls .* 'dimmed', but"):
            wb.export(trusted, target)


def test_the_plugin_is_as_it_was_afterwards(script: Path) -> None:
    from workbench.engine.script_import.user_code.numba_calls import recording_numba_calls

    before = {name: value for name, value in sys.modules.items() if ".plugin.numba" in name}
    with recording_numba_calls():
        assert import_script(SCRIPT, script.parent).halved("photos")
    after = {name: value for name, value in sys.modules.items() if ".plugin.numba" in name}
    assert after == before


@pytest.mark.thorough
def test_a_live_pipeline_names_its_functions_in_its_text(script: Path, trusted: Graph) -> None:
    pytest.importorskip("numba")
    text = SCRIPT.replace("run_fn=run", "run_fn=dimmed")
    pipe = import_script(text, script.parent).halved("photos")
    found = wb.from_pipeline(pipe)
    assert found.report.is_exact
    node = found.graph.node("numba_function")
    assert dict(node.args) == dict(trusted.node("numba_function").args)
