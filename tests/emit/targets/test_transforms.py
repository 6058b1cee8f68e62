"""Datasets without DALI are run; outputs have the shapes and types of the graph's."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

import pytest

from tests.emit.target_graphs import REFUSED, WITHOUT_DALI
from tests.helpers import CATALOG, with_settings
from workbench.emit.targets import export
from workbench.graph import Graph, load_recipes
from workbench.graph.resolved import ResolvedGraph

_DTYPES = {"UINT8": "torch.uint8", "FLOAT": "torch.float32", "INT32": "torch.int64"}
_COMPILED = ("robustness",)
"""Recipes whose transforms torchvision has compiled: JPEG."""


def expected(graph: Graph, target: str) -> list[list[Any]]:
    """Types and shapes of a batch of four."""
    found = []
    for flow in ResolvedGraph(graph, CATALOG).outputs.values():
        shape = list(flow.shape or ())
        if flow.kind == "label":
            shape = []
        elif target == "torchvision" and flow.axes == "HWC":
            shape = [shape[2], *shape[:2]]
        found.append([_DTYPES[flow.dtype or ""], [4, *shape]])
    return found


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", WITHOUT_DALI)
def test_batches_have_the_shapes_and_types_of_the_graph(
    target: str, photos: Path, tmp_path: Path
) -> None:
    recipes = {
        name: with_settings(graph, seed=3)
        for name, graph in load_recipes().items()
        if name not in REFUSED[target] and not (target == "torchvision" and name in _COMPILED)
    }
    for name, graph in recipes.items():
        path = tmp_path / f"{name.replace('-', '_')}.py"
        path.write_text(export(graph, target, CATALOG).main.text, encoding="utf-8")
    command = [sys.executable, "-m", "tests.emit.interop.run_exported", target]
    done = subprocess.run(
        [*command, str(tmp_path), str(photos)], capture_output=True, text=True, timeout=580
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    if "missing" in found:
        pytest.skip(f"{target} is not executed: {found['missing']}")
    assert found.keys() == {name.replace("-", "_") for name in recipes}
    for name, graph in recipes.items():
        ours = found[name.replace("-", "_")]
        assert ours["outputs"] == expected(graph, target), name
        assert ours["repeats"], f"{name}: another seed in each run"


@pytest.mark.parametrize("target", WITHOUT_DALI)
def test_the_report_says_what_the_docstring_says(target: str) -> None:
    """What is done otherwise than in DALI, of every recipe that goes there."""
    for name, graph in load_recipes().items():
        if name in REFUSED[target]:
            continue
        made = export(graph, target, CATALOG)
        told = " ".join((ast.get_docstring(ast.parse(made.main.text)) or "").split())
        assert all(note in told for note in made.notes), name
        assert "values are not DALI's" in made.notes[0]
        assert sum("difference from DALI's pixels" in note for note in made.notes) == 1
        turned = any(flow.axes == "HWC" for flow in ResolvedGraph(graph, CATALOG).outputs.values())
        said = any(note.startswith("Images are (C, H, W)") for note in made.notes)
        assert said is (turned and target == "torchvision"), name
    twisted = export(load_recipes()["rotate-jitter"], target, CATALOG)
    assert "the hue is rotated in HSV, not in YIQ" in twisted.notes[-1]
    assert f"<li>{escape(twisted.notes[0])}</li>" in twisted._repr_html_()


@pytest.mark.parametrize("target", WITHOUT_DALI)
def test_a_folder_without_images_is_an_error(target: str, tmp_path: Path) -> None:
    """DALI's reader raises too; an empty loader would train on nothing."""
    (tmp_path / "data" / "a").mkdir(parents=True)
    graph = load_recipes()["imagenet-train"]
    (tmp_path / "exported.py").write_text(export(graph, target, CATALOG).main.text)
    run = f"""
import sys
from tests.emit.interop.libraries import missing
if missing({target!r}):
    sys.exit(missing({target!r}))
sys.path.insert(0, {str(tmp_path)!r})
import exported
try:
    exported.make_loader({str(tmp_path / "data")!r}, num_workers=0)
except FileNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True)
    if "not installed" in done.stderr or "does not load" in done.stderr:
        pytest.skip(f"{target} is not executed: {done.stderr}")
    assert done.stdout == f"There is no image in {tmp_path / 'data'}.\n", done.stderr
