"""Render the effect sheet: pictures of one sample with several values of a node's arguments.

The sheet is computed after all other background results, and only while the graph does not change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from workbench.catalog.spec import Catalog, Value
from workbench.engine.protocol.call_handle import Caller
from workbench.errors import WorkbenchError
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import set_arg
from workbench.graph.model import Graph, Node
from workbench.preview import Effect, PreviewRequest, preview_effect
from workbench.ui.contract.encoding import pack_payload
from workbench.ui.contract.preview_payloads import EffectEntry, EffectHeader
from workbench.ui.inspector.random_argument_payloads import json_value
from workbench.ui.jobs.background_results import BackgroundResults, DebouncedJob
from workbench.ui.preview.effect_variations import Variation, effect_remark, variations
from workbench.ui.state.view_state import ViewState

IN_A_ROW, IN_A_GRID = 5, 4
"""``IN_A_ROW``: number of values if one argument is varied.
``IN_A_GRID``: number of values for each of two varied arguments.
"""


@dataclass(frozen=True, slots=True)
class Variant:
    """Graph with one combination of values; ``fault`` is the reason if it cannot run."""

    values: tuple[Value, ...]
    """Complete value of each varied argument."""
    shown: tuple[Value, ...]
    """Part of each value that varies: a number, or one element of a list."""
    graph: Graph
    fault: str = ""


def chosen_arguments(
    names: Sequence[str], requested: Sequence[str], set_names: Collection[str] = ()
) -> list[str]:
    """Return the one or two of ``names`` to vary: those in ``requested``, or a default argument.

    The default is the first of ``set_names``, the arguments that the node sets. Other arguments may
    fail with most values, for example ``crop`` in a node that does not crop.
    """
    chosen = [name for name in dict.fromkeys(requested) if name in names][:2]
    used = [name for name in names if name.partition(".")[0] in set_names]
    return chosen or (used or list(names))[:1]


def effect_variants(
    graph: Graph, catalog: Catalog, node_id: str, names: Sequence[str]
) -> list[Variant]:
    """Return the variants row by row. Columns differ in the first argument, rows in the second."""
    node = _node(graph, node_id)
    found = variations(graph, catalog, node_id)
    count = IN_A_ROW if len(names) == 1 else IN_A_GRID
    axes = [found[name].levels(node, count) for name in names]
    variants = []
    for reversed_levels in product(*reversed(axes)):
        variant = graph
        for name, level in zip(names, reversed_levels[::-1], strict=True):
            value = found[name].value(_node(variant, node_id), level)
            variant = set_arg(variant, catalog, node_id, found[name].arg.name, value)
        faults = check_graph(variant, catalog)
        values = tuple(_node(variant, node_id).args[found[name].arg.name] for name in names)
        shown = tuple(_shown(found[name], value) for name, value in zip(names, values, strict=True))
        variants.append(Variant(values, shown, variant, str(faults[0]) if faults else ""))
    return variants


def _node(graph: Graph, node_id: str) -> Node:
    return graph.at_scope(graph.scope_of(node_id)).node(node_id)


def _shown(variation: Variation, value: Value) -> Value:
    """Return the part of a value to display: the element that varies, or one of equal elements."""
    if not isinstance(value, tuple):
        return value
    if variation.part is not None:
        return value[variation.part]
    return value[0] if len(set(value)) == 1 else value


def idle_names(
    names: Sequence[str], variants: Sequence[Variant], outcome: Effect | Exception | None
) -> list[str]:
    """Return the ``names`` that changed no output. ``outcome`` is the same as in ``effect_bytes``.

    An argument is not idle if one of its variants failed.
    """
    sound = [variant for variant in variants if not variant.fault]
    if not isinstance(outcome, Effect):
        return []
    outputs = [
        (variant.values, None if box is None else same)
        for variant, same, box in zip(sound, outcome.alike, outcome.boxes, strict=True)
    ]
    idle = []
    for at, name in enumerate(names):
        groups: dict[tuple[Value, ...], list[int | None]] = {}
        for values, same in outputs:
            groups.setdefault((*values[:at], *values[at + 1 :]), []).append(same)
        several = [group for group in groups.values() if len(group) > 1]
        if several and all(len(set(group)) == 1 and None not in group for group in several):
            idle.append(name)
    return idle


def effect_bytes(
    node: str, args: Sequence[str], variants: Sequence[Variant], outcome: Effect | Exception | None
) -> bytes:
    """Return an ``EffectHeader`` followed by the sheet, as bytes.

    ``outcome`` contains the pictures of the variants without a fault, or the error.
    """
    found = outcome if isinstance(outcome, Effect) else None
    pictures = iter(zip(found.boxes, found.errors, strict=True)) if found else iter(())
    pictured: list[EffectEntry] = []
    for variant in variants:
        box, error = (None, variant.fault) if variant.fault else next(pictures, (None, ""))
        values: list[Any] = [json_value(value) for value in variant.values]
        shown: list[Any] = [json_value(value) for value in variant.shown]
        pictured.append({"values": values, "shown": shown, "box": list(box or ()), "error": error})
    idle = idle_names(args, variants, outcome)
    header: EffectHeader = {
        "mime": found.mime if found else "image/jpeg",
        "sheet": list(found.size) if found else [0, 0],
        "node": node,
        "args": list(args),
        "columns": IN_A_ROW if len(args) == 1 else len({v.shown[0] for v in variants}),
        "pictures": pictured,
        "note": f"{' and '.join(idle)}: no visible effect on this photo. DALI may ignore it "
        "because of other arguments."
        if idle
        else "",
        "error": str(outcome) if isinstance(outcome, Exception) else "",
    }
    return pack_payload(header, found.image if found else b"")


def small_pictures(request: PreviewRequest, side: int) -> PreviewRequest:
    """Return the request changed to show only augmented images, in tiles of ``side`` pixels."""
    return replace(
        request, shown="augmented", baseline="", lossless=False, raw=False, tile_size=side
    )


def shown_sample(state: ViewState, request: PreviewRequest) -> int:
    """Return the index of the sample on the cards, limited to the samples of the request."""
    return min(state.sample, request.tiles - 1, request.graph.settings.batch_size - 1)


# Search for arguments without effect on the picture, one at a time.

IDLE = "idle_arguments"


@dataclass(slots=True)
class IdleArguments:
    """Finds arguments of a node that have no effect on pixels. Call methods with the lock held."""

    background: BackgroundResults
    catalog: Catalog
    names: set[str] = field(default_factory=set)
    """Result of the last ``find``: the arguments without effect."""
    _node: tuple[str, int] | None = None
    _known: set[str] = field(default_factory=set)
    _found_in: Any = None

    def of(self, node: str) -> set[str]:
        """Return the node's arguments without effect; empty if ``find`` ran for another node."""
        return self.names if self._node is not None and self._node[0] == node else set()

    def find(self, request: PreviewRequest, node: str, sample: int, names: list[str]) -> None:
        """Vary each of ``names`` in its own job, and compare the outputs.

        If only values have changed since the last call, only arguments without an effect are tried
        again, because the others rarely lose their effect.
        """
        place = request, node, sample
        if place == self._found_in:
            return
        if self._node != (node, sample):
            self._node = node, sample
            self.names, self._known = set(), set()
        self._found_in = place
        self._known -= self.names
        self._try_next(place, [name for name in names if name not in self._known])

    def forget(self) -> None:
        self.background.forget(IDLE)
        self._found_in = None

    def _try_next(self, place: tuple[PreviewRequest, str, int], names: list[str]) -> None:
        if not names:
            return
        request, node, sample = place
        name, *rest = names

        def run(engine: Caller) -> bool:
            variants = effect_variants(request.graph, self.catalog, node, [name])
            sound = [variant for variant in variants if not variant.fault]
            if len(sound) == IN_A_ROW:
                sound = sound[::2]  # both ends of a range and its middle are sufficient
            if len(sound) < 2:
                return False
            graphs = [variant.graph for variant in sound]
            effect = preview_effect(engine, request, graphs, sample)
            return bool(idle_names([name], sound, effect))

        def done(outcome: Any) -> None:
            if isinstance(outcome, WorkbenchError) or self._found_in != place:
                return
            self._known.add(name)
            (self.names.add if outcome else self.names.discard)(name)
            self._try_next(place, rest)

        self.background.request(IDLE, (place, name), run, done)


