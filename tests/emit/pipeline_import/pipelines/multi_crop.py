"""Self-supervised learning with several crops: two large views and four small, made in a loop."""

from nvidia.dali import fn, pipeline_def, types

SIZES = [(64, (0.4, 1.0), 2), (32, (0.05, 0.4), 4)]


def view(images, size, area, seed):
    """One view with draws of its own."""
    out = fn.random_resized_crop(images, size=(size, size), random_area=area, seed=seed)
    out = fn.color_twist(
        out,
        brightness=fn.random.uniform(range=[0.6, 1.4], seed=seed + 1),
        contrast=fn.random.uniform(range=[0.6, 1.4], seed=seed + 2),
        saturation=fn.random.uniform(range=[0.8, 1.2], seed=seed + 3),
        hue=fn.random.uniform(range=[-36.0, 36.0], seed=seed + 4),
    )
    out = fn.gaussian_blur(out, sigma=fn.random.uniform(range=[0.1, 2.0], seed=seed + 5))
    return fn.crop_mirror_normalize(
        out,
        dtype=types.FLOAT,
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
        mirror=fn.random.coin_flip(seed=seed + 6),
    )


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=71)
def multi_crop(data_dir):
    jpegs, _ = fn.readers.file(file_root=data_dir, random_shuffle=True, seed=1)
    images = fn.decoders.image(jpegs)
    views = []
    for size, area, count in SIZES:
        for index in range(count):
            views.append(view(images, size, area, seed=1000 * size + 10 * index))
    return tuple(views)
