"""Build DALI pipelines from generated code, and attribute DALI's errors to nodes.

Used in the worker process only.
"""

from __future__ import annotations

import errno
import inspect
import itertools
import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

from workbench.emit.core.code import Code
from workbench.engine.build.function_checks import FunctionMisuseError
from workbench.errors import ORIGINAL, OUTSIDE, PipelineError
from workbench.sources import Datasets
from workbench.system_limits import NO_THREADS, describe_refusal, memory_limit_text

_numbers = itertools.count()
_NAMED = "<workbench "
_AFTER = re.compile(r"\n(C\+\+ context|Current pipeline object|\. File: ).*", re.DOTALL)
_ASSERT = re.compile(r'Assert on "([^\n]*)" failed:? ?')
_EXPLAINED = {
    r"number of input samples: (\d+), needs.* number of shards: (\d+)": r"it reads fewer "
    r"samples (\1) than it has shards (\2). Use more files, or fewer pipelines",
    r"number of per-channel arguments should match the number of channels": "the length of its "
    "mean or std is not the number of channels of its input. Use one number per channel, or one "
    "for all",
    r"placed out of bounds with current policy.*input_shape=\{([^}]*)\}.*slice_shape=\{([^}]*)\}": (
        rf"the window of \2 {OUTSIDE} \1 (height x width x channels). Use a smaller window, resize "
        "before it, or set out_of_bounds_policy to pad"
    ),
    r"Can't broadcast shapes: *\n([\dx ]+) \(d=.*\n([\dx ]+) \(d=": r"its operands have the shapes "
    r"\1 and \2 in one sample. Resize both to the same size before it",
    r"Concatenated tensors can differ in size only in the concatenation axis": "its inputs differ "
    "in size. Resize them to the same size before it",
    r"occupy the same size in bytes.*Input shape:\s*([\dx ]+).*Requested shape:\s*([\dx ]+)": (
        r"the shape \2 has another number of values than its input, \1. Use a shape with the same "
        "number"
    ),
    r"Kernel window should have odd length, got: (\d+)": r"the window of \1 pixels has no centre. "
    "Use an odd number",
    r"different dimensionality \((\d+)\) than the length of the permutation \((\d+)\)": (
        r"its permutation has \2 entries, but its input has \1 axes. Use one entry per axis"
    ),
    r"Axis '(.)' is not present in the input layout": r"its input has no axis \1. Use letters of "
    "its layout, such as HW",
    r"Argument \"(\w+)\" expected shape (\d+) but got (\d+) values": r"\1 has \3 "
    r"values, but \2 are needed. Use \2 values",
}
"""Reasons and fixes for frequent messages of DALI, by a regular expression for the message."""
_MEMORY = re.compile(r"bad_alloc|out of memory|MemoryError|MemoryAllocation", re.IGNORECASE)
_REFUSED = os.strerror(errno.EAGAIN)
"""Error message of std::thread if no thread can be created, for example because memory ran out."""
_DIVERGENT = re.compile(
    r"Divergent data found.*Found distinct ([\w ]+): ([^\n]*?)\.?(?:\n|$)", re.DOTALL
)
_OWN = re.compile(r"\b(?:torch_)?python_function\(|\bnumba_function\(")
_QUOTED = re.compile(r'in user code:\n\n(?: {4}File "[^\n]*\n {8}[^\n]*\n)*\s*')
_FILE = re.compile(r'File "([^"]+)", line (\d+)')


