"""Automatic augmentation in scripts that are imported: one node for each call."""

from __future__ import annotations

from pathlib import Path

from workbench.catalog import load_catalog
from workbench.engine.importing import from_file
from workbench.graph import Node, Port

CATALOG = load_catalog()

SCRIPT = """\
from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import auto_augment, rand_augment
from nvidia.dali.auto_aug.trivial_augment import trivial_augment_wide

N = 2


@pipeline_def(enable_conditionals=True, batch_size=8, num_threads=2, device_id=None, seed=12)
def train(root="/data/train", magnitude=9):
    jpegs, labels = fn.readers.file(file_root=root, seed=12, random_shuffle=True)
    shapes = fn.peek_image_shape(jpegs)
    images = fn.decoders.image_random_crop(jpegs, seed=13)
    images = rand_augment.rand_augment(images, n=N, m=magnitude + 1, shape=shapes, fill_value=None)
    if fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=15):
        images = trivial_augment_wide(images, max_translate_abs=10)
    images = auto_augment.auto_augment(images, "svhn"SEED)
    return images, labels
"""


def imported(folder: Path, text: str) -> tuple[dict[str, Node], list[tuple[str, str]]]:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    made = from_file(path)
    nodes = {node.id: node for node in made.graph.walk()}
    issues = [(issue.kind, issue.node) for issue in made.report.entries]
    return nodes, issues


def test_an_interpolation_is_held_by_its_name(tmp_path: Path) -> None:
    text = SCRIPT.replace("SEED", "").replace("n=N", "interp_type=types.INTERP_LINEAR, n=N")
    nodes, _ = imported(tmp_path, text)
    assert nodes["rand_augment"].args == {"interp_type": "INTERP_LINEAR", "n": 2, "m": 10}


def test_a_call_is_a_node_with_its_arguments(tmp_path: Path) -> None:
    nodes, issues = imported(tmp_path, SCRIPT.replace("SEED", ""))
    assert nodes["rand_augment"].args == {"n": 2, "m": 10}
    assert nodes["rand_augment"].inputs == {
        "data": Port("images", "output") if "images" in nodes else Port("decode", "output"),
        "shape": Port("shapes", "output"),
    }
    assert nodes["trivial_augment_wide"].args == {"max_translate_abs": (10, 10)}
    assert nodes["auto_augment"].args == {"policy_name": "svhn"}
    assert [node.op for node in nodes.values() if node.op.startswith("random")] == [
        "random.coin_flip"
    ]
    assert issues == [("changed", "rand_augment")]  # fill_value=None


def test_a_seed_that_ties_its_draws_together_is_left_out_and_said(tmp_path: Path) -> None:
    _, issues = imported(tmp_path, SCRIPT.replace("SEED", ", seed=7").replace("=None", "=0"))
    assert issues == [("changed", "auto_augment")]


def test_draws_that_would_be_others_are_said(tmp_path: Path) -> None:
    plain = SCRIPT.replace("SEED", "").replace("=None", "=0")
    assert imported(tmp_path, plain)[1] == []
    both = ["rand_augment", "trivial_augment_wide", "auto_augment"]
    earlier = imported(tmp_path, plain.replace("jpegs, seed=13", "jpegs"))[1]
    assert sorted(earlier) == sorted(("changed", node) for node in both)
    assert imported(tmp_path, plain.replace(", seed=12)\ndef", ")\ndef"))[1] == []
