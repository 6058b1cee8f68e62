"""Read video files as sequences of frames.

The data are a file, a folder of files, class folders, or a Python list. Each sample is a sequence
of ``sequence_length`` frames, ``stride`` frames apart, as uint8 (frames, rows, columns, 3);
sequences of a file start ``step`` frames apart. DALI decodes while reading. Its CPU decoder
supports motion JPEG in AVI, and VP8 and VP9 in WebM or Matroska (tested with DALI 2.4.0). A file
with another codec stops the pipeline, so such files are reported in advance and excluded if others
remain.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset, Header, Sample, folder_of
from workbench.sources.class_folders import ClassFiles, files_of, require_whole_labels
from workbench.sources.file_names import is_pattern
from workbench.sources.kinds._sampler import Sampler, read_sampled_files

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

VIDEOS = (".avi", ".webm", ".mkv", ".mp4", ".mov", ".m4v", ".mpg", ".mpeg")
"""Suffixes of video files with any codec."""

VIDEOS_SOURCE = f"VIDEOS = ({', '.join(f'{suffix!r}' for suffix in VIDEOS)})\n".replace("'", '"')
"""Code of ``VIDEOS`` for exported programs."""
DECODABLE = frozenset({("avi", "mjpg"), ("matroska", "vp8"), ("matroska", "vp9")})
"""Pairs of container and codec that DALI decodes on the CPU."""
ON_GPU = frozenset(
    {"avc1", "h264", "mpeg4/iso/avc", "hvc1", "hev1", "mpegh/iso/hevc", "vp8", "vp9", "vp09"}
    | {"mp4v"}
)
"""Codecs that DALI decodes on a GPU; AV1 and motion JPEG are not supported (2.4.0 on an H200)."""
_MATRICES = {0: "RGB", 1: "BT.709", 7: "SMPTE 240M", 8: "YCoCg", 9: "BT.2020", 10: "BT.2020"}
"""Colour matrices other than BT.601, by their number in ITU-T H.273."""
_UNSPECIFIED = 2
_COLOUR_TAGS = _MATRIX, _RANGE = b"\x55\xb1\x81", b"\x55\xb9\x81"
"""Ids of elements in Matroska's element Colour, each with its size byte (1)."""
_FULL = 2
_ON_CPU = "on the CPU"
_VP9_MATRICES = {2: 1, 4: 7, 5: 9, 7: 0}
"""Number of a colour matrix in ITU-T H.273 for each number in VP9."""
_HEAD = 2**16
"""Number of bytes at the start of AVI and Matroska files that contain the codec name."""
_UNKNOWN = 2**32 - 1
"""Value of the size field in an AVI header that means that the size is unknown."""
_LARGEST_INDEX = 2**26
"""Maximum size in bytes of the MP4 box ``moov``, which describes the tracks."""


def find_videos(data: Any) -> dict[str, Any]:
    """Return the arguments of the video reader for a file, a folder, class folders or a list."""
    files, labels = files_of(data, VIDEOS)
    return {"filenames": files, "labels": labels}


def find_encoded_videos(data: Any) -> dict[str, Any]:
    """Return the arguments of the file reader for a file, a folder, class folders or a list."""
    files, labels = files_of(data, VIDEOS)
    return {"files": files, "labels": labels}


def read_videos(device: str, **options: Any) -> Any:
    """Return sequences, labels, and frame numbers and times if options add them.

    Colours are always converted as BT.601.
    """
    side = "cpu" if device == "cpu" else "gpu"
    read: Any = fn.experimental.readers.video(device=side, **options)
    frames, *others = read
    return frames, *(others if side == "cpu" else [each.cpu() for each in others])


def codec_of(path: str) -> tuple[str, str]:
    """Return the container and codec of a video from its header, in the form of ``DECODABLE``.

    Unknown values are empty. Raises OSError if the file cannot be read.
    """
    with open(path, "rb") as file:
        return _codec_in(file)


