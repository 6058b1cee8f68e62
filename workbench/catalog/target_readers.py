"""Readers that also give targets, which the workbench makes of what DALI's readers give.

None is an operator of DALI; ``SourceKind.reader`` of the kind that reads with it is its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.spec import OpSpec, OutputRule, PortSpec
from workbench.sources import kind_of_reader, load_source

_IMAGES = PortSpec("jpegs", "encoded", gives=OutputRule("UINT8", "", (None,)))
_MASKS = PortSpec("masks", "mask", gives=OutputRule("INT32", "HWC", (None, None, 1)))
_READERS = (
    (
        *("readers.image_masks", "readers.file", "Read images with masks"),
        (_IMAGES, _MASKS),
        ("segmentation masks", "VOC", "semantic segmentation", "image mask pairs"),
    ),
)
"""Name, DALI's reader that it calls, label, outputs, synonyms."""


def target_readers(ops: Mapping[str, OpSpec]) -> dict[str, OpSpec]:
    """By name. Their options are those of DALI's reader, but for what says where the data lie."""
    made = {}
    for name, reader, label, outputs, synonyms in _READERS:
        if reader not in ops:
            continue
        located = load_source(kind_of_reader(name)).located_by
        args = {key: arg for key, arg in ops[reader].args.items() if key not in located}
        made[name] = replace(
            ops[reader],
            name=name,
            schema=name,
            outputs=outputs,
            args=args,
            mutually_exclusive=(),
            doc=f"{label}, as {reader} reads images.",
            summary=f"{label}, as {reader} reads images.",
            label=label,
            synonyms=synonyms,
        )
    return made
