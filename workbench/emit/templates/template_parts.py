"""Compute the values for the program templates: the pipeline function, and the code around it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import Catalog
from workbench.emit.core import bad_files
from workbench.emit.core.code import Lines
from workbench.emit.core.epoch_shuffle import require_checkpointing, shuffles_after_epoch
from workbench.emit.core.outputs import output_sentences
from workbench.emit.core.policies import IMPORTS as POLICY_IMPORTS
from workbench.emit.core.policies import MODULES, has_policy
from workbench.emit.core.python import INDENT, LINE, constant, signature
from workbench.emit.core.seed_sequence import pipeline_seed_is_enough
from workbench.emit.core.user_functions import (
    UNCONVERTED,
    function_names,
    plugin_imports,
)
from workbench.emit.core.views import view_functions
from workbench.emit.emitter import Emitter
from workbench.graph.execution.dataset_parameters import data_constants, parameters
from workbench.graph.execution.pipelines import SHARD_SEED
from workbench.graph.model import Graph, Node, Settings
from workbench.graph.resolved import ResolvedGraph
from workbench.sources import SourceKind


@dataclass(frozen=True, slots=True)
class Parameter:
    """A data parameter of the program."""

    name: str
    about: str
    """Short description of the kind of data."""
    metavar: str
    in_memory: bool
    """True if the parameter names a Python function, not a path."""


@dataclass(frozen=True, slots=True)
class TemplateParts:
    """Values for every template. Texts have no final line break unless stated otherwise."""

    title: str
    """Name and description of the graph, wrapped and escaped for a docstring."""
    file: str
    """File name of the program, quoted for a shell in a docstring, or "" for the default."""
    constants: str
    finder: str
    """Code of the functions that find the data, each followed by two empty lines."""
    parameters: Sequence[Parameter]
    """Data parameters. There are none if the graph itself names the files."""
    remarks: str
    """Docstring paragraphs on warnings about the graph, and on how the program reads its data."""
    definition: str
    """Code of the pipeline function, or of the target's equivalent."""
    function: str
    """Name of the pipeline function."""
    lines: Mapping[str, range]
    """Line numbers of each node in ``definition`` (from 0)."""
    pipeline_imports: Sequence[str]
    """Imports that the pipeline function needs in addition to ``fn``."""
    finder_imports: Sequence[str]
    """Imports that ``finder`` needs."""
    pipeline_seeded: bool
    """True if the pipeline has a seed, from which DALI derives the seeds of its operators."""
    pipeline_arguments: Sequence[str]
    """Pipeline arguments that Python readers require."""
    needs_gpu: bool
    """True if the program requires a GPU even if it decodes on the CPU."""
    several: bool
    """True if several pipelines run in parallel."""
    shard_seed: str
    """Code of the difference between the seeds of two shards."""
    prefetch: str
    """Prefetch queue depth, as code, or an empty string for DALI's default."""
    takes_seed: bool
    """True if the pipeline function has a seed parameter; False if the pipeline's seed suffices."""
    legacy: bool
    """True if the pipeline uses an executor other than DALI's default."""
    validation: str
    """Code of the validation pipeline function and two empty lines, or "" if there is none."""
    validation_function: str
    """Name of the validation pipeline function."""
    fed: str
    """Id of the first Python source, whose end is the end of an epoch, or "" if there is none."""
    lifted: Mapping[str, str]
    """Values, as code, of the constants for values of nodes, by constant name."""
    helpers: frozenset[str]
    """Names of the functions of ``emit/annotations/helpers.py`` that the definition calls."""


_SEED_COMMENT = "  # operators get SEED + 1, + 2, ...: adding one does not change the others"
_DEFAULT_DEPTH = 2
"""DALI's default value of ``prefetch_queue_depth``."""
_TYPES = "from nvidia.dali import types"
_SHARD = "shard_id: int, num_shards: int"
FED = "One epoch ends where the Python source ends."
"""Docstring sentence of a pipeline that a Python source feeds."""
SHARD = "One shard, padded at its end: no epoch reaches into the next one."
"""Docstring sentence that marks a pipeline of one shard, so that an import recognises it."""
PADDED_SHARD = "One shard, padded at its end, as the whole is: no epoch reaches into the next."
"""Sentence used instead of ``SHARD`` if the graph's own readers pad."""
HIDDEN_FOLDERS = """

DALI reads hidden folders such as .ipynb_checkpoints as classes: remove them first."""
"""Docstring paragraph of a program that passes ``file_root`` to its reader."""
BESIDE = """

Bad files are skipped: the program reads the others in GOOD_DATA, next to itself.
`workbench export --skip-bad` wrote both."""
"""Docstring paragraph of a program that reads data from a folder next to the program."""


