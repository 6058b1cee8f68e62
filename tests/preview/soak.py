"""Many random edits in a row, each previewed, like a user who tries everything."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests import placed
from tests.helpers import CATALOG, good_value, photo_recipes, with_settings
from workbench.engine import Engine
from workbench.engine.protocol.registry import task
from workbench.engine.resources.process_memory import private_bytes, thread_count, trim_heaps
from workbench.engine.run.worker import Worker, release
from workbench.errors import (
    GraphEditError,
    GraphError,
    GraphFaultsError,
    WorkbenchError,
    WorkerLostError,
)
from workbench.graph import Graph, Port
from workbench.graph.edits.compose import add_output, place_node, remove_nodes
from workbench.graph.edits.edit import insert_node, move_node, randomise_arg, reset_arg, set_arg
from workbench.graph.fixes.unfed_inputs import feed_node
from workbench.preview import PreviewRequest, preview_batch, preview_statistics, preview_steps
from workbench.preview.verify import Verifier

SAMPLES = 6
BUDGET = 96 * 2**20
"""Bytes that the worker may keep: little, so that it is full long before 200 edits."""
MOST_NODES = 14
MEASURED_EACH = 10
"""Edits after which memory and threads are looked at, when the worker has tidied up."""
RELEASED_EACH = 100
"""Edits after which all is dropped: what is not freed then is a leak."""
LIFE = 800
LARGEST = 1024.0
"""Of a number: images of 10,000 pixels a side test the machine's memory, not the workbench."""
FEW = 8.0
"""The range of a number for which the catalogue names none: a shape, for example."""
USABLE = sorted(op.name for op in placed.USABLE)


@dataclass
class Soak:
    """What happened."""

    resident: list[int] = field(default_factory=list)
    """Private bytes of the worker after every tenth edit. Each worker starts new lists."""
    released: list[int] = field(default_factory=list)
    """Bytes after every hundredth edit, when all caches are dropped."""
    threads: list[int] = field(default_factory=list)
    shown: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    compared: int = 0
    used: set[str] = field(default_factory=set)

    def unused(self) -> str:
        """Operators that were in no displayed graph."""
        return ", ".join(sorted(set(USABLE) - self.used)) or "none"

    def growth(self, figures: list[int], each: int) -> float:
        """Median of the last 200 edits over that of the 200 that follow the first 200.

        ``each`` is the number of edits between two figures.
        """
        some = 200 // each
        return statistics.median(figures[-some:]) / statistics.median(figures[some : 2 * some])


