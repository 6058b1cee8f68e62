"""Changes of arguments that may explain a difference: the catalogue of hypotheses.

Each is a change of one side, in the terms of DALI or of the library. A change that has no such
argument is imitated with NumPy, and its text states this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.pipeline_difference import imitated
from workbench.pipeline_difference.dali_steps import DALI, Call, changed_step
from workbench.pipeline_difference.library_steps import (
    LIBRARY,
    decode_with_opencv,
    decode_with_pillow,
)
from workbench.pipeline_difference.steps import (
    DECODE,
    FUNCTION,
    TAIL,
    Side,
    Step,
    function_step,
)
from workbench.transform_comparison.pinned import call_text

ARGUMENT, OTHER, IMITATED, OUTSIDE, FITTED = range(5)
"""Ranks of changes that explain equally much: arguments of an operator first."""
INTERPOLATIONS = ("NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN")
_MEANS = {
    "ImageNet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "0.5": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "CLIP": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "CIFAR-10": ((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)),
    "none, 0 to 1": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}
_RATIOS = (1.0, 224 / 256, 224 / 232, 224 / 248, 0.9, 0.95, 0.96, 0.8)
"""Usual ratios of crop size and shorter side: torchvision, its newer weights, timm."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one side: the ``cause`` that it stands for, and the code ``text``.

    ``apply`` returns the changed side, or None if the side has no such step.
    """

    cause: str
    label: str
    text: str
    rank: int
    apply: Callable[[Side], Side | None]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the images that a search uses."""

    alpha: bool = False
    has_opencv: bool = False


def changes_of(side: Side, label: str, facts: Facts) -> Iterator[Change]:
    """Yield all changes of a side."""
    for at, step in enumerate(side.steps):
        if step.group.startswith(DALI):
            yield from _dali_changes(side, at, step.payload, label, facts)
        elif step.group.startswith(LIBRARY):
            yield from _library_changes(step, step.payload, label)
        elif step.key in ("pillow", "cv2"):
            yield from _decode_changes(step, label, facts)
    yield from _outside_changes(side, label)


# Changes of DALI's arguments.


