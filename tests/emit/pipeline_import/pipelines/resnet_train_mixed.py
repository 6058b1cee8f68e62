"""ResNet training with decoding on the GPU: mixed decoder, GPU resize, labels sent over."""

import nvidia.dali.fn as fn
import nvidia.dali.types as types
from nvidia.dali.pipeline import pipeline_def

MEAN = [0.485 * 255, 0.456 * 255, 0.406 * 255]
STD = [0.229 * 255, 0.224 * 255, 0.225 * 255]


@pipeline_def
def create_dali_pipeline(data_dir, crop, size, shard_id, num_shards, dali_cpu=False):
    images, labels = fn.readers.file(
        file_root=data_dir,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=True,
        seed=5,
        name="Reader",
    )
    dali_device = "cpu" if dali_cpu else "gpu"
    decoder_device = "cpu" if dali_cpu else "mixed"
    images = fn.decoders.image_random_crop(
        images,
        device=decoder_device,
        output_type=types.RGB,
        random_area=[0.25, 1.0],
        seed=6,
    )
    images = fn.resize(images, device=dali_device, size=[size, size])
    mirror = fn.random.coin_flip(probability=0.5, seed=7)
    images = fn.crop_mirror_normalize(
        images.gpu(),
        dtype=types.FLOAT16,
        output_layout="CHW",
        crop=(crop, crop),
        mean=MEAN,
        std=STD,
        mirror=mirror,
    )
    return images, labels.gpu()


def train_loader(data_dir):
    return create_dali_pipeline(
        data_dir,
        crop=64,
        size=72,
        shard_id=0,
        num_shards=1,
        batch_size=8,
        num_threads=2,
        device_id=0,
        seed=12,
    )
