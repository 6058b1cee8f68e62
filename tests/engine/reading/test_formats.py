"""Every format through every decoder of DALI, and those that DALI does not decode through Pillow.

Pixels are those of Pillow within a bound, and crops are parts of the whole picture.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from numpy.typing import NDArray
from nvidia.dali import fn, pipeline_def
from PIL import Image

from tests.helpers import same, script_batches
from tests.thorough import one_in
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.python_decoder import decode_with_pillow
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.file_checks.file_check import check_header
from workbench.engine.reading.encoded_images import crash_reason, placeholder_jpeg
from workbench.engine.reading.undecodable_samples import Sample, check_samples, replace_samples
from workbench.errors import GraphExportError
from workbench.graph import Graph, Node, Port, Settings, check_graph
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Source
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.sources import list_samples, open_dataset, open_datasets

HEIGHT, WIDTH = 120, 200
SEED = 42
CROP = {"crop": (50, 60), "crop_pos_x": 0.3, "crop_pos_y": 0.6}
SLICE = {"start": (20, 30), "shape": (50, 60), "axis_names": "HW"}


def photo() -> Image.Image:
    """Smooth, so that ways to enlarge halved colours hardly differ."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    third = 128 + 100 * np.sin(x / 20) * np.cos(y / 15)
    channels = np.stack([x * 255 / (WIDTH - 1), y * 255 / (HEIGHT - 1), third], axis=-1)
    return Image.fromarray(channels.clip(0, 255).astype(np.uint8))


def saved(form: str, mode: str = "RGB", **options: Any) -> bytes:
    buffer = io.BytesIO()
    photo().convert(mode).save(buffer, form, **options)
    return buffer.getvalue()


def animated(form: str, **options: Any) -> bytes:
    return saved(form, save_all=True, append_images=[photo().rotate(90)], **options)


def sixteen_bit() -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(photo())[..., 0].astype(np.uint16) * 257).save(buffer, "PNG")
    return buffer.getvalue()


DECODED: Mapping[str, Callable[[], bytes]] = {
    "photo.jpg": lambda: saved("JPEG", quality=95),
    "full colour.jpg": lambda: saved("JPEG", quality=95, subsampling=0),
    "progressive.jpg": lambda: saved("JPEG", progressive=True),
    "grey.jpg": lambda: saved("JPEG", "L"),
    "cmyk.jpg": lambda: saved("JPEG", "CMYK"),
    "photo.png": lambda: saved("PNG"),
    "palette.png": lambda: saved("PNG", "P"),
    "alpha.png": lambda: saved("PNG", "RGBA"),
    "grey.png": lambda: saved("PNG", "L"),
    "16 bit.png": sixteen_bit,
    "animated.png": lambda: animated("PNG"),
    "photo.tiff": lambda: saved("TIFF"),
    "lzw.tif": lambda: saved("TIFF", compression="tiff_lzw"),
    "deflate.tif": lambda: saved("TIFF", compression="tiff_adobe_deflate"),
    "jpeg.tif": lambda: saved("TIFF", compression="jpeg"),
    "two colours.tif": lambda: saved("TIFF", "1", compression="group4"),
    "photo.bmp": lambda: saved("BMP"),
    "palette.bmp": lambda: saved("BMP", "P"),
    "photo.webp": lambda: saved("WEBP", quality=95),
    "lossless.webp": lambda: saved("WEBP", lossless=True),
    "animated.webp": lambda: animated("WEBP", lossless=True),
    "photo.jp2": lambda: saved("JPEG2000"),
    "photo.ppm": lambda: saved("PPM"),
    "grey.pgm": lambda: saved("PPM", "L"),
    "two colours.pbm": lambda: saved("PPM", "1"),
}
"""What DALI decodes, by the name of its file."""

NOT_DECODED: Mapping[str, Callable[[], bytes]] = {
    "photo.gif": lambda: saved("GIF", "P"),
    "animated.gif": lambda: animated("GIF"),
    "photo.avif": lambda: saved("AVIF"),
    "animated.avif": lambda: animated("AVIF"),
    "photo.ico": lambda: saved("ICO", sizes=[(WIDTH, HEIGHT)]),
    "photo.tga": lambda: saved("TGA"),
    "photo.qoi": lambda: saved("QOI"),
    "photo.dds": lambda: saved("DDS"),
    "photo.pcx": lambda: saved("PCX"),
    "photo.sgi": lambda: saved("SGI"),
}

ON_THE_GPU = pytest.param("mixed", marks=pytest.mark.gpu)


def write(folder: Path, files: Mapping[str, Callable[[], bytes]]) -> Path:
    folder.mkdir(parents=True)
    for name, make in files.items():
        (folder / name).write_bytes(make())
    return folder


def pillow(data: bytes) -> NDArray[np.int64]:
    return np.asarray(decode_with_pillow(data)).astype(int)


def reading(op: str, device: str, count: int, **args: Any) -> Graph:
    nodes = (
        Source("reader", "readers.file", seed=0, kind="folder"),
        Node("decode", op, args, {"data": Port("reader", "jpegs")}, seed=_seed(op)),
    )
    outputs = {"images": Port("decode", "output")}
    settings = Settings(batch_size=count, num_threads=1, seed=SEED, device=device)  # type: ignore[arg-type]
    return Graph("formats", nodes=nodes, outputs=outputs, settings=settings)


