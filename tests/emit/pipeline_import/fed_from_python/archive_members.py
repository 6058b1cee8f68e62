"""The bound method of an object that reads the members of a tar archive."""

import os
import tarfile

import numpy as np
from nvidia.dali import fn, pipeline_def


class ArchiveReader:
    def __init__(self, path, batch_size):
        self.archive = tarfile.open(path)  # noqa: SIM115
        self.members = [each for each in self.archive.getmembers() if each.name.endswith(".jpg")]
        self.batch_size = batch_size
        self.cursor = 0

    def read(self, member):
        return np.frombuffer(self.archive.extractfile(member).read(), dtype=np.uint8)

    def next_batch(self):
        if self.cursor >= len(self.members):
            self.cursor = 0
            raise StopIteration
        taken = self.members[self.cursor : self.cursor + self.batch_size]
        self.cursor += self.batch_size
        return [self.read(member) for member in taken], [np.int32([each.size]) for each in taken]


@pipeline_def(batch_size=4, num_threads=2, device_id=None)
def from_archive(data_dir):
    reader = ArchiveReader(os.path.join(data_dir, "photos.tar"), 4)
    jpegs, sizes = fn.external_source(source=reader.next_batch, num_outputs=2)
    images = fn.resize(fn.decoders.image(jpegs), resize_longer=40)
    return images, sizes
