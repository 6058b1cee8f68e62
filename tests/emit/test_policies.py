"""Policies of one's own in emitted code: as a person would write them, in every target that can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit.written_code import ruff
from tests.helpers import CATALOG, chain_graph, with_args
from workbench.catalog import Value
from workbench.catalog.own_operators.auto_augment import NAMED
from workbench.emit import emit_script
from workbench.emit.targets import export, target_names
from workbench.errors import GraphExportError
from workbench.graph import Graph
from workbench.graph.edits.edit import own_policy

REFUSING = {
    **dict.fromkeys(("dynamic", "notebook", "ray"), "has no apply_auto_augment"),
    "torchvision": "torchvision has no counterpart of apply_auto_augment",
    "albumentations": "albumentations has no automatic augmentation",
}
EACH = [(name, 0.25, 3) if takes else (name, 1) for name, takes in NAMED.items()]
ALL: Value = (tuple(EACH[:8]), tuple(EACH[8:]))


def with_policy(**args: Value) -> Graph:
    graph = chain_graph("resize", "apply_auto_augment")
    return with_args(graph, "apply_auto_augment", **args)


@pytest.mark.parametrize("target", target_names())
def test_a_target_has_the_policy_once_or_says_why_not(target: str) -> None:
    graph = own_policy(chain_graph("resize", "auto_augment"), "auto_augment")
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
    first = own_policy(chain_graph("auto_augment", "auto_augment"), "auto_augment")
    ids = [node.id for node in first.nodes if node.op.endswith("auto_augment")]
    other = own_policy(first, next(i for i in ids if i != "auto_augment"), "svhn")
    text = emit_script(other, CATALOG).text
    assert text.count(" = Policy(") == 2
    assert text.count("SOLARIZE = ") == 1, "the same range in both"
