"""Arrange tiles in one image, and encode the image on the device of the tiles.

Used in the worker process only.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.engine.resources.batch_store import Memory
from workbench.preview.pictures.tiles import Tiles, on_host

Encoder = Callable[[Any], bytes]
"""Function that encodes a uint8 image (h, w, 3), on the host or on a GPU, as JPEG."""

RAW = "image/x-rgba"
"""MIME type of uncompressed sheets: RGBA with 8 bits per channel, row by row from the top."""
MOST_SHOWN = 70_000
"""Maximum size in bytes of a sheet in a notebook. Base64 encoding adds a third to this."""
QUALITY = 88
"""JPEG quality that shows no visible block artifacts. Encoding 32 tiles takes 7 ms on one core."""
ENCODER_BIAS = (-2, 0, -2)
"""Values that the GPU's encoder adds to red, green and blue.

The averages are -1.6, 0.4 and -1.8, for quality 88 and for 92. Pillow adds at most 0.05 (measured
with 16 photos, nvimgcodec 0.9 on an H100).
"""

BAD, BAD_FRAME = (250, 236, 236), (178, 58, 58)
"""RGB colours of the tile that represents an unusable file, and of its frame."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Layout of tiles. The tiles of a sample, one per group, are next to each other."""

    groups: int
    count: int
    size: int

    @property
    def columns(self) -> int:
        """Number of tiles per row."""
        return self.groups * _samples_in_a_row(self.count, self.groups)

    @property
    def rows(self) -> int:
        """Number of rows of tiles. The last row may be shorter."""
        return math.ceil(self.count * self.groups / self.columns)

    @property
    def extent(self) -> tuple[int, int]:
        """Width and height of the sheet in pixels."""
        return self.columns * self.size, self.rows * self.size

    @property
    def places(self) -> list[tuple[int, int]]:
        """Top left corner (x, y) of every tile. All tiles of a sample are consecutive."""
        columns = self.columns
        spots = (divmod(index, columns) for index in range(self.count * self.groups))
        return [(column * self.size, row * self.size) for row, column in spots]


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """Tiles arranged in one image. ``pixels`` is uint8 (h, w, 3).

    ``groups`` has the tiles of each output, and ``bad`` has the indices of unusable samples.
    """

    pixels: NDArray[np.uint8]
    groups: tuple[Tiles, ...]
    bad: frozenset[int]
    device: Memory = "cpu"

    @property
    def nbytes(self) -> int:
        return self.pixels.nbytes


def grid_of(groups: Sequence[Tiles]) -> Grid:
    """Return the layout for groups, which must all have the same number and size of tiles."""
    return Grid(len(groups), *groups[0].shape)


def compose(
    groups: Sequence[Tiles], bad: Collection[int] = (), previous: ContactSheet | None = None
) -> ContactSheet:
    """Arrange tiles in the layout of ``grid_of``.

    Samples in ``bad`` get a placeholder tile. If the ``previous`` sheet has the same size, its
    memory is reused, and groups that did not change are not written again: allocating memory for
    128 tiles of 224 takes longer (4.8 ms) than writing the changed tiles.
    """
    grid = grid_of(groups)
    width, height = grid.extent
    places = grid.places
    marked = frozenset(bad)
    if previous is not None and [g.shape for g in previous.groups] == [g.shape for g in groups]:
        pixels = previous.pixels
        stands = [
            marked == previous.bad and a is b for a, b in zip(groups, previous.groups, strict=True)
        ]
    else:
        pixels = np.zeros((height, width, 3), np.uint8)
        stands = [False] * len(groups)
    for number, group in enumerate(groups):
        if stands[number]:
            continue
        pictures = on_host(group)
        for sample, (x, y) in enumerate(places[number :: len(groups)]):
            tile = pixels[y : y + grid.size, x : x + grid.size]
            if sample in marked:
                _mark_bad(tile)
            else:
                tile[:] = pictures[sample]
    return ContactSheet(pixels, tuple(groups), marked)


def compose_on_gpu(groups: Sequence[Tiles], cache: dict[Any, Any]) -> Any:
    """Arrange tiles on a GPU in a DALI tensor uint8 (h, w, 3). There must be no bad samples.

    ``cache`` stores the pipeline of the most recent grid. Host memory is not used, because page
    faults took 5 of 22 ms for 64 tiles of 224. Returns None if tiles are not contiguous.
    """
    grid = grid_of(groups)
    if not all(group.pictures.is_dense_tensor() for group in groups):
        return None
    known, pipe = cache.get(("layout",), (None, None))
    if known != grid:
        pipe = build_layout(grid, "gpu")
        cache[("layout",)] = grid, pipe
    for number, group in enumerate(groups):
        pipe.feed_input(f"group {number}", [group.pictures.as_tensor()])
    (sheets,) = pipe.run()
    return sheets[0]


