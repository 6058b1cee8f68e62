"""WAV files whose samples are floats, which DALI decodes to silence unless dtype is FLOAT."""

from __future__ import annotations

import struct
from collections.abc import Mapping

SOUND_HEAD = 4096
"""Bytes in which a WAV describes its samples."""
_FLOAT, _EXTENSIBLE = 3, 0xFFFE
"""Format codes of WAV."""


def float_rate(head: bytes) -> int:
    """The sample rate of a WAV of floats by its beginning; 0 for other sounds."""
    at = head.find(b"fmt ") + 8
    if head[:4] not in (b"RIFF", b"RF64") or not 8 < at <= len(head) - 26:
        return 0
    code, _, rate = struct.unpack_from("<HHI", head, at)
    if code == _EXTENSIBLE:
        (code,) = struct.unpack_from("<H", head, at + 24)
    return int(rate) if code == _FLOAT else 0


def decodes_to_silence(rate: int, args: Mapping[str, object]) -> bool:
    """Whether ``decoders.audio`` with these arguments decodes a WAV of floats to silence.

    ``rate`` is its sample rate, 0 for other sounds.
    """
    resamples = args.get("sample_rate", rate) != rate
    return bool(rate) and args.get("dtype") in ("INT16", "INT32") and not resamples
