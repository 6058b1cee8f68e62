"""``if`` and ``else``, which DALI runs sample by sample (``enable_conditionals``)."""

from __future__ import annotations

from workbench.emit.code import Lines
from workbench.emit.emitter import Emitter
from workbench.emit.python import INDENT
from workbench.graph.model import Node

OP = "if"


def write(emitter: Emitter, node: Node) -> Lines:
    """``if condition:`` with what then runs, and ``else:`` where anything runs."""
    made = emitter.written_before(node)
    start = len(made.text)
    made.text.append(f"{emitter.indent}if {emitter.control_text(node, 'condition')}:")
    then, otherwise = (emitter.body_lines(node, name) for name in ("then", "else"))
    if not then.text:
        then.text.append(f"{emitter.indent}{INDENT}pass")
    made.add(then)
    if otherwise.text:
        made.text.append(f"{emitter.indent}else:")
        made.add(otherwise)
    made.nodes[node.id] = range(start, len(made.text))
    return made
