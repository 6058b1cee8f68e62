"""The same photos as data of each kind, written without the libraries that usually do."""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from workbench.sources import Sample, list_samples, open_dataset

Photos = list[tuple[bytes, int]]
"""The encoded image and the label of each, in the order of the folder."""


def read_photos(folder: Path) -> Photos:
    """The files of class folders, in the reader's order."""
    found: list[Sample] = list(list_samples(open_dataset(folder)))
    return [(Path(each.path).read_bytes(), each.label) for each in found]


def add_to_tar(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """One file into an open archive."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def write_webdataset(photos: Photos, folder: Path) -> Path:
    """Two shards, with labels."""
    folder.mkdir()
    half = len(photos) // 2
    for shard, part in enumerate([photos[:half], photos[half:]]):
        with tarfile.open(folder / f"{shard:06}.tar", "w") as archive:
            for number, (image, label) in enumerate(part):
                add_to_tar(archive, f"{number:06}.jpg", image)
                add_to_tar(archive, f"{number:06}.cls", str(label).encode())
    return folder


def _varint(number: int) -> bytes:
    digits = b""
    while number > 127:
        digits += bytes([number & 127 | 128])
        number >>= 7
    return digits + bytes([number])


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def example(image: bytes, label: int) -> bytes:
    """A ``tf.train.Example`` as TensorFlow's data sets write it."""
    pixels = field(1, b"image/encoded") + field(2, field(1, field(1, image)))
    classes = field(1, b"image/class/label") + field(2, field(3, field(1, _varint(label))))
    return field(1, field(1, pixels) + field(1, classes))


def framed(record: bytes) -> bytes:
    """A record of a TFRecord file; DALI does not look at the checksums."""
    return struct.pack("<QI", len(record), 0) + record + bytes(4)


def write_tfrecord(photos: Photos, folder: Path) -> Path:
    """Two files, with labels and without an index."""
    folder.mkdir()
    half = len(photos) // 2
    for number, part in enumerate([photos[:half], photos[half:]]):
        records = (framed(example(image, label)) for image, label in part)
        (folder / f"photos-{number}.tfrecord").write_bytes(b"".join(records))
    return folder


def recorded(image: bytes, label: int) -> bytes:
    """A record of a RecordIO file, as ``im2rec`` packs an image with one label."""
    content = struct.pack("<IfQQ", 0, label, 0, 0) + image
    return struct.pack("<II", 0xCED7230A, len(content)) + content + bytes(-len(content) % 4)


def write_record_io(photos: Photos, folder: Path) -> Path:
    """A file without an index."""
    folder.mkdir()
    path = folder / "photos.rec"
    path.write_bytes(b"".join(recorded(image, label) for image, label in photos))
    return path


def write_coco(photos: Photos, folder: Path) -> Path:
    """Images beside their annotations; each but every third has one box."""
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for number, (image, label) in enumerate(photos):
        name = f"{number:06}.jpg"
        (folder / "images" / name).write_bytes(image)
        images.append({"id": number, "file_name": name, "width": 300, "height": 300})
        if number % 3:
            box = {"bbox": [1, 2, 10, 20], "area": 200, "iscrowd": 0}
            annotations.append({"id": number, "image_id": number, "category_id": label, **box})
    categories = [{"id": label, "name": f"c{label}"} for label in sorted({p[1] for p in photos})]
    path = folder / "annotations.json"
    found = {"images": images, "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


WRITERS: Mapping[str, Callable[[Photos, Path], Path]] = {
    "webdataset": write_webdataset,
    "tfrecord": write_tfrecord,
    "record_io": write_record_io,
    "coco": write_coco,
}
"""By kind of source: writes photos to a new place, and gives the path to open."""
