"""Build the API reference of all public names from their docstrings.

``python -m workbench.reference`` writes ``REFERENCE.md`` next to this module. A test checks that it
is up to date, and runs every example in it.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import workbench

PATH = Path(__file__).with_name("REFERENCE.md")
START = """\
import json
import pathlib

import ipywidgets
import numpy as np

import workbench as wb
from workbench import COARSE_CONFIG

wb.write_samples("photos")
graph = wb.read("photos").decode().resize(size=(224, 224))
graph = graph.rotate(angle=5, keep_size=True).with_settings(batch_size=8)
w = wb.Workbench(graph, restore=False)
engine = wb.Engine()
report = w.bench(devices=("cpu",), measurement_config=COARSE_CONFIG)  # faster than the default
found = wb.optimise(graph, "photos", config=COARSE_CONFIG)
watched = wb.watch(wb.loader(graph, "photos", "numpy", epochs=9), steps=40, show=False)
for batch in watched:
    pass


def brighten(image, by):
    return np.clip(image + by, 0, 255).astype(np.uint8)
"""
"""Setup code that is available to every example."""

GROUPS: Mapping[str, tuple[str, str]] = {
    "Data and graphs": (
        "A graph is immutable: each method call returns a new graph.",
        "read outputs Graph NodeHandle Settings load_recipe load_recipes read_graph load_graph "
        "dump_graph write_samples Node Port Edge",
    ),
    "Operators": (
        "DALI's operators are methods of graphs and of their outputs. `help(graph.rotate)` shows "
        "DALI's documentation of an operator.",
        "fn random DataNode Catalog load_catalog node numba_node source FunctionNode trust_graph",
    ),
    "Workbench": (
        "The widget, and its use from cells.",
        "Workbench LiveNode LiveSettings SelectedSamples loader InProcessLoader",
    ),
    "Preview and batches": (
        "DALI runs in a worker process, not in the process of the caller.",
        "Engine PreviewRequest preview_batch PreviewResult preview_outputs OutputBatch replay "
        "compare GraphComparison GraphDifferences",
    ),
    "Speed": (
        "Measurements on this machine with your data.",
        "Benchmark MeasurementConfig QUICK_CONFIG COARSE_CONFIG Grid Report load_report "
        "Measurement optimise Optimisation memory MemoryEstimate",
    ),
    "Training": (
        "Tools for a training loop with any loader.",
        "watch Watch WatchReport watch_callback WatchCallback audit Audit",
    ),
    "Export and import": (
        "Every pipeline is built from the exported source of its graph.",
        "emit_script export Export from_file from_pipeline from_torchvision from_albumentations "
        "ImportedGraph ImportReport compare_transforms TransformComparison diff PipelineDifference",
    ),
    "Dataset versions": (
        "Augmented samples as files, with a manifest from which they can be rendered again.",
        "render Version VersionDifference open_version prove Proof",
    ),
    "Checking": (
        "",
        "check_graph check_warnings Faults Fault check_folder FolderCheck decoder_coverage "
        "DecoderCoverage Verification pack "
        "ServingPack",
    ),
    "Errors": (
        "All errors are subclasses of `WorkbenchError`. A message names the problem, the value "
        "found, the allowed values and the fix. Each example raises the documented error.",
        "WorkbenchError ArgumentError CatalogError DataError GraphError GraphFormatError "
        "GraphEditError UnknownNameError UnsupportedUseError GraphFaultsError GraphExportError "
        "MissingLibraryError EngineError EngineClosedError PipelineError "
        "WorkerCrashedError WorkerTimeoutError CancelledError ImportFailedError "
        "PipelineFormatError SaveError",
    ),
}
"""Introduction and public names, in order, of each section of the reference."""
RETURNED = frozenset(
    {
        "DecoderCoverage",
        "Faults",
        "FolderCheck",
        "InProcessLoader",
        "MemoryEstimate",
        "GraphDifferences",
        "LiveNode",
        "LiveSettings",
        "NodeHandle",
        "SelectedSamples",
        "Proof",
        "Verification",
        "Version",
        "VersionDifference",
        "Watch",
        "WatchCallback",
        "WatchReport",
    }
)
"""Classes whose constructors are not documented, because only functions return instances."""
MEMBERS: Mapping[str, str] = {
    "Graph": "batch show save diff with_p if_else one_of some_of repeat decode named with_settings "
    "node has walk sources",
    "NodeHandle": "set reset remove mute rename node args output outputs",
    "FunctionNode": "after args op",
    "Workbench": "batch loader pipeline param undo redo compare bench stages tune optimise verify "
    "share panel to_code to_cell settings close",
    "SelectedSamples": "to_frame plot",
    "LiveNode": "set",
    "Engine": "handle close",
    "OutputBatch": "show plot to to_frame",
    "PreviewResult": "to_frame plot",
    "GraphComparison": "to_frame plot",
    "Benchmark": "run",
    "Report": "best ratios to_frame plot",
    "Optimisation": "apply to_frame plot",
    "Export": "main",
    "ImportReport": "to_frame plot",
    "TransformComparison": "to_frame plot",
    "FolderCheck": "bad counts good_list to_frame plot",
    "DecoderCoverage": "others to_frame",
    "MemoryEstimate": "shortage to_frame",
    "Faults": "to_frame plot",
    "Verification": "to_frame plot",
    "Version": "records diff plot",
    "VersionDifference": "plot",
    "Watch": "report",
    "WatchReport": "limit ceiling interval measure_fix plot",
    "WatchCallback": "report",
    "Catalog": "find",
}
"""Documented members of each class."""

_BLOCK = re.compile(r"^(?P<lead>.*?)::\n\n(?P<code>(?:(?: {4}.*)?\n)+)", re.MULTILINE)
"""Pattern of an example in a docstring: the indented lines after ``::``."""
_SECTION = re.compile(r"^(\w+)\n-+\n((?:(?:[^\s:].*:|(?: {4}.*)?)\n)+)", re.MULTILINE)
"""Pattern of a section of parameters or attributes in NumPy style."""


def find(name: str) -> Any:
    """Return the object with a public name such as ``Graph`` or ``Graph.repeat``."""
    owner, _, member = name.partition(".")
    value = getattr(import_module("workbench"), owner)
    if not member:
        return value
    from workbench.graph.builder.graph_methods import METHODS, later_method

    if owner == "Graph" and member in METHODS:
        return METHODS[member]
    if owner == "Graph" and member in workbench.GRAPH_METHODS:
        return later_method(member)
    return _member(value, member)


def _member(owner: type, name: str) -> Any:
    found = inspect.getattr_static(owner, name)
    return found.fget if isinstance(found, property) else found


def names() -> Iterator[str]:
    """Yield every name of the reference in order, each class before its members."""
    for _, listed in GROUPS.values():
        for name in listed.split():
            yield name
            yield from (f"{name}.{member}" for member in MEMBERS.get(name, "").split())


def docstring(name: str) -> str:
    """Return the docstring of a name without indentation."""
    value = find(name)
    own = value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__
    return inspect.cleandoc(own or "") + "\n"


def examples(name: str) -> list[str]:
    """Return the examples in the docstring of a name, each as Python code."""
    return [dedent(found["code"]).strip("\n") + "\n" for found in _BLOCK.finditer(docstring(name))]


def signature(name: str) -> str:
    """Return the call signature of a name, without ``self`` and without types."""
    value = find(name)
    owner, _, member = name.partition(".")
    if member and isinstance(inspect.getattr_static(find(owner), member, None), property):
        return member
    shown = member or owner
    if not callable(value) or (isinstance(value, type) and issubclass(value, Exception)):
        return shown
    if owner in RETURNED and not member:
        return shown
    parameters = list(inspect.signature(value).parameters.values())[1 if member else 0 :]
    bare = [each.replace(annotation=each.empty, default=_short(each)) for each in parameters]
    return f"{shown}{inspect.Signature(bare)}"


class _Ellipsis:
    """Placeholder for a default value that has no literal, displayed as ``...``."""

    def __repr__(self) -> str:
        return "..."


def _short(parameter: inspect.Parameter) -> Any:
    if parameter.default is parameter.empty or repr(parameter.default)[0] != "<":
        return parameter.default
    return _Ellipsis()


def _markdown(text: str) -> str:
    def fence(found: re.Match[str]) -> str:
        lead = f"{found['lead']}:\n\n" if found["lead"].strip() else ""
        return f"{lead}```python\n{dedent(found['code']).strip(chr(10))}\n```\n\n"

    def listed(found: re.Match[str]) -> str:
        rows = re.findall(r"^([^\s:].*):\n((?:(?: {4}.*)?\n)*)", found[2], re.MULTILINE)
        lines = [f"- `{key}`: {' '.join(words.split())}" for key, words in rows]
        return f"{found[1]}:\n\n" + "\n".join(lines) + "\n\n"

    text = re.sub(r"(?<!`)``(?!`)", "`", re.sub(r":(?:class|func):`(\w+)`", r"`\1`", text))
    return re.sub(r"\n{3,}", "\n\n", _BLOCK.sub(fence, _SECTION.sub(listed, text))).strip()


def _heading_anchors() -> dict[str, str]:
    taken, found = Counter({"reference": 1}), {}
    for title, (_, listed) in GROUPS.items():
        for heading in (title, *listed.split()):
            slug = heading.lower().replace(" ", "-")
            found[heading] = f"{slug}-{taken[slug]}" if taken[slug] else slug
            taken[slug] += 1
    return found


def build() -> str:
    """Return the whole reference as Markdown."""
    parts = [
        "# Reference",
        "Every public name of `workbench`. This page is generated from the docstrings by "
        "`python -m workbench.reference`. The tests run every example after these lines:",
        f"```python\n{START}```",
    ]
    places = _heading_anchors()
    for title, (_, listed) in GROUPS.items():
        links = ", ".join(f"[`{name}`](#{places[name]})" for name in listed.split())
        parts.append(f"**{title}**: {links}")
    for title, (words, listed) in GROUPS.items():
        parts += [f"## {title}", *([words] if words else [])]
        for name in names():
            owner, _, member = name.partition(".")
            if owner not in listed.split():
                continue
            called = f"`{signature(name)}`"
            head = f"**`.{signature(name)}`**" if member else f"### {name}\n\n{called}"
            parts += [head, _markdown(docstring(name))]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PATH.write_text(build(), encoding="utf-8")
    print(f"Wrote {PATH}.")
