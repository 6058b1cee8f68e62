"""Table of the actions that each component accepts."""

from __future__ import annotations

from types import ModuleType

from workbench.ui.app import bar_actions as bar
from workbench.ui.app import selection, session
from workbench.ui.canvas import canvas_actions, canvas_annotations, insertions, suggestions
from workbench.ui.contract.action import Action, tag_of
from workbench.ui.data import data_actions
from workbench.ui.export import export_actions as export
from workbench.ui.export import version_job
from workbench.ui.inspector import argument_actions, condition_actions, inspector_actions
from workbench.ui.preview import batch_search, comparison_job, verification_job, view_actions
from workbench.ui.results import result_actions
from workbench.ui.speed import speed_actions as speed
from workbench.ui.state import open_actions
from workbench.ui.storage import saved_snippets


def declared_in(*modules: ModuleType) -> list[type[Action]]:
    """Return the action classes in ``modules``, except base classes, which have no tag."""
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Action)
        if kind.__module__ == module.__name__ and tag_of(kind) != kind.__name__
    ]


_ANYWHERE: list[type[Action]] = [selection.SelectNode, bar.Undo, bar.Redo]
_IN_INSPECTOR = (speed.MeasureFused, speed.StopFused)

ACTIONS: dict[str, list[type[Action]]] = {
    "bar": [
        *declared_in(open_actions, session),
        bar.Share,
        bar.GoToStep,
        bar.DismissMessage,
        export.SaveGraph,
        export.ShowCode,
        export.FindRefusals,
        data_actions.OpenData,
        data_actions.AddRoot,
        data_actions.BrowseFolders,
        data_actions.OutputMasks,
        suggestions.ApplyFix,
        *_ANYWHERE,
    ],
    "canvas": [
        *declared_in(insertions, canvas_actions, canvas_annotations, saved_snippets),
        suggestions.FindConnectTargets,
        suggestions.FindCompatibleOps,
        selection.OpenScope,
        export.CopyCode,
        session.ListFolders,
        open_actions.NewGraph,
        open_actions.OpenRecipe,
        data_actions.OpenFolder,
        data_actions.OutputMasks,
        verification_job.Verify,
        speed.Measure,
        speed.Predict,
        bar.Undo,
        bar.Redo,
    ],
    "inspector": [
        *declared_in(argument_actions, condition_actions, inspector_actions),
        canvas_actions.Mute,
        canvas_actions.Wrap,
        canvas_actions.Unwrap,
        canvas_actions.AddElif,
        canvas_actions.Fuse,
        view_actions.CountBranches,
        *_IN_INSPECTOR,
        open_actions.NewGraph,
        open_actions.OpenRecipe,
        open_actions.OpenText,
        open_actions.OpenPicture,
        selection.OpenScope,
        *_ANYWHERE,
    ],
    "preview": [
        *declared_in(view_actions, batch_search, comparison_job, verification_job),
        suggestions.ApplyFix,
        bar.Retry,
        bar.Undo,
        bar.Redo,
    ],
    "speed": [
        *(kind for kind in declared_in(speed) if kind not in _IN_INSPECTOR),
        *_ANYWHERE,
    ],
    "code": [
        export.FindRefusals,
        export.SaveCode,
        export.DownloadCode,
        export.SaveFileList,
        *declared_in(version_job),
        selection.SelectNode,
    ],
    "data": [
        *declared_in(data_actions),
        view_actions.ShowClass,
        session.ListFolders,
    ],
    "results": declared_in(result_actions),
    "status": [suggestions.ApplyFix, *_ANYWHERE],
}
"""Action classes that each component accepts, by component name."""
