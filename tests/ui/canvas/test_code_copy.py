"""Nodes as the lines that the exported script has for them."""

from __future__ import annotations

import pytest

from tests.ui.screen import Make
from workbench.errors import GraphEditError
from workbench.graph import load_recipe
from workbench.ui.contract.actions import canvas
from workbench.ui.export.exports import copy_code


def test_the_lines_are_those_of_the_script(make: Make) -> None:
    model, screen = make(graph=load_recipe("rotate-jitter"), connected=False)
    model.act("canvas", {"do": "copy_code", "nodes": ["rotate"]})
    first = screen["canvas", "copied_code"]
    assert [line.partition("(")[0] for line in first["text"].splitlines()] == [
        "angle = fn.random.uniform",
        "images = fn.rotate",
    ]
    model.act("canvas", {"do": "copy_code", "nodes": []})
    whole = screen["canvas", "copied_code"]
    assert whole["number"] == first["number"] + 1
    assert whole["text"].startswith("jpegs, labels = fn.readers.file(\n    **find_files")
    source = model.state.checked.source
    assert source is not None
    assert all(line in source.text for line in whole["text"].splitlines())


def test_what_the_script_leaves_out_is_said(make: Make) -> None:
    model, _ = make(graph=load_recipe("rotate-jitter"), connected=False)
    model.act("canvas", {"do": "mute", "nodes": ["rotate"], "muted": True})
    with pytest.raises(GraphEditError, match="no line for rotate: muted"):
        copy_code(model.state, canvas.CopyCode(["rotate"]))
    assert "rotate" in copy_code(model.state, canvas.CopyCode(["rotate", "flip"]))
    assert "fn.flip" in model.state.copied_code["text"]
    model.act("canvas", {"do": "disconnect", "edges": ["color:data"]})
    with pytest.raises(GraphEditError, match="Not copied"):
        copy_code(model.state, canvas.CopyCode(["flip"]))
