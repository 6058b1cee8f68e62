"""Finds out which arguments of a node change nothing in a picture, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.protocol.call_handle import Caller
from workbench.errors import WorkbenchError
from workbench.preview import PreviewRequest, preview_effect
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.preview.effect_views import IN_A_ROW, effect_variants, idle_names

NAME = "idle_arguments"


@dataclass(slots=True)
class IdleArguments:
    """Every method is called with the lock held."""

    background: BackgroundResults
    catalog: Catalog
    names: set[str] = field(default_factory=set)
    """Those that were last seen to change nothing, of the node and sample of ``find``."""
    _node: tuple[str, int] | None = None
    _known: set[str] = field(default_factory=set)
    _found_in: Any = None

    def of(self, node: str) -> set[str]:
        """Those of a node; empty while they are of another."""
        return self.names if self._node is not None and self._node[0] == node else set()

    def find(self, request: PreviewRequest, node: str, sample: int, names: list[str]) -> None:
        """Try each of ``names`` in a job of its own.

        With other values of the graph only those are tried again that changed nothing before: the
        others are hardly ever idle.
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
        """Try no more."""
        self.background.forget(NAME)
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
                sound = sound[::2]  # both ends of a range and its middle tell enough
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

        self.background.ask(NAME, (place, name), run, done)
