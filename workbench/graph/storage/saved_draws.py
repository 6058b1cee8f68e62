"""Draws worth keeping: what must be set to see them again. Stored beside the graph, never in it.

In a graph file they are one more entry, which says nothing about what runs::

    "draws": [{"seed": 42, "batch": 3, "batch_size": 64, "sample": 5, "repeat": null,
               "note": "cat_017.jpg, hardly to be seen"}]
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

MOST_SAVED = 100
_LONGEST_NOTE = 200


@dataclass(frozen=True, slots=True)
class SavedDraw:
    """A batch of draws, or one sample of it.

    Draws depend on the seed, the batch and, from batch 1 on, on the batch size. ``sample`` is the
    place in the batch of the one that is meant, or None for all of it; ``repeat`` the place of the
    photo that stood at every place, or None. A file may hold any batch and place;
    whether they can be shown is said where they are asked for.
    """

    seed: int
    batch: int
    batch_size: int
    sample: int | None = None
    repeat: int | None = None
    note: str = ""


def draws_to_json(draws: tuple[SavedDraw, ...]) -> list[dict[str, Any]]:
    """Kept draws as JSON values."""
    return [asdict(draw) for draw in draws]


def draws_from_json(data: Any) -> tuple[SavedDraw, ...]:
    """The readable ones: what cannot be read is passed over, it must not cost anyone the graph."""
    entries = data if isinstance(data, list) else []
    found = [_draw(entry) for entry in entries[:MOST_SAVED] if isinstance(entry, dict)]
    return tuple(draw for draw in found if draw is not None)


def _draw(entry: dict[str, Any]) -> SavedDraw | None:
    match entry:
        case {"seed": seed, "batch": batch, "batch_size": size}:
            sample, repeat, note = (entry.get(name) for name in ("sample", "repeat", "note"))
        case _:
            return None
    if not all(map(_whole, (seed, batch, size))) or size == 0:
        return None
    if not all(place is None or _whole(place) for place in (sample, repeat)):
        return None
    words = note[:_LONGEST_NOTE] if isinstance(note, str) else ""
    return SavedDraw(seed, batch, size, sample, repeat, words)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