def _codec_in(file: BinaryIO) -> tuple[str, str]:
    head = file.read(_HEAD)
    if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
        at = head.find(b"strf", max(0, head.find(b"vids")))
        return "avi", _codec_letters(head[at + 24 : at + 28]) if at > 0 else ""
    if head[:4] == b"\x1aE\xdf\xa3":
        at = head.find(b"V_")
        return "matroska", _codec_letters(head[at + 2 : at + 18]) if at > 0 else ""
    if head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"free"):
        index = _movie_index(file)
        at = index.find(b"vmhd")
        at = index.find(b"stsd", max(0, at))
        return "mp4", _codec_letters(index[at + 16 : at + 20]) if at > 0 else ""
    return "", ""


def _codec_letters(name: bytes) -> str:
    """Return the leading letters and digits of a codec name, in lower case."""
    text = name.decode("latin-1").lower()
    count = next((i for i, letter in enumerate(text) if not letter.isascii()
                  or not (letter.isalnum() or letter in "/_")), len(text))  # fmt: skip
    return text[:count]


def _movie_index(file: Any) -> bytes:
    """Return the content of the MP4 box ``moov``, or empty bytes if it is not found."""
    at, end = 0, file.seek(0, os.SEEK_END)
    while at + 8 <= end:
        file.seek(at)
        head = file.read(16)
        size, name = struct.unpack(">I4s", head[:8])
        if size == 1 and len(head) == 16:
            (size,) = struct.unpack(">Q", head[8:])
        size = size or end - at
        if name == b"moov":
            file.seek(at)
            return bytes(file.read(min(size, _LARGEST_INDEX)))
        if size < 8:
            break
        at += size
    return b""


_NAMES = {
    "avc1": "H.264", "h264": "H.264", "x264": "H.264", "mpeg4/iso/avc": "H.264",
    "hvc1": "H.265", "hev1": "H.265", "mpegh/iso/hevc": "H.265",
    "av01": "AV1", "av1": "AV1", "mp4v": "MPEG-4", "xvid": "MPEG-4", "divx": "MPEG-4",
    "fmp4": "MPEG-4", "ffv1": "FFV1", "mjpg": "motion JPEG",
}  # fmt: skip


def has_gpu() -> bool:
    """Return whether an NVIDIA GPU is visible, without initialising CUDA."""
    return os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg")


def refusal(path: str, device: str = "") -> str:
    """Return why DALI cannot decode a video on a device (by default any), or an empty string.

    On a machine without a GPU, only decoding on the CPU is considered. Raises OSError if the file
    cannot be read.
    """
    gpu = has_gpu()
    cpu = device != "mixed" or not gpu
    return _refusal(path, os.stat(path).st_mtime_ns, cpu, gpu and device != "cpu")


@lru_cache(maxsize=4096)
def _refusal(path: str, stamp: int, cpu: bool, gpu: bool) -> str:
    try:
        return _codec_refusal(*codec_of(path), cpu, gpu)
    except OSError as error:
        return f"not readable ({error.strerror})"


def encoded_fault(content: bytes, device: str = "") -> str:
    """Return why DALI cannot decode an encoded video on a device (by default any), or ""."""
    gpu = has_gpu() and device != "cpu"
    why = _codec_refusal(*_codec_in(io.BytesIO(content)), device != "mixed", gpu)
    return f"it is {why}, which DALI does not decode here" if why else ""


def _codec_refusal(container: str, codec: str, cpu: bool, gpu: bool) -> str:
    if (cpu and (container, codec) in DECODABLE) or (gpu and container and codec in ON_GPU):
        return ""
    if not container:
        return "not an AVI, WebM, Matroska or MP4 file"
    named = _NAMES.get(codec, codec.upper()) or "an unknown codec"
    return f"{named} in {container.capitalize() if container == 'matroska' else container.upper()}"


