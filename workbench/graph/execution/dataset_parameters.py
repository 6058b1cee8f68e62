"""The sources of a graph: which nodes read, and which data each is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.errors import DataError
from workbench.graph.edits.edit import free_seed
from workbench.graph.execution.active import loose_nodes
from workbench.graph.model import Graph, Node, Port, Source, is_name, used_ports
from workbench.graph.model.faults import Fault
from workbench.names import free_name
from workbench.sources import Dataset, Datasets, SourceKind, load_source, source_kinds

_TAKEN = frozenset(
    {
        *("args", "base_seed", "batch_size", "batches", "checkpoint", "cores", "device"),
        *("device_id", "epochs", "first", "fn", "jax", "math", "mesh", "np", "num_shards"),
        *("num_threads", "os", "out", "parser"),
        *("pipe", "pipes", "place", "resumable", "seed", "self", "shard_id", "tf", "threads"),
        *(
            "build_pipeline",
            "build_pipelines",
            "in_turns",
            "everywhere",
            "position",
            "shape",
            "ndd",
            "reader",
            "shard",
        ),
        *("augment", "trainer", "lightning", "pipeline_def", "time", "types"),
        *("kwargs", "num_workers", "seed_transforms", "seed_worker", "torch", "transform"),
        *("decode_with_pillow", "read_photo"),
        "dict",  # with blocks AutoGraph writes a call of it for **
    }
)
"""Names that an exported program uses otherwise, besides those in capitals and in sources."""


def parameter_faults(graph: Graph) -> Iterator[Fault]:
    """Parameters that a program cannot have, and those that two sources read in two ways."""
    taken = _TAKEN | {load_source(kind).find.__name__ for kind in source_kinds()}
    kinds: dict[str, Source] = {}
    for source in graph.sources:
        name = parameter_of(source)
        if name is None:
            continue
        if not is_name(name) or name in taken or name.isupper():
            words = (
                f"its data cannot be called {name!r}: that is no Python name in small letters, or "
                "one that the program uses otherwise"
            )
            yield Fault(source.id, "", words, "Choose another, for example others.", "parameter")
        first = kinds.setdefault(name, source)
        if first.kind != source.kind:
            yield Fault(
                source.id,
                "",
                f"it reads {name!r} as {load_source(source.kind).about}, and {first.id} as "
                f"{load_source(first.kind).about}",
                "Give one of them a parameter of its own.",
                "parameter",
            )


def decoder_faults(graph: Graph) -> Iterator[Fault]:
    """Decoders of DALI that are fed images of formats which DALI does not decode."""
    needed = {
        source.id: load_source(source.kind).decoder for source in graph.sources if source.kind
    }
    for node in graph.walk():
        for name, port in node.inputs.items():
            decoder = needed.get(port.node, "")
            reads = node.op.startswith("decoders.") or node.op == "peek_image_shape"
            if decoder and reads and node.op != decoder:
                words = f"{node.op} does not decode GIF, AVIF and what else {port.node} reads"
                remedy = f"Put {decoder} in its place, with a crop behind it where it cropped."
                yield Fault(node.id, name, words, remedy)


def parameter_of(source: Source) -> str | None:
    """The parameter of the program that says what a source reads.

    None for one that names its data itself.
    """
    return source.dataset if source.finds_data else None


def reader_name(node: Node) -> str:
    """The function of the program that reads, where that is not DALI's reader; else empty."""
    if not isinstance(node, Source) or parameter_of(node) is None:
        return ""
    reader = load_source(node.kind).reader
    return reader.__name__ if reader else ""


def found_by_source(node: Node) -> frozenset[str]:
    """The arguments of a reader that the program finds by the data that it is given."""
    if not isinstance(node, Source) or parameter_of(node) is None:
        return frozenset()
    return load_source(node.kind).located_by


def parameters(nodes: Iterable[Node]) -> dict[str, SourceKind]:
    """The parameters of a program of these nodes that name data, and what each is.

    Data that lie beside the program are no parameter: see ``data_constants``.
    """
    return {name: kind for name, kind in _named_data(nodes).items() if not name.isupper()}


def data_constants(nodes: Iterable[Node]) -> dict[str, SourceKind]:
    """The constants of a program of these nodes that name data, and what each is."""
    return {name: kind for name, kind in _named_data(nodes).items() if name.isupper()}


