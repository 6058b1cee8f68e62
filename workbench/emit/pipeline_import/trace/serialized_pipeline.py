"""Parse a serialised pipeline (a ``.dali`` file) into calls, without running it and without DALI.

The file contains DALI's protobuf message ``PipelineDef``. The field numbers were determined from
files written by DALI 2.4; unused fields are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from workbench.catalog.spec import Device, Value
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    TracedInput,
    TracedOp,
    TracedPipeline,
)
from workbench.errors import PipelineFormatError

LARGEST = 64 * 2**20
"""Maximum file size in bytes. A pipeline of a thousand calls has 1 MiB."""

_MESSAGES: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "Argument": {
        "name": (1, "bytes"),
        "type": (2, "bytes"),
        "floats": (3, "float*"),
        "ints": (4, "int64*"),
        "strings": (5, "bytes*"),
        "bools": (6, "bool*"),
        "items": (7, "Argument*"),
        "is_list": (8, "bool"),
    },
    "Edge": {
        "name": (1, "bytes"),
        "device": (2, "bytes"),
        "is_argument": (3, "bool"),
        "argument": (4, "bytes"),
    },
    "Operator": {
        "schema": (1, "bytes"),
        "inputs": (2, "Edge*"),
        "outputs": (3, "Edge*"),
        "args": (4, "Argument*"),
        "name": (5, "bytes"),
    },
    "Pipeline": {
        "num_threads": (1, "int64"),
        "batch_size": (2, "int64"),
        "ops": (5, "Operator*"),
        "outputs": (7, "Edge*"),
        "device_id": (8, "int64"),
        "seed": (9, "int64"),
        "prefetch_queue_depth": (13, "int64"),
    },
}
"""Number and type of each field, by message and field name. A star marks a repeated field."""

_NO_GPU = -99999
_STACK = "_origin_stack_"
_LEFT_OUT = frozenset({"device", "_module", "_display_name", "preserve_name"})


def read_pipeline(data: bytes) -> TracedPipeline:
    """Parse a pipeline serialised by DALI.

    DALI stores float arguments as float32; they are returned as the shortest decimal with the same
    float32 value. Raises PipelineFormatError for anything else, such as random bytes, a truncated
    file, or calls whose inputs no call produces.
    """
    if len(data) > LARGEST:
        raise PipelineFormatError(
            f"The pipeline has {len(data)} bytes; at most {LARGEST} are allowed. Use a .dali file."
        )
    message = _parse(data)
    for field in ("batch_size", "num_threads", "device_id", "prefetch_queue_depth"):
        if not message.HasField(field):
            raise PipelineFormatError(_damaged(f"it has no {field}"))
    ops = tuple(_op(op) for op in message.ops)
    outputs = tuple(_input(edge) for edge in message.outputs)
    _require_joined(ops, outputs)
    device_id = message.device_id
    return TracedPipeline(
        ops=ops,
        outputs=outputs,
        batch_size=message.batch_size,
        num_threads=message.num_threads,
        seed=message.seed if message.HasField("seed") and message.seed >= 0 else None,
        device_id=None if device_id == _NO_GPU else device_id,
        prefetch_queue_depth=message.prefetch_queue_depth,
    )


def _damaged(why: str) -> str:
    return (
        f"This is not a pipeline serialised by DALI, or it is truncated: {why}. Write it again "
        "with pipe.serialize(filename=...)."
    )


def _parse(data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    message = load_message()()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise PipelineFormatError(_damaged("its bytes are not valid messages")) from None
    return message


@cache
def load_message() -> Any:
    """Build the protobuf class of DALI's ``PipelineDef`` from ``_MESSAGES``."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds: Any = descriptor_pb2.FieldDescriptorProto
    scalars = {
        "bytes": kinds.TYPE_BYTES,
        "bool": kinds.TYPE_BOOL,
        "int64": kinds.TYPE_INT64,
        "float": kinds.TYPE_FLOAT,
    }
    file = descriptor_pb2.FileDescriptorProto(
        name="pipeline.proto", package="workbench", syntax="proto2"
    )
    for name, table in _MESSAGES.items():
        made = file.message_type.add(name=name)
        for field, (number, kind) in table.items():
            plain = kind.removesuffix("*")
            label = kinds.LABEL_REPEATED if kind != plain else kinds.LABEL_OPTIONAL
            entry = made.field.add(name=field, number=number, label=label)
            if plain in scalars:
                entry.type = scalars[plain]
            else:
                entry.type = kinds.TYPE_MESSAGE
                entry.type_name = f".workbench.{plain}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("workbench.Pipeline"))


