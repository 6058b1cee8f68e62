"""Write the calls of a graph as Python code. All export targets use this module.

The code written by ``Emitter.node_lines`` is the only conversion of a graph to a DALI pipeline.
The exported script, the preview and the benchmark all run it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal

from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import ArgSpec, Device, OpSpec, Value
from workbench.emit.annotations.copied_functions import (
    clip_function_names,
    clipped,
    helper_sources,
    with_called,
)
from workbench.emit.annotations.followers import follower_lines, ports_read
from workbench.emit.blocks import block_lines
from workbench.emit.core import bad_files, policies
from workbench.emit.core.code import Lines
from workbench.emit.core.constants import Constants, is_named
from workbench.emit.core.epoch_shuffle import EPOCH_SEED, needs_epoch_seed
from workbench.emit.core.expressions import (
    constant_type,
    expression_parts,
    number_of,
    on_one_line,
    parenthesized,
    plain_constant,
    written_in_place,
)
from workbench.emit.core.naming import (
    IMAGES,
    ViewCall,
    hoisted_generators,
    hoisted_with_repetitions,
    name_outputs,
)
from workbench.emit.core.outputs import shard_arguments
from workbench.emit.core.python import (
    INDENT,
    LINE,
    assigned,
    call,
    identifier,
    literal,
    literal_text,
)
from workbench.emit.core.record_features import (
    conversion_lines,
    feature_arguments,
    features_text,
    imports_of_features,
    is_only_here,
    reader_call,
    reader_of_dali,
)
from workbench.emit.core.user_functions import (
    CALLING,
    called,
    function_names,
    function_sources,
    layout_calls,
    python_function_arguments,
)
from workbench.graph.annotations.formats import clip_function
from workbench.graph.execution.dataset_parameters import (
    ignored,
    is_sampled,
    parameter_of,
    parameters,
    reader_name,
    source_kind,
)
from workbench.graph.execution.pipelines import SHARD_SEED
from workbench.graph.model import Body, Node, Port, Source
from workbench.graph.model.node_order import running_order
from workbench.graph.model.ports import outputs_of, positional_ports, variables_read
from workbench.graph.model.values import index_text, parse_index
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import (
    device_of,
    is_decoder,
    port_device,
    transfers,
)
from workbench.graph.types.tensor_type import operands

TURN_SEED = 100_000
"""Difference between the seeds of consecutive loop iterations, so that random values differ."""


def loop_variable(depth: int) -> str:
    """Return the name of the loop variable at a nesting depth."""
    return f"i_{depth + 1}" if depth else "i"


class Emitter:
    """Writes the calls of a graph's nodes in topological order.

    A target whose calls differ overrides ``module`` or methods.

    Parameters
    ----------
    lift:
        True if values that the catalogue names (``MEAN``, ``STD``) and long lists become constants.
        ``constants`` maps their names to their values as code.
    positioned:
        True if random operators get ``_random_state``, so that a pipeline can start at any batch
        and still sample the same random values. Inside a body, operators start at ``positions`` of
        the body's scope, which is the number of earlier samples for which the body ran.
    nests:
        True if arithmetic is written inside the condition, call or expression that uses it.
    sharded:
        True if readers read shard ``shard_id`` of ``num_shards``, each sample once per epoch.
    taken:
        Additional reserved names.
    known:
        Constants that the program already defines.
    """

    module = "fn"

    def __init__(
        self,
        resolved: ResolvedGraph,
        ordered: Sequence[Node],
        *,
        lift: bool = False,
        positioned: bool = False,
        nests: bool = True,
        sharded: bool = False,
        taken: Collection[str] = (),
        known: Mapping[str, str] | None = None,
    ) -> None:
        self.resolved = resolved
        self.graph, self.catalog = resolved.graph, resolved.catalog
        catalog = resolved.catalog
        self.ordered = ordered
        self._every_node = list(ordered)
        for node in self._every_node:  # grows during the loop: nested nodes follow all outer ones
            self._every_node += [inner for body in node.bodies.values() for inner in body.nodes]
        self.positioned = positioned
        self.sharded = sharded
        self._devices = resolved.devices
        self._mixed = resolved.mixed_devices  # a script can decode on either device
        self._transfers = {
            n.id: transfers(n, catalog[n.op], self._devices) for n in self.every_node()
        }
        data = {
            name: f'__file__.removesuffix(".py") + {literal(ending)}'
            for name, ending in resolved.beside.items()
        }
        self._constants = Constants({**data, **(known or {})})
        if lift:
            self._constants.add_values(
                self.every_node(), catalog, self.value_text, self.becomes_constant
            )
        self._constants.add_policies(self.every_node())
        names = [*self.constants, *parameters(ordered), *taken]
        names += function_names(self.every_node())
        names += [module for node in self.every_node() if (module := catalog[node.op].module)]
        names += bad_files.NAMES if resolved.beside else ()
        names += ["tfrecord"] if imports_of_features(self.every_node()) else []
        names += policies.NAMES if any(map(policies.has_policy, self.every_node())) else ()
        self._nests = nests
        self.in_place: Mapping[str, str] = {}
        """Maps each node written inside another node's expression to that node, both by id."""
        self.seed_name = "base_seed"
        """Variable to which the seeds of nodes are added. Empty if only the pipeline has a seed."""
        self.indent = INDENT
        self.scope = ""
        self.turns: list[str] = []
        """Variables of the enclosing loops, the outermost first."""
        self.helpers = set(clip_function_names(self.every_node()))
        """Names of the functions of ``annotations/helpers.py`` that the code calls."""
        self.first_seed = 0
        """Number subtracted from seeds in a view function, because its caller adds it."""
        self.taken = names
        """Names that are reserved, or used elsewhere in the program."""
        self.reads: Mapping[str, Collection[Port]] = {}
        """Ports whose variables a follower's code uses, by the follower's id."""
        self.name_ports()

    def name_ports(self) -> None:
        """Choose a variable name for every output."""
        self.reads = ports_read(self)
        self.taken += with_called(self.helpers)
        if self._nests:
            whole = Body(tuple(self.ordered), self.graph.outputs)
            named = {port for ports in self.reads.values() for port in ports}
            self.in_place = written_in_place(whole, self.catalog, self._mixed, named)
        self.rename(self.ordered)

    def rename(self, nodes: Sequence[Node], more_taken: Collection[str] = ()) -> None:
        """Choose variable names for the outputs of these nodes, which are in topological order."""
        taken = [*self.taken, *more_taken]
        self.names = name_outputs(self.graph, self.catalog, nodes, taken, self.in_place, self.reads)

    @property
    def constants(self) -> Mapping[str, str]:
        """Values, as code, of the constants to define above the pipeline, by name."""
        return self._constants.sources

    def constant_of(self, node: Node, argument: str) -> str | None:
        """Return the name of the constant that replaces a node's argument, or None."""
        return self._constants.name_of(node, argument)

    @property
    def devices(self) -> Mapping[str, Device]:
        return self._devices

    def transfers_of(self, node_id: str) -> Mapping[str, Literal["cpu", "gpu"]]:
        """Map each input of a node that is copied to another device to that device."""
        return self._transfers[node_id]

    def set_transfers(self, node_id: str, to: Mapping[str, Literal["cpu", "gpu"]]) -> None:
        """Set which inputs of a node are copied, and to which device."""
        self._transfers[node_id] = dict(to)

    def every_node(self) -> Sequence[Node]:
        return self._every_node

    def becomes_constant(self, text: str, arg: ArgSpec) -> bool:
        """Return True if a list, written as ``text``, becomes a constant."""
        return is_named(text, arg) and (arg.name != "features" or arg.constant is not None)

    def node_lines(self, node: Node) -> Lines:
        """Return the code of one node: its call, assigned to variables, or block statements."""
        if node.bodies:
            return block_lines(self, node)
        if isinstance(node, ViewCall):
            seeds = [self._seed_of(node)] if node.seed is not None else []
            given = [self.names[node.inputs[IMAGES]], *seeds]
            target = self.names[Port(node.id, node.gives)]
            return Lines(call(target, node.function, given, self.indent))
        if node.id in self.in_place:
            self.names[Port(node.id, "output")] = on_one_line(self.expression(node, {}))
            return Lines()
        if self.catalog[node.op].follows:
            return follower_lines(self, node)
        made = Lines.of(node.id, self.call_lines(node))
        inside = [inner for inner, outer in self.in_place.items() if outer == node.id]
        return Lines(made.text, made.nodes | dict.fromkeys(inside, made.nodes[node.id]))

    def lines_before(self, block: Node) -> Lines:
        """Return the calls of generators inside an outermost block that must precede the block."""
        made = Lines()
        if not self.scope:
            for generator, counts in hoisted_with_repetitions(block, self.catalog):
                made.add(Lines.of(generator.id, self._generator_lines(generator, counts)))
        return made

    def _generator_lines(self, generator: Node, counts: Sequence[int]) -> list[str]:
        """Return the call of a generator or, inside loops, a list with one call per iteration."""
        if not counts:
            return self.call_lines(generator)
        outside, self.turns = self.indent, [loop_variable(depth) for depth in range(len(counts))]
        self.indent += INDENT * len(counts)
        first, *rest = self.call_lines(generator)
        target, _, value = first.strip().partition(" = ")
        lines = [self.indent + value, *rest]
        for variable, count in zip(reversed(self.turns), reversed(counts), strict=True):
            loop = f"{self.indent}for {variable} in range({count})"
            self.indent = self.indent.removesuffix(INDENT)
            lines = [f"{self.indent}[", *lines, loop, f"{self.indent}]"]
        self.indent, self.turns = outside, []
        line = f"{outside}{target} = [{' '.join(each.strip() for each in lines[1:-1])}]"
        if len(counts) == 1 and not rest and len(line) <= LINE:
            return [line]
        return [f"{outside}{target} = [", *lines[1:]]

    def assignments_between_bodies(self, block: Node) -> Lines:
        """Return the assignment that initialises the variables that the bodies reassign."""
        given = outputs_of(block, self.catalog[block.op])
        ends = {
            self.names[Port(block.id, output.name)]: self.names[block.inputs[output.name]]
            for output in given
        }
        moved = {target: value for target, value in ends.items() if target != value}
        if not moved:
            return Lines()
        return Lines([f"{self.indent}{', '.join(moved)} = {', '.join(moved.values())}"])

    def in_loop(self, count: int, write: Callable[[str], Lines]) -> Lines:
        """Return ``for turn in range(count):`` with the loop body that ``write(turn)`` returns."""
        variable, outside = loop_variable(len(self.turns)), self.indent
        made = Lines([f"{outside}for {variable} in range({count}):"])
        self.turns.append(variable)
        self.indent += INDENT
        made.add(write(variable))
        self.turns.pop()
        self.indent = outside
        return made

    @contextmanager
    def random_values_listed(self, block: Node, variable: str) -> Iterator[None]:
        """Within the context, a block's random values are written as ``name[variable]``."""
        outside = dict(self.names)
        random_values = {
            Port(generator.id, output.name)
            for generator in hoisted_generators(block, self.catalog)
            for output in outputs_of(generator, self.catalog[generator.op])
        }
        self._add_body_inputs(block, random_values)
        for port in random_values:
            self.names[port] += f"[{variable}]"
        yield
        self.names = outside

    def _add_body_inputs(self, block: Node, ports: set[Port]) -> None:
        """Add to ``ports`` all inputs of nested bodies that are connected to one of these ports."""
        for node in [node for body in block.bodies.values() for node in body.nodes]:
            read = variables_read(node, self.catalog[node.op])
            ports.update(inner for inner, outer in read if outer in ports)
            self._add_body_inputs(node, ports)

    def body_lines(self, block: Node, name: str) -> Lines:
        """Return the code of one body, which ends with assignments to the block's variables."""
        body, outside = block.bodies[name], (self.scope, self.indent)
        self.scope, self.indent = block.scope(name), self.indent + INDENT
        made = self.begin_body()
        ordered, _ = running_order(body.nodes)
        before = hoisted_generators(block, self.catalog)
        for node in ordered:
            if node not in before:
                made.add(self.node_lines(node))
        ends = {
            self.names[Port(block.id, output)]: self.names[port]
            for output, port in body.outputs.items()
        }
        moved = {target: value for target, value in ends.items() if target != value}
        if moved:
            made.text.append(f"{self.indent}{', '.join(moved)} = {', '.join(moved.values())}")
        self.scope, self.indent = outside
        return made

    def control_text(self, block: Node, name: str) -> str:
        """Return the expression of a block's control input, copied to the CPU if necessary."""
        port = block.inputs[name]
        moved = "" if device_of(self._mixed, port) == "cpu" else ".cpu()"
        return f"{self.names[port]}{moved}"

    def begin_body(self) -> Lines:
        """Return the code at the start of every body. By default there is none."""
        return Lines()

    def call_lines(self, node: Node) -> list[str]:
        """Return the lines that call one node and assign its variables."""
        spec = self.catalog[node.op]
        outputs = outputs_of(node, spec)
        targets = ", ".join(self.names[Port(node.id, output.name)] for output in outputs)
        moved = self._moved(node)
        arguments = [
            self.names[node.inputs[port]] + moved.get(port, "")
            if port in node.inputs
            else str(node.args[spec.written_numbers[port]])
            for port in positional_ports(node, spec)
            if port in node.inputs or spec.written_numbers.get(port) in node.args
        ]
        if clip_function(node):
            arguments[0] = clipped(node, arguments[0])
        if policies.has_policy(node):
            arguments.insert(0, self.constant_of(node, "policy") or "")
        if node.op == "copy" and moved:
            return [f"{self.indent}{targets} = {arguments[0]}"]
        if spec.expression:
            return assigned(targets, self.expression(node, moved), self.indent)
        arguments += self.value_arguments(node)
        arguments += [
            f"{identifier(name)}={self.names[port]}"
            for name, port in node.inputs.items()
            if name in spec.args and policies.is_call_argument(node, name)
        ]
        arguments += self.placement(node)
        arguments += self.randomness(node)
        if isinstance(node, Source) and node.op not in CALLING:  # DALI names no Python sources
            arguments.append(f'name="{identifier(node.id)}"')
        native = reader_of_dali(node) or node.op
        name = (
            called(node)
            or reader_name(node)
            or f"{spec.module or self.module}.{identifier(native)}"
        )
        fed = any(each.op == PYTHON_SOURCE.name for each in self.ordered)
        hinted = self.resolved.hints and not fed and bad_files.reads_image_files(node.op)
        hint = bad_files.HINT if hinted else ""
        if native == "readers.tfrecord" != node.op:
            made = reader_call(targets, name, arguments, self.indent)
        else:
            made = call(targets, name, arguments, self.indent, hint)
        names = targets.split(", ")
        made += conversion_lines(node, names, self.indent)
        return made + layout_calls(node, names, self.indent)

    def expression(self, node: Node, moved: Mapping[str, str]) -> Sequence[str]:
        """Return a node's expression, split into parts where a line can break."""
        return expression_parts(
            self.expression_of(self.catalog[node.op]), self._operands(node, moved)
        )

    def _operands(self, node: Node, moved: Mapping[str, str]) -> list[str]:
        """Return the operands of an expression, in parentheses where needed."""
        spec = self.catalog[node.op]
        parts: list[tuple[str, OpSpec | None]] = []
        for name in operands(node, spec):
            source = node.inputs.get(name)
            placed = source is not None and source.node in self.in_place
            inner = self.catalog[self.graph.node(source.node).op] if source and placed else None
            parts.append((self.operand_text(node, name, moved), inner))
        return parenthesized(spec, parts)

    def calls_math(self, node: Node) -> bool:
        """Return True if a node is written with ``nvidia.dali.math``."""
        spec = self.catalog[node.op]
        return spec.expression.startswith("math.")

    def functions(self) -> str:
        """Return the code of all functions that nodes call, each followed by two empty lines."""
        converts = any(node.bodies or node.op in AUTO_AUGMENT for node in self.ordered)
        return function_sources(self.every_node(), converts) + self.helper_functions()

    def helper_functions(self) -> str:
        """Return the code of the functions of ``annotations/helpers.py`` that the program calls."""
        return helper_sources(self.helpers, self.every_node())

    def expression_of(self, spec: OpSpec) -> str:
        """Return an operator's Python expression, with ``{}`` for each operand."""
        return spec.expression

    def operand_text(self, node: Node, name: str, moved: Mapping[str, str]) -> str:
        """Return the code of an operand of an expression: a variable, a constant or an index."""
        spec = self.catalog[node.op]
        if name in node.inputs:
            return self.names[node.inputs[name]] + moved.get(name, "")
        if spec.args[name].form == "index":
            return index_text(parse_index(str(node.args[name])))
        return self.constant_text(node, node.args[name])

    def constant_text(self, node: Node, value: Value) -> str:
        """Return the code of a constant operand with the node's element type."""
        dtype = constant_type(node, self.catalog[node.op])
        plain = plain_constant(value, dtype)
        return plain or f"types.Constant({number_of(value, dtype)!r}, types.{identifier(dtype)})"

    def _moved(self, node: Node) -> dict[str, str]:
        """Map each input that is copied to another device to ``.cpu()`` or ``.gpu()``.

        If the graph sets a node's device, its inputs are always copied, because a script can decode
        on either device.
        """
        spec = self.catalog[node.op]
        moved = {name: f".{side}()" for name, side in self._transfers[node.id].items()}
        if node.device is not None and not is_decoder(spec):
            for name, source in node.inputs.items():
                maker = self.graph.node(source.node).op if self.graph.has(source.node) else ""
                fixed = maker in self.catalog and self.catalog[maker].devices == (node.device,)
                if name not in spec.args and port_device(spec, name) == "operator" and not fixed:
                    moved.setdefault(name, f".{node.device}()")
        return moved

    def value_arguments(self, node: Node) -> list[str]:
        """Return the unconnected arguments of a node, including the data path of a reader."""
        spec = self.catalog[node.op]
        if spec.name in CALLING:
            return python_function_arguments(node)
        arguments = []
        if isinstance(node, Source) and (parameter := parameter_of(node)) is not None:
            kind = source_kind(node)
            found = identifier(parameter)
            direct = f"{kind.argument_name}={found}" if kind.argument_name else ""
            arguments.append(direct or f"**{kind.find.__name__}({found})")
        arguments += feature_arguments(node, self.constant_of(node, "features"))
        shard = shard_arguments(node) if self.sharded and isinstance(node, Source) else {}
        for name in node.args:
            is_own = ignored(node, name) or is_only_here(node, name)
            passed = policies.is_call_argument(node, name) and not is_own
            if passed and name not in shard and name not in spec.written_numbers.values():
                arg = spec.args[name]
                value = self.constant_of(node, name) or self.value_text(node.args[name], arg)
                arguments.append(f"{identifier(name)}={value}")
        arguments += [f"{name}={value}" for name, value in shard.items()]
        if needs_epoch_seed(node, spec) and self.seed_name:
            base = f"{self.seed_name} - {SHARD_SEED:_} * shard_id" if shard else self.seed_name
            number = f" + {node.seed}" if node.seed else ""
            arguments.append(f"{EPOCH_SEED}={base}{number}")  # all shards need the same one
        return arguments

    def value_text(self, value: Value, arg: ArgSpec) -> str:
        """Return the code of an argument's constant value."""
        return features_text(value) if arg.constant == "FEATURES" else literal_text(value, arg)

    def placement(self, node: Node) -> list[str]:
        """Return the ``device`` argument of a node as a list, or [] if the node needs none."""
        spec = self.catalog[node.op]
        if is_decoder(spec) or (isinstance(node, Source) and node.decodes):
            return ["device=device" if node.device is None else f'device="{node.device}"']
        if spec.stays:
            return ['device="gpu"'] if node.device == "gpu" else []
        fed = [name for name in node.inputs if name not in spec.args]
        either = [name for name in fed if port_device(spec, name) == "any"]
        if len(either) == len(fed):
            follows = not fed and node.device is None
            return [] if follows else [f'device="{self._devices[node.id]}"']
        # DALI moves an operator to the GPU for any GPU input, even if it reads only the shape
        # or type.
        led = any(device_of(self._mixed, node.inputs[name]) != "cpu" for name in either)
        return ['device="cpu"'] if led and self._mixed[node.id] == "cpu" else []

    def randomness(self, node: Node) -> list[str]:
        """Return the arguments that determine a node's random values, such as the seed."""
        spec = self.catalog[node.op]
        if not spec.seeded or not self.seed_name:
            return []
        seed = self._seed_of(node)
        if self.sharded and is_sampled(node):  # all shards need the same one
            seed += f" - {SHARD_SEED:_} * shard_id"
        for depth, variable in enumerate(self.turns):
            seed += f" + {TURN_SEED * 100**depth} * {variable}"
        if self.positioned and spec.random_state:
            turns = "".join(f"#{{{variable}}}" for variable in self.turns)
            scope = f'{"f" if turns else ""}"{self.scope}{turns}"'
            at = f"positions.get({scope}, 0)" if self.scope and node.inputs else "position"
            return [f"seed={seed}", f"_random_state=random_state({seed}, {at})"]
        return [f"seed={seed}"]

    def _seed_of(self, node: Node) -> str:
        number = (node.seed or 0) - self.first_seed
        return f"{self.seed_name} + {number}" if number else self.seed_name
