"""What preview, steps, code and data may ask for."""

from __future__ import annotations

from workbench.ui.actions.base import Action, Redo, Retry, SelectNode, Undo


class Verify(Action, tag="verify", frozen=True):
    """Compare the preview with the exported script."""


class StopVerification(Action, tag="stop_verification", frozen=True):
    """Stop the comparison."""


class SaveDraw(Action, tag="save_draw", frozen=True):
    """Keep the draws that are shown with the graph."""

    sample: int
    """-1: of the whole batch."""


class ReplayDraw(Action, tag="replay_draw", frozen=True):
    """Show saved draws again."""

    draw: int
    """Its place in the list."""


class DeleteDraw(Action, tag="delete_draw", frozen=True):
    """Keep saved draws no longer."""

    draw: int
    """Its place in the list."""


class OpenCloseup(Action, tag="open_closeup", frozen=True):
    """Show one sample in place of all."""

    index: int
    """-1: all again."""
    of: str
    """``original`` or an output's name; empty: the first."""


class ProbePixel(Action, tag="probe_pixel", frozen=True):
    """Ask for the values about a pixel of the close-up."""

    x: int
    y: int


class ShowSteps(Action, tag="show_steps", frozen=True):
    """Open the steps of a sample."""

    index: int


class SaveCode(Action, tag="save", frozen=True):
    """Write the code."""

    path: str
    """In the working folder, or absolute: a file, or a folder where there are several."""
    overwrite: bool = False
    """Whether the user was asked about a file that is there."""


class OpenFolder(Action, tag="open", frozen=True):
    """Open another data folder."""

    path: str


class CheckFolder(Action, tag="check", frozen=True):
    """Look for files that cannot be read."""


ViewAction = SaveDraw | ReplayDraw | DeleteDraw | OpenCloseup | ProbePixel | ShowSteps
PreviewAction = ViewAction | Verify | StopVerification | Retry | Undo | Redo
StepsAction = SelectNode | Retry | Undo | Redo
CodeAction = SaveCode | SelectNode
DataAction = OpenFolder | CheckFolder
