"""What several test modules need: random graphs, and scripts run as a user runs them."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from workbench.catalog import ArgSpec, Catalog, Value, load_catalog
from workbench.emit import emit_script
from workbench.emit.templates.template_parts import needs_conditionals
from workbench.engine.run.runner import Runner
from workbench.errors import GraphEditError
from workbench.graph import Fault, Graph, Node, Port, Settings, check_graph, load_recipes
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import (
    insert_node,
    is_movable,
    move_node,
    randomise_arg,
    reset_arg,
    set_arg,
    start_graph,
)
from workbench.graph.model import is_text
from workbench.graph.model.graph import changed_settings
from workbench.graph.model.values import is_layout
from workbench.sources import Datasets

CATALOG = load_catalog()
"""The operators of the installed DALI."""

Kind = Literal["insert", "remove", "move", "set", "set_bad", "randomise", "reset"]
KINDS: tuple[Kind, ...] = ("insert", "remove", "move", "set", "set_bad", "randomise", "reset")

HOSTILE = (
    '"); import os; os.system("x")',
    "'''\"\"\"",
    "line\nbreak\r\x00\x1b",
    "back\\slash\\",
    "\\N{BULLET}\\x",
    "\U0001f600 \u202e right to left \u2028",
    "{function}",
    "\ud800 half a character",
    "x" * 200,
)
WRITABLE = tuple(text for text in HOSTILE if is_text(text))
"""Those that a graph and its nodes may be called."""
NO_NAMES = tuple(text for text in HOSTILE if not text.isidentifier())
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))

SCALARS: st.SearchStrategy[Value] = st.one_of(
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=6
)


@dataclass(frozen=True)
class Step:
    """One edit. The numbers choose a node, an operator or argument, among those that there are."""

    kind: Kind
    node: int
    choice: int
    value: Value = 0


def step(kinds: Sequence[Kind] = KINDS) -> st.SearchStrategy[Step]:
    numbers = st.integers(0, 10_000)
    return st.builds(Step, st.sampled_from(kinds), numbers, numbers, VALUES)


def good_value(arg: ArgSpec, pick: int) -> Value | None:
    """A value that the catalogue allows, or None if it defines none."""
    if arg.choices:
        chosen = arg.choices[pick % len(arg.choices)]
        return (chosen,) if arg.kind.endswith("_list") else chosen
    if arg.members:
        return arg.members[pick % len(arg.members)]
    if arg.form == "index":
        return ("0", ":, 3:9", "::2, ::-1, -1")[pick % 3]
    element = arg.kind.removesuffix("_list")
    if is_layout(arg):
        return "HW" if arg.name == "axis_names" else ""
    low = arg.low if arg.low is not None else arg.minimum if arg.minimum is not None else 0
    high = arg.high if arg.high is not None else low + 1
    values: dict[str, Value] = {
        "bool": bool(pick % 2),
        "int": int(low) + pick % (int(high - low) + 1),
        "float": low + (high - low) * (pick % 101) / 100,
        "str": HOSTILE[pick % len(HOSTILE)],
    }
    value = values.get(element)
    if value is None or not arg.kind.endswith("_list"):
        return value
    count = 2 if "range" in (arg.name, arg.form) else arg.items or 1 + pick % 3
    return (value,) * count


def apply_step(graph: Graph, catalog: Catalog, made: Step) -> Graph:
    """The graph after one edit; the same one where the edit is refused."""
    node = graph.nodes[made.node % len(graph.nodes)]
    args = sorted(catalog[node.op].args)
    arg = args[made.choice % len(args)] if args else "none"
    try:
        match made.kind:
            case "insert":
                ops = sorted(catalog)
                return insert_node(graph, catalog, ops[made.choice % len(ops)], node.id)[0]
            case "remove" if is_movable(node, catalog):
                return remove_nodes(graph, catalog, [node.id])
            case "move":
                return move_node(graph, catalog, node.id, (-1, 1)[made.choice % 2])
            case "set":
                value = good_value(catalog[node.op].args[arg], made.choice) if args else None
                return graph if value is None else set_arg(graph, catalog, node.id, arg, value)
            case "set_bad":
                return set_arg(graph, catalog, node.id, arg, made.value)
            case "randomise":
                return randomise_arg(graph, catalog, node.id, arg)
            case "reset":
                return reset_arg(graph, catalog, node.id, arg)
    except GraphEditError:
        pass
    return graph


def edited(made: Sequence[Step], start: Graph | None = None) -> Graph:
    """The start graph after some edits."""
    graph = start or start_graph(CATALOG)
    for one in made:
        graph = apply_step(graph, CATALOG, one)
    return graph


GRAPHS = st.lists(step(), max_size=12).map(edited)
"""Any graph that edits lead to, with good and bad values."""


_UNFIT = ("channels", "layout", "relayout", "dtype", "apart", "value")
"""Faults that allowed values, or an allowed place, can lead to."""


def chained(picks: Sequence[tuple[int, Sequence[Step]]]) -> Graph:
    """A chain of DALI's own operators on the CPU, with values that the catalogue allows."""
    catalog = load_catalog()
    # automatic augmentation goes to fewer targets, and has tests of its own
    usable = (op for op in catalog.values() if op.image and not op.unusable and not op.module)
    ops = sorted(op.name for op in usable if "cpu" in op.devices and op.inputs[0].kind == "image")
    graph, last = start_graph(catalog), "decode"
    for pick, changes in picks:
        before = graph, last
        graph, last = insert_node(graph, catalog, ops[pick % len(ops)], last)
        index = [node.id for node in graph.nodes].index(last)
        for change in changes:
            graph = apply_step(graph, catalog, replace(change, node=index))
            index = [node.id for node in graph.nodes].index(last)
        if any(fault.code in _UNFIT for fault in check_graph(graph, catalog)):
            graph, last = before  # a colour operator behind a grey image, a size of 0, two means
    return graph


