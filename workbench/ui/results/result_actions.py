"""Actions of the results panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import DataError
from workbench.ui.contract.action import Action

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel


class ShowResult(Action, tag="show", frozen=True):
    """Select a result in the list."""

    result: str

    def apply(self, model: ViewModel) -> None:
        model.results.show(self.result)


class RemoveResult(Action, tag="remove", frozen=True):
    """Remove a result from the list."""

    result: str

    def apply(self, model: ViewModel) -> None:
        model.results.remove(self.result)


class OpenResult(Action, tag="open", frozen=True):
    """Open a result from the text of its file."""

    text: str
    name: str

    def apply(self, model: ViewModel) -> None:
        try:
            model.results.open(self.text)
        except DataError as error:
            model.results.message = f"{self.name[:80]}: {error}"
