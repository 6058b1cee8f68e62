"""Nodes as the Python lines that the exported script has for them, for the clipboard."""

from __future__ import annotations

from workbench.errors import GraphEditError
from workbench.graph.edits.fragment import with_generators
from workbench.ui.contract.actions import canvas
from workbench.ui.contract.views import TextFile
from workbench.ui.state.view_state import ViewState


def copy_code(state: ViewState, action: canvas.CopyCode) -> str:
    """Put the lines into ``state.copied_code``. Returns what to tell of nodes without any.

    Raises GraphEditError where the graph has no script, or the script nothing of these nodes.
    """
    checked = state.checked
    source = checked.source
    if source is None:
        raise GraphEditError(f"Not copied: {checked.faults[0]}")
    shown = checked.graph.at_scope(state.scope)
    chosen = [node for node in action.nodes if shown.has(node)]
    nodes = with_generators(shown, chosen) if action.nodes else source.lines
    text = source.excerpt(nodes)
    left_out = ", ".join(node for node in chosen if not source.lines.get(node))
    why = f"The script has no line for {left_out}: muted, or no output needs it."
    if not text:
        raise GraphEditError(why if left_out else "Not copied: these nodes are not of this graph.")
    state.copied_code = TextFile(number=state.copied_code["number"] + 1, text=text)
    return why if left_out else ""
