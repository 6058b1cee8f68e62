"""Compute the random values of automatic augmentation, so that a preview can start at any batch.

DALI's functions sample without individual seeds (their single seed argument would make all values
dependent). Therefore the values are generated in advance, with the seeds that DALI would assign in
the script, and DALI's functions use them instead of sampling.

Used in the worker process only.
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

from workbench.catalog.extra_operators.auto_augment import (
    AUTO_AUGMENT,
    OWN_POLICY,
    WITHOUT_TRANSLATION,
)
from workbench.emit.core.code import Code
from workbench.emit.core.policies import policy_module
from workbench.emit.core.seed_sequence import assigned_seeds
from workbench.emit.templates.auto_augment_random import UniformCall, UniformCalls
from workbench.emit.templates.seed_order import emit_seed_order
from workbench.engine.build.pipelines import CompiledSource
from workbench.graph.checks.check import stopping_faults
from workbench.graph.execution.active import active_graph
from workbench.graph.model import Node
from workbench.graph.resolved import ResolvedGraph

_DRAWING = ("rand_augment", "trivial_augment", "auto_augment", "core._augmentation")
"""Modules of ``nvidia.dali.auto_aug`` that call ``fn.random.uniform``."""
_KEPT = 32
POLICY_OPS = ("auto_augment", OWN_POLICY)
"""Operators that apply one of several sub-policies to each sample."""

IDENTITY = "identity"
"""Name of the augmentation that leaves a sample unchanged."""


def auto_augment_random_values(resolved: ResolvedGraph) -> Mapping[str, UniformCalls]:
    """Map each automatic augmentation of a graph to its calls of ``fn.random.uniform``.

    Each node has one entry per call in the script, in order, because a loop calls it several times.
    Nodes that the script does not call, as in faulty graphs, get arbitrary seeds.
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
        orders = tuple((node, registration_order(values)) for node, values in uniforms.items())
        source = emit_seed_order(resolved.for_graph(active))
        seeds = _seeds(source, graph.settings.seed, orders, catalog.seeded_schemas)
    spare = dict(enumerate(assigned_seeds(graph.settings.seed)))
    return {
        node: tuple(
            tuple(
                UniformCall(each.arguments, call.get(place, 0)) for place, each in enumerate(values)
            )
            for call in seeds.get(node, [spare])
        )
        for node, values in uniforms.items()
    }


class Uniform(NamedTuple):
    """One call of ``fn.random.uniform``."""

    arguments: str
    """Arguments as code, without the seed."""
    held: int | None
    """Index of the call in DALI's registration order, or None if its value is unused."""


def uniforms_of(node: Node) -> list[Uniform]:
    """Return the ``fn.random.uniform`` calls of a node, in order.

    These are the calls in ``auto_aug`` of DALI 2.4. Ranges and shapes depend on the node's suite.
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


def registration_order(uniforms: Sequence[Uniform]) -> tuple[int, ...]:
    """Return the indices of the calls in the order in which DALI registers them."""
    position_of = {each.held: place for place, each in enumerate(uniforms) if each.held is not None}
    return tuple(position_of[place] for place in sorted(position_of))


def argument_of(node: Node, name: str) -> Any:
    """Return the value of an argument, or DALI's default."""
    return node.args.get(name, AUTO_AUGMENT[node.op].args[name].default)


def suite_of(node: Node) -> list[Any]:
    """Return the augmentations that a node selects from. For ``POLICY_OPS``, see ``policy_of``."""
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
    """Return DALI's policy object for a node of ``POLICY_OPS``."""
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
    """Return the augmentations that a node may apply, in DALI's order."""
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
    source: str, seed: int, orders: tuple[tuple[str, tuple[int, ...]], ...], seeded: frozenset[str]
) -> Mapping[str, list[Mapping[int, int]]]:
    """Return the seeds of each node's random values: one mapping (index -> seed) per call.

    These are the seeds that the pipeline would assign. Unused values have no seed.
    """
    from nvidia.dali import fn, types

    calls = Counter[str]()
    wanted = dict(orders)

    def draw(node: str, data: Any) -> Any:
        call = calls[node]
        calls[node] += 1
        for place in wanted[node]:
            name = f"{node}.{call}.{place}"
            drawn = fn.random.uniform(range=[0, 1], dtype=types.FLOAT, name=name)
            data = fn.pad(data, fill_value=drawn)  # DALI registers the inputs first
        return data

    compiled = CompiledSource(Code(source, {}))
    made = compiled["ordered"](
        "cpu", seed, run_as_it_is(draw), batch_size=1, num_threads=1, device_id=None, seed=seed
    )
    made._build_graph()
    unseeded = [
        op.name
        for op in made._ops
        if op._op.schema.Name() in seeded and "seed:" not in repr(op.spec)
    ]
    handed = assigned_seeds(seed)
    given = {name: handed[place % len(handed)] for place, name in enumerate(unseeded)}
    return {
        node: [
            {place: given.get(f"{node}.{call}.{place}", 0) for place in places}
            for call in range(calls[node])
        ]
        for node, places in orders
        if node in calls
    }


def run_as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """Exclude a function from DALI's AutoGraph conversion of conditionals."""
    from nvidia.dali.pipeline import do_not_convert

    return do_not_convert(function)  # type: ignore[no-any-return]


