"""The values that a script's command line has where nothing is given, read from its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_FLAGS = {"store_true": False, "store_false": True}


def command_line_defaults(trees: Iterable[ast.Module]) -> dict[str, Any]:
    """By name, what ``add_argument`` says of each; those that only running would tell are left out.

    Wherever it stands: in a function, or under ``__main__``, which is not run.
    """
    found: dict[str, Any] = {}
    for tree in trees:
        constants = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                found |= dict(_default(node, constants))
    return found


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """The values of names that a top-level assignment sets and nothing else in the file does."""
    names = [
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    names += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and names.count(target.id) == 1
    }


def _default(call: ast.Call, constants: Mapping[str, ast.expr]) -> Iterator[tuple[str, Any]]:
    given = {each.arg: each.value for each in call.keywords if each.arg}
    names = [str(each.value) for each in call.args if isinstance(each, ast.Constant)]
    longest = next((each for each in names if each.startswith("--")), "".join(names[:1]))
    named = given.get("dest")
    name = named.value if isinstance(named, ast.Constant) else longest.lstrip("-")
    action = given.get("action")
    try:
        if "default" in given:
            default = given["default"]
            name_of = default.id if isinstance(default, ast.Name) else ""
            value = ast.literal_eval(constants.get(name_of, default))
        elif isinstance(action, ast.Constant):
            value = _FLAGS[str(action.value)]
        else:
            return
    except (KeyError, ValueError):
        return
    kind = getattr(given.get("type"), "id", "")
    if isinstance(value, str) and kind in ("int", "float"):  # argparse reads a text as given
        value = float(value) if kind == "float" else int(value)
    if value is not None:
        yield str(name).replace("-", "_"), value
