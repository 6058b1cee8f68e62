"""Convert a part of a graph (a stage) to code that builds a pipeline, which the preview runs.

The calls are those of the exported script. Inputs from outside the part are fed through
``external_source``. Random operators start at ``position`` (batch * batch_size), so that a stage
for batch 7 has the random values of the script's batch 7.

Random operators inside a body receive only some of the samples, and advance by the number of these
samples: they start at ``positions[scope]``, the number of samples for which the body ran in all
previous batches.

If there are blocks, numbers are not in the function but in ``VALUES``: DALI converts the function's
code once (60 ms) and reuses the result while the code is unchanged, whatever the values are.
Automatic augmentation that the engine applies itself is not in the function either: the code calls
functions in ``AUTOMATIC``, one for each call of a node, with the images and their batch indices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.catalog.spec import ArgSpec, Device, Value
from workbench.emit.core.code import Code, Lines
from workbench.emit.core.naming import hoisted_with_repetitions, unique_names
from workbench.emit.core.policies import has_policy, longest
from workbench.emit.core.python import INDENT, call, literal, signature
from workbench.emit.core.user_functions import function_sources, nodes_within, plugin_imports
from workbench.emit.emitter import Emitter, loop_variable
from workbench.emit.preview.tap_names import port_in_iteration
from workbench.emit.templates.auto_augment_random import (
    IMPORTS,
    RANDOM_STATE,
    UniformCalls,
    uniform_call_text,
)
from workbench.emit.templates.template_parts import has_blocks, pipeline_decorator, policy_imports
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Node, Port
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import output_ports
from workbench.graph.resolved import ResolvedGraph

SAMPLE = Port("", "sample")
"""Port of the input that contains each sample's batch index, for parts with blocks."""

_NAME = re.compile(r"\w+")
_PARAMETERS = "device: str, base_seed: int, position: int, positions: dict[str, int]"


@dataclass(frozen=True, slots=True)
class StageCode:
    """Code of a function ``stage``, which builds a pipeline.

    The function's parameters are the data parameters, by keyword, then ``device``, ``base_seed``,
    ``position`` and ``positions``.
    """

    code: Code
    outputs: tuple[Port, ...]
    """Outputs of the pipeline: the requested ports, then outputs inside blocks, which contain only
    the samples for which the body ran. ``Port(scope, "")`` has the batch indices of these samples.
    """
    feeds: tuple[Port, ...] = ()
    """Input ports that the pipeline uses. DALI would ignore other inputs, so they are omitted."""
    automatic: Mapping[str, str] = field(default_factory=dict)
    """Layout of the images, by id of the automatic augmentation whose code calls ``AUTOMATIC``."""


def emit_stage(
    resolved: ResolvedGraph,
    nodes: Collection[str],
    taps: Sequence[Port],
    feeds: Mapping[Port, Device],
    draws: Mapping[str, UniformCalls] | None = None,
    *,
    positioned: bool = True,
    applied: bool = False,
) -> StageCode:
    """Return the code of ``stage`` for some nodes of a graph.

    ``taps`` are the requested outputs, in order. ``feeds`` maps outputs of other nodes that the
    stage uses to their devices; each becomes an external source named ``node.output``. With blocks,
    ``SAMPLE`` is an external source too. If ``positioned``, the stage can start at any batch. If
    ``applied``, automatic augmentation inside blocks calls ``AUTOMATIC``.
    """
    running, _ = topological(resolved.graph)
    ordered = [node for node in running if node.id in nodes]
    conditional = has_blocks(ordered)
    emitter = _StageEmitter(resolved, running, draws or {}, positioned, conditional)
    if applied and conditional:
        emitter.apply_automatic()
    calls = Lines()
    for node in ordered:
        calls.add(emitter.node_lines(node))
    code = [line for line in calls.text if not line.lstrip().startswith("#")]
    read = set(_NAME.findall("\n".join([*code, *(emitter.names[port] for port in taps)])))
    fed = {port: side for port, side in feeds.items() if emitter.names[port] in read}
    body = Lines()
    sides = {**fed, **({SAMPLE: "cpu"} if conditional else {})}
    for port, device in sides.items():
        arguments = [f'name="{port}"', "no_copy=True"]
        if device != "cpu":
            arguments.append('device="gpu"')
        name = emitter.names.get(port, port.output)
        body.text += call(name, "fn.external_source", arguments)
    if conditional:
        body.text.append(f"{INDENT}taps: list[Any] = []")
    body.add(calls)
    inner = ["*taps"] if conditional else []
    returned = [*(emitter.names[port] for port in taps), *inner]
    body.text.append(f"{INDENT}return ({', '.join(returned)},)")
    text = "\n".join(body.text) + "\n"
    data = [f"{name}: Any" for name in parameters(ordered)]
    signed = signature("stage", ", ".join([*data, _PARAMETERS]), "Any")
    head = _head(text, ordered, signed, emitter)
    made = Code(head + text, body.shifted(head.count("\n") + 1))
    return StageCode(made, (*taps, *emitter.tapped), tuple(fed), emitter.automatic)


