"""Random graphs in which rewrites find places: badly ordered, with draws, blocks, twins."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

import workbench as wb
from tests.graph.rewrites.laws import start
from workbench.graph import Graph

Draw = Callable[[st.SearchStrategy[int]], int]
_NUMBERS = st.integers(0, 10_000)
SIDE = 150
"""Rows and columns of the smallest image that a chain may count on."""


class Chain:
    """A graph that grows at its end; ``rows`` and ``columns`` are there at least."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.rows = self.columns = SIDE
        self.layout, self.dtype = "HWC", "UINT8"
        self.graph = start()
        if self.pick(2):
            self.graph = self.graph.resize(size=(float(SIDE), float(SIDE + 7)))

    def pick(self, count: int) -> int:
        return self.draw(_NUMBERS) % count

    def share(self, low: float, high: float) -> float | wb.DataNode:
        """Fixed, drawn for each sample, or the number that changes nothing."""
        value = low + (high - low) * self.pick(100) / 100
        return (value, wb.random.uniform(range=(low, high)), 1.0)[self.pick(3)]

    def coin(self) -> int | wb.DataNode:
        chance = (0.0, 0.5, 1.0)[self.pick(3)]
        return (0, 1, wb.random.coin_flip(probability=chance))[self.pick(3)]

    def colour(self, graph: Graph) -> Graph:
        match self.pick(8):
            case 0:
                return graph.brightness(brightness=self.share(0.6, 1.4))
            case 1:
                return graph.contrast(contrast=self.share(0.6, 1.4))
            case 2:
                return graph.hue(hue=float(self.pick(60)))
            case 3:
                return graph.saturation(saturation=self.share(0.2, 1.8))
            case 4:
                return graph.color_twist(brightness=self.share(0.5, 1.5), hue=float(self.pick(40)))
            case 5:
                return graph.hsv(value=self.share(0.7, 1.3), hue=float(self.pick(40)))
            case 6:
                return graph.brightness_contrast(contrast=self.share(0.6, 1.4), brightness=1.1)
            case _:
                return graph.color_space_conversion(image_type="RGB", output_type="BGR")

    def cut(self, graph: Graph) -> Graph:
        rows, columns = (side - self.pick(side // 4) for side in (self.rows, self.columns))
        place = (0.0, 0.5, 1.0, wb.random.uniform(range=(0.0, 1.0)))[self.pick(4)]
        top, left = self.rows - rows, self.columns - columns
        self.rows, self.columns = rows, columns
        if self.pick(3) == 0:
            begin = (self.pick(top + 1), self.pick(left + 1))
            return graph.slice(start=begin, shape=(rows, columns), axis_names="HW")
        return graph.crop(crop=(rows, columns), crop_pos_x=place, crop_pos_y=place)

    def other(self, graph: Graph) -> Graph:
        match self.pick(6):
            case 0:
                return graph.flip(horizontal=self.coin(), vertical=self.coin())
            case 1:
                return graph.flip(horizontal=self.coin(), vertical=0)
            case 2:
                return graph.copy()
            case 3:
                return graph.noise.gaussian(stddev=float(self.pick(9)))
            case 4:
                return self.block(graph)
            case _:
                held = ("UINT8", "FLOAT", "INT16")[self.pick(3)]
                return graph.cast(dtype=held).cast(dtype="UINT8")

    def block(self, graph: Graph) -> Graph:
        match self.pick(4):
            case 0:
                return graph.one_of(self.coloured, lambda x: x.hue(hue=20.0))
            case 1:
                return graph.with_p(0.5, lambda x: x.flip(horizontal=1))
            case 2:
                return graph.repeat(2, self.coloured)
            case _:
                return graph.with_p(0.5, self.coloured)

    def coloured(self, image: wb.DataNode) -> wb.DataNode:
        by = self.share(0.6, 1.4)
        bright = image.brightness(brightness=by)
        return bright.contrast(contrast=by) if self.pick(2) else bright

    def end(self, graph: Graph) -> Graph:
        if self.pick(2):
            graph = graph.cast(dtype="FLOAT")
        args: dict[str, object] = {"mean": (120.0,), "std": (60.0,)}
        if self.pick(2):
            args["crop"] = (self.rows - self.pick(20), self.columns - self.pick(20))
        layout = ("HWC", "CHW")[self.pick(2)]
        graph = graph.crop_mirror_normalize(**args, mirror=self.coin(), output_layout=layout)
        if self.pick(2):
            graph = graph.transpose(perm=(2, 0, 1) if layout == "HWC" else (1, 2, 0))
        return graph.cast(dtype="FLOAT16") if self.pick(2) else graph


@st.composite
def rewritable_graphs(draw: Draw) -> Graph:
    """Graphs of 5 to 14 nodes with one or two image outputs."""
    chain = Chain(draw)
    graph = chain.graph
    for _ in range(1 + chain.pick(5)):
        graph = (chain.colour, chain.cut, chain.other)[chain.pick(3)](graph)
    graph = chain.cut(chain.colour(graph))  # a place there is always
    if chain.pick(3) == 0:
        image = graph.images
        return wb.outputs(
            images=image.flip(horizontal=1), others=image.flip(horizontal=1), labels=graph.labels
        )
    return chain.end(graph) if chain.pick(2) else graph
