"""Convert DALI's operator schemas to ``OpSpec``. No other module uses ``OpSchema``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from textwrap import dedent, indent
from typing import Any, cast

from workbench.catalog.spec import (
    ArgKind,
    ArgSpec,
    Device,
    OpSpec,
    PortDevice,
    PortSpec,
    Scalar,
    Value,
)
from workbench.errors import CatalogError
from workbench.system_limits import is_memory_refusal, memory_remedy

_DEVICES: tuple[Device, ...] = ("cpu", "gpu", "mixed")

_LEFT_OUT = frozenset({"seed", "device", "name", "save_attrs"})
"""Schema arguments that are not arguments of nodes. The graph sets ``seed``, ``device`` and
``name``. ``save_attrs`` adds outputs for testing only, according to DALI."""

_SCALAR_KINDS: dict[str, ArgKind] = {
    "BOOL": "bool",
    "INT8": "int",
    "INT16": "int",
    "INT32": "int",
    "INT64": "int",
    "UINT8": "int",
    "UINT16": "int",
    "UINT32": "int",
    "FLOAT": "float",
    "STRING": "str",
    "TENSOR_LAYOUT": "str",
}
_LIST_KINDS: dict[str, ArgKind] = {
    "_BOOL_VEC": "bool_list",
    "_INT32_VEC": "int_list",
    "_INT64_VEC": "int_list",
    "_FLOAT_VEC": "float_list",
    "_STRING_VEC": "str_list",
    "_TENSOR_LAYOUT_VEC": "str_list",
}
_ENUMS: dict[str, tuple[ArgKind, str]] = {
    "DATA_TYPE": ("enum", "DALIDataType"),
    "IMAGE_TYPE": ("enum", "DALIImageType"),
    "INTERP_TYPE": ("enum", "DALIInterpType"),
    "_DATA_TYPE_VEC": ("enum_list", "DALIDataType"),
}

_FEW_INPUTS = 4
"""Operators that accept more inputs than this, such as ``cat``, are treated as unlimited."""


_SHOWN = frozenset({"Constant"})
"""Operators that are listed although DALI hides them: ``Constant`` creates arrays."""


def read_schemas() -> tuple[list[OpSpec], str]:
    """Return the visible operators of the installed DALI, sorted by name, and DALI's version.

    Excludes operators that are internal, deprecated or hidden in DALI's documentation (except
    ``constant``). Raises CatalogError if DALI cannot be imported.
    """
    dali = _import_dali()
    ops = sorted(_visible_ops(dali), key=lambda op: op.name)
    return ops, str(dali.__version__)


def _import_dali() -> Any:
    try:
        import nvidia.dali
        import nvidia.dali.fn  # registers the operators
    except (ImportError, OSError, MemoryError) as error:
        if is_memory_refusal(error):
            raise CatalogError(
                f"NVIDIA DALI cannot be loaded, because memory is exhausted ({error}). "
                f"{memory_remedy()}"
            ) from error
        raise CatalogError(
            f"NVIDIA DALI cannot be imported ({error}). "
            "Install it with: pip install nvidia-dali-cuda120"
        ) from error
    return nvidia.dali


@cache
def successors() -> Mapping[str, str]:
    """Return the successor of each deprecated operator in DALI's registry."""
    backend: Any = _import_dali().backend
    from nvidia.dali.ops import _registry

    names = {*_registry.cpu_ops(), *_registry.gpu_ops(), *_registry.mixed_ops()}
    deprecated = {
        name: schema for name in names if (schema := backend.GetSchema(name)).IsDeprecated()
    }
    return {
        name: new for name, schema in deprecated.items() if (new := schema.DeprecatedInFavorOf())
    }


def _visible_ops(dali: Any) -> Iterator[OpSpec]:
    from nvidia.dali.ops import _registry

    registered = {
        "cpu": _registry.cpu_ops(),
        "gpu": _registry.gpu_ops(),
        "mixed": _registry.mixed_ops(),
    }
    for name in set().union(*registered.values()):
        schema = dali.backend.GetSchema(name)
        if (
            schema.IsInternal()
            or (schema.IsDocHidden() and name not in _SHOWN)
            or schema.IsDocPartiallyHidden()
            or schema.IsDeprecated()
        ):
            continue
        devices = tuple(device for device in _DEVICES if name in registered[device])
        yield _operator(dali, schema, devices)