class _StageEmitter(Emitter):
    """Emitter that adds every output inside a block to the outputs of the pipeline."""

    def __init__(
        self,
        resolved: ResolvedGraph,
        ordered: Sequence[Node],
        draws: Mapping[str, UniformCalls],
        positioned: bool,
        lifts_values: bool,
    ) -> None:
        super().__init__(resolved, ordered, positioned=positioned)
        self.tapped: list[Port] = []
        self.values: list[str] = []
        self.automatic: dict[str, str] = {}
        self._draws = draws
        self._calls: list[str] = []
        """Terms whose sum is the number of the current iteration, counted over all nested loops."""
        self._lifts_values = lifts_values

    def name_ports(self) -> None:
        """Choose a unique variable for each port, because each can become an output."""
        self.names = unique_names([*self.every_node()], self.catalog)

    def value_text(self, value: Value, arg: ArgSpec) -> str:
        text = super().value_text(value, arg)
        numbers = value if isinstance(value, tuple) else (value,)
        if not self._lifts_values or not all(isinstance(each, int | float) for each in numbers):
            return text
        self.values.append(text)
        return f"VALUES[{len(self.values) - 1}]"

    def apply_automatic(self) -> None:
        """Make the automatic augmentations whose layout is known call ``AUTOMATIC``."""
        flows = self.resolved.types
        for node in self.every_node():
            if node.id in self._draws:
                layout = flows[node.inputs["data"]].layout
                if layout:
                    self.automatic[node.id] = layout

    def call_lines(self, node: Node) -> list[str]:
        if node.id not in self._draws:
            return super().call_lines(node)
        number = " + ".join(self._calls) or "0"
        if node.id in self.automatic:
            fed = [self.names[port] for name, port in node.inputs.items() if name != "data"]
            image, target = self.names[node.inputs["data"]], self.names[Port(node.id, "output")]
            on_gpu = self._devices[node.id] == "gpu"  # Python's functions run on the CPU
            arguments = [
                *(f"{image}.cpu()" if on_gpu else image, SAMPLE.output, *fed),
                f"function=AUTOMATIC[{literal(node.id)}][{number}]",
                "batch_processing=True",
                f"output_layouts={literal(self.automatic[node.id])}",
            ]
            copied = [f"{self.indent}{target} = {target}.gpu()"] if on_gpu else []
            return [*call(target, "fn.python_function", arguments, self.indent), *copied]
        made = super().call_lines(node)
        inside = [INDENT + line for line in made]
        handed = [f"{_random_values_name(node)}[{number}]"]
        if has_policy(node):
            handed += [literal(node.id), str(longest(node))]
        return [f"{self.indent}with replacing_random_values({', '.join(handed)}):", *inside]

    def random_value_lines(self, node: Node) -> Lines:
        """Return the code that samples the random values of an automatic augmentation.

        The code is outside every block, and samples values for the whole batch.
        """
        made = [f"{self.indent}{_random_values_name(node)} = ["]
        for called in self._draws[node.id]:
            samples = (uniform_call_text(each, self.positioned) for each in called)
            made.append(f"{self.indent * 2}[{', '.join(samples)}],")
        return Lines([*made, f"{self.indent}]"])

    def node_lines(self, node: Node) -> Lines:
        if self.scope:
            return self._node_lines(node)
        made = Lines()
        for inner in nodes_within([node]):
            if inner.id in self._draws and inner.id not in self.automatic:
                made.add(self.random_value_lines(inner))
        made.add(self._node_lines(node))
        return made

    def _node_lines(self, node: Node) -> Lines:
        made = super().node_lines(node)
        if self.scope:
            ports = output_ports(node, self.catalog[node.op])
            made.text += [self._tap(port) for port in ports]
        return made

    def lines_before(self, block: Node) -> Lines:
        made = super().lines_before(block)
        for node, turns in [] if self.scope else hoisted_with_repetitions(block, self.catalog):
            for port in output_ports(node, self.catalog[node.op]):
                self.tapped.append(port)
                first = "[0]" * len(turns)
                made.text.append(f"{self.indent}taps.append({self.names[port]}{first})")
        return made

    def in_loop(self, count: int, write: Callable[[str], Lines]) -> Lines:
        start = len(self.tapped)
        outside = self._calls
        variable = loop_variable(len(self.turns))
        self._calls = [*(f"{count} * {each}" for each in outside), variable]
        made = super().in_loop(count, write)
        self._calls = outside
        inside = self.tapped[start:]
        self.tapped[start:] = [
            port_in_iteration(port, turn)
            for turn in range(count)
            for port in inside
            if turn == 0 or not port.output
        ]
        return made

    def begin_body(self) -> Lines:
        return Lines([self._tap(Port(self.scope, ""))])

    def _tap(self, port: Port) -> str:
        self.tapped.append(port)
        name = self.names[port] if port.output else SAMPLE.output
        first = " == ".join([*self.turns, "0"])
        if port.output and self.turns:  # values inside are those of the first iteration
            return f"{self.indent}if {first}: taps.append({name})"
        return f"{self.indent}taps.append({name})"


