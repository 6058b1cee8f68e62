"""Sounds: WAV, FLAC and Ogg Vorbis files, which ``decoders.audio`` decodes.

A file, a folder of files, class folders of these, or a list. A folder that holds images too is one
of images.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Header, Sample, SourceKind
from workbench.sources.common.class_folders import (
    class_folders,
    class_names_of,
    describe_unread,
    files_of,
    first_names,
    has_hidden,
    is_folder,
    is_hidden,
    named_files,
    watched_class_folders,
)
from workbench.sources.common.float_wav import SOUND_HEAD as SOUND_HEAD
from workbench.sources.common.float_wav import decodes_to_silence, float_rate
from workbench.sources.kinds.images.folder import IMAGES, SOUNDS

_LOOKED_AT = 10_000
_MAGIC = {b"RIFF": "WAVE", b"RF64": "WAVE", b"fLaC": "FLAC", b"OggS": "Ogg"}
_HEAD = 12
_FLOATS = (
    (
        "float sound",
        "samples are floats, which dtypes INT16 and INT32 decode to silence: use FLOAT",
    ),
)


def find_sounds(data: Any) -> dict[str, Any]:
    """Arguments of the file reader for the sounds of a folder, class folders or a list."""
    files, labels = files_of(data, (".flac", ".ogg", ".wav"))
    if not isinstance(data, str):
        return {"files": files, "labels": labels}
    root = os.path.abspath(data if os.path.isdir(data) else os.path.dirname(data))
    files = [os.path.relpath(file, root) for file in files]
    return {"file_root": root, "files": files, "labels": labels}


def sound_fault(head: bytes) -> str:
    """Why a file that begins so is no sound that DALI decodes; empty for one."""
    if not head:
        return "the file is empty"
    kind = _MAGIC.get(head[:4], "")
    if not kind or (kind == "WAVE" and head[8:_HEAD] != b"WAVE"):
        return "it is no WAV, FLAC or Ogg file"
    return ""


def silence_reason(head: bytes, args: Mapping[str, object]) -> str:
    """Why ``decoders.audio`` with these arguments decodes a sound to silence; empty for others.

    DALI 2.4 rounds floats from -1 to 1 to whole numbers unless it resamples (16, 8, 24 and 32 bit
    integers, FLAC, Ogg Vorbis and Opus are right).
    """
    if not decodes_to_silence(float_rate(head), args):
        return ""
    return f"a WAV of floats, which dtype {args['dtype']} decodes to silence: set dtype to FLOAT"


def _read_header(path: str) -> Header:
    try:
        with open(path, "rb") as file:
            head = file.read(SOUND_HEAD)
        return Header(sound_fault(head), remarks=_FLOATS * bool(float_rate(head)))
    except OSError as error:
        return Header(error.strerror or str(error))


def _found(dataset: Dataset) -> dict[str, Any]:
    try:
        return find_sounds(dataset.argument)
    except OSError as error:
        raise DataError(f"{dataset} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise DataError(f"{dataset} is no list of sounds: write a path and a number.") from None


def _require(dataset: Dataset) -> None:
    if not _found(dataset)["files"]:
        raise DataError(_nothing_found(dataset))


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    found = _found(dataset)
    for name, label in zip(found["files"], found["labels"], strict=True):
        yield Sample(os.path.join(_root(dataset), name), name, label)


def _root(dataset: Dataset) -> str:
    """The folder of paths; files that are listed in Python are named in full."""
    path = os.path.abspath(dataset.location or os.sep)
    return path if os.path.isdir(path) else os.path.dirname(path)


def _nothing_found(dataset: Dataset) -> str:
    return f"There is no sound in {dataset}. Give {', '.join(SOUNDS)} files, or a folder of these."


def _accepts(path: Path) -> bool:
    """Sounds, a list of them, and folders with some and no image, also in the first class."""
    try:
        if path.suffix.lower() == ".txt" and path.is_file():
            with open(path, "rb") as file:
                first = file.readline().rstrip().rpartition(b" ")[0].lower()
            return first.endswith(tuple(map(os.fsencode, SOUNDS)))
        if not os.path.isdir(path):
            return path.suffix.lower() in SOUNDS
        names = first_names(str(path), _LOOKED_AT)
    except OSError:
        return False
    return any(n.endswith(SOUNDS) for n in names) and not any(n.endswith(IMAGES) for n in names)


def _write_placeholder(folder: Path) -> Path:
    path = folder / "sound.wav"
    path.touch()
    return path


def _directly(dataset: Dataset | None) -> str:
    """DALI's reader takes class folders as they are."""
    if dataset is None or not class_folders(dataset.location):
        return ""
    return "" if has_hidden(dataset.location, SOUNDS) else "file_root"


def _not_read(dataset: Dataset) -> Iterator[str]:
    if os.path.isdir(dataset.location):
        yield from describe_unread(dataset.location, SOUNDS, "sound")


_HELPERS: tuple[Any, ...] = (is_hidden, is_folder, class_folders, named_files, files_of)

SOURCE = SourceKind(
    about="sounds (.wav, .flac, .ogg, or a folder of these)",
    op="readers.file",
    located_by=frozenset({"file_root", "files", "file_list"}),
    find=find_sounds,
    helpers="\n\n".join(map(inspect.getsource, _HELPERS)),
    imports=("os",),
    noun="sound",
    suffixes=SOUNDS,
    read_header=_read_header,
    accepts=_accepts,
    require=_require,
    list_samples=_list_samples,
    root=_root,
    class_names=class_names_of,
    watched=watched_class_folders,
    not_read=_not_read,
    nothing_found=_nothing_found,
    write_placeholder=_write_placeholder,
    directly=_directly,
)
