"""Where a run is cut into pipelines.

At a source, which runs by itself so that bad files can be told apart; at a decoder, because
building a mixed one costs 1.6 s (measured with 2.4.0) and it can stay built while the others
change; at a block, whose pipeline DALI makes from its Python source (38 ms); and at an automatic
augmentation, which runs without one (``augmenter.py``). What lies between runs as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workbench.catalog.own_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.spec import Catalog
from workbench.graph.model import Node, Source
from workbench.graph.types.devices import decodes, is_decoder

PartKind = Literal["source", "decoder", "block", "automatic", "operators"]


def kind_of(node: Node, catalog: Catalog) -> PartKind:
    """What kind of part a node runs in."""
    if isinstance(node, Source):
        return "source"
    if node.bodies:
        return "block"
    if node.op in AUTO_AUGMENT:
        return "automatic"
    spec = catalog[node.op]
    sound = decodes(spec) and spec.outputs[0].kind == "sound"
    return "decoder" if sound or is_decoder(spec) else "operators"


def partition(nodes: Sequence[Node], catalog: Catalog) -> tuple[tuple[Node, ...], ...]:
    """Nodes in running order, as parts in running order: each needs only those before it.

    Decoders that can run together do, and so do operators; a source, a block or an automatic
    augmentation is alone. An operator waits for the part in which it is first needed.
    """
    kinds = {node.id: kind_of(node, catalog) for node in nodes}
    level: dict[str, int] = {}
    for node in nodes:
        before = [
            level[port.node] + (not _joined(kinds[port.node], kinds[node.id]))
            for port in node.inputs.values()
            if port.node in level
        ]
        level[node.id] = max(before, default=0)
    last = max((level[id_] for id_, kind in kinds.items() if kind == "operators"), default=0)
    latest: dict[str, int] = {}
    for node in reversed(nodes):
        if kinds[node.id] == "operators":
            level[node.id] = max(level[node.id], latest.get(node.id, last))
        for port in node.inputs.values():
            if port.node in kinds:
                most = level[node.id] - (not _joined(kinds[port.node], kinds[node.id]))
                latest[port.node] = min(latest.get(port.node, most), most)
    parts: dict[tuple[int, str, str], list[Node]] = {}
    for node in nodes:
        kind = kinds[node.id]
        alone = node.id if kind in ("source", "block", "automatic") else ""
        parts.setdefault((level[node.id], kind, alone), []).append(node)
    ordered = sorted(parts.items(), key=lambda item: item[0][0])
    return tuple(tuple(part) for _, part in ordered)


def _joined(kind: PartKind, other: PartKind) -> bool:
    """Whether a node may run in the part of what feeds it."""
    return kind == other == "operators"
