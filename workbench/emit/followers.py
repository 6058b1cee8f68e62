"""Followers in emitted source: plain calls of DALI that move boxes, points and masks.

Boxes go as their four corners through every operator; the hull is taken once, at the end. Where an
operator could bring back into sight what an earlier one cut off, boxes that lie partly outside are
cut to the image first. Through regions go the corners (``carry_boxes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.emit.code import Lines
from workbench.emit.follower_writer import FollowerWriter
from workbench.emit.mask_followers import MaskWriter
from workbench.emit.python import call, literal
from workbench.graph.follower_regions import CARRIED_INPUTS
from workbench.graph.followers import box_format, is_relative
from workbench.graph.model import Node, Port

if TYPE_CHECKING:
    from workbench.emit.emitter import Emitter

_WHOLE = "types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])"
"""A box of the whole image. It stands behind the others, so that there is always one."""


_LABELS = 65536
_MOST = 4096
"""One number for both: the label, and which of so many boxes it is of."""
CARRIED = "carried on"
"""The comment above what brings a target to, or through, the body of a region."""


def written_call(emitter: Emitter, node: Node) -> str:
    """A follower as one call: the comment above its lines, by which an import knows it again."""
    spec = emitter.catalog[node.op]
    outputs = spec.outputs_with(node.inputs, node.args)
    targets = ", ".join(emitter.names[Port(node.id, output.name)] for output in outputs)
    names = [port.name for port in spec.inputs if port.name in node.inputs]
    if set(node.inputs) & CARRIED_INPUTS:  # then it lies on what the last region gave
        names = [name for name in names if name != "before"]
    given = [emitter.names[node.inputs[name]] for name in names]
    given += [f"{name}={literal(value)}" for name, value in node.args.items()]
    return f"{targets} = {node.op}({', '.join(given)})"


def follower_lines(emitter: Emitter, node: Node) -> Lines:
    """The lines of one follower of a sound graph, or of what carries a target to it."""
    what, _, kind = node.op.partition("_")
    writer = {"boxes": BoxWriter, "points": PointWriter}.get(kind, MaskWriter)(emitter, node)
    if what == "follow":
        writer.text.append(f"{emitter.indent}# {written_call(emitter, node)}")
        writer.follow()
    else:
        writer.text.append(f"{emitter.indent}# {CARRIED}")
        writer.carried()
    if any("math." in line for line in writer.text):
        emitter.with_math.add(node.id)
    return Lines.of(node.id, writer.text)


class BoxWriter(FollowerWriter):
    """Boxes, as corners."""

    def follow(self) -> None:
        """Corners, then their hull, cut to the image; what is hardly seen is left out."""
        given = box_format(self.graph, self.node) or "absolute ltrb"
        c, low, high = self.name("corners"), self.name("low"), self.name("high")
        self._start(c)
        self.carry(c, cut=lambda port: self._cut_boxes(c, port))
        self._hull(c, low, high)
        width, height = self.size(self.node.inputs["image"])
        edge, area, seen = self.name("edge"), self.name("area"), self.name("seen")
        self.add(edge, f"fn.stack({width}, {height})")
        self._areas(area, low, high)
        self._inside(low, high, edge)
        self._areas(seen, low, high)
        share, enough = self.argument_text("visible", self.node), self.name("enough")
        self.add(enough, f"{seen} >= {share} * {area}")
        self.add(seen, f"1.0 * ({enough} & ({seen} > 0.0))")
        # Boxes in the last corner have their centre outside: these DALI drops, with their labels.
        kept = self.name("kept")
        self.add(kept, f"fn.cat({low} / {edge}, {high} / {edge}, axis=1)")
        self.add(self.name("left_out"), f"1.0 - {seen}")
        self.add(kept, f"{seen} * {kept} + {self.name('left_out')}")
        self.add(kept, f"fn.cat({kept}[:-1], {_WHOLE})")
        own = self._dropped_along()
        arguments = [kept, own] if own else [kept]
        targets = ["_", "_", kept, own] if own else ["_", "_", kept]
        arguments += [
            'bbox_layout="xyXY"',
            "aspect_ratio=[1.0, 1.0]",
            "scaling=[1.0, 1.0]",
            "thresholds=[0.0]",
            "allow_no_crop=False",
            "total_num_attempts=1",
            "seed=base_seed",
        ]
        # The window is the whole image: nothing is drawn.
        self.text += call(", ".join(targets), "fn.random_bbox_crop", arguments, self.emitter.indent)
        if given.startswith("absolute"):
            self.add(edge, f"fn.stack({width}, {height}, {width}, {height})")
            self.add(kept, f"{kept} * {edge}")
        first, second = f"{kept}[:, 0:2]", f"{kept}[:, 2:4]"
        if given.endswith(" xywh"):
            self.add(kept, f"fn.cat({first}, {second} - {first}, axis=1)")
        elif given.endswith(" cxcywh"):
            self.add(kept, f"fn.cat(({first} + {second}) / 2, {second} - {first}, axis=1)")
        self.add(self.given("boxes"), f"{kept}[:-1]")
        self._give_along(own)

    def _dropped_along(self) -> str:
        """The variable of the numbers that DALI drops with the boxes: labels, places, or both."""
        labels, own = self.node.inputs.get("labels"), self.name("labels")
        text = ""
        if labels is not None:
            flow, text = self.flows.get(labels), self.fed("labels")
            if flow is None or flow.dtype != "INT32":
                text = f"fn.cast({text}, dtype=types.INT32)"
        if self.node.args.get("places"):
            places, count = self.name("places"), f"{self.fed('boxes')}.shape()[0]"
            self.add(places, f"types.Constant([*range({_MOST})], shape=[{_MOST}])[: {count}]")
            text = f"{text} + {_LABELS} * {places}" if text else places
        if not text:
            return ""
        self.add(own, f"fn.cat({text}, types.Constant([0], shape=[1]))")
        return own

    def _give_along(self, own: str) -> None:
        with_labels, with_places = "labels" in self.node.inputs, self.node.args.get("places")
        if with_labels and with_places:
            places = self.name("places")
            self.add(places, f"{own} // {_LABELS}")
            self.add(self.given("labels"), f"({own} - {_LABELS} * {places})[:-1]")
            self.add(self.given("places"), f"{places}[:-1]")
        elif own:
            self.add(self.given("labels" if with_labels else "places"), f"{own}[:-1]")

    def carried(self) -> None:
        """Corners, those of the whole image last."""
        c = self.given("corners")
        self._start(c)
        self.carry(c, cut=lambda port: self._cut_boxes(c, port))

    def _start(self, c: str) -> None:
        if "corners" in self.node.inputs:
            self.add(c, self.fed("corners"))
            return
        given = box_format(self.graph, self.node) or "absolute ltrb"
        self.add(c, f"fn.cat({self.fed('boxes')}, {_WHOLE})")
        if given.startswith("relative"):
            width, height = self.size(self.first())
            self._scale(c, width, height)
        low, high = self.name("low"), self.name("high")
        centred = given.endswith(" cxcywh")
        self.add(low, f"{c}[:, 0:2] - {c}[:, 2:4] / 2" if centred else f"{c}[:, 0:2]")
        ends = given.endswith(" ltrb")
        self.add(high, f"{c}[:, 2:4]" if ends else f"{low} + {c}[:, 2:4]")
        self._corners(c, low, high)

    def _scale(self, boxes: str, width: str, height: str) -> None:
        sides = self.name("sides")
        self.add(sides, f"fn.stack({width}, {height}, {width}, {height})")
        self.add(boxes, f"{boxes} * {sides}")

    def _corners(self, c: str, low: str, high: str) -> None:
        a, b = self.name("down"), self.name("up")
        self.add(a, f"fn.cat({high}[:, 0:1], {low}[:, 1:2], axis=1)")
        self.add(b, f"fn.cat({low}[:, 0:1], {high}[:, 1:2], axis=1)")
        self.add(c, f"fn.stack({low}, {a}, {high}, {b}, axis=1)")

    def _hull(self, c: str, low: str, high: str) -> None:
        self.add(low, f"fn.reductions.min({c}, axes=1)")
        self.add(high, f"fn.reductions.max({c}, axes=1)")

    def _areas(self, target: str, low: str, high: str) -> None:
        sides = self.name("sides")
        self.add(sides, f"{high} - {low}")
        self.add(target, f"{sides}[:, 0:1] * {sides}[:, 1:2]")

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
