"""What automatic augmentation draws, so that a preview can begin at any batch.

DALI draws inside these functions, without seeds of their own (one seed for all their draws, which
is what they offer, makes them depend on each other). So the draws are made beforehand, with the
seeds that DALI would hand out in the script, and handed in where the functions draw.

Runs inside the worker process only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from workbench.catalog.own_operators.auto_augment import (
    AUTO_AUGMENT,
    OWN_POLICY,
    WITHOUT_TRANSLATION,
)
from workbench.emit.core.code import Code
from workbench.emit.core.policies import policy_module
from workbench.emit.core.seed_sequence import drawn_seeds
from workbench.emit.templates.automatic_draws import Draw, Draws
from workbench.emit.templates.draw_order import emit_draw_order
from workbench.engine.build.pipelines import CompiledSource
from workbench.graph.checks.check import stopping_faults
from workbench.graph.execution.active import active_graph
from workbench.graph.model import Node
from workbench.graph.resolved import ResolvedGraph

_DRAWING = ("rand_augment", "trivial_augment", "auto_augment", "core._augmentation")
"""The modules of ``nvidia.dali.auto_aug`` that call ``fn.random.uniform``."""
_KEPT = 32
POLICY_OPS = ("auto_augment", OWN_POLICY)
"""What gives each sample one of several sub-policies."""

IDENTITY = "identity"
"""The augmentation that changes nothing: what a sample has that got none."""


def automatic_draws(resolved: ResolvedGraph) -> Mapping[str, Draws]:
    """For each automatic augmentation of a graph what it draws, by the node's id.

    One entry for each time that the script calls it, in order: a loop calls it several times. What
    no script calls, in a graph with faults too, draws from any seeds.
    """
    graph, catalog = resolved.graph, resolved.catalog
    nodes = [node for node in graph.walk() if catalog[node.op].module]
    if not nodes:
        return {}
    uniforms = {node.id: uniforms_of(node) for node in nodes}
    active = active_graph(graph, catalog)
    seeds: Mapping[str, list[Mapping[int, int]]] = {}
    called = any(catalog[node.op].module for node in active.walk())
    if called and not stopping_faults(graph, catalog):
        held = tuple((node, held_order(drawn)) for node, drawn in uniforms.items())
        source = emit_draw_order(resolved.of(active))
        seeds = _seeds(source, graph.settings.seed, held, catalog.seeded_schemas)
    spare = dict(enumerate(drawn_seeds(graph.settings.seed)))
    return {
        node: tuple(
            tuple(Draw(each.arguments, call.get(place, 0)) for place, each in enumerate(drawn))
            for call in seeds.get(node, [spare])
        )
        for node, drawn in uniforms.items()
    }


class Uniform(NamedTuple):
    """One call of ``fn.random.uniform``."""

    arguments: str
    """As source, without the seed."""
    held: int | None
    """Its place among those of the same call when DALI holds them; None where nothing uses it."""


def uniforms_of(node: Node) -> list[Uniform]:
    """The draws that a call makes, in its order.

    As DALI 2.4 has them in ``auto_aug``, with the lengths of the suite that the node names.
    """
    sign = "values=[0, 1], dtype=types.INT32"
    if node.op in POLICY_OPS:
        policy = policy_of(node)
        most = max(map(len, policy.sub_policies))
        signed = any(each.randomly_negate for each in policy.augmentations.values())
        count = len(policy.sub_policies)
        return [
            Uniform(f"range=[0, 1], shape=({most},), dtype=types.FLOAT", 0),
            Uniform(f"values=list(range({count})), dtype=types.INT32", 1),
            *[Uniform(f"{sign}, shape=({most},)", 2)] * signed,
        ]
    suite = suite_of(node)
    operation = f"values=list(range({len(suite)})), dtype=types.INT32"
    chosen = 0 if len(suite) > 1 else None
    signed = any(each.randomly_negate for each in suite)
    if node.op == "trivial_augment_wide":
        bins = argument_of(node, "num_magnitude_bins")
        used = any(each.mag_range is not None for each in suite)
        return [
            Uniform(f"values=list(range({bins})), dtype=types.INT32", 1 if used else None),
            *[Uniform(sign, 2)] * signed,
            Uniform(operation, chosen),
        ]
    count = int(str(node.args.get("n", 0)))
    if count == 0:
        return []
    shape = "()" if count == 1 else f"({count},)"
    return [
        Uniform(f"{operation}, shape={shape}", chosen),
        *[Uniform(f"{sign}, shape={shape}", 1)] * signed,
    ]


def held_order(drawn: Sequence[Uniform]) -> tuple[int, ...]:
    """The places of the draws in the call, in the order in which DALI holds them."""
    held = {each.held: place for place, each in enumerate(drawn) if each.held is not None}
    return tuple(held[place] for place in sorted(held))


def argument_of(node: Node, name: str) -> Any:
    """The value of an argument, or DALI's own where the node gives none."""
    return node.args.get(name, AUTO_AUGMENT[node.op].args[name].default)


