"""Write user functions: their definitions above the pipeline, and their calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from workbench.catalog.extra_operators.python_decoder import FUNCTION, PILLOW_DECODER, SOURCE
from workbench.catalog.extra_operators.user_functions import (
    NUMBA_FUNCTION,
    OWN_CODE,
    PLUGINS,
    PYTHON_FUNCTION,
    PYTHON_SOURCE,
)
from workbench.catalog.spec import Value
from workbench.emit.core.python import call, identifier, literal
from workbench.emit.core.record_features import imports_of_features
from workbench.errors import GraphError, GraphExportError
from workbench.graph.model import Node
from workbench.graph.user_functions.trust import is_trusted, source_problem

_FUNCTION_ALONE = ("function", "source", "num_outputs", "output_layouts", "setup_fn")
"""Arguments of a node that are not passed to ``numba_function`` as literals."""
UNCONVERTED = "do_not_convert"
"""DALI's decorator for functions that a pipeline with conditionals must not convert."""
CALLING = frozenset({*OWN_CODE, PILLOW_DECODER.name})
"""Operators that call a Python function."""


def nodes_within(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes and their nested nodes."""
    for node in nodes:
        yield node
        for body in node.bodies.values():
            yield from nodes_within(body.nodes)


def nodes_calling(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes that call a user function, including nested ones."""
    return _function_nodes(nodes_within(nodes))


def function_names(nodes: Iterable[Node]) -> list[str]:
    """Return the names that user functions define in a program: their own and their imports."""
    calling = list(_function_nodes(nodes))
    names = [str(node.args.get("function", "")) for node in calling]
    names += [str(node.args["setup_fn"]) for node in calling if "setup_fn" in node.args]
    names += [node.op for node in calling if node.op in PLUGINS]
    for statement in (each for node in calling for each in _imports_and_source(node)[0]):
        names += [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    return names


def plugin_imports(nodes: Iterable[Node]) -> list[str]:
    """Return import lines for the plugins, numba functions and features that the nodes use."""
    nodes = list(nodes)
    lines: dict[str, None] = dict.fromkeys(imports_of_features(nodes))
    for node in _function_nodes(nodes):
        if node.op in PLUGINS:
            lines[f"from {PLUGINS[node.op]} import {node.op}"] = None
        lines |= dict.fromkeys(map(ast.unparse, _imports_and_source(node)[0]))
    return sorted(lines)


def called(node: Node) -> str | None:
    """Return the function to call for a node, or None for the operator's function in ``fn``."""
    if node.op in (PILLOW_DECODER.name, PYTHON_SOURCE.name):
        return (
            "fn.external_source" if node.op == PYTHON_SOURCE.name else f"fn.{PYTHON_FUNCTION.name}"
        )
    return node.op if node.op in PLUGINS else None


def layout_calls(node: Node, names: Sequence[str], indent: str) -> list[str]:
    """Return statements that set the layouts of a numba call's outputs, which numba cannot set."""
    layouts = node.args.get("output_layouts")
    if node.op != NUMBA_FUNCTION.name or not isinstance(layouts, tuple):
        return []
    return [
        line
        for name, layout in zip(names, layouts, strict=False)
        for line in call(name, "fn.reshape", [name, f"layout={literal(layout)}"], indent)
    ]


def _imports_and_source(node: Node) -> tuple[list[ast.Import | ast.ImportFrom], str]:
    """Return the imports at the top of a numba function's code, and the rest of the code.

    For other functions, return no imports and the whole code.
    """
    source = str(node.args.get("source", ""))
    if node.op != NUMBA_FUNCTION.name or source_problem(node) is not None:
        return [], source
    body = ast.parse(source).body
    first = next(each.lineno for each in body if isinstance(each, ast.FunctionDef))
    text = "\n".join(source.splitlines()[first - 1 :])
    return [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)], text


def function_sources(nodes: Iterable[Node], unconverted: bool = False) -> str:
    """Return the code of all functions that the nodes call, each followed by two empty lines.

    If ``unconverted``, DALI does not convert the functions that create Python sources. Raises
    GraphError for untrusted or invalid code.
    """
    texts: dict[str, None] = {}
    for node in _function_nodes(nodes):
        problem = source_problem(node)
        if problem is not None or not is_trusted(node):
            reason = problem[0] if problem else "its code is not trusted"
            raise GraphError(f"{node.id}: {reason}.")
        kept = unconverted and node.op == PYTHON_SOURCE.name and node.args.get("creates")
        decorator = f"@{UNCONVERTED}\n" if kept else ""
        texts[f"{decorator}{_imports_and_source(node)[1].strip()}\n\n\n"] = None
    return "".join(texts)


def python_function_arguments(node: Node) -> list[str]:
    """Return the arguments of a ``fn.python_function`` or numba call, without the inputs."""
    node = _as_function(node)
    function = identifier(str(node.args["function"]))
    if node.op == PYTHON_SOURCE.name:
        return _source_arguments(node, function)
    if node.op == NUMBA_FUNCTION.name:
        given = [(name, node.args.get(name)) for name in NUMBA_FUNCTION.args]
        written = [
            f"{name}={literal(value, NUMBA_FUNCTION.args[name])}"
            for name, value in given
            if value is not None and name not in _FUNCTION_ALONE
        ]
        if "setup_fn" in node.args:
            written.insert(0, f"setup_fn={identifier(str(node.args['setup_fn']))}")
        return [f"run_fn={function}", *written]
    arguments = [f"function={function}", f"num_outputs={node.args.get('num_outputs', 1)}"]
    layouts = node.args.get("output_layouts")
    if layouts is not None:
        single = isinstance(layouts, tuple) and len(layouts) == 1
        arguments.append(f"output_layouts={literal(layouts[0] if single else layouts)}")  # type: ignore[index]
    if node.args.get("batch_processing"):
        arguments.append("batch_processing=True")
    return arguments


def _source_arguments(node: Node, function: str) -> list[str]:
    """Return the arguments of the ``fn.external_source`` call of a Python source."""
    arguments = [f"source={function}{'()' if node.args.get('creates') else ''}"]
    names = node.args.get("outputs")
    count = len(names) if isinstance(names, tuple) else 1
    single = count == 1 and not node.args.get("in_tuple")
    if not single:
        arguments.append(f"num_outputs={count}")
    for name in ("batch", "batch_info", "cycle", "no_copy"):
        if name in node.args:
            arguments.append(f"{name}={literal(node.args[name])}")
    for plural in ("layouts", "dtypes", "ndims"):
        given = node.args.get(plural)
        if not isinstance(given, tuple) or all(each in ("", -1) for each in given):
            continue
        texts = [literal(each) for each in given]
        if plural == "dtypes":
            texts = [f"types.{identifier(str(each or 'NO_TYPE'))}" for each in given]
        elif plural == "ndims":
            texts = [
                "None" if each == -1 else text for each, text in zip(given, texts, strict=True)
            ]
        text = texts[0] if single else f"[{', '.join(texts)}]"
        arguments.append(f"{plural.removesuffix('s')}={text}")
    if node.args.get("workers"):
        arguments.append("parallel=True")
    return arguments


def require_no_own_code(nodes: Iterable[Node], why: str) -> None:
    """Raise GraphExportError if a node calls a user function. ``why`` is part of the message."""
    for node in nodes_calling(nodes):
        raise GraphExportError(
            f"{node.id} calls the Python function {node.args.get('function')!r}, but {why}. "
            "Export the graph as a script, or remove the node."
        )


def _function_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    return (_as_function(node) for node in nodes if node.op in CALLING)


def _as_function(node: Node) -> Node:
    """Return the node, or the equivalent ``python_function`` node if it is the Pillow decoder."""
    if node.op != PILLOW_DECODER.name:
        return node
    args: dict[str, Value] = {"function": FUNCTION, "source": SOURCE, "output_layouts": ("HWC",)}
    return replace(node, op=PYTHON_FUNCTION.name, args=args)