_PACKAGES = {"from PIL import": "Pillow", "import yaml": "PyYAML"}
"""Name of each package that code imports in addition to DALI, by import statement."""


def pipeline_parts(
    resolved: ResolvedGraph,
    *,
    sharded: bool = False,
    taken: Sequence[str] = (),
    validation: ResolvedGraph | None = None,
    known: Mapping[str, str] | None = None,
    about: str = "",
) -> TemplateParts:
    """Return the template values of a graph that is written as a pipeline function.

    If ``sharded``, the function reads shard ``shard_id`` of ``num_shards``, and ``about`` or a
    default sentence describes this. ``taken`` are additional reserved names. ``validation`` becomes
    a second function, and ``known`` are constants that the module already defines.
    """
    graph, catalog, ordered = resolved.graph, resolved.catalog, resolved.nodes
    require_checkpointing(ordered)
    emitter = Emitter(resolved, ordered, lift=True, sharded=sharded, taken=taken, known=known)
    function = function_name(graph)
    given = parameters(ordered)
    while function in given or function in function_names(
        emitter.every_node()
    ):  # which would shadow it
        function += "_"
    # If the pipeline has its own seed, the parameter needs another name.
    policies = policy_imports(emitter.every_node(), catalog)
    emitter.seed_name = "base_seed" if policies else "seed"
    if pipeline_seed_is_enough(graph, catalog, ordered):
        emitter.seed_name = ""
    own = [f"{emitter.seed_name}: int"] if emitter.seed_name else []
    signed = [*(f"{name}: str" for name in given), "device: str", *own, *[_SHARD] * sharded]
    views, steps = view_functions(emitter)
    lists = [
        name for name, kind in data_constants(ordered).items() if kind.argument_name == "file_list"
    ]
    head = [
        *views.text,
        *(f"@naming_bad_files({name})" for name in lists),
        pipeline_decorator(ordered),
        *signature(function, ", ".join(signed)),
    ]
    if sharded:
        padded = any(node.args.get("pad_last_batch") for node in ordered)
        about = about or FED * any(node.op == PYTHON_SOURCE.name for node in ordered)
        head.append(f'{INDENT}"""{about or (PADDED_SHARD if padded else SHARD)}"""')
    body, lines = body_of(emitter, steps, len(head))
    lines |= views.nodes
    tail = return_statement([emitter.names[port] for port in graph.outputs.values()])
    definition = [*head, *body, *tail]
    if validation is None:
        parts = make_parts(emitter, definition, function, lines)
        if not lists:
            return parts
        return replace(
            parts,
            finder=f"{parts.finder}{bad_files.SOURCE}\n\n",
            finder_imports=[*parts.finder_imports, *bad_files.IMPORTS],
        )
    second = pipeline_parts(
        replace(validation, graph=replace(validation.graph, name="validation")),
        sharded=sharded,
        taken=(*taken, function),
        known=emitter.constants,
        about="One shard in file order, without random augmentation.",
    )
    emitter.helpers |= second.helpers
    parts = make_parts(emitter, definition, function, lines, second.lifted)
    return replace(
        parts,
        validation=f"{second.definition}\n\n\n",
        validation_function=second.function,
    )


def body_of(
    emitter: Emitter, nodes: Sequence[Node], first: int
) -> tuple[list[str], dict[str, range]]:
    """Return the code of the nodes, and the line numbers of each node, counted from ``first``."""
    made = Lines()
    for node in nodes:
        made.add(emitter.node_lines(node))
    return made.text, made.shifted(first)


