"""What stands beside a record: which graph it is of, and how to measure it on another machine."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from workbench.bench.measuring.config import LOAD, REGIMES, UNMAPPED, Config, Regime, config_of
from workbench.errors import GraphFormatError
from workbench.graph.execution.dataset_parameters import parameters
from workbench.graph.model import Graph, Settings
from workbench.graph.storage.io import dump_json, graph_to_json
from workbench.graph.storage.recipes import load_recipe
from workbench.sources import PARAMETER


def graph_hash(graph: Graph) -> str:
    """SHA-256 of a graph but for what is compared apart: settings, the knobs in nodes, the data.

    It is of the text that version 1 of the file format had for the graph, whatever the version is
    now: records of graphs that are still the same stay records of these.
    """
    bare = graph_to_json(replace(graph, settings=Settings()))
    del bare["settings"]["pipelines"]  # version 1 had none
    entries = {entry["id"]: entry for entry in (*bare.pop("sources"), *bare.pop("nodes"))}
    for entry in _every_entry(entries.values()):
        entry.pop("kind", None)
        args = entry.get("args", {})
        if {LOAD, UNMAPPED} & {*args}:
            kept = {name: value for name, value in args.items() if name not in (LOAD, UNMAPPED)}
            if kept:
                entry["args"] = kept
            else:
                del entry["args"]
    outputs = bare.pop("outputs")
    nodes = [entries[node.id] for node in graph.nodes]
    text = dump_json({**bare, "version": 1, "nodes": nodes, "outputs": outputs})
    return hashlib.sha256(text.encode()).hexdigest()


def _every_entry(entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        yield entry
        for body in entry.get("bodies", {}).values():
            yield from _every_entry(body["nodes"])


def gpu_command(
    graph: Graph, regimes: Sequence[Regime] = REGIMES, more: Sequence[str] = ()
) -> tuple[str, str]:
    """What to run on a machine with a GPU, and what has to be done before.

    A recipe goes by its name, its changed settings as options; any other graph by its file. The
    record that it writes can be opened and compared anywhere. ``more`` are further options.
    """
    name = graph.name
    words, hint = [f"{name}.json"], f"Save the graph as {name}.json and take it along."
    with suppress(GraphFormatError):
        recipe = load_recipe(name)
        options = _options(config_of(recipe), config_of(graph))
        if options is not None and graph_hash(recipe) == graph_hash(graph):
            words, hint = [name, *options], ""
    part = ["--regime", regimes[0]] if len(regimes) == 1 else []
    part += more
    data = [
        word
        for parameter in parameters(graph.nodes)
        for word in ("--data", "DIR" if parameter == PARAMETER else f"{parameter}=DIR")
    ]
    whole = [*words, *data, *part, "--json", f"{name}-gpu.json"]
    return shlex.join(["workbench", "bench", *whole]), hint


def _options(usual: Config, wanted: Config) -> list[str] | None:
    """The options of ``workbench bench`` that lead from one to the other, None where none do."""
    if wanted.prefetch != usual.prefetch or (usual.hw_decoder_load and not wanted.hw_decoder_load):
        return None
    values = {
        "--batch-size": (usual.batch_size, wanted.batch_size),
        "--threads": (usual.threads, wanted.threads),
        "--pipelines": (usual.pipelines, wanted.pipelines),
        "--load": (usual.hw_decoder_load, wanted.hw_decoder_load),
    }
    changed = {option: own for option, (known, own) in values.items() if own != known}
    return [word for option, own in changed.items() for word in (option, f"{own:g}")]
