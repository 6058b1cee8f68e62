"""Followers in emitted source: plain calls of DALI that move boxes, points and masks.

Boxes go as their four corners through every operator; the hull is taken once, at the end. Where an
operator could bring back into sight what an earlier one cut off, boxes that lie partly outside are
cut to the image first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.catalog.geometry import GeometryRule
from workbench.catalog.spec import ArgSpec, Value
from workbench.emit.code import Lines
from workbench.emit.python import INDENT, LINE, call, literal
from workbench.errors import GraphError
from workbench.graph.devices import device_of
from workbench.graph.followers import box_format, path_of
from workbench.graph.geometry import GeometryStep, value_of
from workbench.graph.model import Node, Port
from workbench.graph.shapes import infer_types

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

_WHOLE = "types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])"
"""A box of the whole image. It stands behind the others, so that there is always one."""
_WINDOW = ("random_area", "random_aspect_ratio", "num_attempts")
_NARROW = {"INT32": "INT16", "INT64": "INT16", "UINT32": "UINT16"}
"""What masks become where DALI's geometric operators do not take their element type."""
_MASK_TAKES = {"paste": "UINT8"}
"""The only element type that an operator takes: numbers of classes up to 255."""


def follower_lines(emitter: Emitter, node: Node) -> Lines:
    """The lines of one follower of a sound graph."""
    writer = _Writer(emitter, node)
    {"follow_boxes": writer.boxes, "follow_points": writer.points, "follow_masks": writer.masks}[
        node.op
    ]()
    return Lines.of(node.id, writer.text)


