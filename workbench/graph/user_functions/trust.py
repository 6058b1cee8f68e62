"""Validate user functions, and remember which source texts this process trusts.

Trust applies to a text, regardless of its origin: a text that was trusted once in this process is
trusted again when pasted or reopened, and a changed letter makes it a different text. Nothing that
is read (a file, a picture, a link, a notebook's output) is trusted automatically.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from workbench.arguments import checked
from workbench.catalog.extra_operators.python_decoder import SOURCE as DECODER_SOURCE
from workbench.catalog.extra_operators.user_functions import (
    MOST_OUTPUTS,
    NUMBA_FUNCTION,
    NUMBER_TYPES,
    OWN_CODE,
    PLUGINS,
    PYTHON_SOURCE,
)
from workbench.catalog.spec import Value
from workbench.graph.model import GRAPH, Graph, Node, is_name
from workbench.graph.model.faults import Fault
from workbench.graph.user_functions.function_source import definition_problem

_TAKEN = frozenset(
    (
        *("fn", "math", "types", "np", "os", "csv", "time", "argparse", "main", "stage", "taps"),
        *("pipeline_def", "build_pipeline", "random_state", "Any", "DataNode", "Pipeline"),
        *("build_pipelines", "in_turns", "deque", "ThreadPoolExecutor", "do_not_convert"),
        *PLUGINS,
    )
)
"""Names that an exported script defines or imports itself."""
_REMEDY = (
    "Read it. If you trust it: workbench.trust_graph(graph) or Workbench(..., trust=True) in "
    "Python, workbench --trust COMMAND in the shell. Or mute the node."
)


class _Trust:
    def __init__(self) -> None:
        self.texts = {DECODER_SOURCE}
        self.everything = False


_trust = _Trust()
_compared: ContextVar[bool] = ContextVar("compared", default=False)


def trust_source(source: str) -> None:
    """Allow a function's source code to run in the workers of this process."""
    _trust.texts.add(source)


@checked(graph=GRAPH)
def trust_graph(graph: Graph) -> Graph:
    """Allow the user functions in a graph to run, and return an equal graph.

    Continue with the returned graph. Read the functions first: they run with your permissions.
    Raises ArgumentError if ``graph`` is not a graph.

    ::

        graph = wb.trust_graph(wb.load_graph(wb.dump_graph(graph)))
    """
    for node in graph.walk():
        if _runs_code(node):
            trust_source(str(node.args.get("source", "")))
    return replace(graph)  # another object: results for the first are cached by identity


def trust_everything() -> None:
    """Trust all code. Worker processes call this, because the parent sends only trusted code."""
    _trust.everything = True


@contextmanager
def written_not_run() -> Iterator[None]:
    """Context manager that lets this thread export untrusted functions, to compare their text."""
    token = _compared.set(True)
    try:
        yield
    finally:
        _compared.reset(token)


def is_trusted(node: Node) -> bool:
    """Return whether a node's code may run. True for nodes without code."""
    if not _runs_code(node) or _trust.everything or _compared.get():
        return True
    return str(node.args.get("source", "")) in _trust.texts


def without_untrusted(graph: Graph) -> Graph:
    """Return the graph with untrusted code removed from its nodes."""
    for node in tuple(graph.walk()):
        if not is_trusted(node):
            bare = {name: value for name, value in node.args.items() if name != "source"}
            graph = graph.replace_node(replace(node, args=bare))
    return graph


def own_code_faults(node: Node, graph: Graph) -> Iterator[Fault]:
    """Report a user function that is invalid, untrusted, or has the wrong number of inputs."""
    problem = source_problem(node)
    if node.op == PYTHON_SOURCE.name:
        yield from _output_faults(node)
    if problem is not None:
        yield Fault(node.id, "source", *problem)
    elif not is_trusted(node):
        words = f"the function {node.args['function']!r} came with the graph and is not trusted"
        yield Fault(node.id, "source", words, _REMEDY, code="untrusted")
    elif (arity := _arity_problem(node)) is not None:
        yield Fault(node.id, "function", *arity)
    layouts = node.args.get("output_layouts")
    if layouts is None:
        if graph.scope_of(node.id) and node.op not in (NUMBA_FUNCTION.name, PYTHON_SOURCE.name):
            words = "inside a block DALI needs the layouts of its outputs"
            yield Fault(node.id, "output_layouts", words, "Set 'output_layouts', for example HWC.")
    elif isinstance(layouts, tuple) and len(layouts) != node.args.get("num_outputs", 1):
        words = f"{len(layouts)} layouts for {node.args.get('num_outputs', 1)} outputs"
        yield Fault(node.id, "output_layouts", words, "Set one per output.")
    if node.op == NUMBA_FUNCTION.name:
        yield from _numba_faults(node)
    for other in graph.walk():
        if other.id == node.id:
            break
        same_name = other.args.get("function") == node.args.get("function")
        if _runs_code(other) and same_name and other.args.get("source") != node.args.get("source"):
            words = f"{other.id!r} has a different function with the same name"
            yield Fault(node.id, "function", words, "Rename one of them in Python.")
            break


