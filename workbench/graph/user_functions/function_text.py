"""The text of a function as it travels: without decorators, and with its imports inside."""

from __future__ import annotations

import ast
import builtins
import tokenize
from collections.abc import Sequence
from io import StringIO


def written_function(text: str, definition: ast.FunctionDef, imports: Sequence[str]) -> str:
    """The definition from its ``def`` on, the imports first in its body.

    Annotations are left out where one uses more than Python's own names: they are read when the
    function is defined, where none of its imports stands.
    """
    lines = text.encode().splitlines()
    row, column = _end_of_head(text, definition)
    first = definition.body[0]
    if _annotations_are_known(definition):
        head = [*lines[definition.lineno - 1 : row - 1], lines[row - 1][:column]]
    else:
        head = [_signature(definition).encode()]
    if first.lineno == row:  # def f(x): return ... on one line
        inside = "; ".join([*imports, ""]).encode() if imports else b""
        rest = [lines[row - 1][first.col_offset :], *lines[row:]]
        body = [b" ".join([b"", *([inside.strip()] if inside else []), rest[0]]), *rest[1:]]
        made = [*head[:-1], head[-1] + body[0], *body[1:]]
    else:
        documented = ast.get_docstring(definition) is not None
        place = (first.end_lineno or row) if documented else row
        indent = b" " * first.col_offset
        inside_lines = [*(indent + line.encode() for line in imports), b""] if imports else []
        rest = lines[place:] if not imports else _without_blanks(lines[place:])
        head[-1] += lines[row - 1][column:]
        made = [*head, *lines[row:place], *inside_lines, *rest]
    return b"\n".join(made).decode().rstrip() + "\n"


def _without_blanks(lines: list[bytes]) -> list[bytes]:
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    return lines[start:]


def _end_of_head(text: str, definition: ast.FunctionDef) -> tuple[int, int]:
    """The line, and the byte of it, behind the colon that ends the head."""
    depth = 0
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type != tokenize.OP or token.start[0] < definition.lineno:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if token.string == ":" and depth == 0:
            return token.end[0], len(token.line[: token.end[1]].encode())
    return definition.lineno, 0


def _annotations_are_known(definition: ast.FunctionDef) -> bool:
    args = definition.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    notes = [each.annotation for each in every if each is not None]
    return all(_is_known(note) for note in (*notes, definition.returns) if note is not None)


def _is_known(annotation: ast.expr) -> bool:
    """Whether it uses Python's own names alone. A text may name anything."""
    return all(
        hasattr(builtins, each.id)
        if isinstance(each, ast.Name)
        else not (isinstance(each, ast.Constant) and isinstance(each.value, str))
        for each in ast.walk(annotation)
    )


def _signature(definition: ast.FunctionDef) -> str:
    args = definition.args
    plain = [*args.posonlyargs, *args.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults))
    defaults = [*missing, *args.defaults]
    written = [_parameter(*each) for each in zip(plain, defaults, strict=True)]
    if args.posonlyargs:
        written.insert(len(args.posonlyargs), "/")
    if args.vararg is not None:
        written.append(f"*{args.vararg.arg}")
    elif args.kwonlyargs:
        written.append("*")
    written += [_parameter(*each) for each in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg is not None:
        written.append(f"**{args.kwarg.arg}")
    return f"def {definition.name}({', '.join(written)}):"


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    return arg.arg if default is None else f"{arg.arg}={ast.unparse(default)}"
