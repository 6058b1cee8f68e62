"""The files of archives: as ``tarfile`` finds them, and behind a damage."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from workbench.errors import DataError
from workbench.samples.records import add_to_tar
from workbench.sources.kinds.records._tar_samples import TarDamage, TarFile, files_in_tar

JPEG = b"\xff\xd8\xff\xd9"


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_files_of_an_archive_are_those_that_tarfile_finds(tmp_path: Path, kind: int) -> None:
    long = "long/" + "n" * 90 + "/" + "m" * 90 + ".jpg"
    names = ["a.jpg", "a.cls", "folder/b.jpg", long, "c.jpg", "ä.jpg"]
    with tarfile.open(tmp_path / "a.tar", "w", format=kind) as archive:
        for name in names:
            add_to_tar(archive, name, JPEG * (1 + len(name) * 40))
        folder = tarfile.TarInfo("empty")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        add_to_tar(archive, "d.jpg", JPEG)
    with tarfile.open(tmp_path / "a.tar") as archive:
        expected = [(m.name, m.offset_data, m.size) for m in archive if m.isfile()]
    assert [name for name, *_ in expected] == [*names, "d.jpg"]
    assert list(files_in_tar(str(tmp_path / "a.tar"))) == expected


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_files_behind_a_damage_are_found_of_any_kind(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "a.tar"
    names = ["a.jpg", "n/" * 60 + "d.jpg", "ö.jpg", "b.jpg", "m/" * 60 + "e.jpg", "c.jpg"]
    with tarfile.open(path, "w", format=kind) as archive:
        for name in names:
            add_to_tar(archive, name, JPEG * 300)
    with tarfile.open(path) as archive:
        members = [TarFile(m.name, m.offset_data, m.size) for m in archive]
        offset = archive.getmember("b.jpg").offset
    content = bytearray(path.read_bytes())
    content[offset : offset + 512] = b"\x85" * 512
    path.write_bytes(content)
    found = list(files_in_tar(str(path)))
    assert [each for each in found if isinstance(each, TarFile)] == [*members[:3], *members[4:]]
    (damage,) = (each for each in found if isinstance(each, TarDamage))
    assert damage.at == offset


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b" * 900, b"short"])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as a tar archive"):
        list(files_in_tar(str(path)))