def suite_of(node: Node) -> list[Any]:
    """DALI's augmentations that a node chooses from; of ``auto_augment`` see ``policy_of``."""
    module = import_module(f"nvidia.dali.auto_aug.{AUTO_AUGMENT[node.op].module}")
    if node.op == "trivial_augment_wide":
        make = module.get_trivial_augment_wide_suite
    elif node.args.get("monotonic_mag", True):
        make = module.get_rand_augment_suite
    else:
        make = module.get_rand_augment_non_monotonic_suite
    excluded = node.args.get("excluded") or ()
    return [each for each in make(**_translation(node)) if each.name not in excluded]  # type: ignore[operator]


def policy_of(node: Node) -> Any:
    """DALI's policy of a node of ``POLICY_OPS``."""
    if node.op == OWN_POLICY:
        return _policy(policy_module(node))
    module = import_module("nvidia.dali.auto_aug.auto_augment")
    name = argument_of(node, "policy_name")
    given = {} if name == WITHOUT_TRANSLATION else _translation(node)
    return getattr(module, f"get_{name}_policy")(**given)


@lru_cache(_KEPT)
def _policy(source: str) -> Any:
    return CompiledSource(Code(source, {}))["POLICY"]


def augmentation_names(node: Node) -> tuple[str, ...]:
    """The augmentations that a sample may get at a node, in DALI's order."""
    if node.op not in POLICY_OPS:
        return tuple(each.name for each in suite_of(node))
    return (*(name for name in policy_of(node).augmentations if name != IDENTITY), IDENTITY)


def _translation(node: Node) -> dict[str, Any]:
    return {
        "use_shape": "shape" in node.args or "shape" in node.inputs,
        "max_translate_abs": node.args.get("max_translate_abs"),
        "max_translate_rel": node.args.get("max_translate_rel"),
    }


@lru_cache(_KEPT)
def _seeds(
    source: str, seed: int, held: tuple[tuple[str, tuple[int, ...]], ...], seeded: frozenset[str]
) -> Mapping[str, list[Mapping[int, int]]]:
    """For each node, call by call, the seeds of its draws by their places in the call.

    As the pipeline hands them out: a draw that nothing uses gets none.
    """
    from nvidia.dali import fn, types

    calls = Counter[str]()
    wanted = dict(held)

    def draw(node: str, data: Any) -> Any:
        call = calls[node]
        calls[node] += 1
        for place in wanted[node]:
            name = f"{node}.{call}.{place}"
            drawn = fn.random.uniform(range=[0, 1], dtype=types.FLOAT, name=name)
            data = fn.pad(data, fill_value=drawn)  # DALI holds what feeds it, then the draw
        return data

    compiled = CompiledSource(Code(source, {}))
    made = compiled["ordered"](
        "cpu", seed, run_as_it_is(draw), batch_size=1, num_threads=1, device_id=None, seed=seed
    )
    made._build_graph()
    asking = [
        op.name
        for op in made._ops
        if op._op.schema.Name() in seeded and "seed:" not in repr(op.spec)
    ]
    handed = drawn_seeds(seed)
    given = {name: handed[place % len(handed)] for place, name in enumerate(asking)}
    return {
        node: [
            {place: given.get(f"{node}.{call}.{place}", 0) for place in places}
            for call in range(calls[node])
        ]
        for node, places in held
        if node in calls
    }


