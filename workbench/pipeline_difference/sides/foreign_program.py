"""Program that runs a pipeline in another Python environment. Needs only NumPy, not the workbench.

``python foreign_program.py file.py:name`` runs a function of one image. A request on stdin is the
number of images, then the images. An answer on stdout is one result for each image. Each message is
a length in 8 bytes, then that many bytes. The first of these is the kind: ``b`` encoded bytes,
``a`` an array in NumPy's ``.npy`` format without pickle, ``p`` such an array for a Pillow image,
``e`` an error.

If the name is ``build_pipeline`` of an exported program, DALI's pipeline runs on a temporary
folder with the images.
"""

from __future__ import annotations

import importlib.util
import io
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np

READY = b"ready"
"""First message if the function was loaded; otherwise the first message is an error."""


def read_exactly(stream: BinaryIO, count: int) -> bytes:
    """Read ``count`` bytes; exit the program at the end of the stream."""
    data = stream.read(count)
    if len(data) != count:
        raise SystemExit(0)
    return data


def read_blob(stream: BinaryIO) -> bytes:
    """Read a length and that many bytes."""
    return read_exactly(stream, struct.unpack("<Q", read_exactly(stream, 8))[0])


def write_blob(stream: BinaryIO, data: bytes) -> None:
    """Write a length and the bytes."""
    stream.write(struct.pack("<Q", len(data)))
    stream.write(data)


def unpack(blob: bytes) -> Any:
    """Decode an image of a request to bytes, an array or a Pillow image."""
    if blob[:1] == b"b":
        return blob[1:]
    found = np.load(io.BytesIO(blob[1:]), allow_pickle=False)
    if blob[:1] == b"p":
        from PIL import Image

        return Image.fromarray(found)
    return found


def pack(value: Any, kind: bytes = b"a") -> bytes:
    """Encode bytes, an array, a tensor, or an exception as a message."""
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, BaseException):
        text = " ".join(f"{type(value).__name__}: {value}".split())
        return b"e" + text[:500].encode("utf-8", "replace")
    if isinstance(value, dict) and "image" in value:
        value = value["image"]
    for convert in ("detach", "cpu", "as_cpu"):
        if hasattr(value, convert):
            value = getattr(value, convert)()
    saved = io.BytesIO()
    array = np.asarray(value)
    if array.dtype.kind == "O":
        name = "None" if value is None else type(value).__name__
        raise TypeError(f"the result is {name}, not an image")
    np.save(saved, array, allow_pickle=False)
    return kind + saved.getvalue()


class MissingNameError(LookupError):
    """Raised if the file does not define the requested name."""


def load(spec: str) -> Any:
    """Import a file and return its function, which ``spec`` names as ``file.py:name``."""
    path, _, name = spec.rpartition(":")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    made: Any = importlib.util.spec_from_file_location("compared_pipeline", path)
    module = importlib.util.module_from_spec(made)
    sys.modules["compared_pipeline"] = module
    made.loader.exec_module(module)
    if not hasattr(module, name):
        own = ", ".join(each for each in vars(module) if callable(vars(module)[each])) or "none"
        raise MissingNameError(f"{path} has no function {name!r}. It has {own[:200]}.")
    found = getattr(module, name)
    if not callable(found):
        raise MissingNameError(f"{spec} is not a function: its type is {type(found).__name__}.")
    return found


def run_pipeline(build: Callable[..., Any], images: Sequence[bytes]) -> list[Any]:
    """Run ``build_pipeline`` of an exported program on encoded images."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "images"))
        for number, image in enumerate(images):
            with open(os.path.join(folder, "images", f"{number:06}.jpg"), "wb") as file:
                file.write(image)
        pipeline = build(folder, device="cpu")
        pipeline.build()
        found: list[Any] = []
        while len(found) < len(images):
            output = pipeline.run()[0]
            found += [np.array(output.at(i)) for i in range(len(output))]
        return found[: len(images)]


def results_of(function: Callable[..., Any], name: str, images: Sequence[Any]) -> list[Any]:
    """Apply the function to each image. If it raises, the exception is the result."""
    found: list[Any] = []
    if name == "build_pipeline":
        try:
            return run_pipeline(function, images)
        except Exception as error:
            return [error] * len(images)
    for image in images:
        try:
            found.append(function(image))
        except Exception as error:
            found.append(error)
    return found


def packed(value: Any) -> bytes:
    """Encode a result, or the exception that encoding raises."""
    try:
        return pack(value)
    except Exception as error:
        return pack(error)


def main() -> None:
    """Answer requests until stdin ends."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the user's code prints is no answer
    spec = sys.argv[1]
    try:
        function = load(spec)
    except MissingNameError as error:
        write_blob(answers, str(error).encode())
        answers.flush()
        return
    write_blob(answers, READY)
    answers.flush()
    while True:
        (count,) = struct.unpack("<Q", read_exactly(requests, 8))
        images = [unpack(read_blob(requests)) for _ in range(count)]
        for value in results_of(function, spec.rpartition(":")[2], images):
            write_blob(answers, packed(value))
        answers.flush()


if __name__ == "__main__":
    main()
