"""The arguments of a call: given values, and defaults that are assumed."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from workbench.engine.script_import.call_arguments import (
    CallArguments,
    call_arguments,
    command_line_defaults,
)
from workbench.engine.script_import.stand_ins import StandIn, StandIns

SIZE_OPTION = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=100)
"""


def called(source: str, given: dict[str, Any] | None = None) -> CallArguments:
    space: dict[str, Any] = {}
    exec(compile(source, "script.py", "exec"), space)
    return call_arguments(space["pipe"], given or {}, StandIns(), {"script.py": ast.parse(source)})


def test_a_required_parameter_is_given_or_missing() -> None:
    source = "def pipe(data_dir, crop, turn=3): pass\n"
    found = called(source, {"crop": 64})
    assert (dict(found.values), found.missing) == ({"crop": 64}, ("data_dir",))
    assert not found.assumed


def test_a_default_of_the_command_line_is_assumed() -> None:
    source = f"{SIZE_OPTION}def pipe(size): pass\n"
    found = called(source)
    assert (dict(found.values), found.missing) == ({"size": 100}, ())
    assert found.assumed == {"size": 100}
    assert not called(source, {"size": 64}).assumed


def test_a_configuration_has_given_settings_and_defaults_of_the_command_line() -> None:
    source = f"{SIZE_OPTION}def pipe(cfg): pass\n"
    found = called(source, {"cfg": {"crop": 64, "data": {"root": "photos"}}})
    cfg = found.values["cfg"]
    assert (cfg.crop, cfg["data"].root, cfg.data["size"]) == (64, "photos", 100)
    assert found.assumed == {"cfg.data.size": 100}
    assert isinstance(cfg.strength, StandIn)
    assert isinstance(called(source).values["cfg"].crop, StandIn)


@pytest.mark.parametrize(
    ("call", "assumed"),
    [
        ("pipe()", {}),
        ("pipe(224, 0)", {}),
        ("pipe(size=128)", {"size": 224}),
        ("pipe(128, turn=0)", {"size": 224}),
        ("pipe(turn=load())", {"turn": 0}),
        ("other.pipe(128)", {}),
        ("import lib; lib.pipe(128)", {"size": 224}),
        ("import own.lib as lib; lib.pipe(224, 3)", {"turn": 0}),
        ("from lib import pipe as make; make(128)", {"size": 224}),
        ("pipe(*sizes)", {"size": 224, "turn": 0}),
        ("pipe(224, *sizes)", {"turn": 0}),
        ("pipe(turn=0, **options)", {"size": 224}),
    ],
)
def test_a_default_that_a_call_of_the_script_replaces_is_assumed(
    call: str, assumed: dict[str, Any]
) -> None:
    source = f"def pipe(size=224, turn=0): pass\ndef main():\n    {call}\n"
    assert called(source).assumed == assumed
    assert not called(source, {"size": 128, "turn": 1}).assumed


OPTIONS = """
SIDE = 224
OTHER = 1
OTHER = 2
TAKEN = 3
def take(TAKEN): pass
def make():
    local = 4
def parse(parser):
    parser.add_argument("-b", "--batch-size", default=64, type=int)
    parser.add_argument("--scale", type=float, nargs="+", default=(0.4, 1.0))
    parser.add_argument("--blur", action="store_true")
    parser.add_argument("--no-flip", dest="flip", action="store_false")
    parser.add_argument("--lr", default="0.1", type=float)
    parser.add_argument("--run", default=time.time())
    parser.add_argument("--named", default=None)
    parser.add_argument("--side", default=SIDE)
    parser.add_argument("--other", default=OTHER)
    parser.add_argument("--taken", default=TAKEN)
    parser.add_argument("--local", default=local)
    parser.add_argument("data")
    parser.add_argument("--counted", action="count")

if __name__ == "__main__":
    parser.add_argument("--dataset", choices=["cifar10"], default="cifar10")
"""


def test_defaults_of_a_command_line_are_read_from_the_text() -> None:
    assert command_line_defaults([ast.parse(OPTIONS)]) == {
        **{"batch_size": 64, "scale": (0.4, 1.0), "blur": False, "flip": True, "lr": 0.1},
        **{"dataset": "cifar10", "side": 224},
    }
