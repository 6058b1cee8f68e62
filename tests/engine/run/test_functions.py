"""Functions of the user that fail, or need a package that is not installed."""

from __future__ import annotations

import pytest

from workbench.emit.core.code import Code
from workbench.engine.build.pipelines import CompiledSource, function_failure, missing_package_words
from workbench.errors import PipelineError

TEXT = "import x\n\n\ndef f(image):\n    y = 1\n    return image / y\n\n\ndef stage():\n    pass\n"


def told(error: str, *frames: str) -> str | None:
    at = "".join(f"\n  {frame}" for frame in frames)
    message = f"encountered:\n\nDLTensorPythonFunction error: {error}\n\nAt:{at}\n"
    message += "\nCurrent pipeline object is no longer valid."
    return function_failure(message, "<workbench 3>", TEXT)


def test_the_line_is_that_of_the_function_and_not_of_what_it_calls() -> None:
    frames = ("/x/numpy/core.py(90): mean", "<workbench 3>(6): f", "/x/dali/f.py(1): func")
    expected = "line 3 of f, return image / y, raised ValueError: two\nlines"
    assert told("ValueError: two\nlines", *frames) == expected


def test_no_message_and_a_long_one() -> None:
    frame = "<workbench 3>(5): f"
    assert told("KeyError: <EMPTY MESSAGE>", frame) == "line 2 of f, y = 1, raised KeyError"
    assert len(told(f"ValueError: {'x' * 1_000_000}", frame) or "") < 1000


def test_what_dali_finds_itself() -> None:
    nothing = "Python function returned 0 outputs and 1 were expected."
    assert "is there a return missing" in (function_failure(nothing, "", "") or "")
    unequal = "Output DLPack tensor list should have consistent data type."
    assert "differs in type from sample to sample" in (function_failure(unequal, "", "") or "")
    assert function_failure("Rotate: no such angle", "", "") is None


# A package that a function needs is named where it is not installed.


def test_it_is_named_with_how_to_get_it() -> None:
    words = missing_package_words(ModuleNotFoundError("no", name="cupy.cuda"))
    assert words == (
        "it needs cupy, which is not installed. Install it (pip install cupy-cuda12x), or mute "
        "the node."
    )
    assert missing_package_words(ImportError("circular")) is None


def test_a_source_that_imports_it_says_so() -> None:
    source = Code("import no_such_package_at_all\n", {"kernel": range(1, 2)})
    with pytest.raises(PipelineError, match="it needs no_such_package_at_all") as told:
        CompiledSource(source)
    assert told.value.node == "kernel"
