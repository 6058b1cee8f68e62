"""A Jupyter notebook that builds the pipeline step by step and shows what it gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from workbench.catalog.spec import Catalog
from workbench.emit.core.code import Code
from workbench.emit.core.epoch_shuffle import require_checkpointing, shuffles_after_epoch
from workbench.emit.core.outputs import Outputs, require_no_regions
from workbench.emit.core.python import call, constant, literal
from workbench.emit.emitter import Emitter
from workbench.emit.targets import Target
from workbench.emit.templates.loader_module import quoted_list
from workbench.emit.templates.template_parts import (
    HIDDEN_FOLDERS,
    body_of,
    docstring_title,
    fill_template,
    make_parts,
    warning_lines,
)
from workbench.graph.model import Node
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_generator

_SETTINGS = """\
${os}import time
from typing import Any

import numpy as np
from IPython.display import display
from nvidia.dali import Pipeline, fn$math$imports
from PIL import Image

«data = "photos"  # folder of images
»
$constants

device, seed = DEVICE, SEED
"""

_PIPELINE = """\
pipe = Pipeline(
    batch_size=BATCH_SIZE,
    num_threads=NUM_THREADS,
    device_id=$device_id,
    prefetch_queue_depth=$prefetch,
${checkpointing})
"""

_SHOW = '''\
def show(samples: Any, layout: str, count: int = 4) -> None:
    """The first images of a batch, each spread from its darkest value to its brightest."""
    row = []
    for sample in list(samples.as_cpu())[:count]:
        image = np.moveaxis(np.array(sample, np.float32), layout.index("C"), -1)
        image = 255 * (image - image.min()) / max(np.ptp(image), 1e-6)
        picture = Image.fromarray(image.astype(np.uint8).squeeze())
        row.append(picture.convert("RGB").resize((160, 160)))
    display(Image.fromarray(np.hstack(row)))


$names
batch = pipe.run()
for name, samples in zip(OUTPUTS, batch, strict=True):
    print(f"{name}: {samples.dtype}, the first of shape {samples[0].shape()}")
$shows
'''

_SPEED = """\
for _ in range(5):  # the first batches fill queues and allocate memory
    pipe.run()
start = time.perf_counter()
for _ in range(20):
    pipe.run()
seconds = time.perf_counter() - start
print(f"{20 * BATCH_SIZE / seconds:.0f} imgs/s")
"""

_FINDER = "What the reader is given, by what the data are."

_TAKEN = (
    *("pipe", "batch", "name", "samples", "start", "seconds", "show"),
    *("display", "Image", "Pipeline"),
)


def emit_notebook(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """The notebook ``pipeline.ipynb``."""
    graph, catalog, nodes = resolved.graph, resolved.catalog, resolved.nodes
    require_no_regions(nodes, "a notebook, whose cells call DALI without a function,")
    emitter = Emitter(resolved, nodes, lift=True, taken=_TAKEN)
    emitter.seed_name = "seed"
    parts = make_parts(emitter, body_of(emitter, nodes, 0)[0], "", {})
    require_checkpointing(nodes)
    checkpointing = "    enable_checkpointing=True,\n" * shuffles_after_epoch(nodes)
    cells = [
        _text(_introduction(resolved)),
        _code(fill_template(_SETTINGS, parts).text),
    ]
    if parts.finder:
        cells += [_text(_FINDER), _code(parts.finder)]
    cells += [
        _text("## The pipeline\n\nIt is empty yet. Each step adds operators to it."),
        _code(fill_template(_PIPELINE, parts, checkpointing=checkpointing).text),
    ]
    for number, step in enumerate(_steps(nodes, catalog), 1):
        cells += [
            _text(_about(step, emitter, number)),
            _code("\n".join(["with pipe:", *body_of(emitter, step, 0)[0]])),
        ]
    given = call("", "pipe.set_outputs", [emitter.names[port] for port in graph.outputs.values()])
    cells += [
        _text("## What it gives\n\nNothing has run so far: DALI builds the whole graph first."),
        _code("\n".join(["with pipe:", *given, "pipe.build()"])),
        _text("## A batch"),
        _code(Template(_SHOW).substitute(_shown(resolved.outputs))),
        _text("## Speed"),
        _code(_SPEED),
    ]
    notebook = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return {"pipeline.ipynb": Code(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", {})}


def _steps(nodes: Sequence[Node], catalog: Catalog) -> list[list[Node]]:
    """The nodes in groups: what only draws numbers goes with the next one that does not."""
    steps: list[list[Node]] = [[]]
    for node in nodes:
        steps[-1].append(node)
        if not is_generator(catalog[node.op]):
            steps.append([])
    return [step for step in steps if step]


def _introduction(resolved: ResolvedGraph) -> str:
    graph = resolved.graph
    name, _, about = " ".join(docstring_title(graph).split()).partition(": ")
    reads_hidden = any(source.kind.endswith(":file_root") for source in graph.sources)
    return (
        f"# {name}\n\n{about}\n\nAn image pipeline in NVIDIA DALI, step by step. Needed: "
        f"`nvidia-dali-cuda120`, `numpy` and `pillow`.{warning_lines(resolved)}"
        f"{HIDDEN_FOLDERS * reads_hidden}"
    ).replace("\n\n\n\n", "\n\n")


def _about(step: Sequence[Node], emitter: Emitter, number: int) -> str:
    """A heading, what the operator does, and what is drawn for it."""
    node = step[-1]
    spec = emitter.catalog[node.op]
    drawn = [f"`{emitter.names[port]}`" for port in emitter.names if port.node in _ids(step[:-1])]
    lines = [f"### {number}. {spec.label or node.op}", "", f"`{node.op}`: {spec.summary}"]
    if drawn:
        lines += ["", f"Drawn anew for each image: {', '.join(drawn)}."]
    elif spec.random_state:
        lines += ["", "It draws anew for each image."]
    return "\n".join(lines)


def _ids(nodes: Sequence[Node]) -> set[str]:
    return {node.id for node in nodes}


def _shown(outputs: Outputs) -> dict[str, str]:
    shows = [
        f"show(batch[{index}], {literal(flow.axes)})"
        for index, flow in enumerate(outputs.values())
        if flow.kind == "image" and flow.axes and "C" in flow.axes
    ]
    return {
        "names": "\n".join(constant("OUTPUTS", quoted_list(outputs))),
        "shows": "\n".join(shows),
    }


def _text(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.strip("\n").splitlines(keepends=True),
    }


TARGET = Target("a notebook that builds the pipeline step by step and shows a batch", emit_notebook)