_heard = ContextVar[Callable[[str], None] | None]("_heard", default=None)
"""Function to call with progress messages while DALI builds an automatic augmentation."""


@contextmanager
def reporting_build_progress(listener: Callable[[str], None]) -> Iterator[None]:
    """Within the context, call ``listener`` while DALI builds automatic augmentations.

    DALI builds every augmentation again for each position in a sub-policy, which can take seconds.
    """
    token = _heard.set(listener)
    try:
        yield
    finally:
        _heard.reset(token)


@contextmanager
def replacing_random_values(
    values: Sequence[Any], node: str = "", position_count: int = 0
) -> Iterator[None]:
    """Within the context, automatic augmentation uses ``values``, in order, and does not sample.

    If ``position_count`` is not 0, it is the number of positions in the node's sub-policies, and
    progress is reported.
    """
    listener = _heard.get()
    if position_count and listener is not None:
        with _reporting_places(node, position_count, listener), replacing_random_values(values):
            yield
        return
    waiting = list(values)
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
def _reporting_places(node: str, places: int, listener: Callable[[str], None]) -> Iterator[None]:
    module: Any = import_module("nvidia.dali.auto_aug.auto_augment")
    select, place = module._pretty_select, count(1)

    @run_as_it_is
    def tell() -> None:
        listener(f"building {node}, {next(place)} of {places}")

    def pretty_select(*args: Any, **kwargs: Any) -> Any:  # DALI converts it as its own code
        tell()
        return select(*args, **kwargs)

    module._pretty_select = pretty_select
    try:
        yield
    finally:
        module._pretty_select = select


class _Functions:
    """Replacement for ``nvidia.dali.fn`` that returns predetermined random values."""

    def __init__(self, functions: Any, values: list[Any]) -> None:
        self._functions = functions
        self.random = _Random(run_as_it_is(lambda *args, **kwargs: values.pop(0)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._functions, name)


class _Random:
    def __init__(self, uniform: Callable[..., Any]) -> None:
        self.uniform = uniform


# The effect of automatic augmentation on each sample, from its random values.
#
# Used in the worker process only.

_NO_MAGNITUDE = 0


class Applied(NamedTuple):
    """The effect of one step on one sample."""

    augmentation: Any
    """DALI's augmentation object, or None if the step has no effect."""
    magnitude: int
    """Index of the magnitude bin."""
    sign: int
    """1 if the magnitude is negated, otherwise 0. Some augmentations negate it at random."""


class Augmented(NamedTuple):
    """An augmentation applied to a sample."""

    name: str
    text: str
    """Name and magnitude, such as ``rotate -27``, or only the name if there is no magnitude."""


def applied_steps(node: Node, values: Sequence[Any]) -> list[list[Applied]]:
    """Return the effect of each step of a call on each sample of a batch.

    ``values`` are the results of the calls in ``uniforms_of``, each of shape [samples, ...].
    """
    if node.op in POLICY_OPS:
        return _policy_steps(node, values)
    suite = suite_of(node)
    signed = any(each.randomly_negate for each in suite)
    if node.op == "trivial_augment_wide":
        operations, magnitudes = values[-1], values[0]
        signs = values[1] if signed else np.zeros_like(magnitudes)
        return [
            [
                Applied(suite[operation], int(magnitude), int(sign))
                for operation, magnitude, sign in zip(operations, magnitudes, signs, strict=True)
            ]
        ]
    count = int(argument_of(node, "n"))
    if count == 0:
        return []
    operations = values[0].reshape(-1, count)
    signs = values[1].reshape(-1, count) if signed else np.zeros_like(operations)
    magnitude = int(argument_of(node, "m"))
    return [
        [
            Applied(suite[operation], magnitude, int(sign))
            for operation, sign in zip(operations[:, step], signs[:, step], strict=True)
        ]
        for step in range(count)
    ]


def _policy_steps(node: Node, values: Sequence[Any]) -> list[list[Applied]]:
    policy = policy_of(node)
    chances, chosen = values[0], values[1]
    signs = values[2] if len(values) > 2 else np.zeros_like(chances, dtype=np.int32)
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
    """Return the number of magnitude bins."""
    if node.op in POLICY_OPS:
        return int(policy_of(node).num_magnitude_bins)
    return int(argument_of(node, "num_magnitude_bins"))


def strength_of(applied: Applied, bins: int) -> float | None:
    """Return the signed magnitude in the augmentation's unit: degrees, pixels or fractions.

    Returns None if the augmentation has no magnitude. ``bins`` is the number of magnitude bins.
    """
    augmentation = applied.augmentation
    if augmentation.mag_range is None:
        return None
    low, high = augmentation.mag_range
    magnitude = float(np.linspace(low, high, bins, dtype=np.float32)[applied.magnitude])
    return -magnitude if augmentation.randomly_negate and applied.sign else magnitude


def applied_text(applied: Applied, bins: int) -> Augmented:
    """Return the name of an applied augmentation and a text with its magnitude."""
    strength = strength_of(applied, bins)
    name = str(applied.augmentation.name)
    # 0 is added because -0.0 would read as the other direction
    return Augmented(name, name if strength is None else f"{name} {0 + strength:.3g}")
