"""Read folders with the frames of videos as image files, as sequences.

Class folders contain one folder per video with its frames in name order: ``class/video/0001.jpg``.
Data are recognised as frame folders if the images of the first folder are numbered without gaps and
have one size; otherwise use ``video_frames:PATH``. Frame folders that are not in class folders look
like class folders of images and are read as such.

DALI's ``readers.sequence`` has no labels and reports no file names, and DALI may remove it (2.4.0).
Instead, one ``readers.file`` reads the first frame of each sequence, another the second, and so on,
in step, so frames may have any format that DALI decodes. The options are those of
``experimental.readers.video``. Frames are decoded on the CPU, because one GPU decoder per position
in the sequence would take seconds to build.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind, upright_size
from workbench.sources.class_folders import (
    IMAGES,
    class_folders,
    describe_unread,
    ends_with,
    is_folder,
)
from workbench.sources.file_names import is_hidden
from workbench.sources.kinds.folder import IMAGES_SOURCE, images_in
from workbench.sources.source_kind import READER_OPTIONS

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them


_PARTS = frozenset({"train", "training", "val", "valid", "validation", "dev", "test", "testing"})
"""Names of dataset splits, which are not class names."""
_NUMBER = re.compile(r"(?P<before>.*?)(?P<number>\d+)(?P<after>\D*\.\w+)")
_STACKING = "Tensor stacking requires"
"""Part of DALI's error message for frames of different sizes."""
_FOLDERS = 20
"""Maximum number of class folders that are searched for images."""
_LOOKED_AT = 4
"""Minimum number of images in a folder for comparing their sizes."""


def frames_in(folder: str) -> list[str]:
    """Return the images of one folder in name order."""
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(IMAGES))
    return [os.path.join(folder, name) for name in names if not is_hidden(name)]


def find_frames(data: str) -> dict[str, Any]:
    """Return frame paths and label of each video: ``class/video/frame``, or ``video/frame``."""
    folders = [os.path.join(data, name) for name in class_folders(data)]
    found = [(os.path.join(c, v), at) for at, c in enumerate(folders) for v in class_folders(c)]
    found = found or [(folder, 0) for folder in folders]
    return {
        "videos": [frames_in(folder) for folder, _ in found],
        "labels": [label for _, label in found],
    }


def read_frames(
    videos: Any,
    labels: Any,
    device: str,
    sequence_length: int,
    stride: int = 1,
    step: int = -1,
    pad_mode: str = "none",
    **options: Any,
) -> Any:
    """Read sequences and labels, with one synchronised reader per position in a sequence."""
    if pad_mode not in ("none", "edge"):
        raise RuntimeError(f"pad_mode is {pad_mode!r}; frame folders accept 'none' or 'edge'")
    span = sequence_length * stride
    first = [
        (frames, start, label)
        for frames, label in zip(videos, labels, strict=True)
        for start in range(0, len(frames), step if step > 0 else span)
        if pad_mode == "edge" or start + span <= len(frames)
    ]
    if not first:
        raise ValueError(
            f"a sequence spans {span} frames, but the longest video has "
            f"{max(map(len, videos), default=0)}. Reduce sequence_length or stride"
        )
    read = []
    for place in range(0, span, stride):
        files = [frames[min(start + place, len(frames) - 1)] for frames, start, _ in first]
        given = options if not place else {k: v for k, v in options.items() if k != "name"}
        read.append(fn.readers.file(files=files, labels=[label for *_, label in first], **given))
    images = fn.decoders.image([jpegs for jpegs, _ in read])
    frames = fn.cast_like(fn.stack(*images, axis_name="F"), images[0])  # reader knows file 1
    labels = fn.cast(read[0][1], dtype=types.INT32)
    return frames if device == "cpu" else frames.gpu(), labels


def _shown(size: tuple[int, int]) -> str:
    return f"{size[0]:,}×{size[1]:,}"