def _dali_changes(side: Side, at: int, call: Call, label: str, facts: Facts) -> Iterator[Change]:
    op, args = call.node.op, call.node.args
    name = f"fn.{op}"

    def argument(cause: str, text: str = "", rank: int = ARGUMENT, **given: Any) -> Change:
        words = text or ", ".join(f"{key}={value!r}" for key, value in given.items())
        return Change(
            cause, label, f"{name}({words})", rank,
            partial(_edited, node=call.node.id, change=lambda c: c.with_args(**given)),
        )  # fmt: skip

    def imitation(cause: str, text: str, function: Callable[[Any], Any], **left: Any) -> Change:
        """Run a function before the node, whose arguments ``left`` are removed."""
        step = function_step(function, text, ("imitated",), text)
        return Change(
            cause, label, text, IMITATED,
            partial(_preceded, node=call.node.id, step=step, left=left),
        )  # fmt: skip

    if op == "decoders.image":
        upright = args.get("adjust_orientation", True)
        yield argument("orientation", adjust_orientation=not upright)
        yield argument("inverse DCT", use_fast_idct=not args.get("use_fast_idct", False))
        if args.get("output_type", "RGB") in ("RGB", "BGR"):
            other = "BGR" if args.get("output_type", "RGB") == "RGB" else "RGB"
            yield argument("channel order", output_type=other)
            pillow = partial(decode_with_pillow, upright=bool(upright))
            yield _decoder(call, label, "Pillow decodes instead of fn.decoders.image", pillow)
            if facts.has_opencv:
                text = "OpenCV decodes instead of fn.decoders.image"
                yield _decoder(call, label, text, decode_with_opencv)
        if facts.alpha:
            for backdrop, words in ((255, "white"), (0, "black")):
                yield Change(
                    "alpha", label, f"transparent pixels blended with {words} (Pillow)", IMITATED,
                    partial(_replaced, node=call.node.id, step=_decoding(
                        partial(decode_with_pillow, upright=bool(upright), backdrop=backdrop),
                        f"pillow {words}")),
                )  # fmt: skip
    elif op == "resize":
        yield argument("antialias", antialias=not args.get("antialias", True))
        used = args.get("interp_type", "INTERP_LINEAR")
        for each in INTERPOLATIONS:
            if f"INTERP_{each}" != used:
                yield argument("interpolation", interp_type=f"INTERP_{each}")
        yield from _size_changes(side, at, call, label)
        if args.get("subpixel_scale", True):
            yield argument("subpixel scale", subpixel_scale=False)
        for how in ("floor", ""):
            words = "rounded down" if how else "not rounded"
            yield Change(
                "rounding of values", label, f"{name}(dtype=FLOAT), values {words}", OTHER,
                partial(_edited, node=call.node.id, change=partial(_as_floats, how=how)),
            )  # fmt: skip
    elif op == "crop":
        for each in ("truncate", "round"):
            if args.get("rounding", "round") != each:
                yield argument("crop position", rounding=each)
        if args.get("crop_pos_x", 0.5) == args.get("crop_pos_y", 0.5) == 0.5:
            yield argument("crop position", crop_pos_x=0.0, crop_pos_y=0.0)
            size = _size_of(args)
            if size is not None:
                text = f"{name} at a centre rounded half to even, as torchvision does, imitated"
                step = function_step(partial(imitated.crop_even, size=size), text, ("crop",), text)
                yield Change(
                    "crop position", label, text, IMITATED,
                    partial(_replaced, node=call.node.id, step=step),
                )  # fmt: skip
    elif op in ("crop_mirror_normalize",):
        yield from _normalise_changes(call, argument)
    if args.get("hue"):
        angle: Any = args["hue"]
        yield imitation(
            "hue",
            f"hue of {angle:g} degrees rotated in HSV, imitated; {name} rotates in YIQ",
            partial(imitated.rotate_hue, degrees=angle),
            hue=None,
        )
    if args.get("saturation") == 0:
        for words, weights in imitated.GREY.items():
            yield imitation(
                "grey",
                f"grey = {words}, imitated; {name} uses BT.601",
                partial(imitated.grey, weights=weights),
            )
    contrast: Any = args.get("contrast", 1)
    if contrast != 1 and "contrast_center" not in args:
        yield imitation(
            "contrast",
            f"contrast around the mean grey of the image, imitated; {name} uses the value 128",
            partial(imitated.contrast, factor=contrast),
            contrast=None,
        )


def _decoding(function: Callable[[bytes], NDArray[Any]], key: str) -> Step:
    return Step((DECODE,), key, FUNCTION, function, key)


def _decoder(
    call: Call, label: str, text: str, function: Callable[[bytes], NDArray[Any]]
) -> Change:
    step = _decoding(function, f"{text} {function}")
    return Change(
        "decoder", label, text, IMITATED, partial(_replaced, node=call.node.id, step=step)
    )


def _size_changes(side: Side, at: int, call: Call, label: str) -> Iterator[Change]:
    """Yield changes of the rounding of the other side, and of the ratio of resize and crop."""
    args = call.node.args
    shorter: Any = args.get("resize_shorter")
    following = [
        step.payload.node
        for step in side.steps[at + 1 :]
        if step.group.startswith(DALI) and step.payload.node.op == "crop"
    ]
    crop = following[0] if following else None
    cropped = _size_of(crop.args) if crop is not None else None
    if isinstance(shorter, int | float):
        for how in ("floor", "ceil"):
            words = f"size=[{how}(height * s), {how}(width * s)], s={shorter:g} / shorter side"
            yield Change(
                "size rounding", label, f"fn.resize({words})", ARGUMENT,
                partial(_edited, node=call.node.id, change=partial(_rounded_size, how=how)),
            )  # fmt: skip
    if cropped is not None and crop is not None and shorter:
        for value in dict.fromkeys(round(max(cropped) / ratio) for ratio in _RATIOS):
            if value != shorter:
                yield Change(
                    "resize ratio", label, f"fn.resize(resize_shorter={value})", ARGUMENT,
                    partial(_edited, node=call.node.id,
                            change=partial(_shorter, value=value)),
                )  # fmt: skip
        yield Change(
            "resize ratio", label, f"fn.resize(size={cropped}) without the crop", ARGUMENT,
            partial(_stretched, resize=call.node.id, crop=crop.id, size=cropped),
        )  # fmt: skip
        if side.steps[at + 1].payload is not None and following[0] == getattr(
            side.steps[at + 1].payload, "node", None
        ):
            yield Change(
                "order", label, "fn.crop before fn.resize", ARGUMENT,
                partial(_swapped, first=call.node.id),
            )  # fmt: skip
    size: Any = args.get("size")
    if isinstance(size, tuple) and len(size) == 2 and cropped is None:
        for short in dict.fromkeys(round(max(size) / ratio) for ratio in _RATIOS):
            yield Change(
                "resize ratio", label, f"fn.resize(resize_shorter={short}), fn.crop({size})",
                ARGUMENT, partial(_with_crop, resize=call.node.id, shorter=short, size=size),
            )  # fmt: skip


