"""Why a function of the user failed: its own lines in DALI's message, or a missing package."""

from __future__ import annotations

import re

from workbench.engine.build.function_checks import FunctionMisuseError
from workbench.errors import PipelineError

_FAILED = re.compile(
    r"DLTensorPythonFunction error: (?P<error>.*?)"
    r"(?:\n\nAt:\n(?P<frames>(?:  .*\(\d+\): .*\n?)+)|$)",
    re.DOTALL,
)
_FRAME = re.compile(r"^  (.*)\((\d+)\): (.*)$", re.MULTILINE)
_DEFINED = re.compile(r"def (\w+)\(")
_NOT_AN_ARRAY = re.compile(r"TypeError: ArrayToDLTensor\(\): .*Invoked with: (.*)", re.DOTALL)
_NOTHING = re.compile(r"Python function returned (\d+) outputs and (\d+) were expected")
_UNEQUAL = "Output DLPack tensor list should have consistent data type"
_DIMENSIONS = "All samples in the batch should have the same number of dimensions"
_LONGEST = 600
_MISUSED = re.compile(rf"^(?:\w+\.)*{FunctionMisuseError.__name__}: ")
_OURS = re.compile(rf"^(?:\w+\.)*{PipelineError.__name__}: (?:\w+: )?")
"""What the engine's own function raised, with its node: automatic augmentation in a region."""


def function_failure(message: str, filename: str, text: str) -> str | None:
    """What to say of a failure of a function that an emitted source defines; None where it is none.

    ``message`` is DALI's, ``filename`` the name under which the source ``text`` was compiled. The
    line is counted from the function's ``def``, and quoted.
    """
    found = _FAILED.search(message)
    if found is None:
        return _told_by_dali(message)
    error = found["error"].strip().replace("<EMPTY MESSAGE>", "").rstrip(": ")
    error = error if len(error) <= _LONGEST else f"{error[:_LONGEST]}…"
    lines = text.splitlines()
    for name, number, _ in _FRAME.findall(found["frames"] or ""):
        if name == filename:
            function, first = _definition(lines, int(number))
            quoted = lines[int(number) - 1].strip()
            where = f"line {int(number) - first + 1} of {function}"
            return f"{where}, {quoted}, raised {error}"
    if (given := _NOT_AN_ARRAY.match(error)) is not None:
        return f"its function returned {given[1]}; wanted is a NumPy array"
    if _MISUSED.match(error):
        return f"its function {_MISUSED.sub('', error)}"
    if _OURS.match(error):
        return _OURS.sub("", error)
    return f"what its function returned was refused: {error}"


def _told_by_dali(message: str) -> str | None:
    if (counts := _NOTHING.search(message)) is not None:
        given = "nothing (is there a return missing?)" if counts[1] == "0" else counts[1]
        return f"its function returned {given}; wanted are {counts[2]} arrays"
    if _UNEQUAL in message or _DIMENSIONS in message:
        what = "type" if _UNEQUAL in message else "number of dimensions"
        return (
            f"what its function returned differs in {what} from sample to sample; wanted is the "
            "same for all"
        )
    return None


def _definition(lines: list[str], number: int) -> tuple[str, int]:
    """The function at the top level around a line, and the line of its ``def``."""
    for at in range(number, 0, -1):
        if (found := _DEFINED.match(lines[at - 1])) is not None:
            return found[1], at
    return "it", 1


_INSTALL = {
    "cupy": "pip install cupy-cuda12x",
    "torch": "pip install torch",
    "numba": "pip install numba",
}


def missing_package_words(error: BaseException) -> str | None:
    """Which package is missing and how to get it; None where the error says nothing of that."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    how = _INSTALL.get(package, f"pip install {package}")
    return f"it needs {package}, which is not installed. Install it ({how}), or mute the node."
