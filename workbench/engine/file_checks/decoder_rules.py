"""Find which decoder of a GPU decodes each image: JPEG engines, CUDA kernels or the CPU.

``decoders.image`` with mixed decoding tries the decoders of nvImageCodec in this order. The rules
are those of nvImageCodec 0.9 (``hw_decoder.cpp``, ``cuda_decoder.cpp`` and the JPEG parser), and
are applied to the header of each file. They hold for GPUs with JPEG engines, such as A100, H100 and
H200.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, BinaryIO, Literal

from PIL import Image

from workbench.engine.reading.encoded_images import pillow_warnings_ignored
from workbench.sources.jpeg_frame import read_jpeg_frame

Decoder = Literal["JPEG engines", "CUDA", "CPU", "unknown"]
DECODERS: tuple[Decoder, ...] = ("JPEG engines", "CUDA", "CPU", "unknown")
_ENGINE_SIDE = 16_384
"""Largest side in pixels that the JPEG engines decode, measured on an H200."""
_ENGINE_SAMPLINGS = ("4:4:4", "4:2:2", "4:2:0", "4:4:0")
_FRAMES = {1: "extended sequential", 2: "progressive", 3: "lossless"}
_TIFF_BITS, _CMYK = (8, 16, 32), 5


def decoder_of(file: BinaryIO) -> tuple[Decoder, str, str]:
    """Return the decoder of an encoded image, its format, and why no faster decoder is used.

    ``file`` must be at position 0.
    """
    start = file.read(2)
    file.seek(0)
    if start == b"\xff\xd8":
        return _decoder_of_jpeg(file)
    try:
        with pillow_warnings_ignored(), Image.open(file) as image:
            name, tags = image.format or "", getattr(image, "tag_v2", {})
            turned = image.getexif().get(0x0112, 1) != 1
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return "unknown", "not an image", "run `workbench check` for the reason"
    if name == "JPEG2000":
        return "CUDA", "JPEG 2000", "the JPEG engines decode JPEG only"
    if name == "TIFF":
        return _decoder_of_tiff(tags, turned)
    if name in ("GIF", "AVIF", "HEIF"):
        return "unknown", name, "DALI does not decode this format"
    name = {"WEBP": "WebP", "PPM": "PNM"}.get(name, name)
    return "CPU", name, "the GPU decoders do not support this format"


def _decoder_of_tiff(tags: Mapping[int, Any], turned: bool) -> tuple[Decoder, str, str]:
    """``tags`` are those of TIFF 6.0: 258 is BitsPerSample, 262 is PhotometricInterpretation."""
    if 258 not in tags:
        return "unknown", "TIFF", "DALI does not decode a TIFF without the tag BitsPerSample"
    bits = tags[258]
    bits = max(bits) if isinstance(bits, tuple) else bits
    if turned:
        return "CPU", "TIFF", "nvTIFF does not apply an Exif orientation"
    if bits not in _TIFF_BITS:
        return "CPU", "TIFF", f"nvTIFF does not decode {bits}-bit values"
    if tags.get(262) == _CMYK:
        return "CPU", "CMYK TIFF", "nvTIFF does not decode CMYK"
    return "CUDA", "TIFF", "the JPEG engines decode JPEG only"


def _decoder_of_jpeg(file: BinaryIO) -> tuple[Decoder, str, str]:
    frame = read_jpeg_frame(file)
    if frame is None or not frame.factors:
        return "unknown", "JPEG", "its header is damaged"
    if frame.process > 3:
        arithmetic = frame.process > 8
        name = "arithmetic" if arithmetic else "hierarchical"
        return "CPU", f"{name} JPEG", "only the CPU decoder supports this coding"
    if frame.process == 3:
        return "CPU", "lossless JPEG", "the GPU decodes it only without colour conversion"
    if frame.bits != 8:
        return "CPU", f"JPEG of {frame.bits} bits", "the GPU decodes 8 bits only"
    if len(frame.factors) == 4:
        return "CUDA", "CMYK JPEG", "four components"
    kind = _FRAMES.get(frame.process, "")
    name = f"{kind} JPEG".strip()
    if not frame.sampling:
        return "CPU", name, "unusual sampling factors"
    label = f"{name}, {frame.sampling}"
    if frame.process == 2:
        return "CUDA", label, "progressive"
    if frame.sampling not in (*_ENGINE_SAMPLINGS, "grey"):
        return "CUDA", label, f"chroma subsampling {frame.sampling}"
    if not frame.in_one_scan:
        return "CUDA", label, "its components are in several scans"
    if max(frame.width, frame.height) > _ENGINE_SIDE:
        return "CUDA", label, f"a side of more than {_ENGINE_SIDE:,} pixels"
    return "JPEG engines", label, ""
