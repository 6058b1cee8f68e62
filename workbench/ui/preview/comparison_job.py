"""Compare mode of the preview: render another graph on the same photos and random values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.catalog.spec import Catalog
from workbench.engine.resources.machine import Machine
from workbench.errors import (
    DataError,
    GraphEditError,
    GraphError,
    GraphFormatError,
    WorkbenchError,
)
from workbench.graph.checks.check import Fault, stopping_faults
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph
from workbench.graph.model.graph import changed_settings
from workbench.graph.storage.layout import Document
from workbench.graph.storage.recipes import load_recipe, load_recipes
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.difference import (
    differing_random_nodes,
    graph_differences,
    with_seeds_of,
)
from workbench.preview import (
    Picture,
    PreviewRequest,
    PreviewResult,
    preview_distances,
    preview_picture,
    render_batch,
)
from workbench.preview.requests.difference import TileDistance
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.contract.action import Action
from workbench.ui.contract.encoding import empty, to_json
from workbench.ui.contract.payloads import RecentEntry
from workbench.ui.contract.preview_payloads import ComparisonChoice, ComparisonEntry
from workbench.ui.jobs.background_results import BackgroundResults
from workbench.ui.preview.background_previews import closeup_request
from workbench.ui.preview.presenters import picture_bytes
from workbench.ui.state.closeup import CloseupSample, closeup_bytes
from workbench.ui.state.history import History
from workbench.ui.state.identity_memo import IdentityMemo
from workbench.ui.state.open_actions import OpenPicture, OpenText
from workbench.ui.state.view_state import Checked, ViewState, check_before_run
from workbench.ui.storage.session_file import Session

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

# Graphs to compare with, by name: an earlier step, a recipe, a session.

MOST_STEPS = 30
"""Maximum number of earlier edits, and of undone edits, that are offered for comparison."""
LONGEST_NAME = 300
_STEPS, _RECIPES, _RECENT, _FILES = "History", "Recipes", "Recent work", "File"


@dataclass(slots=True)
class ComparedGraphs:
    """Lists the graphs that the current graph can be compared with, and finds each by its id.

    ``find_session(owner)`` returns a stored session or None; ``list_sessions()`` lists all
    sessions.
    """

    history: History
    find_session: Callable[[str], Session | None]
    list_sessions: Callable[[], Sequence[RecentEntry]]
    sessions: Sequence[RecentEntry] = field(default=(), init=False)
    """Stored sessions whose graphs can be compared with the current graph."""
    file: tuple[str, Document] | None = field(default=None, init=False)
    """Name and content of the graph file opened for comparison, or None."""
    _session: tuple[str, Document] | None = field(default=None, init=False)

    def refresh(self) -> None:
        self.sessions, self._session = self.list_sessions(), None

    def find(self, choice: str) -> Document:
        """Return the document of a choice. Raises GraphEditError if it does not exist."""
        kind, _, name = choice.partition(" ")
        match kind:
            case "last":
                if not self.history.before:
                    raise GraphEditError(
                        "There are no edits yet. Edit a value, or select another graph."
                    )
                return self.history.before[-1].document
            case "opened":
                return self.history.opened
            case "step" if name.isdecimal() and int(name) < len(line := self.history.timeline):
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
        raise GraphEditError(f"There is no graph {choice[:60]!r} to compare with. Select another.")

    def _find_session(self, owner: str) -> Document:
        if self._session is None or self._session[0] != owner:  # a file, read once
            found = self.find_session(owner)
            if found is None:
                raise GraphEditError("This session no longer exists. Select another graph.")
            self._session = owner, found.document
        return self._session[1]

    def choices(self) -> list[ComparisonChoice]:
        """Return the graphs that the current graph can be compared with, in groups."""
        history = self.history
        found = [
            _choice("last", "", "Before the last edit"),
            _choice("opened", "", "As it was opened"),
        ]
        at = len(history.before)
        first = max(0, at - MOST_STEPS)
        labels = ["earlier edits" if first else "start", *history.labels(MOST_STEPS)]
        for number, label in reversed(list(enumerate(labels, first))):
            if number != at:
                words = f"{number} · {label}{' (undone)' if number > at else ''}"
                found.append(_choice(f"step {number}", _STEPS, words))
        found += [_choice(f"recipe {name}", _RECIPES, name) for name in load_recipes()]
        for each in self.sessions:
            words = f"{each['name']} · {each['when']}"
            found.append(_choice(f"session {each['owner']}", _RECENT, words))
        if self.file is not None:
            found.append(_choice("file", _FILES, self.file[0]))
        return found


def _choice(choice: str, group: str, label: str) -> ComparisonChoice:
    return {"id": choice, "group": group, "label": label}


# The other graph next to the current one

MOST_ROWS = 200
NOTHING = empty(ComparisonEntry)
_PICTURE, _DISTANCES = "compared", "distances"


class ComparisonJob:
    """Renders the other graph's contact sheet, and lists the differences between the graphs.

    Call methods with the lock held. If the other graph cannot run, ``error`` is the reason, and the
    pictures of the current graph remain.
    """

    def __init__(
        self,
        graphs: ComparedGraphs,
        background: BackgroundResults,
        catalog: Catalog,
        machine: Machine,
        roots: Roots | None = None,
    ) -> None:
        """``roots`` are the folders below which files may be opened; None means anywhere."""
        self._graphs = graphs
        self._background = background
        self._catalog = catalog
        self._machine = machine
        self._roots = roots
        self._memo = IdentityMemo()
        self._checked: Checked | None = None
        self._other: Graph | None = None
        """The other graph with its own seeds, applied to the current data."""
        self._shown = False
        self._reason = self._failure = ""
        self._picture = b""
        self._distances: tuple[TileDistance, ...] = ()
        self._closeup = ComparedCloseup(background, catalog)

    def open(self, state: ViewState, document: Document, name: str = "") -> None:
        """Compare the current graph with ``document``, without opening the document."""
        self._graphs.file = name[:LONGEST_NAME] or document.graph.name, document
        state.against, state.mode, state.tab = "file", "compare", "preview"

    def follow(self, state: ViewState, datasets: Datasets, request: PreviewRequest | None) -> None:
        """Update the comparison for ``request``, whose picture has arrived.

        ``request`` is None if there is no picture of the current graph, or not yet.
        """
        if state.mode != "compare":
            self.clear()
            self._other, self._checked, self._shown = None, None, False
            return
        if not self._shown:
            self._shown = True
            self._graphs.refresh()
        try:
            found = self._graphs.find(state.against).graph
        except GraphEditError as error:
            self.clear(str(error))
            self._other = None
            return
        try:
            other = with_datasets(found, datasets)
        except DataError as error:
            self.clear(
                f"The graph cannot run on the current data. {error} Alternatively, select a "
                "graph that reads the same data."
            )
            self._other = found
            return
        if other != self._other:
            self._other = other
            self._picture, self._distances = b"", ()
            self._closeup.clear()
        running = self._runnable(with_seeds_of(other, state.checked.graph))
        if self._checked is None or running != self._checked.graph:
            self._checked = check_before_run(running, self._catalog, self._machine, self._roots)
        faults = self._checked.faults
        self._reason = self._failure_text(other, faults) if faults else ""
        if faults:
            self.clear(self._reason)
        elif request is not None:
            running_request = replace(request, graph=self._checked.active)
            self._request_both(request, running_request)
            self._closeup.follow(state.closeup, request, running_request, _file_of(state))

    def _runnable(self, graph: Graph) -> Graph:
        """Return the graph, with CPU decoding if there is no GPU; the pictures are nearly equal."""
        if not self._machine.no_gpu or graph.settings.device == "cpu":
            return graph
        return replace(graph, settings=changed_settings(graph.settings, {"device": "cpu"}))

    def _failure_text(self, other: Graph, faults: Sequence[Fault]) -> str:
        """Return the reason why the other graph cannot run: a missing GPU, or the first fault."""
        if self._runnable(other) is not other and not stopping_faults(other, self._catalog):
            node = faults[0].node
            named = f"{node} ({other.node(node).op})" if other.has(node) else "one of its nodes"
            return (
                f"The graph cannot run here: {named} needs a GPU, and {self._machine.no_gpu}. Use "
                "a machine with a GPU, or select a graph without this node."
            )
        return f"The graph cannot run here: {faults[0]}"

    def fields(self, state: ViewState) -> dict[str, Any]:
        """Return the fields of the preview that belong to the comparison."""
        if state.mode != "compare":
            return {
                "comparison": NOTHING,
                "comparison_choices": [],
                "compared": b"",
                "compared_closeup": b"",
            }
        choices = self._graphs.choices()
        return {
            "comparison": self._entry(state, choices),
            "comparison_choices": choices,
            "compared": self._picture,
            "compared_closeup": self._closeup.picture if state.closeup else b"",
        }

    def _entry(self, state: ViewState, choices: Sequence[ComparisonChoice]) -> ComparisonEntry:
        names = {each["id"]: each["label"] for each in choices}
        graph, other = state.checked.graph, self._other
        found = self._memo(graph_differences, other, graph) if other is not None else ()
        remarks = self._memo(_remarks, other, graph, self._catalog) if other is not None else []
        elsewhere = sum(not tile.same_photo for tile in self._distances)
        photos = [f"{elsewhere} tiles show other photos: the readers differ."]
        on_cpu = other is not None and self._runnable(other) is not other
        decoded = [
            "The other graph decodes on the GPU (mixed), but runs on the CPU here "
            f"({self._machine.no_gpu}). Pixels may differ slightly."
        ]
        return {
            "name": names.get(state.against, state.against),
            "error": self._reason or self._failure,
            "rows": to_json(found[:MOST_ROWS]),
            "more": max(0, len(found) - MOST_ROWS),
            "remarks": [
                *(decoded if on_cpu else []),
                *remarks,
                *(photos if elsewhere else []),
            ],
            "distances": [_distance_text(tile) for tile in self._distances],
            "pending": not self._failure
            and self._background.requested_key(_PICTURE) is not None
            and not self._picture,
        }

    def clear(self, reason: str = "") -> None:
        """Clear the pictures, and display the reason."""
        self._background.forget(_PICTURE, _DISTANCES)
        self._closeup.clear()
        self._reason, self._failure, self._picture, self._distances = reason, "", b"", ()

    def _request_both(self, request: PreviewRequest, other: PreviewRequest) -> None:
        if self._background.requested_key(_PICTURE) != other:
            self._failure = ""
        picture = partial(render_batch, request=other)
        self._background.request(_PICTURE, other, picture, partial(self._store_picture, other))
        if not self._failure:
            distances = partial(preview_distances, request=request, other=other)
            self._background.request(_DISTANCES, (request, other), distances, self._store_distances)

    def _store_picture(self, request: PreviewRequest, outcome: Any) -> None:
        """Store the picture of the other graph, or the reason why it failed.

        A failed request may have crashed the worker, so it is not repeated until something changes.
        """
        if isinstance(outcome, PreviewResult):
            self._picture = picture_bytes(outcome, request)
        else:
            self._picture, self._distances, self._failure = b"", (), f"The graph failed: {outcome}"
            self._background.forget(_DISTANCES)

    def _store_distances(self, outcome: Any) -> None:
        self._distances = () if isinstance(outcome, WorkbenchError) else tuple(outcome)


class CompareWithFile(Action, tag="compare_with_file", frozen=True):
    """Compare the current graph with that of a file or shared picture, which is not opened."""

    name: str
    text: str = ""
    data: str = ""
    """PNG with an embedded graph, in base64, used instead of ``text``; pixels may be missing."""

    def apply(self, model: ViewModel) -> None:
        """Show the comparison. Raises GraphEditError with the file's name for an invalid file."""
        opening = OpenPicture(self.data) if self.data else OpenText(self.text)
        try:
            document = opening.document()
        except WorkbenchError as error:
            name = self.name[:LONGEST_NAME]
            raise GraphEditError(f"Cannot compare with {name}. {error}") from None
        model.comparison.open(model.state, document, self.name)


