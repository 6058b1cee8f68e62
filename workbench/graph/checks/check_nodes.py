"""Check the arguments and inputs of a single node."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, fsum, inf

from workbench.catalog.extra_operators.auto_augment import (
    OWN_POLICY,
    SUITE,
    WARPS,
    WITHOUT_TRANSLATION,
)
from workbench.catalog.extra_operators.user_functions import OWN_CODE
from workbench.catalog.familiar_names import nearest_arguments
from workbench.catalog.spec import ArgSpec, OpSpec, kind_fits
from workbench.graph.checks.check_readers import feature_faults
from workbench.graph.edits.edit import free_seed
from workbench.graph.edits.generators import uniform_values
from workbench.graph.execution.dataset_parameters import derived_arguments
from workbench.graph.model import Body, Graph, Node, Port, block_of
from workbench.graph.model.bounds import LARGEST_SEED
from workbench.graph.model.faults import Fault
from workbench.graph.model.policy import bins_of, policy_fault
from workbench.graph.model.ports import KIND_WORDS, outputs_of, positional_ports
from workbench.graph.model.values import elements, value_fault, value_limits
from workbench.graph.types.tensor_type import integer_range
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.user_functions.trust import own_code_faults

_DECODE = (
    "Readers output encoded images, even for arrays: insert decoders.image, or call .decode() "
    "after wb.read."
)


def port_problem(typed: TypedGraph, port: Port, scope: str = "") -> tuple[str, str] | None:
    """Return the problem and a fix if a port cannot be used in the body ``scope``, else None."""
    graph = typed.graph
    if not graph.has(port.node):
        return _body_input_problem(port, graph, scope)
    if graph.scope_of(port.node) != scope:
        inside = f"outside {scope}" if scope else f"inside {graph.scope_of(port.node)}"
        return f"which is {inside}", "Connect it through the inputs and outputs of the block."
    node = graph.node(port.node)
    spec = typed.catalog.find(node.op)
    if spec is not None:
        names = [output.name for output in outputs_of(node, spec)]
        lacking = next((o.needs for o in spec.outputs if o.name == port.output), "")
        if lacking and port.output not in names:
            remedy = f"Connect its input {lacking}."
            if (arg := spec.args.get(lacking)) is not None:
                values = " or ".join(str(each) for each in arg.choices if each != "none")
                remedy = f"Set {lacking} to {values}." if values else f"Turn on {lacking}."
            return f"which {spec.name} outputs only with {lacking}", remedy
        if port.output not in names:
            return (
                f"but {spec.name} outputs {', '.join(names) or 'nothing'}",
                "Choose one of these.",
            )
    return None


def _body_input_problem(port: Port, graph: Graph, scope: str) -> tuple[str, str] | None:
    if not scope or port.node != scope:
        words = "which does not exist"
        if port.node and graph.has(block_of(port.node)):
            words = f"which only the nodes of {port.node} have"
        return words, "Connect it to a node in the same body."
    block, _, name = scope.rpartition(".")
    taken = graph.node(block).bodies.get(name, Body()).inputs  # none if two have the same id
    if port.output not in taken:
        return f"but {scope} has the inputs {', '.join(taken) or 'none'}", "Choose one of these."
    return None


def argument_faults(node: Node, spec: OpSpec, graph: Graph) -> Iterator[Fault]:
    """Yield the faults of a node's argument values, of combinations of values, and of the seed."""
    for name, value in node.args.items():
        if name not in spec.args:
            near = nearest_arguments(name, spec.args)
            hint = f"Did you mean {near[0]}?" if near else "Remove it."
            yield Fault(node.id, name, f"{node.op} has no such argument", hint, "unknown_arg")
            continue
        if name in node.inputs:
            yield Fault(
                node.id,
                name,
                ("it has both a value and a connection"),
                "Remove one of them.",
                "value_and_link",
            )
        found = value_fault(spec.args[name], value)
        if found:
            yield Fault(node.id, name, *found, "value")
    yield from weight_faults(node)
    yield from feature_faults(node)
    if spec.name in OWN_CODE:
        yield from own_code_faults(node, graph)
    yield from _combination_faults(node, spec)
    located = derived_arguments(node)
    for name, arg in spec.args.items():
        if arg.required and not (name in node.args or name in node.inputs or name in located):
            yield Fault(
                node.id, name, "it has no value and no default", "Set a value.", "missing_arg"
            )
    yield from _seed_faults(node, spec, graph)


