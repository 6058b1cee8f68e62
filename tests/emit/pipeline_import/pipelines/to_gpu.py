"""Decoding on the CPU, the rest on the GPU: ``.gpu()`` in the middle, noise and blur behind it."""

from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=4, num_threads=2, device_id=0, seed=211)
def cpu_then_gpu(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir)
    images = fn.decoders.image(jpegs, device="cpu", output_type=types.RGB)
    images = fn.resize(images.gpu(), size=(96, 96))
    images = fn.gaussian_blur(images, sigma=fn.random.uniform(range=(0.5, 1.5), seed=1))
    images = fn.noise.gaussian(images, stddev=8.0, seed=2)
    return images, labels
