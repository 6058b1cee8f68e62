"""Determine the data parameters of a graph's sources, and adapt the sources to the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from workbench.catalog import load_catalog
from workbench.errors import DataError
from workbench.graph.annotations.sides import with_sides
from workbench.graph.edits.edit import free_seed
from workbench.graph.execution.active import unused_nodes
from workbench.graph.model import Graph, Node, Port, Source, is_name, used_ports
from workbench.graph.model.faults import Fault
from workbench.graph.model.ports import outputs_of
from workbench.names import free_name
from workbench.sources import (
    SAMPLER,
    SAMPLER_OPTIONS,
    Dataset,
    Datasets,
    SourceKind,
    load_source,
    source_kinds,
)
from workbench.sources.record_features import TYPES as FEATURE_READERS

_DECODER, _VIDEO_DECODER = "decoders.image", "decoders.video"
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
        "dict",  # in blocks, AutoGraph replaces ** by a call of it
    }
)
"""Names that exported programs use, in addition to upper-case names and names of sources."""


def parameter_faults(graph: Graph) -> Iterator[Fault]:
    """Report invalid parameter names, and sources that share a name but read data differently."""
    taken = _TAKEN | {load_source(kind).find.__name__ for kind in source_kinds()}
    kinds: dict[str, Source] = {}
    for source in graph.sources:
        name = parameter_of(source)
        if name is None:
            continue
        if not is_name(name) or name in taken or name.isupper():
            words = (
                f"{name!r} is not a valid name for its data: it is not a lower-case "
                "Python name, or is reserved in the program"
            )
            yield Fault(source.id, "", words, "Choose another, for example others.", "parameter")
        first = kinds.setdefault(name, source)
        if first.kind != source.kind:
            yield Fault(
                source.id,
                "",
                f"it reads {name!r} as {load_source(source.kind).about}, but {first.id} reads it "
                f"as {load_source(first.kind).about}",
                "Use different parameters for them.",
                "parameter",
            )


def decoder_faults(graph: Graph) -> Iterator[Fault]:
    """Report decoders that cannot decode the images of their source."""
    needed = {
        source.id: load_source(source.kind).decoder for source in graph.sources if source.kind
    }
    for node in graph.walk():
        for name, port in node.inputs.items():
            decoder = needed.get(port.node, "")
            reads = node.op.startswith("decoders.") or node.op == "peek_image_shape"
            if decoder and reads and node.op != decoder:
                formats = "videos" if decoder == _VIDEO_DECODER else "GIF, AVIF and other formats"
                words = f"{node.op} does not decode {formats} that {port.node} reads"
                remedy = f"Replace it with {decoder}, and add a crop after it if it cropped."
                yield Fault(node.id, name, words, remedy)


def option_faults(graph: Graph) -> Iterator[Fault]:
    """Report reader options that the source's kind of data does not support."""
    for source in graph.sources:
        kind = load_source(source.kind) if source.finds_data else None
        if kind is None or kind.options is None:
            continue
        sampler = SAMPLER_OPTIONS if kind.sampled is not None else ()
        for name in sorted(source.args.keys() - kind.options - {*sampler}):
            if name in load_catalog()[source.op].args:
                words = f"its data ({kind.about}) do not support it"
                yield Fault(source.id, name, words, "Reset it.", "value")


def parameter_of(source: Source) -> str | None:
    """Return the name of the exported program's data parameter for a source.

    Returns None if arguments of the source specify the data.
    """
    return source.dataset if source.finds_data else None


def is_sampled(node: Node) -> bool:
    """Return whether a node is a source whose options set a sampler."""
    return isinstance(node, Source) and any(name in node.args for name in SAMPLER_OPTIONS)


def require_numbering(sources: Iterable[Source], excluded: Collection[str]) -> None:
    """Raise DataError if a sampler selects samples by index from data without bad samples.

    ``excluded`` contains the parameters of data from which samples are excluded. This changes the
    indices of the later samples.
    """
    for source in sources:
        for name in ("indices", "sample_weights"):
            if name in source.args and parameter_of(source) in excluded:
                raise DataError(
                    f"{source.id}: {name!r} of the sampler refers to samples by their number, "
                    "which changes if bad samples are excluded. Remove these from the data "
                    f"(`workbench check` names them) and set {name!r} again, or reset it."
                )