def _combination_faults(node: Node, spec: OpSpec) -> Iterator[Fault]:
    grouped = spec.mutually_exclusive or spec.one_of or spec.together
    names = dict.fromkeys((*spec.args, *(port.name for port in spec.inputs))) if grouped else ()
    given = [name for name in names if name in node.args or name in node.inputs]
    for name in given if spec.mutually_exclusive else ():
        rival = next((other for other in given if other in spec.conflicts_with(name)), None)
        if rival is not None and given.index(rival) > given.index(name):
            words = f"it cannot be used together with {rival!r}"
            yield Fault(node.id, name, words, "Reset one of them.", "conflict", rival)
    for group in spec.one_of:
        if not set(group).intersection(given):
            yield Fault(
                node.id,
                group[0],
                f"{node.op} requires "
                f"{' or '.join(filter(None, (', '.join(group[:-1]), group[-1])))}",
                f"Set {group[0]}, or connect a node.",
                "missing_arg",
            )
    if node.op == "random.uniform" and node.args.get("values") == ():  # a crash of DALI
        yield Fault(node.id, "values", "[] is empty", "Use one or more numbers.", "value")
    yield from _constant_faults(node, spec)
    yield from _zero_size_faults(node)
    yield from _rectangle_faults(node, spec)
    shard, count = node.args.get("shard_id", 0), node.args.get("num_shards", 1)
    if isinstance(shard, int) and isinstance(count, int) and 0 < count <= shard:
        remedy = f"Use 0 to {count - 1}, or a larger 'num_shards'."
        yield Fault(node.id, "shard_id", f"{shard} is not a shard of {count}", remedy, "value")
    for group in spec.together:
        missing = [name for name in group if name not in given]
        there = [name for name in group if name in given]
        if there and missing:
            lacking, given_too = (" and ".join(map(repr, each)) for each in (missing, there))
            words, remedy = f"it also requires {lacking}", f"Set {lacking}, or reset {given_too}."
            yield Fault(node.id, there[0], words, remedy, "apart", missing[0])


def _rectangle_faults(node: Node, spec: OpSpec) -> Iterator[Fault]:
    """Report rectangles of ``erase`` that do not have one number per axis."""
    if node.op != "erase" or "axes" in node.args or {"anchor", "shape"} & node.inputs.keys():
        return
    axes = str(node.args.get("axis_names", spec.args["axis_names"].default)).lower()
    given = {name: node.args.get(name, ()) for name in ("anchor", "shape")}
    if any(value_fault(spec.args[name], value) for name, value in given.items()):
        return
    sizes = {name: len(elements(value)) for name, value in given.items()}
    for name, size in sizes.items():
        if size and axes and (size % len(axes) or size < max(sizes.values())):
            words = f"it has {size} element{'s' * (size != 1)}"
            remedy = (
                f"Use {len(axes)} numbers ({', '.join(axes)}) for each rectangle, in both lists."
            )
            yield Fault(node.id, name, words, remedy, "value")


def _zero_size_faults(node: Node) -> Iterator[Fault]:
    """Report sizes that are all 0, because the operator would not change its input."""
    for group in _EXTENTS.get(node.op, ()):
        given = [name for name in group if name in node.args and node.args[name] in (0, (0,))]
        others = {name for name in group if name in node.inputs or name in node.args}
        if given and not others.difference(given):
            verb = "leaves" if len(given) == 1 else "leave"
            words = f"{' and '.join(map(repr, given))} of 0 {verb} the size unchanged"
            yield Fault(node.id, given[0], words, "Use a size above 0, for example 224.", "value")


_RESIZED = (("resize_x", "resize_y", "resize_z"),)
_EXTENTS = {
    "resize": _RESIZED,
    "experimental.resize": _RESIZED,
    "resize_crop_mirror": _RESIZED,
    "fast_resize_crop_mirror": _RESIZED,
    "crop": (("crop_h", "crop_w", "crop_d"),),
    "decoders.image_crop": (("crop_h", "crop_w"),),
}
"""Groups of size arguments, by operator. At least one size of each group must be above 0."""


