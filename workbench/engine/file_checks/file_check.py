"""Check one file by its header, or by decoding it with DALI. The file is not changed.

Files are decoded in the worker process only, because a damaged file may crash it.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import ImageFile

from workbench.catalog.extra_operators.python_decoder import decode_with_pillow
from workbench.engine.build.pipelines import plain_reason
from workbench.engine.protocol.registry import task
from workbench.engine.reading.encoded_images import (
    corruption_reason,
    large_image,
    misread_reason,
    open_image,
    targets_fit,
)
from workbench.engine.reading.findings import CheckedFile, Finding
from workbench.engine.run.worker import Worker
from workbench.sources import (
    Sample,
    content_fault,
    header_of,
    orientation,
    unreadable_reason,
)

_ENDINGS = {
    "JPEG": (".jpg", ".jpeg"),
    "MPO": (".jpg", ".jpeg", ".mpo"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".pnm", ".ppm", ".pgm", ".pbm"),
    "JPEG2000": (".jp2",),
    "WEBP": (".webp",),
}
_TRAILERS = {"JPEG": b"\xff\xd9", "MPO": b"\xff\xd9", "PNG": b"IEND"}
"""Last bytes of a complete file, by format."""
_TAIL = 12
_READ_AT_ONCE = 2**20
_METADATA = re.compile(
    r"iCCP|sRGB|cHRM|gAMA|tEXt|zTXt|iTXt|tIME|eXIf|pHYs|bKGD|sBIT|unknown field|ICC", re.IGNORECASE
)
"""Matches decoder warnings that concern metadata, not pixels."""
_FALLBACK = re.compile(r"not supported|unsupported", re.IGNORECASE)
"""Matches decoder messages after which nvImageCodec tries another decoder, which may succeed."""
_ROUNDING = 4
"""Maximum difference between pixel values (0 to 255) of two decoders for YCbCr."""
_NOISE = re.compile(r"\x1b\[[0-9;]*m|^\[[A-Z]+\] |^libpng warning: |\(\d+@\S+\) global \S+ ")
_KEY = "file_check"


def check_header(file: Sample) -> CheckedFile:
    """Check a file's header and its last bytes. This takes about 60 µs."""
    if file.fault:
        kind = "unreadable" if file.counted else "of no sample"
        return CheckedFile(file.name, findings=(Finding(kind, file.fault),))
    reason = unreadable_reason(file.path)
    if reason:
        return CheckedFile(file.name, findings=(Finding(_unreadable_kind(file.path), reason),))
    if not file.has_image:
        return CheckedFile(file.name, file.size, os.stat(file.path).st_mtime_ns)
    if (header := header_of(file.path)) is not None:
        faults = [("not for DALI", header.fault)] if header.fault else []
        findings = tuple(Finding(*each) for each in (*faults, *header.remarks))
        return CheckedFile(file.name, file.size, os.stat(file.path).st_mtime_ns, findings)
    try:
        with file.open() as opened:
            size, modified = file.size, os.stat(file.path).st_mtime_ns
            image = open_image(opened, file.with_pillow)
            found = (image,) if isinstance(image, Finding) else tuple(_image_findings(image, file))
    except OSError as error:
        unreadable = Finding("unreadable", error.strerror or str(error))
        return CheckedFile(file.name, findings=(unreadable,))
    return CheckedFile(file.name, size, modified, found)


def _unreadable_kind(path: str) -> str:
    if not os.path.exists(path):
        return "missing"
    return "empty" if os.path.isfile(path) and os.path.getsize(path) == 0 else "unreadable"