def source_kind(source: Source) -> SourceKind:
    """Return the kind of a source, or the variant with a sampler if the source has a sampler."""
    return load_source(f"{source.kind}:{SAMPLER}" if is_sampled(source) else source.kind)


def reader_name(node: Node) -> str:
    """Return the name of the exported function that replaces a source's DALI reader, or ""."""
    if not isinstance(node, Source) or parameter_of(node) is None:
        return ""
    reader = source_kind(node).reader
    return reader.__name__ if reader else ""


def ignored(node: Node, option: str) -> bool:
    """Return whether a reader option has no effect because the reader has a sampler."""
    shards = ("num_shards", "shard_id", "pad_last_batch", "stick_to_shard")
    if not isinstance(node, Source) or not is_sampled(node):
        return False
    return option not in (*SAMPLER_OPTIONS, *shards, *load_source(node.kind).sampler_options)


def derived_arguments(node: Node) -> frozenset[str]:
    """Return the reader arguments that the exported program determines from the data's path."""
    if not isinstance(node, Source) or parameter_of(node) is None:
        return frozenset()
    return load_source(node.kind).located_by


def parameters(nodes: Iterable[Node]) -> dict[str, SourceKind]:
    """Return the source kind of each data parameter of a program, by parameter name.

    Data stored next to the program have no parameter: see ``data_constants``.
    """
    return {name: kind for name, kind in _named_data(nodes).items() if not name.isupper()}


def data_constants(nodes: Iterable[Node]) -> dict[str, SourceKind]:
    """Return the source kind of each data constant of a program, by constant name."""
    return {name: kind for name, kind in _named_data(nodes).items() if name.isupper()}


def data_constant(parameter: str) -> str:
    """Return the name of the constant that replaces a parameter: ``GOOD_DATA`` for ``data``."""
    return f"GOOD_{parameter}".upper()


def parameter_of_constant(name: str) -> str:
    """Return the name of the parameter that a constant replaces: ``data`` for ``GOOD_DATA``."""
    return name.removeprefix("GOOD_").lower() if name.isupper() else name


def with_data_constants(graph: Graph, names: Mapping[str, str]) -> Graph:
    """Replace data parameters with constants; ``names`` maps parameters to constants."""
    for source in graph.sources:
        if (name := parameter_of(source)) in names:
            graph = graph.replace_node(replace(source, dataset=names[str(name)]))
    return graph


def _named_data(nodes: Iterable[Node]) -> dict[str, SourceKind]:
    found: dict[str, SourceKind] = {}
    for node in nodes:
        if isinstance(node, Source) and (name := parameter_of(node)) is not None:
            found.setdefault(name, source_kind(node))
    return found


def sequence_length(graph: Graph) -> int:
    """Return the number of frames per sample, or 0 if the graph reads images."""
    made = [node for node in graph.walk() if isinstance(node, Source) or node.op == _VIDEO_DECODER]
    counts = [node.args.get("sequence_length") for node in made]
    counts += [len(each) for node in made if isinstance(each := node.args.get("frames"), tuple)]
    return next((count for count in counts if isinstance(count, int)), 0)


def require_datasets(graph: Graph, data: Datasets) -> None:
    """Raise DataError if a source that an output depends on has no data."""
    loose = unused_nodes(graph)
    for source in graph.sources:
        name = parameter_of(source)
        if source.id not in loose and name is not None and name not in data:
            raise DataError(
                f"{source.id}: no data are set. Pass data for {name!r}: a folder of "
                "images, or a list of files."
            )


def missing_ports(
    graph: Graph, source: Source, kind: str, data: Dataset | None = None
) -> list[str]:
    """Return the names of a source's used ports that a source of kind ``kind`` would not have."""
    if kind == source.kind or kind in load_source(source.kind).takes:
        return []  # including those that its options add
    given, other = load_source(source.kind), load_source(kind)
    polygons = other.polygons_in(data) if data else other.polygons
    if given.op == other.op and given.polygons == polygons:
        return []
    graph = swap_source(graph, source, kind, data)
    names = dict.fromkeys(port.output for port in used_ports(graph) if port.node == source.id)
    made = graph.node(source.id)
    ports = {port.name for port in outputs_of(made, load_catalog()[made.op])}
    if given.polygons != polygons:  # options of the reader do not add what the data lack
        ports -= {"polygons", "vertices", "masks"}
    return [name for name in names if name not in {*other.outputs, *ports}]


