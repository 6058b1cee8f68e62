"""Export steps in the same way for several libraries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from workbench.emit.interop.exporting.chains import RandomRange, Step
from workbench.emit.interop.exporting.source_text import Source
from workbench.emit.interop.exporting.transforms import Transforms

Range = tuple[float, float]
UNCHANGED: Range = (1.0, 1.0)


def export_flips(transforms: Transforms, step: Step, name: str) -> None:
    """Export the flips of a step. ``name`` is the class name, with ``{}`` in place of the axis."""
    axes = {"horizontal": "Horizontal", "vertical": "Vertical", "mirror": "Horizontal"}
    for argument, axis in axes.items():
        if argument in step.spec.args and (p := step.probability_of(argument)):
            transforms.add(name.format(axis), p=p)
            transforms.measured("flip")


def add_normalize(transforms: Transforms, mean: tuple[Any, ...], std: tuple[Any, ...]) -> None:
    """Export ``Normalize``, with mean and standard deviation converted to pixels from 0 to 1."""
    for name, values in (("MEAN", mean), ("STD", std)):
        transforms.constants[name] = str([round(value / 255, 6) for value in values])
    transforms.add("Normalize", Source("MEAN"), Source("STD"))
    transforms.measured("crop_mirror_normalize")


def export_random_resized_crop(
    transforms: Transforms, step: Step, sampling: Callable[[Step], Mapping[str, Any]]
) -> None:
    """Export a random resized crop. ``sampling`` returns the interpolation arguments."""
    area, ratio = step.items("random_area"), step.items("random_aspect_ratio")
    usual = abs(ratio[0] - 3 / 4) + abs(ratio[1] - 4 / 3) <= 1e-3
    transforms.add(
        "RandomResizedCrop",
        step.size(),
        scale=area if tuple(area) != (0.08, 1.0) else None,
        ratio=None if usual else ratio,
        **sampling(step),
    )
    transforms.measured("resize")


def jitter(step: Step) -> tuple[dict[str, Range], Range | None]:
    """Return the factor ranges of brightness, contrast and saturation, and the hue range or None.

    Hue shifts are between -0.5 and 0.5. Factors that are always 1 are omitted.
    """
    factors = {}
    for name in ("brightness", "contrast", "saturation"):
        argument = "value" if name == "brightness" and "value" in step.spec.args else name
        if argument in step.spec.args and (span := step.span(argument)) != UNCHANGED:
            factors[name] = span
    low, high = step.span("hue") if "hue" in step.spec.args else (0.0, 0.0)
    return factors, (max(low / 360, -0.5), min(high / 360, 0.5)) if low or high else None


def report_jitter(transforms: Transforms, factors: Mapping[str, Range], hue: Range | None) -> None:
    """Report how a library's ``ColorJitter`` differs from DALI."""
    changed = [*factors, *(["hue"] if hue else [])]
    for name in changed:
        transforms.measured(name)
    if len(changed) > 1:
        transforms.note("colours change in random order")
    if "contrast" in factors:
        transforms.note(MEAN_CONTRAST)
    if hue:
        transforms.note("the hue is rotated in HSV, not in YIQ")


MEAN_CONTRAST = "contrast scales around the mean of the image, not around 128"


def interpolation(step: Step, names: Mapping[str, str], where: str = "") -> str:
    """Return the library's name for the interpolation. Raises GraphExportError if it has none."""
    name = str(step.fixed("interp_type"))
    if name not in names:
        raise step.refusal(f"has no {name}{where}", "interp_type")
    return names[name]


def square_window(step: Step) -> int:
    """Return the window side of a blur. Raises GraphExportError if the window is not square."""
    sizes = step.items("window_size")
    if len(set(sizes)) > 1:
        raise step.refusal("supports square blur windows only", "window_size")
    return int(sizes[0])


def require_grey(step: Step) -> None:
    """Raise GraphExportError for a colour conversion other than RGB to grey."""
    if (step.fixed("image_type"), step.fixed("output_type")) != ("RGB", "GRAY"):
        raise step.refusal("only converts RGB to grey", "output_type")


def integers_if_whole(ends: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of a range. Integral ends are converted to integers."""
    low, high = (int(end) if float(end).is_integer() else end for end in ends)
    return low, high


def require_pillow_decoder_arguments(step: Step) -> None:
    """Raise GraphExportError if the decoder has arguments that Pillow does not support."""
    step.fixed("adjust_orientation")
    kind = step.fixed("output_type")
    if kind not in ("RGB", "GRAY"):
        raise step.refusal(f"decodes to RGB or GRAY, but output_type is {kind}", "output_type")


def grey_share(step: Step) -> float:
    """Return the probability of saturation 0, or 0 if values other than 0 and 1 occur."""
    found = step.value("saturation")
    values = found.values if isinstance(found, RandomRange) else (found,)
    return values.count(0) / len(values) if values and {*values} <= {0, 1} else 0.0


def blur_window(window: float, low: float, high: float) -> tuple[int, float, float]:
    """Return the window and sigma range of a Gaussian blur, with zeros replaced as in DALI."""
    if not window:
        return 2 * math.ceil(3 * high) + 1, low, high  # for the largest sigma
    if not high:
        low = high = ((window - 1) / 2 - 1) * 0.3 + 0.8
    return int(window), low, high


def erased_window(step: Step) -> tuple[float, float]:
    """Return the relative (height, width) of the window erased at a random position."""
    anchor, shape = step.value("anchor"), step.items("shape")
    normal = step.fixed("normalized") or step.fixed("normalized_shape")
    step.read |= {"axis_names", "axes", "normalized_anchor", "normalized"}
    if not isinstance(anchor, RandomRange) or anchor.numbers != 2 or len(shape) != 2 or not normal:
        raise step.refusal("only erases windows of relative size at random positions", "anchor")
    height, width = shape
    return height, width


def crop_place(step: Step) -> tuple[float, float] | None:
    """Return the relative position (x, y) of a crop, from 0 to 1, or None if it is random."""
    if "crop" not in step.given:
        raise step.refusal("needs a fixed size: set crop", "crop")
    places = step.value("crop_pos_x"), step.value("crop_pos_y")
    if not all(isinstance(each, RandomRange) for each in places):
        return places
    if any((each.low, each.high) != (0, 1) or each.values for each in places):
        raise step.refusal(
            "only crops at a random position (0 to 1) or at the centre (0.5)", "crop_pos_x"
        )
    return None


def unmasked_bits(step: Step, mask: float) -> int:
    """Return the number of highest bits that a bit mask preserves.

    Raises GraphExportError if the preserved bits are not the highest.
    """
    bits = int(mask).bit_count()
    if int(mask) != 256 - (1 << (8 - bits)):
        raise step.refusal(f"only preserves the highest bits, but the mask is {mask:g}")
    return bits
