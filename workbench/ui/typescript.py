"""Write ``frontend/src/payloads.ts``, so that the types in Python and TypeScript are the same.

``python -m workbench.ui.typescript`` writes the file. A test fails if it differs from the types in
``_MODULES``, the actions, and the table in ``components.py``.
"""

from __future__ import annotations

import types
from inspect import getdoc
from pathlib import Path
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import structs

from workbench.ui.app.actions import ACTIONS
from workbench.ui.contract import (
    data_payloads,
    inspector_payloads,
    payloads,
    preview_payloads,
    results_payloads,
    speed_payloads,
)
from workbench.ui.contract.action import Action, tag_of
from workbench.ui.contract.components import COMPONENTS, TABS, Component, Empty

PATH = Path(__file__).parent / "frontend" / "src" / "payloads.ts"

_MODULES = (
    payloads, inspector_payloads, data_payloads, preview_payloads, results_payloads,
    speed_payloads,
)  # fmt: skip
_HEAD = """\
// Written by `python -m workbench.ui.typescript` from this package. Do not edit.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Bytes as a host hands them over. */
export type Bytes = ArrayBuffer | ArrayBufferView;
"""

_SCALARS: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    bytes: "Bytes",
    type(None): "null",
    Any: "Json",
}


def payloads_source() -> str:
    """Return the text of ``payloads.ts``."""
    found = [item for module in _MODULES for item in vars(module).values()]
    dicts = dict.fromkeys([*preview_payloads.PAYLOADS, *filter(is_typeddict, found)])
    parts = [_HEAD, *map(_interface, dicts), *map(_component, COMPONENTS), _table(), _tabs()]
    return "\n".join(parts)


def ts_type(hint: Any) -> str:
    """Return the TypeScript type for a Python type. Raises TypeError for unsupported types."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if is_typeddict(hint) or hint in preview_payloads.PAYLOADS:
        return str(hint.__name__)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _union(f'"{item}"' for item in args)
    if origin in (Union, types.UnionType) and args[1:] == (Empty,):
        return f"Partial<{ts_type(args[0])}>"
    if origin in (Union, types.UnionType):
        return _union(map(ts_type, args))
    if origin is list or (origin is tuple and args[1:] == (...,)):
        inner = ts_type(args[0])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<{ts_type(args[0])}, {ts_type(args[1])}>"
    raise TypeError(
        f"{hint!r} is not allowed in a payload. Use JSON types, Literal or a TypedDict."
    )


def _union(parts: Any) -> str:
    return " | ".join(parts)


def _interface(view: Any) -> str:
    lines = []
    doc = (getdoc(view) or "") if view.__doc__ else ""
    for name, hint in get_type_hints(view, include_extras=True).items():
        optional = get_origin(hint) is NotRequired
        inner = get_args(hint)[0] if optional else hint
        lines.append(f"  {name}{'?' if optional else ''}: {ts_type(inner)};")
    return _block(f"interface {view.__name__}", lines, doc.partition("\n\n")[0])


def _component(component: Component) -> str:
    title = component.name.capitalize()
    sent = [item for item in component.fields if item.direction != "python"]
    fields = [f"  {item.name}: {ts_type(item.type)};" for item in sent]
    actions = [f"  {tag_of(kind)}: {_params(kind)};" for kind in ACTIONS.get(component.name, [])]
    return "\n".join(
        (
            _block(f"interface {title}Fields", fields, component.doc),
            _block(f"interface {title}Actions", actions),
        )
    )


def _params(action: type[Action]) -> str:
    hints = get_type_hints(action)
    fields = zip(action.__struct_fields__, structs.fields(action), strict=True)
    params = [
        f"{name}{'' if field.required else '?'}: {ts_type(hints[name])}" for name, field in fields
    ]
    return f"{{ {'; '.join(params)} }}" if params else "{}"


def _table() -> str:
    lines = []
    for component in COMPONENTS:
        title = component.name.capitalize()
        both = _union(f'"{x.name}"' for x in component.fields if x.direction == "both") or "never"
        lines.append(
            f"  {component.name}: "
            f"{{ fields: {title}Fields; both: {both}; actions: {title}Actions }};"
        )
    return _block(
        "interface Components", lines, "All components. The browser can set fields in `both`."
    )


def _tabs() -> str:
    names = ", ".join(f'"{name}"' for name in TABS)
    return f"/** The lower panels, in order. */\nexport const TABS = [{names}] as const;\n"


def _block(head: str, lines: list[str], doc: str | None = "") -> str:
    comment = "/** " + " ".join(doc.split()) + " */\n" if doc else ""
    body = "\n".join(lines)
    return f"{comment}export {head} {{\n{body}\n}}\n" if lines else f"{comment}export {head} {{}}\n"


if __name__ == "__main__":
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(payloads_source(), encoding="utf-8")