def _constant_faults(node: Node, spec: OpSpec) -> Iterator[Fault]:
    """Report constants in arithmetic that do not fit their element type."""
    arg = spec.args.get("constant_type")
    dtype = node.args.get("constant_type", arg.default) if arg else None
    if arg is None or dtype not in arg.members or str(dtype).startswith("FLOAT"):
        return
    low, high = integer_range(str(dtype))
    for name in spec.args:
        value = node.args.get(name) if name != "constant_type" else None
        if not isinstance(value, int | float) or value_fault(spec.args[name], value):
            continue
        if value != int(value) or not low <= value <= high:
            words = f"{value} is not a valid {dtype}"
            remedy = (
                f"Use an integer from {low} to {high}, or choose another type of the "
                "constant, for example FLOAT."
            )
            yield Fault(node.id, name, words, remedy, "constant", str(dtype))


def _seed_faults(node: Node, spec: OpSpec, graph: Graph) -> Iterator[Fault]:
    if node.seed is not None and not spec.seeded:
        yield Fault(node.id, "seed", f"{node.op} is not random", "Remove the seed.", "seed")
    if spec.seeded and (node.seed is None or not 0 <= node.seed <= LARGEST_SEED):
        yield Fault(
            node.id,
            "seed",
            f"{node.op} is random, and its seed is {node.seed}",
            f"Use one from 0 to {LARGEST_SEED} that no other node has, for example "
            f"{free_seed(graph)}.",
            "seed",
        )


def input_faults(typed: TypedGraph, node: Node, spec: OpSpec) -> Iterator[Fault]:
    """Yield the faults of the edges into a node, including missing edges."""
    ports = positional_ports(node, spec)
    graph = typed.graph
    scope = graph.scope_of(node.id)
    for name, source in node.inputs.items():
        problem = port_problem(typed, source, scope)
        if problem:
            words, remedy = problem
            yield Fault(node.id, name, f"it is connected to {source}, {words}", remedy, "source")
        if name in spec.args:
            if not spec.args[name].tensor:
                words = "it has one value for all samples"
                yield Fault(node.id, name, words, "Set a fixed value.", "fixed_arg")
            elif problem is None and graph.has(source.node) and not spec.bodies:
                yield from _random_value_faults(node, spec.args[name], graph.node(source.node))
            continue
        if name not in ports:
            words = f"{node.op} has no such input"
            remedy = f"It has {', '.join(ports) or 'none'}."
            yield Fault(node.id, name, words, remedy, "unknown_input")
            continue
        want, got = ports[name], typed.kind(source)
        if not kind_fits(want, got):
            yield Fault(
                node.id,
                name,
                f"it requires {KIND_WORDS[want]}, but {source} outputs {KIND_WORDS[got]}",
                _DECODE
                if (want, got) == ("image", "encoded")
                else f"Connect an output of {KIND_WORDS[want]}.",
                "kind",
            )
    for port in spec.inputs:
        if not port.optional and port.name not in node.inputs:
            yield Fault(node.id, port.name, "it is not connected", "Connect a node to it.", "unfed")


def _random_value_faults(node: Node, arg: ArgSpec, generator: Node) -> Iterator[Fault]:
    """Report a generator that can output a value outside the argument's limits."""
    _, numbers = uniform_values(generator) or ("", ())
    low, high = value_limits(arg)
    outside = next((number for number in numbers if not low <= number <= high), None)
    if outside is None:
        return
    whole = arg.kind.startswith("int")
    limit = value_fault(
        arg, (floor(outside) if outside < low else ceil(outside)) if whole else outside
    )
    words = f"random values from {min(numbers):g} to {max(numbers):g} are out of range"
    yield Fault(node.id, arg.name, words, limit[1] if limit else "", "value", generator.id)


_TOLERANCE = 1e-4
"""Deviation from 1 that DALI allows for the sum of probabilities."""
_MOST_REPEATED = 10**9
"""Largest population size for which the sum of probabilities is checked."""


def weight_faults(node: Node) -> Iterator[Fault]:
    """Report probabilities whose number does not match the population or whose sum is not 1."""
    given, population = node.args.get("p"), node.args.get("population")
    if node.op != "random.choice" or given is None or "p" in node.inputs:
        return
    weights = given if isinstance(given, tuple) else (given,)
    numbers = [each for each in weights if isinstance(each, int | float) and 0 <= each <= 1]
    if len(numbers) != len(weights):
        return  # a fault of the value itself
    total = fsum(numbers)
    is_repeated = len(numbers) == 1 and isinstance(population, int) and population > 0
    if is_repeated and isinstance(population, int):  # DALI repeats a single probability
        total = numbers[0] * population if population < _MOST_REPEATED else inf
    if isinstance(population, int) and len(numbers) != population and not is_repeated:
        words = f"it has {len(numbers)} probabilities for {population} numbers to choose from"
        yield Fault(node.id, "p", words, f"Use {population}.", "value")
    elif not abs(total - 1) < _TOLERANCE:
        words = f"the probabilities add up to {total:.6g}"
        yield Fault(node.id, "p", words, "Use probabilities that add up to 1.", "value")


