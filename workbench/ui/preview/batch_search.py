"""Search for the next batch that contains a sample matching the preview's filter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.engine.protocol.call_handle import Caller
from workbench.errors import GraphEditError, WorkbenchError
from workbench.preview import PreviewRequest
from workbench.preview.requests.batch_search import SampleFilter, find_batch
from workbench.ui.contract.action import Action
from workbench.ui.state.view_state import MOST_BATCH, ViewState, blocking_faults, request_of

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

_EPOCHS = 2
"""Number of epochs to search. One complete epoch contains every file, even if shuffled."""


class FindBatch(Action, tag="find_batch", frozen=True):
    """Show the next batch that contains a sample matching the filter."""

    back: bool
    """True to search earlier batches, False to search later ones."""

    def apply(self, model: ViewModel) -> str:
        """Search in the background, and show the batch that is found.

        The result is ignored if another batch, filter, graph or dataset was selected meanwhile.
        Raises GraphEditError if no search is possible.
        """
        state, data, back = model.state, model.data_panel, self.back
        wanted = _filter_of(state)
        if not state.is_filtered:
            raise GraphEditError(
                "No filter is set. Select a class, a branch or an augmentation to search for."
            )
        if state.pinned:
            raise GraphEditError("Seed and batch are pinned. Unpin them to show another batch.")
        faults = blocking_faults(state)
        if data.error or faults:
            raise GraphEditError(f"Cannot search: {data.error or faults[0]}")
        request = request_of(state, data.datasets)
        count, size = data.view["count"], request.graph.settings.batch_size
        most = MOST_BATCH
        if count:
            most = min(most, request.batch + _EPOCHS * math.ceil(count / size))
        parts = (wanted.classes, wanted.branches, wanted.augmentations)
        named = " with ".join(_listed(part) for part in parts if part)
        looking = f"Searching for a batch with a sample of {named}."

        def run(caller: Caller) -> int | None:
            return find_batch(caller, request, wanted, back, most)

        def done(outcome: int | WorkbenchError | None) -> None:
            if wanted != _filter_of(state) or not _runs_alike(state, request, wanted):
                if state.message == looking:
                    state.message = ""
            elif isinstance(outcome, WorkbenchError):
                state.message = str(outcome)
            elif outcome is None:
                where = "No batch before this one" if back else f"No batch up to {most}"
                state.message = f"{where} has a sample of {named}."
            else:
                state.batch = outcome
                state.message = f"Batch {outcome} has a sample of {named}."
                model.changed()

        model.background.forget("batch")
        model.background.request("batch", (request, wanted, back), run, done)
        return looking


def _filter_of(state: ViewState) -> SampleFilter:
    return SampleFilter(
        tuple(state.shown_classes), state.active_shown_branches, state.active_shown_augmentations
    )


def _listed(names: Sequence[str]) -> str:
    return " or ".join(names[:3]) + (" …" if len(names) > 3 else "")


def _runs_alike(state: ViewState, request: PreviewRequest, wanted: SampleFilter) -> bool:
    then, now = request.graph, state.checked.active
    alike = then.sources == now.sources and then.settings == now.settings
    random = wanted.branches or wanted.augmentations
    return alike and state.batch == request.batch and (then == now or not random)
