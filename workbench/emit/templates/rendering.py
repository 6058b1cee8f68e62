"""Render the Jinja2 templates ``*.py.j2`` of this folder. Shared templates are ``_*.py.j2``.

A template is the exported program with ``{{ values }}`` and ``{% if ... %}``. Its imports are
inside ``{% filter imports(...) %}``, which sorts them like ruff, so their order does not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from inspect import getsource
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.emit.core import python
from workbench.emit.core.code import Code
from workbench.emit.templates.cores import cores_without_interrupts

if TYPE_CHECKING:
    from jinja2 import Environment

    from workbench.emit.templates.template_parts import TemplateParts


def render(template: str, values: Mapping[str, Any]) -> str:
    """Render a template of this folder. Raises UndefinedError if a value is missing."""
    return _environment().get_template(template).render(values)


def render_program(template: str, parts: TemplateParts, **more: Any) -> Code:
    """Render a program from ``parts`` and ``more``, and return it with the lines of each node."""
    text = render(template, values_of(parts) | more)
    return Code(text, lines_in(text, parts.definition, parts.lines))


def values_of(parts: TemplateParts) -> dict[str, Any]:
    """Return the fields of ``parts`` by name."""
    return {each.name: getattr(parts, each.name) for each in fields(parts)}


def lines_in(text: str, part: str, lines: Mapping[str, range]) -> dict[str, range]:
    """Return the line numbers (from 1) of each node in a text that contains ``part``.

    ``lines`` are the line numbers (from 0) of each node in ``part``.
    """
    if not lines:
        return {}
    before, found, _ = text.partition(part)
    assert found, "the template does not use the source of the nodes"
    first = before.count("\n") + 1
    return {node: range(at.start + first, at.stop + first) for node, at in lines.items()}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        autoescape=False,
    )
    environment.filters |= {"imports": sorted_imports, "quoted": _quoted, "source": _source}
    environment.globals |= {
        "call": _call,
        "constant": _constant,
        "cores_without_interrupts": cores_without_interrupts,
    }
    return environment


def sorted_imports(text: str, *more: Iterable[str]) -> str:
    """Sort import statements like ruff: those in ``text`` (one per line) and those in ``more``.

    Imports from one module are merged. An empty line separates the standard library from other
    packages.
    """
    groups: dict[bool, tuple[set[str], dict[str, set[str]]]] = {}
    for line in {*text.split("\n"), *(each for lines in more for each in lines)} - {""}:
        keyword, module, *names = line.split(maxsplit=3)
        other = module.partition(".")[0] not in sys.stdlib_module_names
        whole, parts = groups.setdefault(other, (set(), {}))
        if keyword == "import" or " as " in line:
            whole.add(line)
        else:
            parts.setdefault(module, set()).update(names[1].split(", "))
    written = []
    for _, (whole, parts) in sorted(groups.items()):
        joined = {
            f"from {module} import {', '.join(sorted(names, key=_name_order))}"
            for module, names in parts.items()
        }
        written.append("".join(f"{line}\n" for line in sorted(whole | joined, key=_line_order)))
    return "\n".join(written)


def _line_order(line: str) -> tuple[bool, str]:
    keyword, module = line.split()[:2]
    return keyword == "from", f"{module.lower()} {line.lower()}"


def _name_order(name: str) -> tuple[int, str]:
    """Return a sort key: constants first, then classes, then other names."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name.lower()


def _quoted(names: Iterable[str]) -> str:
    """Return names as the code of a list."""
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


@cache
def _source(function: Any) -> str:
    """Return the code of a workbench function, without a final line break."""
    return getsource(function).rstrip("\n")


def _call(function: str, arguments: Sequence[str], target: str = "", indent: int = 4) -> str:
    """Format ``target = function(arguments)`` without an indent on the first line."""
    return "\n".join(python.call(target, function, arguments, " " * indent)).lstrip(" ")


def _constant(name: str, value: str) -> str:
    """Format ``NAME = value``. A long list is wrapped."""
    return "\n".join(python.constant(name, value))
