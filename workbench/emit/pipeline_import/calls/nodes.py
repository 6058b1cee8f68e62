"""Convert one call of a traced pipeline to a node without an id."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.catalog.extra_operators.python_decoder import PILLOW_DECODER
from workbench.catalog.extra_operators.python_decoder import SOURCE as DECODER_SOURCE
from workbench.catalog.extra_operators.readers import REQUEST
from workbench.catalog.extra_operators.user_functions import (
    NUMBA_FUNCTION,
    PYTHON_FUNCTION,
    PYTHON_SOURCE,
)
from workbench.catalog.schema import enum_names
from workbench.catalog.spec import ArgSpec, Catalog, OpSpec, Value
from workbench.emit.core.epoch_shuffle import DEFAULT_EPOCH_SEED, EPOCH_SEED, SHUFFLE
from workbench.emit.pipeline_import.calls.copied_calls import kinds_by_finder, kinds_by_reader
from workbench.emit.pipeline_import.calls.expressions import ARITHMETIC, INDEXING, expression_node
from workbench.emit.pipeline_import.calls.foreign_readers import (
    SELECTING,
    reads_folder,
    shortened,
)
from workbench.emit.pipeline_import.calls.user_functions import (
    compiled_arguments,
    function_arguments,
)
from workbench.emit.pipeline_import.trace.source_lines import Lines, is_library
from workbench.emit.pipeline_import.trace.traced import AutomaticCall, TracedInput, TracedOp
from workbench.graph.execution.dataset_parameters import parameter_of_constant
from workbench.sources import PARAMETER, SAMPLER_OPTIONS, kind_of_reader, load_source

_FOLDER = "file_root"
_LISTED = ("files", "labels")
_DATA = ("annotations_file", "path", "paths", "files", "filenames", "file_list", _FOLDER)
"""Reader arguments that locate the data."""
_SET_BY_READERS = frozenset({("case_sensitive_extensions", False)})
"""Argument values that generated reading functions always pass."""
_COMPILED = "NumbaFuncImpl"
"""Registry name of the DALI operator behind numba functions."""


@dataclass(frozen=True, slots=True)
class Call:
    """A node of the graph without an id, seed or device."""

    op: str
    args: Mapping[str, Value] = field(default_factory=dict)
    inputs: Mapping[str, TracedInput] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    """Port names of the node, one for each output of the traced call."""
    opaque: str | None = None
    """Reason why a graph cannot represent the call, or None if it can."""
    bodies: Mapping[str, BodyCalls] = field(default_factory=dict)
    """Contents of each body by name, if the call is a block."""
    folder: str | None = None
    """Folder of a folder reader in the pipeline. In the graph, a data parameter replaces it."""
    source: tuple[str, str] | None = None
    """Pair (source kind, parameter) if an exported script finds the reader's files, else None."""
    lost: tuple[str, ...] = ()
    """Arguments, as Python code, that the graph's source does not support."""


@dataclass(frozen=True, slots=True)
class BodyCalls:
    """The contents of one body of a block."""

    made: Sequence[tuple[TracedOp, Call]] = ()
    takes: Mapping[str, str] = field(default_factory=dict)
    """Maps each input name of the body to the edge connected to it."""
    gives: Mapping[str, TracedInput] = field(default_factory=dict)


class _UnsupportedError(Exception):
    """Raised for a part of a call that a graph cannot represent. The message is the reason."""


def read_folder(ops: Iterable[TracedOp]) -> Value | None:
    """Return the folder of the pipeline's first folder reader, or None."""
    return next((op.args[_FOLDER] for op in ops if reads_folder(op)), None)


def make_call(
    op: TracedOp,
    catalog: Catalog,
    lines: Lines,
    makers: Mapping[str, TracedOp],
    folder: Value | None = None,
) -> Call:
    """Return the node for a call, or an opaque node if a graph cannot represent the call.

    ``makers`` maps each edge to the call that produces it. Readers of ``folder`` are connected to
    the graph's data parameter.
    """
    try:
        return _expression(op, catalog, makers) or _operator(op, catalog, lines, makers, folder)
    except _UnsupportedError as why:
        return _opaque(op, catalog, lines, str(why))


def automatic_call(op: TracedOp, call: AutomaticCall) -> Call:
    """Return the node for a call of automatic augmentation, with the inputs of ``op``."""
    data = next(edge for edge in op.inputs if edge.argument is None)
    shape = next((edge for edge in op.inputs if edge.argument == "crop_pos_z"), None)
    inputs = {"data": data} if shape is None else {"data": data, "shape": shape}
    return Call(call.op, call.args, inputs, ("output",))


def call_name(op: TracedOp) -> str:
    """Return the name of the called function (such as ``fn.resize``), or ``[...]`` for indexing."""
    if op.schema in INDEXING:
        return "[...]"
    return ".".join(part for part in (op.module.removeprefix("nvidia.dali."), op.display) if part)


