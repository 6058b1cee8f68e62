"""Read sounds: WAV, FLAC and Ogg Vorbis files, decoded by ``decoders.audio``.

The data are a file, a folder of files, class folders, or a list. A folder that also contains images
is read as images.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Header, Sample, folder_of
from workbench.sources.class_folders import (
    ClassFiles,
    class_folders,
    files_of,
    has_hidden,
)
from workbench.sources.file_names import is_pattern, pattern_folder
from workbench.sources.headers import SOUND_HEAD as SOUND_HEAD
from workbench.sources.headers import decodes_to_silence, float_rate
from workbench.sources.kinds._sampler import Sampler, read_sampled_files
from workbench.sources.kinds.folder import SOUNDS

_MAGIC = {b"RIFF": "WAVE", b"RF64": "WAVE", b"fLaC": "FLAC", b"OggS": "Ogg"}
_HEAD = 12
_FLOATS = (
    (
        "float sound",
        "samples are floats, which dtypes INT16 and INT32 decode to silence: use FLOAT",
    ),
)


def find_sounds(data: Any) -> dict[str, Any]:
    """Return the arguments of the file reader for sounds in a folder, class folders or a list."""
    files, labels = files_of(data, (".flac", ".ogg", ".wav"))
    if not isinstance(data, str):
        return {"files": files, "labels": labels}
    root = os.path.abspath(data if os.path.isdir(data) else os.path.dirname(data))
    root = pattern_folder(data) if is_pattern(data) else root
    files = [os.path.relpath(file, root) for file in files]
    return {"file_root": root, "files": files, "labels": labels}


def sound_fault(head: bytes) -> str:
    """Return why DALI cannot decode a sound file that starts with ``head``, or an empty string."""
    if not head:
        return "the file is empty"
    kind = _MAGIC.get(head[:4], "")
    if not kind or (kind == "WAVE" and head[8:_HEAD] != b"WAVE"):
        return "it is not a WAV, FLAC or Ogg file"
    return ""


def silence_reason(head: bytes, args: Mapping[str, object]) -> str:
    """Return why ``decoders.audio`` decodes a sound to silence, or an empty string if it does not.

    ``args`` are the decoder's arguments. DALI 2.4 rounds floats from -1 to 1 to integers unless it
    resamples. Integers of 8, 16, 24 and 32 bits, FLAC, Ogg Vorbis and Opus are decoded correctly.
    """
    if not decodes_to_silence(float_rate(head), args):
        return ""
    return f"a float WAV file, which dtype {args['dtype']} decodes to silence: set dtype to FLOAT"


class Sounds(ClassFiles):
    """Source kind for sound files in a folder, class folders or a list."""

    about = "sounds (.wav, .flac, .ogg, or a folder of these)"
    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    find = staticmethod(find_sounds)
    sampled = staticmethod(read_sampled_files)
    sampler_helpers = (Sampler,)
    noun = "sound"
    suffixes = SOUNDS

    def read_header(self, path: str) -> Header:
        try:
            with open(path, "rb") as file:
                head = file.read(SOUND_HEAD)
            return Header(sound_fault(head), remarks=_FLOATS * bool(float_rate(head)))
        except OSError as error:
            return Header(error.strerror or str(error))

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        root = self.root(dataset)
        for path, label in self.files(dataset):
            name = os.path.relpath(path, root) if root != os.sep else path
            yield Sample(os.path.join(root, name), name, label)

    def require(self, dataset: Dataset) -> None:
        if not self.files(dataset):
            raise DataError(self.nothing_found(dataset))

    def root(self, dataset: Dataset) -> str:
        """Return the folder that sample names are relative to; "/" for files listed in Python."""
        return folder_of(dataset) if dataset.location else os.sep

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no sound in {dataset}. Use {', '.join(SOUNDS)} files or a folder of them."

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "sound.wav"
        path.touch()
        return path

    def path_argument(self, dataset: Dataset | None) -> str:
        """Return ``file_root`` for class folders, which DALI lists itself, or an empty string."""
        if dataset is None or not class_folders(dataset.location):
            return ""
        return "" if has_hidden(dataset.location, SOUNDS) else "file_root"


SOURCES = {"sounds": Sounds()}
