"""Programs that skip bad files read each good file once, and name what is wrong with a list."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.damaged import DAMAGED, REFUSED
from tests.emit.targets.test_execute import ENVIRONMENT, require
from tests.health import skip_bad_epochs
from tests.helpers import import_script
from tests.sources.written import Photos, write_record_io, write_tfrecord, write_webdataset
from tests.thorough import one_in
from workbench.cli import main
from workbench.emit.core.bad_files import HINT
from workbench.emit.targets import export
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.health.skip_bad import without_bad
from workbench.sources import open_datasets

pytestmark = pytest.mark.timeout(600)

FILES = 100
KINDS = {name: make for name, (make, _) in (REFUSED | DAMAGED).items()}
SHARES = [round(1 + 49 * number / 19) for number in range(20)]
"""Percent of the files that are bad, in 20 folders."""


def small(path: Path) -> bytes:
    buffer = io.BytesIO()
    with Image.open(path) as image:
        image.thumbnail((48, 48))
        image.save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def small_photos(photos: Path) -> list[bytes]:
    return [small(path) for path in sorted(photos.rglob("*.jpg"))[:FILES]]


def write_damaged(folder: Path, photos: list[bytes], share: int) -> tuple[set[int], set[int]]:
    """A class folder for each file; labels of those that are good, and that may be skipped."""
    chance = random.Random(share)
    places = chance.sample(range(FILES), share)
    kinds = [*KINDS, "gone.jpg"]
    chance.shuffle(kinds)
    silent = set()
    for number in range(FILES):
        place = folder / f"{number:03}"
        place.mkdir(parents=True)
        content = photos[number % len(photos)]
        if number not in places:
            (place / "good.jpg").write_bytes(content)
            continue
        name = kinds[places.index(number) % len(kinds)]
        if name == "gone.jpg":
            (place / name).symlink_to(folder / "nowhere")
        else:
            (place / name).write_bytes(KINDS[name](content))
        if name in DAMAGED:
            silent.add(number)
    return set(range(FILES)) - set(places), silent


def a_graph() -> Graph:
    return set_setting(load_recipe("imagenet-train"), batch_size=8, num_threads=2)


def run(target: str, *programs: Path) -> list[list[list[int]]]:
    ran = subprocess.run(
        [sys.executable, "-m", skip_bad_epochs.__name__, target, *map(str, programs)],
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,  # Ray waits longer for its own processes
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: list[list[list[int]]] = json.loads(ran.stdout.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def damaged(
    tmp_path_factory: pytest.TempPathFactory, small_photos: list[bytes]
) -> dict[int, tuple[Any, set[int], set[int]]]:
    """For each requested fraction the good data, and labels as of ``write_damaged``."""
    root = tmp_path_factory.mktemp("damaged")

    class Folders(dict[int, tuple[Any, set[int], set[int]]]):
        def __missing__(self, share: int) -> tuple[Any, set[int], set[int]]:
            labels = write_damaged(root / str(share), small_photos, share)
            good, told = without_bad(a_graph(), open_datasets(str(root / str(share))))
            assert f" of {FILES} files of " in told
            self[share] = good, *labels
            return self[share]

    return Folders()


@pytest.mark.parametrize("target", one_in(10, [*skip_bad_epochs.TARGETS]))
@pytest.mark.parametrize("shares", [(1, 14, 50), pytest.param(SHARES, marks=pytest.mark.thorough)])
def test_every_program_returns_every_good_file_once(
    target: str, shares: Sequence[int], damaged: dict[int, Any], tmp_path: Path
) -> None:
    if target not in ("script", "dynamic"):
        require(target)
    programs = []
    for share in shares:
        made = export(a_graph(), target, good=damaged[share][0])
        (tmp_path / str(share)).mkdir()
        suffix = Path(next(iter(made.files))).suffix
        program, listed = made.write(tmp_path / str(share) / f"program{suffix}")
        assert listed.name == "program.good_data.txt"
        programs.append(program)
    for share, epochs in zip(shares, run(target, *programs), strict=True):
        _, good, silent = damaged[share]
        for labels in epochs:
            assert len(labels) == len(set(labels))
            assert good <= set(labels) <= good | silent


@pytest.mark.parametrize("target", ["script", "pytorch"])
@pytest.mark.parametrize("write", one_in(3, [write_webdataset, write_tfrecord, write_record_io]))
def test_records_are_read_by_an_index_of_the_good_ones(
    write: Callable[[Photos, Path], Path], target: str, small_photos: list[bytes], tmp_path: Path
) -> None:
    if target != "script":
        require(target)
    bad = {3: b"words" * 50, 8: b"\xff\xd8" * 30, 15: REFUSED["bomb.png"][0](b"")}
    samples = [(bad.get(number, small_photos[number]), number) for number in range(20)]
    data = write(samples, tmp_path / "records")
    made = wb.export(graph_of(data), target, data=data, skip_bad=True)
    program, placed = made.write(tmp_path / "loader.py")
    assert placed == tmp_path / "loader.good_data"
    ((first, second),) = run(target, program)
    assert sorted(first) == sorted(second) == sorted({*range(20)} - bad.keys())
    with pytest.raises(wb.SaveError, match=r"loader\.good_data already exists"):
        made.write(tmp_path / "loader.py")


def graph_of(data: Path) -> Graph:
    graph = wb.read(data, random_shuffle=True).decode().resize(size=(32, 32))
    return set_setting(graph, batch_size=8, num_threads=2)


def test_the_command_tells_how_many_are_skipped(
    small_photos: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in {
        "a.jpg": small_photos[0],
        "b.jpg": b"words",
        "c\nd.jpg": small_photos[1],
        "e.jpg": small_photos[2],
    }.items():
        (tmp_path / "flat").mkdir(exist_ok=True)
        (tmp_path / "flat" / name).write_bytes(content)
    arguments = ["export", "rotate-jitter", "--skip-bad", "-o", "pipe.py"]
    refused = CliRunner().invoke(main, arguments)
    assert (refused.exit_code, "--skip-bad needs --data" in refused.stderr) == (2, True)
    ran = CliRunner().invoke(main, [*arguments, "--data", "flat"])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.split() == [str(tmp_path / "pipe.py"), str(tmp_path / "pipe.good_data.txt")]
    told = "2 of 4 files of flat are skipped (1 bad, 1 with a line break in the name)"
    assert told in ran.stderr
    listed = (tmp_path / "pipe.good_data.txt").read_text()
    assert listed == f"{tmp_path / 'flat' / 'a.jpg'} 0\n{tmp_path / 'flat' / 'e.jpg'} 0\n"
    (tmp_path / "flat" / "b.jpg").write_bytes(small_photos[3])
    again = CliRunner().invoke(main, [*arguments, "--data", "flat"])
    assert "1 of 4 files" in again.stderr
    assert "b.jpg 0\n" in (tmp_path / "pipe.good_data.txt").read_text()


def test_notebooks_in_one_folder_have_a_list_each(
    small_photos: list[bytes], tmp_path: Path
) -> None:
    data = [tmp_path / "one", tmp_path / "other"]
    for folder in data:
        folder.mkdir()
        (folder / "good.jpg").write_bytes(small_photos[0])
    for folder in data:
        made = wb.export(a_graph(), "notebook", data=folder, skip_bad=True)
        written, listed = made.write(tmp_path / f"{folder.name}.ipynb")
        assert listed.name == f"{folder.name}.good_data.txt"
        assert f'GOOD_DATA = \\"{listed.name}\\"' in written.read_text()
        imported = wb.from_file(written)
        assert "the graph is the one at the end of" in imported.report.notes[0]
        assert imported.graph == a_graph()
    for folder in data:
        listed = tmp_path / f"{folder.name}.good_data.txt"
        assert listed.read_text() == f"{folder / 'good.jpg'} 0\n"


@pytest.mark.parametrize("name", ["pipe", "pipe.v2", "pipe.v2.py"])
def test_the_list_is_where_a_program_of_any_name_reads_it(
    name: str, small_photos: list[bytes], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "good.jpg").write_bytes(small_photos[0])
    made = wb.export(a_graph(), data=tmp_path / "data", skip_bad=True)
    written, listed = made.write(tmp_path / name)
    program: dict[str, Any] = {"__file__": str(written), "__name__": "program"}
    exec(written.read_text(), program)
    assert program["GOOD_DATA"] == str(listed)


def test_no_facts_omit_the_warnings_about_the_good_files_too(
    small_photos: list[bytes], tmp_path: Path
) -> None:
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for number in range(8):
            (tmp_path / label / f"{number}.jpg").write_bytes(small_photos[number])
    (tmp_path / "a" / "bad.jpg").write_bytes(b"words")
    graph = set_setting(wb.read(str(tmp_path)).decode().resize(size=(8, 8)), batch_size=4)
    told = wb.export(graph, data=tmp_path, skip_bad=True).main.text
    assert "Warning: " in told
    assert "Warning: " not in wb.export(graph, data=tmp_path, skip_bad=True, facts={}).main.text


def test_what_cannot_be_skipped_is_told(small_photos: list[bytes], tmp_path: Path) -> None:
    with pytest.raises(wb.ArgumentError, match="Pass the data"):
        wb.export(a_graph(), skip_bad=True)
    (tmp_path / "bad.jpg").write_bytes(b"words")
    with pytest.raises(wb.DataError, match=r"has no usable sample"):
        wb.export(a_graph(), data=tmp_path, skip_bad=True)
    (tmp_path / "good.jpg").write_bytes(small_photos[0])


@pytest.mark.parametrize(
    ("target", "name", "words"),
    [
        *((each, "any.py", "--skip-bad") for each in ("proxy", "torchvision", "albumentations")),
        ("triton", "folder", "--skip-bad"),
        ("jax", "jax.py", "hides the module 'jax'"),
    ],
)
def test_what_is_known_to_fail_is_refused_before_the_check(
    target: str, name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "bad.jpg").write_bytes(b"words")  # the check would find no good file
    arguments = ["export", "imagenet-train", "--data", "photos", "--skip-bad", "-o", name]
    ran = CliRunner().invoke(main, [*arguments, "--target", target])
    assert ran.exit_code
    assert words in " ".join(ran.stderr.split())
    assert "good file" not in ran.stderr
    if target != "jax":
        with pytest.raises(wb.GraphExportError, match="cannot skip bad files"):
            wb.export(a_graph(), target, data=tmp_path / "photos", skip_bad=True)


@pytest.fixture(scope="module")
def listed(
    tmp_path_factory: pytest.TempPathFactory, small_photos: list[bytes]
) -> tuple[Path, Path, Path]:
    """A script and a loader that read a list of eight files, and one of these files."""
    folder = tmp_path_factory.mktemp("listed")
    (folder / "flat").mkdir()
    for number in range(8):
        (folder / "flat" / f"{number}.jpg").write_bytes(small_photos[number])
    good, _ = without_bad(a_graph(), open_datasets(str(folder / "flat")))
    script, loader = (
        export(a_graph(), target, good=good).write(folder / f"{target}.py")[0]
        for target in ("script", "pytorch")
    )
    return script, loader, folder / "flat" / "5.jpg"


ENDING = {"no_tiles.jp2"}
"""DALI ends the process at these: no message can follow."""


@pytest.mark.parametrize("kind", one_in(6, [*sorted(REFUSED.keys() - ENDING), "half.jpg", "gone"]))
def test_a_file_that_went_bad_is_named_with_the_command_that_helps(
    kind: str, listed: tuple[Path, Path, Path], small_photos: list[bytes]
) -> None:
    script, _, victim = listed
    if kind == "gone":
        victim.unlink()
    else:
        victim.write_bytes(KINDS[kind](small_photos[5]))
    try:
        words = last_words(script)
        place = script.with_name("script.good_data.txt")
        assert f"RuntimeError: {victim} cannot be read or decoded" in words
        assert f"`workbench check {place} --full --good {place}`" in words
        assert "no longer valid" not in words
        if kind in ("text.jpg", "gone"):
            arguments = ["check", str(place), "--full", "--good", str(place)]
            assert CliRunner().invoke(main, arguments).exit_code == 1
            assert run("script", script) == [[[0] * 7] * 2]
    finally:
        victim.write_bytes(small_photos[5])
        export(a_graph(), good=without_bad(a_graph(), open_datasets(str(victim.parent)))[0]).write(
            script
        )


def test_a_loader_names_a_file_that_went_bad(
    listed: tuple[Path, Path, Path], small_photos: list[bytes]
) -> None:
    require("pytorch")
    _, loader, victim = listed
    victim.write_bytes(b"words")
    try:
        assert f"RuntimeError: {victim} cannot be read" in last_words(loader)
    finally:
        victim.write_bytes(small_photos[5])


def last_words(program: Path) -> str:
    """What a program that reads one epoch prints last of its error."""
    code = (
        "import runpy, sys; space = runpy.run_path(sys.argv[1]); pipe = space['build_pipeline']();"
        "loader = space['Loader'](pipe) if 'Loader' in space else None;"
        "[*loader] if loader else [pipe.run() for _ in range(4)]"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(program)], capture_output=True, text=True)
    assert ran.returncode == 1
    return [line for line in ran.stderr.splitlines() if re.match(r"\w+Error: ", line)][-1]


def test_a_list_that_is_gone_is_named(listed: tuple[Path, Path, Path]) -> None:
    script, _, _ = listed
    place = script.with_name("script.good_data.txt")
    content = place.read_bytes()
    place.unlink()
    words = last_words(script)
    missing = f"The list {place} does not exist. Export again with --skip-bad."
    assert words == f"FileNotFoundError: {missing}"
    place.write_bytes(b"")
    assert last_words(script).startswith(f"RuntimeError: The list {place} is empty")
    place.write_bytes(content)


def test_an_error_that_no_file_makes_stays_as_it_is(listed: tuple[Path, Path, Path]) -> None:
    place = listed[0].with_name("script.good_data.txt")
    pipe = import_script(
        listed[0].read_text().replace("__file__", repr(str(listed[0]))), place.parent
    )
    assert pipe.bad_file(str(place), "Error in operator: sizes differ") == ""


def test_an_edited_program_is_read_as_it_is(
    listed: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    edited = tmp_path / "edited.py"
    edited.write_text(listed[0].read_text().replace("BATCH_SIZE = 8", "BATCH_SIZE = 16"))
    shutil.copy(listed[0].with_name("script.good_data.txt"), tmp_path / "edited.good_data.txt")
    imported = wb.from_file(edited)
    assert imported.graph.settings.batch_size == 16
    assert not wb.check_graph(imported.graph)
    assert [source.dataset for source in imported.graph.sources] == ["data"]
    unedited = wb.from_file(listed[0])
    assert unedited.graph == a_graph()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("script", "--full` names it, and --skip-bad"),
        ("dynamic", "--full` names it, and --skip-bad"),
        ("proxy", ""),  # it says which samples of the data set
        ("torchvision", ""),  # it names the file
    ],
)
def test_the_export_says_what_names_a_bad_file(target: str, words: str) -> None:
    graph = wb.load_recipe("imagenet-train")
    found = wb.export(graph, target, plain=True).at_bad_file
    assert words in found
    assert bool(found) == bool(words)
    made = wb.export(graph, target)
    assert not made.at_bad_file
    assert (HINT in made.main.text) == bool(words)


READ_ALL = """
import sys
from pathlib import Path
from tests.emit.targets.drive import start
from tests.emit.targets.target_batches import TARGETS
target, folder, data, *names = sys.argv[1:]
start(target)
for batch in TARGETS[target](Path(folder), data, names): pass
"""


@pytest.mark.parametrize("target", one_in(10, skip_bad_epochs.TARGETS))
def test_the_error_of_any_program_at_a_bad_file_says_what_names_it(
    target: str, small_photos: list[bytes], tmp_path: Path
) -> None:
    if target != "script":
        require(target)
    for number, content in enumerate([*small_photos[:15], b"words"]):
        place = tmp_path / "data" / f"{number % 2}" / f"{number}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    made = wb.export(a_graph(), target)
    made.write(tmp_path / next(iter(made.files)))
    ran = subprocess.run(
        [sys.executable, "-c", READ_ALL, target, tmp_path, tmp_path / "data", *a_graph().outputs],
        capture_output=True,
        text=True,
        env=os.environ | ENVIRONMENT,
    )
    assert ran.returncode
    assert f"# {HINT}\n" in ran.stderr


@pytest.mark.parametrize(
    ("target", "names"), [("script", True), ("dynamic", False), ("tensorflow", False)]
)
def test_a_program_that_skips_bad_files_may_name_those_of_later(
    target: str, names: bool, small_photos: list[bytes], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "good.jpg").write_bytes(small_photos[0])
    made = wb.export(a_graph(), target, data=tmp_path / "data", skip_bad=True)
    assert HINT in made.main.text
    assert not made.at_bad_file
    plain = wb.export(a_graph(), target, data=tmp_path / "data", skip_bad=True, plain=True)
    assert HINT not in plain.main.text
    assert (not plain.at_bad_file) == names
    assert "--skip-bad" not in plain.at_bad_file
