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
from typing import Any

import numpy as np
from numpy.typing import NDArray

Feature = bytes | Sequence[bytes] | Sequence[int] | Sequence[float] | NDArray[Any]
"""Value of one feature of a ``tf.train.Example``; all numbers have one type."""
_PAGE_SIZE = 4096
_WIRE_BYTES = 2
_RECORD_IO_MAGIC = 0xCED7230A
_LANE = 64
"""Bytes of a part whose checksum is computed at the same time as those of the other parts."""
_BYTE_PLACES = np.array([[0], [8], [16], [24]], np.uint32)
_CRC_32C = 0x82F63B78  # RFC 3720, appendix B.4: Castagnoli's polynomial, reversed


def varint(number: int) -> bytes:
    """Encode an integer as a protobuf varint."""
    digits, number = b"", number & (1 << 64) - 1  # negative ones in two's complement
    while number > 127:
        digits += bytes([number & 127 | 128])
        number >>= 7
    return digits + bytes([number])


def field(number: int, content: bytes) -> bytes:
    """Encode a protobuf field that contains bytes or a message."""
    return varint(number << 3 | _WIRE_BYTES) + varint(len(content)) + content


def encode_example(features: Mapping[str, Feature]) -> bytes:
    """Encode a ``tf.train.Example``."""
    return encode_features({name: encode_feature(value) for name, value in features.items()})


def encode_features(features: Mapping[str, bytes]) -> bytes:
    """Encode a ``tf.train.Example``, given the encoded value of each feature."""
    entries = (
        field(1, field(1, name.encode()) + field(2, value)) for name, value in features.items()
    )
    return field(1, b"".join(entries))


def encode_feature(value: Feature) -> bytes:
    """Encode a ``tf.train.Feature``. An empty list is of bytes, and an empty array of its type."""
    if isinstance(value, bytes):
        value = [value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            return field(2, field(1, value.astype("<f4").tobytes()))
        return field(3, field(1, b"".join(map(varint, value.tolist()))))
    if all(isinstance(each, bytes) for each in value):
        return field(1, b"".join(field(1, bytes(each)) for each in value))  # type: ignore[arg-type]
    return encode_feature(np.array(value))


def encode_tfrecord(record: bytes) -> bytes:
    """Encode a record of a TFRecord file, with its checksums."""
    length = struct.pack("<Q", len(record))
    return length + _checksum(length) + record + _checksum(record)


def _checksum(content: bytes) -> bytes:
    """Return the masked CRC-32C of TFRecord (``tensorflow/core/lib/hash/crc32c.h``)."""
    crc = _crc_32c(content) ^ 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _crc_32c(content: bytes) -> int:
    """Return the CRC-32C of at least 4 bytes, before the final inversion.

    Lanes of 64 bytes are computed at once and then combined in pairs: a CRC without inversions is
    linear, and leading zeros do not change it.
    """
    padded = np.zeros(_LANE << max(0, len(content) - 1 >> 6).bit_length(), np.uint8)
    padded[-len(content) :] = np.frombuffer(content, np.uint8)
    padded[len(padded) - len(content) :][:4] ^= 255  # the initial inversion
    crc = np.zeros(len(padded) // _LANE, np.uint32)
    for column in np.ascontiguousarray(padded.reshape(-1, _LANE).T):
        crc = _crc_table()[(crc ^ column) & 255] ^ crc >> 8
    level = 0
    while len(crc) > 1:
        crc = _shifted(crc[::2], level) ^ crc[1::2]
        level += 1
    return int(crc[0])


def _shifted(crc: NDArray[Any], level: int) -> NDArray[Any]:
    """Return CRCs after ``64 << level`` zero bytes."""
    low, second, third, high = _shift_tables(level)
    found: NDArray[Any] = low[crc & 255] ^ second[crc >> 8 & 255]
    found ^= third[crc >> 16 & 255] ^ high[crc >> 24]
    return found


@cache
def _shift_tables(level: int) -> NDArray[Any]:
    """Return the contributions of the 4 bytes of a CRC to ``_shifted``, of shape (4, 256)."""
    crc: NDArray[Any] = np.arange(256, dtype=np.uint32) << _BYTE_PLACES
    if level:
        return _shifted(_shifted(crc, level - 1), level - 1)
    for _ in range(_LANE):
        crc = _crc_table()[crc & 255] ^ crc >> 8
    return crc


@cache
def _crc_table() -> NDArray[Any]:
    crc: NDArray[Any] = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = crc >> 1 ^ np.where(crc & 1, np.uint32(_CRC_32C), np.uint32(0))
    return crc


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
