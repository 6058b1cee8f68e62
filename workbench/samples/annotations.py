"""Write annotated sample data in each format.

Each format is a folder. ``SourceKind.sample`` in ``workbench.sources`` is the path to open.
"""

from __future__ import annotations

import io
import json
import math
import random
import struct
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.samples.records import (
    encode_datum,
    encode_example,
    encode_tfrecord,
    recorded,
    tensors,
    write_lmdb,
    write_shard,
)
from workbench.samples.shapes import (
    CLASSES,
    KEY_POINTS,
    SCENES,
    SKELETON,
    Scene,
    Shape,
    background,
    colour_of,
    draw,
    encoded,
    scenes,
    shape_at,
)

Photos = Callable[[str], Image.Image]
Save = Callable[[Path], None]
Moving = Callable[[str, int], list[bytes]]
"""Function that returns the frames of a video, given the class and the number of the video."""

CLIPS = 2
"""Number of videos per class."""
FRAMES, FRAME_SIZE = 64, (128, 96)
"""Number of frames per video, and width and height of a frame in pixels."""
_APART = 4
"""Interval between the frames that are also written as images."""
VOLUMES, VOLUME_SHAPE = 4, (16, 64, 64)
"""Number of volumes, and number of slices, rows and columns of a volume."""
_ARRAYS, _ARRAY_SIZE = 8, (160, 120)


