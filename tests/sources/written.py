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


def datum(image: bytes, label: int) -> bytes:
    """A ``Datum`` of Caffe with an encoded image."""
    return field(4, image) + b"\x28" + _varint(label) + b"\x38\x01"


_PAGE_SIZE = 4096


def _page(number: int, flags: int, nodes: list[bytes]) -> bytes:
    """A page of LMDB: pointers from its head, nodes from its end."""
    places, at = [], _PAGE_SIZE
    for node in nodes:
        at -= len(node)
        places.append(at)
    head = struct.pack("<QHHHH", number, 0, flags, 16 + 2 * len(nodes), at)
    head += b"".join(struct.pack("<H", place) for place in places)
    return head.ljust(at, b"\0") + b"".join(reversed(nodes))


def write_lmdb(values: list[bytes], folder: Path) -> Path:
    """Values by the keys 00000000, ..., each on pages of its own, below two leaves."""
    folder.mkdir()
    keys = [f"{number:08}".encode() for number in range(len(values))]
    half, overflow, pages, nodes = len(values) // 2, 5, b"", []
    for key, value in zip(keys, values, strict=True):
        size = (16 + len(value) + _PAGE_SIZE - 1) // _PAGE_SIZE
        head = struct.pack("<QHHI", overflow, 0, 4, size)
        pages += (head + value).ljust(size * _PAGE_SIZE, b"\0")
        big = struct.pack("<HHHH", len(value) & 0xFFFF, len(value) >> 16, 1, len(key))
        nodes.append(big + key + struct.pack("<Q", overflow))
        overflow += size
    branches = [
        struct.pack("<HHHH", 2, 0, 0, 0),
        struct.pack("<HHHH", 3, 0, 0, len(keys[half])) + keys[half],
    ]
    free = struct.pack("<IHHQQQQQ", _PAGE_SIZE, 0, 0, 0, 0, 0, 0, 2**64 - 1)
    main = struct.pack("<IHHQQQQQ", 0, 0, 2, 1, 2, overflow - 5, len(values), 4)
    tail = [free + main + struct.pack("<QQ", overflow - 1, meta) for meta in (0, 1)]
    first = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, overflow * _PAGE_SIZE)
    metas = [
        (struct.pack("<QHHHH", meta, 0, 8, 0, 0) + first + tail[meta]).ljust(_PAGE_SIZE, b"\0")
        for meta in (0, 1)
    ]
    leaves = [_page(2, 2, nodes[:half]), _page(3, 2, nodes[half:]), _page(4, 1, branches)]
    (folder / "data.mdb").write_bytes(b"".join([*metas, *leaves]) + pages)
    return folder


def write_caffe_lmdb(photos: Photos, folder: Path) -> Path:
    """An LMDB of Caffe."""
    return write_lmdb([datum(image, label) for image, label in photos], folder)


def tensors(image: bytes, label: int) -> bytes:
    """``TensorProtos`` of Caffe2: the encoded image as a string, and its label."""
    string = b"\x08\x01\x10\x04" + field(6, image)
    return field(1, string) + field(1, b"\x08\x01\x10\x02\x20" + _varint(label))


def write_caffe2_lmdb(photos: Photos, folder: Path) -> Path:
    """An LMDB of Caffe2."""
    return write_lmdb([tensors(image, label) for image, label in photos], folder)


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


def write_parquet(photos: Photos, folder: Path) -> Path:
    """A Parquet file as Hugging Face writes a data set of images."""
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    images = [{"bytes": image, "path": f"{number}.jpg"} for number, (image, _) in enumerate(photos)]
    table = pyarrow.table({"image": images, "label": [label for _, label in photos]})
    path = folder / "photos.parquet"
    parquet.write_table(table, path)
    return path


WRITERS: Mapping[str, Callable[[Photos, Path], Path]] = {
    "webdataset": write_webdataset,
    "tfrecord": write_tfrecord,
    "record_io": write_record_io,
    "caffe_lmdb": write_caffe_lmdb,
    "caffe2_lmdb": write_caffe2_lmdb,
    "coco": write_coco,
    "memory": write_parquet,
}
"""By kind of source: writes photos to a new place, and gives the path to open."""
