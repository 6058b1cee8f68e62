"""Functions and policies of the user in exported code: a golden script, and all targets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.emit.written_code import ruff
from tests.helpers import CATALOG, chain_graph, with_args
from workbench.catalog import Catalog, Value
from workbench.catalog.extra_operators.auto_augment import NAMED
from workbench.emit import emit_script
from workbench.emit.targets import export, target_names
from workbench.errors import GraphExportError
from workbench.graph import Graph, load_recipe
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import editable_policy

GOLDEN = Path(__file__).parent / "own_code" / "golden" / "script.py"
CARRY = (
    *("script", "jax", "lightning", "notebook", "paddle", "pytorch", "ray", "keras"),
    *("huggingface", "proxy"),
)
REFUSE = {
    "dynamic": "DALI's dynamic mode has no Python functions",
    "tensorflow": "TensorFlow's DALIDataset runs a pipeline serialised by DALI",
    "torchvision": "the target torchvision runs without DALI",
    "albumentations": "the target albumentations runs without DALI",
    "triton": "Triton runs a pipeline serialised by DALI, without Python",
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
    assert str(told.value).startswith("grey_world calls the Python function 'grey_world', but ")
    assert REFUSE[target] in str(told.value)
    assert str(told.value).endswith("Export the graph as a script, or remove the node.")


REFUSING = {
    **dict.fromkeys(("dynamic", "notebook", "ray"), "not support 'apply_auto_augment'"),
    "torchvision": "torchvision has no equivalent of apply_auto_augment",
    "albumentations": "albumentations has no automatic augmentation",
}
EACH = [(name, 0.25, 3) if takes else (name, 1) for name, takes in NAMED.items()]
ALL: Value = (tuple(EACH[:8]), tuple(EACH[8:]))


def with_policy(**args: Value) -> Graph:
    graph = chain_graph("resize", "apply_auto_augment")
    return with_args(graph, "apply_auto_augment", **args)


@pytest.mark.parametrize("target", target_names())
def test_a_target_has_the_policy_once_or_says_why_not(target: str) -> None:
    graph = editable_policy(chain_graph("resize", "auto_augment"), "auto_augment")
    if target in REFUSING:
        with pytest.raises(GraphExportError, match=REFUSING[target]):
            export(graph, target, CATALOG)
        return
    with_ = "training" if target == "triton" else ""  # which draws nothing otherwise
    files = export(graph, target, CATALOG, with_=with_).files
    texts = [file.text for file in files.values()]
    (text,) = (text for text in texts if "Policy(" in text)
    assert text.count("Policy(") == 1
    assert "from nvidia.dali.auto_aug.core import Policy\n" in text
    assert "apply_auto_augment(POLICY, images)" in text


@pytest.mark.parametrize(
    "args",
    [
        {"policy": ALL},
        {"policy": ALL, "magnitudes": "learnt", "max_translate_abs": (10, 20), "fill_value": 3},
        {"policy": ALL, "shape": (64, 64), "max_translate_rel": (0.5, 0.25)},
    ],
)
def test_the_code_is_formatted(args: dict[str, Value], tmp_path: Path) -> None:
    pytest.importorskip("ruff")
    (tmp_path / "pipe.py").write_text(emit_script(with_policy(**args), CATALOG).text)
    done = ruff(tmp_path)
    assert done.returncode == 0, done.stdout


def test_what_no_augmentation_uses_is_not_passed() -> None:
    """DALI refuses it."""
    args: dict[str, Value] = {"fill_value": 3, "interp_type": "INTERP_NN", "shape": (64, 64)}
    plain = emit_script(with_policy(policy=((("equalize", 0.5),),), **args), CATALOG).text
    assert "apply_auto_augment(POLICY, images)" in plain
    turned = emit_script(with_policy(policy=((("rotate", 0.5, 3),),), **args), CATALOG).text
    call = turned[turned.index("apply_auto_augment(\n") :].partition(")")[0]
    assert "fill_value=3, interp_type=types.INTERP_NN" in call
    assert "shape" not in call


def test_two_policies_have_two_names_and_equal_ones_share_one() -> None:
    first = editable_policy(chain_graph("auto_augment", "auto_augment"), "auto_augment")
    ids = [node.id for node in first.nodes if node.op.endswith("auto_augment")]
    other = editable_policy(first, next(i for i in ids if i != "auto_augment"), "svhn")
    text = emit_script(other, CATALOG).text
    assert text.count(" = Policy(") == 2
    assert text.count("SOLARIZE = ") == 1, "the same range in both"
