"""Count in the background how often each block body runs, for the statistics and the inspector.

The worker counts for a fifth of a second at a time, and the page shows the counts so far.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from workbench.errors import WorkbenchError
from workbench.preview import PreviewRequest, preview_branch_shares
from workbench.preview.requests.branches import BlockShares, BranchShares, wilson_interval
from workbench.ui.contract.preview_payloads import (
    BlockSharesEntry,
    BranchSharesEntry,
    InspectedSharesEntry,
)
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.state.view_state import ViewState

NAME = "branch_shares"
USUAL_BATCHES = 1000
"""Default number of batches to count.

This takes about 0.2 s per block if the condition is random. If it depends on the data, batches are
counted only on request.
"""
_NONE = BranchShares(0, (), False)


class BranchShareJob:
    """Counts how often block bodies run. Call methods with the lock held."""

    def __init__(self, background: BackgroundResults) -> None:
        self._background = background
        self._shares = _NONE
        self._of: PreviewRequest | None = None
        """Request that the stored counts belong to."""
        self._wanted: PreviewRequest | None = None
        """Request that is being counted, or was counted last."""
        self._error = ""

    def fields(self, state: ViewState) -> dict[str, Any]:
        """Return the preview's field ``branch_shares`` with the counts."""
        counting = self._background.requested_key(NAME) is not None and not self._is_done(state)
        return {"branch_shares": self._entry(state, counting) if state.show_statistics else {}}

    def inspected(self, state: ViewState) -> dict[str, Any]:
        """Return the inspector's field ``shares`` with the counts of the inspected block."""
        counting = self._background.requested_key(NAME) is not None and not self._is_done(state)
        return {"shares": inspected_branch_shares(state, self._entry(state, counting))}

    def follow(self, state: ViewState, request: PreviewRequest | None) -> None:
        """Start counting for a request whose picture has arrived. With None, stop."""
        if request is None or not state.show_statistics:
            self._background.forget(NAME)
            if request is None or self._of != self._wanted:
                self._shares, self._of, self._wanted, self._error = _NONE, None, None, ""
            return
        wanted = replace(request, batch=0, tiles=1, repeat=None)
        if wanted != self._wanted:
            self._wanted, self._error = wanted, ""
        self._count(state)

    def _count(self, state: ViewState) -> None:
        if self._wanted is None or self._is_done(state) or not state.show_statistics:
            return
        counted = self._shares.batches if self._of == self._wanted else 0
        target = state.branch_batches or USUAL_BATCHES
        run = partial(preview_branch_shares, request=self._wanted, batches=target)
        done = partial(self._store_counts, state, self._wanted)
        self._background.request(NAME, (self._wanted, target, counted), run, done)

    def _store_counts(self, state: ViewState, request: PreviewRequest, outcome: Any) -> None:
        if request != self._wanted:
            return
        self._of = request
        if isinstance(outcome, WorkbenchError):
            self._shares, self._error = _NONE, str(outcome)
        else:
            self._shares, self._error = outcome, ""
            self._count(state)

    def _is_done(self, state: ViewState) -> bool:
        if self._of is None or self._of != self._wanted:
            return False
        shares, requested = self._shares, state.branch_batches
        if self._error or not shares.blocks or (shares.reads and requested is None):
            return True
        return shares.batches >= (requested or USUAL_BATCHES)

    def _entry(self, state: ViewState, counting: bool) -> BranchSharesEntry:
        shares = self._shares
        size = state.checked.active.settings.batch_size
        return {
            "blocks": [_block(block) for block in shares.blocks],
            "batches": shares.batches,
            "samples": shares.batches * size,
            "wanted": state.branch_batches or USUAL_BATCHES,
            "reads": shares.reads,
            "counting": counting,
            "error": self._error,
        }


def _block(block: BlockShares) -> BlockSharesEntry:
    total = block.samples
    made: BlockSharesEntry = {
        "block": block.block,
        "scope": block.scope,
        "samples": total,
        "bodies": [],
        "in_turns": block.in_turns,
    }
    for body in block.bodies:
        low, high = wilson_interval(body.count, total)
        agrees = body.asked is None or low <= body.asked <= high
        made["bodies"].append(
            {
                "body": body.name,
                "text": body.text,
                "count": body.count,
                "share": body.count / total if total else None,
                "low": low,
                "high": high,
                "asked": body.asked,
                "agrees": agrees,
            }
        )
    return made


def inspected_branch_shares(state: ViewState, counted: BranchSharesEntry) -> InspectedSharesEntry:
    """Return the counts of the inspected block; empty counts if no block is inspected."""
    made: InspectedSharesEntry = {
        "shown": {},
        "shown_of": 0,
        "counted": [],
        "batches": counted["batches"],
        "counting": counted["counting"],
    }
    graph, block = state.checked.active, state.inspected
    if state.preview is None or not graph.has(block) or not graph.node(block).bodies:
        return made
    if block not in {branch.block for branch in state.preview.branches}:
        return made  # the picture belongs to an earlier graph
    node, scope = graph.node(block), graph.scope_of(block)
    came = [
        tile.branches
        for tile in state.preview.tiles
        if not tile.sample.error and (not scope or scope in tile.branches)
    ]
    made["shown_of"] = len(came)
    made["shown"] = {
        name: sum(node.scope(name) in branches for branches in came) for name in node.bodies
    }
    for each in counted["blocks"]:
        if each["block"] == block:
            made["counted"] = each["bodies"]
    return made
