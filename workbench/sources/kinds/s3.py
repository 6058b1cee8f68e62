"""Class folders of images in an S3 bucket: ``s3://bucket/photos``, which DALI reads by itself.

Endpoint, region and credentials are those of the environment, as of the AWS command line:
``AWS_ENDPOINT_URL``, ``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``. The objects
are read, not listed: they are not counted, and none is excluded.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from workbench.sources.kinds._bucket import Bucket, host_and_port


def find_objects(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders in a bucket."""
    return {"file_root": data}


class S3(Bucket):
    """Class folders of images in a bucket."""

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
            "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, where there is one, "
            "AWS_SESSION_TOKEN in the environment, and that they may list the bucket and get its "
            "objects"
        ),
        ("curlCode", "Unable to connect", "SlowDown", "InternalError", "ServiceUnavailable"): (
            "The endpoint does not answer as it should: try again, or check the network, and "
            "AWS_ENDPOINT_URL in the environment"
        ),
    }

    def endpoint(self) -> tuple[str, int]:
        url = os.environ.get("AWS_ENDPOINT_URL")
        if not url:
            region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
            url = f"https://s3.{region or 'us-east-1'}.amazonaws.com"
        return host_and_port(url)


SOURCE = S3()