# Faults of automatic augmentation: incompatible arguments.

_MADE_TWICE = {"brightness", "contrast"}
"""Augmentations that DALI 2.4 does not support together on the GPU with fixed magnitudes."""


def auto_augment_faults(node: Node, spec: OpSpec, on_gpu: bool) -> Iterator[Fault]:
    """Report faults of an automatic augmentation that the checks of single arguments do not find.

    ``on_gpu`` is true if the images are on the GPU.
    """
    yield from _magnitude_faults(node, spec)
    yield from _excluded_faults(node)
    if node.op == OWN_POLICY and policy_fault(policy := node.args.get("policy", ())) is None:
        found = policy_fault(policy, bins_of(node))
        if found:
            yield Fault(node.id, "policy", *found, "value")
    if on_gpu:
        yield from _fixed_magnitude_faults(node)
    translating = [name for name in ("shape", "max_translate_abs", "max_translate_rel")
                   if name in node.args or name in node.inputs]  # fmt: skip
    if node.args.get("policy_name") == WITHOUT_TRANSLATION:
        for name in translating:
            words = f"the policy {WITHOUT_TRANSLATION} has no translations"
            remedy = "Remove it, or choose another policy."
            yield Fault(node.id, name, words, remedy, "apart", name)
    elif "max_translate_rel" in translating and "shape" not in translating:
        words = "it is relative to the image size, but shape is not set"
        remedy = "Set shape too, or use max_translate_abs instead."
        yield Fault(node.id, "max_translate_rel", words, remedy, "apart", "max_translate_rel")


def _magnitude_faults(node: Node, spec: OpSpec) -> Iterator[Fault]:
    magnitude = node.args.get("m")
    if magnitude is None or "num_magnitude_bins" not in spec.args:
        return
    bins = node.args.get("num_magnitude_bins", spec.args["num_magnitude_bins"].default)
    if isinstance(magnitude, int) and isinstance(bins, int) and magnitude >= bins >= 1:
        words = f"it is {magnitude}, but there are {bins} bins"
        remedy = f"Use 0 to {bins - 1}, or increase num_magnitude_bins."
        yield Fault(node.id, "m", words, remedy, "value")


def _excluded_faults(node: Node) -> Iterator[Fault]:
    excluded = node.args.get("excluded")
    if isinstance(excluded, str):  # DALI would iterate over its letters
        found = f"{excluded[:40]!r} is a string, not a list of strings"
        yield Fault(node.id, "excluded", found, "Use a list of names.", "value")
    names = excluded if isinstance(excluded, tuple) else ()
    unknown = [name for name in names if name not in SUITE]
    if unknown:
        words = f"{unknown[0]!r} is not an augmentation"
        yield Fault(node.id, "excluded", words, f"Use one of: {', '.join(SUITE)}.", "value")
    elif names and set(names) == set(SUITE):
        yield Fault(node.id, "excluded", "it excludes all of them", "Exclude fewer.", "value")
    elif set(WARPS) <= set(names):
        words = "it excludes all that move the image, which DALI 2.4 does not support"
        remedy = f"Keep at least one of: {', '.join(WARPS)}."
        yield Fault(node.id, "excluded", words, remedy, "value")


def _fixed_magnitude_faults(node: Node) -> Iterator[Fault]:
    """Report arguments for which DALI raises ``OpSpec's input "__Split[1]" not found`` on a GPU."""
    excluded = node.args.get("excluded") or ()
    left_out = set(excluded) if isinstance(excluded, tuple) else set()
    if node.args.get("monotonic_mag") is False and not _MADE_TWICE & left_out:
        words = "it is False, for which DALI 2.4 supports brightness and contrast on the CPU only"
        remedy = "Set it to True, exclude one of the two, or decode on the CPU."
        yield Fault(node.id, "monotonic_mag", words, remedy, "value")
