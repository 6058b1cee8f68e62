"""DALI's operators in torchvision's transforms v2, on uint8 tensors (torchvision 0.28)."""

from __future__ import annotations

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
    "INTERP_LINEAR": "BILINEAR",
    "INTERP_TRIANGULAR": "BILINEAR",
    "INTERP_CUBIC": "BICUBIC",
}
_UNCHANGED = (1.0, 1.0)


def _choice(transforms: Transforms, choice: Choice) -> list[Expression]:
    options = [transforms.of(option).made for option in choice.options]
    if choice.times is not None:
        return _repeated(options[0], *choice.times)
    joined = [_joined(option) for option in options]
    if choice.weights:
        if choice.node.op == "if" and not all(options):
            ((steps, p),) = [
                each for each in zip(options, choice.weights, strict=True) if each[0]
            ] or [([], 0.0)]
            return _applied(steps, p)
        return [_one_of(joined, choice.weights)]
    if choice.shuffled and choice.count == len(options):
        return [call_of("v2.RandomOrder", joined)]
    kind = "permutations" if choice.shuffled else "combinations"
    transforms.imports.add(f"from itertools import {kind}")
    transforms.options[choice.node.id] = joined
    chosen = f"[v2.Compose(each) for each in {kind}({choice.node.id}, {choice.count})]"
    return [call_of("v2.RandomChoice", Source(chosen))]


def _one_of(options: list[Expression], weights: Sequence[float]) -> Expression:
    shares = [round(each, 6) for each in weights]
    equal = len(set(shares)) == 1
    return call_of("v2.RandomChoice", options, p=None if equal else Source(str(shares)))


def _joined(steps: list[Expression]) -> Expression:
    if not steps:
        return call_of("v2.Identity")
    return steps[0] if len(steps) == 1 else call_of("v2.Compose", steps)


def _applied(steps: list[Expression], p: float) -> list[Expression]:
    """The steps with a probability: in the transform itself where it takes one."""
    if not steps or p >= 1:
        return steps
    if len(steps) == 1 and (own := with_p(steps[0], p)):
        return [own]
    return [call_of("v2.RandomApply", steps, p=p)]


def _repeated(steps: list[Expression], low: int, high: int) -> list[Expression]:
    if not steps or high < 1:
        return []
    joined = _joined(steps)
    counts = [_joined([joined] * times) for times in range(low, high + 1)]
    return counts if low == high else [call_of("v2.RandomChoice", counts)]


TORCHVISION = Library("torchvision", "v2.", _choice)
_rule, _expression = TORCHVISION.rule, TORCHVISION.expression
TORCHVISION.unmatched.update(
    {
        "clahe": "has no CLAHE; albumentations has",
        "grid_mask": "has no grid mask",
        "median_blur": "has no median blur; albumentations has",
        "warp_affine": "draws its affine map itself (RandomAffine), and takes no matrix",
        "experimental.warp_perspective": "draws its perspective itself, and takes no matrix",
        "auto_augment": "has magnitudes of its own in AutoAugment",
        "noise.salt_and_pepper": "has no salt and pepper noise; albumentations has",
        "noise.shot": "has no shot noise; albumentations has",
    }
)


def _interpolation(step: Step, usual: str) -> Source | None:
    """The argument ``interpolation``; None where it is the transform's own default."""
    name = str(step.fixed("interp_type"))
    if name not in _INTERPOLATIONS:
        raise step.refusal(f"has no {name} on tensors", "interp_type")
    found = _INTERPOLATIONS[name]
    return None if found == usual else Source(f"v2.InterpolationMode.{found}")


def _antialias(step: Step) -> bool | None:
    return None if step.fixed("antialias") else False


@_rule("decoders.image")
def decode(transforms: Transforms, step: Step) -> None:
    decoded_with_pillow(step)
    transforms.add("ToImage")


