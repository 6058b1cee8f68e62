"""Pixels and what they mean in one field: header length (u32, little-endian), JSON header, bytes.

Panel does not update several fields of a component at once, so they travel together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec


def pack_payload(header: Mapping[str, Any], payload: bytes) -> bytes:
    """Header and payload in one piece. Raises ValueError for a number that JSON has not."""
    plain = to_json(header)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return len(text).to_bytes(4, "little") + text + payload


def to_json(value: Any) -> Any:
    """A payload with the dataclasses in it as dicts, and NumPy's numbers as Python's."""
    return msgspec.to_builtins(value, enc_hook=lambda number: number.item())
