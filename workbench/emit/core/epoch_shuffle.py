"""Make ``shuffle_after_epoch`` produce the same order in all pipelines.

DALI 2.4 shuffles with a fixed seed unless ``shuffle_after_epoch_seed`` is set, and from the second
epoch on the order differs between pipelines with and without ``enable_checkpointing``. Every
program therefore sets a seed, and enables checkpointing even if it does not resume.
"""

from __future__ import annotations

from collections.abc import Iterable

from workbench.catalog.spec import OpSpec
from workbench.errors import GraphExportError
from workbench.graph.model import Node

SHUFFLE = "shuffle_after_epoch"
EPOCH_SEED = "shuffle_after_epoch_seed"
DEFAULT_EPOCH_SEED = 524_287
"""DALI's default value of ``shuffle_after_epoch_seed``."""
NO_CHECKPOINT = {"clahe"}
"""Image operators that DALI 2.4 cannot checkpoint."""


def shuffles_after_epoch(nodes: Iterable[Node]) -> bool:
    """Return True if a reader shuffles all data after each epoch."""
    return any(node.args.get(SHUFFLE) for node in nodes)


def needs_epoch_seed(node: Node, spec: OpSpec) -> bool:
    """Return True if a reader shuffles after each epoch and has no explicit seed for this."""
    return bool(node.args.get(SHUFFLE)) and EPOCH_SEED in spec.args and EPOCH_SEED not in node.args


def require_checkpointing(nodes: Iterable[Node], target: str = "") -> None:
    """Raise GraphExportError if a reader shuffles after each epoch and checkpoints are unavailable.

    They are unavailable if a ``target`` is given, or if the graph has an operator that does not
    support them. Without checkpoints, the order would differ from the preview's.
    """
    nodes = list(nodes)
    for reader in (node for node in nodes if node.args.get(SHUFFLE)):
        blocking = [node.op for node in nodes if node.op in NO_CHECKPOINT]
        if target or blocking:
            who = (
                f"{target} has no checkpoints"
                if target
                else f"DALI cannot checkpoint {blocking[0]}"
            )
            raise GraphExportError(
                f"{reader.id}.{SHUFFLE}: {who}, and without checkpoints the order differs from "
                "the preview after the first epoch. Use random_shuffle instead."
            )