def data_constant(parameter: str) -> str:
    """The constant in the place of a parameter: ``GOOD_DATA`` for ``data``."""
    return f"GOOD_{parameter}".upper()


def given_parameter(name: str) -> str:
    """The parameter of a name that a program has for data: ``data`` for ``GOOD_DATA``."""
    return name.removeprefix("GOOD_").lower() if name.isupper() else name


def with_data_constants(graph: Graph, names: Mapping[str, str]) -> Graph:
    """The graph with constants in the place of parameters: ``names`` has them by parameter."""
    for source in graph.sources:
        if (name := parameter_of(source)) in names:
            graph = graph.replace_node(replace(source, dataset=names[str(name)]))
    return graph


def _named_data(nodes: Iterable[Node]) -> dict[str, SourceKind]:
    found: dict[str, SourceKind] = {}
    for node in nodes:
        if isinstance(node, Source) and (name := parameter_of(node)) is not None:
            found.setdefault(name, load_source(node.kind))
    return found


def sequence_length(graph: Graph) -> int:
    """How many frames a sample of a graph that reads sequences has; 0 for one of images."""
    found = (source.args.get("sequence_length") for source in graph.sources)
    return next((count for count in found if isinstance(count, int)), 0)


def require_datasets(graph: Graph, data: Datasets) -> None:
    """Raise DataError where a source that an output depends on is given no data."""
    loose = loose_nodes(graph)
    for source in graph.sources:
        name = parameter_of(source)
        if source.id not in loose and name is not None and name not in data:
            raise DataError(
                f"{source.id}: nothing says what it reads. Give data for {name!r}: a folder of "
                "images, or a list of files."
            )


def missing_ports(graph: Graph, source: Source, kind: str) -> list[str]:
    """The ports of a source that are used, and that a source of another kind does not have."""
    if kind == source.kind or kind in load_source(source.kind).takes:
        return []  # it has those that its options add, too
    graph = swap_source(graph, source, kind)
    names = dict.fromkeys(port.output for port in used_ports(graph) if port.node == source.id)
    return [name for name in names if name not in load_source(kind).outputs]


def kind_for(graph: Graph, source: Source, dataset: Dataset) -> str:
    """The kind that a source becomes for data: where its targets are used, one that gives them.

    Raises DataError where the data have none.
    """
    richer = load_source(dataset.kind).with_targets
    if source.kind in (dataset.kind, *richer) or not missing_ports(graph, source, dataset.kind):
        return dataset.kind
    for kind in richer:
        if not missing_ports(graph, source, kind):
            try:
                load_source(kind).require(dataset)
            except DataError as error:
                ports = " and ".join(missing_ports(graph, source, dataset.kind))
                raise DataError(
                    f"{source.id}: the graph reads {ports}, which the data do not have. {error} Or "
                    f"unlink {ports}."
                ) from None
            return kind
    return dataset.kind


def with_datasets(graph: Graph, data: Datasets) -> Graph:
    """The graph with each source of the kind of the data that it is given.

    A source in another's place keeps its ports and its options, or is swapped (``swap_source``);
    where DALI does not decode its images, another decoder takes the place of ``decoders.image``.
    Raises DataError where a source is given no data, or data that its reader cannot read.
    """
    require_datasets(graph, data)
    for node in graph.sources:
        name = parameter_of(node)
        if name is None or name not in data:
            continue  # a loose one: ``require_datasets`` asks of the others
        kind = kind_for(graph, node, data[name])
        if data[name].kind in load_source(node.kind).takes:
            continue
        if missing := missing_ports(graph, node, kind):
            given = load_source(kind)
            raise DataError(
                f"{node.id}: the graph uses {' and '.join(missing)} of its source, and "
                f"{data[name]}, read as {given.about}, has none: {given.op} gives "
                f"{' and '.join(given.outputs)}. Unlink these, or give "
                f"{load_source(node.kind).about}. {load_source(node.kind).remedy}"
            )
        graph = swap_source(graph, node, kind, data[name])
    return _with_decoders(graph)


def read_as(graph: Graph, data: Datasets) -> Datasets:
    """The data as the graph's sources read them: of the kinds with the targets, and their options.

    So a sample whose targets are at fault is one that cannot be used. ``graph`` as of
    ``with_datasets``.
    """
    return {name: _read_as(graph, name, each) for name, each in data.items()}


