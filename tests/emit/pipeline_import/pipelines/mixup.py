"""MixUp as arithmetic: each photo and its label are mixed with those of another in its batch."""

from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=61)
def mixup(data_dir, alpha=0.4):
    jpegs, labels = fn.readers.file(file_root=data_dir, random_shuffle=True, seed=1)
    images = fn.decoders.image(jpegs)
    images = fn.resize(images, size=(64, 64), dtype=types.FLOAT)
    targets = fn.one_hot(labels, num_classes=12, dtype=types.FLOAT)
    order = fn.batch_permutation(seed=2)
    weight = fn.random.beta(alpha=alpha, beta=alpha, seed=3)
    images = weight * images + (1.0 - weight) * fn.permute_batch(images, indices=order)
    targets = weight * targets + (1 - weight) * fn.permute_batch(targets, indices=order)
    return images / 255.0, targets
