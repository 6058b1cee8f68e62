"""Operators under the names that DALI had for them, opened as today's.

The first table is what DALI 2.4's own schemas say (``DeprecatedInFavorOf``), which a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from workbench.emit.pipeline_import.trace.traced import TracedOp

TODAY = {
    "AudioDecoder": "decoders__Audio",
    "COCOReader": "readers__COCO",
    "Caffe2Reader": "readers__Caffe2",
    "CaffeReader": "readers__Caffe",
    "CoinFlip": "random__CoinFlip",
    "FastResizeCropMirror": "ResizeCropMirror",
    "FileReader": "readers__File",
    "ImageDecoder": "decoders__Image",
    "ImageDecoderCrop": "decoders__ImageCrop",
    "ImageDecoderRandomCrop": "decoders__ImageRandomCrop",
    "ImageDecoderSlice": "decoders__ImageSlice",
    "MXNetReader": "readers__MXNet",
    "NemoAsrReader": "readers__NemoAsr",
    "NormalDistribution": "random__Normal",
    "NumpyReader": "readers__Numpy",
    "SequenceReader": "readers__Sequence",
    "TFRecordReader": "readers__TFRecord",
    "_TFRecordReader": "readers___TFRecord",
    "TransformTranslation": "transforms__Translation",
    "Uniform": "random__Uniform",
    "VideoReader": "readers__Video",
    "VideoReaderResize": "readers__VideoResize",
    "experimental__AudioResample": "AudioResample",
    "experimental__Debayer": "Debayer",
    "experimental__Equalize": "Equalize",
    "experimental__Filter": "Filter",
    "experimental__Inflate": "decoders__Inflate",
    "experimental__PeekImageShape": "PeekImageShape",
    "experimental__TensorResize": "TensorResize",
    "experimental__decoders__Image": "decoders__Image",
    "experimental__decoders__ImageCrop": "decoders__ImageCrop",
    "experimental__decoders__ImageRandomCrop": "decoders__ImageRandomCrop",
    "experimental__decoders__ImageSlice": "decoders__ImageSlice",
    "experimental__decoders__Video": "decoders__Video",
}
"""DALI's registry name -> that of the operator which does the same."""

APART = {"SSDRandomCrop", "Shapes", "readers__Sequence"}
"""Deprecated ones of which no other operator does the same."""


def with_todays_names(ops: Iterable[TracedOp]) -> tuple[TracedOp, ...]:
    """The same calls, by the names of today."""
    return tuple(replace(op, schema=TODAY[op.schema]) if op.schema in TODAY else op for op in ops)


def older_name_notes(ops: Iterable[TracedOp]) -> tuple[str, ...]:
    """One note that names the older operators among the calls, and what they opened as."""
    found = {op.schema: TODAY[op.schema] for op in ops if op.schema in TODAY}
    said = ", ".join(f"{old} as {_written(new)}" for old, new in sorted(found.items()))
    return (f"older names of DALI, opened as today's: {said}",) if said else ()


def _written(schema: str) -> str:
    return schema.replace("__", ".")
