"""Functions of the user that do not give the same for the same input, found in their source.

DALI's operators draw from their seed, at a position that a preview can begin at. What a function
draws by itself depends on how often it ran before, and a preview runs other samples than a script.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_MODULES = ("numpy.random", "random", "secrets", "cupy.random")
_SINGLE = (
    *("os.urandom", "uuid.uuid1", "uuid.uuid4"),
    *("torch.rand", "torch.randn", "torch.randint", "torch.randperm", "torch.normal"),
    *("torch.bernoulli", "torch.multinomial", "torch.poisson", "torch.rand_like"),
    *("torch.randn_like", "torch.randint_like"),
)
_CLOCK = ("time.time", "time.time_ns", "time.perf_counter", "time.monotonic", "datetime.now")
_GENERATORS = ("default_rng", "RandomState", "Random", "Generator", "SeedSequence", "PCG64")
"""What draws the same each time where it is given a seed."""
_READING = {"get", "items", "keys", "values", "copy", "index", "count"}
REMEDY = "Let DALI draw: take the number, or a seed, as an argument fed by random.uniform."


@dataclass(frozen=True, slots=True)
class Undetermined:
    """What in a function's source gives something else at each call, and in which line of it."""

    name: str
    line: int
    text: str
    """The line."""

    @property
    def words(self) -> str:
        """What a preview cannot promise, and what can be done."""
        return (
            f"Not what the script gives: {self.name} (line {self.line}: {self.text}) is another at "
            f"each call. {REMEDY}"
        )


def undetermined(source: str) -> Undetermined | None:
    """The first place in a function that does not give the same for the same input, if any.

    It is found by name: what a function hides in another module is not seen.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [*_drawn(tree), *_kept(tree)]
    if not found:
        return None
    line, name = min(found)
    return Undetermined(name, line, source.splitlines()[line - 1].strip())


def _drawn(tree: ast.Module) -> Iterator[tuple[int, str]]:
    names = dict(_imported(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = _full_name(node.func, names)
        last = called.rpartition(".")[2]
        if last in _GENERATORS and (node.args or node.keywords):
            continue
        if called in _SINGLE or any(called.startswith(f"{module}.") for module in _MODULES):
            yield node.lineno, called
        if any(called == clock or called.endswith(f".{clock}") for clock in _CLOCK):
            yield node.lineno, called


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    yield alias.asname, alias.name
                else:
                    yield alias.name.partition(".")[0], alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _full_name(node: ast.expr, names: dict[str, str]) -> str:
    """``numpy.random.rand`` of ``np.random.rand``; empty for what no import gives."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *parts])


def _kept(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Defaults that a function changes: they live as long as it does."""
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        args = function.args
        plain = [*args.posonlyargs, *args.args]
        pairs = [*zip(reversed(plain), reversed(args.defaults), strict=False)]
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
        kept = {a.arg for a, d in pairs if isinstance(d, ast.List | ast.Dict | ast.Set | ast.Call)}
        for node in ast.walk(function):
            match node:
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) if name in kept:
                    yield node.lineno, f"its default {name}, which it changes"
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                    name in kept and attr not in _READING
                ):
                    yield node.lineno, f"its default {name}, which it changes"
