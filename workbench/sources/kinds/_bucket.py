"""Class folders of images in a bucket of a cloud, which DALI reads by itself.

The objects are read, not listed: they are not counted, and none is excluded.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind

_TIMEOUT = 2.0
"""Seconds that a connection may take; without this check DALI tries for several."""
_VALID = 30.0
"""Seconds for which the result of a connection is cached."""
_checked: dict[tuple[str, int], tuple[float, str]] = {}


def host_and_port(url: str) -> tuple[str, int]:
    """Host and port of an endpoint."""
    parts = urlsplit(url)
    return parts.hostname or url, parts.port or (80 if parts.scheme == "http" else 443)


def why_unreachable(endpoint: tuple[str, int]) -> str:
    """The reason why there is no connection, or empty."""
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
    """Class folders of images in a bucket: what the kinds of clouds share."""

    op = "readers.file"
    located_by = frozenset({"file_root", "files", "file_list"})
    is_listed = False

    scheme: str
    """How a place begins: ``s3`` or ``gs``."""
    copy: str
    """The command that copies a place to the folder ``photos``."""
    variables: str
    """The environment variables that say where the endpoint is."""
    remedies: ClassVar[Mapping[tuple[str, ...], str]]
    """What to do, by words of DALI's message."""

    def endpoint(self) -> tuple[str, int]:
        """Host and port that DALI connects to."""
        raise NotImplementedError

    def require_credentials(self, place: str) -> None:
        """Raise DataError where DALI would wait for credentials."""

    def explain(self, dataset: Dataset, said: str) -> str:
        remedy = next(
            (r for words, r in self.remedies.items() if any(w in said for w in words)), ""
        )
        if not remedy:
            return ""
        place, first = dataset.location, said.strip().splitlines()[0]
        words = first.partition(": ")[2].strip(" :.") or first  # behind the node
        copying = f"or copy it here: `{self.copy.format(place)}`"
        return f"{place} cannot be read: {words}. {remedy}; {copying}."

    def require(self, dataset: Dataset) -> None:
        place = dataset.location
        inside = re.fullmatch(rf"{self.scheme}://[^/]+(/.*)?", place)
        if not inside or Path(place).suffix.lower() in (".tar", ".csv", ".txt"):
            raise DataError(
                f"{place} is no folder in a bucket. Give {self.scheme}://BUCKET/FOLDER, in which "
                "folders are classes of images; copy lists here first."
            )
        self.require_reachable(place)

    def require_reachable(self, place: str) -> None:
        """Raise DataError without a connection to the cloud, or without credentials."""
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

    def watched(self, dataset: Dataset) -> Iterator[str]:
        return iter(())

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no image in class folders below {dataset}. Give a folder of folders."

    def write_placeholder(self, folder: Path) -> Path:
        return folder
