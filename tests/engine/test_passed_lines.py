"""Lines that fail while a pipeline is made, and values that nobody knows then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.errors import ImportFailedError

HEAD = (
    "import os, pickle\n"
    "from nvidia.dali import fn, ops, pipeline_def, types\n"
    "from nvidia.dali.pipeline import Pipeline\n"
)
FEED = """
class Feed:
    def __init__(self, folder):
        self.folder = folder
        with open(os.path.join(folder, "rows.pkl"), "rb") as file:
            self.rows = pickle.load(file)
        self.count = len(self.rows)

    def __iter__(self):
        return self

    def __next__(self):
        return self.rows

class Train(Pipeline):
    def __init__(self, batch_size, num_threads, device_id, data_dir):
        super().__init__(batch_size, num_threads, device_id, seed=3)
        self.feed = iter(Feed(data_dir))
        self.source = ops.ExternalSource()
        self.decode = ops.decoders.Image(device="mixed")
        self.resize = ops.Resize(device="gpu", size=(48, 48))

    def define_graph(self):
        return self.resize(self.decode(self.source()))
"""
ONE = """
@pipeline_def(batch_size=4, num_threads=2, device_id=0, seed=1)
def train(data_dir, {parameters}):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.decoders.image(jpegs, device="mixed")
    {body}
    return images, labels
