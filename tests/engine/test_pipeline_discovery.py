"""Selecting a script's pipeline: by name, or the only one."""

from __future__ import annotations

import ast
import shutil
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from nvidia.dali import fn, pipeline_def
from nvidia.dali.pipeline import Pipeline

from tests.emit.pipeline_import.traces import op, pipeline, place
from workbench.emit.pipeline_import.trace.traced import Traced
from workbench.engine.script_import.call_arguments import (
    CallArguments,
    call_arguments,
    command_line_defaults,
)
from workbench.engine.script_import.opened_script import OpenedScript
from workbench.engine.script_import.pipeline_discovery import (
    FoundPipeline,
    find_pipeline,
    is_pipeline,
    name_of,
)
from workbench.engine.script_import.placeholders import StandIn, StandIns
from workbench.errors import ImportFailedError
from workbench.sources.kinds.file_list import read_list

MODULE = "imported_source"


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def train(data, size=8):
    return fn.constant(idata=[size])


class Old(Pipeline):  # type: ignore[misc]
    def __init__(self, data: str) -> None:
        super().__init__(2, 1, None)


def live() -> Any:
    return train("photos")


def found(made: tuple[Any, ...] = (), text: str = "", **names: Any) -> OpenedScript:
    """A script that defines these, as the worker leaves it."""
    module = ModuleType(MODULE)
    for name, value in names.items():
        if callable(value) and not is_pipeline(value):
            value.__module__ = MODULE
        setattr(module, name, value)
    trees = {"train.py": ast.parse(text)}
    return OpenedScript("train.py", module, trees, made=list(made), trees=trees)


def refusal(scripts: OpenedScript, wanted: str | None = None, **arguments: Any) -> str:
    with pytest.raises(ImportFailedError) as error:
        find_pipeline(scripts, wanted, arguments)
    return str(error.value)


def test_the_only_function() -> None:
    factory = find_pipeline(found(train=train), None, {"data": "photos"})
    assert is_pipeline(factory.make())
    assert factory == FoundPipeline(factory.make)


def test_a_pipeline_that_was_made_goes_before_functions() -> None:
    pipe = live()
    assert find_pipeline(found(train=train, pipe=pipe), None, {}).make() is pipe
    assert find_pipeline(found((pipe,), train=train, pipe=pipe), None, {}).make() is pipe, (
        "the same one"
    )
    assert find_pipeline(found((pipe,), train=train), None, {}).make() is pipe
    message = refusal(found(train=train, pipe=pipe), data="photos")
    assert (
        "so no function receives the argument 'data'. Select a function: --pipeline train"
        in message
    )
    assert refusal(found(train=train, pipe=pipe), "pipe", data="photos") == message


def test_a_name() -> None:
    pipe, other = live(), live()
    both = found(train=train, pipe=pipe, other=other)
    assert find_pipeline(both, "other", {}).make() is other
    assert is_pipeline(
        find_pipeline(both, "train", {"data": "x", "size": 3, "batch_size": 5}).make()
    )
    assert refusal(both, "trian").endswith("train.py has no pipeline 'trian'. Did you mean train?")
    assert refusal(both, "zzz").endswith("It has pipe, other, train.")
    assert "2 pipelines" not in refusal(found(x=3), "x")
    assert refusal(found(x=3), "x") == (
        "train.py: 'x' has type int, but must be a pipeline or a function that returns one. "
        "Select another name with --pipeline."
    )


def test_what_was_not_read_is_said() -> None:
    stopped = replace(found(train=train), stopped="train.py:8")
    message = refusal(stopped, "later")
    assert message.startswith(
        "train.py has no pipeline 'later'. It has train. It was stopped at train.py:8, "
    )
    assert "after that, only functions, classes and imports were read" in message


def test_several() -> None:
    assert "2 pipelines: train, Old. Select one: --pipeline Old" in refusal(
        found(train=train, Old=Old)
    )
    assert "has 3 pipelines: a, b, train" in refusal(found(a=live(), b=live(), train=train))
    assert "has no pipeline" in refusal(found(x=1))


def test_of_several_the_only_one_that_has_all_it_needs() -> None:
    factory = find_pipeline(found(train=train, Old=Old, loose=loose), None, {})
    assert is_pipeline(factory.make())


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def loose():
    return fn.constant(idata=[1])