def _image_findings(image: ImageFile.ImageFile, file: Sample) -> Iterator[Finding]:
    kind = str(image.format)
    if kind in _TRAILERS and not _has_trailer(image.fp, _TRAILERS[kind]):
        yield Finding("cut short", f"ends early: the end of the {kind} is missing")
    ending = file.nbytes is not None or file.name.lower().endswith(_ENDINGS.get(kind, ("",)))
    if not ending:
        yield Finding("wrong ending", f"{kind}, but the file has another extension")
    if large := large_image(image):
        yield large
    mode = image.mode
    if mode.startswith(("I", "F")) or "16" in str(image.tile and image.tile[0].args):
        yield Finding("16 bit", f"more than 8 bits a channel (Pillow's mode {mode})")
    if mode.startswith("P"):
        yield Finding("palette", "palette colours")
    if mode.endswith("A") or "transparency" in image.info:
        yield Finding("alpha", "an alpha channel")
    if mode in ("CMYK", "YCCK"):
        yield Finding("CMYK", "CMYK colours")
    turned = orientation(image)
    if turned not in (None, 0, 1):
        yield Finding("EXIF turned", f"has the EXIF orientation {turned}")
    if kind != "MPO" and getattr(image, "is_animated", False):
        yield Finding("animated", "several images; the first is decoded")
    if wrong := misread_reason(image):
        yield Finding("wrong pixels", wrong)
    yield from targets_fit(file, image)


def _has_trailer(file: Any, trailer: bytes) -> bool:
    """Return True if a file ends correctly. More data may follow: some phones append a video."""
    start, end = file.tell(), file.seek(0, os.SEEK_END)
    at = max(start, end - _TAIL)
    found = trailer in _read_at(file, at, end - at)
    # Read, not mapped: a file that shrinks meanwhile, or a broken disk, would crash the process.
    while not found and at > start:
        end, at = at + len(trailer) - 1, max(start, at - _READ_AT_ONCE)
        found = trailer in _read_at(file, at, end - at)
    return found


def _read_at(file: Any, offset: int, count: int) -> bytes:
    file.seek(offset)
    return bytes(file.read(count))


@task
def check_headers(worker: Worker, files: Sequence[Sample]) -> list[CheckedFile]:
    """Call ``check_header`` for each file, and return the results."""
    return [check_header(Sample(*file)) for file in files]


@task
def check_decoding(worker: Worker, files: Sequence[Sample]) -> list[CheckedFile]:
    """Check each file and decode it with DALI. The index of each file is reported first.

    Messages of DALI's decoders are read from standard error: libjpeg-turbo and libpng print
    warnings only there.
    """
    decoder = worker.kept.setdefault(_KEY, _Decoder())
    checked = []
    with _captured_stderr() as printed:
        for number, file in enumerate(files):
            worker.report(number)
            checked.append(_decode(Sample(*file), decoder, printed))
    return checked


def _decode(file: Sample, decoder: _Decoder, printed: int) -> CheckedFile:
    found = check_header(file)
    if not file.has_image:
        return found
    if header_of(file.path) is not None:
        fault = "" if found.level == "bad" else content_fault(file.path)
        return replace(found, findings=(Finding("not finite", fault),)) if fault else found
    if found.level == "bad" and any(f.kind != "cut short" for f in found.findings):
        return found  # do not decode a bomb; the other errors are known
    try:
        with file.open() as opened:
            content = opened.read()
    except OSError as error:
        return CheckedFile(file.name, findings=(Finding("unreadable", error.strerror or ""),))
    if file.with_pillow:
        return _decode_with_pillow(found, content)
    os.ftruncate(printed, 0)
    image, refusal = decoder.decode(content)
    warnings = _warnings(printed)
    more: list[Finding] = []
    if refusal and found.level != "bad":
        reason = corruption_reason(content) or "; ".join(warnings) or refusal
        kind = "cut short" if reason.startswith("ends early") else "undecodable"
        more.append(Finding(kind, f"DALI does not decode it: {reason}"))
    elif not refusal:
        if warnings and all(map(_FALLBACK.search, warnings)) and _is_right(image, content):
            warnings = []
        more += [
            Finding("odd metadata" if _METADATA.search(words) else "damaged", words)
            for words in warnings
        ]
        if not more and content[:2] != b"\xff\xd8" and (wrong := corruption_reason(content)):
            more.append(Finding("damaged", wrong))
    hashed = b"" if image is None else image_hash(image)
    return CheckedFile(file.name, found.size, found.modified, (*found.findings, *more), hashed)


def _is_right(image: Any, content: bytes) -> bool:
    """Return True if Pillow decodes the file to the same pixels, up to rounding."""
    try:
        other = np.asarray(decode_with_pillow(content))
    except (OSError, SyntaxError, ValueError):
        return False
    return other.shape == image.shape and bool(np.abs(other.astype(int) - image).max() <= _ROUNDING)


