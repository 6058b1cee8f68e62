"""``workbench check``: what it prints, writes and leaves alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import workbench as wb
from tests.damaged import make_folder
from tests.emit.test_box_clipping import written
from tests.sources.written import WRITERS, read_photos
from workbench.cli import main

KINDS = ["text.jpg", "empty.jpg", "middle.jpg"]


@pytest.fixture
def folder(photos: Path, tmp_path: Path) -> Path:
    bad, _ = make_folder(photos, tmp_path, KINDS)
    (bad / "class" / "again.jpg").write_bytes((bad / "class" / "00_a.jpg").read_bytes())
    (bad / "class" / os.fsdecode(b"caf\xe9.jpg")).write_bytes(b"")
    return bad


def check(*arguments: object, code: int = 1) -> str:
    done = CliRunner().invoke(main, ["check", *map(str, arguments)])
    assert done.exit_code == code, done.output
    return done.stdout


def test_all_that_it_writes(folder: Path, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    good, bad, page = tmp_path / "good.txt", tmp_path / "bad.txt", tmp_path / "page.html"
    found = json.loads(
        check(folder, "--full", "--json", "--good", good, "--bad", bad, "--html", page)
    )
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert (found["count"], found["bad"], found["damaged"]) == (8, 3, 1)
    levels = {one["file"]: one["level"] for one in found["files"]}
    assert levels == {
        "class/00_text.jpg": "bad",
        "class/01_empty.jpg": "bad",
        "class/02_middle.jpg": "damaged",
        "class/again.jpg": "unusual",
        "class/caf\udce9.jpg": "bad",
    }
    listed = [line.rpartition(" ") for line in good.read_text().splitlines()]
    assert [(Path(path).name, label) for path, _, label in listed] == [
        (f"{name}.jpg", "0") for name in ("00_a", "01_a", "02_a", "again")
    ]
    assert all(Path(path).is_absolute() for path, _, _ in listed)
    assert bad.read_bytes().endswith(b"/class/caf\xe9.jpg\n")
    text = page.read_text()
    assert text.count("<img ") == 2, "the damaged one and the one that is there twice"
    assert "class/caf\\udce9.jpg" in text


def test_a_good_file_that_no_list_can_hold_is_told(photos: Path, tmp_path: Path) -> None:
    folder, good = tmp_path / "photos", tmp_path / "good.txt"
    folder.mkdir()
    content = next(photos.rglob("*.jpg")).read_bytes()
    for name in ("a.jpg", "b\nc.jpg"):
        (folder / name).write_bytes(content)
    done = CliRunner().invoke(main, ["check", str(folder), "--good", str(good)])
    assert f"{good} does not contain 1 good file, because a file_list cannot" in done.stderr
    assert "'b\\nc.jpg'. Rename them to use them." in done.stderr
    assert len(good.read_text().splitlines()) == 1
    done = CliRunner().invoke(main, ["check", str(folder)])
    assert "does not contain" not in done.stderr


def test_the_summary_names_each_bad_file_once(folder: Path) -> None:
    lines = check(folder).splitlines()
    assert lines[-1] == (
        "8 files (headers read; use --full to decode them): 3 bad, 0 damaged, 1 unusual"
    )
    assert lines[0] == "bad      class/00_text.jpg: text, not an image"
    assert sum("caf\\udce9.jpg" in line for line in lines) == 1


def test_good_files_are_exit_code_0(photos: Path) -> None:
    assert "0 bad, 0 damaged" in check(photos, code=0)


def test_a_folder_that_is_not_there_is_a_bad_argument(tmp_path: Path) -> None:
    check(tmp_path / "gone", code=2)


@pytest.mark.thorough
def test_a_check_that_was_interrupted_goes_on(photos: Path, tmp_path: Path) -> None:
    photo = next(photos.rglob("*.jpg"))
    for number in range(30_000):  # the check must not end before the signal
        os.link(photo, tmp_path / f"{number:05}.jpg")
    command = [sys.executable, "-c", "from workbench.cli import main; main()", "check", "--full"]
    process = subprocess.Popen(
        [*command, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    records = Path(os.environ["XDG_CACHE_HOME"], "dali-workbench", "checks")
    while not any(records.glob("*.jsonl")):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Run the same command again to continue." in said
    (record,) = records.glob("*.jsonl")
    kept = len(record.read_text().splitlines())
    assert 500 <= kept < 30_000
    again = CliRunner().invoke(main, ["check", "--full", str(tmp_path)])
    assert "30,000 files (decoded): 0 bad" in again.stdout
    assert len(record.read_text().splitlines()) == 30_000


def test_targets_that_were_not_looked_at_are_told(shapes: Path) -> None:
    done = CliRunner().invoke(main, ["check", str(shapes / "webdataset")])
    assert done.exit_code == 0
    for kind in ("webdataset_boxes", "webdataset_masks"):
        assert f"not checked: `workbench check {kind}:{shapes / 'webdataset'}`" in done.stderr
        asked = CliRunner().invoke(main, ["check", f"{kind}:{shapes / 'webdataset'}"])
        assert (asked.exit_code, "note" in asked.stderr) == (0, False)


def test_images_of_coco_without_an_annotation_are_counted(photos: Path, tmp_path: Path) -> None:
    path = WRITERS["coco"](read_photos(photos)[:6], tmp_path / "coco")  # every third has none
    document = json.loads(Path(path).read_text())
    assert len({one["image_id"] for one in document["annotations"]}) == 4
    done = CliRunner().invoke(main, ["check", str(path)])
    assert done.exit_code == 0, done.output
    assert "note: 2 images have no annotation; skip_empty" in done.stderr


def test_a_graph_and_its_data_have_warnings(tmp_path: Path) -> None:
    place = written("coco", tmp_path, [[60.0, 10.0, 20.3, 20.0], [10.0, 10.0, 0.0, 5.0]])
    done = CliRunner().invoke(main, ["check", "ssd", "--data", place])
    assert done.exit_code == 0, done.output
    assert "warning: crop.boxes: 1 image has boxes beyond the edge" in done.stderr
    assert "0.jpg: the box [60.0, 10.0, 20.3, 20.0]" in done.stderr
    assert "warning: reader: 1 image has a box without an area" in done.stderr
    found = json.loads(check("ssd", "--data", place, "--json", code=0))
    assert [each["code"] for each in found["warnings"]] == ["overhang", "without_area"]
    assert found["kinds"]["box"] == 2
    assert "warnings" not in json.loads(check(place, "--json", code=0))


def test_the_memory_of_a_graph_is_printed(photos: Path) -> None:
    text = check("imagenet-train", "--data", photos, "--memory", code=0)
    assert "peak of the process" in text
    assert "largest images: " in text
    found = json.loads(check("imagenet-train", "--data", photos, "--memory", "--json", code=0))
    assert found["memory"]["worst"]["cpu"] >= found["memory"]["typical"]["cpu"]
    check(photos, "--memory", code=2)


def test_each_data_set_of_a_graph_is_checked(photos: Path, tmp_path: Path) -> None:
    place = str(photos)
    two = wb.outputs(
        images=wb.read({"data": place}).decode().images,
        others=wb.read({"others": place}).decode().images,
    )
    graph = str(two.save(tmp_path / "two.json"))
    few = tmp_path / "few"
    few.mkdir()
    shutil.copy(next(photos.rglob("*.jpg")), few)
    (few / "empty.jpg").touch()
    args = ["check", graph, "--data", place, "--data", f"others={few}"]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 1, done.output
    assert f"data: {place}" in done.output
    assert f"others: {few}" in done.output
    assert "it reads 2 samples, but reader reads" in done.stderr
    found = json.loads(CliRunner().invoke(main, [*args, "--json"]).stdout)
    assert [each["parameter"] for each in found["datasets"]] == ["data", "others"]
    assert [each["bad"] for each in found["datasets"]] == [0, 1]
    refused = CliRunner().invoke(main, [*args, "--good", str(tmp_path / "good.txt")])
    assert "--good, --bad, --html and --memory are for one" in refused.output


def test_what_is_no_graph_is_refused_beside_data(folder: Path) -> None:
    done = CliRunner().invoke(main, ["check", "nope", "--data", str(folder)])
    assert done.exit_code == 2
    assert "There is no recipe 'nope'" in done.stderr


def test_every_data_set_of_a_tree_has_a_line(photos: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    some = sorted((photos / "coffee").iterdir())[:3]
    for folder in ("photos/train/coffee", "photos/val/coffee", ".cache/coffee"):
        (tree / folder).mkdir(parents=True)
        for file in some:
            shutil.copy(file, tree / folder)
    WRITERS["coco"](read_photos(photos)[:3], tree / "coco")
    WRITERS["webdataset"](read_photos(photos)[:3], tree / "tars")
    (tree / "photos" / "loop").symlink_to(tree)
    lines = check(tree, "--recursive", code=0).splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [
        "coco/annotations.json (coco)",
        "photos/train (folder)",
        "photos/val (folder)",
        "tars (webdataset)",
    ]
    assert lines[-1] == "4 data sets, 12 files: 0 bad; data sets that cannot be read: 0"
    (tree / "photos" / "broken.tar").write_bytes(b"no archive")
    next((tree / "photos" / "val").rglob("*.jpg")).write_bytes(b"")
    lines = check(tree, "--recursive").splitlines()
    assert "photos/broken.tar (webdataset) cannot be read: " in lines[1]
    assert ": 1 bad, 0 damaged, 0 unusual; the first: " in lines[3]
    assert lines[-1] == "5 data sets, 12 files: 1 bad; data sets that cannot be read: 1"
    found = json.loads(check(tree, "--recursive", "--json"))
    assert (found["bad"], found["unreadable"], len(found["datasets"])) == (1, 1, 5)
    done = CliRunner().invoke(main, ["check", str(tree), "--recursive", "--good", "good.txt"])
    assert "--recursive cannot be combined with --data, --good" in done.stderr
    done = CliRunner().invoke(main, ["check", str(tree / ".cache"), "--recursive"])
    assert done.exit_code == 0
