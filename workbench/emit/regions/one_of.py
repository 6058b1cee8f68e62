"""``if``, ``elif`` and ``else`` over one number, which DALI runs sample by sample."""

from __future__ import annotations

from workbench.emit.core.code import Lines
from workbench.emit.core.python import INDENT
from workbench.emit.core.region_comments import body_comment
from workbench.emit.emitter import Emitter
from workbench.graph.model import Node

OP = "one_of"


def write(emitter: Emitter, node: Node) -> Lines:
    """``if choice == 0:``, ``elif choice == 1:`` and so on; ``else:`` for the last body.

    Those at the end that change nothing are left out.
    """
    made = emitter.written_before(node)
    start = len(made.text)
    last = len(node.bodies) - 1
    names = emitter.catalog[OP].body_names(len(node.bodies))
    bodies = [emitter.body_lines(node, name) for name in names]
    written = max((number for number, body in enumerate(bodies) if body.text), default=0)
    for number, body in enumerate(bodies[: written + 1]):
        word = "if" if number == 0 else "elif"
        head = f"{word} {emitter.control_text(node, 'choice')} == {number}:"
        comment = body_comment(node, names[number])
        made.text.append(f"{emitter.indent}{'else:' if number == last else head}{comment}")
        if not body.text:
            body.text.append(f"{emitter.indent}{INDENT}pass")
        made.add(body)
    made.nodes[node.id] = range(start, len(made.text))
    return made
