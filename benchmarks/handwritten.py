"""imagenet-train as a person would write it in DALI, without the workbench."""

from __future__ import annotations

from nvidia.dali import fn, pipeline_def, types
from nvidia.dali.pipeline import Pipeline


@pipeline_def
def train(root: str, decode: str):
    encoded, labels = fn.readers.file(file_root=root, random_shuffle=True, name="reader")
    images = fn.decoders.image(encoded, device=decode, output_type=types.RGB)
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


def build(root: str, batch_size: int, num_threads: int, decode: str) -> Pipeline:
    pipe = train(
        root,
        decode,
        batch_size=batch_size,
        num_threads=num_threads,
        device_id=None if decode == "cpu" else 0,
        seed=42,
    )
    pipe.build()
    return pipe
