"""Archives that are damaged, cut short or longer than they say: what is lost is named."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from tests.sources.test_kinds import a_graph
from tests.sources.written import read_photos
from tests.thorough import one_in
from workbench.engine import Engine
from workbench.health import check_folder
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.records import add_to_tar
from workbench.sources import (
    list_samples,
    open_dataset,
)


@pytest.fixture
def damaged_archive(photos: Path, tmp_path: Path) -> Path:
    """Ten samples ``0000.jpg, 0000.cls``, of which tests damage the headers."""
    path = tmp_path / "damaged" / "a.tar"
    path.parent.mkdir()
    with tarfile.open(path, "w") as archive:
        for number, (image, label) in enumerate(read_photos(photos)[:10]):
            add_to_tar(archive, f"{number:04}.jpg", image)
            add_to_tar(archive, f"{number:04}.cls", str(label).encode())
    return path


@pytest.mark.parametrize(
    ("broken", "lost"),
    one_in(
        3,
        [
            (["0004.jpg"], {"0004.cls": "it has no image"}),
            (["0004.cls"], {"0004.jpg": "it has no cls"}),
            (["0004.jpg", "0004.cls"], {}),
            (["0000.jpg"], {"0000.cls": "it has no image"}),
            (["0009.cls"], {"0009.jpg": "it has no cls"}),
            (
                ["0002.cls", "0003.jpg", "0007.jpg"],
                dict.fromkeys(["0002.jpg", "0003.cls", "0007.cls"]),
            ),
        ],
        first=2,
    ),
    ids=lambda value: " ".join(value) or "none",
)
def test_damage_in_an_archive_costs_the_samples_that_it_hits(
    broken: list[str], lost: dict[str, str | None], engine: Engine, damaged_archive: Path
) -> None:
    """``tarfile`` takes a header that is none for the end; DALI names neither file nor place."""
    path = damaged_archive
    whole = {each.name for each in list_samples(open_dataset(path))}
    with tarfile.open(path) as archive:
        headers = {member.name: member.offset for member in archive}
    content = bytearray(path.read_bytes())
    for name in broken:
        content[headers[name] : headers[name] + 512] = b"\xff" * 512
    path.write_bytes(content)
    found = {each.name: each.fault for each in list_samples(open_dataset(path))}
    hit = {name[:4] for name in broken}
    expected = {name for name in whole if name.rpartition(":")[2][:4] not in hit}
    assert {name for name, fault in found.items() if not fault} == expected
    faults = {name.rpartition(":")[2]: fault for name, fault in found.items() if fault}
    damages = [fault for name, fault in faults.items() if name == "damaged"]
    assert all("it is damaged at byte" in fault for fault in damages)
    assert {name for name in faults if name != "damaged"} == lost.keys()
    assert all(words in faults[name] for name, words in lost.items() if words)
    assert {one.file for one in check_folder(str(path), full=False).bad} == {
        name for name, fault in found.items() if fault
    }
    told = Verifier(a_graph(shuffled=False), str(path), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == len(found) - len(expected)
    shown = preview_batch(engine, PreviewRequest(a_graph(shuffled=False), str(path), tiles=4))
    assert f"{len(told.left_out)} " in shown.note
    assert not any(each.sample.error for each in shown.tiles)


@pytest.mark.parametrize("at", one_in(3, [0.1, 0.5, 0.93], first=1))
def test_an_archive_that_is_cut_short_costs_its_last_sample(
    at: float, engine: Engine, damaged_archive: Path
) -> None:
    path = damaged_archive
    whole = [each.name for each in list_samples(open_dataset(path))]
    with tarfile.open(path) as archive:
        ends = {m.name: m.offset_data + m.size for m in archive}
    content = path.read_bytes()
    cut = int(len(content) * at) + 7
    path.write_bytes(content[:cut])
    found = list(list_samples(open_dataset(path)))
    left = [name for name in whole if ends[name.rpartition(":")[2].replace("jpg", "cls")] <= cut]
    assert [each.name for each in found if not each.fault] == left
    assert "it is damaged at byte" in found[-1].fault
    told = Verifier(a_graph(shuffled=False), str(path), 1, engine=engine).run()
    assert told.exact, told.lines()
    assert [one.file for one in told.left_out] == [each.name for each in found if each.fault]


def test_files_behind_the_end_of_an_archive_are_told(engine: Engine, damaged_archive: Path) -> None:
    """As of two archives that were put together; DALI reads the first."""
    path = damaged_archive
    content = path.read_bytes()
    path.write_bytes(content * 2)
    found = list(list_samples(open_dataset(path)))
    assert [each.name.endswith(":damaged") for each in found] == [n == 10 for n in range(21)]
    told = Verifier(a_graph(shuffled=False), str(path), 2, engine=engine).run()
    assert told.exact, told.lines()
    assert len(told.left_out) == 1


def test_a_header_with_another_size_is_not_believed(damaged_archive: Path) -> None:
    """It would lead over samples that are whole."""
    path = damaged_archive
    with tarfile.open(path) as archive:
        headers = {member.name: member.offset for member in archive}
    content = bytearray(path.read_bytes())
    at = headers["0004.jpg"]
    content[at + 124 : at + 136] = b"%011o\0" % (headers["0006.jpg"] - at)
    path.write_bytes(content)
    faults = [
        each.name.rpartition(":")[2] for each in list_samples(open_dataset(path)) if each.fault
    ]
    assert faults == ["damaged", "0004.cls"]


def test_an_archive_among_others_that_is_none_is_named_and_left_out(
    shapes: Path, engine: Engine, tmp_path: Path
) -> None:
    for name in "abc":
        shutil.copy(shapes / "webdataset" / "samples-000000.tar", tmp_path / f"{name}.tar")
    (tmp_path / "b.tar").write_bytes(b"\xff" * 4096)
    data = str(tmp_path)
    (lost,) = (each for each in list_samples(open_dataset(data)) if each.fault)
    assert lost.name == "b.tar:0:damaged"
    assert "b.tar cannot be read as a tar archive" in lost.fault
    told = Verifier(a_graph(shuffled=False), data, 2, engine=engine).run()
    assert told.exact, told.lines()
    assert [each.file for each in told.left_out] == [lost.name]