@_rule("resize")
def resize(transforms: Transforms, step: Step) -> None:
    interpolation, antialias = _interpolation(step, "BILINEAR"), _antialias(step)
    named = {"interpolation": interpolation, "antialias": antialias}
    transforms.measured("resize")
    if "size" in step.given:
        size = step.size()
        if step.fixed("mode") == "not_smaller":
            if size[0] != size[1]:
                raise step.refusal("resizes by one side or both, and mode is not_smaller", "mode")
            transforms.add("Resize", size[0], **named)
        elif step.fixed("mode") == "default":
            transforms.add("Resize", size, **named)
        else:
            raise step.refusal("has no counterpart of this mode", "mode")
        return
    for name in ("resize_shorter", "resize_longer"):
        if name in step.given:
            low, high = (round(end) for end in step.span(name))
            limit = step.fixed("max_size") if "max_size" in step.given else None
            if name == "resize_longer":
                if low != high:
                    raise step.refusal("draws the shorter side, not the longer one", name)
                transforms.add("Resize", None, max_size=low, **named)
            elif low == high:
                transforms.add("Resize", low, max_size=limit, **named)
            else:
                transforms.add("RandomResize", low, high, **named)
            return
    raise step.refusal("resizes to a size or by one side")


@_rule("random_resized_crop")
def random_resized_crop(transforms: Transforms, step: Step) -> None:
    transforms.add(
        "RandomResizedCrop",
        step.size(),
        **area_ranges(step),
        interpolation=_interpolation(step, "BILINEAR"),
        antialias=_antialias(step),
    )
    transforms.measured("resize")


@_rule("crop")
def crop(transforms: Transforms, step: Step) -> None:
    place = crop_place(step)
    size = step.size("crop")
    if place is None:
        transforms.add("RandomCrop", size)
    elif place == (0.5, 0.5):
        transforms.add("CenterCrop", size)
        transforms.measured("crop")
        transforms.note("a middle between two pixels is rounded to the even one, not up")
    elif all(each in (0.0, 1.0) for each in place):
        corner = 2 * int(place[1]) + int(place[0])
        transforms.add("FiveCrop", size)  # upper left, upper right, lower left, lower right
        transforms.made.append(call_of("itemgetter", corner))
        transforms.imports.add("from operator import itemgetter")
        transforms.measured("crop")
    else:
        raise step.refusal("crops anywhere, in the middle or at a corner", "crop_pos_x")


@_rule("flip")
def flip(transforms: Transforms, step: Step) -> None:
    for name, kind in (("horizontal", "Horizontal"), ("vertical", "Vertical")):
        if p := step.chance(name):
            transforms.add(f"Random{kind}Flip", p=p)
            transforms.measured("flip")


@_rule("crop_mirror_normalize")
def crop_mirror_normalize(transforms: Transforms, step: Step) -> None:
    if "crop" in step.given:
        crop(transforms, step)
    if p := step.chance("mirror"):
        transforms.add("RandomHorizontalFlip", p=p)
        transforms.measured("flip")
    step.fixed("output_layout")  # torchvision has channels first throughout
    dtype = step.fixed("dtype")
    mean, std = step.items("mean"), step.items("std")
    plain = not any(mean) and set(std) == {1.0}
    if dtype == "UINT8" and plain:
        return
    if dtype not in ("FLOAT", "FLOAT16"):
        raise step.refusal("normalises floats", "dtype")
    transforms.add("ToDtype", Source("torch.float32"), scale=None if plain else True)
    if not plain:
        for name, values in (("MEAN", mean), ("STD", std)):
            shares = [round(value / 255, 6) for value in values]
            transforms.constants[name] = str(shares)
        transforms.add("Normalize", Source("MEAN"), Source("STD"))
        transforms.measured("crop_mirror_normalize")
    if dtype == "FLOAT16":
        transforms.add("ToDtype", Source("torch.float16"))


@_rule("rotate")
def rotate(transforms: Transforms, step: Step) -> None:
    angle, fill = step.value("angle"), step.value("fill_value")
    named = {
        "interpolation": _interpolation(step, "NEAREST"),
        "expand": None if step.fixed("keep_size") else True,
        "fill": fill or None,
    }
    if fill is None:
        transforms.note("rotations fill with 0, where DALI repeats the border")
    transforms.measured("rotate")
    if isinstance(angle, Drawn) and angle.values:
        turns: list[Expression] = [
            call_of("v2.RandomRotation", whole((each, each)), **named) for each in angle.shares
        ]
        transforms.made.append(_one_of(turns, [*angle.shares.values()]))
    else:
        transforms.add("RandomRotation", whole(step.span("angle")), **named)


_BRIGHTEN = '''\
class Brighten(v2.Transform):
    """Add a drawn share of 255."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def make_params(self, flat_inputs: list[Any]) -> dict[str, float]:
        return {"share": torch.empty(()).uniform_(self.low, self.high).item()}

    def transform(self, inpt: torch.Tensor, params: dict[str, float]) -> torch.Tensor:
        return (inpt + 255 * params["share"]).round().clamp(0, 255).to(torch.uint8)
'''


