"""What exported modules share: the pipeline function and the text around it.

A target is a template in which ``$definition``, ``$constants`` and the other fields of ``Parts``
stand for these. Where a whole line may be missing, its placeholder stands before the next line.
What stands in ``«`` and ``»`` is for graphs that find their files in a folder; the others are
emitted without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from textwrap import wrap

from workbench.catalog.spec import Catalog
from workbench.emit.python import INDENT, LINE, constant
from workbench.emit.source import Emitter, Source, reads_data
from workbench.graph.check import require_sound
from workbench.graph.model import Graph, Node, ancestors, topological

IMAGES = (
    *(".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff"),
    *(".pnm", ".ppm", ".pgm", ".pbm", ".jp2", ".webp"),
)
"""What DALI's file reader takes for images (its ``file_filters``, without the sounds)."""

FIND_FILES = f'''\
IMAGES = (
    {", ".join(f'"{suffix}"' for suffix in IMAGES[:8])},
    {", ".join(f'"{suffix}"' for suffix in IMAGES[8:])},
)  # fmt: skip


def find_files(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders, or for one flat folder of images."""
    entries = [entry for entry in os.scandir(data) if not entry.name.startswith(".")]
    if any(entry.is_dir() for entry in entries):
        return {{"file_root": data}}
    files = sorted(e.name for e in entries if e.name.lower().endswith(IMAGES))
    return {{"file_root": data, "files": files, "labels": [0] * len(files)}}
'''


@dataclass(frozen=True, slots=True)
class Parts:
    """Text of an exported module; each field ends without a line break unless it says so."""

    title: str
    """The graph's name and description, wrapped and safe inside a docstring."""
    constants: str
    finder: str
    """``find_files`` and two empty lines after it, or nothing where the graph names its files."""
    definition: str
    """The pipeline function (or what a target makes of it)."""
    function: str
    """Its name."""
    lines: Mapping[str, range]
    """For each node its lines in ``definition``, from 0."""
    imports: str
    """What to import from ``nvidia.dali`` besides ``fn`` and ``pipeline_def``."""
    math: str
    """The same for ``math``, which stands between these two."""
    os: str
    """``import os`` and a line break, where ``find_files`` needs it."""
    any: str
    """The import of ``Any``, likewise."""
    prefetch: str
    device_id: str
    """The GPU that the pipeline runs on; None where it decodes on the CPU."""


_SIGNATURE = "device: str, base_seed: int"
_SHARD = "shard_id: int, num_shards: int"
_OF_A_FOLDER = re.compile(r"^«([^»]*)»(\n)|«([^»]*)»", re.MULTILINE)
"""What a template says of the folder that a program is given, a whole line or a part of one."""


def needs(packages: str) -> str:
    """The end of the ``try`` around a module's imports, which names what to install."""
    message = f'f"{{error}}. Needed: {packages}."'
    line = f"    raise ImportError({message}) from None"
    if len(line) > LINE:
        line = f"    raise ImportError(\n        {message}\n    ) from None"
    return f"except ImportError as error:\n{line}\n"


def pipeline_parts(
    graph: Graph, catalog: Catalog, *, sharded: bool = False, taken: Sequence[str] = ()
) -> Parts:
    """The graph as a pipeline function. Raises GraphFaultsError where it cannot run.

    ``sharded`` makes it read the part ``shard_id`` of ``num_shards``; ``taken`` are names that the
    module uses otherwise.
    """
    ordered = reached_nodes(graph, catalog)
    emitter = Emitter(graph, catalog, ordered, lift=True, sharded=sharded, taken=taken)
    function = function_name(graph)
    parameters = ["data: str"] * reads_data(ordered) + [_SIGNATURE] + [_SHARD] * sharded
    head = ["@pipeline_def", *signature(function, ", ".join(parameters))]
    if sharded:
        head.append(
            f'{INDENT}"""One shard, padded at its end: no epoch reaches into the next one."""'
        )
    body, lines = node_lines(emitter, ordered, len(head))
    tail = returned([emitter.names[port] for port in graph.outputs.values()])
    return make_parts(emitter, [*head, *body, *tail], function, lines)


def reached_nodes(graph: Graph, catalog: Catalog) -> list[Node]:
    """The nodes that lead to an output, in running order. Raises GraphFaultsError."""
    require_sound(graph, catalog)
    wanted = ancestors(graph, list(graph.outputs.values()))
    return [node for node in topological(graph)[0] if node.id in wanted]


