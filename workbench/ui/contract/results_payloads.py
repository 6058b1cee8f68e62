"""Payloads of the results panel. Each type is also in ``frontend/src/payloads.ts``."""

from __future__ import annotations

from typing import TypedDict


class ResultEntry(TypedDict):
    """Result in the list of the Results panel."""

    id: str
    kind: str
    """Name of the tool that created the result."""
    title: str
    verdict: str
    created: str
    """Time at which the result was created, in ISO 8601."""


class ShownTable(TypedDict):
    """Table of a result. All cells are texts."""

    title: str
    columns: list[str]
    numbers: list[bool]
    """For each column, True if it contains numbers, which are right-aligned."""
    rows: list[list[str]]
    more: int
    """Number of further rows, which are not sent."""


class ShownPicture(TypedDict):
    """Picture of a result."""

    caption: str
    source: str
    """``data:`` URL of the picture; empty if it is neither PNG nor JPEG."""


class ShownResult(TypedDict):
    """The selected result."""

    id: str
    title: str
    created: str
    sentences: list[str]
    tables: list[ShownTable]
    pictures: list[ShownPicture]