def _output_faults(node: Node) -> Iterator[Fault]:
    """Report names, layouts and types of outputs that a Python source cannot have."""
    names = _tuple_argument(node, "outputs")
    if wrong := next((each for each in names if not is_name(str(each))), None):
        words = f"{wrong!r} is not a Python name"
        yield Fault(node.id, "outputs", words, "Use a name such as images.")
    if len(set(names)) < len(names):
        yield Fault(node.id, "outputs", "two outputs have one name", "Use different names.")
    if len(names) > MOST_OUTPUTS:
        words = f"it has {len(names)} outputs"
        yield Fault(node.id, "outputs", words, f"Use up to {MOST_OUTPUTS}.")
    for argument in ("kinds", "layouts", "dtypes", "ndims"):
        if len(given := _tuple_argument(node, argument)) > max(1, len(names)):
            words = f"{len(given)} values for {max(1, len(names))} outputs"
            yield Fault(node.id, argument, words, "Set one per output.")
    for dtype in _tuple_argument(node, "dtypes"):
        if dtype and dtype not in NUMBER_TYPES:
            words = f"{dtype!r} is not an element type"
            yield Fault(node.id, "dtypes", words, f"Use one of: {', '.join(NUMBER_TYPES)}.")
    if node.args.get("batch_info") and node.args.get("batch") is False:
        words = "a function that returns samples receives SampleInfo"
        yield Fault(node.id, "batch_info", words, "Remove it, or set batch to True.")


def source_problem(node: Node) -> tuple[str, str] | None:
    """Return the problem and a fix if a node's code is not a valid function, else None."""
    name, source = str(node.args.get("function", "")), str(node.args.get("source", ""))
    creator = "source" if node.op == PYTHON_SOURCE.name else "node"
    remedy = f"Create the node again with workbench.{creator}."
    if not is_name(name):
        return f"{name!r} is not a Python name", remedy
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"its source cannot be read: {error}", remedy
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    body = tree.body
    names = [name]
    if node.op == NUMBA_FUNCTION.name:  # numba compiles no import in a function
        body = [each for each in body if not isinstance(each, ast.Import | ast.ImportFrom)]
        names += [str(node.args["setup_fn"])] if "setup_fn" in node.args else []
    if len(body) != len(names) or [each.name for each in functions] != names:
        text = " and ".join(map(repr, names))
        return f"its source contains something other than the function {text}", remedy
    for name, function in zip(names, functions, strict=True):
        if name in _TAKEN:
            return f"{name!r} is reserved by the script", "Rename the function."
        if function.decorator_list:
            return f"the function {name!r} has a decorator", "Remove the decorator."
        may_yield = node.op == PYTHON_SOURCE.name
        if (problem := definition_problem(function, may_yield=may_yield)) is not None:
            words, _, remedy = problem.partition(". ")
            return f"the function {name!r} {words}", remedy
    return None


def _arity_problem(node: Node) -> tuple[str, str] | None:
    """Return the problem and a fix if a function does not fit the node's inputs, else None."""
    body = ast.parse(str(node.args["source"])).body
    definition = next(each for each in body if isinstance(each, ast.FunctionDef))
    args = definition.args
    names = [each.arg for each in (*args.posonlyargs, *args.args)]
    least, fed = len(names) - len(args.defaults), len(node.inputs)
    if node.op == PYTHON_SOURCE.name:
        most = 0 if node.args.get("creates") else 1
        if least <= most and args.vararg is None:
            return None
        words = f"{definition.name!r} has the arguments {', '.join(names) or '*' + args.vararg.arg}"  # type: ignore[union-attr]
        accepted = "no argument" if most == 0 else "one argument, the number of the batch or sample"
        return words, f"The function may have {accepted}; other arguments need defaults."
    if node.op == NUMBA_FUNCTION.name:
        written, read = (len(_tuple_argument(node, name)) for name in ("out_types", "in_types"))
        if (written, read) == (len(names) - fed, fed):
            return None
        words = f"{definition.name!r} has {len(names)} arguments ({', '.join(names)}), first "
        words += f"{written} to write and then {read} to read, but the node has {fed} inputs"
        return words, "Connect as many as in_types has."
    if least <= fed and (fed <= len(names) or args.vararg is not None):
        return None
    takes = str(least) if least == len(names) else f"{least} to {len(names)}"
    words = f"{definition.name!r} accepts {takes} arrays ({', '.join(names)}), "
    words += f"but the node has {fed} inputs"
    if fed < least:
        return words, f"Connect {', '.join(f'input_{i}' for i in range(fed, least))}."
    return words, "Connect fewer inputs, or add arguments to the function."


def _tuple_argument(node: Node, name: str) -> tuple[Value, ...]:
    found = node.args.get(name)
    return found if isinstance(found, tuple) else ()


def _numba_faults(node: Node) -> Iterator[Fault]:
    for kinds, counts in (("in_types", "ins_ndim"), ("out_types", "outs_ndim")):
        if len(_tuple_argument(node, kinds)) != len(_tuple_argument(node, counts)):
            words = f"{counts} has {len(_tuple_argument(node, counts))} numbers"
            remedy = f"Use as many as {kinds} has: {len(_tuple_argument(node, kinds))}."
            yield Fault(node.id, counts, words, remedy)
    on_gpu = node.device == "gpu"
    if on_gpu and node.args.get("batch_processing"):
        words = "on the GPU numba processes one sample at a time"
        yield Fault(node.id, "batch_processing", words, "Remove it.")
    for name in ("blocks", "threads_per_block"):
        if on_gpu and len(_tuple_argument(node, name)) != 3:
            words = f"on the GPU numba requires {name!r}"
            yield Fault(node.id, name, words, "Set three numbers: x, y and z.")


def _runs_code(node: Node) -> bool:
    return node.op in OWN_CODE
