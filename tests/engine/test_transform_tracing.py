"""Compositions found in scripts and notebooks, which run among stand-ins."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from random import uniform
from typing import Any

import numpy as np
import pytest
from PIL import ImageEnhance, ImageFilter, ImageOps

from workbench.emit.pipeline_import.transform_call import RandomValue, TransformCall
from workbench.engine.importing import from_file
from workbench.engine.script_import.placeholders import StandIns
from workbench.engine.transform_tracing.custom_transforms import read_own_transform
from workbench.engine.transform_tracing.recorded_calls import RecordedCall
from workbench.engine.transform_tracing.recorded_values import transform_call
from workbench.errors import ImportFailedError

SCRIPT = """\
import albumentations as A
import some_package.not_here
import torch
from torchvision import datasets, transforms
from torchvision.transforms import v2 as T

normalize = transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
train = transforms.Compose([transforms.RandomResizedCrop(96), transforms.ToTensor(), normalize])
train.transforms.insert(0, transforms.Resize(128))
by_name = {"val": T.Compose([T.CenterCrop(64)]), "strong": A.Compose([A.VerticalFlip(p=0.2)])}
by_name["val"].transforms.append(T.RandomHorizontalFlip(p=0.25))


def build(is_train, cfg):
    steps = [transforms.Resize(cfg.size)]
    if is_train:
        steps.append(transforms.RandomVerticalFlip())
    return transforms.Compose(steps)


def main(args):
    train = datasets.ImageFolder(args.data, transforms.Compose([transforms.RandomCrop(32)]))
    test = datasets.ImageFolder(args.data, transforms.Compose([transforms.CenterCrop(32)]))
    for epoch in range(args.epochs):
        pass


class Views:
    def __init__(self, size=48):
        self.first = T.Compose([T.Resize((size, size))])
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    return file


def ops(path: Path, name: str | None = None, **args: object) -> list[str]:
    found = from_file(path, name, args)
    return [node.op for node in found.graph.nodes if not node.op.startswith("random.")][2:]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("train", ["resize", "random_resized_crop", "crop_mirror_normalize"]),
        ("by_name.val", ["crop", "flip"]),
        ("by_name.strong", ["flip"]),
        ("main:23", ["crop"]),
        ("Views", ["resize"]),
        ("normalize", ["crop_mirror_normalize"]),
    ],
)
def test_each_is_found_by_its_name(script: Path, name: str, made: list[str]) -> None:
    assert ops(script, name) == made


def test_a_function_gets_what_is_given_and_tells_what_is_not(script: Path) -> None:
    given: dict[str, object] = {"is_train": True, "cfg": {"size": 40}}
    assert ops(script, "build", **given) == ["resize", "flip"]
    found = from_file(script, "build", {"cfg": {"size": 40}})
    assert not found.report.is_exact
    assert "is_train" in "\n".join(entry.why for entry in found.report.changed)
    assert any("some_package" in note for note in found.report.notes)


def test_a_line_of_the_script_stands_with_what_was_left_out(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    lines = ["import torchvision.transforms as T", "t = T.Compose([", "    T.FiveCrop(3),", "])"]
    file.write_text("\n".join(lines))
    (issue,) = from_file(file).report.refused
    assert (issue.node, issue.place) == ("FiveCrop", "train.py:3")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "words"),
    [
        (None, "compositions: train, by_name.val, by_name.strong, build, main, Views"),
        ("main", "main:22, main:23"),
        ("trian", "Did you mean train"),
    ],
)
def test_which_one_is_asked_for(script: Path, name: str | None, words: str) -> None:
    with pytest.raises(ImportFailedError, match=words):
        from_file(script, name)


def test_a_notebooks_cells_are_read(tmp_path: Path) -> None:
    code = (
        "%matplotlib inline\n!ls\nimport kornia.augmentation as K\naug = K.AugmentationSequential("
    )
    code += "K.RandomHorizontalFlip(p=0.5), K.RandomGrayscale(p=0.2))"
    cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": []}
    file = tmp_path / "look.ipynb"
    file.write_text(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}))
    assert ops(file) == ["flip", "if", "crop_mirror_normalize"]


def test_annotations_that_cannot_be_read_and_globals_that_hold_themselves(tmp_path: Path) -> None:
    file = tmp_path / "later.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from torchvision import transforms as T\n"
        "everything = globals()\n"
        "held = {}\nheld['itself'] = [held]\n"
        "class Pixels(int): pass\n"
        "def build(size: NotDefined = Pixels(8)) -> Nowhere:\n"
        "    return T.Compose([T.Resize((size, size))])\n"
    )
    assert ops(file) == ["resize"]


BOTH = """\
from nvidia.dali import fn, pipeline_def
from torchvision import transforms as T

val = T.Compose([T.CenterCrop(64)])

@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def train(data="photos"):
    return fn.rotate(fn.decoders.image(fn.readers.file(file_root=data)[0]), angle=10)
"""