def _fault(path: str) -> str:
    """Return why an existing video cannot be read, or an empty string if it can."""
    if not os.path.isfile(path):
        return ""
    if os.path.getsize(path) == 0:
        return "the file is empty"
    if why := refusal(path):
        return f"it is {why}, which DALI does not decode here"
    lacking = _missing_bytes(path)
    return f"it is truncated: {lacking:,} bytes are missing" if lacking else ""


def _missing_bytes(path: str) -> int:
    """Return the number of bytes by which an AVI is shorter than its header specifies.

    DALI skips the missing frames. Returns 0 for streamed files, whose header specifies no size.
    """
    with open(path, "rb") as file:
        head = file.read(12)
    if head[:4] != b"RIFF" or (size := int.from_bytes(head[4:8], "little")) == _UNKNOWN:
        return 0
    return max(0, 8 + size - os.path.getsize(path))


@lru_cache(maxsize=4096)
def _colour_loss(path: str, stamp: int) -> str:
    """Describe the colour information of a video that DALI ignores, or return an empty string.

    DALI converts by BT.601 on both devices: on the CPU from limited range except for VP9 (tested
    with 2.4.0), on the GPU from the range of the stream (DALI's
    ``operators/video/color_space.cu``).
    """
    container, codec = codec_of(path)
    matrix, full = _UNSPECIFIED, False
    if container == "matroska":
        matrix, full = _matroska_colour(path, codec)
    elif container == "mp4":
        matrix = _mp4_matrix(path)
    if matrix in _MATRICES:
        return f"{_MATRICES[matrix]}, which DALI decodes as BT.601"
    if codec == "vp8" and full:
        return f"of full range, which DALI decodes as limited range {_ON_CPU}"
    return ""


