"""The reader's batches, exactly as the exported script gets them, one bad file or not.

Runs inside the worker process only.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.source import Source
from workbench.engine.encoded import stand_in
from workbench.engine.pipelines import Compiled
from workbench.errors import DataError, PipelineError

_KEPT_BATCHES = 8
NO_FILES = "No files found"
"""What DALI says of a folder without images."""
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".jp2", ".ppm", ".pgm")
"""The image formats among those that ``readers.file`` looks for by default."""


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """One batch of a reader.

    ``arrays`` has a list of samples for each of the reader's outputs, ``files`` the path of each
    sample relative to the data folder.
    """

    arrays: tuple[list[NDArray[Any]], ...]
    files: tuple[str, ...]


@dataclass(slots=True)
class _Position:
    pipeline: Any
    next_batch: int = 0
    recent: OrderedDict[int, ReadBatch] = field(default_factory=OrderedDict)


class Reading:
    """Runs one reader forward to any batch; going back starts it again.

    The reader is emitted and run as in the script, so the order is the script's. Where it fails on
    files that the operating system cannot hand out (empty ones, for example, which end the script),
    these are replaced by a stand-in in a shadow of the folder made of links, so that the others
    keep their places; ``unreadable`` then says which and why.
    """

    def __init__(self, source: Source, data: str, seed: int, batch_size: int) -> None:
        require_folder(data)
        self._compiled = Compiled(source)
        self._data = data
        self._seed = seed
        self._batch_size = batch_size
        self._shadow: str | None = None
        self._position: _Position | None = None
        self.unreadable: dict[str, str] = {}

    def batch(self, index: int) -> ReadBatch:
        """Batch ``index`` from 0. Raises PipelineError or DataError."""
        try:
            return self._advance(index)
        except PipelineError as error:
            require_folder(self._data)
            if NO_FILES in str(error) and "**find_files(data)" in self._compiled.source.text:
                raise DataError(no_images(self._data)) from None
            if self._shadow is None:
                self.unreadable = unreadable_files(self._data)
            if self._shadow is not None or not self.unreadable:
                raise
        self._shadow = _shadow_folder(self._data, self.unreadable)
        return self._advance(index)

    def _advance(self, index: int) -> ReadBatch:
        at = self._position
        if at is not None and index in at.recent:
            return at.recent[index]
        try:
            if at is None or index < at.next_batch:
                at = self._position = _Position(self._build())
            while at.next_batch <= index:
                at.recent[at.next_batch] = _copy(at.pipeline.run())
                at.next_batch += 1
                while len(at.recent) > _KEPT_BATCHES:
                    at.recent.popitem(last=False)
        except RuntimeError as error:
            self._position = None
            raise self._compiled.error(error) from None
        return at.recent[index]

    def _build(self) -> Any:
        pipe = self._compiled["stage"](
            self._shadow or self._data,
            "cpu",
            self._seed,
            0,
            batch_size=self._batch_size,
            num_threads=1,
            device_id=None,
            prefetch_queue_depth=1,
        )
        pipe.build()
        return pipe

    def close(self) -> None:
        """Drop the pipeline and the shadow folder."""
        self._position = None
        if self._shadow:
            shutil.rmtree(Path(self._shadow).parent, ignore_errors=True)
            self._shadow = None


def _copy(outputs: Any) -> ReadBatch:
    files = tuple(outputs[0][i].source_info() for i in range(len(outputs[0])))
    return ReadBatch(
        tuple([np.array(output[i]) for i in range(len(output))] for output in outputs), files
    )


def require_folder(data: str) -> None:
    """Raise DataError with the remedy where ``data`` is no folder that can be read."""
    path = Path(data)
    if not path.exists():
        raise DataError(f"There is no folder {data}. Give a folder of images.")
    if not path.is_dir():
        raise DataError(f"{data} is a file. Give the folder that holds the images.")
    if not os.access(path, os.R_OK | os.X_OK):
        raise DataError(f"The folder {data} may not be read. Check its permissions.")


def no_images(data: str) -> str:
    """Why the reader finds no file in a folder that can be read, and what to do."""
    entries = sorted(entry for entry in Path(data).iterdir() if not entry.name.startswith("."))
    if not entries:
        return f"The folder {data} is empty. Give a folder of images."
    if any(entry.suffix.lower() in IMAGE_SUFFIXES and entry.is_file() for entry in entries):
        return (
            f"The folders in {data} count as class folders, and there is no image in them; images "
            "beside folders are not read. Give a folder with images only, or with class folders."
        )
    names = ", ".join(entry.name for entry in entries[:3]) + (", ..." if len(entries) > 3 else "")
    return (
        f"There is no image in {data} (found: {names}). Give a folder of images, or of class "
        f"folders with images: {', '.join(IMAGE_SUFFIXES)}."
    )


def unreadable_files(data: str) -> dict[str, str]:
    """Files that cannot be opened or are empty, by path relative to the folder, with the reason."""
    found: dict[str, str] = {}
    for folder, _, names in os.walk(data):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.stat(path).st_size == 0:
                    found[os.path.relpath(path, data)] = "the file is empty"
                elif not os.access(path, os.R_OK):
                    found[os.path.relpath(path, data)] = "no permission to read it"
            except OSError as error:
                found[os.path.relpath(path, data)] = error.strerror or str(error)
    return found


def _shadow_folder(data: str, unreadable: dict[str, str]) -> str:
    base = Path(tempfile.mkdtemp(prefix="workbench-data-"))
    shadow = base / Path(data).resolve().name
    for folder, _, names in os.walk(data):
        here = os.path.relpath(folder, data)
        (shadow / here).mkdir(parents=True, exist_ok=True)
        for name in names:
            relative = os.path.normpath(os.path.join(here, name))
            if relative in unreadable:
                (shadow / relative).write_bytes(stand_in().tobytes())
            else:
                (shadow / relative).symlink_to(Path(folder, name).resolve())
    return str(shadow)
