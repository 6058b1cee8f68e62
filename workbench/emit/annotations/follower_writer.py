"""What all followers share in emitted source: their variables, and the maps of the operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from workbench.catalog.geometry import GeometryRule
from workbench.catalog.spec import ArgSpec
from workbench.emit.core.python import INDENT, LINE, literal
from workbench.errors import GraphError
from workbench.graph.annotations.followers import path_of
from workbench.graph.annotations.geometry import GeometryStep, cut_before, value_of
from workbench.graph.annotations.mixes import Mix
from workbench.graph.model import Node, Port
from workbench.graph.types.devices import device_of

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

_WINDOW = ("random_area", "random_aspect_ratio", "num_attempts")


class FollowerWriter:
    """The lines of one follower, one after another."""

    def __init__(self, emitter: Emitter, node: Node) -> None:
        self.emitter = emitter
        self.node = node
        self.graph = emitter.graph
        path = path_of(self.graph, emitter.catalog, node)
        if path is None or path.blocked:
            raise GraphError(f"{node.id}: {path.reason if path else 'no image feeds it'}.")
        self.path = path
        self.flows = emitter.resolved.types
        self.text: list[str] = []
        self._sizes: dict[Port, str] = {}
        self._stem = node.id
        while any(name.startswith(f"{self._stem}_") for name in emitter.names.values()):
            self._stem += "_"

    def follow(self) -> None:
        """Write what the follower gives."""
        raise NotImplementedError

    def carried(self) -> None:
        """Write what goes on into a region or out of its body."""
        raise NotImplementedError

    def name(self, word: str) -> str:
        """A variable of this follower's own."""
        return f"{self._stem}_{word}"

    def add(self, target: str, value: str) -> None:
        """``target = value``, a call on as many lines as it needs; nothing where both are one."""
        if target == value:
            return
        line = f"{self.emitter.indent}{target} = {value}"
        if len(line) > LINE and _is_one_call(value):
            self.text += _lines_of_call(f"{target} = ", value, "", self.emitter.indent)
        elif len(line) > LINE:
            deeper = self.emitter.indent + INDENT
            parts = [value] if len(deeper + value) <= LINE else _operands(value)
            self.text += [
                f"{self.emitter.indent}{target} = (",
                *(f"{deeper}{part}" for part in parts),
                f"{self.emitter.indent})",
            ]
        else:
            self.text.append(line)

    def carry(
        self,
        c: str,
        cut: Callable[[Port], None],
        mix: Callable[[GeometryStep, Mix], None] | None = None,
    ) -> None:
        """Move coordinates (N, k, 2) through every operator."""
        begins = self.node.inputs.get("before")
        lost = begins is not None and cut_before(self.graph, self.emitter.catalog, begins)
        for step in self.path.steps:
            if lost and (step.rule.reveals or step.mix):
                cut(step.before)
                lost = False
            if step.mix and mix:
                mix(step, step.mix)
            if step.rule.map:
                self._moved(c, step)
            lost |= step.rule.cuts

    def map_of(self, step: GeometryStep, m: str) -> None:
        """The lines that give the matrix of one operator."""
        for line in step.rule.map.strip().splitlines():
            target, _, value = self._filled(line, step, m).partition(" = ")
            self.add(target, value)

    def _moved(self, c: str, step: GeometryStep) -> None:
        m = self.name("map")
        self.map_of(step, m)
        if step.rule.homography:
            h = self.name("scaled")
            self.add(h, f"fn.coord_transform({c}, M={m}[:, 0:2], T={m}[:, 2])")
            self.add(c, f"{h}[:, :, 0:2] / {h}[:, :, 2:3]")
        else:
            self.add(c, f"fn.coord_transform({c}, MT={m})")

    def _filled(self, line: str, step: GeometryStep, m: str) -> str:
        """A line of a rule with what stands for its placeholders."""
        node, emitter = step.node, self.emitter
        spec = emitter.catalog[node.op]
        values: dict[str, str] = {"m": m}
        for name in spec.args:
            if f"{{{name}}}" in line:
                values[name] = self._value(node, name, step.rule)
        if "{sw}" in line or "{sh}" in line:
            values["sw"], values["sh"] = self.size(step.before, encoded=step.decodes)
        if "{tw}" in line or "{th}" in line:
            values["tw"], values["th"] = self.size(step.after)
        if "{shape}" in line:
            image = emitter.names[step.before]
            values["shape"] = (
                f"fn.peek_image_shape({image})" if step.decodes else f"{image}.shape()"
            )
        if "{draw}" in line:
            values["draw"] = "".join(f", {text}" for text in emitter.randomness(node))
            values["window"] = "".join(
                f", {name}={self.argument_text(name, node)}"
                for name in _WINDOW
                if name in node.args or name in node.inputs
            )
        return line.format(**values)

    def _value(self, node: Node, name: str, rule: GeometryRule) -> str:
        linked = node.inputs.get(rule.linked.get(name, ""))
        if linked is not None:
            return self.emitter.names[linked]
        text = self.argument_text(name, node)
        if name in rule.linked and name not in node.inputs:
            rows = 3 if rule.homography else 2
            numbers = value_of(node, self.emitter.catalog[node.op], name)
            floats = [float(each) for each in numbers if isinstance(each, int | float)]  # type: ignore[union-attr]
            return f"types.Constant({floats}, shape=[{rows}, 3])"
        return text

    def argument_text(self, name: str, node: Node) -> str:
        """An argument's variable, its value or DALI's default."""
        if name in node.inputs:
            return self.emitter.names[node.inputs[name]]
        spec = self.emitter.catalog[node.op]
        value = value_of(node, spec, name)
        return literal(value, _arg(spec.args, name)) if value is not None else "None"

    def size(self, port: Port, encoded: bool = False) -> tuple[str, str]:
        """Width and height of an image, as two expressions of floats."""
        if port not in self._sizes:
            name = self.name(f"size_{len(self._sizes)}")
            image = self.emitter.names[port]
            if encoded:
                self.add(name, f"fn.cast(fn.peek_image_shape({image}), dtype=types.FLOAT)")
            else:
                self.add(name, f"fn.cast({image}.shape(), dtype=types.FLOAT)")
            self._sizes[port] = name
        flow = self.flows.get(port)
        axes = (flow.axes if flow else None) or "HWC"
        name = self._sizes[port]
        return f"{name}[{axes.index('W')}]", f"{name}[{axes.index('H')}]"

    def permuted(self, target: str, value: str, mix: Mix) -> None:
        """``target`` becomes what the other image has, in the batch's other order."""
        self.add(target, f"fn.permute_batch({value}, indices={self.emitter.names[mix.order]})")

    def fed(self, name: str) -> str:
        """What feeds the follower, on the CPU where it works there."""
        port = self.node.inputs[name]
        moves = self.emitter.catalog[self.node.op].stays and not self.on_cpu(port)
        return self.emitter.names[port] + (".cpu()" if moves else "")

    def on_cpu(self, port: Port) -> bool:
        """Whether data lie on the CPU."""
        return device_of(self.emitter.devices, port) == "cpu"

    def first(self) -> Port:
        """What the targets lie on: where a decoder crops, the image in the file."""
        start = self.path.start
        if start != self.path.root:
            self.size(start, encoded=True)
        return start

    def given(self, output: str) -> str:
        """The variable of one of its outputs."""
        return self.emitter.names[Port(self.node.id, output)]


