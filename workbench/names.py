"""Create and suggest names, and join or truncate texts for messages."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence


def free_name(preferred: str, taken: Container[str]) -> str:
    """Return ``preferred``, or ``preferred_2``, ``preferred_3``, ... if it is in ``taken``."""
    number, name = 2, preferred
    while name in taken:
        name, number = f"{preferred}_{number}", number + 1
    return name


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """Return a sentence that suggests the nearest known name, or ``otherwise`` if none is near.

    ``cutoff`` is the minimum similarity from 0 to 1, as in ``difflib.get_close_matches``. Case is
    ignored.
    """
    from difflib import get_close_matches  # imported late to keep ``import workbench`` fast

    names = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), names, n=1, cutoff=cutoff)
    return f"Did you mean {names[near[0]]}?" if near else otherwise


def shortened(text: str, length: int) -> str:
    """Truncate a text to at most ``length`` characters, including an ellipsis."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def join_words(words: Sequence[str]) -> str:
    """Join words with commas and "and": ``resize, flip and crop``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def side_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs (left, right) of names that differ only in their side, in order."""
    spaced = {_spaced_lowercase(name): name for name in names}
    swapped = {plain: _SIDE.sub(lambda found: _OTHER[found[0]], plain) for plain in spaced}
    return [
        (spaced[left], spaced[right])
        for left, right in swapped.items()
        if right in spaced and left != right and _SIDE.findall(left)[0] in ("left", "l")
    ]


_SIDE = re.compile(r"(?<![a-z])(left|right|l|r)(?![a-z])")
_OTHER = {"left": "right", "right": "left", "l": "r", "r": "l"}


def _spaced_lowercase(name: str) -> str:
    """Normalise ``leftEye``, ``left_eye`` and ``Left-Eye`` to ``left eye``."""
    return re.sub(r"[_\-.]", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).lower()
