"""DALI's operators in Albumentations' transforms, on uint8 arrays (albumentations 2.0.8)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.emit.interop.common.source_text import Expression, Source, call_of
from workbench.emit.interop.common.steps import (
    Choice,
    Drawn,
    Step,
    area_ranges,
    blur_window,
    crop_place,
    decoded_with_pillow,
    grey_share,
    kept_bits,
    whole,
)
from workbench.emit.interop.common.transforms import Library, Transforms, with_p

_INTERPOLATIONS = {
    "INTERP_NN": "NEAREST",
    "INTERP_LINEAR": "LINEAR",
    "INTERP_TRIANGULAR": "LINEAR",
    "INTERP_CUBIC": "CUBIC",
    "INTERP_LANCZOS3": "LANCZOS4",
}
_UNCHANGED = (1.0, 1.0)


def _choice(transforms: Transforms, choice: Choice) -> list[Expression]:
    options = [transforms.of(option).made for option in choice.options]
    if choice.times is not None:
        low, high = choice.times
        counts = [options[0] * times for times in range(low, high + 1)]
        return counts[0] if low == high else [_one_of(counts, (1 / len(counts),) * len(counts))]
    if choice.weights:
        if choice.node.op == "if" and not all(options):
            steps, p = next(
                (each for each in zip(options, choice.weights, strict=True) if each[0]), ([], 0.0)
            )
            return _applied(steps, p)
        return [_one_of(options, choice.weights)]
    kind = "RandomOrder" if choice.shuffled else "SomeOf"
    joined = [_joined(option, 1.0) for option in options]
    return [call_of(f"A.{kind}", joined, n=choice.count)]


def _one_of(options: list[list[Expression]], weights: Sequence[float]) -> Expression:
    """``OneOf``, which takes each transform's p for its weight, and the one it takes always."""
    return call_of(
        "A.OneOf",
        [_joined(option, p, sure=True) for option, p in zip(options, weights, strict=True)],
        p=1.0,
    )


def _joined(steps: list[Expression], p: float, *, sure: bool = False) -> Expression:
    """The steps as one transform of a probability; ``sure`` where that stands for a weight."""
    if not steps:
        return call_of("A.NoOp", p=round(p, 6))
    if len(steps) == 1 and (own := with_p(steps[0], 1.0)) is not None:
        always = ("p", "1.0") in own.arguments
        if always or not sure:
            found = with_p(own, p)
            assert found is not None
            return found
    return call_of("A.Sequential", steps, p=round(p, 6))


def _applied(steps: list[Expression], p: float) -> list[Expression]:
    if not steps or p >= 1:
        return steps
    return [_joined(steps, p)]


ALBUMENTATIONS = Library(
    "albumentations", "A.", _choice, applied='{}(image=photo)["image"]', needs_compose=True
)
_rule, _expression = ALBUMENTATIONS.rule, ALBUMENTATIONS.expression
ALBUMENTATIONS.unmatched.update(
    {
        **dict.fromkeys(
            ("rand_augment", "trivial_augment_wide", "auto_augment", "apply_auto_augment"),
            "has no automatic augmentation; torchvision has",
        ),
        "grid_mask": "turns no grid in GridDropout",
        "warp_affine": "draws its affine map itself (Affine), and takes no matrix",
        "experimental.warp_perspective": "draws its perspective itself, and takes no matrix",
        "noise.shot": "scales shot noise otherwise",
    }
)


def _interpolation(step: Step) -> Source | None:
    """The argument ``interpolation``; None where it is linear, the default."""
    name = str(step.fixed("interp_type"))
    if name not in _INTERPOLATIONS:
        raise step.refusal(f"has no {name}", "interp_type")
    found = _INTERPOLATIONS[name]
    return None if found == "LINEAR" else Source(f"cv2.INTER_{found}")


def _sampling(step: Step) -> dict[str, Source | str | None]:
    """How a resize samples: DALI smooths what it makes smaller, OpenCV does as INTER_AREA."""
    area = step.fixed("antialias") and step.fixed("interp_type") != "INTERP_NN"
    return {
        "interpolation": _interpolation(step),
        "area_for_downscale": "image" if area else None,
    }


