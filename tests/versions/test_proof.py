"""Every change of a version is found and named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import workbench as wb
from tests.versions.test_render import a_graph, write_photos
from workbench.cli import main
from workbench.errors import ArgumentError, DataError


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proof")
    data = write_photos(folder / "photos")
    wb.render(a_graph(data), folder / "v1", shard_size=5, copies=2)
    return folder


@pytest.fixture
def version(rendered: Path, tmp_path: Path) -> Path:
    """A copy of the version that a test may damage."""
    shutil.copytree(rendered / "v1", tmp_path / "v1")
    return tmp_path / "v1"


def test_an_unchanged_version_is_proven(version: Path) -> None:
    found = wb.prove(version, share=1)
    assert found.proven
    assert (found.samples, found.rendered) == (24, 24)
    assert "24 of 24 samples rendered again bit for bit" in str(found)
    part = wb.prove(version, share=0.01, seed=3)
    assert part.proven
    assert part.shards == 1
    assert 4 <= part.rendered <= 5


def test_a_flipped_byte_is_named(version: Path) -> None:
    path = sorted(version.rglob("*.png"))[7]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    found = wb.prove(version, share=1)
    assert not found.proven
    assert len(found.differences) == 1
    assert str(path.relative_to(version)) in found.differences[0]
    assert "(sample " in found.differences[0]


def test_two_swapped_files_are_named(version: Path) -> None:
    one, other = sorted((version / "train" / "bee").iterdir())[:2]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    found = wb.prove(version, share=1)
    assert len(found.differences) == 2
    assert one.name in str(found)
    assert other.name in str(found)


def test_a_changed_label_is_named(version: Path) -> None:
    path = sorted((version / "train" / "bee").iterdir())[0]
    path.rename(version / "train" / "cat" / path.name)
    found = wb.prove(version, share=1)
    assert f"train/bee/{path.name}: the file is missing" in found.differences
    assert f"train/cat/{path.name}: the file is not in the manifest" in found.differences


def test_a_label_changed_in_the_manifest_is_named(version: Path) -> None:
    path = sorted((version / "manifest").iterdir())[0]
    lines = path.read_text().splitlines()
    record = json.loads(lines[1])
    record["label"] = 1 - record["label"]
    path.write_text("\n".join([lines[0], json.dumps(record), *lines[2:]]) + "\n")
    found = wb.prove(version, share=1)
    assert f"manifest/{path.name}: the manifest was changed" in found.differences
    assert any(record["key"] in each and "label" in each for each in found.differences)


def test_changed_data_are_named(version: Path, rendered: Path, tmp_path: Path) -> None:
    shutil.copytree(rendered / "photos", tmp_path / "moved")
    assert wb.prove(version, share=1, data=tmp_path / "moved").proven
    changed = tmp_path / "moved" / "cat" / "cat3.png"
    Image.fromarray(np.zeros((24, 30, 3), np.uint8)).save(changed)
    found = wb.prove(version, share=1, data=tmp_path / "moved")
    assert {*found.differences} == {"cat/cat3.png: the file in the data changed"}
    changed.unlink()
    found = wb.prove(version, share=1, data=tmp_path / "moved")
    assert "the data differ" in str(found)
    assert found.failure.endswith(
        "moved has 11 samples, but the version was rendered from 12. Use the same data."
    )
    assert found.lines()[-1] == "not proven"
    with pytest.raises(ArgumentError, match=r"The version has no data 'other'\. Use 'data'"):
        wb.prove(version, data={"other": tmp_path / "moved"})


def test_another_graph_or_library_is_named(version: Path, rendered: Path) -> None:
    path = version / "version.json"
    manifest = json.loads(path.read_text())
    manifest["plan"]["libraries"]["numpy"] = "0.1"
    path.write_text(json.dumps(manifest))
    found = wb.prove(version, share=0.1, graph=a_graph(rendered / "photos").with_settings(seed=5))
    assert any("numpy is" in each and "was 0.1" in each for each in found.changes)
    assert any("the graph differs" in each for each in found.differences)
    assert any("version.json: it was changed" in each for each in found.differences)


def test_many_differences_are_summarized(version: Path) -> None:
    paths = sorted((version / "train" / "bee").iterdir())
    for path in paths:
        path.unlink()
    (version / "more (1).txt").touch()
    found = wb.prove(version, share=0.01)
    names = ", ".join(str(path.relative_to(version)) for path in paths[:5])
    assert found.lines()[:3] == [
        f"the file is missing, {len(paths)} times: {names} and {len(paths) - 5} more",
        "more (1).txt: the file is not in the manifest",
        "`workbench render --prove DIR --json` and `differences` in Python have all names.",
    ]
    done = CliRunner().invoke(main, ["render", "--prove", str(version), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["differences"] == [*found.differences]


def test_what_cannot_be_proven(version: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"share is 0"):
        wb.prove(version, share=0)
    with pytest.raises(DataError, match=r"is not a version"):
        wb.prove(tmp_path / "nothing")
    found = wb.prove(version, data=tmp_path / "gone")
    assert not found.proven
    assert "not rendered again: There is no folder" in str(found)
    (version / "version.json").write_text("{")
    with pytest.raises(DataError, match=r"is not a manifest"):
        wb.prove(version)
