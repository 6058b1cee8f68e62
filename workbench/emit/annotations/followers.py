"""Generate DALI calls that transform boxes, points and masks with an image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from workbench.emit.annotations.box_followers import BoxWriter
from workbench.emit.annotations.follower_writer import FollowerWriter
from workbench.emit.annotations.mask_followers import MaskWriter
from workbench.emit.core.code import Lines
from workbench.emit.core.naming import unique_names
from workbench.emit.core.python import LINE
from workbench.graph.annotations.formats import is_relative
from workbench.graph.annotations.geometry import GeometryStep
from workbench.graph.annotations.sides import mirror_order, numbered_pairs
from workbench.graph.model import Node, Port

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter


def follower_lines(emitter: Emitter, node: Node) -> Lines:
    """Return the code of a node that transforms annotations, or passes them into a block."""
    what, _, kind = node.op.partition("_")
    writers = {"boxes": BoxWriter, "points": PointWriter}
    writers |= {"labels": LabelWriter, "classes": ClassWriter}
    writer = writers.get(kind, MaskWriter)(emitter, node)
    if what == "follow":
        writer.follow()
        if len(writer.text) > 1:
            writer.text[:0] = _comment(writer, kind)
    else:
        writer.write_carried()
    return Lines.of(node.id, writer.text)


def _comment(writer: FollowerWriter, kind: str) -> list[str]:
    """Return a comment such as ``# Boxes follow the image through rotate and crop``."""
    indent = f"{writer.emitter.indent}# "
    text = writer.comment or f"{kind.capitalize()} follow the image{writer.moving_operators_text}"
    return wrap(text, LINE, initial_indent=indent, subsequent_indent=indent)


def ports_read(emitter: Emitter) -> dict[str, list[Port]]:
    """Map the id of each annotation follower to the ports whose variables its code uses.

    A follower can depend on further ports whose variables do not appear in its code.
    """
    emitter.names = unique_names([*emitter.graph.walk()], emitter.catalog)
    found = {}
    for node in emitter.every_node():
        if emitter.catalog[node.op].follows:
            words = set(re.findall(r"\w+", "\n".join(follower_lines(emitter, node).text)))
            named = [port for port, name in emitter.names.items() if name in words]
            found[node.id] = [port for port in named if port.node != node.id]
    return found


class LabelWriter(FollowerWriter):
    """Writes the code that converts class labels to soft labels, for mixed images."""

    def follow(self) -> None:
        """Write the code that one-hot encodes labels and mixes them with the images' weights."""
        labels, fed = self.variable("labels", "labels"), self.fed("labels")
        flow = self.flows.get(self.node.inputs["labels"])
        if flow is not None and flow.dtype == "FLOAT":
            self.add(labels, fed)
        else:
            classes = f"num_classes={self.argument_text('num_classes', self.node)}"
            self.call(labels, "fn.one_hot", fed, classes, "dtype=types.FLOAT")
        for step in self.path.steps:
            if step.mix is None:
                continue
            if step.mix.window:
                extent = self.emitter.names[step.mix.window[1]]
                share = f"1.0 - {extent}[0] * {extent}[1]"
            else:
                assert step.mix.share is not None
                share = self.emitter.names[step.mix.share]
            order = self.emitter.names[step.mix.order]
            self.call(labels, self.helper("mixed_labels"), labels, order, share)
        self.add(self.output_variable("labels"), labels)


class ClassWriter(FollowerWriter):
    """Writes the code that swaps the classes of mirrored images."""

    def follow(self) -> None:
        labels, pairs = self.variable("labels", "labels"), numbered_pairs(self.node)
        if mirrored := self.mirrored(self.path.steps) if pairs else "":
            function = self.helper("swapped_classes")
            self.call(labels, function, self.fed("labels"), mirrored, str(pairs))
        else:
            self.add(labels, self.fed("labels"))
        self.add(self.output_variable("labels"), labels)

    def write_carried(self) -> None:
        self.follow()