"""


@pytest.fixture
def brought(tmp_path: Path) -> Any:
    def bring(text: str, pipeline: str | None = None, **args: Any) -> Any:
        script = tmp_path / "train.py"
        script.write_text(HEAD + text, encoding="utf-8")
        return wb.from_file(script, pipeline, args or None)

    return bring


def ops_of(found: Any) -> list[str]:
    return [node.op for node in found.graph.nodes]


def said(found: Any) -> str:
    return "\n".join(entry.why for entry in found.report.changed)


def test_data_that_are_not_here_are_stood_in_for(brought: Any) -> None:
    found = brought(FEED)
    assert "resize" in ops_of(found)
    assert not found.report.is_exact
    assert "train.py:8 failed (FileNotFoundError" in said(found)
    assert "what it would have given is stood in for" in said(found)
    counts = "partly: 3 nodes: 3 exact, 0 changed, 0 opaque, "  # the lines are no nodes
    assert found.report.headline == f"{counts}2 changed for the whole pipeline, 4 assumed"


def test_a_line_in_a_comprehension_and_one_that_returns(brought: Any) -> None:
    text = (
        "def names(folder):\n    return sorted(os.listdir(folder))\n"
        "class Files:\n"
        "    def __init__(self, folder):\n"
        "        self.files = [os.path.getsize(os.path.join(folder, n)) for n in ('a', 'b')]\n"
        "        self.names = names(folder)\n"
        "def make(data_dir):\n    files = Files(data_dir)\n    return train(data_dir)\n"
        + ONE.format(parameters="size=32", body="images = fn.resize(images, size=size)")
    )
    found = brought(text, "make")
    assert ops_of(found) == ["readers.file", "decoders.image", "resize"]
    assert "train.py:8 failed" in said(found)
    assert "train.py:5 failed" in said(found)


def test_what_a_script_raises_itself_is_not_passed_over(brought: Any) -> None:
    body = "if size % 32:\n        raise ValueError('size must be a multiple of 32')"
    with pytest.raises(ImportFailedError, match="size must be a multiple of 32"):
        brought(ONE.format(parameters="size=33", body=body))
    with pytest.raises(ImportFailedError, match="AssertionError: odd"):
        brought(ONE.format(parameters="size=33", body="assert size % 2 == 0, 'odd'"))


def test_what_a_script_raises_of_data_that_are_not_here_is_passed_over(brought: Any) -> None:
    check = "        if not os.path.exists(folder):\n            raise FileNotFoundError(folder)\n"
    found = brought(FEED.replace("        self.folder = folder\n", check))
    assert "FileNotFoundError: data_dir" in said(found)


def test_what_a_script_raises_of_what_is_stood_in_for_is_passed_over_too(brought: Any) -> None:
    check = "        if not self.rows:\n            raise ValueError('no rows')\n"
    found = brought(FEED.replace("        self.count", check + "        self.count"))
    assert "ValueError: no rows" in said(found)


def test_what_dali_refuses_is_not_passed_over(brought: Any) -> None:
    with pytest.raises(ImportFailedError, match="crop"):
        brought(ONE.format(parameters="size=3", body="images = fn.crop(images, crop='wide')"))


def test_a_name_that_is_defined_nowhere(brought: Any) -> None:
    body = "images = fn.rotate(images, angle=ANGLE)"
    found = brought(ONE.format(parameters="size=3", body=body))
    assert "train.py:9: ANGLE is not defined." in said(found)
    assert "Rotate without angle: ANGLE is not known here" in said(found)


def test_parameters_that_only_the_user_can_give(brought: Any) -> None:
    body = (
        "images = fn.rotate(images, angle=10 * turns)\n"
        "    images = fn.crop_mirror_normalize(images, mean=[0, shade, 0], crop=(8, 8))"
    )
    found = brought(ONE.format(parameters="turns, shade", body=body))
    assert "needs turns, shade. Give them: --arg turns=... --arg shade=..." in said(found)
    assert not [node for node in found.graph.nodes if {"angle", "mean"} & node.args.keys()]
    text = ONE.format(parameters="turns, shade", body=body)
    exact = brought(text, data_dir="photos", turns=2, shade=9)
    assert exact.report.is_exact


def test_one_that_nothing_can_stand_in_for_is_asked_for(brought: Any) -> None:
    text = ONE.format(parameters="sides", body="images = fn.crop(images, crop='wide' + str(sides))")
    with pytest.raises(ImportFailedError, match=r"needs sides\. Give them: --arg sides="):
        brought(text)


def test_an_operand_and_a_constant_that_nobody_knows_come_from_outside(brought: Any) -> None:
    body = (
        "added = types.Constant(device='cpu', value=noise)\n"
        "    images = fn.resize(images, size=8) + shift\n"
        "    labels = labels + added"
    )
    found = brought(ONE.format(parameters="noise, shift", body=body))
    assert "shift is not known here: it is fed from outside the pipeline" in said(found)
    assert "noise is not known here: it is fed from outside the pipeline" in said(found)
    assert ops_of(found).count("math.add") == 2


def test_what_an_operator_requires_is_a_fault_where_nobody_knows_it(brought: Any) -> None:
    body = (
        "boxes, classes = fn.box_encoder(fn.constant(fdata=[0, 0, 1, 1], shape=(1, 4)), labels, "
        "anchors=anchors.tolist())"
    )
    found = brought(ONE.format(parameters="anchors", body=f"{body}\n    labels = classes"))
    assert "BoxEncoder without anchors: anchors.tolist(...) is not known here" in said(found)
    assert "anchors" in "\n".join(entry.why for entry in found.report.faults)


def test_settings_of_a_pipeline_that_nobody_knows(brought: Any) -> None:
    text = (
        "def make(rate, data_dir):\n"
        "    return train(data_dir, batch_size=rate * 2, num_threads=rate)\n"
        + ONE.format(parameters="size=9", body="images = fn.resize(images, size=size)")
    )
    found = brought(text, "make")
    assert (found.graph.settings.batch_size, found.graph.settings.num_threads) == (16, 4)
    assert "batch_size of the pipeline is 16 here" in said(found)


def test_arguments_that_dali_has_no_more_are_told(brought: Any) -> None:
    text = FEED.replace(
        'ops.Resize(device="gpu", size=(48, 48))',
        'ops.WarpAffine("gpu", matrix=[1.0, 0, 0, 0, 1.0, 0], use_image_center=True)',
    ).replace("self.feed = iter(Feed(data_dir))", 'self.coin = ops.CoinFlip("support")')
    found = brought(text)
    assert "warp_affine" in ops_of(found)
    assert said(found) == "WarpAffine without use_image_center: DALI has it no more"


def test_what_a_gpu_operator_is_fed_from_the_cpu_is_sent_there(brought: Any) -> None:
    found = brought(FEED.replace('device="mixed"', 'device="cpu"'))
    assert "is fed from the CPU: it is sent there" in said(found)


def test_constants_of_timm_are_known(brought: Any) -> None:
    text = "from no_such_timm.data.constants import IMAGENET_DEFAULT_MEAN\n" + ONE.format(
        parameters="mean=tuple(255 * each for each in IMAGENET_DEFAULT_MEAN)",
        body="images = fn.crop_mirror_normalize(images, crop=(8, 8), mean=mean)",
    )
    found = brought(text, data_dir="photos")
    assert found.report.is_exact
    (normalise,) = (n for n in found.graph.nodes if n.op == "crop_mirror_normalize")
    assert normalise.args["mean"] == pytest.approx((123.675, 116.28, 103.53))
