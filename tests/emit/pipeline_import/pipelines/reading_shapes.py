"""A slice whose ends are computed: half of the height is read off each photo's shape."""

from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=231)
def upper_half(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.decoders.image(jpegs)
    height = images.shape()[0]
    upper = images[: height // 2]
    return fn.resize(upper, size=(40, 80)), labels
