"""Compressed files, which DALI's readers do not decompress."""

from __future__ import annotations

_FORMATS = {
    "gzip": b"\x1f\x8b\x08",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
    "zip": b"PK\x03\x04",
}
"""The first bytes of compressed files."""
_ZLIB = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")


def describe_compression(path: str) -> str:
    """That a file is compressed and what to do, by its first bytes; empty where it is not.

    To be asked of a file that cannot be read: records may begin with the same bytes.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return ""
    formats = [name for name, magic in _FORMATS.items() if head.startswith(magic)]
    if not formats and not head.startswith(_ZLIB):
        return ""
    return (
        f"{path} is compressed ({(formats or ['zlib'])[0]}), and DALI's readers do not decompress "
        "it. Decompress it, or write it without compression."
    )