@_rule("decoders.image")
def decode(transforms: Transforms, step: Step) -> None:
    decoded_with_pillow(step)


@_rule("resize")
def resize(transforms: Transforms, step: Step) -> None:
    sampling = _sampling(step)
    transforms.measured("resize")
    if "size" in step.given:
        size, mode = step.size(), step.fixed("mode")
        if mode == "default":
            transforms.add("Resize", *size, **sampling)
            return
        kinds = {"not_smaller": "SmallestMaxSize", "not_larger": "LongestMaxSize"}
        if mode not in kinds:
            raise step.refusal("has no counterpart of this mode", "mode")
        transforms.add(kinds[mode], max_size_hw=size, **sampling)
        return
    for name, kind in (("resize_shorter", "Smallest"), ("resize_longer", "Longest")):
        if name in step.given:
            low, high = (round(end) for end in step.span(name))
            side = Source(f"list(range({low}, {high + 1}))") if low != high else low
            transforms.add(f"{kind}MaxSize", side, **sampling)
            return
    raise step.refusal("resizes to a size or by one side")


@_rule("random_resized_crop")
def random_resized_crop(transforms: Transforms, step: Step) -> None:
    transforms.add(
        "RandomResizedCrop",
        step.size(),
        **area_ranges(step),
        **_sampling(step),
    )
    transforms.measured("resize")


@_rule("crop")
def crop(transforms: Transforms, step: Step) -> None:
    place = crop_place(step)
    height, width = step.size("crop")
    if place is None:
        transforms.add("RandomCrop", height, width)
    elif place == (0.5, 0.5):
        transforms.add("CenterCrop", height, width)
        transforms.measured("crop")
        transforms.note("a middle between two pixels is rounded down, not up")
    elif place == (0.0, 0.0):
        transforms.add("Crop", x_max=width, y_max=height)
    else:
        raise step.refusal("crops anywhere, in the middle or at the upper left", "crop_pos_x")


@_rule("flip")
def flip(transforms: Transforms, step: Step) -> None:
    for name in ("horizontal", "vertical"):
        if p := step.chance(name):
            transforms.add(f"{name.title()}Flip", p=p)
            transforms.measured("flip")


@_rule("crop_mirror_normalize")
def crop_mirror_normalize(transforms: Transforms, step: Step) -> None:
    if "crop" in step.given:
        crop(transforms, step)
    if p := step.chance("mirror"):
        transforms.add("HorizontalFlip", p=p)
        transforms.measured("flip")
    mean, std = step.items("mean"), step.items("std")
    dtype = step.fixed("dtype")
    plain = not any(mean) and set(std) == {1.0}
    if dtype == "FLOAT" and not plain:
        for name, values in (("MEAN", mean), ("STD", std)):
            transforms.constants[name] = str([round(value / 255, 6) for value in values])
        transforms.add("Normalize", Source("MEAN"), Source("STD"))
        transforms.measured("crop_mirror_normalize")
    elif dtype == "FLOAT":
        transforms.add("ToFloat", max_value=1.0, p=1.0)
    elif dtype != "UINT8" or not plain:
        raise step.refusal("normalises to floats of 32 bits", "dtype")
    if step.fixed("output_layout") == "CHW":
        transforms.add("ToTensorV2")


@_rule("rotate")
def rotate(transforms: Transforms, step: Step) -> None:
    angle, fill = step.value("angle"), step.value("fill_value")
    named = {
        "interpolation": _interpolation(step),
        "border_mode": Source("cv2.BORDER_REPLICATE") if fill is None else None,
        "fill": fill or None,
        "p": 1.0,
    }
    transforms.measured("rotate")
    keep = step.fixed("keep_size")

    def turned(limit: tuple[float, float]) -> Expression:
        if keep:
            return call_of("A.Rotate", limit, **named)
        return call_of("A.Affine", rotate=limit, fit_output=True, **named)

    if isinstance(angle, Drawn) and angle.values:
        turns = [[turned(whole((each, each)))] for each in angle.shares]
        transforms.made.append(_one_of(turns, [*angle.shares.values()]))
    else:
        transforms.made.append(turned(whole(step.span("angle"))))


