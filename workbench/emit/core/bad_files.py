"""Name the bad file at which DALI stopped, with functions that are copied into exported programs.

Only programs that read a list of checked files contain these functions. Other programs have a
comment at the call that reads the files, because DALI's error message quotes that line.
"""

from __future__ import annotations

import inspect
import os
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nvidia.dali import fn, pipeline_def  # the exported program has them


def bad_file(listed: str, message: str) -> str:
    """Return the file in the list ``listed`` at which DALI stopped; empty if no file is the cause.

    DALI's message names the file, or the file is the first one whose header DALI cannot read.
    """
    with open(listed, encoding="utf-8", errors="surrogateescape") as lines:
        files = [line.rpartition(" ")[0] for line in lines]
    named = [file for file in files if file in message]
    if named or "nvImageCodec" not in message:
        return max(named, key=len, default="")

    def headers() -> Any:
        encoded, _ = fn.readers.file(file_list=listed)
        return fn.peek_image_shape(encoded)

    pipe = pipeline_def(headers)(
        batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1
    )
    pipe.build()
    for file in files:
        try:
            pipe.run()
        except RuntimeError:
            return file
    return ""


def naming_bad_files(listed: str) -> Any:
    """Return a decorator for pipelines that read the list: their errors name the bad file."""

    def explained(method: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            try:
                return method(*args, **options)
            except RuntimeError as error:
                if not os.path.exists(listed):
                    raise FileNotFoundError(
                        f"The list {listed} does not exist. Export again with --skip-bad."
                    ) from None
                if not os.path.getsize(listed):
                    raise RuntimeError(
                        f"The list {listed} is empty. Export again with --skip-bad."
                    ) from None
                file, place = bad_file(listed, str(error)), shlex.quote(listed)
                if not file:
                    raise
                raise RuntimeError(
                    f"{file} cannot be read or decoded; "
                    f"`workbench check {place} --full --good {place}` removes it from the list."
                ) from error

        return call

    def decorated(define: Any) -> Any:
        def make(*args: Any, **options: Any) -> Any:
            pipe = define(*args, **options)
            for name in ("build", "run", "schedule_run", "share_outputs"):
                setattr(pipe, name, explained(getattr(pipe, name)))
            return pipe

        return make

    return decorated


SOURCE = f"{inspect.getsource(bad_file)}\n\n{inspect.getsource(naming_bad_files)}"
"""Code of ``bad_file`` and ``naming_bad_files``, for exported programs."""
IMPORTS = ("import os", "import shlex", "from typing import Any")
"""Import statements that ``SOURCE`` needs, in addition to DALI's."""
NAMES = (bad_file.__name__, naming_bad_files.__name__)
HINT = "bad file? `workbench check DATA`"
"""Comment for calls that fail on a bad file, usually without naming it."""


def reads_image_files(op: str) -> bool:
    """Return True for operators that fail on a file that is not an image."""
    return op.startswith(("decoders.image", "peek_image_shape"))
