"""The seeds that DALI gives to operators that have none of their own.

A pipeline hands them out in turn, to the calls in the order in which it holds them, from a sequence
that begins at its own seed (``Pipeline::PrepareOpSpec`` of DALI 2.4).
"""

from __future__ import annotations

from functools import lru_cache

COUNT = 1024
"""DALI makes so many, and begins again after the last (``MAX_SEEDS``)."""
_WORD = 0xFFFFFFFF


@lru_cache(maxsize=16)  # between two edits a graph's are asked for many times
def drawn_seeds(seed: int) -> tuple[int, ...]:
    """The seeds that a pipeline of this seed hands out: 1024 numbers of 32 bits.

    They are those of C++'s ``std::seed_seq{seed}``: [rand.util.seedseq] of the standard, whose
    names stand here.
    """
    n, s, v = COUNT, 1, seed & _WORD
    t = 11  # for n >= 623
    p = (n - t) // 2
    q = p + t
    words = [0x8B8B8B8B] * n
    for k in range(n):
        mixed = _mix(words[k] ^ words[(k + p) % n] ^ words[k - 1])
        r1 = 1664525 * mixed & _WORD
        r2 = r1 + (s if k == 0 else k + v if k <= s else k) & _WORD
        words[(k + p) % n] = words[(k + p) % n] + r1 & _WORD
        words[(k + q) % n] = words[(k + q) % n] + r2 & _WORD
        words[k] = r2
    for k in range(n):
        mixed = _mix(words[k] + words[(k + p) % n] + words[k - 1] & _WORD)
        r3 = 1566083941 * mixed & _WORD
        r4 = r3 - k & _WORD
        words[(k + p) % n] ^= r3
        words[(k + q) % n] ^= r4
        words[k] = r4
    return tuple(words)


def _mix(word: int) -> int:
    return word ^ word >> 27
