"""Class folders of images in a bucket of Google Cloud Storage: ``gs://bucket/photos``.

DALI 2.4 reads them by itself (experimental), with Google's application default credentials, or with
``DALI_GCS_ANONYMOUS=1`` without any; ``DALI_GCS_ENDPOINT_URL`` names another endpoint.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from workbench.errors import DataError
from workbench.sources.kinds._bucket import Bucket, host_and_port, why_unreachable

_METADATA = "metadata.google.internal", 80
"""The server that gives credentials to machines of Google's cloud."""


def find_gs_objects(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders in a bucket of Google Cloud Storage."""
    return {"file_root": data}


def has_credentials() -> bool:
    """Whether DALI finds credentials, or needs none. Without this check it waits for minutes."""
    if os.environ.get("DALI_GCS_ANONYMOUS") or os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return True
    saved = Path("~/.config/gcloud/application_default_credentials.json").expanduser()
    return saved.is_file() or not why_unreachable(_METADATA)


class Gs(Bucket):
    """Class folders of images in a bucket of Google Cloud Storage."""

    about = "class folders in a bucket of Google Cloud Storage"
    find = staticmethod(find_gs_objects)
    scheme = "gs"
    copy = "gcloud storage rsync -r {} photos"
    variables = "DALI_GCS_ENDPOINT_URL"
    remedies: ClassVar[Mapping[tuple[str, ...], str]] = {
        ("NOT_FOUND", "object not found"): "Check the names of the bucket and of what is in it",
        ("PERMISSION_DENIED", "UNAUTHENTICATED"): (
            "Check the application default credentials (`gcloud auth application-default login`, "
            "or GOOGLE_APPLICATION_CREDENTIALS in the environment), and that they may list the "
            "bucket and get its objects"
        ),
        ("DEADLINE_EXCEEDED", "UNAVAILABLE", "CURL error"): (
            "The endpoint does not answer as it should: try again, or check the network, and "
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


SOURCE = Gs()