class PointWriter(FollowerWriter):
    """Writes the code that transforms points, and computes which points are inside the image."""

    @property
    def relative(self) -> bool:
        return is_relative(self.graph, self.node)

    def follow(self) -> None:
        points, seen = self.variable("points", "points"), self.variable("visible", "")
        relative = self.relative
        text, in_pixels = self.fed("points"), not relative
        if self.head or "at" in self.node.inputs:
            known = self._move_points(self.head, points, seen)
            self._see(seen, points, known, self._size(self.middle))
            text, in_pixels = points, True
        else:
            self._see(seen, text, size="1.0" if relative else self._size(self.middle))
        centre = [side / 2 for side in self.fixed_size(self.middle)]
        if relative or self.last != self.middle:
            centre = []
        if in_pixels and (self.changes_scale or relative) and not centre:
            text, in_pixels = f"{text} / {self._size(self.middle)}", False
        flips = {"horizontal": "flip_x", "vertical": "flip_y"}
        text = self.mirror(points, text, "fn.coord_flip", flips, centre=centre)
        if in_pixels == relative:
            text = f"{text} * {self._size(self.last)}"
        self.add(points, text)
        self._swap(points, seen)
        if "places" in self.node.inputs:
            left = f"{points}, {seen}, {self.output_variable('polygons')}"
            arguments = (points, seen, self.fed("polygons"), self.fed("places"))
            self.call(left, self.helper("points_of_boxes"), *arguments)
        self.add(self.output_variable("points"), points)
        self.add(self.output_variable("visible"), seen)

    def _size(self, port: Port) -> str:
        return self.factors("size_of", port)

    def write_carried(self) -> None:
        """Write the code for the points (N, 2) in pixels, and a Boolean array of visible points."""
        points, seen = self.variable("at", "at"), self.variable("seen", "seen")
        if not self._move_points(self.path.steps, points, seen):
            self.add(seen, f"{points}[:, 0] == {points}[:, 0]")  # all except NaN
        self._swap(points, seen)
        self.add(self.output_variable("at"), points)
        self.add(self.output_variable("seen"), seen)

    def _swap(self, points: str, seen: str) -> None:
        """Write the call that swaps the left and right points of mirrored images."""
        order = mirror_order(self.node)
        if mirrored := self.mirrored(self.path.steps) if order else "":
            function = self.helper("swapped_points")
            self.call(f"{points}, {seen}", function, points, seen, mirrored, str(order))

    def _move_points(self, steps: Sequence[GeometryStep], points: str, seen: str) -> bool:
        """Write the code that transforms ``points`` (in pixels) by the given steps.

        Returns True if the code also assigns ``seen``, the visibility of the points.
        """
        if "at" in self.node.inputs:
            self.add(points, self.fed("at"))
            self.add(seen, self.fed("seen"))
        else:
            scale = f" * {self.first_size()}" if self.relative else ""
            self.add(points, self.fed("points") + scale)
        known = ["at"] * ("at" in self.node.inputs)

        def cut(port: Port) -> None:
            self._see(seen, points, bool(known), self._size(port))
            known.append("cut")

        def cover(step: GeometryStep) -> None:
            if step.node.op == "erase":
                shown = self.applied("outside_regions", points, self.erased_regions(step))
            else:
                grid = ("tile", "ratio", "angle", "shift_x", "shift_y")
                given = [self.tensor_text(name, step.node) for name in grid]
                shown = self.applied("outside_grid", points, *given)
            self.add(seen, f"{seen} & {shown}" if known else shown)
            known.append("covered")

        self.transform(steps, points, "points", cut, cover)
        return bool(known)

    def _see(self, seen: str, points: str, is_assigned: bool = False, size: str = "") -> None:
        inside = self.applied("points_inside", points, size)
        self.add(seen, f"{seen} & {inside}" if is_assigned else inside)
