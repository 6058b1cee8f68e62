"""Data on other machines: which places DALI reads, and what to do about the others."""

from __future__ import annotations

import re

from workbench.errors import DataError

REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")
"""How a place on another machine begins."""


def require_readable(place: str) -> str:
    """A remote place that DALI reads. Raises DataError, with the remedy, for another."""
    if place.startswith("s3://"):
        return place
    remedy = "Copy the data here, or mount them as a folder"
    if place.startswith("gs://"):
        bucket = place.removeprefix("gs://")
        remedy = (
            f"Copy the data here (gcloud storage rsync -r {place} photos), mount the bucket "
            f"(gcsfuse), or give s3://{bucket} with AWS_ENDPOINT_URL=https://storage.googleapis.com"
            " and an HMAC key"
        )
    raise DataError(f"{place}: DALI's readers read files and s3://, nothing else. {remedy}.")