def _operator(dali: Any, schema: Any, devices: tuple[Device, ...]) -> OpSpec:
    from nvidia.dali.ops._names import _op_name

    doc = plain_text(schema.Dox())
    return OpSpec(
        name=_op_name(schema.Name(), api="fn"),
        schema=schema.Name(),
        devices=devices,
        inputs=_inputs(schema),
        max_inputs=schema.MaxNumInput(),
        outputs=_outputs(dali, schema),
        args=_arguments(dali, schema),
        seeded=schema.HasRandomSeedArg(),
        random_state=schema.HasRandomStateArg(),
        doc=doc,
        summary=first_sentence(doc),
    )


def _inputs(schema: Any) -> tuple[PortSpec, ...]:
    least, most = schema.MinNumInput(), schema.MaxNumInput()
    return tuple(
        PortSpec(
            _input_name(schema, index),
            optional=index >= least,
            layouts=tuple(str(layout) for layout in schema.GetSupportedLayouts(index)),
            device=_input_device(schema, index),
        )
        for index in range(most if most <= _FEW_INPUTS else least)
    )


def _input_name(schema: Any, index: int) -> str:
    if schema.HasInputDox():
        name = str(schema.GetInputName(index)).strip("_")
        # ``slice`` has both an argument and an input called shape: keep one meaning per name
        return f"{name}_input" if schema.HasArgument(name) else name
    return "data" if schema.MaxNumInput() == 1 else f"input_{index}"


def _input_device(schema: Any, index: int) -> PortDevice:
    if schema.Name() == "Copy":
        return "operator"  # DALI copies from either device, too; here a transfer is a transfer
    if schema.Name().startswith("random__"):
        return "operator"  # declared as reading only its shape, but rejected from the other device
    if schema.GetInputDevice(index, "gpu", "cpu") == "gpu":
        return "any"
    if schema.GetInputDevice(index, "gpu", "gpu") == "cpu":
        return "cpu"
    return "either" if schema.GetInputDevice(index, "cpu", "gpu") == "cpu" else "operator"


def _outputs(dali: Any, schema: Any) -> tuple[PortSpec, ...]:
    """Return the outputs, or () if arguments determine their number (``readers.tfrecord``)."""
    count = schema.CalculateOutputs(dali.backend.OpSpec(schema.Name()))
    if count == 1:
        return (PortSpec("output"),)
    return tuple(PortSpec(f"output_{index}") for index in range(count))


def _arguments(dali: Any, schema: Any) -> dict[str, ArgSpec]:
    names = [name for name in schema.GetArgumentNames() if name not in _LEFT_OUT]
    return {name: _argument(dali, schema, name) for name in names}


def _argument(dali: Any, schema: Any, name: str) -> ArgSpec:
    deprecated, source = None, name
    if schema.IsDeprecatedArg(name):
        info = schema.DeprecatedArgInfo(name)
        deprecated = plain_text(info["msg"])
        # An alias is not registered itself: its type and default are its successor's.
        source = info["renamed_to"] or name
    type_name = schema.GetArgumentType(source).name
    kind, enum = _kind(type_name)
    required = not schema.IsArgumentOptional(source)
    default: Value | None = None
    if not required and schema.HasArgumentDefaultValue(source):
        text = schema.GetArgumentDefaultValueString(source)
        default = _default(dali, text, kind, enum)
    return ArgSpec(
        name=name,
        kind=kind,
        doc="" if source != name else plain_text(schema.GetArgumentDox(source)),
        required=required,
        default=default,
        tensor=schema.IsTensorArgument(source),
        deprecated=deprecated,
        enum=enum,
        members=_members(dali, enum) if enum else (),
    )


def _kind(type_name: str) -> tuple[ArgKind, str | None]:
    if type_name in _ENUMS:
        return _ENUMS[type_name]
    if type_name in _SCALAR_KINDS:
        return _SCALAR_KINDS[type_name], None
    return _LIST_KINDS.get(type_name, "object"), None


def _members(dali: Any, enum: str) -> tuple[str, ...]:
    """Return the names of an enumeration's members; data types without a NumPy type are omitted."""
    members = getattr(dali.types, enum).__members__
    if enum != "DALIDataType":
        return tuple(members)
    return tuple(name for name, member in members.items() if _has_numpy_type(dali, member))


def _has_numpy_type(dali: Any, member: Any) -> bool:
    try:
        dali.types.to_numpy_type(member)
    except KeyError:
        return False
    return True


