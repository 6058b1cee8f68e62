"""``fn.python_function(function=f)`` of a user's script: the text of ``f``, where it can be had."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from workbench.catalog.spec import Value
from workbench.emit.pipeline_import.traced import TracedOp
from workbench.graph.function_source import definition_source

_HELD = {"function", "num_outputs", "output_layouts", "batch_processing", "device"}


def function_arguments(
    op: TracedOp, keywords: Sequence[ast.keyword], source: str
) -> dict[str, Value] | str:
    """The arguments of the node for a call, or why there is none.

    ``keywords`` are those of the call, ``source`` the script in which it stands.
    """
    given = {keyword.arg or "**": keyword.value for keyword in keywords}
    function = given.get("function")
    if not isinstance(function, ast.Name):
        return "its function is not one that the script defines by name"
    if other := given.keys() - _HELD:
        return f"a graph cannot hold its argument {sorted(other)[0]}"
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
            return f"its argument {name} is not written out"
        if name == "output_layouts":
            value = (value,) if isinstance(value, str) else tuple(value)
        args[name] = value
    return args
