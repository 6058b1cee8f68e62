"""Exports compared with handwritten programs for the same work: lines of code and outputs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import numpy as np
import pytest

from tests.emit.by_hand import imagenet_train, retinanet, segmentation, simclr, ssd
from tests.graph.annotations.ramps import write_ramps
from tests.helpers import CATALOG, import_script
from workbench.emit.targets import export
from workbench.graph import load_recipe

FOLDER = Path(__file__).parent / "by_hand"
README = Path(__file__).parents[2] / "workbench" / "emit" / "targets" / "README.md"
_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
RECIPES = ("imagenet-train", "segmentation", "simclr")
ANNOTATED = ("ssd", "retinanet", "segmentation", "key-points")
"""Recipes with annotations."""
TARGETS = ("script", "pytorch", "lightning", "jax", "tensorflow", "dynamic")
MOST = {"script": 1.3, "dynamic": 1.3}
"""By how much an export may be longer."""
MOST_OF_LOADERS = 1.75
"""The programs written by hand do not count batches: ranks may get empty ones."""


def code_lines(text: str) -> int:
    """Lines that are no comment, docstring or empty."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _LAYOUT and token.type != tokenize.ENDMARKER
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            first = node.body[0]
            lines -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def by_hand(recipe: str, target: str) -> str:
    """The one program that two files are together; dynamic mode has no pipeline of its own."""
    if target == "dynamic":
        return (FOLDER / "dynamic.py").read_text()
    pipelines = (FOLDER / f"{recipe.replace('-', '_')}.py").read_text()
    if target != "lightning":  # the others read what trains alone
        pipelines = pipelines.partition("\n\n\n@pipeline_def\ndef val_pipeline")[0]
    rest = (FOLDER / f"{target}.py").read_text().partition('"""\n\n')[2]
    rest = re.sub(r"from \.imagenet_train import .*\n", "", rest)
    if target == "script":
        pipelines = re.sub(r"OUTPUTS = .*\n", "", pipelines)
    return f"{pipelines}\n{rest}"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("recipe", RECIPES)
def test_an_export_is_little_longer_and_the_table_says_so(recipe: str, target: str) -> None:
    if target == "dynamic" and recipe != "imagenet-train":
        pytest.skip("dynamic mode holds neither blocks nor targets that follow")
    graph = load_recipe(recipe)
    ours = code_lines(export(graph, target, CATALOG, plain=True).main.text)
    hinted = code_lines(export(graph, target, CATALOG).main.text)
    assert hinted - ours <= 4, "more than two lines at each decoder"
    theirs = code_lines(by_hand(recipe, target))
    assert ours <= MOST.get(target, MOST_OF_LOADERS) * theirs
    row = next(
        line for line in README.read_text().splitlines() if line.startswith(f"| `{recipe}` |")
    )
    assert f" {ours} / {theirs} " in row


@pytest.mark.parametrize("recipe", ANNOTATED)
def test_a_script_with_annotations_is_little_longer(recipe: str) -> None:
    ours = code_lines(export(load_recipe(recipe), "script", CATALOG, plain=True).main.text)
    assert ours <= MOST["script"] * code_lines(by_hand(recipe, "script"))
    if recipe == "ssd":
        assert ours <= 115


@pytest.mark.parametrize("recipe", ["ssd", "retinanet"])
def test_boxes_by_hand_lie_as_those_of_the_export(
    recipe: str, shapes: Path, tmp_path: Path
) -> None:
    """They draw otherwise: what is the same is how boxes and labels are given."""
    data = str(shapes / "coco" / "annotations.json")
    graph = load_recipe(recipe)
    script = import_script(export(graph, "script", CATALOG).main.text, tmp_path)
    theirs = {"ssd": ssd, "retinanet": retinanet}[recipe].train_pipeline(
        data, "cpu", batch_size=4, num_threads=1, device_id=None, seed=0
    )
    theirs.build()
    ours = script.build_pipeline(data, batch_size=4)
    for images, boxes, labels in (ours.run(), theirs.run()):
        for image, box, label in zip(images, boxes, labels, strict=True):
            corners = np.array(box)
            height, width = image.shape()[1:]
            most = (1, 1) if recipe == "ssd" else (width, height)
            assert corners.dtype == np.float32
            assert len(corners) == len(np.array(label)) > 0
            assert (corners[:, :2] < corners[:, 2:]).all()
            assert (corners >= 0).all()
            assert (corners <= np.tile(most, 2) + 1e-3).all()


def test_they_give_what_the_exports_give(photos: Path, tmp_path: Path) -> None:
    coco = write_ramps(tmp_path) / "boxes.json"
    for name, module in zip(RECIPES, (imagenet_train, segmentation, simclr), strict=True):
        data = str(coco if name == "segmentation" else photos)
        theirs = module.train_pipeline(
            data, "cpu", batch_size=2, num_threads=1, device_id=None, seed=0
        )
        theirs.build()
        script = import_script(export(load_recipe(name), "script", CATALOG).main.text, tmp_path)
        ours = script.build_pipeline(data, batch_size=2)
        pairs = list(zip(ours.run(), theirs.run(), strict=True))
        assert len(pairs) == len(module.OUTPUTS)
        for one, other in pairs:
            assert (one.shape(), one.dtype) == (other.shape(), other.dtype)
