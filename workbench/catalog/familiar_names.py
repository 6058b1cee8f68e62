"""DALI's names for operators and arguments that other libraries name differently."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_OPERATORS = {
    "affine": "warp_affine",
    "brightness": "brightness",
    "centercrop": "crop",
    "coarsedropout": "erase",
    "colorjitter": "color_twist",
    "cutout": "erase",
    "gaussianblur": "gaussian_blur",
    "gaussnoise": "noise.gaussian",
    "gaussiannoise": "noise.gaussian",
    "grayscale": "color_space_conversion",
    "griddropout": "grid_mask",
    "hflip": "flip",
    "horizontalflip": "flip",
    "huesaturationvalue": "hsv",
    "imagecompression": "jpeg_compression_distortion",
    "jpeg": "jpeg_compression_distortion",
    "longestmaxsize": "resize",
    "mirror": "flip",
    "normalise": "crop_mirror_normalize",
    "randomaffine": "warp_affine",
    "randombrightnesscontrast": "brightness_contrast",
    "randomcrop": "crop",
    "randomerasing": "erase",
    "randomgrayscale": "color_space_conversion",
    "randomhorizontalflip": "flip",
    "randomrotation": "rotate",
    "randomverticalflip": "flip",
    "resizedcrop": "random_resized_crop",
    "smallestmaxsize": "resize",
    "tograyscale": "color_space_conversion",
    "verticalflip": "flip",
    "vflip": "flip",
}
_ARGUMENTS = {
    "degrees": "angle",
    "fill": "fill_value",
    "interpolation": "interp_type",
    "kernel_size": "window_size",
    "limit": "angle",
    "p": "probability",
    "ratio": "random_aspect_ratio",
    "scale": "random_area",
    "std": "stddev",
}


def nearest_operators(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The names in ``known`` that a wrong operator name may mean, the best first.

    Names of torchvision and Albumentations come before names of similar spelling.
    """
    public = [each for each in known if not each.startswith("_")]
    plain = name.replace("_", "").lower()
    same = [each for each in public if each.replace("_", "") == plain]
    familiar = _OPERATORS.get(plain)
    found = same + ([familiar] if familiar in public else [])
    return found[:count] or get_close_matches(name, public, n=count, cutoff=0.7)


def nearest_arguments(name: str, known: Iterable[str]) -> list[str]:
    """The argument in ``known`` that a wrong argument name may mean, or none."""
    names = list(known)
    familiar = _ARGUMENTS.get(name)
    return [familiar] if familiar in names else get_close_matches(name, names, n=1)
