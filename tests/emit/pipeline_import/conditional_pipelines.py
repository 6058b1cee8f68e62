"""Pipelines with ``if``, as users write them; in a file, because DALI reads their source."""

from __future__ import annotations

from typing import Any

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.auto_aug import auto_augment

SETTINGS: dict[str, Any] = {
    "batch_size": 5,
    "num_threads": 2,
    "device_id": None,
    "seed": 7,
    "enable_conditionals": True,
}


def photos(data: str) -> tuple[Any, Any]:
    jpegs, labels = fn.readers.file(file_root=data, name="reader", seed=1)
    return fn.resize(fn.decoders.image(jpegs), size=[40, 48]), labels


def coin(seed: int) -> Any:
    return fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=seed)


@pipeline_def(**SETTINGS)
def two_branches(data: str) -> Any:
    images, labels = photos(data)
    turn = coin(2)
    if turn:
        images = fn.rotate(images, angle=fn.random.uniform(range=(-9, 9), seed=3), keep_size=True)
    else:
        images = fn.gaussian_blur(images, sigma=2)
    return images, labels


@pipeline_def(**SETTINGS)
def without_else(data: str) -> Any:
    images, labels = photos(data)
    if fn.random.coin_flip(seed=2):
        images = fn.noise.gaussian(images, stddev=20, seed=3)
    return images, labels


@pipeline_def(**SETTINGS)
def two_values(data: str) -> Any:
    images, labels = photos(data)
    mirror = coin(2)
    if mirror:
        images = fn.flip(images)
        labels = labels + 100
    return images, labels


@pipeline_def(**SETTINGS)
def chain_of_three(data: str) -> Any:
    images, labels = photos(data)
    pick = fn.random.uniform(range=(0, 3), dtype=types.INT32, seed=2)
    if pick == 0:
        images = fn.rotate(images, angle=10, keep_size=True)
    elif pick == 1:
        images = fn.flip(images)
    else:
        images = fn.gaussian_blur(images, sigma=2)
    return images, labels


@pipeline_def(**SETTINGS)
def elif_of_coins(data: str) -> Any:
    images, labels = photos(data)
    first, second = coin(2), coin(3)
    if first:
        images = fn.rotate(images, angle=10, keep_size=True)
    elif second:
        images = fn.flip(images)
    else:
        images = fn.gaussian_blur(images, sigma=2)
    return images, labels


@pipeline_def(**SETTINGS)
def three_deep(data: str) -> Any:
    images, labels = photos(data)
    small = fn.resize(images, size=[20, 20])
    outer = coin(2)
    if outer:
        middle = coin(3)
        if middle:
            images = fn.flip(images)
            inner = coin(4)
            if inner:
                images = fn.rotate(images, angle=10)
                amount = 3
            else:
                images = small
                amount = 4
        else:
            images = fn.gaussian_blur(images, sigma=2)
            amount = 5
        labels = labels + amount
    return images, labels


@pipeline_def(**SETTINGS)
def again_and_again(data: str) -> Any:
    images, labels = photos(data)
    repeat = coin(2)
    for angle in (10, 20, 30):
        if repeat:
            images = fn.rotate(images, angle=angle, keep_size=True)
    if repeat:
        labels = labels + 1
    return images, labels


@pipeline_def(**SETTINGS)
def words(data: str) -> Any:
    images, labels = photos(data)
    first, second = coin(2), coin(3)
    if (first and not second) or labels[0] > 2:
        images = fn.flip(images)
    if first and (second or labels[0] == 1):
        images = fn.gaussian_blur(images, sigma=2)
    return images, labels


@pipeline_def(**SETTINGS)
def drawn_word(data: str) -> Any:
    """The operand after ``and`` samples for a part of the batch, so it remains an ``if``."""
    images, labels = photos(data)
    first = coin(2)
    if first and fn.random.uniform(labels[0], range=(0, 1), seed=4) > 0.5:
        images = fn.flip(images)
    return images, labels


@pipeline_def(**SETTINGS)
def by_brightness(data: str) -> Any:
    images, labels = photos(data)
    if fn.reductions.mean(images) > 110:
        images = fn.brightness(images, brightness=0.5)
    return images, labels


def sometimes(images: Any, seed: int) -> Any:
    if coin(seed):
        images = fn.flip(images)
    return images


@pipeline_def(**SETTINGS)
def helper_twice(data: str) -> Any:
    images, labels = photos(data)
    images = sometimes(images, 2)
    images = sometimes(images, 3)
    return images, labels


@pipeline_def(**SETTINGS)
def on_the_gpu(data: str) -> Any:
    images, labels = photos(data)
    move = coin(2)
    big = images.gpu()
    if move:
        big = fn.rotate(big, angle=10, keep_size=True)
    else:
        images = fn.flip(images)
        big = images.gpu()
    return big, labels


@pipeline_def(**SETTINGS)
def library_inside(data: str) -> Any:
    images, labels = photos(data)
    change = coin(2)
    if change:
        images = fn.flip(images)
        images = auto_augment.auto_augment_image_net(images, shape=[40, 48])
    return images, labels


PLAIN = (
    two_branches,
    without_else,
    two_values,
    chain_of_three,
    elif_of_coins,
    three_deep,
    again_and_again,
    words,
    drawn_word,
    by_brightness,
    helper_twice,
)
