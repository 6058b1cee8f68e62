"""Choose the values that the effect sheet shows for an argument, or for an element of a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from workbench.catalog.spec import ArgKind, ArgSpec, Catalog, OpSpec, Value
from workbench.graph.edits.edit import generator_of
from workbench.graph.edits.generators import generator_range
from workbench.graph.model import Graph, Node
from workbench.preview.requests.effect import effect_values

_NO_PIXELS = {"preserve", "minibatch_size", "bytes_per_sample_hint"}
"""Arguments that do not affect pixels."""
_OF_VOLUMES = {"depthwise", "crop_d", "crop_pos_z", "resize_z"}
"""Arguments that have an effect only for volumes, not for images."""
_RANGE_ENDS = ("low", "high")
_MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class Variation:
    """An argument that the effect sheet can vary, or a single element of a list argument.

    For an element, ``part`` is its index, and ``name`` is ``size.h`` instead of ``size``.
    """

    name: str
    arg: ArgSpec
    part: int | None = None
    drawn: tuple[float, float] | None = None
    """Range of a random argument, from which values are shown; None if the argument is constant."""

    def levels(self, node: Node, count: int) -> tuple[Value, ...]:
        """Return ``count`` values to show, including the current value.

        For a whole list, these are values of its largest element.
        """
        arg = replace(self.arg, kind=_element_kind(self.arg))
        items = _items(self.arg, node)
        if self.part is not None and self.arg.form == "range":
            low, high = items
            arg = replace(arg, high=high) if self.part == 0 else replace(arg, low=low)
        present: Value | None
        if not self.arg.kind.endswith("_list"):
            present = node.args.get(self.arg.name, self.arg.default)
        elif self.part is not None:
            present = items[self.part]
        else:
            present = max(items, default=None)
        arg = _narrowed(arg, present, self.drawn)
        return _with_present(arg, present, self.arg.name in node.inputs, count)

    def value(self, node: Node, level: Value) -> Value:
        """Convert one of the ``levels`` to a value of the argument.

        In a list, other elements are scaled in proportion, or unchanged if ``part`` is set.
        """
        if not self.arg.kind.endswith("_list") or not isinstance(level, int | float):
            return level
        items = _items(self.arg, node)
        if self.part is not None:
            return (*items[: self.part], level, *items[self.part + 1 :])
        given = node.args.get(self.arg.name)
        largest = max(items, default=0.0)
        if given is not None and level == largest:
            return given
        if given is not None and not isinstance(given, tuple):
            return level
        if largest <= 0 or len(set(items)) == 1:
            return (level,) * max(1, len(items))
        return tuple(_rounded(self.arg, level * each / largest) for each in items)


def variations(graph: Graph, catalog: Catalog, node_id: str) -> dict[str, Variation]:
    """Return the arguments, and elements of list arguments, that can be varied, by name."""
    if not graph.has(node_id):
        return {}
    node = graph.at_scope(graph.scope_of(node_id)).node(node_id)
    spec = catalog.find(node.op)
    if spec is None or spec.reads or node.bodies:
        return {}
    found = (each for arg in _effective(spec, node) for each in _variations_of(arg, node))
    scope = graph.at_scope(graph.scope_of(node_id))
    sampled = {
        arg: generator_range(generator.args)
        for arg in node.inputs
        if (generator := generator_of(scope, catalog, node_id, arg))
    }
    return {each.name: replace(each, drawn=sampled.get(each.arg.name)) for each in found}


def effect_remark(
    graph: Graph, catalog: Catalog, node_id: str, names: Iterable[str], idle: Iterable[str]
) -> str:
    """Return why arguments cannot be varied. ``idle`` names the arguments without an effect."""
    if not graph.has(node_id):
        return ""
    node = graph.at_scope(graph.scope_of(node_id)).node(node_id)
    spec = catalog.find(node.op)
    if spec is None:
        return "The installed DALI does not have this operator, so nothing can be varied."
    if spec.reads:
        return (
            "A reader's arguments determine which photos are read. Select a later node to see the "
            "effect of an argument."
        )
    if node.bodies:
        return (
            "A block only determines which samples its nodes run for. Select one of these nodes to "
            "see the effect of an argument."
        )
    notes = []
    without = list(idle)
    without = [name for name in without if name.rpartition(".")[0] not in without]
    if without:
        notes.append(f"Other values of {_listed(without)} do not change this image.")
    offered = {name.partition(".")[0] for name in (*names, *without)}
    rest = [arg.name for arg in _effective(spec, node) if arg.name not in offered]
    rest = [name for name in rest if not spec.args[name].advanced or name in node.args]
    if rest:
        notes.append(f"There is no range of values to vary for {_listed(rest)}.")
    if not notes and not offered:
        notes.append("This node has no argument to vary.")
    return " ".join(notes)


def _effective(spec: OpSpec, node: Node) -> Iterator[ArgSpec]:
    """Yield the arguments that have an effect, given the node's other arguments."""
    given = node.args.keys() | node.inputs.keys()
    for arg in spec.args.values():
        if arg.deprecated or arg.form == "shown" or arg.name in _NO_PIXELS | _OF_VOLUMES:
            continue
        if arg.name not in given:
            if spec.conflicts_with(arg.name) & given:
                continue
            if any(arg.name in group and not set(group) - {arg.name} <= given
                   for group in spec.together):  # fmt: skip
                continue
        yield arg


