"""Actions of the preview that change the view, not the graph."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import GraphEditError
from workbench.graph.storage.layout import Document
from workbench.ui.contract.action import Action
from workbench.ui.state.closeup import CloseupSample
from workbench.ui.state.view_state import MOST_COUNTED, ViewState
from workbench.ui.storage.saved_samples import delete_sample, replay_sample, save_sample

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel


class ViewAction(Action, frozen=True):
    """Base class of actions that change the view state, and in some cases the document.

    Saving, replaying and deleting samples are edits that can be undone.
    """

    def view(self, state: ViewState, document: Document) -> Document | None:
        """Change ``state``. Return the new document if the document changes too, else None."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> None:
        state, document = model.state, model.history.document
        before = state.batch, state.repeat
        shown = self.view(state, document) or document
        after = state.batch, state.repeat
        model.history.push_document(shown, "", (before, after) if before != after else None)


class SaveSample(ViewAction, tag="save_draw", frozen=True):
    """Save the current sample with its random values in the graph's file."""

    sample: int
    """Index of the sample in the batch; -1 to save the whole batch."""

    def view(self, state: ViewState, document: Document) -> Document:
        return save_sample(document, state, self.sample if self.sample >= 0 else None)


class ReplaySample(ViewAction, tag="replay_draw", frozen=True):
    """Show a saved sample with its random values."""

    draw: int
    """Index in the list of saved samples."""

    def view(self, state: ViewState, document: Document) -> Document:
        return replay_sample(document, state, self.draw)


class DeleteSample(ViewAction, tag="delete_draw", frozen=True):
    """Remove a sample from the saved samples."""

    draw: int
    """Index in the list of saved samples."""

    def view(self, state: ViewState, document: Document) -> Document:
        return delete_sample(document, self.draw)


class OpenCloseup(ViewAction, tag="open_closeup", frozen=True):
    """Show one sample in a close-up."""

    index: int
    """Index of the sample in the batch; -1 to close the close-up."""
    of: str
    """``original``, or the name of an output; empty for the first output."""

    def view(self, state: ViewState, document: Document) -> None:
        frame = state.closeup.frame if state.closeup else None  # keep the frame
        look = CloseupSample(self.index, self.of, frame)
        state.closeup = look if self.index >= 0 else None
        state.probe = None
        state.sample = self.index if self.index >= 0 else state.sample


class ChooseFrame(ViewAction, tag="choose_frame", frozen=True):
    """Show one frame of the sequence in the close-up."""

    frame: int
    """Index of the frame; -1 to show all frames next to each other."""

    def view(self, state: ViewState, document: Document) -> None:
        if state.closeup is not None:
            frame = self.frame if self.frame >= 0 else None
            state.closeup = replace(state.closeup, frame=frame)
            state.probe = None


class ProbePixel(ViewAction, tag="probe_pixel", frozen=True):
    """Request the values around a pixel of the close-up."""

    x: int
    y: int

    def view(self, state: ViewState, document: Document) -> None:
        state.probe = self.x, self.y


class ChooseSample(ViewAction, tag="choose_sample", frozen=True):
    """Show a sample on the cards of the canvas."""

    index: int

    def view(self, state: ViewState, document: Document) -> None:
        state.sample = max(0, self.index)


class ShowClass(ViewAction, tag="show_class", frozen=True):
    """Show only samples of a class. If classes are selected already, add or remove the class."""

    name: str

    def view(self, state: ViewState, document: Document) -> None:
        others = [name for name in state.shown_classes if name != self.name]
        added = self.name not in state.shown_classes
        state.shown_classes = [*others, self.name] if added else others
        state.tab = "preview"


class CountBranches(ViewAction, tag="count_branches", frozen=True):
    """Show the statistics, and count how often each block body runs in ``batches`` batches."""

    batches: int

    def view(self, state: ViewState, document: Document) -> None:
        if not 1 <= self.batches <= MOST_COUNTED:
            raise GraphEditError(
                f"{self.batches} batches cannot be counted. Use 1 to {MOST_COUNTED}."
            )
        state.branch_batches, state.show_statistics = self.batches, True
