"""Actions of the bar that open graphs, set the title, and dismiss the import report.

Code in files is never executed.
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
"""Maximum number of base64 characters. The browser sends a shared picture without its pixels."""
_SOURCE = re.compile(r'^\s*(import|from|def|class) \w|^\s*"""|^#|"cell_type"', re.MULTILINE)
"""Regular expression that matches scripts and notebooks, but not graph files."""


class OpenAction(Action, frozen=True):
    """Base class: open a graph instead of the current one. Undo returns to the current graph."""

    from_outside: ClassVar[bool] = False
    """True if the graph comes from a file; it is not autosaved until a page has rendered it."""

    def document(self) -> Document:
        """Return the document to open. Raises GraphFormatError if it is invalid."""
        raise NotImplementedError

    def apply(self, model: ViewModel) -> str:
        opened = self.document()
        if self.from_outside:
            model.sessions.defer_saving()
        return model.replace(opened)


class NewGraph(OpenAction, tag="new", frozen=True):
    """Start with an empty graph."""

    def document(self) -> Document:
        return Document(Graph())


class OpenRecipe(OpenAction, tag="recipe", frozen=True):
    """Open a recipe."""

    name: str

    def document(self) -> Document:
        return load_recipe_document(self.name)


class OpenText(OpenAction, tag="open", frozen=True):
    """Open a graph from the text of a file."""

    text: str
    file: str = ""
    """File name, used for the import command in messages; empty if unknown."""
    from_outside: ClassVar[bool] = True

    def document(self) -> Document:
        return _document(self.text, self.file)

    def apply(self, model: ViewModel) -> str:
        opened = self.document()
        model.sessions.defer_saving()
        return model.sessions.open_shared(opened, self.text)


class OpenPicture(OpenAction, tag="open_picture", frozen=True):
    """Open the graph embedded in a shared picture."""

    data: str
    """PNG in base64. It contains the graph, but its pixels may be missing."""
    from_outside: ClassVar[bool] = True

    def document(self) -> Document:
        if len(self.data) > _LARGEST_PICTURE:
            raise GraphFormatError(
                "This picture contains more data than any graph needs. Share the graph again, "
                "or open its JSON file."
            )
        try:
            picture = base64.b64decode(self.data, validate=True)
        except ValueError as error:  # also base class of binascii.Error
            raise GraphFormatError(f"The picture cannot be read: {error}.") from None
        return _document(read_shared(picture))


def _document(text: str, file: str = "") -> Document:
    """Load a document. Raises GraphFormatError if it is too large for the page."""
    if len(text) > MOST_PAGE_CHARACTERS:
        raise GraphFormatError(
            f"This graph file has {len(text):,} characters; the app opens at most "
            f"{MOST_PAGE_CHARACTERS:,}. Open it in Python: wb.Workbench(data, 'graph.json')."
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
            f"This graph has {count:,} nodes; the app opens at most {MOST_CANVAS_NODES:,}. Split "
            "it, or open it in Python: wb.Workbench(data, 'graph.json')."
        )
    return document


def _program(text: str, file: str) -> Document:
    """Load the graph that is stored as a comment in a script or notebook. No code is run."""
    is_notebook = text.lstrip().startswith("{")
    name = file if is_text(file) and file.isprintable() else ""
    name = name or ("notebook.ipynb" if is_notebook else "pipeline.py")
    output = shlex.quote(f"{PurePath(name).stem}.json")
    hint = (
        "A web page must not run code. Import the file in a shell: "
        f"`workbench import {shlex.quote(name)} -o {output}`, then open {output} here."
    )
    what = "notebook" if is_notebook else "script"
    try:
        found = import_embedded(text, name, load_catalog())
    except GraphFormatError as reason:
        ignored = f"The graph stored in this {what} was ignored."
        raise GraphFormatError(f"{ignored} {reason} {hint}") from None
    if found is None:
        raise GraphFormatError(f"This {what} does not contain a graph. {hint}")
    return replace(found.document, origins={})


class SetTitle(DocumentEdit, tag="title", frozen=True):
    """Rename the graph."""

    name: str

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        """Return the renamed document. Raises GraphEditError for an invalid name."""
        name = " ".join(self.name.split())
        if not name:
            raise GraphEditError("The graph's name is empty. Enter a name.")
        if not is_text(name):
            raise GraphEditError(
                f"{ascii(name)[:60]} contains a lone surrogate, which cannot be saved. "
                "Enter another name."
            )
        if len(name) > LONGEST_NAME:
            raise GraphEditError(
                f"The name has {len(name)} characters; at most {LONGEST_NAME} are allowed."
            )
        return document.with_graph(replace(document.graph, name=name)), None


class DismissReport(DocumentEdit, tag="dismiss_report", frozen=True):
    """Remove the import report from the document; undo restores the report."""

    def edit(self, state: ViewState, document: Document, catalog: Catalog) -> Edited:
        return replace(document, report=None), None

    def edit_label(self) -> str:
        return "remove the import report"
