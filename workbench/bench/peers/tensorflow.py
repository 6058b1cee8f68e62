"""tf.data: ``tf.image``'s decoder and operators in a ``map`` of so many parallel calls.

It draws in its graph, from the ranges of the workbench's. TensorFlow is imported in the worker
only, where it is installed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.peers.loader import AHEAD
from workbench.bench.peers.program import (
    NoCounterpartError,
    OperatorCall,
    Peer,
    Program,
    chain_of,
    fixed_value,
)

NAME = "tf.data"
PEERS = (Peer(NAME, "cpu", ("tensorflow-cpu", "tensorflow"), "tf.io", __name__),)


def drawn(program: Program) -> dict[str, Any]:
    """A number of each generator, drawn anew for each image."""
    import tensorflow as tf

    found = {}
    for name, (kind, args) in program.generators.items():
        if kind == "random.coin_flip":
            found[name] = tf.cast(tf.random.uniform([]) < args.get("probability", 0.5), tf.float32)
        elif "values" in args:
            found[name] = tf.random.shuffle(tf.constant(args["values"], tf.float32))[0]
        else:
            found[name] = tf.random.uniform([], *args.get("range", (-1.0, 1.0)))
    return found


def apply(image: Any, step: OperatorCall, draws: dict[str, Any]) -> Any:
    """One operator on a float image, HWC. Raises NoCounterpartError."""
    import tensorflow as tf

    def value(name: str, usual: float) -> Any:
        if name in step.draws:
            return draws[step.draws[name]]
        return tf.constant(float(step.args.get(name, usual)))

    def fixed(name: str, usual: Any = None) -> Any:
        return fixed_value(step, name, usual, NAME)

    def scaled(image: Any, size: Any) -> Any:
        return tf.image.resize(image, size, antialias=True)

    def cropped(image: Any) -> Any:
        size = [int(each) for each in fixed("crop")]
        room = tf.cast(tf.shape(image)[:2] - size, tf.float32)
        place = tf.stack([value("crop_pos_y", 0.5), value("crop_pos_x", 0.5)])
        at = tf.cast(tf.floor(room * place + 0.5), tf.int32)
        return tf.image.crop_to_bounding_box(image, at[0], at[1], *size)

    def flipped(image: Any, name: str, usual: float, axis: int) -> Any:
        if name not in step.draws:
            return tf.reverse(image, [axis]) if step.args.get(name, usual) else image
        return tf.cond(value(name, 0) > 0, lambda: tf.reverse(image, [axis]), lambda: image)

    match step.op:
        case "random_resized_crop":
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                tf.shape(image), tf.zeros([1, 0, 4]), min_object_covered=0.0, max_attempts=10,
                aspect_ratio_range=[*fixed("random_aspect_ratio", (3 / 4, 4 / 3))],
                area_range=[*fixed("random_area", (0.08, 1.0))],
                use_image_if_no_bounding_boxes=True,
            )  # fmt: skip
            return scaled(tf.slice(image, begin, size), [int(each) for each in fixed("size")])
        case "resize":
            if fixed("size") is not None:
                return scaled(image, [int(each) for each in fixed("size")])
            shape = tf.cast(tf.shape(image)[:2], tf.float32)
            factor = float(fixed("resize_shorter")) / tf.reduce_min(shape)
            return scaled(image, tf.cast(tf.round(shape * factor), tf.int32))
        case "crop":
            return cropped(image)
        case "crop_mirror_normalize":
            image = cropped(image) if fixed("crop") is not None else image
            image = flipped(image, "mirror", 0.0, 1)
            image = (image - [*fixed("mean", (0.0,))]) / [*fixed("std", (1.0,))]
            image = tf.cast(image, tf.float16) if fixed("dtype") == "FLOAT16" else image
            chw = fixed("output_layout", "CHW") == "CHW"
            return tf.transpose(image, [2, 0, 1]) if chw else image
        case "rotate" if fixed("keep_size", False):
            return rotated(image, value("angle", 0.0), float(fixed("fill_value", 0.0)))
        case "color_twist" | "brightness_contrast" | "brightness" | "saturation":
            contrast = value("contrast", 1.0)
            image = (image * contrast + 128 * (1 - contrast)) * value("brightness", 1.0)
            image = tf.clip_by_value(image, 0, 255)
            if "saturation" in (*step.args, *step.draws):
                gray = tf.image.rgb_to_grayscale(image)
                image = gray + (image - gray) * value("saturation", 1.0)
            if "hue" in (*step.args, *step.draws):
                image = tf.image.adjust_hue(image, value("hue", 0.0) / 360)
            return tf.clip_by_value(image, 0, 255)
        case "flip":
            return flipped(flipped(image, "horizontal", 1.0, 1), "vertical", 0.0, 0)
    raise NoCounterpartError(f"{NAME} is given no counterpart of {step.op} ({step.node})")


def rotated(image: Any, degrees: Any, fill: float) -> Any:
    """Turned counter-clockwise about its centre, at the same size."""
    import tensorflow as tf

    shape = tf.cast(tf.shape(image), tf.float32)
    y, x = (shape[0] - 1) / 2, (shape[1] - 1) / 2
    angle = degrees * (math.pi / 180)
    cos, sin = tf.cos(angle), tf.sin(angle)
    turn = [cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y, 0.0, 0.0]
    return tf.raw_ops.ImageProjectiveTransformV3(
        images=image[None],
        transforms=tf.stack([tf.cast(each, tf.float32) for each in turn])[None],
        output_shape=tf.shape(image)[:2],
        interpolation="BILINEAR",
        fill_mode="CONSTANT",
        fill_value=fill,
    )[0]


def outputs_of(path: Any, program: Program) -> list[Any]:
    """The outputs for one file."""
    import tensorflow as tf

    channels = 1 if program.gray else 3
    image = tf.io.decode_image(tf.io.read_file(path), channels, expand_animations=False)
    image = tf.cast(image, tf.float32)
    draws = drawn(program)
    found = []
    for output in program.outputs:
        chain, one = chain_of(program, output), image
        for step in chain:
            one = apply(one, step, draws)
        if not chain or chain[-1].op != "crop_mirror_normalize":
            one = tf.cast(tf.round(one), tf.uint8)
        found.append(one)
    return found


class DataWorkload:
    """Batches of a ``tf.data.Dataset``."""

    def __init__(self, program: Program, files: list[str], batch_size: int, workers: int) -> None:
        import tensorflow as tf

        data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files), seed=0).repeat()
        data = data.map(lambda path: tuple(outputs_of(path, program)), num_parallel_calls=workers)
        data = data.ragged_batch(batch_size).prefetch(AHEAD)
        options = tf.data.Options()
        options.threading.private_threadpool_size = workers
        self._batches = iter(data.with_options(options))
        self._size = batch_size
        self.lead = AHEAD + 2

    def run(self) -> int:
        next(self._batches)
        return self._size


def start(
    peer: Peer, program: Program, files: list[str], batch_size: int, workers: int
) -> DataWorkload:
    """Batches of the files."""
    return DataWorkload(program, files, batch_size, workers)


def images(peer: Peer, program: Program, files: list[str]) -> list[NDArray[Any]]:
    """The program's first output for each file, as arrays in DALI's layout."""
    return [np.asarray(outputs_of(file, program)[0]) for file in files]
