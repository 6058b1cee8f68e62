"""Create fixes for values, combinations of arguments, seeds, and warnings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import partial

from workbench.catalog.spec import ArgSpec, Value
from workbench.graph.annotations.follower_edits import with_cover_rules
from workbench.graph.annotations.sides import NO_PAIRS
from workbench.graph.edits.edit import free_seed, set_arg
from workbench.graph.edits.generators import generator_args, uniform_values
from workbench.graph.fixes.case import (
    Case,
    FixCandidate,
    remedy,
    short_value_text,
)
from workbench.graph.fixes.unfed_inputs import feed_from_new, feed_of
from workbench.graph.model import Port, Source
from workbench.graph.model.policy import bins_of, repaired_policy
from workbench.graph.model.values import value_fault, value_limits
from workbench.graph.types.tensor_type import integer_range
from workbench.names import shortened


@remedy("unknown_arg")
def fix_unknown_arg(case: Case) -> Iterator[FixCandidate]:
    """Offer to rename the argument to the nearest known name, or to remove it."""
    node = case.node
    for near in get_close_matches(case.arg, case.spec.args, n=1):
        if near not in node.args and near not in node.inputs:
            args = {near if name == case.arg else name: v for name, v in node.args.items()}
            yield f"Rename it to {near}", case.change(args=args)
    yield f"Remove {shortened(case.arg, 30)}", case.without(case.arg)


@remedy("value_and_link")
def fix_value_and_link(case: Case) -> Iterator[FixCandidate]:
    """Offer to remove either the value or the link of an argument that has both."""
    node = case.node
    value = node.args[case.arg]
    yield f"Keep {short_value_text(value)}", case.set(case.arg, value)
    args = {name: v for name, v in node.args.items() if name != case.arg}
    yield f"Keep the connection to {node.inputs[case.arg].node}", case.change(args=args)


@remedy("value")
def fix_value(case: Case) -> Iterator[FixCandidate]:
    """Offer to use the nearest allowed value or the default, or an allowed range if random."""
    node = case.node
    arg = case.spec.args[case.arg]
    if case.about:
        yield from _limited_range(case, arg)
        return
    if arg.kind == "policy":
        mended = repaired_policy(node.args[case.arg], bins_of(node))
        yield "Correct the policy", case.set(case.arg, mended)
        yield "Reset the policy", case.reset()
        return
    near = _near_values(arg, node.args[case.arg])
    for candidate in near:
        if value_fault(arg, candidate) is None:
            label = f"Set it to {short_value_text(candidate)}"
            yield label, case.set(case.arg, candidate)
    if suggested := _suggested_range(case):
        yield f"Reset to {short_value_text(suggested)}", case.set(case.arg, suggested)
        return
    usual = arg.default if arg.start is None else arg.start
    label = f"Reset to {short_value_text(usual)}" if usual is not None else f"Remove {case.arg}"
    yield label, case.reset()


def _suggested_range(case: Case) -> Value | None:
    """Return the usual range of the argument that a faulty ``random.uniform`` feeds, or None."""
    if (case.node.op, case.arg) != ("random.uniform", "range"):
        return None
    for edge in case.graph.consumers(case.node_id):
        spec = case.catalog.find(case.graph.node(edge.target).op)
        if spec is not None and edge.input in spec.args:
            return generator_args(case.node.op, spec.args[edge.input], None, {})["range"]
    return None


def _limited_range(case: Case, arg: ArgSpec) -> Iterator[FixCandidate]:
    """Offer to restrict random values to the argument's limits, or to its usual range."""
    generator = case.graph.node(case.about)
    name, numbers = uniform_values(generator) or ("range", ())
    low, high = value_limits(arg)
    clipped: Value = tuple(min(max(number, low), high) for number in numbers)
    usual = generator_args(generator.op, arg, None, {})["range"]
    for key, value in ((name, clipped), ("range", usual)):
        if key == "values" or (isinstance(value, tuple) and len(set(value)) > 1):
            label = f"Limit them to {short_value_text(value)}"
            yield label, case.edit(set_arg, generator.id, key, value)


def _near_values(arg: ArgSpec, value: Value) -> list[Value]:
    """Return values that the user may have meant; the caller must check them."""
    items = value if isinstance(value, tuple) else (value,)
    mended = tuple(_near_value(arg, item) for item in items)
    near: list[Value] = []
    if arg.kind.endswith("_list"):
        near.append(mended)
        if all(isinstance(item, int | float) for item in mended):
            near.append(tuple(sorted(mended)))
        for count in (arg.items, arg.volume_items) if mended else ():
            if count is not None:
                near.append((*mended, *[mended[-1]] * count)[:count])
    elif mended:
        near.append(mended[0])
    return near