def kind_for(graph: Graph, source: Source, dataset: Dataset) -> str:
    """Return the source kind for a dataset, with annotations if the graph uses them.

    Raises DataError if the graph uses annotations that the data lack.
    """
    richer = load_source(dataset.kind).with_targets
    if dataset.kind == "video" and _feeds(graph, source, _VIDEO_DECODER):
        return "request_videos" if source.op == "request" else "encoded_videos"
    if source.kind in (dataset.kind, *richer) or not missing_ports(
        graph, source, dataset.kind, dataset
    ):
        return dataset.kind
    for kind in richer:
        if not missing_ports(graph, source, kind):
            try:
                load_source(kind).require(dataset)
            except DataError as error:
                ports = " and ".join(map(repr, missing_ports(graph, source, dataset.kind)))
                raise DataError(
                    f"{source.id}: the graph reads {ports}, but the data have none. {error} "
                    f"Alternatively, disconnect {ports}."
                ) from None
            return kind
    return dataset.kind


def _feeds(graph: Graph, source: Source, op: str) -> bool:
    """Return whether a node of the operator ``op`` reads an output of a source directly."""
    readers = (node for node in graph.walk() if node.op == op)
    return any(port.node == source.id for node in readers for port in node.inputs.values())


def with_datasets(graph: Graph, data: Datasets) -> Graph:
    """Return the graph with each source converted to the kind of its data.

    A source that can read its data is unchanged; others are replaced (``swap_source``). If DALI
    cannot decode the images with ``decoders.image``, the decoder is replaced. Followers get the
    pairs of key points that a mirror swaps (``with_sides``). Raises DataError if a source has no
    data, or data that its reader cannot read.
    """
    require_datasets(graph, data)
    for node in graph.sources:
        name = parameter_of(node)
        if name is None or name not in data:
            continue  # a loose one: ``require_datasets`` checks the others
        kind = kind_for(graph, node, data[name])
        if data[name].kind in load_source(node.kind).takes:
            continue
        if missing := missing_ports(graph, node, kind, data[name]):
            given = load_source(kind)
            raise DataError(
                f"{node.id}: the graph uses {' and '.join(map(repr, missing))} of this source, but "
                f"{data[name]}, read as {given.about}, has only "
                f"{' and '.join(map(repr, given.outputs))} ({given.op}). Disconnect these, or use "
                f"{load_source(node.kind).about}. {load_source(node.kind).remedy}"
            )
        if is_sampled(node):
            try:
                load_source(kind).with_sampler()
            except DataError as error:
                raise DataError(f"{node.id}: {error} Or reset the sampler.") from None
        graph = swap_source(graph, node, kind, data[name])
    return _with_decoders(with_data_sides(graph, data))


def with_data_sides(graph: Graph, data: Datasets) -> Graph:
    """Set the names and pairs of each follower to those that its data report (``with_sides``)."""
    read = {source.id: data.get(parameter_of(source) or "") for source in graph.sources}
    return with_sides(graph, read)


def datasets_as_read(graph: Graph, data: Datasets) -> Datasets:
    """Return the datasets with the annotations and reader options that the graph's sources use.

    Samples with faulty annotations become unusable. ``graph`` must come from ``with_datasets``.
    """
    return {name: _read_as(graph, name, each) for name, each in data.items()}


def _read_as(graph: Graph, name: str, data: Dataset) -> Dataset:
    sources = [source for source in graph.sources if parameter_of(source) == name]
    kind = sources[-1].kind if sources else ""
    if kind in load_source(data.kind).with_targets:
        data = replace(data, kind=kind)
    if not sources or not load_source(data.kind).demanding:
        return data
    options = [load_source(data.kind).options_of(source.args) for source in sources]
    return replace(data, options=tuple(dict.fromkeys(each for own in options for each in own)))