def build_layout(grid: Grid, device: Memory) -> Any:
    """Build a pipeline that arranges its inputs ``group 0``, ``group 1``, ... in a sheet.

    Each input is a batch of one sample, which contains all tiles of a group.
    """
    from nvidia.dali import fn

    n, size = grid.count * grid.groups, grid.size

    def layout() -> Any:
        groups: list[Any] = [
            fn.external_source(name=f"group {number}", device=device, no_copy=True)
            for number in range(grid.groups)
        ]
        tiles: Any = fn.stack(*groups, axis=1) if len(groups) > 1 else groups[0]
        tiles = fn.reshape(tiles, shape=[n, size, size, 3])
        if grid.rows * grid.columns > n:
            tiles = fn.pad(tiles, axes=[0], shape=[grid.rows * grid.columns])
        tiles = fn.reshape(tiles, shape=[grid.rows, grid.columns, size, size, 3])
        tiles = fn.transpose(tiles, perm=[0, 2, 1, 3, 4])
        return fn.reshape(tiles, shape=[*grid.extent[::-1], 3], layout="HWC")

    return _built(layout, device)


def _built(define: Callable[[], Any], device: Memory) -> Any:
    """Build a pipeline for batches of one sample, without prefetching."""
    from nvidia.dali import pipeline_def

    pipe = pipeline_def(define)(
        batch_size=1,
        num_threads=1,
        device_id=0 if device == "gpu" else None,
        prefetch_queue_depth=1,
    )
    pipe.build()
    return pipe


def _mark_bad(tile: NDArray[np.uint8]) -> None:
    frame = max(1, len(tile) // 64)
    tile[:] = BAD_FRAME
    tile[frame:-frame, frame:-frame] = BAD


def _samples_in_a_row(count: int, tiles: int) -> int:
    """Return the number of samples per row. Each sample has ``tiles`` tiles.

    The number of empty cells is minimised first. Among equal results, a nearly square sheet is
    preferred, and then a wide one.
    """
    square = math.sqrt(count / tiles)
    near = range(max(1, math.floor(square / 1.5)), math.ceil(square * 1.5) + 1)
    return min(near, key=lambda n: (-count % n, round(abs(math.log(n / square)), 6), -n))


def encode(sheet: Any, mime: str = "image/jpeg", encoder: Encoder | None = None) -> bytes:
    """Encode the sheet as JPEG (with ``encoder`` if it is on a GPU), PNG or ``RAW``."""
    if mime == RAW:
        pixels = np.full((*sheet.shape[:2], 4), 255, np.uint8)
        pixels[..., :3] = sheet
        return pixels.tobytes()
    if mime == "image/jpeg" and encoder is not None:
        return encoder(sheet)
    buffer = io.BytesIO()
    if mime == "image/png":
        Image.fromarray(sheet).save(buffer, "PNG", compress_level=1)
    else:
        Image.fromarray(sheet).save(buffer, "JPEG", quality=QUALITY)
    return buffer.getvalue()


def decode(image: bytes, mime: str, size: tuple[int, int]) -> Image.Image:
    """Decode the result of ``encode`` to RGB. ``size`` is (width, height)."""
    if mime == RAW:
        return Image.frombuffer("RGBA", size, image).convert("RGB")
    with Image.open(io.BytesIO(image)) as opened:
        return opened.convert("RGB")


def gpu_encoder() -> Encoder:
    """Create a JPEG encoder on the GPU.

    It takes 0.5 ms for 32 tiles of 224 on an H200, where Pillow takes 4.8 ms. It is installed with
    DALI. Raises ImportError or RuntimeError if it is unavailable.
    """
    from nvidia import nvimgcodec

    encoder, unbias = nvimgcodec.Encoder(), build_bias_correction("gpu")
    params = nvimgcodec.EncodeParams(
        quality_type=nvimgcodec.QualityType.QUALITY,
        quality_value=QUALITY,
        chroma_subsampling=nvimgcodec.ChromaSubsampling.CSS_420,
    )

    def encode_on_gpu(sheet: Any) -> bytes:
        unbias.feed_input("sheet", [sheet])
        (sheets,) = unbias.run()
        return bytes(encoder.encode(nvimgcodec.as_image(sheets[0]), "jpeg", params=params))

    return encode_on_gpu


def build_bias_correction(device: Memory) -> Any:
    """Build a pipeline that subtracts ``ENCODER_BIAS`` from its input ``sheet``."""
    from nvidia.dali import fn, types

    def corrected() -> Any:
        sheet: Any = fn.external_source(name="sheet", device=device)
        bias = types.Constant(np.array(ENCODER_BIAS, np.int16), device=device)
        return fn.cast(sheet - bias, dtype=types.UINT8)  # values above 255 saturate

    return _built(corrected, device)


def jpeg_within(picture: Image.Image, max_bytes: int = MOST_SHOWN) -> bytes:
    """Return an image as a JPEG of at most ``max_bytes`` bytes, shrunk if necessary."""
    while True:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=80)
        if buffer.tell() <= max_bytes or min(picture.size) < 16:
            return buffer.getvalue()
        picture.thumbnail((picture.width * 3 // 4, picture.height * 3 // 4))
