"""A factor before ``crop_mirror_normalize`` into its mean and deviation.

``crop_mirror_normalize(x / 255, mean=m, std=s)`` becomes ``crop_mirror_normalize(x, mean=255 m,
std=255 s)``, and likewise with a product; flips may stand between. Near: the same number but for
the last bit of a float.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog, Value
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import (
    bypassed,
    fed_through_flips,
    flow_into,
    is_given,
    with_given,
)

_SCALING = {"math.truediv", "math.mul"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for normalize in graph.nodes:
        if normalize.op != "crop_mirror_normalize":
            continue
        scale = fed_through_flips(graph, catalog, normalize)
        if scale is None or scale.op not in _SCALING:
            continue
        factor = _factor(scale)
        mean, std = (
            _times(normalize.args.get(name, default), factor)
            for name, default in (("mean", 0.0), ("std", 1.0))
        )
        linked = {"mean", "std"} & normalize.inputs.keys()
        image = flow_into(graph, catalog, scale).layout == "HWC"
        filled = is_given(normalize, "fill_values")
        if mean is not None and std is not None and not linked and image and not filled:
            made = with_given(normalize, {"mean": mean, "std": std})
            yield bypassed(graph.replace_node(made), catalog, scale)


def _factor(scale: Node) -> float:
    """By what pixels were divided; 0 where that is not fixed."""
    value = scale.args.get("right")
    if len(scale.inputs) != 1 or "data" not in scale.inputs or not isinstance(value, int | float):
        return 0.0
    if scale.op == "math.mul":
        return 1 / value if value else 0.0
    return float(value)


def _times(value: Value, factor: float) -> Value | None:
    items = value if isinstance(value, tuple) else (value,)
    if not factor > 0 or not all(isinstance(each, int | float) for each in items):
        return None
    return tuple(float(each) * factor for each in items)  # type: ignore[arg-type]


REWRITE = Rewrite("Factors into crop_mirror_normalize", _sites)