def _with_decoders(graph: Graph) -> Graph:
    """Replace ``decoders.image`` after sources whose images need a different decoder."""
    decoders = {
        source.id: load_source(source.kind).decoder for source in graph.sources if source.kind
    }
    nodes = []
    for node in graph.nodes:
        fed = next((decoders.get(port.node, "") for port in node.inputs.values()), "")
        if fed and node.op == _DECODER:
            node = _with_decoder(node, fed)
        nodes.append(node)
    changed = any(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
    return replace(graph, nodes=tuple(nodes)) if changed else graph


# Replace a source by another kind, even if one outputs encoded images and the other pixels.

_ORDERS = {"HWC": "FHWC", "CHW": "FCHW"}
"""Axis order of a sequence for each axis order of an image."""


def _with_decoder(node: Node, op: str) -> Node:
    """Replace the operator of a decoder, and remove its arguments."""
    data = next(iter(node.inputs.values()))
    return replace(
        node, op=op, args={}, inputs={load_catalog()[op].inputs[0].name: data}, device=None
    )


def swap_source(graph: Graph, source: Source, kind: str, data: Dataset | None = None) -> Graph:
    """Replace a source with a source of the kind ``kind``, which reads ``data`` if that is given.

    If the new source outputs pixels, decoders are removed and their consumers connected to the
    source; otherwise the source's decoder is added. Decoders that do more, such as cropping, are
    preserved. Options that the new reader does not support are removed. When switching between
    sequences and images, axis orders in arguments are converted.
    """
    old, new = load_source(source.kind), load_source(kind)
    if kind == source.kind:
        return graph
    same = old.op == new.op  # with options of one reader, which are unchanged
    begins = {} if same else new.start_args(data)
    removed = set() if same else old.begins.keys() - begins.keys() - _needed(graph, source, new)
    known = {*(source.args if new.options is None else new.options)} - {*SAMPLER_OPTIONS}
    known |= {*SAMPLER_OPTIONS} if new.sampled is not None else set()
    args = {n: value for n, value in source.args.items() if n in known and n not in removed}
    args.pop("features", None)
    made = replace(source, kind=kind, op=new.op, args={**begins, **args}, seed=None)
    if new.seeded:
        made = replace(made, seed=free_seed(graph) if source.seed is None else source.seed)
    nodes = [made if node == source else node for node in graph.nodes]
    (image, label), (new_image, new_label) = _roles(source, old), _roles(made, new)
    given, port = Port(source.id, image), Port(source.id, new_image)
    moved: dict[Port, Port] = {}
    if label and new_label and label != new_label:
        moved[Port(source.id, label)] = Port(source.id, new_label)
    own, wanted = old.decoder or _DECODER, new.decoder or _DECODER
    if old.pixels and not new.pixels:
        name = free_name("decode", {node.id for node in graph.walk()})
        decoder = Node(name, wanted, {}, {load_catalog()[wanted].inputs[0].name: port})
        moved[given] = Port(decoder.id, "output")
        nodes.insert(nodes.index(made) + 1, decoder)
    elif new.pixels and not old.pixels:
        for node in graph.nodes:
            if node.op == own and given in node.inputs.values():
                moved[Port(node.id, "output")] = port
                nodes.remove(node)
    elif given != port:
        moved[given] = port
    if not old.pixels and not new.pixels and own != wanted:
        nodes = [
            _with_decoder(node, wanted)
            if node.op == own and given in node.inputs.values()
            else node
            for node in nodes
        ]
    frames = new.samples_are_sequences(data)
    if (frames or old.has_sequences) and len(graph.sources) == 1:
        nodes = [_with_axis_order(node, frames=frames) for node in nodes]
    return replace(graph, nodes=tuple(nodes)).rewire(moved)


def _needed(graph: Graph, source: Source, kind: SourceKind) -> set[str]:
    """Return the reader options that enable the outputs that the graph uses."""
    read = {port.output for port in used_ports(graph) if port.node == source.id}
    outputs = load_catalog()[kind.op].outputs
    return {port.needs for port in outputs if port.needs and port.name in read}


def _with_axis_order(node: Node, *, frames: bool) -> Node:
    """Convert a node's ``output_layout`` to that of sequences (``frames``) or to that of images."""
    orders = _ORDERS if frames else {several: one for one, several in _ORDERS.items()}
    given = node.args.get("output_layout")
    if not isinstance(given, str) or given not in orders:
        return node
    return node.with_args({"output_layout": orders[given]})


def _roles(source: Source, kind: SourceKind) -> tuple[str, str]:
    """Return the names of a source's image output and label output; empty if it has none."""
    if source.op not in FEATURE_READERS:
        return kind.pixels or kind.outputs[0], "labels" if "labels" in kind.outputs else ""
    outputs = outputs_of(source, load_catalog()[source.op])
    image, label = (
        next((port.name for port in outputs if port.kind == role), "")
        for role in ("encoded", "label")
    )
    return image, label
