"""Detection without a data set of its own: boxes written down, a crop that keeps them, a flip.

Two boxes stand for each photo; ``random_bbox_crop`` cuts, ``slice`` follows, image and boxes are
mirrored by the same coin.
"""

import numpy as np
from nvidia.dali import fn, pipeline_def, types

BOXES = np.array([[0.1, 0.1, 0.6, 0.7], [0.4, 0.3, 0.9, 0.9]], dtype=np.float32)
CLASSES = np.array([3, 7], dtype=np.int32)


@pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=21)
def detection(data_dir):
    jpegs, _ = fn.readers.file(file_root=data_dir, seed=1)
    images = fn.decoders.image(jpegs)
    boxes = types.Constant(BOXES, device="cpu")
    classes = types.Constant(CLASSES, device="cpu")
    begin, extent, boxes, classes = fn.random_bbox_crop(
        boxes,
        classes,
        aspect_ratio=[0.5, 2.0],
        thresholds=[0.0, 0.1, 0.3, 0.5],
        scaling=[0.3, 1.0],
        bbox_layout="xyXY",
        allow_no_crop=True,
        num_attempts=40,
        seed=2,
    )
    images = fn.slice(images, begin, extent)
    images = fn.resize(images, size=(80, 80))
    coin = fn.random.coin_flip(probability=0.5, seed=3)
    images = fn.flip(images, horizontal=coin)
    boxes = fn.bb_flip(boxes, ltrb=True, horizontal=coin)
    return images, boxes, classes
