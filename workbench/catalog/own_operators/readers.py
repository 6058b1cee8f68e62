"""Readers that are no operators of DALI: of images in Python, and those that also give targets.

``SourceKind.reader`` of the kind that reads with one is its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.catalog.spec import OpSpec, OutputRule, PortSpec
from workbench.sources import kind_of_reader, load_source

PYTHON_READER = "external_source"
_IMAGES = PortSpec("jpegs", "encoded", gives=OutputRule("UINT8", "", (None,)))
_BOXES = PortSpec("boxes", "boxes", gives=OutputRule("FLOAT", "", (None, 4)))
_CLASSES = PortSpec("labels", "label", gives=OutputRule("INT32", "", (None,)))
_ROWS = PortSpec(
    *("polygons", "number"), needs="polygon_masks", gives=OutputRule("INT32", "", (None, 3))
)
_POINTS = PortSpec(
    *("vertices", "points"), needs="polygon_masks", gives=OutputRule("FLOAT", "", (None, 2))
)
_MASKS = PortSpec("masks", "mask", gives=OutputRule("INT32", "HWC", (None, None, 1)))
_READERS = (
    (
        *("readers.image_masks", "readers.file", "Read images with masks"),
        (_IMAGES, _MASKS),
        ("segmentation masks", "VOC", "semantic segmentation", "image mask pairs"),
        (),
    ),
    (
        *("readers.webdataset_masks", "readers.webdataset", "Read WebDataset with masks"),
        (_IMAGES, _MASKS),
        ("segmentation masks",),
        (),
    ),
    (
        *("readers.tfrecord_boxes", "readers.tfrecord", "Read TFRecord with boxes"),
        (_IMAGES, _BOXES, _CLASSES, _ROWS, _POINTS),
        ("object detection", "TensorFlow detection", "key points"),
        ("ltrb", "ratio", "polygon_masks"),
    ),
    (
        *("readers.webdataset_boxes", "readers.webdataset", "Read WebDataset with boxes"),
        (_IMAGES, _BOXES, _CLASSES, _ROWS, _POINTS),
        ("object detection", "key points"),
        ("ltrb", "ratio", "polygon_masks"),
    ),
)
"""Name, DALI's reader that it calls, label, outputs, synonyms, options as of COCO's reader."""
TARGET_READERS = frozenset(row[0] for row in _READERS)


def target_readers(ops: Mapping[str, OpSpec]) -> dict[str, OpSpec]:
    """By name. Their options are those of DALI's reader, but for what says where the data lie."""
    made = {}
    for name, reader, label, outputs, synonyms, more in _READERS:
        if reader not in ops:
            continue
        located = load_source(kind_of_reader(name)).located_by
        args = {key: arg for key, arg in ops[reader].args.items() if key not in located}
        args |= {key: ops["readers.coco"].args[key] for key in more}
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


def python_reader(file_reader: OpSpec) -> OpSpec:
    """The operator as a source: what it gives and takes is as of DALI's file reader."""
    options = load_source(kind_of_reader(PYTHON_READER)).options or frozenset()
    summary = "Reads arrays, encoded bytes, PIL images and data sets that a Python function gives."
    return replace(
        file_reader,
        name=PYTHON_READER,
        schema="ExternalSource",
        args={name: arg for name, arg in file_reader.args.items() if name in options},
        mutually_exclusive=(),
        doc=summary,
        summary=summary,
        label="Images in Python",
        synonyms=("numpy", "array", "Dataset", "Hugging Face", "DataFrame", "Parquet", "generator"),
    )
