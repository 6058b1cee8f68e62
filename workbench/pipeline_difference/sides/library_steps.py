"""Split a composition of torchvision, Albumentations, Kornia or timm into steps.

Random values are fixed. The library's classes run in the worker process.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.interop.custom_steps import OWN
from workbench.emit.interop.graph import LIBRARIES
from workbench.emit.interop.library import call_of
from workbench.emit.pipeline_import.transform_call import TransformCall, from_plain, to_plain
from workbench.engine.protocol.process import Engine
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.engine.script_import.script_sandbox import ScriptSandbox
from workbench.errors import ArgumentError
from workbench.pipeline_difference.measure import Failed, Item, as_array
from workbench.pipeline_difference.sides.library_calls import (
    CannotCallError,
    library_fault,
    library_steps,
    library_version,
)
from workbench.pipeline_difference.sides.pinned import (
    call_text,
    comparison_of,
    fixed_values,
    inner_calls,
)
from workbench.pipeline_difference.steps import (
    DECODE,
    FUNCTION,
    TAIL,
    Backend,
    Side,
    Step,
    describe,
    to_array,
)

LIBRARY = "library"
_SECONDS = 20.0
"""Time limit in seconds for the library to process one photo."""
_KINDS = {
    "Resize": "resize", "SmallestMaxSize": "resize", "LongestMaxSize": "resize",
    "CenterCrop": "crop", "FiveCrop": "crop", "Crop": "crop", "Pad": "crop",
    "HorizontalFlip": "flip", "RandomHorizontalFlip": "flip", "VerticalFlip": "flip",
    "RandomVerticalFlip": "flip",
    "Normalize": TAIL, "ToDtype": TAIL, "ToFloat": TAIL,
    "ColorJitter": "colour", "HueSaturationValue": "colour", "Grayscale": "colour",
    "RandomGrayscale": "colour", "ToGray": "colour", "RandomBrightnessContrast": "colour",
    "ColorJiggle": "colour",
    "Rotate": "rotate", "RandomRotation": "rotate", "Affine": "warp", "RandomAffine": "warp",
}  # fmt: skip
_HOLDING = ("Compose", "Sequential", "ImageOnly", "AugmentationSequential", "ModuleList")


def decode_with_pillow(
    data: bytes, *, upright: bool = False, backdrop: int | None = None
) -> NDArray[np.uint8]:
    """Decode an image to RGB with Pillow, as torchvision's ``ImageFolder`` does.

    ``upright`` applies the EXIF orientation; ``backdrop`` is the grey level behind transparent
    pixels.
    """
    from PIL import Image, ImageOps

    image: Any = Image.open(io.BytesIO(data))
    image = ImageOps.exif_transpose(image) if upright else image
    if backdrop is not None and (image.mode in ("RGBA", "LA") or "transparency" in image.info):
        image = image.convert("RGBA")
        behind = Image.new("RGBA", image.size, 3 * (backdrop,) + (255,))
        image = Image.alpha_composite(behind, image)
    return np.asarray(image.convert("RGB"))


def decode_with_opencv(data: bytes) -> NDArray[np.uint8]:
    """Decode an image with OpenCV and convert it to RGB, as Albumentations' documentation does."""
    import cv2

    found = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if found is None:
        raise ValueError("OpenCV cannot decode it")
    return np.ascontiguousarray(found[..., ::-1])


def decode_step(library: str) -> tuple[Step, str]:
    """Return the decoding step that users of a library usually write, and a sentence about it."""
    if library == "albumentations":
        try:
            import cv2  # noqa: F401
        except ImportError:
            pass
        else:
            step = Step((DECODE,), "cv2.imdecode, BGR to RGB", FUNCTION, decode_with_opencv, "cv2")
            return step, "OpenCV decodes its images (cv2.imread applies the EXIF orientation)."
    return (
        Step((DECODE,), 'Image.open(file).convert("RGB")', FUNCTION, decode_with_pillow, "pillow"),
        "Pillow decodes its images, as ImageFolder does (the EXIF orientation is not applied).",
    )