def _near_value(arg: ArgSpec, item: Value) -> Value:
    if isinstance(item, tuple):
        return _near_value(arg, item[0]) if item else 0
    element = arg.kind.removesuffix("_list")
    if element in ("str", "enum"):
        known = [*map(str, arg.choices), *arg.members]
        text = str(item)
        close = get_close_matches(text.lower(), [name.lower() for name in known], n=1)
        return next((name for name in known if [name.lower()] == close), text)
    if element == "bool":
        return bool(item) if not isinstance(item, str) else item.strip().lower() in _YES
    number = _number(item)
    if number is None:
        return item
    if arg.minimum is not None:
        number = max(number, arg.minimum)
    if arg.maximum is not None:
        number = min(number, arg.maximum)
    return round(number) if element == "int" else number


_YES = ("true", "yes", "on", "1")


def _number(item: Value) -> float | int | None:
    if isinstance(item, int):
        return int(item) if abs(item) < 2**63 else None
    try:
        number = float(item)  # type: ignore[arg-type]
    except ValueError:
        return None
    return number if math.isfinite(number) and abs(number) < 2**63 else None


@remedy("conflict")
def fix_conflict(case: Case) -> Iterator[FixCandidate]:
    """Offer to remove one of two arguments that exclude each other."""
    for name in (case.arg, case.about):
        yield f"Remove {name}", case.without(name)


@remedy("sampler")
def fix_sampler(case: Case) -> Iterator[FixCandidate]:
    """Offer to reset an option of a sampler."""
    yield f"Reset {case.arg}", case.without(case.arg)


@remedy("apart")
def fix_incomplete_group(case: Case) -> Iterator[FixCandidate]:
    """Offer to set the missing argument of a group to the same value, or to remove the group."""
    node = case.node
    if case.arg in node.args and case.about in case.spec.args:
        same = node.args[case.arg]
        label = f"Set {case.about} to {short_value_text(same)} too"
        yield label, case.set(case.about, same)
    groups = (group for group in case.spec.together if case.about in group)
    group = next((group for group in groups if case.arg in group), (case.arg,))
    yield f"Remove {case.arg}", case.without(*group)


@remedy("missing_arg")
def fix_missing_arg(case: Case) -> Iterator[FixCandidate]:
    """Offer to use the default value, or to add a node that supplies the argument."""
    node = case.node
    spec = case.spec
    arg = spec.args.get(case.arg)  # none if an operand is missing
    usual = None if arg is None else arg.start if arg.start is not None else arg.default
    if usual is not None:
        label = f"Set it to {short_value_text(usual)}"
        yield label, case.set(case.arg, usual)
    feed = feed_of(spec, case.arg)
    if feed is not None:
        yield f"Add {feed.op}", case.edit(feed_from_new, node.id, case.arg)
    yield case.removal()


@remedy("constant")
def fix_constant(case: Case) -> Iterator[FixCandidate]:
    """Offer to use the nearest number of the type, or a type that can represent the number."""
    node = case.node
    found = node.args[case.arg]
    low, high = integer_range(case.about)
    if isinstance(found, int | float):
        near = min(max(round(found), low), high)
        yield f"Set it to {near}", case.set(case.arg, near)
    for dtype in ("INT32", "FLOAT"):
        if dtype in case.spec.args["constant_type"].members:
            label = f"Make it {dtype}"
            yield label, case.set("constant_type", dtype)


@remedy("zero")
def fix_zero_divisor(case: Case) -> Iterator[FixCandidate]:
    """Offer to set the divisor to 1, or to divide in floats."""
    yield "Set it to 1", case.set(case.arg, 1)
    yield "Make it FLOAT", case.set("constant_type", "FLOAT")


@remedy("index")
def fix_subscript_index(case: Case) -> Iterator[FixCandidate]:
    """Offer to set the index to the nearest one within range."""
    if case.about:
        yield f"Set it to {case.about}", case.set(case.arg, case.about)


@remedy("relayout")
def fix_axis_order(case: Case) -> Iterator[FixCandidate]:
    """Offer to set the layout to any permutation of the input's axes."""
    for choice in case.spec.args[case.arg].choices:
        if sorted(str(choice)) == sorted(case.about):
            yield f"Set it to {choice}", case.set(case.arg, choice)


@remedy("seed")
def fix_seed(case: Case) -> Iterator[FixCandidate]:
    """Offer to use an unused seed, or to remove the seed if the operator is not random."""
    if not case.spec.seeded:
        yield "Remove the seed", case.change(seed=None)
        return
    free = free_seed(case.graph)
    yield f"Set it to {free}", case.change(seed=free)


