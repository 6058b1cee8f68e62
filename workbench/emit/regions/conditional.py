"""``if`` and ``else``, which DALI runs sample by sample (``enable_conditionals``)."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.emit.core.code import Lines
from workbench.emit.core.in_place import condition_lines, nodes_in_condition
from workbench.emit.core.python import INDENT
from workbench.emit.core.region_comments import body_comment
from workbench.emit.emitter import Emitter
from workbench.graph.model import Node

OP = "if"


def write(emitter: Emitter, node: Node) -> Lines:
    """``if condition:`` with what then runs, and ``elif`` or ``else:`` where anything else runs."""
    made = emitter.written_before(node)
    start = len(made.text)
    comment = body_comment(node, "then")
    text = emitter.control_text(node, "condition")
    made.text += condition_lines("if", text, comment, emitter.indent)
    for inner in nodes_in_condition(node, emitter.in_place):
        made.nodes[inner] = range(start, len(made.text))
    then, otherwise = (emitter.body_lines(node, name) for name in ("then", "else"))
    if not then.text:
        then.text.append(f"{emitter.indent}{INDENT}pass")
    made.add(then)
    comment = body_comment(node, "else")
    if not comment and _is_one_statement(otherwise.text, emitter.indent + INDENT):
        made.add(_as_elif(otherwise, emitter.indent))
    elif otherwise.text:
        made.text.append(f"{emitter.indent}else:{comment}")
        made.add(otherwise)
    made.nodes[node.id] = range(start, len(made.text))
    return made


def _is_one_statement(lines: Sequence[str], indent: str) -> bool:
    """Whether the lines are an ``if`` with its branches, and nothing else."""
    own = [line for line in lines if not line.startswith(indent + " ")]
    words = [line.removeprefix(indent).partition(" ")[0] for line in own]
    return words[:1] == ["if"] and set(words[1:]) <= {"elif", "else:", "):"}


def _as_elif(lines: Lines, indent: str) -> Lines:
    """The same one level out, as a person writes it."""
    first, *rest = (line.removeprefix(INDENT) for line in lines.text)
    return Lines([f"{indent}el{first.removeprefix(indent)}", *rest], lines.nodes)
