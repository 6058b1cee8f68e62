"""torchvision v2: the operators, and batches from a DataLoader or decoded on the GPU.

torch itself is imported in the worker only, where it is installed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.peers.loader import (
    AHEAD,
    EndlessBatchSampler,
    LoaderWorkload,
    stack_outputs,
)
from workbench.bench.peers.program import Image, Operator, Peer, Program

_NEEDS = ("torchvision", "torchvision")
PEERS = (
    Peer("torchvision, PIL", "cpu", _NEEDS, "PIL", __name__),
    Peer("torchvision, decode_jpeg", "cpu", _NEEDS, "decode_jpeg", __name__),
    Peer("torchvision, decode_jpeg on CUDA", "mixed", _NEEDS, "CUDA", __name__),
)


def operators() -> Mapping[str, Operator]:
    """One function for each of DALI's operators that torchvision has, by DALI's names."""
    import torch
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as F  # noqa: N812

    def random_resized_crop(
        image: Image,
        size: Any,
        random_area: Any = (0.08, 1.0),
        random_aspect_ratio: Any = (3 / 4, 4 / 3),
    ) -> Image:
        key = tuple(map(int, size)), tuple(random_area), tuple(random_aspect_ratio)
        if key not in crops:
            crops[key] = v2.RandomResizedCrop(key[0], key[1], key[2], antialias=True)
        return crops[key](image)

    crops: dict[Any, Any] = {}

    def resize(image: Image, size: Any = None, resize_shorter: Any = None) -> Image:
        wanted = list(map(int, size)) if size is not None else [int(resize_shorter)]
        return F.resize(image, wanted, antialias=True)

    def crop(image: Image, crop: Any, crop_pos_x: float = 0.5, crop_pos_y: float = 0.5) -> Image:
        high, wide = (int(value) for value in crop)
        height, width = F.get_size(image)
        top, left = round(crop_pos_y * (height - high)), round(crop_pos_x * (width - wide))
        return F.crop(image, top, left, high, wide)

    def crop_mirror_normalize(
        image: Image,
        crop: Any = None,
        crop_pos_x: float = 0.5,
        crop_pos_y: float = 0.5,
        mirror: float = 0,
        mean: Any = (0.0,),
        std: Any = (1.0,),
        dtype: str = "FLOAT",
        output_layout: str = "CHW",
    ) -> Image:
        if crop is not None:
            image = found["crop"](image, crop, crop_pos_x, crop_pos_y)
        if mirror:
            image = F.horizontal_flip(image)
        tensor = F.to_dtype(F.to_image(image), torch.float32, scale=False)
        tensor = F.normalize(tensor.as_subclass(torch.Tensor), list(mean), list(std))
        if dtype == "FLOAT16":
            tensor = tensor.half()
        return tensor.permute(1, 2, 0) if output_layout == "HWC" else tensor

    def rotate(image: Image, angle: float, fill_value: float = 0, keep_size: bool = False) -> Image:
        return F.rotate(
            image, angle, v2.InterpolationMode.BILINEAR, expand=not keep_size, fill=fill_value
        )

    def color_twist(
        image: Image,
        brightness: float = 1.0,
        contrast: float = 1.0,
        hue: float = 0.0,
        saturation: float = 1.0,
    ) -> Image:
        if brightness != 1:
            image = F.adjust_brightness(image, brightness)
        if contrast != 1:
            image = F.adjust_contrast(image, contrast)
        if saturation != 1:
            image = F.adjust_saturation(image, saturation)
        return F.adjust_hue(image, (hue / 360 + 0.5) % 1 - 0.5) if hue else image

    def flip(image: Image, horizontal: float = 1, vertical: float = 0) -> Image:
        if horizontal:
            image = F.horizontal_flip(image)
        return F.vertical_flip(image) if vertical else image

    def gaussian_blur(image: Image, sigma: float, window_size: float = 0) -> Image:
        size = int(window_size) or 2 * math.ceil(3 * sigma) + 1
        return F.gaussian_blur(image, [size, size], [sigma, sigma])

    found: dict[str, Operator] = {
        "random_resized_crop": random_resized_crop,
        "resize": resize,
        "crop": crop,
        "crop_mirror_normalize": crop_mirror_normalize,
        "rotate": rotate,
        "color_twist": color_twist,
        "saturation": lambda image, saturation: F.adjust_saturation(image, saturation),
        "brightness": lambda image, brightness: F.adjust_brightness(image, brightness),
        "brightness_contrast": color_twist,
        "flip": flip,
        "gaussian_blur": gaussian_blur,
    }
    return found


def decode_pil(path: str, gray: bool) -> Image:
    """With Pillow, turned as its EXIF says, as DALI does."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    with Pillow.open(path) as image:
        turned = ImageOps.exif_transpose(image)
        return turned.convert("L" if gray else "RGB")


