"""The older class form: operators made in ``__init__`` and called in ``define_graph``."""

from nvidia.dali import ops, types
from nvidia.dali.pipeline import Pipeline


class HybridPipe(Pipeline):
    """Read, decode, cut, normalise."""

    def __init__(self, data_dir, batch_size=6, num_threads=2, device_id=None):
        super().__init__(batch_size, num_threads, device_id, seed=151)
        self.input = ops.readers.File(file_root=data_dir, random_shuffle=True, seed=1)
        self.decode = ops.decoders.Image(device="cpu", output_type=types.RGB)
        self.cut = ops.RandomResizedCrop(size=(64, 64), random_area=[0.3, 1.0], seed=2)
        self.cmnp = ops.CropMirrorNormalize(
            device="cpu",
            dtype=types.FLOAT,
            output_layout=types.NCHW,
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        )
        self.coin = ops.random.CoinFlip(probability=0.5, seed=3)
        self.twist = ops.ColorTwist(device="cpu", saturation=1.2)
        self.light = ops.random.Uniform(range=(0.7, 1.3), seed=4)

    def define_graph(self):
        rng = self.coin()
        self.jpegs, self.labels = self.input()
        images = self.decode(self.jpegs)
        images = self.cut(images)
        images = self.twist(images, brightness=self.light(), contrast=self.light())
        output = self.cmnp(images, mirror=rng)
        return [output, self.labels]
