"""What the browser may ask for: a frozen type for each action of each component.

``frontend/src/views.ts`` has the same types, written from these. ``parse_action`` turns an entry of
an outbox into one of them, so whoever carries it out need not look at its types again.
"""

from workbench.ui.contract.actions.base import (
    Action,
    ApplyFix,
    GoToStep,
    OpenScope,
    Redo,
    Retry,
    SelectNode,
    Undo,
    parse_action,
)

__all__ = [
    "Action",
    "ApplyFix",
    "GoToStep",
    "OpenScope",
    "Redo",
    "Retry",
    "SelectNode",
    "Undo",
    "parse_action",
]