class Editor:
    """Edits a graph at random; the same seed makes the same edits."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.batch = 0
        self.before: list[Graph] = []
        self.tried: Counter[str] = Counter()
        self.unfit: set[str] = set()
        self.graph = self._recipe()

    def edit(self) -> None:
        """One edit of any kind. An edit that the graph refuses leaves it as it was."""
        kinds: dict[Callable[[Graph], Graph], int] = {
            self._set: 40,
            self._insert: 18,
            self._randomise: 9,
            self._remove: 9,
            self._move: 7,
            self._reset: 5,
            self._undo: 5,
            self._turn: 4,
            self._place: 10,
            self._seed: 2,
            lambda _: self._recipe(): 1,
        }
        (kind,) = self.chance.choices(list(kinds), list(kinds.values()))
        if len(self.graph.nodes) > MOST_NODES:
            kind = self._remove
        self.before = [*self.before[-20:], self.graph]
        with suppress(WorkbenchError):
            self.graph = kind(self.graph)

    def back(self) -> None:
        """Undo the last edit."""
        self.graph = self.before.pop()

    def _node(self, graph: Graph) -> str:
        return self.chance.choice(graph.nodes).id

    def _recipe(self) -> Graph:
        graph = self.chance.choice(list(photo_recipes().values()))
        return with_settings(graph, batch_size=SAMPLES, device="cpu")

    def _arg(self, graph: Graph, node: str) -> str:
        """Rather one of those that are always in sight."""
        args = CATALOG[graph.node(node).op].args
        if not args:
            raise GraphEditError("no arguments")
        plain = sorted(name for name, arg in args.items() if not arg.advanced)
        return self.chance.choice(plain if plain and self.chance.random() < 0.8 else sorted(args))

    def _op(self) -> str:
        """Rather one that was tried less often: all of them get their turn."""
        fit = [op for op in USABLE if op not in self.unfit]
        least = min(self.tried[op] for op in fit)
        rare = [op for op in fit if self.tried[op] == least]
        op = self.chance.choice(rare if self.chance.random() < 0.7 else fit)
        self.tried[op] += 1
        return op

    def _set(self, graph: Graph) -> Graph:
        node = self._node(graph)
        arg = self._arg(graph, node)
        spec = CATALOG[graph.node(node).op].args[arg]
        low = spec.low if spec.low is not None else spec.minimum or 0.0
        high = low + FEW if spec.high is None else spec.high
        spec = replace(spec, high=max(low, min(high, LARGEST)))
        value = good_value(spec, self.chance.randrange(10_000))
        return graph if value is None else set_arg(graph, CATALOG, node, arg, value)

    def _insert(self, graph: Graph) -> Graph:
        return insert_node(graph, CATALOG, self._op(), self._node(graph))[0]

    def _place(self, graph: Graph) -> Graph:
        """Add a node with the inputs that the workbench proposes, and output its result."""
        graph, placed = place_node(graph, CATALOG, self._op())
        graph = feed_node(graph, CATALOG, placed)
        return add_output(graph, CATALOG, Port(placed, _first_output(graph, placed)))

    def _randomise(self, graph: Graph) -> Graph:
        node = self._node(graph)
        return randomise_arg(graph, CATALOG, node, self._arg(graph, node))

    def _remove(self, graph: Graph) -> Graph:
        return remove_nodes(graph, CATALOG, [self._node(graph)])

    def _move(self, graph: Graph) -> Graph:
        return move_node(graph, CATALOG, self._node(graph), self.chance.choice((-1, 1)))

    def _reset(self, graph: Graph) -> Graph:
        node = self._node(graph)
        return reset_arg(graph, CATALOG, node, self._arg(graph, node))

    def _undo(self, graph: Graph) -> Graph:
        return self.chance.choice(self.before) if self.before else graph

    def _turn(self, graph: Graph) -> Graph:
        self.batch = self.chance.randrange(3)
        return graph

    def _seed(self, graph: Graph) -> Graph:
        return with_settings(graph, seed=self.chance.randrange(1000))


def _first_output(graph: Graph, node: str) -> str:
    return CATALOG[graph.node(node).op].outputs[0].name


def soak(engine: Engine, data: Path, edits: int, seed: int = 0, compare_each: int = 50) -> Soak:
    """Edit, preview, and at each ``compare_each``-th edit compare with a fresh export.

    Of many edits it makes as many more as one worker needs to live through ``LIFE`` of them. An
    operator in which DALI ended a worker is not placed again.
    """
    found, editor, number, born = Soak(), Editor(seed), 0, 0
    while number < max(edits, born + LIFE if edits > LIFE else 0):
        number += 1
        editor.edit()
        request = PreviewRequest(
            editor.graph,
            str(data),
            batch=editor.batch,
            tiles=editor.chance.choice((SAMPLES, SAMPLES, 4)),
            tile_size=96,
            shown=editor.chance.choice(("augmented", "both", "both", "difference")),
            repeat=editor.chance.choice((None, None, None, 2)),
        )
        try:
            preview = preview_batch(engine, request)
            assert len(preview.tiles) == request.tiles
            assert preview.image
            if number % 7 == 0:
                preview_steps(engine, request, number % request.tiles, times=number % 5 == 0)
                preview_statistics(engine, request)
            found.shown += 1
            found.used |= {node.op for node in editor.graph.nodes}
            runs = True
        except WorkerLostError as error:
            nodes = [node for node in editor.graph.nodes if node.id in error.nodes]
            found.lost.append(f"edit {number}: {error}\n{nodes}")
            for figures in (found.resident, found.released, found.threads):
                figures.clear()
            editor.unfit |= {node.op for node in nodes} if len(nodes) == 1 else set()
            runs, born = False, number
        except GraphFaultsError as error:
            found.refused[type(error).__name__] += 1
            runs = False
        except WorkbenchError as error:
            found.refused[f"{type(error).__name__}: {str(error)[:90]}"] += 1
            runs = isinstance(error, GraphError)  # it runs, and there is no picture in it
        if number % compare_each == 0 and runs:
            _compare(engine, editor, data, f"edit {number}")
            found.compared += 1
        if not runs and editor.chance.random() < 0.95:
            editor.back()
        if number % MEASURED_EACH == 0:
            engine.call(tidy)
            found.resident.append(private_bytes(engine.pid or 0))
            found.threads.append(thread_count(engine.pid or 0))
        if number % RELEASED_EACH == 0:
            engine.call(release)
            engine.call(tidy)
            found.released.append(private_bytes(engine.pid or 0))
    return found


@task
def tidy(_: Worker) -> None:
    """Task: what the worker does when it has had nothing to do for a while."""
    trim_heaps()


def _compare(engine: Engine, editor: Editor, data: Path, where: str) -> None:
    report = Verifier(editor.graph, str(data), editor.batch + 1, engine=engine).run()
    assert report.exact, "\n".join([where, *report.lines(), *map(str, editor.graph.nodes)])
