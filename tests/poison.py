"""Graph documents with hostile values at one place, and what is written of them, parsed only.

``python -m tests.poison 20000`` prints the counts of each outcome for 20,000 documents.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from tests.graph.builder.test_graph_code import STEPS, a_graph
from tests.helpers import CATALOG, good_value
from workbench.catalog import ArgSpec
from workbench.catalog.extra_operators import STRUCTURE
from workbench.catalog.spec import OPAQUE, OpSpec
from workbench.emit.targets import export, target_names
from workbench.errors import GraphFormatError, WorkbenchError
from workbench.graph import Graph, Node, Port, check_graph, load_recipes
from workbench.graph.builder.read import unchecked_reader_graph
from workbench.graph.checks.check import stopping_faults
from workbench.graph.storage.io import graph_to_json
from workbench.graph.storage.layout import Document, dump_document, load_document
from workbench.sources import open_dataset, source_kinds
from workbench.ui.export.cell_source import cell_source

MARK = "PWN"
HOSTILE_TEXTS = (
    "PWN()", "1) or PWN() or (1", '"); PWN(); ("', "'); PWN(); ('", "\nPWN()\n", "\r\nPWN()",
    '"""\nPWN()\n"""', "{PWN()}", "${PWN}", "$title", "«PWN()»", "\\", '"', "'", 'x" + PWN() + "',
    "\ud800PWN()", "\x00PWN()", "\u2028PWN()", "#\nPWN()", "%(PWN)s", "a.b.c", "import",
    "__class__", "", "W" * 300, 'HWC"',
)  # fmt: skip
HOSTILE_VALUES = (
    float("nan"), float("inf"), 10**30, 10**400, -(10**400), 2**63, -1, 0, 1.5, 1e308, 1e-320,
    True, False, None, [], {}, [[]], [1, [2]], ["PWN()"], [True], {"a": 1}, [0] * 50,
    [1e308, 1e308], "224",
)  # fmt: skip
Path = tuple[str | int, ...]


@cache
def documents() -> Mapping[str, Any]:
    """Sound documents, mostly: every recipe, block, operator and kind of source."""
    found = {f"recipe {name}": graph_to_json(graph) for name, graph in load_recipes().items()}
    found |= {f"step {name}": graph_to_json(step(a_graph())) for name, step in STEPS.items()}
    for name in (*CATALOG, *STRUCTURE, *OPAQUE):
        if not CATALOG[name].reads:
            found[f"operator {name}"] = graph_to_json(_with_operator(CATALOG[name]))
    for kind in source_kinds():
        dataset = replace(open_dataset("."), kind=kind)
        found[f"source {kind}"] = graph_to_json(unchecked_reader_graph({"data": dataset}, {}))
    return found


def _with_operator(spec: OpSpec) -> Graph:
    """A graph that ends in an operator with a value for every second argument."""
    inputs = {port.name: Port("resize", "output") for port in spec.inputs if not port.optional}
    if spec.max_inputs and not inputs:
        inputs = {"input_0" if spec.follows else "data": Port("resize", "output")}
    args = {}
    for number, arg in enumerate(spec.args.values()):
        value = arg.start
        if value is None and (arg.required or number % 2) and arg.kind not in ("policy", "object"):
            value = good_value(arg, 1)
        if value is not None:
            args[arg.name] = value
    node = Node("it", spec.name, args, inputs, seed=3 if spec.seeded else None)
    output = spec.outputs[0].name if spec.outputs else "images"
    base = a_graph()
    outputs = {"images": Port("it", output), "labels": base.outputs["labels"]}
    return replace(base, nodes=(*base.nodes, node), outputs=outputs)


def poisoned(rng: random.Random) -> tuple[str, Any, Path, Any]:
    """The name of a document, the document with one place changed, the place, and the value."""
    name = rng.choice(sorted(documents()))
    data = copy.deepcopy(documents()[name])
    places = [path for path in _paths(data) if path and path[0] not in ("format", "version")]
    nodes = [path for path in places if _is_node(_at(data, path))]
    if rng.random() < 0.5 and nodes:
        path = rng.choice(nodes)
        node = _at(data, path)
        spec = CATALOG.find(node["op"])
        if spec is not None and spec.args:
            arg = spec.args[rng.choice(sorted(spec.args))]
            value = _value(rng, arg)
            node.setdefault("args", {})[arg.name] = value
            node.get("inputs", {}).pop(arg.name, None)
            return name, data, (*path, "args", arg.name), value
    path = rng.choice(places)
    value = _value(rng, None)
    holder = _at(data, path[:-1])
    if isinstance(path[-1], str) and len(path) > 1 and rng.random() < 0.3:
        value = rng.choice(HOSTILE_TEXTS)
        kept = {(value if key == path[-1] else key): each for key, each in holder.items()}
        holder.clear()
        holder.update(kept)
        return name, data, (*path, "key"), value
    holder[path[-1]] = value
    return name, data, path, value


def _value(rng: random.Random, arg: ArgSpec | None) -> Any:
    """Anything; of an argument mostly a hostile value of its own kind."""
    if arg is None or arg.kind == "object" or rng.random() < 0.2:
        return rng.choice(HOSTILE_TEXTS if rng.random() < 0.6 else HOSTILE_VALUES)
    value = {
        "int": rng.choice((1, 0, -1, 3, 2**40)),
        "float": rng.choice((1.5, 0.0, 1e-320, 3, 1e38, -1)),
        "bool": rng.choice((True, False)),
        "str": rng.choice(HOSTILE_TEXTS),
        "enum": rng.choice((*arg.members, *HOSTILE_TEXTS)),
        "policy": [[["rotate", rng.choice((0.5, 2)), rng.choice((3, "PWN()"))]]],
    }[arg.kind.partition("_")[0]]
    if arg.kind.endswith("_list") and rng.random() < 0.6:
        return [value] * rng.choice((0, 1, 2, 3, arg.items or 1))
    return value


def written(document: Document, targets: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """What is written of a document, and where: as a cell, and for targets that hold it."""
    graph = document.graph
    data = {
        source.dataset: replace(open_dataset("."), kind=source.kind or "folder")
        for source in graph.sources
    }
    if data:
        yield "cell.py", cell_source(data, document)
    for target in targets:
        try:
            made = export(graph, target, CATALOG)
        except WorkbenchError:
            continue
        for name, code in made.files.items():
            yield f"{target}/{name}", code.text


def trees(name: str, text: str) -> list[ast.AST]:
    """The syntax trees of a Python file or a notebook, which is parsed and never run."""
    if name.endswith(".py"):
        return [ast.parse(text)]
    if name.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        return [ast.parse(source) for source in sources]
    return []


def skeleton(name: str, text: str) -> list[Any]:
    """The types of all nodes of a program, as they are nested: the same whatever it names."""

    def of(node: ast.AST) -> Any:
        return type(node).__name__, [of(each) for each in ast.iter_child_nodes(node)]

    return [of(tree) for tree in trees(name, text)]


def calls_of_mark(name: str, text: str) -> list[str]:
    """Occurrences of the mark in a program as code, not as text."""
    return [
        ast.dump(node)
        for tree in trees(name, text)
        for node in ast.walk(tree)
        if (isinstance(node, ast.Name) and node.id == MARK)
        or (isinstance(node, ast.Attribute) and MARK in node.attr)
    ]


def judge(rng: random.Random, tally: Counter[str]) -> None:
    """Poison one document and look at what is written of it. Raises AssertionError."""
    name, data, path, value = poisoned(rng)
    try:
        document = load_document(json.dumps(data))
    except GraphFormatError:
        tally["refused"] += 1
        return
    where = f"{name} {path} {value!r:.80}"
    check_graph(document.graph, CATALOG)
    faults = stopping_faults(document.graph, CATALOG)
    targets = (rng.choice(target_names()),) if faults else target_names()
    assert load_document(dump_document(document)).graph == document.graph, where
    tally["with faults" if faults else "sound"] += 1
    programs = dict(written(document, targets))
    for file, text in programs.items():
        assert not calls_of_mark(file, text), f"{where}: {file}"
        assert not faults or file == "cell.py", f"{where}: {file} is written in spite of a fault"
        tally["programs"] += 1
    if not faults and isinstance(value, str) and path[-1] != "key" and value:
        twin = copy.deepcopy(data)
        _at(twin, path[:-1])[path[-1]] = "harmless" if path[-1] != "layout" else value
        other = load_document(json.dumps(twin))
        if not stopping_faults(other.graph, CATALOG):
            for file, text in written(other, targets):
                if file in programs and (trees(file, text) or not file.endswith(".py")):
                    same = skeleton(file, text) == skeleton(file, programs[file])
                    assert same, f"{where}: {file} has another structure"
                    tally["compared with a harmless twin"] += 1


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(each, (*path, key))


def _is_node(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("op"), str)


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


if __name__ == "__main__":
    counted: Counter[str] = Counter()
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for number in range(int(sys.argv[1])):
        if number % 500 == 499:
            print(number + 1, dict(counted), flush=True)
        try:
            judge(chance, counted)
        except Exception:
            counted["FAILED"] += 1
            traceback.print_exc()
    print(dict(counted))
