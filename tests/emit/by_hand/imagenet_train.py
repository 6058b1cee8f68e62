# mypy: ignore-errors
"""ResNet training, as NVIDIA's examples write it."""

from nvidia.dali import fn, pipeline_def, types

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]
OUTPUTS = ["images", "labels"]


@pipeline_def
def train_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, labels = fn.readers.file(
        file_root=data,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image(jpegs, device=device, output_type=types.RGB)
    images = fn.random_resized_crop(images, size=[224, 224])
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=MEAN,
        std=STD,
        mirror=fn.random.coin_flip(probability=0.5),
    )
    return images, labels


@pipeline_def
def val_pipeline(data, device, shard_id=0, num_shards=1):
    jpegs, labels = fn.readers.file(
        file_root=data,
        shard_id=shard_id,
        num_shards=num_shards,
        pad_last_batch=True,
        name="Reader",
    )
    images = fn.decoders.image(jpegs, device=device, output_type=types.RGB)
    images = fn.resize(images, resize_shorter=256)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=[224, 224],
        mean=MEAN,
        std=STD,
    )
    return images, labels
