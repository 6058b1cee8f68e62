"""Class folders of images in an S3 bucket: ``s3://bucket/photos``, which DALI reads by itself.

Endpoint, region and credentials are those of the environment, as of the AWS command line:
``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``. The objects
are read, not listed: they are not counted, and none is left out.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind

_PLACE = re.compile(r"s3://[^/]+(/.*)?")
_PATIENCE = 2.0
"""Seconds that a connection may take; without this look DALI tries for several."""
_HOLDS = 30.0
"""Seconds that what was found of an endpoint holds."""
_found: dict[tuple[str, int], tuple[float, str]] = {}


def find_objects(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders in a bucket."""
    return {"file_root": data}


def _endpoint() -> tuple[str, int]:
    """Host and port that DALI asks."""
    url = os.environ.get("AWS_ENDPOINT_URL")
    if not url:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        url = f"https://s3.{region or 'us-east-1'}.amazonaws.com"
    parts = urlsplit(url)
    return parts.hostname or url, parts.port or (80 if parts.scheme == "http" else 443)


def _unreachable(endpoint: tuple[str, int]) -> str:
    """Why there is no connection, or empty."""
    asked, reason = _found.get(endpoint, (-_HOLDS, ""))
    if time.monotonic() - asked > _HOLDS:
        try:
            socket.create_connection(endpoint, _PATIENCE).close()
            reason = ""
        except OSError as error:
            reason = str(error.strerror or error)
        _found[endpoint] = time.monotonic(), reason
    return reason


_REMEDIES = {
    ("NoSuchBucket",): "Check the bucket's name, and AWS_ENDPOINT_URL and AWS_REGION in the "
    "environment",
    ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "Forbidden"): (
        "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, where there is one, AWS_SESSION_TOKEN "
        "in the environment, and that they may list the bucket and get its objects"
    ),
    ("curlCode", "Unable to connect", "SlowDown", "InternalError", "ServiceUnavailable"): (
        "The endpoint does not answer as it should: try again, or check the network, and "
        "AWS_ENDPOINT_URL in the environment"
    ),
}
"""By what S3, or what asks it, says."""


class S3(SourceKind):
    """Class folders of images in a bucket."""

    about = "class folders in an S3 bucket"
    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    find = staticmethod(find_objects)
    is_listed = False

    def explain(self, dataset: Dataset, said: str) -> str:
        remedy = next((r for words, r in _REMEDIES.items() if any(w in said for w in words)), "")
        if not remedy:
            return ""
        place, first = dataset.location, said.strip().splitlines()[0]
        words = first.partition(": ")[2].strip(" :.") or first  # behind the node
        copying = f"or copy it here: `aws s3 sync {place} photos`"
        return f"{place} cannot be read: {words}. {remedy}; {copying}."

    def require(self, dataset: Dataset) -> None:
        place = dataset.location
        if not _PLACE.fullmatch(place) or Path(place).suffix.lower() in (".tar", ".csv", ".txt"):
            raise DataError(
                f"{place} is no folder in a bucket. Give s3://BUCKET/FOLDER, in which folders are "
                "classes of images; copy archives and lists here first."
            )
        endpoint = _endpoint()
        if reason := _unreachable(endpoint):
            raise DataError(
                f"{place} cannot be read: no connection to {endpoint[0]}:{endpoint[1]} ({reason}). "
                "Check the network, and AWS_ENDPOINT_URL and AWS_REGION in the environment; or "
                f"copy it here: `aws s3 sync {place} photos`."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        return iter(())

    def root(self, dataset: Dataset) -> str:
        return dataset.location

    def watched(self, dataset: Dataset) -> Iterator[str]:
        return iter(())

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no image in class folders below {dataset}. Give a folder of folders."

    def write_placeholder(self, folder: Path) -> Path:
        return folder


SOURCE = S3()
