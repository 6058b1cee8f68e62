"""As most people write it: one seed for the whole pipeline, none at the operators."""

from nvidia.dali import fn, pipeline_def, types


@pipeline_def
def one_seed(data_dir, size=64):
    jpegs, labels = fn.readers.file(file_root=data_dir, random_shuffle=True, name="Reader")
    images = fn.decoders.image(jpegs, output_type=types.RGB)
    angle = fn.random.uniform(range=(-10.0, 10.0))
    mirror = fn.random.coin_flip()
    images = fn.rotate(images, angle=angle, fill_value=0, keep_size=True)
    images = fn.random_resized_crop(images, size=size)
    images = fn.flip(images, horizontal=mirror)
    return images, labels


def build(data_dir):
    return one_seed(data_dir, batch_size=8, num_threads=2, device_id=None, seed=1234)