def node_lines(
    emitter: Emitter, nodes: Sequence[Node], first: int
) -> tuple[list[str], dict[str, range]]:
    """The lines of some nodes, and for each node its own, counted from ``first``."""
    body: list[str] = []
    lines: dict[str, range] = {}
    for node in nodes:
        made = emitter.node_lines(node)
        lines[node.id] = range(first + len(body), first + len(body) + len(made))
        body += made
    return body, lines


def make_parts(
    emitter: Emitter,
    definition: Sequence[str],
    function: str,
    lines: Mapping[str, range],
    more: Mapping[str, str] | None = None,
) -> Parts:
    """Everything that follows from the definition; ``more`` are further constants."""
    graph, settings = emitter.graph, emitter.graph.settings
    finds_files = reads_data(emitter.ordered)
    constants = {
        "BATCH_SIZE": str(settings.batch_size),
        "NUM_THREADS": str(settings.num_threads),
        "DEVICE": f'"{settings.device}"',
        "SEED": str(settings.seed),
        **emitter.constants,
        **(more or {}),
    }
    needs_gpu = any(node.device in ("gpu", "mixed") for node in emitter.ordered)
    return Parts(
        title=title(graph),
        constants="\n".join(
            line for name, text in constants.items() for line in constant(name, text)
        ),
        finder=f"{FIND_FILES}\n\n" if finds_files else "",
        definition="\n".join(definition),
        function=function,
        lines=lines,
        math=", math" if any(map(emitter.calls_math, emitter.ordered)) else "",
        imports=", types" if any("types." in line for line in definition) else "",
        os="import os\n" if finds_files else "",
        any="from typing import Any\n" if finds_files else "",
        prefetch=str(settings.prefetch_queue_depth),
        device_id="0" if needs_gpu else '0 if device == "mixed" else None',
    )


def fill(template: str, parts: Parts, **more: str) -> Source:
    """The template with its placeholders replaced, and the lines of each node in it.

    Where the graph names its files itself, the program is given no folder.
    """
    template = _OF_A_FOLDER.sub(r"\1\2\3" if parts.finder else "", template)
    values = {name: getattr(parts, name) for name in Parts.__slots__} | more
    head, mark, tail = template.partition("$definition")
    before = Template(head).substitute(values)
    first = before.count("\n") + 1
    return Source(
        f"{before}{parts.definition if mark else ''}{Template(tail).substitute(values)}",
        {node: range(r.start + first, r.stop + first) for node, r in parts.lines.items()},
    )


def function_name(graph: Graph) -> str:
    """The graph's name as the name of the pipeline function."""
    name = re.sub(r"[^0-9a-zA-Z]+", "_", graph.name).strip("_").lower()[:60]
    if not name or name[0].isdigit() or name == "build":  # there is a build_pipeline already
        return f"pipeline_{name}".rstrip("_")
    return f"{name}_pipeline"


def title(graph: Graph) -> str:
    """Name and description, wrapped, as the beginning of a docstring."""
    text = f"{graph.name}: {graph.about}" if graph.about else graph.name
    text = "".join(c if c.isprintable() else " " for c in text[:2000]).replace('"', "'")
    lines = [line.replace("\\", "\\\\") for line in wrap(" ".join(text.split()), LINE - 3)]
    return "\n".join(lines) or "A pipeline."


def signature(function: str, parameters: str, returns: str = "tuple[DataNode, ...]") -> list[str]:
    """``def function(parameters) -> returns:`` on as few lines as fit."""
    line = f"def {function}({parameters}) -> {returns}:"
    if len(line) <= LINE:
        return [line]
    if len(INDENT + parameters) <= LINE:
        return [f"def {function}(", INDENT + parameters, f") -> {returns}:"]
    each = (f"{INDENT}{parameter}," for parameter in parameters.split(", "))
    return [f"def {function}(", *each, f") -> {returns}:"]


def returned(names: Sequence[str]) -> list[str]:
    """``return names`` as a tuple."""
    if len(names) == 1:
        return [f"{INDENT}return ({names[0]},)"]
    line = f"{INDENT}return {', '.join(names)}"
    if len(line) <= LINE:
        return [line]
    return [f"{INDENT}return (", *(f"{INDENT * 2}{name}," for name in names), f"{INDENT})"]
