"""Decode formats in Python that DALI does not decode: GIF, AVIF, ICO, TGA and others."""

from __future__ import annotations

import inspect

from workbench.catalog.spec import OpSpec, OutputRule, PortSpec

COST = "200 to 500 photos/s of 0.2 megapixels, for any number of threads"
"""Speed of the decoder as text for messages. It was measured with GIFs and AVIFs of 529x353: 200 to
290 images per second with one or two threads, and 490 per second of CPU time."""


def decode_with_pillow(
    encoded: bytes, grey: bool = False, adjust_orientation: bool = True
) -> object:
    """Decode the first frame of an image file to the pixels of DALI's CPU decoder.

    Returns uint8 of shape (height, width, 3), or (height, width, 1) with ``grey``. The EXIF
    orientation is applied, an alpha channel is dropped, and 16 bits and floats from 0 to 1 are
    scaled to 8 bits. Raises ValueError, OSError or SyntaxError for an image that Pillow decodes
    differently or not at all.
    """
    from io import BytesIO

    import numpy as np
    from PIL import Image, ImageOps

    with Image.open(BytesIO(encoded)) as image:
        kind, mode, tags = image.format, image.mode, getattr(image, "tag_v2", {})
        if 2 in tags.get(339, ()) or (mode == "I" and kind not in ("PNG", "PPM")):
            raise ValueError("its pixels are signed or 32-bit integers")
        if tags.get(284) == 2 and max(tags.get(258, (8,))) > 8:
            raise ValueError("a planar TIFF of more than 8 bits a channel")
        largest = tuple(image.tile[0].args or "")[-1] if kind == "PPM" else 255
        if largest not in ("L", "B", "I", 255, 65535):
            raise ValueError(f"its maximum value is {largest}, not 255 or 65535")
        if kind == "JPEG2000" and mode not in ("L", "I;16"):
            head = bytes(encoded[:4096])
            bits = head[head.find(b"\xff\x4f\xff\x51") + 42] & 127  # minus 1
            if bits > 7 or b"colr\1\0\0\0\0\0\x12" in head:
                raise ValueError("a JPEG 2000 of more than 8 bits or of YCC colours")
        for other in ("xmp", "XML:com.adobe.xmp", "Raw profile type exif"):
            image.info.pop(other, None)  # DALI reads the orientation from EXIF only
        exif = image.getexif()
        if not adjust_orientation:
            exif.pop(0x0112, None)  # before Pillow loads: it rotates a TIFF by itself
        upright = ImageOps.exif_transpose(image)
    if upright.mode == "F":
        scaled = np.clip(np.nan_to_num(np.asarray(upright)), 0, 1) * 255
        upright = Image.fromarray(np.rint(scaled).astype(np.uint8))
    elif upright.mode.startswith("I"):
        scaled = np.asarray(upright) / 257
        upright = Image.fromarray(np.rint(scaled).astype(np.uint8))
    pixels = np.array(upright.convert("L" if grey else "RGB"))
    return pixels[..., None] if grey else pixels


FUNCTION = decode_with_pillow.__name__
SOURCE = inspect.getsource(decode_with_pillow)
_SUMMARY = (
    "Decodes GIF, AVIF, ICO, TGA, QOI and other formats of Pillow (the first of several "
    f"frames), in Python: {COST}. For formats that DALI decodes use decoders.image."
)
PILLOW_DECODER = OpSpec(
    name="decoders.pillow",
    schema="",
    devices=("cpu",),
    inputs=(PortSpec("data", "encoded"),),
    max_inputs=1,
    outputs=(PortSpec("output", "image", gives=OutputRule("UINT8", "HWC", (None, None, 3))),),
    doc=_SUMMARY,
    summary=_SUMMARY,
    category="decode",
    label="Decode with Pillow",
    synonyms=("GIF", "AVIF", "ICO", "TGA", "QOI", "PIL", "Image.open", "python decoder"),
    stays=True,
)