class _Writer:
    """The lines of one follower, one after another."""

    def __init__(self, emitter: Emitter, node: Node) -> None:
        self.emitter = emitter
        self.node = node
        self.graph = emitter.graph
        path = path_of(self.graph, emitter.catalog, node)
        if path is None or path.blocked:
            raise GraphError(f"{node.id}: {path.reason if path else 'no image feeds it'}.")
        self.path = path
        self.flows = infer_types(self.graph, emitter.catalog)
        self.text: list[str] = []
        self._sizes: dict[Port, str] = {}
        self._stem = node.id
        while any(name.startswith(f"{self._stem}_") for name in emitter.names.values()):
            self._stem += "_"

    def name(self, word: str) -> str:
        """A variable of this follower's own."""
        return f"{self._stem}_{word}"

    def add(self, target: str, value: str) -> None:
        """``target = value``, a call on as many lines as it needs."""
        line = f"{self.emitter.indent}{target} = {value}"
        if len(line) > LINE and value.endswith(")") and _is_one_call(value):
            function, inner = value[:-1].split("(", 1)
            self.text += call(target, function, _parts(inner), self.emitter.indent)
        elif len(line) > LINE:
            deeper = self.emitter.indent + INDENT
            self.text += [
                f"{self.emitter.indent}{target} = (",
                f"{deeper}{value}",
                f"{self.emitter.indent})",
            ]
        else:
            self.text.append(line)

    def boxes(self) -> None:
        """Corners, then their hull, cut to the image; what is hardly seen is left out."""
        given = box_format(self.graph, self.node) or "absolute ltrb"
        c, width, height = self.name("corners"), *self.size(self._first())
        boxes = self.fed("boxes")
        self.add(c, f"fn.cat({boxes}, {_WHOLE})")
        if given.startswith("relative"):
            self.add(c, f"{c} * fn.stack({width}, {height}, {width}, {height})")
        low, high = self.name("low"), self.name("high")
        self.add(low, f"{c}[:, 0:2]")
        self.add(high, f"{low} + {c}[:, 2:4]" if given.endswith("xywh") else f"{c}[:, 2:4]")
        self._corners(c, low, high)
        self.carry(c, cut=lambda port: self._cut_boxes(c, port))
        self._hull(c, low, high)
        width, height = self.size(self.node.inputs["image"])
        edge, area, seen = self.name("edge"), self.name("area"), self.name("seen")
        self.add(edge, f"fn.stack({width}, {height})")
        self.add(area, f"({high}[:, 0:1] - {low}[:, 0:1]) * ({high}[:, 1:2] - {low}[:, 1:2])")
        self._inside(low, high, edge)
        self.add(seen, f"({high}[:, 0:1] - {low}[:, 0:1]) * ({high}[:, 1:2] - {low}[:, 1:2])")
        share = self.argument_text("visible", self.node)
        self.add(seen, f"1.0 * (({seen} >= {share} * {area}) & ({seen} > 0.0))")
        # Boxes in the last corner have their centre outside: these DALI drops, with their labels.
        kept = self.name("kept")
        self.add(kept, f"{seen} * fn.cat({low} / {edge}, {high} / {edge}, axis=1) + (1.0 - {seen})")
        self.add(kept, f"fn.cat({kept}[:-1], {_WHOLE})")
        labels = self.node.inputs.get("labels")
        arguments = [kept]
        targets = ["_", "_", kept]
        if labels is not None:
            own = self.name("labels")
            flow = self.flows.get(labels)
            text = self.fed("labels")
            if flow is None or flow.dtype != "INT32":
                text = f"fn.cast({text}, dtype=types.INT32)"
            self.add(own, f"fn.cat({text}, types.Constant([0], shape=[1]))")
            arguments.append(own)
            targets.append(own)
        arguments += [
            'bbox_layout="xyXY"',
            "aspect_ratio=[1.0, 1.0]",
            "scaling=[1.0, 1.0]",
            "thresholds=[0.0]",
            "allow_no_crop=False",
            "total_num_attempts=1",
            "seed=0",
        ]
        # The window is the whole image: nothing is drawn.
        self.text += call(", ".join(targets), "fn.random_bbox_crop", arguments, self.emitter.indent)
        if given.startswith("absolute"):
            self.add(kept, f"{kept} * fn.stack({width}, {height}, {width}, {height})")
        if given.endswith("xywh"):
            self.add(kept, f"fn.cat({kept}[:, 0:2], {kept}[:, 2:4] - {kept}[:, 0:2], axis=1)")
        self.add(self.given("boxes"), f"{kept}[:-1]")
        if labels is not None:
            self.add(self.given("labels"), f"{self.name('labels')}[:-1]")

    def points(self) -> None:
        """Points, and which of them are in the image all along."""
        c, visible = self.name("at"), self.name("seen")
        self.add(c, f"fn.cat({self.fed('points')}, types.Constant([0.0, 0.0], shape=[1, 2]))")
        self.add(c, f"fn.expand_dims({c}, axes=1)")
        checks: list[str] = []

        def check(port: Port) -> None:
            width, height = self.size(port)
            x, y = f"{c}[:, 0, 0]", f"{c}[:, 0, 1]"
            inside = f"({x} >= 0.0) & ({x} <= {width}) & ({y} >= 0.0) & ({y} <= {height})"
            self.add(visible, f"{visible} & {inside}" if checks else inside)
            checks.append(visible)

        self.carry(c, cut=check)
        check(self.node.inputs["image"])
        self.add(self.given("points"), f"fn.squeeze({c}[:-1], axes=1)")
        self.add(self.given("visible"), f"{visible}[:-1]")

    def masks(self) -> None:
        """The same calls, to the nearest pixel."""
        mask, source = self.given("masks"), self.node.inputs["masks"]
        flow = self.flows.get(source)
        dtype = flow.dtype if flow else None
        text = self.fed("masks")
        if dtype in _NARROW:
            text = f"fn.cast({text}, dtype=types.{_NARROW[dtype]})"
        self.add(mask, text)
        for step in self.path.steps:
            calls = step.rule.calls
            if calls is None:
                self._mask_call(step, mask, self._of_mask(step))
                continue
            for each in calls:
                if not each.op:
                    raise GraphError(
                        f"{self.node.id}: masks cannot follow {step.node.op} ({step.node.id}). "
                        "Decode whole images, and crop after it."
                    )
                if each.only and not any(
                    name in step.node.args or name in step.node.inputs for name in each.only
                ):
                    continue
                spec = self.emitter.catalog[each.op]
                old = each.args
                args = {n: step.node.args[o] for n, o in old.items() if o in step.node.args}
                inputs = {n: step.node.inputs[o] for n, o in old.items() if o in step.node.inputs}
                if each.op == "flip" and not args and not inputs:
                    continue
                inputs[spec.inputs[0].name] = step.before
                made = replace(step.node, op=each.op, args=args, inputs=inputs, seed=None)
                self._mask_call(step, mask, made)
        if dtype in _NARROW:
            self.add(mask, f"fn.cast({mask}, dtype=types.{dtype})")

    def _of_mask(self, step: GeometryStep) -> Node:
        spec = self.emitter.catalog[step.node.op]
        fed = set(step.node.inputs)
        args: dict[str, Value] = {**step.node.args}
        args |= {n: v for n, v in step.rule.mask.items() if n in spec.args and n not in fed}
        args.pop("dtype", None)
        return replace(step.node, args=args)

    def _mask_call(self, step: GeometryStep, mask: str, call_: Node) -> None:
        """One call of the image's node, with the mask in the image's place."""
        emitter = self.emitter
        spec = emitter.catalog[call_.op]
        source = Port(self.node.id, "masks")
        first = next(name for name, port in call_.inputs.items() if port == step.before)
        made = replace(call_, inputs={**call_.inputs, first: source}, device=None)
        after = Port(made.id, spec.outputs[0].name)
        names, moves = dict(emitter.names), emitter.transfers_of(made.id)
        emitter.names[after] = mask
        emitter.set_transfers(made.id, {})
        flow = self.flows.get(self.node.inputs["masks"])
        dtype = _NARROW.get(flow.dtype or "", flow.dtype) if flow else None
        takes = _MASK_TAKES.get(made.op)
        if takes and dtype != takes:
            self.add(mask, f"fn.cast({mask}, dtype=types.{takes})")
        self.text += emitter.call_lines(made)
        if takes and dtype and dtype != takes:
            self.add(mask, f"fn.cast({mask}, dtype=types.{dtype})")
        emitter.names = names
        emitter.set_transfers(made.id, moves)

    def carry(self, c: str, cut: object) -> None:
        """Move coordinates (N, k, 2) through every operator."""
        lost = False
        for step in self.path.steps:
            if lost and step.rule.reveals:
                cut(step.before)  # type: ignore[operator]
                lost = False
            if step.rule.map:
                self._moved(c, step)
            lost |= step.rule.cuts

    def _moved(self, c: str, step: GeometryStep) -> None:
        m = self.name("map")
        for line in step.rule.map.strip().splitlines():
            target, _, value = self._filled(line, step, m).partition(" = ")
            self.add(target, value)
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
                self.add(name, f"{image}.shape(dtype=types.FLOAT)")
            self._sizes[port] = name
        flow = self.flows.get(port)
        axes = (flow.axes if flow else None) or "HWC"
        name = self._sizes[port]
        return f"{name}[{axes.index('W')}]", f"{name}[{axes.index('H')}]"

    def fed(self, name: str) -> str:
        """What feeds the follower, on the CPU where it works there."""
        port = self.node.inputs[name]
        on_gpu = device_of(self.emitter.devices, port) != "cpu" and name != "masks"
        return self.emitter.names[port] + (".cpu()" if on_gpu else "")

    def given(self, output: str) -> str:
        """The variable of one of its outputs."""
        return self.emitter.names[Port(self.node.id, output)]

    def _first(self) -> Port:
        """What the targets lie on: where a decoder crops, the image in the file."""
        steps = self.path.steps
        if steps and steps[0].decodes:
            self.size(steps[0].before, encoded=True)
            return steps[0].before
        return self.path.root

    def _corners(self, c: str, low: str, high: str) -> None:
        a, b = self.name("down"), self.name("up")
        self.add(a, f"fn.cat({high}[:, 0:1], {low}[:, 1:2], axis=1)")
        self.add(b, f"fn.cat({low}[:, 0:1], {high}[:, 1:2], axis=1)")
        self.add(c, f"fn.stack({low}, {a}, {high}, {b}, axis=1)")

    def _hull(self, c: str, low: str, high: str) -> None:
        self.add(low, f"fn.reductions.min({c}, axes=1)")
        self.add(high, f"fn.reductions.max({c}, axes=1)")

    def _inside(self, low: str, high: str, edge: str) -> None:
        for name in (low, high):
            self.add(name, f"math.min(math.max({name}, 0.0), {edge})")

    def _cut_boxes(self, c: str, port: Port) -> None:
        """Boxes that lie partly outside become the part that is inside."""
        low, high, edge = self.name("low"), self.name("high"), self.name("edge")
        whole, old = self.name("whole"), self.name("old")
        width, height = self.size(port)
        self._hull(c, low, high)
        self.add(edge, f"fn.stack({width}, {height})")
        inside = f"({low} >= 0.0) & ({high} <= {edge})"
        self.add(whole, f"fn.reductions.min(1.0 * ({inside}), axes=1, keep_dims=True)")
        self.add(whole, f"fn.expand_dims({whole}, axes=2)")
        self._inside(low, high, edge)
        self.add(old, c)
        self._corners(c, low, high)
        self.add(c, f"{whole} * {old} + (1.0 - {whole}) * {c}")


def _arg(args: Mapping[str, ArgSpec], name: str) -> ArgSpec | None:
    return args.get(name)


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


def _parts(inner: str) -> list[str]:
    """The arguments of a call."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(inner):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(inner[start:at].strip())
            start = at + 1
    return [*parts, inner[start:].strip()]
