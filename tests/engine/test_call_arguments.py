"""A function is called with what is given, what its script says, and usual values that are told."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from workbench.engine.assumed_values.call_arguments import (
    CallArguments,
    call_arguments,
    replaced_note,
)
from workbench.engine.assumed_values.stand_ins import StandIns


def called(
    source: str, given: dict[str, Any] | None = None, defaults: dict[str, Any] | None = None
) -> CallArguments:
    space: dict[str, Any] = {}
    exec(compile(source, "script.py", "exec"), space)
    trees = {"script.py": ast.parse(source)}
    return call_arguments(space["pipe"], given or {}, StandIns(), trees, defaults or {})


def test_well_known_names_are_assumed_and_others_asked_for() -> None:
    found = called("def pipe(data_dir, crop, strength, turn=3): pass\n")
    assert dict(found.values) == {"data_dir": "data_dir", "crop": 224}
    assert found.missing == ("strength",)
    assert found.assumed == {"data_dir": "data_dir", "crop": 224}
    found = called("def pipe(data_dir, crop, strength): pass\n", {"crop": 64, "strength": 2})
    assert (found.missing, dict(found.assumed)) == ((), {"data_dir": "data_dir"})


def test_the_scripts_own_call_goes_before_what_is_usual_and_is_told() -> None:
    source = "def pipe(batch_size, crop, strength): pass\n\ndef load():\n    pipe(512, 96, 0.5)\n"
    found = called(source)
    assert dict(found.values) == {"batch_size": 512, "crop": 96, "strength": 0.5}
    said = "called as the script itself does, with batch_size=512, crop=96, strength=0.5"
    assert found.notes == (said,)
    assert not found.assumed


CALLS = """
import argparse

def pipe(size=224, turn=0): pass

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=100)
    args = parser.parse_args()
    pipe({first})
    pipe(size=8)
"""


@pytest.mark.parametrize(
    ("first", "values", "assumed", "said"),
    [
        ("size=128", {"size": 128}, {}, "size=128"),
        ("128, turn=3", {"size": 128, "turn": 3}, {}, "size=128, turn=3"),
        ("224", {"size": 224}, {}, ""),
        ("turn=0", {"turn": 0}, {}, ""),
        ("args.size", {"size": 100}, {"size": 100}, ""),
        ("load()", {"size": 224}, {"size": 224}, ""),
    ],
)
def test_the_first_call_of_the_script_goes_before_a_default(
    first: str, values: dict[str, Any], assumed: dict[str, Any], said: str
) -> None:
    found = called(CALLS.format(first=first), defaults={"size": 100})
    assert dict(found.values) == values
    assert dict(found.assumed) == assumed
    assert "".join(found.notes) == (f"called as the script itself does, with {said}" * bool(said))


@pytest.mark.parametrize(
    ("init", "size", "assumed"),
    [
        ("size=96", 96, {}),
        ("size=224", 224, {}),
        ("size", 224, {"size": 224}),  # only a caller outside the script gives it
    ],
)
def test_an_attribute_that_a_constructor_sets_is_followed(
    init: str, size: int, assumed: dict[str, Any]
) -> None:
    source = (
        "def pipe(size=224): pass\n\nclass Data:\n"
        f"    def __init__(self, {init}):\n        self.size, self.turn = size, 0\n\n"
        "    def load(self):\n        return pipe(size=self.size)\n"
    )
    found = called(source)
    assert dict(found.values)["size"] == size
    assert dict(found.assumed) == assumed


@pytest.mark.parametrize(
    ("init", "more"),
    [
        ("self.size = 96", "def grow(self, size):\n        self.size = size"),
        ("self.size = 96", "def grow(self):\n        self.size, self.turn = self.pair()"),
        ("self.size = 96", "def grow(self):\n        self.size += 32"),
        ("self.size = 96; self.size += 32", ""),
        ("if DEBUG: self.size = 96", ""),
    ],
)
def test_an_attribute_that_is_set_elsewhere_or_sometimes_is_assumed(init: str, more: str) -> None:
    source = (
        "def pipe(size=224): pass\n\nclass Data:\n    def __init__(self):\n"
        f"        {init}\n\n    {more}\n\n"
        "    def load(self):\n        return pipe(size=self.size)\n"
    )
    found = called(source)
    assert dict(found.assumed) == {"size": 224}


def test_a_value_of_one_process_names_the_scripts_own() -> None:
    source = "def pipe(world_size, rank): pass\ndef main():\n    pipe(2, rank=-1)\n"
    found = called(source)
    assert dict(found.assumed) == {"world_size": 1, "rank": 0}
    (note,) = replaced_note(found.replaced, found.assumed)
    assert note.endswith("world_size=1 (the script says 2)")
    found = called(
        "def pipe(cfg): return cfg.world, cfg.batch_size", defaults={"world": 4, "batch_size": 8}
    )
    cfg = found.values["cfg"]
    assert (cfg.world, cfg.batch_size) == (1, 8)
    assert dict(found.replaced) == {"cfg.world": 4}


def test_a_parameter_that_is_asked_for_names_holds_settings() -> None:
    found = called("def pipe(meta):\n    return meta['crop'], meta['rank'], meta['anchor']\n")
    meta = found.values["meta"]
    assert (meta["crop"], meta.rank) == (224, 0)
    assert repr(meta["anchor"]) == "meta.anchor"
    assert dict(found.assumed) == {"meta.crop": 224, "meta.rank": 0}


def test_what_is_converted_on_its_way_is_handed_to_the_same_argument() -> None:
    source = (
        "from nvidia.dali import fn\n"
        "def pipe(jpegs, area):\n"
        "    return fn.decoders.image_random_crop(jpegs, random_area=list(area))\n"
    )
    assert called(source, {"jpegs": 0}).values["area"] == [0.08, 1.0]


def test_what_is_done_with_another_kind_says_nothing_of_it() -> None:
    source = "def pipe(resize):\n    if isinstance(resize, list):\n        resize = max(resize)\n"
    assert called(source).values["resize"] == 224


def test_an_item_of_a_mean_and_a_list_of_transformations_are_asked_for() -> None:
    source = (
        "from nvidia.dali import fn, ops\n"
        "def pipe(shade, transform_list):\n"
        "    ops.Compose(transform_list)\n"
        "    fn.crop_mirror_normalize(0, mean=[0, shade, 0])\n"
    )
    assert called(source).missing == ("shade", "transform_list")


def test_what_a_class_hands_on_to_the_one_above_is_required_too() -> None:
    source = (
        "class Base:\n    def __init__(self, files, batch_size, num_threads, depth, turn=1): pass\n"
        "class {name}(Base):\n    def __init__(self, files, **kwargs):\n        {call}\n"
    )
    for call in ("super().__init__(files, **kwargs)", "Base.__init__(self, files, **kwargs)"):
        found = called(source.format(name="pipe", call=call))
        assert dict(found.values) == {"files": ["files"], "batch_size": 16, "num_threads": 4}
        assert found.missing == ("depth",)
    known = called(source.format(name="pipe", call="super().__init__(files, depth=3, **kwargs)"))
    assert not known.missing