def test_a_composition_beside_a_pipeline_is_named(tmp_path: Path) -> None:
    file = tmp_path / "both.py"
    file.write_text(BOTH)
    assert ops(file) == ["rotate"]
    assert ops(file, "val") == ["crop"]


@pytest.mark.parametrize(
    "head",
    [
        "# tested on an nvidia card\n",
        "from nvidia.dali.pipeline import Pipeline\nPipeline(4, 2, None).build()\n",
    ],
)
def test_a_composition_in_a_script_that_names_nvidia(head: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(head + "from torchvision import transforms as T\n"
                    "val = T.Compose([T.CenterCrop(64)])\n")  # fmt: skip
    assert ops(file, "val") == ["crop"]


def test_dalis_own_torchvision_is_read_as_torchvision(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "from nvidia.dali.experimental.torchvision import Compose, Resize, RandomHorizontalFlip\n"
        "train = Compose([Resize(64), RandomHorizontalFlip(p=0.5)], batch_size=8)\n"
    )
    assert ops(file) == ["resize", "flip"]


def test_dynamic_mode_is_named_and_not_run(tmp_path: Path) -> None:
    file = tmp_path / "eager.py"
    file.write_text(
        "import nvidia.dali.experimental.dynamic as ndd\n"
        "open('made', 'w')\nndd.readers.File(file_root='photos')\n"
    )
    with pytest.raises(ImportFailedError, match=r"was not run: .* dynamic mode"):
        from_file(file)


@pytest.mark.thorough
def test_a_script_without_any_says_so(tmp_path: Path) -> None:
    file = tmp_path / "plain.py"
    file.write_text("x = 1\n")
    with pytest.raises(ImportFailedError, match="no pipeline of DALI, and no composition"):
        from_file(file)


OWN = """\
import argparse, random
from PIL import ImageFilter, ImageOps
from torchvision import transforms as T

class Blur:
    def __init__(self, p): self.p = p
    def __call__(self, image):
        if random.random() < self.p:
            return image.filter(ImageFilter.GaussianBlur(radius=random.uniform(0.5, 2)))
        return image

def stretched(image):
    return ImageOps.autocontrast(image, cutoff=3)

def build(args):
    return T.Compose([
        T.Resize(args.pixels), Blur(args.share), stretched, T.ToTensor(),
        T.Lambda(lambda x: x.mul(255)),
    ])

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pixels", default=48, type=int)
    parser.add_argument("--share", default=0.25)
"""


def test_classes_and_lambdas_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(OWN)
    assert ops(file, "build") == ["resize", "if", "crop_mirror_normalize"]
    found = from_file(file, "build")
    assert found.graph.node("chance").args["probability"] == 0.25
    assert found.graph.node("crop_mirror_normalize").args["std"] == (1.0,)
    assert found.report.assumed == {"args.pixels": "48", "args.share": "0.25"}
    (left_out,) = found.report.refused
    assert (left_out.node, left_out.place) == ("autocontrast", "train.py:13")


def test_timm_is_read_by_its_factory(tmp_path: Path) -> None:
    file = tmp_path / "t.py"
    file.write_text(
        "from timm.data import create_transform\n"
        "train = create_transform(224, is_training=True, auto_augment='rand-m7-n3', re_prob=0.3)\n"
    )
    found = from_file(file)
    made = [node.op for node in found.graph.walk()]
    assert {"random_resized_crop", "flip", "rand_augment", "erase"} <= set(made)
    assert found.graph.node("rand_augment").args["n"] == 3


def test_a_function_goes_on_behind_lines_that_fail(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(
        "from torchvision import transforms as T\n"
        "def main(args):\n"
        "    state = open('/nowhere/weights').read()\n"
        "    size = 96\n"
        "    if args.kind == 'a':\n"
        "        mean = 0.1\n"
        "    else:\n"
        "        raise ValueError(args.kind)\n"
        "    train = T.Compose([T.Resize(size), T.RandomHorizontalFlip()])\n"
    )
    assert ops(file) == ["resize", "flip"]


@pytest.mark.thorough
def test_a_sequence_of_torch_is_in_order(tmp_path: Path) -> None:
    """``torch.nn.Sequential`` is what torchvision and Kornia say composes modules."""
    file = tmp_path / "modules.py"
    file.write_text(
        "import torch.nn as nn\nimport kornia.augmentation as K\n"
        "from torchvision import transforms as T\n"
        "one = nn.Sequential(T.Resize((8, 8)), T.RandomHorizontalFlip(p=1.0))\n"
        "class Own(nn.Module):\n"
        "    def __init__(self, side=8):\n        super().__init__()\n"
        "        self.layers = nn.Sequential(K.Resize((side, side)), K.CenterCrop(4))\n"
    )
    assert ops(file, "one") == ["resize", "flip"]
    assert ops(file, "Own")[:2] == ["resize", "crop"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("flip.p = 0.9", "train.py:4"),
        ("train.append(T.RandomVerticalFlip())", "train.py:4"),
        ("train[0] = T.RandomVerticalFlip()", "train.py:4"),
        ("train = train + [T.RandomVerticalFlip()]", "train.py:4"),
        ("other = T.RandomVerticalFlip()\nother.p = 0.9", ""),
    ],
)
def test_a_change_of_a_transform_after_its_call_is_reported(
    change: str, place: str, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    head = "from torchvision import transforms as T\nflip = T.RandomHorizontalFlip()\n"
    file.write_text(f"{head}train = T.Compose([flip, T.ToTensor()])\n{change}\n")
    report = from_file(file, "train").report
    assert [entry.place for entry in report.changed] == [place] * bool(place)


def test_transforms_that_are_set_after_the_call_count(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    head = "from torchvision import transforms as T\ntrain = T.Compose([T.RandomVerticalFlip()])\n"
    file.write_text(f"{head}train.transforms = [T.Grayscale(3)] + train.transforms[:0]\n")
    assert "flip" not in ops(file)
    assert ops(file)


def steps(transform: Callable[..., Any]) -> list[Any] | None:
    found = read_own_transform(transform, StandIns(), transform_call)
    return None if found is None else list(map(short, found.args[0]))


def short(call: TransformCall) -> Any:
    if call.short_name == "drawn":
        p, yes, no = call.args
        return (p, [*map(short, yes)], [*map(short, no)])
    given = [*call.args, *call.kwargs.values()]
    return (call.short_name, *(short(a) if isinstance(a, TransformCall) else a for a in given))


class Blur:
    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, image: Any) -> Any:
        if random.random() < self.p:
            sigma = random.random() * 1.5 + 0.5
            return image.filter(ImageFilter.GaussianBlur(radius=sigma))
        return image


def solarised(image: Any) -> Any:
    do_it = np.random.rand() <= 0.25
    if not do_it:
        return image
    return ImageOps.solarize(image, 100)


def one_of_two(image: Any) -> Any:
    image = image.convert("RGB")
    return random.choice([ImageOps.mirror, ImageOps.invert])(image)


def brightened(image: Any) -> Any:
    return ImageEnhance.Brightness(image).enhance(uniform(0.5, 1.5))


def decided_in_turn(image: Any) -> Any:
    if random.randint(0, 3) == 1:
        if random.uniform(-1, 1) > 0.5:
            image = ImageOps.flip(image)
        image = ImageOps.invert(image)
    return image


@pytest.mark.parametrize(
    ("transform", "read"),
    [
        (Blur(0.4), [(0.4, [("filter", ("GaussianBlur", RandomValue(0.5, 2.0)))], [])]),
        (solarised, [(0.25, [("solarize", 100)], [])]),
        (one_of_two, [("convert", "RGB"), (0.5, [("mirror",)], [("invert",)])]),
        (brightened, [("Brightness", RandomValue(0.5, 1.5))]),
        (decided_in_turn, [(0.25, [(0.75, [("invert",)], [("flip",), ("invert",)])], [])]),
        (lambda image: (image * 2 - 1).contiguous(), [("mul", 2), ("sub", 1), ("contiguous",)]),
        (lambda image: image, []),
        (lambda image: image.convert("RGB") if image.mode != "RGB" else image, []),
    ],
)
def test_what_is_done_is_read(transform: Callable[..., Any], read: list[Any]) -> None:
    assert steps(transform) == read


def draws_otherwise(image: Any) -> Any:
    return ImageOps.posterize(image, int(np.random.default_rng().integers(0, 10**9)))


def draws_once_for_two(image: Any) -> Any:
    factor = random.random()
    image = ImageEnhance.Brightness(image).enhance(factor)
    return ImageEnhance.Contrast(image).enhance(factor)


@pytest.mark.parametrize(
    "transform",
    [
        draws_otherwise,
        draws_once_for_two,
        lambda image: image.resize((image.size[0] // 2, 8)) if image.size > (8, 8) else image,
        lambda image: (image, image),
        lambda image: np.asarray(image)[::2],
        lambda image, mask: image,
        lambda image: 3,
        lambda image: [image][1],
    ],
)
def test_what_cannot_be_read_is_told(transform: Callable[..., Any]) -> None:
    assert steps(transform) is None


def test_functions_that_draw_are_as_before() -> None:
    before = random.random, np.random.rand, uniform, ImageOps.solarize
    assert steps(brightened) is not None
    assert steps(draws_once_for_two) is None
    assert (random.random, np.random.rand, uniform, ImageOps.solarize) == before


def test_a_library_s_transform_within_is_its_own_step() -> None:
    owner = StandIns()
    inner = RecordedCall(owner, "torchvision.transforms.Grayscale", (3,), {})
    found = read_own_transform(lambda image: inner(image), owner, transform_call)
    assert found is not None
    assert [call.name for call in found.args[0]] == ["torchvision.transforms.Grayscale"]
