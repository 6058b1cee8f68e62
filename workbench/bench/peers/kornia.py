"""Kornia: images that OpenCV decodes in PyTorch's DataLoader, augmented as a batch on the device.

Images of different sizes go through its operators one by one until they have one size; from there
it is one call for a batch. It draws for itself, from the ranges of the graph, and is imported in
the worker only, where it is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.peers.loader import LoaderWorkload
from workbench.bench.peers.opencv import decode
from workbench.bench.peers.program import (
    NoCounterpartError,
    OperatorCall,
    Peer,
    Program,
    chain_of,
    fixed_value,
    value_range,
)

NAME = "Kornia"
_NEEDS = ("kornia", "kornia")
PEERS = (Peer(f"{NAME} on CUDA", "mixed", _NEEDS, "cuda", __name__),)
"""Not on the CPU: a probe of it there took minutes, in which nothing else was learned."""


def transforms(step: OperatorCall, program: Program) -> list[Any]:
    """An operator as Kornia's, on floats from 0 to 1, (N, C, H, W). Raises NoCounterpartError."""
    import kornia.augmentation as K  # noqa: N812

    def between(name: str, usual: float) -> tuple[float, float]:
        return value_range(program, step, name, usual)

    def fixed(name: str, usual: Any = None) -> Any:
        return fixed_value(step, name, usual, NAME)

    def flip(kind: Any, name: str, usual: float) -> list[Any]:
        if name not in step.draws:
            return [kind(p=1.0)] * bool(step.args.get(name, usual))
        drawn, args = program.generators[step.draws[name]]
        if drawn != "random.coin_flip":
            raise NoCounterpartError(f"{NAME} flips by a probability ({step.node})")
        return [kind(p=float(args.get("probability", 0.5)))]

    def crops() -> list[Any]:
        if fixed("crop") is None:
            return []
        size = tuple(int(value) for value in fixed("crop"))
        places = {between("crop_pos_x", 0.5), between("crop_pos_y", 0.5)}
        if places == {(0.5, 0.5)}:
            return [K.CenterCrop(size, cropping_mode="slice")]
        if places == {(0.0, 1.0)}:
            return [K.RandomCrop(size, cropping_mode="slice")]
        raise NoCounterpartError(f"{NAME} crops in the centre or anywhere ({step.node})")

    match step.op:
        case "random_resized_crop":
            return [
                K.RandomResizedCrop(
                    tuple(int(value) for value in fixed("size")),
                    tuple(fixed("random_area", (0.08, 1.0))),
                    tuple(fixed("random_aspect_ratio", (3 / 4, 4 / 3))),
                    cropping_mode="slice",
                )
            ]
        case "resize":
            if fixed("size") is not None:
                return [K.Resize(tuple(int(v) for v in fixed("size")), antialias=True)]
            return [shorter_resized(float(fixed("resize_shorter")))]
        case "crop":
            return crops()
        case "crop_mirror_normalize":
            mean, std = ([v / 255 for v in fixed(n, (u,))] for n, u in (("mean", 0), ("std", 1)))
            return [*crops(), *flip(K.RandomHorizontalFlip, "mirror", 0.0), K.Normalize(mean, std)]
        case "rotate" if fixed("keep_size", False) and not fixed("fill_value", 0.0):
            return [K.RandomRotation(between("angle", 0.0), p=1.0, align_corners=True)]
        case "color_twist" | "brightness_contrast" | "brightness" | "saturation":
            low, high = between("hue", 0.0)
            ranges = (between(name, 1.0) for name in ("brightness", "contrast", "saturation"))
            return [K.ColorJitter(*ranges, (low / 360, high / 360), p=1.0)]
        case "flip":
            return [
                *flip(K.RandomHorizontalFlip, "horizontal", 1.0),
                *flip(K.RandomVerticalFlip, "vertical", 0.0),
            ]
        case "gaussian_blur" if fixed("window_size", 0):
            window = int(fixed("window_size"))
            return [K.RandomGaussianBlur((window, window), between("sigma", 1.0), p=1.0)]
    raise NoCounterpartError(f"{NAME} is given no counterpart of {step.op} ({step.node})")


def shorter_resized(side: float) -> Callable[[Any], Any]:
    """Images resized to a shorter side; the longer one rounds, as DALI's, where Kornia's is cut."""
    from kornia.geometry.transform import resize

    def resized(images: Any) -> Any:
        high, wide = images.shape[-2:]
        factor = side / min(high, wide)
        return resize(images, (round(high * factor), round(wide * factor)), antialias=True)

    return resized


class BatchAugmentation:
    """What the main process does with decoded images, on a device."""

    def __init__(self, program: Program, device: str) -> None:
        self._device = device
        self._chains = [chain_of(program, output) for output in program.outputs]
        self._steps = [
            [one for step in chain for one in transforms(step, program)] for chain in self._chains
        ]

    def __call__(self, images: list[Any]) -> list[Any]:
        """The outputs: each one tensor, or a list of them where their sizes differ."""
        import torch

        with torch.no_grad():
            given = [image.to(self._device, non_blocking=True) for image in images]
            # Without a batch of its own each is (1, C, H, W), floats from 0 to 1, as Kornia has it.
            floats = [one.permute(2, 0, 1)[None].float() / 255 for one in given]
            found = [
                self._finished(self._through(floats, steps), chain)
                for steps, chain in zip(self._steps, self._chains, strict=True)
            ]
            if self._device == "cuda":
                torch.cuda.synchronize()
        return found

    @staticmethod
    def _through(images: list[Any], steps: list[Any]) -> list[Any]:
        import torch

        for step in steps:
            if len(images) > 1 and len({image.shape for image in images}) == 1:
                images = [torch.cat(images)]
            images = [step(image) for image in images]
        return images

    @staticmethod
    def _finished(images: list[Any], chain: list[OperatorCall]) -> list[Any]:
        if not chain or chain[-1].op != "crop_mirror_normalize":
            return [(image * 255).round().clamp(0, 255).byte() for image in images]
        if chain[-1].args.get("dtype") == "FLOAT16":
            return [image.half() for image in images]
        return images


class DecodedImages:
    """The data set: one decoded image by its place in the list of files."""

    def __init__(self, files: list[str], gray: bool) -> None:
        import cv2

        cv2.setNumThreads(0)  # threads of its own would be missing in the processes forked later
        self._files, self._gray = files, gray

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> Any:
        import torch

        return torch.from_numpy(np.atleast_3d(decode(self._files[index], self._gray)))


def start(
    peer: Peer, program: Program, files: list[str], batch_size: int, workers: int
) -> LoaderWorkload:
    """Batches of the files."""
    return LoaderWorkload(
        DecodedImages(files, program.gray), batch_size, workers, list,
        BatchAugmentation(program, peer.decoder),
    )  # fmt: skip


def images(peer: Peer, program: Program, files: list[str]) -> list[NDArray[Any]]:
    """The program's first output for each file, as arrays in DALI's layout."""
    samples = DecodedImages(files, program.gray)
    found = BatchAugmentation(program, peer.decoder)([samples[i] for i in range(len(files))])[0]
    chain = chain_of(program, program.outputs[0])
    normal = bool(chain) and chain[-1].op == "crop_mirror_normalize"
    chw = normal and chain[-1].args.get("output_layout", "CHW") == "CHW"
    every = [image for batch in found for image in batch]
    return [np.asarray((one if chw else one.permute(1, 2, 0)).cpu()) for one in every]
