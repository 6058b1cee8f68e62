"""Boxes that follow an image, in emitted source.

They go as their four corners through every operator; the hull is taken once, at the end. Where an
operator could bring back into sight what an earlier one cut off, boxes that lie partly outside are
cut to the image first. Through regions go the corners (``carry_boxes``).
"""

from __future__ import annotations

from functools import partial

from workbench.emit.annotations.follower_writer import FollowerWriter
from workbench.emit.core.python import call
from workbench.graph.annotations.formats import box_format
from workbench.graph.annotations.geometry import GeometryStep
from workbench.graph.annotations.mixes import Mix
from workbench.graph.model import Port

_WHOLE = "types.Constant([0.0, 0.0, 1.0, 1.0], shape=[1, 4])"
"""A box of the whole image. It stands behind the others, so that there is always one."""


_LABELS = 65536
_MOST = 4096
"""One number for both: the label, and which of so many boxes it is of."""
_NONE = "types.Constant([-1], shape=[1])"
"""The number of no box. It stands before the others, so that there is always one."""


class BoxWriter(FollowerWriter):
    """Boxes, as corners."""

    _mixed_labels = ""
    """The variable of the labels, where those of other images joined them."""

    def follow(self) -> None:
        """Corners, then their hull, cut to the image; what is hardly seen is left out."""
        given = box_format(self.graph, self.node) or "absolute ltrb"
        c, low, high = self.name("corners"), self.name("low"), self.name("high")
        self._start(c)
        self.carry(c, lambda port: self._cut_boxes(c, port), partial(self._mix, c))
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
            f"seed={self.emitter.seed_name}",
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
            flow, text = self.flows.get(labels), self._mixed_labels or self.fed("labels")
            if flow is None or flow.dtype != "INT32":
                text = f"fn.cast({text}, dtype=types.INT32)"
        if self._numbered:
            places, count = self.name("places"), f"{self.fed('boxes')}.shape()[0]"
            self.add(places, f"types.Constant([*range({_MOST})], shape=[{_MOST}])[: {count}]")
            text = f"{text} + {_LABELS} * {places}" if text else places
        if not text:
            return ""
        self.add(own, f"fn.cat({text}, types.Constant([0], shape=[1]))")
        return own

    @property
    def _numbered(self) -> bool:
        """Whether it matters which of the boxes are left."""
        return bool(self.node.args.get("places")) or "polygons" in self.node.inputs

    def _give_along(self, own: str) -> None:
        with_labels, places = "labels" in self.node.inputs, own
        if with_labels and self._numbered:
            places = self.name("places")
            self.add(places, f"{own} // {_LABELS}")
            self.add(self.given("labels"), f"({own} - {_LABELS} * {places})[:-1]")
        elif with_labels:
            self.add(self.given("labels"), f"{own}[:-1]")
        if "polygons" in self.node.inputs:
            self._renumber(f"{places}[:-1]")
        if self.node.args.get("places"):
            self.add(self.given("places"), f"{places}[:-1]")

    def _renumber(self, places: str) -> None:
        """Rows (box, first vertex, end) with the numbers of the boxes that are left, -1 of others.

        No row goes: the first and last vertices are those of points that follow, which all stay.
        """
        left, number, rows = self.name("left"), self.name("number"), self.fed("polygons")
        every = f"types.Constant([*range({_MOST + 1})], shape=[1, {_MOST + 1}])"
        self.add(left, f"fn.expand_dims(fn.cat({_NONE}, {places}), axes=0)")
        self.add(number, f"({rows}[:, 0:1] == {left}) * {every}[:, : {left}.shape()[1]]")
        self.add(number, f"fn.reductions.max({number}, axes=1, keep_dims=True) - 1")
        # Not put together column by column: where there is no row, that leaves one column.
        first, others = (f"types.Constant({each}, shape=[1, 3])" for each in ([1, 0, 0], [0, 1, 1]))
        self.add(self.given("polygons"), f"{rows} * {others} + {number} * {first}")

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
        whole = self.name("whole")
        width, height = self.size(port)
        self._hull(c, low, high)
        self.add(edge, f"fn.stack({width}, {height})")
        self.add(whole, f"({low} >= 0.0) & ({high} <= {edge})")
        self._inside(low, high, edge)
        self._replaced(c, low, high)

    def _replaced(self, c: str, low: str, high: str) -> None:
        """The corners of a hull, but of boxes that are ``whole`` their own."""
        whole, old = self.name("whole"), self.name("old")
        self.add(whole, f"fn.reductions.min(1.0 * {whole}, axes=1, keep_dims=True)")
        self.add(whole, f"fn.expand_dims({whole}, axes=2)")
        self.add(old, c)
        self._corners(c, low, high)
        self.add(c, f"{whole} * {old} + (1.0 - {whole}) * {c}")

    def _mix(self, c: str, step: GeometryStep, mix: Mix) -> None:
        """The boxes of both images, and their labels."""
        other = self.name("other")
        self.permuted(other, c, mix)
        if mix.window:
            self._around_window(c, other, step, mix.window)
        self.add(c, f"fn.cat({c}[:-1], {other})")
        if "labels" in self.node.inputs:
            labels = self.name("numbers")
            own, self._mixed_labels = self._mixed_labels or self.fed("labels"), labels
            self.permuted(self.name("other_numbers"), own, mix)
            self.add(labels, f"fn.cat({own}, {self.name('other_numbers')})")

    def _around_window(
        self, c: str, other: str, step: GeometryStep, window: tuple[Port, Port]
    ) -> None:
        """What is seen of the image's boxes around a window, and of the others' in it.

        A box that the window covers from side to side is shorter; others stay as they are. Those
        of which no large enough share is seen have no area.
        """
        low, high, area, seen = (self.name(word) for word in ("low", "high", "area", "seen"))
        first, last = self.name("window_low"), self.name("window_high")
        start, extent = (self.emitter.names[port] for port in window)
        width, height = self.size(step.before)
        share = self.argument_text("visible", self.node)
        self.add(first, f"fn.stack({start}[1] * {width}, {start}[0] * {height})")
        self.add(last, f"{first} + fn.stack({extent}[1] * {width}, {extent}[0] * {height})")

        self._hull(c, low, high)
        self._areas(area, low, high)
        hidden, across = self.name("hidden"), self.name("across")
        self.add(hidden, f"math.max(math.min({high}, {last}) - math.max({low}, {first}), 0.0)")
        self.add(seen, f"{area} - {hidden}[:, 0:1] * {hidden}[:, 1:2]")
        self.add(across, f"1.0 * (({first} <= {low}) & ({last} >= {high}))")
        self.add(across, f"fn.cat({across}[:, 1:2], {across}[:, 0:1], axis=1)")
        begin, end = self.name("begin"), self.name("end")
        self.add(begin, f"{across} * ({first} <= {low})")
        self.add(begin, f"{low} + {begin} * math.max(math.min({last}, {high}) - {low}, 0.0)")
        self.add(end, f"{across} * ({last} >= {high})")
        self.add(end, f"{high} - {end} * math.max({high} - math.max({first}, {low}), 0.0)")
        self.add(end, f"{begin} + ({seen} >= {share} * {area}) * math.max({end} - {begin}, 0.0)")
        self.add(self.name("whole"), f"({begin} == {low}) & ({end} == {high})")
        self._replaced(c, begin, end)

        self._hull(other, low, high)
        self._areas(area, low, high)
        for name in (low, high):
            self.add(name, f"math.min(math.max({name}, {first}), {last})")
        self._areas(seen, low, high)
        self.add(high, f"{low} + ({seen} >= {share} * {area}) * ({high} - {low})")
        self._corners(other, low, high)
