"""Import ``fn.python_function(function=f)`` of a user's script, with the code of ``f``."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.trace.traced import TracedOp
from workbench.graph.user_functions.function_source import definition_source

_HELD = {"function", "num_outputs", "output_layouts", "batch_processing", "device"}


def compiled_arguments(
    op: TracedOp, keywords: Sequence[ast.keyword], source: str
) -> dict[str, Value] | str:
    """Return the node arguments of a ``numba_function`` call, or why the call is unsupported.

    ``keywords`` and ``source`` are as in ``function_arguments``. The call must name the functions
    that DALI compiled.
    """
    if "source" in op.args:
        return dict(op.args)
    names = {
        each.arg: each.value.id
        for each in keywords
        if each.arg in ("run_fn", "setup_fn") and isinstance(each.value, ast.Name)
    }
    given = {each.arg for each in keywords}
    if "run_fn" not in names or "setup_fn" in given - names.keys():
        return "the script does not define its function by name"
    texts: list[str] = []
    for name in filter(None, map(names.get, ("run_fn", "setup_fn"))):
        found = definition_source(source, name, imports_inside=False)
        if isinstance(found, Exception):
            return str(found).rstrip(".")
        texts.append(found)
    setup = {"setup_fn": names["setup_fn"]} if "setup_fn" in names else {}
    function = {"function": names["run_fn"], "source": sources_together(*texts)}
    return {**function, **op.args, **setup}


def sources_together(*functions: str) -> str:
    """Join the code of functions, with their imports combined above them."""
    parts = [text.rpartition("\n\n\n") for text in functions if text]
    imports = dict.fromkeys(line for above, _, _ in parts for line in above.splitlines() if line)
    texts = [text.strip() for _, _, text in parts]
    return "\n\n\n".join([*(["\n".join(imports)] if imports else []), *texts]) + "\n"


def function_arguments(
    op: TracedOp, keywords: Sequence[ast.keyword], source: str
) -> dict[str, Value] | str:
    """Return the node arguments of a call of a user function, or why the call is unsupported.

    ``keywords`` are the arguments of the call, and ``source`` is the script that contains it.
    """
    given = {keyword.arg or "**": keyword.value for keyword in keywords}
    function = given.get("function")
    if not isinstance(function, ast.Name):
        return "the script does not define its function by name"
    if other := given.keys() - _HELD:
        return f"a graph does not support its argument {sorted(other)[0]}"
    if op.device != "cpu":
        return "it runs on the GPU"
    found = definition_source(source, function.id)
    if isinstance(found, Exception):
        return str(found).rstrip(".")
    args: dict[str, Value] = {
        "function": function.id,
        "source": found,
        "num_outputs": len(op.outputs),
    }
    for name in ("output_layouts", "batch_processing"):
        if name not in given:
            continue
        try:
            value = ast.literal_eval(given[name])
        except ValueError:
            return f"its argument {name} is not a literal"
        if name == "output_layouts":
            value = (value,) if isinstance(value, str) else tuple(value)
        args[name] = value
    return args
