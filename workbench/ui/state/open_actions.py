"""What the bar may ask to be opened. Nothing in a file is executed."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from typing import assert_never

from workbench.catalog import load_catalog
from workbench.emit.pipeline_import.embedded import import_embedded
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph.model import Graph, is_text
from workbench.graph.model.bounds import MOST_CANVAS_NODES, MOST_PAGE_CHARACTERS
from workbench.graph.storage.layout import Document, load_document
from workbench.graph.storage.recipes import load_recipe_document
from workbench.preview.views.share import read_shared
from workbench.ui.contract.actions import bar, panels

LONGEST_NAME = 200
_LARGEST_PICTURE = 8_000_000
"""Characters of base64: of a shared picture, the browser sends the part before the pixels."""
_SOURCE = re.compile(r'^\s*(import|from|def|class) \w|^\s*"""|^#|"cell_type"', re.MULTILINE)
"""What a script or a notebook has, and a graph file has not."""


def open_document(action: bar.OpenAction) -> Document:
    """What the action opens. Raises GraphFormatError."""
    match action:
        case bar.NewGraph():
            return Document(Graph())
        case bar.OpenRecipe():
            return load_recipe_document(action.name)
        case bar.OpenText():
            return _document(action.text)
        case bar.OpenPicture():
            return _picture(action.data)
    assert_never(action)


def opening_of(action: panels.CompareWithFile) -> bar.OpenAction:
    """How the file that is to be compared with would be opened."""
    if action.data:
        return bar.OpenPicture(action.data)
    return bar.OpenText(action.text)


def _document(text: str) -> Document:
    """A document that the page can show, and others can go on working meanwhile."""
    if len(text) > MOST_PAGE_CHARACTERS:
        raise GraphFormatError(
            f"This graph file has {len(text):,} characters; a page opens {MOST_PAGE_CHARACTERS:,} "
            "at most. Open it in Python: wb.Workbench(data, 'graph.json')."
        )
    try:
        document = load_document(text)
    except GraphFormatError:
        if not _SOURCE.search(text):
            raise
        document = _program(text)
    count = sum(1 for _ in document.graph.walk())
    if count > MOST_CANVAS_NODES:
        raise GraphFormatError(
            f"This graph has {count:,} nodes; a page opens {MOST_CANVAS_NODES:,} at most. Split "
            "it, or open it in Python: wb.Workbench(data, 'graph.json')."
        )
    return document


def _program(text: str) -> Document:
    """The graph that a program or notebook carries: nothing is run. Raises GraphFormatError."""
    hint = "A script or notebook becomes a graph file: workbench import FILE -o graph.json."
    try:
        found = import_embedded(text, "", load_catalog())
    except GraphFormatError as reason:
        raise GraphFormatError(
            f"The graph at the end of this program is not used. {reason} {hint}"
        ) from None
    if found is None:
        what = "notebook" if text.lstrip().startswith("{") else "script"
        raise GraphFormatError(
            f"This is a {what} without a graph at its end, and no code is run here. {hint}"
        )
    return replace(found.document, origins={})


def _picture(data: str) -> Document:
    if len(data) > _LARGEST_PICTURE:
        raise GraphFormatError("This picture carries more than any graph would need.")
    try:
        picture = base64.b64decode(data, validate=True)
    except ValueError as error:  # also what binascii raises
        raise GraphFormatError(f"The picture came through damaged: {error}.") from None
    return _document(read_shared(picture))


def checked_name(name: str) -> str:
    """The name that a graph is to have. Raises GraphEditError for what can be none."""
    name = " ".join(name.split())
    if not name:
        raise GraphEditError("A graph needs a name.")
    if not is_text(name):
        raise GraphEditError(
            f"{ascii(name)[:60]} holds half a character (a lone surrogate), which no file can "
            "hold. Give another name."
        )
    if len(name) > LONGEST_NAME:
        raise GraphEditError(f"The name has {len(name)} characters; {LONGEST_NAME} are the limit.")
    return name