class CompiledSource:
    """The namespace of generated code, which is compiled under a unique file name.

    The file name appears in DALI's error messages, so that ``error`` can find the node. If several
    functions with conditionals have equal code, DALI converts only the first of them, and reports
    the file name of the first for all of them. The line numbers are the same.
    """

    def __init__(self, source: Code) -> None:
        self.source = source
        self.filename = f"{_NAMED}{next(_numbers)}>"
        lines = source.text.splitlines(keepends=True)
        linecache.cache[self.filename] = (len(source.text), None, lines, self.filename)
        name = f"workbench_stage {self.filename}"
        self.namespace: dict[str, Any] = {"__name__": name, "__file__": self.filename}
        sys.modules[name] = ModuleType(name)  # data classes look it up; DALI would read its file
        try:
            exec(compile(source.text, self.filename, "exec"), self.namespace)
        except ModuleNotFoundError as error:
            raise self.error(error) from None

    def __getitem__(self, name: str) -> Any:
        return self.namespace[name]

    def build(self, data: Datasets, device: str) -> list[Any]:
        """Build the pipelines of a script and return them. Usually there is one.

        ``data`` is ignored if the script itself names its files.
        """
        several = self.namespace.get("build_pipelines")
        builder = several or self["build_pipeline"]
        parameters = inspect.signature(builder).parameters
        given = {name: dataset.argument for name, dataset in data.items() if name in parameters}
        built = builder(**given, device=device)
        return built if several else [built]

    def batches(self, pipes: Sequence[Any]) -> Iterator[Any]:
        """Yield the outputs of a script's pipelines, batch by batch, in the order of the script."""
        if in_turns := self.namespace.get("in_turns"):
            found: Iterator[Any] = in_turns(pipes)
            return found
        if next_batch := self.namespace.get("next_batch"):
            return iter(lambda: next_batch(pipes[0]), None)
        return iter(pipes[0].run, None)

    def error(self, error: Exception) -> PipelineError:
        """Convert an exception of DALI to a PipelineError with the node and the reason."""
        return pipeline_error(error, self.source, self.filename)

    def own_failure(self, error: Exception) -> str:
        """Describe the line of a user's function that raised an exception, or return ""."""
        lines = self.source.text.splitlines()
        found = [f.lineno for f in traceback.extract_tb(error.__traceback__)
                 if f.filename == self.filename and f.lineno is not None]  # fmt: skip
        if not found or self.source.node_at(found[-1]):
            return ""
        function, first = _definition(lines, found[-1])
        raised = f"{type(error).__name__}: {error}"[:_LONGEST]
        quoted = lines[found[-1] - 1].strip()
        return f"line {found[-1] - first + 1} of {function}, {quoted}, raised {raised}"

    def __del__(self) -> None:
        linecache.cache.pop(self.filename, None)
        sys.modules.pop(self.namespace["__name__"], None)


def pipeline_error(error: Exception, source: Code, file: str) -> PipelineError:
    """Convert an exception of DALI to a PipelineError with the node and the reason.

    ``source`` is the program, and ``file`` is the name under which it was compiled.
    """
    node = None
    frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    quoted = [(name, int(line)) for name, line in _FILE.findall(str(error))]
    for filename, line in frames + quoted:
        if (filename.startswith(_NAMED) or filename == file) and line is not None:
            node = source.node_at(line) or node
    if is_out_of_memory(error):
        return PipelineError(out_of_memory([node] if node else []), node)
    if node and (differing := _DIVERGENT.search(str(error))):
        return _branches_differ(source, node, differing[1], differing[2])
    if isinstance(error, StopIteration):
        return PipelineError(
            "The graph's Python source has ended and does not start again. Set its cycle to quiet "
            "or raise."
        )
    where = f"{node}: " if node else ""
    reason = missing_package_text(error)
    reason = reason or function_failure(str(error), file, source.text)
    return PipelineError(where + (reason or plain_reason(error)), node)


def _branches_differ(source: Code, block: str, attribute: str, values: str) -> PipelineError:
    """Return the error for branches of a block that return different types or shapes.

    If there is exactly one user function in the block, the error names it as the cause.
    """
    around = source.lines[block]
    functions = [
        node
        for node, lines in source.lines.items()
        if node != block and set(lines) <= set(around) and _OWN.search(source.excerpt([node]))
    ]
    if len(functions) != 1:
        words = (
            f"the branches of {block!r} differ in {attribute}: {values}. Make them equal in all "
            "branches"
        )
        return PipelineError(words, block)
    return PipelineError(
        f"the function of {functions[0]!r} and the other branch of {block!r} differ in "
        f"{attribute}: {values}. Make them equal in all branches",
        functions[0],
    )


