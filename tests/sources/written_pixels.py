"""Photos as arrays and as frames of videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from tests.sources.clips import frame_of, jpeg
from workbench.sources import list_samples, open_dataset


def write_arrays(photos: Path, folder: Path) -> Path:
    """Each photo of class folders as a .npy file of a class folder, decoded by DALI."""
    samples = list(list_samples(open_dataset(photos)))

    @pipeline_def(batch_size=len(samples), num_threads=1, device_id=None)
    def decoded() -> Any:
        encoded, _ = fn.readers.file(files=[sample.path for sample in samples])
        return fn.decoders.image(encoded, output_type=types.RGB)

    pipe: Any = decoded()
    pipe.build()
    (images,) = pipe.run()
    for sample, image in zip(samples, images, strict=True):
        place = folder / Path(sample.name).with_suffix(".npy")
        place.parent.mkdir(parents=True, exist_ok=True)
        np.save(place, np.asarray(image))
    return folder


def write_volumes(folder: Path, count: int = 6, dtype: str = "int16") -> Path:
    """Volumes of 6 slices with 24 rows, 32 columns and two channels, in classes a and b."""
    for number in range(count):
        place = folder / "ab"[number * 2 // count]
        place.mkdir(parents=True, exist_ok=True)
        values = np.arange(6 * 24 * 32 * 2).reshape(6, 24, 32, 2) + 100 * number
        np.save(place / f"{number}.npy", values.astype(dtype))
    return folder


def write_frames(folder: Path, *, videos: int = 4, frames: int = 20) -> Path:
    """The pictures of ``write_clips``, as frames in a folder for each video."""
    for video in range(videos):
        place = folder / "ab"[video * 2 // videos] / f"video{video}"
        place.mkdir(parents=True)
        for number in range(frames):
            (place / f"{number:04}.jpg").write_bytes(jpeg(frame_of(video, number)))
    return folder
