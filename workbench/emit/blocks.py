"""Write blocks (nodes with bodies) as Python statements, with one function per kind of block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.emit.core.code import Lines
from workbench.emit.core.expressions import condition_lines
from workbench.emit.core.python import INDENT, call
from workbench.errors import GraphError
from workbench.graph.control_flow.block_kinds import (
    CHOICE,
    CONDITION,
    IF,
    ONE_OF,
    REPEAT,
    SOME_OF,
    TIMES,
)
from workbench.graph.model import Node

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter


def block_lines(emitter: Emitter, node: Node) -> Lines:
    """Return the statements of a block, which assign its output variables.

    Raises GraphError for an unknown kind of node with bodies.
    """
    if node.op not in _WRITERS:
        raise GraphError(f"{node.op} has bodies, but emit.blocks has no function for it.")
    made = emitter.lines_before(node)
    start = len(made.text)
    _WRITERS[node.op](emitter, node, made)
    made.nodes[node.id] = range(start, len(made.text))
    return made


def _write_if(emitter: Emitter, node: Node, lines: Lines) -> None:
    """Write ``if condition:`` and, if the other body is not empty, ``elif`` or ``else:``."""
    start = len(lines.text)
    text = emitter.control_text(node, CONDITION)
    lines.text += condition_lines("if", text, _comment(node, "then"), emitter.indent)
    for inner, block in emitter.in_place.items():
        if block == node.id:
            lines.nodes[inner] = range(start, len(lines.text))
    lines.add(_body_or_pass(emitter, node, "then"))
    otherwise, comment = emitter.body_lines(node, "else"), _comment(node, "else")
    if not comment and _is_one_if(otherwise.text, emitter.indent + INDENT):
        lines.add(_as_elif(otherwise, emitter.indent))
    elif otherwise.text:
        lines.text.append(f"{emitter.indent}else:{comment}")
        lines.add(otherwise)


def _is_one_if(lines: Sequence[str], indent: str) -> bool:
    own = [line for line in lines if not line.startswith(indent + " ")]
    words = [line.removeprefix(indent).partition(" ")[0] for line in own]
    return words[:1] == ["if"] and set(words[1:]) <= {"elif", "else:", "):"}


def _as_elif(lines: Lines, indent: str) -> Lines:
    """Convert an ``if`` to ``elif``, and remove one level of indentation."""
    first, *rest = (line.removeprefix(INDENT) for line in lines.text)
    return Lines([f"{indent}el{first.removeprefix(indent)}", *rest], lines.nodes)


def _write_one_of(emitter: Emitter, node: Node, lines: Lines) -> None:
    """Write an ``if`` branch for each body. Trailing bodies that change nothing are omitted."""
    _add_branches(emitter, node, emitter.control_text(node, CHOICE), lines, without_idle=True)


def _write_some_of(emitter: Emitter, node: Node, lines: Lines) -> None:
    """Write one ``if`` statement per body or, for random order, a loop around ``if`` and ``elif``.

    A lookup table maps a random number to the bodies that run.
    """
    lines.add(emitter.assignments_between_bodies(node))
    if SOME_OF.runs_in_loop(node):
        lines.add(
            emitter.in_loop(
                SOME_OF.count(node), lambda turn: _branch_loop_lines(emitter, node, turn)
            )
        )
        return
    for number, name in enumerate(_names(emitter, node)):
        drawn = [str(at) for at, order in enumerate(SOME_OF.orders(node)) if number in order]
        runs = _free_variable(emitter, f"{node.id}_runs")
        body = emitter.body_lines(node, name)
        if body.text:
            ones = ["1"] * len(drawn)
            lines.text += _lookup(emitter, node, runs, "", drawn, ones, "BOOL")
            lines.text.append(f"{emitter.indent}if {runs}:{_comment(node, name)}")
            lines.add(body)


def _branch_loop_lines(emitter: Emitter, node: Node, iteration: str) -> Lines:
    """Write a loop body that looks up which branch runs in an iteration, and runs the branch."""
    table = [str(number) for order in SOME_OF.orders(node) for number in order]
    option = _free_variable(emitter, f"{node.id}_option")
    keys = [str(at) for at in range(len(table))]
    place = f" * {SOME_OF.count(node)} + {iteration}"
    made = Lines(_lookup(emitter, node, option, place, keys, table, "INT32"))
    _add_branches(emitter, node, option, made)
    return made


def _lookup(
    emitter: Emitter,
    node: Node,
    target: str,
    index: str,
    keys: Sequence[str],
    values: Sequence[str],
    dtype: str,
) -> list[str]:
    table = (f"keys=[{', '.join(keys)}]", f"values=[{', '.join(values)}]", f"dtype=types.{dtype}")
    choice = f"{emitter.control_text(node, CHOICE)}{index}"
    return call(target, f"{emitter.module}.lookup_table", [choice, *table], emitter.indent)


def _free_variable(emitter: Emitter, preferred: str) -> str:
    """Return an unused variable name: ``preferred``, with underscores appended if necessary."""
    taken = {text.partition("[")[0] for text in emitter.names.values()}
    while preferred in taken:
        preferred += "_"
    return preferred


def _write_repeat(emitter: Emitter, node: Node, lines: Lines) -> None:
    """Write ``for turn in range(times):``, with ``if times > turn:`` inside for random counts."""
    lines.add(emitter.assignments_between_bodies(node))
    lines.add(
        emitter.in_loop(
            REPEAT.repetitions(node), lambda turn: _iteration_lines(emitter, node, turn)
        )
    )


def _iteration_lines(emitter: Emitter, node: Node, iteration: str) -> Lines:
    made, outside = Lines(), emitter.indent
    if TIMES in node.inputs:
        made.text.append(f"{outside}if {emitter.control_text(node, TIMES)} > {iteration}:")
    else:
        emitter.indent = outside.removesuffix(INDENT)  # the body needs the loop variable
    with emitter.random_values_listed(node, iteration):
        made.add(_body_or_pass(emitter, node, "body"))
    emitter.indent = outside
    return made


_WRITERS: Mapping[str, Callable[[Emitter, Node, Lines], None]] = {
    IF.op: _write_if,
    ONE_OF.op: _write_one_of,
    SOME_OF.op: _write_some_of,
    REPEAT.op: _write_repeat,
}
"""Functions that write the statements of a block, by the block's operator.