def _random_values_name(node: Node) -> str:
    return f"{node.id}__draws"


def _head(body: str, ordered: Sequence[Node], signed: Sequence[str], emitter: _StageEmitter) -> str:
    """Return the code that precedes ``body``. It has only what ``body`` uses: compiling takes time.

    The number of lines is the same for all values, because DALI's cache keys include line numbers.
    """
    kinds = dict.fromkeys(parameters(ordered).values())
    modules = sorted({module for kind in kinds for module in kind.imports})
    imports = "".join(f"import {module}\n" for module in modules)
    finders = "".join(f"{kind.find_source}\n\n" for kind in kinds)
    finders += function_sources(nodes_within(ordered)) + emitter.helper_functions()
    imports += "".join(f"{line}\n" for line in plugin_imports(nodes_within(ordered)))
    called = [node for node in nodes_within(ordered) if node.id not in emitter.automatic]
    automatic = policy_imports(called, emitter.catalog)
    if automatic:
        imports += "".join(f"{line}\n" for line in automatic)
        imports += "from workbench.engine.build.auto_augment import replacing_random_values\n"
    own = emitter.constants if any(map(has_policy, called)) else {}
    constants = "".join(f"{name} = {text}\n" for name, text in own.items())
    values = emitter.values
    state = RANDOM_STATE if "random_state(" in body else ""
    lifted = f"VALUES = [{', '.join(values)}]\n\n\n" if values else ""
    stage = "\n".join([pipeline_decorator(ordered), *signed])
    return f"{imports}{IMPORTS}\n{constants}{finders}{state}{lifted}{stage}\n"
