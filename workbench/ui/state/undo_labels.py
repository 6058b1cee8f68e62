"""Derive the label of an edit from the documents before and after it.

A drag is therefore labelled with its last value, and edits in Python have the same labels as edits
with the mouse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from workbench.catalog.extra_operators.auto_augment import OWN_POLICY
from workbench.graph.model import Graph, Node, Port, Settings
from workbench.graph.model.policy import policy_change
from workbench.graph.storage.layout import Document, Layout

_LONGEST = 60
_NAMED = 3
_SETTING_WORDS = {
    "batch_size": "batch size",
    "num_threads": "threads",
    "seed": "seed",
    "device": "decoding",
    "prefetch_queue_depth": "prefetch",
    "pipelines": "pipelines",
    "executor": "executor",
}


def edit_label(before: Document, after: Document) -> str:
    """Return the label of the change between two documents, such as ``angle of rotate to 5``."""
    return shortened(next(_changes(before, after), "change the view"))


def shortened(label: str) -> str:
    """Shorten a label to fit the undo button."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def changed_nodes(before: Graph, after: Graph) -> list[str]:
    """Return the ids of nodes in ``after`` that are new or changed, nested nodes first."""
    old = {node.id: node for node in before.walk()}
    found = [node.id for node in after.walk() if old.get(node.id) != node]
    return found[::-1]


def _changes(before: Document, after: Document) -> Iterator[str]:
    old, new = before.graph, after.graph
    if old is not new and old != new:
        yield from _graph_changes(old, new)
    if before.layout != after.layout:
        yield from _layout_changes(before, after)
    if before.draws != after.draws:
        saved = len(after.draws) > len(before.draws)
        yield "save a sample" if saved else "change saved samples"


def _graph_changes(old: Graph, new: Graph) -> Iterator[str]:
    ours = {node.id: node for node in old.walk()}
    theirs = {node.id: node for node in new.walk()}
    added = [node for key, node in theirs.items() if key not in ours]
    removed = [node for key, node in ours.items() if key not in theirs]
    if (ours and not ours.keys() & theirs.keys()) or (added and removed and old.name != new.name):
        yield f"open {new.name}"
    if len(added) == len(removed) == 1 and replace(added[0], id=removed[0].id) == removed[0]:
        yield f"rename {removed[0].id} to {added[0].id}"
    yield from _blocks(added, removed)
    changed = [(ours[key], node) for key, node in theirs.items() if ours.get(key, node) != node]
    changed.sort(key=lambda pair: bool(pair[0].bodies))  # outer blocks change too
    for one, other in changed:
        yield from _values(one, other, added, theirs)
    if added or removed:
        shown = _drawn(added) or _drawn(removed)
        yield f"{'add' if _drawn(added) else 'remove'} {_listed(node.id for node in shown)}"
    flags = [other for one, other in changed if one.muted != other.muted]
    if flags:
        word = "mute" if flags[0].muted else "unmute"
        yield f"{word} {_listed(node.id for node in flags)}"
    for one, other in changed:
        yield from _links(one, other)
        yield from _body_titles(one, other)
    yield from _outputs(old.outputs, new.outputs)
    if old.name != new.name:
        yield f"title to {new.name}"
    for each in fields(Settings):
        value = getattr(new.settings, each.name)
        if getattr(old.settings, each.name) != value:
            yield f"{_SETTING_WORDS[each.name]} to {value}"
    yield "order of the nodes"


def _blocks(added: Collection[Node], removed: Collection[Node]) -> Iterator[str]:
    for word, nodes in (("wrap in", added), ("unwrap", removed)):
        block = next((node for node in nodes if node.bodies), None)
        if block is not None and len(_drawn(nodes)) == 1:
            yield f"{word} {block.id}"