def _expression(op: TracedOp, catalog: Catalog, makers: Mapping[str, TracedOp]) -> Call | None:
    made = None if op.refused else expression_node(op, makers)
    spec = catalog.find(made.op) if made else None
    if made is None or spec is None:
        return None
    feeding = {edge.edge: edge for edge in op.inputs}
    inputs = {
        port: feeding.get(edge) or TracedInput(edge, dict(makers[edge].outputs)[edge])
        for port, edge in made.inputs.items()
    }
    return Call(made.op, made.args, inputs, _outputs(op, spec, inputs, made.args))


def _operator(
    op: TracedOp,
    catalog: Catalog,
    lines: Lines,
    makers: Mapping[str, TracedOp],
    root: Value | None,
) -> Call:
    read_by = kinds_by_reader().get(op.display)
    spec = catalog[read_by.op] if read_by else catalog.by_schema.get(op.schema)
    if op.refused and op.display == PYTHON_FUNCTION.name:
        return _user_function(op, lines)
    if op.schema == _COMPILED and "in_types" in op.args:
        compiled = compiled_arguments(op, lines.keywords(op), lines.script_text(op))
        if isinstance(compiled, str):
            raise _UnsupportedError(f"{op.refused}: {compiled}")
        args = {name: _value(name, value, NUMBA_FUNCTION) for name, value in compiled.items()}
        return _function_call(NUMBA_FUNCTION.name, args, op)
    if op.refused:
        raise _UnsupportedError(op.refused)
    if op.schema == "ExternalSource" and "source" in op.args and not read_by:
        return Call(PYTHON_SOURCE.name, dict(op.args), {}, op.ports)
    if op.schema == "ExternalSource" and not read_by and len(op.outputs) == 1:
        return Call(REQUEST.name, {}, {}, ("jpegs",))
    if op.schema.startswith("_conditional"):
        raise _UnsupportedError(
            "it is part of automatic augmentation, whose arguments a built pipeline does not "
            "store: import the script or notebook that defines it"
            if is_library(op)
            else "its branches cannot be distinguished"
        )
    if spec is None:
        raise _UnsupportedError(_missing_operator_reason(op, catalog))
    if spec.unusable:
        raise _UnsupportedError(spec.unusable)
    given = {name: value for name, value in op.args.items() if name != "seed" or not spec.seeded}
    if given.get(SHUFFLE) and EPOCH_SEED in spec.args:  # otherwise it would follow the graph's
        given.setdefault(EPOCH_SEED, DEFAULT_EPOCH_SEED)
    if read_by:  # options of the function itself
        given = {name: value for name, value in given.items() if name in spec.args}
        given |= {k: v for k, v in lines.literals(op).items() if k in spec.args and k not in given}
        for name in (each.arg for each in lines.keywords(op)):
            if name in SAMPLER_OPTIONS and name not in given:
                raise _UnsupportedError(f"its {name} is neither a literal nor a constant")
    folder: Value | None = None
    lost: list[str] = []
    source = _source(op, spec, lines)
    if source is not None:
        kind = load_source(source[0])
        folder = next((given[name] for name in _DATA if name in given), None)
        if isinstance(folder, list | tuple):  # for one file, or for too many to list
            folder = folder[0] if len(folder) == 1 else given.get(_FOLDER)
        found = {_FOLDER, *_LISTED} | kind.located_by
        known = {*given} if kind.options is None else {*kind.options, *SAMPLER_OPTIONS}
        if op.kind:
            selecting = found | set(SELECTING)
            lost = [
                f"{k}={shortened(v)}" for k, v in given.items() if k not in {*known, *selecting}
            ]
        given = {k: v for k, v in given.items() if k in known and k not in found}
        if not op.kind:  # a generated function reads, and sets these itself
            given = {k: v for k, v in given.items() if (k, v) not in _SET_BY_READERS}
    elif spec.reads and load_source(kind_of_reader(spec.name)).options is not None:
        raise _UnsupportedError("it runs Python code, which only the source contains")
    elif reads_folder(op) and given[_FOLDER] == root:  # others keep theirs: a graph has one
        folder = given.pop(_FOLDER)
    args = {name: _value(name, value, spec) for name, value in given.items()}
    inputs = _inputs(op, spec)
    for port, name in spec.written_numbers.items():
        number = _integer_constant(makers.get(inputs[port].edge)) if port in inputs else None
        if number is not None:
            args, inputs = {name: number, **args}, {k: v for k, v in inputs.items() if k != port}
    return Call(
        spec.name,
        args,
        inputs,
        _outputs(op, spec, inputs, args),
        folder=None if folder is None else str(folder),
        source=source,
        lost=tuple(lost),
    )