def _arg(args: Mapping[str, ArgSpec], name: str) -> ArgSpec | None:
    return args.get(name)


def _operands(value: str) -> list[str]:
    """An expression cut before those of its operators that bind least."""
    for operators in (" & ", (" + ", " - "), (" * ", " / ", " // ")):
        parts, depth, start = [], 0, 0
        for at, letter in enumerate(value):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
            if depth == 0 and value.startswith(operators, at):
                parts.append(value[start:at])
                start = at + 1
        if parts:
            return [*parts, value[start:]]
    return [value]


def _is_one_call(value: str) -> bool:
    """Whether a text is one call: its first bracket is closed by its last."""
    depth = 0
    for at, letter in enumerate(value):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and letter == ")":
            return (
                at == len(value) - 1
                and value[: value.index("(")].replace(".", "").replace("_", "").isalnum()
            )
    return False


def _lines_of_call(head: str, value: str, tail: str, indent: str) -> list[str]:
    """A call, and those among its arguments, on as many lines as ruff would give them."""
    line = f"{indent}{head}{value}{tail}"
    if len(line) <= LINE or not _is_one_call(value):
        return [line]
    function, inner = value[:-1].split("(", 1)
    lines, deeper = [f"{indent}{head}{function}("], indent + INDENT
    if len(deeper) + len(inner) <= LINE:
        lines.append(deeper + inner)
    else:
        for part in _parts(inner):
            name, _, rest = part.partition("=")
            named = name.isidentifier() and rest
            first, last = (f"{name}=", rest) if named else ("", part)
            lines += _lines_of_call(first, last, ",", deeper)
    return [*lines, f"{indent}){tail}"]


def _parts(inner: str) -> list[str]:
    """The arguments of a call."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(inner):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(inner[start:at].strip())
            start = at + 1
    return [*parts, inner[start:].strip()]
