"""Windows of steps from a large array that each process opens at its first sample."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from nvidia.dali import fn, pipeline_def, types


@dataclass
class Windows:
    path: Path
    batch_size: int
    steps: int = 2
    shuffle: bool = True
    held: np.ndarray | None = field(default=None, repr=False)
    last_epoch: int | None = None

    def __post_init__(self):
        self.total = np.load(self.path, mmap_mode="r").shape[0] - self.steps
        self.indices = np.arange(self.total)
        self.num_batches = self.total // self.batch_size

    def __call__(self, sample_info):
        if sample_info.iteration >= self.num_batches:
            raise StopIteration()
        if self.held is None:
            self.held = np.load(self.path, mmap_mode="r")
        if self.shuffle and sample_info.epoch_idx != self.last_epoch:
            np.random.default_rng(seed=sample_info.epoch_idx).shuffle(self.indices)
            self.last_epoch = sample_info.epoch_idx
        at = self.indices[sample_info.idx_in_epoch]
        target = np.stack([self.held[at + step + 1] for step in range(self.steps)])
        return np.asarray(self.held[at]), target, np.array(np.cos(at), dtype=np.float32)


@pipeline_def(batch_size=3, num_threads=2, device_id=None)
def weather(data_dir):
    source = Windows(Path(data_dir) / "fields.npy", batch_size=3)
    now, later, angle = fn.external_source(
        source=source, num_outputs=3, parallel=False, batch=False, layout=["CHW", "FCHW", ""]
    )
    now = fn.normalize(now, axes=[1, 2], dtype=types.FLOAT)
    return now, later, angle