@_rule("color_twist", "brightness_contrast", "brightness", "contrast", "saturation", "hue", "hsv")
def color_jitter(transforms: Transforms, step: Step) -> None:
    names = step.reading.catalog[step.op].args
    if step.op == "saturation" and (p := grey_share(step)):
        transforms.add("RandomGrayscale", p=p)
        transforms.measured("grey")
        return
    ranges: dict[str, tuple[float, float] | None] = {}
    for name in ("brightness", "contrast", "saturation"):
        span = step.span(name) if name in names else _UNCHANGED
        ranges[name] = span if span != _UNCHANGED else None
    if "value" in names and (value := step.span("value")) != _UNCHANGED:
        ranges["brightness"] = value
    hue = step.span("hue") if "hue" in names else (0.0, 0.0)
    turned = (max(hue[0] / 360, -0.5), min(hue[1] / 360, 0.5)) if any(hue) else None
    if any((*ranges.values(), turned)):
        transforms.add("ColorJitter", **ranges, hue=turned)
    if "brightness_shift" in step.given:
        transforms.classes["Brighten"] = _BRIGHTEN
        transforms.made.append(call_of("Brighten", *step.span("brightness_shift")))
        transforms.measured("brightness_shift")
    for name, given in {**ranges, "hue": turned}.items():
        if given:
            transforms.measured(name)
    if "contrast_center" in step.given:
        step.fixed("contrast_center")
    if sum(each is not None for each in (*ranges.values(), turned)) > 1:
        transforms.note("colours change in an order that is drawn")
    if ranges["contrast"]:
        transforms.note("contrast turns about the mean of the image, not about 128")
    if turned:
        transforms.note("the hue is turned in HSV, not in YIQ")


@_rule("gaussian_blur")
def gaussian_blur(transforms: Transforms, step: Step) -> None:
    sizes, sigma = step.fixed("window_size"), step.value("sigma")
    sizes = sizes if isinstance(sizes, tuple) else (sizes,)
    transforms.measured("gaussian_blur")

    def blur(low: float, high: float) -> Expression:
        window, low, high = blur_window(sizes[0], low, high)
        size = window if len(set(sizes)) == 1 else tuple(map(int, sizes[::-1]))
        return call_of("v2.GaussianBlur", size, sigma=(low, high))

    if isinstance(sigma, Drawn) and sigma.values:
        blurs = [blur(each, each) for each in sigma.shares]
        transforms.made.append(_one_of(blurs, [*sigma.shares.values()]))
    else:
        transforms.made.append(blur(*step.span("sigma")))


_DRAWN_NOISE = '''\
class DrawnNoise(v2.Transform):
    """Gaussian noise whose deviation is drawn, for values of 0 to 1."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.low, self.high = low, high

    def make_params(self, flat_inputs: list[Any]) -> dict[str, float]:
        return {"sigma": torch.empty(()).uniform_(self.low, self.high).item()}

    def transform(self, inpt: torch.Tensor, params: dict[str, float]) -> torch.Tensor:
        return v2.functional.gaussian_noise(inpt, sigma=params["sigma"])
'''


@_rule("noise.gaussian")
def gaussian_noise(transforms: Transforms, step: Step) -> None:
    mean, (low, high) = step.fixed("mean"), step.span("stddev")
    transforms.add("ToDtype", Source("torch.float32"), scale=True)
    if low == high:
        transforms.add("GaussianNoise", mean=mean / 255 or None, sigma=low / 255)
    elif mean:
        raise step.refusal("draws the deviation of noise about 0", "mean")
    else:
        transforms.classes["DrawnNoise"] = _DRAWN_NOISE
        transforms.made.append(call_of("DrawnNoise", low / 255, high / 255))
    transforms.add("ToDtype", Source("torch.uint8"), scale=True)


@_rule("jpeg_compression_distortion")
def jpeg(transforms: Transforms, step: Step) -> None:
    low, high = (round(end) for end in step.span("quality"))
    transforms.add("JPEG", (low, high))
    transforms.measured("jpeg_compression_distortion")


@_rule("equalize")
def equalize(transforms: Transforms, step: Step) -> None:
    transforms.add("RandomEqualize", p=1.0)
    transforms.measured("equalize")