# The job

EFFECT = "effect"
PICTURE_SIZE = 128
"""Side of each picture in pixels, for high-resolution displays."""


@dataclass(frozen=True, slots=True)
class _EffectRequest:
    request: PreviewRequest
    node: str
    args: tuple[str, ...]
    sample: int


class EffectJob:
    """Computes the effect sheet in the background. Call methods with the lock held."""

    def __init__(self, background: BackgroundResults, catalog: Catalog) -> None:
        self._background = background
        self._catalog = catalog
        self._debounced = DebouncedJob(background, EFFECT, self._begin)
        self._sheet = b""
        self._sheet_of: _EffectRequest | None = None
        self._names_of: tuple[Graph, str, list[str]] | None = None
        self._idle = IdleArguments(background, catalog)

    def fields(self, state: ViewState, stale_reason: str) -> dict[str, Any]:
        """Return the fields of the inspector that belong to the effect sheet.

        ``stale_reason`` is the reason why the preview is outdated, or "".
        """
        names = self._names(state.checked.active, state.inspected)
        args = self._chosen(state, state.checked.active, names)
        shown = self._sheet_of
        present = (
            shown is not None
            and (self._debounced.wanted or self._background.requested_key(EFFECT)) in (None, shown)
            and (
                (shown.request.graph, shown.node, shown.args)
                == (state.checked.active, state.inspected, tuple(args))
            )
        )
        found_idle = self._idle.of(state.inspected)
        noted = args if state.effect_open else ()  # those have a note at their pictures
        idle = [name for name in names if name in found_idle and name not in noted]
        remark = effect_remark(state.checked.active, self._catalog, state.inspected, names, idle)
        return {
            "effect_open": state.effect_open,
            "effect_choices": list(names),
            "effect_remark": remark,
            "effect_args": args,
            "effect": self._sheet if state.effect_open else b"",
            "effect_stale": bool(stale_reason) or not present,
            "effect_blocked": stale_reason,
        }

    def follow(self, state: ViewState, request: PreviewRequest) -> None:
        """Compute the sheet for a request whose picture has arrived, once edits pause."""
        names = self._names(request.graph, state.inspected)
        if not state.effect_open or not names:
            self.forget()
            return
        args = tuple(self._chosen(state, request.graph, names))
        sample = shown_sample(state, request)
        base = small_pictures(request, PICTURE_SIZE)
        wanted = _EffectRequest(base, state.inspected, args, sample)
        if not self._debounced.is_wanted(wanted):
            self._idle.forget()
            self._debounced.request(wanted)
        elif wanted == self._sheet_of:
            self._idle.find(base, state.inspected, sample, names)

    def forget(self) -> None:
        """Cancel the computation. The current sheet remains."""
        self._debounced.forget()
        self._idle.forget()

    def clear(self) -> None:
        self.forget()
        self._sheet, self._sheet_of = b"", None

    def _names(self, graph: Graph, node: str) -> list[str]:
        if not self._names_of or self._names_of[0] is not graph or self._names_of[1] != node:
            self._names_of = graph, node, list(variations(graph, self._catalog, node))
        return self._names_of[2]

    def _chosen(self, state: ViewState, graph: Graph, names: Sequence[str]) -> list[str]:
        node = _node(graph, state.inspected) if names else None
        given = node.args.keys() | node.inputs.keys() if node else ()
        return chosen_arguments(names, state.effect_args, given)

    def _begin(self, request: _EffectRequest) -> None:
        """Create the variants and request their pictures. Called without the lock."""
        with self._background.lock:
            if self._debounced.wanted is not request:
                return
        graph = request.request.graph
        variants = effect_variants(graph, self._catalog, request.node, request.args)
        sound = [variant.graph for variant in variants if not variant.fault]

        def run(engine: Caller) -> Effect | None:
            if not sound:
                return None
            return preview_effect(engine, request.request, sound, request.sample)

        def done(outcome: Any) -> None:
            self._sheet = effect_bytes(request.node, request.args, variants, outcome)
            self._sheet_of = request
            names = self._names(graph, request.node)
            self._idle.find(request.request, request.node, request.sample, names)

        self._debounced.compute(request, run, done)
