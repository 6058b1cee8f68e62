"""What the present graph can be compared with, by name: an earlier step, a recipe, a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.storage.layout import Document
from workbench.graph.storage.recipes import load_recipe, load_recipes
from workbench.ui.contract.preview_views import ComparisonChoice
from workbench.ui.state.history import History

MOST_STEPS = 30
"""Of the history, that are offered: the nearest ones."""
LONGEST_NAME = 300
_STEPS, _RECIPES, _RECENT, _FILES = "Steps of the history", "Recipes", "Recent work", "File"


@dataclass(slots=True)
class ComparedGraphs:
    """Finds documents by the id of a choice.

    ``find_session`` gives the document of a kept session by its owner, or None; ``list_sessions``
    those that there are, as (owner, words).
    """

    history: History
    find_session: Callable[[str], Document | None]
    list_sessions: Callable[[], Sequence[tuple[str, str]]]
    sessions: Sequence[tuple[str, str]] = field(default=(), init=False)
    """Those that are offered."""
    file: tuple[str, Document] | None = field(default=None, init=False)
    """The graph file that was opened to compare with: its name and what is in it."""
    _session: tuple[str, Document] | None = field(default=None, init=False)

    def refresh(self) -> None:
        """Look again which sessions there are."""
        self.sessions, self._session = self.list_sessions(), None

    def find(self, choice: str) -> Document:
        """Raises GraphEditError where there is no such graph."""
        kind, _, name = choice.partition(" ")
        match kind:
            case "last":
                if not self.history.before:
                    raise GraphEditError("Nothing was edited yet. Edit a value, or choose another.")
                return self.history.before[-1].document
            case "opened":
                return self.history.opened
            case "step" if name.isdecimal() and int(name) < len(line := self.history.line):
                return line[int(name)]
            case "recipe":
                try:
                    return Document(load_recipe(name))
                except GraphFormatError as error:
                    raise GraphEditError(str(error)) from None
            case "session":
                return self._find_session(name)
            case "file" if self.file is not None:
                return self.file[1]
        raise GraphEditError(f"There is no {choice[:60]!r} to compare with. Choose another.")

    def _find_session(self, owner: str) -> Document:
        if self._session is None or self._session[0] != owner:  # a file, read once
            found = self.find_session(owner)
            if found is None:
                raise GraphEditError("That session is there no more. Choose another.")
            self._session = owner, found
        return self._session[1]

    def choices(self) -> list[ComparisonChoice]:
        """What is offered, in groups."""
        history = self.history
        found = [
            _choice("last", "", "Before the last edit"),
            _choice("opened", "", "As it was opened"),
        ]
        at = len(history.before)
        first = max(0, at - MOST_STEPS)
        labels = ["what was before" if first else "the start", *history.labels(MOST_STEPS)]
        for number, label in reversed(list(enumerate(labels, first))):
            if number != at:
                words = f"{number} · {label}{' (undone)' if number > at else ''}"
                found.append(_choice(f"step {number}", _STEPS, words))
        found += [_choice(f"recipe {name}", _RECIPES, name) for name in load_recipes()]
        found += [_choice(f"session {owner}", _RECENT, words) for owner, words in self.sessions]
        if self.file is not None:
            found.append(_choice("file", _FILES, self.file[0]))
        return found


def _choice(choice: str, group: str, label: str) -> ComparisonChoice:
    return {"id": choice, "group": group, "label": label}
