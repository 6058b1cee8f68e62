"""Why figures are to be distrusted, each cause once: many rows share what the machine did."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.bench.measuring.measurement import Measurement

_CORES = re.compile(r"(?<=kept )[0-9.]+")
"""The one figure in which flags of the same cause differ."""


def quality_flags(rows: Sequence[Measurement]) -> list[str]:
    """Each cause once, with the row it is of, or of how many."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for flag in row.flags or ["unstable"] * row.unstable:
            found.setdefault(_CORES.sub("", flag), []).append((row.name, flag))
    return [_in_words(same, len(rows)) for same in found.values()]


def _in_words(same: Sequence[tuple[str, str]], rows: int) -> str:
    name, flag = same[0]
    if len(same) == 1:
        return f"{name}: {flag}"
    cores = sorted({float(found[0]) for _, words in same if (found := _CORES.search(words))})
    if len(cores) > 1:
        flag = _CORES.sub(f"{cores[0]:.1f} … {cores[-1]:.1f}", flag)
    return f"{len(same)} of {rows} figures: {flag}"
