"""Well-known names have usual values, by what is done with them; each one is noted."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from workbench.engine.assumed_values.stand_ins import StandIn, StandIns
from workbench.engine.assumed_values.usual_values import UsualValues, is_of_any_process, written
from workbench.engine.assumed_values.written_calls import MISSING


def usual(body: str = "pass", parameters: str = "", **defaults: Any) -> UsualValues:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return UsualValues((None, ast.parse(f"def pipe({parameters}):\n{lines}\n")), defaults)


@pytest.mark.parametrize(
    ("name", "body", "value"),
    [
        ("batch_size", "pass", 16),
        ("local_rank", "pass", 0),
        ("data_dir", "pass", "data_dir"),
        ("crop", "y = fn.crop(x, crop=(crop, crop))", 224),
        ("crop_shape", "y = fn.crop(x, crop=(crop_shape[0], crop_shape[1]))", (224, 224)),
        ("image_shape", "c, h, w = image_shape", (3, 224, 224)),
        ("h", "y = fn.resize(x, resize_y=h)", 224),
        ("mean", "y = fn.crop_mirror_normalize(x, mean=mean)", [123.675, 116.28, 103.53]),
        ("rgb_std", "y = f([255 * each for each in rgb_std])", [0.229, 0.224, 0.225]),
        ("is_training", "if is_training:\n    f()", True),
        ("dali_cpu", "x = 'cpu' if dali_cpu else 'mixed'", False),
        ("phase", "if phase == 'train':\n    f()", "train"),
        ("interp", "x = {'cubic': 1, 'bilinear': 2}[interp]", "bilinear"),
        ("device", "y = fn.cast(x, device=device)", "cpu"),
        ("pad", "y = fn.crop_mirror_normalize(x, pad_output=pad)", False),
    ],
)
def test_a_value_by_the_name_and_its_use(name: str, body: str, value: object) -> None:
    found = usual(body, name)
    assert found.find(name) == value
    assert found.assumed == {name: value}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("strength", "y = x * strength"),
        ("angle", "y = fn.rotate(x, angle=angle)"),  # DALI has no default for it
        ("train", "y = open(train)"),  # a name of a flag, of which no truth is asked
        ("policy", "if policy == 'auto':\n    f()\nelif policy == 'trivial':\n    g()"),
        ("anchors", "x = anchors.shape"),
    ],
)
def test_what_is_not_known_is_not_assumed(name: str, body: str) -> None:
    found = usual(body, name)
    assert found.find(name) is MISSING
    assert found.assumed == {}


def test_a_resize_in_front_of_a_crop_is_larger() -> None:
    text = ast.parse("def pipe(crop, size):\n    pass\n")
    assert UsualValues((text,)).find("size") == 256
    assert UsualValues((ast.parse("def pipe(size):\n    pass\n"),)).find("size") == 224


def test_what_the_scripts_command_line_says_goes_first() -> None:
    assert usual("pass", "crop", crop=64).find("crop") == 64
    assert usual("pass", "local_rank", local_rank=-1).find("local_rank") == 0


def test_an_enumerations_member_is_written_as_in_dali() -> None:
    found = usual("y = fn.resize(x, interp_type=how)", "how")
    assert written(found.find("how")) == "types.INTERP_LINEAR"
    assert written("cpu") == "'cpu'"


def test_settings_are_asked_for_by_dotted_names() -> None:
    found = usual("f(cfg.DATA.CROP_SIZE, cfg.data.size, cfg.rank)")
    setting = found.setting(StandIns())
    assert setting("cfg.rank") == 0
    data = setting("cfg.data")
    assert isinstance(data, StandIn)  # it is a section, not a folder
    assert (data.size, data["size"]) == (224, 224)
    assert setting("cfg.DATA").CROP_SIZE == 224
    assert found.assumed == {"cfg.rank": 0, "cfg.data.size": 224, "cfg.DATA.CROP_SIZE": 224}
    assert isinstance(data.strength, StandIn)


@pytest.mark.parametrize(
    ("name", "of_any"), [("seed", True), ("train_dir", True), ("crop", False), ("mean", False)]
)
def test_what_only_says_where_and_how_fast_it_runs(name: str, of_any: bool) -> None:
    assert is_of_any_process(name) is of_any
