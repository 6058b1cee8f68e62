"""Store the positions of nodes on the canvas, frames and notes next to the graph.

In a graph file the layout is a separate entry that does not affect runs::

    "layout": {"positions": {"resize": [320.0, 40.0], ":images": [900.0, 40.0]},
               "unfolded": ["angle"],
               "collapsed": ["branch"],
               "frames": {"frame": {"title": "Geometry", "nodes": ["rotate", "flip"]}},
               "notes": {"note": {"text": "as in the paper", "at": [40.0, 300.0]}}}

The source lines of an imported graph, and the import report, are separate entries too. Edits of the
graph do not change them::

    "origins": {"resize": "train.py:12"},
    "import_report": {"exact": ["reader", "decode"],
                      "issues": [{"kind": "changed", "node": "resize", "place": "train.py:12",
                                  "why": "DALI has no box filter"}]}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from workbench.graph.model import Graph, block_of, is_name, is_text
from workbench.graph.storage.import_report import ImportReport, report_from_json, report_to_json
from workbench.graph.storage.io import dump_json, graph_from_json, graph_to_json, parse_json
from workbench.names import free_name

Position = tuple[float, float]
_FARTHEST = 20_000.0
"""Maximum coordinate in pixels, so that the canvas can display the whole graph."""
_LONGEST_PLACE = 200
LONGEST_TITLE = 80
LONGEST_NOTE = 2000
MOST_REMARKS = 200
"""Maximum number of frames, and maximum number of notes, per graph."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A titled rectangle around nodes of one body."""

    title: str
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Text on the canvas, with its position in the body ``scope``."""

    text: str
    at: Position
    scope: str = ""
    node: str = ""
    """Id of the node that the note's position is relative to, or empty for the canvas origin."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The user's arrangement of the canvas: positions, frames and notes."""

    positions: Mapping[str, Position] = field(default_factory=dict)
    """Position (x to the right, y down) in pixels by key. A key is a node's id, ``:name`` for an
    output of the graph, ``branch.then:name`` for an output of a body, and ``branch.then`` for its
    inputs. Bodies without positions are laid out automatically."""
    unfolded: frozenset[str] = frozenset()
    """Ids of generators that are drawn as separate nodes although they feed only one argument."""
    collapsed: frozenset[str] = frozenset()
    """Ids of blocks that are drawn as cards instead of frames around their nodes."""
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """Frames by id."""
    notes: Mapping[str, Note] = field(default_factory=dict)
    """Notes by id."""

    def without_missing(self, graph: Graph) -> Layout:
        """Return the layout without entries for nodes and outputs that the graph does not have."""
        known: set[str] = set()
        for scope, body in graph.whole.bodies():
            known |= {node.id for node in body.nodes} | {scope}
            known |= {f"{scope}:{name}" for name in body.outputs}
        scopes = {scope for scope, _ in graph.whole.bodies()} if self.notes else set()
        fits = self.positions.keys() | self.unfolded | self.collapsed <= known
        if (
            fits
            and all(known.issuperset(frame.nodes) for frame in self.frames.values())
            and all(note.scope in scopes for note in self.notes.values())
        ):
            return self
        left = {
            key: replace(frame, nodes=tuple(node for node in frame.nodes if node in known))
            for key, frame in self.frames.items()
        }
        return Layout(
            {key: place for key, place in self.positions.items() if key in known},
            self.unfolded & known,
            self.collapsed & known,
            {key: frame for key, frame in left.items() if frame.nodes},
            {key: note for key, note in self.notes.items() if note.scope in scopes},
        )

    def renamed(self, old: str, new: str) -> Layout:
        """Return the layout with a node id or output key replaced."""

        def exchanged(key: str) -> str:
            if key == old:
                return new
            return new + key[len(old) :] if key.startswith(f"{old}.") else key

        positions = {exchanged(key): place for key, place in self.positions.items()}
        frames = {
            key: replace(frame, nodes=tuple(map(exchanged, frame.nodes)))
            for key, frame in self.frames.items()
        }
        notes = {
            key: replace(note, scope=exchanged(note.scope), node=exchanged(note.node))
            for key, note in self.notes.items()
        }
        unfolded, collapsed = (
            frozenset(map(exchanged, ids)) for ids in (self.unfolded, self.collapsed)
        )
        return Layout(positions, unfolded, collapsed, frames, notes)

    def with_frame(self, frame: Frame, key: str = "") -> Layout:
        """Add a frame, or replace the frame with the id ``key``."""
        return replace(self, frames={**self.frames, key or free_name("frame", self.frames): frame})

    def with_note(self, note: Note, key: str = "") -> Layout:
        """Add a note, or replace the note with the id ``key``."""
        return replace(self, notes={**self.notes, key or free_name("note", self.notes): note})

    def positions_in_body(self, graph: Graph) -> dict[str, Position]:
        """Return the positions in a graph (or body) by key; keys of outputs are ``:name``."""
        return {
            key[len(graph.scope) :] if ":" in key else key: place
            for key, place in self.positions.items()
            if _scope_of(key, graph.whole) == graph.scope
        }

    def visible_positions(self, graph: Graph) -> dict[str, Position]:
        """Return the positions in a graph (or body) and in its nested bodies by key.

        Keys of outputs of nested bodies are ``block.body:name``.
        """
        if not self.positions:
            return {}
        inside = _scopes_inside(graph)
        whole = graph.whole
        nested = {k: at for k, at in self.positions.items() if _scope_of(k, whole) in inside}
        return {**self.positions_in_body(graph), **nested}

    def cleared(self, graph: Graph) -> Layout:
        """Return the layout without the positions that ``visible_positions`` returns."""
        whole = graph.whole
        scopes = {graph.scope, *_scopes_inside(graph)}
        left = {k: at for k, at in self.positions.items() if _scope_of(k, whole) not in scopes}
        return replace(self, positions=left)

    def with_positions(self, graph: Graph, positions: Mapping[str, Position]) -> Layout:
        """Set the positions in a graph (or body). This is the inverse of ``positions_in_body``."""
        whole, scope = graph.whole, graph.scope
        others = {key: at for key, at in self.positions.items() if _scope_of(key, whole) != scope}
        given = {f"{scope}{key}" if ":" in key else key: at for key, at in positions.items()}
        return replace(self, positions={**others, **given})


def _scopes_inside(graph: Graph) -> set[str]:
    """Return the scopes of all bodies nested in a graph (or body), at any depth."""
    whole = graph.whole
    inside = {graph.scope}
    for scope, _ in whole.bodies():  # outer first
        if scope and whole.scope_of(block_of(scope)) in inside:
            inside.add(scope)
    return inside - {graph.scope}


def _scope_of(key: str, graph: Graph) -> str | None:
    """Return the scope of the body in which a position key is displayed, or None."""
    scope, colon, _ = key.partition(":")
    if colon or "." in key:
        return scope
    return graph.scope_of(key) if graph.has(key) else None


@dataclass(frozen=True, slots=True)
class Document:
    """A graph and all data that are stored with it in a graph file or an undo step."""

    graph: Graph
    layout: Layout = Layout()
    draws: tuple[SavedSample, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)
    """Location that each node was imported from, such as ``train.py:12``, by node id."""
    report: ImportReport | None = None
    """The import report, or None if the graph was not imported."""

    def with_graph(self, graph: Graph) -> Document:
        """Return the document with a new graph. The positions of remaining nodes are preserved."""
        origins = self.origins
        if not all(map(graph.whole.has, origins)):
            origins = {node: at for node, at in origins.items() if graph.whole.has(node)}
        return replace(
            self, graph=graph, layout=self.layout.without_missing(graph), origins=origins
        )

    def renamed(self, graph: Graph, old: str, new: str) -> Document:
        """Return the document with ``graph``, in which the node ``old`` is now called ``new``."""
        origins = {new if node == old else node: place for node, place in self.origins.items()}
        report = self.report and self.report.renamed(old, new)
        layout = self.layout.renamed(old, new)
        return replace(self, graph=graph, layout=layout, origins=origins, report=report)


def dump_document(document: Document) -> str:
    """Return the document as the text of a graph file."""
    data = graph_to_json(document.graph)
    layout = document.layout
    if layout != Layout():
        data["layout"] = {
            "positions": {key: list(place) for key, place in layout.positions.items()},
            "unfolded": sorted(layout.unfolded),
        }
    if layout.collapsed:
        data["layout"]["collapsed"] = sorted(layout.collapsed)
    if layout.frames:
        data["layout"]["frames"] = {
            key: {"title": frame.title, "nodes": list(frame.nodes)}
            for key, frame in layout.frames.items()
        }
    if layout.notes:
        data["layout"]["notes"] = {
            key: {"text": note.text, "at": list(note.at)}
            | ({"scope": note.scope} if note.scope else {})
            | ({"node": note.node} if note.node else {})
            for key, note in layout.notes.items()
        }
    if document.draws:
        data["draws"] = saved_samples_to_json(document.draws)
    if document.origins:
        data["origins"] = dict(document.origins)
    if document.report is not None:
        data["import_report"] = report_to_json(document.report)
    return dump_json(data)


def load_document(text: str) -> Document:
    """Parse the text of a graph file.

    Raises GraphFormatError like ``load_graph``. Invalid entries other than the graph are ignored,
    so that the graph can still be opened.
    """
    data = parse_json(text)
    graph = graph_from_json(data)
    layout = layout_from_json(data.get("layout")).without_missing(graph)
    origins = _origins(data.get("origins"), graph)
    report = report_from_json(data.get("import_report"))
    return Document(graph, layout, saved_samples_from_json(data.get("draws")), origins, report)


def _origins(data: Any, graph: Graph) -> dict[str, str]:
    """Parse origins. Only strings of limited length for nodes of the graph are accepted."""
    entries = data.items() if isinstance(data, dict) else ()
    return {
        node: place
        for node, place in entries
        if graph.has(node) and isinstance(place, str) and len(place) <= _LONGEST_PLACE
    }


def layout_from_json(data: Any) -> Layout:
    """Parse a layout, ignoring invalid entries."""
    if not isinstance(data, dict):
        return Layout()
    return Layout(
        positions_from_json(data.get("positions")),
        _names(data.get("unfolded")),
        _names(data.get("collapsed")),
        _frames(data.get("frames")),
        _notes(data.get("notes")),
    )


def _names(data: Any) -> frozenset[str]:
    names = data if isinstance(data, list) else ()
    return frozenset(name for name in names if isinstance(name, str))


def _frames(data: Any) -> dict[str, Frame]:
    found = {}
    for key, entry in _entries(data):
        title, nodes = entry.get("title"), entry.get("nodes")
        if not isinstance(title, str) or not isinstance(nodes, list):
            continue
        named = tuple(node for node in nodes if isinstance(node, str))
        if named and is_text(title):
            found[key] = Frame(title[:LONGEST_TITLE], named)
    return found


def _notes(data: Any) -> dict[str, Note]:
    found = {}
    for key, entry in _entries(data):
        text, at, scope = entry.get("text"), entry.get("at"), entry.get("scope", "")
        if isinstance(text, str) and is_text(text) and isinstance(scope, str) and _is_place(at):
            place = (float(at[0]), float(at[1]))  # type: ignore[index]
            node = entry.get("node", "")
            node = node if isinstance(node, str) and is_name(node) else ""
            found[key] = Note(text[:LONGEST_NOTE], place, scope, node)
    return found


def _entries(data: Any) -> list[tuple[str, dict[str, Any]]]:
    entries = data.items() if isinstance(data, dict) else ()
    return [(key, entry) for key, entry in entries if isinstance(entry, dict)][:MOST_REMARKS]


def positions_from_json(data: Any) -> dict[str, Position]:
    """Parse positions, ignoring entries that are not two finite numbers of limited size."""
    if not isinstance(data, dict):
        return {}
    return {str(key): (float(at[0]), float(at[1])) for key, at in data.items() if _is_place(at)}


def _is_place(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(
            isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= _FARTHEST
            for x in value
        )
    )  # fmt: skip


# Saved samples

MOST_SAVED = 100
_LONGEST_NOTE = 200


@dataclass(frozen=True, slots=True)
class SavedSample:
    """A saved batch of random values, or one sample of it.

    Random values depend on the seed, the batch and, from batch 1 on, the batch size. ``sample`` is
    the index in the batch, or None for the whole batch. ``repeat`` is the index of the photo that
    replaces all photos of the batch, or None. A file may contain any batch and index; they are
    validated when used.
    """

    seed: int
    batch: int
    batch_size: int
    sample: int | None = None
    repeat: int | None = None
    note: str = ""


def saved_samples_to_json(samples: tuple[SavedSample, ...]) -> list[dict[str, Any]]:
    """Convert saved samples to JSON values."""
    return [asdict(sample) for sample in samples]


def saved_samples_from_json(data: Any) -> tuple[SavedSample, ...]:
    """Parse saved samples, ignoring invalid entries, so that the graph can still be opened."""
    entries = data if isinstance(data, list) else []
    found = [_saved_sample(entry) for entry in entries[:MOST_SAVED] if isinstance(entry, dict)]
    return tuple(sample for sample in found if sample is not None)


def _saved_sample(entry: dict[str, Any]) -> SavedSample | None:
    match entry:
        case {"seed": seed, "batch": batch, "batch_size": size}:
            sample, repeat, note = (entry.get(name) for name in ("sample", "repeat", "note"))
        case _:
            return None
    if not all(map(_is_seed, (seed, batch, size))) or size == 0:
        return None
    if not all(place is None or _is_seed(place) for place in (sample, repeat)):
        return None
    words = note[:_LONGEST_NOTE] if isinstance(note, str) else ""
    return SavedSample(seed, batch, size, sample, repeat, words)


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
