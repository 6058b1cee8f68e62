"""Emitted source and the calls in it, shared by every target.

There is one way from a graph to a DALI pipeline: the lines that ``Emitter.node_lines`` writes. The
exported script, the preview and the benchmark all run them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.catalog.spec import Catalog
from workbench.emit.naming import name_outputs
from workbench.emit.python import LINE, call, identifier, literal
from workbench.graph.check import positional_ports
from workbench.graph.model import Graph, Node, Port

_SETTINGS = {"BATCH_SIZE", "NUM_THREADS", "DEVICE", "SEED", "IMAGES"}
"""Constants that every script has."""
_SOURCES = {"file_root", "files", "file_list"}
"""Arguments of the file reader that say what it reads."""


@dataclass(frozen=True, slots=True)
class Source:
    """Python source, and for each node the lines (from 1) that make it."""

    text: str
    lines: Mapping[str, range]

    def node_at(self, line: int) -> str | None:
        """Id of the node that a line makes, or None."""
        return next((node for node, lines in self.lines.items() if line in lines), None)


class Emitter:
    """Writes the calls of some nodes of a graph, in running order.

    Parameters
    ----------
    lift:
        Whether values that the catalogue names (``MEAN``, ``STD``) and long lists become constants.
        They are then in ``constants``, name -> source.
    positioned:
        Whether random operators get ``_random_state``, so that a pipeline that begins at any batch
        draws what a long run draws there.
    """

    def __init__(
        self,
        graph: Graph,
        catalog: Catalog,
        ordered: Sequence[Node],
        *,
        lift: bool = False,
        positioned: bool = False,
    ) -> None:
        self.graph = graph
        self.catalog = catalog
        self.ordered = ordered
        self.positioned = positioned
        self.constants: dict[str, str] = {}
        self._lifted: dict[tuple[str, str], str] = {}
        if lift:
            self._lift()
        self.names = name_outputs(graph, catalog, ordered, self.constants)

    def _lift(self) -> None:
        for node in self.ordered:
            for name, value in node.args.items():
                arg = self.catalog[node.op].args[name]
                text = literal(value, arg)
                if not isinstance(value, tuple) or (arg.constant is None and len(text) < LINE // 2):
                    continue
                constant = arg.constant or f"{node.id}_{name}".upper()
                if self.constants.get(constant, text) != text:
                    constant = f"{node.id}_{constant}".upper()
                while constant in _SETTINGS or self.constants.get(constant, text) != text:
                    constant += "_"
                self.constants[constant] = text
                self._lifted[node.id, name] = constant

    def node_lines(self, node: Node) -> list[str]:
        """The call of one node, assigned to its variables."""
        spec = self.catalog[node.op]
        fed = [
            self.names[node.inputs[port]]
            for port in positional_ports(node, spec)
            if port in node.inputs
        ]
        arguments = [f"{name}.gpu()" for name in fed] if node.device == "gpu" else fed
        if spec.name == "readers.file" and not _SOURCES & node.args.keys():
            arguments.append("**find_files(data)")
        for name in node.args:
            arg = spec.args[name]
            value = self._lifted.get((node.id, name)) or literal(node.args[name], arg)
            arguments.append(f"{identifier(name)}={value}")
        arguments += [
            f"{identifier(name)}={self.names[port]}"
            for name, port in node.inputs.items()
            if name in spec.args
        ]
        if node.device is not None and not (node.device == "gpu" and fed):
            arguments.append(f'device="{node.device}"')
        elif "mixed" in spec.devices:
            arguments.append("device=device")
        if spec.seeded:
            seed = f"base_seed + {node.seed}" if node.seed else "base_seed"
            arguments.append(f"seed={seed}")
            if self.positioned and spec.random_state:
                arguments.append(f"_random_state=random_state({seed}, position)")
        if node.op.startswith("readers."):
            arguments.append(f'name="{identifier(node.id)}"')
        targets = ", ".join(self.names[Port(node.id, output.name)] for output in spec.outputs)
        return call(targets, f"fn.{identifier(node.op)}", arguments)