def has_blocks(nodes: Sequence[Node]) -> bool:
    """Return True if any node is a block."""
    return any(node.bodies for node in nodes)


def needs_conditionals(nodes: Sequence[Node]) -> bool:
    """Return True if operators are selected per sample, in a block or a DALI function."""
    return has_blocks(nodes) or any(node.op in AUTO_AUGMENT for node in nodes)


def pipeline_decorator(nodes: Sequence[Node]) -> str:
    """Return DALI's decorator for the pipeline function."""
    options = {
        "enable_conditionals": needs_conditionals(nodes),
        "enable_checkpointing": shuffles_after_epoch(nodes),
    }
    given = ", ".join(f"{name}=True" for name, needed in options.items() if needed)
    return f"@pipeline_def({given})" if given else "@pipeline_def"


def make_parts(
    emitter: Emitter,
    definition: Sequence[str],
    function: str,
    lines: Mapping[str, range],
    more: Mapping[str, str] | None = None,
) -> TemplateParts:
    """Return the template values for a pipeline function. ``more`` are additional constants."""
    graph, settings = emitter.graph, emitter.graph.settings
    given = parameters(emitter.ordered)
    kinds = list(dict.fromkeys([*given.values(), *data_constants(emitter.ordered).values()]))
    found = [kind for kind in kinds if not kind.argument_name]
    modules = sorted({module for kind in kinds for module in kind.imports})
    file = emitter.resolved.file
    constants = {
        "BATCH_SIZE": str(settings.batch_size),
        "NUM_THREADS": str(settings.num_threads),
        **({"PIPELINES": str(settings.pipelines)} if settings.pipelines > 1 else {}),
        "DEVICE": f'"{settings.device}"',
        "SEED": f"{settings.seed}{_SEED_COMMENT * bool(emitter.seed_name)}",
        **emitter.constants,
        **(more or {}),
    }
    code = "\n".join(definition)
    conditional = needs_conditionals(emitter.ordered)
    plugins = plugin_imports(emitter.every_node())
    imports = policy_imports(emitter.every_node(), emitter.catalog)
    fed = [node for node in emitter.ordered if node.op == PYTHON_SOURCE.name]
    workers = max((int(str(node.args.get("workers", 0))) for node in fed), default=0)
    needs_gpu = any(node.device in ("gpu", "mixed") for node in emitter.every_node())
    helpers = emitter.helper_functions()
    uses_any = any("Any" in text for text in (*(kind.find_source for kind in found), helpers))
    uses_math = "math." in helpers or any(map(emitter.calls_math, emitter.every_node()))
    uses_types = any("types." in text for text in (*definition, helpers))
    pipeline_imports = [*imports, *plugins]
    if uses_types:
        pipeline_imports.append(_TYPES)
    if "DataNode" in helpers:
        pipeline_imports.append("from nvidia.dali.data_node import DataNode")
    if uses_math:
        pipeline_imports.append("from nvidia.dali import math")
    # DALI converts functions that a pipeline with conditionals calls.
    decorator = "@do_not_convert\n" if conditional else ""
    finder_imports = [f"import {module}" for module in modules]
    if uses_any:
        finder_imports.append("from typing import Any")
    functions = emitter.functions()
    if conditional and (found or f"@{UNCONVERTED}" in functions):
        finder_imports.append("from nvidia.dali.pipeline import do_not_convert")
    if any("types." in kind.find_source for kind in kinds):
        finder_imports.append(_TYPES)
    finder = "".join(f"{kind.decorated_source(decorator, code)}\n\n" for kind in found) + functions
    remarks = warning_lines(emitter.resolved) + _data_remarks(kinds, finder)
    remarks += BESIDE * bool(emitter.resolved.beside)
    reads_hidden = any(f"file_root={name}" in line for name in given for line in definition)
    remarks += HIDDEN_FOLDERS * reads_hidden
    return TemplateParts(
        title=docstring_title(graph)
        + f"\n\n{_in_docstring(output_sentences(emitter.resolved))}{remarks}",
        remarks=remarks,
        file=_quoted_in_docstring(file) if file else "",
        constants="\n".join(
            line for name, text in constants.items() for line in constant(name, text)
        ),
        finder=finder,
        parameters=[
            Parameter(name, kind.about, kind.metavar, kind.in_memory)
            for name, kind in given.items()
        ],
        definition=code,
        function=function,
        lines=lines,
        pipeline_imports=pipeline_imports,
        finder_imports=finder_imports,
        pipeline_seeded=bool(imports) or not emitter.seed_name,
        pipeline_arguments=[
            *(each for kind in kinds for each in kind.pipeline_arguments),
            *([f"py_num_workers={workers}"] if workers else []),
        ],
        needs_gpu=needs_gpu,
        several=settings.pipelines > 1,
        shard_seed=f"{SHARD_SEED:_}",
        prefetch=_prefetch_text(settings),
        legacy=settings.executor != "dynamic",
        takes_seed=bool(emitter.seed_name),
        validation="",
        validation_function="",
        fed=fed[0].id if fed else "",
        lifted=emitter.constants,
        helpers=frozenset(emitter.helpers),
    )