def _file_of(state: ViewState) -> str:
    tiles = state.preview.tiles if state.preview and state.closeup else ()
    at = state.closeup.index if state.closeup else 0
    return tiles[at].sample.file if at < len(tiles) else ""


def _remarks(other: Graph, graph: Graph, catalog: Catalog) -> list[str]:
    """Return remarks on settings that were replaced, and on random values that differ."""
    remarks = []
    if with_seeds_of(other, graph) != other:
        settings = graph.settings
        remarks.append(
            f"Both run with seed {settings.seed}, batch size {settings.batch_size} and the node "
            "seeds "
            "of the current graph."
        )
    if apart := differing_random_nodes(other, graph, catalog):
        named = ", ".join(apart[:4]) + (f" and {len(apart) - 4} more" if len(apart) > 4 else "")
        remarks.append(
            f"Random values in only one graph: {named}. All others are the same in both."
        )
    return remarks


def _distance_text(tile: TileDistance) -> str:
    """Return the pixel differences of the outputs, such as ``Δ 3.2``, or why there are none."""
    means: Sequence[float | None] = tile.means
    if not tile.same_photo:
        return "different photo"
    return ", ".join("different size" if mean is None else f"Δ {mean:.1f}" for mean in means)


# Close-up in compare mode: the other graph's picture of the same sample

