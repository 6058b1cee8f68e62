"""Make test images that servers often decode differently from the training pipeline.

They are made with Pillow from the user's photos. In the centre of each image is a test chart, so
that wrong channels, orientations and filters are visible even if the photos are grey or blank.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageChops, ImageOps

_EXIF_ORIENTATION = 0x0112  # Exif 2.32, table 4
_LINEAR = Image.Resampling.BILINEAR

Pixels = NDArray[Any]


@dataclass(frozen=True, slots=True)
class AwkwardImage:
    """An encoded test image, with the images that servers with a mistake would decode instead.

    ``mistakes`` maps a mistake (a key of ``mistakes.STORED``) to the lossless image that a server
    with this mistake decodes. ``decoded`` is the lossless image that Pillow decodes, or None if
    Pillow's and DALI's pixels can differ by more than the tolerance of the file format. ``plain``
    images have no special property: they are used to find mistakes that affect all images.
    """

    name: str
    about: str
    data: bytes
    decoded: bytes | None = None
    mistakes: dict[str, bytes] = field(default_factory=dict)
    plain: bool = False
    same_as: str = ""
    """Name of the image with the same content once the Exif orientation is applied to both."""


def awkward_images(photos: Sequence[Image.Image] = ()) -> list[AwkwardImage]:
    """Return 32 images made from ``photos``, or from the test chart if there are no photos."""
    source = cycle(photos or [chart(640, 480)])

    def subject(width: int, height: int) -> Image.Image:
        return _with_chart(next(source), width, height)

    return [
        *_orientations(subject(320, 240)),
        _jpeg("plain_444.jpg", "JPEG without chroma subsampling", subject(640, 480), plain=True),
        _jpeg("plain_420.jpg", "JPEG, 4:2:0, portrait", subject(480, 640), 90, 2, plain=True),
        _png("plain.png", "PNG", subject(480, 320), plain=True),
        _png("plain_odd.png", "PNG, odd sides", subject(511, 375), plain=True),
        _jpeg("grey.jpg", "grey JPEG", subject(400, 300).convert("L")),
        _png("grey.png", "grey PNG", subject(400, 300).convert("L")),
        _png("grey_alpha.png", "grey PNG with alpha", _transparent(subject(400, 300), "LA")),
        _bilevel(subject(400, 300)),
        _cmyk(subject(400, 300)),
        _png("alpha.png", "PNG with alpha", _transparent(subject(400, 300), "RGBA")),
        _palette(subject(400, 300)),
        _png("palette_alpha.png", "palette PNG with alpha", _palette_alpha(subject(400, 300))),
        _sixteen_bit("grey_16_bit.png", "grey PNG, 16 bit", subject(400, 300).convert("L")),
        _sixteen_bit("rgb_16_bit.png", "RGB PNG, 16 bit", subject(400, 300)),
        _png("one_pixel.png", "one pixel", Image.new("RGB", (1, 1), (200, 90, 30))),
        _png("one_row.png", "37x1 pixels", subject(37, 37).crop((0, 18, 37, 19))),
        _png("one_column.png", "1x37 pixels", subject(37, 37).crop((18, 0, 19, 37))),
        _jpeg("very_wide.jpg", "1600x60 pixels", subject(1600, 60)),
        _jpeg("progressive.jpg", "progressive JPEG", subject(480, 360), 90, progressive=True),
        _jpeg("odd_422.jpg", "JPEG, 4:2:2, odd sides", subject(333, 251), 90, 1),
        _jpeg("large.jpg", "JPEG of 1800x1200 pixels", subject(1800, 1200), 90, 2),
        _profile(subject(400, 300)),
        _jpeg("low_quality.jpg", "JPEG of quality 10", subject(400, 300), 10, 2),
        _truncated(subject(400, 300)),
    ]


def chart(width: int, height: int) -> Image.Image:
    """Return a test chart: colour gradients, fine lines, and marks without symmetry."""
    x, y = np.meshgrid(np.linspace(0, 1, width), np.linspace(0, 1, height))
    picture = np.stack([x, y, 1 - (x + y) / 2], -1) * 255
    fine = (np.sin((x**2 + y**2) * min(width, height) * 1.5) > 0) & (x > 0.55) & (y > 0.55)
    picture[fine] = 255 - picture[fine]
    picture[(x > 0.1) & (x < 0.2) & (y > 0.1) & (y < 0.6)] = (255, 255, 255)
    picture[(x > 0.1) & (x < 0.45) & (y > 0.5) & (y < 0.6)] = (220, 20, 20)
    picture[(x > 0.7) & (x < 0.85) & (y > 0.1) & (y < 0.3)] = (10, 10, 60)
    return Image.fromarray(picture.round().astype(np.uint8))


def encode_png(image: Image.Image) -> bytes:
    """Encode an image as PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _with_chart(photo: Image.Image, width: int, height: int) -> Image.Image:
    image = ImageOps.fit(photo.convert("RGB"), (width, height), _LINEAR)
    inner = chart(max(1, width * 2 // 3), max(1, height * 2 // 3))
    image.paste(inner, ((width - inner.width) // 2, (height - inner.height) // 2))
    return image


def _png(name: str, about: str, image: Image.Image, plain: bool = False) -> AwkwardImage:
    data = encode_png(image)
    mistakes = {}
    whole = image.convert("RGBA")
    if "A" in image.mode or "transparency" in image.info:
        mistakes = {
            "alpha_dropped": encode_png(whole.convert("RGB")),
            "alpha_on_black": _png_on_background(whole, "black"),
            "alpha_on_white": _png_on_background(whole, "white"),
        }
    return AwkwardImage(
        name, about, data, encode_png(whole.convert("RGB")), mistakes=mistakes, plain=plain
    )


def _png_on_background(image: Image.Image, colour: str) -> bytes:
    back = Image.new("RGBA", image.size, colour)
    return encode_png(Image.alpha_composite(back, image).convert("RGB"))


def _jpeg(
    name: str,
    about: str,
    image: Image.Image,
    quality: int = 95,
    subsampling: int = 0,
    plain: bool = False,
    **options: Any,
) -> AwkwardImage:
    data = _jpeg_bytes(image, quality=quality, subsampling=subsampling, **options)
    decoded = encode_png(Image.open(io.BytesIO(data)).convert("RGB"))
    mistakes = {}
    for factor in (2, 4, 8) if plain or min(image.size) > 1000 else ():
        reduced = Image.open(io.BytesIO(data))
        reduced.draft("RGB", (image.width // factor, image.height // factor))
        mistakes[f"reduced_{factor}"] = encode_png(reduced)
    return AwkwardImage(name, about, data, decoded, mistakes, plain)


def _jpeg_bytes(image: Image.Image, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def _orientations(upright: Image.Image) -> Iterator[AwkwardImage]:
    """Yield a JPEG for each Exif orientation. All look the same once the orientation is applied."""
    for value, unturn in _UNTURNED.items():
        exif = Image.Exif()
        exif[_EXIF_ORIENTATION] = value
        stored = unturn(upright)
        data = _jpeg_bytes(stored, quality=95, subsampling=0, exif=exif)
        decoded = encode_png(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
        ignored = _jpeg_bytes(stored, quality=95, subsampling=0)
        yield AwkwardImage(
            f"orientation_{value}.jpg",
            f"JPEG, Exif orientation {value}",
            data,
            decoded,
            {"orientation_ignored": ignored} if value > 1 else {},
            same_as="orientation_1.jpg" if value > 1 else "",
        )


_TURN = Image.Transpose
_UNTURNED: dict[int, Callable[[Image.Image], Image.Image]] = {
    1: lambda image: image,
    2: lambda image: image.transpose(_TURN.FLIP_LEFT_RIGHT),
    3: lambda image: image.transpose(_TURN.ROTATE_180),
    4: lambda image: image.transpose(_TURN.FLIP_TOP_BOTTOM),
    5: lambda image: image.transpose(_TURN.TRANSPOSE),
    6: lambda image: image.transpose(_TURN.ROTATE_90),
    7: lambda image: image.transpose(_TURN.TRANSVERSE),
    8: lambda image: image.transpose(_TURN.ROTATE_270),
}


def _transparent(image: Image.Image, mode: str) -> Image.Image:
    alpha = Image.linear_gradient("L").resize(image.size)
    image = image.convert(mode)
    image.putalpha(alpha)
    return image


def _bilevel(image: Image.Image) -> AwkwardImage:
    bits = image.convert("1")
    zero_one = Image.fromarray(np.asarray(bits).astype(np.uint8))
    mistakes = {"bits_not_scaled": encode_png(zero_one.convert("RGB"))}
    decoded = encode_png(bits.convert("RGB"))
    return AwkwardImage("one_bit.png", "PNG, 1 bit", encode_png(bits), decoded, mistakes)


def _cmyk(image: Image.Image) -> AwkwardImage:
    data = _jpeg_bytes(image.convert("CMYK"), quality=95, subsampling=0)
    read = Image.open(io.BytesIO(data))
    mistakes = {"cmyk_inverted": encode_png(ImageChops.invert(read).convert("RGB"))}
    decoded = encode_png(read.convert("RGB"))
    return AwkwardImage("cmyk.jpg", "CMYK JPEG (Adobe)", data, decoded, mistakes)


def _palette(image: Image.Image) -> AwkwardImage:
    found = image.quantize(64)
    indices = Image.fromarray(np.asarray(found)).convert("RGB")
    mistakes = {"palette_ignored": encode_png(indices)}
    decoded = encode_png(found.convert("RGB"))
    return AwkwardImage("palette.png", "palette PNG", encode_png(found), decoded, mistakes)


def _palette_alpha(image: Image.Image) -> Image.Image:
    found = image.quantize(64)
    found.info["transparency"] = bytes(range(0, 256, 4))
    return found


def _sixteen_bit(name: str, about: str, image: Image.Image) -> AwkwardImage:
    """Return a 16-bit PNG whose low bytes are noise."""
    high = np.asarray(image).astype(np.uint16)
    noise = np.random.default_rng(0).integers(0, 256, high.shape)
    values = (high * 256 + noise).astype(">u2")

    def stored(pixels: Pixels) -> bytes:
        return encode_png(Image.fromarray(pixels.astype(np.uint8)).convert("RGB"))

    mistakes = {
        "sixteen_bit_clipped": stored(np.minimum(values, 255)),
        "sixteen_bit_low_byte": stored(values & 255),
    }
    return AwkwardImage(name, about, _sixteen_bit_png(values), stored(values >> 8), mistakes)


def _sixteen_bit_png(values: Pixels) -> bytes:
    """Encode an array of big-endian uint16 as grey or RGB PNG. Pillow cannot write 16-bit RGB."""
    height, width = values.shape[:2]
    colour_type = 2 if values.ndim == 3 else 0
    rows = b"".join(b"\0" + row.tobytes() for row in values)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 16, colour_type, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _profile(image: Image.Image) -> AwkwardImage:
    """Return a JPEG whose colour profile swaps red and blue, so that applying it is noticed."""
    mistakes: dict[str, bytes] = {}
    options: dict[str, Any] = {}
    with suppress(ImportError):
        from PIL import ImageCms

        standard = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))
        content, head = standard.tobytes(), 128 + 4 + 12 * 32
        table = content[:head].replace(b"rXYZ", b"@@@@")
        table = table.replace(b"bXYZ", b"rXYZ").replace(b"@@@@", b"bXYZ")
        swapped = table + content[head:]
        options["icc_profile"] = swapped
        own = ImageCms.ImageCmsProfile(io.BytesIO(swapped))
        seen = ImageCms.profileToProfile(image, own, standard)
        assert seen is not None
        mistakes["profile_applied"] = encode_png(seen)
    made = _jpeg("colour_profile.jpg", "JPEG with an ICC profile", image, **options)
    return AwkwardImage(made.name, made.about, made.data, made.decoded, mistakes)


def _truncated(image: Image.Image) -> AwkwardImage:
    data = _jpeg_bytes(image, quality=90)
    return AwkwardImage("truncated.jpg", "JPEG that ends early", data[: len(data) // 2])
