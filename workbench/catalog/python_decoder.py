"""A decoder in Python, for formats that DALI does not decode: GIF, AVIF, ICO, TGA and others."""

from __future__ import annotations

import inspect

from workbench.catalog.spec import OpSpec, OutputRule, PortSpec

COST = "200 to 500 photos/s of 0.2 megapixels, however many threads there are"
"""GIFs and AVIFs of 529x353: 200 to 290 a second with one thread or two, 490 of CPU time."""


def decode_with_pillow(encoded: bytes) -> object:
    """The first picture of an encoded image as RGB, turned as its EXIF says."""
    from io import BytesIO

    import numpy as np
    from PIL import Image, ImageOps

    with Image.open(BytesIO(encoded)) as opened:
        image = ImageOps.exif_transpose(opened)
    if image.mode.startswith("I"):  # 16 bits, of which Pillow would keep the lower eight
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    return np.array(image.convert("RGB"))


FUNCTION = decode_with_pillow.__name__
SOURCE = inspect.getsource(decode_with_pillow)
_SUMMARY = (
    "Decodes GIF, AVIF, ICO, TGA, QOI and what else Pillow opens, the first picture of several, in "
    f"Python: {COST}. For what DALI decodes take decoders.image."
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

REQUEST = OpSpec(
    name="request",
    schema="",
    devices=("cpu",),
    outputs=(PortSpec("jpegs", "encoded", gives=OutputRule("UINT8", "", (None,))),),
    doc="Encoded images that another program feeds, as clients of Triton do.",
    summary="Encoded images that another program feeds, as clients of Triton do.",
    category="source",
    label="Request",
    synonyms=("external source", "Triton input", "inference request", "serving", "feed input"),
)
