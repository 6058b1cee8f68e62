"""Read and write graphs as JSON.

::

    {"format": "dali-workbench-graph", "version": 3, "name": "imagenet-eval", "about": "...",
     "settings": {"batch_size": 64, "num_threads": 4, "seed": 42, "device": "cpu",
                  "prefetch_queue_depth": 2, "pipelines": 1},
     "sources": [{"id": "reader", "op": "readers.file", "kind": "folder", "seed": 0}],
     "nodes": [{"id": "decode", "op": "decoders.image", "inputs": {"data": "reader.jpegs"}},
               {"id": "resize", "op": "resize", "args": {"resize_shorter": 256},
                "inputs": {"data": "decode.output"}}],
     "outputs": {"images": "resize.output", "labels": "reader.labels"}}

A block has bodies, each with the structure of a graph::

    {"id": "if", "op": "if", "inputs": {"condition": "coin.output", "images": "resize.output"},
     "bodies": {"then": {"inputs": ["images"], "nodes": [...], "outputs": {"images": ...}},
                "else": {"inputs": ["images"], "nodes": [], "outputs": {"images":
                         "if.else.images"}}}}

A named body has a ``"title"``. A node with ``"muted": true`` does not run.

Version 1 had no blocks and no separate sources: readers were ordinary nodes. Up to version 2 a
graph ran as one pipeline and had no ``"pipelines"``.
``"executor"`` is present unless it is ``dynamic``.

Five further entries are ignored here: ``layout`` belongs to the canvas, ``origins`` and
``import_report`` to the import, ``draws`` to the preview (all in ``layout.py``), ``session`` to the
interface (``ui/storage/session_file.py``).

A graph file is data: loading one runs no code. Operators that the installed DALI lacks are
preserved. The parser uses no library, because the core must import with numpy only, and arguments
may be any JSON value.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from workbench.arguments import PATH, TEXT, checked, warn_caller
from workbench.catalog.extra_operators import STRUCTURE
from workbench.catalog.spec import Scalar, Value
from workbench.errors import GraphFormatError
from workbench.graph.model import (
    CHOICES,
    GRAPH,
    TITLE_WORDS,
    Body,
    Graph,
    Node,
    Port,
    Settings,
    Source,
    is_name,
    is_text,
    is_title,
)
from workbench.graph.model.bounds import MOST_FILE_NODES, MOST_NESTED
from workbench.graph.model.graph import changed_settings
from workbench.graph.model.values import describe_kind, kind_fault
from workbench.names import shortened
from workbench.sources import PARAMETER, source_kinds

FORMAT = "dali-workbench-graph"
VERSION = 3
_LONGEST = 16_000_000
_REMOVED = "cpu_share"


def _settings_to_json(settings: Settings) -> dict[str, Any]:
    found = {f.name: getattr(settings, f.name) for f in fields(Settings)}
    if settings.executor == Settings().executor:  # missing in older files
        del found["executor"]
    return found


def graph_to_json(graph: Graph) -> dict[str, Any]:
    """Convert the graph to JSON values without empty entries."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": graph.name,
        "about": graph.about,
        "settings": _settings_to_json(graph.settings),
        "sources": [_node_to_json(source) for source in graph.sources],
        "nodes": [_node_to_json(node) for node in graph.nodes if not isinstance(node, Source)],
        "outputs": _ports_to_json(graph.outputs),
    }


def _node_to_json(node: Node) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": node.id, "op": node.op}
    if isinstance(node, Source):
        entry |= {"kind": node.kind} if node.kind else {}
        entry |= {"dataset": node.dataset} if node.dataset != PARAMETER else {}
    if node.args:
        entry["args"] = {name: _as_json(value) for name, value in node.args.items()}
    if node.inputs:
        entry["inputs"] = _ports_to_json(node.inputs)
    if node.device is not None:
        entry["device"] = node.device
    if node.seed is not None:
        entry["seed"] = node.seed
    if node.muted:
        entry["muted"] = True
    if node.bodies:
        entry["bodies"] = {
            name: {
                "inputs": list(body.inputs),
                "nodes": [_node_to_json(inner) for inner in body.nodes],
                "outputs": _ports_to_json(body.outputs),
                **({"title": body.title} if body.title else {}),
            }
            for name, body in node.bodies.items()
        }
    return entry


