"""Convert a traced pipeline to a graph, and report differences."""

from __future__ import annotations

import ast
import os
import re
import shlex
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import PurePath

from workbench.catalog.extra_operators.readers import REQUEST
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import OPAQUE, Catalog
from workbench.emit.annotations.copied_functions import copied_helpers_in
from workbench.emit.core.epoch_shuffle import SHUFFLE
from workbench.emit.embedded_graph import embedded_graph
from workbench.emit.pipeline_import.calls.conditionals import (
    find_statements,
    producers_by_edge,
    walk_ops,
)
from workbench.emit.pipeline_import.calls.copied_calls import without_clipping, without_reader_calls
from workbench.emit.pipeline_import.calls.device_placement import with_devices
from workbench.emit.pipeline_import.calls.fold import fold_calls
from workbench.emit.pipeline_import.calls.foreign_readers import with_known_readers
from workbench.emit.pipeline_import.calls.nodes import automatic_call, make_call, read_folder
from workbench.emit.pipeline_import.calls.older_names import older_name_notes, with_todays_calls
from workbench.emit.pipeline_import.calls.own_data import own_data
from workbench.emit.pipeline_import.calls.source_in_place import with_folder
from workbench.emit.pipeline_import.control_flow.block_converter import BlockConverter, walk_calls
from workbench.emit.pipeline_import.control_flow.logic import without_logic
from workbench.emit.pipeline_import.ids import NodeCalls, node_ids, output_names
from workbench.emit.pipeline_import.trace.call_order import in_call_order
from workbench.emit.pipeline_import.trace.seeds import Seeds, assign_seeds, automatic_changes
from workbench.emit.pipeline_import.trace.source_lines import Lines
from workbench.emit.pipeline_import.trace.traced import (
    SourceLocation,
    Traced,
    TracedOp,
    TracedPipeline,
)
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.graph.builder.graph_drawing import graph_svg
from workbench.graph.checks.check import check_graph
from workbench.graph.execution.dataset_parameters import parameter_of, parameters, swap_source
from workbench.graph.execution.pipelines import several_pipelines, without_shard
from workbench.graph.model import Body, DecodeDevice, Graph, Node, Port, Settings, Source
from workbench.graph.model.bounds import SETTINGS
from workbench.graph.model.frozen_dict import FrozenDict
from workbench.graph.model.graph import changed_settings
from workbench.graph.storage.import_report import ImportIssue, ImportReport
from workbench.graph.storage.layout import Document
from workbench.sources import PARAMETER, SERVED, Dataset, is_reader, load_source

_MOST_LINES = 60
"""Maximum number of lines of a report in a notebook."""
_CHECKS = frozenset({"output_dtype", "output_ndim", "output_layout"})
"""Settings of a pipeline that only make DALI check the outputs."""
_MOST_PICTURE = 70_000
"""Maximum number of characters of the graph drawing above the report."""
_PROXY = "DALIServer"
"""Name that occurs in scripts that use DALI Proxy (samples of a PyTorch dataset as input)."""
_BY_PROXY = (
    "a PyTorch dataset feeds it: its files, their order and outputs that it passes on, such as "
    "labels, are not in the graph"
)
_SAID = re.compile(r"\s*Imported partly: [^.]*\.$")
_PARTIAL_SHAPE = re.compile(r"VarLenFeature\(\s*[\[(]\s*[^\]\s)]")
"""Matches a TFRecord feature whose values form rows: ``VarLenFeature([4], ...)``."""
_FED = "the program feeds it: the files, their order and their labels are not in the graph"


