"""Functions of emitted source that clip the boxes of ``random_bbox_crop`` to the image."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.emit.core.own_code import function_names
from workbench.errors import GraphError
from workbench.graph.annotations.formats import clip_function
from workbench.graph.model import Node

_CLIP_CORNERS = '''\
def clip_boxes(boxes: Any, axes: int = 2) -> Any:
    """Clip boxes (starts, ends) to the image: random_bbox_crop accepts no others.

    Boxes outside the image or in pixels are not clipped, so DALI raises for them.
    """
    starts, ends = boxes[:, :axes], boxes[:, axes:]
    before = math.min(math.min(starts + 1.0, ends), 0.0)
    after = math.max(math.max(ends - 1.0, starts) - 1.0, 0.0)
    low, high = math.max(starts, 0.0) + before, math.min(ends, 1.0) + after
    return fn.cat(low, high, axis=1)
'''
_CLIP_SIZES = '''\
def clip_sized_boxes(boxes: Any, axes: int = 2) -> Any:
    """Clip boxes (starts, sizes) to the image: random_bbox_crop accepts no others.

    Boxes outside the image or in pixels are not clipped, so DALI raises for them.
    """
    starts, sizes = boxes[:, :axes], boxes[:, axes:]
    ends = starts + sizes
    before = math.min(math.min(starts + 1.0, ends), 0.0)
    after = math.max(math.max(ends - 1.0, starts) - 1.0, 0.0)
    low, high = math.max(starts, 0.0) + before, math.min(ends, 1.0) + after
    over = 1.0 * ((low != starts) | (high != ends))
    return fn.cat(low, sizes * (1.0 - over) + (high - low) * over, axis=1)
'''
_FUNCTIONS = {"clip_boxes": _CLIP_CORNERS, "clip_sized_boxes": _CLIP_SIZES}


def clipped(node: Node, boxes: str) -> str:
    """The expression of the boxes, clipped where ``node`` requires it."""
    function, axes = clip_function(node) or ("", 2)
    if not function:
        return boxes
    return f"{function}({boxes})" if axes == 2 else f"{function}({boxes}, axes={axes})"


def clip_names(nodes: Iterable[Node]) -> list[str]:
    """The names of the functions that clip the boxes of the nodes, without those inside them."""
    found = (clip_function(node) for node in nodes)
    return list(dict.fromkeys(each[0] for each in found if each))


def clip_sources(nodes: Iterable[Node]) -> str:
    """The functions that clip the boxes of the nodes, each with two empty lines after it.

    Raises GraphError if a function of the user has the name of one.
    """
    nodes = list(nodes)
    if used := set(clip_names(nodes)) & set(function_names(nodes)):
        name = used.pop()
        raise GraphError(f"{name} is a function of this graph and of every export. Rename yours.")
    return "".join(f"{_FUNCTIONS[name]}\n\n" for name in clip_names(nodes))
