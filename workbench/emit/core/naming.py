"""Choose readable variable names for the outputs of nodes.

A chain that ends in the graph's output ``images`` uses the variable ``images`` throughout, as in
DALI's own examples. A value that is needed later retains its name, and the next value gets another
name. A node with an informative id, such as a name that the user chose, is named after its id:
``my_crop = fn.crop(images)``. If two views of an image are combined later, their variables do not
use the image's name.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.catalog.spec import Catalog, OpSpec, PortSpec
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.model import Body, Graph, Node, Port, Source
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import output_ports, outputs_of, variables_read
from workbench.graph.types.devices import is_generator

_KIND_NAMES = {"image": "images", "label": "labels", "mask": "masks"}
RESERVED = frozenset(dir(builtins)) | {
    *("fn", "math", "types", "np", "os", "csv", "time", "argparse", "glob", "main", "IMAGES"),
    *("data", "device", "seed", "base_seed", "position", "positions"),
    *("find_files", "is_header", "read_rows", "read_list", "write_numbered", "index_place"),
    *("is_hidden", "is_pattern", "matching_files", "pattern_folder"),
    "read_requests",
    *("random_state", "stage", "taps"),
    *("i", *(f"i_{depth}" for depth in range(2, 9))),
    *("Any", "DataNode", "Pipeline", "pipeline_def", "build_pipeline"),
    *("l", "O", "I"),
}
"""Names that no variable may have: names used by scripts and pipeline stages, Python's built-ins,
and names that resemble numbers (E741 of pycodestyle).
"""


IMAGES = "images"
"""Parameter name of a function that creates a view of images."""
_NUMBERED = re.compile(r"(?<=[a-zA-Z])_\d+$")


@dataclass(frozen=True, slots=True)
class ViewCall(Node):
    """Node that calls a view function, and replaces the chain of nodes that the function contains.

    It has the id of the chain's last node. ``gives`` is its output. ``seed`` is the first seed of
    the chain, or None if the chain has no random nodes.
    """

    function: str = ""
    gives: str = ""


_OF_ANOTHER_MEANING = {
    *("math.eq", "math.ne", "math.lt", "math.le", "math.gt", "math.ge"),
    *("math.bitand", "math.bitor", "math.bitxor", "math.bitnot"),
}


def _changes_meaning(op: str) -> bool:
    """Return True if an operator's output differs in meaning from its input, such as a mean."""
    return op in _OF_ANOTHER_MEANING or op.startswith("reductions.")


def name_outputs(
    graph: Graph,
    catalog: Catalog,
    ordered: Sequence[Node],
    taken: Collection[str] = (),
    in_place: Mapping[str, str] | None = None,
    reads: Mapping[str, Collection[Port]] | None = None,
) -> dict[Port, str]:
    """Return the variable name of every output of the nodes, including nested nodes.

    ``ordered`` are the nodes in topological order. Inputs of a body have the names of the outer
    variables. ``taken`` are additional reserved names. Nodes that are written ``in_place`` inside
    another expression get no variable, and their inputs are needed until that expression. ``reads``
    maps each node whose code uses only some of its inputs' variables to the ports that it uses.
    """
    namer = _Namer(catalog, RESERVED.union(taken), in_place or {}, reads or {})
    namer.name_body(ordered, graph.outputs, {name: name for name in graph.outputs}, {}, frozenset())
    return namer.names


def name_chain(
    catalog: Catalog,
    nodes: Sequence[Node],
    start: Port,
    end: Port,
    taken: Collection[str],
    in_place: Mapping[str, str],
    reads: Mapping[str, Collection[Port]],
) -> dict[Port, str]:
    """Return the variable names inside a function that creates a view of images.

    Nodes are named by their ids without the number, so that identical views have the same code.
    """
    namer = _Namer(catalog, RESERVED.union(taken), in_place, reads, numbered=False)
    namer.names[start] = IMAGES
    namer.name_body(nodes, {IMAGES: end}, {IMAGES: IMAGES}, {IMAGES: start}, frozenset())
    return namer.names


def unique_names(nodes: Sequence[Node], catalog: Catalog) -> dict[Port, str]:
    """Return a unique variable name for every output of nodes and of nodes inside them.

    In ``nodes``, blocks must precede the nodes inside them.
    """
    names: dict[Port, str] = {}
    for node in nodes:
        ports = output_ports(node, catalog[node.op])
        names |= {port: f"{port.node}__{port.output}" for port in ports}
    for node in nodes:
        read = variables_read(node, catalog[node.op])
        names |= {inner: names[outer] for inner, outer in read}
    return names