def _ports_to_json(ports: Mapping[str, Port]) -> dict[str, str]:
    return {name: str(port) for name, port in ports.items()}


@checked(graph=GRAPH)
def dump_graph(graph: Graph) -> str:
    """Return the graph as the text of a graph file, which ``load_graph`` parses.

    Raises ArgumentError if ``graph`` is not a graph::

        text = wb.dump_graph(graph)
        assert wb.load_graph(text) == graph
    """
    return dump_json(graph_to_json(graph))


def dump_json(data: Mapping[str, Any]) -> str:
    """Format JSON values like a graph file: indented, with a final newline."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if not is_text(text):
        text = json.dumps(data, indent=2)
    return text + "\n"


@checked(text=TEXT)
def load_graph(text: str) -> Graph:
    """Parse the text of a graph file, without running any code that it contains.

    Raises GraphFormatError, which lists every format error with its location. Use ``check_graph``
    to find out whether the graph can run::

        graph = wb.load_graph(wb.dump_graph(wb.load_recipe("simclr")))
    """
    if text.rstrip().endswith(".json") and "\n" not in text:
        raise GraphFormatError(
            f"{text.strip()[:200]!r} is a path, but load_graph expects the text of a "
            "graph file. Use wb.read_graph(path)."
        )
    return graph_from_json(parse_json(text))


def parse_json(text: str) -> Any:
    """Parse untrusted JSON. Raises GraphFormatError if it is invalid or too long."""
    if len(text) > _LONGEST:
        raise GraphFormatError(f"The text has {len(text):,} characters; the limit is {_LONGEST:,}.")
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        reason = (
            error if isinstance(error, json.JSONDecodeError) else ("a number or list is too long")
        )
        raise GraphFormatError(
            f"The text is not valid JSON ({reason}). Use a graph file that the workbench saved."
        ) from None


def graph_from_json(data: Any) -> Graph:
    """Convert parsed JSON to a graph. Raises GraphFormatError like ``load_graph``."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise GraphFormatError(
            f'The text is not a graph file: it has no "format": "{FORMAT}". Use a file that the '
            "workbench saved."
        )
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise GraphFormatError(
            f"The format version of the graph is {version!r}. Use an integer of at least 1."
        )
    if version > VERSION:
        raise GraphFormatError(
            f"The graph has format version {version}, but this workbench reads up to "
            f"{VERSION}. Open it with a newer workbench."
        )
    return _Reader().graph(data)


