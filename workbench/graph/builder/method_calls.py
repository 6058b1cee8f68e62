"""Generate a graph's code as method calls: ``wb.read("photos").decode().flip()``.

The image path is a chain of calls. Values that are used twice, or inside a block, are assigned to
names first. ``code_of`` parses the text and compares the resulting graph.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pprint import pformat
from textwrap import indent

from workbench.catalog.spec import Catalog, OpSpec, Value
from workbench.graph.control_flow.block_kinds import IF, KINDS, BlockKind, probabilities
from workbench.graph.edits.edit import new_node
from workbench.graph.model import Body, Graph, Node, Port, Settings, Source, is_name
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import output_ports
from workbench.graph.model.values import index_text, parse_index
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "bitand": "&", "bitor": "|", "bitxor": "^", "lshift": "<<", "rshift": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}  # fmt: skip
_ONE_IMAGE = "x"
_LONGEST = 80
"""Maximum length in characters of a value that is written inside a call."""
_ENCODED = ("jpegs", "encoded")


class NotWritableError(Exception):
    """Raised if a graph cannot be written as method calls; the message is the reason."""


@dataclass(frozen=True)
class Spelled:
    """Nodes for which the code must set the id (``names``) or the seed (``seeds``)."""

    names: frozenset[str] = frozenset()
    seeds: frozenset[str] = frozenset()


def write_calls(graph: Graph, catalog: Catalog, data: Mapping[str, str], spelled: Spelled) -> str:
    """Generate statements that build ``graph``, with only the ids and seeds in ``spelled``.

    ``data`` maps each parameter to the source code of the argument of ``read``. Raises
    NotWritableError if no calls can build the graph.
    """
    _require_names(graph.outputs)
    for node in graph.walk():
        _require_plain(node, catalog)
    block = _Block(graph, catalog, "", spelled, data=data)
    return "\n".join([*block.whole(), ""])


def named_in_calls(node: Node) -> bool:
    """Return whether the call that creates a node can set its id and seed."""
    signs = node.op in ("subscript", "math.neg") or _has_sign(node)
    return not (node.bodies or signs or isinstance(node, Source))


@dataclass
class _Block:
    """Code generator for one body. It stores the body's statements and the names of its values."""

    graph: Graph
    catalog: Catalog
    scope: str
    spelled: Spelled
    data: Mapping[str, str]
    outer: _Block | None = None
    given: str = ""
    """Name of the parameter of the body's function."""
    lines: list[str] = field(default_factory=list)
    names: dict[Port, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.body: Body = self.graph.body_at(self.scope)
        self.nodes = {node.id: node for node in self.body.nodes}
        fed = [port for node in self.body.nodes for port in node.inputs.values()]
        self.uses = Counter([*fed, *self.body.outputs.values()])
        self.led_in = {
            port
            for node in self.body.nodes
            for name, port in node.inputs.items()
            if node.bodies and name not in _own_inputs(node, self.catalog[node.op])
        }

    # Values

    def value(self, port: Port) -> str:
        """Return the expression for a port. If a value is used twice, assign it to a name first."""
        if port in self.names:
            return self.names[port]
        if port.node == self.scope:
            outside = self.graph.feeding(port)
            assert self.outer is not None
            assert outside is not None
            return self.outer.value(outside)
        node = self.nodes[port.node]
        ports = output_ports(node, self.catalog[node.op])
        used = sum(self.uses[each] for each in ports)
        text = self.block_value(node) if node.bodies else self.call(node)
        long = "\n" in text or len(text) > _LONGEST
        if used < 2 and len(ports) == 1 and port not in self.led_in and not long:
            return text
        called = [f"{node.id}_{each.output}" if len(ports) > 1 else node.id for each in ports]
        self.names |= dict(zip(ports, called, strict=True))
        self.lines.append(f"{', '.join(called)} = {text}")
        return self.names[port]

    def call(self, node: Node) -> str:
        """Return the call that creates a node: a method of its first input, or a function."""
        if isinstance(node, Source):
            raise NotWritableError(f"{node.id!r} is a second reader")
        if node.op == "subscript":
            index = index_text(parse_index(str(node.args["index"])))
            return f"{self.operand(node.inputs['data'])}[{index}]"
        if node.op == "math.neg":
            return f"-{self.operand(node.inputs['data'])}"
        if _has_sign(node):
            sign, data = _SIGNS[node.op.removeprefix("math.")], self.operand(node.inputs["data"])
            if "left" in node.args:
                return f"{literal(node.args['left'])} {sign} {data}"
            fed = "other" in node.inputs
            right = self.operand(node.inputs["other"]) if fed else literal(node.args["right"])
            return f"{data} {sign} {right}"
        places = _positional_inputs(node, self.catalog[node.op])
        if not places:
            stem, _, rest = node.op.partition(".")
            head = f"wb.random.{rest}" if stem == "random" else f"wb.fn.{node.op}"
            return f"{head}({', '.join(self.arguments(node, ()))})"
        first, *others = places
        return self.operand(node.inputs[first]) + method_call(node.op, self.arguments(node, others))

    def operand(self, port: Port) -> str:
        """Return the expression for a port, in parentheses if it precedes an operator or dot."""
        text = self.value(port)
        node = self.nodes.get(port.node)
        signed = node is not None and (node.op == "math.neg" or _has_sign(node))
        return f"({text})" if signed and port not in self.names else text

    def arguments(self, node: Node, places: Sequence[str]) -> list[str]:
        """Return a call's arguments as code; the inputs in ``places`` are passed by position."""
        spec = self.catalog[node.op]
        written = [self.value(node.inputs[name]) for name in places]
        written += [f"{name}={literal(value)}" for name, value in node.args.items()]
        order = list(self.nodes)  # generators are created in the order in which they appear
        linked = sorted(
            (name for name in node.inputs if name in spec.args),
            key=lambda name: order.index(fed) if (fed := node.inputs[name].node) in order else -1,
        )
        written += [f"{name}={self.value(node.inputs[name])}" for name in linked]
        if node.device is not None:
            written.append(f"device={literal(node.device)}")
        if node.id in self.spelled.names and named_in_calls(node):
            written.append(f"name={literal(node.id)}")
        if node.seed is not None and node.id in self.spelled.seeds and named_in_calls(node):
            written.append(f"seed={literal(node.seed)}")
        return written

    def block_value(self, node: Node) -> str:
        """Return the expression for a block whose input is not the main image."""
        taken = _block_image_input(node)
        image = self.value(node.inputs[taken])
        return f"wb.outputs({taken}={image}){self.block(node)}.{taken}"

    # The chain along the image

    def step(self, node: Node) -> str:
        """Return the method call that creates a node on the image path."""
        if node.bodies:
            return self.block(node)
        others = _positional_inputs(node, self.catalog[node.op])[1:]
        method = "decode" if node.op == "decoders.image" else node.op
        return method_call(method, self.arguments(node, others))

    def is_step(self, node: Node) -> bool:
        """Return whether a graph method can create the node. It must output one image or mask."""
        ports = output_ports(node, self.catalog[node.op])
        if len(ports) != 1 or not (node.bodies or named_in_calls(node)):
            return False
        within = self.graph.at_scope(self.scope)
        return port_kind(within, self.catalog, ports[0]) in ("image", "mask")

    def chain(self, start: Port, ends: Sequence[Port]) -> list[Node]:
        """Return the nodes on all paths from ``start`` to ``ends`` that methods can create."""
        ways = []
        for port in ends:
            way: list[Node] = []
            while port != start and port.node in self.nodes:
                node = self.nodes[port.node]
                spec = self.catalog[node.op]
                places = (
                    [_block_image_input(node)] if node.bodies else _positional_inputs(node, spec)
                )
                if not places or isinstance(node, Source):
                    break
                way = [node, *way] if self.is_step(node) else []
                port = node.inputs[places[0]]
            ways.append(way if port == start else [])
        common = []
        for nodes in zip(*ways, strict=False):
            if len({node.id for node in nodes}) > 1:
                break
            common.append(nodes[0])
        return common

    def run(
        self, head: str, flow: str, start: Port, nodes: Sequence[Node], result_name: str
    ) -> str:
        """Return the expression for a chain of calls, after assigning shared values to names."""
        calls: list[str] = []
        at, more = start, self.uses[start] - (1 if nodes else 0)
        for index, node in enumerate([*nodes, None]):
            if node is None or more > 0:
                called = result_name if node is None else at.node
                if node is None and not result_name:
                    break
                if calls or head != called:
                    self.lines.append(statement(called, head, calls))
                head, calls = called, []
                self.names.setdefault(at, f"{head}.{flow}")
            if node is None:
                break
            calls.append(self.step(node))
            flow = "images" if flow in _ENCODED else flow
            (at,) = output_ports(node, self.catalog[node.op])
            ends = index + 1 == len(nodes)
            more = self.uses[at] - 1 if not ends else 0
        return head + "".join(calls)

    # Bodies

    def whole(self) -> list[str]:
        graph = self.graph
        if len(graph.sources) != 1 or not graph.sources[0].kind:
            count = len(graph.sources)
            raise NotWritableError(
                f"{graph.sources[0].id!r} sets its data by arguments"
                if count == 1
                else f"it has {count} readers"
            )
        (source,) = graph.sources
        ports = output_ports(source, self.catalog[source.op])
        start = ports[0]
        given = {}
        for port in ports:
            pixels = port_kind(graph, self.catalog, port) == "image"
            given["images" if pixels and "images" not in given else port.output] = port
        flow = next(name for name, port in given.items() if port == start)
        options = [self.data[source.dataset]]
        options += [f"{name}={literal(value)}" for name, value in source.args.items()]
        options += [f"{name}={self.value(port)}" for name, port in source.inputs.items()]
        head = f"wb.read({', '.join(options)})"
        plain = Counter(graph.outputs.values())
        if any(self.uses[port] > plain[port] for port in ports if port != start):
            self.lines.append(f"{source.id} = {head}")
            head = source.id
            named = {port: f"{head}.{name}" for name, port in given.items()}
            self.names |= {port: text for port, text in named.items() if port != start}
        ends = (
            list(TypedGraph(graph, self.catalog).images.values())
            or list(graph.outputs.values())[:1]
        )
        nodes = self.chain(start, ends)
        if source.id == head and self.uses[start] > (1 if nodes else 0):
            self.names[start] = f"{head}.{flow}"
        self.run(head, flow, start, nodes, "graph")
        end = output_ports(nodes[-1], self.catalog[nodes[-1].op])[0] if nodes else start
        have = {name: port for name, port in given.items() if port != start}
        if nodes and flow in _ENCODED:
            have = {"images": end, **have}
        else:
            have = {name: have.get(name, end) for name in given}
        for name, port in have.items():
            self.names.setdefault(port, f"graph.{name}")
        if list(have.items()) != list(graph.outputs.items()):
            given_out = [f"{name}={self.value(port)}" for name, port in graph.outputs.items()]
            self.lines.append(statement("graph", "wb", [method_call("outputs", given_out)]))
        more = settings_calls(graph)
        if more:
            self.lines.append(statement("graph", "graph", more))
        return self.lines

    def option(self, block: Node, name: str) -> str:
        """Return the code for a body: a lambda, or the name of a function that is defined first."""
        scope, taken = block.scope(name), _block_image_input(block)
        depth = scope_depth(self.graph, scope)
        head = _ONE_IMAGE if depth == 1 else f"{_ONE_IMAGE}{depth}"
        start = Port(scope, taken)
        inner = _Block(self.graph, self.catalog, scope, self.spelled, self.data, self, head)
        inner.names[start] = f"{head}.{taken}"
        if set(inner.body.outputs) != {taken} or inner.body.title:
            raise NotWritableError(f"{block.id!r} has more than one output, or titled bodies")
        end = inner.body.outputs[taken]
        nodes = inner.chain(start, [end])
        through = nodes and output_ports(nodes[-1], self.catalog[nodes[-1].op])[0] == end
        if end == start or through:
            text = inner.run(head, taken, start, nodes, "")
        else:
            text = inner.value(end)
        if not inner.lines:
            return f"lambda {head}: {text}"
        called = f"{block.id}_{name}"
        lines = [*inner.lines, f"return {text}"]
        self.lines.append(f"\ndef {called}({head}):\n{indent(chr(10).join(lines), '    ')}\n")
        return called

    def block(self, node: Node) -> str:
        options = {name: self.option(node, name) for name in node.bodies}
        if node.op not in KINDS:
            raise NotWritableError(f"{node.id!r} is {node.op}, which has no method")
        kind = KINDS[node.op]
        control = node.inputs.get(kind.control)
        made = kind.call(node, self.created_generator(kind, node, control) if control else None)
        if made is None:
            raise NotWritableError(
                f"{node.id!r} is controlled by {control!r}, not by its own generator"
            )
        first = [
            self.value(each) if isinstance(each, Port) else literal(each) for each in made.first
        ]
        bodies = [options[name] for name in made.bodies or options]
        more = [f"{name}={_keyword(name, value)}" for name, value in made.more.items()]
        return method_call(made.method, [*first, *bodies, *more])

    def created_generator(
        self, kind: BlockKind, block: Node, port: Port
    ) -> Mapping[str, Value] | None:
        """Return the arguments of a generator that the block's method creates, else None."""
        node = self.nodes.get(port.node)
        if node is None or node.op != kind.random_op or node.inputs or self.uses[port] > 1:
            return None
        if node.device:
            return None
        if kind is IF and {node.id} & {*self.spelled.names, *self.spelled.seeds}:
            return None  # if_else accepts a generator with any id and seed
        start = new_node(Graph(), self.catalog, node.op).args
        return node.args if node.args == {**start, **kind.random_args(block, node.args)} else None


def _keyword(name: str, value: Value) -> str:
    return integer_weights(value) if name == "weights" else literal(value)


def scope_depth(graph: Graph, scope: str) -> int:
    """Return the number of blocks that enclose a body."""
    depth = 0
    while scope:
        scope, depth = graph.scope_of(scope.rpartition(".")[0]), depth + 1
    return depth


def _require_plain(node: Node, catalog: Catalog) -> None:
    """Raise NotWritableError for a node that no call can create."""
    spec = catalog.find(node.op)
    if spec is None or (spec.unusable and not spec.bodies):
        raise NotWritableError(f"{node.id!r} is {node.op}, which has no method")
    known = {*spec.args, *node.inputs} if spec.bodies else {*spec.args}
    if not known >= {*node.args}:
        raise NotWritableError(f"{node.id!r} has an argument that {node.op} does not have")
    given = (name for body in node.bodies.values() for name in body.outputs)
    functions = (f"{node.id}_{name}" for name in node.bodies)  # a body may be called ``else``
    _require_names([node.id, *node.args, *node.inputs, *functions, *given])
    if not isinstance(node.seed, int | None):
        raise NotWritableError(f"{node.id!r} has a seed that is not a number")


def _require_names(names: Iterable[str]) -> None:
    odd = [name for name in names if not is_name(name)]
    if odd:
        raise NotWritableError(f"{odd[0]!r} is not a valid name in code")


def _has_sign(node: Node) -> bool:
    """Return whether a node can be written as an arithmetic expression."""
    if node.op.removeprefix("math.") not in _SIGNS or "data" not in node.inputs:
        return False
    if {"data", "other"} == {*node.inputs}:
        return not node.args
    side = next(iter({*node.args} - {"constant_type"}), "")
    if side not in ("left", "right") or len(node.args) != 2 or len(node.inputs) != 1:
        return False
    usual = {bool: "BOOL", int: "INT32"}.get(type(node.args[side]), "FLOAT")
    return node.args.get("constant_type") == usual


def _own_inputs(node: Node, spec: OpSpec) -> tuple[str, ...]:
    """Return the inputs that a block itself uses: the controlling input and the image."""
    return (*(port.name for port in spec.inputs), *spec.args, _block_image_input(node))


def _block_image_input(node: Node) -> str:
    """Return the name of a block's image input, which is also the name of its only output."""
    first = next(iter(node.bodies.values()))
    given = list(first.outputs)
    if len(given) != 1 or given[0] not in node.inputs:
        raise NotWritableError(
            f"{node.id!r} does not output exactly one value that it also has as an input"
        )
    return given[0]


def _positional_inputs(node: Node, spec: OpSpec) -> list[str]:
    named = [spec.input(index).name for index in range(len(node.inputs))]
    found = [name for name in named if name in node.inputs and name not in spec.args]
    if {*found} != {name for name in node.inputs if name not in spec.args}:
        raise NotWritableError(f"{node.id!r} has inputs that a method call cannot pass")
    return found


def canonical_order(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Sort nodes topologically; independent nodes are sorted by id."""
    return running_order(tuple(sorted(nodes, key=lambda node: node.id)))[0]


WIDTH = 96
"""Maximum line length. Lines with calls are shorter because they are indented."""


def literal(value: Value) -> str:
    """Format an argument value as Python source."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, tuple):
        items = [literal(item) for item in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text


def integer_weights(p: Value) -> str:
    """Format probabilities as small integer weights if these are exact, else as floats."""
    if not isinstance(p, tuple):
        return literal(p)
    numbers = [float(share) for share in p if isinstance(share, int | float)]
    least = min((share for share in numbers if share), default=1.0)
    for scale in range(1, 21):
        whole = tuple(round(share / least * scale) for share in numbers)
        if len(set(whole)) > 1 and probabilities(whole) == p:
            return literal(whole)
    return literal(p)


def method_call(name: str, arguments: Sequence[str]) -> str:
    """Format ``.name(arguments)``, with one argument per line if the line is too long."""
    text = f".{name}({', '.join(arguments)})"
    if len(text) <= WIDTH - 8 and "\n" not in text:
        return text
    return f".{name}(\n{indent(','.join(f'{chr(10)}{each}' for each in arguments)[1:], '    ')},\n)"


def statement(name: str, head: str, calls: Sequence[str]) -> str:
    """Format ``name = head.call().call()``, with one call per line if the line is too long."""
    line = f"{name} = {head}{''.join(calls)}"
    if len(calls) < 2 or (len(line) <= WIDTH and len(calls) < 4 and "\n" not in line):
        return line
    return f"{name} = (\n{indent(chr(10).join([head, *calls]), '    ')}\n)"


def settings_calls(graph: Graph) -> list[str]:
    """Return the method calls that set the graph's name and its non-default settings."""
    calls = []
    if graph.name != Graph().name or graph.about:
        about = [pformat(graph.about, WIDTH)] if graph.about else []
        calls.append(method_call("named", [literal(graph.name), *about]))
    usual = Settings()
    changed = [
        f"{each.name}={literal(getattr(graph.settings, each.name))}"
        for each in fields(Settings)
        if getattr(graph.settings, each.name) != getattr(usual, each.name)
    ]
    return [*calls, method_call("with_settings", changed)] if changed else calls
