"""Conditional execution: one photo in four is turned, the others are blurred or left alone."""

from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=51, enable_conditionals=True)
def sometimes(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, seed=1)
    images = fn.resize(fn.decoders.image(jpegs), size=(96, 96))
    turn = fn.random.coin_flip(probability=0.25, dtype=types.BOOL, seed=2)
    blur = fn.random.coin_flip(probability=0.5, dtype=types.BOOL, seed=3)
    if turn:
        images = fn.rotate(images, angle=fn.random.uniform(range=(10, 90), seed=4), keep_size=True)
    elif blur and not turn:
        images = fn.gaussian_blur(images, sigma=2.0)
    else:
        images = fn.flip(images)
    return images, labels