def is_out_of_memory(error: Exception) -> bool:
    """Return True if an error of Python, C++, CUDA or the workbench reports exhausted memory."""
    text = f"{type(error).__name__}: {error}"
    return bool(_MEMORY.search(text) or (memory_limit_text() and "File mapping failed" in text))


PREVIEW_ADVICE = "Show fewer tiles, or make the batch or the images smaller."


def out_of_memory(nodes: Sequence[str]) -> str:
    """Return a message, with a fix, that memory ran out while the worker ran ``nodes``."""
    where = f" while running {', '.join(map(repr, nodes))}" if nodes else ""
    limit = f" {memory_limit_text()}".rstrip()
    return f"Out of memory{where}. {PREVIEW_ADVICE}{limit}"


def without_quotes(text: str) -> str:
    """Remove the quoted source code from an error message of DALI."""
    *_, after = _QUOTED.split(text)
    return after


def plain_reason(error: Exception) -> str:
    """Return DALI's message without tracebacks, C++ context and assertion text.

    A known message is replaced by a reason and a fix, with the original on the next line.
    """
    text = without_quotes(str(error))
    _, mark, after = text.rpartition("encountered:")
    text = _AFTER.sub("", after if mark else text).strip()
    condition = _ASSERT.search(text)
    text = _ASSERT.sub("", text).strip()
    for pattern, reason_and_fix in _EXPLAINED.items():
        if found := re.search(pattern, text, re.DOTALL):
            original = " ".join(text.split())[:_LONGEST]
            return f"{found.expand(reason_and_fix)}.{ORIGINAL}{original}"
    if not text and condition is not None:  # an assertion without a message
        return f"DALI asserts that {condition[1]}"
    if text == _REFUSED:
        refusal = describe_refusal(BlockingIOError(errno.EAGAIN, text))
        return f"{NO_THREADS}: {refusal}"
    return text or type(error).__name__


# Why a user function failed: its own lines in DALI's message, or a missing package.

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
"""Matches the prefix that DALI adds to a PipelineError which automatic augmentation raises in a
block.
"""


def function_failure(message: str, filename: str, text: str) -> str | None:
    """Return an explanation if a function in generated code failed, else None.

    ``message`` is DALI's message, and ``filename`` is the name under which ``text`` was compiled.
    The explanation quotes the line, and counts it from the function's ``def``.
    """
    found = _FAILED.search(message)
    if found is None:
        return _return_count_error(message)
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
        return f"its function returned {given[1]}; expected a NumPy array"
    if _MISUSED.match(error):
        return f"its function {_MISUSED.sub('', error)}"
    if _OURS.match(error):
        return _OURS.sub("", error)
    return f"DALI rejected the values that its function returned: {error}"


def _return_count_error(message: str) -> str | None:
    if (counts := _NOTHING.search(message)) is not None:
        given = "nothing (is a return statement missing?)" if counts[1] == "0" else counts[1]
        return f"its function returned {given}; expected {counts[2]} arrays"
    if _UNEQUAL in message or _DIMENSIONS in message:
        what = "type" if _UNEQUAL in message else "number of dimensions"
        return (
            f"the arrays that its function returned differ in {what} between samples; they must "
            "be equal"
        )
    return None


def _definition(lines: list[str], number: int) -> tuple[str, int]:
    """Return the name of the top-level function around a line, and the line of its ``def``."""
    for at in range(number, 0, -1):
        if (found := _DEFINED.match(lines[at - 1])) is not None:
            return found[1], at
    return "it", 1


_INSTALL = {
    "cupy": "pip install cupy-cuda12x",
    "torch": "pip install torch",
    "numba": "pip install numba",
}


def missing_package_text(error: BaseException) -> str | None:
    """Return which package is missing and how to install it, or None for any other error."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    package = error.name.partition(".")[0]
    how = _INSTALL.get(package, f"pip install {package}")
    return f"it requires {package}, which is not installed. Install it ({how}), or mute the node."