def _default(dali: Any, text: str, kind: ArgKind, enum: str | None) -> Value:
    """Parse the default value in a schema: a Python literal in which enum members are integers."""
    value = ast.literal_eval(text)
    if enum is not None:
        members = getattr(dali.types, enum)
        if kind == "enum_list":
            return tuple(str(members(int(item)).name) for item in value)
        return str(members(int(value)).name)
    if kind.endswith("_list"):
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_scalar(item, kind.removesuffix("_list")) for item in items)
    return _scalar(value, kind)


def _scalar(value: Any, kind: str) -> Scalar:
    if kind == "bool":
        return bool(value)
    if kind == "float":
        # Schemas store float32: 0.001 becomes 0.0010000000474974513.
        return float(f"{float(value):.7g}")
    return cast(Scalar, value)


# Members of DALI's enumerations


@cache
def enum_names(enum: str) -> Mapping[int, str]:
    """Return the name of each member of an enumeration in ``nvidia.dali.types``, by number."""
    from nvidia.dali import types

    members: Mapping[str, Any] = getattr(types, enum).__members__
    return {int(member): name for name, member in reversed(list(members.items()))}


# DALI's reStructuredText documentation as plain text for a tooltip

_TABLE_BLOCK = re.compile(r"^( *)\.\. list-table::.*(?:\n(?: *|\1 +.*)$)*", re.MULTILINE)
_DIRECTIVE = re.compile(r"^(\s*)\.\. ([\w-]+)::[ \t]*(.*)$")
_KEPT = {"note": "Note: ", "warning": "Warning: ", "important": "Important: ", "math": ""}
_ITEM = re.compile(r"^\s*([-*•]|#\.|\d+\.)\s+")
_ROW = re.compile(r"^\s*(?:\+[-=+]+\+|\|.*\||=+(?: +=+)+)\s*$")
_MARKUP = re.compile(
    r":[\w:+.-]+:`~?(?P<role>[^`<]+?)\s*(?:<[^`>]*>)?`"
    r"|`(?P<link>[^`<]+?)\s*<[^`>]*>`_{1,2}"
    r"|``(?P<literal>[^`]+)``"
    r"|`(?P<name>[^`]+)`_{0,2}"
    r"|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|\\(?P<escaped>.)"
)
_SENTENCE = re.compile(r"^(.+?(?<!e\.g)(?<!i\.e)(?<!etc)[.:])(?=\s|$)", re.DOTALL)


def plain_text(rst: str) -> str:
    """Convert reStructuredText to plain text.

    Each paragraph or list item becomes one line; blank lines separate them. Literal blocks and
    tables keep their lines. Directives are replaced by their content.
    """
    paragraphs: list[str] = []
    introduced: int | None = None  # margin of the paragraph whose ``::`` opens a literal block
    for lines in _blocks(_TABLE_BLOCK.sub("", dedent(rst.expandtabs(4)).strip())):
        margin = min(len(line) - len(line.lstrip()) for line in lines)
        literal = not any("``" in line for line in lines)  # or DALI's indented text
        if introduced is not None and margin > introduced and literal:
            paragraphs.append(indent(dedent("\n".join(lines)), "  "))
            continue
        introduced = margin if lines[-1].endswith("::") else None
        text = _MARKUP.sub(lambda found: found[found.lastgroup or 0], "\n".join(_join_lines(lines)))
        paragraphs.append(re.sub(r"::$", ":", text.strip(), flags=re.MULTILINE))
    return "\n\n".join(filter(None, paragraphs))


def first_sentence(text: str) -> str:
    """Return the first sentence of a plain text, on one line."""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    found = _SENTENCE.match(paragraph)
    return (found.group(1) if found else paragraph).rstrip(":")


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the blocks of a text between blank lines, with directives converted."""
    lines = [_directive(line) for line in text.splitlines()]
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if not blank:
            yield [line.rstrip() for line in group]


def _directive(line: str) -> str:
    """Convert the line ``.. note::`` to ``Note:``, and remove the lines of other directives."""
    found = _DIRECTIVE.match(line)
    if not found:
        return line
    margin, name, rest = found.groups()
    return f"{margin}{_KEPT[name]}{rest}" if name in _KEPT else ""


def _join_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a block, joined except for list items and table rows."""
    pending = ""
    for line in lines:
        item, row = _ITEM.match(line), _ROW.match(line)
        if pending and (item or row):
            yield pending
            pending = ""
        if row:
            yield line.strip()
            continue
        words = line[item.end() :] if item else line.strip()
        words = words.removeprefix("| ")  # a line block inside the item
        if item:
            sign = item[1] if item[1][:-1].isdigit() else "•"
            words = f"{sign} {words}"
        pending = f"{pending} {words}".strip()
    if pending:
        yield pending