def run_as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is: DALI translates what a pipeline with conditionals calls."""
    from nvidia.dali.pipeline import do_not_convert

    return do_not_convert(function)  # type: ignore[no-any-return]


_heard = ContextVar[Callable[[str], None] | None]("_heard", default=None)
"""Is called with the progress while DALI builds an automatic augmentation."""


@contextmanager
def making_heard(listener: Callable[[str], None]) -> Iterator[None]:
    """Call ``listener`` with the progress while DALI builds automatic augmentations.

    DALI builds every augmentation again for each place of a sub-policy: up to some seconds.
    """
    token = _heard.set(listener)
    try:
        yield
    finally:
        _heard.reset(token)


@contextmanager
def handing_in(draws: Sequence[Any], node: str = "", places: int = 0) -> Iterator[None]:
    """Automatic augmentation takes these draws, in their order, instead of its own.

    With ``places``, the number of places of the node's sub-policies, the progress is reported.
    """
    listener = _heard.get()
    if places and listener is not None:
        with _told(node, places, listener), handing_in(draws):
            yield
        return
    waiting = list(draws)
    modules: list[Any] = [import_module(f"nvidia.dali.auto_aug.{name}") for name in _DRAWING]
    known = [module.fn for module in modules]
    for module in modules:
        module.fn = _Functions(known[0], waiting)
    try:
        yield
    finally:
        for module, fn in zip(modules, known, strict=True):
            module.fn = fn


@contextmanager
def _told(node: str, places: int, listener: Callable[[str], None]) -> Iterator[None]:
    module: Any = import_module("nvidia.dali.auto_aug.auto_augment")
    select, place = module._pretty_select, count(1)

    @run_as_it_is
    def tell() -> None:
        listener(f"building {node}, {next(place)} of {places}")

    def pretty_select(*args: Any, **kwargs: Any) -> Any:  # DALI translates it as its own
        tell()
        return select(*args, **kwargs)

    module._pretty_select = pretty_select
    try:
        yield
    finally:
        module._pretty_select = select


class _Functions:
    """``nvidia.dali.fn``, but what is drawn is there already."""

    def __init__(self, functions: Any, waiting: list[Any]) -> None:
        self._functions = functions
        self.random = _Random(run_as_it_is(lambda *args, **kwargs: waiting.pop(0)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._functions, name)


class _Random:
    def __init__(self, uniform: Callable[..., Any]) -> None:
        self.uniform = uniform


# What automatic augmentation does to each sample of a batch, by what was drawn for it.
#
# Runs inside the worker process only.

_NO_MAGNITUDE = 0


class Applied(NamedTuple):
    """What one step does to one sample."""

    augmentation: Any
    """DALI's; None where the step does nothing."""
    magnitude: int
    """A step of the augmentation's range."""
    sign: int
    """1 for the negative magnitude, where the augmentation takes a sign."""


class Augmented(NamedTuple):
    """An augmentation that a sample got."""

    name: str
    text: str
    """With its magnitude, where it has one: ``rotate -27``."""


def applied_steps(node: Node, drawn: Sequence[Any]) -> list[list[Applied]]:
    """For each step of a call what it does to each sample, by what was drawn for the batch.

    ``drawn`` has the arrays of ``uniforms_of``, each of the shape [samples, ...].
    """
    if node.op in POLICY_OPS:
        return _policy_steps(node, drawn)
    suite = suite_of(node)
    signed = any(each.randomly_negate for each in suite)
    if node.op == "trivial_augment_wide":
        operations, magnitudes = drawn[-1], drawn[0]
        signs = drawn[1] if signed else np.zeros_like(magnitudes)
        return [
            [
                Applied(suite[operation], int(magnitude), int(sign))
                for operation, magnitude, sign in zip(operations, magnitudes, signs, strict=True)
            ]
        ]
    count = int(argument_of(node, "n"))
    if count == 0:
        return []
    operations = drawn[0].reshape(-1, count)
    signs = drawn[1].reshape(-1, count) if signed else np.zeros_like(operations)
    magnitude = int(argument_of(node, "m"))
    return [
        [
            Applied(suite[operation], magnitude, int(sign))
            for operation, sign in zip(operations[:, step], signs[:, step], strict=True)
        ]
        for step in range(count)
    ]


def _policy_steps(node: Node, drawn: Sequence[Any]) -> list[list[Applied]]:
    policy = policy_of(node)
    chances, chosen = drawn[0], drawn[1]
    signs = drawn[2] if len(drawn) > 2 else np.zeros_like(chances, dtype=np.int32)
    steps: list[list[Applied]] = []
    for step in range(chances.shape[1]):
        applied = []
        for sample, sub_policy in enumerate(chosen):
            operations = policy.sub_policies[int(sub_policy)]
            augmentation, probability, magnitude = (
                operations[step] if step < len(operations) else (None, 0.0, None)
            )
            if not np.float32(chances[sample, step]) < np.float32(probability):
                augmentation = None
            bin_ = _NO_MAGNITUDE if magnitude is None else int(magnitude)
            applied.append(Applied(augmentation, bin_, int(signs[sample, step])))
        steps.append(applied)
    return steps


def bins_of(node: Node) -> int:
    """How many steps each magnitude has."""
    if node.op in POLICY_OPS:
        return int(policy_of(node).num_magnitude_bins)
    return int(argument_of(node, "num_magnitude_bins"))


def strength_of(applied: Applied, bins: int) -> float | None:
    """The magnitude, with its sign, as far from the range's beginning as its step of ``bins``.

    In the augmentation's own unit: degrees, pixels, shares. None for what has no magnitude.
    """
    augmentation = applied.augmentation
    if augmentation.mag_range is None:
        return None
    low, high = augmentation.mag_range
    magnitude = float(np.linspace(low, high, bins, dtype=np.float32)[applied.magnitude])
    return -magnitude if augmentation.randomly_negate and applied.sign else magnitude


def in_words(applied: Applied, bins: int) -> Augmented:
    """The same as a person reads it."""
    strength = strength_of(applied, bins)
    name = str(applied.augmentation.name)
    # added to 0, for -0.0 is read as a turn to the other side
    return Augmented(name, name if strength is None else f"{name} {0 + strength:.3g}")
