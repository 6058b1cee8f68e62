"""Encode values as bytes (MessagePack) by their declared types. Nothing is pickled.

``msgspec`` encodes numbers, text, bytes, lists, tuples, mappings and dataclasses. This module adds
graphs (as in graph files), arrays, ranges, nested argument values, and classes that implement a
Protocol. ``Any`` accepts plain values, tuples and paths.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Any, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
from msgspec.msgpack import Ext

from workbench.engine.protocol.registry import find_registered, name_of
from workbench.graph.model import Graph, is_text
from workbench.graph.storage.io import graph_from_json, graph_to_json
from workbench.graph.user_functions.trust import without_untrusted

_TUPLE, _PATH, _TEXT, _ARRAY = 1, 2, 3, 4
"""MessagePack extension codes for types that MessagePack lacks."""
_ARRAY_WIRE = tuple[str, tuple[int, ...], bytes]
_SCALARS = {bool, int, float, str, NoneType}


class Codec:
    """Encodes and decodes values of one type."""

    def __init__(self, hint: Any) -> None:
        self._adapter = _adapter(hint)
        self._decoder = msgspec.msgpack.Decoder(self._adapter.wire, ext_hook=_from_ext)

    def encode(self, value: Any) -> bytes:
        """Return the value as bytes. Raises TypeError, ValueError or OverflowError."""
        plain = self._adapter.pack(value)
        try:
            return _encoder.encode(plain)
        except UnicodeEncodeError:
            return _encoder.encode(_escaped(plain))

    def decode(self, data: bytes | memoryview) -> Any:
        """Return the decoded value. Raises msgspec.DecodeError or ValueError for invalid bytes."""
        try:
            plain = self._decoder.decode(data)
        except msgspec.ValidationError:  # the decoder rejects escaped text
            loose = msgspec.msgpack.decode(data, ext_hook=_from_ext)
            plain = msgspec.convert(loose, self._adapter.wire)
        return self._adapter.unpack(plain)


@cache
def codec_of(hint: Any) -> Codec:
    """Return the codec of a type. Raises TypeError for an unsupported type."""
    return Codec(hint)


@cache
def arguments_codec(function: Callable[..., Any], count: int) -> Codec:
    """Return the codec for a tuple of the first ``count`` arguments of a task after ``worker``."""
    hints = get_type_hints(function)
    found = [hint for name, hint in hints.items() if name != "return"][1 : count + 1]
    if len(found) < count:
        raise TypeError(f"{name_of(function)} has {len(found)} arguments, but {count} were passed.")
    return codec_of(GenericAlias(tuple, tuple(found)))


@cache
def result_codec(function: Callable[..., Any]) -> Codec:
    """Return the codec of a task's result."""
    return codec_of(get_type_hints(function)["return"])


class _Adapter(NamedTuple):
    """Converts values of a type to ``wire``, a type that ``msgspec`` supports, and back."""

    wire: Any
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


def _pack_graph(graph: Graph) -> dict[str, Any]:
    """Convert a graph to JSON without untrusted code, because the worker would run that code."""
    return graph_to_json(without_untrusted(graph))


def _same(value: Any) -> Any:
    return value


@cache
def _adapter(hint: Any) -> _Adapter:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return _Adapter(Any, _pack_any, _same)
    if (meant := getattr(origin or hint, "__value__", None)) is not None:  # ``type X = ...``, as
        return _adapter(meant[parts] if parts else meant)  # NumPy's NDArray is from 2.5 on
    if hint is NoReturn:
        return _Adapter(None, _same, _same)
    if hint is Graph:
        return _Adapter(dict[str, Any], _pack_graph, graph_from_json)
    if hint is range:
        return _Adapter(tuple[int, int], lambda r: (r.start, r.stop), lambda ends: range(*ends))
    if hint is np.ndarray or origin is np.ndarray:
        return _Adapter(_ARRAY_WIRE, _pack_array, _unpack_array)
    if origin in (Union, UnionType):
        return _union(hint, parts)
    if getattr(hint, "_is_protocol", False):
        return _Adapter(tuple[str, bytes], _pack_sendable, _unpack_sendable)
    if is_dataclass(hint):
        return _dataclass(hint)
    if origin is tuple and parts[-1:] != (Ellipsis,):
        return _fixed(hint, [_adapter(part) for part in parts])
    if origin in (list, tuple, Sequence):
        return _sequence(hint, list if origin is list else tuple, _adapter(parts[0]))
    if origin in (dict, Mapping):
        return _mapping(hint, parts[0], _adapter(parts[1]))
    return _Adapter(hint, _same, _same)


def _is_native(*adapters: _Adapter) -> bool:
    return all(adapter.unpack is _same and adapter.pack is _same for adapter in adapters)


def _union(hint: Any, parts: Sequence[Any]) -> _Adapter:
    kinds = {get_origin(part) or part for part in parts}
    if tuple in kinds and {bool, int, float, str} <= kinds <= _SCALARS | {tuple}:
        return _Adapter(Any, _same, _argument_value)
    of = [_adapter(part) for part in parts]
    if _is_native(*of):
        return _Adapter(hint, _same, _same)
    if len(parts) != 2 or NoneType not in parts:
        raise TypeError(f"{hint} cannot be sent. Use a Protocol, and classes with @sendable.")
    (one,) = (adapter for part, adapter in zip(parts, of, strict=True) if part is not NoneType)
    return _Adapter(
        one.wire | None,
        lambda value: None if value is None else one.pack(value),
        lambda value: None if value is None else one.unpack(value),
    )


