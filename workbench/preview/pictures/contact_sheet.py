"""Tiles -> one picture, encoded where the tiles are cheapest to encode.

Runs inside the worker process only.
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
"""uint8 (h, w, 3), a host array or DALI's tensor on a GPU -> the bytes of a JPEG."""

RAW = "image/x-rgba"
"""What a sheet of bare pixels is called: RGBA, 8 bits each, row after row from the top."""
MOST_SHOWN = 70_000
"""Bytes of a sheet that a notebook keeps, where a third is added to them."""
QUALITY = 88
"""JPEG quality of the sheet: no blocks to be seen, 7 ms for 32 tiles of 224 on one core."""
ENCODER_BIAS = (-2, 0, -2)
"""Levels of red, green and blue that the GPU's encoder adds to a picture.

On average -1.6, 0.4 and -1.8, at quality 92 as at 88, where Pillow's is 0.05 at most (16 photos,
nvimgcodec 0.9 on an H100).
"""

BAD, BAD_FRAME = (250, 236, 236), (178, 58, 58)
"""RGB of a tile whose file cannot be shown, and of its frame."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Where tiles stand: for each sample one tile of every group, then the next sample."""

    groups: int
    count: int
    size: int

    @property
    def columns(self) -> int:
        """Tiles in a row."""
        return self.groups * _samples_in_a_row(self.count, self.groups)

    @property
    def rows(self) -> int:
        """Rows of tiles; the last may be shorter."""
        return math.ceil(self.count * self.groups / self.columns)

    @property
    def extent(self) -> tuple[int, int]:
        """(width, height) of the sheet in pixels."""
        return self.columns * self.size, self.rows * self.size

    @property
    def places(self) -> list[tuple[int, int]]:
        """The left top corner (x, y) of every tile, in sample-major order."""
        columns = self.columns
        spots = (divmod(index, columns) for index in range(self.count * self.groups))
        return [(column * self.size, row * self.size) for row, column in spots]


@dataclass(frozen=True, slots=True)
class ContactSheet:
    """Tiles side by side: ``pixels`` is uint8 (h, w, 3), composed of ``groups`` and ``bad``."""

    pixels: NDArray[np.uint8]
    groups: tuple[Tiles, ...]
    bad: frozenset[int]
    device: Memory = "cpu"

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.pixels.nbytes


def grid_of(groups: Sequence[Tiles]) -> Grid:
    """How the groups are laid side by side; all have the same number of tiles of one size."""
    return Grid(len(groups), *groups[0].shape)


def compose(
    groups: Sequence[Tiles], bad: Collection[int] = (), last: ContactSheet | None = None
) -> ContactSheet:
    """Lay tiles side by side, as ``grid_of`` says.

    The tiles of the samples ``bad`` say that their file cannot be shown. A ``last`` sheet that fits
    is written over, but for the groups that stand in it already: new memory for 128 tiles of 224
    takes longer (4.8 ms) than all that is written to it.
    """
    grid = grid_of(groups)
    width, height = grid.extent
    places = grid.places
    marked = frozenset(bad)
    if last is not None and [g.shape for g in last.groups] == [g.shape for g in groups]:
        pixels = last.pixels
        stands = [marked == last.bad and a is b for a, b in zip(groups, last.groups, strict=True)]
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


def compose_on_gpu(groups: Sequence[Tiles], kept: dict[Any, Any]) -> Any:
    """The same for tiles on a GPU, none of them bad: DALI's tensor uint8 (h, w, 3), or None.

    ``kept`` holds the built pipeline of the last grid. Nothing goes through the host's memory,
    whose fresh pages took 5 of 22 ms for 64 tiles of 224. None where the tiles do not lie in one
    piece.
    """
    grid = grid_of(groups)
    if not all(group.pictures.is_dense_tensor() for group in groups):
        return None
    known, pipe = kept.get(("layout",), (None, None))
    if known != grid:
        pipe = build_layout(grid, "gpu")
        kept[("layout",)] = grid, pipe
    for number, group in enumerate(groups):
        pipe.feed_input(f"group {number}", [group.pictures.as_tensor()])
    (sheets,) = pipe.run()
    return sheets[0]


def build_layout(grid: Grid, device: Memory) -> Any:
    """A built pipeline: ``group 0``, ``group 1``, ... as one sample each -> the sheet."""
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
    """A pipeline of one sample, of which nothing is made ahead."""
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
    """Say on a tile that its file cannot be shown."""
    frame = max(1, len(tile) // 64)
    tile[:] = BAD_FRAME
    tile[frame:-frame, frame:-frame] = BAD


def _samples_in_a_row(count: int, tiles: int) -> int:
    """How many samples of ``tiles`` tiles each stand in a row.

    First few empty places, then nearly square, then rather wide than high.
    """
    square = math.sqrt(count / tiles)
    near = range(max(1, math.floor(square / 1.5)), math.ceil(square * 1.5) + 1)
    return min(near, key=lambda n: (-count % n, round(abs(math.log(n / square)), 6), -n))


def encode(sheet: Any, mime: str = "image/jpeg", encoder: Encoder | None = None) -> bytes:
    """The sheet as JPEG, by ``encoder`` where there is one, or as PNG or ``RAW`` if so asked.

    A sheet on the GPU needs the encoder.
    """
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
    """A sheet as ``encode`` made it, of ``size`` (width, height). RGB."""
    if mime == RAW:
        return Image.frombuffer("RGBA", size, image).convert("RGB")
    with Image.open(io.BytesIO(image)) as opened:
        return opened.convert("RGB")


def gpu_encoder() -> Encoder:
    """A JPEG encoder on the GPU: 0.5 ms for 32 tiles of 224 on an H200, where Pillow takes 4.8.

    It comes with DALI. Raises ImportError or RuntimeError where it cannot be had.
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
    """A built pipeline: ``sheet`` -> the same without what the GPU's encoder will add to it."""
    from nvidia.dali import fn, types

    def corrected() -> Any:
        sheet: Any = fn.external_source(name="sheet", device=device)
        bias = types.Constant(np.array(ENCODER_BIAS, np.int16), device=device)
        return fn.cast(sheet - bias, dtype=types.UINT8)  # what is above 255 becomes that

    return _built(corrected, device)


def small_jpeg(image: bytes, mime: str, size: tuple[int, int], most: int = MOST_SHOWN) -> bytes:
    """A sheet as a JPEG of at most so many bytes."""
    return jpeg_within(decode(image, mime, size).convert("RGB"), most)


def jpeg_within(picture: Image.Image, most: int = MOST_SHOWN) -> bytes:
    """A JPEG of at most so many bytes: the picture itself is made smaller until it is one."""
    while True:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=80)
        if buffer.tell() <= most or min(picture.size) < 16:
            return buffer.getvalue()
        picture.thumbnail((picture.width * 3 // 4, picture.height * 3 // 4))