def _matroska_colour(path: str, codec: str) -> tuple[int, bool]:
    """Return the colour matrix and full-range flag of the element Colour or a VP9 frame header."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    at = head.find(b"\x55\xb0")
    colour = head[at : at + 64] if at > 0 else b""
    values = {tag: colour[i + 3] for tag in _COLOUR_TAGS if 0 < (i := colour.find(tag)) < 61}
    matrix = values.get(_MATRIX, _UNSPECIFIED)
    frame = head.find(b"\x49\x83\x42")  # in the header of a VP9 key frame
    if codec == "vp9" and matrix == _UNSPECIFIED and 0 < frame < len(head) - 3:
        matrix = _VP9_MATRICES.get(head[frame + 3] >> 5, matrix)
    return matrix, values.get(_RANGE) == _FULL


def _mp4_matrix(path: str) -> int:
    """Return the colour matrix from the box ``colr`` of the video track, or VP9's box ``vpcC``.

    A matrix that is only in the H.264 or H.265 stream is not found. Layouts: ISO/IEC 14496-12, and
    "VP Codec ISO Media File Format Binding".
    """
    with open(path, "rb") as file:
        index = _movie_index(file)
    begins = index.find(b"stsd", max(0, index.find(b"vmhd")))
    if begins < 4:
        return _UNSPECIFIED
    entry = index[begins : begins - 4 + int.from_bytes(index[begins - 4 : begins], "big")]
    at = entry.find(b"colr")
    if at > 0 and entry[at + 4 : at + 8] in (b"nclx", b"nclc"):
        return int.from_bytes(entry[at + 12 : at + 14], "big")
    at = entry.find(b"vpcC")
    return entry[at + 13] if 0 < at < len(entry) - 13 else _UNSPECIFIED


class Video(ClassFiles):
    """Source kind for video files, which are read as sequences of frames."""

    about = "video (.avi, .webm, or a folder of these)"
    op = "experimental.readers.video"
    located_by = frozenset({"filenames", "labels", "file_root", "file_list"})
    find = staticmethod(find_videos)
    outputs: tuple[str, ...] = ("frames", "labels")
    unread: ClassVar = {"filenames": ["clip.avi"], "labels": [0]}
    reader: Any = staticmethod(read_videos)
    noun = "video"
    pixels = "frames"
    has_sequences = True
    checked_first = True
    begins: ClassVar = {"sequence_length": 8, "initial_fill": 64}
    helpers = (VIDEOS_SOURCE, *ClassFiles.helpers)
    suffixes = VIDEOS
    sample = "video"

    def files(self, dataset: Dataset) -> list[tuple[str, int]]:
        named = dataset.location.lower().endswith(VIDEOS) and not is_pattern(dataset.location)
        if named and not os.path.exists(dataset.location):
            raise DataError(f"{dataset} does not exist. Use video files or a folder of videos.")
        return super().files(dataset)

    def require(self, dataset: Dataset) -> None:
        require_whole_labels(dataset, "a video")
        files = self.files(dataset)
        if not files:
            raise DataError(self.nothing_found(dataset))
        missing = next((path for path, _ in files if not os.path.isfile(path)), None)
        if missing is not None:
            raise DataError(f"{missing} does not exist. Use video files or a folder of videos.")
        if reason := self.undecodable(dataset, ""):
            raise DataError(reason)

    def undecodable(self, dataset: Dataset, device: str) -> str:
        """Return why no file can be decoded on a device, or which file needs the other device.

        Other faults are reported for each file, and files with such faults are excluded.
        """
        files = [path for path, _ in self.files(dataset)]
        refused = [(path, why) for path in files if (why := refusal(path, device))]
        if not refused or (len(refused) < len(files) and all(refusal(path) for path, _ in refused)):
            return ""
        path, why = refused[0]
        others = f" (like {len(refused) - 1:,} more)" if len(refused) > 1 else ""
        stem, ending = os.path.splitext(os.path.basename(path))
        stem += "-vp9" * (ending.lower() == ".webm")  # ffmpeg cannot overwrite its input
        write = f"`ffmpeg -i {os.path.basename(path)} -c:v libvpx-vp9 {stem}.webm`, or exclude it."
        takes = "supports motion JPEG in AVI, and VP8 or VP9 in WebM: convert it, for example with"
        if refusal(path):
            side, remedy = "at all" if has_gpu() else "on the CPU", f"It {takes} {write}"
        elif device == "cpu":
            side, remedy = "on the CPU", f"Decode on the GPU (mixed). On the CPU it {takes} {write}"
        else:
            side, remedy = "on the GPU", f"Decode on the CPU, or convert it to VP9: {write}"
        return f"{path} is {why}{others}, so DALI does not decode it {side}. {remedy}"

    def read_header(self, path: str) -> Header:
        if (fault := _fault(path)) or not os.path.isfile(path):
            return Header(fault)
        loss = _colour_loss(path, os.stat(path).st_mtime_ns)
        words = f"{loss}: colours are off by up to 22 of 255"
        return Header(remarks=(("other colours", words),) if loss else ())

    def decoding_remark(self, dataset: Dataset, device: str) -> str:
        """Describe videos whose colours a device decodes incorrectly, or return an empty string."""
        found = [
            (path, remark)
            for path, _ in self.files(dataset)
            for _, remark in self.read_header(path).remarks
            if device == "cpu" or _ON_CPU not in remark
        ]
        if not found:
            return ""
        path, words = found[0]
        more = f" ({len(found):,} videos)" if len(found) > 1 else ""
        return f"{os.path.relpath(path, folder_of(dataset))} is {words}{more}"

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield one sample per file, regardless of how many sequences are read from it."""
        root = folder_of(dataset)
        for path, label in self.files(dataset):
            yield Sample(path, os.path.relpath(path, root), label, fault=_fault(path))

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no video in {dataset}. Use a file, or a folder or class folders of "
            f"these: {', '.join(VIDEOS)}."
        )

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "clip.avi"
        path.touch()
        return path