class _Namer:
    def __init__(
        self,
        catalog: Catalog,
        taken: frozenset[str],
        in_place: Mapping[str, str],
        reads: Mapping[str, Collection[Port]],
        numbered: bool = True,
    ) -> None:
        self.catalog = catalog
        self.numbered = numbered
        self.taken = taken
        self.in_place = in_place
        self.reads = reads
        self.names: dict[Port, str] = {}

    def name_body(
        self,
        ordered: Sequence[Node],
        outputs: Mapping[str, Port],
        targets: Mapping[str, str],
        current: dict[str, Port],
        blocked: frozenset[str],
    ) -> None:
        """Name the outputs of the nodes of one body.

        ``targets`` maps the body's outputs to their variables. ``current`` maps the variables that
        exist before the body to their ports. ``blocked`` are variables that are needed later.
        """
        last_use = _last_uses(ordered, outputs, self.in_place, self.reads)
        reached = _reached_outputs(self.catalog, ordered, outputs)
        made_of: dict[Port, frozenset[Port]] = {}
        for line, node in enumerate(ordered):
            if node.id in self.in_place:
                continue
            spec = self.catalog[node.op]
            own: list[str] = []
            if spec.consecutive:
                for port in _unchanged_sources(node, spec):
                    last_use[port] = max(last_use.get(port, -1), line + 1)

            def is_taken(name: str, line: int = line, own: list[str] = own) -> bool:
                live = name in current and last_use.get(current[name], -1) > line
                return live or name in self.taken or name in blocked or name in own

            def another_view(name: str, port: Port, line: int = line) -> bool:
                """Return True if another view of the same image is later combined with ``port``."""
                return any(
                    current.get(name) in of
                    and last_use.get(view, -1) > line
                    and reached.get(view, set()) == reached.get(port, set())
                    for view, of in made_of.items()
                )

            for drawn in _hoisted_ports(node, self.catalog):
                if drawn not in self.names:
                    name = self._called(drawn.node)
                    while is_taken(name) or name in self.names.values():
                        name += "_"
                    self.names[drawn] = name
                    current[name] = drawn
                    last_use[drawn] = line + 1  # must not be overwritten in the bodies
            given = outputs_of(node, spec)
            if isinstance(node, ViewCall):
                given = (PortSpec(node.gives, "image"),)
            for output in given:
                port = Port(node.id, output.name)
                if port in self.names:  # written before its block
                    continue
                ends = {targets[end] for end in reached.get(port, ())}
                name = self._usual(node, output, len(given), ends, port in last_use)
                named = port not in outputs.values() and self._is_named(node, targets.values())
                if named or is_taken(name) or another_view(name, port):
                    own_id = self._called(node.id)
                    name = own_id if len(given) == 1 else f"{own_id}_{output.name}"
                while is_taken(name):
                    name += "_"
                self.names[port] = name
                own.append(name)
            if node.bodies:
                live = {name for name, port in current.items() if last_use.get(port, -1) > line}
                self._name_bodies(node, blocked | live)
            for output in given:
                port = Port(node.id, output.name)
                current[self.names[port]] = port
                fed = _sources_of_kind(node, spec, output)
                made_of[port] = frozenset(fed).union(*(made_of.get(each, ()) for each in fed))

    def _usual(self, node: Node, output: PortSpec, count: int, ends: set[str], used: bool) -> str:
        own_id = self._called(node.id)
        if output.kind == "encoded":
            name = output.name
        elif is_generator(self.catalog[node.op]):
            name = own_id
        elif len(ends) == 1 and not ends <= self.taken:
            name = next(iter(ends))
        else:
            name = own_id if count == 1 else f"{own_id}_{output.name}"
            if isinstance(node, Source):  # which describes its output
                name = output.name
            if not _changes_meaning(node.op):
                name = _KIND_NAMES.get(output.kind, name)
        return name if used else f"_{name}"  # as linters expect for unused unpacked values

    def _is_named(self, node: Node, ends: Collection[str]) -> bool:
        """Return True if the id says more than the names of the operator, kinds and outputs do.

        Returns False for blocks, whose id is a title, and if the name is already used.
        """
        if (
            node.bodies
            or isinstance(node, Source | ViewCall)
            or self._called(node.id) in self.taken
        ):
            return False
        usual = [*re.split(r"[._]+", node.op), *_KIND_NAMES, *_KIND_NAMES.values()]
        usual += [word for end in ends for word in end.split("_")]
        return any(
            not word.isdigit()
            and not any(map(word.startswith, usual))
            and not any(each.startswith(word) for each in usual)
            for word in node.id.split("_")
        )

    def _called(self, node_id: str) -> str:
        return node_id if self.numbered else _NUMBERED.sub("", node_id)

    def _name_bodies(self, node: Node, blocked: frozenset[str] | set[str]) -> None:
        outer = variables_read(node, self.catalog[node.op])
        self.names |= {inner: self.names[fed] for inner, fed in outer}
        for name, body in node.bodies.items():
            wanted = {out: self.names[Port(node.id, out)] for out in body.outputs}
            scope = node.scope(name)
            current = {self.names[inner]: inner for inner, _ in outer if inner.node == scope}
            ordered, _ = running_order(body.nodes)
            self.name_body(ordered, body.outputs, wanted, current, frozenset(blocked))


