"""A loop, in which a draw may say how many turns a sample takes part in."""

from __future__ import annotations

from workbench.emit.core.code import Lines
from workbench.emit.core.python import INDENT
from workbench.emit.emitter import Emitter
from workbench.graph.control_flow.repeat import TIMES, most_turns
from workbench.graph.model import Node

OP = "repeat"


def write(emitter: Emitter, node: Node) -> Lines:
    """``for turn in range(times):``, or as often as at most and ``if times > turn:`` in it."""
    made = emitter.written_before(node)
    start = len(made.text)
    made.add(emitter.passed_on(node))
    made.add(emitter.in_loop(most_turns(node), lambda turn: _turn(emitter, node, turn)))
    made.nodes[node.id] = range(start, len(made.text))
    return made


def _turn(emitter: Emitter, node: Node, turn: str) -> Lines:
    made, outside = Lines(), emitter.indent
    if TIMES in node.inputs:
        made.text.append(f"{outside}if {emitter.control_text(node, TIMES)} > {turn}:")
    else:
        emitter.indent = outside.removesuffix(INDENT)  # the loop's own is the body's
    with emitter.drawn_each(node, turn):
        body = emitter.body_lines(node, "body")
    if not body.text:
        body.text.append(f"{emitter.indent}{INDENT}pass")
    emitter.indent = outside
    made.add(body)
    return made
