"""Compute previews besides the contact sheet: statistics, close-up, and one sample at each node.

Each preview is computed only while it is visible, after the contact sheet and in the same worker,
which caches the outputs of every node.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.protocol.call_handle import Caller
from workbench.errors import GraphError, WorkbenchError
from workbench.graph.execution.active import with_loose_outputs, with_step_followers
from workbench.graph.model import Graph
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview import (
    CardPictures,
    Pixels,
    PreviewRequest,
    Steps,
    preview_card_pictures,
    preview_picture,
    preview_pixels,
    preview_statistics,
    preview_steps,
)
from workbench.preview.requests.statistics import OutputStatistics
from workbench.preview.requests.steps import Step, StepOutput
from workbench.ui.contract.encoding import empty, pack_payload, to_json
from workbench.ui.contract.preview_payloads import (
    CardsHeader,
    DetailHeader,
    StepEntry,
    StepOutputEntry,
)
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.preview.branch_share_job import BranchShareJob
from workbench.ui.preview.effect_sheet import EffectJob
from workbench.ui.preview.policy_job import PolicyJob
from workbench.ui.state.closeup import (
    NARROW_REGION,
    REGION,
    CloseupSample,
    closeup_bytes,
    closeup_choices,
    no_values_bytes,
    region_around,
    values_bytes,
)
from workbench.ui.state.identity_memo import IdentityMemo
from workbench.ui.state.view_state import ViewState

DETAIL_SIZE = 224
"""Side in pixels of the picture of one node in detail."""
CARD_SIZE, CARD_SIZE_OF_MANY, MANY = 96, 64, 40
"""``CARD_SIZE``: side in pixels of a card's picture, for high-resolution displays.
``CARD_SIZE_OF_MANY``: side for graphs with at least ``MANY`` nodes.
"""
_NAMES = ("closeup", "values", "detail", "cards", "card_targets", "statistics", "times")


class BackgroundPreviews:
    """Computes previews in the background, and stores the latest result of each kind."""

    def __init__(self, background: BackgroundResults, catalog: Catalog) -> None:
        self._background = background
        self._catalog = catalog
        self._statistics: list[OutputStatistics] = []
        self._measured_of: PreviewRequest | None = None
        self._unmeasured = ""
        self._closeup = self._values = self._cards = self._detail = b""
        self._opened: CloseupSample | None = None
        """Sample that is shown in ``_closeup``."""
        self._probed_at: tuple[int, int] | None = None
        self._cards_fault = ""
        self._cards_of: tuple[Graph, tuple[int, ...]] | None = None
        """Graph and sample that are shown in ``_cards``."""
        self._memo = IdentityMemo()
        self._failed: Graph | None = None
        """Last graph with unconnected nodes that failed to run."""
        self._chosen_of = 0
        """Number of samples that can be shown on the cards."""
        self._effect = EffectJob(background, catalog)
        self._policy = PolicyJob(background)
        self._branch_shares = BranchShareJob(background)

    def fields(self, state: ViewState, stale_reason: str) -> dict[str, dict[str, Any]]:
        """Return the fields of these previews, by component.

        ``stale_reason`` is the reason why the contact sheet is outdated, or "".
        """
        faded = stale_reason or self._cards_fault or ("computing" if state.slow else "")
        known, sample = self._cards_of or (None, ())
        same = faded and known is not None and sample == _sample_of(state)
        graph, measuring = (
            state.checked.graph,
            self._background.requested_key("statistics") is not None,
        )
        return {
            "preview": {
                "statistics": self._statistics if state.show_statistics else [],
                "statistics_pending": state.show_statistics and measuring and not self._is_counted,
                "statistics_error": "" if measuring else self._unmeasured,
                "closeup": self._closeup if state.closeup else b"",
                "values": self._values if state.closeup else b"",
                **self._branch_shares.fields(state),
            },
            "canvas": {
                "pictures": self._cards,
                "stale": faded,
                "unchanged": self._memo(unchanged_nodes, known, graph) if same and known else [],
                "detail": self._detail if state.detail_of else b"",
            },
            "inspector": {
                **self._effect.fields(state, stale_reason),
                **self._policy.fields(state),
                **self._branch_shares.inspected(state),
            },
        }

    def follow(self, state: ViewState, request: PreviewRequest | None) -> None:
        """Compute previews that are visible and outdated, for a request whose picture has arrived.

        ``request`` is None if there is no picture of the current graph. Earlier results then
        remain, and waiting requests are discarded.
        """
        if request is None:
            if not self._is_counted:
                self._clear_statistics()
            self._background.forget(*_NAMES)
            self._branch_shares.follow(state, None)
            self.drop_unseen(state)
            return
        base = closeup_request(request)
        self._look_closely(state, base)
        self._effect.follow(state, request)
        self._policy.follow(state, request)
        self._measure(state, base)
        self._branch_shares.follow(state, base)
        sample = min(state.sample, base.tiles - 1)
        base = replace(base, graph=self._with_loose(state, base.graph))
        self._show_cards(state, base, sample)
        self._show_detail(state, base, sample)

    def _with_loose(self, state: ViewState, active: Graph) -> Graph:
        """Return the graph to run, including unconnected nodes unless they failed before."""
        checked = state.checked
        faulty = {fault.node for fault in (*checked.faults, *checked.loose_faults)}
        graph = with_loose_outputs(active, checked.graph, self._catalog, faulty)
        return active if graph == self._failed else graph

    def _show_cards(self, state: ViewState, base: PreviewRequest, sample: int) -> None:
        if not state.canvas_in_view:
            self._background.forget("cards", "card_targets")
            return
        side = CARD_SIZE if len(base.graph.nodes) <= MANY else CARD_SIZE_OF_MANY
        small = replace(base, tile_size=side)
        key = small, sample, state.show_targets
        cards = partial(preview_card_pictures, index=sample, targets=state.show_targets)
        run = partial(cards, request=small, between=False)
        cards_of = state.checked.graph, _sample_of(state)

        def first(outcome: Any) -> None:
            """Show the cards, then compute annotations on intermediate images, which is slower."""
            if not isinstance(outcome, CardPictures) and base.graph != state.checked.active:
                self._failed = base.graph
                plain = replace(base, graph=state.checked.active)
                self._show_cards(state, plain, sample)
                return
            self._store_cards(outcome)
            if isinstance(outcome, CardPictures):
                self._cards_of = cards_of
            more = with_step_followers(base.graph, self._catalog) if state.show_targets else None
            lie_between = more and any(not base.graph.whole.has(node.id) for node in more.nodes)
            if lie_between and self._background.requested_key("cards") == key:
                few = replace(small, tiles=sample + 1)
                again = partial(cards, request=few)
                self._background.request("card_targets", key, again, self._with_targets)

        self._background.request("cards", key, run, first)

    def _show_detail(self, state: ViewState, base: PreviewRequest, sample: int) -> None:
        """Compute the pictures of the node shown in detail, then its time, which takes longer."""
        node = state.detail_of
        if not node:
            self._background.forget("detail", "times")
            self._detail = b""
            return
        key = base, sample, node, state.show_targets
        steps = partial(preview_steps, request=base, index=sample, node=node)
        steps = partial(steps, targets=state.show_targets)
        run = partial(steps, times=False, between=False)
        timed = partial(steps, times=True)

        def first(outcome: Any) -> None:
            self._store_detail(node, outcome)
            if isinstance(outcome, Steps) and self._background.requested_key("detail") == key:
                self._background.request("times", key, timed, partial(self._store_detail, node))

        self._background.request("detail", key, run, first)

    def _measure(self, state: ViewState, base: PreviewRequest) -> None:
        """Compute the statistics. Until they arrive, earlier values are marked as outdated."""
        old = self._measured_of
        if not state.show_statistics:
            self._background.forget("statistics")
        if not state.show_statistics or (old is not None and not _differ_only_in_values(old, base)):
            self._clear_statistics()
        if not state.show_statistics:
            return
        run = partial(preview_statistics, request=base)
        self._background.request("statistics", base, run, partial(self._measured, base))

    @property
    def _is_counted(self) -> bool:
        """True if the displayed statistics belong to the last request."""
        requested = self._background.requested_key("statistics")
        return requested is not None and self._measured_of == requested

    def _clear_statistics(self, reason: str = "") -> None:
        self._statistics, self._measured_of, self._unmeasured = [], None, reason

    def clear(self, state: ViewState) -> None:
        """Clear all results, because they belong to other data."""
        self._background.drop_all()
        state.closeup = state.probe = None
        self._close()
        self._clear_statistics()
        self._cards, self._cards_fault, self._detail, self._chosen_of = b"", "", b"", 0
        self._cards_of = None
        self._branch_shares.follow(state, None)
        self._effect.clear()
        self._policy.clear()

    def drop_unseen(self, state: ViewState) -> None:
        """Cancel detail views that a fault prevents from rendering, and notify the user."""
        self._effect.forget()
        self._policy.forget()
        if state.closeup is None:
            self._close()
        elif state.closeup != self._opened:
            index, state.closeup = state.closeup.index, self._opened
            state.message = (
                f"Sample {index} was not opened: the pictures are of an earlier graph or folder. "
                "Fix the fault first."
            )
        elif state.probe is not None and state.probe != self._probed_at:
            reason = "No values: this picture is of an earlier graph or folder."
            self._store_pixels(state.closeup, state.probe, GraphError(reason))

    def _close(self) -> None:
        self._background.forget("closeup", "values")
        self._closeup = self._values = b""
        self._opened = self._probed_at = None

    def _look_closely(self, state: ViewState, base: PreviewRequest) -> None:
        if state.closeup is not None and state.closeup.index >= base.tiles:
            state.closeup = None
        if state.closeup is None:
            self._close()
            return
        choices = closeup_choices(TypedGraph(base.graph, self._catalog))
        of = state.closeup.of if state.closeup.of in choices else choices[0]
        state.closeup = look = replace(state.closeup, of=of)

        def on_rendered(outcome: Any) -> None:
            self._closeup, self._opened = closeup_bytes(look, choices, outcome), look

        picture = partial(preview_picture, request=base, index=look.index, of=of, frame=look.frame)
        self._background.request("closeup", (base, look), picture, on_rendered)
        if state.probe is not None:
            at = state.probe
            values = partial(_region, request=base, look=look, pixel=at)
            probed = partial(self._store_pixels, look, at)
            self._background.request("values", (base, look, at), values, probed)

    def _measured(self, base: PreviewRequest, outcome: Any) -> None:
        if isinstance(outcome, WorkbenchError):
            self._clear_statistics(str(outcome))
        else:
            self._statistics = to_json(outcome)
            self._measured_of, self._unmeasured = base, ""

    def _store_pixels(self, look: CloseupSample, at: tuple[int, int], outcome: Any) -> None:
        self._probed_at = at
        if isinstance(outcome, Pixels):
            self._values = values_bytes(look, outcome)
        else:
            self._values = no_values_bytes(look, at, str(outcome))

    def _store_cards(self, outcome: Any) -> None:
        if isinstance(outcome, CardPictures):
            self._chosen_of = outcome.samples
            self._cards, self._cards_fault = cards_bytes(outcome), ""
        else:
            self._cards_fault = str(outcome)

    def _with_targets(self, outcome: Any) -> None:
        """Show the cards with annotations. If computing the annotations failed, do nothing."""
        if isinstance(outcome, CardPictures):
            self._store_cards(replace(outcome, samples=max(outcome.samples, self._chosen_of)))

    def _store_detail(self, node: str, outcome: Any) -> None:
        shown = isinstance(outcome, Steps)
        self._detail = detail_bytes(outcome) if shown else no_detail_bytes(node, str(outcome))


def closeup_request(request: PreviewRequest) -> PreviewRequest:
    """Return ``request`` for the same batch, without options that only affect the contact sheet."""
    return replace(
        request,
        shown="both",
        baseline="",
        lossless=False,
        raw=False,
        tile_size=DETAIL_SIZE,
        tiles=min(request.tiles, request.graph.settings.batch_size),
    )


def _differ_only_in_values(first: PreviewRequest, second: PreviewRequest) -> bool:
    """Return whether two requests differ only in argument values, as while a slider is dragged."""
    nodes = [[(node.id, node.op) for node in each.graph.nodes] for each in (first, second)]
    return nodes[0] == nodes[1] and replace(first, graph=second.graph) == second


def _region(
    engine: Caller, request: PreviewRequest, look: CloseupSample, pixel: tuple[int, int]
) -> Pixels:
    for side in (REGION, NARROW_REGION):
        x, y = region_around(*pixel, side)
        try:
            return preview_pixels(
                engine, request, look.index, look.of, x, y, side, side, look.frame
            )
        except GraphError:
            if side == NARROW_REGION:
                raise
    raise AssertionError


def _sample_of(state: ViewState) -> tuple[int, ...]:
    return state.batch, state.repeat, state.sample


def unchanged_nodes(before: Graph, graph: Graph) -> list[str]:
    """Return the nodes whose outputs are the same in both graphs, because no ancestor changed.

    Nodes in a block that has changed, or that depends on a changed node, are excluded.
    """
    if before.settings != graph.settings:
        return []
    feeds: dict[str, list[str]] = {}
    for node in graph.nodes:
        for port in node.inputs.values():
            feeds.setdefault(port.node, []).append(node.id)
    waiting = [n.id for n in graph.nodes if not before.has(n.id) or before.node(n.id) != n]
    changed: set[str] = set()
    while waiting:
        if (one := waiting.pop()) not in changed:
            changed.add(one)
            waiting += feeds.get(one, ())
    unchanged = [node for node in graph.nodes if node.id not in changed]
    return [node.id for node in replace(graph, nodes=tuple(unchanged), outputs={}).walk()]


# One sample at all nodes: payloads for the cards of the canvas and the detail view.


def cards_bytes(pictures: CardPictures) -> bytes:
    """Return a ``CardsHeader`` followed by the sheet with the pictures of all cards, as bytes."""
    header: CardsHeader = {
        "mime": pictures.mime,
        "sheet": list(pictures.size),
        "cards": [
            {
                "id": card.node,
                "box": list(card.box or ()),
                "text": card.text,
                "draws": list(card.draws),
                "branches": list(card.branches),
            }
            for card in pictures.cards
        ],
        "index": pictures.index,
        "samples": pictures.samples,
        "file": pictures.sample.file,
        "error": pictures.sample.error,
        "warning": pictures.sample.warning,
    }
    return pack_payload(header, pictures.image)


def detail_bytes(steps: Steps) -> bytes:
    """Return a ``DetailHeader`` followed by the pictures of the node's outputs, as bytes."""
    header: DetailHeader = {
        "mime": steps.mime,
        "sheet": list(steps.size),
        "steps": [_step(step, bool(steps.timing)) for step in steps.steps],
        "node": steps.steps[0].node,
        "file": steps.sample.file,
        "error": steps.sample.error,
        "samples": steps.samples,
        "timing": steps.timing,
        "floor": steps.floor,
    }
    return pack_payload(header, steps.image)


def no_detail_bytes(node: str, reason: str) -> bytes:
    """Return a ``DetailHeader`` with the reason why there are no pictures, as bytes."""
    header = empty(DetailHeader, mime="image/jpeg", sheet=[0, 0], node=node, error=reason)
    return pack_payload(header, b"")


def _step(step: Step, timed: bool) -> StepEntry:
    return {
        "node": step.node,
        "op": step.op,
        "device": step.device,
        "outputs": [_output(output) for output in step.outputs],
        "draws": list(step.draws),
        "drawn": step.drawn,
        "milliseconds": step.time.milliseconds if step.time else None,
        "untimed": step.time.reason if timed and step.time else "",
    }


def _output(output: StepOutput) -> StepOutputEntry:
    entry: StepOutputEntry = {
        "name": output.name,
        "kind": output.kind,
        "shape": "×".join(map(str, output.shape)) or "scalar",
        "dtype": output.dtype,
        "layout": output.layout,
        "device": output.device,
        "values": _values(output.low, output.high),
        "box": list(output.box or ()),
        "note": output.note,
        "text": output.text,
    }
    if output.histogram is not None:
        entry["histogram"] = output.histogram
    return entry


def _values(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"
