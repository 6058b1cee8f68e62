# mypy: ignore-errors
"""SimCLR's two views of each photo, by a function that is called twice."""

from nvidia.dali import fn, pipeline_def, types

OUTPUTS = ["view_1", "view_2", "labels"]


def augment(images):
    images = fn.random_resized_crop(
        images,
        size=[224, 224],
        random_area=[0.08, 1.0],
        interp_type=types.INTERP_CUBIC,
        num_attempts=100,
    )
    images = fn.flip(images, horizontal=fn.random.coin_flip(probability=0.5))
    brightness = fn.random.uniform(range=[0.2, 1.8])
    contrast = fn.random.uniform(range=[0.2, 1.8])
    saturation = fn.random.uniform(range=[0.2, 1.8])
    hue = fn.random.uniform(range=[-72, 72])
    sigma = fn.random.uniform(range=[0.1, 2.0])
    if fn.random.coin_flip(probability=0.8, dtype=types.BOOL):
        images = fn.color_twist(
            images,
            brightness=brightness,
            contrast=contrast,
            saturation=saturation,
            hue=hue,
        )
    if fn.random.coin_flip(probability=0.2, dtype=types.BOOL):
        images = fn.saturation(images, saturation=0)
    if fn.random.coin_flip(probability=0.5, dtype=types.BOOL):
        images = fn.gaussian_blur(images, window_size=23, sigma=sigma)
    return images


@pipeline_def(enable_conditionals=True)
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
    return augment(images), augment(images), labels
