"""Snippets saved by the user: groups of nodes that can be added to any graph.

$XDG_STATE_HOME/dali-workbench/blocks/<name>.json      see ``workbench.graph.snippets``
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError, GraphFormatError
from workbench.files import write_text
from workbench.graph.snippets import Snippet, dump_snippet, load_snippet, make_snippet
from workbench.ui.contract.action import Action
from workbench.ui.contract.payloads import TemplateEntry
from workbench.ui.state.view_state import ViewState
from workbench.ui.storage.autosave import state_folder

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

MOST = 200
PREFIX = "snippet:"
"""Prefix that distinguishes snippets from templates in actions that accept both names."""


def saved_snippets() -> tuple[Snippet, ...]:
    """Return the saved snippets, sorted by name. Unreadable files are omitted."""
    snippets = []
    for path in sorted(_folder().glob("*.json"))[:MOST]:
        try:
            snippets.append(load_snippet(path.read_text(encoding="utf-8")))
        except (OSError, GraphFormatError, UnicodeDecodeError):
            continue
    return tuple(sorted(snippets, key=lambda snippet: snippet.name.casefold()))


def find_snippet(name: str) -> Snippet:
    """Return the snippet with this name. Raises GraphEditError if there is none."""
    snippets = {snippet.name: snippet for snippet in saved_snippets()}
    if name not in snippets:
        there = ", ".join(snippets) or "none"
        raise GraphEditError(f"There is no snippet {name[:60]!r}. Saved snippets: {there}.")
    return snippets[name]


class SaveSnippet(Action, tag="save_snippet", frozen=True):
    """Save nodes as a snippet. A snippet of the same name is replaced."""

    nodes: list[str]
    name: str

    def apply(self, model: ViewModel) -> str:
        return self.save(model.state, model.catalog)

    def save(self, state: ViewState, catalog: Catalog) -> str:
        """Write the snippet's file and return a message.

        Raises GraphEditError for unknown nodes, and SaveError if the file cannot be written.
        """
        shown = state.checked.graph.at_scope(state.scope)
        nodes = [node for node in self.nodes if shown.whole.has(node)]
        snippet = make_snippet(shown, catalog, nodes, self.name)
        replaced = any(known.name == snippet.name for known in state.snippets)
        path = _file(snippet.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, dump_snippet(snippet))
        state.snippets = saved_snippets()
        done = "replaced" if replaced else "saved"
        return f"Snippet {snippet.name!r} {done}. It is listed in the palette and the search."


class RemoveSnippet(Action, tag="remove_snippet", frozen=True):
    """Remove a saved snippet."""

    name: str

    def apply(self, model: ViewModel) -> str:
        return self.remove(model.state)

    def remove(self, state: ViewState) -> str:
        """Remove the file and return a message. Raises GraphEditError if there is none."""
        snippet = find_snippet(self.name)
        _file(snippet.name).unlink(missing_ok=True)
        state.snippets = saved_snippets()
        return f"Snippet {snippet.name!r} removed."


def snippet_entries(snippets: Iterable[Snippet]) -> list[TemplateEntry]:
    """Return payloads of snippets, which are listed with the templates."""
    return [
        {
            "name": PREFIX + snippet.name,
            "label": snippet.name,
            "synonyms": ["my snippet", "saved snippet"],
            "summary": f"Saved by you: {_operators_text(snippet)}.",
            "nodes": [node.op for node in snippet.part.walk()],
            "mixes": False,
            "first_for": [],
        }
        for snippet in snippets
    ]


def _operators_text(snippet: Snippet) -> str:
    """Return the names of a snippet's operators and blocks, including nested ones.

    Random generators are named only if there are no other operators.
    """
    ops = list(dict.fromkeys(node.op for node in snippet.part.walk()))
    return ", ".join([op for op in ops if not op.startswith("random.")] or ops)


def _folder() -> Path:
    return state_folder() / "blocks"  # the former name of snippets


def _file(name: str) -> Path:
    return _folder() / f"{quote(name, safe=' ')}.json"
