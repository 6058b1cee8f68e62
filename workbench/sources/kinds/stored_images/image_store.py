"""Serve images of this process to other processes. Each image is encoded on its first request.

A folder in shared memory (a temporary folder if shared memory is small) contains the encoded
images, an index, and a copy of ``cached_images.py``. Other processes request missing images
through a socket in the folder; a thread fetches them from the dataset. The folder is deleted with
the last ``Dataset`` that refers to it, or with the process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import tempfile
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from workbench.sources import Sample
from workbench.sources.kinds.stored_images import cached_images as kept

_PREFIX = "dali-workbench-images-"
_SHARED = "/dev/shm"
_ENOUGH = 2**30
"""Minimum free shared memory in bytes; containers often have only 64 MiB."""
_SHARE = 0.5
"""Maximum fraction of the free space that is used for images."""
_AT_ONCE = 64
"""Maximum number of images that are fetched per lock, so that small requests need not wait long."""
PROGRAM, CLASSES = "images.py", "classes"

_stores: weakref.WeakValueDictionary[str, ImageStore] = weakref.WeakValueDictionary()


class StorePlace(str):
    """Path of a store's folder that keeps the store alive while a ``Dataset`` refers to it."""

    store: ImageStore


Fetch = Callable[[Sequence[int]], Iterable[tuple[Any, int] | Exception]]
"""Function that returns, for each index, the encoded image (a byte array) and label, or an error.
"""


class ImageStore:
    """Images of this process that other processes can request.

    Parameters
    ----------
    count:
        Number of images.
    fetch:
        Function that returns images by index. One thread calls it at a time.
    classes:
        Class names in label order.
    facts:
        Function that returns the label and size in bytes of an unread image, or -1 if unknown.
    data:
        The object that contains the images, by which the store is recognised later.
    fields:
        Names of the fields of each image. ``fetch`` returns the field ``j`` of image ``i`` as the
        bytes of a NumPy file, for the index ``count + i * len(fields) + j``.
    """

    def __init__(
        self,
        count: int,
        fetch: Fetch,
        classes: Sequence[str] = (),
        facts: Callable[[int], tuple[int, int]] = lambda _: (-1, -1),
        data: object = None,
        fields: Sequence[str] = (),
    ) -> None:
        self.facts = facts
        self.objects = _identities(data)
        self._data = data  # an id is unique while the object exists
        _remove_abandoned()
        self._fetch = fetch
        self._lock = threading.Lock()
        self.folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_memory_folder())
        shutil.copyfile(kept.__file__, os.path.join(self.folder, PROGRAM))
        with open(os.path.join(self.folder, kept.INDEX), "wb") as file:
            records = count * (1 + len(fields))
            os.posix_fallocate(file.fileno(), 0, max(1, records) * kept.RECORD.itemsize)
            file.truncate(records * kept.RECORD.itemsize)
        Path(self.folder, kept.FIELDS).write_text("\n".join(fields), encoding="utf-8")
        Path(self.folder, CLASSES).write_text(json.dumps(list(classes)), encoding="utf-8")
        self._count = count
        self._index = np.memmap(os.path.join(self.folder, kept.INDEX), kept.RECORD, "r+")
        self._samples = open(os.path.join(self.folder, kept.SAMPLES), "wb")  # noqa: SIM115
        self._room = _SHARE * shutil.disk_usage(self.folder).free
        self._end = 0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.folder, kept.SOCKET))
        listener.listen()
        thread = threading.Thread(
            target=_listen, args=(listener, weakref.ref(self)), name="workbench-images", daemon=True
        )
        thread.start()
        weakref.finalize(self, _drop, listener, self._samples, self.folder, os.getpid())
        _stores[self.folder] = self

    def add_missing(self, indices: Sequence[int]) -> None:
        """Add missing images to the store. Raises OSError if there is no space left."""
        for begin in range(0, len(indices), _AT_ONCE):
            with self._lock:
                part = [
                    index
                    for index in dict.fromkeys(map(int, indices[begin : begin + _AT_ONCE]))
                    if self._index["state"][index] == kept.ABSENT
                ]
                for index, found in zip(part, self._fetch(part) if part else (), strict=True):
                    self._put(index, found)

    def write_labels(self) -> None:
        """Write the label of each image, or -1 if it is known only when the image is read."""
        labels = np.array([self.facts(at)[0] for at in range(self._count)], np.int64)
        with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
            labels.tofile(file)
        os.replace(file.name, os.path.join(self.folder, kept.LABELS))

    def _put(self, index: int, result: tuple[Any, int] | Exception) -> None:
        if isinstance(result, Exception):
            state, label = kept.FAULTY, 0
            content = np.frombuffer((str(result) or type(result).__name__).encode(), np.uint8)
        else:
            state, (content, label) = kept.THERE, result
        if self._end + content.nbytes > self._room:
            raise OSError(
                f"the images shown so far take {self._end / 2**30:.1f} GiB, the limit "
                f"for {os.path.dirname(self.folder)}. Use fewer or smaller images."
            )
        self._samples.write(np.ascontiguousarray(content).data)
        self._samples.flush()
        record = self._index[index]
        record["offset"], record["nbytes"], record["label"] = self._end, content.nbytes, label
        record["state"] = state  # last: a reader that sees it may read the others
        self._end += content.nbytes


