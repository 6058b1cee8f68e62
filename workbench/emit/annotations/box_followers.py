"""Generate code that transforms boxes in the same way as an image.

If the final image shows all of the original, relative boxes stay as they are or are mirrored by
DALI's ``bb_flip``. Otherwise one matrix transforms the four corners of each box, and the bounding
boxes of the corners are computed once, at the end. If an operator could reveal a region that an
earlier operator cropped, boxes partly outside are clipped to the image first. Blocks pass the
corners in and out (``carry_boxes``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from workbench.emit.annotations.follower_writer import FollowerWriter
from workbench.graph.annotations.formats import box_format
from workbench.graph.annotations.geometry import GeometryStep
from workbench.graph.annotations.mixes import Mix
from workbench.graph.annotations.sides import numbered_pairs
from workbench.graph.model import Port

_LABELS = 65536
"""A box's label and index are stored in one integer: ``label + _LABELS * index``."""


class BoxWriter(FollowerWriter):
    """Writes the code that transforms boxes with an image.

    The code represents boxes by their corners unless they are only mirrored.
    """

    _labels = ""
    """Expression of the boxes' class labels, including those of an image that is mixed in."""

    def follow(self) -> None:
        """Write the code that transforms the boxes and selects the labels of the visible boxes."""
        boxes = self.variable("boxes", "boxes")
        self._start_labels()
        text, (unit, order) = self.fed("boxes"), self._format
        if self.head or "corners" in self.node.inputs:
            self._move_boxes(boxes)
            text, unit, order = boxes, "absolute", "ltrb"
        else:
            self._swap_classes(self.path.steps)
            self._write_all()
            if order == "cxcywh" and any(step.rule.flips for step in self.tail):
                text, order = self.applied("cxcywh_to_ltrb", text), "ltrb"
        wanted, wanted_order = self._format
        if unit == "absolute" and (self.changes_scale or wanted == "relative"):
            if any(step.rule.flips for step in self.tail) and not self.head:
                self.comment = (
                    "bb_flip takes shares of the image, so from pixels to shares and back"
                )
            text, unit = f"{text} / {self._sides(self.middle)}", "relative"
        ways = {"horizontal": "horizontal", "vertical": "vertical"}
        text = self.mirror(boxes, text, "fn.bb_flip", ways, f"ltrb={order == 'ltrb'}")
        if unit != wanted:
            text = f"{text} * {self._sides(self.last)}"
        if order != wanted_order:
            text = self.applied(f"{order}_to_{wanted_order}", text)
        self.add(boxes, text)
        self.add(self.output_variable("boxes"), boxes)

    @property
    def relative(self) -> bool:
        return self._format[0] == "relative"

    @property
    def _format(self) -> tuple[str, str]:
        """Return the boxes' unit (``relative``, ``absolute``) and coordinate order (``ltrb``)."""
        unit, order = (box_format(self.graph, self.node) or "absolute ltrb").split()
        return unit, order

    def _sides(self, port: Port) -> str:
        """Return an expression with the sides of an image: width, height, width, height.

        For a cropping decoder these are the sides of the encoded image.
        """
        if port == self.path.start != self.path.root:
            return f"fn.cat({self.first_size()}, {self.first_size()})"
        return self.factors("sides_of", port)

    def _move_boxes(self, boxes: str) -> None:
        """Write the code that computes ``boxes`` (ltrb, pixels) after all steps except ``tail``."""
        steps = self.head
        moving = [step for step in steps if step.rule.map]
        affine = not any(s.mix or s.rule.homography or s.rule.covers for s in steps)
        affine = affine and not self._is_tight
        if "corners" not in self.node.inputs and affine and not self.clipped_before:
            text = self._in_pixels()
            if moving:
                text = self.applied("boxes_after_affine", text, self.matrix(moving))
            self.add(boxes, text)
        else:
            corners = self.name("corners")
            self._start(corners)
            clip, mix = partial(self._clip, corners), partial(self._mix, corners)
            self.transform(steps, corners, "corners", clip, partial(self._cover, corners), mix)
            self.call(boxes, self.helper("boxes_around"), corners)
            if self._is_tight:
                arguments = (boxes, self.fed("boxes"), self.fed("polygons"))
                self.comment = "Boxes around the outlines in the moved image"
                self.call(boxes, self.helper("tight_boxes"), *arguments)
        self._swap_classes(self.path.steps)
        loses = any(step.rule.cuts or step.rule.covers or step.mix for step in steps)
        if loses or "corners" in self.node.inputs:
            self._drop_hidden(boxes)
        else:
            self._write_all()

    def _in_pixels(self) -> str:
        """Return the expression of the input boxes in pixels (left, top, right, bottom)."""
        unit, order = self._format
        text = self.fed("boxes")
        if order != "ltrb":
            text = self.applied(f"{order}_to_ltrb", text)
        if unit == "relative":
            text = f"{text} * {self._sides(self.path.start)}"
        return text

    def _drop_hidden(self, boxes: str) -> None:
        """Write the code that drops barely visible boxes with their labels and indices."""
        numbers = self._labels
        if self._needs_indices:
            places = self._read_places()
            numbers = f"{numbers} + {_LABELS} * {places}" if numbers else places
        arguments = [boxes, self.size(self.middle), *[numbers] * bool(numbers)]
        visible = self.argument_text("visible", self.node)
        if visible != "0.25":
            arguments.append(f"visible={visible}")
        function = self.helper("visible_boxes")
        if not numbers:
            self.call(boxes, function, *arguments)
            return
        kept = self.name("kept") if self._needs_indices else self.variable("labels", "labels")
        self.call(f"{boxes}, {kept}", function, *arguments)
        if self._needs_indices:
            places = kept
            if self._labels:
                given = self.node.args.get("places")
                places = self.output_variable("places") if given else self.name("places")
                self.add(places, f"{kept} // {_LABELS}")
            self._write_places(places)
            if self._labels:
                self.add(self.output_variable("labels"), f"{kept} - {_LABELS} * {places}")
        else:
            self.add(self.output_variable("labels"), kept)

    @property
    def _needs_indices(self) -> bool:
        return bool(self.node.args.get("places")) or "polygons" in self.node.inputs

    def _write_places(self, indices: str) -> None:
        if "polygons" in self.node.inputs:
            arguments = (self.fed("polygons"), indices)
            self.call(
                self.output_variable("polygons"), self.helper("renumbered_polygons"), *arguments
            )
        if self.node.args.get("places"):
            self.add(self.output_variable("places"), indices)

    def _write_all(self) -> None:
        """Write the code that outputs labels, polygons and indices if no box can be dropped."""
        if "labels" in self.node.inputs:
            self.add(self.output_variable("labels"), self._labels)
        if "polygons" in self.node.inputs:
            self.add(self.output_variable("polygons"), self.fed("polygons"))
        if self.node.args.get("places"):
            self.add(self.output_variable("places"), self._read_places())

    def _read_places(self) -> str:
        """Return the expression of the original indices of the input boxes."""
        if "indices" in self.node.inputs:
            return self.fed("indices")
        return self.applied("box_numbers", self.fed("boxes"))

    def write_carried(self) -> None:
        """Write the code that computes the corners of the boxes at the end of a body."""
        corners = self.variable("corners", "corners")
        self._start(corners)
        clip, cover = partial(self._clip, corners), partial(self._cover, corners)
        self.transform(self.path.steps, corners, "corners", clip, cover)
        self.add(self.output_variable("corners"), corners)
        if "labels" in self.node.inputs:
            self._start_labels()
            self._swap_classes(self.path.steps)
            self.add(self.output_variable("labels"), self._labels)

    def _start_labels(self) -> None:
        if "labels" in self.node.inputs:
            flow, self._labels = self.flows.get(self.node.inputs["labels"]), self.fed("labels")
            if flow is None or flow.dtype != "INT32":
                self._labels = f"fn.cast({self._labels}, dtype=types.INT32)"

    def _swap_classes(self, steps: Sequence[GeometryStep]) -> None:
        """Write the call that swaps the classes of images mirrored by the steps after a mix."""
        pairs = numbered_pairs(self.node) if self._labels else []
        mixed = max((at + 1 for at, step in enumerate(steps) if step.mix), default=0)
        if mirrored := self.mirrored(steps[mixed:]) if pairs else "":
            labels, function = self.name("swapped"), self.helper("swapped_classes")
            self.call(labels, function, self._labels, mirrored, str(pairs))
            self._labels = labels

    def _start(self, corners: str) -> None:
        if "corners" in self.node.inputs:
            self.add(corners, self.fed("corners"))
        else:
            boxes = self._in_pixels()
            if self._is_tight or (self.node.op == "carry_boxes" and "vertices" in self.node.inputs):
                vertices = self.fed("vertices")
                if self._format[0] == "relative":
                    vertices = f"{vertices} * {self.first_size()}"
                boxes = self.applied("with_vertices", boxes, vertices)
            self.call(corners, self.helper("corners_of"), boxes)

    @property
    def _is_tight(self) -> bool:
        return bool(self.node.args.get("tight")) and "vertices" in self.node.inputs

    def _clip(self, corners: str, port: Port) -> None:
        """Write a call that clips the boxes that are partly outside the image."""
        self.call(corners, self.helper("clipped_corners"), corners, self.size(port))

    def _cover(self, corners: str, step: GeometryStep) -> None:
        """Write the calls that reduce a box to zero area if a step covers too much of it."""
        shown, size = self.name("shown"), self.size(step.before)
        self.add(shown, self.applied("clipped_to", self.applied("boxes_around", corners), size))
        if step.node.op == "erase":
            covered = self.applied("regions_area", shown, self.erased_regions(step))
        else:
            grid = ("tile", "ratio", "shift_x", "shift_y")
            given = [self.tensor_text(name, step.node) for name in grid]
            covered = self.applied("grid_area", shown, *given)
        most = self.argument_text("covered", self.node)
        self.call(corners, self.helper("uncovered_corners"), corners, shown, covered, most)

    def _mix(self, corners: str, step: GeometryStep, mix: Mix) -> None:
        """Write the code that combines the boxes and labels of two mixed images."""
        self._swap_classes(self.path.steps[: self.path.steps.index(step)])
        order = self.emitter.names[mix.order]
        if mix.window:
            start, extent = (self.emitter.names[port] for port in mix.window)
            visible = self.argument_text("visible", self.node)
            self.call(
                corners,
                self.helper("mixed_corners"),
                *(corners, order, f"({start}, {extent})", self.size(step.before)),
                *[f"visible={visible}"] * (visible != "0.25"),
            )
        else:
            self.call(corners, self.helper("with_others"), corners, order)
        if self._labels:
            labels = self.name("mixed_labels")
            self.call(labels, self.helper("with_others"), self._labels, order)
            self._labels = labels
