"""ResNet evaluation: shorter side resized, centre crop, normalised. Nothing is drawn."""

from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=8, num_threads=2, device_id=None)
def resnet_eval(data_dir):
    jpegs, labels = fn.readers.file(file_root=data_dir, random_shuffle=False, name="Reader")
    images = fn.decoders.image(jpegs, output_type=types.RGB)
    images = fn.resize(images, resize_shorter=112, interp_type=types.INTERP_CUBIC, antialias=True)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout=types.NCHW,
        crop=(96, 96),
        mean=[123.675, 116.28, 103.53],
        std=[58.395, 57.12, 57.375],
    )
    return images, labels
