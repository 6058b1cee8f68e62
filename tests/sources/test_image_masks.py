"""Images with masks: pairs by name, numbers of any image file, and incomplete pairs."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.helpers import script_batches, with_settings
from workbench.catalog.extra_operators.python_decoder import decode_with_pillow
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import Graph, Port, load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.health import check_folder, scan_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.shapes import CLASSES
from workbench.sources import (
    class_names,
    describe_not_read,
    list_samples,
    open_dataset,
    open_datasets,
    require_dataset,
    write_remaining,
)
from workbench.sources.kinds.image_masks import mask_numbers
from workbench.ui.data.data_texts import fault_text

COUNT = 4


@pytest.fixture
def copied(shapes: Path, tmp_path: Path) -> Path:
    """Pairs that a test may change."""
    folder = tmp_path / "pairs"
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
        for path in sorted((shapes / "segmentation" / name).iterdir())[:8]:
            shutil.copy(path, folder / name)
    shutil.copy(shapes / "segmentation" / "masks.names", folder)
    return folder


def read_alone(folder: Path) -> Graph:
    """The masks as they are read, in the order of the names."""
    graph = with_settings(load_recipe("segmentation"), batch_size=COUNT)
    graph = with_datasets(graph, open_datasets(str(folder)))
    (reader,) = graph.sources
    return replace(
        graph.replace_node(replace(reader, args={})), outputs={"masks": Port(reader.id, "masks")}
    )


def test_masks_are_the_numbers_in_the_files(copied: Path, tmp_path: Path) -> None:
    names = sorted(path.name for path in (copied / "masks").iterdir())
    wanted = [np.array(Image.open(copied / "masks" / name)) for name in names]
    palette = Image.fromarray(wanted[0])
    palette.putpalette([255, 0, 0] * 256)  # as in PASCAL VOC: the colours are for people
    palette.save(copied / "masks" / names[0])
    wide = wanted[1].astype(np.uint16) * 300
    Image.fromarray(wide).save(copied / "masks" / names[1])
    wanted[1] = wide
    for batch in script_batches(read_alone(copied), copied, 2, tmp_path):
        for mask in batch[0]:
            np.testing.assert_array_equal(mask[..., 0], wanted.pop(0))


def test_colours_are_panoptic_ids_and_grey_ones_numbers() -> None:
    colours = np.zeros((4, 6, 3), np.uint8)
    colours[1:3, 2:4] = (5, 1, 2)
    grey = np.repeat(np.arange(24, dtype=np.uint8).reshape(4, 6, 1), 3, axis=2)
    found = []
    for pixels in (colours, grey):
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")
        found.append(mask_numbers(buffer.getvalue()))
    assert found[0].dtype == found[1].dtype == np.int32
    assert np.unique(found[0]).tolist() == [0, 5 + 256 + 2 * 65536]
    np.testing.assert_array_equal(found[1], grey[..., :1])


def test_numbers_have_the_names_beside_the_folder(copied: Path, engine: Engine) -> None:
    assert class_names(open_dataset(copied)) == ["background", *CLASSES]
    graph = with_settings(load_recipe("segmentation"), batch_size=4)
    preview = preview_batch(engine, PreviewRequest(graph, str(copied), tiles=4))
    marks = [mark for tile in preview.tiles for each in tile.marks for mark in each]
    # 255 is what the recipe fills masks with outside the photo, and no class.
    assert {name.text for mark in marks for name in mark.names} <= {*CLASSES, "255"}
    assert any(mark.names for mark in marks)
    (copied / "masks.names").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="is not a text file"):
        class_names(open_dataset(copied))


def test_what_is_no_pair_is_named_counted_and_left_out(copied: Path, engine: Engine) -> None:
    names = sorted(path.stem for path in (copied / "images").iterdir())
    small = Image.open(copied / "masks" / f"{names[1]}.png").resize((40, 30))
    small.save(copied / "masks" / f"{names[1]}.png")
    (copied / "masks" / f"{names[3]}.png").unlink()
    (copied / "masks" / f"{names[5]}.png").write_text("no picture")
    small.save(copied / "masks" / "alone.png")
    checked, counted = check_folder(copied), scan_folder(copied)
    assert counted.count == checked.count == 8
    assert counted.at_fault + counted.of_no_sample == len(checked.bad) == 4
    words = "3 of 8 samples and 1 file without a sample are unusable"
    assert fault_text(counted, open_dataset(copied)).startswith(words)
    faults = {each.file: each.reason for each in checked.bad}
    assert list(faults) == [*(f"images/{names[n]}.jpg" for n in (1, 3, 5)), "masks/alone.png"]
    first, second, third, last = faults.values()
    assert first.startswith("its mask is 40×30, but it is ")
    assert second == "it has no mask"
    assert third == "its mask cannot be opened"
    assert last == "it is a mask without an image"
    graph = with_settings(load_recipe("segmentation"), batch_size=COUNT)
    found = Verifier(graph, str(copied), 2, engine=engine).run()
    assert found.exact, found.lines()
    assert len(found.left_out) >= 3
    (copied / "masks" / f"{names[5]}.png").unlink()
    preview = preview_batch(engine, PreviewRequest(with_settings(graph, batch_size=4), str(copied)))
    assert "3 of its first " in preview.note


def test_the_panel_counts_masks_of_another_size_as_the_check_does(copied: Path) -> None:
    for name in sorted((copied / "masks").iterdir())[:2]:
        Image.new("L", (33, 44), 1).save(name)
    counted = scan_folder(copied)
    assert (counted.at_fault, counted.of_no_sample) == (len(check_folder(copied).bad), 0)
    assert "its mask is 33×44" in counted.first_fault


def test_a_mask_of_another_size_is_told_on_its_tile_and_one_that_is_none_left_out(
    copied: Path, engine: Engine
) -> None:
    names = sorted(path.name for path in (copied / "masks").iterdir())
    Image.new("L", (33, 44), 1).save(copied / "masks" / names[1])
    graph = with_settings(load_recipe("segmentation"), batch_size=8)
    shown = preview_batch(engine, PreviewRequest(graph, str(copied), tiles=8))
    (bad,) = (each.sample for each in shown.tiles if each.sample.error)
    assert bad.file == f"images/{Path(names[1]).stem}.jpg"
    assert "its mask is 33×44, but it is" in bad.error

    (copied / "masks" / names[3]).write_bytes(b"no mask")
    with Engine() as fresh:
        shown = preview_batch(fresh, PreviewRequest(graph, str(copied), tiles=4))
    assert "2 of its samples cannot be read" in shown.note
    assert not any(each.sample.error for each in shown.tiles)


@pytest.mark.parametrize("kept", [0, 60], ids=["no picture", "cut short"])
def test_a_preview_leaves_out_what_has_a_damaged_mask(
    copied: Path, engine: Engine, kept: int
) -> None:
    mask = sorted((copied / "masks").iterdir())[1]
    mask.write_bytes(mask.read_bytes()[:kept] + b"no picture" * (not kept))
    graph = with_settings(load_recipe("segmentation"), batch_size=8)  # all that are there
    preview = preview_batch(engine, PreviewRequest(graph, str(copied)))
    words = f"the first, images/{mask.stem}.jpg: its mask cannot be opened"
    assert words in preview.note, preview.note


def test_two_images_of_one_mask_are_kept_where_others_are_left_out(
    copied: Path, tmp_path: Path
) -> None:
    name, other, *_ = sorted(path.stem for path in (copied / "images").iterdir())
    Image.open(copied / "images" / f"{name}.jpg").save(copied / "images" / f"{name}.png")
    rest = write_remaining(open_dataset(copied), [f"images/{other}.jpg"], tmp_path / "rest")
    kept = {path.name for path in (rest / "images").iterdir()}
    assert {f"{name}.jpg", f"{name}.png"} <= kept
    assert f"{other}.jpg" not in kept


def test_without_pairs_it_says_what_is_wanted(copied: Path) -> None:
    for path in (copied / "masks").iterdir():
        path.unlink()
    dataset = open_dataset(copied)
    with pytest.raises(DataError, match=r"no image with a mask in .*images/7\.jpg, masks/7\.png"):
        require_dataset(dataset)
    assert open_dataset(copied / "images").kind == "folder"


@pytest.mark.parametrize("number", range(1, 9))
@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_a_mask_is_turned_by_its_exif_as_dali_turns_the_photo(
    form: str, number: int, copied: Path
) -> None:
    exif = Image.Exif()
    exif[0x0112] = number
    image = sorted((copied / "images").iterdir())[0]
    mask = sorted((copied / "masks").iterdir())[0]
    with Image.open(image) as photo, Image.open(mask) as drawn:
        pixels = photo.copy(), drawn.copy()
    mask.unlink()
    mask = mask.with_suffix(f".{form.lower()}")
    image.unlink()
    photo_form = {"PNG": "JPEG", "TIFF": "TIFF"}[form]
    pixels[0].save(image.with_suffix(".jpg" if form == "PNG" else ".tif"), photo_form, exif=exif)
    pixels[1].save(mask, form, exif=exif)
    wanted = np.asarray(decode_with_pillow(mask.read_bytes(), grey=True))
    np.testing.assert_array_equal(mask_numbers(mask.read_bytes()), wanted)
    kinds = {f.kind for each in check_folder(copied, full=False).files for f in each.findings}
    assert kinds - {"duplicate"} == ({"EXIF turned"} if number > 1 else set())


@pytest.mark.parametrize("form", ["one folder", "suffix", "labels", "voc"])
def test_masks_are_paired_by_name_in_other_layouts(
    form: str, copied: Path, tmp_path: Path, engine: Engine
) -> None:
    wanted = [np.array(Image.open(path)) for path in sorted((copied / "masks").iterdir())]
    place = copied
    if form in ("one folder", "suffix"):
        for path in sorted((copied / "masks").iterdir()):
            path.rename(path.with_stem(f"{path.stem}_mask"))
    if form == "one folder":
        for path in [*(copied / "images").iterdir(), *(copied / "masks").iterdir()]:
            path.rename(copied / path.name)
        (copied / "masks").rmdir()
        (copied / "images").rmdir()
    if form == "labels":
        (copied / "masks").rename(copied / "labels")
        (copied / "masks.names").rename(copied / "labels.names")
    if form == "voc":
        (copied / "images").rename(copied / "JPEGImages")
        (copied / "masks").rename(copied / "SegmentationClass")
        (copied / "masks.names").rename(copied / "SegmentationClass.names")
        (copied / "Annotations").mkdir()
        (copied / "Annotations" / "000000.xml").write_text("<annotation/>")
        place = copied / "ImageSets" / "Segmentation" / "train.txt"
        place.parent.mkdir(parents=True)
        place.write_text("\n".join(path.stem for path in sorted(copied.rglob("*.jpg"))[:4]))
    dataset = open_dataset(place)
    if form == "voc":
        assert dataset.kind == "voc"
        dataset = replace(dataset, kind="image_masks")
        assert dataset.text == f"image_masks:{place}"
    assert dataset.kind == "image_masks"
    assert class_names(dataset) == ["background", *CLASSES]
    samples = list(list_samples(dataset))
    assert len(samples) == (4 if form == "voc" else 8)
    assert not any(each.fault for each in samples)
    batches = script_batches(read_alone(place), place, len(samples) // COUNT, tmp_path)
    for mask, expected in zip((one for batch in batches for one in batch[0]), wanted, strict=False):
        np.testing.assert_array_equal(mask[..., 0], expected)
    rest = write_remaining(dataset, [samples[0].name], tmp_path / "rest")
    assert len(list(list_samples(open_dataset(rest)))) == len(samples) - 1
    if form == "voc":
        graph = with_settings(load_recipe("segmentation"), batch_size=2)
        report = Verifier(graph, str(place), 2, engine=engine).run()
        assert report.exact, report.lines()


def test_an_image_without_its_mask_in_the_same_folder_is_faulty(copied: Path) -> None:
    for path in sorted((copied / "masks").iterdir())[:3]:
        path.rename(copied / "images" / f"{path.stem}_mask.png")
    faults = [each.name for each in list_samples(open_dataset(copied / "images")) if each.fault]
    assert faults == [path.name for path in sorted((copied / "images").glob("*.jpg"))[3:]]
    mask = min((copied / "images").glob("*_mask.png"))
    jpeg = mask.with_name(mask.name.replace("_mask.png", "_seg.jpg"))
    Image.open(mask).save(jpeg)
    dataset = open_dataset(copied / "images")
    found = {each.name: each.fault for each in list_samples(dataset)}
    assert found[mask.name] == "it is a mask of an image with another mask"
    words = f"1 of 3 masks are JPEG files (first: {jpeg.name}), whose compression changes"
    assert words in " ".join(describe_not_read(dataset))
    with pytest.warns(UserWarning, match="1 of 3 masks are JPEG files"):
        wb.read(copied / "images").with_settings(batch_size=1).batch(0)
