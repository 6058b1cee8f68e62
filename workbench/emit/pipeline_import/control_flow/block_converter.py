"""Convert ``if`` statements to blocks without ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbench.catalog.spec import Catalog
from workbench.emit.pipeline_import.calls.conditionals import BODIES, ConditionalBlock, Statement
from workbench.emit.pipeline_import.calls.nodes import BodyCalls, Call
from workbench.emit.pipeline_import.ids import NodeCalls, claim_name, default_variable
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import TracedInput, TracedOp

_CONDITION = "condition"


class BlockConverter:
    """Creates the calls that represent blocks, and names the inputs and outputs of their bodies.

    Parameters
    ----------
    make:
        Function that returns the call for one of the user's operators.
    finish:
        Function that is called once per block, with the calls created for the block and the block's
        output edges.
    """

    def __init__(
        self,
        catalog: Catalog,
        lines: Lines,
        make: Callable[[TracedOp], Call],
        finish: Callable[[NodeCalls, Sequence[str]], NodeCalls],
    ) -> None:
        self._catalog = catalog
        self._lines = lines
        self._make = make
        self._finish = finish
        self._words: dict[str, str] = {}
        """Variable of each edge in the source code, or else the default name for its kind."""
        self._written: set[str] = set()
        """Edges whose variable in the source code is known."""

    def convert(self, block: ConditionalBlock, gives: Sequence[TracedInput]) -> NodeCalls:
        """Convert the operators of a block to calls, in the same order."""
        made: list[tuple[TracedOp, Call]] = []
        for op in block.ops:
            statement = block.statements.get(op.name)
            if statement is not None:
                made.append((op, self._block(op, statement)))
                continue
            call = self._make(op)
            made.append((op, call))
            targets = self._lines.targets(op)
            for index, (edge, _) in enumerate(op.outputs):
                self._words[edge] = default_variable(call, index, self._catalog)
            if len(targets) == len(op.outputs):
                named = zip(op.outputs, targets, strict=True)
                known = {edge: target for (edge, _), target in named if target.strip("_")}
                self._words |= known
                self._written |= known.keys()
        return self._finish(made, [edge.edge for edge in gives])

    def _block(self, op: TracedOp, statement: Statement) -> Call:
        inputs = {_CONDITION: statement.condition}
        names: dict[TracedInput, str] = {}
        taken = {_CONDITION}
        for block in statement.bodies:
            for edge, source in block.takes.items():
                self._words[edge] = self._words[source.edge]
                self._written |= {edge} if source.edge in self._written else set()
                if source not in names:
                    names[source] = claim_name(self._words[edge], taken)
                    inputs[names[source]] = source
        made = [self.convert(block, block.gives) for block in statement.bodies]
        outputs = self._ends(op, statement)
        self._words |= zip(statement.outputs, outputs, strict=True)
        self._written |= set(statement.outputs)
        bodies = {
            name: BodyCalls(
                calls,
                {names[source]: edge for edge, source in block.takes.items()},
                dict(zip(outputs, block.gives, strict=True)),
            )
            for name, calls, block in zip(BODIES, made, statement.bodies, strict=True)
        }
        return Call("if", {}, inputs, outputs, bodies=bodies)

    def _ends(self, op: TracedOp, statement: Statement) -> tuple[str, ...]:
        """Return a name for each output: a variable that a body assigns, or a default name."""
        found: list[str | None] = []
        usual: list[str] = []
        for ends in zip(*(block.gives for block in statement.bodies), strict=True):
            bodies = zip(statement.bodies, ends, strict=True)
            edges = [end.edge for _, end in sorted(bodies, key=lambda b: b[1].edge in b[0].takes)]
            found.append(next((self._words[e] for e in edges if e in self._written), None))
            usual.append(self._words[edges[0]])
        left = [name for name in self._lines.assigned(op) if name not in found]
        if found.count(None) == 1 == len(left):  # a variable set to plain values
            found[found.index(None)] = left[0]
        taken: set[str] = set()
        return tuple(claim_name(n or u, taken) for n, u in zip(found, usual, strict=True))


def walk_calls(calls: NodeCalls) -> Iterator[tuple[TracedOp, Call]]:
    """Yield the calls, including calls in nested bodies."""
    for op, call in calls:
        yield op, call
        for body in call.bodies.values():
            yield from walk_calls(body.made)
