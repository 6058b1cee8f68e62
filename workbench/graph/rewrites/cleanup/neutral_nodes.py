"""Operators that do nothing are taken out.

An operator whose fixed arguments are those that ``fused.toml`` calls neutral changes no bit (its
test runs each row), nor does ``copy``, a ``cast`` to the type that comes in, or arithmetic with 0
or 1 that gives the type that comes in. Exact.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.own_operators.fused import FUSED_FORMS
from workbench.catalog.spec import Catalog
from workbench.graph.edits.edit import without_idle_generators
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._places import bypassed, flow_into, is_given, is_value, output_of
from workbench.graph.types.shapes import infer_types

_ARITHMETIC = {"math.add": 0, "math.sub": 0, "math.mul": 1, "math.truediv": 1}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for node in graph.nodes:
        if node.muted or node.device is not None or node.bodies or node.op not in catalog:
            continue
        if "data" in node.inputs and is_neutral(graph, catalog, node):
            yield without_idle_generators(bypassed(graph, catalog, node), catalog, node)


def is_neutral(graph: Graph, catalog: Catalog, node: Node) -> bool:
    """Whether a node gives what it takes in, bit for bit."""
    flow = flow_into(graph, catalog, node)
    if node.op == "copy":
        return True
    if node.op == "cast":
        return flow.dtype is not None and node.args.get("dtype") == flow.dtype
    if node.op in _ARITHMETIC:
        given = infer_types(graph, catalog)[output_of(node, catalog)].dtype
        right = node.args.get("right")
        same = not isinstance(right, bool) and right == _ARITHMETIC[node.op]
        return same and len(node.inputs) == 1 and flow.dtype is not None and given == flow.dtype
    form = FUSED_FORMS.get(node.op)
    if form is None or is_given(node, "dtype", "output_dtype"):
        return False
    names = [name for name in form.neutral if name in catalog[node.op].args]
    return (
        all(is_value(node, catalog, name, form.neutral[name]) for name in names)
        and all(is_value(node, catalog, name, value) for name, value in form.requires.items())
        and (not form.types or flow.dtype in form.types)
    )


REWRITE = Rewrite("Operators that do nothing taken out", _sites, EVERYWHERE)
