"""Export a graph as a Jupyter notebook that builds the pipeline in steps and shows its outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import require_checkpointing, shuffles_after_epoch
from workbench.emit.core.outputs import require_no_blocks
from workbench.emit.core.python import literal
from workbench.emit.emitter import Emitter
from workbench.emit.targets import Target
from workbench.emit.templates.rendering import render, values_of
from workbench.emit.templates.template_parts import (
    body_of,
    docstring_title,
    make_parts,
)
from workbench.graph.model import Node
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_generator

_FILE = "pipeline.ipynb"
_TAKEN = (
    *("pipe", "batch", "name", "samples", "start", "seconds", "show"),
    *("display", "Image", "Pipeline"),
)


def emit_notebook(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the notebook ``pipeline.ipynb``."""
    graph, nodes = resolved.graph, resolved.nodes
    require_no_blocks(nodes, "a notebook")
    emitter = Emitter(resolved, nodes, lift=True, taken=_TAKEN)
    emitter.seed_name = "seed"
    require_checkpointing(nodes)
    body, _ = body_of(emitter, nodes, 0)
    cells: list[dict[str, Any]] = []
    # A notebook has no ``__file__``, so its file name is written in its code.
    stem = PurePath(resolved.file or _FILE).stem
    beside = {name: literal(f"{stem}{ending}") for name, ending in resolved.beside.items()}
    values = values_of(make_parts(emitter, body, "", {}, beside)) | {
        "name": docstring_title(replace(graph, about="")),
        "about": docstring_title(graph) if graph.about else "",
        "checkpointing": shuffles_after_epoch(nodes),
        "steps": [_step(step, emitter) for step in _steps(nodes, emitter)],
        "given": [emitter.names[port] for port in graph.outputs.values()],
        "outputs": [*graph.outputs],
        "shown": [
            {"index": index, "axes": flow.axes}
            for index, flow in enumerate(resolved.outputs.values())
            if flow.kind == "image" and flow.axes and "C" in flow.axes
        ],
        "text": partial(_add, cells, _TEXT),
        "code": partial(_add, cells, _CODE),
    }
    render("notebook.ipynb.j2", values)
    notebook = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return {_FILE: Code(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", {})}


_TEXT: Mapping[str, Any] = {"cell_type": "markdown", "metadata": {}}
_CODE: Mapping[str, Any] = {
    "cell_type": "code",
    "execution_count": None,
    "metadata": {},
    "outputs": [],
}


def _add(cells: list[dict[str, Any]], kind: Mapping[str, Any], *, caller: Callable[[], str]) -> str:
    """Append a cell to the notebook. ``caller`` is a Jinja2 call block that returns its text."""
    source = caller().strip("\n").splitlines(keepends=True)
    cells.append({"id": f"cell-{len(cells)}", **kind, "source": source})
    return ""


def _steps(nodes: Sequence[Node], emitter: Emitter) -> list[list[Node]]:
    """Group the nodes into the notebook's steps. A generator is in the step of the next node.

    Nodes written inside the line of another node are omitted.
    """
    steps: list[list[Node]] = [[]]
    for node in nodes:
        if node.id not in emitter.in_place:
            steps[-1].append(node)
            if not is_generator(emitter.catalog[node.op]):
                steps.append([])
    return [step for step in steps if step]


def _step(step: Sequence[Node], emitter: Emitter) -> dict[str, Any]:
    *before, node = step
    spec, names = emitter.catalog[node.op], {each.id for each in before}
    return {
        "label": spec.label or node.op,
        "op": node.op,
        "summary": spec.summary,
        "drawn": [name for port, name in emitter.names.items() if port.node in names],
        "draws": spec.random_state,
        "lines": body_of(emitter, step, 0)[0],
    }


TARGET = Target("a notebook that builds the pipeline step by step and shows a batch", emit_notebook)