def _variations_of(arg: ArgSpec, node: Node) -> Iterator[Variation]:
    if not arg.kind.endswith("_list"):
        if len(effect_values(arg, 2)) > 1:
            yield Variation(arg.name, arg)
        return
    # A list without a form is a table or axis names: its elements have no range.
    if arg.low is None or arg.kind not in ("int_list", "float_list"):
        return
    items = _items(arg, node)
    if arg.form == "range" and len(items) == 2:
        for part, end in enumerate(_RANGE_ENDS):
            yield Variation(f"{arg.name}.{end}", arg, part)
    elif arg.form in ("fields", "each", "colour"):
        yield Variation(arg.name, arg)
        if len(items) == len(arg.parts) > 1:
            for part, named in enumerate(arg.parts):
                yield Variation(f"{arg.name}.{named}", arg, part)


def _items(arg: ArgSpec, node: Node) -> tuple[float, ...]:
    """Return the elements of a list argument. A single number is repeated for all elements."""
    for value in (node.args.get(arg.name), arg.start, arg.default):
        items = value if isinstance(value, tuple) else (value,)
        numbers = tuple(each for each in items if isinstance(each, int | float))
        if numbers:
            return numbers * max(1, len(arg.parts)) if len(numbers) == 1 else numbers
    middle = _rounded(arg, ((arg.low or 0) + (arg.high or 0)) / 2)
    return (middle,) * max(1, len(arg.parts))


def _narrowed(arg: ArgSpec, current: Value | None, sampled: tuple[float, float] | None) -> ArgSpec:
    """Return the argument with a narrower range, so that pictures differ visibly.

    The range is ``sampled`` for a random argument, otherwise four times the default range of random
    values. In the full range, -180 and 180 degrees would show the same picture.
    """
    if arg.low is None or arg.high is None:
        return arg
    if sampled is not None:
        return replace(arg, low=sampled[0], high=sampled[1])
    if arg.draw is None or arg.draw == (arg.low, arg.high):
        return arg
    low, high = arg.draw
    middle, reach = (low + high) / 2, 2 * (high - low)
    if isinstance(current, int | float):
        reach = max(reach, abs(current - middle))
    return replace(arg, low=max(arg.low, middle - reach), high=min(arg.high, middle + reach))


def _element_kind(arg: ArgSpec) -> ArgKind:
    kinds: Mapping[ArgKind, ArgKind] = {"int_list": "int", "float_list": "float"}
    return kinds.get(arg.kind, arg.kind)


def _rounded(arg: ArgSpec, value: float) -> float:
    low = value if arg.minimum is None else max(value, arg.minimum)
    number = low if arg.maximum is None else min(low, arg.maximum)
    if arg.kind != "int_list":
        return float(f"{number:.4g}")
    return round(number) | 1 if arg.step == 2 else round(number)


def _with_present(
    arg: ArgSpec, current: Value | None, varies: bool, count: int
) -> tuple[Value, ...]:
    """Return the values to show. The current value replaces the nearest value of a range."""
    values = effect_values(arg, count)
    if varies or current is None or current in values:
        return _around(values, current, count)
    if not isinstance(current, int | float) or arg.kind not in ("int", "float"):
        return _around(values, None, count)
    numbers = [value for value in values if isinstance(value, int | float)]
    nearest = min(numbers, key=lambda value: abs(value - current), default=current)
    return tuple(current if value == nearest else value for value in values)


def _around(values: tuple[Value, ...], current: Value | None, count: int) -> tuple[Value, ...]:
    """Return the choices that fit into the sheet, including the current value."""
    if count >= 5 or len(values) <= count:
        return values
    first = values[:count]
    return first if current is None or current in first else (*first[:-1], current)


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