CHAINS = st.lists(
    st.tuples(st.integers(0, 1000), st.lists(step(("set", "randomise")), max_size=2)),
    min_size=1,
    max_size=10,
).map(chained)
"""Chains of up to 12 operators with allowed values; what a graph needs to be sound is there."""


LARGE = 39
"""Nodes of a recipe from which on a test of it is thorough."""


def recipe_cases(
    *without: str,
    only: Collection[str] = (),
    slow: Collection[str] = (),
    every: int = 1,
    first: int = 0,
) -> list[Any]:
    """Cases for ``parametrize``: all recipes but those named, the largest and ``slow`` thorough.

    Of the others each ``every``-th from ``first`` on is quick: tests differ in ``first``.
    """
    graphs = {
        name: graph
        for name, graph in load_recipes().items()
        if name not in without and (not only or name in only)
    }
    small = [name for name in graphs if name not in slow]
    small = [name for name in small if len(tuple(graphs[name].walk())) < LARGE]
    quick = small[first::every]
    return [
        pytest.param(graph, marks=[] if name in quick else [pytest.mark.thorough], id=name)
        for name, graph in graphs.items()
    ]


def photo_recipes() -> dict[str, Graph]:
    """The recipes that read a folder of photos."""
    return {name: g for name, g in load_recipes().items() if g.sources[0].kind == "folder"}


def flat_recipes() -> list[Graph]:
    """The recipes in which nothing is chosen for each sample: no block, no policy."""
    return [graph for graph in load_recipes().values() if not needs_conditionals(graph.nodes)]


def with_settings(graph: Graph, **settings: Any) -> Graph:
    return replace(graph, settings=changed_settings(graph.settings, settings))


def with_nodes(graph: Graph, *nodes: Node, **outputs: Port) -> Graph:
    """The graph with more nodes and outputs, unchecked."""
    return replace(graph, nodes=(*graph.nodes, *nodes), outputs={**graph.outputs, **outputs})


def with_node(graph: Graph, node_id: str, **changes: Any) -> Graph:
    """The graph with fields of one node changed, unchecked."""
    return graph.replace_node(replace(graph.node(node_id), **changes))


def with_args(graph: Graph, node_id: str, **args: Any) -> Graph:
    """The graph with arguments added to those of one node, unchecked."""
    return with_node(graph, node_id, args={**graph.node(node_id).args, **args})


