"""Render the effect of each visible sub-policy of a custom policy on one sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from workbench.catalog.spec import Value
from workbench.emit.core.policies import has_policy
from workbench.engine.protocol.call_handle import Caller
from workbench.graph.model import Graph, Port
from workbench.graph.model.policy import always_applied
from workbench.preview import Effect, PreviewRequest, preview_effect
from workbench.ui.contract.encoding import pack_payload
from workbench.ui.contract.preview_payloads import PolicyHeader, PolicyPicture
from workbench.ui.inspector.random_argument_payloads import json_value
from workbench.ui.jobs.background_results import BackgroundResults, DebouncedJob
from workbench.ui.preview.effect_sheet import shown_sample, small_pictures
from workbench.ui.state.view_state import ViewState

NAME = "policy"
PICTURE_SIZE = 96
"""Side of each picture in pixels, for high-resolution displays."""


@dataclass(frozen=True, slots=True)
class _PolicyRequest:
    request: PreviewRequest
    node: str
    sub_policies: tuple[Value, ...]
    sample: int


class PolicyJob:
    """Computes the pictures of sub-policies in the background. Call methods with the lock held."""

    def __init__(self, background: BackgroundResults) -> None:
        self._debounced = DebouncedJob(background, NAME, self._begin)
        self._sheet = b""

    def fields(self, state: ViewState) -> dict[str, Any]:
        """Return the fields of the inspector that belong to the policy."""
        shown = _policy_of(state.checked.graph, state.inspected) is not None
        rows = state.policy_rows if shown else []
        return {"policy_rows": rows, "policy_pictures": self._sheet if shown else b""}

    def follow(self, state: ViewState, request: PreviewRequest) -> None:
        """Render the visible sub-policies for a request whose picture has arrived.

        This starts once edits pause.
        """
        policy = _policy_of(request.graph, state.inspected)
        rows = [row for row in state.policy_rows if policy is not None and row < len(policy)]
        if policy is None or not rows:
            self.forget()
            return
        chosen = tuple(dict.fromkeys(policy[row] for row in rows))
        base, sample = small_pictures(request, PICTURE_SIZE), shown_sample(state, request)
        self._debounced.request(_PolicyRequest(base, state.inspected, chosen, sample))

    def forget(self) -> None:
        """Cancel the computation. The current pictures remain."""
        self._debounced.forget()

    def clear(self) -> None:
        self.forget()
        self._sheet = b""

    def _begin(self, request: _PolicyRequest) -> None:
        def run(engine: Caller) -> Effect:
            graphs = [
                _sub_policy_graph(request.request.graph, request.node, sub_policy)
                for sub_policy in request.sub_policies
            ]
            return preview_effect(engine, request.request, graphs, request.sample)

        def done(outcome: Any) -> None:
            self._sheet = policy_bytes(request.node, request.sub_policies, outcome)

        self._debounced.compute(request, run, done)


def _policy_of(graph: Graph, node_id: str) -> tuple[Value, ...] | None:
    node = graph.node(node_id) if graph.has(node_id) else None
    policy = node.args["policy"] if node is not None and has_policy(node) else None
    return policy if isinstance(policy, tuple) else None


def _sub_policy_graph(graph: Graph, node_id: str, sub_policy: Value) -> Graph:
    """Return a graph that applies only ``sub_policy``, to every sample, and outputs the result.

    If the node is inside a block, the graph's outputs are unchanged, because nested nodes cannot be
    outputs.
    """
    node = graph.node(node_id)
    made = graph.replace_node(
        replace(node, args={**node.args, "policy": always_applied(sub_policy)})
    )
    if graph.scope_of(node_id):
        return made
    return replace(made, outputs={"images": Port(node_id, "output")})


def policy_bytes(node: str, sub_policies: tuple[Value, ...], outcome: Effect | Exception) -> bytes:
    """Return a ``PolicyHeader`` followed by the pictures of the sub-policies, as bytes."""
    found = outcome if isinstance(outcome, Effect) else None
    pictures: list[PolicyPicture] = []
    for sub_policy, box, error in zip(
        sub_policies, found.boxes if found else (), found.errors if found else (), strict=False
    ):
        value: Any = json_value(sub_policy)
        pictures.append({"sub_policy": value, "box": list(box or ()), "error": error})
    header: PolicyHeader = {
        "mime": found.mime if found else "image/jpeg",
        "sheet": list(found.size) if found else [0, 0],
        "node": node,
        "pictures": pictures,
        "error": "" if found else str(outcome),
    }
    return pack_payload(header, found.image if found else b"")
