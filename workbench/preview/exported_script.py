"""Run the exported script as a user would: in a new Python process without the workbench.

One epoch of the exported PyTorch loader can be run in the same way.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.core.code import Code
from workbench.engine.build.pipelines import without_quotes
from workbench.engine.protocol.exit_status import describe_exit, exit_remedy, raise_oom_score
from workbench.engine.protocol.heartbeat import SuspensionMonitor, warn_of_silence
from workbench.engine.resources.memory_budget import CountedProcess, shared_budget
from workbench.errors import EngineError, WorkerSilentError, WorkerTimeoutError
from workbench.sources import Datasets

LIMIT = 300.0
"""Timeout for one batch of the script, in seconds. The first batch includes building."""
_TICK = 0.05
_LINE = re.compile(r'File "([^"]+)", line (\d+)')

_DRIVER = '''\
"""Runs exported code: for each line on stdin writes the next batch into the folder."""
import importlib.util, inspect, io, json, os, sys, threading
import numpy as np

script, data, device, folder = sys.argv[1:]
data = json.loads(data)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what DALI prints is no answer
spec = importlib.util.spec_from_file_location("exported", script)
module = sys.modules["exported"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
several = hasattr(module, "build_pipelines")
builder = module.build_pipelines if several else module.build_pipeline
taken = inspect.signature(builder).parameters
given = {name: argument for name, argument in data.items() if name in taken}
built = builder(**given, device=device)

def every_batch():
    if hasattr(module, "Loader"):
        for batch in module.Loader(built):
            yield [batch[name] for name in module.OUTPUTS]
    elif several:
        yield from module.in_turns(built)
    elif hasattr(module, "next_batch"):
        yield from iter(lambda: module.next_batch(built), None)
    else:
        yield from iter(built.run, None)


def on_host(samples):
    for convert in ("as_cpu", "cpu"):  # of DALI, of PyTorch
        if hasattr(samples, convert):
            return getattr(samples, convert)()
    return [each.cpu() for each in samples] if isinstance(samples, list) else samples


batches = every_batch()
print("built", file=answers, flush=True)
for line in sys.stdin:
    outputs = next(batches, None)
    if outputs is None:
        print("the end of an epoch", file=answers, flush=True)
        continue
    with open(os.path.join(folder, line.strip()), "wb") as file:
        for output in outputs:
            host = on_host(output)
            for i in range(len(host)):
                array = io.BytesIO()  # numpy writes into files itself and says of a full disk only
                np.save(array, np.asarray(host[i]), allow_pickle=False)  # how many bytes it wrote
                file.write(array.getbuffer())
    print(line.strip(), file=answers, flush=True)
'''


END = "the end of an epoch"


class ScriptError(EngineError):
    """Raised if the exported script fails on the given data.

    ``node`` is the node whose line DALI quoted, or None. ``silent`` is True if the script failed
    without an error message.
    """

    def __init__(self, message: str, node: str | None = None, silent: bool = False) -> None:
        super().__init__(message)
        self.node = node
        self.silent = silent


class ExportedScript:
    """Runs a script in its own process, which produces batch after batch."""

    def __init__(
        self,
        source: Code,
        data: Datasets,
        device: str,
        folder: str,
        go_on: Callable[[], None],
        on_silence: Callable[[bool], None] = warn_of_silence,
    ) -> None:
        """``folder`` is the folder to which the batches are written.

        ``go_on`` is called repeatedly and may raise an exception to stop. ``on_silence`` is the
        callback of ``Engine``.
        """
        path = Path(folder, "exported.py")
        path.write_text(source.text, encoding="utf-8")
        self._source = source
        self._path = str(path)
        self._folder = folder
        self._go_on = go_on
        self._on_silence = on_silence
        self._log = Path(folder, "log")
        # The working directory is the user's, because a graph can use relative file names. -P
        # prevents importing other modules from there.
        given = {name: replace(each, location=each.place).argument for name, each in data.items()}
        arguments = [str(path), json.dumps(given), device, folder]
        command = [sys.executable, "-P", "-c", _DRIVER, *arguments]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        raise_oom_score(self._process.pid)
        self._counted = CountedProcess(self._process)
        shared_budget().join(self._counted)
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._orders: IO[str] = self._process.stdin
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    def _listen(self, lines: IO[str]) -> None:
        for line in lines:
            self._answers.put(line.strip())
        self._answers.put("")

    def __enter__(self) -> ExportedScript:
        try:
            self._await("built")
        except BaseException:
            self.__exit__()
            raise
        return self

    def batch(self, number: int) -> str | None:
        """Run the script's next batch, and return the path of its file (see ``read_batch``).

        Returns None at the end of a loader's epoch.
        """
        name = f"batch-{number}"
        try:
            print(name, file=self._orders, flush=True)
        except OSError:
            raise self._failed() from None
        found = self._await(name, END)
        return os.path.join(self._folder, name) if found == name else None

    def _await(self, *answers: str) -> str:
        waited = 0.0
        stopped = SuspensionMonitor(self._process.pid, self._on_silence)
        while True:
            self._go_on()
            try:
                found = self._answers.get(timeout=_TICK)
            except queue.Empty:
                waited += _TICK
                if stopped.missed():
                    raise WorkerSilentError(
                        f"The exported script was terminated: {stopped.describe()}."
                    ) from None
                if waited > LIMIT:
                    raise WorkerTimeoutError(
                        f"The exported script returned no batch within {LIMIT:g} s and was "
                        "terminated. Check whether one of your own functions has an endless loop."
                    ) from None
                continue
            stopped.on_data()
            if found not in answers:
                raise self._failed()
            return found

    def _failed(self) -> ScriptError:
        code = self._process.wait()
        text = self._log.read_text(encoding="utf-8", errors="replace")
        words = _script_error(text)
        node = self._node(text)
        where = f" in {node}" if node else ""
        why = f": {words}" if words else ""
        remedy = exit_remedy(code, text)
        return ScriptError(
            f"The exported script {describe_exit(code, text)}{where}{why}.{remedy}",
            node,
            silent=code != -signal.SIGKILL and not (words or remedy),
        )

    def _node(self, text: str) -> str | None:
        """Return the node of the last script line that an error message quotes, if there is one."""
        quoted = [int(line) for path, line in _LINE.findall(text) if path == self._path]
        nodes = [node for node in map(self._source.node_at, quoted) if node]
        return nodes[-1] if nodes else None

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._orders.close()


def read_batch(path: str, outputs: int) -> list[list[NDArray[Any]]]:
    """Return the samples of each output, from a file written by ``ExportedScript.batch``."""
    arrays = []
    with open(path, "rb") as file:
        while file.peek(1):
            arrays.append(np.load(file, allow_pickle=False))
    count = len(arrays) // outputs
    return [arrays[start : start + count] for start in range(0, len(arrays), count)]


def _script_error(text: str) -> str:
    """Extract the error from a script's output: DALI's, else the exception, else the last lines.

    If DALI aborts the process while Python prints an exception, the traceback lacks its last line.
    """
    text = without_quotes(text)
    _, mark, reason = text.rpartition("encountered:")  # in DALI's own errors
    lines = [line for line in (reason if mark else text).splitlines() if line.strip()]
    if mark:
        found = lines[:1]
    elif "Traceback (most" in text:
        found = [line for line in lines if not line.startswith((" ", "Traceback"))][-1:]
    else:
        found = lines[-8:]
    return "\n".join(found).removesuffix(".")
