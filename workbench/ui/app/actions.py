"""The actions of each component: what its part of the page may ask for."""

from __future__ import annotations

from workbench.ui.app.bar_actions import GoToStep, Redo, Retry, Share, Undo
from workbench.ui.app.selection import OpenScope, SelectNode
from workbench.ui.app.session_actions import (
    ApplyKept,
    AttachPage,
    DescribeCell,
    DismissRestored,
    ListFolders,
    ListRecent,
    OpenRecent,
    PageDrawn,
    StartAfresh,
)
from workbench.ui.canvas.canvas_actions import (
    AddElif,
    Arrange,
    Collapse,
    Connect,
    Disconnect,
    Duplicate,
    Fold,
    Fuse,
    Move,
    Mute,
    Paste,
    Remove,
    Rename,
    SetPositions,
    Splice,
    Unfold,
    Unwrap,
    Wrap,
)
from workbench.ui.canvas.canvas_annotations import RemoveFrame, SetFrame, SetNote
from workbench.ui.canvas.insertions import Add, AddFeeding, AddOnEdge, AddTemplate, Branch
from workbench.ui.canvas.suggestions import ApplyFix, FindCompatibleOps, FindConnectTargets
from workbench.ui.contract.action import Action
from workbench.ui.data import data_actions as data
from workbench.ui.export.export_actions import (
    CopyCode,
    DownloadScript,
    ExportScript,
    SaveCode,
    SaveFileList,
    SaveGraph,
)
from workbench.ui.inspector import argument_actions as argument
from workbench.ui.inspector import inspector_actions as block
from workbench.ui.inspector.condition_actions import SetCondition
from workbench.ui.preview import view_actions as view
from workbench.ui.preview.batch_search import FindBatch
from workbench.ui.preview.comparison_views import CompareWithFile
from workbench.ui.preview.verification_job import StopVerification, Verify
from workbench.ui.speed import speed_actions as speed
from workbench.ui.state.open_actions import NewGraph, OpenPicture, OpenRecipe, OpenText, SetTitle
from workbench.ui.storage.saved_snippets import RemoveSnippet, SaveSnippet

ACTIONS: dict[str, tuple[type[Action], ...]] = {
    "bar": (
        NewGraph, OpenRecipe, OpenText, OpenPicture, SetTitle, Share,
        AttachPage, StartAfresh, ApplyKept, DismissRestored, PageDrawn, ListRecent, ListFolders,
        OpenRecent, DescribeCell,
        SaveGraph, ExportScript, DownloadScript,
        ApplyFix, SelectNode, Undo, Redo, GoToStep,
    ),
    "canvas": (
        Add, AddOnEdge, Branch, AddFeeding, AddTemplate,
        Connect, Disconnect, Splice, Move, Remove, Mute, Duplicate, Paste, Rename, SetPositions,
        Wrap, Unwrap, AddElif, Fuse, Arrange, SetFrame, RemoveFrame, SetNote,
        Unfold, Fold, Collapse, OpenScope,
        CopyCode, SaveSnippet, RemoveSnippet, FindConnectTargets, FindCompatibleOps,
        ListFolders, NewGraph, OpenRecipe, data.OpenFolder, Verify, speed.Measure, Undo, Redo,
    ),
    "inspector": (
        argument.SetArgument, argument.ResetArgument, argument.LinkArgument, block.SetDevice,
        argument.RandomiseArgument, argument.OwnGenerator, argument.FixArgument,
        argument.SetGeneratorArgument,
        block.SetProbability, SetCondition, block.SetWeights, block.AddOption,
        block.RemoveOption, block.MoveOption, block.NameBody, block.OwnPolicy,
        view.CountBranches, Mute, Unwrap, AddElif, Fuse,
        speed.MeasureFused, speed.StopFused, OpenScope, SelectNode, Undo, Redo,
    ),
    "preview": (
        view.SaveDraw, view.ReplayDraw, view.DeleteDraw, view.OpenCloseup, view.ChooseFrame,
        view.ProbePixel, view.ChooseSample, view.ShowClass, view.CountBranches,
        CompareWithFile, FindBatch, Verify, StopVerification, Retry, Undo, Redo,
    ),
    "speed": (
        speed.Measure, speed.Tune, speed.Cancel, speed.OpenRecord, speed.ViewRecord,
        speed.RenameRecord, speed.DeleteRecord, speed.ExportRecords, speed.Adopt,
        speed.TakeRewrites, SelectNode, Undo, Redo,
    ),
    "code": (SaveCode, SaveFileList, SelectNode),
    "data": (
        view.ShowClass, ListFolders, data.OpenFolder, data.UseGoodFiles, data.BrowseFolders,
        data.CountSamples, data.CheckFolder, data.MakeReport,
    ),
    "status": (SelectNode, ApplyFix, Undo, Redo),
}  # fmt: skip
"""By component."""