def _argument_value(value: Any) -> Any:
    """Convert lists to tuples, because argument values are immutable, or raise ValueError."""
    if isinstance(value, list):
        return tuple(_argument_value(item) for item in value)
    if type(value) not in _SCALARS:
        raise ValueError(f"{value!r} is not a valid argument value")
    return value


def _dataclass(kind: Any) -> _Adapter:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.init]
    of = [_adapter(hints[name]) for name in names]
    if _is_native(*of):
        return _Adapter(kind, _same, _same)
    return _Adapter(
        GenericAlias(tuple, tuple(adapter.wire for adapter in of)),
        lambda value: [
            adapter.pack(getattr(value, name)) for name, adapter in zip(names, of, strict=True)
        ],
        lambda plain: kind(
            *(adapter.unpack(item) for adapter, item in zip(of, plain, strict=True))
        ),
    )


def _fixed(hint: Any, items: list[_Adapter]) -> _Adapter:
    if _is_native(*items):
        return _Adapter(hint, _same, _same)
    return _Adapter(
        GenericAlias(tuple, tuple(adapter.wire for adapter in items)),
        lambda value: [adapter.pack(item) for adapter, item in zip(items, value, strict=True)],
        lambda plain: tuple(
            adapter.unpack(item) for adapter, item in zip(items, plain, strict=True)
        ),
    )


def _sequence(hint: Any, factory: type, of: _Adapter) -> _Adapter:
    if _is_native(of):
        return _Adapter(hint, _same, _same)
    return _Adapter(
        GenericAlias(list, (of.wire,)),
        lambda value: [of.pack(item) for item in value],
        lambda plain: factory(of.unpack(item) for item in plain),
    )


def _mapping(hint: Any, key: Any, of: _Adapter) -> _Adapter:
    if _is_native(of):
        return _Adapter(hint, _same, _same)
    return _Adapter(
        GenericAlias(dict, (key, of.wire)),
        lambda value: {name: of.pack(item) for name, item in value.items()},
        lambda plain: {name: of.unpack(item) for name, item in plain.items()},
    )


def _pack_array(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _unpack_array(plain: tuple[str, tuple[int, ...], bytes]) -> Any:
    dtype, shape, data = np.dtype(plain[0]), plain[1], plain[2]
    if dtype.hasobject or len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(data)} bytes are not an array of {dtype} {shape}")
    return np.frombuffer(data, dtype).reshape(shape).copy()


def _pack_sendable(value: Any) -> tuple[str, bytes]:
    name = name_of(type(value))
    return name, codec_of(find_registered(name)).encode(value)


def _unpack_sendable(plain: tuple[str, bytes]) -> Any:
    return codec_of(find_registered(plain[0])).decode(plain[1])


def _pack_any(value: Any) -> Any:
    """Convert a value to types of MessagePack. Extensions represent all other types."""
    if isinstance(value, str):
        return _escaped(value)
    if value is None or isinstance(value, bool | int | float | bytes | np.generic):
        return value
    if isinstance(value, list):
        return [_pack_any(item) for item in value]
    if isinstance(value, dict):
        return {_pack_any(key): _pack_any(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return Ext(_TUPLE, _encoder.encode([_pack_any(item) for item in value]))
    if isinstance(value, Path):
        return Ext(_PATH, os.fsencode(value))
    if isinstance(value, np.ndarray):
        return Ext(_ARRAY, _encoder.encode(_pack_array(value)))
    raise TypeError(
        f"Values of type {type(value).__qualname__!r} cannot be sent to or from the worker. Use "
        "numbers, strings, bytes, paths, arrays, and lists, tuples and dicts of these."
    )


def _from_ext(code: int, data: memoryview) -> Any:
    if code == _TUPLE:
        return tuple(msgspec.msgpack.decode(data, ext_hook=_from_ext))
    if code == _PATH:
        return Path(os.fsdecode(bytes(data)))
    if code == _TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    if code == _ARRAY:
        return _unpack_array(_array_decoder.decode(data))
    raise ValueError(f"{code} is an unknown extension")


def _escaped(value: Any) -> Any:
    """Replace texts that UTF-8 cannot encode (some file names) by MessagePack extensions."""
    if isinstance(value, str):
        return value if is_text(value) else Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, list | tuple):
        return [_escaped(item) for item in value]
    if isinstance(value, dict):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if is_dataclass(value):
        return {field.name: _escaped(getattr(value, field.name)) for field in fields(value)}
    return value


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str):  # of a custom class
        return str(value)
    raise TypeError(
        f"Values of type {type(value).__qualname__!r} cannot be sent to or from the worker. Use "
        "numbers and strings."
    )


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain_number)
_array_decoder = msgspec.msgpack.Decoder(_ARRAY_WIRE)