def _read_as(graph: Graph, name: str, data: Dataset) -> Dataset:
    sources = [source for source in graph.sources if parameter_of(source) == name]
    kind = sources[-1].kind if sources else ""
    if kind in load_source(data.kind).with_targets:
        data = replace(data, kind=kind)
    if not sources or not (demanding := load_source(data.kind).demanding):
        return data
    asked = {option for source in sources for option in demanding if source.args.get(option)}
    return replace(data, options=tuple(sorted(asked)))


def _with_decoders(graph: Graph) -> Graph:
    """The graph with the decoder in the place of DALI's whose sources need another."""
    decoders = {
        source.id: load_source(source.kind).decoder for source in graph.sources if source.kind
    }
    nodes = []
    for node in graph.nodes:
        fed = next((decoders.get(port.node, "") for port in node.inputs.values()), "")
        if fed and node.op == "decoders.image":
            node = replace(node, op=fed, args={}, device=None)
        nodes.append(node)
    changed = any(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
    return replace(graph, nodes=tuple(nodes)) if changed else graph


# A source in another's place, where one gives encoded images and the other gives pixels.

_DECODER = "decoders.image"
_ORDERS = {"HWC": "FHWC", "CHW": "FCHW"}
"""The order of axes of a picture, and of a sequence of these."""


def swap_source(graph: Graph, source: Source, kind: str, data: Dataset | None = None) -> Graph:
    """The graph with a source of another kind, that reads these data where they are known.

    What was decoded is fed with the pixels that a source gives, and its decoder goes; behind a
    source that gives none a decoder comes, the one that it wants. Decoders that do more, such as
    one that crops, stay.
    Options that mean nothing to the new reader go. Where sequences come in the place of pictures,
    or the reverse, the order of axes that an operator gives is theirs.
    """
    old, new = load_source(source.kind), load_source(kind)
    if kind == source.kind:
        return graph
    same = old.op == new.op  # with options of one reader, which stay as they are
    gone = set() if same else old.begins.keys() - new.begins.keys() - _needed(graph, source, new)
    begins = {} if same else new.begins
    known = source.args.keys() if new.options is None else new.options
    args = {n: value for n, value in source.args.items() if n in known and n not in gone}
    made = replace(source, kind=kind, op=new.op, args={**begins, **args}, seed=None)
    if new.seeded:
        made = replace(made, seed=free_seed(graph) if source.seed is None else source.seed)
    nodes = [made if node == source else node for node in graph.nodes]
    given, port = Port(source.id, _images(old)), Port(source.id, _images(new))
    moved: dict[Port, Port] = {}
    own, wanted = old.decoder or _DECODER, new.decoder or _DECODER
    if old.pixels and not new.pixels:
        name = free_name("decode", {node.id for node in graph.walk()})
        decoder = Node(name, wanted, {}, {"data": port})
        moved[given] = Port(decoder.id, "output")
        nodes.insert(nodes.index(made) + 1, decoder)
    elif new.pixels and not old.pixels:
        for node in graph.nodes:
            if node.op == own and node.inputs.get("data") == given:
                moved[Port(node.id, "output")] = port
                nodes.remove(node)
    elif given != port:
        moved[given] = port
    if not old.pixels and not new.pixels and own != wanted:
        nodes = [
            replace(node, op=wanted, args={}, device=None)
            if node.op == own and node.inputs.get("data") == given
            else node
            for node in nodes
        ]
    frames = new.gives_sequences(data)
    if (frames or old.has_sequences) and len(graph.sources) == 1:
        nodes = [_in_order(node, frames=frames) for node in nodes]
    return replace(graph, nodes=tuple(nodes)).rewire(moved)


def _needed(graph: Graph, source: Source, kind: SourceKind) -> set[str]:
    """Options without which a reader of the kind does not give what the graph reads."""
    read = {port.output for port in used_ports(graph) if port.node == source.id}
    outputs = load_catalog()[kind.op].outputs
    return {port.needs for port in outputs if port.needs and port.name in read}


def _in_order(node: Node, *, frames: bool) -> Node:
    """The node with the order of axes that it gives, of sequences or of pictures."""
    orders = _ORDERS if frames else {several: one for one, several in _ORDERS.items()}
    given = node.args.get("output_layout")
    if not isinstance(given, str) or given not in orders:
        return node
    return node.with_args({"output_layout": orders[given]})


def _images(kind: SourceKind) -> str:
    """The output with the images: pixels, or encoded ones."""
    return kind.pixels or kind.outputs[0]