def _memory_folder() -> str | None:
    try:
        shared = os.access(_SHARED, os.W_OK) and shutil.disk_usage(_SHARED).free > _ENOUGH
    except OSError:
        shared = False
    return _SHARED if shared else None


def _remove_abandoned() -> None:
    for place in filter(None, (_memory_folder(), tempfile.gettempdir())):
        for folder in Path(place).glob(f"{_PREFIX}*"):
            found = re.match(r"\d+", folder.name.removeprefix(_PREFIX))
            if found and not os.path.exists(f"/proc/{found[0]}") and os.path.exists("/proc"):
                shutil.rmtree(folder, ignore_errors=True)


def _drop(listener: socket.socket, samples: BinaryIO, folder: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread blocked in accept
        listener.close()
        samples.close()
        shutil.rmtree(folder, ignore_errors=True)
        _remove_abandoned()


def _listen(listener: socket.socket, store: weakref.ref[ImageStore]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_send_reply, args=(connection, store), daemon=True).start()


def _send_reply(connection: socket.socket, store: weakref.ref[ImageStore]) -> None:
    """Store the requested images. Reply with an error message, or with nothing on success."""
    with connection:
        try:
            whole = b"".join(iter(lambda: connection.recv(65536), b""))
            holder = store()
            if holder is not None and not whole:
                holder.write_labels()
            elif holder is not None:
                holder.add_missing(np.frombuffer(whole[8:], "<i8"))  # type: ignore[arg-type]
        except Exception as error:
            connection.sendall((str(error) or type(error).__name__).encode())


def store_folder(store: ImageStore) -> StorePlace:
    """Return the path of a store's folder as an object that keeps the store alive."""
    place = StorePlace(store.folder)
    place.store = store
    return place


def objects_in(folder: str) -> object:
    """Return a key that is equal for stores of the same objects in this process."""
    return _stores[folder].objects if folder in _stores else folder


def _identities(data: object) -> object:
    if isinstance(data, list | tuple):
        return tuple(map(_identities, data))
    return data if isinstance(data, int | str) else ("id", id(data))


def loader_argument(folder: str) -> str:
    """Return the data argument with which an exported program reads the images of a store."""
    return f"{os.path.abspath(folder)}/{PROGRAM}:images"


def part_without(folder: str, names: Collection[str], place: Path) -> Path:
    """Create a folder with a store's images, excluding the named ones, without copying them."""
    whole = kept.CachedImages(folder)
    left = [row for row in whole.rows if str(row) not in names]
    np.array(left, np.int64).tofile(place / kept.ROWS)
    (place / kept.ORIGIN).write_text(whole.folder, encoding="utf-8")
    for name in (PROGRAM, CLASSES):
        shutil.copyfile(os.path.join(folder, name), place / name)
    return place


class UnreadSample(Sample):
    """A sample whose image was not requested yet. ``offset`` is the index of the image."""

    __slots__ = ()

    @property
    def size(self) -> int:
        """Size of the sample in bytes. Raises OSError if the image must be read first."""
        if self.nbytes is None or self.nbytes < 0:
            raise OSError("it has not been read yet")
        return self.nbytes

    def open(self) -> BinaryIO:
        """Request the image and open its bytes as a file. Raises OSError if that fails."""
        return self.with_location().open()

    def with_location(self) -> Sample:
        """Request the image and return the sample with its location in the store."""
        images = kept.CachedImages(os.path.dirname(self.path))
        images.request(np.array([self.offset]))
        return _sample(images, self.offset)


def _sample(images: kept.CachedImages, row: int) -> Sample:
    record, path = images.index[row], os.path.join(images.folder, kept.SAMPLES)
    if fault := images.fault(row):
        return Sample(path, str(row), 0, 0, 0, fault)
    offset, nbytes = int(record["offset"]), int(record["nbytes"])
    return Sample(path, str(row), int(record["label"]), offset, nbytes)


def samples_of(folder: str) -> Iterator[Sample]:
    """Yield the samples of a store in order. A sample not requested yet is an ``UnreadSample``."""
    images = kept.CachedImages(folder)
    store, path = _stores.get(images.folder), os.path.join(images.folder, kept.SAMPLES)
    for row in map(int, images.rows):
        if images.index["state"][row] != kept.ABSENT:
            yield _sample(images, row)
            continue
        label, size = (-1, -1) if store is None else store.facts(row)
        yield UnreadSample(path, str(row), label, row, size)


def samples_at(folder: str, indices: Sequence[int]) -> list[Sample]:
    """Return the samples with the given indices; only their names and faults are set."""
    images = kept.CachedImages(folder)
    return [Sample("", str(row), 0, fault=images.fault(row)) for row in images.rows[list(indices)]]
