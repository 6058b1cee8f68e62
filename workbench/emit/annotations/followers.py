"""Followers in emitted source: plain calls of DALI that move boxes, points and masks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workbench.emit.annotations.box_followers import BoxWriter
from workbench.emit.annotations.follower_writer import FollowerWriter
from workbench.emit.annotations.mask_followers import MaskWriter
from workbench.emit.core.code import Lines
from workbench.emit.core.naming import unique_names
from workbench.emit.core.python import literal
from workbench.graph.annotations.follower_dependencies import CARRIED_INPUTS
from workbench.graph.annotations.formats import is_relative
from workbench.graph.model import Node, Port

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

IN_STEP = "in step with"
"""What stands between a target and its image in the comment above a follower's lines."""
CARRIED = "carried on"
"""The comment above what brings a target to, or through, the body of a region."""


def follower_comment(emitter: Emitter, node: Node) -> str:
    """What a follower's lines do: the comment above them, by which an import knows it again.

    ``Boxes in step with images, from decoded on, visible=0.5: boxes, labels``, or ``boxes -> kept``
    where they get another name.
    """
    spec = emitter.catalog[node.op]
    kind = node.op.removeprefix("follow_")
    ports = [port.name for port in spec.inputs if port.name in node.inputs]
    fed = {port: emitter.names[node.inputs[port]] for port in ports}
    image, before = fed.pop("image"), fed.pop("before", "")
    if set(node.inputs) & CARRIED_INPUTS:  # then it lies on what the last region gave
        before = ""
    outputs = spec.outputs_with(node.inputs, node.args)
    given = [emitter.names[Port(node.id, output.name)] for output in outputs]
    text = f"{kind.capitalize()} {IN_STEP} {image}" + (f", from {before} on" if before else "")
    text += "".join(f", {name}={literal(value)}" for name, value in node.args.items())
    if given == [*fed.values()] == [kind]:
        return text
    if "polygons" in fed and "labels" not in fed:  # by their order an import tells which they are
        fed = {"boxes": fed["boxes"], "labels": "_", "polygons": fed["polygons"]}
    text += f": {', '.join(fed.values())}"
    return text if given == [*fed.values()] else f"{text} -> {', '.join(given)}"


def follower_lines(emitter: Emitter, node: Node) -> Lines:
    """The lines of one follower of a sound graph, or of what carries a target to it."""
    what, _, kind = node.op.partition("_")
    writers = {"boxes": BoxWriter, "points": PointWriter, "labels": LabelWriter}
    writer = writers.get(kind, MaskWriter)(emitter, node)
    if what == "follow":
        writer.text.append(f"{emitter.indent}# {follower_comment(emitter, node)}")
        writer.follow()
    else:
        writer.text.append(f"{emitter.indent}# {CARRIED}")
        writer.carried()
    if any("math." in line for line in writer.text):
        emitter.with_math.add(node.id)
    return Lines.of(node.id, writer.text)


def ports_read(emitter: Emitter) -> dict[str, list[Port]]:
    """For each follower the ports that its lines name: it depends on more than these."""
    emitter.names = unique_names([*emitter.graph.walk()], emitter.catalog)
    found = {}
    for node in emitter.every_node():
        if emitter.catalog[node.op].follows:
            words = set(re.findall(r"\w+", "\n".join(follower_lines(emitter, node).text)))
            named = [port for port, name in emitter.names.items() if name in words]
            found[node.id] = [port for port in named if port.node != node.id]
    return found


class LabelWriter(FollowerWriter):
    """Classes of images, as shares of them."""

    def follow(self) -> None:
        """One-hot, mixed as the images were."""
        y, other = self.name("shares"), self.name("other")
        flow = self.flows.get(self.node.inputs["labels"])
        classes = self.argument_text("num_classes", self.node)
        if flow is not None and flow.dtype == "FLOAT":
            self.add(y, self.fed("labels"))
        else:
            labels = self.fed("labels")
            self.add(y, f"fn.one_hot({labels}, num_classes={classes}, dtype=types.FLOAT)")
        for step in self.path.steps:
            if step.mix is None:
                continue
            self.permuted(other, y, step.mix)
            if step.mix.window:
                extent = self.emitter.names[step.mix.window[1]]
                share = f"1.0 - {extent}[0] * {extent}[1]"
                self.add(self.name("share"), share)
                share = self.name("share")
            else:
                assert step.mix.share is not None
                share = self.emitter.names[step.mix.share]
            self.add(y, f"{y} * {share} + {other} * (1.0 - {share})")
        self.add(self.given("labels"), y)


class PointWriter(FollowerWriter):
    """Points, and which of them are in the image all along."""

    def follow(self) -> None:
        """Those of the source, with where they are now."""
        c, seen = self._moved_points(self.name("at"), self.name("seen"))
        self._check(c, seen, self.node.inputs["image"])
        points = f"fn.squeeze({c}[:-1], axes=1)"
        if is_relative(self.graph, self.node):
            width, height = self.size(self.node.inputs["image"])
            points = f"{points} / fn.stack({width}, {height})"
        self.add(self.given("points"), points)
        self.add(self.given("visible"), f"{seen}[:-1]")

    def carried(self) -> None:
        """Places (N + 1, 1, 2), the last of them of no point, that there is always one."""
        self._moved_points(self.given("at"), self.given("seen"))

    def _moved_points(self, c: str, seen: str) -> tuple[str, str]:
        start = self.node.inputs
        if "at" in start:
            self.add(c, self.fed("at"))
            self.add(seen, self.fed("seen"))
        else:
            points = self.fed("points")
            self.add(c, f"fn.cat({points}, types.Constant([0.0, 0.0], shape=[1, 2]))")
            self.add(c, f"fn.expand_dims({c}, axes=1)")
            if is_relative(self.graph, self.node):
                width, height = self.size(self.first())
                self.add(c, f"{c} * fn.stack({width}, {height})")
            self.add(seen, f"{c}[:, 0, 0] == {c}[:, 0, 0]")  # all but what is no number
        self.carry(c, cut=lambda port: self._check(c, seen, port))
        return c, seen

    def _check(self, c: str, seen: str, port: Port) -> None:
        width, height = self.size(port)
        edge, inside = self.name("edge"), self.name("inside")
        self.add(edge, f"fn.stack({width}, {height})")
        within = self.name("within")
        self.add(inside, f"{c} >= 0.0")
        self.add(within, f"{c} <= {edge}")
        self.add(inside, f"{inside} & {within}")
        self.add(inside, f"fn.reductions.min(1.0 * {inside}, axes=[1, 2])")
        self.add(seen, f"{seen} & ({inside} > 0.5)")