def _seed(op: str) -> int | None:
    return 7 if op == "decoders.image_random_crop" else None


def decoded(folder: Path, tmp_path: Path, op: str, device: str = "cpu", **args: Any) -> list[Any]:
    """The outputs of the exported script for the files of a folder."""
    graph = reading(op, device, len(list(folder.iterdir())), **args)
    ((images,),) = script_batches(graph, folder, 1, tmp_path)
    return [np.asarray(image).astype(int) for image in images]


def random_window(data: bytes) -> tuple[slice, slice]:
    """The part that ``decoders.image_random_crop`` takes: its generator draws it alone."""

    def window() -> Any:
        shape = fn.peek_image_shape(fn.external_source(name="encoded"))
        return tuple(fn.random_crop_generator(shape, seed=SEED + 7))

    pipe = pipeline_def(window)(batch_size=1, num_threads=1, device_id=None)
    pipe.build()
    pipe.feed_input("encoded", [np.frombuffer(data, np.uint8)])
    (top, left), (height, width) = (np.asarray(each[0]) for each in pipe.run())
    return slice(int(top), int(top + height)), slice(int(left), int(left + width))


@pytest.fixture(params=DECODED)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def one(name: str, tmp_path: Path) -> Path:
    return write(tmp_path / "data", {name: DECODED[name]})


@pytest.mark.parametrize("device", ["cpu", ON_THE_GPU])
def test_whole_pictures_are_those_of_pillow(
    one: Path, name: str, tmp_path: Path, device: str
) -> None:
    (ours,) = decoded(one, tmp_path, "decoders.image", device)
    theirs = pillow((one / name).read_bytes())
    assert ours.shape == theirs.shape == (HEIGHT, WIDTH, 3)
    difference = np.abs(ours - theirs)
    # nvJPEG enlarges halved colours in another way than libjpeg, which both others have.
    most, mean = (1, 0.1) if device == "cpu" else (24, 1.5)
    assert difference.max() <= most
    assert difference.mean() <= mean


@pytest.mark.parametrize("device", ["cpu", ON_THE_GPU])
@pytest.mark.parametrize("way", one_in(3, ["crop", "slice", "random_crop"]))
def test_crops_are_parts_of_the_whole_picture(
    one: Path, name: str, tmp_path: Path, way: str, device: str
) -> None:
    args: dict[str, Any] = {"crop": CROP, "slice": SLICE}.get(way, {})
    (whole,) = decoded(one, tmp_path, "decoders.image", device)
    (part,) = decoded(one, tmp_path, f"decoders.image_{way}", device, **args)
    windows = {
        "crop": (slice(42, 92), slice(42, 102)),  # 0.6 * (120 - 50), 0.3 * (200 - 60)
        "slice": (slice(20, 70), slice(30, 90)),
    }
    rows, columns = windows.get(way) or random_window((one / name).read_bytes())
    expected = whole[rows, columns]
    assert part.shape == expected.shape
    difference = np.abs(part - expected)
    assert difference.max() <= (0 if device == "cpu" else 24)
    assert difference.mean() <= (0 if device == "cpu" else 1)


@pytest.mark.parametrize("name", NOT_DECODED)
def test_what_dali_does_not_decode_is_named_with_what_does(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "data", {f"{name}.jpg": NOT_DECODED[name]})
    (sample,) = list_samples(open_dataset(folder))
    (finding, *_) = check_header(sample).findings
    assert finding.kind == "not for DALI"
    assert finding.reason.endswith("which DALI does not decode: decoders.pillow does")
    assert check_header(sample._replace(with_pillow=True)).level != "bad"


@pytest.mark.parametrize("classes", [False, True])
def test_a_folder_of_them_is_read_with_pillow(
    engine: Engine, tmp_path: Path, classes: bool
) -> None:
    place = tmp_path / "data" / "some" if classes else tmp_path / "data"
    write(place, NOT_DECODED)
    data = open_datasets(tmp_path / "data")
    graph = with_datasets(reading("decoders.image", "cpu", len(NOT_DECODED)), data)
    assert [node.op for node in graph.nodes] == ["readers.file", "decoders.pillow"]
    assert check_graph(graph, load_catalog()) == ()
    ((images,),) = script_batches(graph, tmp_path / "data", 1, tmp_path)
    for image, name in zip(images, sorted(NOT_DECODED), strict=True):
        assert np.array_equal(np.asarray(image), pillow(NOT_DECODED[name]())), name
        whole = pillow(saved("PNG"))
        assert np.abs(np.asarray(image).astype(int) - whole).mean() < 20, name
    shown = preview_batch(engine, PreviewRequest(graph, data, tiles=len(NOT_DECODED)))
    assert [tile.sample.error for tile in shown.tiles] == [""] * len(NOT_DECODED)
    assert "decode" in shown.facts


