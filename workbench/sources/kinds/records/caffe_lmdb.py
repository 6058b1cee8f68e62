"""LMDB of Caffe: a folder with ``data.mdb``, whose values are ``Datum`` with an encoded image."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.sources.kinds.records._lmdb import Lmdb, Place, fields, first_value

_DATA, _LABEL, _ENCODED = 4, 5, 7


def find_caffe_lmdb(data: str) -> dict[str, Any]:
    """Arguments of the LMDB reader for a folder with data.mdb."""
    return {"path": os.path.abspath(data)}


class CaffeLmdb(Lmdb):
    """A database of Caffe."""

    about = "LMDB of Caffe (a folder with data.mdb)"
    op = "readers.caffe"
    find = staticmethod(find_caffe_lmdb)
    precedence = 4
    sample = "caffe"

    def place_of(self, datum: bytes) -> Place | str:
        """Where the image of a ``Datum`` is, and its label, or why it has none."""
        found = fields(datum)
        if _DATA not in found:
            return "its Datum has no data"
        if not found.get(_ENCODED, (0, 0))[0]:
            return "its Datum holds pixels, no encoded image: convert with --encoded"
        return (*found[_DATA], found.get(_LABEL, (0, 0))[0])

    def accepts(self, path: Path) -> bool:
        try:
            return not isinstance(self.place_of(first_value(path)), str)
        except (IndexError, ValueError):
            return False


SOURCE = CaffeLmdb()