@dataclass(frozen=True, slots=True, repr=False)
class ImportedGraph:
    """A graph imported from a pipeline, as returned by ``from_file`` and ``from_pipeline``.

    A notebook shows the graph and the report::

        found = wb.from_pipeline(w.pipeline())
        again = wb.Workbench("photos", found, restore=False)
        again.close()
    """

    document: Document
    """The graph, the line of source code for each node, and the report."""
    transforms: TransformCall | None = None
    """The imported transforms of torchvision or another library, for ``compare_transforms``."""
    data: str = ""
    """Folder that the pipeline itself reads, or an empty string if the pipeline names none."""

    @property
    def graph(self) -> Graph:
        """The imported graph, without layout and report."""
        return self.document.graph

    @property
    def report(self) -> ImportReport:
        """Report of what was imported exactly, and of what was changed or omitted."""
        return self.document.report or ImportReport()

    def __repr__(self) -> str:
        return f"ImportedGraph {self.graph.name!r}, {self.report.summary()}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        report = f"<pre>{escape(self.report.summary(_MOST_LINES))}</pre>"
        picture = graph_svg(self.graph)
        html = picture + report if len(picture) < _MOST_PICTURE else report
        return {"text/html": html, "text/plain": repr(self)}


def import_traced(traced: Traced, catalog: Catalog, source: str = "") -> ImportedGraph:
    """Convert a traced pipeline to a graph. Nothing is run, and every omission is reported.

    ``source`` is the kind of source that replaces the pipeline's input.
    """
    notes = (*traced.notes, *older_name_notes(traced.pipeline.ops))
    pipeline = replace(traced.pipeline, ops=with_todays_calls(traced.pipeline.ops))
    if source:
        pipeline = with_folder(pipeline)
    traced = replace(traced, pipeline=pipeline, notes=notes)
    found = _imported(traced, catalog)
    if source in ("", "folder"):
        return found
    graph = found.graph
    for each in graph.sources:
        if each.kind == "folder":
            graph = swap_source(graph, each, source)
    return replace(found, document=replace(found.document, graph=graph))


def _imported(traced: Traced, catalog: Catalog) -> ImportedGraph:
    pipeline = without_clipping(without_reader_calls(traced.pipeline), traced.sources)
    seeded = catalog.seeded_schemas
    lines = Lines(traced.sources, pipeline.ops)
    pipeline = with_known_readers(pipeline, lines)
    if any(_PARTIAL_SHAPE.search(text) for text in traced.sources.values()):
        pipeline = replace(pipeline, ops=tuple(map(_without_rows, pipeline.ops)))
    lines = Lines(traced.sources, pipeline.ops)
    ordered = in_call_order(pipeline.ops, lines)
    folder = read_folder(ordered)
    plain, given = without_logic(ordered, pipeline.outputs, seeded)
    block, given = find_statements(plain, given, lines)
    lines = Lines(traced.sources, list(walk_ops(block)))
    makers = producers_by_edge(block)
    random_ops = {name for call in traced.automatic.values() for name in call.draws}
    converter = BlockConverter(
        catalog,
        lines,
        make=lambda op: (
            automatic_call(op, traced.automatic[op.name])
            if op.name in traced.automatic
            else make_call(op, catalog, lines, makers, folder)
        ),
        finish=lambda made, gives: _without_idle(fold_calls(made, lines, gives), gives, random_ops),
    )
    made = converter.convert(block, given)
    every = list(walk_calls(made))
    outputs = output_names(made, [edge.edge for edge in given], catalog, lines)
    ids = node_ids(every, outputs, catalog, lines)
    seeded_ops = [op for op in pipeline.ops if op.schema in seeded or "seed" in op.args]
    turns = {op.name: index for index, op in enumerate(ordered)}
    supported = [op for op, call in every if not call.opaque and catalog[call.op].seeded]
    supported.sort(key=lambda op: turns[op.name])
    seeds = assign_seeds(seeded_ops, supported, lines, pipeline.seed)
    moved = automatic_changes(seeded_ops, traced.automatic, pipeline.seed, seeds.base)
    seeds = replace(seeds, changed={**seeds.changed, **moved})
    ports = _ports(every, ids)
    kinds = {call.source[0] for _, call in every if call.source} - {""}
    own = [each for kind in kinds for each in load_source(kind).pipeline_arguments]
    of_sources = {each.partition("=")[0] for each in own}
    if any("workers" in call.args for _, call in every):
        of_sources.add("py_num_workers")
    settings, refused, unsaid = _settings(pipeline, seeds.base, of_sources, lines)
    if seeds.unseeded or (traced.automatic and pipeline.seed is None):
        unsaid.append(f"no seed is set, so DALI selects one for each run: it is {seeds.base} here")
    traced = replace(traced, notes=(*traced.notes, *unsaid))
    graph = Graph(
        name=traced.name,
        about=traced.about,
        nodes=_nodes(made, ids, ports, seeds),
        outputs={n: ports[edge.edge] for n, edge in zip(outputs, given, strict=True)},
        settings=settings,
    )
    graph = without_shard(with_devices(graph, catalog, every, ids, given), traced.shard)
    graph = several_pipelines(graph, traced.pipelines)
    replaced = [(op, call.source[1]) for op, call in every if call.source and op.kind]
    datasets = {name: data for op, name in replaced if (data := own_data(op))}
    if datasets and isinstance(folder, str) and os.path.isdir(folder):
        datasets.setdefault(PARAMETER, Dataset("folder", folder))
    if datasets and datasets.keys() == parameters(graph.nodes).keys():
        graph = replace(graph, datasets=datasets)
    places = {ids[op.name]: _place(lines.place(op)) for op, _ in every}
    known = {node: place for node, place in places.items() if place}
    document = with_arithmetic_collapsed(Document(graph, origins=known))
    faults = graph_faults(graph, catalog, places)
    report = _report(graph, every, ids, document, seeds, refused, faults, traced)
    named = str(folder or "")
    place = "" if _is_temporary(named, traced) else named
    return ImportedGraph(with_report(document, report), data=place)