def library_side(call: TransformCall, name: str, label: str) -> Side:
    """Return the steps of a composition. Raises ArgumentError if random values cannot be fixed."""
    within = call.library if call.library in LIBRARIES else "torchvision"
    notes: list[str] = []
    calls = list(_flattened(call, notes, name))
    decode, sentence = decode_step(within)
    steps = [
        Step(
            (_KINDS.get(each.short_name, _tail_or_name(each)),),
            call_text(each),
            f"{LIBRARY}:{label}:{within}",
            each,
            repr(each),
        )
        for each in calls
    ]
    fixed = [*map(call_text, calls)]
    random = sorted(text for text in map(call_text, _calls_in(call)) if text not in fixed)
    if random:
        notes.append("random values are fixed to the upper end of their range, p to 1.")
    sentences = (sentence, *dict.fromkeys(notes))
    remarks = tuple(f"{name}: {note}" for note in sentences)
    return Side(name, (decode, *steps), remarks, random=tuple(random))


def unsupported_transform(call: TransformCall) -> str:
    """Return the name of the first transform that cannot be recreated; empty if all can be.

    Classes of the user, and transforms with a function as argument, cannot be recreated.
    """
    for each in _flattened(call, [], ""):
        known = {**LIBRARIES, OWN.name: OWN}.get(each.library)
        values = (*each.args, *each.kwargs.values())
        if (
            known is None
            or each.short_name not in known.importers
            or any(isinstance(value, TransformCall) for value in values)
        ):
            return each.short_name
    return ""


def _tail_or_name(call: TransformCall) -> str:
    return TAIL if comparison_of(call).role == "form" else call.short_name


def _calls_in(call: TransformCall) -> Iterator[TransformCall]:
    if comparison_of(call).role == "holds":
        for each in inner_calls(call):
            yield from _calls_in(call_of(each))
    elif comparison_of(call).role != "nothing" or call.short_name == "ToPILImage":
        yield call


def _flattened(call: TransformCall, notes: list[str], name: str) -> Iterator[TransformCall]:
    """Yield the transforms of nested compositions in order, with fixed random values."""
    comparison = comparison_of(call)
    if comparison.role == "holds":
        if call.short_name not in _HOLDING and call.library != "own":
            raise ArgumentError(
                f"diff: {call.short_name} in {name} chooses at random, so images cannot be "
                "compared one by one. Use the composition without it."
            )
        for each in inner_calls(call):
            yield from _flattened(call_of(each), notes, name)
    elif comparison.role == "form" or call.short_name == "ToPILImage":
        yield call
    elif comparison.role != "nothing":
        for pinned in fixed_values(call):
            notes.extend(pinned.notes)
            yield pinned.call


def library_backend(engine: Engine) -> Backend:
    """Return the backend that runs transforms, such as torchvision's, in a worker process."""

    def run(steps: Sequence[Step], items: Sequence[Item]) -> list[Item]:
        within = steps[0].group.rpartition(":")[2]
        calls = to_plain([step.payload for step in steps])
        answers: list[tuple[str, NDArray[Any]]] = engine.call(
            apply_transforms, calls, within, [*items]
        )
        return [Failed(why) if why else image for why, image in answers]

    return run


def require_library(engine: Engine, side: Side) -> None:
    """Raise ArgumentError if the library of a side is not installed."""
    for library in {s.group.rpartition(":")[2] for s in side.steps if s.group.startswith(LIBRARY)}:
        fault, _ = engine.call(library_state, library)
        if fault:
            raise ArgumentError(f"diff: {side.name} cannot run: {fault}.")


@task
def library_state(worker: Worker, library: str) -> tuple[str, str]:
    """Task: return why a library cannot be used (empty if it can), and its version."""
    fault = library_fault(library)
    return (fault, "") if fault else ("", library_version(library))


@task
def apply_transforms(
    worker: Worker, calls: Any, within: str, images: list[NDArray[Any]]
) -> list[tuple[str, NDArray[Any]]]:
    """Task: apply transforms (plain values) to images. Returns (error, result) for each."""
    worker.report_running(())
    none = np.zeros(0, np.uint8)
    found: list[tuple[str, NDArray[Any]]] = []
    seconds = _SECONDS * (1 + len(images))
    with ScriptSandbox([within], seconds, worker.reply_error), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            apply: Callable[[Any], Any] = library_steps(from_plain(calls), within)
        except CannotCallError as error:
            return [(str(error), none)] * len(images)
        for image in images:
            worker.check_interrupt()
            worker.report("")
            try:
                result = to_array(apply(image))
                found.append(("", np.ascontiguousarray(as_array(result))))
            except Exception as error:  # whatever a library raises
                found.append((describe(error), none))
    return found