@_rule("color_twist", "brightness_contrast", "brightness", "contrast", "saturation", "hue", "hsv")
def color_jitter(transforms: Transforms, step: Step) -> None:
    names = step.reading.catalog[step.op].args
    if step.op == "saturation" and (p := grey_share(step)):
        transforms.add("ToGray", p=p)
        transforms.measured("grey")
        return
    ranges = {
        name: step.span(name) if name in names else _UNCHANGED
        for name in ("brightness", "contrast", "saturation")
    }
    centre = step.fixed("contrast_center") if "contrast_center" in names else 0.5
    if "brightness_shift" in step.given or (centre == 0 and ranges["contrast"] != _UNCHANGED):
        shift = step.span("brightness_shift")
        low, high = ranges["contrast"]
        if ranges["brightness"] != _UNCHANGED:
            raise step.refusal("multiplies by one factor, or shifts", "brightness_shift")
        if centre != 0 and (low, high) != _UNCHANGED:
            transforms.note("contrast turns about 0, not about 128")
        limits = {"brightness_limit": shift, "contrast_limit": (low - 1, high - 1)}
        transforms.add("RandomBrightnessContrast", **limits, p=1.0)
        transforms.measured("brightness_shift")
        return
    if "value" in names and (value := step.span("value")) != _UNCHANGED:
        ranges["brightness"] = value
    hue = step.span("hue") if "hue" in names else (0.0, 0.0)
    turned = max(hue[0] / 360, -0.5), min(hue[1] / 360, 0.5)
    transforms.add("ColorJitter", **ranges, hue=turned, p=1.0)
    for name, given in ranges.items():
        if given != _UNCHANGED:
            transforms.measured(name)
    if ranges["contrast"] != _UNCHANGED:
        transforms.note("contrast turns about the mean of the image, not about 128")
    if sum(each != _UNCHANGED for each in ranges.values()) + any(hue) > 1:
        transforms.note("colours change in an order that is drawn")
    if any(hue):
        transforms.measured("hue")
        transforms.note("the hue is turned in HSV, not in YIQ")


@_rule("gaussian_blur")
def gaussian_blur(transforms: Transforms, step: Step) -> None:
    sizes, sigma = step.fixed("window_size"), step.value("sigma")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    if len(set(sizes)) > 1:
        raise step.refusal("blurs in a square window", "window_size")
    transforms.measured("gaussian_blur")

    def blur(low: float, high: float) -> Expression:
        window, low, high = blur_window(sizes[0], low, high)
        return call_of("A.GaussianBlur", (window, window), (low, high), p=1.0)

    if isinstance(sigma, Drawn) and sigma.values:
        blurs = [[blur(each, each)] for each in sigma.shares]
        transforms.made.append(_one_of(blurs, [*sigma.shares.values()]))
    else:
        transforms.made.append(blur(*step.span("sigma")))


@_rule("noise.gaussian")
def gaussian_noise(transforms: Transforms, step: Step) -> None:
    means, (low, high) = step.span("mean"), step.span("stddev")
    transforms.add(
        "GaussNoise",
        std_range=(low / 255, high / 255),
        mean_range=tuple(each / 255 for each in means) if any(means) else None,
        p=1.0,
    )


@_rule("noise.salt_and_pepper")
def salt_and_pepper(transforms: Transforms, step: Step) -> None:
    transforms.add(
        "SaltAndPepper",
        amount=step.span("prob"),
        salt_vs_pepper=step.span("salt_vs_pepper"),
        p=1.0,
    )


@_rule("experimental.median_blur")
def median_blur(transforms: Transforms, step: Step) -> None:
    sizes = step.fixed("window_size")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    if len(set(sizes)) > 1:
        raise step.refusal("blurs in a square window", "window_size")
    transforms.add("MedianBlur", (int(sizes[0]), int(sizes[0])), p=1.0)


