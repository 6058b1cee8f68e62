"""The text of an index, such as ``:, 3:9`` or ``0``: read, and written as Python has it."""

from __future__ import annotations

import re

Index = tuple[int | slice, ...]
"""For each axis, from the first, a place or a range."""

_NUMBER = r"\s*([+-]?\d{1,10})?\s*"
_PLACE = re.compile(r"\s*([+-]?\d{1,10})\s*")
_RANGE = re.compile(f"{_NUMBER}:{_NUMBER}(?::{_NUMBER})?")
_MOST_AXES = 16
"""More than DALI's slicing takes."""


def parse_index(text: str) -> Index:
    """The index of a text. Raises ValueError, with a remedy, for anything else."""
    items = text.split(",")
    if not items[-1].strip() and len(items) > 1:
        items.pop()
    if len(items) > _MOST_AXES:
        raise ValueError(f"it has {len(items)} parts; {_MOST_AXES} are the limit")
    return tuple(_item(item) for item in items)


def _item(text: str) -> int | slice:
    if place := _PLACE.fullmatch(text):
        return int(place[1])
    if ends := _RANGE.fullmatch(text):
        low, high, step = (None if end is None else int(end) for end in ends.groups())
        if step == 0:
            raise ValueError("a step of 0 goes nowhere")
        return slice(low, high, step)
    if text.strip() == "...":
        raise ValueError("DALI takes no ... : write a : for each axis")
    shown = text.strip()
    raise ValueError(f"{shown if len(shown) <= 30 else shown[:27] + '...'!r} is no place or range")


def index_text(index: Index) -> str:
    """Python's text of an index, made of numbers alone."""
    return ", ".join(
        _slice_text(item) if isinstance(item, slice) else str(int(item)) for item in index
    )


def _slice_text(item: slice) -> str:
    ends = ["" if end is None else str(int(end)) for end in (item.start, item.stop)]
    return ":".join(ends if item.step is None else [*ends, str(int(item.step))])