A function must call ``Emitter.body_lines`` for the bodies in the order of the code.
"""


# Bodies


def _names(emitter: Emitter, node: Node) -> tuple[str, ...]:
    return emitter.catalog[node.op].body_names(len(node.bodies))


def _add_branches(
    emitter: Emitter, node: Node, number: str, lines: Lines, *, without_idle: bool = False
) -> None:
    """Write ``if number == 0:``, ``elif number == 1:`` etc., and ``else:`` for the last body."""
    names = _names(emitter, node)
    bodies = [emitter.body_lines(node, name) for name in names]
    last = len(names) - 1
    if without_idle:
        written = max((at for at, body in enumerate(bodies) if body.text), default=0)
        bodies = bodies[: written + 1]
    for at, body in enumerate(bodies):
        word = "if" if at == 0 else "elif"
        head = "else:" if at == last else f"{word} {number} == {at}:"
        lines.text.append(f"{emitter.indent}{head}{_comment(node, names[at])}")
        lines.add(_pass_if_empty(emitter, body))


def _body_or_pass(emitter: Emitter, node: Node, name: str) -> Lines:
    return _pass_if_empty(emitter, emitter.body_lines(node, name))


def _pass_if_empty(emitter: Emitter, body: Lines) -> Lines:
    if not body.text:
        body.text.append(f"{emitter.indent}{INDENT}pass")
    return body


def _comment(block: Node, body: str) -> str:
    """Return the title of a body as a comment, or "" if it has no title."""
    given = block.bodies[body].title  # a graph made in Python may contain any text
    title = " ".join("".join(c if c.isprintable() else " " for c in given).split())
    return f"  # {title}" if title else ""