class _Reader:
    """Parser that collects all errors with their locations, so that all are reported at once."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.count = 0
        self.places: dict[str, str] = {}
        """Location of each node in the file, by node id."""

    def graph(self, data: dict[str, Any]) -> Graph:
        known = {"format", "version", "name", "about", "settings", "sources", "nodes", "outputs"}
        known |= {"layout", "draws", "origins", "import_report", "session"}
        for key in data.keys() - known:
            self.faults.append(f"{key} is unknown. Use one of: {', '.join(sorted(known))}.")
        sources = self.nodes(data.get("sources", []), "sources", source=True)
        graph = Graph(
            name=self.string(data.get("name", "untitled"), "name"),
            about=self.string(data.get("about", ""), "about"),
            nodes=sources + self.nodes(data.get("nodes", []), "nodes"),
            outputs=self.ports(data.get("outputs", {}), "outputs"),
            settings=self.settings(data.get("settings", {})),
        )
        if self.faults:
            raise GraphFormatError("The graph file is damaged.\n" + "\n".join(self.faults))
        return graph

    def expect(self, value: Any, kind: type, path: str, expected: str) -> Any:
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return self.number(value, path) if kind is int else value
        self.faults.append(f"{path}: {_short(value)} is not {expected}.")
        return kind()

    def number(self, value: Any, path: str) -> Any:
        """Validate a number: it must be in the range of a float, as floats are computed from it."""
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            self.faults.append(f"{path}: {_short(value)} is too large.")
            return 0
        return value

    def string(self, value: Any, path: str) -> str:
        """Validate a string: it must be encodable as UTF-8, because exported code contains it."""
        text: str = self.expect(value, str, path, "a string")
        if not is_text(text):
            self.faults.append(
                f"{path}: {ascii(text)[:60]} contains a lone surrogate (half a character), which "
                "files cannot store. Remove it."
            )
        return text

    def nodes(
        self, data: Any, path: str, *, source: bool = False, depth: int = 0
    ) -> tuple[Node, ...]:
        entries = self.expect(data, list, path, "a list")
        self.count += len(entries)
        if self.count > MOST_FILE_NODES:
            raise GraphFormatError(f"The graph has more than {MOST_FILE_NODES:,} nodes. Split it.")
        return tuple(
            self.node(entry, f"{path}[{i}]", source, depth) for i, entry in enumerate(entries)
        )

    def node(self, data: Any, path: str, source: bool, depth: int) -> Node:
        data = self.expect(data, dict, path, "an object")
        known = ["id", "op", "args", "inputs", "device", "seed", "muted"]
        known += ["kind", "dataset"] if source else ["bodies"]
        for key in data.keys() - set(known):
            self.faults.append(f"{path}.{key} is unknown. Use one of: {', '.join(known)}.")
        args = self.expect(data.get("args", {}), dict, f"{path}.args", "an object")
        device, seed = data.get("device"), data.get("seed")
        if device not in (None, "cpu", "gpu", "mixed"):
            self.faults.append(f"{path}.device: {_short(device)} is not cpu, gpu or mixed.")
        if seed is not None:
            seed = self.expect(seed, int, f"{path}.seed", "an integer")
        op = self.expect(data.get("op"), str, f"{path}.op", "a string")
        values = {k: self.value(v, f"{path}.args.{k}") for k, v in args.items()}
        self.structure(op, values, path)
        node = Node(
            id=self.id(data.get("id"), path),
            op=op,
            args=values,
            inputs=self.ports(data.get("inputs", {}), f"{path}.inputs"),
            device=device,
            seed=seed,
            bodies=self.bodies(data.get("bodies", {}), f"{path}.bodies", depth + 1),
            muted=self.expect(data.get("muted", False), bool, f"{path}.muted", "true or false"),
        )
        if source:
            given = {each.name: getattr(node, each.name) for each in fields(node)}
            return Source(
                **given,
                kind=self.source_kind(data.get("kind", ""), f"{path}.kind"),
                dataset=self.parameter(data.get("dataset", PARAMETER), f"{path}.dataset"),
            )
        return node

    def id(self, value: Any, path: str) -> str:
        """Validate a node's id: it must be unique, because scopes and ports refer to it."""
        node_id = self.string(value, f"{path}.id")
        first = self.places.setdefault(node_id, path)
        if first != path and isinstance(value, str):
            self.faults.append(
                f"{path}.id: {_short(node_id)} is also the id of {first}. Use unique ids."
            )
        return node_id

    def structure(self, op: str, args: Mapping[str, Value], path: str) -> None:
        """Report arguments of blocks and followers that have the wrong kind.

        These arguments control how often and in which order code is generated. For DALI's
        operators, wrong kinds are faults of ``check_graph`` instead, so that the file can still be
        opened and fixed.
        """
        known = STRUCTURE[op].args if op in STRUCTURE else {}
        for name, value in args.items():
            if name in known and (words := kind_fault(known[name], value)):
                remedy = f"Use {describe_kind(known[name])}."
                self.faults.append(f"{path}.args.{name} ({op}): {words}. {remedy}")

    def source_kind(self, value: Any, path: str) -> str:
        kind: str = self.expect(value, str, path, "a string")
        if kind and kind not in source_kinds():
            known = ", ".join(source_kinds())
            self.faults.append(f"{path}: {_short(kind)} is not a source kind. Use one of: {known}.")
        return kind

    def parameter(self, value: Any, path: str) -> str:
        name: str = self.expect(value, str, path, "a string")
        if not is_name(name):
            self.faults.append(f"{path}: {_short(name)} is not a Python name.")
        return name

    def bodies(self, data: Any, path: str, depth: int) -> Mapping[str, Body]:
        found = {}
        entries = self.expect(data, dict, path, "an object")
        if entries and depth > MOST_NESTED:
            self.faults.append(f"{path}: blocks are nested more than {MOST_NESTED} deep.")
            return {}
        for name, entry in entries.items():
            at = f"{path}.{name}"
            if "." in name:
                self.faults.append(f"{at}: the name of a body must not contain a dot.")
            body = self.expect(entry, dict, at, "an object")
            for key in body.keys() - {"inputs", "nodes", "outputs", "title"}:
                known = "inputs, nodes, outputs, title"
                self.faults.append(f"{at}.{key} is unknown. Use one of: {known}.")
            taken = self.expect(body.get("inputs", []), list, f"{at}.inputs", "a list")
            found[name] = Body(
                self.nodes(body.get("nodes", []), f"{at}.nodes", depth=depth),
                self.ports(body.get("outputs", {}), f"{at}.outputs"),
                tuple(self.string(each, f"{at}.inputs") for each in taken),
                self.title(body.get("title", ""), f"{at}.title"),
            )
        return found

    def title(self, value: Any, path: str) -> str:
        """Validate the title of a body, which becomes a comment in exported code."""
        title = self.string(value, path)
        if not is_title(title):
            self.faults.append(f"{path}: {_short(title)} is not {TITLE_WORDS}.")
            return ""
        return title

    def ports(self, data: Any, path: str) -> Mapping[str, Port]:
        found = {}
        for name, text in self.expect(data, dict, path, "an object").items():
            node, dot, output = str(text).rpartition(".")
            if not isinstance(text, str) or not dot or not node or not output:
                self.faults.append(f"{path}.{name}: {_short(text)} is not node.output.")
            else:
                found[name] = Port(node, output)
        return found

    def settings(self, data: Any) -> Settings:
        data = self.expect(data, dict, "settings", "an object")
        known = {f.name for f in fields(Settings)}
        if _REMOVED in data:  # written on 30 November 2026 only, and never 0
            warn_caller(
                f"settings.{_REMOVED} is {data[_REMOVED]}, but no longer exists: the GPU decodes "
                "all images. Save the graph to remove it."
            )
        for key in data.keys() - known - {_REMOVED}:
            self.faults.append(
                f"settings.{key} is unknown. Use one of: {', '.join(sorted(known))}."
            )
        values = {k: v for k, v in data.items() if k in known}
        for key, value in values.items():
            if key not in CHOICES:
                self.expect(value, int, f"settings.{key}", "an integer")
            elif value not in CHOICES[key]:
                allowed = " or ".join(CHOICES[key])
                self.faults.append(f"settings.{key}: {_short(value)} is not {allowed}.")
        return changed_settings(Settings(), values)

    def value(self, value: Any, path: str, depth: int = 0) -> Value:
        if isinstance(value, list) and depth == MOST_NESTED:
            self.faults.append(f"{path}: lists are nested more than {MOST_NESTED} deep.")
            return ()
        if isinstance(value, list):
            items = enumerate(value)
            return tuple(self.value(item, f"{path}[{i}]", depth + 1) for i, item in items)
        if isinstance(value, float) and not math.isfinite(value):
            self.faults.append(f"{path}: {value} is not a finite number.")
        elif not isinstance(value, bool | int | float | str):
            self.faults.append(
                f"{path}: {_short(value)} is not a number, text, truth value or list."
            )
            return ""
        scalar: Scalar = value
        return scalar


def _as_json(value: Value) -> Any:
    return [_as_json(item) for item in value] if isinstance(value, tuple) else value


def _short(value: Any) -> str:
    return shortened(repr(value), 60)


@checked(path=PATH)
def read_graph(path: str | Path) -> Graph:
    """Read a graph file, without running any code that it contains.

    Raises GraphFormatError, with the file name.

    ::

        pathlib.Path("mine.json").write_text(wb.dump_graph(graph))
        graph = wb.read_graph("mine.json")
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise GraphFormatError(
            f"{path} cannot be read: {reason}. Use a graph file that the workbench saved."
        ) from None
    try:
        return load_graph(text)
    except GraphFormatError as error:
        raise GraphFormatError(f"{path}: {error}") from None
