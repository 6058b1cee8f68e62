"""Run a function from a file, or an exported program, in a process with any Python interpreter."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import ArgumentError, EngineError
from workbench.pipeline_difference.measure import Failed, Item
from workbench.pipeline_difference.sides import foreign_program
from workbench.pipeline_difference.steps import Step, describe, to_array

PILLOW = "pillow"
"""Payload of a step whose function accepts Pillow images."""
_LAST_LINES = 3


class ForeignProcess:
    """A process with any Python interpreter that applies one function, ``file.py:name``."""

    def __init__(self, spec: str, python: str) -> None:
        """Start the process. Raises ArgumentError if the function cannot be loaded."""
        self._spec, self._python = spec, python
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        command = [python, os.path.abspath(foreign_program.__file__), spec]
        environment = {**os.environ, "NO_ALBUMENTATIONS_UPDATE": "1"}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
            )
        except OSError as error:
            self._log.close()
            raise ArgumentError(
                f"diff: {python} cannot be started ({error.strerror}). Pass the path of a Python "
                "interpreter, such as other/bin/python."
            ) from None
        try:
            answer = self._read()
            if answer != foreign_program.READY:
                raise EngineError(answer.decode())
        except EngineError as error:
            self.close()
            raise ArgumentError(f"diff: {error}") from None

    def __call__(self, steps: Sequence[Step], items: Sequence[Item]) -> list[Item]:
        """Apply the function to each item. This is the interface of a backend."""
        kind = b"p" if steps[0].payload == PILLOW else b"a"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(struct.pack("<Q", len(items)))
            for item in items:
                blob = foreign_program.pack(item, kind)
                self._process.stdin.write(struct.pack("<Q", len(blob)) + blob)
            self._process.stdin.flush()
        except OSError:
            raise self._exit_error() from None
        return [_item(self._read()) for _ in items]

    def _read(self) -> bytes:
        assert self._process.stdout is not None
        head = self._process.stdout.read(8)
        if len(head) < 8:
            raise self._exit_error()
        (count,) = struct.unpack("<Q", head)
        return self._process.stdout.read(count)

    def _exit_error(self) -> EngineError:
        code = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        said = " ".join(line.strip() for line in lines[-_LAST_LINES:]) or "no message"
        fix = f" Install it for {self._python}." if "ModuleNotFoundError" in said else ""
        return EngineError(f"The process of {self._spec} ended with exit code {code}: {said}.{fix}")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                stream.close()


def _item(blob: bytes) -> Item:
    if blob[:1] == b"e":
        return Failed(blob[1:].decode("utf-8", "replace"))
    if blob[:1] == b"b":
        return blob[1:]
    found = np.load(io.BytesIO(blob[1:]), allow_pickle=False)
    if found.ndim == 4 and found.shape[0] == 1:
        found = found[0]
    if found.dtype.kind not in "uifb" or found.ndim not in (2, 3):
        return Failed(f"the result is {found.dtype} {found.shape}, not an image")
    return to_array(found)


def load_function(spec: str) -> Callable[..., Any]:
    """Load a function from a file into this process. Raises ArgumentError if that fails."""
    require_file(spec)
    try:
        found = foreign_program.load(spec)
    except foreign_program.MissingNameError as error:
        raise ArgumentError(f"diff: {error}") from None
    except Exception as error:  # whatever the file raises
        raise ArgumentError(f"diff: {spec} cannot be loaded: {describe(error)}.") from None
    return found  # type: ignore[no-any-return]  # callable


def require_file(spec: str) -> tuple[Path, str]:
    """Split ``file.py:name`` into path and name. Raises ArgumentError if there is no such file."""
    place, colon, name = spec.partition(".py:")
    path = Path(os.path.expanduser(place + colon[:-1]))
    if not path.is_file():
        raise ArgumentError(f"diff: there is no file {path}. Pass a function as file.py:name.")
    return path, name