def _is_temporary(place: str, traced: Traced) -> bool:
    """Return whether a path is a placeholder, or a file that the program wrote while it ran."""
    written = place.startswith(os.path.join(tempfile.gettempdir(), "workbench-"))
    return place.startswith(traced.placeholders) or (written and not os.path.exists(place))


def _without_rows(op: TracedOp) -> TracedOp:
    """Report features of a TFRecord reader whose partial shape a built pipeline does not store."""
    lists = [text for text in op.args.get("features", ()) if str(text).endswith("[?]")]  # type: ignore[union-attr]
    if op.kind != "tfrecord_features" or not lists:
        return op
    why = (
        "a VarLenFeature of the source has a partial shape, which a built pipeline does not store: "
        f"if it is that of {' or '.join(map(repr, lists))}, write it there, such as [?, 4]"
    )
    return replace(op, changed=f"{op.changed}; {why}".removeprefix("; "))


def _ports(every: NodeCalls, ids: Mapping[str, str]) -> dict[str, Port]:
    """Map each edge to its port: an output of its producer, or an input of a body."""
    ports: dict[str, Port] = {}
    for op, call in every:
        node = ids[op.name]
        for (edge, _), output in zip(op.outputs, call.outputs, strict=True):
            ports[edge] = Port(node, output)
        for name, body in call.bodies.items():
            ports |= {edge: Port(f"{node}.{name}", taken) for taken, edge in body.takes.items()}
    return ports


def _nodes(
    calls: NodeCalls, ids: Mapping[str, str], ports: Mapping[str, Port], seeds: Seeds
) -> tuple[Node, ...]:
    nodes: list[Node] = []
    for op, call in calls:
        inputs = {port: ports[edge.edge] for port, edge in call.inputs.items()}
        node = Node(ids[op.name], call.op, call.args, inputs, seed=seeds.own.get(op.name))
        if call.source is not None:
            kind, dataset = call.source
            node = Source(
                node.id, node.op, node.args, inputs, seed=node.seed, kind=kind, dataset=dataset
            )
        bodies = {
            name: Body(
                _nodes(body.made, ids, ports, seeds),
                {output: ports[edge.edge] for output, edge in body.gives.items()},
                tuple(body.takes),
            )
            for name, body in call.bodies.items()
        }
        nodes.append(replace(node, bodies=bodies) if bodies else node)
    return tuple(nodes)


