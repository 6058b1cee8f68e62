from __future__ import annotations

import enum
import io
from pathlib import Path
from typing import Any

import torch
from PIL import Image, ImageOps

from torchvision.transforms.v2.functional import pil_to_tensor


class ImageReadMode(enum.Enum):
    GRAY = "L"
    RGB = "RGB"


def read_file(path: str) -> Any:
    return torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.uint8)


def decode_image(
    input: Any, mode: ImageReadMode = ImageReadMode.RGB, apply_exif_orientation: bool = False
) -> Any:
    image = Image.open(io.BytesIO(input.numpy().tobytes()))
    turned = ImageOps.exif_transpose(image) if apply_exif_orientation else image
    return pil_to_tensor(turned.convert(mode.value))


def decode_jpeg(
    input: Any,
    mode: ImageReadMode = ImageReadMode.RGB,
    device: str = "cpu",
    apply_exif_orientation: bool = False,
) -> Any:
    assert device == "cuda", "the peer decodes on the CPU with decode_image"
    return [decode_image(one, mode) for one in input]
