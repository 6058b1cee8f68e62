"""A version has every sample once per copy, and is the same however it was rendered."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from workbench.errors import (
    ArgumentError,
    CancelledError,
    DataError,
    EngineError,
    GraphFaultsError,
    SaveError,
)
from workbench.versions import processes
from workbench.versions.estimate import estimate_version
from workbench.versions.formats.format import class_folders, safe_name
from workbench.versions.plan import Task, divide
from workbench.versions.planning import plan_version

CLASSES = ("bee", "cat")


def write_photos(folder: Path, count: int = 6, classes: tuple[str, ...] = CLASSES) -> Path:
    """Write ``count`` noisy pictures per class."""
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True)
        for at in range(count):
            noise = np.random.default_rng([number, at]).integers(0, 256, (24, 30, 3), np.uint8)
            Image.fromarray(noise).save(folder / name / f"{name[:3].strip()}{at}.png")
    return folder


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_photos(tmp_path_factory.mktemp("data") / "photos")


def a_graph(data: Path) -> wb.Graph:
    graph = wb.read(data).decode().resize(size=(20, 20))
    graph = graph.rotate(angle=wb.random.uniform(range=(-40, 40)), keep_size=True)
    return graph.with_settings(batch_size=4)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_each_sample_is_rendered_once_per_copy(photos: Path, tmp_path: Path) -> None:
    made = wb.render(a_graph(photos), tmp_path / "v1", copies=2, shard_size=5, workers=2)
    assert made.samples == {"train": 24}
    rendered = Counter((each.source, each.key.rpartition("-")[2]) for each in made.records())
    assert set(rendered.values()) == {1}
    assert len(rendered) == 24
    for record in made.records():
        (path,) = record.paths.values()
        assert path.split("/")[1] == record.source.split("/")[0] == CLASSES[record.label or 0]
        with Image.open(tmp_path / "v1" / path) as picture:
            assert picture.size == (20, 20)
    pixels = {record.parts["png"] for record in made.records()}
    assert len(pixels) == 24  # independent random values
    assert not (tmp_path / "v1.unfinished").exists()
    assert "24 train" in str(wb.open_version(tmp_path / "v1"))
    with pytest.raises(DataError, match=r"v1 is a dataset version.* Open .*/v1/train\."):
        wb.read(tmp_path / "v1")


def test_the_picture_is_that_of_the_graph(photos: Path, tmp_path: Path) -> None:
    graph = wb.read(photos).decode().resize(size=(20, 20)).flip(horizontal=1)
    made = wb.render(graph, tmp_path / "v1")
    batch = graph.with_settings(batch_size=12).batch(0, data=photos)
    expected = dict(zip(batch.files, batch.images, strict=True))
    for record in made.records():
        with Image.open(tmp_path / "v1" / record.paths["png"]) as picture:
            assert (np.asarray(picture) == expected[record.source]).all()


def test_processes_and_order_do_not_change_a_byte(photos: Path, tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        wb.render(a_graph(photos), tmp_path / name, copies=2, shard_size=4, workers=workers)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_splits_have_no_sample_in_common(photos: Path, tmp_path: Path) -> None:
    made = wb.render(
        a_graph(photos), tmp_path / "v1", copies=2, split=(0.5, 0.25, 0.25), originals=True
    )
    sources = {name: {each.source for each in made.records(name)} for name in made.samples}
    assert made.samples == {"train": 3 * 6, "val": 3, "test": 3}
    assert sum(map(len, sources.values())) == len(set().union(*sources.values())) == 12
    assert any("without randomness" in note for note in made.notes)
    originals = [each for each in made.records("train") if each.key.endswith("-original")]
    for each in originals:
        with (
            Image.open(tmp_path / "v1" / each.paths["png"]) as picture,
            Image.open(photos / each.source) as given,
        ):
            assert (np.asarray(picture) == np.asarray(given)).all()


def test_classes_are_divided_by_the_same_shares() -> None:
    labels = [at % 10 for at in range(1000)]
    train, val, test = divide(labels, (0.8, 0.1, 0.1), 7)
    assert (len(train), len(val), len(test)) == (800, 100, 100)
    assert set(Counter(labels[at] for at in val).values()) == {10}
    assert sorted([*train, *val, *test]) == list(range(1000))
    assert divide(labels, (0.8, 0.1, 0.1), 8)[1] != val


@pytest.mark.parametrize("shares", [(0.5, 0.6), (1.0, 0.0), (), (0.25, 0.25, 0.25, 0.25)])
def test_shares_that_are_not_a_division(shares: tuple[float, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"add up to 1"):
        divide([0] * 10, shares or (0.3,), 1)


def test_normalized_images_are_stored_before_normalization(photos: Path, tmp_path: Path) -> None:
    graph = wb.read(photos).decode().resize(size=(20, 20))
    normalized = graph.crop_mirror_normalize(
        dtype="FLOAT", output_layout="CHW", mean=(10.0,), std=(2.0,), mirror=1
    )
    made = wb.render(normalized, tmp_path / "v1")
    assert "before the normalization" in made.notes[0]
    assert "mean 10" in made.notes[0]
    flipped = wb.render(graph.flip(horizontal=1), tmp_path / "v2")
    for one, other in zip(made.records(), flipped.records(), strict=True):
        assert one.parts == other.parts
    with pytest.raises(ArgumentError, match=r"no output is a uint8 image"):
        wb.render(normalized, tmp_path / "v3", arrays=True)


def test_a_bad_image_is_counted_and_named(photos: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(photos, data)
    (data / "bee" / "empty.png").write_bytes(b"")
    whole = (data / "cat" / "cat0.png").read_bytes()
    (data / "cat" / "cut.png").write_bytes(whole[: len(whole) // 2])  # found when it is decoded
    (data / "cat" / "line\nbreak.png").write_bytes(whole)
    made = wb.render(a_graph(data), tmp_path / "v1", shard_size=5)
    assert made.samples == {"train": 12}
    bad = {"bee/empty.png", "cat/cut.png", "cat/line\nbreak.png"}
    assert set(made.manifest.excluded) == bad
    assert "3 bad samples are excluded" in str(made)
    assert wb.prove(tmp_path / "v1", share=1).proven


def test_class_names_that_are_no_file_names() -> None:
    names = ("a/b", "..", "con", "x:y", "Cat", "cat", "", "ok", "n" * 400, "dot.", "a%2Fb")
    folders = class_folders(names)
    assert len({each.casefold() for each in folders}) == len(names)
    assert folders[7] == "ok"
    for each in folders:
        assert each.strip(". ") == each
        assert not set('/\\:*?"<>|') & set(each)
        assert 0 < len(each.encode()) < 256
    assert safe_name("a/b") == "a%2Fb"


def test_a_class_folder_of_a_difficult_name(tmp_path: Path) -> None:
    data = write_photos(tmp_path / "data", 2, ("a: b", "Ünïcode 猫"))
    made = wb.render(a_graph(data), tmp_path / "v1")
    assert {each.paths["png"].split("/")[1] for each in made.records()} == {"a%3A b", "Ünïcode 猫"}
    assert any("'a: b' is stored as 'a%3A b'" in note for note in made.notes)


def test_a_list_of_files_is_rendered_and_kept(photos: Path, tmp_path: Path) -> None:
    files = sorted(map(str, photos.rglob("*.png")))[:5]
    labels = [0, 1, 0, 1, 1]
    graph = wb.read(list(zip(files, labels, strict=True))).decode().resize(size=(20, 20))
    made = wb.render(graph, tmp_path / "v1")
    assert {each.source: each.label for each in made.records()} == dict(
        zip(files, labels, strict=True)
    )
    assert wb.prove(made, share=1).proven


def test_a_folder_with_other_files_is_refused(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "thesis.txt").write_text("mine")
    with pytest.raises(SaveError, match=r"v1 has other files\. Use a new folder"):
        wb.render(a_graph(photos), tmp_path / "v1")
    (tmp_path / "v2.unfinished").mkdir()
    (tmp_path / "v2.unfinished" / "thesis.txt").write_text("mine")
    with pytest.raises(SaveError, match=r"unfinished has other files"):
        wb.render(a_graph(photos), tmp_path / "v2")
    assert (tmp_path / "v1" / "thesis.txt").read_text() == "mine"


def test_another_plan_is_refused_and_the_same_is_returned(photos: Path, tmp_path: Path) -> None:
    first = wb.render(a_graph(photos), tmp_path / "v1")
    again = wb.render(a_graph(photos), tmp_path / "v1")
    assert again.manifest == first.manifest
    with pytest.raises(SaveError, match=r"another plan: splits differ"):
        wb.render(a_graph(photos), tmp_path / "v1", copies=2)


def test_a_run_that_ended_before_its_last_step_is_completed(photos: Path, tmp_path: Path) -> None:
    wb.render(a_graph(photos), tmp_path / "v1")
    written = contents(tmp_path / "v1")
    (tmp_path / "v1").rename(tmp_path / "v1.unfinished")
    wb.render(a_graph(photos), tmp_path / "v1")
    assert contents(tmp_path / "v1") == written


def test_a_second_render_into_the_same_folder_is_refused(photos: Path, tmp_path: Path) -> None:
    refusals = []

    def also(share: float, text: str) -> None:
        if share > 0 and not refusals:
            with pytest.raises(SaveError, match=r"Another process renders into") as refused:
                wb.render(a_graph(photos), tmp_path / "v1")
            refusals.append(refused)

    wb.render(a_graph(photos), tmp_path / "v1", on_progress=also)
    assert refusals


def test_code_that_is_not_trusted_does_not_run(photos: Path, tmp_path: Path) -> None:
    @wb.node
    def darker(image):  # type: ignore[no-untyped-def]
        return image // 2

    text = wb.dump_graph(darker.after(a_graph(photos), "resize")).replace("// 2", "// 3")
    with pytest.raises(GraphFaultsError, match=r"trust"):
        wb.render(wb.load_graph(text), tmp_path / "v1", photos)


def test_an_exception_of_a_function_names_its_node_and_line(photos: Path, tmp_path: Path) -> None:
    @wb.node
    def darker(image):  # type: ignore[no-untyped-def]
        raise ValueError("too dark")

    graph = darker.after(a_graph(photos), "resize")
    with pytest.raises(EngineError) as caught:
        wb.render(graph, tmp_path / "v1", format="webdataset", arrays=True)
    reason = 'darker: line 2 of darker, raise ValueError("too dark"), raised ValueError: too dark. '
    assert str(caught.value).startswith(f"{reason}0 of 1 shards are complete")


def test_images_of_a_function_are_pictures_if_the_first_batch_has_pictures(tmp_path: Path) -> None:
    @wb.node
    def white_has_two_channels(image):  # type: ignore[no-untyped-def]
        return image[:, :, :2] if image.min() == 255 else image

    data = write_photos(tmp_path / "photos")
    graph = white_has_two_channels.after(a_graph(data), "resize")
    version = wb.render(graph, tmp_path / "v1")
    assert {Image.open(path).size for path in tmp_path.glob("v1/train/*/*.png")} == {(20, 20)}
    assert version.notes == (
        "images: stored as pictures, because the first samples are uint8 HWC.",
    )
    white = Image.fromarray(np.full((24, 30, 3), 255, np.uint8))
    white.save(data / "cat" / "cat5.png")
    with pytest.raises(EngineError, match=r"^cat/cat5\.png: 'images' is 20×20×2 uint8, but was"):
        wb.render(graph, tmp_path / "v2")
    white.save(data / "bee" / "bee0.png")
    with pytest.raises(ArgumentError, match=r"images: the format 'folder' .* is 20×20×2 uint8\."):
        wb.render(graph, tmp_path / "v3")
    with pytest.raises(ArgumentError, match="no output is a uint8 image"):
        wb.render(graph, tmp_path / "v3", arrays=True)


def test_what_cannot_be_rendered_is_refused(photos: Path, tmp_path: Path) -> None:
    for options, words in (
        ({"copies": 0}, "copies is 0"),
        ({"quality": 101}, "quality is 101"),
        ({"workers": 0}, "workers is 0"),
        ({"shard_size": 0}, "shard_size is 0"),
        ({"format": "zip"}, "format is 'zip'"),
        ({"split": (0.2, 0.2)}, "split is 0.2, 0.2"),
    ):
        with pytest.raises(ArgumentError, match=words):
            wb.render(a_graph(photos), tmp_path / "v1", **options)  # type: ignore[arg-type]
    arrays = [np.zeros((8, 8, 3), np.uint8)] * 2
    with pytest.raises(ArgumentError, match=r"Save the images to a folder"):
        wb.render(wb.read(arrays).decode().resize(size=(4, 4)), tmp_path / "v1")
    assert not list(tmp_path.iterdir())


def test_a_dry_run_names_files_size_and_time(photos: Path, tmp_path: Path) -> None:
    graph = a_graph(photos)
    plan, samples, data = plan_version(graph, graph.datasets or {}, copies=3, shard_size=4)
    found = estimate_version(plan, samples, data, 2)
    made = wb.render(graph, tmp_path / "v1", copies=3, shard_size=4)
    written = contents(tmp_path / "v1")
    assert (found.samples, found.shards) == (36, 9)
    assert found.files == len(written)
    stored = sum(len(each) for name, each in written.items() if name.endswith(".png"))
    assert found.bytes_per_sample == pytest.approx(stored / 36, rel=0.05)
    records = sum(len(each) for name, each in written.items() if name.endswith(".jsonl"))
    assert found.record_bytes == pytest.approx(records / 36, rel=0.2)
    assert found.time_on(1) > found.time_on(8) > 0
    assert "64 machines" in found.lines()[-1]
    assert made.samples["train"] == found.samples


def test_too_little_space_is_found_before_the_run(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(processes.shutil, "disk_usage", lambda path: little)
    with pytest.raises(SaveError, match=r"needs about .* kB, but 1 kB are free"):
        wb.render(a_graph(photos), tmp_path / "v1")
    monkeypatch.undo()
    assert wb.render(a_graph(photos), tmp_path / "v1").samples == {"train": 12}


def test_a_full_disk_ends_cleanly_and_the_run_continues(photos: Path, tmp_path: Path) -> None:
    """The shell's limit of file sizes has the same effect as a full disk."""
    wb.render(a_graph(photos), tmp_path / "whole", shard_size=4)
    graph = tmp_path / "graph.json"
    graph.write_text(wb.dump_graph(a_graph(photos)))
    command = [
        *(sys.executable, "-c", "from workbench.cli import main; main()", "render", str(graph)),
        *("--data", str(photos), "-o", str(tmp_path / "v1"), "--shard-size", "4"),
    ]
    limited = subprocess.run(
        ["bash", "-c", 'ulimit -f 1; exec "$@"', "-", *command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert limited.returncode == 1
    assert "would be larger than is allowed" in limited.stderr
    assert not (tmp_path / "v1").exists()
    wb.render(a_graph(photos), tmp_path / "v1", shard_size=4)
    assert contents(tmp_path / "v1") == contents(tmp_path / "whole")


def render_with_kills(
    data: Path, folder: Path, workers: int, kills: int, pause: Callable[[], float]
) -> None:
    """Render a version while all its processes are killed ``kills`` times, ``pause`` seconds in."""
    code = (
        "import sys, workbench as wb;"
        "wb.render(wb.read_graph(sys.argv[1]), sys.argv[3], sys.argv[2], copies=2, shard_size=50,"
        f" workers={workers})"
    )
    graph = folder / "graph.json"
    graph.write_text(wb.dump_graph(a_graph(data)))
    done = 0
    while done < kills:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(graph), str(data), str(folder / "v1")],
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(pause())
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            done += 1
        process.wait()
        if (folder / "v1").exists():  # it was faster: once more, from the start
            shutil.rmtree(folder / "v1")
    wb.render(a_graph(data), folder / "v1", copies=2, shard_size=50, workers=workers)


def test_a_lost_worker_or_a_cancellation_ends_the_run_and_the_same_call_continues(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wb.render(a_graph(photos), tmp_path / "whole", copies=2, shard_size=4)
    workers: list[processes.ShardWorker] = []
    start = processes.ShardWorker.start

    def watched(self: processes.ShardWorker, task: Task, method: str = "render") -> None:
        workers.append(self)
        start(self, task, method)

    def kill(share: float, text: str) -> None:
        if share > 0.3:
            os.kill(workers[0].pid, signal.SIGKILL)

    monkeypatch.setattr(processes.ShardWorker, "start", watched)
    with pytest.raises(EngineError, match=r"of 6 shards are complete in .*continues"):
        wb.render(
            a_graph(photos), tmp_path / "v1", copies=2, shard_size=4, workers=1, on_progress=kill
        )
    assert not (tmp_path / "v1").exists()

    def cancel(share: float, text: str) -> None:
        if share > 0.3:
            raise CancelledError("Cancelled.")

    with pytest.raises(CancelledError):
        wb.render(a_graph(photos), tmp_path / "v1", copies=2, shard_size=4, on_progress=cancel)
    wb.render(a_graph(photos), tmp_path / "v1", copies=2, shard_size=4)
    assert contents(tmp_path / "v1") == contents(tmp_path / "whole")


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 4])
def test_twenty_kills_do_not_change_a_byte(workers: int, tmp_path: Path) -> None:
    data = write_photos(tmp_path / "data", 1000)
    made = wb.render(a_graph(data), tmp_path / "whole", copies=2, shard_size=50, workers=2)
    assert made.samples == {"train": 4000}
    rng = np.random.default_rng(workers)
    render_with_kills(data, tmp_path, workers, 20, lambda: float(rng.uniform(0.8, 3.5)))
    assert contents(tmp_path / "v1") == contents(tmp_path / "whole")