def _are_frames(folder: str) -> bool:
    """Return whether the images of a folder are numbered without gaps and have the same size."""
    names = images_in(folder)
    found = [_NUMBER.fullmatch(name) for name in names]
    numbered = [(each["before"], int(each["number"]), each["after"]) for each in found if each]
    counts = sorted(number for _, number, _ in numbered)
    steps = {after - before for before, after in pairwise(counts)}
    if len(numbered) < len(names) or len({(b, a) for b, _, a in numbered}) != 1:
        return False
    if len(steps) > 1 or 0 in steps:
        return False
    looked_at = sorted(names)[:: max(1, len(names) // _LOOKED_AT)]
    return len(set(_sizes(os.path.join(folder, name) for name in looked_at))) <= 1


def _sizes(paths: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the width and height, after EXIF rotation, of images with a readable header."""
    from PIL import Image  # imported on demand: headers are rarely read

    for path in paths:
        with suppress(OSError, ValueError), Image.open(path) as image:
            yield upright_size(image)


class VideoFrames(SourceKind):
    """Source kind for folders of numbered frames, which are read as sequences."""

    about = "folder of videos as frames (class/video/0001.jpg)"
    op = "experimental.readers.video"
    located_by = frozenset({"filenames", "labels", "file_root", "file_list", "files"})
    find = staticmethod(find_frames)
    reader = staticmethod(read_frames)
    outputs = ("frames", "labels")
    noun = "frame"
    pixels = "frames"
    has_sequences = True
    options = READER_OPTIONS | {
        *("sequence_length", "stride", "step", "pad_mode", "read_ahead", "lazy_init"),
        *("skip_cached_images", "tensor_init_bytes", "bytes_per_sample_hint", "preserve"),
    }
    decodes_images = True
    begins: ClassVar = {"sequence_length": 8, "initial_fill": 64}
    helpers = (IMAGES_SOURCE, is_hidden, is_folder, class_folders, frames_in)
    imports = ("os",)
    sample = "frames"
    looks_ahead = True
    guessed = (
        "recognised by its numbered files of one size; for images in class folders, open "
        "their parent folder"
    )

    def _videos(self, dataset: Dataset) -> list[tuple[list[str], int]]:
        """Return the frames and label of each video. Raises DataError if they cannot be listed."""
        try:
            found = find_frames(dataset.location)
        except OSError as error:
            raise DataError(f"The folder {dataset} cannot be read: {error.strerror}.") from None
        return list(zip(found["videos"], found["labels"], strict=True))

    def require(self, dataset: Dataset) -> None:
        if not any(frames for frames, _ in self._videos(dataset)):
            raise DataError(self.nothing_found(dataset))

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield one sample per frame, regardless of how many sequences contain it."""
        for frames, label in self._videos(dataset):
            for path in frames:
                yield Sample(path, os.path.relpath(path, dataset.location), label)

    def class_names(self, dataset: Dataset) -> list[str]:
        names = class_folders(dataset.location)
        return names if any(class_folders(os.path.join(dataset.location, n)) for n in names) else []

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        yield dataset.location
        for name in class_folders(dataset.location):
            place = os.path.join(dataset.location, name)
            yield place
            yield from (os.path.join(place, video) for video in class_folders(place))

    def nothing_found(self, dataset: Dataset) -> str:
        longest = max((len(frames) for frames, _ in self._videos(dataset)), default=0)
        found = (
            f": its longest video has {longest} frames, fewer than a sequence needs"
            if longest
            else ""
        )
        return (
            f"There is no sequence in {dataset}{found}. Use class folders with one folder "
            "of frames per video, class/video/0001.jpg, or reduce sequence_length or "
            "stride."
        )

    def explain(self, dataset: Dataset, message: str) -> str:
        """Explain which frame differs in size from the first frame of its video, or return ""."""
        if _STACKING not in message:
            return ""
        for frames, _ in self._videos(dataset):
            sizes = {path: size for path in frames for size in _sizes([path])}
            (first, size), *_ = [*sizes.items(), ("", (0, 0))]
            others = [path for path in sizes if sizes[path] != size]
            if others:
                names = [os.path.relpath(path, dataset.location) for path in (first, others[0])]
                return (
                    f"{dataset}: the frames of a video differ in size: {names[0]} is "
                    f"{_shown(size)} (width×height), {names[1]} {_shown(sizes[others[0]])}; "
                    f"{len(others):,} of {len(frames):,} frames differ from the first. Resize "
                    "them, or move the frames of each size to a separate folder."
                )
        return ""

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Create links to the remaining frames. A video is split where a frame is excluded."""
        place.mkdir()
        parts: defaultdict[str, int] = defaultdict(int)
        for sample in self.list_samples(dataset):
            video, name = os.path.split(sample.name)
            if sample.name in names:
                parts[video] += 1
                continue
            part = place / (f"{video}-{parts[video]}" if parts[video] else video)
            part.mkdir(parents=True, exist_ok=True)
            os.symlink(os.path.abspath(sample.path), part / name)
        for name in class_folders(dataset.location):  # these determine the labels
            (place / name).mkdir(exist_ok=True)
        return place

    def accepts(self, path: Path) -> bool:
        """Return whether the class folders contain folders of frames, and no images."""
        try:
            names = class_folders(str(path))
            if not {name.lower() for name in names} - _PARTS:
                return False
            places = [os.path.join(path, name) for name in names[:_FOLDERS]]
            if any(map(images_in, places)):
                return False
            place = next(each for each in places if class_folders(each))
            return _are_frames(os.path.join(place, class_folders(place)[0]))
        except (OSError, StopIteration):
            return False

    def write_placeholder(self, folder: Path) -> Path:
        """Write a video with enough frames for the longest sequence: 64 frames with stride 16."""
        place = folder / "class" / "video"
        place.mkdir(parents=True)
        for number in range(64 * 16):
            (place / f"{number:04}.jpg").touch()
        return folder

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        folders = [os.path.dirname(frames[0]) for frames, _ in self._videos(dataset) if frames]
        inside = [os.path.relpath(folder, dataset.location) for folder in folders]
        names = self.class_names(dataset)
        yield from describe_unread(dataset.location, ends_with(*IMAGES), "frame", inside, names)

    def root(self, dataset: Dataset) -> str:
        return dataset.location


SOURCES = {"video_frames": VideoFrames()}
