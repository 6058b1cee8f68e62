"""What several components may ask for: undo and redo, another attempt, the shared picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import GraphEditError
from workbench.ui.app.selection import follow_step
from workbench.ui.contract.action import Action
from workbench.ui.state.view_state import blocking_faults, request_of

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel


class HistoryAction(Action, frozen=True):
    """An action that moves through the history, after which the selection follows."""

    def move(self, model: ViewModel) -> str:
        """Returns what to say. Raises GraphEditError for a step that cannot be done."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> str:
        before = model.history.document
        said = self.move(model)
        follow_step(model.state, before, model.history.document, model.catalog)
        return said


class Undo(HistoryAction, tag="undo", frozen=True):
    """Take the last edit back."""

    def move(self, model: ViewModel) -> str:
        return _step(model, back=True)


class Redo(HistoryAction, tag="redo", frozen=True):
    """Make the edit again that was taken back."""

    def move(self, model: ViewModel) -> str:
        return _step(model, back=False)


class GoToStep(HistoryAction, tag="go_to", frozen=True):
    """Undo or redo up to a step of the history."""

    step: int
    """How many steps are to be done then."""

    def move(self, model: ViewModel) -> str:
        done = len(model.history.before)
        there = done + len(model.history.undone)
        if not 0 <= self.step <= there:
            raise GraphEditError(f"There is no step {self.step}. Give 0 to {there}.")
        for _ in range(abs(self.step - done)):
            said = _step(model, back=self.step < done)
            if said:
                return said
        return ""


def _step(model: ViewModel, *, back: bool) -> str:
    """Undo or redo, and with a replayed draw its batch and photo too. Returns what to say."""
    state, history = model.state, model.history
    word = "undo" if back else "redo"
    target = history.target(back)
    if target is None:
        return f"There is nothing to {word}."
    document, view = target
    held = history.now.settings.seed, state.batch
    if state.pinned and held != (document.graph.settings.seed, view[0] if view else held[1]):
        raise GraphEditError(
            f"The draws are pinned: unpin them to {word} the change of seed or batch."
        )
    (history.undo if back else history.redo)()
    if view is not None:
        (state.batch, state.repeat), state.closeup = view, None
    return ""


class Retry(Action, tag="retry", frozen=True):
    """Try again what failed."""

    def apply(self, model: ViewModel) -> str:
        if model.data_panel.error:
            return model.open_data(model.data_panel.datasets)
        model.ask_again()
        return ""


class Share(Action, tag="share", frozen=True):
    """Draw the picture to share."""

    def apply(self, model: ViewModel) -> str:
        faults = blocking_faults(model.state)
        reason = model.data_panel.error or (f"It cannot run here: {faults[0]}" if faults else "")
        request = None if reason else request_of(model.state, model.data_panel.datasets)
        model.share_image_job.start(model.history.document, request, reason)
        return ""