def _without_idle(calls: NodeCalls, gives: Sequence[str], random_ops: Collection[str]) -> NodeCalls:
    """Remove unused generators, and constants that the nodes contain as arguments."""
    used = set(gives)
    used |= {edge.edge for _, call in calls for edge in call.inputs.values()}
    return [
        (op, call)
        for op, call in calls
        if not (op.schema == "Constant" or op.name in random_ops)
        or any(edge in used for edge, _ in op.outputs)
    ]


def _settings(
    pipeline: TracedPipeline, seed: int, of_sources: Collection[str], lines: Lines
) -> tuple[Settings, list[ImportIssue], list[str]]:
    """Return the graph's settings, issues for unsupported ones, and settings missing in the code.

    ``of_sources`` are the settings that the graph's sources add.
    """
    mixed = any(op.device == "mixed" for op in pipeline.ops)
    device: DecodeDevice = "mixed" if mixed else "cpu"
    settings = Settings(seed=seed, device=device, executor=pipeline.executor)
    refused: list[ImportIssue] = []
    unsaid: list[str] = []
    for name in ("batch_size", "num_threads", "prefetch_queue_depth"):
        value, (least, most) = getattr(pipeline, name), SETTINGS[name]
        usual = getattr(settings, name)
        if least <= value <= most:
            settings = changed_settings(settings, {name: value})
        elif value < 1:
            unsaid.append(f"{name}: not set in the source; it is {usual} here")
        else:
            note = f"{name}: {value} is out of range; it is {usual} here"
            refused.append(ImportIssue("refused", "", lines.setting(name), note))
    unheld = dict(pipeline.unheld)
    if pipeline.device_id:  # scripts of a graph use the first GPU
        unheld["device_id"] = str(pipeline.device_id)
    shuffling = next((op for op in pipeline.ops if op.args.get(SHUFFLE)), None)
    if shuffling is not None and unheld.pop("enable_checkpointing", "False") != "True":
        note = f"{SHUFFLE}: programs of the workbench enable checkpointing, with which DALI's"
        note += " order differs after the first epoch"
        refused.append(ImportIssue("refused", "", _place(lines.place(shuffling)), note))
    for name, text in unheld.items():
        if name in of_sources:
            continue
        if name in _CHECKS:
            unsaid.append(f"{name}={text} only checks the outputs, and is omitted")
            continue
        here = f"it is {getattr(settings, name)} here" if name in SETTINGS else "it is omitted"
        note = f"{name}={text}: not supported by a graph; {here}"
        refused.append(ImportIssue("refused", "", lines.setting(name), note))
    return settings, refused, unsaid


def graph_faults(
    graph: Graph, catalog: Catalog, lines_by_node: Mapping[str, str]
) -> list[ImportIssue]:
    """Return the faults of the graph, except the faults of opaque nodes."""
    return [
        ImportIssue(
            "fault", fault.node, lines_by_node.get(fault.node, ""), str(replace(fault, node=""))
        )
        for fault in check_graph(graph, catalog)
        if not fault.node or graph.node(fault.node).op not in OPAQUE
    ]


def _place(place: SourceLocation | None) -> str:
    return "" if place is None else f"{PurePath(place.file).name}:{place.line}"


def _replaced_copies(calls: NodeCalls, traced: Traced) -> list[str]:
    """Return the names of an exported program's copied functions whose calls became nodes."""
    copies = {name for text in traced.sources.values() for name in copied_helpers_in(text)}
    called = (place.function for op, call in calls if not call.opaque for place in op.places)
    return list(dict.fromkeys(name for name in called if name in copies))