def test_bad_files_among_them_are_named_and_the_others_go_on(
    engine: Engine, tmp_path: Path
) -> None:
    files = {**NOT_DECODED, "cut.gif": lambda: saved("GIF", "P")[:900], "text.avif": lambda: b"?"}
    data = open_datasets(write(tmp_path / "data", files))
    graph = with_datasets(reading("decoders.image", "cpu", len(files)), data)
    shown = preview_batch(engine, PreviewRequest(graph, data, tiles=len(files)))
    bad = {tile.sample.file for tile in shown.tiles if tile.sample.error}
    assert bad == {"cut.gif", "text.avif"}
    checked = check_folder(data["data"])
    assert {file.file for file in checked.bad} == bad


def test_those_that_are_passed_over_are_counted(tmp_path: Path) -> None:
    files = {"a.jpg": DECODED["photo.jpg"], **NOT_DECODED}
    folder = write(tmp_path / "data", files)
    assert open_dataset(folder).kind == "folder"
    facts = scan_folder(folder)
    assert (facts.count, facts.pillow_only["GIF"], facts.pillow_only["AVIF"]) == (1, 2, 2)
    assert scan_folder(f"pillow_images:{folder}").count == len(files)
    assert scan_folder(f"pillow_images:{folder}").pillow_only == {}
    named = open_dataset(f"pillow_images:{folder}")
    assert open_dataset(named.text) == named
    assert open_dataset(folder).text == str(folder)


def test_a_decoder_of_dali_behind_such_a_source_is_a_fault() -> None:
    graph = reading("decoders.image_crop", "cpu", 1, crop=(50, 60))
    source = replace(graph.sources[0], kind="pillow_images")
    (fault,) = check_graph(graph.replace_node(source), load_catalog())
    assert str(fault).startswith("decode.data: decoders.image_crop does not decode GIF, AVIF")
    assert "Replace it with decoders.pillow" in str(fault)


@pytest.mark.parametrize("target", ["triton", "tensorflow", "dynamic"])
def test_targets_that_cannot_carry_it_say_why(target: str) -> None:
    graph = reading("decoders.pillow", "cpu", 1)
    graph = graph.replace_node(replace(graph.sources[0], kind="pillow_images"))
    resize = Node("resize", "resize", {"size": (30, 40)}, {"data": Port("decode", "output")})
    outputs = {"images": Port("resize", "output")}
    graph = replace(graph, nodes=(*graph.nodes, resize), outputs=outputs)
    with pytest.raises(GraphExportError, match="decode calls the Python function"):
        export(graph, target)


def test_where_dali_decodes_pillow_gives_the_same(tmp_path: Path, photos: Path) -> None:
    folder = photos / "cat"
    ours = decoded(folder, tmp_path, "decoders.pillow")
    assert same(ours, decoded(folder, tmp_path, "decoders.image"))


GOOD = placeholder_jpeg()
BAD = np.frombuffer(b"no image", np.uint8)


def test_each_sample_gets_its_own_reason() -> None:
    half = GOOD[: len(GOOD) // 2]
    samples = check_samples(
        ["a.jpg", "b.jpg", "c.jpg", "d/d.jpg"],
        [GOOD, BAD, half, GOOD],
        {"d/d.jpg": "no permission to read it"},
    )
    assert samples[0] == Sample("a.jpg")
    assert samples[1] == Sample("b.jpg", "text, not an image")
    assert samples[2].error == ""
    assert "ends early" in samples[2].warning
    assert samples[3] == Sample("d/d.jpg", "no permission to read it")


def test_a_bad_sample_is_replaced_by_a_good_neighbour() -> None:
    other = np.concatenate([GOOD, np.zeros(3, np.uint8)])
    samples = [Sample("a", "bad"), Sample("b"), Sample("c", "bad"), Sample("d")]
    assert [len(a) for a in replace_samples([BAD, other, BAD, GOOD], samples)] == [
        len(other),
        len(other),
        len(other),
        len(GOOD),
    ]


def test_where_none_is_good_a_plain_picture_stands_in() -> None:
    (only,) = replace_samples([BAD], [Sample("a", "bad")])
    assert np.array_equal(only, GOOD)


@pytest.mark.parametrize("turned", range(1, 9))
def test_turned_tiffs_on_which_dali_crashes_without_turning_are_named(turned: int) -> None:
    grey = np.zeros((4, 6), np.uint8)
    kinds = {"minisblack": (grey,), "miniswhite": (grey, grey.astype(np.uint16))}
    for photometric, images in kinds.items():
        for pixels in images:
            buffer = io.BytesIO()
            tags = [(0x0112, "H", 1, turned, True)]
            tifffile.imwrite(buffer, pixels, photometric=photometric, extratags=tags)
            crashes = photometric == "miniswhite" and turned >= 5
            assert bool(crash_reason(buffer.getvalue())) == crashes
            encoded = [np.frombuffer(buffer.getvalue(), np.uint8)]
            for args, named in (({"adjust_orientation": False}, crashes), ({}, False)):
                (sample,) = check_samples(["a.tif"], encoded, {}, "decoders.image", args)
                assert ("adjust_orientation" in sample.error) == named
