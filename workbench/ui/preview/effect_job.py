"""The job that computes the effect sheet: last of all, and only once the graph rests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.protocol.call_handle import Caller
from workbench.graph.model import Graph
from workbench.preview import Effect, PreviewRequest, preview_effect
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.jobs.debounced_job import DebouncedJob, shown_sample, small_pictures
from workbench.ui.preview.effect_variations import effect_remark, variations
from workbench.ui.preview.effect_views import (
    chosen_arguments,
    effect_bytes,
    effect_variants,
)
from workbench.ui.preview.idle_arguments import IdleArguments
from workbench.ui.state.view_state import ViewState

NAME = "effect"
PICTURE_SIZE = 128
"""Side of a picture in pixels, sharp on a fine screen."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    request: PreviewRequest
    node: str
    args: tuple[str, ...]
    sample: int


class EffectJob:
    """The latest sheet. Every method is called with the lock held."""

    def __init__(self, background: BackgroundResults, catalog: Catalog) -> None:
        self._background = background
        self._catalog = catalog
        self._debounced = DebouncedJob(background, NAME, self._begin)
        self._sheet = b""
        self._sheet_of: _Wanted | None = None
        self._names_of: tuple[Graph, str, list[str]] | None = None
        self._idle = IdleArguments(background, catalog)

    def fields(self, state: ViewState, stale: str) -> dict[str, Any]:
        """The fields of the inspector that are made here; ``stale`` is the preview's."""
        names = self._names(state.checked.active, state.inspected)
        args = chosen_arguments(names, state.effect_args)
        shown = self._sheet_of
        present = (
            shown is not None
            and (self._debounced.wanted or self._background.asked(NAME)) in (None, shown)
            and (
                (shown.request.graph, shown.node, shown.args)
                == (state.checked.active, state.inspected, tuple(args))
            )
        )
        found_idle = self._idle.of(state.inspected)
        idle = [name for name in names if name in found_idle]
        remark = effect_remark(state.checked.active, self._catalog, state.inspected, names, idle)
        return {
            "effect_open": state.effect_open,
            "effect_choices": list(names),
            "effect_remark": remark,
            "effect_args": args,
            "effect": self._sheet if state.effect_open else b"",
            "effect_stale": bool(stale) or not present,
            "effect_blocked": stale,
        }

    def follow(self, state: ViewState, request: PreviewRequest) -> None:
        """Have the sheet of this request computed, whose picture is there, once it rests."""
        names = self._names(request.graph, state.inspected)
        if not state.effect_open or not names:
            self.forget()
            return
        args = tuple(chosen_arguments(names, state.effect_args))
        sample = shown_sample(state, request)
        base = small_pictures(request, PICTURE_SIZE)
        wanted = _Wanted(base, state.inspected, args, sample)
        if not self._debounced.is_wanted(wanted):
            self._idle.forget()
            self._debounced.want(wanted)
        elif wanted == self._sheet_of:
            self._idle.find(base, state.inspected, sample, names)

    def forget(self) -> None:
        """Compute nothing any more; what is shown stays."""
        self._debounced.forget()
        self._idle.forget()

    def clear(self) -> None:
        """Show no sheet."""
        self.forget()
        self._sheet, self._sheet_of = b"", None

    def _names(self, graph: Graph, node: str) -> list[str]:
        if not self._names_of or self._names_of[0] is not graph or self._names_of[1] != node:
            self._names_of = graph, node, list(variations(graph, self._catalog, node))
        return self._names_of[2]

    def _begin(self, wanted: _Wanted) -> None:
        """Without the lock: the variants take time."""
        with self._background.lock:
            if self._debounced.wanted is not wanted:
                return
        graph = wanted.request.graph
        variants = effect_variants(graph, self._catalog, wanted.node, wanted.args)
        sound = [variant.graph for variant in variants if not variant.fault]

        def run(engine: Caller) -> Effect | None:
            if not sound:
                return None
            return preview_effect(engine, wanted.request, sound, wanted.sample)

        def done(outcome: Any) -> None:
            self._sheet = effect_bytes(wanted.node, wanted.args, variants, outcome)
            self._sheet_of = wanted
            names = self._names(graph, wanted.node)
            self._idle.find(wanted.request, wanted.node, wanted.sample, names)

        self._debounced.ask(wanted, run, done)
