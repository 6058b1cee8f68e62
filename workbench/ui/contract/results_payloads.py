"""Payloads of the results panel. Each type is also in ``frontend/src/payloads.ts``."""

from __future__ import annotations

from typing import TypedDict


class ResultEntry(TypedDict):
    """Result in the list."""

    id: str
    kind: str
    """Name of the tool."""
    title: str
    verdict: str
    created: str
    """Time as ISO 8601."""


class ShownTable(TypedDict):
    """Table of a result. Cells are text."""

    title: str
    columns: list[str]
    numbers: list[bool]
    """Whether the column has numbers, which are aligned to the right."""
    rows: list[list[str]]
    more: int
    """Number of rows that are not sent."""


class ShownPicture(TypedDict):
    """Picture of a result."""

    caption: str
    source: str
    """Data URL; empty if the bytes are neither PNG nor JPEG."""


class ShownResult(TypedDict):
    """The result that is shown."""

    id: str
    title: str
    created: str
    sentences: list[str]
    tables: list[ShownTable]
    pictures: list[ShownPicture]