@_rule("jpeg_compression_distortion")
def jpeg(transforms: Transforms, step: Step) -> None:
    low, high = (round(end) for end in step.span("quality"))
    transforms.add("ImageCompression", quality_range=(low, high), p=1.0)
    transforms.measured("jpeg_compression_distortion")


@_rule("clahe")
def clahe(transforms: Transforms, step: Step) -> None:
    limit = float(step.fixed("clip_limit"))
    tiles = int(step.fixed("tiles_y")), int(step.fixed("tiles_x"))
    step.read.add("luma_only")
    tile_grid_size = tiles if tiles != (8, 8) else None
    transforms.add("CLAHE", (limit, limit), tile_grid_size=tile_grid_size, p=1.0)
    transforms.measured("clahe")


@_rule("equalize")
def equalize(transforms: Transforms, step: Step) -> None:
    transforms.add("Equalize", p=1.0)
    transforms.measured("equalize")


@_rule("color_space_conversion")
def grayscale(transforms: Transforms, step: Step) -> None:
    if (step.fixed("image_type"), step.fixed("output_type")) != ("RGB", "GRAY"):
        raise step.refusal("converts RGB to grey", "output_type")
    transforms.add("ToGray", num_output_channels=1, p=1.0)
    transforms.measured("grey")


@_rule("transpose")
def transpose(transforms: Transforms, step: Step) -> None:
    perm = step.items("perm")
    step.read |= {"output_layout", "transpose_layout"}
    if perm == (2, 0, 1):
        transforms.add("ToTensorV2")
    elif perm == (1, 0, 2):
        transforms.add("Transpose", p=1.0)
    else:
        raise step.refusal("exchanges height and width, or puts channels first", "perm")


@_rule("erase")
def erase(transforms: Transforms, step: Step) -> None:
    """A window of one size, anywhere: a hole of CoarseDropout."""
    anchor, shape, fill = step.value("anchor"), step.items("shape"), step.items("fill_value")
    normal = step.fixed("normalized") or step.fixed("normalized_shape")
    step.read |= {"axis_names", "axes", "normalized_anchor", "normalized"}
    if not isinstance(anchor, Drawn) or anchor.numbers != 2 or len(shape) != 2 or not normal:
        raise step.refusal("erases a window of a share of the image, anywhere", "anchor")
    height, width = shape
    transforms.add(
        "CoarseDropout",
        num_holes_range=(1, 1),
        hole_height_range=(height, height),
        hole_width_range=(width, width),
        fill=tuple(fill) if len(set(fill)) > 1 else fill[0],
        p=1.0,
    )
    transforms.note("the window is wholly inside, where DALI's begins in the drawn range")


@_expression("bitxor(x, 255)")
@_expression("sub(255, x)")
def invert(transforms: Transforms, step: Step) -> None:
    transforms.add("InvertImg", p=1.0)
    transforms.measured("invert")


@_expression("bitxor(x, mul(ge(x, N), 255))")
def solarize(transforms: Transforms, step: Step, threshold: float) -> None:
    share = math.floor(threshold / 255 * 1e6) / 1e6  # rounded up it would miss the threshold
    transforms.add("Solarize", (share, share), p=1.0)
    transforms.measured("solarize")


@_expression("bitand(x, N)")
def posterize(transforms: Transforms, step: Step, mask: float) -> None:
    transforms.add("Posterize", kept_bits(step, mask), p=1.0)
    transforms.measured("posterize")


@_expression("clamp(mul(pow(mul(x, 0.00392157), N), 255), 0, 255)")
@_expression("clamp(mul(pow(mul(x, 0.00392157), [N, N]), 255), 0, 255)")
def gamma(transforms: Transforms, step: Step, *ends: float) -> None:
    transforms.add("RandomGamma", (round(100 * ends[0]), round(100 * ends[-1])), p=1.0)
    transforms.measured("gamma")


@_expression("clamp(add(x, stack([N, N], [N, N], [N, N])), 0, 255)")
def shift_channels(transforms: Transforms, step: Step, *ends: float) -> None:
    transforms.add("RGBShift", *(ends[at : at + 2] for at in (0, 2, 4)), p=1.0)
    transforms.measured("shift of channels")
