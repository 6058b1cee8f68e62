"""Functions of the user in exported code: a golden script, and all targets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.emit.written_code import ruff
from workbench.catalog import Catalog
from workbench.emit.targets import export, target_names
from workbench.errors import GraphExportError
from workbench.graph import Graph, load_recipe
from workbench.graph.control_flow.wrap import wrap_in_block

GOLDEN = Path(__file__).parent / "own_code" / "golden" / "script.py"
CARRY = (
    *("script", "jax", "lightning", "notebook", "paddle", "pytorch", "ray", "keras"),
    *("huggingface", "proxy"),
)
REFUSE = {
    "dynamic": "DALI's dynamic mode has no Python functions",
    "tensorflow": "TensorFlow's DALIDataset is given a pipeline that DALI serialises",
    "torchvision": "torchvision is written without DALI, which calls it",
    "albumentations": "albumentations is written without DALI, which calls it",
    "triton": "Triton is given a pipeline that DALI serialises, without Python",
}
HOLD_NO_BLOCK = ("notebook", "ray")


@wb.node(layouts="HWC")
def grey_world(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Scale each channel to the mean of all (Buchsbaum 1980)."""
    means = image.mean(axis=(0, 1), keepdims=True)
    balanced = image * (means.mean() / np.maximum(means, 1))
    return np.clip(balanced, 0, 255).astype(np.uint8)


def balanced() -> Graph:
    return grey_world.after(load_recipe("cutout"), "decode")


def sometimes(catalog: Catalog) -> Graph:
    return wrap_in_block(balanced(), catalog, ["grey_world"], "if")[0]


def test_every_target_is_decided() -> None:
    assert sorted([*CARRY, *REFUSE]) == sorted(target_names())


def test_golden(catalog: Catalog, request: pytest.FixtureRequest) -> None:
    text = export(sometimes(catalog), "script", catalog, plain=True).main.text
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "if meant: pytest --update-golden"


@pytest.mark.parametrize("target", CARRY)
def test_every_target_has_the_function_as_it_was_written(target: str, catalog: Catalog) -> None:
    graph = balanced() if target in HOLD_NO_BLOCK else sometimes(catalog)
    text = export(graph, target, catalog).main.text
    if target == "notebook":
        cells = json.loads(text)["cells"]
        text = "\n\n\n".join("".join(cell["source"]) for cell in cells)
    assert grey_world.source.strip() in text


def test_it_is_as_ruff_would_have_it() -> None:
    pytest.importorskip("ruff")
    done = ruff(GOLDEN.parent)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", REFUSE)
@pytest.mark.parametrize("inside", [False, True], ids=["beside", "in a block"])
def test_what_cannot_carry_it_says_why(target: str, inside: bool, catalog: Catalog) -> None:
    graph = sometimes(catalog) if inside else balanced()
    with_ = "training" if target == "triton" else ""  # else a drawn block is left out
    with pytest.raises(GraphExportError) as told:
        export(graph, target, catalog, with_=with_)
    assert str(told.value).startswith("grey_world: it calls the Python function grey_world, and ")
    assert REFUSE[target] in str(told.value)
    assert str(told.value).endswith("Export the graph as a script, or leave the node out.")
