"""ResNet training on the CPU: a fused random crop and decode, a resize, a mirror in half.

Each random operator has a seed.
"""

from nvidia.dali import fn, pipeline_def, types


@pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=12)
def resnet_train(data_dir, size=96, shard_id=0, num_shards=1):
    jpegs, labels = fn.readers.file(
        file_root=data_dir,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        pad_last_batch=True,
        seed=101,
        name="Reader",
    )
    images = fn.decoders.image_random_crop(
        jpegs,
        output_type=types.RGB,
        random_aspect_ratio=[0.8, 1.25],
        random_area=[0.1, 1.0],
        num_attempts=100,
        seed=102,
    )
    images = fn.resize(images, resize_x=size, resize_y=size, interp_type=types.INTERP_TRIANGULAR)
    mirror = fn.random.coin_flip(probability=0.5, seed=103)
    images = fn.crop_mirror_normalize(
        images,
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=(size, size),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=mirror,
    )
    return images, labels


if __name__ == "__main__":
    import sys

    pipe = resnet_train(sys.argv[1])
    pipe.build()
    print(pipe.run()[1].as_array().ravel())