class EncodedVideos(Video):
    """Source kind for whole video files, one per sample, which ``decoders.video`` decodes."""

    about = "folder of videos to decode (.avi, .webm, or one file)"
    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    find = staticmethod(find_encoded_videos)
    reader: Any = None
    sampled: Any = staticmethod(read_sampled_files)
    sampler_helpers = (Sampler,)
    outputs: tuple[str, ...] = ("jpegs", "labels")
    unread: ClassVar = {}
    pixels = ""
    begins: ClassVar = {}
    takes = frozenset({"video"})
    precedence = 0
    decoder = "decoders.video"
    lists_files = False  # a remaining list of videos is read as this kind, not as a ``file_list``

    def accepts(self, path: Path) -> bool:
        return False  # videos are read as sequences, unless a graph decodes them


def find_request_videos(data: Any) -> dict[str, Any]:
    """Return the arguments of the file reader for a file, a folder, class folders or a list."""
    files, labels = files_of(data, VIDEOS)
    return {"files": files, "labels": labels}


def read_request_videos(**options: Any) -> Any:
    """Read whole sample videos from files instead of using ``fn.external_source``."""
    videos, _ = fn.readers.file(**options)
    return videos


class RequestVideos(EncodedVideos):
    """Source kind for whole videos that clients send to a server; without one, files are read."""

    about = "video files in place of requests (.avi, .webm, or a folder of these)"
    op = "request"
    find = staticmethod(find_request_videos)
    reader = staticmethod(read_request_videos)
    sampled = None
    outputs = ("jpegs",)
    options: frozenset[str] = frozenset()
    seeded = False

    def class_names(self, dataset: Dataset) -> list[str]:
        return []


def find_sample_videos(data: Any) -> dict[str, Any]:
    """Return the arguments of the video reader for a file, a folder, class folders or a list."""
    files, _ = files_of(data, VIDEOS)
    return {"filenames": files}


def read_sample_videos(device: str, last_sequence_policy: str = "partial", **options: Any) -> Any:
    """Read the sequences of sample videos instead of using ``fn.experimental.inputs.video``.

    A server ends a batch with its video. Here the next video continues the batch.
    """
    side = "cpu" if device == "cpu" else "gpu"
    for name in ("affine", "blocking", "no_copy"):
        options.pop(name, None)
    read: Any = fn.experimental.readers.video(
        device=side, pad_mode="constant", enable_frame_num="sequence", **options
    )
    frames, numbers = read
    if last_sequence_policy == "pad":
        return frames
    present = fn.cast(numbers.cpu() >= 0, dtype=types.INT32)  # padded frames have number -1
    count = fn.cast(fn.reductions.sum(present), dtype=types.INT32)
    return fn.slice(frames, start=0, shape=count, axes=[0])


class VideoRequest(Video):
    """Source kind for videos that clients send to a server; without one, files are read."""

    about = "videos in place of requests (.avi, .webm, or a folder of these)"
    op = "experimental.inputs.video"
    located_by = frozenset({"filenames"})
    find = staticmethod(find_sample_videos)
    reader = staticmethod(read_sample_videos)
    outputs = ("output",)
    pixels = "output"
    options = frozenset(
        {"sequence_length", "last_sequence_policy", "affine", "blocking", "no_copy", "preserve"}
    )
    unread: ClassVar = {"filenames": ["clip.avi"]}
    begins: ClassVar = {"sequence_length": 8}
    seeded = False
    takes = frozenset({"video"})
    precedence = 0
    helpers = (VIDEOS_SOURCE, *ClassFiles.helpers)

    def accepts(self, path: Path) -> bool:
        return False

    def class_names(self, dataset: Dataset) -> list[str]:
        return []


SOURCES = {
    "video": Video(),
    "encoded_videos": EncodedVideos(),
    "request_videos": RequestVideos(),
    "video_request": VideoRequest(),
}
