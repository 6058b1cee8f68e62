"""Data in an S3 bucket, of which a server on this machine stands in for the real one."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.engine import Engine
from workbench.engine.resources.root_guard import require_inside
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.roots import Roots
from workbench.sources import open_dataset, open_datasets, require_dataset
from workbench.ui.data.data_panel import DataPanel

PLACE = "s3://bucket/photos"


@pytest.fixture(scope="module")
def port(photos: Path) -> Iterator[int]:
    command = [sys.executable, str(Path(__file__).with_name("s3_server.py")), str(photos.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.kill()


@pytest.fixture
def bucket(port: int, photos: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return f"s3://bucket/{photos.name}"


def closed_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


@pytest.mark.thorough
def test_a_bucket_gives_the_pixels_of_the_same_folder(
    bucket: str, photos: Path, tmp_path: Path
) -> None:
    graph = load_recipe("rotate-jitter")
    data = open_datasets(bucket)
    assert (data["data"].kind, data["data"].identity) == ("s3", bucket)
    with Engine() as engine:  # its worker has this environment
        shown = preview_batch(engine, PreviewRequest(graph, data, tiles=4))
        expected = preview_batch(engine, PreviewRequest(graph, open_datasets(photos), tiles=4))
    assert shown.image == expected.image
    assert [tile.sample for tile in shown.tiles] == [tile.sample for tile in expected.tiles]
    verified = Verifier(graph, data, 1).run()
    assert verified.failure == ""
    assert verified.identical == verified.samples == graph.settings.batch_size


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("denied", ["AccessDenied", "Check AWS_ACCESS_KEY_ID"]),
        ("missing", ["NoSuchBucket", "Check the bucket's name"]),
        ("empty", ["There is no image in class folders below s3://empty/photos"]),
        ("silent", ["does not answer as it should", "AWS_ENDPOINT_URL"]),
    ],
)
def test_a_bucket_that_gives_nothing_is_told_with_the_remedy(
    bucket: str, name: str, words: list[str]
) -> None:
    """By the preview, and by Verify's script; a silent one is given up within seconds by DALI."""
    place, graph = f"s3://{name}/photos", load_recipe("rotate-jitter")
    with Engine() as engine, pytest.raises(DataError) as caught:
        preview_batch(engine, PreviewRequest(graph, open_datasets(place), tiles=2))
    failure = Verifier(graph, place, 1).run().failure
    for said in (str(caught.value), failure):
        assert place in said
        assert all(each in said for each in words), said
        assert name == "empty" or f"`aws s3 sync {place} photos`" in said


def test_without_a_connection_the_remedy_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    port = closed_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    with pytest.raises(DataError) as caught:
        require_dataset(open_dataset(PLACE))
    said = str(caught.value)
    assert said.startswith(f"{PLACE} cannot be read: no connection to 127.0.0.1:{port}")
    assert said.endswith(f"or copy it here: `aws s3 sync {PLACE} photos`.")
    assert DataPanel(PLACE, threading.RLock(), lambda message: None).error == said


@pytest.mark.parametrize("place", ["s3://", "s3://bucket/list.csv"])
def test_what_is_no_folder_of_a_bucket_is_refused(place: str) -> None:
    with pytest.raises(DataError, match="is no folder in a bucket"):
        require_dataset(open_dataset(place))


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("https://host/photos", "Copy the data here"),
        ("hdfs://host/photos", "Copy the data here"),
    ],
)
def test_other_places_are_refused_with_the_remedy(place: str, remedy: str) -> None:
    with pytest.raises(DataError, match="read files, s3:// and gs://, nothing else") as caught:
        open_dataset(place)
    assert remedy in str(caught.value)


def test_a_page_opens_none(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "workbench.engine.resources.root_guard.roots_of_worker", lambda: Roots([tmp_path])
    )
    (source,) = load_recipe("rotate-jitter").sources
    with pytest.raises(DataError, match="pages read what lies below the roots alone"):
        require_inside(source, open_dataset(bucket))