def _report(
    graph: Graph,
    calls: NodeCalls,
    ids: Mapping[str, str],
    document: Document,
    seeds: Seeds,
    refused: Sequence[ImportIssue],
    faults: Sequence[ImportIssue],
    traced: Traced,
) -> ImportReport:
    """Create the report, with one issue for each node that differs from the source code."""
    entries, notes = list(refused), list(traced.notes)
    by_proxy = any(_PROXY in text for text in traced.sources.values())
    entries += [ImportIssue("changed", "", each.place, each.why) for each in traced.changed]
    for op, call in calls:
        node = ids[op.name]
        place = document.origins.get(node, "")
        if call.opaque:
            why = f"{call.args['call']}: {call.opaque}"
            entries.append(ImportIssue("opaque", node, place, why))
        elif op.changed or call.lost or (call.op == REQUEST.name and by_proxy):
            without = f"without {', '.join(call.lost)}" if call.lost else ""
            proxy = _BY_PROXY if call.op == REQUEST.name and by_proxy else ""
            why = "; ".join(filter(None, (op.changed, without, proxy)))
            entries.append(ImportIssue("changed", node, place, why))
        elif op.name in traced.automatic and traced.automatic[op.name].lost:
            why = "; ".join(traced.automatic[op.name].lost)
            entries.append(ImportIssue("changed", node, place, why))
        elif op.name in seeds.changed:
            entries.append(ImportIssue("changed", node, place, seeds.changed[op.name]))
        elif is_reader(call.op) and not op.name.startswith("__") and op.name != node:
            # DALI's iterators and reader_meta use this name
            why = f"the source names it {op.name!r}: use the new name where that name is used"
            entries.append(ImportIssue("changed", node, place, why))
        if call.op in SERVED and not by_proxy:
            notes.append(f"{node}: {_FED}")
        own_files = own_data(op) if op.kind and call.source else None
        location = str(own_files) if own_files else call.folder
        if location is not None and not _is_temporary(location, traced):
            name = call.source[1] if call.source else PARAMETER
            meant = "the data" if name == PARAMETER else f"{name}=PATH"
            listed = own_files is not None and not own_files.location
            quoted = location if listed else shlex.quote(location)
            notes.append(f"{node} read {quoted}: pass that as {meant} when you run the graph")
        elif call.op == PYTHON_SOURCE.name and (paths := _paths_in(str(call.args["source"]))):
            again = "edit it, or import with other arguments, to read other data"
            notes.append(f"{node}: its code contains {paths}: {again}")
        elif (
            call.op == "readers.file"
            and isinstance(reader := graph.node(node), Source)
            and parameter_of(reader) is None
        ):
            notes.append(f"{node} sets its own files: it reads no data folder")
    if unfolded := _replaced_copies(calls, traced):
        embeds = any(embedded_graph(text) for text in traced.sources.values())
        more = "; the graph before the change is still at the end of the program" if embeds else ""
        notes.append(f"functions expanded into nodes: {', '.join(unfolded)}{more}")
    reported = {entry.node for entry in entries}
    exact = tuple(node.id for node in graph.walk() if node.id not in reported)
    return ImportReport(
        exact, tuple(entries), tuple(faults), tuple(notes), FrozenDict(traced.assumed)
    )


def _paths_in(code: str) -> str:
    """Return the absolute paths in a Python source's code as text. At most three are named."""
    texts = (each.value for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Constant))
    paths = dict.fromkeys(e for e in texts if isinstance(e, str) and PurePath(e).is_absolute())
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return ", ".join(map(repr, [*paths][:_MOST_PATHS])) + more


_MOST_PATHS = 3
_MOST_SUMS = 4
"""Maximum number of arithmetic operators in a block that is shown expanded on the canvas."""
_NUMBERS = ("stack", "shape", "subscript", "cast", "constant")


def with_arithmetic_collapsed(document: Document) -> Document:
    """Collapse blocks on the canvas that contain many arithmetic operators."""
    blocks = {
        node.id
        for node in document.graph.walk()
        if sum(_calculates(n) for body in node.bodies.values() for n in body.nodes) > _MOST_SUMS
    }
    collapsed = document.layout.collapsed | blocks
    return replace(document, layout=replace(document.layout, collapsed=collapsed))


def _calculates(node: Node) -> bool:
    return node.op.startswith("math.") or node.op in _NUMBERS


def with_report(document: Document, report: ImportReport) -> Document:
    """Add the report to a document, and a sentence about losses to the graph's ``about``.

    Exported programs and the Python API show this sentence.
    """
    graph = document.graph
    if report.losses:
        about = f"{_SAID.sub('', graph.about)} Imported partly: {report.losses}.".lstrip()
        graph = replace(graph, about=about)
    return replace(document, graph=graph, report=report)
