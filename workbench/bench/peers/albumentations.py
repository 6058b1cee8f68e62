"""Albumentations: one ``Compose`` an output, on what OpenCV decodes, in PyTorch's DataLoader.

It draws for itself, from the ranges of the graph. Albumentations is imported in the worker only,
where it is installed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
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

NAME = "Albumentations"
PEERS = (Peer(NAME, "cpu", ("albumentations", "albumentations"), "OpenCV", __name__),)


def transforms(step: OperatorCall, program: Program) -> list[Any]:
    """An operator as Albumentations' transforms. Raises NoCounterpartError."""
    import albumentations as A  # noqa: N812
    import cv2

    def between(name: str, usual: float) -> tuple[float, float]:
        return value_range(program, step, name, usual)

    def fixed(name: str, usual: Any = None) -> Any:
        return fixed_value(step, name, usual, NAME)

    def flips(kind: Any, name: str, usual: float) -> list[Any]:
        return [kind(p=chance_of(program, step, name, usual))]

    def crops() -> list[Any]:
        if fixed("crop") is None:
            return []
        high, wide = (int(value) for value in fixed("crop"))
        places = {between("crop_pos_x", 0.5), between("crop_pos_y", 0.5)}
        if places == {(0.5, 0.5)}:
            return [A.CenterCrop(high, wide)]
        if places == {(0.0, 1.0)}:
            return [A.RandomCrop(high, wide)]
        raise NoCounterpartError(f"{NAME} crops in the centre or anywhere ({step.node})")

    def color(**ranges: tuple[float, float]) -> list[Any]:
        usual = {"brightness": (1.0, 1.0), "contrast": (1.0, 1.0), "saturation": (1.0, 1.0)}
        return [A.ColorJitter(**{**usual, "hue": (0.0, 0.0), **ranges}, p=1)]

    match step.op:
        case "random_resized_crop":
            high, wide = (int(value) for value in fixed("size"))
            return [
                A.RandomResizedCrop(
                    (high, wide),
                    tuple(fixed("random_area", (0.08, 1.0))),
                    tuple(fixed("random_aspect_ratio", (3 / 4, 4 / 3))),
                    area_for_downscale="image",
                )
            ]
        case "resize":
            if fixed("size") is not None:
                high, wide = (int(value) for value in fixed("size"))
                return [A.Resize(high, wide, area_for_downscale="image")]
            return [A.SmallestMaxSize(int(fixed("resize_shorter")), area_for_downscale="image")]
        case "crop":
            return crops()
        case "crop_mirror_normalize":
            normal = A.Normalize(fixed("mean", (0.0,)), fixed("std", (1.0,)), max_pixel_value=1.0)
            return [*crops(), *flips(A.HorizontalFlip, "mirror", 0.0), normal]
        case "rotate":
            fill = float(fixed("fill_value", 0.0))
            angle = between("angle", 0.0)
            if fixed("keep_size", False):
                edge = cv2.BORDER_CONSTANT
                return [A.Rotate(angle, border_mode=edge, fill=fill, p=1)]
            return [A.Affine(rotate=angle, fit_output=True, fill=fill, p=1)]
        case "color_twist" | "brightness_contrast" | "brightness" | "saturation":
            names = ("brightness", "contrast", "saturation")
            ranges = {name: between(name, 1.0) for name in names}
            hue = between("hue", 0.0)
            return color(**ranges, hue=(hue[0] / 360, hue[1] / 360))
        case "flip":
            return [
                *flips(A.HorizontalFlip, "horizontal", 1.0),
                *flips(A.VerticalFlip, "vertical", 0.0),
            ]
        case "gaussian_blur":
            window = int(fixed("window_size", 0))
            return [A.GaussianBlur((window, window), between("sigma", 1.0), p=1)]
    raise NoCounterpartError(f"{NAME} is given no counterpart of {step.op} ({step.node})")


def chance_of(program: Program, step: OperatorCall, name: str, usual: float) -> float:
    """The probability of a flip."""
    if name not in step.draws:
        return float(step.args.get(name, usual))
    kind, args = program.generators[step.draws[name]]
    if kind != "random.coin_flip":
        raise NoCounterpartError(f"{NAME} flips by a probability ({step.node})")
    return float(args.get("probability", 0.5))


class ComposedImages:
    """The data set: one image by its place in the list of files."""

    def __init__(self, program: Program, files: list[str]) -> None:
        self._program, self._files = program, files
        self._composed: list[Any] | None = None

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, index: int) -> list[NDArray[Any]]:
        if self._composed is None:  # made where it is used: each worker draws for itself
            self._composed = compose(self._program)
        image = decode(self._files[index], self._program.gray)
        found = [one(image=image)["image"] for one in self._composed]
        return [shaped(each, self._program, at) for at, each in enumerate(found)]


def compose(program: Program) -> list[Any]:
    """A ``Compose`` for each output."""
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # it asks the network for a newer one
    import albumentations as A  # noqa: N812
    import cv2

    cv2.setNumThreads(0)
    return [
        A.Compose([each for step in chain_of(program, out) for each in transforms(step, program)])
        for out in program.outputs
    ]


def shaped(image: NDArray[Any], program: Program, output: int) -> NDArray[Any]:
    """An output in the layout and type that the graph gives it."""
    chain = chain_of(program, program.outputs[output])
    last: Mapping[str, Any] = chain[-1].args if chain else {}
    image = np.atleast_3d(image)
    if not chain or chain[-1].op != "crop_mirror_normalize":
        return image
    if last.get("dtype") == "FLOAT16":
        image = image.astype(np.float16)
    turn = last.get("output_layout", "CHW") == "CHW"
    return np.ascontiguousarray(image.transpose(2, 0, 1)) if turn else image


def start(
    peer: Peer, program: Program, files: list[str], batch_size: int, workers: int
) -> LoaderWorkload:
    """Batches of the files."""
    return LoaderWorkload(ComposedImages(program, files), batch_size, workers)


def images(peer: Peer, program: Program, files: list[str]) -> list[NDArray[Any]]:
    """The program's first output for each file, as arrays in DALI's layout."""
    samples = ComposedImages(program, files)
    return [samples[index][0] for index in range(len(files))]
