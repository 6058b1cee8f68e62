"""How a rate is told: images, or where samples are sequences these and their frames."""

from __future__ import annotations


def rate_unit(frames: int) -> str:
    """``imgs/s``; of samples that are sequences of ``frames`` frames ``sequences/s``."""
    return "sequences/s" if frames else "imgs/s"


def rate_figure(rate: float, frames: int) -> str:
    """The number alone: ``1,234``, or of sequences, which are few, ``12.3``."""
    return f"{rate:,.{1 if frames and rate < 1000 else 0}f}"


def rate_words(rate: float, frames: int) -> str:
    """``1,234 imgs/s``, or ``12.3 sequences/s, 98 frames/s``."""
    words = f"{rate_figure(rate, frames)} {rate_unit(frames)}"
    return f"{words}, {rate * frames:,.0f} frames/s" if frames else words
