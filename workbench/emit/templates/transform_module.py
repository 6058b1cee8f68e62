"""Convert a graph to transforms of another library, and fill a dataset template with them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from workbench.catalog.extra_operators.python_decoder import decode_with_pillow
from workbench.emit.core.code import Code, Lines
from workbench.emit.core.outputs import first_reader
from workbench.emit.core.python import INDENT, LINE, constant, literal
from workbench.emit.core.user_functions import require_no_own_code
from workbench.emit.interop.exporting.chains import (
    Chain,
    ChainExtractor,
    Choice,
    View,
    steps_in,
)
from workbench.emit.interop.exporting.source_text import lines_of
from workbench.emit.interop.exporting.transforms import Transforms, difference_sentences
from workbench.emit.interop.library import Library
from workbench.emit.templates.rendering import lines_in, render
from workbench.emit.templates.template_parts import docstring_title, warning_lines
from workbench.errors import GraphExportError
from workbench.graph.model import Graph, Node, Source
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import is_decoder
from workbench.sources import load_source
from workbench.sources.kinds.folder import LIST_IMAGES

SHARED = "transform"
"""Variable of the only transform, or of the first steps that several views have in common."""
_OF_FOLDERS = frozenset({"random_shuffle", "file_root", "initial_fill", "shuffle_after_epoch"})
"""Reader arguments that need no note in an exported program: its dataset supports them, or they
only control DALI's shuffling.
"""


def render_transforms(template: str, resolved: ResolvedGraph, library: Library) -> Code:
    """Render a graph as a library's transforms, in a dataset template.

    Raises GraphExportError for steps without an equivalent.
    """
    graph, catalog, nodes = resolved.graph, resolved.catalog, resolved.nodes
    reader = first_reader(nodes)
    require_folder(nodes, library.name)
    require_no_own_code(nodes, f"the target {library.name} runs without DALI")
    views, begin = ChainExtractor(resolved, library.name).views()
    _require_one_size(graph, views, library.name)
    if not begin or not is_decoder(catalog[begin[0].node.op]):
        node = views[0].chain[0].node.id
        raise GraphExportError(
            f"{node}: {library.name} requires that all outputs start with the same decoder. "
            "Decode once, as the first step, or export for pytorch, which runs DALI."
        )
    transforms, text = Transforms(library), Lines()
    definitions, variables, shared = _definitions(transforms, views, begin)
    for name, own in definitions.items():
        text.add(_composed(name, own))
    classes = [line for source in transforms.classes.values() for line in f"{source}\n".split("\n")]
    above = [
        line for name, made in transforms.options.items() for line in lines_of(made, f"{name} = ")
    ]
    above = [*classes, *above]
    written = "\n".join([*above, *text.text])
    expressions = {
        graph.outputs[view]: library.applied.format(variable) if variable else "photo"
        for view, variable in variables.items()
    }
    root = {"DATA": literal(reader.args["file_root"])} if "file_root" in reader.args else {}
    constants = {
        **root,
        "BATCH_SIZE": str(graph.settings.batch_size),
        "NUM_WORKERS": str(graph.settings.num_threads),
        "SEED": f'{graph.settings.seed} + int(os.environ.get("RANK", "0"))',
        **transforms.constants,
    }
    *most, last = graph.outputs
    listed = f"{', '.join(most)} and {last}" if most else last
    loop = ", ".join(graph.outputs) + ("" if most else ",")
    sample = [expressions.get(port, "label") for port in graph.outputs.values()]
    decoder = begin[0].node.args
    made = render(
        template,
        {
            "title": docstring_title(graph) + warning_lines(resolved),
            "differences": [
                "\n".join(wrap(each, LINE))
                for each in _random_value_notes(transforms, views, reader)
            ],
            "transform_imports": [*transforms.imports, *["import cv2"] * ("cv2." in written)],
            "constants": "\n".join(
                line for name, value in constants.items() for line in constant(name, value)
            ),
            "decode_with_pillow": decode_with_pillow,
            "grey": decoder.get("output_type") == "GRAY",
            "adjust_orientation": decoder.get("adjust_orientation", True),
            "list_images": LIST_IMAGES.rstrip("\n"),
            "definition": written,
            "shared": shared,
            "photo_and_label": sample == [f"{SHARED}(photo)", "label"],
            "root": bool(root),
            "shuffle": bool(reader.args.get("random_shuffle")),
            "label": "label" if sample.count("label") else "_",
            "listed": listed if len(listed) < 30 else f"the {len(graph.outputs)} outputs",
            "unpacked": loop if len(loop) < 50 else "batch",
            "returned": _return_statement(sample),
            "all_transforms": "\n".join(
                lines_of([*definitions], "transforms = ", indent=INDENT)
            ).lstrip(),
        },
    )
    return Code(made, lines_in(made, written, text.shifted(len(above))))


def transform_notes(resolved: ResolvedGraph, library: Library) -> list[str]:
    """Return the differences between the transforms and DALI, for the program's docstring."""
    views, begin = ChainExtractor(resolved, library.name).views()
    transforms = Transforms(library)
    _definitions(transforms, views, begin)
    return _random_value_notes(transforms, views, first_reader(resolved.nodes))