def _size_of(args: Any) -> tuple[int, int] | None:
    found = args.get("crop")
    if isinstance(found, int | float):
        return (int(found), int(found))
    if isinstance(found, tuple) and len(found) == 2:
        return (int(found[0]), int(found[1]))
    height, width = args.get("crop_h"), args.get("crop_w")
    return (int(height), int(width)) if height and width else None


def _normalise_changes(call: Call, argument: Callable[..., Change]) -> Iterator[Change]:
    args = call.node.args
    mean, std = (_three(args.get(name, value)) for name, value in (("mean", 0.0), ("std", 1.0)))
    if mean is None or std is None:
        return

    def scaled(values: tuple[float, ...], factor: float) -> tuple[float, ...]:
        return tuple(round(each * factor, 6) for each in values)

    def small(values: tuple[float, ...]) -> bool:
        return max(map(abs, values)) <= 1

    for of_mean, of_std in ((True, True), (True, False), (False, True)):
        factors = [1 / 255 if not small(values) else 255.0 for values in (mean, std)]
        new = {
            **({"mean": scaled(mean, factors[0])} if of_mean else {}),
            **({"std": scaled(std, factors[1])} if of_std else {}),
        }
        yield argument("scale of mean and std", **new)
    if len(set(mean)) > 1 or len(set(std)) > 1:
        yield argument("channel order", mean=mean[::-1], std=std[::-1])
    for words, (means, stds) in _MEANS.items():
        new_mean, new_std = scaled(means, 255.0), scaled(stds, 255.0)
        if (new_mean, new_std) != (mean, std):
            text = f"mean={new_mean}, std={new_std}"
            yield argument("mean and std", f"{text} [{words}]", mean=new_mean, std=new_std)
    yield argument("value range", mean=(0.0,), std=(1.0,))
    layout = args.get("output_layout", "CHW")
    yield argument("layout", output_layout="HWC" if layout == "CHW" else "CHW")


def _three(value: Any) -> tuple[float, ...] | None:
    values = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(each, int | float) for each in values):
        return None
    return tuple(float(each) for each in (values * 3 if len(values) == 1 else values))


# Apply a change to the step of a node.


def _place(side: Side, node: str) -> int | None:
    for at, step in enumerate(side.steps):
        if step.group.startswith(DALI) and step.payload.node.id == node:
            return at
    return None


def _edited(side: Side, node: str, change: Callable[[Call], Call]) -> Side | None:
    at = _place(side, node)
    if at is None:
        return None
    step = side.steps[at]
    return side.with_step(at, changed_step(step, change(step.payload)))


def _shorter(call: Call, value: int) -> Call:
    return call.with_args(resize_shorter=float(value))


def _extended(side: Side, first: tuple[Step, ...] = (), last: tuple[Step, ...] = ()) -> Side:
    return replace(side, steps=(*first, *side.steps, *last))


def _replaced(side: Side, node: str, step: Step) -> Side | None:
    at = _place(side, node)
    return None if at is None else side.with_step(at, step)


def _preceded(side: Side, node: str, step: Step, left: dict[str, Any]) -> Side | None:
    at = _place(side, node)
    if at is None:
        return None
    own = side.steps[at]
    if not left:
        return side.with_step(at, step)
    return side.with_step(at, step, changed_step(own, own.payload.with_args(**left)))


