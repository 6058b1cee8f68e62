"""Emitted source -> a built DALI pipeline, and DALI's errors -> the node that made them.

Runs inside the worker process only.
"""

from __future__ import annotations

import errno
import inspect
import itertools
import linecache
import os
import re
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.emit.core.code import Code
from workbench.engine.build.function_failure import function_failure, missing_package_words
from workbench.errors import OUTSIDE, PipelineError
from workbench.sources import Datasets
from workbench.system_limits import NO_THREADS, describe_refusal, memory_limit_words

_numbers = itertools.count()
_NAMED = "<workbench "
_AFTER = re.compile(r"\n(C\+\+ context|Current pipeline object|\. File: ).*", re.DOTALL)
_ASSERT = re.compile(r'Assert on "([^\n]*)" failed:? ?')
_SHARDS = re.compile(r"number of input samples: (\d+), needs.* number of shards: (\d+)")
_OUTSIDE = re.compile(
    r"placed out of bounds with current policy.*input_shape=\{([^}]*)\}.*slice_shape=\{([^}]*)\}",
    re.DOTALL,
)
_PER_CHANNEL = "The number of per-channel arguments should match the number of channels"
_MEMORY = re.compile(r"bad_alloc|out of memory|MemoryError|MemoryAllocation", re.IGNORECASE)
_REFUSED = os.strerror(errno.EAGAIN)
"""All that C++ says where a thread is refused, for want of memory too."""
_DIVERGENT = re.compile(
    r"Divergent data found.*Found distinct ([\w ]+): ([^\n]*?)\.?(?:\n|$)", re.DOTALL
)
_OWN = re.compile(r"\b(?:torch_)?python_function\(|\bnumba_function\(")
_QUOTED = re.compile(r'in user code:\n\n(?: {4}File "[^\n]*\n {8}[^\n]*\n)*\s*')
_FILE = re.compile(r'File "([^"]+)", line (\d+)')


class CompiledSource:
    """The namespace of an emitted source, under a file name of its own.

    The name appears in DALI's error messages; ``error`` maps it back to the node. Of equal
    functions with conditionals DALI translates the first only, and names its file, with the same
    lines, for all of them.
    """

    def __init__(self, source: Code) -> None:
        self.source = source
        self.filename = f"{_NAMED}{next(_numbers)}>"
        lines = source.text.splitlines(keepends=True)
        linecache.cache[self.filename] = (len(source.text), None, lines, self.filename)
        self.namespace: dict[str, Any] = {"__name__": "workbench_stage", "__file__": self.filename}
        try:
            exec(compile(source.text, self.filename, "exec"), self.namespace)
        except ModuleNotFoundError as error:
            raise self.error(error) from None

    def __getitem__(self, name: str) -> Any:
        return self.namespace[name]

    def build(self, data: Datasets, device: str) -> list[Any]:
        """The built pipelines of a script, most often one.

        A script that names its files itself is given no data.
        """
        several = self.namespace.get("build_pipelines")
        builder = several or self["build_pipeline"]
        taken = inspect.signature(builder).parameters
        given = {name: dataset.argument for name, dataset in data.items() if name in taken}
        built = builder(**given, device=device)
        return built if several else [built]

    def batches(self, pipes: Sequence[Any]) -> Iterator[Any]:
        """What the pipelines of a script give, batch after batch, in the order of the script."""
        if in_turns := self.namespace.get("in_turns"):
            found: Iterator[Any] = in_turns(pipes)
            return found
        return iter(pipes[0].run, None)

    def error(self, error: Exception) -> PipelineError:
        """The same failure in the user's terms: the node that made it, and DALI's own reason."""
        node = None
        frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        quoted = [(name, int(line)) for name, line in _FILE.findall(str(error))]
        for filename, line in frames + quoted:
            if filename.startswith(_NAMED) and line is not None:
                node = self.source.node_at(line) or node
        if is_out_of_memory(error):
            return PipelineError(out_of_memory([node] if node else []), node)
        if node and (differing := _DIVERGENT.search(str(error))):
            return self._differing(node, differing[1], differing[2])
        where = f"{node}: " if node else ""
        reason = missing_package_words(error)
        reason = reason or function_failure(str(error), self.filename, self.source.text)
        return PipelineError(where + (reason or plain_reason(error)), node)

    def _differing(self, region: str, what: str, found: str) -> PipelineError:
        """Branches that cannot be merged: only what a function of the user gives is not known."""
        around = self.source.lines[region]
        functions = [
            node
            for node, lines in self.source.lines.items()
            if node != region
            and set(lines) <= set(around)
            and _OWN.search(self.source.excerpt([node]))
        ]
        if len(functions) != 1:
            words = f"{region}: its branches differ in {what}: {found}. Wanted is the same in all"
            return PipelineError(words, region)
        return PipelineError(
            f"{functions[0]}: its function gives another {what.removesuffix('s')} than the other "
            f"branch of {region}: {found}. Wanted is the same in all",
            functions[0],
        )

    def __del__(self) -> None:
        linecache.cache.pop(self.filename, None)


def is_out_of_memory(error: Exception) -> bool:
    """Whether host or GPU memory ran out, in the words of Python, C++, CUDA or the workbench."""
    return bool(_MEMORY.search(f"{type(error).__name__}: {error}"))


def out_of_memory(nodes: Sequence[str]) -> str:
    """What to say then; ``nodes`` are those that ran."""
    where = f" while it ran {', '.join(nodes)}" if nodes else ""
    limit = f" {memory_limit_words()}".rstrip()
    return (
        f"Out of memory{where}. Show fewer tiles, or make the batch or the images smaller.{limit}"
    )


def without_quotes(text: str) -> str:
    """A message without the lines of code that DALI puts before it where it translates them."""
    *_, after = _QUOTED.split(text)
    return after


def plain_reason(error: Exception) -> str:
    """DALI's message without its tracebacks, C++ context and assertion text."""
    text = without_quotes(str(error))
    _, mark, after = text.rpartition("encountered:")
    text = _AFTER.sub("", after if mark else text).strip()
    condition = _ASSERT.search(text)
    text = _ASSERT.sub("", text).strip()
    if few := _SHARDS.search(text):
        return (
            f"it reads {few[1]} sample{'s' * (few[1] != '1')}, and each of {few[2]} shards needs "
            "one at least. Give more files, or fewer pipelines"
        )
    if _PER_CHANNEL in text:
        return (
            "its mean or std has another number of elements than what it is fed has channels. Give "
            "a number for each channel, or one for all"
        )
    if outside := _OUTSIDE.search(text):
        return (
            f"the window of {outside[2]} {OUTSIDE} {outside[1]} (height x width x "
            "channels). Give a smaller window, resize before it, or set out_of_bounds_policy to pad"
        )
    if not text and condition is not None:  # an assertion without words
        return f"DALI asserts that {condition[1]}"
    if text == _REFUSED:
        refusal = describe_refusal(BlockingIOError(errno.EAGAIN, text))
        return f"{NO_THREADS}: {refusal}"
    return text or type(error).__name__
