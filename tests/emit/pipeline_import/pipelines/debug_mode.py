"""A pipeline in debug mode: operators run one by one while the function does, there is no graph."""

from nvidia.dali import fn
from nvidia.dali.pipeline.experimental import pipeline_def


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=241, debug=True)
def step_by_step(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, seed=1)
    images = fn.resize(fn.decoders.image(jpegs), size=(64, 64))
    return images, labels