def _values(
    before: Node, after: Node, added: Collection[Node], nodes: Mapping[str, Node]
) -> Iterator[str]:
    """Yield a label for each change to a node: argument values, generators, device and others."""
    for name in dict.fromkeys((*after.args, *before.args)):
        if before.args.get(name) == after.args.get(name):
            continue
        generator = after.inputs.get(name)
        if after.op == before.op == OWN_POLICY and name == "policy" and {name} <= after.args.keys():
            words = policy_change(before.args.get(name, ()), after.args[name])
            yield f"{words}: {after.id}"
        elif name in after.args:
            yield f"{name} of {after.id} to {_short(after.args[name])}"
        elif generator is not None:
            yield _fed(name, after, generator, nodes)
        else:
            yield f"reset {name} of {after.id}"
    fresh = {node.id for node in added}
    for name, port in after.inputs.items():
        if before.inputs.get(name) != port and port.node in fresh and _is_random(nodes[port.node]):
            yield _fed(name, after, port, nodes)
    if before.device != after.device:
        yield f"{after.id} on {after.device or 'the device of its input'}"
    if before.op != after.op:
        yield f"{after.id} to {after.op}"
    if before.seed != after.seed:
        yield f"seed of {after.id} to {after.seed}"


def _fed(name: str, node: Node, port: Port, nodes: Mapping[str, Node]) -> str:
    source = nodes.get(port.node)
    if source is not None and _is_random(source):
        return f"random {name} of {node.id}"
    return f"{name} of {node.id} from {port.node}"


def _body_titles(before: Node, after: Node) -> Iterator[str]:
    for name, body in after.bodies.items():
        if name in before.bodies and before.bodies[name].title != body.title:
            yield f"name {after.id}.{name} {body.title}".rstrip()


def _links(before: Node, after: Node) -> Iterator[str]:
    for name, port in after.inputs.items():
        if before.inputs.get(name) != port:
            yield f"connect {port.node} to {after.id}.{name}"
    for name in before.inputs.keys() - after.inputs.keys():
        yield f"disconnect {after.id}.{name}"


def _outputs(old: Mapping[str, Port], new: Mapping[str, Port]) -> Iterator[str]:
    gone, fresh = old.keys() - new.keys(), new.keys() - old.keys()
    if len(gone) == len(fresh) == 1:
        yield f"rename output {min(gone)} to {min(fresh)}"
    if fresh:
        yield f"add output {_listed(sorted(fresh))}"
    if gone:
        yield f"remove output {_listed(sorted(gone))}"
    for name, port in new.items():
        if old.get(name) != port:
            yield f"output {name} from {port.node}"


def _layout_changes(before: Document, after: Document) -> Iterator[str]:
    old, new = before.layout, after.layout
    for what, ours, theirs in (
        ("group", _titles(old), _titles(new)),
        ("note", _texts(old), _texts(new)),
    ):
        if ours != theirs:
            fresh = [key for key in theirs if ours.get(key) != theirs[key]]
            if fresh:
                yield f"{what} {theirs[fresh[0]][0]}"
            yield f"remove {what} {next((v[0] for k, v in ours.items() if k not in theirs), '')}"
    if old.positions != new.positions:
        moved = [
            key for key, at in new.positions.items() if old.positions.get(key) not in (None, at)
        ]
        if not new.positions:
            yield "automatic layout"
        yield f"move {_listed(moved)}" if moved else "move on the canvas"
    if old.unfolded != new.unfolded:
        shown, folded = new.unfolded - old.unfolded, old.unfolded - new.unfolded
        yield f"show {_listed(sorted(shown))}" if shown else f"hide {_listed(sorted(folded))}"


def _titles(layout: Layout) -> dict[str, tuple[str, Any]]:
    return {key: (frame.title, frame.nodes) for key, frame in layout.frames.items()}


def _texts(layout: Layout) -> dict[str, tuple[str, Any]]:
    return {
        key: (note.text.splitlines()[0][:30], (note.text, note.at))
        for key, note in layout.notes.items()
    }


def _is_random(node: Node) -> bool:
    return node.op.startswith("random.")


def _drawn(nodes: Collection[Node]) -> list[Node]:
    """Return the nodes that are not random generators; all nodes if there are only generators."""
    others = [node for node in nodes if not _is_random(node)]
    return others or list(nodes)


def _listed(names: Any) -> str:
    found = list(names)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return ", ".join(found[:_NAMED]) + more


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_short, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
