"""Parse features of records, such as ``image/encoded: image``, ``score: float32[?, 4]``.

A text consists of the name of a TFRecord feature or WebDataset component, and its type:

=================  =============================================================================
``image``          one encoded image
``bytes``          one text, or other bytes: a uint8 array
``int64[3]``       TFRecord: that many numbers, also ``float32``. ``[]`` is a scalar, and ``[?]``
                   any length; without brackets it is one number, ``[1]``
``digits``         WebDataset: an integer written in digits, as in ``cls``
``npy``            WebDataset: an array written by NumPy
``float32[?]``     WebDataset: numbers in binary form, of any type from ``int8`` to ``float64``
=================  =============================================================================
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from keyword import iskeyword
from typing import Any, NamedTuple

RECORD_TYPES = ("image", "bytes", "int64", "float32")
"""Types of TFRecord features."""
COMPONENT_TYPES = (
    *("image", "bytes", "digits", "npy", "int8", "uint8", "int16", "uint16", "int32", "uint32"),
    *("int64", "uint64", "float16", "float32", "float64"),
)
"""Types of WebDataset components."""
TYPES = {
    "readers.tfrecord_features": RECORD_TYPES,
    "readers.webdataset_features": COMPONENT_TYPES,
}
"""Feature types that a reader supports, for each reader whose argument ``features`` names outputs.
"""
_ROW = re.compile(r"(?P<name>.*\S)\s*:\s*(?P<type>\w+)\s*(\[(?P<shape>[^\[\]]*)\])?\s*")
_LABEL = re.compile(r"label|class|target|cls|categor", re.IGNORECASE)


class Feature(NamedTuple):
    """A feature of a record: its name, its type, and the sizes of its axes (None for any size)."""

    name: str
    type: str
    shape: tuple[int | None, ...] = ()

    @property
    def is_label(self) -> bool:
        """Whether the feature is one integer whose name describes a class."""
        single = self.shape in ((), (1,)) and self.type in ("int64", "digits")
        return single and bool(_LABEL.search(self.name))

    def __str__(self) -> str:
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        plain = self.shape == (1,) or self.type in ("image", "bytes", "digits", "npy")
        return f"{self.name}: {self.type}" + f"[{sizes}]" * (not plain)


def parse_feature(text: object, types: Collection[str]) -> Feature:
    """Parse one declaration. Raises ValueError with the value found and the values allowed."""
    found = _ROW.fullmatch(text) if isinstance(text, str) else None
    example = "image/encoded: image" if "npy" not in types else "jpg;png: image"
    if found is None:
        raise ValueError(f"{text!r} is not a name and a type. Write {example!r}")
    name, kind, sizes = found["name"], found["type"], found["shape"]
    if kind not in types:
        raise ValueError(f"{kind!r} is not a type for the feature {name!r}. Use {', '.join(types)}")
    if kind not in RECORD_TYPES[2:] and kind not in COMPONENT_TYPES[4:]:
        if sizes is not None:
            raise ValueError(f"{kind} has no sizes in brackets. Write '{name}: {kind}'")
        return Feature(name, kind)
    if "npy" in types:
        if sizes not in (None, "?"):
            raise ValueError(
                f"the size of {name!r} is [{sizes}], but a reader does not know it in advance. "
                "Use [?]"
            )
        return Feature(name, kind, (None,))
    if sizes is None:
        return Feature(name, kind, (1,))
    try:
        shape = tuple(
            None if size == "?" else int(size) for size in sizes.replace(" ", "").split(",") if size
        )
    except ValueError:
        shape = (0,)
    if any(size is not None and size < 1 for size in shape) or None in shape[1:]:
        raise ValueError(
            f"[{sizes}] is not a list of sizes of {name!r}. Use positive integers; the first may "
            "be ?, for any size"
        )
    return Feature(name, kind, shape)


def features_in(texts: Any, types: Collection[str]) -> list[Feature]:
    """Return the valid features of a graph's argument, in order."""
    found = []
    for text in texts if isinstance(texts, tuple) else ():
        try:
            found.append(parse_feature(text, types))
        except ValueError:
            continue  # reported as a fault of the graph
    return found


def output_names(features: Iterable[Feature]) -> list[str]:
    """Return a valid and unique output name for each feature: image_encoded for ``image/encoded``.

    If a component has alternatives, such as ``jpg;png``, the first one is used.
    """
    names: list[str] = []
    for feature in features:
        first = feature.name.split(";")[0] if feature.type != "int64" else feature.name
        name = re.sub(r"\W+", "_", first, flags=re.ASCII).strip("_") or "feature"
        if name[0].isdigit() or iskeyword(name):
            name = f"feature_{name}"
        number, unique = 1, name
        while unique in names:
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return names


def guess_note(noun: str, chosen: list[str], others: list[str], place: str) -> str:
    """Return a note about features that were found by their content, and about unread ones."""
    shown = ", ".join(others[:4]) + f" and {len(others) - 4} more" * (len(others) > 4)
    return (
        f"the {noun} {' and '.join(chosen)} were found by their content; not read: {shown}. Open "
        f"{place} to read {noun} by name."
    )
