"""Encode payloads as JSON and bytes, and create empty payloads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NotRequired, TypeVar, get_args, get_origin, get_type_hints

import msgspec

P = TypeVar("P")


def pack_payload(header: Mapping[str, Any], payload: bytes) -> bytes:
    """Pack metadata and bytes in one field: header length (u32, little-endian), JSON, bytes.

    Panel does not update several fields of a component atomically. Raises ValueError for numbers
    that JSON does not support.
    """
    plain = to_json(header)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return len(text).to_bytes(4, "little") + text + payload


def to_json(value: Any) -> Any:
    """Convert dataclasses in a payload to dicts, and NumPy numbers to Python numbers."""
    return msgspec.to_builtins(value, enc_hook=lambda number: number.item())


def empty(kind: type[P], /, **values: Any) -> P:
    """Return a payload of the TypedDict ``kind``; fields not in ``values`` are set to empty values.

    The empty value is None if the type allows it, the first value of a Literal, or an empty text,
    list or dict, zero, or False.
    """
    hints = get_type_hints(kind, include_extras=True)
    required = {name: hint for name, hint in hints.items() if get_origin(hint) is not NotRequired}
    made: Any = {name: _empty_value(hint) for name, hint in required.items()} | values
    if unknown := values.keys() - hints.keys():
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}.")
    found: P = made
    return found


def _empty_value(hint: Any) -> Any:
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    if type(None) in get_args(hint):
        return None
    return (get_origin(hint) or hint)() if hint is not Any else None
