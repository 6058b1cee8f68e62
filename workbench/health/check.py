"""Every file of a folder opened and decoded once, to name those that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from workbench.engine.encoded_images import corruption_reason, reject_reason
from workbench.engine.machine import usable_cores
from workbench.errors import CancelledError
from workbench.sources import File, Location, list_files, open_dataset

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class BadFile:
    """``file`` is relative to the folder."""

    file: str
    reason: str


def check_folder(
    data: Location,
    on_progress: Callable[[int], None] = lambda done: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[BadFile]:
    """The files that cannot be read or decoded, with the reason, in the folder's order.

    ``on_progress`` hears how many files are done; ``stop`` is asked between them. About 1.4 ms for
    a 500x375 photograph and thread (Pillow decodes outside the interpreter's lock). Raises
    DataError for the folder and CancelledError.
    """
    bad: list[BadFile] = []
    done = 0
    files = list_files(open_dataset(data))
    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        for part in _parts(files):
            reasons = pool.map(_fault, [file.path for file in part])
            for file, reason in zip(part, reasons, strict=True):
                if reason:
                    bad.append(BadFile(file.name, reason))
                done += 1
                on_progress(done)
                if stop():
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise CancelledError("Cancelled.")
    return bad


def _parts(files: Iterator[File]) -> Iterator[list[File]]:
    while part := list(islice(files, _AT_ONCE)):
        yield part


def _fault(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        return error.strerror or str(error)
    return reject_reason(content) or corruption_reason(content)
