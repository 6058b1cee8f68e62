"""Views besides the contact sheet: statistics, one tile closely, one sample's steps.

Each is computed only while it is on the screen, after the picture of the same request and in the
same worker, where the outputs of every node are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.engine.call_handle import Caller
from workbench.errors import CancelledError, GraphError, WorkbenchError
from workbench.preview import (
    Pixels,
    PreviewRequest,
    Steps,
    preview_picture,
    preview_pixels,
    preview_statistics,
    preview_steps,
)
from workbench.ui.closeup import (
    NARROW_REGION,
    REGION,
    Closeup,
    closeup_bytes,
    closeup_choices,
    no_values_bytes,
    region_around,
    values_bytes,
)
from workbench.ui.preview_views import StatisticsEntry
from workbench.ui.previewer import BackgroundJob, Previewer
from workbench.ui.state import State
from workbench.ui.statistics_views import statistics_entries
from workbench.ui.steps_payload import steps_bytes

STEP_SIZE = 224
"""Side of a step's picture in pixels."""
_RANKS = {"closeup": 0, "values": 1, "steps": 2, "statistics": 3, "times": 4}
_INTERACTIVE = ("closeup", "values", "steps")


class AuxiliaryViews:
    """The latest of each. ``changed`` is called, with the lock held, after every change."""

    def __init__(
        self,
        previewer: Previewer,
        catalog: Catalog,
        lock: threading.RLock,
        changed: Callable[[], None],
    ) -> None:
        self._previewer = previewer
        self._catalog = catalog
        self._lock = lock
        self._changed = changed
        self._asked: dict[str, Any] = {}
        self._statistics: list[StatisticsEntry] = []
        self._measured_of: PreviewRequest | None = None
        self._unmeasured = ""
        self._closeup = self._values = self._sheet = b""
        self._opened: Closeup | None = None
        """What ``_closeup`` shows."""
        self._probed_at: tuple[int, int] | None = None
        self._steps_fault = ""

    def fields(self, state: State, stale: str) -> dict[str, dict[str, Any]]:
        """The fields of preview and steps that are made here."""
        return {
            "preview": {
                "statistics": self._statistics if state.show_statistics else [],
                "statistics_pending": state.show_statistics
                and "statistics" in self._asked
                and not self._counted,
                "statistics_error": "" if "statistics" in self._asked else self._unmeasured,
                "closeup": self._closeup if state.closeup else b"",
                "values": self._values if state.closeup else b"",
            },
            "steps": {
                "sheet": self._sheet,
                "stale": stale or self._steps_fault,
                **({"retryable": True} if self._steps_fault and not stale else {}),
            },
        }

    def follow(self, state: State, request: PreviewRequest | None) -> None:
        """Compute what is on the screen and not yet of this request, whose picture is there.

        None: there is no picture of the present graph. What was there before stays, and what was
        asked for since is dropped.
        """
        if request is None:
            if not self._counted:
                self._clear_statistics()
            for name in _RANKS:
                self._forget(name)
            self.drop_unseen(state)
            return
        shown = min(request.tiles, request.graph.settings.batch_size)
        base = replace(
            request,
            shown="both",
            baseline="",
            lossless=False,
            raw=False,
            tile_size=STEP_SIZE,
            tiles=shown,
        )
        self._look_closely(state, base)
        self._measure(state, base)
        if state.steps_in_view:
            sample = min(state.sample, shown - 1)
            steps = partial(preview_steps, request=base, index=sample, times=False)
            self._ask("steps", (base, sample), steps, partial(self._stepped, base, sample))
        else:
            self._forget("steps")
            self._forget("times")

    def _measure(self, state: State, base: PreviewRequest) -> None:
        """Figures stay, marked, only until those of other values of the same nodes are there."""
        old = self._measured_of
        if not state.show_statistics:
            self._forget("statistics")
        if not state.show_statistics or (old is not None and not _akin(old, base)):
            self._clear_statistics()
        if not state.show_statistics:
            return
        run = partial(preview_statistics, request=base)
        self._ask("statistics", base, run, partial(self._measured, base))

    @property
    def _counted(self) -> bool:
        """Whether the figures are those that were last asked for."""
        return self._measured_of is not None and self._measured_of == self._asked.get("statistics")

    def _clear_statistics(self, reason: str = "") -> None:
        self._statistics, self._measured_of, self._unmeasured = [], None, reason

    def drop_unseen(self, state: State) -> None:
        """Take back what a fault keeps from opening, with a message: no later surprise."""
        if state.closeup is None:
            self._close()
        elif state.closeup != self._opened:
            index, state.closeup = state.closeup.index, self._opened
            state.message = (
                f"Sample {index} was not opened: the pictures are of an earlier graph or folder. "
                "Mend the fault first."
            )
        elif state.probe is not None and state.probe != self._probed_at:
            reason = "No values: this picture is of an earlier graph or folder."
            self._probed(state.closeup, state.probe, GraphError(reason))

    def _close(self) -> None:
        self._forget("closeup")
        self._forget("values")
        self._closeup = self._values = b""
        self._opened = self._probed_at = None

    def _look_closely(self, state: State, base: PreviewRequest) -> None:
        if state.closeup is not None and state.closeup.index >= base.tiles:
            state.closeup = None
        if state.closeup is None:
            self._close()
            return
        choices = closeup_choices(base.graph, self._catalog)
        of = state.closeup.of if state.closeup.of in choices else choices[0]
        state.closeup = look = Closeup(state.closeup.index, of)

        def painted(outcome: Any) -> None:
            self._closeup, self._opened = closeup_bytes(look, choices, outcome), look

        picture = partial(preview_picture, request=base, index=look.index, of=of)
        self._ask("closeup", (base, look), picture, painted)
        if state.probe is not None:
            at = state.probe
            values = partial(_region, request=base, look=look, at=at)
            self._ask("values", (base, look, at), values, partial(self._probed, look, at))

    def _ask(
        self, name: str, key: Any, run: Callable[[Caller], Any], done: Callable[[Any], None]
    ) -> None:
        if self._asked.get(name) == key:
            return
        self._asked[name] = key

        def take(outcome: Any) -> None:
            with self._lock:
                if isinstance(outcome, WorkbenchError) and self._asked.get(name) is key:
                    del self._asked[name]  # so that it may be asked for again
                if not isinstance(outcome, CancelledError):
                    done(outcome)
                    self._changed()

        self._previewer.submit_background(
            BackgroundJob(name, _RANKS[name], name in _INTERACTIVE, run, take)
        )

    def _forget(self, name: str) -> None:
        self._asked.pop(name, None)
        self._previewer.drop_background(name)

    def _measured(self, base: PreviewRequest, outcome: Any) -> None:
        if isinstance(outcome, WorkbenchError):
            self._clear_statistics(str(outcome))
        else:
            self._statistics = statistics_entries(outcome)
            self._measured_of, self._unmeasured = base, ""

    def _probed(self, look: Closeup, at: tuple[int, int], outcome: Any) -> None:
        self._probed_at = at
        if isinstance(outcome, Pixels):
            self._values = values_bytes(look, outcome)
        else:
            self._values = no_values_bytes(look, at, str(outcome))

    def _stepped(self, base: PreviewRequest, sample: int, outcome: Any) -> None:
        """The pictures first, then the times, which take longer."""
        self._timed(outcome)
        if isinstance(outcome, Steps) and "steps" in self._asked:
            steps = partial(preview_steps, request=base, index=sample, times=True)
            self._ask("times", (base, sample), steps, self._timed)

    def _timed(self, outcome: Any) -> None:
        if isinstance(outcome, Steps):
            self._sheet, self._steps_fault = steps_bytes(outcome), ""
        else:
            self._steps_fault = str(outcome)


def _akin(one: PreviewRequest, other: PreviewRequest) -> bool:
    """Whether all but the nodes' values is the same: what a drag of a slider changes."""
    nodes = [[(node.id, node.op) for node in each.graph.nodes] for each in (one, other)]
    return nodes[0] == nodes[1] and replace(one, graph=other.graph) == other


def _region(engine: Caller, request: PreviewRequest, look: Closeup, at: tuple[int, int]) -> Pixels:
    for side in (REGION, NARROW_REGION):
        x, y = region_around(*at, side)
        try:
            return preview_pixels(engine, request, look.index, look.of, x, y, side, side)
        except GraphError:
            if side == NARROW_REGION:
                raise
    raise AssertionError