def _decode_with_pillow(checked: CheckedFile, content: bytes) -> CheckedFile:
    if checked.level == "bad":
        return checked
    try:
        image = decode_with_pillow(content)
    except (OSError, SyntaxError, ValueError) as error:
        refused = Finding("undecodable", f"Pillow does not decode it: {error}")
        return replace(checked, findings=(*checked.findings, refused))
    return replace(checked, image_hash=image_hash(np.asarray(image)))


class _Decoder:
    """Decodes one file at a time with DALI's CPU decoder, as in a script."""

    def __init__(self) -> None:
        self._pipeline: Any = None

    def decode(self, content: bytes) -> tuple[Any, str]:
        """Return the image (height, width, 3) and an empty string, or None and DALI's error."""
        pipeline = self._pipeline or self._build()
        self._pipeline = None
        try:
            pipeline.feed_input("encoded", [np.frombuffer(content, np.uint8)])
            (images,) = pipeline.run()
        except RuntimeError as error:
            return None, plain_reason(error)
        self._pipeline = pipeline  # after a failure it is no longer valid
        return np.asarray(images[0]), ""

    @staticmethod
    def _build() -> Any:
        from nvidia.dali import fn, pipeline_def

        def alone() -> Any:
            return fn.decoders.image(fn.external_source(name="encoded"))

        pipeline = pipeline_def(alone)(
            batch_size=1,
            num_threads=1,
            device_id=None,
            prefetch_queue_depth=1,
        )
        pipeline.build()
        return pipeline


@contextmanager
def _captured_stderr() -> Iterator[int]:
    """Within the context, redirect standard error to a memory file. Yields its descriptor."""
    stderr, printed = os.dup(2), os.memfd_create("stderr")
    os.dup2(printed, 2)
    try:
        yield printed
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(printed)


def _warnings(printed: int) -> list[str]:
    text = os.pread(printed, 4096, 0).decode("utf-8", errors="replace").replace("\0", "")
    lines = [_NOISE.sub("", line).strip() for line in text.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


# Perceptual hash of an image, similar for images that look alike.
#
# The difference hash of N. Krawetz, "Kind of Like That" (2013): whether each cell of an 8 x 8 grid
# is brighter than its right and its lower neighbour, 128 bits.

NEAR = 6
"""Maximum number of different bits between the hashes of similar images."""
_CELLS = 9
_EACH = 8
"""Width and height of a hash cell in pixels."""
_PLAIN = 4.0
"""Standard deviation of the cells' brightness (0 to 255) below which an image is too uniform to
compare."""
_BANDS = 8
"""Number of bands of a hash. If two hashes differ in fewer bits than this, at least one band is
equal, so only hashes with an equal band are compared.
"""


def image_hash(image: NDArray[np.uint8]) -> bytes:
    """Return a 16-byte hash of an image (height, width, channels), or b"" if it is too uniform."""
    rows, columns = (np.linspace(0, n - 1, _CELLS * _EACH).astype(int) for n in image.shape[:2])
    seen = image[rows][:, columns].mean(axis=2)
    cells = seen.reshape(_CELLS, _EACH, _CELLS, _EACH).mean(axis=(1, 3))
    if cells.std() < _PLAIN:
        return b""
    right, below = cells[:-1, 1:] > cells[:-1, :-1], cells[1:, :-1] > cells[:-1, :-1]
    return np.packbits(np.stack([right, below])).tobytes()


def similar_pairs(hashes: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return (index, index of the first similar hash) for each hash similar to an earlier one."""
    found: dict[int, int] = {}
    whole = [int.from_bytes(one) for one in hashes]
    size = 16 // _BANDS
    for band in range(_BANDS):
        alike: dict[bytes, list[int]] = defaultdict(list)
        for place, one in enumerate(hashes):
            if not one:
                continue
            part = alike[one[band * size : (band + 1) * size]]
            for other in part[:_MOST_COMPARED]:
                near = (whole[place] ^ whole[other]).bit_count() <= NEAR
                if near and other < found.get(place, place):
                    found[place] = other
            part.append(place)
    return sorted(found.items())


_MOST_COMPARED = 200
"""Maximum number of comparisons per hash and band, which limits the time for similar images."""
