"""Some of several bodies: each on its own ``if``, or one after another in a loop over the turns.

What is drawn is a number, and a lookup table says what runs for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.emit.core.code import Lines
from workbench.emit.core.python import INDENT, call
from workbench.emit.core.region_comments import body_comment
from workbench.emit.emitter import Emitter
from workbench.graph.control_flow.some_of import count_of, is_shuffled, orders
from workbench.graph.model import Node

OP = "some_of"


def write(emitter: Emitter, node: Node) -> Lines:
    """``if`` after ``if``; in any order ``for turn in range(count):`` around ``if``, ``elif``."""
    made = emitter.written_before(node)
    start = len(made.text)
    made.add(emitter.passed_on(node))
    names = emitter.catalog[OP].body_names(len(node.bodies))
    if is_shuffled(node) and count_of(node) > 1:
        count = count_of(node)
        made.add(emitter.in_loop(count, lambda turn: _turn(emitter, node, names, turn)))
    else:
        for number, name in enumerate(names):
            made.add(_in_order(emitter, node, number, name))
    made.nodes[node.id] = range(start, len(made.text))
    return made


def _in_order(emitter: Emitter, node: Node, number: int, name: str) -> Lines:
    drawn = [str(at) for at, order in enumerate(orders(node)) if number in order]
    runs = _variable(emitter, f"{node.id}_runs")
    body = emitter.body_lines(node, name)
    if not body.text:
        return Lines()
    made = Lines(_lookup(emitter, node, runs, "", drawn, ["1"] * len(drawn), "BOOL"))
    made.text.append(f"{emitter.indent}if {runs}:{body_comment(node, name)}")
    made.add(body)
    return made


def _turn(emitter: Emitter, node: Node, names: Sequence[str], turn: str) -> Lines:
    table = [str(number) for order in orders(node) for number in order]
    option = _variable(emitter, f"{node.id}_option")
    keys = [str(at) for at in range(len(table))]
    place = f" * {count_of(node)} + {turn}"
    made = Lines(_lookup(emitter, node, option, place, keys, table, "INT32"))
    last = len(names) - 1
    for number, name in enumerate(names):
        word = "if" if number == 0 else "elif"
        head = "else:" if number == last else f"{word} {option} == {number}:"
        made.text.append(f"{emitter.indent}{head}{body_comment(node, name)}")
        body = emitter.body_lines(node, name)
        if not body.text:
            body.text.append(f"{emitter.indent}{INDENT}pass")
        made.add(body)
    return made


def _lookup(
    emitter: Emitter,
    node: Node,
    target: str,
    place: str,
    keys: Sequence[str],
    values: Sequence[str],
    dtype: str,
) -> list[str]:
    table = (f"keys=[{', '.join(keys)}]", f"values=[{', '.join(values)}]", f"dtype=types.{dtype}")
    choice = f"{emitter.control_text(node, 'choice')}{place}"
    return call(target, f"{emitter.module}.lookup_table", [choice, *table], emitter.indent)


def _variable(emitter: Emitter, wanted: str) -> str:
    """A free name; what is drawn for each turn is read as ``name[i]``."""
    taken = {text.partition("[")[0] for text in emitter.names.values()}
    while wanted in taken:
        wanted += "_"
    return wanted