def decode_tensor(path: str, gray: bool) -> Image:
    """With torchvision's own decoders: uint8, shape (channels, height, width)."""
    from torchvision import io

    mode = io.ImageReadMode.GRAY if gray else io.ImageReadMode.RGB
    return io.decode_image(io.read_file(path), mode, apply_exif_orientation=True)


def decode_cuda(paths: list[str], gray: bool) -> list[Image]:
    """JPEGs on the GPU in one batch (nvJPEG): uint8, shape (channels, height, width), there.

    Not turned as their EXIF says, which that decoder leaves to its caller.
    """
    from torchvision import io

    mode = io.ImageReadMode.GRAY if gray else io.ImageReadMode.RGB
    decoded: Any = io.decode_jpeg([_bytes(path) for path in paths], mode, device="cuda")
    return list(decoded)


DECODERS = {"PIL": decode_pil, "decode_jpeg": decode_tensor}


def tensor_of(image: Image) -> Any:
    """An output as a tensor: what is no tensor yet becomes uint8, (channels, height, width)."""
    import torch
    from torchvision.transforms.v2 import functional as F  # noqa: N812

    return image if isinstance(image, torch.Tensor) else F.pil_to_tensor(image)


class ImageDataset:
    """The data set: one image by its place in the list of files."""

    def __init__(self, program: Program, files: list[str], decoder: str) -> None:
        self._program, self._files, self._decoder = program, files, decoder
        self._operators: Mapping[str, Operator] | None = None
        self._chance = random.Random()

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> list[Any]:
        if self._operators is None:  # made where it is used: functions do not travel
            self._operators = operators()
            self._chance = random.Random()  # of its own in each worker process
        image = DECODERS[self._decoder](self._files[index], self._program.gray)
        return [tensor_of(one) for one in self._program.run(image, self._operators, self._chance)]


class CudaWorkload:
    """JPEGs decoded on the GPU in batches (nvJPEG), the rest there too, image by image."""

    def __init__(self, program: Program, files: list[str], batch_size: int, workers: int) -> None:
        self._program, self._files, self._size = program, files, batch_size
        self._operators = operators()
        self._chance = random.Random(0)
        self._indices = iter(EndlessBatchSampler(len(files), batch_size))
        self._pool = ThreadPoolExecutor(workers)
        self._coming: list[list[Future[Any]]] = [self._ask() for _ in range(AHEAD)]
        self.lead = AHEAD + 1

    def _ask(self) -> list[Future[Any]]:
        return [self._pool.submit(_bytes, self._files[index]) for index in next(self._indices)]

    def run(self) -> int:
        import torch
        from torchvision import io

        encoded = [one.result() for one in self._coming.pop(0)]
        self._coming.append(self._ask())
        mode = io.ImageReadMode.GRAY if self._program.gray else io.ImageReadMode.RGB
        images: Any = io.decode_jpeg(encoded, mode, device="cuda")
        stack_outputs([self._program.run(one, self._operators, self._chance) for one in images])
        torch.cuda.synchronize()
        return self._size


def _bytes(path: str) -> Any:
    import torch

    return torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.uint8)


def start(
    peer: Peer, program: Program, files: list[str], batch_size: int, workers: int
) -> LoaderWorkload | CudaWorkload:
    """Batches of the files."""
    if peer.decoder == "CUDA":
        return CudaWorkload(program, files, batch_size, workers)
    return LoaderWorkload(ImageDataset(program, files, peer.decoder), batch_size, workers)


def images(peer: Peer, program: Program, files: list[str]) -> list[NDArray[Any]]:
    """The program's first output for each file, as arrays in DALI's layout."""
    if peer.decoder == "CUDA":
        table, chance = operators(), random.Random(0)
        decoded = decode_cuda(files, program.gray)
        tensors = [program.run(image, table, chance)[0].cpu() for image in decoded]
    else:
        samples = ImageDataset(program, files, peer.decoder)
        tensors = [samples[index][0] for index in range(len(files))]
    normal = program.steps and program.steps[-1].op == "crop_mirror_normalize"
    return [np.asarray(tensor if normal else tensor.permute(1, 2, 0)) for tensor in tensors]