@_rule("rand_augment")
def rand_augment(transforms: Transforms, step: Step) -> None:
    bins = step.fixed("num_magnitude_bins")
    transforms.add(
        "RandAugment",
        num_ops=step.fixed("n"),
        magnitude=step.fixed("m"),
        num_magnitude_bins=bins if bins != 31 else None,
    )
    _of_augment(transforms, step)


@_rule("trivial_augment_wide")
def trivial_augment_wide(transforms: Transforms, step: Step) -> None:
    bins = step.fixed("num_magnitude_bins")
    transforms.add("TrivialAugmentWide", num_magnitude_bins=bins if bins != 31 else None)
    _of_augment(transforms, step)


@_rule("auto_augment")
def auto_augment(transforms: Transforms, step: Step) -> None:
    names = {"image_net": "IMAGENET", "svhn": "SVHN"}
    policy = step.fixed("policy_name")
    if policy not in names:
        raise step.refusal(f"has no policy {policy}", "policy_name")
    transforms.add("AutoAugment", Source(f"v2.AutoAugmentPolicy.{names[policy]}"))
    _of_augment(transforms, step)


def _of_augment(transforms: Transforms, step: Step) -> None:
    step.read |= {"fill_value", "interp_type", "max_translate_abs", "max_translate_rel"}
    transforms.note("automatic augmentation has torchvision's operations and magnitudes")


@_rule("color_space_conversion")
def grayscale(transforms: Transforms, step: Step) -> None:
    if (step.fixed("image_type"), step.fixed("output_type")) != ("RGB", "GRAY"):
        raise step.refusal("converts RGB to grey", "output_type")
    transforms.add("Grayscale", 1)
    transforms.measured("grey")


@_rule("transpose")
def transpose(transforms: Transforms, step: Step) -> None:
    if step.items("perm") != (2, 0, 1):
        raise step.refusal("has channels first throughout", "perm")
    step.read |= {"output_layout", "transpose_layout"}


@_rule("cast")
def cast(transforms: Transforms, step: Step) -> None:
    types = {"FLOAT": "float32", "FLOAT16": "float16", "UINT8": "uint8"}
    dtype = step.fixed("dtype")
    if dtype not in types:
        raise step.refusal(f"works on floats and bytes, and dtype is {dtype}", "dtype")
    transforms.add("ToDtype", Source(f"torch.{types[dtype]}"))


@_rule("erase")
def erase(transforms: Transforms, step: Step) -> None:
    """A window of one size, anywhere: RandomErasing of one area and ratio."""
    anchor, shape, fill = step.value("anchor"), step.items("shape"), step.items("fill_value")
    step.read |= {"axis_names", "axes"}
    normal = step.fixed("normalized") or step.fixed("normalized_shape")
    step.read |= {"normalized_anchor", "normalized"}
    sized = len(shape) == 2 and all(shape)
    if not isinstance(anchor, Drawn) or anchor.numbers != 2 or not sized or not normal:
        raise step.refusal("erases a window of a share of the image, anywhere", "anchor")
    ratio, area = shape[0] / shape[1], shape[0] * shape[1]
    value = list(map(int, fill)) if len(set(fill)) > 1 else fill[0]
    transforms.add(
        "RandomErasing",
        p=1.0,
        scale=(area, area),
        ratio=(ratio, ratio),
        value=Source(str(value)) if isinstance(value, list) else value,
    )
    transforms.note("the window is wholly inside, where DALI's begins in the drawn range")


@_expression("bitxor(x, 255)")
@_expression("sub(255, x)")
def invert(transforms: Transforms, step: Step) -> None:
    transforms.add("RandomInvert", p=1.0)
    transforms.measured("invert")


@_expression("bitxor(x, mul(ge(x, N), 255))")
def solarize(transforms: Transforms, step: Step, threshold: float) -> None:
    transforms.add("RandomSolarize", int(threshold), p=1.0)
    transforms.measured("solarize")


@_expression("bitand(x, N)")
def posterize(transforms: Transforms, step: Step, mask: float) -> None:
    transforms.add("RandomPosterize", kept_bits(step, mask), p=1.0)
    transforms.measured("posterize")


_SPAN = "max(sub(reductions.max(x), reductions.min(x)), 1)"


@_expression(f"clamp(mul(sub(x, reductions.min(x)), truediv(255, {_SPAN})), 0, 255)")
def autocontrast(transforms: Transforms, step: Step) -> None:
    transforms.add("RandomAutocontrast", p=1.0)
    transforms.measured("autocontrast")
