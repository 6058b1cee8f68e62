"""Propose changes of DALI arguments that may explain a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.emit.interop.graph import decoded_images
from workbench.graph import fn
from workbench.graph.model import Node, Port
from workbench.pipeline_difference.changes import imitated
from workbench.pipeline_difference.changes.change import (
    ARGUMENT,
    IMITATED,
    MEANS,
    OTHER,
    Change,
    Facts,
    decoding,
)
from workbench.pipeline_difference.sides.dali_steps import DALI, Call, changed_step
from workbench.pipeline_difference.sides.library_steps import decode_with_opencv, decode_with_pillow
from workbench.pipeline_difference.steps import Side, Step, function_step

_INTERPOLATIONS = ("NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN")
_RATIOS = (1.0, 224 / 256, 224 / 232, 224 / 248, 0.9, 0.95, 0.96, 0.8)
"""Common ratios of the crop size to the shorter side, as in torchvision and timm."""


def dali_changes(side: Side, at: int, label: str, facts: Facts) -> Iterator[Change]:
    """Yield changes of one step that may explain a difference."""
    factory = _ChangeFactory(side.steps[at].payload, label)
    if factory.op == "decoders.image":
        yield from _decoder(factory, facts)
    elif factory.op == "resize":
        yield from _resize(factory)
        yield from _size(factory, side, at)
    elif factory.op == "crop":
        yield from _crop(factory)
    elif factory.op == "crop_mirror_normalize":
        yield from _normalise(factory)
        yield factory.with_arguments("flip", mirror=0 if factory.get("mirror") else 1)
    elif factory.op == "flip":
        yield factory.with_arguments("flip", horizontal=0 if factory.get("horizontal", 1) else 1)
    yield from _colour(factory)


@dataclass(frozen=True, slots=True)
class _ChangeFactory:
    """Creates ``Change`` objects that modify one node of one side."""

    call: Call
    label: str

    @property
    def op(self) -> str:
        return self.call.node.op

    def get(self, name: str, default: Any = None) -> Any:
        return self.call.node.args.get(name, default)

    def with_arguments(self, cause: str, remark: str = "", **given: Any) -> Change:
        """Return a change that sets arguments. An argument that is None is removed."""
        words = ", ".join(f"{key}={value!r}" for key, value in given.items() if value is not None)
        return self.with_edited_call(
            cause, f"{words}{remark}", lambda call: call.with_args(**given)
        )

    def with_edited_call(
        self, cause: str, arguments: str, change: Callable[[Call], Call]
    ) -> Change:
        return self.with_steps(
            cause, f"fn.{self.op}({arguments})", ARGUMENT, partial(_edited, change)
        )

    def replaced_by(self, cause: str, step: Step) -> Change:
        """Return a change that runs another step instead of the node."""
        return self.with_steps(cause, step.text, IMITATED, lambda _: [step])

    def with_function_before(
        self, cause: str, text: str, function: Callable[[Any], Any], **left: Any
    ) -> Change:
        """Return a change that imitates arguments of the node with a function.

        The node runs after the function, without the arguments that ``left`` names. If ``left`` is
        empty, the function replaces the node.
        """
        step = function_step(function, text, ("imitated",), text)
        rest = dict.fromkeys(left)
        return self.with_steps(
            cause,
            text,
            IMITATED,
            lambda own: (
                [step, _with_changed_call(own, lambda call: call.with_args(**rest))]
                if left
                else [step]
            ),
        )

    def with_steps(
        self, cause: str, text: str, rank: int, steps: Callable[[Step], list[Step]]
    ) -> Change:
        node = self.call.node.id

        def apply(side: Side) -> Side | None:
            at = step_index(side, node)
            return None if at is None else side.with_step(at, *steps(side.steps[at]))

        return Change(cause, self.label, text, rank, apply)


def step_index(side: Side, node: str) -> int | None:
    """Return the position of the step that runs a node, or None."""
    for at, step in enumerate(side.steps):
        if step.group.startswith(DALI) and step.payload.node.id == node:
            return at
    return None


def _edited(change: Callable[[Call], Call], step: Step) -> list[Step]:
    return [_with_changed_call(step, change)]


def _with_changed_call(step: Step, change: Callable[[Call], Call]) -> Step:
    return changed_step(step, change(step.payload))


def _decoder(factory: _ChangeFactory, facts: Facts) -> Iterator[Change]:
    upright = bool(factory.get("adjust_orientation", True))
    colour = factory.get("output_type", "RGB")
    yield factory.with_arguments("orientation", adjust_orientation=not upright)
    yield factory.with_arguments(
        "inverse DCT", use_fast_idct=not factory.get("use_fast_idct", False)
    )
    if colour in ("RGB", "BGR"):
        yield factory.with_arguments(
            "channel order", output_type="BGR" if colour == "RGB" else "RGB"
        )
        pillow = partial(decode_with_pillow, upright=upright)
        yield factory.replaced_by("decoder", decoding(pillow, f"Pillow decodes, upright={upright}"))
        if facts.has_opencv:
            yield factory.replaced_by("decoder", decoding(decode_with_opencv, "OpenCV decodes"))
    for backdrop, words in ((255, "white"), (0, "black")) if facts.alpha else ():
        blended = partial(decode_with_pillow, upright=upright, backdrop=backdrop)
        text = f"transparent pixels blended with {words} (Pillow)"
        yield factory.replaced_by("alpha", decoding(blended, text))


def _resize(factory: _ChangeFactory) -> Iterator[Change]:
    yield factory.with_arguments("antialias", antialias=not factory.get("antialias", True))
    used = factory.get("interp_type", "INTERP_LINEAR")
    for each in (f"INTERP_{name}" for name in _INTERPOLATIONS):
        if each != used:
            yield factory.with_arguments("interpolation", interp_type=each)
    yield factory.with_arguments(
        "subpixel scale", subpixel_scale=not factory.get("subpixel_scale", True)
    )
    for down, words in ((True, "rounded down"), (False, "not rounded")):
        change = partial(_as_floats, down=down)
        text = f"fn.resize(dtype=FLOAT), values {words}"
        yield factory.with_steps("rounding of values", text, OTHER, partial(_edited, change))


def _size(factory: _ChangeFactory, side: Side, at: int) -> Iterator[Change]:
    """Yield changes of a resize: rounding, mode, ratio to the crop size, order with a crop."""
    shorter = _shorter_side(factory.call)
    following = [s for s in side.steps[at + 1 :] if s.group.startswith(DALI)]
    crop = next((s.payload for s in following if s.payload.node.op == "crop"), None)
    cropped = _crop_size(crop) if crop is not None else None
    if shorter:
        for how in ("floor", "ceil"):
            words = f"size=[{how}(height * s), {how}(width * s)], s={shorter:g} / shorter side"
            yield factory.with_edited_call("size rounding", words, partial(_rounded_size, how=how))
        stretched = partial(_with_size, size=(shorter, shorter))
        text = f"size=({shorter:g}, {shorter:g})"
        yield factory.with_edited_call("resize mode", text, stretched)
    both = _both_sides(factory.call)
    for mode in ("stretch", "not_larger", "not_smaller") if both else ():
        if mode != factory.get("mode", "stretch") or factory.get("max_size"):
            change = partial(_with_size, size=both, mode=mode)
            yield factory.with_edited_call("resize mode", f"size={both}, mode={mode!r}", change)
    if (shorter or both) and crop is not None and cropped is not None:
        for value in dict.fromkeys(round(max(cropped) / ratio) for ratio in _RATIOS):
            if value != shorter:
                change = partial(_with_size, resize_shorter=float(value))
                yield factory.with_edited_call("resize ratio", f"resize_shorter={value}", change)
        stretched = partial(_with_size, size=tuple(map(float, cropped)))
        text = f"fn.resize(size={cropped}) without the crop"
        steps = partial(_merge_or_swap, factory.call.node.id, crop.node.id, stretched)
        yield Change("resize ratio", factory.label, text, ARGUMENT, steps)
        if following and following[0].payload is crop:
            swap = partial(_merge_or_swap, factory.call.node.id, crop.node.id, None)
            yield Change("order", factory.label, "fn.crop before fn.resize", ARGUMENT, swap)
    if both and crop is None and not shorter:
        for value in dict.fromkeys(round(max(both) / ratio) for ratio in _RATIOS):
            text = f"fn.resize(resize_shorter={value}), fn.crop({both})"
            cropping = partial(_with_crop, shorter=float(value), size=both)
            yield factory.with_steps("resize ratio", text, ARGUMENT, cropping)


def _shorter_side(call: Call) -> float | None:
    """Return the length of the shorter side that a resize sets, or None."""
    args = call.node.args
    found = args.get("resize_shorter")
    if args.get("mode") == "not_smaller":
        size = args.get("size")
        sides = size if isinstance(size, tuple) else (size, args.get("resize_x"))
        sides = tuple({each for each in (*sides, args.get("resize_y")) if each is not None})
        found = sides[0] if len(sides) == 1 else None
    return float(found) if isinstance(found, int | float) else None


def _both_sides(call: Call) -> tuple[float, float] | None:
    """Return the height and width that a resize sets in any mode, or None."""
    args = call.node.args
    size, most = args.get("size"), args.get("max_size")
    longest: Any = most[0] if isinstance(most, tuple) else most
    if not isinstance(size, tuple):
        size = (args.get("resize_y", longest), args.get("resize_x", longest))
    numbers = [float(each) for each in size if isinstance(each, int | float) and each]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


def _crop_size(call: Call) -> tuple[int, int] | None:
    args = call.node.args
    found = args.get("crop", (args.get("crop_h"), args.get("crop_w")))
    sides = found if isinstance(found, tuple) else (found, found)
    numbers = [int(each) for each in sides if isinstance(each, int | float)]
    return (numbers[0], numbers[1]) if len(numbers) == len(sides) == 2 else None


def _with_size(call: Call, **size: Any) -> Call:
    """Replace all arguments that set the size of a resize."""
    names = ("resize_shorter", "resize_longer", "resize_x", "resize_y", "mode", "size", "max_size")
    return call.with_args(**{**dict.fromkeys(names), **size})


def _merge_or_swap(
    resize: str, crop: str, change: Callable[[Call], Call] | None, side: Side
) -> Side | None:
    """Apply ``change`` to the resize and remove the crop; without ``change``, swap the two steps.

    Returns None if the side lacks one of the two nodes.
    """
    first, second = step_index(side, resize), step_index(side, crop)
    if first is None or second is None:
        return None
    if change is not None:
        return side.with_step(second).with_step(
            first, _with_changed_call(side.steps[first], change)
        )
    steps = [*side.steps]
    steps[first], steps[second] = steps[second], steps[first]
    return replace(side, steps=tuple(steps))


def _with_crop(step: Step, shorter: float, size: Any) -> list[Step]:
    call: Call = step.payload
    node = Node(f"{call.node.id}_crop", "crop", {"crop": size}, {"data": call.exit})
    crop = Call(node, (node,), call.exit, Port(node.id, "output"))
    resized = _with_changed_call(step, partial(_with_size, resize_shorter=shorter))
    return [resized, changed_step(replace(step, kinds=("crop",)), crop)]


def _as_floats(call: Call, down: bool) -> Call:
    """Return a resize that outputs floats or, if ``down``, uint8 values that are rounded down."""
    changed = call.with_args(dtype="FLOAT")
    if not down:
        return changed
    floor = Node(f"{call.node.id}_floor", "math.floor", {}, {"data": call.exit})
    given = {"data": Port(floor.id, "output")}
    cast = Node(f"{call.node.id}_bytes", "cast", {"dtype": "UINT8"}, given)
    return replace(changed, nodes=(*changed.nodes, floor, cast), exit=Port(cast.id, "output"))


def _rounded_size(call: Call, how: str) -> Call:
    """Return a resize whose longer side is rounded by ``how``: ``floor`` or ``ceil``."""
    images: Any = decoded_images("memory").images
    short = _shorter_side(call)
    if short is None:  # without an earlier change
        return call
    rounding: Any = getattr(fn.math, how)
    height, width = (images.shape()[axis].cast(dtype="FLOAT64") for axis in (0, 1))
    least = fn.math.min(height, width)
    nudge = 1e-6 if how == "floor" else -1e-6
    size: Any = fn.stack(*(rounding(each * short / least + nudge) for each in (height, width)))
    size = size.cast(dtype="FLOAT")
    own = [node for node in size.graph.walk() if node.id not in ("reader", "decode")]
    names = {node.id: f"{call.node.id}_{node.id}" for node in own}
    ports = {
        port: call.entry if port.node == "decode" else Port(names[port.node], port.output)
        for node in own
        for port in node.inputs.values()
    }
    made = [replace(node.rewire(ports), id=names[node.id]) for node in own]
    changed = _with_size(call)
    end = Port(names[size.port.node], size.port.output)
    return changed.with_node(changed.node.fed({**changed.node.inputs, "size": end}), *made)


def _crop(factory: _ChangeFactory) -> Iterator[Change]:
    for each in ("truncate", "round"):
        if factory.get("rounding", "round") != each:
            yield factory.with_arguments("crop position", rounding=each)
    if factory.get("crop_pos_x", 0.5) == factory.get("crop_pos_y", 0.5) == 0.5:
        yield factory.with_arguments("crop position", crop_pos_x=0.0, crop_pos_y=0.0)
        size = _crop_size(factory.call)
        if size is not None:
            text = "a centre crop rounded half to even, as in torchvision (imitated with NumPy)"
            even = partial(imitated.crop_even, size=size)
            yield factory.replaced_by("crop position", function_step(even, text, ("crop",), text))


def _normalise(factory: _ChangeFactory) -> Iterator[Change]:
    mean, std = _three_values(factory.get("mean", 0.0)), _three_values(factory.get("std", 1.0))
    if mean is None or std is None:
        return
    other: dict[str, Any] = {"mean": _other_scale(mean), "std": _other_scale(std)}
    for names in (("mean", "std"), ("mean",), ("std",)):
        yield factory.with_arguments(
            "scale of mean and std", **{name: other[name] for name in names}
        )
    if len(set(mean)) > 1 or len(set(std)) > 1:
        yield factory.with_arguments("channel order", mean=mean[::-1], std=std[::-1])
    for words, (means, stds) in MEANS.items():
        new = tuple(tuple(round(255 * each, 4) for each in values) for values in (means, stds))
        if any(abs(a - b) > 0.01 for a, b in zip((*new[0], *new[1]), (*mean, *std), strict=True)):
            yield factory.with_arguments("mean and std", f" [{words}]", mean=new[0], std=new[1])
    yield factory.with_arguments("value range", mean=(0.0,), std=(1.0,))
    first = factory.get("output_layout", "CHW") == "CHW"
    yield factory.with_arguments("layout", output_layout="HWC" if first else "CHW")


def _other_scale(values: tuple[float, ...]) -> tuple[float, ...]:
    factor = 255.0 if max(map(abs, values)) <= 1 else 1 / 255
    return tuple(round(each * factor, 6) for each in values)


def _three_values(value: Any) -> tuple[float, ...] | None:
    values = value if isinstance(value, tuple) else (value,)
    if len(values) not in (1, 3) or not all(isinstance(each, int | float) for each in values):
        return None
    return tuple(float(each) for each in (values * 3 if len(values) == 1 else values))


def _colour(factory: _ChangeFactory) -> Iterator[Change]:
    """Yield imitations of colour operations for which DALI has no argument."""
    name, angle, factor = f"fn.{factory.op}", factory.get("hue"), factory.get("contrast", 1)
    if angle:
        text = f"a hue of {angle:g} degrees in HSV (imitated with NumPy; {name} rotates in YIQ)"
        yield factory.with_function_before(
            "hue", text, partial(imitated.rotate_hue, degrees=angle), hue=angle
        )
    if factory.get("saturation") == 0:
        for words, weights in imitated.GREY.items():
            text = f"grey = {words} (imitated with NumPy; {name} uses BT.601)"
            yield factory.with_function_before(
                "grey", text, partial(imitated.grey, weights=weights)
            )
    if factor != 1 and "contrast_center" not in factory.call.node.args:
        text = f"contrast around the mean grey (imitated with NumPy; {name} uses 128)"
        changed = partial(imitated.contrast, factor=factor)
        yield factory.with_function_before("contrast", text, changed, contrast=factor)
