"""``if pick == 0``, ``elif pick == 1`` and so on -> one block with a body for each number.

DALI makes an ``if`` in the ``else`` of another of each ``elif``; so does the import at first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.own_operators.blocks import BLOCKS
from workbench.emit.pipeline_import.calls.nodes import BodyCalls, Call
from workbench.emit.pipeline_import.ids import Made
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp
from workbench.graph.control_flow.kinds import CHOICE, CONDITION, IF, MOST_OPTIONS, ONE_OF

_EQUAL = "math.eq"


def merge_choices(made: Made, gives: Sequence[str], known: Mapping[str, Call]) -> Made:
    """The calls with each chain of comparisons with 0, 1, ... as one block.

    ``gives`` are the edges that leave the block, ``known`` what makes each edge, also one that the
    block takes in. A chain has as many branches as the draw that decides has
    numbers; where something else decides, three or more. A comparison that nothing else uses goes.
    """
    makers = {edge: call for op, call in made for edge, _ in op.outputs}
    merged: list[tuple[TracedOp, Call]] = []
    idle: set[str] = set()
    for op, call in made:
        found = _merged(call, makers, known) if call.op == IF.op else None
        if found is not None:
            idle.add(call.inputs[CONDITION].edge)
        merged.append((op, found or call))
    used = {edge.edge for _, call in merged for edge in call.inputs.values()} | set(gives)
    return [(op, call) for op, call in merged if not idle - used & {e for e, _ in op.outputs}]


def _merged(call: Call, makers: Mapping[str, Call], known: Mapping[str, Call]) -> Call | None:
    number, choice = _compared(makers.get(call.inputs[CONDITION].edge))
    if choice is None or number != 0:
        return None
    bodies = [call.bodies["then"]]
    outer = {name: edge.edge for name, edge in call.inputs.items()}
    rest, names = call.bodies["else"], {name: name for name in call.inputs}
    while (inner := _next(rest, names, outer, choice.edge, len(bodies))) is not None:
        nested, names = inner
        bodies.append(nested.bodies["then"])
        rest = nested.bodies["else"]
    bodies.append(rest)
    draw = known.get(choice.edge)
    population = (
        draw.args.get("population") if draw is not None and draw.op == ONE_OF.random_op else None
    )
    if isinstance(population, int) and not bodies[-1].made:
        last = bodies[-1]  # DALI drops branches that change nothing
        bodies += [
            _passing(last, number) for number in range(len(bodies), min(population, MOST_OPTIONS))
        ]
    if population != len(bodies) and (len(bodies) < 3 or isinstance(population, int)):
        return None  # a draw has as many numbers as the block has bodies
    named = dict(zip(BLOCKS[ONE_OF.op].body_names(len(bodies)), bodies, strict=True))
    taken = {name for body in bodies for name in body.takes}
    inputs = {name: edge for name, edge in call.inputs.items() if name in taken}
    return replace(call, op=ONE_OF.op, inputs={CHOICE: choice, **inputs}, bodies=named)


def _compared(call: Call | None) -> tuple[int, TracedInput | None]:
    """The number with which a call compares, and what."""
    if call is None or call.op != _EQUAL or "data" not in call.inputs or len(call.inputs) != 1:
        return -1, None
    number = call.args.get("right")
    return (number, call.inputs["data"]) if type(number) is int else (-1, None)


def _next(
    body: BodyCalls,
    names: Mapping[str, str],
    outer: Mapping[str, str],
    choice: str,
    number: int,
) -> tuple[Call, dict[str, str]] | None:
    """The block in a body that holds no more than it, and the outer names of what it takes in.

    ``names`` are the outer names of what the body takes in, ``outer`` the edges behind them. None
    where the body holds something else, or its block decides by something else.
    """
    if len(body.made) != 2:
        return None
    (test_op, test), (op, nested) = body.made
    found, compared = _compared(test)
    if nested.op != IF.op or compared is None or found != number:
        return None
    if nested.inputs[CONDITION].edge not in {edge for edge, _ in test_op.outputs}:
        return None
    places = {edge: names[name] for name, edge in body.takes.items()}
    if compared.edge not in places or outer[places[compared.edge]] != choice:
        return None
    fed = {name: edge for name, edge in nested.inputs.items() if name != CONDITION}
    if any(edge.edge not in places for edge in fed.values()):
        return None
    made = dict(zip((edge for edge, _ in op.outputs), nested.outputs, strict=True))
    if any(edge.edge not in made and edge.edge not in places for edge in body.gives.values()):
        return None
    inner = {name: places[edge.edge] for name, edge in fed.items()}
    bodies = {
        name: _giving(_renamed(each, inner), body.gives, made, places, name)
        for name, each in nested.bodies.items()
    }
    return replace(nested, bodies=bodies), {name: name for name in names.values()}


def _giving(
    body: BodyCalls,
    gives: Mapping[str, TracedInput],
    made: Mapping[str, str],
    places: Mapping[str, str],
    word: str,
) -> BodyCalls:
    """A body of the inner block with what the body around it gives, also what only passes."""
    takes, given = dict(body.takes), {}
    for name, edge in gives.items():
        if edge.edge in made:
            given[name] = body.gives[made[edge.edge]]
            continue
        taken = takes.setdefault(places[edge.edge], f"{edge.edge} {word}")
        given[name] = edge._replace(edge=taken)
    return replace(body, takes=takes, gives=given)


def _passing(body: BodyCalls, number: int) -> BodyCalls:
    """Another body that passes on the same."""
    edges = {edge: f"{edge} {number}" for edge in body.takes.values()}
    gives = {name: edge._replace(edge=edges[edge.edge]) for name, edge in body.gives.items()}
    return BodyCalls((), {name: edges[edge] for name, edge in body.takes.items()}, gives)


def _renamed(body: BodyCalls, names: Mapping[str, str]) -> BodyCalls:
    return replace(body, takes={names[name]: edge for name, edge in body.takes.items()})
