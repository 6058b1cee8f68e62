"""A list of prepared batches, used again and again, and the partners of a mix-up."""

import numpy as np
from nvidia.dali import fn, pipeline_def, types

BATCH_SIZE = 4


def permutations():
    generator = np.random.default_rng(seed=23)
    while True:
        order = generator.permutation(BATCH_SIZE)
        yield [np.array(each, dtype=np.int32) for each in order]


@pipeline_def(batch_size=BATCH_SIZE, num_threads=2, device_id=None)
def mixed_up(data_dir):
    held = np.load(f"{data_dir}/images.npz")
    ready = [list(held["images"][k : k + BATCH_SIZE]) for k in range(0, 12, BATCH_SIZE)]
    images = fn.external_source(source=ready, cycle=True, layout="HWC")
    partner = fn.external_source(source=permutations())
    share = fn.random.beta(alpha=0.4, beta=0.4, seed=4)
    mixed = images * share + fn.permute_batch(images, indices=partner) * (1.0 - share)
    return fn.cast(mixed, dtype=types.FLOAT), partner
