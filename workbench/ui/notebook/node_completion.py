"""Arguments of a node complete in a cell: ``w["rotate"].an`` and ``graph["rotate"].an``.

IPython asks Jedi, which reads types and calls no ``__getitem__``: it knows the methods of each node
and the arguments of none.
"""

from __future__ import annotations

import re
from typing import Any

from IPython.core import completer

from workbench.errors import WorkbenchError
from workbench.graph.model import Graph

_NODE = re.compile(
    r"""(?P<owner>[A-Za-z_]\w*)\[(?P<quote>["'])(?P<node>\w+)(?P=quote)\]\.(?P<begun>\w*)$"""
)


def register(shell: Any) -> None:
    """Let a shell complete them, but for IPython before 8.6 (Colab's). May be called again."""
    if not hasattr(completer, "context_matcher"):
        return
    matchers = shell.Completer.custom_matchers
    if not any(getattr(each, "of_workbench", False) for each in matchers):
        matchers.append(_matcher(shell))


def _matcher(shell: Any) -> Any:
    def complete(context: Any) -> dict[str, Any]:
        found = _NODE.search(context.text_until_cursor)
        names = _arguments(shell.user_ns.get(found["owner"]), found["node"]) if found else []
        begun = found["begun"] if found else ""
        fitting = [name for name in names if name.startswith(begun)]
        return {
            "completions": [completer.SimpleCompletion(name, type="param") for name in fitting],
            "matched_fragment": begun,
        }

    matcher = completer.context_matcher(identifier="workbench.node")(complete)
    vars(matcher)["of_workbench"] = True
    return matcher


def _arguments(owner: Any, node: str) -> list[str]:
    graph = owner if isinstance(owner, Graph) else getattr(owner, "graph", None)
    if not isinstance(graph, Graph):
        return []
    try:
        handle = graph[node]
    except WorkbenchError:
        return []
    return [name for name in dir(handle) if not name.startswith("_")]