def _as_floats(call: Call, how: str) -> Call:
    """Let a resize return floats, and round them down to uint8 if ``how`` is ``floor``."""
    from workbench.graph.model import Node, Port

    changed = call.with_args(dtype="FLOAT")
    if not how:
        return changed
    floor = Node(f"{call.node.id}_floor", "math.floor", {}, {"data": call.exit})
    cast = Node(
        f"{call.node.id}_bytes", "cast", {"dtype": "UINT8"}, {"data": Port(floor.id, "output")}
    )
    nodes = (*changed.nodes, floor, cast)
    return replace(changed, nodes=nodes, exit=Port(cast.id, "output"))


def _rounded_size(call: Call, how: str) -> Call:
    """Compute the size of a resize by its shorter side with another rounding."""
    from workbench.emit.interop.graph import decoded_images
    from workbench.graph import fn
    from workbench.graph.model import Port

    images: Any = decoded_images("memory").images
    short: Any = call.node.args["resize_shorter"]
    rounding: Any = getattr(fn.math, how)
    height, width = (images.shape()[axis].cast(dtype="FLOAT64") for axis in (0, 1))
    least = fn.math.min(height, width)
    nudge = 1e-6 if how == "floor" else -1e-6
    sides = [rounding(each * float(short) / least + nudge) for each in (height, width)]
    size: Any = fn.stack(*sides).cast(dtype="FLOAT")
    prefix = f"{call.node.id}_"
    own = [node for node in size.graph.walk() if node.id not in ("reader", "decode")]
    names = {node.id: prefix + node.id for node in own}
    ports = {
        port: call.entry if port.node == "decode" else Port(names[port.node], port.output)
        for node in own
        for port in node.inputs.values()
    }
    made = [replace(node.rewire(ports), id=names[node.id]) for node in own]
    node = call.node.without(["resize_shorter"])
    node = node.fed({**node.inputs, "size": Port(names[size.port.node], size.port.output)})
    return call.with_node(node, *made)


def _stretched(side: Side, resize: str, crop: str, size: tuple[int, int]) -> Side | None:
    changed = _edited(
        side, resize, lambda c: c.with_args(resize_shorter=None, size=tuple(map(float, size)))
    )
    at = _place(changed, crop) if changed is not None else None
    if changed is None or at is None:
        return None
    return changed.with_step(at)


def _with_crop(side: Side, resize: str, shorter: int, size: Any) -> Side | None:
    from workbench.graph.model import Node, Port

    at = _place(side, resize)
    if at is None:
        return None
    step = side.steps[at]
    call: Call = step.payload
    node = Node(f"{resize}_crop", "crop", {"crop": tuple(map(float, size))}, {"data": call.exit})
    crop = Call(node, (node,), call.exit, Port(node.id, "output"))
    made = replace(step, kinds=("crop",))
    resized = changed_step(step, call.with_args(size=None, resize_shorter=float(shorter)))
    return side.with_step(at, resized, changed_step(made, crop))


def _swapped(side: Side, first: str) -> Side | None:
    at = _place(side, first)
    if at is None or at + 1 >= len(side.steps):
        return None
    steps = [*side.steps]
    steps[at], steps[at + 1] = steps[at + 1], steps[at]
    return replace(side, steps=tuple(steps))


# Changes of a library's arguments, of Pillow's and OpenCV's decoding, and from outside.


def _library_changes(step: Step, call: TransformCall, label: str) -> Iterator[Change]:
    def argument(cause: str, remark: str = "", **given: Any) -> Change:
        made = replace(call, kwargs={**call.kwargs, **given})
        text = ", ".join(f"{name}={call_text(value)}" for name, value in given.items())
        text = f"{call.short_name}({text}){remark}"
        new = replace(step, payload=made, key=repr(made), text=call_text(made))
        return Change(cause, label, text, OTHER, partial(_exchanged, old=step, new=new))

    name, library = call.short_name, call.library
    if "Resize" in name or name in ("SmallestMaxSize", "LongestMaxSize"):
        if library == "torchvision":
            for each in ("NEAREST", "BILINEAR", "BICUBIC", "LANCZOS"):
                yield argument(
                    "interpolation", interpolation=NamedValue(f"InterpolationMode.{each}")
                )
            yield argument("antialias", antialias=not call.kwargs.get("antialias", True))
        elif library == "albumentations":
            for number in range(5):
                yield argument("interpolation", interpolation=number)
            yield argument("antialias", area_for_downscale="image")
    if name == "Normalize":
        for words, (mean, std) in _MEANS.items():
            yield argument("mean and std", f" [{words}]", mean=mean, std=std)
        if library == "albumentations":
            yield argument("scale of mean and std", max_pixel_value=1.0)