def hoisted_generators(node: Node, catalog: Catalog) -> list[Node]:
    """Return the generators inside a block whose calls are written before the block.

    Generators without inputs run for the whole batch anyway, and are clearer before the block.
    """
    return [generator for generator, _ in hoisted_with_repetitions(node, catalog)]


def hoisted_with_repetitions(node: Node, catalog: Catalog) -> list[tuple[Node, tuple[int, ...]]]:
    """Return ``hoisted_generators`` with the number of iterations of each enclosing block.

    The outermost block is first. Blocks that do not repeat are omitted.
    """
    repetitions = kind_of(node).repetitions(node)
    turns = () if repetitions is None else (repetitions,)
    found = []
    for body in node.bodies.values():
        for each in body.nodes:
            inner: list[tuple[Node, tuple[int, ...]]] = (
                [(each, ())] if is_batch_generator(each, catalog) else []
            )
            inner += hoisted_with_repetitions(each, catalog)
            found += [(generator, (*turns, *counts)) for generator, counts in inner]
    return found


def is_batch_generator(node: Node, catalog: Catalog) -> bool:
    """Return True if a node is a generator without inputs, which runs for the whole batch."""
    return is_generator(catalog[node.op]) and not node.inputs


def _hoisted_ports(node: Node, catalog: Catalog) -> Iterator[Port]:
    for generator in hoisted_generators(node, catalog):
        for output in outputs_of(generator, catalog[generator.op]):
            yield Port(generator.id, output.name)


def _unchanged_sources(node: Node, spec: OpSpec) -> list[Port]:
    """Return the ports that the bodies of a block use without replacing them."""
    given = {output.name for output in outputs_of(node, spec)}
    return [port for name, port in node.inputs.items() if name not in given]


def _sources_of_kind(node: Node, spec: OpSpec, output: PortSpec) -> list[Port]:
    """Return the ports connected to a node's inputs that have the kind of ``output``."""
    kinds = {port.name: port.kind for port in spec.inputs}
    return [port for name, port in node.inputs.items() if kinds.get(name) == output.kind]


def _last_uses(
    ordered: Sequence[Node],
    outputs: Mapping[str, Port],
    in_place: Mapping[str, str],
    reads: Mapping[str, Collection[Port]],
) -> dict[Port, int]:
    uses = {port: len(ordered) for port in outputs.values()}
    lines = {node.id: line for line, node in enumerate(ordered)}
    for node in ordered:
        line = lines[in_place.get(node.id, node.id)]
        for port in reads.get(node.id, node.inputs.values()):
            uses[port] = max(uses.get(port, -1), line)
    return uses


def _reached_outputs(
    catalog: Catalog, ordered: Sequence[Node], outputs: Mapping[str, Port]
) -> dict[Port, set[str]]:
    """Map each port to the names of the outputs that are computed from it.

    Only inputs of the output's kind count: an image is computed from an image, not from the anchor
    of its crop.
    """
    reached: dict[Port, set[str]] = {}
    for name, port in outputs.items():
        reached.setdefault(port, set()).add(name)
    for node in reversed(ordered):
        for body_name, body in node.bodies.items():
            for taken, ends in _outputs_from_inputs(catalog, node.scope(body_name), body):
                if taken in node.inputs:
                    own = (reached.get(Port(node.id, end), set()) for end in ends)
                    reached.setdefault(node.inputs[taken], set()).update(*own)
        spec = catalog[node.op]
        if _changes_meaning(node.op):
            for output in spec.outputs:
                port = Port(node.id, output.name)
                reached[port] = {name for name, given in outputs.items() if given == port}
            continue
        kinds = {port.name: port.kind for port in spec.inputs}
        for name, source in node.inputs.items():
            for output in spec.outputs:
                if kinds.get(name) == output.kind:
                    through = reached.get(Port(node.id, output.name), set())
                    reached.setdefault(source, set()).update(through)
    return reached


def _outputs_from_inputs(
    catalog: Catalog, scope: str, body: Body
) -> Iterator[tuple[str, set[str]]]:
    """Yield each input of a body with the names of the body's outputs that are computed from it."""
    ordered, _ = running_order(body.nodes)
    reached = _reached_outputs(catalog, ordered, body.outputs)
    for taken in body.inputs:
        yield taken, reached.get(Port(scope, taken), set())
