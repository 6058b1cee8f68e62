"""The data folder of a view-model: opened, replaced, and changed behind its back."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.sources.written import read_photos, write_arrays, write_coco
from tests.ui.hosts import small
from tests.ui.screen import Make, Ready, Screen, edit
from workbench.engine.reading.encoded_images import placeholder_jpeg
from workbench.graph.model import Graph, Source
from workbench.health import check_folder
from workbench.roots import Roots
from workbench.samples.records import write_shard
from workbench.ui.app.view_model import ViewModel

JPEG = placeholder_jpeg().tobytes()


@pytest.fixture
def start_graph() -> Graph:
    return small()


def await_count(screen: Screen) -> None:
    screen.wait(lambda s: s["data", "summary"]["counted"], "the count")


def check(model: ViewModel, screen: Screen, what: str = "the check") -> None:
    """Check the files, and wait for the end of it."""
    model.act("data", {"do": "check"})
    screen.wait(lambda s: s["data", "summary"]["checked"], what)


def changed_coco(photos: Path, folder: Path, change: Callable[[Any], None]) -> Path:
    """Annotations of six photos that are right but for a change."""
    path = write_coco(read_photos(photos)[:6], folder / "coco")
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    return path


@pytest.mark.parametrize("folder", ["missing", "empty", "textual", "file"])
def test_a_folder_that_cannot_be_used_is_told(make: Make, tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder
    if folder == "file":
        path.write_text("x")
    elif folder != "missing":
        path.mkdir()
    if folder == "textual":
        (path / "notes.txt").write_text("no image")
    model, screen = make(path)
    assert str(path) in screen["data", "summary"]["error"]
    assert screen["preview", "stale"] == screen["data", "summary"]["error"]
    assert screen["bar", "status"] == {"state": "fault", "text": "no images"}
    assert model.engine.pid is None


def test_another_folder_is_opened(make: Make, photos: Path, tmp_path: Path) -> None:
    model, screen = make(tmp_path)
    model.act("data", {"do": "open", "path": str(photos)})
    screen.wait_ready()
    assert screen.header["tiles"][0]["error"] == ""
    model.act("data", {"do": "open", "path": str(tmp_path / "gone")})
    assert "gone" in screen["bar", "message"]
    assert screen.picture


def test_files_that_go_are_counted_anew_with_the_next_picture(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "some"
    shutil.copytree(photos / "cat", folder / "cat")
    files = sorted((folder / "cat").iterdir())
    model, screen = make(folder)
    screen.wait_ready()
    screen.wait(lambda s: f"{len(files)} images" in s["bar", "folder"], "the first count")
    check(model, screen)
    files[0].unlink()
    edit(model, "set", node="rotate", arg="angle", value=3, group="")
    screen.wait(lambda s: f"{len(files) - 1} images" in s["bar", "folder"], "the second count")
    screen.wait(lambda s: not s["data", "summary"]["checked"], "that the check is of the past")


def test_the_good_files_are_used_at_a_click(
    make: Make, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "some"
    shutil.copytree(photos / "cat", folder / "cat")
    files = sorted((folder / "cat").iterdir())
    files[0].write_bytes(b"no image")
    model, screen = make(folder)
    model.act("data", {"do": "use_good"})
    assert "Check the files first" in screen["bar", "message"]
    await_count(screen)
    check(model, screen)
    assert screen["data", "summary"]["bad"] == 1
    model.act("data", {"do": "use_good"})
    assert "some-good.txt, without the bad files" in screen["bar", "message"]
    good = f"{len(files) - 1} images"
    screen.wait(lambda s: good in s["bar", "folder"], "the good files")
    assert screen["data", "summary"]["root"] == str(tmp_path / "some-good.txt")
    assert files[0].exists()


def test_outside_the_roots_nothing_is_saved_and_a_root_is_offered(
    make: Make, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, elsewhere = tmp_path / "some", tmp_path / "elsewhere"
    shutil.copytree(photos / "cat", folder / "cat")
    sorted((folder / "cat").iterdir())[0].write_bytes(b"no image")
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    model, screen = make(folder, roots=Roots.of([folder]))
    assert screen["bar", "save_folder"] == screen["code", "save_folder"] == str(folder)
    model.act("bar", {"do": "save", "path": "graph.json"})
    assert screen["bar", "message"] == f"Saved {folder}/graph.json"
    check(model, screen)
    model.act("data", {"do": "use_good"})
    assert screen["data", "summary"]["root"] == str(folder / "some-good.txt")
    assert list(elsewhere.iterdir()) == []


def test_a_list_of_files_is_opened_with_its_classes_and_their_counts(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    model, screen = make(photos)
    assert screen["data", "summary"]["kind"] == "folder of images"
    files = sorted(photos.rglob("*.jpg"))[:3]
    listed = tmp_path / "some.csv"
    rows = [f"{file},{name}" for file, name in zip(files, ("cat", "cat", "dog"), strict=True)]
    listed.write_text("file,label\n" + "\n".join(rows) + "\n")
    model.act("data", {"do": "open", "path": str(listed)})
    screen.wait(lambda s: s["data", "summary"]["count"] == 3, "the list counted")
    summary = screen["data", "summary"]
    assert summary["kind"].startswith("list of files")
    assert (summary["classes"], summary["class_counts"]) == (
        ["cat", "dog"],
        [{"name": "cat", "count": 2}, {"name": "dog", "count": 1}],
    )
    (parameter,) = summary["parameters"]
    assert (parameter["name"], parameter["reads"], parameter["error"]) == ("data", str(listed), "")


def blank(info: Any) -> Any:
    return np.zeros((4, 4, 3), np.uint8)


def test_a_python_source_needs_no_folder(make: Make, tmp_path: Path) -> None:
    model, screen = make(tmp_path, wb.source(blank, batch=False, layouts="HWC"))
    screen.wait_ready()
    assert len(screen.header["tiles"]) == 4
    assert screen["bar", "folder"] == "no data folder"
    summary = screen["data", "summary"]
    assert (summary["error"], screen["bar", "data"]["refused"]) == ("", "")
    assert summary["at_fault"].startswith("The graph does not read these data: each of its")
    model.set_graph(small())
    assert screen["bar", "status"]["text"] == "no images"
    assert str(tmp_path) in screen["data", "summary"]["error"]


def test_shares_of_classes_with_the_sampler_of_the_graph(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    files = sorted(photos.rglob("*.jpg"))[:5]
    listed = tmp_path / "some.csv"
    rows = [f"{file},{name}" for file, name in zip(files, "aaaab", strict=True)]
    listed.write_text("file,label\n" + "\n".join(rows) + "\n")
    model, screen = make(listed)
    screen.wait(lambda s: s["data", "summary"]["counted"], "the list counted")
    assert screen["data", "summary"]["sampled_shares"] == []
    for options, shares in (
        ({"sampler": "balanced"}, [0.5, 0.5]),
        ({"weights": [1, 2]}, [2 / 3, 1 / 3]),
        ({"sampler": "random", "repeats": 2}, [0.8, 0.2]),
        ({"sampler": "sequential", "indices": [4, 3, 4, 4]}, [0.25, 0.75]),
        ({"sample_weights": [0, 0, 0, 1, 3.0]}, [0.25, 0.75]),
        ({"sample_weights": [1.0]}, []),  # of other data
    ):
        model.set_graph(wb.read(listed, **options).decode())  # type: ignore[arg-type]
        assert screen["data", "summary"]["sampled_shares"] == pytest.approx(shares)


def test_classes_are_counted_by_what_the_graph_reads(make: Make, shapes: Path) -> None:
    model, screen = make(shapes / "webdataset")
    screen.wait(lambda s: s["data", "summary"]["class_counts"], "the labels counted")
    assert screen["data", "summary"]["counted_by"] == ""
    labels = screen["data", "summary"]["class_counts"]
    model.set_graph(small("ssd"))
    screen.wait(lambda s: s["data", "summary"]["counted_by"] == "boxes per class", "the boxes")
    boxes = screen["data", "summary"]["class_counts"]
    assert [each["name"] for each in boxes] == ["triangle", "square", "star", "arrow", "hexagon"]
    assert [each["name"] for each in labels] == ["0", "1", "2", "3", "4"]
    model.act("data", {"do": "open", "path": str(shapes / "segmentation")})
    by_masks = "masks per class"
    screen.wait(lambda s: s["data", "summary"]["counted_by"] == by_masks, "the masks")
    assert {"name": "background", "count": 24} in screen["data", "summary"]["class_counts"]
    assert screen["preview", "classes"] == []  # no label of a sample is read


def test_images_without_annotations_are_counted(make: Make, shapes: Path, tmp_path: Path) -> None:
    found = json.loads((shapes / "coco" / "annotations.json").read_text())
    found["annotations"] = [one for one in found["annotations"] if one["image_id"] % 2]
    (tmp_path / "images").symlink_to(shapes / "coco" / "images")
    (tmp_path / "half.json").write_text(json.dumps(found))
    _, screen = make(tmp_path / "half.json")
    await_count(screen)
    assert screen["data", "summary"]["counted_by"] == "boxes per class; 12 images have none"
    assert screen["data", "summary"]["at_fault"] == ""


def test_targets_that_are_not_read_are_offered(make: Make, shapes: Path) -> None:
    model, screen = make(shapes / "webdataset")
    await_count(screen)
    places = {each["place"] for each in screen["data", "summary"]["also"]}
    kinds = ("boxes", "masks", "features")
    boxes, *others = (f"webdataset_{kind}:{shapes / 'webdataset'}" for kind in kinds)
    assert places == {boxes, *others}
    model.act("data", {"do": "open", "path": boxes})
    counted = "boxes per class"
    screen.wait(lambda s: s["data", "summary"]["counted_by"] == counted, "the boxes")
    assert screen["data", "summary"]["also"] == []
    assert {"boxes", "labels"} <= model.graph.outputs.keys()


def test_annotations_in_a_folder_and_their_masks_are_offered(make: Make, shapes: Path) -> None:
    model, screen = make(shapes / "coco", small())
    await_count(screen)
    coco, points = (f"{shapes / 'coco' / name}.json" for name in ("annotations", "keypoints"))
    places = [each["place"] for each in screen["bar", "unread"]]
    assert places == [f"coco:{coco}", f"coco_keypoints:{points}"]
    assert not screen["canvas", "unread_masks"]
    model.act("bar", {"do": "open_folder", "path": places[0]})
    screen.wait(lambda s: s["canvas", "unread_masks"], "the offer of masks")
    assert screen["data", "summary"]["kind"].endswith(f"images in {shapes / 'coco' / 'images'}")
    model.act("canvas", {"do": "give_masks"})
    screen.wait(lambda s: not s["canvas", "unread_masks"], "the masks that are read")
    assert model.graph.node(model.graph.outputs["masks"].node).op == "follow_masks"
    model.act("canvas", {"do": "give_masks"})
    assert screen["bar", "message"] == "The masks are already an output."


def test_samples_at_fault_are_counted_named_and_told_beside_the_code(
    make: Make, tmp_path: Path
) -> None:
    """Though no check has run: an exported program reads them as they are, or ends there."""
    parts = [{"jpg": JPEG, "cls": b"1"}] * 3 + [{"jpg": JPEG, "cls": b"dog"}] * 2
    write_shard(parts, tmp_path / "a.tar")
    _, screen = make(tmp_path / "a.tar")
    await_count(screen)
    told = screen["data", "summary"]["at_fault"]
    assert told.startswith("2 of 5 samples are unusable; the first: a.tar:")
    assert "its component 'cls' is 'dog', not an integer" in told
    command = f"`workbench check {tmp_path}/a.tar --good good`"
    assert command in told
    assert screen["code", "note"] == told
    screen.wait(lambda s: s["preview", "picture"], "a picture")
    assert "2 of its samples cannot be read; the first, a.tar:" in screen.header["note"]
    unusable = "some samples cannot be used"
    screen.wait(lambda s: unusable in s["bar", "status"]["text"], "the status")


def test_bad_files_of_a_folder_are_told_beside_the_code_and_in_it(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    whole = sorted(photos.rglob("*.jpg"))[0].read_bytes()
    for name, content in {"a": whole, "b": b"", "c": whole[: len(whole) // 2]}.items():
        (tmp_path / f"{name}.jpg").write_bytes(content)
    model, screen = make(tmp_path)
    model.receive("code", "in_view", True)
    await_count(screen)
    assert screen["code", "note"].startswith("2 of 3 samples are unusable; the first: b.jpg, ")
    screen.wait(lambda s: s["code", "files"], "the code")
    (code,) = screen["code", "files"]
    assert "at least 2 samples cannot be used, and an exported program stops at" in code["text"]


def test_files_that_only_the_preview_left_out_are_told_beside_the_code(
    make: Make, tmp_path: Path
) -> None:
    Image.effect_noise((32, 32), 90).save(tmp_path / "a.png")
    content = bytearray((tmp_path / "a.png").read_bytes())
    content[len(content) // 2] ^= 255  # its header and its end are sound
    (tmp_path / "b.png").write_bytes(content)
    _, screen = make(tmp_path)
    screen.wait(lambda s: s["data", "summary"]["counted"] and s.picture, "a picture")
    assert screen["data", "summary"]["at_fault"] == ""
    told = (
        "At least 1 file of the data is bad, and this program stops at the first. Export with "
        "'Skip "
    )
    screen.wait(lambda s: s["code", "note"].startswith(told), "the note")


def test_annotations_of_no_listed_image_are_no_image_more(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    def change(found: Any) -> None:
        found["annotations"].append({**found["annotations"][0], "image_id": 77})

    _, screen = make(changed_coco(photos, tmp_path, change))
    await_count(screen)
    assert screen["data", "summary"]["count"] == 6
    told = screen["data", "summary"]["at_fault"]
    assert told.startswith(
        "Entries without a sample are unusable; the first: annotations, 1 belongs to "
    )


def test_images_of_another_size_than_annotated_are_told_at_once(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    def change(found: Any) -> None:
        for image in found["images"][2:4]:
            image["width"] += 100

    _, screen = make(changed_coco(photos, tmp_path, change))
    await_count(screen)
    told = screen["data", "summary"]["at_fault"]
    assert told.startswith(
        "2 of 6 checked images differ in size from the annotations; the first: "
        "000002.jpg, its annotations are for "
    )
    screen.wait(lambda s: s["preview", "picture"], "a picture")
    assert "2 of 4 images read differ in size from their annotations" in screen.header["note"]


def test_an_image_with_an_odd_box_is_not_said_to_be_unusable(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    def change(found: Any) -> None:
        found["annotations"][0]["bbox"][2] = 0

    _, screen = make(changed_coco(photos, tmp_path, change))
    await_count(screen)
    assert "a box beyond the edge or without area" in screen["data", "summary"]["at_fault"]
    screen.wait_ready()
    assert "some annotations look wrong" in screen["bar", "status"]["text"]


def test_files_are_checked_with_the_targets_that_the_graph_reads(
    make: Make, tmp_path: Path
) -> None:
    notes = ({"bbox": [1, 1, 4, 4 - 9 * (n == 2)], "category_id": 1} for n in range(5))
    parts = [{"jpg": JPEG, "cls": b"1", "json": json.dumps([note]).encode()} for note in notes]
    write_shard(parts, tmp_path / "a.tar")
    model, screen = make(tmp_path / "a.tar")
    await_count(screen)
    check(model, screen, "the check of images and labels")
    assert screen["data", "summary"]["bad"] == 0
    model.set_graph(small("ssd"))
    assert not screen["data", "summary"]["checked"]
    check(model, screen, "the check of boxes")
    (row,) = (row for row in screen["data", "summary"]["findings"] if row["level"] == "bad")
    assert "its box 0 has a negative size" in row["reason"]
    place = f"webdataset_boxes:{tmp_path}/a.tar"
    assert f"`workbench check {place} --full --good good`" in screen["code", "note"]


def test_each_parameter_says_what_it_reads_or_why_not(make: Make, photos: Path) -> None:
    second = Source("second", "readers.file", seed=900, kind="folder", dataset="others")
    graph = replace(small(), nodes=(*small().nodes, second))
    model, screen = make({"data": photos, "others": photos / "missing"}, graph)
    rows = {row["name"]: row for row in screen["data", "summary"]["parameters"]}
    assert (rows["data"]["reads"], rows["data"]["error"]) == (str(photos), "")
    assert "missing" in rows["others"]["error"]
    model.act("data", {"do": "open", "path": str(photos / "cat")})
    assert model.data_panel.datasets["others"].location == str(photos / "missing")
    _, alone = make({"data": photos}, graph)
    rows = {row["name"]: row for row in alone["data", "summary"]["parameters"]}
    assert "no data: pass it" in rows["others"]["error"]


def test_a_folder_outside_the_roots_is_not_opened(make: Make, photos: Path, tmp_path: Path) -> None:
    model, screen = make(photos, roots=Roots.of([photos / "cat", photos / "coins"]))
    assert "cannot be opened" in screen["data", "summary"]["error"]
    assert model.open_data(photos / "cat") == ""
    (tmp_path / "link").symlink_to(photos)
    for place in (photos, tmp_path / "link", photos / "cat" / "..", "/"):
        model.act("data", {"do": "open", "path": str(place)})
        assert "--root" in screen["data", "summary"]["refused"]
        assert screen["data", "summary"]["root"] == str(photos / "cat")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("s3://bucket/photos", "the web app only reads files in its allowed folders"),
        ("gs://bucket/photos", "the web app only reads files in its allowed folders"),
        ("s3://bucket/a.tar", "the web app only reads files in its allowed folders"),
        ("https://host/photos", "Copy the data here, or mount them as a folder"),
        ("webdataest:.", "Did you mean webdataset?"),
    ],
)
def test_what_is_not_opened_says_so_beside_what_stays_open(
    make: Make, photos: Path, monkeypatch: pytest.MonkeyPatch, place: str, words: str
) -> None:
    monkeypatch.chdir(photos.parent)

    def connect(*_: object) -> None:
        raise AssertionError("a page asked another machine")

    monkeypatch.setattr("socket.create_connection", connect)
    model, screen = make(photos, roots=Roots.of([photos.parent]))
    model.act("data", {"do": "open", "path": place})
    shown = screen["data", "summary"]
    assert words in shown["refused"]
    assert shown["refused"].endswith("stays open.")
    assert (shown["root"], shown["error"]) == (str(photos), "")


def test_what_a_link_leads_out_of_the_roots_to_is_neither_checked_nor_measured(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    inside = tmp_path / "photos"
    shutil.copytree(photos / "cat", inside / "cat")
    secret = tmp_path / "secret.jpg"
    secret.write_text("no image at all")
    for name, target in (("secret.jpg", secret), ("coin.jpg", next((photos / "coins").iterdir()))):
        (inside / "cat" / name).symlink_to(target)
    check_folder(str(inside))  # a shell, which has no roots, may have looked there before
    model, screen = make(inside, roots=Roots.of([inside]))
    check(model, screen)
    found = {row["file"]: row["reason"] for row in screen["data", "summary"]["findings"]}
    assert {"cat/secret.jpg", "cat/coin.jpg"} <= found.keys()
    assert all("outside" in found[f"cat/{name}.jpg"] for name in ("secret", "coin"))
    model.act("speed", {"do": "measure", "what": "compare"})
    assert model.speed.run is not None
    usable = model.speed.run.experiment.usable
    model.speed.cancel()
    usable.exclude_bad(full=False)
    assert {"cat/secret.jpg", "cat/coin.jpg"} <= {one.file for one in usable.excluded}


def test_data_that_the_graph_cannot_read_are_a_fault_not_the_old_pictures(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    path = write_coco(read_photos(photos)[:6], tmp_path / "coco")
    model, screen = make(path, small("ssd"))
    screen.wait_ready()
    model.receive("code", "in_view", True)
    assert screen["code", "files"]
    model.act("data", {"do": "open", "path": str(photos)})
    assert "photos" in screen["bar", "folder"]
    assert screen["bar", "status"] == {"state": "fault", "text": "1 fault"}
    (fault,) = screen["bar", "faults"]
    assert fault["node"] == "reader"
    assert "Open other data" in screen["preview", "stale"]
    assert screen["canvas", "stale"]
    assert screen.picture == b""
    assert screen["code", "files"] == []
    model.act("preview", {"do": "verify"})
    assert "the script were not compared: reader" in screen["bar", "message"]
    model.act("data", {"do": "open", "path": str(path)})
    screen.wait_ready()
    assert screen["preview", "stale"] == ""
    assert screen["code", "files"]


def test_nothing_of_other_data_is_shown_where_the_open_ones_do_not_run(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    grey = tmp_path / "grey"
    grey.mkdir()
    for number in range(4):
        np.save(grey / f"{number}.npy", np.zeros((32, 32, 1), np.float32))
    colour = write_arrays(photos, tmp_path / "colour")
    model, screen = make(colour, small())
    model.receive("canvas", "in_view", True)
    model.receive("preview", "show_statistics", True)
    model.act("preview", {"do": "open_closeup", "index": 0, "of": ""})
    screen.wait(lambda s: s["canvas", "pictures"], "cards")
    screen.wait(lambda s: s["preview", "closeup"], "a close-up")
    screen.wait(lambda s: s["preview", "statistics"], "figures")
    ran = screen.node("color")["output"]
    model.act("data", {"do": "open", "path": str(grey)})
    screen.wait(lambda s: s["bar", "status"]["state"] == "fault", "a fault")
    stale = screen["preview", "stale"]
    assert stale.startswith("color: it accepts 3 channels, but gets 1. Remove it, or open data of")
    assert "undo" not in stale
    assert "Decode" not in stale
    for component, field in (
        ("preview", "picture"),
        ("preview", "closeup"),
        ("preview", "statistics"),
        ("canvas", "pictures"),
    ):
        assert not screen[component, field]
    assert screen.node("color")["output"] != ran
    model.act("data", {"do": "open", "path": str(colour)})
    screen.wait_ready()
    assert screen.header["tiles"][0]["file"].endswith(".npy")


def test_a_picture_that_comes_after_other_data_were_opened_is_not_shown(
    make: Make, photos: Path
) -> None:
    model, screen = make(photos / "cat")
    screen.wait_ready()
    request, shown = model._done, model.state.preview
    assert request is not None
    assert shown is not None
    model.act("data", {"do": "open", "path": str(photos)})
    screen.wait_ready()
    after = screen.picture
    model._on_done(request, shown)
    assert screen.picture == after


def test_undo_names_the_edit_and_not_the_reader_that_other_data_need(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    model, screen = make(write_arrays(photos, tmp_path / "arrays"), small())
    model.act("canvas", {"do": "remove", "nodes": ["rotate"]})
    model.act("data", {"do": "open", "path": str(photos)})
    assert screen["bar", "undo_label"] == "remove rotate"
    model.act("bar", {"do": "undo"})
    assert model.graph.has("rotate")
    assert model.graph.sources[0].kind == "folder"
    assert screen["bar", "redo_label"] == "remove rotate"


def test_a_running_check_is_seen_from_every_tab(ready: Ready) -> None:
    model, screen = ready
    seen: list[Any] = []
    publish = screen.publish

    def note(component: str, field: str, value: Any) -> None:
        if (component, field) == ("tabs", "work"):
            seen.append(value)
        publish(component, field, value)

    model._publisher._publish = note
    model.act("data", {"do": "check"})
    screen.wait(lambda s: s["data", "summary"]["checked"], "the check")
    assert [(work["tab"], work["text"]) for work in seen[0]] == [("data", "file check")]
    assert seen[-1] == []


@pytest.mark.parametrize("component", ["data", "bar"])
def test_any_folder_is_opened_once_its_user_has_confirmed_it(
    make: Make, photos: Path, tmp_path: Path, component: str
) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    shutil.copytree(photos / "cat", inside / "cat")
    shutil.copytree(photos / "coffee", outside / "coffee")
    roots = Roots((str(inside),), extensible=True)
    model, screen = make(inside, roots=roots)
    screen.wait_ready()
    name = "open" if component == "data" else "open_folder"
    model.act(component, {"do": name, "path": str(tmp_path / "none")})
    assert "there is no such folder or file" in screen["bar", "data"]["refused"]
    assert screen["bar", "data"]["outside"] == ""
    model.act(component, {"do": name, "path": str(outside)})
    assert "is outside the folders" in screen["bar", "data"]["refused"]
    assert screen["bar", "data"]["outside"] == screen["data", "summary"]["outside"] == str(outside)
    model.act(component, {"do": "add_root", "path": str(outside)})
    assert (screen["bar", "data"]["refused"], screen["bar", "data"]["outside"]) == ("", "")
    screen.wait(lambda s: "outside/ \N{MIDDLE DOT} " in s["bar", "folder"], "the other folder")
    screen.wait(
        lambda s: s.picture and s.header["tiles"][0]["class_name"] == "coffee", "its pictures"
    )


def test_folders_that_were_named_at_the_start_are_all_that_is_opened(
    make: Make, photos: Path, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    shutil.copytree(photos / "cat", inside / "cat")
    roots = Roots((str(inside),))
    model, screen = make(inside, roots=roots)
    model.act("data", {"do": "open", "path": str(photos)})
    assert screen["data", "summary"]["outside"] == ""
    model.act("data", {"do": "open", "path": str(tmp_path / "none")})  # its absence is not told
    assert "is outside the folders" in screen["bar", "data"]["refused"]
    model.act("data", {"do": "add_root", "path": str(photos)})
    assert "is outside the folders" in screen["bar", "message"]
    assert roots.added == []
    assert screen["data", "summary"]["root"] == str(inside)