def _op(op: Any) -> TracedOp:
    name, schema = _text(op.name), _text(op.schema)
    if not name or not schema:
        raise PipelineFormatError(_damaged("a call has no name"))
    args = {_text(arg.name): _value(arg) for arg in op.args}
    device = args.get("device", "cpu")
    return TracedOp(
        schema=schema,
        name=name,
        device=_device(device),
        inputs=tuple(_input(edge) for edge in op.inputs),
        outputs=tuple((_text(edge.name), _device(_text(edge.device))) for edge in op.outputs),
        args={
            key: value
            for key, value in args.items()
            if key not in _LEFT_OUT and not key.startswith(_STACK)
        },
        places=_source_locations(args),
        module=str(args.get("_module", "")),
        display=str(args.get("_display_name", "")),
    )


def _input(edge: Any) -> TracedInput:
    argument = _text(edge.argument) if edge.is_argument else None
    return TracedInput(_text(edge.name), _device(_text(edge.device)), argument)


def _device(value: Value) -> Device:
    match value:
        case "cpu" | "gpu" | "mixed":
            return value
    raise PipelineFormatError(_damaged(f"{value!r} is not a device"))


def _value(arg: Any) -> Value:
    if arg.type == b"TFRecord" and not arg.is_list:
        return _feature_type({item.name: item for item in arg.items})
    if arg.is_list:
        return tuple(_value(item) for item in arg.items)
    for values in (arg.ints, arg.bools):
        if values:
            return values[0]  # type: ignore[no-any-return]
    if arg.floats:
        return shortest_float32(arg.floats[0])
    return _text(arg.strings[0]) if arg.strings else ()


def _feature_type(fields: Mapping[bytes, Any]) -> str:
    """Return the type of a TFRecord feature, as in ``sources.record_features``: ``int64[?]``."""
    kind = {0: "int64", 1: "bytes", 2: "float32"}[fields[b"type"].ints[0]]
    sizes = ", ".join(map(str, fields[b"shape"].ints)) if fields[b"has_shape"].bools[0] else "?"
    return kind if kind == "bytes" else f"{kind}[{sizes}]"


def shortest_float32(value: float) -> float:
    """Return the shortest decimal number with the same float32 value."""
    return float(str(np.float32(value)))


def _source_locations(args: Mapping[str, Value]) -> tuple[SourceLocation, ...]:
    columns = [args.get(_STACK + part, ()) for part in ("filename", "lineno", "name", "line")]
    rows: Iterable[tuple[Value, ...]] = zip(
        *(column if isinstance(column, tuple) else (column,) for column in columns), strict=False
    )
    return tuple(
        SourceLocation(str(file), line if isinstance(line, int) else 0, str(function), str(text))
        for file, line, function, text in rows
    )


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _require_joined(ops: tuple[TracedOp, ...], outputs: tuple[TracedInput, ...]) -> None:
    """Raise PipelineFormatError if a call uses an edge that no previous call produces."""
    made: set[str] = set()
    for op in ops:
        for edge in op.inputs:
            if edge.edge not in made:
                raise PipelineFormatError(_damaged(f"no call produces the input of {op.name}"))
        made.update(name for name, _ in op.outputs)
    if not ops or not outputs or any(edge.edge not in made for edge in outputs):
        raise PipelineFormatError(_damaged("it has no outputs"))
