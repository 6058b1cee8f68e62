"""What is the same for every LMDB of images, whatever its values are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.sources import SourceKind
from workbench.sources.kinds.records._lmdb import (
    CUT,
    Place,
    list_images,
    no_images,
    require_images,
    root_of,
)
from workbench.sources.kinds.records._lmdb_copy import leave_out


def lmdb_kind(
    name: str,
    op: str,
    find: Callable[[str], dict[str, Any]],
    place_of: Callable[[bytes], Place | str],
    accepts: Callable[[Path], bool],
    precedence: int,
    sample: str,
    write_placeholder: Callable[[Path], Path],
) -> SourceKind:
    """The kind whose values hold an image where ``place_of`` says, or none for the reason given."""
    return SourceKind(
        about=f"LMDB of {name} (a folder with data.mdb)",
        op=op,
        located_by=frozenset({"path"}),
        find=find,
        unread={"path": ["lmdb"]},
        imports=("os",),
        accepts=accepts,
        precedence=precedence,
        require=lambda dataset: require_images(dataset, place_of),
        list_samples=lambda dataset: list_images(dataset, place_of),
        root=root_of,
        leave_out=leave_out,
        holder=lambda name: name.rpartition(" at key ")[0],
        class_names=lambda dataset: [],
        watched=lambda dataset: iter([dataset.location]),
        nothing_found=no_images,
        sample=sample,
        looks_ahead=True,
        ends_process=CUT,
        write_placeholder=write_placeholder,
    )
