"""Write sample photos, with or without annotations, cropped from images of Python packages.

The images of scikit-image and scikit-learn are available without a network. Each photograph becomes
one class folder of crops with different regions, sizes and orientations. All random values have
fixed seeds, so a second run writes the same bytes as the first (with the same version of Pillow).
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, ImageOps

from workbench.arguments import PATH, checked
from workbench.errors import DataError, SaveError

CUTS = 10
"""Number of crops of each photograph."""

SHORTEST, LONGEST = 300, 1200
"""Minimum and maximum of width and height of a crop, in pixels."""

ENLARGE = 2.0
"""Maximum factor by which a crop is enlarged. With a larger factor, it would look blurred."""

QUALITY = 90
RATIOS = (3 / 2, 2 / 3, 4 / 3, 3 / 4, 1.0, 16 / 9, 4 / 5, 3 / 2, 2 / 3, 4 / 3)
"""Aspect ratio (width / height) of each crop, as produced by cameras and phones."""

UNFINISHED = ".unfinished-"
NEED_LMDB = ("caffe", "caffe2")
"""Folders that are written only if the package ``lmdb`` is installed."""
ABANDONED = 3600.0
"""Age in seconds from which an unfinished folder counts as abandoned. A run takes 5 s."""
EXIF_ORIENTATION = 0x0112  # Exif 2.32, table 4: tag "Orientation"
TURNED_LEFT = 6  # show the stored pixels turned 90 degrees clockwise

Box = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Photo:
    """A photograph in a Python package. ``focus`` is the position of its subject, from 0 to 1."""

    package: str
    file: str
    focus: tuple[float, float]
    credit: str = ""
    """Author and license, if the license requires attribution."""


@dataclass(frozen=True, slots=True)
class PhotoCrop:
    """A region of a photograph (left, upper, right, lower) and its size after resizing."""

    box: Box
    size: tuple[int, int]


PHOTOS: dict[str, Photo] = {
    "astronaut": Photo("skimage", "data/astronaut.png", (0.44, 0.27)),
    "cat": Photo("skimage", "data/chelsea.png", (0.50, 0.45)),
    "coffee": Photo("skimage", "data/coffee.png", (0.49, 0.45)),
    "coins": Photo("skimage", "data/coins.png", (0.50, 0.50)),
    "flower": Photo(
        "sklearn", "datasets/images/flower.jpg", (0.47, 0.54), "by vultilion, CC BY 2.0"
    ),
    "galaxies": Photo("skimage", "data/hubble_deep_field.jpg", (0.50, 0.50)),
    "motorcycle": Photo("skimage", "data/motorcycle_left.png", (0.52, 0.58)),
    "photographer": Photo("skimage", "data/camera.png", (0.45, 0.32)),
    "retina": Photo("skimage", "data/retina.jpg", (0.42, 0.50)),
    "rocket": Photo("skimage", "data/rocket.jpg", (0.51, 0.60)),
    "temple": Photo(
        "sklearn", "datasets/images/china.jpg", (0.22, 0.50), "by danielbuechele, CC BY 2.0"
    ),
    "tissue": Photo("skimage", "data/ihc.png", (0.50, 0.50)),
}
"""Photograph that is cropped for each class, by class name."""

Save = Callable[[Path], None]


@checked(folder=PATH)
def write_samples(folder: str | Path, formats: bool = False, annotations: bool = False) -> int:
    """Write class folders of JPEGs to ``folder``, and return the number of files in it.

    Width and height are 300 to 1200 pixels, with three channels. With ``formats``, an additional
    folder ``formats`` contains one file each of PNG, WebP, TIFF, BMP, PPM, JPEG 2000, grayscale,
    CMYK and Exif-rotated JPEG.

    With ``annotations``, the folder instead contains 24 photos with shapes of five classes drawn on
    them, in each data format: ``coco/annotations.json`` (boxes, polygons and key points),
    ``yolo``, ``yolo_pose`` and ``voc`` (the same), ``segmentation`` (images with masks),
    ``tfrecord``, ``webdataset``, ``recordio``, ``caffe`` and ``caffe2`` (if the package ``lmdb`` is
    installed), ``video`` with a moving shape, ``numpy`` arrays of the photos, and ``volumes`` of
    two channels with masks.

    Existing class folders are not changed, and missing ones are added atomically; several runs can
    write to the same folder. Raises :class:`DataError` if the folder contains other files, before
    anything is written, and :class:`SaveError` if the folder cannot be written; no partial class
    folder remains.

    ::

        count = wb.write_samples("photos")
    """
    folder = Path(folder)
    if annotations:
        from workbench.samples.annotations import target_files

        if formats:
            raise DataError(
                "formats and annotations cannot be combined. Call write_samples once with each, "
                "for separate folders."
            )
        known = target_files(_load, tuple(PHOTOS))
        left_out = () if find_spec("lmdb") else NEED_LMDB
        wanted = {name: files for name, files in known.items() if name not in left_out}
    else:
        wanted = {name: _class_files(name) for name in PHOTOS}
        known = wanted | {"formats": _format_files()}
        wanted = known if formats else wanted
    present = _present(folder, known)
    missing = {name: files for name, files in wanted.items() if name not in present}
    if missing:
        _write(folder, missing)
    return sum(len(files) for files in wanted.values())


def plan_cuts(photo: str, width: int, height: int) -> list[PhotoCrop]:
    """Return the regions to crop from a photograph of this size in pixels."""
    chance = random.Random(photo)
    focus = PHOTOS[photo].focus
    cuts = []
    for ratio in RATIOS[:CUTS]:
        fit_w, fit_h = min(width, height * ratio), min(height, width / ratio)
        needed = SHORTEST / ENLARGE / min(fit_w, fit_h)
        cover = max(chance.uniform(0.6, 1.0), needed)
        w, h = fit_w * cover, fit_h * cover
        left = _place(focus[0] * width, w, width, chance.uniform(0.4, 0.6))
        upper = _place(focus[1] * height, h, height, chance.uniform(0.4, 0.6))
        low, high = SHORTEST / min(w, h), min(ENLARGE, LONGEST / max(w, h))
        scale = chance.uniform(low, high)
        cuts.append(
            PhotoCrop(
                (round(left), round(upper), round(left + w), round(upper + h)),
                (max(SHORTEST, round(w * scale)), max(SHORTEST, round(h * scale))),
            )
        )
    return cuts


def _place(subject: float, length: float, available: int, share: float) -> float:
    """Return the start of an interval in which ``subject`` is at the fraction ``share``.

    The interval is shifted to fit into the range from 0 to ``available``.
    """
    return min(max(subject - share * length, 0.0), available - length)


def _present(folder: Path, ours: dict[str, dict[str, Save]]) -> set[str]:
    """Return the names of the complete sample folders. Raises DataError for any other content."""
    try:
        if not folder.exists():  # checked first, because another run may create it meanwhile
            return set()
        if not folder.is_dir():
            raise DataError(f"{folder} is a file. Choose a folder for the sample photos.")
        entries = sorted(path for path in folder.iterdir() if not path.name.startswith(UNFINISHED))
        for entry in entries:
            files = {str(path.relative_to(entry)) for path in entry.rglob("*") if path.is_file()}
            if files != set(ours.get(entry.name, ())) or not files:
                raise DataError(
                    f"{folder} contains files other than the sample photos: {entry.name}. "
                    "Use a new or empty folder."
                )
    except OSError as error:
        raise DataError(f"{folder} cannot be read: {error.strerror}.") from error
    return {entry.name for entry in entries}


def _write(folder: Path, classes: dict[str, dict[str, Save]]) -> None:
    """Write all classes to a temporary folder first, so that a full disk leaves no partial class.

    Several runs can write to the same folder: each removes only its own temporary files.
    """
    new = not folder.exists()
    staging = None
    done = False
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = _staging_place(folder)
        _remove_abandoned(place)
        staging = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=place))
        for name, files in classes.items():
            for file, save in files.items():
                path = staging / name / file
                path.parent.mkdir(parents=True, exist_ok=True)
                save(path)
        for name in classes:
            _move(staging / name, folder / name)
        done = True
    except OSError as error:
        raise SaveError(
            f"The sample photos could not be written to {folder}: {error.strerror or error}. "
            "Free some space, or use another folder."
        ) from error
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
        if new and not done:
            with suppress(OSError):  # it contains photos of another run, or was never created
                folder.rmdir()


def _staging_place(folder: Path) -> Path:
    """Return the folder for temporary files: the parent of ``folder`` if writable, or itself."""
    real = folder.resolve()
    beside = not real.is_mount() and os.access(real.parent, os.W_OK | os.X_OK)
    return real.parent if beside else real


def _remove_abandoned(place: Path) -> None:
    for folder in place.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - folder.stat().st_mtime > ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)


def _move(source: Path, target: Path) -> None:
    """Rename a class folder, unless another run has already created it."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def _class_files(name: str) -> dict[str, Save]:
    return {f"{name}_{index + 1:02}.jpg": partial(_save_cut, name, index) for index in range(CUTS)}


