"""Names: a free one, the known one that a wrong one may mean, several in a sentence, long texts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence


def free_name(wanted: str, taken: Container[str]) -> str:
    """``wanted``, or with the smallest number from 2 on behind it that is not ``taken``."""
    number, name = 2, wanted
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", cutoff: float = 0.6) -> str:
    """A sentence that names the nearest known name, else ``otherwise``.

    ``cutoff`` is how alike two names must be, from 0 to 1, as of ``difflib.get_close_matches``.
    """
    from difflib import get_close_matches  # not before it is needed: the import is to be light

    near = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return f"Did you mean {near[0]}?" if near else otherwise


def shortened(text: str, most: int) -> str:
    """The text, cut to a maximum length with an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def listed(words: Sequence[str]) -> str:
    """``resize, flip and crop``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
