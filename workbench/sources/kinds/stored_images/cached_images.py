"""Dataset of images in another process. Each image is requested once, then read from memory.

The images are in shared memory. A copy of this file is stored next to them, so it must not import
other modules of the project. ``index`` has a record for each image: its position in ``samples``, or
the state ``FAULTY`` and the reason. If the folder is a subset of another folder, ``origin``, the
file ``rows`` has the number in ``origin`` of each image.
"""

from __future__ import annotations

import io
import mmap
import os
import socket
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

RECORD = np.dtype([("state", "<i8"), ("offset", "<i8"), ("nbytes", "<i8"), ("label", "<i8")])
ABSENT, THERE, FAULTY = 0, 1, 2
INDEX, SAMPLES, SOCKET, ROWS, ORIGIN = "index", "samples", "socket", "rows", "origin"
FIELDS = "fields"
LABELS = "labels"


class CachedImages:
    """Sequence of encoded images (byte arrays) with their labels."""

    def __init__(self, folder: str) -> None:
        origin = os.path.join(folder, ORIGIN)
        rows = None
        if os.path.exists(origin):
            rows = np.fromfile(os.path.join(folder, ROWS), np.int64)
            with open(origin, encoding="utf-8") as file:
                folder = file.read()
        self.folder = folder
        self.index = np.memmap(os.path.join(folder, INDEX), RECORD, "r")
        with open(os.path.join(folder, FIELDS), encoding="utf-8") as file:
            self.fields = file.read().split()
        count = len(self.index) // (1 + len(self.fields))
        self.rows = np.arange(count) if rows is None else rows
        self._count = count
        self._samples = open(os.path.join(folder, SAMPLES), "rb")  # noqa: SIM115  # read by all
        self._map: Any = b""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[tuple[Any, int]]:
        rows = self.rows[np.asarray(indices, np.int64)]
        self.request(rows)
        return [self._read(self.index[row]) for row in rows]

    def fields_at(self, indices: Sequence[int], names: Sequence[str]) -> list[list[Any]]:
        """Return the arrays of each named field. Raises ValueError for an unknown field."""
        rows = self.rows[np.asarray(indices, np.int64)]
        if missing := [name for name in names if name not in self.fields]:
            known = ", ".join(self.fields) or "none"
            raise ValueError(f"the data were opened without the field {missing[0]}, with {known}")
        found = []
        for name in names:
            places = self._count + rows * len(self.fields) + self.fields.index(name)
            self.request(places)
            found.append([self._field(place) for place in places])
        return found

    def _field(self, place: int) -> Any:
        if fault := self.fault(place):
            raise ValueError(fault)
        return np.load(io.BytesIO(bytes(self._bytes(self.index[place]))), allow_pickle=False)

    def request(self, rows: Any) -> None:
        """Request missing images from the process that owns them. Raises OSError if that fails."""
        absent = rows[self.index["state"][rows] == ABSENT]
        if len(absent):
            self._send(len(absent).to_bytes(8, "little") + absent.astype("<i8").tobytes())

    def stored_labels(self) -> Any:
        """Return the label of each image. Images whose label is unknown are read."""
        path = os.path.join(self.folder, LABELS)
        if not os.path.exists(path):
            self._send(b"")
        labels = np.fromfile(path, np.int64)[self.rows]
        unknown = self.rows[labels < 0]
        self.request(unknown)
        labels[labels < 0] = self.index["label"][unknown]
        return labels

    def _send(self, request: bytes) -> None:
        """Send a request for images or, if it is empty, for the labels. Raises OSError."""
        try:
            with socket.socket(socket.AF_UNIX) as link:
                link.connect(os.path.join(self.folder, SOCKET))
                link.sendall(request)
                link.shutdown(socket.SHUT_WR)
                reply = b"".join(iter(lambda: link.recv(4096), b""))
        except OSError:
            raise OSError("the process that holds the images has ended. Run it again") from None
        if reply:
            raise OSError(reply.decode())

    def fault(self, row: int) -> str:
        """Return why an image is missing, or an empty string if it is available."""
        record = self.index[row]
        return bytes(self._bytes(record)).decode() if record["state"] == FAULTY else ""

    def _read(self, record: Any) -> tuple[Any, int]:
        if record["state"] == FAULTY:
            return np.zeros(0, np.uint8), 0
        return self._bytes(record), int(record["label"])

    def _bytes(self, record: Any) -> Any:
        begin, end = int(record["offset"]), int(record["offset"] + record["nbytes"])
        with self._lock:
            if end > len(self._map):  # the file has grown; existing arrays keep the old mapping
                self._map = mmap.mmap(self._samples.fileno(), 0, access=mmap.ACCESS_READ)
            return np.frombuffer(self._map, np.uint8, end - begin, begin)


def images() -> CachedImages:
    """Return the images that are stored next to this file."""
    return CachedImages(os.path.dirname(os.path.abspath(__file__)))