def _save_cut(name: str, index: int, path: Path) -> None:
    photo = _load(name)
    cut = plan_cuts(name, *photo.size)[index]
    picture = photo.resize(cut.size, Image.Resampling.LANCZOS, box=cut.box)
    _save(picture, name, path)


def _save(picture: Image.Image, name: str, path: Path, exif: bytes = b"") -> None:
    source = PHOTOS[name]
    comment = f"cut from {Path(source.file).name} of {source.package} {source.credit}".strip()
    picture.save(path, quality=QUALITY, comment=comment, exif=exif)


def _format_files() -> dict[str, Save]:
    """Return functions that each write one image in a special format, by file name."""

    def plain(name: str) -> Save:
        return lambda path: _load(name).save(path)

    def jpeg(name: str, change: Callable[[Image.Image], Image.Image]) -> Save:
        return lambda path: _save(change(_load(name)), name, path)

    def turned(name: str) -> Save:
        def save(path: Path) -> None:
            exif = Image.Exif()
            exif[EXIF_ORIENTATION] = TURNED_LEFT
            _save(_load(name).transpose(Image.Transpose.ROTATE_90), name, path, exif.tobytes())

        return save

    return {
        "coffee.png": plain("coffee"),
        "flower.webp": plain("flower"),
        "rocket.tiff": plain("rocket"),
        "cat.bmp": plain("cat"),
        "motorcycle.ppm": plain("motorcycle"),
        "temple.jp2": plain("temple"),
        "photographer_gray.jpg": jpeg("photographer", ImageOps.grayscale),
        "astronaut_cmyk.jpg": jpeg("astronaut", lambda photo: photo.convert("CMYK")),
        "temple_exif_rotated.jpg": turned("temple"),
    }


def _load(name: str) -> Image.Image:
    source = PHOTOS[name]
    # Find the folder of the package without importing it: scikit-learn alone takes a second.
    spec = find_spec(source.package)
    for root in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(root) / source.file).is_file():
            with Image.open(path) as photo:
                return photo.convert("RGB")
    raise DataError(
        f"The photograph {source.file} is not in the installed package {source.package}. "
        "Install dali-workbench again, with its dependencies."
    )