def target_files(load: Photos, names: tuple[str, ...]) -> dict[str, dict[str, Save]]:
    """Return functions that write the sample data, by folder and file name.

    ``load`` returns a photo by name.
    """

    def all_scenes() -> tuple[Scene, ...]:
        return scenes(load, names)

    moving = partial(_frames, load, names)

    def saved(content: Callable[[Scene], bytes], number: int) -> Save:
        return lambda path: _write(path, content(all_scenes()[number]))

    def joined(record: Callable[[Scene], bytes]) -> Save:
        return lambda path: _write(path, b"".join(map(record, all_scenes())))

    def stored(value: Callable[[bytes, int], bytes]) -> Save:
        return lambda path: write_lmdb([value(one.jpeg, one.label) for one in all_scenes()], path)

    numbers = [f"{number:06}" for number in range(SCENES)]
    pictures: dict[str, Save] = {
        f"images/{name}.jpg": saved(lambda one: one.jpeg, n) for n, name in enumerate(numbers)
    }
    return {
        "caffe": {"data.mdb": stored(encode_datum)},
        "caffe2": {"data.mdb": stored(tensors)},
        "coco": {
            **pictures,
            **{
                name: lambda path: _write(path, _annotations(all_scenes()))
                for name in ("annotations.json", "keypoints.json")
            },
        },
        "frames": {
            f"{name}/{name}_1/{number + 1:04}.jpg": partial(_save_frame, moving, name, number)
            for name in CLASSES
            for number in range(0, FRAMES, _APART)
        },
        "numpy": {f"{numbers[n]}.npy": partial(_save_array, all_scenes, n) for n in range(_ARRAYS)},
        "recordio": {"samples.rec": joined(lambda one: recorded(one.jpeg, one.label))},
        "segmentation": {
            **pictures,
            **{f"masks/{n}.png": saved(_class_png, int(n)) for n in numbers},
            "masks.names": lambda path: _write(path, "\n".join(["background", *CLASSES]).encode()),
            **{f"instances/{n}.png": saved(_instance_png, int(n)) for n in numbers},
        },
        "tfrecord": {
            "samples.tfrecord": joined(lambda one: encode_tfrecord(encode_example(_features(one))))
        },
        "video": {
            f"{name}/{name}_{clip + 1}.avi": partial(_save_clip, moving, name, clip)
            for name in CLASSES
            for clip in range(CLIPS)
        },
        "volumes": {
            f"{kind}/{numbers[n]}.npy": partial(_save_volume, n, place)
            for place, kind in enumerate(("images", "masks"))
            for n in range(VOLUMES)
        },
        "webdataset": {
            "samples-000000.tar": lambda path: write_shard(map(_components, all_scenes()), path)
        },
        "voc": {
            **{name.replace("images", "JPEGImages"): save for name, save in pictures.items()},
            **{f"Annotations/{n}.xml": saved(partial(_voc_xml, n), int(n)) for n in numbers},
            **{
                f"ImageSets/Main/{split}.txt": partial(_write, content="\n".join(part).encode())
                for split, part in (
                    ("train", numbers[: SCENES // 2]),
                    ("val", numbers[SCENES // 2 :]),
                )
            },
        },
        "yolo": {
            **pictures,
            **{f"labels/{n}.txt": saved(_yolo_outlines, int(n)) for n in numbers},
            "data.yaml": lambda path: _write(path, _YOLO),
        },
        "yolo_pose": {
            **pictures,
            **{f"labels/{n}.txt": saved(_yolo_points, int(n)) for n in numbers},
            "data.yaml": lambda path: _write(path, _YOLO + _YOLO_POINTS),
        },
    }


def _save_clip(moving: Moving, name: str, clip: int, path: Path) -> None:
    _write(path, avi(moving(name, clip), *FRAME_SIZE))


def _save_frame(moving: Moving, name: str, number: int, path: Path) -> None:
    _write(path, moving(name, 0)[number])


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _class_png(scene: Scene) -> bytes:
    return encoded(scene.classes, "PNG")


def _instance_png(scene: Scene) -> bytes:
    return encoded(scene.instances, "PNG")


def _annotations(pictures: tuple[Scene, ...]) -> bytes:
    """Return COCO annotations with polygons and key points: ``cocodataset.org/#format-data``."""
    images = [
        {"id": n, "file_name": f"{n:06}.jpg", "width": one.size[0], "height": one.size[1]}
        for n, one in enumerate(pictures)
    ]
    annotations = [
        {"image_id": number, **_annotation(shape)}
        for number, one in enumerate(pictures)
        for shape in one.shapes
    ]
    keys = {"keypoints": KEY_POINTS, "skeleton": SKELETON, "supercategory": "shape"}
    document = {
        "images": images,
        "annotations": [{"id": n + 1, **each} for n, each in enumerate(annotations)],
        "categories": [{"id": n + 1, "name": name, **keys} for n, name in enumerate(CLASSES)],
    }
    return json.dumps(document).encode()


def _annotation(shape: Shape) -> dict[str, object]:
    left, top, right, bottom = shape.box
    seen = 2  # COCO's value for a key point that is labelled and visible
    return {
        "category_id": shape.label,
        "bbox": [left, top, round(right - left, 2), round(bottom - top, 2)],
        "area": round(shape.area, 2),
        "iscrowd": 0,
        "segmentation": [[number for corner in shape.corners for number in corner]],
        "keypoints": [number for point in shape.points for number in (*point, seen)],
        "num_keypoints": len(shape.points),
    }


_YOLO = f"train: images\nnames: [{', '.join(CLASSES)}]\n".encode()
_YOLO_POINTS = f"""\
kpt_shape: [{len(KEY_POINTS)}, 3]
kpt_names: {{0: [{", ".join(KEY_POINTS)}]}}
flip_idx: [0, 3, 2, 1, 4]
""".encode()


def _yolo_line(scene: Scene, shape: Shape, *values: float) -> str:
    """Return a line with the class number from 0, and ``values`` (in pixels) as fractions."""
    sides = [scene.size[at % 2] for at in range(len(values))]
    each = (f"{value / side:.8f}" for value, side in zip(values, sides, strict=True))
    return " ".join([str(shape.label - 1), *each])


def _yolo_outlines(scene: Scene) -> bytes:
    lines = (_yolo_line(scene, one, *sum(one.corners, ())) for one in scene.shapes)
    return "".join(f"{line}\n" for line in lines).encode()


def _yolo_points(scene: Scene) -> bytes:
    lines = []
    for one in scene.shapes:
        left, top, right, bottom = one.box
        box = (left + right) / 2, (top + bottom) / 2, right - left, bottom - top
        points = (_yolo_line(scene, one, *point).partition(" ")[2] + " 2" for point in one.points)
        lines.append(" ".join([_yolo_line(scene, one, *box), *points]))
    return "".join(f"{line}\n" for line in lines).encode()


def _voc_xml(name: str, scene: Scene) -> bytes:
    """Return the annotations of an image as in the VOC challenges, with corners counted from 1."""
    objects = ""
    for one in scene.shapes:
        left, top, right, bottom = one.box
        sides = {"xmin": left + 1, "ymin": top + 1, "xmax": right, "ymax": bottom}
        corners = "".join(f"<{side}>{value:.8g}</{side}>" for side, value in sides.items())
        objects += f"  <object><name>{one.name}</name><difficult>0</difficult>"
        objects += f"<bndbox>{corners}</bndbox></object>\n"
    width, height = scene.size
    size = f"<width>{width}</width><height>{height}</height><depth>3</depth>"
    head = f"  <filename>{name}.jpg</filename>\n  <size>{size}</size>\n"
    return f"<annotation>\n{head}{objects}</annotation>\n".encode()


def _features(scene: Scene) -> dict[str, bytes | list[bytes] | list[int] | list[float]]:
    """Return features named as in TensorFlow's object detection API. Boxes are relative."""
    width, height = scene.size
    boxes = [shape.box for shape in scene.shapes]
    sides = {"xmin": (0, width), "ymin": (1, height), "xmax": (2, width), "ymax": (3, height)}
    return {
        "image/encoded": scene.jpeg,
        "image/format": b"jpeg",
        "image/height": [height],
        "image/width": [width],
        "image/class/label": [scene.label],
        "image/class/text": CLASSES[scene.label].encode(),
        **{
            f"image/object/bbox/{name}": [box[place] / side for box in boxes]
            for name, (place, side) in sides.items()
        },
        "image/object/class/label": [shape.label for shape in scene.shapes],
        "image/object/class/text": [shape.name.encode() for shape in scene.shapes],
        **{
            f"image/object/keypoint/{name}": [
                point[place] / side for shape in scene.shapes for point in shape.points
            ]
            for name, place, side in (("x", 0, width), ("y", 1, height))
        },
        "image/object/keypoint/visibility": [2 for shape in scene.shapes for _ in shape.points],
    }


def _components(scene: Scene) -> dict[str, bytes]:
    return {
        "jpg": scene.jpeg,
        "cls": str(scene.label).encode(),
        "json": json.dumps(
            [{**_annotation(shape), "category_name": shape.name} for shape in scene.shapes]
        ).encode(),
        "mask.png": _class_png(scene),
    }


def _npy(values: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def _save_array(all_scenes: Callable[[], tuple[Scene, ...]], number: int, path: Path) -> None:
    picture = Image.fromarray(all_scenes()[number].pixels)
    _write(path, _npy(np.asarray(picture.resize(_ARRAY_SIZE))))


@cache
def _frames(load: Photos, names: tuple[str, ...], shape: str, clip: int) -> list[bytes]:
    chance = random.Random(f"{shape} {clip}")
    width, height = FRAME_SIZE
    photo = load(names[(CLASSES.index(shape) * CLIPS + clip) % len(names)])
    behind, colour = background(photo, width, height, chance), colour_of(chance)
    start, end = chance.uniform(0.15, 0.35), chance.uniform(0.65, 0.85)
    y, turns = chance.uniform(0.35, 0.65), chance.uniform(0.5, 1.5)
    frames = []
    for number in range(FRAMES):
        share = number / (FRAMES - 1)
        centre = width * (start + (end - start) * share), height * y
        made = shape_at(shape, centre, height / 4, 2 * math.pi * turns * share, colour)
        frames.append(encoded(draw(behind, made), "JPEG", quality=70))
    return frames


@cache
def _volume(number: int) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """Return two modalities of a body (slices, rows, columns, 2), and the mask of its lesion.

    The lesion is bright in the second modality and dark in the first, as in T2 and T1 MR images.
    """
    chance = np.random.default_rng(number)
    places = np.stack(
        np.meshgrid(*[np.linspace(-1, 1, side) for side in VOLUME_SHAPE], indexing="ij")
    )
    places[0] *= 0.6  # the first and the last slice cut the body too
    distance = (places**2).sum(axis=0)
    body = distance < 0.9
    middle = chance.uniform(-0.35, 0.35, (3, 1, 1, 1))
    lesion = ((places - middle) ** 2).sum(axis=0) < chance.uniform(0.2, 0.35) ** 2
    texture = 40 * np.sin(places[1] * chance.uniform(6, 12)) * np.cos(places[2] * 9)
    noise = chance.normal(0, 6, (*VOLUME_SHAPE, 2))
    first = body * (180 - 120 * distance + texture - 60 * lesion)
    second = body * (60 + 60 * distance - texture + 110 * lesion)
    volume = np.stack([first, second], axis=-1) + noise * body[..., None]
    return volume.round().astype(np.int16), (lesion & body).astype(np.uint8)


def _save_volume(number: int, place: int, path: Path) -> None:
    _write(path, _npy(_volume(number)[place]))


RATE = 10
"""Frames per second."""


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def _list(kind: bytes, content: bytes) -> bytes:
    return _chunk(b"LIST", kind + content)


def avi(frames: Sequence[bytes], width: int, height: int, codec: bytes = b"MJPG") -> bytes:
    """Encode an AVI file with one video stream of encoded frames, and an index."""
    count, most = len(frames), max(map(len, frames))
    sizes = (0, 0, 0x10, count, 0, 1, most, width, height, 0, 0, 0, 0)
    main = struct.pack("<14I", 10**6 // RATE, *sizes)
    times = (0, 0, 0, 0, 1, RATE, 0, count, most, 2**32 - 1, 0)
    stream = b"vids" + codec + struct.pack("<IHHIIIIIIII4H", *times, 0, 0, width, height)
    form = (40, width, height, 1, 24, codec, width * height * 3, 0, 0, 0, 0)
    picture = struct.pack("<IiiHH4sIiiII", *form)
    streams = _list(b"strl", _chunk(b"strh", stream) + _chunk(b"strf", picture))
    index, at = b"", 4
    for frame in frames:
        index += b"00dc" + struct.pack("<III", 0x10, at, len(frame))
        at += 8 + len(frame) + len(frame) % 2
    head = _list(b"hdrl", _chunk(b"avih", main) + streams)
    body = _list(b"movi", b"".join(_chunk(b"00dc", frame) for frame in frames))
    return _chunk(b"RIFF", b"AVI " + head + body + _chunk(b"idx1", index))
