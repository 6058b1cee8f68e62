"""How often each body of the inspected region ran: in the shown batch, and where it was counted."""

from __future__ import annotations

from workbench.ui.contract.preview_views import BranchSharesEntry, InspectedSharesEntry
from workbench.ui.state.view_state import ViewState


def inspected_shares(state: ViewState, counted: BranchSharesEntry) -> InspectedSharesEntry:
    """Those of the region whose arguments are shown; without bodies where none is."""
    made: InspectedSharesEntry = {
        "shown": {},
        "shown_of": 0,
        "counted": [],
        "batches": counted["batches"],
        "counting": counted["counting"],
    }
    graph, region = state.checked.active, state.inspected
    if state.preview is None or not graph.has(region) or not graph.node(region).bodies:
        return made
    if region not in {branch.region for branch in state.preview.branches}:
        return made  # the picture is of a graph before it, or under another name
    node, scope = graph.node(region), graph.scope_of(region)
    came = [
        tile.branches
        for tile in state.preview.tiles
        if not tile.sample.error and (not scope or scope in tile.branches)
    ]
    made["shown_of"] = len(came)
    made["shown"] = {
        name: sum(node.scope(name) in branches for branches in came) for name in node.bodies
    }
    for each in counted["regions"]:
        if each["region"] == region:
            made["counted"] = each["bodies"]
    return made
