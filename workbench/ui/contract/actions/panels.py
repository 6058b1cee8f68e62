"""What preview, code and data may ask for."""

from __future__ import annotations

from workbench.ui.contract.actions.bar import ListFolders
from workbench.ui.contract.actions.base import Action, ApplyFix, Redo, Retry, SelectNode, Undo


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


class ChooseFrame(Action, tag="choose_frame", frozen=True):
    """Show one frame of the close-up's sequence."""

    frame: int
    """-1: all, side by side."""


class ProbePixel(Action, tag="probe_pixel", frozen=True):
    """Ask for the values about a pixel of the close-up."""

    x: int
    y: int


class ChooseSample(Action, tag="choose_sample", frozen=True):
    """Show a sample on the cards of the canvas."""

    index: int


class ShowClass(Action, tag="show_class", frozen=True):
    """Show the samples of a class alone, or with those of the others that are shown so.

    One that is shown so is taken out again.
    """

    name: str


class FindBatch(Action, tag="find_batch", frozen=True):
    """Show the nearest batch with a sample of the classes, branches and augmentations shown."""

    back: bool
    """Whether among those before the present one."""


class CountBranches(Action, tag="count_branches", frozen=True):
    """Count over so many batches how often each body runs, with the statistics shown."""

    batches: int
    """0: stop counting, and keep what was counted."""


class SaveCode(Action, tag="save", frozen=True):
    """Write the code."""

    path: str
    """In ``save_folder``, or absolute: a file, or a folder where there are several."""
    overwrite: bool = False
    """Whether the user was asked about a file that is there."""


class SaveFileList(Action, tag="save_file_list", frozen=True):
    """Write the list of the files that can be used, for the exported program."""

    path: str
    """In ``save_folder``, or absolute."""
    overwrite: bool = False
    """As of ``save``."""


class OpenFolder(Action, tag="open", frozen=True):
    """Open another data folder."""

    path: str


class BrowseFolders(Action, tag="browse", frozen=True):
    """List the folders in a folder."""

    path: str
    """Empty: around the data."""


class CountSamples(Action, tag="count", frozen=True):
    """Stop counting the data, or go on."""


class CheckFolder(Action, tag="check", frozen=True):
    """Look for files that cannot be read."""


class MakeReport(Action, tag="report", frozen=True):
    """Make the report of the last check, for the browser to keep."""


class UseGoodFiles(Action, tag="use_good", frozen=True):
    """Open the data without the files that the last check found bad or damaged."""


class CompareWithFile(Action, tag="compare_with_file", frozen=True):
    """Compare with the graph of a file or of a shared picture, which is not opened."""

    name: str
    """What the file is called."""
    text: str = ""
    """Its content."""
    data: str = ""
    """Of a picture, in place of the text: base64 of the PNG, at least up to its pixels."""


ViewAction = (
    SaveDraw
    | ReplayDraw
    | DeleteDraw
    | OpenCloseup
    | ChooseFrame
    | ProbePixel
    | ChooseSample
    | ShowClass
    | CountBranches
)
PreviewAction = (
    ViewAction | CompareWithFile | FindBatch | Verify | StopVerification | Retry | Undo | Redo
)
CodeAction = SaveCode | SaveFileList | SelectNode
FolderAction = BrowseFolders | CountSamples | CheckFolder | MakeReport
DataAction = ShowClass | ListFolders | OpenFolder | UseGoodFiles | FolderAction
StatusAction = SelectNode | ApplyFix | Undo | Redo
