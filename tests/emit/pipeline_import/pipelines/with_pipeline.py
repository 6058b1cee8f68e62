"""A pipeline made in a ``with`` block at the top level of the script, and run by the script."""

import os

from nvidia.dali import fn
from nvidia.dali.pipeline import Pipeline

DATA = os.environ.get("WITH_PIPELINE_DATA", "photos")

pipe = Pipeline(batch_size=4, num_threads=2, device_id=None, seed=161)
with pipe:
    jpegs, labels = fn.readers.file(file_root=DATA, name="Reader")
    images = fn.decoders.image(jpegs)
    images = fn.resize(images, resize_shorter=fn.random.uniform(range=(70, 90), seed=2))
    images = fn.crop(images, crop=(64, 64))
    images = fn.jpeg_compression_distortion(images, quality=30)
    pipe.set_outputs(images, labels)


def main():
    pipe.build()
    for _ in range(3):
        images, _ = pipe.run()
        print([image.shape() for image in images])


if __name__ == "__main__":
    main()
