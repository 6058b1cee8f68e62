"""Operators as functions: their signatures and documentation, from the catalogue."""

from __future__ import annotations

from inspect import Parameter, Signature

from workbench.catalog.spec import ArgSpec, OpSpec

_SCALARS = {"bool": "bool", "int": "int", "float": "float", "str": "str", "enum": "str"}


def signature_of(spec: OpSpec) -> Signature:
    """Return the signature of an operator: inputs by position, then DALI's arguments by keyword."""
    inputs = [
        Parameter(
            port.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            annotation="DataNode",
            default=None if port.optional else Parameter.empty,
        )
        for port in spec.inputs
    ]
    if spec.max_inputs > len(spec.inputs):
        inputs.append(Parameter("inputs", Parameter.VAR_POSITIONAL, annotation="DataNode"))
    taken = {parameter.name for parameter in inputs}
    arguments = [
        Parameter(
            arg.name,
            Parameter.KEYWORD_ONLY,
            annotation=type_text(arg),
            default=Parameter.empty if arg.required else arg.default,
        )
        for arg in spec.args.values()
        if arg.name not in taken
    ]
    taken |= spec.args.keys()
    own = {
        **({"seed": "int"} if spec.seeded else {}),
        "device": "str",
        "name": "str",
        **({"p": "float | DataNode"} if spec.inputs else {}),
    }
    arguments += [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=f"{kind} | None", default=None)
        for name, kind in own.items()
        if name not in taken
    ]
    return Signature([*inputs, *sorted(arguments, key=lambda p: p.default is not Parameter.empty)])


def type_text(arg: ArgSpec) -> str:
    """Return the Python type of an argument as text. Optional arguments may be None."""
    scalar = _SCALARS.get(arg.kind.removesuffix("_list"), "Any")
    text = f"{scalar} | Sequence[{scalar}]" if arg.kind.endswith("_list") else scalar
    if arg.tensor:
        text += " | DataNode"
    return text if arg.required or scalar == "Any" else f"{text} | None"


def accepted_values(arg: ArgSpec) -> tuple[str, ...]:
    """Return the names that an argument accepts, or none if it also accepts other values."""
    kind = arg.kind.removesuffix("_list")
    if kind == "enum":
        return arg.members
    return tuple(map(str, arg.choices)) if kind == "str" else ()


def documentation_of(spec: OpSpec) -> str:
    """Return an operator's docstring, with type, default, range and choices of each argument."""
    lines = [spec.doc.strip() or spec.summary]
    if spec.args:
        lines += ["", "Parameters", "----------"]
    for arg in spec.args.values():
        unit = f", in {arg.unit}" if arg.unit else ""
        ends = [f"{end:g}" if end is not None else "" for end in (arg.minimum, arg.maximum)]
        bounds = f", {ends[0] or '-inf'} to {ends[1] or 'inf'}" if any(ends) else ""
        if not bounds and arg.low is not None and arg.high is not None:
            bounds = f", usually {arg.low:g} to {arg.high:g}"
        default = "" if arg.default is None else f", default {arg.default!r}"
        lines.append(f"{arg.name} : {type_text(arg)}{unit}{bounds}{default}")
        if names := accepted_values(arg):
            lines.append(f"    One of: {', '.join(names)}.")
        lines += [f"    {line}".rstrip() for line in arg.doc.strip().splitlines()]
    if spec.outputs:
        lines += ["", "Returns", "-------"]
        lines += [f"{port.name} : {port.kind}" for port in spec.outputs]
    return "\n".join(lines)
