"""What is said of functions of the user where their nodes are shown."""

from __future__ import annotations

from functools import lru_cache

from workbench.catalog.own_operators.own_code import OWN_CODE
from workbench.graph.model import Node
from workbench.graph.user_functions.function_randomness import Undetermined, undetermined


def caution_of(node: Node) -> str:
    """Why what is seen of a node is not what a script gives; empty where it is."""
    found = _found(node)
    return found.words if found else ""


def caution_note(node: Node) -> str:
    """The same in two words, for a card."""
    return "not exact" if _found(node) else ""


def _found(node: Node) -> Undetermined | None:
    if node.op not in OWN_CODE:
        return None
    return _undetermined(str(node.args.get("source", "")))


_undetermined = lru_cache(maxsize=64)(undetermined)