@remedy("fixed_arg")
def unlink_fixed_arg(case: Case) -> Iterator[FixCandidate]:
    """Offer to replace the link by a fixed value."""
    yield "Disconnect it", case.reset()


@remedy("sides")
def fix_sides(case: Case) -> Iterator[FixCandidate]:
    """Offer to swap left and right, to swap nothing, or to remove the operator that mirrors."""
    op, names, pairs = f"{case.about}\n\n".split("\n")[:3]
    swapped: dict[str, Value] = {"pairs": tuple(pairs.split("\t"))}
    if names:
        swapped["names"] = tuple(names.split("\t"))
    for text, args in (("Swap left and right", swapped), ("Swap nothing", {"pairs": (NO_PAIRS,)})):
        graph = case.graph
        for node in graph.walk() if pairs or args is not swapped else ():
            if node.op == op:
                graph = graph.replace_node(node.with_args(args))
        if graph is not case.graph:
            yield text, partial(replace, graph)
    yield case.removal()


@remedy("covered")
def fix_covered(case: Case) -> Iterator[FixCandidate]:
    """Offer rules for covered annotations, or to remove the operator that covers them."""
    yield "Hide covered points, remove boxes covered by more than half", case.edit(with_cover_rules)
    yield case.removal()


@remedy("tight")
def fix_tight(case: Case) -> Iterator[FixCandidate]:
    """Offer to connect the outlines of the reader that the boxes come from."""
    port, graph = case.node.inputs.get("boxes"), case.graph
    reader = graph.node(port.node) if port is not None and graph.has(port.node) else None
    if isinstance(reader, Source) and {"polygon_masks"} <= case.catalog[reader.op].args.keys():
        rows = {name: Port(reader.id, name) for name in ("polygons", "vertices")}
        read = graph.replace_node(reader.with_args({"polygon_masks": True}))
        yield (
            f"Connect the outlines of {reader.id}",
            partial(read.replace_node, case.node.fed(rows)),
        )


@remedy("scale")
def fix_scale(case: Case) -> Iterator[FixCandidate]:
    """Offer to multiply the constants of normalisation by the factor that fits the pixel range."""
    node = case.node
    if node.op.startswith("math."):
        yield case.removal()
        return
    factor = 255.0 if float(case.about) > 1 else 1 / 255.0
    names = [name for name in ("mean", "std", "stddev") if name in node.args]
    action = "Multiply" if factor > 1 else "Divide"
    scaled = {name: _scaled(node.args[name], factor) for name in names}
    made = case.change(args={**node.args, **scaled})
    yield f"{action} {' and '.join(names)} by 255", made


def _scaled(value: Value, factor: float) -> Value:
    if isinstance(value, tuple):
        return tuple(_scaled(item, factor) for item in value)
    return round(value * factor, 6) if isinstance(value, int | float) else value


@remedy("unshuffled")
def fix_unshuffled(case: Case) -> Iterator[FixCandidate]:
    """Offer to shuffle in the source, with a buffer that is large enough to mix the classes."""
    args = {**case.node.args, "random_shuffle": True}
    label = "Turn on random_shuffle"
    if case.about:
        args["initial_fill"] = int(case.about)
        label += f" with initial_fill {args['initial_fill']:,}"
    yield label, case.change(args=args, inputs=case.node.without({"random_shuffle"}).inputs)


@remedy("buffer")
def fix_buffer(case: Case) -> Iterator[FixCandidate]:
    """Offer to use a shuffle buffer that mixes the classes and is not larger than the data."""
    fill = int(case.about)
    label = f"Set initial_fill to {fill:,}"
    yield label, case.set("initial_fill", fill)


@remedy("box_layout")
def fix_box_layout(case: Case) -> Iterator[FixCandidate]:
    """Offer to change the box format of the node or of the source, so that they match."""
    name, value = case.about.split("=")
    if name == "ratio":
        other = Case(case.typed, replace(case.fault, node=value))
        yield f"Turn on ratio of {value}", other.set(name, True)
    else:
        yield f"Set {name} of {case.node_id} to {value}", case.set(name, value)


@remedy("unit")
def fix_unit(case: Case) -> Iterator[FixCandidate]:
    """Offer to interpret a region as fractions of the image."""
    if case.about:
        yield f"Turn on {case.about}", case.set(case.about, True)


@remedy("silent")
def fix_silent(case: Case) -> Iterator[FixCandidate]:
    """Offer to decode sound to floats."""
    yield "Set dtype to FLOAT", case.set("dtype", "FLOAT")


@remedy("orientation")
def fix_orientation(case: Case) -> Iterator[FixCandidate]:
    """Offer to apply or ignore EXIF orientation, as the annotations require."""
    yield (
        f"Set adjust_orientation to {case.about}",
        case.set("adjust_orientation", case.about == "True"),
    )