@pipeline_def(batch_size=2, num_threads=1, device_id=None)
def crop(data, strength):
    return fn.constant(idata=[strength])


def test_arguments() -> None:
    scripts = found(train=train)
    lacking = refusal(found(crop=crop))
    assert "'crop' requires 'data', 'strength'. Pass --arg data=... --arg strength=..." in lacking
    assert 'args={"data": ...}' in lacking
    assert "has no argument 'sise'. It has data, size" in refusal(scripts, sise=1, data="x")


def test_a_function_that_makes_something_else() -> None:
    def build_pipeline() -> int:
        return 3

    factory = find_pipeline(found(build_pipeline=build_pipeline), None, {})
    with pytest.raises(ImportFailedError, match="'build_pipeline' returns a value of type int"):
        factory.make()


def test_our_own_scripts_get_a_folder() -> None:
    seen = []

    def build_pipeline(data: str, batch_size: int = 4) -> Any:
        seen.append(data)
        return live()

    text = "def pipe(data): fn.readers.file(file_root=data)"
    factory = find_pipeline(found((), text, build_pipeline=build_pipeline), None, {})
    assert factory.placeholders
    try:
        assert is_pipeline(factory.make())
        assert seen == list(factory.placeholders)
        assert [path.is_dir() for path in Path(factory.placeholders[0]).iterdir()] == [True]
        assert "name the folder" in factory.notes[0]
    finally:
        shutil.rmtree(factory.placeholders[0])
    given = find_pipeline(found(build_pipeline=build_pipeline), None, {"data": "photos"})
    assert (given.placeholders, given.notes) == ((), ())
    other = found((), "def pipe(folder): read(folder)", build_pipeline=build_pipeline)
    assert "'build_pipeline' requires 'data'. Pass --arg data=..." in refusal(other)


@pytest.mark.parametrize(
    ("function", "docstring", "expected"),
    [
        ("train_pipe", None, ("train", "")),
        ("eval_pipeline", "Some words.", ("eval", "")),
        ("define_graph", None, ("stem", "")),
        ("", None, ("stem", "")),
        (
            "two_view_pipeline",
            "Two crops\nof a photo.\n\nUsage.\n\nNeeds nvidia-dali-cuda120.",
            ("two_view", "Two crops of a photo."),
        ),
    ],
)
def test_names(function: str, docstring: str | None, expected: tuple[str, str]) -> None:
    places = (place(3, function=function),) if function else ()
    traced = Traced(pipeline(op("Constant", "__C_0", places=places)))
    assert name_of(traced, docstring, "stem", Pipeline) == expected


@pytest.mark.parametrize(
    ("kind", "name"),
    [("HybridTrainPipe", "hybrid_train"), ("COCOReader2D", "coco_reader2d"), ("old", "old")],
)
def test_the_name_of_a_class(kind: str, name: str) -> None:
    dalis = place(1, function="_build_graph", file="/lib/nvidia/dali/pipeline.py")
    places = (dalis, place(3, function="define_graph"))
    traced = Traced(pipeline(op("Constant", "__C_0", places=places)))
    assert name_of(traced, None, "stem", type(kind, (Old,), {})) == (name, "")
    assert name_of(traced, None, "stem", Pipeline) == ("stem", "")
    helped = Traced(pipeline(op("Constant", "__C_0", places=(dalis, place(3, function="eval")))))
    assert name_of(helped, None, "stem", Pipeline) == ("eval", "")


def test_our_own_scripts_get_data_of_each_kind() -> None:
    text = (
        "def find_files(data): pass\n"
        "def read_list(data): pass\n"
        "fn.readers.file(**find_files(data)); fn.readers.file(**read_list(others))"
    )
    seen = []

    def build_pipeline(data: str, others: str) -> Any:
        seen.append((data, others))
        return live()

    factory = find_pipeline(found((), text, build_pipeline=build_pipeline), None, {})
    try:
        factory.make()
        ((data, others),) = seen
        assert data == factory.placeholders[0]
        assert read_list(others)["file_list"] == others
    finally:
        for folder in factory.placeholders:
            shutil.rmtree(folder)


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