def with_input(graph: Graph, node_id: str, name: str, source: str) -> Graph:
    """The graph with one input fed by a port, as ``"decode.output"``."""
    inputs = {**graph.node(node_id).inputs, name: Port(*source.split("."))}
    return with_node(graph, node_id, inputs=inputs)


def only_fault(graph: Graph) -> Fault:
    """The fault of a graph that has one."""
    faults = check_graph(graph, CATALOG)
    assert len(faults) == 1, [str(fault) for fault in faults]
    return faults[0]


def chain_graph(*ops: str, settings: Settings | None = None, **values: dict[str, Value]) -> Graph:
    """Reader, decoder and these operators; ``values`` by node id."""
    catalog = load_catalog()
    graph, last = start_graph(catalog), "decode"
    for op in ops:
        graph, last = insert_node(graph, catalog, op, last)
    for node_id, args in values.items():
        for arg, value in args.items():
            graph = set_arg(graph, catalog, node_id, arg, value)
    return replace(graph, settings=settings or graph.settings)


_numbers = itertools.count()


def import_script(text: str, folder: Path) -> ModuleType:
    """The exported script, saved and imported as a user would."""
    path = folder / f"script_{next(_numbers)}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(script: ModuleType, data: Path | str | Datasets, **settings: Any) -> Any:
    """The script's pipeline; without a folder if no reader reads one."""
    if isinstance(data, Mapping):
        given = {name: dataset.argument for name, dataset in data.items()}
        return script.build_pipeline(**given, **settings)
    parameters = inspect.signature(script.build_pipeline).parameters
    return script.build_pipeline(*[str(data)] * ("data" in parameters), **settings)


def arrays_of(tensors: Any) -> list[NDArray[Any]]:
    """Every sample of a DALI batch as a host array of its own."""
    host = tensors.as_cpu() if "GPU" in type(tensors).__name__ else tensors
    return [np.array(host[index]) for index in range(len(host))]


def script_batches(
    graph: Graph, data: Path | str | Datasets, count: int, folder: Path
) -> list[list[list[NDArray[Any]]]]:
    """The first batches of the exported script: batch -> output -> samples."""
    script = import_script(emit_script(graph, CATALOG).text, folder)
    pipe = built(script, data)
    return [[arrays_of(output) for output in pipe.run()] for _ in range(count)]


def same(ours: Sequence[NDArray[Any]], theirs: Sequence[NDArray[Any]]) -> bool:
    """Whether two batches have the same samples, bit for bit."""
    return len(ours) == len(theirs) and all(
        (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        for a, b in zip(ours, theirs, strict=True)
    )


@cache
def kept_runner() -> Runner:
    """One for all tests of this process: batches that several of them read are decoded once."""
    return Runner(CATALOG)


def require_parity(
    graph: Graph,
    data: Path | str | Datasets,
    folder: Path,
    batches: Sequence[int] = (7, 0, 1),
    count: int | None = None,
    runner: Runner | None = None,
    script_of: Graph | None = None,
) -> None:
    """Every batch of the runner, requested in this order, equals that of the exported script.

    Parameters
    ----------
    count:
        Samples requested from the runner per batch, by default all.
    script_of:
        Another graph of the same outputs, whose script is compared with.
    """
    script = script_batches(script_of or graph, data, max(batches) + 1, folder)
    runner, ports = runner or kept_runner(), list(graph.outputs.values())
    count = count or graph.settings.batch_size
    for batch in batches:
        result = runner.run(graph, data, batch, count, ports)
        for name, port, theirs in zip(graph.outputs, ports, script[batch], strict=True):
            ours = result.batches[port].arrays()
            assert same(ours, theirs[:count]), f"batch {batch}, output {name} differs"
        assert not any(sample.error for sample in result.samples)


def torchvision_transforms() -> Any:
    """``torchvision.transforms``; the test is skipped where it is not installed.

    Beside a torch of the CPU its wheel (``pip install --no-deps``) lacks the libraries of its
    compiled operators. No transform needs them, but the module that describes them does.
    """
    torch = pytest.importorskip("torch")
    if importlib.util.find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")
    if not torch.cuda.is_available():
        described = "torchvision._meta_registrations"
        sys.modules.setdefault(described, ModuleType(described))
    from torchvision import transforms

    torch.manual_seed(0)
    return transforms
