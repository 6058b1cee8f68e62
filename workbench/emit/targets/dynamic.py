"""Export a graph as Python code that calls operators in DALI's dynamic mode, batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from workbench.catalog.extra_operators import FOLLOWERS
from workbench.catalog.extra_operators.readers import DALI_READERS, TARGET_READERS
from workbench.catalog.spec import ArgSpec, OpSpec, Value
from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import require_checkpointing
from workbench.emit.core.expressions import constant_type, number_of, plain_constant
from workbench.emit.core.outputs import first_reader, require_no_blocks
from workbench.emit.core.python import INDENT, LINE, call, identifier, literal, signature
from workbench.emit.core.user_functions import require_no_own_code
from workbench.emit.emitter import Emitter
from workbench.emit.targets import Target
from workbench.emit.templates.rendering import render_program
from workbench.emit.templates.template_parts import body_of, make_parts
from workbench.errors import GraphExportError
from workbench.graph.execution.dataset_parameters import is_sampled, parameters, reader_name
from workbench.graph.model import Node, Port, Source
from workbench.graph.model.ports import output_ports
from workbench.graph.model.values import elements
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.tensor_type import integer_range

_MISSING = {
    *("constant", "external_source", "external_source_fields", "request", "array_request"),
    *("python_function", "dl_tensor_python_function", "decoders.pillow"),
    *TARGET_READERS,
}
_MOST_NUMBERS = 10_000
_NO_ARGUMENTS = {"preserve", "bytes_per_sample_hint"}
"""Arguments that every operator has, but that have no meaning outside a pipeline."""
_TAKEN = ("ndd", "batches", "reader", "batch_size", "first", "Draws", "draws", "cache")


class _Emitter(Emitter):
    """Writes calls of ``nvidia.dali.experimental.dynamic``."""

    module = "ndd"
    batch = "batch_size"
    """Variable with the size of the current batch. The last batch of an epoch can be smaller."""
    draws = "Draws({}, first)"
    """Format string for an operator's random state, filled with its seed and its name."""

    def call_lines(self, node: Node) -> list[str]:
        """Return the call of one node. A constant becomes an array per sample, not an operator."""
        if node.op != "constant":
            return super().call_lines(node)
        name = self.names[Port(node.id, self.catalog[node.op].outputs[0].name)]
        which, values, dtype, shape = _constant(node)
        given = self.constant_of(node, which) if len(values) == prod(shape) else None
        flat = values * (prod(shape) // len(values))
        text = given or (str(list(flat)) if shape else repr(flat[0]))
        arguments = [text, self.batch, f"dtype={self.module}.{_type_name(dtype)}"]
        lines = call(name, f"{self.module}.Batch.broadcast", arguments, self.indent)
        layout = node.args.get("layout", "")
        given_layout = [f"layout={literal(layout)}"] if layout else []
        if len(shape) > 1 or layout:
            arguments = [name, f"shape={list(shape)}", *given_layout]
            lines += call(name, f"{self.module}.reshape", arguments, self.indent)
        return lines

    def functions(self) -> str:
        """Return an empty string, because the template defines the functions that clip boxes."""
        return ""

    def value_text(self, value: Value, arg: ArgSpec) -> str:
        """Return the code of a constant value. A matrix is a list of rows in dynamic mode."""
        columns = len(arg.parts)
        if arg.form == "matrix" and isinstance(value, tuple) and len(value) % columns == 0:
            starts = range(0, len(value), columns)
            value = tuple(value[start : start + columns] for start in starts)
        return super().value_text(value, arg)

    def becomes_constant(self, text: str, arg: ArgSpec) -> bool:
        """Return True for matrices too: DALI 2.4 accepts them as tensors, not as lists of rows."""
        return arg.form == "matrix" or super().becomes_constant(text, arg)

    def expression_of(self, spec: OpSpec) -> str:
        """Return the expression. An index would select samples, so batches need ``slice``."""
        if spec.name == "subscript":
            return "{}.slice[{}]"
        if spec.name == "shape":  # a property, with a tuple for each sample
            return f"{self.module}.as_batch({{}}.shape, dtype={self.module}.int64)"
        of_math = spec.expression.startswith("math.")
        return f"{self.module}.{spec.expression}" if of_math else spec.expression

    def constant_text(self, node: Node, value: Value) -> str:
        """Return the code of a constant: a literal if Python has its type, else a tensor."""
        dtype = constant_type(node, self.catalog[node.op])
        beside = self.names[node.inputs["data"]]
        tensor = f"ndd.tensor({number_of(value, dtype)!r}, dtype=ndd.{_type_name(dtype)}, "
        return plain_constant(value, dtype) or f"{tensor}device={beside}.device)"

    def operand_text(self, node: Node, name: str, moved: Mapping[str, str]) -> str:
        """Return an operand. Values connected to arguments are copied to the data's device."""
        text = super().operand_text(node, name, moved)
        if name in node.inputs and name in self.catalog[node.op].args:
            return f"{text}.to_device({self.names[node.inputs['data']]}.device)"
        return text

    def placement(self, node: Node) -> list[str]:
        """Return the device argument. In dynamic mode, mixed decoding has the device ``gpu``."""
        given = super().placement(node)
        return ['device="gpu"' if each == 'device="mixed"' else each for each in given]

    def randomness(self, node: Node) -> list[str]:
        """Return the random state argument, and the batch size for operators without inputs."""
        spec = self.catalog[node.op]
        arguments = [
            f"rng={self.draws.format(text.removeprefix('seed='), literal(node.id))}"
            for text in super().randomness(node)
        ]
        if all(name in spec.args for name in node.inputs):
            return [f"batch_size={self.batch}", *arguments]
        return arguments

    def reader_lines(self, node: Node) -> list[str]:
        """Return the line that creates the reader, which is an object in dynamic mode."""
        name = self.catalog[node.op].schema.split("__")[-1]
        arguments = [*self.value_arguments(node), *super().randomness(node)]
        return call("reader", f"ndd.readers.{identifier(name)}", arguments)


def emit_captured(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``dynamic.py``, in which DALI captures the operators of the loop."""
    return emit_dynamic(resolved, captured=True)


def emit_dynamic(resolved: ResolvedGraph, captured: bool = False) -> Mapping[str, Code]:
    """Create the module ``dynamic.py``."""
    graph, catalog, nodes = resolved.graph, resolved.catalog, resolved.nodes
    _require_dynamic(nodes)
    reader = first_reader(nodes)
    operators = [node for node in nodes if not isinstance(node, Source)]
    emitter = _Emitter(resolved, nodes, lift=True, nests=False, taken=_TAKEN)
    emitter.seed_name = "seed"
    if captured:
        emitter.draws = "draws({1}, {0})"
    names = [emitter.names[port] for port in output_ports(reader, catalog[reader.op])]
    read, emitter.batch = ", ".join(names), f"{names[0]}.batch_size"
    settings = graph.settings
    device = {"cpu": '"cpu"', "mixed": '"gpu"'}[settings.device]
    given = [f"{name}: str" for name in parameters(nodes)]
    given += [f"batch_size: int = {settings.batch_size}", f"device: str = {device}"]
    given += [f"seed: int = {settings.seed}"]
    capture = ", capture=True" * captured
    draws = any(each.startswith("rng=") for node in operators for each in emitter.randomness(node))
    states = f"{INDENT}first = 0  # index of the batch's first sample among all samples read"
    if captured:
        states = f"{INDENT}draws = cache(lambda operator, seed: Draws(batch_size, seed))"
    head = [
        *signature("batches", ", ".join(given), "Iterator[tuple[ndd.Batch, ...]]"),
        f'{INDENT}"""Yield batches endlessly, with images decoded on ``device``: cpu or gpu."""',
        *emitter.reader_lines(reader),
        *[states] * draws,
        f"{INDENT}while True:",
        f"{INDENT * 2}for {read} in reader.next_epoch(batch_size=batch_size{capture}):",
    ]
    emitter.indent = INDENT * 3
    body, lines = body_of(emitter, operators, len(head))
    tail = _yield_lines([emitter.names[port] for port in graph.outputs.values()])
    tail += [f"{emitter.indent}first += batch_size"] * (draws and not captured)
    parts = make_parts(emitter, [*head, *body, *tail], "batches", lines)
    program = render_program(
        "dynamic.py.j2",
        parts,
        captured=captured,
        draws=draws,
        device=device,
        batch_size=settings.batch_size,
        num_threads=settings.num_threads,
    )
    return {"dynamic.py": program}


def _yield_lines(names: Sequence[str]) -> list[str]:
    """Return the lines of ``yield names`` (a tuple), indented for the inner loop."""
    indent = INDENT * 3
    line = f"{indent}yield {', '.join(names)}" if len(names) > 1 else f"{indent}yield ({names[0]},)"
    if len(line) <= LINE:
        return [line]
    return [f"{indent}yield (", *(f"{indent}{INDENT}{name}," for name in names), f"{indent})"]


def is_missing(op: str) -> bool:
    """Return True if DALI's dynamic mode lacks an operator."""
    return op in _MISSING or op.startswith(("experimental.inputs.", "experimental.readers."))


def _type_name(dtype: str) -> str:
    return identifier({"FLOAT": "float32"}.get(dtype, dtype.lower()))


def _constant(node: Node) -> tuple[str, tuple[Any, ...], str, tuple[int, ...]]:
    """Return a constant's argument name, its values, element type and shape.

    Raises GraphExportError if DALI would have to round or clamp the values.
    """
    which, usual = ("fdata", "FLOAT") if "fdata" in node.args else ("idata", "INT32")
    values: Any = elements(node.args[which])
    dtype = str(node.args.get("dtype", usual))
    shape: Any = elements(node.args.get("shape", (len(values),)))
    if which == "idata":
        low, high = (0, -1) if dtype.startswith("FLOAT") else integer_range(dtype)
        fits = all(low <= value <= high for value in values)
    else:
        fits = dtype == "FLOAT"
    if prod(shape) > _MOST_NUMBERS:
        raise GraphExportError(
            f"{node.id}.shape: the constant has {prod(shape):,} numbers, but the dynamic target "
            f"supports {_MOST_NUMBERS:,} at most. Set a smaller shape, or export it as a script."
        )
    if not fits or len(values) not in (1, prod(shape)):
        raise GraphExportError(
            f"{node.id}: the dynamic target cannot convert {which} to type {dtype} and shape "
            f"{list(shape)}. Set values of that type and shape."
        )
    return which, values, dtype, shape


def _require_dynamic(nodes: Sequence[Node]) -> None:
    readers = [node for node in nodes if isinstance(node, Source)]
    if len(readers) > 1:
        raise GraphExportError(
            f"{readers[1].id}: the dynamic target supports one reader, and the graph also has "
            f"{readers[0].id!r}. Export the graph as a script."
        )
    require_no_own_code(nodes, "DALI's dynamic mode has no Python functions")
    require_no_blocks(nodes, "DALI's dynamic mode")
    require_checkpointing(nodes, "DALI's dynamic mode")
    for node in nodes:
        if node.op in FOLLOWERS:
            raise GraphExportError(
                f"{node.id}: DALI's dynamic mode does not support annotations that follow an "
                "image. Export the graph as a script, or remove the node."
            )
        if is_sampled(node):
            raise GraphExportError(
                f"{node.id}: DALI's dynamic mode has no sampler. Reset the sampler, or export the "
                "graph as a script."
            )
        if reader := reader_name(node):
            raise GraphExportError(
                f"{node.id}: DALI's dynamic mode has no reader like {reader}. Export the graph as "
                "a script."
            )
        if node.op == "constant":
            _constant(node)
        elif node.op in DALI_READERS:
            raise GraphExportError(
                f"{node.id}: the dynamic target does not support readers whose outputs are named. "
                "Export the graph as a script."
            )
        elif is_missing(node.op):
            raise GraphExportError(
                f"{node.id}: DALI's dynamic mode has no {node.op}. Export the graph as a script."
            )
        if node.op == "get_property" and node.args.get("key") == "source_info":
            raise GraphExportError(
                f"{node.id}.key: the key is 'source_info', but DALI's dynamic mode does not know "
                "the origin of a sample. Export the graph as a script."
            )
        for name in _NO_ARGUMENTS & node.args.keys():
            raise GraphExportError(
                f"{node.id}.{name}: DALI's dynamic mode does not support this argument. Reset the "
                "argument, or export the graph as a script."
            )


TARGET = Target(
    "the graph in DALI's dynamic mode, operator by operator",
    emit_dynamic,
    capture=emit_captured,
)
