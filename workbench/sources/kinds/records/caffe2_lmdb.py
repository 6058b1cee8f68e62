"""LMDB of Caffe2: a folder with ``data.mdb``, whose values are ``TensorProtos``.

The first tensor is a string, the encoded image, the second a 32-bit number, its label.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.sources.kinds.records._example_records import fields_of
from workbench.sources.kinds.records._lmdb import FILE, Lmdb, Place, fields

_TYPE, _NUMBERS, _STRING = 2, 4, 6
_IS_STRING = 4
"""Caffe2's number of the type."""


def find_caffe2_lmdb(data: str) -> dict[str, Any]:
    """Arguments of the LMDB reader for a folder with data.mdb."""
    return {"path": os.path.abspath(data)}


class Caffe2Lmdb(Lmdb):
    """A database of Caffe2."""

    about = "LMDB of Caffe2 (a folder with data.mdb)"
    op = "readers.caffe2"
    find = staticmethod(find_caffe2_lmdb)
    precedence = 3
    sample = "caffe2"

    def place_of(self, tensors: bytes) -> Place | str:
        """Where the image of ``TensorProtos`` is, and its label, or why there is none."""
        found = [fields(tensors, *place) for _, *place in fields_of(tensors, 0, len(tensors))]
        if not found or found[0].get(_TYPE, (0, 0))[0] != _IS_STRING or _STRING not in found[0]:
            return "its first tensor is no string, as which an encoded image is kept"
        if len(found) < 2 or _NUMBERS not in found[1]:
            return "its second tensor has no label of 32 bits"
        begin, end = found[1][_NUMBERS]
        if begin == end:
            return (*found[0][_STRING], begin)
        packed = fields(
            b"\x08" + tensors[begin:end]
        )  # several in one field, of which the first counts
        return (*found[0][_STRING], packed[1][0])

    def accepts(self, path: Path) -> bool:
        """Any LMDB but Caffe's, which comes first: so what is wrong with it is told."""
        return os.path.isfile(path / FILE)


SOURCE = Caffe2Lmdb()
