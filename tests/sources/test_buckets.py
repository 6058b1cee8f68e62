"""Data in an S3 bucket, with a local server in place of the real one."""

from __future__ import annotations

import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import workbench as wb
from tests.emit.targets.target_batches import load
from tests.helpers import with_settings
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.engine.resources.root_guard import require_inside
from workbench.errors import DataError
from workbench.graph import Graph, load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.roots import Roots
from workbench.sources import open_dataset, open_datasets, require_dataset
from workbench.sources.kinds.records._tar_samples import index_lines, write_index
from workbench.sources.kinds.records.buckets import list_remote_shards
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
        ("silent", ["did not respond as expected", "AWS_ENDPOINT_URL"]),
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
    with pytest.raises(DataError, match="is not a folder in a bucket"):
        require_dataset(open_dataset(place))


@pytest.mark.parametrize(
    ("place", "remedy"),
    [
        ("https://host/photos", "Copy the data here"),
        ("hdfs://host/photos", "Copy the data here"),
    ],
)
def test_other_places_are_refused_with_the_remedy(place: str, remedy: str) -> None:
    with pytest.raises(DataError, match="supports files, s3:// and gs://") as caught:
        open_dataset(place)
    assert remedy in str(caught.value)


def test_a_page_opens_none(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "workbench.engine.resources.root_guard.roots_of_worker", lambda: Roots([tmp_path])
    )
    (source,) = load_recipe("rotate-jitter").sources
    with pytest.raises(DataError, match="the web app only reads files in its allowed folders"):
        require_inside(source, open_dataset(bucket))


# Google Cloud Storage and WebDatasets in buckets, with servers on this machine as stand-ins.

SERVERS = {"s3": "AWS_ENDPOINT_URL", "gs": "DALI_GCS_ENDPOINT_URL"}


@pytest.fixture(scope="module")
def folder(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Class folders, two archives with an index each, and one without."""
    made = tmp_path_factory.mktemp("objects")
    files = sorted(photos.glob("*/*.jpg"))[:4]
    for number, file in enumerate(files):
        (made / "photos" / f"class_{number % 2}").mkdir(parents=True, exist_ok=True)
        (made / "photos" / f"class_{number % 2}" / file.name).write_bytes(file.read_bytes())
    for name, some in (("a-00", files[:2]), ("a-01", files[2:]), ("bare", files)):
        path = made / f"{name}.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
            for number, file in enumerate(some):
                archive.add(file, f"{number}.jpg")
                label = tarfile.TarInfo(f"{number}.cls")
                label.size = 1
                archive.addfile(label, BytesIO(str(number + 3).encode()))
        if name != "bare":
            write_index(path.with_suffix(".idx"), [line for line, _ in index_lines(str(path))])
    return made


@pytest.fixture(scope="module")
def endpoints(folder: Path) -> Iterator[dict[str, str]]:
    names = {"s3": "s3_server", "gs": "gcs_server"}
    servers = {
        scheme: subprocess.Popen(
            [sys.executable, "-m", f"tests.sources.{name}", str(folder)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for scheme, name in names.items()
    }
    try:
        found = {}
        for scheme, server in servers.items():
            assert server.stdout is not None
            found[scheme] = f"http://127.0.0.1:{int(server.stdout.readline())}"
        yield found
    finally:
        for server in servers.values():
            server.kill()
            server.communicate()


@pytest.fixture
def clouds(endpoints: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme, variable in SERVERS.items():
        monkeypatch.setenv(variable, endpoints[scheme])
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("DALI_GCS_ANONYMOUS", "1")


def small(place: str) -> Graph:
    graph = wb.read(place).decode().resize(size=(32, 32))
    return with_settings(graph, batch_size=4, num_threads=1)


def first_batch(graph: Graph, place: str, path: Path) -> list[NDArray[np.generic]]:
    """Images and labels that the exported script returns first."""
    path.write_text(export(graph, data=place).main.text)
    return [output.as_array() for output in load(path).build_pipeline(place).run()]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "same", "kind"),
    [
        ("gs://bucket/photos", "photos", "gs"),
        ("gs://bucket/a-00.tar", "a-00.tar", "remote_webdataset"),
        ("s3://bucket/a-00.tar", "a-00.tar", "remote_webdataset"),
        ("s3://bucket/a-{00..01}.tar", "", "remote_webdataset"),
    ],
)
def test_a_bucket_gives_the_batches_of_the_same_files(
    clouds: None, folder: Path, tmp_path: Path, place: str, same: str, kind: str
) -> None:
    """The preview equals the script on the bucket, and both the batches of the files."""
    data = open_datasets(place)
    assert (data["data"].kind, data["data"].identity) == (kind, place)
    graph = small(place)
    verified = Verifier(graph, data, 1).run()
    assert (verified.failure, verified.identical) == ("", verified.samples)
    if same:
        expected = first_batch(graph, str(folder / same), tmp_path / "local.py")
        found = first_batch(graph, place, tmp_path / "remote.py")
        assert all(map(np.array_equal, found, expected))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("gs://denied/photos", "Check the bucket's name, and that the application default"),
        ("gs://missing/photos", "Check the bucket's name"),
        ("gs://empty/photos", "There is no image in class folders below gs://empty/photos"),
        ("gs://bucket/bare.tar", "as gs://bucket/bare.idx"),
        ("s3://bucket/bare.tar", "as s3://bucket/bare.idx"),
    ],
)
def test_a_bucket_that_cannot_be_read_is_reported_with_the_remedy(
    clouds: None, place: str, words: str
) -> None:
    failure = Verifier(small(place), place, 1).run().failure
    assert place in failure
    assert words in failure


def test_without_credentials_there_is_an_error_and_no_wait(
    clouds: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DALI_GCS_ANONYMOUS", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("workbench.sources.kinds.records.buckets._METADATA", ("127.0.0.1", 1))
    with pytest.raises(DataError, match="there are no credentials") as caught:
        require_dataset(open_dataset("gs://bucket/photos"))
    assert "DALI_GCS_ANONYMOUS=1" in str(caught.value)
    assert "`gcloud storage rsync -r gs://bucket/photos photos`" in str(caught.value)


def test_without_a_connection_the_remedy_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DALI_GCS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(DataError, match=r"no connection to 127\.0\.0\.1:1 .*DALI_GCS_ENDPOINT_URL"):
        require_dataset(open_dataset("gs://bucket/photos"))


@pytest.mark.parametrize("place", ["gs://", "gs://bucket/list.csv"])
def test_what_is_no_folder_of_a_google_bucket_is_refused(place: str) -> None:
    with pytest.raises(DataError, match=r"is not a folder in a bucket\. Use gs://BUCKET/FOLDER"):
        require_dataset(open_dataset(place))


def test_archives_are_numbered_with_leading_zeros() -> None:
    assert list_remote_shards("s3://b/a.tar") == ["s3://b/a.tar"]
    assert list_remote_shards("gs://b/{008..010}-x.tar") == [
        f"gs://b/{number}-x.tar" for number in ("008", "009", "010")
    ]