def _prefetch_text(settings: Settings) -> str:
    depth = settings.prefetch_queue_depth
    if settings.executor != "separate":
        return str(depth) if depth != _DEFAULT_DEPTH else ""
    return f'{{"cpu_size": {2 * depth}, "gpu_size": {depth}}}'


def policy_imports(nodes: Iterable[Node], catalog: Catalog) -> list[str]:
    """Return the import lines of automatic augmentation, or an empty list if no node uses it."""
    nodes = list(nodes)
    modules = {catalog[node.op].module for node in nodes} - {""}
    own = any(map(has_policy, nodes))
    modules |= {*MODULES} if own else set()
    lines = [f"from nvidia.dali.auto_aug import {', '.join(sorted(modules))}"] if modules else []
    return [*lines, *(POLICY_IMPORTS if own else ())]


def function_name(graph: Graph) -> str:
    """Return the name of the pipeline function, derived from the graph's name."""
    if graph.name == Graph().name:
        return "image_pipeline"
    name = re.sub(r"[^0-9a-zA-Z]+", "_", graph.name).strip("_").lower()[:60]
    if not name or name[0].isdigit() or name == "build":  # build_pipeline exists already
        return f"pipeline_{name}".rstrip("_")
    return f"{name}_pipeline"


def docstring_title(graph: Graph) -> str:
    """Return the graph's description or, without one, its name, wrapped for a docstring."""
    named = graph.name if graph.name != Graph().name else ""
    return _in_docstring(graph.about or named) or "An image pipeline in NVIDIA DALI."


def warning_lines(resolved: ResolvedGraph) -> str:
    """Return a docstring paragraph for each warning about a graph and its data."""
    return "".join(f"\n\n{_in_docstring(f'Warning: {each}')}" for each in resolved.warnings)


def _data_remarks(kinds: Sequence[SourceKind], finder: str) -> str:
    """Return docstring paragraphs on packages that ``finder`` needs, and on unchecked data."""
    needed = " and ".join(name for words, name in _PACKAGES.items() if words in finder)
    texts = [f"Reading the data also needs {needed}."] if needed else []
    texts += dict.fromkeys(kind.program_note for kind in kinds if kind.program_note)
    return "".join(f"\n\n{_in_docstring(text)}" for text in texts)


def _in_docstring(text: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in text[:2000]).replace('"', "'")
    lines = [line.replace("\\", "\\\\") for line in wrap(" ".join(text.split()), LINE - 3)]
    return "\n".join(lines)


def _quoted_in_docstring(name: str) -> str:
    """Quote a file name for a shell command that is shown in a docstring."""
    shown = "".join(c if c.isprintable() else "?" for c in shlex.quote(name))
    return shown.replace("\\", "\\\\").replace('"', '\\"')


def return_statement(names: Sequence[str]) -> list[str]:
    """Return the lines of a statement that returns ``names`` as a tuple."""
    if len(names) == 1:
        return [f"{INDENT}return ({names[0]},)"]
    line = f"{INDENT}return {', '.join(names)}"
    if len(line) <= LINE:
        return [line]
    return [f"{INDENT}return (", *(f"{INDENT * 2}{name}," for name in names), f"{INDENT})"]
