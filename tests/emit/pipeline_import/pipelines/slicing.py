"""Indexing: a border cut away by slices, one channel taken, a corner, a label without its axis."""

from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=181)
def sliced(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.resize(fn.decoders.image(jpegs), size=(80, 100))
    inner = images[8:-8, 10:90, :]
    red = inner[:, :, 0:1]
    corner = inner[:16, -16:, 1]
    return inner, red, corner, labels[0]
