"""Pipelines as a person would write them in DALI, without the workbench.

Conditional ones have the seeds of the exported scripts, so that the same samples reach the same
branches.
"""

from __future__ import annotations

from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.pipeline import Pipeline

SIZE = 224


def _read(root: str, device: str) -> tuple[Any, Any]:
    encoded, labels = fn.readers.file(file_root=root, name="reader")
    images = fn.decoders.image(encoded, device=device, output_type=types.RGB)
    return fn.resize(images, size=[SIZE, SIZE]), labels


@pipeline_def
def train(root: str, device: str) -> Any:
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="reader")
    images = fn.decoders.image(encoded, device=device, output_type=types.RGB)
    images = fn.random_resized_crop(images, size=[224, 224])
    images = fn.crop_mirror_normalize(
        images,
        mirror=fn.random.coin_flip(probability=0.5),
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        dtype=types.FLOAT,
        output_layout="CHW",
    )
    return images, labels


@pipeline_def(enable_conditionals=True)
def apply_with_p(root: str, device: str) -> Any:
    images, labels = _read(root, device)
    if fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=43):
        images = fn.rotate(images, angle=20.0, fill_value=0, keep_size=True)
    return images, labels


@pipeline_def(enable_conditionals=True)
def one_of_four(root: str, device: str) -> Any:
    images, labels = _read(root, device)
    choice = fn.random.choice(4, seed=44)
    if choice == 0:
        images = fn.rotate(images, angle=20.0, fill_value=0, keep_size=True)
    elif choice == 1:
        images = fn.gaussian_blur(images, sigma=1.5)
    elif choice == 2:
        images = fn.brightness_contrast(images, brightness=1.4, contrast=1.3)
    else:
        images = fn.noise.gaussian(images, stddev=20.0, seed=43)
    return images, labels


@pipeline_def(enable_conditionals=True)
def nested(root: str, device: str) -> Any:
    images, labels = _read(root, device)
    if fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=44):
        images = fn.rotate(images, angle=20.0, fill_value=0, keep_size=True)
        if fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=43):
            images = fn.gaussian_blur(images, sigma=1.5)
    return images, labels


def build(name: str, root: str, batch_size: int, num_threads: int, device: str) -> Pipeline:
    """The built pipeline of a function of this module, which decodes on this device."""
    made = {each.__name__: each for each in (train, apply_with_p, one_of_four, nested)}
    pipe = made[name](
        root,
        device,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=0 if device == "mixed" else None,
        seed=42,
    )
    pipe.build()
    return pipe
