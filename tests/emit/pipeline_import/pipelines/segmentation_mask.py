"""Segmentation: a reader for photos and one for masks in step, one crop and one turn for both."""

import os

from nvidia.dali import fn, pipeline_def, types

DATA = os.environ.get("SEGMENTATION_DATA", "photos")
MASKS = os.environ.get("SEGMENTATION_MASKS", DATA)


@pipeline_def(batch_size=6, num_threads=2, device_id=None, seed=41)
def segmentation():
    jpegs, _ = fn.readers.file(
        file_root=DATA, random_shuffle=True, initial_fill=16, seed=9, name="photos"
    )
    pngs, _ = fn.readers.file(
        file_root=MASKS, random_shuffle=True, initial_fill=16, seed=9, name="masks"
    )
    image = fn.decoders.image(jpegs, output_type=types.RGB)
    mask = fn.decoders.image(pngs, output_type=types.GRAY)
    angle = fn.random.uniform(range=(-15.0, 15.0), seed=10)
    image = fn.rotate(image, angle=angle, keep_size=True, fill_value=0)
    mask = fn.rotate(mask, angle=angle, keep_size=True, fill_value=255, interp_type=types.INTERP_NN)
    x = fn.random.uniform(range=(0.0, 1.0), seed=11)
    y = fn.random.uniform(range=(0.0, 1.0), seed=12)
    image = fn.crop(image, crop=(96, 96), crop_pos_x=x, crop_pos_y=y)
    mask = fn.crop(mask, crop=(96, 96), crop_pos_x=x, crop_pos_y=y)
    return image, mask
