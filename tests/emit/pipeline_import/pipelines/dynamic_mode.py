"""DALI's dynamic mode: operators are called on batches, and no pipeline stands behind them."""

import nvidia.dali.experimental.dynamic as ndd


def batches(data_dir, batch_size=4):
    reader = ndd.readers.File(file_root=data_dir)
    for jpegs, labels in reader.next_epoch(batch_size=batch_size):
        images = ndd.decoders.image(jpegs, device="cpu")
        yield ndd.resize(images, size=(64, 64)), labels
