"""Program that lists the values of an LMDB: ``python _lmdb_values.py FOLDER``.

It runs in a separate process because LMDB maps the file and asserts on its content: a damaged or
truncated file terminates the process. The binary output is the number of values, then an ``ENTRY``
and the key for each value. Output is unbuffered, so that everything before a crash is available.
"""

from __future__ import annotations

import os
import struct
import sys

COUNT = struct.Struct("<Q")
ENTRY = struct.Struct("<QQH")
"""Offset of the value in ``data.mdb``, its size in bytes, and the length of its key in bytes."""


def list_values(folder: str) -> None:
    """Write the entries of the database in a folder to standard output."""
    import lmdb
    import numpy as np

    try:
        database = lmdb.open(folder, readonly=True, lock=False)
    except lmdb.Error as error:
        sys.exit(str(error).rpartition(": ")[2])
    with database, database.begin(buffers=True) as transaction:
        count, begin = database.stat()["entries"], _mapped_at(os.path.realpath(folder))
        os.write(1, COUNT.pack(count))
        for key, value in transaction.cursor():
            offset = np.frombuffer(value, np.uint8).ctypes.data - begin if value else 0
            os.write(1, ENTRY.pack(offset, len(value), len(key)) + key)


def _mapped_at(folder: str) -> int:
    """Return the memory address of ``data.mdb``, into which LMDB's values point."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        line = next(each for each in maps if each.rstrip("\n").endswith(f"{folder}/data.mdb"))
    return int(line.partition("-")[0], 16)


if __name__ == "__main__":
    list_values(sys.argv[1])
