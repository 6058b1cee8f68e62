"""Graphs that the bar may ask to be opened, their title and the report of their import.

Nothing in a file is executed.
"""

from __future__ import annotations

import base64
import re
import shlex
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar

from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.embedded import import_embedded
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.model import Graph, is_text
from workbench.graph.model.bounds import MOST_CANVAS_NODES, MOST_PAGE_CHARACTERS
from workbench.graph.storage.layout import Document, load_document
from workbench.graph.storage.recipes import load_recipe_document
from workbench.preview.requests.share import read_shared
from workbench.ui.contract.action import Action, DocumentEdit, Edited

if TYPE_CHECKING:
    from workbench.catalog.spec import Catalog
    from workbench.ui.app.view_model import ViewModel
    from workbench.ui.state.view_state import ViewState

LONGEST_NAME = 200
_LARGEST_PICTURE = 8_000_000
"""Characters of base64: of a shared picture, the browser sends the part before the pixels."""
_SOURCE = re.compile(r'^\s*(import|from|def|class) \w|^\s*"""|^#|"cell_type"', re.MULTILINE)
"""What a script or a notebook has, and a graph file has not."""


class OpenAction(Action, frozen=True):
    """Open a graph in place of the present one; undo restores it."""

    from_outside: ClassVar[bool] = False
    """Whether the graph comes from a file: it is not kept before a page has drawn it."""

    def document(self) -> Document:
        """What it opens. Raises GraphFormatError."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> str:
        opened = self.document()
        if self.from_outside:
            model.sessions.hold()
        return model.replace(opened)


class NewGraph(OpenAction, tag="new", frozen=True):
    """Begin with an empty graph."""

    def document(self) -> Document:
        return Document(Graph())


class OpenRecipe(OpenAction, tag="recipe", frozen=True):
    """Open a recipe."""

    name: str

    def document(self) -> Document:
        return load_recipe_document(self.name)


class OpenText(OpenAction, tag="open", frozen=True):
    """Open a graph file."""

    text: str
    """The file's content."""
    file: str = ""
    """Its name, where it has one, for the command that imports it."""
    from_outside: ClassVar[bool] = True

    def document(self) -> Document:
        return _document(self.text, self.file)

    def apply(self, model: ViewModel) -> str:
        opened = self.document()
        model.sessions.hold()
        return model.sessions.open_shared(opened, self.text)


class OpenPicture(OpenAction, tag="open_picture", frozen=True):
    """Open the graph of a shared picture."""

    data: str
    """base64 of the PNG, at least up to its pixels."""
    from_outside: ClassVar[bool] = True

    def document(self) -> Document:
        if len(self.data) > _LARGEST_PICTURE:
            raise GraphFormatError("This picture carries more than any graph would need.")
        try:
            picture = base64.b64decode(self.data, validate=True)
        except ValueError as error:  # also what binascii raises
            raise GraphFormatError(f"The picture came through damaged: {error}.") from None
        return _document(read_shared(picture))


def _document(text: str, file: str = "") -> Document:
    """A document that the page can show, and others can go on working meanwhile."""
    if len(text) > MOST_PAGE_CHARACTERS:
        raise GraphFormatError(
            f"This graph file has {len(text):,} characters; a page opens {MOST_PAGE_CHARACTERS:,} "
            "at most. Open it in Python: wb.Workbench(data, 'graph.json')."
        )
    try:
        document = load_document(text)
    except GraphFormatError:
        if not _SOURCE.search(text) and not file.endswith((".py", ".ipynb")):
            raise
        document = _program(text, file)
    count = sum(1 for _ in document.graph.walk())
    if count > MOST_CANVAS_NODES:
        raise GraphFormatError(
            f"This graph has {count:,} nodes; a page opens {MOST_CANVAS_NODES:,} at most. Split "
            "it, or open it in Python: wb.Workbench(data, 'graph.json')."
        )
    return document


def _program(text: str, file: str) -> Document:
    """The graph that a program or notebook carries: nothing is run. Raises GraphFormatError."""
    is_notebook = text.lstrip().startswith("{")
    name = file if is_text(file) and file.isprintable() else ""
    name = name or ("notebook.ipynb" if is_notebook else "pipeline.py")
    output = shlex.quote(f"{PurePath(name).stem}.json")
    hint = (
        "Importing runs the file, which a web page must not do. Run this in a shell where the "
        f"file is, then open {output} here: `workbench import {shlex.quote(name)} -o {output}`"
    )
    try:
        found = import_embedded(text, name, load_catalog())
    except GraphFormatError as reason:
        raise GraphFormatError(
            f"The graph at the end of this program is not used. {reason} {hint}"
        ) from None
    if found is None:
        what = "notebook" if is_notebook else "script"
        raise GraphFormatError(
            f"This {what} does not contain a graph, and no code is run here. {hint}"
        )
    return replace(found.document, origins={})


class SetTitle(DocumentEdit, tag="title", frozen=True):
    """Give the graph another name."""

    name: str

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Raises GraphEditError for what can be no name."""
        name = " ".join(self.name.split())
        if not name:
            raise GraphEditError("A graph needs a name.")
        if not is_text(name):
            raise GraphEditError(
                f"{ascii(name)[:60]} holds half a character (a lone surrogate), which no file can "
                "hold. Give another name."
            )
        if len(name) > LONGEST_NAME:
            raise GraphEditError(
                f"The name has {len(name)} characters; {LONGEST_NAME} are the limit."
            )
        return document.with_graph(replace(document.graph, name=name)), None


class DismissReport(DocumentEdit, tag="dismiss_report", frozen=True):
    """Remove the report of the import from the graph's file; undo returns it."""

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        return replace(document, report=None), None

    def step_label(self) -> str:
        return "remove the import report"