def _exchanged(side: Side, old: Step, new: Step) -> Side | None:
    return side.with_step(side.steps.index(old), new) if old in side.steps else None


def _decode_changes(step: Step, label: str, facts: Facts) -> Iterator[Change]:
    def other(cause: str, text: str, function: Callable[[bytes], NDArray[Any]]) -> Change:
        new = _decoding(function, text)
        return Change(cause, label, text, OTHER, partial(_exchanged, old=step, new=new))

    if step.key == "pillow":
        upright = partial(decode_with_pillow, upright=True)
        yield other("orientation", "ImageOps.exif_transpose(image)", upright)
        if facts.has_opencv:
            yield other("decoder", "OpenCV decodes instead of Pillow", decode_with_opencv)
    else:
        yield other("orientation", "cv2.imread with IMREAD_IGNORE_ORIENTATION", decode_with_pillow)
        yield other("decoder", "Pillow decodes instead of OpenCV",
                    partial(decode_with_pillow, upright=True))  # fmt: skip
    if facts.alpha:
        for backdrop, words in ((255, "white"), (0, "black")):
            text = f"transparent pixels blended with {words}"
            yield other("alpha", text, partial(decode_with_pillow, backdrop=backdrop))


def _outside_changes(side: Side, label: str) -> Iterator[Change]:
    """Yield changes of the input or the result that any pipeline permits."""

    def after(cause: str, text: str, function: Callable[[Any], Any]) -> Change:
        step = function_step(function, text, (TAIL,), f"{text} {label}")
        return Change(
            cause, label, text, OUTSIDE,
            partial(_extended, last=(step,)),
        )  # fmt: skip

    yield after("channel order", "channels of the result in reverse order", imitated.reverse)
    yield after("layout", "result transposed between HWC and CHW", imitated.other_layout)
    yield after("flip", "result mirrored", imitated.mirror)
    yield after("value range", "result divided by 255", partial(imitated.times, factor=1 / 255))
    yield after("value range", "result multiplied by 255", partial(imitated.times, factor=255.0))
    yield after("rounding of values", "result rounded to integers", np.rint)
    yield after("rounding of values", "result rounded down to integers", np.floor)
    yield after("clipping", "result clipped to 0..255", partial(np.clip, a_min=0, a_max=255))
    yield after("clipping", "result clipped to 0..1", partial(np.clip, a_min=0.0, a_max=1.0))
    first = side.steps[0]
    if DECODE in first.kinds and len(first.kinds) > 1:  # a function of encoded bytes
        for text, function in (
            ("orientation tag ignored", imitated.without_orientation),
            ("EXIF orientation applied", imitated.upright),
        ):
            step = function_step(function, text, ("orientation",), f"{text} {label}")
            yield Change(
                "orientation", label, f"{text} in the files", OUTSIDE,
                partial(_extended, first=(step,)),
            )  # fmt: skip


def fitted_change(ours: list[Any], theirs: list[Any], label: str) -> Change | None:
    """Return the linear map of each channel that makes results of ``ours`` closest to others."""
    fit = imitated.linear_fit(ours, theirs)
    if fit is None:
        return None
    gain, offset = fit
    text = f"result * {_numbers(gain)} + {_numbers(offset)}"
    step = function_step(
        partial(imitated.linear, gain=gain, offset=offset), text, (TAIL,), f"{text} {label}"
    )
    return Change(
        "mean and std", label, text, FITTED,
        partial(_extended, last=(step,)),
    )  # fmt: skip


def _numbers(values: Any) -> str:
    return f"({', '.join(f'{value:.4g}' for value in values)})"