def _user_function(op: TracedOp, lines: Lines) -> Call:
    args = function_arguments(op, lines.keywords(op), lines.script_text(op))
    if isinstance(args, str):
        raise _UnsupportedError(f"{op.refused}: {args}")
    if str(args["source"]).strip() == DECODER_SOURCE.strip() and len(op.inputs) == 1:
        return Call(PILLOW_DECODER.name, {}, {"data": op.inputs[0]}, ("output",))
    return _function_call(PYTHON_FUNCTION.name, args, op)


def _function_call(name: str, args: Mapping[str, Value], op: TracedOp) -> Call:
    names = tuple(f"output_{index}" for index in range(len(op.outputs)))
    inputs = {f"input_{index}": edge for index, edge in enumerate(op.inputs)}
    return Call(name, args, inputs, names if len(names) > 1 else ("output",))


def _integer_constant(maker: TracedOp | None) -> int | None:
    """Return the integer of a constant, or None if it is not a single Python integer."""
    if maker is None or maker.schema != "Constant" or maker.args.get("shape"):
        return None
    values = maker.args.get("idata")
    if not isinstance(values, tuple) or len(values) != 1 or not isinstance(values[0], int):
        return None
    plain = {key: value for key, value in maker.args.items() if key not in ("idata", "shape")}
    return values[0] if set(plain) <= {"dtype", "device"} else None


def _source(op: TracedOp, spec: OpSpec, lines: Lines) -> tuple[str, str] | None:
    """Return (source kind, parameter) if an exported script finds the reader's data, else None."""
    if op.kind:
        return op.kind, parameter_of_constant(op.dataset or PARAMETER)
    function, parameter = lines.data_function(op) or ("", "")
    kind = kinds_by_finder().get(function)
    if kind is None or load_source(kind).op != spec.name:
        return None
    return kind, parameter_of_constant(parameter)


def _missing_operator_reason(op: TracedOp, catalog: Catalog) -> str:
    """Return the reason why the catalogue has no operator for a call.

    DALI lists some operators under names that differ from those in its registry.
    """
    if op.schema in INDEXING:
        return "a position or range from another node is not supported"
    if op.schema == ARITHMETIC:
        return "arithmetic with operands of these kinds is not supported"
    called = call_name(op).removeprefix("fn.")
    known = catalog.by_schema.get(op.schema.replace("___", "__")) or catalog.find(called)
    return (known and known.unusable) or "a graph has no such operator"


def _inputs(op: TracedOp, spec: OpSpec) -> dict[str, TracedInput]:
    found: dict[str, TracedInput] = {}
    count = 0
    for edge in op.inputs:
        if edge.argument is None:
            if count >= max(spec.max_inputs, len(spec.inputs)):
                raise _UnsupportedError(
                    f"in a graph this operator has at most {_inputs_text(count)}"
                )
            found[spec.input(count).name] = edge
            count += 1
        elif edge.argument in spec.args and spec.args[edge.argument].tensor:
            found[edge.argument] = edge
        else:
            raise _UnsupportedError(f"a graph does not support its argument {edge.argument}")
    return found


def _inputs_text(count: int) -> str:
    return "one input" if count == 1 else f"{count} inputs"


def _outputs(
    op: TracedOp, spec: OpSpec, connected: Collection[str], args: Mapping[str, Value]
) -> tuple[str, ...]:
    names = op.ports or tuple(port.name for port in spec.outputs_with(connected, args))
    if len(names) != len(op.outputs):
        raise _UnsupportedError(
            f"it has {len(op.outputs)} outputs, but in a graph this operator has {len(names)}"
        )
    return names


def _value(name: str, value: Value, spec: OpSpec) -> Value:
    arg = spec.args.get(name)
    if arg is None or arg.kind == "object":
        raise _UnsupportedError(f"a graph does not support its argument {name}")
    if isinstance(value, tuple):
        return tuple(_item(item, arg) for item in value)
    return _item(value, arg)


def _item(value: Value, arg: ArgSpec) -> Value:
    if arg.enum is not None and isinstance(value, int):
        name = enum_names(arg.enum).get(value)
        if name is None:
            raise _UnsupportedError(f"{arg.name}={value} is not a member of types.{arg.enum}")
        return name
    if isinstance(value, float) and value.is_integer():
        return int(value)  # as users write 224, although DALI stores a float
    return value


def _opaque(op: TracedOp, catalog: Catalog, lines: Lines, why: str) -> Call:
    name = f"opaque.{len(op.outputs)}"
    spec = catalog.find(name)
    ports = [port.name for port in spec.outputs] if spec is not None else []
    usual = [f"output_{i}" for i in range(len(op.outputs))] if len(op.outputs) > 1 else ["output"]
    return Call(
        name,
        {"call": call_name(op), "source": lines.source(op), "why": why},
        {f"input_{i}": edge for i, edge in enumerate(op.inputs)},
        tuple(ports if len(ports) == len(op.outputs) else usual),
        opaque=why,
    )