_NAME = "compared_closeup"


@dataclass(slots=True)
class ComparedCloseup:
    """Renders the close-up of the other graph. Call methods with the lock held."""

    background: BackgroundResults
    catalog: Catalog
    picture: bytes = b""
    """``CloseupHeader`` and a PNG. In the header, ``of`` is the current graph's output."""

    def follow(
        self,
        closeup: CloseupSample | None,
        request: PreviewRequest,
        other: PreviewRequest,
        file: str,
    ) -> None:
        """Render the other graph's close-up. ``file`` is the file of the current sample."""
        if closeup is None or closeup.of == "original":
            self.clear()
            return
        of = counterpart(
            list(TypedGraph(request.graph, self.catalog).images),
            list(TypedGraph(other.graph, self.catalog).images),
            closeup.of,
        )
        key = other, closeup, of
        if of is None:
            self.background.forget(_NAME)
            reason = f"The other graph has no output that corresponds to {closeup.of!r}."
            self.picture = closeup_bytes(closeup, [], GraphError(reason))
            return

        def on_rendered(outcome: Any) -> None:
            if isinstance(outcome, Picture) and outcome.sample.file != file:
                outcome = replace(outcome, note=f"different photo: {outcome.sample.file}")
            self.picture = closeup_bytes(closeup, [], outcome)

        run = partial(
            preview_picture,
            request=closeup_request(other),
            index=closeup.index,
            of=of,
            frame=closeup.frame,
        )
        self.background.request(_NAME, key, run, on_rendered)

    def clear(self) -> None:
        self.background.forget(_NAME)
        self.picture = b""


def counterpart(ours: Sequence[str], theirs: Sequence[str], output: str) -> str | None:
    """Return the other graph's output that corresponds to output ``output``, or None.

    Outputs correspond by name; if the graphs have no name in common, by position.
    """
    if set(ours) & set(theirs):
        return output if output in theirs else None
    place = ours.index(output)
    return theirs[place] if place < len(theirs) else None
