"""Automatic augmentation in scripts that are imported: one node for each call."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.build.test_auto_augment import LONG
from tests.helpers import chain_graph
from tests.thorough import one_in
from workbench.catalog import Value, load_catalog
from workbench.catalog.extra_operators.auto_augment import POLICIES
from workbench.emit import emit_script
from workbench.engine.importing import from_file
from workbench.graph import Graph, Node, Port
from workbench.graph.edits.edit import editable_policy

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


POLICY_SCRIPT = """\
from nvidia.dali import fn, pipeline_def
from nvidia.dali.auto_aug import augmentations as a
from nvidia.dali.auto_aug.auto_augment import apply_auto_augment
from nvidia.dali.auto_aug.core import Policy

MINE = Policy("mine", 7, [[(a.rotate, 1, 3), (COLOR, 0.5, 2)], [(a.equalize, 0.3, None)]])


@pipeline_def(enable_conditionals=True, batch_size=8, num_threads=2, device_id=None, seed=12)
def train(root="/data/train"):
    jpegs, labels = fn.readers.file(file_root=root, seed=12)
    images = fn.decoders.image(jpegs)
    images = apply_auto_augment(MINE, images, fill_value=3)
    return images, labels
"""
ROUND: list[dict[str, Value]] = [
    {"policy": LONG},
    {"policy": LONG, "magnitudes": "learnt", "max_translate_abs": (10, 20), "fill_value": 0},
    {"policy": LONG, "shape": (64, 64), "max_translate_rel": (0.5, 0.25), "num_magnitude_bins": 9},
]


@pytest.mark.parametrize("args", one_in(3, ROUND))
def test_an_exported_policy_comes_back_as_it_was(args: dict[str, Value], tmp_path: Path) -> None:
    require_round(chain_graph("resize", "apply_auto_augment", apply_auto_augment=args), tmp_path)


@pytest.mark.parametrize("name", one_in(4, POLICIES))
def test_so_does_a_learnt_one(name: str, tmp_path: Path) -> None:
    learnt = chain_graph("resize", "auto_augment", auto_augment={"policy_name": name})
    require_round(editable_policy(learnt, "auto_augment"), tmp_path)


def require_round(graph: Graph, folder: Path) -> None:
    script = folder / "pipe.py"
    script.write_text(emit_script(graph, CATALOG).text, encoding="utf-8")
    made = from_file(script)
    (given,) = (node for node in graph.walk() if node.op == "apply_auto_augment")
    (back,) = (node for node in made.graph.walk() if node.op == "apply_auto_augment")
    assert back.args == given.args
    assert [entry.kind for entry in made.report.entries] == []


def test_a_policy_that_someone_wrote_is_a_node(tmp_path: Path) -> None:
    nodes, issues = imported(tmp_path, POLICY_SCRIPT.replace("COLOR", "a.color"))
    (node,) = (node for node in nodes.values() if node.op == "apply_auto_augment")
    assert node.args == {
        "policy": ((("rotate", 1.0, 3), ("color", 0.5, 2)), (("equalize", 0.3),)),
        "num_magnitude_bins": 7,
        "fill_value": 3,
    }
    assert issues == []


def test_ranges_that_no_node_has_are_told(tmp_path: Path) -> None:
    other = POLICY_SCRIPT.replace("COLOR", "a.color.augmentation((0, 0.4), True)")
    nodes, issues = imported(tmp_path, other)
    (node,) = (node for node in nodes.values() if node.op == "apply_auto_augment")
    assert issues == [("changed", node.id)]
