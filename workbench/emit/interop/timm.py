"""Convert timm's ``create_transform`` to DALI operators.

Order, defaults and constants are those of timm 1.0 (``timm/data/transforms_factory.py``,
``timm/data/constants.py``).
"""

from __future__ import annotations

import math
import re
from typing import Any

from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.geometry import erase_at_random
from workbench.emit.interop.importing.images import Images, NoMatchError, number, size_of
from workbench.emit.interop.library import WINDOW, Library, unused
from workbench.emit.interop.torchvision import colour, composition, geometry

TIMM = Library("timm", modules=("timm.data", "timm.data.transforms"))
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CONSTANTS = {
    "IMAGENET_DEFAULT_MEAN": _MEAN,
    "IMAGENET_DEFAULT_STD": _STD,
    **dict.fromkeys(("IMAGENET_INCEPTION_MEAN", "IMAGENET_INCEPTION_STD"), (0.5, 0.5, 0.5)),
    "OPENAI_CLIP_MEAN": (0.48145466, 0.4578275, 0.40821073),
    "OPENAI_CLIP_STD": (0.26862954, 0.26130258, 0.27577711),
}
"""Normalisation constants, copied from ``timm/data/constants.py``."""


_PATCHES = "the graph returns images, not patches"


@TIMM.imports("create_transform")
def create_transform(
    images: Images,
    input_size: Any = 224,
    is_training: bool = False,
    no_aug: bool = False,
    train_crop_mode: Any = None,
    scale: Any = None,
    ratio: Any = None,
    hflip: float = 0.5,
    vflip: float = 0.0,
    color_jitter: Any = 0.4,
    color_jitter_prob: Any = None,
    grayscale_prob: float = 0.0,
    gaussian_blur_prob: float = 0.0,
    auto_augment: Any = None,
    interpolation: Any = "bilinear",
    mean: Any = _MEAN,
    std: Any = _STD,
    re_prob: float = 0.0,
    re_mode: str = "const",
    re_count: int = 1,
    re_num_splits: int = unused(0, "all images are erased in the same way"),
    crop_pct: Any = None,
    crop_mode: Any = None,
    crop_border_pixels: Any = unused(None, "nothing is cropped at the border"),
    tf_preprocessing: bool = unused(False, "the images are processed as with PIL"),
    use_prefetcher: bool = False,
    normalize: bool = True,
    separate: bool = unused(False, "the graph is not split"),
    *,
    naflex: bool = unused(False, _PATCHES),
    patch_size: Any = unused(16, _PATCHES),
    max_seq_len: Any = unused(576, _PATCHES),
    patchify: bool = unused(False, _PATCHES),
    patchify_channels_last: bool = unused(True, _PATCHES),
    patchify_flatten: bool = unused(True, _PATCHES),
) -> None:
    if use_prefetcher:
        images.report_difference("normalised here, not in timm's prefetching loader")
    size = size_of(input_size[-2:] if isinstance(input_size, list | tuple) else input_size)
    interpolation = _one_interpolation(images, interpolation)
    if not is_training or no_aug:
        _evaluation(images, size, interpolation, crop_pct, crop_mode)
        _to_tensor(images, mean, std, normalize)
        return
    if train_crop_mode not in (None, "rrc"):
        raise NoMatchError(f"train_crop_mode is {train_crop_mode}; only rrc is supported")
    geometry.random_resized_crop(
        images, size, scale or (0.08, 1.0), ratio or (3 / 4, 4 / 3), interpolation
    )
    if hflip > 0:
        geometry.random_horizontal_flip(images, hflip)
    if vflip > 0:
        geometry.random_vertical_flip(images, vflip)
    if auto_augment:
        _automatic(images, str(auto_augment))
    elif color_jitter:
        strengths = color_jitter if isinstance(color_jitter, list | tuple) else 3 * (color_jitter,)
        images.with_p(
            1.0 if color_jitter_prob is None else number(color_jitter_prob),
            lambda: colour.color_jitter(images, *strengths),
        )
    images.with_p(number(grayscale_prob), lambda: pixels.grey(images, 3))
    images.with_p(number(gaussian_blur_prob), lambda: colour.gaussian_blur(images, 23, (0.1, 2.0)))
    _to_tensor(images, mean, std, normalize)
    if re_prob > 0:
        if re_mode != "const":
            images.report_difference(f"erased with the mean, not with noise (re_mode={re_mode})")
        for _ in range(int(re_count)):
            images.with_p(
                number(re_prob),
                lambda: erase_at_random(images, (0.02, 1 / 3), (0.3, 1 / 0.3), 0.0),
            )


def _to_tensor(images: Images, mean: Any, std: Any, normalize: bool) -> None:
    composition.to_tensor(images)
    if normalize:
        composition.normalize(images, mean, std)


@TIMM.imports("RandomResizedCropAndInterpolation", compare=WINDOW)
def random_resized_crop_and_interpolation(
    images: Images,
    size: Any,
    scale: Any = (0.08, 1.0),
    ratio: Any = (3 / 4, 4 / 3),
    interpolation: Any = "bilinear",
) -> None:
    interpolation = _one_interpolation(images, interpolation)
    geometry.random_resized_crop(images, size, scale, ratio, interpolation)


def _one_interpolation(images: Images, interpolation: Any) -> Any:
    if interpolation != "random":
        return interpolation
    images.report_difference(
        "resized by bilinear interpolation; timm selects bilinear or bicubic at random"
    )
    return "bilinear"


def _evaluation(
    images: Images, size: tuple[int, int], interpolation: Any, crop_pct: Any, crop_mode: Any
) -> None:
    if crop_mode not in (None, "center"):
        raise NoMatchError(f"crop_mode is {crop_mode}; only center is supported")
    share = number(crop_pct or 0.875)
    longer = [math.floor(side / share) for side in size]
    geometry.resize(images, longer[0] if size[0] == size[1] else longer, interpolation)
    geometry.center_crop(images, size)


def _automatic(images: Images, text: str) -> None:
    name, *settings = text.split("-")
    values = {m[1]: m[2] for each in settings if (m := re.fullmatch(r"([a-z]+)(.+)", each))}
    if name == "rand":
        if set(values) - {"m", "n"}:
            images.report_difference(f"only magnitude and number of {text} are used")
        # timm clips magnitudes to 10; DALI's bins start at 0
        magnitude = min(10, int(float(values.get("m", 9))))
        colour.rand_augment(images, int(values.get("n", 2)), magnitude, 11)
    elif name in ("original", "originalr", "v0", "v0r"):
        colour.auto_augment(images)
        if name != "original":
            images.report_difference(f"the policy is that of the paper, not {name}")
    else:
        images.report_omission(
            f"auto_augment={text} is omitted: only rand-... and original are supported"
        )
