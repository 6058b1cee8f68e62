"""WebDataset archives in a bucket: ``s3://bucket/a.tar``, ``gs://bucket/{000..009}.tar``.

DALI 2.4 reads them and the index (``wds2idx``) beside each, named ``.idx``, by itself. Every
archive needs an index: without it DALI fetches all of the archive before the first batch. Each
sample has an image and a label, the component ``cls``. The samples are not listed or counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset
from workbench.sources.kinds._bucket import Bucket
from workbench.sources.kinds.gs import SOURCE as GS
from workbench.sources.kinds.records.webdataset import SOURCE as WEBDATASET
from workbench.sources.kinds.records.webdataset import read_shards
from workbench.sources.kinds.s3 import SOURCE as S3

_CLOUDS: Mapping[str, Bucket] = {"s3": S3, "gs": GS}


def list_remote_shards(data: str) -> list[str]:
    """The archives that a name such as ``s3://bucket/{000..009}.tar`` stands for."""
    numbers = re.search(r"\{(\d+)\.\.(\d+)\}", data)
    if numbers is None:
        return [data]
    first, last = numbers.groups()
    return [
        f"{data[: numbers.start()]}{number:0{len(first)}}{data[numbers.end() :]}"
        for number in range(int(first), int(last) + 1)
    ]


def find_remote_shards(data: str) -> dict[str, Any]:
    """Arguments of the WebDataset reader for archives in a bucket, with an index beside each."""
    paths = list_remote_shards(data)
    return {
        "paths": paths,
        "index_paths": [f"{path.removesuffix('.tar')}.idx" for path in paths],
        "ext": ["jpg;jpeg;png;bmp;tif;tiff;pnm;ppm;pgm;pbm;jp2;webp", "cls"],
        "missing_component_behavior": "error",
    }


class RemoteWebDataset(Bucket):
    """Images with a class each in tar archives in a bucket."""

    about = "WebDataset archives in a bucket"
    op = "readers.webdataset"
    located_by = WEBDATASET.located_by
    find = staticmethod(find_remote_shards)
    reader = staticmethod(read_shards)
    helpers: tuple[Any, ...] = (list_remote_shards,)
    imports: tuple[str, ...] = ("re",)

    def _cloud(self, dataset: Dataset) -> Bucket:
        return _CLOUDS[dataset.location.partition("://")[0]]

    def require(self, dataset: Dataset) -> None:
        place = dataset.location
        if not re.fullmatch(r"(s3|gs)://[^/]+/.+\.tar", place):
            raise DataError(
                f"{place} is no archive in a bucket. Give s3://BUCKET/NAME.tar or gs://BUCKET/"
                "NAME.tar, several as NAME-{000..009}.tar."
            )
        self._cloud(dataset).require_reachable(place)

    def explain(self, dataset: Dataset, said: str) -> str:
        if ".idx" in said and ("not found" in said or "NoSuchKey" in said):
            archive = list_remote_shards(dataset.location)[0]
            index = f"{archive.removesuffix('.tar')}.idx"
            return (
                f"{dataset.location} cannot be read: an archive has no index. Make it where the "
                f"archive is a file (`wds2idx a.tar a.idx`), and copy it beside it, as {index}."
            )
        if "component" in said:
            return (
                f"{dataset.location} cannot be read: a sample has no image or no label. Each needs "
                "an image (0.jpg) and digits as its label (0.cls)."
            )
        return self._cloud(dataset).explain(dataset, said)

    def nothing_found(self, dataset: Dataset) -> str:
        return WEBDATASET.nothing_found(dataset)


SOURCE = RemoteWebDataset()
