"""Find the arguments for the function or class that creates a pipeline.

They are the passed arguments, and otherwise the defaults. For a required parameter without a value,
the default of the script's command line option with the same name is used, and reported as assumed.
Without such an option, the user has to pass the value.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from workbench.engine.script_import.placeholders import Settings, StandIns

CONFIGURATIONS = (
    *("args", "arg", "cfg", "config", "conf", "params", "parameters", "hparams", "opt", "opts"),
    *("options", "flags", "settings"),
)
"""Usual names of parameters and variables that hold a script's settings as one object."""
_FLAGS = {"store_true": False, "store_false": True}


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Arguments of a call, including assumed values."""

    values: Mapping[str, Any]
    missing: tuple[str, ...]
    """Required parameters without a value."""
    assumed: Mapping[str, Any]
    """Assumed values of missing arguments. The call may add more when it uses settings."""
    setting: Callable[[str], Any]
    """Function that returns the value of a missing setting, by its dotted name."""


def parameters_of(maker: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a callable by name, or {} if Python cannot inspect it."""
    try:
        return dict(inspect.signature(maker).parameters)
    except (TypeError, ValueError):
        return {}


def required_by(maker: Callable[..., Any], passed: Mapping[str, Any]) -> list[str]:
    """Return the names of required parameters that are not in ``passed``."""
    return [
        name
        for name, parameter in parameters_of(maker).items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and name not in passed
    ]


def call_arguments(
    maker: Callable[..., Any],
    passed: Mapping[str, Any],
    stand_ins: StandIns,
    trees: Mapping[str, ast.Module],
) -> CallArguments:
    """Return the arguments for a call of ``maker``. ``trees`` are the files of the script."""
    settings = _Settings(stand_ins, command_line_defaults(trees.values()))
    values = {
        name: Settings(value, settings.find, name) if isinstance(value, dict) else value
        for name, value in passed.items()
    }
    missing = []
    for name in required_by(maker, passed):
        if name.lower() in CONFIGURATIONS:
            values[name] = Settings({}, settings.find, name)
        elif name in settings.defaults:
            values[name] = settings.assumed[name] = settings.defaults[name]
        else:
            missing.append(name)
    settings.assumed.update(_overridden_defaults(maker, values, trees.values()))
    return CallArguments(values, tuple(missing), settings.assumed, settings.find)


@dataclass(frozen=True, slots=True)
class _Settings:
    """Looks up settings that are missing in a configuration."""

    stand_ins: StandIns
    defaults: Mapping[str, Any]
    assumed: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Any:
        """Return the default of the command line option with this name, or a placeholder."""
        option = name.rpartition(".")[2]
        if option not in self.defaults:
            return self.stand_ins.value(name)
        self.assumed[name] = self.defaults[option]
        return self.defaults[option]


def _overridden_defaults(
    maker: Callable[..., Any], passed_arguments: Mapping[str, Any], trees: Iterable[ast.Module]
) -> dict[str, Any]:
    """Return the defaults of parameters for which a call in the script may pass a different value.

    A call with ``*args`` or ``**options`` may set any parameter that it does not pass by name.
    """
    parameters = parameters_of(maker)
    defaults = {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.default is not parameter.empty and name not in passed_arguments
    }
    found = {}
    for node in calls_of(getattr(maker, "__name__", ""), trees):
        plain = list(takewhile(lambda each: not isinstance(each, ast.Starred), node.args))
        passed = dict(zip(parameters, plain, strict=False))
        passed |= {each.arg: each.value for each in node.keywords if each.arg}
        unpacks = len(plain) < len(node.args) or any(each.arg is None for each in node.keywords)
        for name, default in defaults.items():
            is_other = ast.unparse(passed[name]) != repr(default) if name in passed else unpacks
            if is_other:
                found[name] = default
    return found


def calls_of(function: str, trees: Iterable[ast.Module]) -> Iterator[ast.Call]:
    """Yield the calls of a function in these files, including calls by attribute or alias."""
    for tree in trees:
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        aliases = [alias for node in imports for alias in node.names]
        names = {function} | {each.asname for each in aliases if each.name == function}
        modules = {each.asname or each.name.partition(".")[0] for each in aliases}
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id=name)) if name in names:
                    yield node
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                    if attr == function and name in modules:
                        yield node


def python_source(value: Any) -> str:
    """Return a value as Python code. A member of DALI's enumerations becomes ``types.NAME``."""
    member = getattr(value, "name", None)
    return f"types.{member}" if isinstance(member, str) else repr(value)


def command_line_defaults(trees: Iterable[ast.Module]) -> dict[str, Any]:
    """Return the defaults of options that these files declare with ``add_argument``, by name.

    Only literals and constants of the file are evaluated; nothing is run.
    """
    found: dict[str, Any] = {}
    for tree in trees:
        constants = _constants(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
                found |= dict(_default(node, constants))
    return found


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the values of names that are assigned only once, at the top level of the file."""
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
    if isinstance(value, str) and kind in ("int", "float"):  # argparse converts a default text
        value = float(value) if kind == "float" else int(value)
    if value is not None:
        yield str(name).replace("-", "_"), value