def _random_value_notes(transforms: Transforms, views: Sequence[View], reader: Node) -> list[str]:
    library = transforms.library
    shuffled = "The order of photos and random" if reader.args.get("random_shuffle") else "Random"
    notes = [f"{shuffled} values are not DALI's; the values come from the same ranges."]
    if library.channels_first and any(view.flow.layout != "CHW" for view in views):
        notes.append("Images are (C, H, W); the pipeline's are (H, W, C).")
    return notes + difference_sentences(library.name, [*transforms.cases], [*transforms.notes])


def _definitions(
    transforms: Transforms, views: Sequence[View], begin: Chain
) -> tuple[dict[str, Transforms], dict[str, str], bool]:
    """Return transforms by variable, each view's variable, and True if ``SHARED`` precedes them.

    Identical views share one transform. Views without steps of their own have no transform.
    """
    written = {view.name: transforms.of(view.chain) for view in views}
    alike = all(own.made == written[views[0].name].made for own in written.values())
    if alike and len(begin) == 1:
        both = transforms.of(begin + views[0].chain)
        return {SHARED: both}, dict.fromkeys(written, SHARED), False
    head = transforms.of(begin)
    definitions, variables = {SHARED: head} if head.made else {}, {}
    for name, own in written.items():
        same = [variable for variable, it in definitions.items() if it.made == own.made]
        several = sum(own.made == other.made for other in written.values()) > 1
        variable = f"{re.sub(r'_[0-9]+$', '', name) if several else name}_transform"
        if variable in definitions and not same:
            variable = f"{name}_transform"
        variables[name] = same[0] if same else variable if own.made else ""
        if own.made:
            definitions.setdefault(variables[name], own)
    return definitions, variables, bool(head.made)


def _return_statement(sample: Sequence[str]) -> str:
    """Return a statement, indented by eight spaces, that returns a dataset's sample."""
    if len(sample) == 1:
        return f"return ({sample[0]},)"
    inner = ", ".join(sample)
    if len(f"{INDENT * 2}return {inner}") <= LINE:
        return f"return {inner}"
    each = "".join(f"{INDENT * 3}{item},\n" for item in sample)
    return f"return (\n{each}{INDENT * 2})"


def _composed(name: str, transforms: Transforms) -> Lines:
    """Return the code that defines the composed transform, with the line range of each node."""
    composed = transforms.library.composed(transforms.made)
    made = Lines(lines_of(composed, f"{name} = "))
    places = [range(len(made.text))] * len(transforms.made)
    if len(made.text) > 3 and len(transforms.made) > 1:  # one or more lines for each
        end = 2
        for at, item in enumerate(transforms.made):
            begin, end = end, end + len(lines_of(item, "", ",", INDENT * 2))
            places[at] = range(begin, end)
    for step, at in transforms.steps:
        for node in [step, *(steps_in(step) if isinstance(step, Choice) else ())]:
            first = made.nodes.get(node.node.id, places[at])
            made.nodes[node.node.id] = range(first.start, places[at].stop)
    return made


def require_folder(nodes: Sequence[Node], target: str) -> None:
    """Raise GraphExportError unless the data is a folder with one subfolder per class."""
    sources = [node for node in nodes if isinstance(node, Source)]
    if len(sources) > 1:
        raise GraphExportError(
            f"{sources[1].id}: {target} reads one folder of photos, but the graph has "
            f"{len(sources)} sources. Keep one, or export for pytorch, which runs DALI."
        )
    for source in sources:
        if source.op != "readers.file":
            raise GraphExportError(
                f"{source.id}: {target} reads a folder of photos, but the source is {source.op}. "
                "Use a folder, or export for pytorch, which runs DALI."
            )
        kind, _, argument = source.kind.partition(":")
        if kind not in ("", "folder") or argument == "file_list":
            raise GraphExportError(
                f"{source.id}: {target} reads a folder of images, but the source is a "
                f"{load_source(source.kind).about}. Use a folder, or export for pytorch, which "
                "runs DALI."
            )
        if unlike := source.args.keys() - _OF_FOLDERS:
            name = min(unlike)
            raise GraphExportError(
                f"{source.id}.{name}: {target} reads a folder with one subfolder per class and "
                f"does not support {name!r}. Reset {name!r}, or export for pytorch, which runs "
                "DALI."
            )


def _require_one_size(graph: Graph, views: Sequence[View], target: str) -> None:
    """Raise GraphExportError if images differ in size, so that they cannot form a batch."""
    for view in views:
        shape = view.flow.shape
        if shape is None or None in shape:
            raise GraphExportError(
                f"{graph.outputs[view.name].node}: {target} makes one tensor per batch, but "
                f"{view.name!r} may have images of different sizes. Resize or crop them."
            )
