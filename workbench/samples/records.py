"""Write containers of encoded images in the formats that DALI reads.

TFRecord, WebDataset tar and MXNet RecordIO are written without their libraries, and LMDBs of Caffe
and Caffe2 with the package ``lmdb``.
"""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

Feature = bytes | Sequence[bytes] | Sequence[int] | Sequence[float]
"""Value of one feature of a ``tf.train.Example``; all numbers have one type."""
_PAGE_SIZE = 4096
_WIRE_BYTES = 2
_RECORD_IO_MAGIC = 0xCED7230A
_CRC_32C = 0x82F63B78  # RFC 3720, appendix B.4: Castagnoli's polynomial, reversed


def varint(number: int) -> bytes:
    """Encode an integer as a protobuf varint."""
    digits = b""
    while number > 127:
        digits += bytes([number & 127 | 128])
        number >>= 7
    return digits + bytes([number])


def field(number: int, content: bytes) -> bytes:
    """Encode a protobuf field that contains bytes or a message."""
    return varint(number << 3 | _WIRE_BYTES) + varint(len(content)) + content


def encode_example(features: Mapping[str, Feature]) -> bytes:
    """Encode a ``tf.train.Example``."""
    return field(
        1,
        b"".join(
            field(1, field(1, name.encode()) + field(2, _feature(value)))
            for name, value in features.items()
        ),
    )


def _feature(value: Feature) -> bytes:
    if isinstance(value, bytes):
        value = [value]
    if all(isinstance(each, bytes) for each in value):
        return field(1, b"".join(field(1, bytes(each)) for each in value))  # type: ignore[arg-type]
    if all(isinstance(each, int) for each in value):
        return field(3, field(1, b"".join(varint(int(each)) for each in value)))
    return field(2, field(1, struct.pack(f"<{len(value)}f", *value)))


def encode_tfrecord(record: bytes) -> bytes:
    """Encode a record of a TFRecord file, with its checksums."""
    length = struct.pack("<Q", len(record))
    return length + _checksum(length) + record + _checksum(record)


def _checksum(content: bytes) -> bytes:
    """Return the masked CRC-32C of TFRecord (``tensorflow/core/lib/hash/crc32c.h``)."""
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@cache
def _crc_table() -> tuple[int, ...]:
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (_CRC_32C if crc & 1 else 0)
        table.append(crc)
    return tuple(table)


def add_to_tar(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Add one file to an open archive."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def write_shard(samples: Iterable[Mapping[str, bytes]], path: Path) -> None:
    """Write a WebDataset archive. Each sample maps file extensions to contents."""
    with tarfile.open(path, "w") as archive:
        for number, components in enumerate(samples):
            for ending, content in components.items():
                add_to_tar(archive, f"{number:06}.{ending}", content)


def recorded(image: bytes, label: float) -> bytes:
    """Encode an image and its label as a record of a RecordIO file, as ``im2rec`` does."""
    content = struct.pack("<IfQQ", 0, label, 0, 0) + image
    head = struct.pack("<II", _RECORD_IO_MAGIC, len(content))
    return head + content + bytes(-len(content) % 4)


def encode_datum(image: bytes, label: int) -> bytes:
    """Encode a Caffe ``Datum`` with an encoded image."""
    return field(4, image) + b"\x28" + varint(label) + b"\x38\x01"


def tensors(image: bytes, label: int) -> bytes:
    """Encode Caffe2 ``TensorProtos``: the encoded image as a string, and its label."""
    string = b"\x08\x01\x10\x04" + field(6, image)
    return field(1, string) + field(1, b"\x08\x01\x10\x02\x20" + varint(label))


def write_lmdb(values: Sequence[bytes], path: Path) -> None:
    """Write values to an LMDB file ``data.mdb``, with the keys 00000000, 00000001, ..."""
    import lmdb

    size = sum(map(len, values)) + _PAGE_SIZE * (2 * len(values) + 16)
    with (
        lmdb.open(str(path), map_size=size, subdir=False, lock=False) as database,
        database.begin(write=True) as transaction,
    ):
        for number, value in enumerate(values):
            transaction.put(b"%08d" % number, value, append=True)
