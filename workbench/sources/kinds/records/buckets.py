"""Read images and WebDataset archives in a bucket of S3 or Google Cloud Storage with DALI.

The workbench does not list the objects, so samples are neither counted nor excluded.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.kinds.records.webdataset import WEBDATASET, read_digits, read_shards

_TIMEOUT = 2.0
"""Timeout in seconds of the connection check, which avoids DALI's longer retries."""
_VALID = 30.0
"""Seconds for which the result of a connection check is cached."""
_checked: dict[tuple[str, int], tuple[float, str]] = {}


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host and port of an endpoint URL."""
    parts = urlsplit(url)
    return parts.hostname or url, parts.port or (80 if parts.scheme == "http" else 443)


def why_unreachable(endpoint: tuple[str, int]) -> str:
    """Return why a connection to an endpoint fails, or "". The result is cached for 30 s."""
    checked, reason = _checked.get(endpoint, (-_VALID, ""))
    if time.monotonic() - checked > _VALID:
        try:
            socket.create_connection(endpoint, _TIMEOUT).close()
            reason = ""
        except OSError as error:
            reason = str(error.strerror or error)
        _checked[endpoint] = time.monotonic(), reason
    return reason


class Bucket(SourceKind):
    """Base class of source kinds for class folders of images in a bucket."""

    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    is_listed = False

    scheme: str
    """URL scheme: ``s3`` or ``gs``."""
    copy: str
    """Template of a command that copies a location to the local folder ``photos``."""
    variables: str
    """Names of the environment variables that set the endpoint, as text."""
    remedies: ClassVar[Mapping[tuple[str, ...], str]]
    """Fix for each group of words that DALI's error message can contain."""

    def endpoint(self) -> tuple[str, int]:
        """Return the host and port that DALI connects to."""
        raise NotImplementedError

    def require_credentials(self, place: str) -> None:
        """Raise DataError if credentials are missing, because DALI would wait for them."""

    def explain(self, dataset: Dataset, message: str) -> str:
        remedy = next(
            (r for words, r in self.remedies.items() if any(w in message for w in words)), ""
        )
        if not remedy:
            return ""
        place, first = dataset.location, message.strip().splitlines()[0]
        words = first.partition(": ")[2].strip(" :.") or first  # text after the node
        copying = f"or copy it here: `{self.copy.format(place)}`"
        return f"{place} cannot be read: {words}. {remedy}; {copying}."

    def require(self, dataset: Dataset) -> None:
        place = dataset.location
        inside = re.fullmatch(rf"{self.scheme}://[^/]+(/.*)?", place)
        if not inside or Path(place).suffix.lower() in (".tar", ".csv", ".txt"):
            raise DataError(
                f"{place} is not a folder in a bucket. Use {self.scheme}://BUCKET/FOLDER, "
                "whose folders are classes of images; copy lists here first."
            )
        self.require_reachable(place)

    def require_reachable(self, place: str) -> None:
        """Raise DataError if there is no connection to the cloud, or if credentials are missing."""
        endpoint = self.endpoint()
        if reason := why_unreachable(endpoint):
            raise DataError(
                f"{place} cannot be read: no connection to {endpoint[0]}:{endpoint[1]} ({reason}). "
                f"Check the network, and {self.variables} in the environment; or "
                f"copy it here: `{self.copy.format(place)}`."
            )
        self.require_credentials(place)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        return iter(())

    def root(self, dataset: Dataset) -> str:
        return dataset.location

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        return iter(())

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no image in class folders below {dataset}. Use a folder of class folders."

    def write_placeholder(self, folder: Path) -> Path:
        return folder


# Class folders of images in an S3 bucket: ``s3://bucket/photos``, read by DALI itself.
#
# Endpoint, region and credentials come from the environment variables of the AWS command line:
# ``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``.


def find_objects(data: str) -> dict[str, Any]:
    """Return the arguments of the file reader for class folders in a bucket."""
    return {"file_root": data}


class S3(Bucket):
    """Source kind for class folders of images in an S3 bucket."""

    about = "class folders in an S3 bucket"
    find = staticmethod(find_objects)
    scheme = "s3"
    copy = "aws s3 sync {} photos"
    variables = "AWS_ENDPOINT_URL and AWS_REGION"
    remedies: ClassVar[Mapping[tuple[str, ...], str]] = {
        ("NoSuchBucket",): "Check the bucket's name, and AWS_ENDPOINT_URL and AWS_REGION in the "
        "environment",
        (
            *("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"),
            "Forbidden",
        ): (
            "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if used, AWS_SESSION_TOKEN in the "
            "environment, and that they may list the bucket and read its objects"
        ),
        ("curlCode", "Unable to connect", "SlowDown", "InternalError", "ServiceUnavailable"): (
            "The endpoint did not respond as expected: try again, or check the network, and "
            "AWS_ENDPOINT_URL in the environment"
        ),
    }

    def endpoint(self) -> tuple[str, int]:
        url = os.environ.get("AWS_ENDPOINT_URL")
        if not url:
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            url = f"https://s3.{region or 'us-east-1'}.amazonaws.com"
        return host_and_port(url)


# Class folders of images in a bucket of Google Cloud Storage: ``gs://bucket/photos``.
#
# DALI 2.4 reads them itself (experimental), with Google's application default credentials, or
# without credentials if ``DALI_GCS_ANONYMOUS=1``; ``DALI_GCS_ENDPOINT_URL`` sets another endpoint.

_METADATA = "metadata.google.internal", 80
"""Host and port of the server that provides credentials to machines in Google's cloud."""


