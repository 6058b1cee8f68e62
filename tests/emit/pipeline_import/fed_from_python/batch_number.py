"""A function of the number of the batch: photos that OpenCV decoded, and their sizes."""

import os

import cv2
import numpy as np
from nvidia.dali import fn, pipeline_def

BATCH = 4
SHORTER = 44


def load(path):
    image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    scale = SHORTER / min(image.shape[:2])
    return cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)


def reader(folder):
    listed = []
    for base, _, names in sorted(os.walk(folder)):
        listed += [os.path.join(base, name) for name in sorted(names) if name.endswith("jpg")]

    def read_batch(number):
        taken = [listed[(number * BATCH + k) % len(listed)] for k in range(BATCH)]
        images = [load(path) for path in taken]
        return images, [np.float32(image.shape[:2]) for image in images]

    return read_batch


def decoded_outside(data_dir):
    @pipeline_def(batch_size=BATCH, num_threads=2, device_id=None, seed=9)
    def pipe():
        images, sizes = fn.external_source(reader(data_dir), num_outputs=2, layout=["HWC", ""])
        images = fn.crop(
            images, crop=(40, 40), crop_pos_x=fn.random.uniform(range=(0.0, 1.0), seed=1)
        )
        return fn.brightness_contrast(images, brightness=1.2), sizes

    return pipe()