def find_gs_objects(data: str) -> dict[str, Any]:
    """Return the arguments of the file reader for class folders in Google Cloud Storage."""
    return {"file_root": data}


def has_credentials() -> bool:
    """Return whether credentials exist or are not needed. Without them DALI waits for minutes."""
    if os.environ.get("DALI_GCS_ANONYMOUS") or os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return True
    saved = Path("~/.config/gcloud/application_default_credentials.json").expanduser()
    return saved.is_file() or not why_unreachable(_METADATA)


class Gs(Bucket):
    """Source kind for class folders of images in Google Cloud Storage."""

    about = "class folders in a bucket of Google Cloud Storage"
    find = staticmethod(find_gs_objects)
    scheme = "gs"
    copy = "gcloud storage rsync -r {} photos"
    variables = "DALI_GCS_ENDPOINT_URL"
    remedies: ClassVar[Mapping[tuple[str, ...], str]] = {
        ("NOT_FOUND", "object not found"): "Check the names of the bucket and the object",
        ("PERMISSION_DENIED", "UNAUTHENTICATED"): (
            "Check the application default credentials (`gcloud auth application-default login`, "
            "or GOOGLE_APPLICATION_CREDENTIALS in the environment), and that they may list the "
            "bucket and get its objects"
        ),
        ("DEADLINE_EXCEEDED", "UNAVAILABLE", "CURL error"): (
            "The endpoint did not respond as expected: try again, or check the network, and "
            "DALI_GCS_ENDPOINT_URL in the environment"
        ),
        ("GCS object",): (
            "Check the bucket's name, and that the application default credentials may list the "
            "bucket and get its objects"
        ),
    }

    def endpoint(self) -> tuple[str, int]:
        return host_and_port(
            os.environ.get("DALI_GCS_ENDPOINT_URL") or "https://storage.googleapis.com"
        )

    def require_credentials(self, place: str) -> None:
        if not has_credentials():
            raise DataError(
                f"{place} cannot be read: there are no credentials. Run `gcloud auth "
                "application-default login`, set GOOGLE_APPLICATION_CREDENTIALS in the "
                "environment, or, for a public bucket, DALI_GCS_ANONYMOUS=1; or copy it here: "
                f"`{self.copy.format(place)}`."
            )


# WebDataset archives in a bucket: ``s3://bucket/a.tar``, ``gs://bucket/{000..009}.tar``.
#
# DALI 2.4 reads them, and the ``.idx`` index (``wds2idx``) next to each, by itself. Every archive
# needs an index: without it DALI downloads the whole archive before the first batch. Each sample
# has an image and a label, the component ``cls``. Samples are neither listed nor counted.

_CLOUDS: Mapping[str, Bucket] = {"s3": S3(), "gs": Gs()}


def list_remote_shards(data: str) -> list[str]:
    """Return the archives that match a name such as ``s3://bucket/{000..009}.tar``."""
    numbers = re.search(r"\{(\d+)\.\.(\d+)\}", data)
    if numbers is None:
        return [data]
    first, last = numbers.groups()
    return [
        f"{data[: numbers.start()]}{number:0{len(first)}}{data[numbers.end() :]}"
        for number in range(int(first), int(last) + 1)
    ]


def find_remote_shards(data: str) -> dict[str, Any]:
    """Return the arguments of the WebDataset reader for archives with indices in a bucket."""
    paths = list_remote_shards(data)
    return {
        "paths": paths,
        "index_paths": [f"{path.removesuffix('.tar')}.idx" for path in paths],
        "ext": ["jpg;jpeg;png;bmp;tif;tiff;pnm;ppm;pgm;pbm;jp2;webp", "cls"],
        "missing_component_behavior": "error",
    }


class RemoteWebDataset(Bucket):
    """Source kind for tar archives in a bucket, with one image and one class per sample."""

    about = "WebDataset archives in a bucket"
    op = "readers.webdataset"
    located_by = WEBDATASET.located_by
    find = staticmethod(find_remote_shards)
    reader = staticmethod(read_shards)
    helpers: tuple[Any, ...] = (list_remote_shards, read_digits)
    imports: tuple[str, ...] = ("re",)

    def _cloud(self, dataset: Dataset) -> Bucket:
        return _CLOUDS[dataset.location.partition("://")[0]]

    def require(self, dataset: Dataset) -> None:
        place = dataset.location
        if not re.fullmatch(r"(s3|gs)://[^/]+/.+\.tar", place):
            raise DataError(
                f"{place} is not an archive in a bucket. Use s3://BUCKET/NAME.tar or "
                f"gs://BUCKET/NAME.tar; for several, NAME-{{000..009}}.tar."
            )
        self._cloud(dataset).require_reachable(place)

    def explain(self, dataset: Dataset, message: str) -> str:
        if ".idx" in message and ("not found" in message or "NoSuchKey" in message):
            archive = list_remote_shards(dataset.location)[0]
            index = f"{archive.removesuffix('.tar')}.idx"
            return (
                f"{dataset.location} cannot be read: an archive has no index. Create it "
                "for a local copy (`wds2idx a.tar a.idx`), and copy it next to the "
                f"archive, as {index}."
            )
        if "component" in message:
            return (
                f"{dataset.location} cannot be read: a sample has no image or no label. Each needs "
                "an image (0.jpg) and digits as its label (0.cls)."
            )
        return self._cloud(dataset).explain(dataset, message)

    def nothing_found(self, dataset: Dataset) -> str:
        return WEBDATASET.nothing_found(dataset)


SOURCES = {**_CLOUDS, "remote_webdataset": RemoteWebDataset()}
